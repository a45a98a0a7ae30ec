//! A NIC on a bus that is slower than the path.

use crate::run::{Run, scenario};
use slowpath_model::End;
use slowpath_simulator::report::HostReport;

/// One transaction carries 64 bytes and loses a microsecond: see `time_ns`.
const SLOW: &str = "bus = { transaction-time = \"1 us\" }";
const SECONDS: u64 = 2;

/// The time that such a bus takes for a frame with an IP packet of `length` bytes: bursts of 64 bytes and two
/// transactions of 32 bytes for its descriptor, at 1066 Mbit/s.
fn time_ns(length: u64) -> u64 {
    let frame = length + 14;
    (frame + 64) * 8000 / 1066 + (frame.div_ceil(64) + 2) * 1000
}

/// Two seconds from a sender without a bus to a receiver whose NIC is configurable. The window is smaller than the
/// path's queue.
fn receive(nic: &str, flows: &str) -> Run {
    let kernel = "kernel = \"2.6.14\"\nmachine = \"free\"\nsysctl = { \"net.core.rmem_max\" = 8388608, \"net.core.wmem_max\" = 8388608 }";
    let text = format!(
        "duration = \"{SECONDS} s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"100 us\"\nqueue = \"4000 packets\"\n\
         [hosts.sender]\n{kernel}\nnic = {{ tso = false }}\n\
         [hosts.receiver]\n{kernel}\nnic = {{ tso = false, {nic} }}\n\
         {flows}"
    );
    Run::watched(&scenario(&text), slowpath_scenario::HostId(0))
}

const ONE_FLOW: &str =
    "[flows.sender.socket]\nSO_SNDBUF = \"1 MiB\"\n[flows.receiver.socket]\nSO_RCVBUF = \"256 KiB\"\n";

fn receiver(run: &Run) -> HostReport {
    run.simulation.host_reports().swap_remove(1)
}

/// The share of the run that the receiver's bus was carrying what the sender's capture shows.
fn bus_load(run: &Run) -> f64 {
    // With timestamps, IP and TCP headers are 52 bytes.
    let lengths = run.segments.iter().map(|(_, _, segment)| u64::from(segment.len) + 52);
    lengths.map(time_ns).sum::<u64>() as f64 / (SECONDS * 1_000_000_000) as f64
}

#[test]
fn transfer_over_a_slow_bus_gets_the_rate_of_the_bus() {
    let run = receive(SLOW, ONE_FLOW);
    let [data, acks] = [End::A, End::B]
        .map(|from| run.segments.iter().filter(|(_, _, segment)| segment.from == from).count());
    assert!(data > acks && acks > 1000, "{data} and {acks}");
    assert!((0.97..1.005).contains(&bus_load(&run)), "{}", bus_load(&run));
    // 1448 bytes in 37.8 µs, and half of an ACK's 5.0 µs.
    let mbit = run.bytes().get() as f64 * 8.0 / SECONDS as f64 / 1e6;
    assert!((280.0..290.0).contains(&mbit), "{mbit} Mbit/s");
    let report = receiver(&run);
    assert_eq!((report.ring.dropped, report.transmit.dropped), (0, 0));
    assert_eq!(run.simulation.transfers()[0].info.expect("a connection").retransmits, 0);
}

#[test]
fn bus_faster_than_the_path_costs_no_throughput() {
    let [without, fast] =
        ["", "bus = { rate = \"4 Gbit/s\", transaction-time = \"30 ns\" }"].map(|nic| receive(nic, ONE_FLOW));
    let [without, fast] = [without, fast].map(|run| run.bytes().get() as f64);
    assert!((0.99..=1.0).contains(&(fast / without)), "{without} and {fast} bytes");
}

#[test]
fn both_directions_share_the_bus() {
    let flow = |from: &str, to: &str| {
        format!(
            "[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\nsender = {{ socket = {{ SO_SNDBUF = \"1 MiB\" }} }}\n\
             receiver = {{ socket = {{ SO_RCVBUF = \"256 KiB\" }} }}\n"
        )
    };
    let run = receive(SLOW, &(flow("sender", "receiver") + &flow("receiver", "sender")));
    let bytes = [0, 1].map(|flow| run.simulation.transfers()[flow].bytes.get());
    assert!(bytes.iter().all(|bytes| *bytes > 5_000_000), "{bytes:?}");
    assert!((0.97..1.005).contains(&bus_load(&run)), "{}", bus_load(&run));
    let alone = receive(SLOW, ONE_FLOW).bytes().get();
    let together = bytes.iter().sum::<u64>() as f64 / alone as f64;
    assert!((0.9..1.05).contains(&together), "{together} of what one flow carries");
}

/// The sender's window is larger than the memory of the receiver's NIC: frames are dropped there, counted there, and
/// retransmitted. That packets are conserved is asserted for every run.
#[test]
fn frames_beyond_the_memory_of_the_nic_are_dropped() {
    let run = receive("bus = { transaction-time = \"1 us\", memory = \"32 KiB\" }", ONE_FLOW);
    let ring = receiver(&run).ring;
    assert!(ring.dropped > 10, "{ring:?}");
    let retransmits = u64::from(run.simulation.transfers()[0].info.expect("a connection").retransmits);
    assert!((0.9..1.1).contains(&(retransmits as f64 / ring.dropped as f64)), "{retransmits}, {ring:?}");
    let plenty =
        receiver(&receive("bus = { transaction-time = \"1 us\", memory = \"1 MiB\" }", ONE_FLOW)).ring;
    assert_eq!(plenty.dropped, 0);
}

/// The CPU takes a frame no earlier than the bus has carried it.
#[test]
fn host_with_costs_receives_over_a_bus() {
    let run = Run::of(&format!(
        "duration = \"{SECONDS} s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"100 us\"\n\
         [hosts.sender]\nkernel = \"2.6.14\"\nmachine = \"free\"\nnic = {{ tso = false }}\n\
         [hosts.receiver]\nkernel = \"2.6.14\"\nmachine = \"server-2020\"\nnic = {{ interrupt-delay = \"0 s\", {SLOW} }}\n\
         sysctl = {{ \"net.core.rmem_max\" = 8388608 }}\n{ONE_FLOW}"
    ));
    assert!((0.9..1.005).contains(&bus_load(&run)), "{}", bus_load(&run));
    assert_eq!(receiver(&run).ring.dropped, 0);
}
