//! `slowpath drill` with scripts that pass, fail, and cannot be parsed.

use crate::captures::Captures;
use crate::{outcome, run};
use std::fs;

const HANDSHAKE: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,wscale 10>
";

/// Writes the scripts that the help names; every kernel passes them.
pub fn write_scripts(folder: &Captures) {
    let script = HANDSHAKE.replace("<mss 1460,nop,wscale 10>", "<...>");
    fs::create_dir(folder.path("scripts")).expect("a folder");
    for name in ["handshake.pkt", "slow-start.pkt", "scripts/handshake.pkt"] {
        fs::write(folder.path(name), &script).expect("a script");
    }
}

fn folder() -> Captures {
    let folder = Captures::new();
    fs::create_dir(folder.path("scripts")).expect("a folder");
    fs::write(folder.path("scripts/a.pkt"), HANDSHAKE).expect("a script");
    let late = format!("{HANDSHAKE}+3 > S. 0:0(0) ack 1 <mss 1460,nop,wscale 10>\n");
    fs::write(folder.path("scripts/b.pkt"), late).expect("a script");
    fs::write(folder.path("bad.txt"), "0 > Q 0:0(0)\n").expect("a script");
    folder
}

#[test]
fn each_script_has_a_line_and_failures_set_the_exit_code() {
    let folder = folder();
    let (code, out, err) = outcome(&run(&folder, &["drill", "scripts"]));
    assert_eq!((code, err.as_str()), (1, ""));
    for part in
        ["ok      scripts/a.pkt\n", "FAILED  scripts/b.pkt:6: ", "expected", "tolerance", "1 of 2 passed\n"]
    {
        assert!(out.contains(part), "{out}");
    }
    let (code, out, _) = outcome(&run(&folder, &["drill", "scripts/a.pkt", "--verbose"]));
    assert_eq!(code, 0);
    assert!(out.contains("> S. 0:0(0) ack 1 win 64240 <mss 1460,nop,wscale 10>"), "{out}");
}

#[test]
fn parse_error_shows_the_line() {
    let (code, out, err) = outcome(&run(&folder(), &["drill", "bad.txt"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("bad.txt:1:5: Q is not a flag of TCP") && err.contains("    ^ flags are"), "{err}");
}

#[test]
fn json_matches_the_text() {
    let (code, out, _) = outcome(&run(&folder(), &["drill", "scripts", "--json"]));
    let lines: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((code, lines.len()), (1, 2));
    assert_eq!(lines[0]["passed"], true);
    assert_eq!((&lines[1]["failure"]["line"], &lines[1]["schema"]), (&6.into(), &"slowpath/drill/1".into()));
}
