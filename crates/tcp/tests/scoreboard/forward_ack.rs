//! Losses by forward acknowledgment, as in 2.4: until reordering is seen, and after.

use crate::script::{Script, choices};
use slowpath_tcp::choices::{CongestionControl, SackWalk};
use slowpath_tcp::{Choices, Packet};
use slowpath_uapi::TcpInfo;
use std::time::Duration;

const WINDOW: u32 = 128;
const RECOVERY: u8 = 3;
/// Four in a row are lost, the next is late, and a later one is lost.
const LOST: [u32; 5] = [0, 1, 2, 3, 20];
const LATE: u32 = 4;
/// Longer than any timeout here.
const LONG: Duration = Duration::from_secs(5);

fn info(script: &Script) -> TcpInfo {
    script.sender.info(script.now)
}

/// A sender that has detected four of [`LOST`], with `more` segments to send beyond the window; [`LATE`] arrives after
/// five others, or never.
fn recovering(more: u32, comes: bool) -> Script {
    let kernel = choices(SackWalk::FromHead);
    let mut script = Script::new(Choices { congestion_control: CongestionControl::Reno, ..kernel }, WINDOW);
    let first = script.first_missing();
    script.wire.retain(|segment| *segment != first + LATE && !LOST.contains(&(segment - first)));
    script.write(more);
    script.run(4);
    if comes {
        script.wire.push_front(first + LATE);
        script.run(1);
    }
    assert_eq!(info(&script).ca_state, RECOVERY);
    script
}

/// The last segment of the first window arrives, but nothing sent after it.
fn rest_of_window(script: &mut Script) {
    let window = script.first_missing() + LATE..script.first_missing() + WINDOW;
    while script.wire.front().is_some_and(|segment| window.contains(segment)) {
        script.run(1);
    }
}

#[test]
fn fack_marks_holes_lost_until_reordering_is_seen() {
    let after = |comes| {
        let mut script = recovering(WINDOW, comes);
        rest_of_window(&mut script);
        (info(&script).lost, info(&script).reordering)
    };
    assert_eq!(after(false), (6, 3));
    // It was reordered behind four; from then on only the head is marked, and the four already were.
    assert_eq!(after(true), (4, 5));
}

#[test]
fn sacked_later_segment_marks_earlier_ones_lost() {
    let mut script = recovering(WINDOW, true);
    // The retransmissions and new data are in flight behind the window.
    let first = script.first_missing();
    let mut resent = false;
    while !script.is_complete(first + 2 * WINDOW) {
        resent |= script.wire.contains(&(first + LOST[4]));
        script.run(1);
    }
    assert!(resent);
    assert_eq!(info(&script).total_rto, 0);
}

#[test]
fn forward_retransmission_without_new_data() {
    let mut script = recovering(0, true);
    rest_of_window(&mut script);
    let sent = script.wire.iter().filter(|segment| **segment == script.first_missing() + LOST[4]).count();
    assert_eq!((sent, info(&script).lost), (1, 4));
}

#[test]
fn segments_older_than_the_rto_are_marked_lost_on_an_ack() {
    let mut script = recovering(WINDOW, true);
    let before = info(&script);
    script.now = script.now + LONG;
    script.run(1);
    let after = info(&script);
    // All except SACKed segments and retransmissions in flight.
    assert!(before.lost == 4 && after.lost > WINDOW / 2, "{} and {}", before.lost, after.lost);
    assert_eq!((after.ca_state, after.total_rto), (RECOVERY, 0));
}

#[test]
fn ack_with_a_changed_window_is_no_duplicate() {
    const LEAST: u16 = 60_000;
    let kernel = choices(SackWalk::FromHead);
    let mut script = Script::new(Choices { congestion_control: CongestionControl::Reno, ..kernel }, WINDOW);
    // While there is new data to send, nothing is retransmitted.
    script.write(WINDOW);
    let mut arrive = |window| {
        let ack = script.arrive().expect("a segment");
        script.answer(&Packet { window, ..ack });
        if window == LEAST {
            // The next is lost.
            script.wire.pop_front();
        }
        (info(&script).ca_state, info(&script).lost)
    };
    arrive(LEAST);
    let growing = (1..20).map(|more| arrive(LEAST + more)).last();
    // It is in recovery, but has nothing that it could retransmit.
    assert_eq!(growing, Some((RECOVERY, 0)));
    assert_eq!(arrive(LEAST + 19), (RECOVERY, 1));
}
