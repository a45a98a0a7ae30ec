//! `slowpath run --record`, and other commands on the recording.

use crate::captures::Captures;
use crate::{flat, json, outcome, run, send_signal, slowpath};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Two flows, one each way, and a reader that pauses.
const SCENARIO: &[u8] = b"title = \"both ways\"\nduration = \"3 s\"\nseed = 5\n\
    [path]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n[path.forward]\nloss = \"0.5 %\"\n\
    [flows.receiver]\npauses = { at = \"1 s\", lasts = \"500 ms\" }\n[record]\nsamples = \"10 ms\"\n";

#[test]
fn recording_gives_the_verdict_of_the_run() {
    let folder = Captures::new();
    folder.write("both.toml", SCENARIO);
    let (code, out, err) = outcome(&run(&folder, &["run", "both.toml", "--record", "out", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let mut of_run = json(&out)["diagnosis"].take();
    let recording_of_run = of_run["recordings"][0].take();
    // `out/` has a recording of each host; the sender's is the main one.
    for recording in ["out", "out/sender"] {
        let (code, out, err) = outcome(&run(&folder, &["diagnose", recording, "--json"]));
        assert_eq!((code, err.as_str()), (0, ""));
        let mut of_recording = json(&out);
        // Only the name of the input differs.
        let read = of_recording["recordings"][0].take();
        assert_eq!(read["segments"], recording_of_run["segments"]);
        assert_eq!(of_recording.to_string(), of_run.to_string());
    }
    let (code, out, _) = outcome(&run(&folder, &["flows", "out/receiver"]));
    assert_eq!((code, out.lines().count()), (0, 2), "{out}");
}

#[test]
fn recording_has_host_events_besides_packets() {
    let folder = Captures::new();
    folder.write("both.toml", SCENARIO);
    assert_eq!(outcome(&run(&folder, &["run", "both.toml", "--record", "out"])).0, 0);
    let (code, out, _) = outcome(&run(&folder, &["show", "out/receiver", "--flow", "1"]));
    assert_eq!(code, 0);
    for part in [" B sampled ca_state open", " B read ", " B marked rcvbuf ", " > P. "] {
        assert!(out.contains(part), "no line with {part:?}");
    }
    // Data waits as long as the reader pauses.
    let waits = out.lines().filter_map(|line| line.split(" B waited receive-queue ").nth(1));
    let seconds = waits.filter_map(|rest| rest.split(' ').next()?.parse().ok());
    let longest = seconds.fold(0.0, f64::max);
    assert!((0.49..0.51).contains(&longest), "{longest}");
    let (_, out, _) = outcome(&run(&folder, &["show", "out", "--json"]));
    let kinds = |wanted: &str| out.lines().filter(|line| json(line)["kind"] == wanted).count();
    assert!(kinds("packet") > 1000 && kinds("written") > 0 && kinds("marked") > 0 && kinds("sampled") > 200);
    // The scenario chooses what is recorded.
    let args = [
        "run",
        "both.toml",
        "--record",
        "few",
        "--set",
        "record.packets=false",
        "--set",
        "record.hosts=[\"sender\"]",
    ];
    assert_eq!(outcome(&run(&folder, &args)).0, 0);
    let (code, out, _) = outcome(&run(&folder, &["show", "few"]));
    assert!(code == 0 && out.contains(" A wrote ") && !out.contains("// frame"), "{code}");
    assert!(!folder.path("few/receiver").exists());
    // An existing recording is not overwritten.
    let (code, _, err) = outcome(&run(&folder, &["run", "both.toml", "--record", "out"]));
    assert!(code == 2 && err.contains("holds a recording already"), "{err}");
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let folder = Captures::new();
    folder.write("both.toml", SCENARIO);
    let files = ["one", "two"].map(|out| {
        assert_eq!(outcome(&run(&folder, &["run", "both.toml", "--record", out])).0, 0);
        let tables = ["flows", "packets", "calls", "waits", "marks", "samples"];
        tables.map(|table| {
            std::fs::read(folder.path(&format!("{out}/sender/000001/{table}.parquet"))).expect("a table")
        })
    });
    assert!(files[0] == files[1]);
}

/// Starts a run of an hour on a fast path, and waits until its first segment is complete.
fn long_run(folder: &Captures, until: &str) -> Child {
    folder.write("long.toml", b"duration = \"1 h\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n");
    let args = ["run", "long.toml", "--record", "out", "--set", "record.hosts=[\"sender\"]"];
    let child = slowpath(folder).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the binary runs");
    let wanted = folder.path(until);
    while !wanted.exists() {
        assert_eq!(child.try_wait().expect("it is ours"), None, "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn diagnosed(folder: &Captures) -> (i32, String) {
    let (code, out, _) = outcome(&run(folder, &["diagnose", "out"]));
    (code, flat(&out))
}

#[test]
fn killed_run_leaves_complete_segments() {
    let folder = Captures::new();
    let mut child = long_run(&folder, "out/sender/000001");
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    let (code, out) = diagnosed(&folder);
    assert!(
        code == 1 && out.contains("Read only up to") && out.contains("was begun and never finished"),
        "{out}"
    );
    assert!(out.contains(" of that time: "), "{out}");
}

#[test]
fn interrupted_run_finishes_its_recording() {
    let folder = Captures::new();
    let mut child = long_run(&folder, "out/sender/000001.part");
    send_signal(&child, libc::SIGINT);
    // If the signal came before its handler was installed, it ended the run at once.
    if child.wait().expect("it is ours").code().is_none() {
        return;
    }
    let (code, out) = diagnosed(&folder);
    assert!(code == 1 && out.contains("Interrupted after"), "{out}");
    assert!(!Path::new(&folder.path("out/sender/000001.part")).exists());
}
