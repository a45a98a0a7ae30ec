//! cwnd over time compared with the curves of the RFCs.

use crate::transfer::{Bulk, big_buffers};
use slowpath_kernels::Release;
use slowpath_model::Instant;
use slowpath_tcp::choices::CongestionControl;
use std::time::Duration;

const RTT: Duration = Duration::from_millis(50);

/// A transfer that only cwnd limits; `loses` selects the lost packets.
fn transfer(control: CongestionControl, loses: impl FnMut(u64) -> bool + 'static) -> Bulk {
    let mut choices = Release::Linux6_18.tcp();
    choices.congestion_control = control;
    // Receive autotuning would limit the first seconds.
    let mut sysctls = big_buffers();
    sysctls.tcp_rmem.default = 64 << 20;
    let mut bulk = Bulk::new(choices, sysctls, 40e9, 1_000_000, RTT);
    bulk.to_server.loses = Box::new(loses);
    bulk
}

fn cwnd(bulk: &Bulk) -> u32 {
    bulk.sender.info(bulk.now).snd_cwnd
}

#[test]
fn slow_start_doubles_cwnd_per_rtt() {
    let mut bulk = transfer(CongestionControl::Reno, |_| false);
    for round in 1..=8 {
        // The first data leaves one RTT after the SYN.
        bulk.run(RTT * round + RTT / 2);
        assert_eq!(cwnd(&bulk), 10 << (round - 1), "round {round}");
    }
}

#[test]
fn reno_adds_one_segment_per_rtt() {
    let mut bulk = transfer(CongestionControl::Reno, |n| n == 500);
    bulk.run(Duration::from_secs(2));
    let (start, from) = (cwnd(&bulk), bulk.now);
    bulk.run(Duration::from_secs(12));
    let rounds = bulk.now.since(from).unwrap().as_secs_f64() / RTT.as_secs_f64();
    let grown = f64::from(cwnd(&bulk) - start);
    assert!((grown / rounds - 1.0).abs() < 0.02, "{grown} segments in {rounds} RTTs");
}

/// RFC 9438, section 4.2: `W(t) = C (t - K)^3 + Wmax`, `K = cbrt(Wmax (1 - beta) / C)`.
#[test]
fn cubic_follows_the_curve_of_rfc_9438() {
    let mut bulk = transfer(CongestionControl::Cubic, |n| n == 5000);
    let step = |bulk: &mut Bulk| bulk.run(bulk.now.since(Instant::START).unwrap() + Duration::from_millis(1));
    while bulk.sender.info(bulk.now).ca_state < 3 {
        step(&mut bulk);
    }
    while bulk.sender.info(bulk.now).ca_state != 0 {
        step(&mut bulk);
    }
    // In slow start, cwnd before the loss follows from the reduced ssthresh.
    let w_max = f64::from(bulk.sender.info(bulk.now).snd_ssthresh) * 1024.0 / 717.0;
    // The epoch begins with the first ACK after recovery.
    let (epoch, beta) = (bulk.now, 717.0 / 1024.0);
    let k = (w_max * (1.0 - beta) / 0.4).cbrt();
    for tenth in 5..200 {
        let elapsed = Duration::from_millis(100 * tenth);
        bulk.run(epoch.since(Instant::START).unwrap() + elapsed);
        // The kernel aims at the curve's value an RTT ahead, and reaches it then.
        let expected = w_max + 0.4 * (elapsed.as_secs_f64() - k).powi(3);
        let got = f64::from(cwnd(&bulk));
        assert!(
            (got / expected - 1.0).abs() < 0.02,
            "{elapsed:?}: {got} segments, the curve says {expected:.0}"
        );
    }
}

/// Mathis and others, 1997: `MSS / RTT * C / sqrt(p)` with C = sqrt(3/2).
#[test]
fn reno_throughput_matches_the_mathis_formula() {
    for (p, seconds) in [(1e-5, 600), (1e-4, 300), (1e-3, 120), (1e-2, 120)] {
        let mut state = 1u64;
        let mut bulk = transfer(CongestionControl::Reno, move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64) < p * (1u64 << 53) as f64
        });
        bulk.run(Duration::from_secs(seconds / 4));
        let (start, from) = (bulk.read, bulk.now);
        bulk.run(Duration::from_secs(seconds));
        let rate = (bulk.read - start) as f64 / bulk.now.since(from).unwrap().as_secs_f64();
        let expected = 1448.0 / RTT.as_secs_f64() * 1.5f64.sqrt() / p.sqrt();
        println!("p {p}: {:.3} of Mathis", rate / expected);
        assert!((rate / expected - 1.0).abs() < 0.15, "p {p}: {rate:.0} B/s, Mathis says {expected:.0}");
    }
}
