//! What a sender of 2.4 does in recovery, and Leith's otherwise (leith, sections 1.3 to 1.5).

use crate::script::{Script, choices};
use slowpath_tcp::Choices;
use slowpath_tcp::choices::{BurstModeration, CongestionControl, PriorThreshold, Reneging, SackWalk};
use slowpath_uapi::TcpInfo;

/// Slow start comes to this window.
const WINDOW: u32 = 128;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

fn old() -> Choices {
    Choices { congestion_control: CongestionControl::Reno, ..choices(SackWalk::FromHead) }
}

fn info(script: &Script) -> TcpInfo {
    script.sender.info(script.now)
}

/// A window that was halved and then all acknowledged at once: three segments may go, or half the window.
#[test]
fn a_burst_after_recovery_is_held_to_three_segments_by_moderation() {
    let after = |burst_moderation| {
        let choices = Choices { burst_moderation, reduction_cap: false, ..old() };
        let mut script = Script::new(choices, WINDOW);
        script.wire.pop_front();
        // The last that arrives is the retransmission: nothing is out any more.
        while !script.is_complete(WINDOW) {
            script.run(1);
        }
        (info(&script).snd_cwnd, info(&script).snd_ssthresh)
    };
    // And one for the ACK itself.
    assert_eq!(after(BurstModeration::InFlight), (4, WINDOW / 2));
    assert_eq!(after(BurstModeration::No), (WINDOW / 2, WINDOW / 2));
    assert_eq!(after(BurstModeration::ByAck), (WINDOW / 2, WINDOW / 2));
}

/// An ACK that opens the window by many lets three segments go where they are counted, in recovery only.
#[test]
fn an_ack_in_recovery_sends_three_segments() {
    let burst = |burst_moderation| {
        let choices = Choices { burst_moderation, reduction_cap: false, ..old() };
        let mut script = Script::new(choices, WINDOW);
        script.wire.pop_front();
        script.run(5);
        assert_eq!(info(&script).ca_state, RECOVERY);
        script.write(WINDOW);
        // Ninety arrive whose ACKs are lost, then one more.
        for _ in 0..90 {
            script.arrive();
        }
        let before = script.wire.len();
        script.run(1);
        script.wire.len() + 1 - before
    };
    assert_eq!(burst(BurstModeration::ByAck), 3);
    assert!(burst(BurstModeration::No) > 30, "{}", burst(BurstModeration::No));
}

/// ACKs are lost in recovery, so that one reports much: less is in flight than the window allows, and the window is cut to
/// that.
#[test]
fn cwnd_is_capped_to_the_data_in_flight() {
    let after = |reduction_cap| {
        let mut script = Script::new(Choices { reduction_cap, ..old() }, WINDOW);
        script.wire.pop_front();
        script.run(5);
        for _ in 0..WINDOW - 20 {
            script.arrive();
        }
        script.run(1);
        assert_eq!(info(&script).ca_state, RECOVERY);
        info(&script).snd_cwnd
    };
    let (capped, free) = (after(true), after(false));
    assert!(capped <= 16, "{capped}");
    assert!(free >= 90, "{free}");
}

/// Rate halving goes on below ssthresh with Reno, to its half, and not with BIC.
#[test]
fn congestion_control_sets_the_least_cwnd_of_a_long_recovery() {
    let least = |congestion_control| {
        let choices = Choices { congestion_control, reduction_cap: false, ..old() };
        let mut script = Script::new(choices, WINDOW);
        script.wire.pop_front();
        script.write(4 * WINDOW);
        let mut least = WINDOW;
        for _ in 0..300 {
            // The first segment is lost each time it is sent.
            if script.wire.front() == Some(&script.first_missing()) {
                script.wire.pop_front();
            }
            script.run(1);
            if info(&script).ca_state == RECOVERY {
                least = least.min(info(&script).snd_cwnd);
            }
        }
        (least, info(&script).snd_ssthresh)
    };
    let (cwnd, ssthresh) = least(CongestionControl::Reno);
    assert_eq!((cwnd, ssthresh), (WINDOW / 4, WINDOW / 2));
    let (cwnd, ssthresh) = least(CongestionControl::Bic);
    assert_eq!(cwnd, ssthresh);
}

/// A retransmission is known to be lost when something is sacked that was sent after it: no timeout is needed.
#[test]
fn a_lost_retransmission_is_detected_by_a_later_sack() {
    let mut script = Script::new(old(), WINDOW);
    let lost = script.wire.pop_front().unwrap();
    script.write(WINDOW);
    let mut resent = 0;
    for _ in 0..2 * WINDOW {
        if script.wire.front() == Some(&lost) {
            resent += 1;
            if resent == 1 {
                script.wire.pop_front();
            }
        }
        script.run(1);
    }
    assert_eq!(resent, 2);
    assert!(script.is_complete(2 * WINDOW));
    assert_eq!(info(&script).total_rto, 0);
}

/// What a sender does when the receiver has thrown away what it sacked.
fn renege(reneging: Reneging) -> (TcpInfo, Script) {
    let mut script =
        Script::new(Choices { reneging, burst_moderation: BurstModeration::No, ..old() }, WINDOW);
    script.wire.pop_front();
    script.run(60);
    let before = info(&script);
    assert_eq!(before.ca_state, RECOVERY);
    script.renege();
    // The retransmission fills the hole, and only the hole.
    let hole = script.first_missing();
    script.wire.retain(|&segment| segment == hole);
    script.run(1);
    (before, script)
}

#[test]
fn sack_reneging_collapses_cwnd_in_2_4() {
    let (before, script) = renege(Reneging::AsTimeout);
    let after = info(&script);
    // The ACK itself lets it grow by one.
    assert_eq!((after.ca_state, after.sacked, after.snd_cwnd), (LOSS, 0, 2));
    assert!(after.snd_ssthresh <= before.snd_ssthresh);
}

#[test]
fn sack_reneging_keeps_cwnd_with_leiths_changes() {
    let (before, mut script) = renege(Reneging::Forget);
    let after = info(&script);
    assert_eq!((after.ca_state, after.sacked), (LOSS, 0));
    assert_eq!(after.snd_ssthresh, before.snd_ssthresh);
    assert!(after.snd_cwnd + 1 >= before.snd_cwnd, "{} instead of {}", after.snd_cwnd, before.snd_cwnd);
    // Everything is retransmitted, at once as far as the window goes.
    assert!(script.wire.len() as u32 + 1 >= after.snd_cwnd, "{} segments", script.wire.len());
    script.run(usize::MAX);
    assert!(script.is_complete(WINDOW));
    assert_eq!(info(&script).total_rto, 0);
}

#[test]
fn sack_reneging_waits_for_another_ack_in_6_18() {
    let (before, script) = renege(Reneging::Wait);
    let after = info(&script);
    assert!(after.sacked > 0 && after.ca_state == RECOVERY);
    assert!(after.snd_cwnd + 1 >= before.snd_cwnd / 2);
}

/// What the window has come to again after a loss.
const REGAINED: u32 = 100;

/// A sender that has lost a segment before, and has since got its window to [`REGAINED`].
fn experienced(choices: Choices) -> Script {
    let mut script = Script::new(choices, WINDOW);
    script.wire.pop_front();
    script.write(100 * WINDOW);
    let mut has_lost = false;
    while !has_lost || info(&script).ca_state != 0 || info(&script).snd_cwnd != REGAINED {
        script.run(1);
        has_lost |= info(&script).ca_state == RECOVERY;
    }
    script
}

/// The next segment is reordered behind some, so that it is retransmitted, and arrives after all; its retransmission is a duplicate,
/// which the sender learns by DSACK.
fn be_late(script: &mut Script) {
    let late = script.wire.pop_front().unwrap();
    script.run(8);
    assert_eq!(info(script).ca_state, RECOVERY);
    script.wire.push_front(late);
    while info(script).ca_state == RECOVERY {
        script.run(1);
    }
    script.run(20);
}

/// A segment that was only late: what the undo restores ssthresh to.
#[test]
fn an_undo_restores_three_quarters_of_the_window_or_all_of_it() {
    let after = |prior_threshold| {
        let mut script = experienced(Choices { prior_threshold, ..old() });
        be_late(&mut script);
        info(&script).snd_ssthresh
    };
    assert_eq!(after(PriorThreshold::ThreeQuarters), REGAINED * 3 / 4);
    assert_eq!(after(PriorThreshold::Exact), REGAINED);
}

/// The host's own queue drops one, and while the window comes down for that a segment is late.
#[test]
fn a_recovery_within_a_reduction_is_undone_where_that_is_kept() {
    let after = |undo_again| {
        let mut script = experienced(Choices { undo_again, ..old() });
        script.drop_locally();
        be_late(&mut script);
        info(&script).snd_ssthresh
    };
    assert_eq!(after(false), REGAINED / 2);
    assert_eq!(after(true), REGAINED * 3 / 4);
}
