//! The user's own programs over the lab's path.

use crate::captures::Captures;
use crate::lab::{document, folder, made_since, namespaces};
use crate::names::{HOSTILE, fault, quoted};
use crate::papers::processes_in;
use crate::{json, outcome, run};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// A program that only listens.
pub const LISTENING: &str =
    "exec python3 -c 'import socket, time; s = socket.create_server((\"\", 5001)); time.sleep(600)'";

const PATH: &str = "title = \"Own\"\nduration = \"20 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
                    [[path.forward.lose]]\nfrom = \"100000 B\"\nto = \"101448 B\"\n";

/// Reads a mebibyte from the first client, replies with the number of bytes, and exits.
const READER: &str = "import socket
s = socket.create_server((\"\", 5001))
c, peer = s.accept()
n = 0
while n < 1 << 20: n += len(c.recv(1 << 16))
c.sendall(b\"%d\" % n)
print(\"from\", peer[0])";

const WRITER: &str = "import socket, sys
c = socket.create_connection((sys.argv[1], 5001))
c.sendall(bytes(1 << 20))
print(\"answer\", c.recv(100).decode())";

fn with_programs() -> Captures {
    let folder = folder(PATH);
    std::fs::write(folder.path("reader.py"), READER).expect("a folder to write to");
    std::fs::write(folder.path("writer.py"), WRITER).expect("a folder to write to");
    folder
}

fn programs<'a>(server: &'a str, client: &'a str) -> Vec<&'a str> {
    vec!["lab", "run", "small.toml", "--json", "--server", server, "--client", client]
}

#[test]
#[ignore = "needs root"]
fn programs_replace_the_flows_of_a_scenario() {
    let folder = with_programs();
    for (at, from) in [("receiver", "192.0.2.1"), ("sender", "192.0.2.2")] {
        let mut args = programs("exec python3 reader.py", "python3 writer.py {server}");
        args.extend(["--server-at", at]);
        let document = document(&folder, &args);
        let of = |role: usize, key: &str| document["programs"][role][key].clone();
        assert_eq!([of(0, "exit_code"), of(1, "exit_code")], [0, 0], "{}", document["programs"]);
        assert_eq!((of(0, "host"), of(0, "output")), (at.into(), format!("from {from}\n").into()));
        assert_eq!(of(1, "output"), "answer 1048576\n");
        let flow = &document["flows"][0];
        assert_eq!((&flow["connections"], &flow["bytes"]), (&1.into(), &(1 << 20).into()));
        // The verdict is that of the host that sent more, about its direction.
        let least = flow["least_rtt_us"].as_u64().expect("seen by the sender");
        assert!(least >= 10_000, "the path beats its delay: {least}");
        let lost = &document["path"][0]["totals"]["dropped_packets"]["scripted"];
        assert_eq!(lost == 1, at == "receiver", "the path to the receiver loses a segment: {lost}");
        assert_eq!(flow["retransmits"].as_u64() >= Some(1), at == "receiver", "{flow}");
        assert!(document["waits"].as_array().is_some_and(|waits| !waits.is_empty()));
    }
}

/// The programs' output is printed, and so are the names in the scenario.
#[test]
#[ignore = "needs root, waits"]
fn output_of_programs_is_escaped() {
    let hostile = quoted(HOSTILE);
    let folder =
        folder(&PATH.replace("\"Own\"", &hostile).replace("[path]", &format!("[path]\nname = {hostile}")));
    std::fs::write(folder.path("says"), HOSTILE).expect("a folder to write to");
    std::fs::write(folder.path("reader.py"), READER).expect("a folder to write to");
    std::fs::write(folder.path("writer.py"), WRITER).expect("a folder to write to");
    let args = programs("cat says; exec python3 reader.py", "cat says; python3 writer.py {server}");
    let in_words: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--json").collect();
    for (args, escaped) in [(&args, r"\u009b2J"), (&in_words, r"  | \u{1b}]0;title")] {
        let (code, out, err) = outcome(&run(&folder, args));
        let faults = [fault(&out), fault(&err)];
        // On a busy machine packets come late, and the run does not count (1). The second line of the output is printed on
        // a line of its own, with its mark.
        assert!(
            code <= 1 && faults == [None, None] && out.contains(escaped),
            "{code} {faults:?} {out} {err}"
        );
    }
}

/// Background processes, also in a session of their own, end with the run.
#[test]
#[ignore = "needs root, waits"]
fn programs_end_with_the_scenario() {
    let folder = folder(&PATH.replace("20 s", "1 s"));
    let client = "trap '' TERM; setsid sleep 600 & sleep 600 & echo begun; wait";
    let document = document(&folder, &programs(LISTENING, client));
    for program in document["programs"].as_array().expect("a list") {
        assert_eq!(program["exit_code"], Value::Null, "it was ended: {program}");
    }
    assert_eq!(document["programs"][1]["output"], "begun\n");
    assert_eq!(processes_in(&folder.path("")), 0);
}

#[test]
#[ignore = "needs root"]
fn failing_program_is_reported_with_its_output() {
    let folder = with_programs();
    let before = namespaces();
    for (server, client, why) in [
        ("echo no licence; exit 3", "true", "before it listened on a TCP port (exit code 3): no licence"),
        (LISTENING, "no-such-program {server}", "without a connection (exit code 127): sh:"),
    ] {
        let began = Instant::now();
        let (code, out, err) = outcome(&run(&folder, &programs(server, client)));
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(why), "{err}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    // A client that fails after its transfer: its output is shown, and the run does not count.
    let client = "python3 writer.py {server}; exit 4";
    let (code, out, _) = outcome(&run(&folder, &programs("exec python3 reader.py", client)));
    let document = json(&out);
    let why = document["invalid"].to_string();
    assert!(code == 1 && why.contains("exit code 4"), "{code}: {why}");
    assert_eq!(document["flows"][0]["bytes"], 1 << 20);
    assert_eq!(made_since(&before), 0);
}

#[test]
#[ignore = "needs root"]
fn iperf3_measures_the_path() {
    if Command::new("iperf3").arg("--version").output().is_err() {
        println!("not judged: iperf3: it is not installed");
        return;
    }
    let folder = folder(PATH);
    let document = document(&folder, &programs("iperf3 -s -1", "iperf3 -c {server} -n 1M --json"));
    let said = document["programs"][1]["output"].as_str().expect("text");
    let said = json(said);
    assert_eq!(said["end"]["sum_sent"]["bytes"], 1 << 20, "{said}");
    assert_eq!(document["flows"][0]["connections"], 2, "one for the test, and one that controls it");
    let rate = said["end"]["sum_received"]["bits_per_second"].as_f64().expect("a number");
    assert!(rate < 20e6, "the link beats its rate: {rate}");
}
