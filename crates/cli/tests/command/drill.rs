//! `slowpath drill` with scripts that pass, fail, and cannot be parsed.

use crate::captures::Captures;
use crate::inputs::{fifo, run_to_end};
use crate::{outcome, run};
use std::fs;
use std::os::unix::fs::symlink;

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

/// Included files are the script's neighbours. Its author does not know what else can be read here, and a FIFO would never
/// end.
#[test]
fn included_files_are_regular_and_in_the_folder_of_the_script() {
    let folder = folder();
    let outside = "sysctl -q net.ipv4.tcp_sack=9\n";
    folder.write("outside.sh", outside.as_bytes());
    fs::write(folder.path("scripts/beside.sh"), "true\n").expect("a file");
    symlink("../outside.sh", folder.path("scripts/link.sh")).expect("a link");
    fifo(&folder.path("scripts/fifo.sh"));
    let absolute = folder.path("outside.sh").display().to_string();
    let included = |path: &str| {
        let script = format!("`source {path}`\n{HANDSHAKE}");
        fs::write(folder.path("scripts/a.pkt"), script).expect("a script");
        let (_, out, err) = outcome(&run_to_end(&folder, &["drill", "scripts/a.pkt", "--verbose"]));
        assert_eq!(err, "", "{path}");
        !out.contains(&format!("{path} is no file in the script's folder, and is left out"))
    };
    assert!(included("beside.sh") && included("./beside.sh"));
    for path in ["../outside.sh", "link.sh", "fifo.sh", &absolute, "/dev/zero", "/etc/hostname"] {
        assert!(!included(path), "{path}");
    }
}

#[test]
fn folders_of_scripts_are_searched_once_and_without_waiting() {
    let folder = folder();
    for name in ["one", "two"] {
        symlink(".", folder.path("scripts").join(name)).expect("a link");
    }
    let (code, out, _) = outcome(&run_to_end(&folder, &["drill", "scripts"]));
    assert!(code == 1 && out.ends_with("1 of 2 passed\n"), "{out}");
    fifo(&folder.path("scripts/c.pkt"));
    let (code, _, err) = outcome(&run_to_end(&folder, &["drill", "scripts"]));
    assert!(code == 2 && err.contains("scripts/c.pkt: it is a FIFO, not a regular file"), "{err}");
    let (code, _, err) = outcome(&run_to_end(&folder, &["drill", "/dev/zero"]));
    assert!(code == 2 && err.contains("/dev/zero: has more than 1048576 bytes"), "{err}");
}

#[test]
fn files_that_include_many_others_end() {
    let folder = folder();
    for (name, next) in [("one.sh", "two.sh"), ("two.sh", "three.sh"), ("three.sh", "four.sh")] {
        folder.write(&format!("scripts/{name}"), format!("source {next}\n").repeat(1000).as_bytes());
    }
    folder.write("scripts/four.sh", b"true\n");
    fs::write(folder.path("scripts/a.pkt"), format!("`source one.sh`\n{HANDSHAKE}")).expect("a script");
    let (code, out, _) = outcome(&run_to_end(&folder, &["drill", "scripts/a.pkt"]));
    assert!(code == 1 && out.contains("names itself, or too many others"), "{out}");
}
