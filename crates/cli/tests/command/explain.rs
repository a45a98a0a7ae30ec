//! `slowpath explain`: the arithmetic behind causes.

use crate::captures::Captures;
use crate::{json, outcome, run};

/// The paper's example after equation 12: ten tasks of nice 0.
#[test]
fn waiting_for_ten_tasks_exceeds_the_rto() {
    let folder = Captures::new();
    let args = ["explain", "wait", "--active", "6x0", "--expired", "0,0,0,0", "--rtt", "1ms"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("waits for at least 1 s: 10 tasks' slices"), "{out}");
    assert!(out.contains("the sender times out although nothing was lost"), "{out}");
    let patient = [&args[..], &["--rto", "1200ms", "--loss", "0.0001", "--json"]].concat();
    let (code, out, _) = outcome(&run(&folder, &patient));
    let document = json(&out);
    let wait = &document["waits"][0];
    assert_eq!(
        (code, wait["wait_ns"].as_u64(), wait["times_out"].as_bool()),
        (0, Some(1_000_000_000), Some(false))
    );
    assert!(wait["bandwidth_waiting_bit_per_s"].as_u64() < wait["bandwidth_bit_per_s"].as_u64());
}

#[test]
fn invalid_wait_arguments_are_refused() {
    let folder = Captures::new();
    let wait = |rest: &[&str]| outcome(&run(&folder, &[&["explain", "wait", "--rtt", "1ms"], rest].concat()));
    for (rest, why) in [
        (&[][..], "--active 10x0"),
        (&["--active", "20"], "nice values from -20 to 19"),
        (&["--active", "0", "--loss", "2"], "from 0 to 1"),
        (&["--active", "0", "--rttvar", "5"], "a unit"),
    ] {
        let (code, out, err) = wait(rest);
        assert_eq!((code, out.as_str()), (2, ""), "{rest:?}");
        assert!(err.contains(why), "{rest:?}: {err}");
    }
    // The longest times that can be written do not overflow.
    let longest = "18446744073709551615s";
    let (code, _, err) = wait(&["--active", "100000x-20", "--rttvar", longest, "--loss", "1e-300"]);
    assert!(code == 0 || err.contains("is not a time"), "{code}: {err}");
}

/// Kernels derive different windows from the same buffer (ubik IV-A and B).
#[test]
fn equal_buffer_gives_different_windows_per_kernel() {
    let folder = Captures::new();
    let args =
        ["explain", "buffer", "4MiB", "--kernel", "2.2.20,2.4.17,6.18", "--sysctl", "rmem_max=16777216"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    for says in [
        "linux-2.2.20, receiving: SO_RCVBUF asks for 4 MiB (4,194,304 B)",
        "getsockopt returns        8,388,608 → 8,388,608 B",
        "8388608 − 8388608 / 2^1",
        "8388608 − 8388608 / 2^2",
        "8388608 × scaling_ratio 128 / 256",
        "window scale in the SYN",
    ] {
        assert!(out.contains(says), "{says}: {out}");
    }
    let path = [&args[..], &["--rate", "1Gbit/s", "--rtt", "40ms", "--json"]].concat();
    let (code, out, _) = outcome(&run(&folder, &path));
    let document = json(&out);
    assert_eq!((code, document["bdp_bytes"].as_u64()), (0, Some(5_000_000)));
    let windows: Vec<_> =
        (0..3).map(|at| document["kernels"][at]["receive"]["most_bytes"].as_u64()).collect();
    assert_eq!(windows, [Some(4_192_896), Some(6_290_048), Some(4_193_152)]);
    // The buffer that is said to be enough is enough.
    for at in [0, 2] {
        let kernel = &document["kernels"][at];
        let needed = kernel["receive"]["needed"]["ask_bytes"].as_u64().expect("a size that is enough");
        let name = kernel["name"].as_str().expect("a name");
        let size = format!("{needed}B");
        let again = ["explain", "buffer", &size, "--kernel", name, "--sysctl", "rmem_max=16777216"];
        let (_, out, _) = outcome(&run(&folder, &[&again[..], &path[7..]].concat()));
        let document = json(&out);
        assert_eq!(document["kernels"][0]["receive"]["needed"]["is_enough"], true, "{name}: {needed}");
    }
}

#[test]
fn invalid_buffer_arguments_are_refused() {
    let folder = Captures::new();
    for (rest, why) in [
        (&["4"][..], "write a number and a unit"),
        (&["4GiB"], "setsockopt takes an int"),
        (&["--kernel", "9.9"], "unknown kernel \"9.9\""),
        (&["--sysctl", "rmem_max"], "write NAME=VALUE"),
        (&["--sysctl", "rmem_mx=1"], "did you mean rmem_max?"),
        (&["--sysctl", "tcp_rmem=1"], "net.ipv4.tcp_rmem: cannot be \"1\""),
        (&["--rate", "1Gbit/s"], "--rtt"),
        (&["--rtt", "0s"], "write an RTT from 1us"),
        (&["--mss", "87"], "88..=9148"),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["explain", "buffer"], rest].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{rest:?}");
        assert!(err.contains(why), "{rest:?}: {err}");
    }
}

/// The handbook's excerpt was printed by the command.
#[test]
fn handbook_excerpt_matches_the_output() {
    let page = include_str!("../../../../docs/src/ubik.md");
    let (_, block) = page.split_once("```console\n$ slowpath ").expect("an excerpt");
    let (command, shown) = block.split_once('\n').expect("a command and what it prints");
    let (shown, _) = shown.split_once("…\n").expect("it ends with what is left out");
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &command.split(' ').collect::<Vec<_>>()));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with(shown), "{out}");
}
