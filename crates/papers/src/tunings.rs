//! weigle's question for any path: which buffer sizes each technique reaches, how fast the transfer is then, and how
//! much memory and CPU time it takes.
//!
//! All techniques run on the same kernel, today's, which differs only in the technique's choices.
//!
//! weigle does not compare kernels but three choices of the receiver: how the buffer is sized (`receive-tuning`), how
//! the window grows (`window-growth`), and for which buffer the window scale is chosen (`window-scale`). `papers
//! weigle` runs the kernels that were measured; `compare-tunings` runs today's kernel with only these choices changed.

use crate::PaperCase;
use slowpath_model::{Bytes, EventKind, Instant, Rate, nanos};
use slowpath_scenario::{Rejected, Scenario};
use slowpath_simulator::{Observer, Occurrence, Sight, Simulation, Wants};
use std::time::Duration;

const FILE: &str = "scenarios/weigle/tunings.toml";
const TEXT: &str = include_str!("../../../scenarios/weigle/tunings.toml");

/// The maximum `SO_RCVBUF`: an `int`, doubled.
const MOST: u64 = (1 << 30) - 1;
/// The buffers of a kernel without autotuning (`SK_RMEM_MAX` of 2.2).
const UNTUNED: u64 = 64 << 10;

/// A path, and the transfer over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Rate of its bottleneck.
    pub rate: Rate,
    /// Its RTT.
    pub delay: Duration,
    /// Parallel connections.
    pub streams: u32,
    /// Memory for the buffers of all connections, on each host; `None`: unlimited.
    pub memory: Option<Bytes>,
    /// Data of all connections together.
    pub amount: Bytes,
}

impl Path {
    /// The bandwidth-delay product.
    pub fn bdp(&self) -> Bytes {
        self.rate.amount_in(self.delay)
    }

    /// The maximum size of one buffer: its share of the memory, or a limit that is never reached.
    fn bound(&self) -> u64 {
        let wanted = match self.memory {
            Some(memory) => memory.get() / u64::from(self.streams),
            None => (8 * self.bdp().get()).max(4 << 20),
        };
        wanted.clamp(8 << 10, MOST)
    }

    /// Buffers set by hand: twice the bandwidth-delay product (weigle, section II-A), if memory allows. The kernel
    /// doubles it.
    fn by_hand(&self) -> u64 {
        (2 * self.bdp().get()).max(16 << 10).min(self.bound() / 2)
    }
}

/// A technique of weigle's section II, none, and today's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// Buffers keep their size.
    None,
    /// A person measures the path and sets both buffers.
    Manual,
    /// PSC: the receiver offers its maximum, the sender's buffer follows its congestion window.
    Psc,
    /// Linux 2.4: by the memory that arrives.
    Linux24,
    /// Dynamic Right-Sizing.
    Drs,
    /// A daemon measures, a database stores the results, the program sets buffers.
    Enable,
    /// The program measures before it transfers.
    AutoNcFtp,
    /// The program measures while it transfers.
    DrsFtp,
    /// Linux 6.18.
    Today,
}

/// The properties of a technique in table I.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuningKind {
    /// Whether the kernel does it, the program, or both must be changed.
    pub level: &'static str,
    /// Whether a size stays once set.
    pub changes: &'static str,
    /// Whether it learns about the path from the connection itself.
    pub band: &'static str,
    /// What a user notices.
    pub visibility: &'static str,
}

impl Technique {
    /// All techniques, in table I's order between none and today's.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Psc,
        Self::Linux24,
        Self::Drs,
        Self::Enable,
        Self::AutoNcFtp,
        Self::DrsFtp,
        Self::Manual,
        Self::Today,
    ];

    /// Its name in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Manual => "manual",
            Self::Psc => "PSC",
            Self::Linux24 => "Linux 2.4",
            Self::Drs => "DRS",
            Self::Enable => "Enable",
            Self::AutoNcFtp => "Auto-ncFTP",
            Self::DrsFtp => "DRS FTP",
            Self::Today => "Linux 6.18",
        }
    }

    /// Its properties in table I, which has neither none nor today's kernel.
    pub const fn kind(self) -> Option<TuningKind> {
        let [level, changes, band, visibility] = match self {
            Self::None => return None,
            Self::Psc | Self::Linux24 | Self::Drs | Self::Today => {
                ["kernel", "dynamic", "in-band", "transparent"]
            }
            Self::Enable => ["user", "static", "out-of-band", "visible"],
            Self::AutoNcFtp => ["user", "static", "out-of-band", "opaque"],
            Self::DrsFtp => ["user", "dynamic", "in- and out-of-band", "opaque"],
            Self::Manual => ["both", "static", "out-of-band", "visible"],
        };
        Some(TuningKind { level, changes, band, visibility })
    }

    /// How many times as fast as untuned the paper says it is (section II, from the techniques' own papers).
    pub const fn published(self) -> Option<&'static str> {
        match self {
            Self::Psc | Self::Enable => Some("10 to 20"),
            Self::DrsFtp => Some("6"),
            Self::Manual => Some("8"),
            Self::None | Self::Linux24 | Self::Drs | Self::AutoNcFtp | Self::Today => None,
        }
    }

    /// What it does, in one line.
    pub const fn does(self) -> &'static str {
        match self {
            Self::None => "64 KiB at both ends, whatever comes",
            Self::Manual => "both buffers by hand, twice rate times delay",
            Self::Psc => "receiver: all it may; sender: two congestion windows",
            Self::Linux24 => "receiver: as memory fills; its window scale is that of the first buffer",
            Self::Drs => "receiver: four times what arrived in an RTT, half of it window",
            Self::Enable => "as manual, from a database of measurements",
            Self::AutoNcFtp => "as manual, measured before each transfer, whose time is not counted here",
            Self::DrsFtp => "receiver: four times what arrived in an RTT, by the program",
            Self::Today => "receiver: twice what was read in an RTT; sender: two congestion windows",
        }
    }

    /// Its scenario.
    pub fn case(self, path: &Path) -> PaperCase {
        let [rate, streams] = [path.rate.get(), u64::from(path.streams)];
        let half = path.delay.as_nanos() / 2;
        let sets = vec![
            format!("path.rate={rate}bit/s"),
            format!("path.delay={half}ns"),
            format!("flows.streams={streams}"),
            format!("flows.amount={}B", (path.amount.get() / streams).max(1)),
        ];
        let mut case = PaperCase { name: self.name().to_owned(), file: FILE, text: TEXT, sets, flow: 0 };
        // A NIC that is not the bottleneck.
        let card = rate.saturating_mul(2).clamp(10_000_000_000, 1_000_000_000_000);
        let (most, first) = match self {
            Self::None => (UNTUNED, [UNTUNED, UNTUNED]),
            Self::Linux24 => (path.bound(), [87_380, 16_384]),
            _ => (path.bound(), [131_072, 16_384]),
        };
        for host in ["sender", "receiver"] {
            case.sets.push(format!("hosts.{host}.nic.rate={card}bit/s"));
            if let Some(choices) = self.choices() {
                case.sets.push(format!("hosts.{host}.kernel={{ base = \"6.18\", {choices} }}"));
            }
            case.bound_buffers(host, most, Some(first));
        }
        if matches!(self, Self::Manual | Self::Enable | Self::AutoNcFtp) {
            case.set_buffers(path.by_hand());
        }
        case
    }

    /// Where the kernel differs from today's.
    const fn choices(self) -> Option<&'static str> {
        match self {
            Self::None => Some("receive-tuning = \"fixed\", send-tuning = \"fixed\""),
            Self::Psc => Some("receive-tuning = \"largest\""),
            Self::Linux24 => Some(
                "receive-tuning = \"memory\", window-scale = \"first-buffer\", buffer-arithmetic = \"adv-win-scale 2\"",
            ),
            Self::Drs => Some(
                "receive-tuning = \"sender-window\", window-growth = \"twice-received\", buffer-arithmetic = \"adv-win-scale 1\"",
            ),
            // A program sets the buffer; the kernel decides how much window it offers, and how it grows.
            Self::DrsFtp => Some("receive-tuning = \"sender-window\""),
            Self::Manual | Self::Enable | Self::AutoNcFtp | Self::Today => None,
        }
    }
}

/// The result of a technique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Data read, in bytes.
    pub bytes: u64,
    /// From the first connection's opening to the last byte read, in nanoseconds.
    pub lasted_ns: u64,
    /// The resulting rate in bit/s.
    pub rate: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// CPU time of the sender, on all of its CPUs together, in nanoseconds: processes, softirqs and interrupts.
    pub sender_cpu_ns: u64,
    /// CPU time of the receiver.
    pub receiver_cpu_ns: u64,
    /// The maximum memory of all the sender's sockets together, in bytes.
    pub sender_memory: u64,
    /// The maximum memory of all the receiver's sockets together, in bytes.
    pub receiver_memory: u64,
    /// The largest send buffer of any connection, in bytes of memory.
    pub send_buffer: u64,
    /// The largest receive buffer.
    pub receive_buffer: u64,
    /// The largest advertised window, in bytes.
    pub window: u64,
}

impl Outcome {
    /// CPU time over the time of the transfer: 1 is one busy CPU. `None` if the transfer took no time.
    pub fn busy(&self, cpu_ns: u64) -> Option<f64> {
        (self.lasted_ns > 0).then(|| cpu_ns as f64 / self.lasted_ns as f64)
    }

    /// CPU time per byte read, in nanoseconds. `None` if nothing was read.
    pub fn cpu_ns_per_byte(&self, cpu_ns: u64) -> Option<f64> {
        (self.bytes > 0).then(|| cpu_ns as f64 / self.bytes as f64)
    }
}

/// Runs a technique.
///
/// # Errors
///
/// If the path gives no valid scenario.
pub fn measure(technique: Technique, path: &Path) -> Result<Outcome, Rejected> {
    Ok(run(&technique.case(path).scenario(None)?, path.delay))
}

fn run(scenario: &Scenario, delay: Duration) -> Outcome {
    let mut simulation = Simulation::new(scenario);
    // Often enough to sample a buffer at its fullest, rarely enough to cost little.
    let every = (delay / 4).clamp(Duration::from_micros(200), Duration::from_millis(50));
    let sender = scenario.flows[0].sender_host().0;
    let mut watch = Watch { every, sender, at: Instant::START, now: [0; 2], outcome: Outcome::default() };
    simulation.run(&mut watch);
    watch.sum_up();
    let total = simulation.total(0);
    let reports = simulation.host_reports();
    let [sender_cpu_ns, receiver_cpu_ns] = [sender, scenario.flows[0].receiver_host().0].map(|host| {
        let cpus = &reports[host].cpus;
        nanos(cpus.iter().flat_map(|busy| busy.levels).sum())
    });
    Outcome {
        bytes: total.bytes.get(),
        lasted_ns: nanos(total.lasted()),
        rate: total.rate().map_or(0, Rate::get),
        retransmits: total.retransmits,
        timeouts: total.timeouts,
        sender_cpu_ns,
        receiver_cpu_ns,
        ..watch.outcome
    }
}

/// Samples the sockets, all at the same instants.
struct Watch {
    every: Duration,
    sender: usize,
    at: Instant,
    /// Memory at the current instant, of the sender's sockets and the receiver's.
    now: [u64; 2],
    outcome: Outcome,
}

impl Watch {
    /// The total of an instant is known when the next one begins.
    fn sum_up(&mut self) {
        let [sender, receiver] = std::mem::take(&mut self.now);
        self.outcome.sender_memory = self.outcome.sender_memory.max(sender);
        self.outcome.receiver_memory = self.outcome.receiver_memory.max(receiver);
    }
}

impl Observer for Watch {
    fn packet(&mut self, _: &Sight<'_>) {}

    fn wants(&self) -> Wants {
        Wants { samples: Some(self.every), ..Wants::default() }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let EventKind::Sampled(sample) = occurrence.kind else { return };
        if occurrence.at != self.at {
            self.sum_up();
            self.at = occurrence.at;
        }
        let known = |value: Option<u32>| u64::from(value.unwrap_or(0));
        let outcome = &mut self.outcome;
        if occurrence.host.0 == self.sender {
            self.now[0] += known(sample.wmem_queued);
            outcome.send_buffer = outcome.send_buffer.max(known(sample.sndbuf));
        } else {
            self.now[1] += known(sample.rmem_alloc) + known(sample.backlog);
            outcome.receive_buffer = outcome.receive_buffer.max(known(sample.rcvbuf));
            outcome.window = outcome.window.max(known(sample.rcv_wnd));
        }
    }
}
