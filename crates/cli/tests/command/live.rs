//! `diagnose --live` on this process's own connections.

use super::{json, outcome, run, send_signal, slowpath};
use crate::captures::Captures;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn contradictory_arguments_are_refused() {
    let folder = Captures::new();
    for (args, says) in [
        (&["diagnose", "--port", "80"][..], "--live"),
        (&["diagnose", "--live", "transfer.pcap"], "cannot be used with"),
        (&["diagnose", "--live", "--for", "20"], "write a number and a unit"),
        (&["diagnose", "--live", "--port", "0"], "0 is not in 1..=65535"),
        (&["diagnose", "--live", "--netns", "no-such"], "/run/netns/no-such: no such network namespace"),
        (&["diagnose", "--live", "--cgroup", "/proc"], "/proc: is no control group"),
        (&["diagnose", "--live", "--pid", "4294967295"], "there is no process 4294967295"),
    ] {
        let (code, _, err) = outcome(&run(&folder, args));
        assert!(code == 2 && err.contains(says), "{args:?}: {code} {err}");
    }
}

/// Records that a probe stored earlier are read without root: the report is the same, or covers the part that was
/// stored.
#[test]
fn stored_probe_records_are_diagnosed() {
    let folder = Captures::new();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../sources/live/tests/live/kept/transfer.raw");
    let (code, out, err) = outcome(&run(&folder, &["diagnose", "--json", kept]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let document = json(&out);
    let flow = &document["flows"][0];
    assert_eq!((&flow["bytes"], &document["incomplete"]), (&Value::from(16 << 20), &Value::Null));
    assert_eq!(document["check"]["segments"], document["check"]["kernel_segments"]);
    assert_eq!(document["check"]["zero_windows"], serde_json::json!({ "kernel": 1, "probe": 1 }));
    let receiver = if flow["sender"] == "a" { "b" } else { "a" };
    assert_eq!(flow[receiver]["host"]["zero_windows"], 1);
    assert_eq!(flow[receiver]["host"]["receive_buffer"].as_array().map(Vec::len), Some(2), "{flow:#}");
    let part = folder.path("part.raw");
    let whole = fs::read(kept).expect("it is kept");
    fs::write(&part, &whole[..9449]).expect("the folder is there");
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "part.raw"]));
    assert!(code == 1 && out.contains("Incomplete: part.raw: the file ends at byte 9449"), "{code} {out}");
    fs::write(&part, [&whole[..20], &[9], &whole[21..]].concat()).expect("the folder is there");
    let (code, _, err) = outcome(&run(&folder, &["diagnose", "part.raw"]));
    assert!(code == 2 && err.contains("part.raw: these records are of version 9"), "{code} {err}");
    let (code, _, err) = outcome(&run(&folder, &["diagnose", "--vantage", "sender", kept]));
    assert!(code == 2 && err.contains("has no packets"), "{code} {err}");
    let (code, _, err) = outcome(&run(&folder, &["diagnose", "--html", "page.html", kept]));
    assert_eq!((code, err.as_str()), (0, ""));
    let page = fs::read_to_string(folder.path("page.html")).expect("it was written");
    assert!(page.contains("This host's connections – slowpath</title>") && page.contains("receive-window/"));
}

/// Without privilege, `TCP_INFO` shows the same slow reader.
#[test]
fn own_connections_are_sampled_without_root() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&watched(&folder, &["--own", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let document = json(&out);
    let flow = &document["flows"][0];
    let sender = flow["sender"].as_str().expect("a letter");
    assert_eq!(flow[sender]["process"]["pid"], std::process::id());
    assert!(
        flow["bounds"][0]["cause"].as_str().is_some_and(|cause| cause.starts_with("receive-window/")),
        "{flow:#}"
    );
    assert_eq!(
        (&document["check"], flow["a"]["host"]["waits"].as_array().map(Vec::len)),
        (&Value::Null, Some(0))
    );
    assert!(document["unseen"].as_array().is_some_and(|unseen| !unseen.is_empty()));
}

/// Without permission, the error names the missing capabilities, and what works without them.
#[test]
#[ignore = "needs root"]
fn missing_capabilities_are_named() {
    const NOBODY: u32 = 65534;
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("slowpath");
    fs::copy(env!("CARGO_BIN_EXE_slowpath"), &copy).expect("a copy");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("others may enter");
    let mut command = Command::new(copy);
    let output = command.args(["diagnose", "--live", "--for", "1s"]).uid(NOBODY).gid(NOBODY).output();
    let (code, _, err) = outcome(&output.expect("it runs"));
    assert!(
        code == 2 && err.contains("CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN") && err.contains("--own"),
        "{code} {err}"
    );
}

/// A sleeping reader is named, with its process and all bytes, in JSON and in text.
#[test]
#[ignore = "needs root"]
fn connection_with_a_slow_reader_is_diagnosed() {
    let folder = Captures::new();
    let documents = (0..5).map(|_| {
        let (code, out, _) = outcome(&watched(&folder, &["--json"]));
        assert_eq!(code, 0, "{out}");
        json(&out)
    });
    // On kernels that run no BPF program in the context of some tasks, softirqs in these are not seen.
    let is_whole = |document: &Value| document["check"]["segments"] == document["check"]["kernel_segments"];
    check(&documents.into_iter().find(is_whole).expect("all is seen"));
    let (code, out, _) = outcome(&watched(&folder, &[]));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("receive-window/slow-reader"), "{out}");
    assert!(out.contains("receive queue") && out.contains("the kernel counted"), "{out}");
}

/// A file of the probe's records has the processes that own the sockets, and everything else that was reported live.
#[test]
#[ignore = "needs root"]
fn probe_file_keeps_the_processes() {
    let folder = Captures::new();
    let (code, live, _) = outcome(&watched(&folder, &["--json", "--raw", "host.raw"]));
    let (code_again, stored, _) = outcome(&run(&folder, &["diagnose", "--json", "host.raw"]));
    assert_eq!(code, code_again, "{live}");
    let [then, again] = [live, stored].map(|out| json(&out));
    for what in ["flows", "check", "unseen"] {
        assert_eq!(then[what], again[what], "{what}");
    }
    let flow = &again["flows"][0];
    let sender = flow["sender"].as_str().expect("a letter");
    assert_eq!(flow[sender]["process"]["pid"], std::process::id());
}

/// The output of `diagnose --live` for a connection of this process whose reader sleeps before it reads.
pub fn watched(folder: &Captures, args: &[&str]) -> Output {
    const AMOUNT: usize = AMOUNT_READ as usize;
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut command = slowpath(folder);
    command.args(["diagnose", "--live", "--port", &address.port().to_string()]).args(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    // A virtual machine may need some tenths of a second for memory that it has not used yet.
    let data = vec![1; AMOUNT];
    let mut says = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("it was asked for"));
    errors.read_line(&mut says).expect("a line");
    assert!(says.contains("watching this host's connections"), "{says}");
    let mut client = TcpStream::connect(address).expect("a connection");
    let mut server = listener.accept().expect("its other end").0;
    let writer = thread::spawn(move || client.write_all(&data).map(|()| client));
    thread::sleep(Duration::from_millis(1200));
    server.read_exact(&mut vec![0; AMOUNT]).expect("all is written");
    let client = writer.join().expect("it ends").expect("all is read");
    thread::sleep(Duration::from_millis(300));
    drop((client, server));
    send_signal(&child, libc::SIGINT);
    let mut output = child.wait_with_output().expect("it ends");
    errors.read_to_end(&mut output.stderr).expect("what else it says");
    output
}

fn check(document: &Value) {
    assert_eq!(document["schema"], "slowpath/live/1");
    let flow = &document["flows"][0];
    assert_eq!(flow["bytes"], AMOUNT_READ);
    let bound = &flow["bounds"][0];
    assert_eq!(bound["cause"], "receive-window/slow-reader", "{flow:#}");
    assert!(bound["seconds"].as_f64().expect("seconds") >= 1.0, "{bound}");
    let (sender, receiver) = if flow["sender"] == "a" { ("a", "b") } else { ("b", "a") };
    assert_eq!(flow[sender]["process"]["pid"], std::process::id());
    assert_eq!(flow[sender]["host"]["written_bytes"], AMOUNT_READ);
    let waits = flow[receiver]["host"]["waits"].as_array().expect("waits");
    let held = &flow[receiver]["host"]["receiver_bounds"][0];
    assert_eq!(held["cause"], "receive-window/slow-reader", "{flow:#}");
    assert!(held["seconds"].as_f64().expect("seconds") >= 1.0, "{flow:#}");
    let queue = waits.iter().find(|wait| wait["place"] == "receive-queue").expect("data waited");
    assert!(queue["longest_ns"].as_u64().expect("a time") >= 1_000_000_000, "{queue}");
    assert_eq!(queue["count"], AMOUNT_READ);
}

const AMOUNT_READ: u64 = 24 << 20;
