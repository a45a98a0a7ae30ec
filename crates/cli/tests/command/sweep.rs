//! `slowpath sweep`.

use crate::captures::Captures;
use crate::{json, outcome, run};
use serde_json::Value;

/// One second over 20 Mbit/s, with values to vary.
const SCENARIO: &[u8] = b"title = \"short\"\nduration = \"1 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
    [[vary]]\nkey = \"path.rate\"\nvalues = [\"5Mbit/s\", \"10Mbit/s\"]\n\
    [[vary]]\nkey = \"path.delay\"\nvalues = [\"5ms\", \"10ms\", \"15ms\"]\n\
    [[try]]\nname = \"a tiny buffer\"\nset = [\"flows.receiver.socket.SO_RCVBUF=4kB\"]\n";

#[test]
fn grid_and_tries_are_tabulated() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO);
    let (code, out, err) = outcome(&run(&folder, &["sweep", "short.toml"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let heading =
        lines.iter().position(|line| line.starts_with(&["rate", "delay", "rate"])).expect("a heading");
    let grid: Vec<_> = lines[heading + 1..heading + 7].iter().map(|line| (line[0], line[1])).collect();
    let rates = ["5Mbit/s", "10Mbit/s"];
    let wanted: Vec<_> =
        rates.iter().flat_map(|rate| ["5ms", "10ms", "15ms"].map(|delay| (*rate, delay))).collect();
    assert_eq!(grid, wanted, "{out}");
    assert!(out.contains("\na tiny buffer ") && out.contains("receive-window/buffer-too-small"), "{out}");
}

/// A run gives the same results alone and in a sweep.
#[test]
fn run_in_a_sweep_equals_the_run_alone() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO);
    let args = ["sweep", "short.toml", "--vary", "path.loss=0.1%,1%", "--repeat", "3", "--json"];
    let (code, first, _) = outcome(&run(&folder, &args));
    assert_eq!((code, &first), (0, &outcome(&run(&folder, &args)).1));
    let document = json(&first);
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!((runs.len(), &document["schema"]), (6, &Value::from("slowpath/sweep/1")));
    let (_, alone, _) =
        outcome(&run(&folder, &["run", "short.toml", "--set", "path.loss=1%", "--seed", "2", "--json"]));
    let same = runs.iter().find(|run| run["set"][0] == "path.loss=1%" && run["seed"] == 2).expect("that run");
    let alone = json(&alone);
    assert_eq!((&same["flows"], &same["waits"]), (&alone["flows"], &alone["waits"]));
    assert_ne!(same["flows"], runs[0]["flows"]);
}

#[test]
fn sweep_is_checked_before_any_run() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO);
    folder.write("plain.toml", b"duration = \"1 s\"\n");
    folder.write(
        "wrong.toml",
        b"[[try]]\nname = \"x\"\nset = [\"path.delay\"]\n[[vary]]\nkey = \"a\"\nvalues = []\n",
    );
    for (args, part) in [
        (&["plain.toml"][..], "nothing differs from run to run"),
        (&["short.toml", "--vary", "path.dealy=1ms,2ms"], "did you mean delay?"),
        (&["short.toml", "--vary", "path.delay=1ms,2parsec"], "2parsec"),
        (&["short.toml", "--vary", "path.delay"], "write a key, = and values"),
        (&["short.toml", "--repeat", "0"], "--repeat"),
        (&["wrong.toml"], "wrong.toml:3:"),
        (&["wrong.toml"], "nothing would differ"),
        (&["gone.toml"], "gone.toml"),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["sweep"], args].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}
