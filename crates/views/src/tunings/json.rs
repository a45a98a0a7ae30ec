//! The JSON of `slowpath compare-tunings`.

use crate::mirror::mirrored;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::{Bytes, nanos};
use slowpath_papers::tunings::{self, Path};
use slowpath_runs::papers::table_one::{Measured, median};

/// The results of all techniques (schema slowpath/tunings/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Document")]
pub struct TuningsDocument {
    /// Version of this layout.
    schema: &'static str,
    /// Rate of the bottleneck, in bit/s.
    rate: u64,
    /// The RTT, in nanoseconds.
    rtt_ns: u64,
    /// The bandwidth-delay product, in bytes.
    bdp: u64,
    /// Parallel connections.
    streams: u32,
    /// Memory for all buffers of a host, in bytes, where there is a bound.
    memory: Option<u64>,
    /// What all connections carry together, in bytes.
    amount: u64,
    /// The techniques, in the order of weigle's table I.
    techniques: Vec<Compared>,
}

mirrored! {
    /// A technique of weigle's section II, none, and today's kernel.
    enum Technique of tunings::Technique {
        /// Buffers stay as they are.
        None,
        /// A person measures the path and sets both buffers.
        Manual,
        /// PSC: the receiver offers all it can, the sender's buffer follows its congestion window.
        Psc,
        /// Linux 2.4: by the memory that arrives.
        Linux24,
        /// Dynamic Right-Sizing.
        Drs,
        /// A daemon measures, a database remembers, the program sets.
        Enable,
        /// The program measures before it transfers.
        AutoNcFtp,
        /// The program measures while it transfers.
        DrsFtp,
        /// Linux 6.18.
        Today,
    }
}

/// A technique.
#[derive(Serialize, JsonSchema)]
struct Compared {
    /// Its key.
    technique: Technique,
    /// Its name.
    name: &'static str,
    /// What it does.
    does: &'static str,
    /// Its row of table I.
    kind: Option<Kind>,
    /// Its simulated result.
    outcome: Outcome,
    /// How many times as fast as untuned the paper says it is.
    published_factor: Option<&'static str>,
    /// What was measured with --lab, in bit/s, for each transfer; null without it, and for what this kernel does not have.
    measured_rates: Option<Vec<u64>>,
    /// Their median over that of no tuning.
    measured_factor: Option<f64>,
    /// The command that runs it.
    command: String,
}

/// A technique's row of weigle's table I.
#[derive(Serialize, JsonSchema)]
struct Kind {
    /// Where it acts.
    level: &'static str,
    /// What it changes.
    changes: &'static str,
    /// Whether it sends packets of its own.
    band: &'static str,
    /// Whether applications see it.
    visibility: &'static str,
}

/// The result of a technique.
#[derive(Serialize, JsonSchema)]
struct Outcome {
    /// Data that was read, in bytes.
    bytes: u64,
    /// From the first connection's opening to the last byte read, in nanoseconds.
    lasted_ns: u64,
    /// The data over that time, in bit/s.
    rate: u64,
    /// Retransmitted segments.
    retransmits: u64,
    /// Retransmission timeouts.
    timeouts: u64,
    /// CPU time of the sender, on all of its CPUs together, in nanoseconds.
    sender_cpu_ns: u64,
    /// CPU time of the receiver, on all of its CPUs together, in nanoseconds.
    receiver_cpu_ns: u64,
    /// The sender's CPU time over the time of the transfer: 1 is one busy CPU.
    sender_busy: Option<f64>,
    /// The receiver's CPU time over the time of the transfer: 1 is one busy CPU.
    receiver_busy: Option<f64>,
    /// The sender's CPU time per byte that was read, in nanoseconds.
    sender_cpu_ns_per_byte: Option<f64>,
    /// The receiver's CPU time per byte that was read, in nanoseconds.
    receiver_cpu_ns_per_byte: Option<f64>,
    /// The most memory that the sender's sockets held at once, all together, in bytes.
    sender_memory: u64,
    /// The most memory that the receiver's sockets held at once, all together, in bytes.
    receiver_memory: u64,
    /// The largest send buffer of any connection, in bytes of memory.
    send_buffer: u64,
    /// The largest receive buffer of any connection, in bytes of memory.
    receive_buffer: u64,
    /// The largest window that was advertised, in bytes.
    window: u64,
}

impl TuningsDocument {
    /// The document of the techniques' results on a path.
    pub fn new(path: &Path, results: &[super::Result], measured: Option<&Measured>) -> Self {
        let runs = |wanted: tunings::Technique| {
            let (_, runs) = measured?.iter().find(|(technique, _)| *technique == wanted)?;
            runs.as_ref()
        };
        let median_of = |wanted| runs(wanted).and_then(|runs| median(runs)).map(|rate| rate.get() as f64);
        let untuned = median_of(tunings::Technique::None).filter(|untuned| *untuned > 0.0);
        let compared = |(technique, outcome): &super::Result| Compared {
            technique: (*technique).into(),
            name: technique.name(),
            does: technique.does(),
            kind: technique.kind().map(Kind::from),
            outcome: Outcome::from(*outcome),
            published_factor: technique.published(),
            measured_rates: runs(*technique).map(|runs| runs.iter().map(|run| run.rate.get()).collect()),
            measured_factor: median_of(*technique).zip(untuned).map(|(rate, untuned)| rate / untuned),
            command: technique.case(path).command(),
        };
        Self {
            schema: "slowpath/tunings/1",
            rate: path.rate.get(),
            rtt_ns: nanos(path.delay),
            bdp: path.bdp().get(),
            streams: path.streams,
            memory: path.memory.map(Bytes::get),
            amount: path.amount.get(),
            techniques: results.iter().map(compared).collect(),
        }
    }
}

impl From<tunings::TuningKind> for Kind {
    fn from(tunings::TuningKind { level, changes, band, visibility }: tunings::TuningKind) -> Self {
        Self { level, changes, band, visibility }
    }
}

impl From<tunings::Outcome> for Outcome {
    fn from(of: tunings::Outcome) -> Self {
        Self {
            bytes: of.bytes,
            lasted_ns: of.lasted_ns,
            rate: of.rate,
            retransmits: of.retransmits,
            timeouts: of.timeouts,
            sender_cpu_ns: of.sender_cpu_ns,
            receiver_cpu_ns: of.receiver_cpu_ns,
            sender_busy: of.busy(of.sender_cpu_ns),
            receiver_busy: of.busy(of.receiver_cpu_ns),
            sender_cpu_ns_per_byte: of.cpu_ns_per_byte(of.sender_cpu_ns),
            receiver_cpu_ns_per_byte: of.cpu_ns_per_byte(of.receiver_cpu_ns),
            sender_memory: of.sender_memory,
            receiver_memory: of.receiver_memory,
            send_buffer: of.send_buffer,
            receive_buffer: of.receive_buffer,
            window: of.window,
        }
    }
}
