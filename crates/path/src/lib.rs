//! The emulated path: what happens to a packet between the two hosts, and when.
//!
//! Pure and deterministic: integer nanoseconds, a seed, no clock and no I/O. The relay asks
//! [`Path::schedule`] once per packet, in arrival order, and does what the [`Verdict`] says.
//!
//! One direction of the path is these elements, in this order; each is optional:
//!
//! ```text
//! policer -> loss (scripted, random, bursty) -> drop-tail queue and link (with stalls and cross traffic)
//!         -> propagation delay -> jitter -> reordering -> duplication
//! ```
//!
//! - [`policer`]: a token bucket that drops what is over its rate.
//! - [`loss`]: packets lost on purpose, by chance, in bursts, or by script.
//! - [`link`]: a serial link with a drop-tail queue, and times at which it does not serve.
//! - [`cross`]: packets of others on the link.
//! - [`jitter`]: a delay of its own for every packet.
//! - [`chance`]: the seeded random numbers.

pub mod chance;
pub mod cross;
pub mod jitter;
pub mod link;
pub mod loss;
pub mod policer;

use chance::{Chance, Draws};
use cross::{Cross, CrossConfig};
use jitter::{Jitter, JitterConfig};
use link::{Link, LinkConfig, QueueLimit};
use loss::{Loss, LossConfig};
use policer::{Policer, PolicerConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the path is told about one packet. All lengths are IP lengths: no Ethernet header, no VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet in bytes.
    pub length_bytes: u32,
    /// What scripted loss may look at; `None` for anything that is not TCP.
    pub segment: Option<Segment>,
}

/// The part of a TCP stream that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// A number for the flow's direction, the same for all of its packets.
    pub flow: u64,
    /// Offset of the first payload byte in the stream; the byte after the SYN is 0.
    pub offset: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Whether the SYN flag is set.
    pub syn: bool,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// The queue before the link was full.
    Queue,
    /// Independent random loss.
    Random,
    /// The bursty loss process was in its bad state.
    Burst,
    /// A script asked for it.
    Scripted,
    /// The policer had no tokens left.
    Policed,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves the path at `due_ns`, on the same clock as the arrival.
    Deliver {
        /// When it leaves the path.
        due_ns: u64,
        /// How long a reordering held it back, on top of what it would have taken. 0 if it kept its place.
        held_back_ns: u64,
        /// Whether a second copy follows directly.
        twice: bool,
    },
    /// It is lost.
    Drop(DropReason),
}

/// Reordering: some packets take a longer way and are overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReorderConfig {
    /// Chance, in millionths, that a packet takes the longer way.
    pub probability_ppm: u32,
    /// What the longer way adds.
    pub extra_ns: u64,
}

/// One direction of a path. The default delivers everything at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathConfig {
    /// Drops what is over its rate; sits before everything else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policer: Option<PolicerConfig>,
    /// Loss processes, asked in this order; a packet lost by one is not shown to the next.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loss: Vec<LossConfig>,
    /// The bottleneck; `None` is an infinitely fast link.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link: Option<LinkConfig>,
    /// Packets of others that share the link; without a link they are nowhere.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cross: Vec<CrossConfig>,
    /// Propagation delay, one way.
    pub delay_ns: u64,
    /// A delay of its own for every packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter: Option<JitterConfig>,
    /// Packets that are overtaken.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reorder: Option<ReorderConfig>,
    /// Chance, in millionths, that a packet arrives twice.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub duplicate_ppm: u32,
}

impl PathConfig {
    /// Most bytes that can be in the queue and on the way, with packets of at most so many; `None` without a link, whose rate
    /// would bound them.
    pub fn most_bytes(&self, mtu_bytes: u64) -> Option<u64> {
        let link = self.link.as_ref()?;
        let queue = match link.queue {
            QueueLimit::Packets(packets) => u64::from(packets).saturating_mul(mtu_bytes),
            QueueLimit::Bytes(bytes) => bytes,
        };
        let extra_ns =
            self.jitter.map_or(0, |jitter| jitter.up_to_ns) + self.reorder.map_or(0, |r| r.extra_ns);
        let way = u128::from(link.rate_bit_per_s) * u128::from(self.delay_ns.saturating_add(extra_ns))
            / 8_000_000_000;
        let copies = 1 + u64::from(self.duplicate_ppm > 0);
        Some(u64::try_from(way).unwrap_or(u64::MAX).saturating_mul(copies).saturating_add(queue))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_none_of(n: &u64) -> bool {
    *n == 0
}

/// How many packets went which way: `offered + duplicated == scheduled + dropped`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Packets shown to the path.
    pub offered_packets: u64,
    /// Their IP bytes.
    pub offered_bytes: u64,
    /// Copies the path made.
    pub duplicated_packets: u64,
    /// Deliveries promised, copies included.
    pub scheduled_packets: u64,
    /// Packets dropped, by reason; a reason that is absent dropped none.
    pub dropped_packets: BTreeMap<DropReason, u64>,
    /// Packets of others that came to the link.
    #[serde(skip_serializing_if = "is_none_of", default)]
    pub cross_packets: u64,
    /// Packets of others that the queue had no room for.
    #[serde(skip_serializing_if = "is_none_of", default)]
    pub cross_dropped_packets: u64,
    /// Packets held back by reordering.
    pub held_back_packets: u64,
    /// Most packets the queue ever held, the one in service included.
    pub longest_queue_packets: u64,
    /// Most bytes the queue ever held, the packet in service included.
    pub longest_queue_bytes: u64,
}

impl Totals {
    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_packets.values().sum()
    }

    /// Whether no packet was made or lost without being counted.
    pub fn are_conserved(&self) -> bool {
        self.offered_packets + self.duplicated_packets == self.scheduled_packets + self.dropped()
    }
}

/// One direction of the emulated path at work.
#[derive(Debug)]
pub struct Path {
    policer: Option<Policer>,
    loss: Vec<Loss>,
    link: Option<Link>,
    cross: Vec<Cross>,
    begin_ns: Option<u64>,
    delay_ns: u64,
    jitter: Option<Jitter>,
    reorder: Option<(Chance, u64)>,
    duplicate: Chance,
    draws: Draws,
    totals: Totals,
}

impl Path {
    /// Builds one direction; the same configuration, seed and arrivals give the same verdicts.
    pub fn new(config: &PathConfig, seed: u64) -> Self {
        Self {
            policer: config.policer.as_ref().map(Policer::new),
            loss: config.loss.iter().map(Loss::new).collect(),
            link: config.link.as_ref().map(Link::new),
            cross: config.cross.iter().zip(1..).map(|(cross, n)| Cross::new(cross, seed ^ n << 32)).collect(),
            begin_ns: None,
            delay_ns: config.delay_ns,
            jitter: config.jitter.as_ref().map(Jitter::new),
            reorder: config.reorder.map(|r| (Chance::from_ppm(r.probability_ppm), r.extra_ns)),
            duplicate: Chance::from_ppm(config.duplicate_ppm),
            draws: Draws::new(seed),
            totals: Totals::default(),
        }
    }

    /// Sets the instant that stalls and cross traffic are counted from, which is otherwise that of the first packet.
    pub fn begin(&mut self, at_ns: u64) {
        self.begin_ns = Some(at_ns);
        if let Some(link) = &mut self.link {
            link.begin(at_ns);
        }
    }

    /// Decides about one packet that arrives at `arrival_ns`. Arrivals must not go back in time; one that
    /// does is taken to arrive together with the one before it as far as the link is concerned.
    pub fn schedule(&mut self, arrival_ns: u64, packet: &Packet) -> Verdict {
        self.totals.offered_packets += 1;
        self.totals.offered_bytes += u64::from(packet.length_bytes);
        let verdict = self.decide(arrival_ns, packet);
        match verdict {
            Verdict::Deliver { held_back_ns, twice, .. } => {
                self.totals.scheduled_packets += 1 + u64::from(twice);
                self.totals.duplicated_packets += u64::from(twice);
                self.totals.held_back_packets += u64::from(held_back_ns > 0);
            }
            Verdict::Drop(reason) => *self.totals.dropped_packets.entry(reason).or_default() += 1,
        }
        verdict
    }

    fn decide(&mut self, arrival_ns: u64, packet: &Packet) -> Verdict {
        if let Some(policer) = &mut self.policer
            && !policer.admits(arrival_ns, packet.length_bytes)
        {
            return Verdict::Drop(DropReason::Policed);
        }
        for loss in &mut self.loss {
            if let Some(reason) = loss.takes(packet, &mut self.draws) {
                return Verdict::Drop(reason);
            }
        }
        self.serve_others(arrival_ns);
        let mut due_ns = arrival_ns;
        if let Some(link) = &mut self.link {
            match link.departure(arrival_ns, packet.length_bytes) {
                Some(departure_ns) => due_ns = departure_ns,
                None => return Verdict::Drop(DropReason::Queue),
            }
            let (packets, bytes) = link.backlog();
            self.totals.longest_queue_packets = self.totals.longest_queue_packets.max(packets);
            self.totals.longest_queue_bytes = self.totals.longest_queue_bytes.max(bytes);
        }
        due_ns += self.delay_ns;
        if let Some(jitter) = &mut self.jitter {
            due_ns = jitter.delay(due_ns, &mut self.draws);
        }
        let mut held_back_ns = 0;
        if let Some((chance, extra_ns)) = self.reorder
            && self.draws.happens(chance)
        {
            held_back_ns = extra_ns;
        }
        let twice = self.draws.happens(self.duplicate);
        Verdict::Deliver { due_ns: due_ns + held_back_ns, held_back_ns, twice }
    }

    /// Lets the packets of others that came since the last arrival take their places in the queue.
    fn serve_others(&mut self, now_ns: u64) {
        let begin_ns = *self.begin_ns.get_or_insert(now_ns);
        let Some(link) = &mut self.link else { return };
        let elapsed_ns = now_ns.saturating_sub(begin_ns);
        while let Some((at_ns, cross)) = self
            .cross
            .iter_mut()
            .filter_map(|cross| Some((cross.next_ns()?, cross)))
            .min_by_key(|(at_ns, _)| *at_ns)
            .filter(|(at_ns, _)| *at_ns <= elapsed_ns)
        {
            self.totals.cross_packets += 1;
            if link.departure(begin_ns.saturating_add(at_ns), cross.take()).is_none() {
                self.totals.cross_dropped_packets += 1;
            }
        }
    }

    /// What became of everything so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

#[cfg(test)]
mod tests;
