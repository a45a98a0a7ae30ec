//! `slowpath profile record`, with perf and the kernel of this machine.

use crate::captures::Captures;
use crate::{json, outcome, run, send_signal, slowpath, text};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{fs, thread};

const BUSY: [&str; 6] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=40000", "status=none"];
const NOBODY: u32 = 65534;

/// The result of a command; prints why if perf is missing or not permitted.
fn judged(test: &str, output: &Output) -> Option<(i32, String, String)> {
    let (code, out, err) = outcome(output);
    let lacks = ["no perf in PATH", "the kernel does not let us sample"];
    if code == 2 && lacks.iter().any(|lack| err.contains(lack)) {
        println!("not judged: {test}: {err}");
        return None;
    }
    Some((code, out, err))
}

#[test]
fn command_is_profiled_and_keeps_its_output() {
    let folder = Captures::new();
    let args =
        [&["profile", "record", "--"], &["sh", "-c", "echo its own; exec \"$@\"", "sh"][..], &BUSY].concat();
    let Some((code, out, err)) = judged("command", &run(&folder, &args)) else { return };
    assert_eq!((code, out.as_str()), (0, "its own\n"), "{err}");
    assert!(err.contains("perf.data: ") && err.contains("slowpath profile attribute perf.data"), "{err}");
    assert!(err.contains("sampled by"), "{err}");
    // The profile is readable and attributed; dd's kernel time is that of reading.
    let (code, out, _) = outcome(&run(&folder, &["profile", "top", "perf.data", "--json"]));
    let document = json(&out);
    assert_eq!(code, 0);
    assert!(document["profile"]["samples"].as_u64() > Some(10), "{out}");
    let work: Value =
        serde_json::from_slice(&fs::read(folder.path("perf.data.work.json")).expect("its work"))
            .expect("JSON");
    assert_eq!(work["schema"], "slowpath/work/1");
    assert!(work["seconds"].as_f64() > Some(0.0) && work["counters"]["Tcp.InSegs"].is_u64(), "{work:#}");
}

#[test]
fn failing_command_is_reported_and_older_profile_renamed() {
    let folder = Captures::new();
    for name in ["perf.data", "perf.data.work.json"] {
        folder.write(name, b"an older one");
    }
    let args = ["profile", "record", "--json", "--", "sh", "-c", "echo not JSON; exit 7"];
    let Some((code, out, err)) = judged("fails", &run(&folder, &args)) else { return };
    let document = json(&out);
    assert_eq!((code, &document["exit_code"], &document["signal"]), (1, &7.into(), &Value::Null), "{err}");
    assert!(err.contains("not JSON") && err.contains("the command failed: exit code 7"), "{err}");
    for name in ["perf.data.old", "perf.data.old.work.json"] {
        assert_eq!(fs::read(folder.path(name)).expect("it was moved"), b"an older one", "{name}");
    }
}

#[test]
fn recording_errors_state_their_cause() {
    let folder = Captures::new();
    let without =
        slowpath(&folder).args(["profile", "record", "--system", "1s"]).env("PATH", "/nowhere").output();
    let (code, _, err) = outcome(&without.expect("the binary runs"));
    assert!(code == 2 && err.contains("no perf in PATH; it is in the package"), "{err}");
    for (args, part) in [
        (&["--", "slowpath-no-such-program"][..], "slowpath-no-such-program: cannot be started"),
        (&["--event", "no-such-event", "--", "true"], "no-such-event"),
        (&["--out", "-", "--", "true"], "give the name of a file"),
        (&["--pid", "4194305"], "no such process"),
    ] {
        let output = run(&folder, &[&["profile", "record"], args].concat());
        let Some((code, _, err)) = judged(part, &output) else { continue };
        assert!(code == 2 && err.contains(part), "{args:?}: {err}");
    }
    for args in
        [&[][..], &["--system", "1s", "--", "true"], &["--system", "1"], &["--cpus", "1", "--", "true"]]
    {
        let (code, _, err) = outcome(&run(&folder, &[&["profile", "record"], args].concat()));
        assert!(
            code == 2 && (err.contains("Usage:") || err.contains("For more information")),
            "{args:?}: {err}"
        );
    }
}

/// Without permission, the error shows the value of `kernel.perf_event_paranoid`, and what is needed.
#[test]
#[ignore = "needs root"]
fn missing_permission_names_the_setting_and_capability() {
    let level: i64 = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
        .expect("a kernel with perf")
        .trim()
        .parse()
        .expect("a number");
    let folder = Captures::new();
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o777)).expect("our folder");
    // The binary may be in a folder that only root can read.
    let binary = folder.path("slowpath");
    fs::copy(env!("CARGO_BIN_EXE_slowpath"), &binary).expect("a copy");
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new(&binary);
        command.current_dir(folder.path("")).args(["profile", "record"]).args(args);
        outcome(&command.uid(NOBODY).gid(NOBODY).output().expect("the binary runs"))
    };
    for (needed, args) in [(0, &["--system", "1s"][..]), (1, &["--", "true"])] {
        let (code, _, err) = as_nobody(args);
        if err.contains("no perf") || level <= needed {
            println!("not judged: {args:?} at {level}: {err}");
            continue;
        }
        assert_eq!(code, 2, "{err}");
        for part in [
            format!("kernel.perf_event_paranoid is {level},"),
            "CAP_PERFMON".to_owned(),
            format!("`sysctl kernel.perf_event_paranoid={needed}`"),
        ] {
            assert!(err.contains(&part), "{part}: {err}");
        }
    }
    if level == 2 {
        let (code, _, err) = as_nobody(&["--event", "cpu-clock:u", "--", "true"]);
        assert!(
            err.contains("no perf") || code == 0 && err.contains("sampled by cpu-clock:u, as asked for"),
            "{err}"
        );
        assert!(err.contains("no perf") || err.contains("the kernel hides its symbols"), "{err}");
        assert_eq!(fs::metadata(folder.path("perf.data")).map_or(NOBODY, |found| found.uid()), NOBODY);
    }
}

/// Processes with this folder in their arguments.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().expect("UTF-8");
    let all = fs::read_dir("/proc").expect("proc(5)").flatten();
    let lines =
        all.map(|entry| text(&fs::read(entry.path().join("cmdline")).unwrap_or_default()).replace('\0', " "));
    lines.filter(|line| line.contains(folder)).collect()
}

/// Ctrl-C keeps the samples so far; after SIGKILL, perf completes its file by itself.
#[test]
fn interrupted_recording_is_readable_and_leaves_no_process() {
    for (signal, code) in [(libc::SIGINT, Some(1)), (libc::SIGTERM, Some(1)), (libc::SIGKILL, None)] {
        let folder = Captures::new();
        let out = folder.path("perf.data");
        let mut command = slowpath(&folder);
        command.args(["profile", "record", "--system", "60s", "--out"]).arg(&out);
        let child = command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn();
        let mut child = child.expect("the binary runs");
        let begun = Instant::now();
        // perf writes a header first.
        while !fs::metadata(&out).is_ok_and(|found| found.len() > 0) {
            if child.try_wait().expect("our child").is_some() {
                judged("interrupted", &child.wait_with_output().expect("it has ended"));
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not begin");
            thread::sleep(Duration::from_millis(10));
        }
        // There has to be something to sample, and perf begins some time after its header.
        let has_samples = || {
            let (code, out, _) = outcome(&run(&folder, &["profile", "top", "perf.data"]));
            code == 0 && out.contains("samples")
        };
        while !has_samples() && begun.elapsed() < Duration::from_secs(20) {
            let busy = Command::new(BUSY[0]).args(&BUSY[1..]).status().expect("it runs");
            assert!(busy.success());
        }
        send_signal(&child, signal);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
        while !processes_of(&folder.path("")).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", processes_of(&folder.path("")));
            thread::sleep(Duration::from_millis(10));
        }
        let (code, out, err) = outcome(&run(&folder, &["profile", "top", "perf.data"]));
        assert!(code == 0 && out.contains("samples"), "{signal}: {code}, {out}, {err}");
        assert!(!err.contains("not completed"), "{err}");
    }
}
