//! `slowpath scenario` and `slowpath kernels`.

use crate::captures::Captures;
use crate::{json, outcome, run};
use serde_json::Value;

const WRONG: &[u8] = b"[path]\nrate = \"100 Mbit/s\"\ndealy = \"20 ms\"\n";
const RIGHT: &[u8] = b"[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n";

#[test]
fn check_reports_memory_of_valid_files_and_errors_of_invalid_ones() {
    let folder = Captures::new();
    folder.write("right.toml", RIGHT);
    folder.write("wrong.toml", WRONG);
    let (code, out, err) = outcome(&run(&folder, &["scenario", "check", "right.toml"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("right.toml: correct; it needs at most 83,"), "{out}");
    let (code, out, err) = outcome(&run(&folder, &["scenario", "check", "right.toml", "wrong.toml"]));
    assert_eq!((code, out.lines().count()), (1, 1));
    assert!(
        err.contains("wrong.toml:3:1\n  |\n3 | dealy = \"20 ms\"\n  | ^^^^^ did you mean delay?"),
        "{err}"
    );
    let (code, _, err) = outcome(&run(&folder, &["scenario", "check", "absent.toml"]));
    assert_eq!(code, 2);
    assert!(err.contains("absent.toml"), "{err}");
}

#[test]
fn check_prints_json() {
    let folder = Captures::new();
    folder.write("right.toml", RIGHT);
    folder.write("wrong.toml", WRONG);
    let (code, out, err) =
        outcome(&run(&folder, &["scenario", "check", "--json", "right.toml", "wrong.toml"]));
    assert_eq!((code, err.as_str()), (1, ""));
    let all = json(&out);
    assert_eq!(all["schema"], "slowpath/scenario-check/1");
    assert_eq!(all["files"][0]["errors"], Value::Array(vec![]));
    let error = &all["files"][1]["errors"][0];
    assert_eq!((&error["line"], &error["hint"]), (&Value::from(3), &Value::from("did you mean delay?")));
}

#[test]
fn explain_marks_written_values_and_explains_defaults() {
    let folder = Captures::new();
    folder.write("right.toml", RIGHT);
    let args = ["scenario", "explain", "right.toml", "--set", "path.delay=50ms", "--seed", "7"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    let line = |start: &str| out.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("* rate").contains("100 Mbit/s"), "{out}");
    assert!(line("+ delay").contains("50 ms"), "{out}");
    assert!(line("+ seed").contains('7'), "{out}");
    assert!(line("  call-size").contains("iperf3"), "{out}");
    let (_, out, _) = outcome(&run(&folder, &[&args[..], &["--json"]].concat()));
    let explanation = json(&out);
    assert_eq!(explanation["schema"], "slowpath/scenario/1");
    let settings = explanation["settings"].as_array().expect("settings");
    let delay = settings.iter().find(|setting| setting["key"] == "path.forward.delay").expect("the delay");
    assert_eq!((&delay["value"], &delay["origin"]), (&Value::from("50 ms"), &Value::from("override")));
}

#[test]
fn errors_in_overrides_are_shown_like_those_in_the_file() {
    let folder = Captures::new();
    folder.write("right.toml", RIGHT);
    let (code, out, err) =
        outcome(&run(&folder, &["scenario", "explain", "right.toml", "--set", "path.delay=50"]));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("1 | path.delay=50\n  |            ^^ write a time"), "{err}");
    let (code, _, err) = outcome(&run(&folder, &["scenario", "explain", "right.toml", "--set", "delay"]));
    assert_eq!(code, 2);
    assert!(err.contains("write a key, = and a value"), "{err}");
}

#[test]
fn new_scenario_is_valid_and_overwrites_nothing() {
    let folder = Captures::new();
    let (code, _, err) = outcome(&run(&folder, &["scenario", "new", "mine.toml"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let (code, out, _) = outcome(&run(&folder, &["scenario", "check", "mine.toml"]));
    assert_eq!(code, 0, "{out}");
    folder.write("mine.toml", b"# precious\n");
    let (code, _, err) = outcome(&run(&folder, &["scenario", "new", "mine.toml"]));
    assert_eq!(code, 2);
    assert!(err.contains("is not changed"), "{err}");
    assert_eq!(std::fs::read(folder.path("mine.toml")).expect("a file"), b"# precious\n");
    let (code, out, _) = outcome(&run(&folder, &["scenario", "new"]));
    assert_eq!(code, 0);
    assert!(out.starts_with("# Describe here what this scenario shows."), "{out}");
}

#[test]
fn hostile_files_are_refused_quickly() {
    let folder = Captures::new();
    folder.write("long.toml", &b"# nothing\n".repeat(1_000_000));
    folder.write("binary.toml", &[0xff; 1000]);
    let (code, _, err) = outcome(&run(&folder, &["scenario", "check", "long.toml"]));
    assert_eq!(code, 1);
    assert!(err.contains("a scenario has at most"), "{err}");
    let (code, _, err) = outcome(&run(&folder, &["scenario", "check", "binary.toml"]));
    assert_eq!(code, 2);
    assert!(err.contains("not text"), "{err}");
}

#[test]
fn kernels_are_listed_and_compared() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["kernels"]));
    assert_eq!((code, err.as_str()), (0, ""));
    // The reference page of scenario files has all values; another test compares it with the code.
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let kernels = slowpath_kernels::registry::NAMES;
    assert_eq!(words(out.lines().next().unwrap_or_default()), kernels);
    let scheduler = out.lines().find(|line| line.contains("scheduler")).unwrap_or_default();
    assert_eq!(words(scheduler)[..2], ["scheduler", "goodness"]);
    assert!(
        scheduler.contains("o1 with extra runs") && scheduler.trim_end().ends_with("eevdf 700 µs"),
        "{scheduler}"
    );
    let (_, out, _) = outcome(&run(&folder, &["kernels", "6.18", "--sources", "--sysctls"]));
    assert!(out.contains("kernel/sched/fair.c") && out.contains("net.ipv4.tcp_rmem"), "{out}");
    assert!(!out.contains("linux-2.4.17"), "{out}");
    let (_, out, _) = outcome(&run(&folder, &["kernels", "linux-2.6.14", "--json"]));
    assert_eq!(json(&out)["kernels"][0], "linux-2.6.14");
    let (code, _, err) = outcome(&run(&folder, &["kernels", "7.0"]));
    assert_eq!(code, 2);
    assert!(err.contains(&kernels.join(", ")), "{err}");
}
