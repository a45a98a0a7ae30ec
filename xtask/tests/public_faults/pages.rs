//! The excerpt of a written capture in a cause's page is what `slowpath show` would print of it.

use crate::captures::{self, Answer};
use crate::own_queue;
use crate::transfer::{Fate, ONE_WAY};
use crate::wire::{Passed, file, shown};
use slowpath_analyses::Cause;
use std::path::Path;
use std::{env, fs};

/// The capture that a page names, as a file.
fn named() -> Vec<(Cause, &'static str, Vec<u8>)> {
    let segments: [(Cause, &'static str, Vec<Passed>); 20] = [
        (Cause::OldConnection, "old-connection", captures::old_connection()),
        (Cause::FastOpenLost, "fast-open-lost", captures::fast_open(1)),
        (Cause::NotAnswered, "not-answered", captures::not_answered()),
        (Cause::NoAnswer, "no-answer", captures::syns("64", "good")),
        (Cause::Refused, "refused", captures::refused()),
        (Cause::AcceptQueueFull, "accept-queue-full", captures::accept_queue_full()),
        (Cause::PeerGone, "peer-gone", captures::after_pause(Answer::Never)),
        (Cause::ResetUnknown, "reset-unknown", captures::after_pause(Answer::Reset)),
        (Cause::ResetClosed, "reset-closed", captures::reset_closed()),
        (Cause::ResetOnPath, "reset-on-path", captures::reset_on_path(62)),
        (Cause::ProtocolWindow, "protocol-window", captures::credit(ONE_WAY).a),
        (Cause::WindowTakenBack, "taken-back", captures::shrinking().a),
        (Cause::EcnMarks, "ecn-marks", captures::marked(ONE_WAY).a),
        (Cause::MtuBlackHole, "mtu-black-hole", captures::black_hole().a),
        (Cause::SuperPacketsDropped, "super-packets-dropped", captures::long_ones_dropped(ONE_WAY).a),
        (Cause::BeyondUnscaledWindow, "beyond-unscaled-window", captures::unscaled(ONE_WAY).a),
        (Cause::NotAccepted, "not-accepted", captures::not_accepted(ONE_WAY, Fate::Damage).b),
        (Cause::EcnCleared, "ecn-cleared", captures::ecn_cleared(ONE_WAY).b),
        (Cause::LocalQueue, "own-queue", own_queue::before_tap(&own_queue::lossy(ONE_WAY))),
        (Cause::SackUntranslated, "sack-untranslated", captures::untranslated(ONE_WAY, 1 << 30).a),
    ];
    let files = segments.into_iter().map(|(cause, name, passed)| (cause, name, file(&passed)));
    let others = [
        (Cause::Unreachable, "unreachable", captures::unreachable()),
        (Cause::ResetAborted, "reset-aborted", file(&captures::reset_aborted())),
    ];
    files.chain(others).collect()
}

/// The longest excerpt: longer ones are not read.
const MOST_LINES: usize = 16;

#[test]
fn page_excerpts_match_the_written_captures() {
    for (cause, name, file) in named() {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src").join(cause.page());
        let page = fs::read_to_string(&place).expect("a page");
        let begin = format!("<!-- capture: {name} -->\n\n```text\n");
        let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{cause}: no excerpt of {name}"));
        let (excerpt, _) = rest.split_once("```").expect("the end of the excerpt");
        let excerpt: Vec<&str> = excerpt.lines().collect();
        let lines = shown(file);
        if let Some(frames) = excerpt[0].strip_prefix("EXCERPT ")
            && env::var_os("SLOWPATH_UPDATE_EXCERPTS").is_some()
        {
            // A new page: `EXCERPT 5 14` stands for these frames.
            let (from, to) = frames.split_once(' ').expect("the first and the last frame");
            let [from, to] = [from, to].map(|frame| frame.parse::<usize>().expect("a frame's number"));
            let chosen = [&lines[..1], &lines[from..=to.min(lines.len() - 1)]].concat();
            fs::write(&place, page.replace(excerpt[0], &chosen.join("\n"))).expect("the page written");
            continue;
        }
        assert!((2..=MOST_LINES).contains(&excerpt.len()), "{cause}: {} lines", excerpt.len());
        let first = lines.iter().position(|line| Some(&line.as_str()) == excerpt.get(1));
        let first = first.unwrap_or_else(|| panic!("{cause}: not in {name}: {}", excerpt[1]));
        assert_eq!(excerpt[0], lines[0], "{cause}: {name}");
        assert_eq!(excerpt[1..], lines[first..first + excerpt.len() - 1], "{cause}: {name}");
    }
}
