//! Throughput, punctuality and CPU cost of the emulated path on this machine. Needs root.
//!
//! `cargo bench -p slowpath-lab --bench path -- [NAME]...`
//!
//! Nothing is captured: only the two hosts and the relay share the CPUs. Each row is run several times over each kind
//! of interface, in turns; shown are the median and, in brackets, all values. `stolen` is the share of CPU time that
//! the hypervisor took.

use slowpath_lab::case::{LabelledCase, Set};
use slowpath_lab::error::LabError;
use slowpath_lab::lateness::StolenWatch;
use slowpath_lab::relay::{Cost, DirectionReport, Relay};
use slowpath_lab::samples::Sampler;
use slowpath_lab::settings::{Carrier, MTU_BYTES, Offload};
use slowpath_lab::testbed;
use slowpath_lab::workload::end::{CASE_TIME, EndRecord, Surroundings};
use slowpath_lab::workload::{Stream, Workload, Writer, stream};
use slowpath_lab::{clock, sampled, signals};
use slowpath_model::{nanos, statistics};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const GBIT: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// Payload of a full packet with timestamps.
const SEGMENT_BYTES: u64 = 1448;
/// A server's NIC, and its interrupt moderation delay.
const CARD_BIT_PER_S: u64 = 10 * GBIT;
const JOINED_WITHIN_NS: u64 = 50_000;
const SAMPLE_EVERY_NS: u64 = 2 * MS;
/// First and largest buffers of sockets, so that they are no limit.
const BUFFERS: &str = "4096 134217728 1073741824";

/// A path both ways and one connection over it.
fn case(rate_bit_per_s: u64, rtt_ns: u64, writer: Writer) -> LabelledCase {
    let workload = Workload::Streams(vec![Stream::one(writer)]);
    LabelledCase::new(Set::Fresh, "bench", "path/bottleneck-full", rate_bit_per_s, rtt_ns, workload)
        .offload(Offload::SuperPackets)
        .sysctl("net.ipv4.tcp_rmem", BUFFERS)
        .sysctl("net.ipv4.tcp_wmem", "4096 16384 1073741824")
        .with(|settings| {
            settings.joined_within_ns = JOINED_WITHIN_NS;
            settings.sender_card_bit_per_s = Some(CARD_BIT_PER_S);
            settings.receiver_card_bit_per_s = Some(CARD_BIT_PER_S);
        })
}

/// The result of a run.
struct Run {
    /// Payload acknowledged in each whole second after the first, as shares of what the link carries.
    seconds: Vec<f64>,
    sender: EndRecord,
    ways: [DirectionReport; 2],
    cost: Cost,
    stolen: f64,
}

fn run(case: &LabelledCase) -> Result<Run, LabError> {
    let (namespaces, hosts) = testbed::build(&case.experiment.settings)?;
    let relay = Relay::open(
        &namespaces,
        testbed::ways(
            &case.experiment.settings,
            [&case.experiment.forward, &case.experiment.backward],
            [1, 2],
        ),
    )?;
    let Workload::Streams(streams) = &case.experiment.workload else { panic!("benchmarks have streams") };
    let (relay_stop, sampler_stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let sampler = Sampler::default();
    let deadline_ns = clock::monotonic_ns() + nanos(CASE_TIME);
    let around = Surroundings { sampler: &sampler, deadline_ns, cut_ns: None, may_break: false };
    let stolen = StolenWatch::start();
    let (records, (ways, cost), samples) = thread::scope(|scope| {
        let relay = scope.spawn(|| relay.run(&relay_stop));
        let samples = scope.spawn(|| sampler.run(SAMPLE_EVERY_NS, &sampler_stop));
        let records = stream::run(&namespaces, &hosts, streams, around);
        relay_stop.store(true, Ordering::Relaxed);
        sampler_stop.store(true, Ordering::Relaxed);
        (records, relay.join().expect("the relay ends"), samples.join().expect("the sampler ends"))
    });
    let stolen = stolen.finish();
    let (sender, _) = records?.swap_remove(0);
    let samples = sampled::parse(&samples).map_err(LabError::system("read the samples"))?;
    let acked = |at_ns: u64| {
        let before = samples.iter().rev().find(|s| s.local == sender.local && s.at_ns <= at_ns);
        before.map_or(0, |sample| sample.acked_bytes)
    };
    let link = case.experiment.forward.link.as_ref().map_or(1, |link| link.rate.get());
    let share = |bytes: u64| bytes as f64 * 8.0 / (link as f64 * SEGMENT_BYTES as f64 / MTU_BYTES as f64);
    let began_ns = sender.write_began_ns.unwrap_or(sender.opened_ns);
    let whole = (sender.write_ended_ns.unwrap_or(began_ns) - began_ns) / SECOND;
    let second = |n: u64| share(acked(began_ns + (n + 1) * SECOND) - acked(began_ns + n * SECOND));
    Ok(Run { seconds: (1..whole).map(second).collect(), sender, ways, cost, stolen })
}

impl Run {
    fn lost(&self) -> u64 {
        self.ways.iter().map(|way| way.missed_packets + way.refused_packets).sum()
    }

    /// From the call to connect to the last acknowledgement.
    fn seconds_taken(&self) -> f64 {
        let ended_ns = self.sender.acknowledged_ns.or(self.sender.info_ns).unwrap_or(0);
        ended_ns.saturating_sub(self.sender.opened_ns) as f64 / SECOND as f64
    }

    fn least_second(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The median and, in brackets, all values.
fn median_of_all(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let all: Vec<String> = values.iter().map(|value| format!("{value:.digits$}")).collect();
    let median = statistics::median(values).unwrap_or(f64::NAN);
    format!("{median:.digits$} [{}]", all.join(", "))
}

fn row(what: &str, [veth, tap]: [String; 2], reach: &str) {
    println!("{what:<46} {veth:<34} {tap:<34} {reach}");
}

/// Runs over veth devices, and over TAP devices.
type Runs = [Vec<Run>; 2];

fn times(count: usize, case: &LabelledCase) -> Result<Runs, LabError> {
    let mut runs = Runs::default();
    for _ in 0..count {
        for (carrier, runs) in [Carrier::Veth, Carrier::Tap].into_iter().zip(&mut runs) {
            runs.push(run(&case.clone().with(|settings| settings.carrier = carrier))?);
        }
    }
    Ok(runs)
}

fn of(runs: &Runs, digits: usize, value: impl Fn(&Run) -> f64) -> [String; 2] {
    [0, 1].map(|which: usize| median_of_all(runs[which].iter().map(&value).collect(), digits))
}

fn lateness(name: &str, runs: &Runs, reach: &str) {
    let micros = |ns: u64| ns as f64 / 1e3;
    for (n, way) in ["there", "back"].into_iter().enumerate() {
        let late = |what: &str, value: &dyn Fn(&Run) -> u64, reach: &str| {
            row(&format!("{name}, {way}: late, {what}, µs"), of(runs, 0, |r| micros(value(r))), reach);
        };
        late("half", &|r| r.ways[n].lateness.p50_ns, "");
        late("99 of 100", &|r| r.ways[n].lateness.p99_ns, reach);
        late("999 of 1000", &|r| r.ways[n].lateness.p99_9_ns.unwrap_or(0), "");
    }
}

/// The end of every group of rows.
fn circumstances(name: &str, runs: &Runs) {
    row(&format!("{name}: frames missed or refused"), of(runs, 0, |r| r.lost() as f64), "0");
    row(&format!("{name}: stolen, %"), of(runs, 1, |r| r.stolen * 100.0), "");
}

fn full(name: &str, rate_bit_per_s: u64, rtt_ns: u64, reach: &str) -> Result<(), LabError> {
    let runs = times(3, &case(rate_bit_per_s, rtt_ns, Writer::For { duration_ns: 8 * SECOND }))?;
    row(&format!("{name}: least of 7 s, % of the line"), of(&runs, 1, |r| r.least_second() * 100.0), reach);
    let mean = |r: &Run| statistics::mean(r.seconds.iter().copied()).unwrap_or(0.0) * 100.0;
    row(&format!("{name}: on average, %"), of(&runs, 1, mean), "");
    row(&format!("{name}: CPUs of the relay"), of(&runs, 2, |r| r.cost.cores()), "at most 0.7 at 1 Gbit/s");
    let joined =
        |r: &Run| r.ways[0].delivered_packets as f64 / r.ways[0].delivered_frames.unwrap_or(1).max(1) as f64;
    row(&format!("{name}: packets in a frame"), of(&runs, 1, joined), "");
    lateness(name, &runs, "at most 150");
    circumstances(name, &runs);
    Ok(())
}

/// Small messages over an empty path.
fn idle() -> Result<(), LabError> {
    let writer = Writer::Messages { bytes: 200, every_ns: 10 * MS, count: 400 };
    let runs = times(3, &case(GBIT, 40 * MS, writer))?;
    lateness("idle", &runs, "at most 50");
    let least = |r: &Run| r.sender.info.as_ref().map_or(0.0, |info| f64::from(info.min_rtt_us)) - 40_000.0;
    row("idle: minimum RTT beyond 40 ms, µs", of(&runs, 0, least), "");
    row("idle: CPUs of the relay", of(&runs, 2, |r| r.cost.cores()), "");
    circumstances("idle", &runs);
    Ok(())
}

/// How long 128 MB take if TCP need not find the rate: the first window fills the path. One RTT passes for the SYN, one
/// for the first 64 KiB, the most that a SYN's window can express (RFC 7323, section 2.2), and one until the last byte
/// is acknowledged.
fn theory() -> Result<(), LabError> {
    const BYTES: u64 = 128_000_000;
    for rtt_us in [500, 25_000, 50_000, 100_000, 200_000] {
        let rtt_ns = rtt_us * 1000;
        let window = GBIT * rtt_ns / 8 / SECOND / MTU_BYTES + 100;
        let case = case(GBIT, rtt_ns, Writer::Total { bytes: BYTES })
            .queue(u32::try_from(2 * window).unwrap_or(u32::MAX))
            .with(|settings| settings.sender_route = Some(format!("initcwnd {window}")));
        let line = GBIT as f64 * SEGMENT_BYTES as f64 / MTU_BYTES as f64 / 8.0;
        let expected = BYTES as f64 / line + 3.0 * rtt_ns as f64 / SECOND as f64;
        let runs = times(3, &case)?;
        let name = format!("128 MB, {} ms", rtt_us as f64 / 1000.0);
        let error = |r: &Run| (r.seconds_taken() / expected - 1.0) * 100.0;
        row(&format!("{name}: beyond {expected:.3} s, %"), of(&runs, 1, error), "±5");
        circumstances(&name, &runs);
    }
    Ok(())
}

type Measure = fn() -> Result<(), LabError>;

fn main() -> Result<(), LabError> {
    signals::clean_up_when_ended()?;
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    row("", ["veth", "TAP"].map(str::to_owned), "reach");
    let groups: [(&str, Measure); 4] = [
        ("idle", idle),
        ("1gbit", || full("1 Gbit/s, 40 ms", GBIT, 40 * MS, "99")),
        ("4gbit", || full("4 Gbit/s, 10 ms", 4 * GBIT, 10 * MS, "carried")),
        ("theory", theory),
    ];
    for (_, measure) in groups.iter().filter(|(name, _)| is_wanted(name)) {
        measure()?;
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
