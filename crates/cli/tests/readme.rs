//! The README's commands run, and its outputs are those of the program.
//!
//! Every line of a `sh` block that calls slowpath is run by a shell, in a folder with recordings named as in the README
//! and the repository's scenarios and scripts; lines that begin with sudo are run only as root. A `console` block is a
//! command after `$ ` and its output, run in the repository's folder; a line `…` stands for any number of lines.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SENDER: &str = "captures/shipped/random-loss-20mbit-40ms-10000ppm-cubic/sender.pcap.zst";
const RECEIVER: &str = "captures/shipped/random-loss-20mbit-40ms-10000ppm-cubic/receiver.pcap.zst";
const GOOD: &str = "captures/shipped/full-link-20mbit-20ms-reno-tso/sender.pcap.zst";
const KEPT: &str = "crates/sources/live/tests/live/kept/transfer.raw";
const REST: &str = "…";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository's folder")
}

/// The README's code blocks of a language.
fn blocks(language: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    let mut found = Vec::new();
    let mut block: Option<(bool, Vec<String>)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut block) {
            (Some(of), None) => block = Some((of == language, Vec::new())),
            (Some(_), Some((wanted, lines))) => {
                if *wanted {
                    found.push(std::mem::take(lines));
                }
                block = None;
            }
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    found
}

/// Creates stand-ins for the commands in the README, slowpath included, to put before the PATH.
fn stand_ins(folder: &Path) {
    let slowpath = env!("CARGO_BIN_EXE_slowpath");
    let sender = root().join(SENDER);
    let scripts = [
        ("slowpath", format!("exec '{slowpath}' \"$@\"")),
        ("sudo", "exec \"$@\"".to_owned()),
        ("tcpdump", format!("cat '{}'", sender.display())),
    ];
    fs::create_dir_all(folder).expect("a folder");
    for (name, line) in scripts {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{line}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
}

fn run(line: &str, stand_ins: &Path, folder: &Path) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", stand_ins.display()))
        .env_remove("COLUMNS")
        .output()
        .expect("a shell")
}

/// Creates a folder with the inputs of the README's commands, and stand-ins for the commands.
fn prepare(temporary: &Path) -> (PathBuf, PathBuf) {
    let (bin, folder) = (temporary.join("bin"), temporary.join("here"));
    stand_ins(&bin);
    fs::create_dir_all(&folder).expect("a folder");
    let captures = [
        ("transfer.pcap", SENDER),
        ("sender.pcap", SENDER),
        ("receiver.pcap", RECEIVER),
        ("good.pcap", GOOD),
        ("bad.pcap", SENDER),
    ];
    for (name, capture) in captures {
        fs::copy(root().join(capture), folder.join(name)).expect("a shipped capture");
    }
    fs::copy(root().join(KEPT), folder.join("host.raw")).expect("a probe's records");
    for shipped in ["scenarios", "crates", "captures"] {
        symlink(root().join(shipped), folder.join(shipped)).expect("a link to what the repository ships");
    }
    (bin, folder)
}

/// The README's commands that call slowpath: those for root, or the others.
fn commands(as_root: bool) -> Vec<String> {
    let calls = |line: &String| line.split([' ', '|']).any(|word| word == "slowpath");
    let all = blocks("sh").concat().into_iter().filter(calls);
    let others = all.filter(|line| !line.contains("slowpath tune"));
    others.filter(|line| line.starts_with("sudo slowpath") == as_root).collect()
}

/// Commands that change settings run one after the other on a host of their own: a network namespace, with an own /var/lib.
#[test]
#[ignore = "needs root"]
fn tune_commands_run_in_a_namespace() {
    const HOST: &str = "mount -t tmpfs none /var/lib; ip link set lo up; ip link add eth0 type veth peer name eth1; \
                        ip link set eth1 up; ip addr add 192.0.2.1/24 dev eth0; ip link set eth0 up; \
                        ip route add default via 192.0.2.2; sysctl -qw net.ipv4.tcp_sack=0; ";
    let temporary = tempfile::tempdir().expect("a folder for temporary files");
    let (bin, folder) = prepare(temporary.path());
    let lines: Vec<String> =
        blocks("sh").concat().into_iter().filter(|line| line.contains("slowpath tune")).collect();
    assert_eq!(lines.len(), 8);
    // Whether a plan helped is up to the noise of a sleep. Connections are tuned in a control group of their own, for a moment.
    let either = |line: String| match line.split_once("   #") {
        Some((command, _)) if line.contains("--verify") => format!("{command} || test $? = 1"),
        Some((command, _)) if line.contains("tune connections") => format!(
            "group=$(awk '$3 == \"cgroup2\" {{ print $2; exit }}' /proc/mounts)/slowpath-readme; mkdir $group
             {command} --cgroup $group --for 1s --progress never; rmdir $group"
        ),
        _ => line,
    };
    let lines: Vec<String> = lines.into_iter().map(either).collect();
    fs::write(folder.join("lines.sh"), format!("set -e; {HOST}\n{}\n", lines.join("\n"))).expect("a script");
    let output = run("unshare -n -m sh lines.sh", &bin, &folder);
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && error.is_empty(), "{out}{error}");
    for says in [
        "sysctl net.ipv4.tcp_sack: 0 → 1",
        "It reverts by itself at ",
        "; in force",
        "tcp_sack: 0 again",
        "finding = \"congestion-window/after-loss\"",
        "10 Gbit/s over 80 ms in 4 connections needs a window of ",
        "in 8 runs",
        "Tuned 0 of 0 connections",
    ] {
        assert!(out.contains(says), "{out}");
    }
}

/// Runs the commands; each must print something and exit with one of `codes`.
fn all_run(commands: &[String], (bin, folder): (&Path, &Path), codes: &[i32]) {
    let mut failed = Vec::new();
    for line in commands {
        let output = run(line, bin, folder);
        if output.status.code().is_none_or(|code| !codes.contains(&code)) {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            failed.push(format!("{line}\n    {}: {error}", output.status));
        } else if output.stdout.is_empty() {
            failed.push(format!("{line}\n    printed nothing"));
        }
    }
    assert!(failed.is_empty(), "of the README's commands failed:\n  {}", failed.join("\n  "));
}

#[test]
fn every_command_runs() {
    let temporary = tempfile::tempdir().expect("a folder for temporary files");
    let (bin, folder) = prepare(temporary.path());
    let commands = commands(false);
    assert!(commands.len() >= 20, "only {} commands were found", commands.len());
    // These checks exit with 1 if the lab lacks something or this host is not tuned.
    let may_find =
        |line: &String| ["slowpath lab check", "slowpath doctor"].iter().any(|of| line.starts_with(of));
    let (checks, others): (Vec<String>, Vec<String>) = commands.into_iter().partition(may_find);
    all_run(&others, (&bin, &folder), &[0]);
    all_run(&checks, (&bin, &folder), &[0, 1]);
    let page = fs::read_to_string(folder.join("report.html")).expect("the page that --html writes");
    assert!(page.contains("</html>"), "the page is whole");
}

/// A run that does not count because the machine was late exits with 1.
#[test]
#[ignore = "needs root"]
fn every_root_command_runs() {
    let temporary = tempfile::tempdir().expect("a folder for temporary files");
    let (bin, folder) = prepare(temporary.path());
    // The command for root creates this file itself.
    fs::remove_file(folder.join("host.raw")).expect("a probe's records");
    let commands = commands(true);
    assert!(commands.len() >= 4, "only {} commands were found", commands.len());
    all_run(&commands, (&bin, &folder), &[0, 1]);
}

/// Whether `output` is `shown`, where a line `…` stands for any number of lines.
fn matches(shown: &[String], output: &[&str]) -> bool {
    match shown.split_first() {
        None => output.is_empty(),
        Some((line, shown)) if line == REST => (0..=output.len()).any(|skip| matches(shown, &output[skip..])),
        Some((line, shown)) => output.first() == Some(&line.as_str()) && matches(shown, &output[1..]),
    }
}

#[test]
fn printed_outputs_match() {
    let temporary = tempfile::tempdir().expect("a folder for temporary files");
    stand_ins(temporary.path());
    let mut compared = 0;
    for block in blocks("console") {
        let (command, shown) = block.split_first().expect("a command");
        let command = command.strip_prefix("$ ").expect("a console block begins with its command");
        let output = run(command, temporary.path(), &root());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        assert!(matches(shown, &lines), "README.md shows other output of\n$ {command}\nIt prints\n{text}");
        compared += 1;
    }
    assert!(compared >= 2, "only {compared} outputs were found");
}

#[test]
fn ellipsis_stands_for_any_number_of_lines() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&shown("…\nb\n…"), &["a", "b", "c"]));
    assert!(matches(&shown("a\n…\nc"), &["a", "c"]));
    assert!(!matches(&shown("a\nc"), &["a", "b", "c"]));
    assert!(!matches(&shown("a"), &["a", "b"]));
}
