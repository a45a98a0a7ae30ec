//! Congestion controls against the formulas of their papers and RFCs.

use crate::transfer::{Bulk, big_buffers};
use slowpath_kernels::Release;
use slowpath_model::Instant;
use slowpath_tcp::Sysctls;
use slowpath_tcp::choices::{Choices, CongestionControl};
use std::time::Duration;

/// A transfer at `rate` bit/s with a queue of `queue` packets, with room for any window.
pub fn transfer(control: CongestionControl, rate: f64, queue: usize, rtt: Duration) -> Bulk {
    let choices = Choices { congestion_control: control, ..Release::Linux6_18.tcp() };
    with_choices(choices, rate, queue, rtt)
}

/// A transfer with these choices of the kernel.
pub fn with_choices(choices: Choices, rate: f64, queue: usize, rtt: Duration) -> Bulk {
    Bulk::new(choices, with_room_for_any_window(), rate, queue, rtt)
}

pub fn with_room_for_any_window() -> Sysctls {
    let mut sysctls = big_buffers();
    sysctls.tcp_wmem.max = 1 << 30;
    sysctls.tcp_rmem.max = 1 << 30;
    // Receive autotuning would limit the first seconds.
    sysctls.tcp_rmem.default = 512 << 20;
    sysctls
}

pub fn cwnd(bulk: &Bulk) -> f64 {
    f64::from(bulk.sender.info(bulk.now).snd_cwnd)
}

fn state(bulk: &Bulk) -> u8 {
    bulk.sender.info(bulk.now).ca_state
}

pub fn elapsed(bulk: &Bulk) -> Duration {
    bulk.now.since(Instant::START).expect("time goes on")
}

/// Loses packets at random, one in `count`.
pub fn loses_one_in(count: u64) -> Box<dyn FnMut(u64) -> bool> {
    let mut state = 1u64;
    Box::new(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32).is_multiple_of(count)
    })
}

/// Runs until the loss of packet `number` is repaired.
fn lose(bulk: &mut Bulk, number: u64) {
    bulk.to_server.loses = Box::new(move |n| n == number);
    for is_repaired in [false, true] {
        while (state(bulk) == 0) != is_repaired {
            bulk.run(elapsed(bulk) + Duration::from_millis(1));
        }
    }
}

/// Runs for `count` RTTs; returns the ACKs per segment.
fn rounds(bulk: &mut Bulk, rtt: Duration, count: u32) -> f64 {
    let (segments, acks) = (bulk.to_server.sent, bulk.to_client.sent);
    bulk.run(elapsed(bulk) + rtt * count);
    (bulk.to_client.sent - acks) as f64 / (bulk.to_server.sent - segments) as f64
}

/// Compares cwnd with a formula for its growth per RTT, a function of cwnd, the time in seconds and the ACKs per
/// segment.
fn follows(bulk: &mut Bulk, rtt: Duration, (steps, each): (u32, u32), grows: impl Fn(f64, f64, f64) -> f64) {
    // Data sent in recovery is acknowledged.
    rounds(bulk, rtt, 2);
    let (mut expected, began) = (cwnd(bulk), elapsed(bulk));
    for step in 1..=steps {
        let acks = rounds(bulk, rtt, each);
        for round in 0..each {
            let t = rtt.as_secs_f64() * f64::from((step - 1) * each + round + 2);
            expected += grows(expected, t, acks);
        }
        let got = cwnd(bulk);
        let after = elapsed(bulk) - began;
        assert!(
            (got / expected - 1.0).abs() < 0.02,
            "{after:?}: {got} segments, the formula says {expected:.0}, {acks:.3} ACKs per segment"
        );
    }
}

/// Kelly 2003: grows by a hundredth per RTT, shrinks by an eighth after a loss.
#[test]
fn scalable_grows_by_a_hundredth_per_rtt() {
    const RTT: Duration = Duration::from_millis(50);
    let mut bulk = transfer(CongestionControl::Scalable, 40e9, 1_000_000, RTT);
    lose(&mut bulk, 5000);
    follows(&mut bulk, RTT, (20, 10), |window, _, _| window / 100.0);
    let before = cwnd(&bulk);
    let next = bulk.to_server.sent + 1;
    lose(&mut bulk, next);
    // It has grown a little since.
    let left = f64::from(bulk.sender.info(bulk.now).snd_ssthresh) / before;
    assert!((0.87..0.90).contains(&left), "{left}");
}

/// RFC 3649, section 5: `a(w) = w^2 p(w) 2 b(w) / (2 - b(w))`; `a(w) / w` per ACK.
#[test]
fn highspeed_follows_its_response_function() {
    const RTT: Duration = Duration::from_millis(50);
    let mut bulk = transfer(CongestionControl::HighSpeed, 40e9, 1_000_000, RTT);
    lose(&mut bulk, 20_000);
    let decrease = |w: f64| (0.1 - 0.5) * (w.ln() - 38f64.ln()) / (83000f64.ln() - 38f64.ln()) + 0.5;
    follows(&mut bulk, RTT, (20, 20), |w, _, acks| {
        let b = decrease(w);
        acks * w * w * 0.078 / w.powf(1.2) * 2.0 * b / (2.0 - b)
    });
    let before = cwnd(&bulk);
    let next = bulk.to_server.sent + 1;
    lose(&mut bulk, next);
    let left = f64::from(bulk.sender.info(bulk.now).snd_ssthresh) / before;
    assert!((left / (1.0 - decrease(before)) - 1.0).abs() < 0.02, "{left}");
}

/// Leith and Shorten 2004: `1 + 10 (t - 1) + ((t - 1) / 2)^2` segments per RTT, t seconds after the loss, times `2 (1 -
/// beta)`, scaled to RTTs of 100 ms.
#[test]
fn htcp_growth_increases_with_time_since_the_last_loss() {
    // 100 ticks, including a packet's transmission time.
    const RTT: Duration = Duration::from_micros(99_500);
    let mut bulk = transfer(CongestionControl::Htcp, 40e9, 1_000_000, RTT);
    lose(&mut bulk, 60_000);
    follows(&mut bulk, RTT, (12, 10), |_, t, _| {
        let more = (t - 1.0).max(0.0);
        (1.0 + 10.0 * more + (more / 2.0).powi(2)) * RTT.as_secs_f64() / 0.1
    });
}

/// Xu and others 2004: binary search up to the last maximum, with at most 16 segments per RTT, and the same away from
/// it. Linux goes a quarter of the way instead of half, and a fifth of a segment where a quarter is one or less. Since
/// 4.0 it counts segments in addition to the delayed ACK ratio, so that delayed ACKs make it grow faster.
#[test]
fn bic_binary_searches_for_the_last_maximum() {
    const RTT: Duration = Duration::from_millis(50);
    let mut bulk = transfer(CongestionControl::Bic, 40e9, 1_000_000, RTT);
    lose(&mut bulk, 5000);
    let max = f64::from(bulk.sender.info(bulk.now).snd_ssthresh) * 1024.0 / 819.0;
    follows(&mut bulk, RTT, (30, 10), |window, _, acks| {
        let step = match window - max {
            away if away <= -8.0 => -away / 4.0,
            away if away < 4.0 => 0.2,
            away => away / 3.0,
        };
        step.min(16.0) / acks
    });
    assert!(cwnd(&bulk) > max * 1.2, "it grows beyond the maximum");
}

/// Brakmo and Peterson 1995: two to four segments are queued, and none is lost.
#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    const RTT: Duration = Duration::from_millis(50);
    let mut bulk = transfer(CongestionControl::Vegas, 20e6, 400, RTT);
    bulk.run(Duration::from_secs(30));
    assert_eq!(bulk.to_server.dropped, 0);
    // The link's packets per RTT, including those in transmission.
    let pipe = 20e6 / 8.0 / 1500.0 * (RTT.as_secs_f64() + 1500.0 * 8.0 / 20e6);
    for second in 31..60 {
        bulk.run(Duration::from_secs(second));
        let queued = cwnd(&bulk) - pipe;
        assert!((1.5..=5.0).contains(&queued), "{second} s: {queued:.1}");
    }
}

/// Grieco and Mascolo 2004: after a loss cwnd is the path's delivery rate times the minimum RTT.
#[test]
fn westwood_sets_cwnd_to_the_delivery_rate_times_the_minimum_rtt() {
    const RTT: Duration = Duration::from_millis(50);
    const RATE: f64 = 100e6;
    let mut bulk = transfer(CongestionControl::Westwood, RATE, 200, RTT);
    bulk.run(Duration::from_secs(10));
    let mut seen = 0;
    let mut before = state(&bulk);
    while elapsed(&bulk) < Duration::from_secs(120) {
        bulk.run(elapsed(&bulk) + Duration::from_millis(1));
        let now = state(&bulk);
        if before == 3 && now == 0 {
            let expected = RATE / 8.0 / 1500.0 * RTT.as_secs_f64();
            let got = f64::from(bulk.sender.info(bulk.now).snd_ssthresh);
            assert!((got / expected - 1.0).abs() < 0.02, "{got} segments, the path has {expected:.0}");
            seen += 1;
        }
        before = now;
    }
    assert!(seen >= 3, "{seen} losses");
}

/// Cardwell and others 2016: BBR uses the path's rate despite random loss, keeps its queue short, and every ten seconds
/// probes with four segments for 200 ms.
#[test]
fn bbr_finds_the_bottleneck_rate_and_minimum_rtt() {
    const RTT: Duration = Duration::from_millis(40);
    const RATE: f64 = 100e6;
    let mut bulk = transfer(CongestionControl::Bbr, RATE, 2000, RTT);
    bulk.to_server.loses = loses_one_in(128);
    bulk.run(Duration::from_secs(2));
    let before = bulk.read;
    let pipe = RATE / 8.0 / 1500.0 * RTT.as_secs_f64();
    let line = RATE / 8.0 * 1448.0 / 1500.0;
    let (mut gains, mut probed, mut windows) = (Vec::new(), Duration::ZERO, Vec::new());
    while elapsed(&bulk) < Duration::from_secs(42) {
        let (from, least) = (elapsed(&bulk), cwnd(&bulk) as u32 <= 4);
        bulk.run(from + Duration::from_millis(1));
        let info = bulk.sender.info(bulk.now);
        if least {
            probed += elapsed(&bulk) - from;
        } else if info.ca_state == 0 {
            gains.push((info.pacing_rate as f64 / 0.99 / line * 4.0).round() as i32);
            windows.push(f64::from(info.snd_cwnd));
        }
    }
    let rate = (bulk.read - before) as f64 / 40.0 / line;
    assert!(rate > 0.93, "{rate:.3} of the link rate, with one in 128 packets lost");
    // Of eight RTTs, one with a quarter more and one with a quarter less.
    let share = |gain: i32| gains.iter().filter(|&&g| g == gain).count() as f64 / gains.len() as f64;
    assert!(share(4) > 0.6 && share(5) > 0.05 && share(3) > 0.01, "{} {} {}", share(3), share(4), share(5));
    let window = windows.iter().sum::<f64>() / windows.len() as f64;
    assert!((2.0 * pipe..2.6 * pipe).contains(&window), "{window:.0} segments, the pipe has {pipe:.0}");
    assert!((600..1600).contains(&probed.as_millis()), "{probed:?} with four segments");
}
