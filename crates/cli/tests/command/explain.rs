//! The arithmetic behind causes.

use crate::captures::Captures;
use crate::{run, told};
use serde_json::Value;

/// The paper's example below its equation 12: ten tasks of nice 0.
#[test]
fn ten_tasks_keep_a_packet_for_a_second_and_the_sender_times_out() {
    let folder = Captures::new();
    let args = ["explain", "wait", "--active", "6x0", "--expired", "0,0,0,0", "--rtt", "1ms"];
    let (code, out, err) = told(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("waits for 1 s at least: 10 tasks' slices"), "{out}");
    assert!(out.contains("the sender times out, though nothing was lost"), "{out}");
    let patient = [&args[..], &["--rto", "1200ms", "--loss", "0.0001", "--json"]].concat();
    let (code, out, _) = told(&run(&folder, &patient));
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let wait = &document["waits"][0];
    assert_eq!(
        (code, wait["wait_ns"].as_u64(), wait["times_out"].as_bool()),
        (0, Some(1_000_000_000), Some(false))
    );
    assert!(wait["bandwidth_waiting_bit_per_s"].as_u64() < wait["bandwidth_bit_per_s"].as_u64());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Captures::new();
    let wait = |rest: &[&str]| told(&run(&folder, &[&["explain", "wait", "--rtt", "1ms"], rest].concat()));
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
