//! UDP at a rate: who reads it, who drops it, and how much of a path it leaves to TCP.

use crate::run::{Run, scenario};
use slowpath_scenario::HostId;
use slowpath_simulator::pcapng::Pcapng;
use slowpath_simulator::report::DatagramCounts;
use slowpath_simulator::{Nobody, Simulation};

/// A second of datagrams.
fn sent(rate: &str, rest: &str) -> Simulation {
    let text = format!(
        "title = \"t\"\nduration = \"3 s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n{rest}\n\
         [flows.datagrams]\nrate = \"{rate}\"\nlasts = \"1 s\"\n"
    );
    let mut simulation = Simulation::new(&scenario(&text));
    simulation.run(&mut Nobody);
    assert!(simulation.not_conserved().is_empty(), "{:?}", simulation.not_conserved());
    simulation
}

fn counts(simulation: &Simulation) -> DatagramCounts {
    simulation.total(0).datagrams.expect("datagrams")
}

/// The configuration of both hosts.
fn hosts(kernel: &str, machine: &str, sender: &str) -> String {
    format!(
        "[hosts.sender]\nkernel = {kernel}\nmachine = \"{machine}\"\n{sender}\n\
         [hosts.receiver]\nkernel = {kernel}\nmachine = \"{machine}\"\n"
    )
}

#[test]
fn datagrams_below_every_limit_are_all_read() {
    for kernel in ["\"2.4.17\"", "\"2.6.14\"", "\"6.18\""] {
        for machine in ["free", "server-2020", "pc-2002"] {
            let simulation = sent("120 Mbit/s", &hosts(kernel, machine, ""));
            let counts = counts(&simulation);
            // Packets of 1500 bytes.
            assert_eq!((counts.sent, counts.read), (10_000, 10_000), "{kernel} on {machine}: {counts:?}");
            assert_eq!((counts.dropped_below, counts.dropped_above), (0, 0));
            let lasted = simulation.total(0).lasted().as_secs_f64();
            assert!((1.0..1.02).contains(&lasted), "{kernel} on {machine}: {lasted}");
        }
    }
}

/// A send buffer full of datagrams blocks the sender, so a slow NIC loses none; a qdisc shorter than that buffer drops
/// them first.
#[test]
fn slow_nic_blocks_the_sender_or_its_qdisc_drops() {
    for machine in ["free", "server-2020"] {
        let card = "nic = { rate = \"12 Mbit/s\", tx-ring = 4 }";
        let held = sent("120 Mbit/s", &hosts("\"6.18\"", machine, card));
        let counts_held = counts(&held);
        assert!((1_000..1_200).contains(&counts_held.sent), "{machine}: {counts_held:?}");
        assert_eq!((counts_held.dropped_below, counts_held.read), (0, counts_held.sent), "{machine}");

        let short = sent("120 Mbit/s", &hosts("{ base = \"6.18\", txqueuelen = 10 }", machine, card));
        let counts_short = counts(&short);
        assert!(counts_short.dropped_below > 5_000, "{machine}: {counts_short:?}");
        assert_eq!(counts_short.dropped_below, short.host_reports()[0].transmit.dropped);
        assert_eq!(counts_short.read, counts_short.sent - counts_short.dropped_below, "{machine}");
    }
}

/// What a receiver cannot process is dropped where there is no room for it, and every packet is accounted for.
#[test]
fn overloaded_receiver_drops_and_conserves_packets() {
    for (kernel, rate) in
        [("\"2.4.17\"", "900 Mbit/s"), ("\"2.6.14\"", "900 Mbit/s"), ("\"2.4.17\"", "520 Mbit/s")]
    {
        let simulation = sent(
            rate,
            &format!(
                "[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nkernel = {kernel}\nmachine = \"ubik-pc\"\ncpus = 1\n\
                 nic.interrupt-delay = \"0 s\"\n"
            ),
        );
        let (counts, report) = (counts(&simulation), &simulation.host_reports()[1]);
        assert!(counts.read < counts.sent * 9 / 10, "{kernel} at {rate}: {counts:?}");
        let before = report.ring.dropped + report.softirq.backlog_dropped;
        assert_eq!(counts.sent, before + counts.arrived, "{kernel} at {rate}: {counts:?}, {before}");
        assert_eq!(counts.arrived, counts.dropped_above + counts.read, "{kernel} at {rate}: {counts:?}");
    }
}

#[test]
fn receive_buffer_limits_queued_datagrams() {
    let pauses = |buffer: &str| {
        let rest = format!(
            "[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nmachine = \"free\"\n\
             [flows.receiver]\npauses = [{{ at = \"100 ms\", lasts = \"500 ms\" }}]\n{buffer}"
        );
        counts(&sent("12 Mbit/s", &rest))
    };
    // 500 packets arrive in the pause; the default buffer has room for about a hundred.
    let few = pauses("");
    assert!((300..450).contains(&few.dropped_above), "{few:?}");
    let many = pauses("socket.SO_RCVBUF = \"4 MiB\"");
    assert_eq!((many.dropped_above, many.read), (0, many.sent), "{many:?}");
}

#[test]
fn tcp_gets_the_rate_that_datagrams_leave() {
    let run = Run::of(
        "title = \"t\"\nduration = \"20 s\"\n[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nmachine = \"free\"\n\
         [path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"2 bdp\"\n\
         [[flows]]\nlasts = \"20 s\"\n[[flows]]\n[flows.datagrams]\nrate = \"60 Mbit/s\"\n",
    );
    let rate = run.simulation.total(0).rate().expect("data").get();
    assert!((33_000_000..40_000_000).contains(&rate), "{rate}");
    // No datagram is taken for a TCP segment.
    let connections = run.segments.iter().map(|(flow, ..)| *flow).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(connections.len(), 1);
    let read = run.simulation.total(1).datagrams.expect("datagrams");
    assert!(read.read > read.sent * 9 / 10, "{read:?}");
}

#[test]
fn capture_shows_datagrams_as_udp() {
    let text =
        "duration = \"1 s\"\n[flows.datagrams]\nsize = \"100 B\"\nrate = \"128 kbit/s\"\nlasts = \"8 ms\"\n";
    let mut pcap = Pcapng::new(HostId(0), "eth0");
    Simulation::new(&scenario(text)).run(&mut pcap);
    assert_eq!(pcap.frames(), 1);
    let bytes = pcap.buffer();
    // The last block: its headers, and its length again.
    let frame = &bytes[bytes.len() - 4 - 44..bytes.len() - 4 - 2];
    assert_eq!((&frame[12..14], frame[23]), (&[8, 0][..], 17), "IPv4, UDP");
    let word = |at: usize| u32::from(frame[at]) << 8 | u32::from(frame[at + 1]);
    assert_eq!((word(16), word(36), word(38)), (128, 5201, 108), "IP's length, the port, UDP's length");
    let folded = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let header: u32 = (14..34).step_by(2).map(word).sum();
    assert_eq!(folded(header), 0xffff, "IP's checksum");
    let udp: u32 = (26..42).step_by(2).map(word).sum::<u32>() + 17 + word(38);
    assert_eq!(folded(udp), 0xffff, "UDP's checksum");
}
