//! What a cause's page shows of a written capture is what `slowpath show` would print of it.

use crate::captures;
use crate::transfer::ONE_WAY;
use crate::wire::{Passed, shown};
use slowpath_analyses::Cause;
use std::fs;
use std::path::Path;

/// The capture that a page names, and what passed there.
fn named() -> [(Cause, &'static str, Vec<Passed>); 11] {
    [
        (Cause::OldConnection, "old-connection", captures::old_connection()),
        (Cause::FastOpenLost, "fast-open-lost", captures::fast_open(1)),
        (Cause::NotAnswered, "not-answered", captures::not_answered()),
        (Cause::PeerGone, "peer-gone", captures::after_pause(false)),
        (Cause::ProtocolWindow, "protocol-window", captures::credit(ONE_WAY).a),
        (Cause::WindowTakenBack, "taken-back", captures::shrinking().a),
        (Cause::EcnMarks, "ecn-marks", captures::marked(ONE_WAY).a),
        (Cause::MtuBlackHole, "mtu-black-hole", captures::black_hole().a),
        (Cause::SuperPacketsDropped, "super-packets-dropped", captures::long_ones_dropped(ONE_WAY).a),
        (Cause::BeyondUnscaledWindow, "beyond-unscaled-window", captures::unscaled(ONE_WAY).a),
        (Cause::SackUntranslated, "sack-untranslated", captures::untranslated(ONE_WAY).a),
    ]
}

/// The longest excerpt: more than this nobody reads.
const MOST_LINES: usize = 16;

#[test]
fn excerpts_are_what_the_written_captures_hold() {
    for (cause, name, passed) in named() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src").join(cause.page());
        let page = fs::read_to_string(page).expect("a page");
        let begin = format!("<!-- capture: {name} -->\n\n```text\n");
        let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{cause}: no excerpt of {name}"));
        let (excerpt, _) = rest.split_once("```").expect("the end of the excerpt");
        let excerpt: Vec<&str> = excerpt.lines().collect();
        let lines = shown(&passed);
        assert!((2..=MOST_LINES).contains(&excerpt.len()), "{cause}: {} lines", excerpt.len());
        let first = lines.iter().position(|line| Some(&line.as_str()) == excerpt.get(1));
        let first = first.unwrap_or_else(|| panic!("{cause}: not in {name}: {}", excerpt[1]));
        assert_eq!(excerpt[0], lines[0], "{cause}: {name}");
        assert_eq!(excerpt[1..], lines[first..first + excerpt.len() - 1], "{cause}: {name}");
    }
}
