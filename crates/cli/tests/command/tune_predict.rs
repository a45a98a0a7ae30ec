//! What `slowpath what-if` predicts of a plan: in the plan, next to what is measured, and in the status.

use crate::captures::Captures;
use crate::tune::{Host, plan};
use crate::{flat, json, outcome, run, shipped};

/// Its window stays at 79 KiB; the capture at the sender can be simulated, that at the receiver cannot.
const UNTUNED: &str = "no-autotuning-20mbit-80ms";
const TUNING: &str = "sysctl net.ipv4.tcp_moderate_rcvbuf";
const SACK: (&str, &str, &str) = ("sysctl net.ipv4.tcp_sack", "0", "1");
/// Takes a fifth of the time with the new value.
const HELPS: &str = "if [ $(sysctl -n net.ipv4.tcp_sack) = 1 ]; then sleep 0.1; else sleep 0.5; fi";

impl Host {
    fn plan_of(&self, capture: &str, more: &[&str]) -> String {
        let args = ["tune", "plan", capture, "--as", "receiver", "--netns", &self.netns];
        let (code, out, err) = outcome(&run(&self.folder, &[&args[..], more].concat()));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        out
    }

    /// Writes a plan with a prediction.
    fn predicted(&self, now: &str, then: &str) {
        let changes = format!("{} = {}", SACK.0, SACK.2);
        let text = format!(
            "{}[[predicted]]\nchanges = \"{changes}\"\nrate-now = \"{now}\"\nrate-then = \"{then}\"\n\
             limit-then = \"path/bottleneck-full, 77 %\"\n",
            plan("", &[SACK])
        );
        self.folder.write("plan.toml", text.as_bytes());
    }
}

/// The block of the handbook's page that begins so.
fn handbook(begins: &str) -> String {
    let page = include_str!("../../../../docs/src/tune.md");
    let blocks = page.split("```").filter_map(|block| block.split_once('\n').map(|(_, text)| text));
    let mut blocks = blocks.filter(|block| block.starts_with(begins));
    blocks.next().expect(begins).to_owned()
}

#[test]
#[ignore = "needs root"]
fn each_change_has_a_predicted_rate_or_the_reason_why_not() {
    let host = Host::new();
    host.shell("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 131072 6291456'");
    let (sender, receiver) = (shipped(UNTUNED, "sender"), shipped(UNTUNED, "receiver"));
    let document = json(&host.plan_of(&sender, &["--json"]));
    assert_eq!(document["schema"], "slowpath/tune-plan/1");
    let change = &document["changes"][0];
    assert_eq!(change["setting"], TUNING);
    let rate = |name: &str| change["predicted"][name].as_f64().expect("a rate");
    let [now, low, high] = ["now", "low", "high"].map(|name| rate(&format!("{name}_bit_per_s")));
    assert!(now < low && low < high && high < 20e6, "{now} {low} {high}");
    assert_eq!(change["predicted"]["next"]["limit"], "path");
    assert_eq!(document["predicted"], change["predicted"], "the only change");
    // As what-if has it, with the largest buffer of this host.
    let (_, out, _) =
        outcome(&run(&host.folder, &["what-if", &sender, "--try", "receive-buffer=6MiB", "--json"]));
    let tried = &json(&out)["tried"][0];
    let is_near = |name: &str, rate: f64| (tried[name].as_f64().expect("a rate") / rate - 1.0).abs() < 0.01;
    assert!(is_near("low_bit_per_s", low) && is_near("high_bit_per_s", high), "{out}");

    let toml = host.plan_of(&sender, &[]);
    let says =
        format!("[[predicted]]\nchanges = \"{TUNING} = 1\"\nrate-now = \"7.54 Mbit/s\"\nrate-then = \"");
    assert!(toml.contains(&says), "{toml}");
    assert!(toml.contains(&handbook("[[predicted]]\n")), "{toml}");
    let text = host.plan_of(&sender, &["--out", "plan.toml", "--force"]);
    assert!(text.contains(&handbook(&format!("  {TUNING}: 0 → 1\n"))), "{text}");
    let text = host.plan_of(&receiver, &["--out", "plan.toml", "--force"]);
    assert!(flat(&text).contains("Not predicted: the capture was made on the receiving host."), "{text}");
    assert!(!host.plan_of(&sender, &["--no-predict"]).contains("predicted"), "left out");
    let (_, found, _) = outcome(&run(&host.folder, &["diagnose", &sender, "--json"]));
    host.folder.write("found.json", found.as_bytes());
    let toml = host.plan_of("found.json", &[]);
    assert!(
        toml.contains("not-predicted = \"what `slowpath diagnose --json` prints has no packets"),
        "{toml}"
    );
}

/// The capture's buffer was a tenth of what this host's sysctl allows: raising that would change nothing.
#[test]
#[ignore = "needs root"]
fn a_setting_that_was_not_the_limit_is_not_predicted() {
    let host = Host::new();
    let capture = shipped("small-tcp-rmem-20mbit-60ms-64k", "sender");
    for (most, is_predicted) in [("65536", true), ("1048576", false)] {
        host.shell(&format!("sysctl -qw net.ipv4.tcp_rmem='4096 32768 {most}'"));
        let document = json(&host.plan_of(&capture, &["--json"]));
        let changes = document["changes"].as_array().expect("a list").iter();
        let mut rmem = changes.filter(|change| change["setting"] == "sysctl net.ipv4.tcp_rmem");
        let predicted = &rmem.next().expect("it is planned")["predicted"];
        assert_eq!(predicted["low_bit_per_s"].is_u64(), is_predicted, "{most}: {document:#}");
        let why = predicted["not_predicted"].as_str().unwrap_or_default();
        assert_eq!(
            why.contains("this setting allows 1 MiB already: something else limits it"),
            !is_predicted
        );
    }
}

#[test]
#[ignore = "needs root"]
fn what_is_measured_stands_next_to_what_was_predicted() {
    let host = Host::new();
    let verify = ["--verify", HELPS, "--runs", "6"];
    // Four to five times as fast, with what a shell takes.
    host.predicted("10 Mbit/s", "20 to 60 Mbit/s");
    let (code, out, err) = host.run(&host.apply(&verify));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let says = "Predicted 20 to 60 Mbit/s instead of 10 Mbit/s (50 % less to 83 % less time); measured ";
    assert!(flat(&out).contains(says) && flat(&out).contains("less time: within the prediction."), "{out}");
    let (_, out, _) = host.run(&["status"]);
    assert!(flat(&out).contains(says), "{out}");
    let (_, out, _) = host.run(&["status", "--json"]);
    let first = &json(&out)["plans"][0];
    assert_eq!(
        (&first["predicted"]["now_bit_per_s"], &first["prediction_error"]),
        (&10_000_000.into(), &0.0.into())
    );
    assert!(first["measured"]["gain"]["estimate"].as_f64().is_some_and(|gain| gain > 0.5), "{out}");
    let (code, report, err) = host.run(&["status", "--report"]);
    assert_eq!((code, err.as_str()), (0, ""), "{report}");
    for says in [
        "## Plan 1\n",
        "- Reverts by itself: no\n",
        "- Measured in 6 pairs of runs of `if [ ",
        "- Predicted 20 to ",
        "- Undo: `slowpath tune revert 1`\n",
        "| `sysctl net.ipv4.tcp_sack: 0 → 1` | ",
    ] {
        assert!(report.contains(says), "{says}: {report}");
    }
    assert_eq!(host.run(&["revert"]).0, 0);
    let (_, report, _) = host.run(&["status", "--report"]);
    assert!(!report.contains("## Plan"), "{report}");

    host.predicted("10 Mbit/s", "200 to 600 Mbit/s");
    // Far less than was predicted.
    let (_, out, _) = host.run(&host.apply(&[&verify[..], &["--json"]].concat()));
    let error = json(&out)["prediction_error"].as_f64().expect("a number");
    assert!((-0.95..-0.5).contains(&error), "{out}");
    assert_eq!(host.run(&["revert"]).0, 0);

    host.predicted("84 Mbit/s", "410 to 440 Mbit/s");
    let rates = "if [ $(sysctl -n net.ipv4.tcp_sack) = 1 ]; then echo 428 Mbit/s; else echo 84 Mbit/s; fi";
    let (_, out, _) = host.run(&host.apply(&["--verify", rates, "--measure", "rate", "--runs", "6"]));
    assert!(out.contains(&handbook("  Predicted 410 to ")), "{out}");
    assert_eq!(host.run(&["revert"]).0, 0);
}

#[test]
#[ignore = "needs root"]
fn an_edited_plan_is_not_held_against_its_old_prediction() {
    let host = Host::new();
    host.predicted("10 Mbit/s", "20 to 60 Mbit/s");
    let text = std::fs::read_to_string(host.folder.path("plan.toml")).expect("the plan");
    host.folder.write("plan.toml", text.replace("then = \"1\"", "then = \"2\"").as_bytes());
    assert_eq!(host.run(&host.apply(&[])).0, 0);
    let (_, out, _) = host.run(&["status"]);
    assert!(flat(&out).contains("not predicted: the plan was edited since its prediction"), "{out}");
    assert_eq!(host.run(&["revert"]).0, 0);
    host.folder.write("plan.toml", text.replace("20 to 60", "60 to 20").as_bytes());
    let (code, _, err) = host.run(&host.apply(&[]));
    assert!(code == 2 && err.contains("plan.toml:10: rate-then: write two rates above zero"), "{err}");
}

#[test]
#[ignore = "needs root"]
fn in_the_lab_too() {
    let folder = Captures::new();
    let scenario = b"[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n[flows]\namount = \"300 kB\"\n";
    folder.write("scenario.toml", scenario);
    let buffer = ("sysctl net.ipv4.tcp_rmem", "4096 65536 65536", "4096 1048576 33554432");
    let predicted = format!(
        "[[predicted]]\nchanges = \"{} = {}\"\nrate-now = \"10 Mbit/s\"\nrate-then = \"11 to 40 Mbit/s\"\n",
        buffer.0, buffer.2
    );
    folder.write("plan.toml", (plan("", &[buffer]) + &predicted).as_bytes());
    let args = ["tune", "apply", "plan.toml", "--in-lab", "scenario.toml", "--as", "receiver", "--runs", "6"];
    // Other tests may keep the machine too busy for a run that counts.
    let mut tries = (0..5).map(|_| outcome(&run(&folder, &args)));
    let (code, out, err) = tries.find(|(_, _, err)| !err.contains("too busy")).expect("a quiet moment");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let says = "Predicted 11 to 40 Mbit/s instead of 10 Mbit/s (10 % to 300 % more); measured ";
    assert!(flat(&out).contains(says) && flat(&out).contains("within the prediction."), "{out}");
}

#[test]
fn without_a_capture_there_is_nothing_to_leave_out() {
    let folder = Captures::new();
    let (code, _, err) = outcome(&run(&folder, &["tune", "plan", "--doctor", "--no-predict"]));
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
}

#[test]
fn a_report_without_a_journal_says_that_nothing_is_in_force() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["tune", "status", "--journal", "none", "--report"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("# TCP settings changed on `"), "{out}");
    let is_tuned = out.contains("## Connections tuned one by one");
    assert_eq!(out.contains("Nothing that `slowpath tune` has applied is in force."), !is_tuned, "{out}");
}
