//! The queue before a host's own NIC: who fills it, and the effect of a drop there.

use crate::run::scenario;
use slowpath_simulator::{Nobody, Simulation};
use std::time::Duration;

/// The NIC is the bottleneck, so that packets wait in the sender's own queue.
fn slow_card(kernel: &str, machine: &str, rest: &str) -> Simulation {
    Simulation::new(&scenario(&format!(
        "title = \"t\"\nduration = \"20 s\"\n[hosts.sender]\nkernel = {kernel}\nmachine = \"{machine}\"\n\
         [hosts.sender.nic]\nrate = \"20 Mbit/s\"\ntx-ring = 4\n[hosts.receiver]\nmachine = \"free\"\n\
         [path]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nqueue = \"1000 packets\"\n{rest}"
    )))
}

const MACHINES: [&str; 2] = ["free", "server-2020"];

/// `tcp_transmit_skb` learns of the drop immediately: cwnd is reduced (Reno to a half, CUBIC to 0.7, BIC to 0.8), and
/// the dropped data is sent later as new, so that nothing is retransmitted (ubik, section V).
#[test]
fn local_drop_reduces_cwnd_without_retransmission() {
    for kernel in ["linux-2.4.17", "linux-2.6.14", "linux-6.18"] {
        for machine in MACHINES {
            let what = format!("{kernel} on {machine}");
            let kernel = format!(
                "{{ base = \"{kernel}\", txqueuelen = 10, super-packets = false, small-queues = false }}"
            );
            let mut simulation = slow_card(&kernel, machine, "");
            let mut before = None;
            while simulation.host_reports()[0].sockets.local_drops == 0 {
                assert!(simulation.now() < simulation.end(), "{what}: the queue never overflowed");
                before = simulation.transfers().first().and_then(|transfer| transfer.info);
                simulation.run_until(simulation.now() + Duration::from_millis(1), &mut Nobody);
            }
            let before = before.expect("a connection");
            simulation.run_until(simulation.now() + Duration::from_millis(200), &mut Nobody);
            let after = simulation.transfers()[0].info.expect("a connection");
            let (most, least) = (before.congestion_window * 9 / 10, before.congestion_window / 3);
            assert!(
                (least..=most).contains(&after.congestion_window),
                "{what}: the window was {} and is {}",
                before.congestion_window,
                after.congestion_window
            );
            simulation.run(&mut Nobody);
            let report = &simulation.host_reports()[0];
            assert_eq!(report.sockets.local_drops, report.transmit.dropped, "{what}");
            let info = simulation.transfers()[0].info.expect("a connection");
            assert_eq!((info.retransmits, info.timeouts), (0, 0), "{what}");
            // Half of what path and queue hold, 34 packets and 14, is less than the path holds: Reno's sawtooth.
            let rate = simulation.transfers()[0].rate().expect("data").get();
            assert!(rate > 15_000_000, "{what}: {rate} bit/s over a card of 20 Mbit/s");
        }
    }
}

/// TCP is not notified: a drop is a loss like any other.
#[test]
fn unnotified_qdisc_drop_is_retransmitted() {
    let kernel = "{ base = \"linux-2.6.14\", txqueuelen = 10, local-drop-notified = false }";
    let mut simulation = slow_card(kernel, "free", "");
    simulation.run(&mut Nobody);
    let dropped = simulation.host_reports()[0].transmit.dropped;
    let info = simulation.transfers()[0].info.expect("a connection");
    assert!(dropped > 0);
    assert!(u64::from(info.retransmits) >= dropped, "{} retransmissions of {dropped}", info.retransmits);
}

/// `tcp_small_queue_check` limits a connection to the larger of two super-packets and a millisecond of data, plus one,
/// since it checks before it sends. Without it the queue holds everything that cwnd allows beyond the path.
#[test]
fn tsq_keeps_the_qdisc_short_since_3_6() {
    for machine in MACHINES {
        let waiting = |kernel: &str, streams: u32| {
            let mut simulation = slow_card(kernel, machine, &format!("[flows]\nstreams = {streams}\n"));
            simulation.run(&mut Nobody);
            let rate: u64 =
                simulation.transfers().iter().filter_map(|t| t.rate()).map(|rate| rate.get()).sum();
            assert!(rate > 17_000_000, "{kernel} on {machine}: {rate} bit/s over a card of 20 Mbit/s");
            simulation.host_reports()[0].transmit
        };
        // The pacing rate is at most twice cwnd per RTT (`tcp_pacing_ss_ratio`); three super-packets of two segments
        // are more than a millisecond of it. The first ten segments are one super-packet.
        let super_packet = 1280 + 2 * 1448;
        let first_flight = 1280 + 10 * 1448;
        for streams in [1, 4] {
            let most = waiting("\"linux-6.18\"", streams).most_memory;
            let limit = u64::from(streams) * (3 * super_packet + first_flight);
            assert!(most <= limit, "{machine}, {streams} streams: {most} bytes of {limit}");
        }
        let old = waiting("\"linux-2.6.14\"", 1);
        assert!(old.most_memory > 50 * super_packet, "{machine}: {} bytes", old.most_memory);
        assert!(old.most_queued >= 50, "{machine}: {} packets", old.most_queued);
    }
}

/// A small write waits while the one before it is in the NIC, and grows meanwhile (`tcp_should_autocork`): of three in
/// a row the first is sent immediately and the others together.
#[test]
fn autocorking_joins_small_writes_while_the_nic_is_busy() {
    let packets = |autocorking: &str| {
        let kernel = format!("{{ base = \"linux-6.18\", autocorking = {autocorking} }}");
        let mut simulation = slow_card(
            &kernel,
            "free",
            "[flows]\nmessages = { size = \"600 B\", count = 1000, interval = \"5 ms\" }\n\
             [flows.sender]\ncall-size = \"200 B\"\n[flows.sender.socket]\nTCP_NODELAY = true\n",
        );
        simulation.run(&mut Nobody);
        assert_eq!(simulation.transfers()[0].bytes.get(), 600_000);
        simulation.host_reports()[0].transmit.wire_packets
    };
    let (corked, eager) = (packets("true"), packets("false"));
    assert!((2990..3010).contains(&eager), "{eager} packets without autocorking");
    assert!((1990..2010).contains(&corked), "{corked} packets with autocorking");
}
