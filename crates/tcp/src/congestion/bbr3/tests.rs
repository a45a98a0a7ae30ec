//! Bounds and cuts, with values worked out from net/ipv4/tcp_bbr.c of google/bbr, branch v3.

use super::bounds::{Bounds, Congested, in_flight_at_threshold};
use super::*;
use std::time::Duration;

/// 10 segments a millisecond.
const RATE: u64 = RATE_ONE / 100;

/// One control and what it sees.
struct Rig {
    bbr: Bbr3,
    window: Window,
    moment: Moment,
}

impl Rig {
    /// An established connection with an RTT of 10 ms.
    fn new() -> Self {
        let moment = Moment {
            now: Instant::from_nanos(1_000_000_000),
            srtt: Some(Duration::from_millis(10)),
            delivered: 1,
            least_rtt_us: Some(10_000),
            paced: true,
            ..Moment::of_tests()
        };
        let mut window = Window::new(10);
        let mut bbr = Bbr3::named("bbr");
        bbr.init(&mut window, &moment);
        Self { bbr, window, moment }
    }

    /// One in PROBE_BW, with a pipe of 100 segments.
    fn at_rate() -> Self {
        let mut rig = Self::new();
        rig.bbr.is_full = true;
        rig.bbr.most_rate = [0, RATE];
        rig.window.cwnd = 200;
        rig.bbr.begin_down(&rig.moment);
        rig.bbr.begin_cruise();
        rig
    }

    /// An ACK one RTT after the last, which delivers `segments` sent in a flight of `in_flight`, with `lost` lost since.
    fn ack(&mut self, segments: u32, in_flight: u32, lost: u32) {
        self.moment.now = self.moment.now + Duration::from_millis(10);
        let sample = RateSample {
            delivered: Some(segments),
            interval_us: Some(10_000),
            prior_delivered: self.moment.delivered,
            sent_in_flight: in_flight,
            lost,
            losses: lost,
            acked: segments,
            prior_in_flight: in_flight,
            rtt_us: Some(10_000),
            ..RateSample::default()
        };
        self.moment.delivered += segments;
        self.moment.delivered_at = self.moment.now;
        self.moment.in_flight = in_flight;
        self.bbr.control(&mut self.window, &self.moment, &sample);
    }
}

/// `bbr_startup_pacing_gain` is 256 * 277 / 100 + 1, `bbr_drain_gain` 256 * 1000 / 2885, DOWN 256 * 91 / 100.
#[test]
fn gains_are_those_of_the_source() {
    assert_eq!(State::Startup.gains(), (710, 512));
    assert_eq!(State::Drain.gains(), (88, 512));
    assert_eq!(State::Down.gains(), (232, 512));
    assert_eq!(State::Cruise.gains(), (256, 512));
    assert_eq!(State::Refill.gains(), (256, 512));
    assert_eq!(State::Up.gains(), (320, 576));
    assert_eq!(State::ProbeRtt.gains(), (256, 256));
}

/// 2 % is 5 of 256: of a flight of 1000, 19 may be lost (1000 * 5 / 256 = 19.5).
#[test]
fn loss_rate_above_two_percent_is_too_high() {
    let rig = Rig::at_rate();
    let seen = |in_flight, lost| Congested { in_flight, lost, ..Congested::default() };
    assert!(!rig.bbr.is_too_high(&seen(1000, 19)));
    assert!(rig.bbr.is_too_high(&seen(1000, 20)));
    assert!(!rig.bbr.is_too_high(&seen(1000, 0)));
    assert!(!rig.bbr.is_too_high(&seen(0, 3)), "an unknown flight");
    // Below 52 segments, a single loss is too much.
    assert!(rig.bbr.is_too_high(&seen(51, 1)));
    assert!(!rig.bbr.is_too_high(&seen(52, 1)));
}

/// `bbr_inflight_hi_from_lost_skb`: with 960 in flight before the buffer, 19 may be lost (960 * 5 / 256 = 18.75, rounded
/// up).
#[test]
fn upper_bound_is_the_flight_at_which_the_loss_rate_became_too_high() {
    let lost = |segments, in_flight, lost| LostBuffer { segments, in_flight, lost, app_limited: false };
    // All 40 were lost: 19 of them * 256 / 251 = 19.
    assert_eq!(in_flight_at_threshold(&lost(40, 1000, 40)), Some(979));
    // 10 were lost before: the budget left is 9, times 256 / 251.
    assert_eq!(in_flight_at_threshold(&lost(40, 1000, 50)), Some(969));
    // The budget was used up before this buffer.
    assert_eq!(in_flight_at_threshold(&lost(40, 1000, 90)), Some(960));
    assert_eq!(in_flight_at_threshold(&lost(40, 30, 40)), None, "a flight smaller than the buffer");
}

/// `bbr_inflight_headroom` is 38 of 256.
#[test]
fn cruise_leaves_fifteen_percent_of_the_upper_bound() {
    let bounds = |high| Bounds { in_flight_hi: Some(high), ..Bounds::default() };
    assert_eq!(bounds(1000).with_headroom(), Some(1000 - 148));
    assert_eq!(bounds(6).with_headroom(), Some(5), "at least one segment");
    assert_eq!(bounds(4).with_headroom(), Some(4), "at least four remain");
    assert_eq!(Bounds::default().with_headroom(), None);

    let mut rig = Rig::at_rate();
    rig.bbr.bounds.in_flight_hi = Some(100);
    rig.ack(50, 100, 0);
    assert_eq!((rig.bbr.state, rig.window.cwnd), (State::Cruise, 100 - 14));
    rig.bbr.set_window(&mut rig.window, &rig.moment, &RateSample::default(), WINDOW_GAIN);
    rig.bbr.state = State::Down;
    rig.ack(50, 100, 0);
    assert!((95..=100).contains(&rig.window.cwnd), "DOWN is bound by the whole: {}", rig.window.cwnd);
}

/// `bbr_beta` is 76 of 256: 180 of 256 remain, but not less than the latest round delivered.
#[test]
fn loss_while_cruising_cuts_rate_and_flight_to_what_is_delivered() {
    let mut rig = Rig::at_rate();
    rig.ack(60, 100, 1);
    let before = rig.window.cwnd;
    // The round of the loss.
    rig.ack(60, 100, 0);
    let bounds = rig.bbr.bounds;
    let cut = RATE * 180 / 256;
    assert_eq!(bounds.rate_lo, Some(cut.max((60 * RATE_ONE).div_ceil(10_000))));
    assert_eq!(bounds.rate_lo, Some(cut), "70 % of a rate of which 60 % is delivered");
    assert_eq!(bounds.in_flight_lo, Some(before * 180 / 256));
    assert_eq!(rig.window.cwnd, before * 180 / 256);
    // 95 of 100 are delivered: 70 % of the bound would be less.
    let mut rig = Rig::at_rate();
    rig.ack(95, 100, 1);
    rig.ack(95, 100, 0);
    assert_eq!(rig.bbr.bounds.rate_lo, Some((95 * RATE_ONE).div_ceil(10_000)));
    // The next probe forgets both.
    rig.bbr.bounds.forget_lower();
    assert_eq!(rig.bbr.believed_rate(), RATE);
}

#[test]
fn undo_restores_the_bounds_before_a_spurious_loss() {
    let mut rig = Rig::at_rate();
    rig.bbr.bounds.in_flight_hi = Some(300);
    rig.bbr.ssthresh(&rig.window, &rig.moment);
    rig.bbr.bounds = Bounds { rate_lo: Some(1), in_flight_lo: Some(10), in_flight_hi: Some(20) };
    assert_eq!(rig.bbr.undo_cwnd(&rig.window), 200);
    assert_eq!(rig.bbr.bounds, Bounds { in_flight_hi: Some(300), ..Bounds::default() });
}

/// `bbr_full_loss_cnt` is 6: six ACKs that mark losses, and more than 2 % lost, at the end of a round of recovery.
#[test]
fn startup_ends_with_the_sixth_lossy_ack_of_a_recovery_round() {
    for (losses, lost, ends) in [(5, 100, false), (6, 100, true), (6, 1, false)] {
        let mut rig = Rig::new();
        rig.moment.state = CaState::Recovery;
        let ack = |rig: &mut Rig, prior_delivered, losses, lost| {
            rig.moment.delivered += 10;
            let sample = RateSample {
                delivered: Some(100),
                interval_us: Some(10_000),
                prior_delivered,
                sent_in_flight: 200,
                acked: 10,
                losses,
                lost,
                ..RateSample::default()
            };
            rig.bbr.control(&mut rig.window, &rig.moment, &sample);
        };
        let lossy = LostBuffer { segments: 1, in_flight: 200, lost: 1, app_limited: false };
        rig.bbr.marked_lost(&rig.window, &rig.moment, &lossy);
        for _ in 0..losses {
            ack(&mut rig, 0, 1, lost);
        }
        assert!(!rig.bbr.is_full, "within the round");
        let round = rig.moment.delivered;
        ack(&mut rig, round, 0, lost);
        assert_eq!(rig.bbr.is_full, ends, "{losses} ACKs, {lost} lost");
        if ends {
            // The pipe with the maximum rate, 100 segments in 10 ms: or what three super-packets need, or was delivered.
            assert!(rig.bbr.bounds.in_flight_hi.is_some_and(|high| high >= 100));
        }
    }
}

/// `bbr_full_bw_cnt`: three rounds with less than a quarter more than the best.
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut rig = Rig::new();
    for segments in [10, 20, 40, 49, 49] {
        rig.ack(segments, 2 * segments, 0);
        assert_eq!(rig.bbr.state, State::Startup);
    }
    rig.ack(49, 400, 0);
    assert_eq!(rig.bbr.state, State::Drain);
    rig.ack(49, 10, 0);
    assert_eq!(rig.bbr.state, State::Cruise, "through DOWN, as nothing is to be drained");
}

/// `bbr_raise_inflight_hi_slope`: one segment per cwnd acknowledged, then two, then four.
#[test]
fn upper_bound_grows_twice_as_fast_in_each_round_of_up() {
    let mut rig = Rig::at_rate();
    rig.bbr.state = State::Refill;
    rig.bbr.bounds.in_flight_hi = Some(80);
    rig.window.cwnd = 80;
    rig.window.limited = true;
    rig.ack(80, 80, 0);
    assert_eq!(rig.bbr.state, State::Up);
    let mut grown = Vec::new();
    for _ in 0..3 {
        let before = rig.bbr.bounds.in_flight_hi.unwrap();
        rig.window.cwnd = before;
        rig.ack(before, before, 0);
        grown.push(rig.bbr.bounds.in_flight_hi.unwrap() - before);
    }
    assert_eq!(grown, [1, 2, 4]);
}

/// DOWN to REFILL takes `bbr_bw_probe_base_us` and up to `bbr_bw_probe_rand_us`, or as many rounds as the pipe has
/// segments, at most 63 less a random 0 or 1.
#[test]
fn probe_waits_two_to_three_seconds_or_the_rounds_of_a_reno_flow() {
    for (pipe, most_rounds) in [(20u32, 20), (100, 63)] {
        let mut rig = Rig::at_rate();
        rig.bbr.most_rate = [0, RATE * u64::from(pipe) / 100];
        rig.window.cwnd = 2 * pipe;
        rig.bbr.begin_down(&rig.moment);
        let mut rounds = 0;
        while rig.bbr.state != State::Refill {
            rig.ack(pipe, pipe, 0);
            rounds += 1;
        }
        // The pipe is rounded up twice: the rate, and what it delivers in an RTT.
        assert!((most_rounds - 1..=most_rounds + 1).contains(&rounds), "{rounds} rounds of {pipe} segments");
    }
    let mut rig = Rig::at_rate();
    let mut waits = Vec::new();
    for millis in 0..50 {
        rig.moment.now = Instant::from_nanos(1_000_000_000 + millis * 1_000_000);
        rig.bbr.begin_down(&rig.moment);
        let reaches = |us| {
            let mut later = rig.bbr.clone();
            let moment = Moment { now: rig.moment.now + Duration::from_micros(us), ..rig.moment };
            later.update_cycle(&rig.window, &moment, &RateSample::default(), 0);
            later.state == State::Refill
        };
        assert!(!reaches(cycle::LEAST_WAIT_US) && reaches(cycle::LEAST_WAIT_US + cycle::RANDOM_WAIT_US));
        waits.push((0..1000).find(|ms| reaches(cycle::LEAST_WAIT_US + 1000 * ms)).unwrap_or(1000));
    }
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() > 25, "random: {waits:?}");
}

/// `bbr_ecn_alpha_gain` is a sixteenth, `bbr_ecn_factor` a third (85 of 256), `bbr_ecn_thresh` a half.
#[test]
fn marks_are_used_on_short_paths_and_cut_by_a_third_of_their_share() {
    let mut rig = Rig::at_rate();
    rig.moment.ecn_low = true;
    rig.ack(100, 100, 0);
    assert!(!rig.bbr.ecn.is_used, "an RTT of 10 ms is too long");
    rig.bbr.least_rtt.us = Some(5000);
    rig.moment.delivered_ce = 0;
    rig.bbr.update_marks(&rig.moment);
    assert!(rig.bbr.ecn.is_used);
    // 1 - 1/16 of 256, with no marks.
    assert_eq!(rig.bbr.ecn.alpha, 240);
    assert_eq!(rig.bbr.ecn.cut(256), 256 - 240 * 85 / 256);
    rig.moment.delivered += 100;
    rig.moment.delivered_ce += 100;
    rig.bbr.update_marks(&rig.moment);
    assert_eq!(rig.bbr.ecn.alpha, 240 * 240 / 256 + 16);
    let seen = |marked| Congested { delivered: 100, marked, ..Congested::default() };
    assert!(!rig.bbr.is_too_high(&seen(50)));
    assert!(rig.bbr.is_too_high(&seen(51)));
}

/// `bbr_full_ecn_cnt`: two rounds in a row with half of the segments marked.
#[test]
fn startup_ends_with_the_second_marked_round() {
    let mut rig = Rig::new();
    rig.moment.ecn_low = true;
    rig.bbr.least_rtt.us = Some(1000);
    for (marked, ends) in [(50, false), (49, false), (50, false), (50, true)] {
        rig.moment.delivered += 100;
        rig.moment.delivered_ce += marked;
        rig.bbr.update_marks(&rig.moment);
        // What was delivered before the first update counts too.
        assert_eq!(rig.bbr.is_full, ends, "{marked}");
    }
}

/// A loss of one segment that a tail loss probe repaired, in a flight of 40: more than 2 %.
#[test]
fn loss_that_a_probe_repaired_ends_up() {
    let mut rig = Rig::at_rate();
    rig.bbr.state = State::Up;
    rig.bbr.cycle.has_samples = true;
    rig.bbr.signals.latest_in_flight = 40;
    let repaired = CaEvent::ProbeRepairedLoss { app_limited: false };
    rig.bbr.event(repaired, &mut rig.window, &rig.moment);
    assert_eq!(rig.bbr.state, State::Down);
    // 41, or 70 % of what is to be in flight, the pipe of 100 and two for UP.
    assert_eq!(rig.bbr.bounds.in_flight_hi, Some(102 * 180 / 256));
}

#[test]
fn timeout_keeps_the_window_as_bound_and_gives_it_back() {
    let mut rig = Rig::at_rate();
    rig.bbr.ssthresh(&rig.window, &rig.moment);
    rig.window.cwnd = 1;
    rig.bbr.set_state(CaState::Loss, &mut rig.window, &rig.moment);
    assert_eq!(rig.bbr.bounds.in_flight_lo, Some(200));
    rig.bbr.set_state(CaState::Open, &mut rig.window, &rig.moment);
    assert_eq!(rig.window.cwnd, 200);
}
