//! The speed of a run: CPU time, data packets per CPU second, and memory.
//!
//! `cargo bench -p slowpath-simulator --bench run -- FILE [KEY=VALUE…]`; with `--json` one line of JSON, which
//! `benches/compare-simulators` reads.

use slowpath_model::End;
use slowpath_simulator::{Observer, Progress, Sight, Simulation};
use slowpath_tcp::packet::TcpOptions;
use std::time::Duration;

/// Counts the data packets that hosts send and the ACKs that senders receive.
#[derive(Clone, Copy, Default)]
struct Counter {
    /// Packets at NICs, sent or received.
    packets: u64,
    data: u64,
    bytes: u64,
    acks: u64,
    /// Of these, ACKs with SACK blocks: the sender is in recovery.
    sacks: u64,
}

impl Observer for Counter {
    fn packet(&mut self, sight: &Sight<'_>) {
        let packet = &sight.frame.packet;
        self.packets += 1;
        if sight.sent && packet.len > 0 {
            self.data += 1;
            self.bytes += u64::from(packet.len);
        } else if !sight.sent && sight.from == End::B {
            self.acks += 1;
            self.sacks += u64::from(matches!(packet.options, TcpOptions::Sack(_)));
        }
    }
}

/// CPU time of this process, in nanoseconds.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The largest resident set so far, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// CPU time and packets of the slices of a run with or without loss recovery.
#[derive(Default)]
struct Share {
    nanos: u64,
    packets: u64,
    acks: u64,
}

impl Share {
    fn add(&mut self, nanos: u64, packets: u64, acks: u64) {
        self.nanos += nanos;
        self.packets += packets;
        self.acks += acks;
    }

    /// An ACK in recovery may be for two packets or, compressed, for 44, so the cost per packet is compared.
    fn nanos_per_packet(&self) -> f64 {
        self.nanos as f64 / self.packets.max(1) as f64
    }
}

/// Simulated time between two readings of the clock.
const SLICE: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = std::env::args().any(|argument| argument == "--json");
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(file) = arguments.next() else {
        println!("name a scenario file");
        return Ok(());
    };
    let overrides: Vec<String> = arguments.collect();
    let text = std::fs::read_to_string(&file)?;
    let overrides = overrides.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>()?;
    let checked = slowpath_scenario::check(&file, &text, &overrides, None)?;
    let begin = cpu_time();
    let mut simulation = Simulation::new(&checked.scenario);
    let mut counter = Counter::default();
    let (mut repairing, mut otherwise) = (Share::default(), Share::default());
    let mut progress = Progress::Running;
    // When loss recovery began and ended, in seconds.
    let mut repairs = [0.0; 2];
    let mut before = (begin, counter);
    while progress == Progress::Running {
        let from = simulation.now();
        progress = simulation.run_until(from + SLICE, &mut counter);
        let nanos = cpu_time() - before.0;
        let [packets, acks, sacks] = [
            counter.packets - before.1.packets,
            counter.acks - before.1.acks,
            counter.sacks - before.1.sacks,
        ];
        // A slice counts as the kind of most of its ACKs.
        if 2 * sacks > acks {
            repairing.add(nanos, packets, acks);
            repairs =
                [if repairs[1] == 0.0 { from.seconds() } else { repairs[0] }, simulation.now().seconds()];
        } else {
            otherwise.add(nanos, packets, acks);
        }
        before = (cpu_time(), counter);
    }
    let seconds = (cpu_time() - begin) as f64 / 1e9;
    let simulated = simulation.now().seconds();
    if json {
        let wires = simulation.wires();
        println!(
            "{{\"simulated_s\": {simulated}, \"cpu_s\": {seconds}, \"data_packets\": {}, \"dropped\": {}, \
             \"most_in_flight\": {}, \"peak_mib\": {}, \"packets\": {}, \"repairing_ns_per_packet\": {}, \
             \"repairing_packets\": {}, \"repairing_acks\": {}, \"repairing_from_s\": {}, \"repairing_to_s\": {}, \
             \"otherwise_ns_per_packet\": {}}}",
            counter.data,
            wires.iter().map(|wire| wire.totals().dropped()).sum::<u64>(),
            wires.iter().map(|wire| u64::try_from(wire.most_in_flight()).unwrap_or(0)).sum::<u64>(),
            peak_kib() as f64 / 1024.0,
            counter.packets,
            repairing.nanos_per_packet(),
            repairing.packets,
            repairing.acks,
            repairs[0],
            repairs[1],
            otherwise.nanos_per_packet(),
        );
        return Ok(());
    }
    println!(
        "{simulated:.1} s simulated in {seconds:.2} s: {} data packets, {:.0} per CPU second, {:.2} events each, {:.1} Mbit/s",
        counter.data,
        counter.data as f64 / seconds,
        simulation.events() as f64 / counter.data.max(1) as f64,
        counter.bytes as f64 * 8.0 / simulated / 1e6,
    );
    for wire in simulation.wires() {
        let totals = wire.totals();
        println!(
            "  wire: {} offered, {} dropped, {} delivered, {} most in flight, longest queue {}, conserved: {}",
            totals.offered_packets,
            totals.dropped(),
            wire.delivered(),
            wire.most_in_flight(),
            totals.longest_queue_packets,
            wire.is_conserved()
        );
    }
    Ok(())
}
