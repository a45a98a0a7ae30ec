//! `slowpath show --label`: segments by label, in the whole recording.

use crate::captures::Captures;
use crate::{json, outcome, run, shipped};

fn lines(args: &[&str]) -> Vec<String> {
    let (code, out, err) = outcome(&run(&Captures::new(), args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out.lines().map(str::to_owned).collect()
}

#[test]
fn segments_shown_per_label_match_the_counts() {
    let mut counted = 0;
    for capture in [
        "reordering-30mbit-20ms-20000ppm-by-60ms",
        "delay-spike-10mbit-60ms-900ms-of-1700ms-nofrto",
        "random-loss-20mbit-40ms-10000ppm-cubic",
    ] {
        let file = shipped(capture, "sender");
        let flows = lines(&["flows", &file, "--json"]).join("\n");
        let document = json(&flows);
        let directions = document["flows"][0]["directions"].as_array().expect("directions").iter();
        let labels: Vec<_> = directions.map(|way| &way["measures"]["labels"]).collect();
        for (label, field) in
            [("spurious", "spurious_retransmission"), ("retransmission", "retransmission"), ("new", "new")]
        {
            let wanted: u64 = labels.iter().map(|counts| counts[field].as_u64().expect(field)).sum();
            let shown = lines(&["show", &file, "--label", label, "--json"]).len() as u64;
            assert_eq!(shown, wanted, "{capture}: {label}");
            counted += if label == "new" { 0 } else { shown };
        }
    }
    assert!(counted > 50, "{counted}");
}

#[test]
fn lines_start_with_their_label_in_time_order() {
    let file = shipped("random-loss-20mbit-40ms-10000ppm-cubic", "sender");
    let lines =
        lines(&["show", &file, "--flow", "1", "--label", "retransmission,new", "--from", "1", "--to", "3"]);
    assert!(lines[0].starts_with("# flow 1: "), "{}", lines[0]);
    let rows: Vec<_> = lines[1..].iter().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert!(rows.iter().any(|row| row[0] == "new") && rows.iter().any(|row| row[0] == "retransmission"));
    let times: Vec<f64> = rows.iter().map(|row| row[1].parse().expect("a time")).collect();
    assert!(times.is_sorted() && times.iter().all(|time| (1.0..=3.0).contains(time)));
}

#[test]
fn flow_without_matching_segments_is_not_shown() {
    let file = shipped("random-loss-20mbit-40ms-10000ppm-cubic", "sender");
    assert_eq!(lines(&["show", &file, "--label", "keep-alive,window-probe"]), Vec::<String>::new());
    let limited = lines(&["show", &file, "--label", "retransmission", "--limit", "2"]);
    assert_eq!(limited.len(), 3);
}

/// With a wrong vantage point, losses before the tap would be labelled as reordering, and reordering as loss.
#[test]
fn correct_vantage_gives_the_inferred_labels() {
    let file = shipped("reordering-30mbit-20ms-20000ppm-by-60ms", "sender");
    let retransmissions = |place: &[&str]| {
        lines(&[&["show", &file, "--label", "retransmission,spurious,out-of-order"], place].concat())
    };
    assert_eq!(retransmissions(&["--vantage", "sender"]), retransmissions(&[]));
    let (code, _, err) = outcome(&run(&Captures::new(), &["show", &file, "--vantage", "sender"]));
    assert_eq!(code, 2, "it changes labels only");
    assert!(err.contains("--label"), "{err}");
}
