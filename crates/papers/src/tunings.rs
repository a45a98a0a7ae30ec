//! weigle's question for any path: which buffers does each technique find, how fast is the transfer then, and what does
//! it cost in memory.
//!
//! All techniques run on the same kernel, today's, which differs in nothing but what the technique is about.
//!
//! What weigle compares are not kernels but three choices of the receiver: how a buffer finds its size
//! (`receive-tuning`), how the window is advertised from it (`window-growth`), and for which buffer the window scale
//! is chosen (`window-scale`). `papers weigle` runs the kernels that were measured; `compare-tunings` runs today's
//! kernel with only these choices changed.

use crate::PaperCase;
use slowpath_model::{Bytes, EventKind, Instant, Rate};
use slowpath_scenario::{Rejected, Scenario};
use slowpath_simulator::{Observer, Occurrence, Sight, Simulation, Wants};
use std::time::Duration;

const FILE: &str = "scenarios/weigle/tunings.toml";
const TEXT: &str = include_str!("../../../scenarios/weigle/tunings.toml");

/// The most that `SO_RCVBUF` may ask for: an `int`, doubled.
const MOST: u64 = (1 << 30) - 1;
/// The buffers of a kernel that tunes nothing (`SK_RMEM_MAX` of 2.2).
const UNTUNED: u64 = 64 << 10;

/// A path, and what is to be transferred over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Rate of its bottleneck.
    pub rate: Rate,
    /// Its RTT.
    pub delay: Duration,
    /// Connections side by side.
    pub streams: u32,
    /// Memory for the buffers of all of them, on each host; `None`: as much as they ask for.
    pub memory: Option<Bytes>,
    /// What all of them carry together.
    pub amount: Bytes,
}

impl Path {
    /// The product of its rate and its delay.
    pub fn bdp(&self) -> Bytes {
        self.rate.amount_in(self.delay)
    }

    /// The most that one buffer may be: its share of the memory, or a bound that is never reached.
    fn bound(&self) -> u64 {
        let wanted = match self.memory {
            Some(memory) => memory.get() / u64::from(self.streams),
            None => (8 * self.bdp().get()).max(4 << 20),
        };
        wanted.clamp(8 << 10, MOST)
    }

    /// What a person sets a buffer to: twice the product of rate and delay (weigle, section II-A), where there is memory for
    /// it. The kernel doubles it.
    fn by_hand(&self) -> u64 {
        (2 * self.bdp().get()).max(16 << 10).min(self.bound() / 2)
    }
}

/// A technique of weigle's section II, none, and today's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
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

/// What table I says of a technique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuningKind {
    /// Whether the kernel does it, the program, or both have to be changed.
    pub level: &'static str,
    /// Whether a size stays once it is set.
    pub changes: &'static str,
    /// Whether what it knows of the path comes from the connection itself.
    pub band: &'static str,
    /// What a user notices.
    pub visibility: &'static str,
}

impl Technique {
    /// All of them, in table I's order behind none and before today's.
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

    /// What table I says of it; of none there is nothing to say, and today's kernel is not in it.
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

    /// What it does, in a line.
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
        let mut case = PaperCase { name: self.name().to_owned(), file: FILE, text: TEXT, sets };
        // A card that is no bottleneck.
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
            // A program sets the buffer; what of it is offered, and how it gets there, is the kernel's.
            Self::DrsFtp => Some("receive-tuning = \"sender-window\""),
            Self::Manual | Self::Enable | Self::AutoNcFtp | Self::Today => None,
        }
    }
}

/// The result of a technique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Data that was read, in bytes.
    pub bytes: u64,
    /// From the first connection's opening to the last byte read, in nanoseconds.
    pub lasted_ns: u64,
    /// That, over this: in bit/s.
    pub rate: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The most memory that the sender's sockets held at once, all together, in bytes.
    pub sender_memory: u64,
    /// The most memory that the receiver's sockets held at once, all together, in bytes.
    pub receiver_memory: u64,
    /// The largest send buffer that any connection came to, in bytes of memory.
    pub send_buffer: u64,
    /// The largest receive buffer.
    pub receive_buffer: u64,
    /// The largest window that was advertised, in bytes.
    pub window: u64,
}

/// Runs a technique.
///
/// # Errors
///
/// If the path makes no scenario.
pub fn measure(technique: Technique, path: &Path) -> Result<Outcome, Rejected> {
    Ok(run(&technique.case(path).scenario(None)?, path.delay))
}

fn run(scenario: &Scenario, delay: Duration) -> Outcome {
    let mut simulation = Simulation::new(scenario);
    // Often enough to see a buffer at its fullest, seldom enough to cost little.
    let every = (delay / 4).clamp(Duration::from_micros(200), Duration::from_millis(50));
    let sender = scenario.flows[0].sender_host().0;
    let mut watch = Watch { every, sender, at: Instant::START, now: [0; 2], outcome: Outcome::default() };
    simulation.run(&mut watch);
    watch.sum_up();
    let total = simulation.total(0);
    Outcome {
        bytes: total.bytes.get(),
        lasted_ns: u64::try_from(total.lasted().as_nanos()).unwrap_or(u64::MAX),
        rate: total.rate().map_or(0, Rate::get),
        retransmits: total.retransmits,
        timeouts: total.timeouts,
        ..watch.outcome
    }
}

/// Looks at the sockets, all at the same instants.
struct Watch {
    every: Duration,
    sender: usize,
    at: Instant,
    /// Memory at that instant, of the sender's sockets and the receiver's.
    now: [u64; 2],
    outcome: Outcome,
}

impl Watch {
    /// What was held at an instant is known when the next has come.
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
