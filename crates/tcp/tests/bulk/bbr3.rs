//! BBR, version 3, over a link: gains, waits and bounds as net/ipv4/tcp_bbr.c of google/bbr, branch v3, has them.

use crate::controls::{cwnd, elapsed, loses_one_in, transfer, with_choices, with_room_for_any_window};
use crate::transfer::Bulk;
use slowpath_kernels::Release;
use slowpath_tcp::Route;
use slowpath_tcp::choices::CongestionControl::{self, Bbr, Bbr3};
use slowpath_tcp::choices::{BbrVersion, Choices};
use std::time::Duration;

const RTT: Duration = Duration::from_millis(40);
const RATE: f64 = 100e6;
/// The pipe in segments, and the rate in bytes of payload a second.
const PIPE: f64 = RATE / 8.0 / 1500.0 * 0.040;
const LINE: f64 = RATE / 8.0 * 1448.0 / 1500.0;

/// A time during which gain and cwnd stayed.
#[derive(Debug)]
struct Stay {
    from: Duration,
    /// In hundredths.
    gain: u32,
    /// The last cwnd, in pipes.
    window: f64,
    lasted: Duration,
}

/// The gain of the pacing rate, which is a hundredth lower, against the link's rate, in hundredths.
fn gain(bulk: &Bulk) -> u32 {
    (bulk.sender.info(bulk.now).pacing_rate as f64 / 0.99 / LINE * 100.0).round() as u32
}

/// Runs until `until`, and returns how long each gain stayed, of those that stayed for 5 ms.
fn stays(bulk: &mut Bulk, until: Duration) -> Vec<Stay> {
    let mut stays: Vec<Stay> = Vec::new();
    while elapsed(bulk) < until {
        let from = elapsed(bulk);
        bulk.run(from + Duration::from_millis(1));
        let (gain, window) = (gain(bulk), cwnd(bulk) / PIPE);
        let lasted = elapsed(bulk) - from;
        match stays.last_mut().filter(|last| last.gain == gain && (window < 0.6) == (last.window < 0.6)) {
            Some(last) => {
                last.lasted += lasted;
                last.window = window;
            }
            None => stays.push(Stay { from, gain, window, lasted }),
        }
    }
    stays.retain(|stay| stay.lasted > Duration::from_millis(5));
    stays
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// STARTUP at 2.77, for three rounds of a full pipe; DRAIN at 0.34; then CRUISE, and 2 to 3 s after it, UP at 1.25 with
/// 2.25 pipes, DOWN at 0.91 with 2.
#[test]
fn gains_follow_startup_drain_and_the_probe_cycle() {
    let mut bulk = transfer(Bbr3, RATE, 2000, RTT);
    let stays = stays(&mut bulk, Duration::from_millis(4900));
    assert_eq!(bulk.to_server.dropped, 0);
    let first = stays.iter().position(|stay| stay.gain == 277).expect("STARTUP at the link's rate");
    let gains: Vec<u32> = stays[first..].iter().map(|stay| stay.gain).collect();
    assert_eq!(gains, [277, 34, 100, 125, 91, 100]);
    let [startup, drain, cruise, up, down, _] = &stays[first..] else { panic!("{stays:?}") };
    // With cwnd at two pipes, a round is two RTTs by then; the rate was reached in the one before.
    assert!((0.12..0.24).contains(&seconds(startup.lasted)), "{startup:?}");
    assert!((1.99..2.12).contains(&startup.window), "{startup:?}");
    assert!(seconds(drain.lasted) < 0.08, "{drain:?}");
    // From DOWN, which follows DRAIN at once; REFILL, a round, is at gain 1 too.
    assert!((2.0..3.1).contains(&seconds(cruise.lasted)), "{cruise:?}");
    assert!((1.99..2.02).contains(&cruise.window), "{cruise:?}");
    // Three rounds without growth, while the RTT grows.
    assert!((0.12..0.24).contains(&seconds(up.lasted)), "{up:?}");
    assert!((2.24..2.28).contains(&up.window), "{up:?}");
    assert!((1.99..2.02).contains(&down.window), "{down:?}");
}

/// PROBE_RTT: five seconds after the last, for 200 ms and a round, with half the pipe (`bbr_probe_rtt_win_ms`,
/// `bbr_probe_rtt_mode_ms`, `bbr_probe_rtt_cwnd_gain`).
#[test]
fn probe_rtt_comes_every_five_seconds_with_half_the_pipe() {
    let mut bulk = transfer(Bbr3, RATE, 2000, RTT);
    let probes: Vec<Stay> = stays(&mut bulk, Duration::from_secs(41))
        .into_iter()
        .filter(|stay| stay.window < 0.6 && stay.from > Duration::from_secs(1))
        .collect();
    assert_eq!(probes.len(), 7, "{probes:?}");
    for probe in &probes {
        assert!((0.49..0.52).contains(&probe.window), "{probe:?}");
        // The flight shrinks for less than an RTT before.
        assert!((0.20..0.29).contains(&seconds(probe.lasted)), "{probe:?}");
    }
    for pair in probes.windows(2) {
        let apart = seconds(pair[1].from - pair[0].from - pair[0].lasted);
        assert!((4.99..5.05).contains(&apart), "{apart} s");
    }
}

/// `bbr_cwnd_min_target`: half of a small pipe, but at least four segments.
#[test]
fn probe_rtt_keeps_four_segments_of_a_small_pipe() {
    let mut bulk = transfer(Bbr3, 2e6, 100, Duration::from_millis(20));
    let mut least = f64::MAX;
    while elapsed(&bulk) < Duration::from_secs(8) {
        bulk.run(elapsed(&bulk) + Duration::from_millis(5));
        least = least.min(cwnd(&bulk));
    }
    assert_eq!(least as u32, 4);
}

/// A short queue: STARTUP ends with its losses, and CRUISE leaves 15 % of what fitted, so that few packets are lost.
#[test]
fn short_queue_bounds_the_flight_and_version_1_has_no_bound() {
    let (queue, until) = (30, Duration::from_secs(30));
    let mut bulk = transfer(Bbr3, RATE, queue, RTT);
    bulk.run(Duration::from_secs(2));
    let startup = bulk.to_server.dropped;
    let high = PIPE + queue as f64;
    while elapsed(&bulk) < until {
        bulk.run(elapsed(&bulk) + Duration::from_millis(1));
        let (gain, window) = (gain(&bulk), cwnd(&bulk));
        if gain == 100 && bulk.sender.info(bulk.now).ca_state == 0 {
            // The bound is the flight at which 2 % were lost, with a round of growth.
            assert!(window < 1.05 * high, "{window} segments at {:?}", elapsed(&bulk));
        }
    }
    let lost = bulk.to_server.dropped - startup;
    let mut first = transfer(Bbr, RATE, queue, RTT);
    first.run(Duration::from_secs(2));
    let startup_1 = first.to_server.dropped;
    first.run(until);
    let lost_1 = first.to_server.dropped - startup_1;
    assert!(lost * 10 < lost_1, "{lost} lost, {lost_1} by version 1");
    assert!(startup < startup_1, "{startup} lost in STARTUP, {startup_1} by version 1");
    assert!(bulk.read as f64 > 0.85 * LINE * seconds(until), "{:.3}", bulk.read as f64 / LINE / 30.0);
}

fn rate_with_one_lost_in(control: CongestionControl, count: u64) -> f64 {
    let mut bulk = transfer(control, RATE, 2000, RTT);
    bulk.to_server.loses = loses_one_in(count);
    bulk.run(Duration::from_secs(40));
    bulk.read as f64 / LINE / 40.0
}

/// 2 % is where version 3 begins to see congestion in losses (`bbr_loss_thresh`); version 1 sees none in any.
#[test]
fn one_percent_of_random_loss_costs_little_and_five_percent_nearly_all() {
    let [few, many] = [100, 20].map(|count| rate_with_one_lost_in(Bbr3, count));
    let [few_1, many_1] = [100, 20].map(|count| rate_with_one_lost_in(Bbr, count));
    assert!((0.7..0.95).contains(&few), "{few:.3} of the rate at 1 %");
    assert!(many < 0.2, "{many:.3} of the rate at 5 %");
    assert!(few_1 > 0.9 && many_1 > 0.8, "version 1: {few_1:.3} and {many_1:.3}");
    let cubic = rate_with_one_lost_in(CongestionControl::Cubic, 100);
    assert!(few > 10.0 * cubic, "{few:.3}, and CUBIC {cubic:.3}");
}

#[test]
fn version_3_is_bbr_where_the_kernel_has_it() {
    let loses = |version| {
        let choices = Choices { congestion_control: Bbr, bbr_version: version, ..Release::Linux6_18.tcp() };
        let mut bulk = with_choices(choices, RATE, 30, RTT);
        assert_eq!(bulk.sender.congestion_control(), "bbr");
        bulk.run(Duration::from_secs(10));
        bulk.to_server.dropped
    };
    assert!(loses(BbrVersion::V3) * 2 < loses(BbrVersion::V1));
    assert_eq!(transfer(Bbr3, RATE, 30, RTT).sender.congestion_control(), "bbr3");
}

/// Marks above 60 packets in the queue, more than a super-packet, on a path with an RTT of 2 ms: with `ecn_low` UP ends with them; without, it
/// goes on to a quarter more than the pipe.
#[test]
fn marks_of_a_short_queue_bound_the_flight_where_the_route_has_ecn_low() {
    let rtt = Duration::from_millis(2);
    let marked = |ecn_low| {
        let choices = Choices { congestion_control: Bbr3, ..Release::Linux6_18.tcp() };
        let mut sysctls = with_room_for_any_window();
        sysctls.tcp_ecn = 1;
        let route = Route { ecn_low, ..Route::default() };
        let mut bulk = Bulk::on_route(choices, sysctls, route, 1e9, 2000, rtt);
        bulk.to_server.marks_above = Some(60);
        bulk.run(Duration::from_secs(4));
        assert_eq!(bulk.to_server.dropped, 0);
        (f64::from(bulk.to_server.marked) / bulk.to_server.sent as f64, bulk.read)
    };
    let ((with, read), (without, _)) = (marked(true), marked(false));
    assert!(with < 0.5 * without, "{with:.4} of the packets are marked, {without:.4} without a reaction");
    assert!(read as f64 > 0.8 * 1e9 / 8.0 * 4.0 * 1448.0 / 1500.0, "{read} bytes");
}
