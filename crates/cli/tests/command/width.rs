//! Output to a pipe fits 80 columns, and no cell is cut.

use crate::captures::Captures;
use crate::{outcome, run};

/// Two TCP flows and one of datagrams, with loss, waits for a CPU and long names.
const SCENARIO: &str = "title = \"width\"\nduration = \"500 ms\"\n\
    [path]\nrate = \"200 Mbit/s\"\ndelay = \"5 ms\"\nloss = \"1 %\"\n\
    [hosts.receiver]\ncpus = 1\nload = [{ hogs = 2 }]\n\
    [[flows]]\nname = \"a-download-of-many-connections\"\nstreams = 4\n\
    [[flows]]\nname = \"up\"\n\
    [[vary]]\nkey = \"path.delay\"\nvalues = [\"1ms\", \"20ms\"]\n\
    [[vary]]\nkey = \"flows.up.streams\"\nvalues = [\"1\", \"12\"]\n\
    [[try]]\nname = \"a receive buffer that is much too small for any path at all\"\nset = [\"flows.receiver.socket.SO_RCVBUF=4kB\"]\n";

/// Runs a command and returns its output, after checking that no line is longer than 80 columns.
pub fn narrow(folder: &Captures, args: &[&str]) -> String {
    let (code, out, err) = outcome(&run(folder, args));
    assert!(code < 2, "{args:?}: {err}");
    for line in out.lines() {
        assert!(line.chars().count() <= 80, "{args:?}: {line}\n{out}");
    }
    out
}

/// Whether a line of `out` begins with `label` and has `cell`.
fn has(out: &str, label: &str, cell: &str) -> bool {
    out.lines().any(|line| line.trim_start().starts_with(label) && line.contains(cell))
}

#[test]
fn tables_of_a_run_fit_80_columns() {
    let folder = Captures::new();
    folder.write("wide.toml", SCENARIO.as_bytes());
    let out = narrow(&folder, &["run", "wide.toml"]);
    assert!(has(&out, "a-download-of-many-connections", "bit/s"), "{out}");
    assert!(has(&out, "up", "min RTT") || has(&out, "flow", "min RTT"), "{out}");
    assert!(has(&out, "waiting for a CPU", " %"), "{out}");
}

#[test]
fn tables_of_a_sweep_fit_80_columns() {
    let folder = Captures::new();
    folder.write("wide.toml", SCENARIO.as_bytes());
    let out = narrow(&folder, &["sweep", "wide.toml"]);
    assert!(has(&out, "20ms", "bit/s"), "{out}");
    assert!(has(&out, "20ms", "/") && has(&out, "delay", "limited by"), "{out}");
    assert!(out.contains("\na receive buffer that is much too small for any path at all\n"), "{out}");
}

#[test]
fn tables_of_tuning_techniques_fit_80_columns() {
    let folder = Captures::new();
    let args = ["compare-tunings", "--rate", "100Mbit/s", "--rtt", "20ms", "--amount", "5MB"];
    let out = narrow(&folder, &args);
    assert!(has(&out, "Linux 6.18", "Mbit/s"), "{out}");
}
