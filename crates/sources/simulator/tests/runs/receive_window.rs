//! Receive windows from 4.18 to 6.18.

use crate::run::scenario;
use slowpath_model::EventKind;
use slowpath_simulator::outside::{Occurrence, Wants};
use slowpath_simulator::{Observer, Sight, Simulation};
use std::time::Duration;

/// Seconds until a reader has all of 10 MB.
fn seconds_for_10_mb(receiver: &str) -> f64 {
    let text = format!(
        r#"
title = "10 MB to a reader that asked for 64 KiB"
duration = "120 s"

[path]
rate = "1 Gbit/s"
delay = "70 ms"

[hosts.receiver]
kernel = "{receiver}"

[flows]
amount = "10 MB"

[flows.receiver.socket]
SO_RCVBUF = "64 KiB"
"#
    );
    let mut simulation = Simulation::new(&scenario(&text));
    simulation.run(&mut Nothing);
    let transfer = &simulation.transfers()[0];
    assert_eq!(transfer.bytes.get(), 10_000_000, "{receiver}");
    transfer.lasted.as_secs_f64()
}

struct Nothing;

impl Observer for Nothing {
    fn packet(&mut self, _sight: &Sight<'_>) {}
}

/// Netflix reported that a transfer of 10 MB took 22 s before 6.6 and 40 s with it, to a reader that sets `SO_RCVBUF` to
/// 64 KiB: the window was a quarter of the buffer instead of half (commit 697a6c8cec03, 6.10, "tcp: increase the default
/// TCP scaling ratio"). The report has no RTT; 140 ms give the time before.
#[test]
fn small_so_rcvbuf_halves_the_rate_with_6_6() {
    for before in ["4.18", "5.15", "6.1"] {
        let seconds = seconds_for_10_mb(before);
        assert!((21.0..23.5).contains(&seconds), "{before}: {seconds} s");
    }
    let before = seconds_for_10_mb("6.1");
    for since in ["6.6", "6.8"] {
        let seconds = seconds_for_10_mb(since);
        assert!((1.8..2.3).contains(&(seconds / before)), "{since}: {seconds} s, {before} s before");
    }
    // Both repairs: half again at first, and then the measured share.
    for repaired in ["6.12", "6.18"] {
        let seconds = seconds_for_10_mb(repaired);
        assert!(seconds < before, "{repaired}: {seconds} s");
    }
}

/// The largest receive buffer of a reader without `SO_RCVBUF`.
#[derive(Default)]
struct Buffers {
    first: u64,
    most: u64,
}

impl Observer for Buffers {
    fn packet(&mut self, _sight: &Sight<'_>) {}

    fn wants(&self) -> Wants {
        Wants { samples: Some(Duration::from_millis(1)), ..Wants::default() }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let EventKind::Sampled(sample) = occurrence.kind else { return };
        if occurrence.host.0 == 1
            && let Some(size) = sample.rcvbuf
        {
            self.first = if self.first == 0 { size.into() } else { self.first };
            self.most = self.most.max(size.into());
        }
    }
}

/// A reader without `SO_RCVBUF` on a path of 1 Gbit/s and 100 ms: its first buffer, its largest, and the rate in Mbit/s.
fn tuned(receiver: &str) -> (u64, u64, f64) {
    let text = format!(
        r#"
title = "A tuned buffer"
duration = "10 s"

[path]
rate = "1 Gbit/s"
delay = "50 ms"

[hosts.receiver]
kernel = "{receiver}"

[hosts.sender.sysctl]
tcp_wmem = "4096 65536 33554432"
"#
    );
    let mut simulation = Simulation::new(&scenario(&text));
    let mut buffers = Buffers::default();
    simulation.run(&mut buffers);
    let bytes = simulation.transfers()[0].bytes.get();
    (buffers.first, buffers.most, bytes as f64 * 8.0 / 10.0 / 1e6)
}

/// `tcp_rmem[2]` is 6 MiB until 6.15: half of it is window until 6.5, the measured share since 6.6; 32 MiB since 6.16.
#[test]
fn tuned_windows_grow_to_a_share_of_tcp_rmem() {
    let (first, most, old) = tuned("4.18");
    // `ss -m` shows rb367360 at a client with timestamps, and rb369280 at a server, which subtracts them from its MSS later.
    assert_eq!((first, most), (367_360, 6_291_456));
    let (first, most, before) = tuned("6.1");
    assert_eq!((first, most), (131_072, 6_291_456));
    let (_, most, since) = tuned("6.6");
    assert_eq!(most, 6_291_456);
    let (_, _, today) = tuned("6.18");
    assert!((old / before - 1.0).abs() < 0.05, "{old} and {before} Mbit/s");
    assert!((1.15..1.35).contains(&(since / before)), "{since} and {before} Mbit/s");
    assert!(today > 2.5 * before, "{today} and {before} Mbit/s");
}
