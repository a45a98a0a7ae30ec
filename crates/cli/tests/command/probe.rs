//! `slowpath probe` with a far end on loopback, and on the path of a scenario.

use crate::captures::Captures;
use crate::{flat, handbook_example, json, outcome, run, send_signal, slowpath};
use serde_json::Value;
use slowpath_probe::protocol::{CLIENT_BYTES, Message};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A far end in a separate process.
pub struct FarEnd {
    child: Child,
    out: BufReader<ChildStdout>,
    /// Its first output.
    pub says: String,
}

impl FarEnd {
    pub fn start(folder: &Captures, args: &[&str]) -> Self {
        let mut child = slowpath(folder).args(args).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut says = String::new();
        out.read_line(&mut says).expect("a line");
        assert!(says.starts_with("Listening on "), "{says}");
        Self { child, out, says }
    }

    /// Uses any free port, so that other tests can run at the same time.
    pub fn small(folder: &Captures) -> Self {
        let args = "probe --serve --listen 127.0.0.1:0 --max-rate 40Mbit/s --max-duration 2s";
        Self::start(folder, &args.split(' ').collect::<Vec<_>>())
    }

    pub fn port(&self) -> String {
        let rest = self.says.split_once("127.0.0.1:").expect("an address").1;
        rest.chars().take_while(char::is_ascii_digit).collect()
    }

    /// Interrupts it, expects a clean exit, and returns its further output.
    pub fn interrupt(mut self) -> String {
        send_signal(&self.child, libc::SIGINT);
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{said}");
        said
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        // After `interrupt` it has ended, and the kill fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn all_measurements_run_against_a_far_end() {
    let folder = Captures::new();
    let far = FarEnd::small(&folder);
    assert!(
        far.says.contains("this host only") && far.says.contains("up to 40 Mbit/s for 2 s"),
        "{}",
        far.says
    );
    let port = far.port();
    let args = ["probe", "127.0.0.1", "--port", &port, "--tcp", "200ms", "--steps", "3", "--json"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/probe/1");
    assert_eq!((document["cap"].as_u64(), document["complete"].as_bool()), (Some(40_000_000), Some(true)));
    assert!(document["round_trip"]["min_ns"].as_u64().is_some_and(|min| min < 5_000_000), "{out}");
    // Loopback is faster than the far end's cap.
    assert!(document["rate"].as_u64().is_some_and(|rate| rate <= 40_000_000), "{out}");
    assert_eq!(document["ramp"]["steps"].as_array().map(Vec::len), Some(3), "{out}");
    let transfers = document["transfers"].as_array().expect("transfers");
    assert_eq!(transfers.len(), 2);
    assert!(transfers.iter().all(|transfer| transfer["bytes"].as_u64() > Some(10_000)), "{out}");
    let text = ["probe", "127.0.0.1", "--port", &port, "--measure", "rtt,capacity", "--reverse"];
    let (code, out, err) = outcome(&run(&folder, &text));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("The path from 127.0.0.1 has an RTT of "), "{out}");
    assert!(
        out.contains("$ slowpath doctor 127.0.0.1 --rate ") && out.contains("$ slowpath explain buffer "),
        "{out}"
    );
    assert!(!out.contains("UDP, one rate") && !out.contains("TCP, ") && !out.contains('\x1b'), "{out}");
    let said = far.interrupt();
    assert_eq!(said.matches("127.0.0.1: session started").count(), 2, "{said}");
    assert_eq!(said.matches("127.0.0.1: session ended").count(), 2, "{said}");
}

#[test]
fn scenario_path_gives_equal_results_each_time() {
    let folder = Captures::new();
    folder.write(
        "path.toml",
        b"[path]\nrate = \"622 Mbit/s\"\ndelay = \"20 ms\"\n[[path.cross]]\nrate = \"200 Mbit/s\"\n",
    );
    let began = Instant::now();
    let (code, out, err) = outcome(&run(&folder, &["probe", "path.toml", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(began.elapsed() < Duration::from_secs(60));
    let document = json(&out);
    let near = |value: &Value, truth: u64| {
        let value = value.as_u64().expect("a rate");
        assert!(value.abs_diff(truth) * 10 <= truth, "{value}, and it is {truth}: {out}");
    };
    near(&document["capacity"]["rate"], 622_000_000);
    near(&document["rate"], 422_000_000);
    assert!(document["far_end"].is_null() && document["transfers"] == Value::Array(vec![]));
    assert_eq!(
        outcome(&run(&folder, &["probe", "path.toml", "--json"])).1,
        out,
        "the same seed, the same bytes"
    );
    let (_, text, _) = outcome(&run(&folder, &["probe", "path.toml", "--measure", "rtt,available"]));
    assert!(flat(&text).contains("delays grow within a stream"), "{text}");
    assert!(text.contains("  $ slowpath doctor --rate "), "{text}");
}

#[test]
fn invalid_probe_arguments_are_refused() {
    let folder = Captures::new();
    // A port that was in use until just now.
    let port = FarEnd::small(&folder).port();
    for (args, part) in [
        (&["probe", "127.0.0.1", "--port", &port][..], "is `slowpath probe --serve` running there"),
        (&["probe", "no-such-host.invalid"], "no-such-host.invalid has no address"),
        (&["probe", "missing.toml"], "missing.toml"),
        (&["probe", "127.0.0.1", "--set", "path.rate=1Mbit/s"], "--set and --seed are for scenario files"),
        (&["probe", "127.0.0.1", "--seed", "2"], "--set and --seed are for scenario files"),
        (&["probe", "path.toml", "--port", "4000"], "--port is for hosts"),
        (&["probe", "127.0.0.1", "--measure", "rtt", "--steps", "3"], "--steps needs ramp in --measure"),
        (&["probe", "127.0.0.1", "--measure", "rtt", "--tcp", "1s"], "--tcp needs tcp in --measure"),
        (&["probe", "--serve", "--seed", "2"], "cannot be used with"),
        (&["probe"], "required arguments"),
        (&["probe", "--serve", "127.0.0.1"], "cannot be used with"),
        (&["probe", "--serve", "--listen", "192.0.2.1:0"], "cannot listen there"),
        (&["probe", "--serve", "--max-rate", "fast"], "write a number and a unit"),
        (&["probe", "127.0.0.1", "--ramp", "2Mbit/s..1Mbit/s"], "must be below the second"),
        (
            &["probe", "127.0.0.1", "--measure", "moon"],
            "possible values: rtt, capacity, available, ramp, tcp",
        ),
    ] {
        let (code, out, err) = outcome(&run(&folder, args));
        assert!(code == 2 && out.is_empty() && err.contains(part), "{args:?}: {code} {out} {err}");
    }
}

/// A measurement in progress: the echoes are done, and the first train has been requested.
fn in_progress(folder: &Captures, far: &FarEnd) -> Child {
    // The control connection goes through this process, which reads it; datagrams go directly to the far end.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let child = slowpath(folder)
        .args(["probe", "127.0.0.1", "--port", &port])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let near = listener.accept().expect("its control connection").0;
    let far = TcpStream::connect(("127.0.0.1", far.port().parse().expect("a port"))).expect("it listens");
    let (mut answers, mut to_near) = (far.try_clone().expect("a copy"), near.try_clone().expect("a copy"));
    thread::spawn(move || {
        // It ends when either side closes, and then closes the other.
        let _ = io::copy(&mut answers, &mut to_near);
        let _ = to_near.shutdown(Shutdown::Both);
    });
    let (asked, train) = mpsc::channel();
    thread::spawn(move || forward(near, far, &asked));
    train.recv_timeout(Duration::from_secs(60)).expect("a train is asked for");
    child
}

/// Forwards the near end's messages, and reports each requested train.
fn forward(mut near: TcpStream, mut far: TcpStream, asked: &mpsc::Sender<()>) {
    let (mut unread, mut some) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = near.read(&mut some) {
        if far.write_all(&some[..count]).is_err() {
            break;
        }
        unread.extend(&some[..count]);
        while let Some((message, length)) = Message::read(&unread, CLIENT_BYTES).expect("messages") {
            unread.drain(..length);
            if matches!(message, Message::Train { .. }) {
                // Only the first one is waited for.
                let _ = asked.send(());
            }
        }
    }
    let _ = far.shutdown(Shutdown::Both);
}

#[test]
fn interrupted_measurement_reports_partial_results() {
    let folder = Captures::new();
    let far = FarEnd::small(&folder);
    let child = in_progress(&folder, &far);
    send_signal(&child, libc::SIGINT);
    let (code, out, err) = outcome(&child.wait_with_output().expect("it ends"));
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.contains("\nRTT\n") && !out.contains("TCP, "), "{out}");
    far.interrupt();
}

#[test]
fn lost_far_end_gives_partial_results() {
    let folder = Captures::new();
    let far = FarEnd::small(&folder);
    let child = in_progress(&folder, &far);
    drop(far);
    let (code, out, err) = outcome(&child.wait_with_output().expect("it ends"));
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("\nRTT\n") && !out.contains("TCP, "), "{out}");
    assert!(err.starts_with("slowpath: the other end ") && err.ends_with("measured before that:\n"), "{err}");
}

#[test]
fn handbook_example_matches_the_output() {
    let (args, wanted) = handbook_example("probe.md");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Captures::new();
    let output = slowpath(&folder).current_dir(&root).args(args).output().expect("it runs");
    assert_eq!(outcome(&output), (0, wanted, String::new()));
}

#[test]
fn handbook_commands_are_accepted() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/probe.md");
    let page = fs::read_to_string(page).expect("the page");
    let block = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let folder = Captures::new();
    for line in block.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        // The handbook uses a documentation address (RFC 5737), which is replaced by loopback.
        let here = line.replace("192.0.2.9:5717", "192.0.2.9:0").replace("192.0.2.9", "127.0.0.1");
        assert_eq!(words[0], "slowpath");
        if here.contains("--serve") {
            FarEnd::start(&folder, &here.split(' ').skip(1).collect::<Vec<_>>()).interrupt();
        } else {
            // Nothing listens on this port: the command is accepted, and the error says what should run there.
            let args: Vec<&str> = here.split(' ').skip(1).chain(["--port", "1"]).collect();
            let (code, _, err) = outcome(&run(&folder, &args));
            assert!(code == 2 && err.contains("is `slowpath probe --serve` running there"), "{line}: {err}");
        }
    }
}
