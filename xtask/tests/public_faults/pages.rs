//! What a cause's page shows of a written capture is what `slowpath show` would print of it.

use crate::captures;
use crate::wire::{Passed, shown};
use slowpath_analyses::Cause;
use std::fs;
use std::path::Path;

/// The capture that each page names, and how it is made.
const NAMED: [(Cause, &str, fn() -> Vec<Passed>); 10] = [
    (Cause::OldConnection, "old-connection", captures::old_connection),
    (Cause::FastOpenLost, "fast-open-lost", captures::fast_open_lost),
    (Cause::NotAnswered, "not-answered", captures::not_answered),
    (Cause::PeerGone, "peer-gone", captures::peer_gone),
    (Cause::ProtocolWindow, "protocol-window", captures::protocol_window),
    (Cause::WindowTakenBack, "taken-back", captures::taken_back),
    (Cause::EcnMarks, "ecn-marks", captures::ecn_marks),
    (Cause::MtuBlackHole, "mtu-black-hole", captures::mtu_black_hole),
    (Cause::SuperPacketsDropped, "super-packets-dropped", captures::super_packets_dropped),
    (Cause::BeyondUnscaledWindow, "beyond-unscaled-window", captures::beyond_unscaled_window),
];

/// The longest excerpt: more than this nobody reads.
const MOST_LINES: usize = 16;

#[test]
fn excerpts_are_what_the_written_captures_hold() {
    for (cause, name, capture) in NAMED {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src").join(cause.page());
        let page = fs::read_to_string(page).expect("a page");
        let begin = format!("<!-- capture: {name} -->\n\n```text\n");
        let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{cause}: no excerpt of {name}"));
        let (excerpt, _) = rest.split_once("```").expect("the end of the excerpt");
        let excerpt: Vec<&str> = excerpt.lines().collect();
        let lines = shown(&capture());
        assert!((2..=MOST_LINES).contains(&excerpt.len()), "{cause}: {} lines", excerpt.len());
        let first = lines.iter().position(|line| Some(&line.as_str()) == excerpt.get(1));
        let first = first.unwrap_or_else(|| panic!("{cause}: not in {name}: {}", excerpt[1]));
        assert_eq!(excerpt[0], lines[0], "{cause}: {name}");
        assert_eq!(excerpt[1..], lines[first..first + excerpt.len() - 1], "{cause}: {name}");
    }
}
