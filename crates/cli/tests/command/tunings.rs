//! `slowpath compare-tunings`.

use crate::captures::Captures;
use crate::{json, outcome, run};

const NAMES: [&str; 9] =
    ["none", "PSC", "Linux 2.4", "DRS", "Enable", "Auto-ncFTP", "DRS FTP", "manual", "Linux 6.18"];

#[test]
fn every_technique_has_a_row() {
    let folder = Captures::new();
    let path = ["compare-tunings", "--rate", "100Mbit/s", "--rtt", "20ms", "--amount", "5MB"];
    let (code, out, err) = outcome(&run(&folder, &path));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("100 Mbit/s with an RTT of 20 ms, 1 connection"), "{out}");
    for name in NAMES {
        let rows = out.lines().filter(|line| line.trim_start().starts_with(name)).count();
        assert!(rows >= 3, "{name}: measured, with its CPU time, and described:\n{out}");
    }
    assert!(out.contains("CPU time, as a share of one CPU and per byte read"), "{out}");
    assert!(out.contains(" is the fastest"), "{out}");
}

#[test]
fn json_has_the_command_of_each_technique() {
    let folder = Captures::new();
    let path =
        ["compare-tunings", "--rate", "100Mbit/s", "--rtt", "20ms", "--amount", "5MB", "--streams", "2"];
    let (code, out, _) = outcome(&run(&folder, &[&path[..], &["--memory", "1MiB", "--json"]].concat()));
    assert_eq!(code, 0);
    let document = json(&out);
    assert_eq!((document["bdp"].as_u64(), document["memory"].as_u64()), (Some(250_000), Some(1 << 20)));
    let techniques = document["techniques"].as_array().expect("techniques");
    let names: Vec<&str> = techniques.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, NAMES);
    for one in techniques {
        assert_eq!(one["outcome"]["bytes"], 5_000_000, "{one}");
        for host in ["sender", "receiver"] {
            let number = |key: &str| one["outcome"][key].as_f64().unwrap_or_else(|| panic!("{key}: {one}"));
            let cpu = number(&format!("{host}_cpu_ns"));
            assert!(cpu > 0.0 && number(&format!("{host}_busy")) < 1.0, "{host}: {one}");
            let each = number(&format!("{host}_cpu_ns_per_byte"));
            assert!((each * 5_000_000.0 / cpu - 1.0).abs() < 1e-9, "{host}: {one}");
        }
        assert!(
            one["command"].as_str().is_some_and(|command| command.contains("scenarios/weigle/tunings.toml"))
        );
        assert!(
            one["outcome"]["receiver_memory"].as_u64().is_some_and(|held| held < (1 << 20) + (256 << 10))
        );
    }
}

#[test]
fn invalid_paths_are_refused() {
    let folder = Captures::new();
    for (arguments, says) in [
        (["--rate", "fast", "--rtt", "1ms"], "rate"),
        (["--rate", "1Gbit/s", "--rtt", "0s"], "write an RTT from 1us to 100s"),
        (["--rate", "1bit/s", "--rtt", "1ms"], "write a rate from 1kbit/s to 1Tbit/s"),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["compare-tunings"][..], &arguments].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains(says), "{err}");
    }
    let little =
        ["compare-tunings", "--rate", "1Gbit/s", "--rtt", "1ms", "--streams", "8", "--memory", "64KiB"];
    let (code, _, err) = outcome(&run(&folder, &little));
    assert_eq!(code, 2);
    assert!(err.contains("8 connections need at least 128 KiB"), "{err}");
}

#[test]
#[ignore = "needs root"]
fn table_one_is_measured_on_this_kernel() {
    let folder = Captures::new();
    let path = ["compare-tunings", "--lab", "--rate", "20Mbit/s", "--rtt", "40ms", "--amount", "2MB"];
    let (code, out, err) = outcome(&run(&folder, &path));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.starts_with("weigle's table I, on 20 Mbit/s with an RTT of 40 ms, 1.91 MiB by FTP."),
        "{out}"
    );
    for name in NAMES {
        let rows: Vec<&str> = out.lines().filter(|line| line.starts_with(name)).collect();
        let is_here = !matches!(name, "Linux 2.4" | "DRS");
        assert_eq!(rows.first().is_some_and(|row| row.contains("bit/s")), is_here, "{name}:\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}
