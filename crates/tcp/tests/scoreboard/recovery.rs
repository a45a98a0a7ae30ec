//! Recovery in a 2.4 sender, and with Leith's changes (leith, sections 1.3 to 1.5).

use crate::script::{Script, choices};
use slowpath_tcp::Choices;
use slowpath_tcp::choices::{BurstModeration, CongestionControl, PriorThreshold, Reneging, SackWalk};
use slowpath_uapi::TcpInfo;

/// Slow start grows to this window.
const WINDOW: u32 = 128;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

fn old() -> Choices {
    Choices { congestion_control: CongestionControl::Reno, ..choices(SackWalk::FromHead) }
}

fn info(script: &Script) -> TcpInfo {
    script.sender.info(script.now)
}

/// A window is halved and then fully acknowledged at once: three segments may be sent, or half the window.
#[test]
fn burst_moderation_limits_a_burst_to_three_segments() {
    let after = |burst_moderation| {
        let choices = Choices { burst_moderation, reduction_cap: false, ..old() };
        let mut script = Script::new(choices, WINDOW);
        script.wire.pop_front();
        // The last to arrive is the retransmission: nothing is left in flight.
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

/// In recovery only, an ACK that opens the window by many segments sends three.
#[test]
fn ack_in_recovery_sends_at_most_three_segments() {
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

/// ACKs are lost in recovery, so that one reports many segments: fewer are in flight than cwnd allows, and cwnd is cut
/// to that.
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

/// With Reno, rate halving continues below ssthresh, to half of it; with BIC it does not.
#[test]
fn congestion_control_sets_the_minimum_cwnd_of_rate_halving() {
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

/// A retransmission is detected as lost when a later segment is SACKed: no timeout is needed.
#[test]
fn lost_retransmission_is_detected_by_a_later_sack() {
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

/// A sender whose receiver has dropped SACKed data.
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
    // The ACK itself grows cwnd by one.
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
    // Everything is retransmitted, immediately as far as cwnd allows.
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

/// cwnd regrown after a loss.
const REGAINED: u32 = 100;

/// A sender that has recovered from a loss, with cwnd regrown to [`REGAINED`].
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

/// The next segment is reordered so far that it is retransmitted; its retransmission is a duplicate, which the receiver
/// reports by DSACK.
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

/// A reordered segment: what ssthresh the undo restores.
#[test]
fn undo_restores_three_quarters_of_cwnd_or_all_of_it() {
    let after = |prior_threshold| {
        let mut script = experienced(Choices { prior_threshold, ..old() });
        be_late(&mut script);
        info(&script).snd_ssthresh
    };
    assert_eq!(after(PriorThreshold::ThreeQuarters), REGAINED * 3 / 4);
    assert_eq!(after(PriorThreshold::Exact), REGAINED);
}

/// A local drop reduces cwnd, and during the reduction a segment is reordered.
#[test]
fn recovery_during_a_reduction_is_undone_only_with_undo_again() {
    let after = |undo_again| {
        let mut script = experienced(Choices { undo_again, ..old() });
        script.drop_locally();
        be_late(&mut script);
        info(&script).snd_ssthresh
    };
    assert_eq!(after(false), REGAINED / 2);
    assert_eq!(after(true), REGAINED * 3 / 4);
}
