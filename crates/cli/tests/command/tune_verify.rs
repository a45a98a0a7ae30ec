//! `slowpath tune apply --verify`: a plan is kept if a command measures that it helps, and is taken back otherwise: also after a
//! kill at any instant, Ctrl-C, a command that fails, and a revert by somebody else meanwhile.

use crate::tune::{Draws, Host, kills, plan};
use crate::{flat, json, outcome, run, send_signal, text};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Takes 20 ms with the new values, 50 ms with the old ones.
const HELPS: &str = "if [ $(sysctl -n net.ipv4.tcp_sack) = 1 ]; then sleep 0.02; else sleep 0.05; fi";
/// A rate that the plan halves.
const HARMS: &str =
    "echo $((1000000000 / (1 + $(sysctl -n net.ipv4.tcp_sack)))) | sed 's/000000$/ Mbit\\/s/'";

impl Host {
    /// The arguments that verify the plan.
    fn verify<'a>(&'a self, command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        self.apply(&[&["--verify", command], more].concat())
    }

    /// Starts a verification, and waits until the command has said that it runs with new values.
    fn verifying(&self, command: &str) -> Child {
        let file = self.folder.path("began");
        let _ = fs::remove_file(&file);
        let command = format!(
            "if [ $(sysctl -n net.ipv4.tcp_sack) = 1 ]; then touch {}; {command}; fi",
            file.display()
        );
        let mut started = self.tune(&self.verify(&command, &[]));
        // Under nohup, SIGHUP is ignored, which a program inherits and keeps to.
        // SAFETY: signal(2) may be called between fork and exec (signal-safety(7)), and nothing else is.
        unsafe {
            started.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            });
        }
        let child = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let begun = Instant::now();
        while !file.exists() {
            assert!(begun.elapsed() < Duration::from_secs(120), "it does not run with the new values");
            thread::sleep(Duration::from_millis(5));
        }
        child
    }
}

fn ended(child: Child) -> (i32, String, String) {
    outcome(&child.wait_with_output().expect("it ends"))
}

#[test]
#[ignore = "needs root"]
fn a_plan_that_helps_is_kept() {
    let host = Host::new();
    let wrong = host.show();
    let (code, out, err) = host.run(&host.verify(HELPS, &["--keep-if", ">=5%"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("Plan 1 is kept: it helped: "), "{out}");
    assert!(flat(&out).contains("less time (95 % confidence: "), "{out}");
    let spread = |side| out.lines().find(|line| line.starts_with(side) && line.ends_with(" in 8 runs"));
    assert!(spread("  old: median ").is_some() && spread("  new: median ").is_some(), "{out}");
    assert!(out.ends_with("To take it back: slowpath tune revert 1\n"), "{out}");
    assert_ne!(host.show(), wrong);
    let (_, out, _) = host.run(&["status", "--json"]);
    assert_eq!(json(&out)["plans"][0]["state"], "applied");
    assert_eq!(host.run(&["revert"]).0, 0);
    assert_eq!(host.show(), wrong);
}

#[test]
#[ignore = "needs root"]
fn a_plan_that_does_not_help_is_taken_back() {
    let host = Host::new();
    let wrong = host.show();
    // Better in one pair, worse in the next. The first run does not count.
    let count = host.folder.path("count");
    let undecided = format!(
        "n=$(cat {0}); echo $((n + 1)) >{0}; if [ $(sysctl -n net.ipv4.tcp_sack) = 0 ]; then echo 100; \
         else echo $((90 + 20 * ((n - 1) / 2 % 2))); fi",
        count.display()
    );
    let rate = ["--measure", "rate"];
    for (command, more, verdict, says) in [
        (undecided.as_str(), &rate[..], "cannot-tell", "the runs differ too much to tell whether it helps: "),
        (HARMS, &rate, "harmed", "it made things worse: 50 % less"),
        (HELPS, &["--keep-if", ">= 90%"], "too-little", "it helped less than the 90 % that are wanted"),
        ("echo 7", &rate, "too-little", "it did not help: no change"),
    ] {
        fs::write(&count, "0\n").expect("there is room");
        let (code, out, err) = host.run(&host.verify(command, more));
        assert_eq!((code, err.as_str()), (1, ""), "{out}");
        assert!(flat(&out).contains(says), "{command}: {out}");
        assert!(
            out.contains("is taken back: ") && out.contains("  sysctl net.ipv4.tcp_sack: 0 again\n"),
            "{out}"
        );
        assert_eq!(host.show(), wrong);
        fs::write(&count, "0\n").expect("there is room");
        let (code, out, _) = host.run(&host.verify(command, &[more, &["--json"]].concat()));
        let document = json(&out);
        assert_eq!((code, document["schema"].as_str()), (1, Some("slowpath/tune-verify/1")), "{out}");
        assert_eq!(document["verdict"], verdict, "{out}");
        assert_eq!(
            (&document["kept"], &document["changes"].as_array().map(Vec::len)),
            (&false.into(), &Some(0))
        );
        assert_eq!(document["taken_back"].as_array().map(Vec::len), Some(17), "{out}");
        assert_eq!(host.show(), wrong);
    }
    let (code, out, _) = host.run(&["status"]);
    assert!(code == 0 && out.contains("Plan 8 was reverted at "), "{out}");
}

#[test]
#[ignore = "needs root"]
fn json_has_all_runs_in_their_order() {
    let host = Host::new();
    let command = format!("{HELPS}; echo $((500 + 500 * $(sysctl -n net.ipv4.tcp_sack))) Mbit/s");
    let (code, out, err) = host.run(&host.verify(&command, &["--measure", "rate", "--runs", "6", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let document = json(&out);
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 12);
    assert!(runs.chunks(2).all(|pair| pair[0]["side"] != pair[1]["side"]), "{out}");
    for run in runs {
        let rate = if run["side"] == "old" { 5e8 } else { 1e9 };
        assert_eq!(run["value"], rate, "{out}");
    }
    assert_eq!((&document["unit"], &document["measure"]), (&"bit/s".into(), &"rate".into()));
    for (key, value) in [("estimate", 1.0), ("lower", 1.0), ("upper", 1.0), ("confidence", 0.95)] {
        let found = document["gain"][key].as_f64().expect("a number");
        assert!((found - value).abs() < 1e-9, "{key}: {out}");
    }
    assert_eq!((document["old"]["median"].as_f64(), document["new"]["runs"].as_u64()), (Some(5e8), Some(6)));
    assert_eq!(document["changes"].as_array().map(Vec::len), Some(17));
}

#[test]
#[ignore = "needs root, waits"]
fn a_command_that_fails_changes_nothing_or_all_is_undone() {
    let host = Host::new();
    let wrong = host.show();
    let sack = "$(sysctl -n net.ipv4.tcp_sack)";
    for (command, more, says) in [
        (
            "exit 3".to_owned(),
            vec![],
            "nothing was changed, because the command cannot measure: the command ended with exit code 3",
        ),
        ("sleep 9".to_owned(), vec!["--timeout", "1s"], "took longer than 1 s"),
        ("echo fast".to_owned(), vec!["--measure", "rate"], "its last line is \"fast\""),
        (
            format!("[ {sack} = 0 ] || {{ echo it is gone >&2; exit 4; }}"),
            vec![],
            " of 16 failed: the command ended with exit code 4: it is gone; what was changed before it is undone",
        ),
        (format!("[ {sack} = 0 ] || kill -9 $$"), vec![], " of 16 failed: the command ended with signal 9"),
        (
            format!("if [ {sack} = 0 ]; then echo 5; else echo 5 Mbit/s; fi"),
            vec!["--measure", "rate"],
            "a number with a unit in some runs and without one in others",
        ),
        (
            format!("if [ {sack} = 1 ]; then sysctl -qw net.ipv4.tcp_retries2=9; fi"),
            vec![],
            "sysctl net.ipv4.tcp_retries2 was changed to \"9\" by somebody else meanwhile; these are not undone: sysctl \
             net.ipv4.tcp_retries2",
        ),
    ] {
        let (code, out, err) = host.run(&host.verify(&command, &more));
        assert_eq!((code, out.as_str()), (2, ""), "{command}");
        assert!(err.contains(says), "{command}: {err}");
        if says.contains("retries2") {
            host.shell("sysctl -qw net.ipv4.tcp_retries2=3");
        }
        assert_eq!(host.show(), wrong, "{command}");
    }
    let (_, out, _) = host.run(&["status", "--json"]);
    let plans = json(&out);
    let plans = plans["plans"].as_array().expect("plans");
    assert!(plans.len() == 4 && plans.iter().all(|plan| plan["state"] == "reverted"), "{out}");
}

#[test]
#[ignore = "needs root, waits"]
fn signals_end_it_with_everything_back() {
    let host = Host::new();
    let wrong = host.show();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let child = host.verifying("sleep 900");
        assert_ne!(host.show(), wrong);
        let begun = Instant::now();
        send_signal(&child, signal);
        let (code, out, err) = ended(child);
        // Taking back 18 changes starts as many programs, which takes half a minute where much else runs.
        assert!(begun.elapsed() < Duration::from_secs(600), "it waits for the command");
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("interrupted; what was changed before it is undone"), "{err}");
        assert_eq!(host.show(), wrong);
    }
}

/// The command outlives the killed program, and does not keep the lock.
#[test]
#[ignore = "needs root, waits"]
fn revert_does_not_wait_for_the_command_of_a_killed_verification() {
    let host = Host::new();
    let wrong = host.show();
    let pid = host.folder.path("pid");
    let child = host.verifying(&format!("echo $$ >{}; sleep 900", pid.display()));
    while !fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
        thread::sleep(Duration::from_millis(5));
    }
    send_signal(&child, libc::SIGKILL);
    child.wait_with_output().expect("it ends");
    let shell: i32 = fs::read_to_string(&pid).expect("a file").trim().parse().expect("a number");
    // SAFETY: plain values; the group is that of the command that was started above.
    assert_eq!(unsafe { libc::kill(-shell, 0) }, 0, "the command runs on");
    let (_, out, _) = host.run(&["status"]);
    assert!(out.starts_with("Plan 1 was interrupted at "), "{out}");
    let begun = Instant::now();
    assert_eq!(host.run(&["revert"]).0, 0);
    assert!(begun.elapsed() < Duration::from_secs(600), "it waits for the command");
    assert_eq!(host.show(), wrong);
    // SAFETY: as above.
    unsafe { libc::kill(-shell, libc::SIGKILL) };
}

#[test]
#[ignore = "needs root, waits"]
fn meanwhile_a_revert_is_possible_and_another_apply_is_not() {
    let host = Host::new();
    let wrong = host.show();
    let child = host.verifying("sleep 2");
    let (code, out, _) = host.run(&["status"]);
    assert!(code == 0 && out.starts_with("Plan 1 is being verified since 20"), "{out}");
    assert!(flat(&out).contains("tcp_sack: 0 → 1; in turn with the old value"), "{out}");
    let (_, out, _) = host.run(&["status", "--json"]);
    assert_eq!(json(&out)["plans"][0]["state"], "verifying");
    host.folder.write("other.toml", plan("", &[("sysctl net.ipv4.tcp_dsack", "1", "0")]).as_bytes());
    for more in [vec![], vec!["--verify", "true"]] {
        let args = [&["apply", "other.toml", "--netns", host.netns.as_str()], &more[..]].concat();
        let (code, _, err) = host.run(&args);
        assert!(
            code == 2 && err.contains("plan 1 is being verified, and another change would disturb that"),
            "{err}"
        );
    }
    assert_eq!(host.run(&["revert"]).0, 0);
    assert_eq!(host.show(), wrong);
    // Somebody applies one of its changes by hand: it is theirs.
    host.shell("sysctl -qw net.ipv4.tcp_sack=1");
    let (code, out, err) = ended(child);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("plan 1 was reverted by somebody else while it was verified"), "{err}");
    assert_eq!(host.shell("sysctl -n net.ipv4.tcp_sack"), "1\n");
    host.shell("sysctl -qw net.ipv4.tcp_sack=0");
    let (code, out, err) = host.run(&["apply", "other.toml", "--netns", &host.netns]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
#[ignore = "needs root, waits"]
fn a_limited_plan_ends_by_itself_while_it_is_verified() {
    let host = Host::new();
    let wrong = host.show();
    let (code, _, err) = host.run(&host.verify("sleep 0.4", &["--for", "2s"]));
    assert!(code == 2 && err.contains("plan 1 was reverted by somebody else while it was verified"), "{err}");
    assert_eq!(host.show(), wrong);
}

#[test]
#[ignore = "needs root"]
fn killed_at_any_instant_of_a_verification_everything_can_be_reverted() {
    let host = Host::new().with_interrupt();
    let wrong = host.show();
    let args = host.verify(HELPS, &["--runs", "6"]);
    let begun = Instant::now();
    let (code, out, err) = host.run(&args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let takes = begun.elapsed();
    let right = host.show();
    assert_eq!(host.run(&["revert"]).0, 0);
    let mut draws = Draws::new();
    // What was seen after a kill: the old values, a part of the new ones, or all of them.
    let mut seen = [0_u64; 3];
    for _ in 0..kills() {
        host.killed(&args, draws.below(takes.mul_f64(1.1)));
        let shown = host.show();
        seen[if shown == wrong {
            0
        } else if shown == right {
            2
        } else {
            1
        }] += 1;
        let (code, out, err) = host.run(&["revert"]);
        let had_begun = code == 0 && err.is_empty();
        let had_not = code == 2 && err.contains("has no plan that is applied");
        assert!(had_begun || had_not, "{code}: {out}{err}");
        assert_eq!(host.show(), wrong, "{out}");
    }
    println!("a verification takes {takes:?}; after a kill: [old, mixed, new] values {seen:?}");
    let (code, out, _) = host.run(&["status", "--json"]);
    assert_eq!(code, 0, "nothing is left open: {out}");
}

#[test]
fn options_of_a_verification_are_refused_with_what_to_write() {
    let folder = crate::captures::Captures::new();
    for (args, says) in [
        (vec!["--verify", "true", "--runs", "5"], "5 is not in 6..=200"),
        (vec!["--verify", "true", "--keep-if", "5%"], "write the smallest gain, such as '>=5%'"),
        (vec!["--verify", "true", "--keep-if", ">=5"], "is not a share; write a percentage"),
        (vec!["--verify", "true", "--timeout", "0s"], "write whole seconds from 1s"),
        (vec!["--verify", "true", "--measure", "speed"], "possible values: time, rate"),
        (vec!["--runs", "8"], "--verify <CMD>"),
    ] {
        let output = run(&folder, &[&["tune", "apply", "plan.toml"], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        let err = text(&output.stderr);
        assert!(err.contains(says), "{args:?}: {err}");
    }
}
