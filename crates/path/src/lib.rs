//! The emulated path: what happens to a packet between the two hosts, and when.
//!
//! Pure and deterministic: the model's units, a seed, no clock and no I/O. The relay calls [`Path::schedule`] once per
//! packet, in arrival order, and carries out the [`Verdict`].
//!
//! One direction of the path consists of these elements, in this order; each is optional:
//!
//! ```text
//! middleboxes -> policer -> loss (scripted, random, bursty)
//!             -> drop-tail queue and link (with stalls and cross traffic)
//!             -> propagation delay -> jitter -> reordering -> duplication
//! ```
//!
//! - [`middlebox`]: devices that inspect packets, and drop, change or answer them. To drop: [`mtu`], [`super_packets`],
//!   [`syn_data`], [`unscaled_window`], [`forget`]; to change: [`window_scale`], [`sack_shift`], [`ecn`],
//!   [`identification`], [`damage`]; to add a RST: [`resets`].
//! - [`packet`], [`action`]: a packet as these elements see it, and what they do to it.
//! - [`policer`]: a token bucket that drops what exceeds its rate.
//! - [`loss`]: emulated loss: random, in bursts, or scripted.
//! - [`link`]: a serial link with a drop-tail queue, and stalls.
//! - [`cross`]: cross traffic on the link.
//! - [`jitter`]: an independent delay for every packet.
//! - [`chance`]: the seeded random numbers.

pub mod action;
pub mod chance;
pub mod cross;
pub mod damage;
pub mod ecn;
pub mod forget;
pub mod identification;
pub mod jitter;
pub mod link;
pub mod loss;
pub mod middlebox;
pub mod mtu;
pub mod packet;
pub mod policer;
pub mod resets;
pub mod sack_shift;
mod serde_units;
pub mod super_packets;
pub mod syn_data;
pub mod unscaled_window;
pub mod window_scale;

pub use action::LossReason;
pub use packet::{Packet, StreamPart};

use action::{Action, Answer, Changes};
use chance::{Chance, Draws};
use cross::{Cross, CrossConfig};
use jitter::{Jitter, JitterConfig};
use link::{Link, LinkConfig, QueueLimit};
use loss::{Loss, LossConfig};
use middlebox::{MiddleboxConfig, Middleboxes};
use policer::{Policer, PolicerConfig};
use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Instant};
use std::collections::BTreeMap;
use std::time::Duration;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves the path at `due`, on the clock of the arrivals.
    Deliver {
        /// When it leaves the path.
        due: Instant,
        /// The extra delay of reordering. Zero if it was not reordered.
        held_back: Duration,
        /// Whether a second copy follows directly.
        twice: bool,
        /// The changes by middleboxes.
        changes: Changes,
    },
    /// It is lost.
    Drop {
        /// Why.
        reason: LossReason,
        /// What its sender gets, in the other direction of the path.
        answer: Option<Answer>,
    },
}

/// Reordering: some packets are delayed, so that later ones arrive before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReorderConfig {
    /// The probability, in millionths, that a packet is delayed.
    pub probability_ppm: u32,
    /// The extra delay.
    #[serde(rename = "extra_ns", with = "serde_units::ns")]
    pub extra: Duration,
}

/// One direction of a path. The default delivers everything immediately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathConfig {
    /// Devices that inspect packets, in this order; before everything else.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub middleboxes: Vec<MiddleboxConfig>,
    /// Drops what exceeds its rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policer: Option<PolicerConfig>,
    /// Loss processes, applied in this order; a packet lost by one is not seen by the next.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loss: Vec<LossConfig>,
    /// The bottleneck; `None` is an infinitely fast link.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link: Option<LinkConfig>,
    /// Cross traffic on the link; without a link it has no effect.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cross: Vec<CrossConfig>,
    /// Propagation delay, one way.
    #[serde(rename = "delay_ns", with = "serde_units::ns")]
    pub delay: Duration,
    /// An independent delay for every packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter: Option<JitterConfig>,
    /// Reordering.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reorder: Option<ReorderConfig>,
    /// The probability, in millionths, that a packet is duplicated.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub duplicate_ppm: u32,
}

impl PathConfig {
    /// The maximum data queued and in flight, with packets of at most this size; `None` without a link, whose rate
    /// would limit it.
    pub fn most_in_flight(&self, mtu: Bytes) -> Option<Bytes> {
        let link = self.link.as_ref()?;
        let queue = match link.queue {
            QueueLimit::Packets(packets) => u64::from(packets).saturating_mul(mtu.get()),
            QueueLimit::Bytes(bytes) => bytes.get(),
        };
        let jitter = self.jitter.map_or(Duration::ZERO, |jitter| jitter.up_to);
        let extra = self.reorder.map_or(Duration::ZERO, |reorder| reorder.extra);
        let way = link.rate.amount_in(self.delay.saturating_add(jitter).saturating_add(extra)).get();
        let copies = 1 + u64::from(self.duplicate_ppm > 0);
        Some(Bytes::new(way.saturating_mul(copies).saturating_add(queue)))
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

/// Packets by fate: `offered + duplicated + made == scheduled + dropped`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets offered to the path.
    pub offered_packets: u64,
    /// Their IP bytes.
    pub offered_bytes: u64,
    /// Duplicates made by the path.
    pub duplicated_packets: u64,
    /// Packets that middleboxes added: RSTs. Answers to the other direction's packets count as offered here.
    #[serde(skip_serializing_if = "is_none_of", default)]
    pub made_packets: u64,
    /// Packets that middleboxes changed.
    #[serde(skip_serializing_if = "is_none_of", default)]
    pub changed_packets: u64,
    /// Deliveries scheduled, duplicates included.
    pub scheduled_packets: u64,
    /// Packets dropped, by reason; a missing reason dropped none.
    pub dropped_packets: BTreeMap<LossReason, u64>,
    /// Cross traffic packets offered to the link.
    #[serde(skip_serializing_if = "is_none_of", default)]
    pub cross_packets: u64,
    /// Cross traffic packets dropped by the queue.
    #[serde(skip_serializing_if = "is_none_of", default)]
    pub cross_dropped_packets: u64,
    /// Packets held back by reordering.
    pub held_back_packets: u64,
    /// The longest queue in packets, including the one in service.
    pub longest_queue_packets: u64,
    /// The longest queue in bytes, including the packet in service.
    pub longest_queue_bytes: u64,
}

impl Totals {
    /// Packets dropped, for all reasons.
    pub fn dropped(&self) -> u64 {
        self.dropped_packets.values().sum()
    }

    /// Whether every packet is accounted for.
    pub fn are_conserved(&self) -> bool {
        self.offered_packets + self.duplicated_packets + self.made_packets
            == self.scheduled_packets + self.dropped()
    }
}

/// The state of one direction of the emulated path.
#[derive(Debug)]
pub struct Path {
    middleboxes: Middleboxes,
    policer: Option<Policer>,
    loss: Vec<Loss>,
    link: Option<Link>,
    cross: Vec<Cross>,
    begin: Option<Instant>,
    delay: Duration,
    jitter: Option<Jitter>,
    reorder: Option<(Chance, Duration)>,
    duplicate: Chance,
    draws: Draws,
    totals: Totals,
}

impl Path {
    /// Builds one direction; the same configuration, seed and arrivals give the same verdicts.
    pub fn new(config: &PathConfig, seed: u64) -> Self {
        Self {
            middleboxes: Middleboxes::new(&config.middleboxes, seed),
            policer: config.policer.as_ref().map(Policer::new),
            loss: config.loss.iter().map(Loss::new).collect(),
            link: config.link.as_ref().map(Link::new),
            cross: config.cross.iter().zip(1..).map(|(cross, n)| Cross::new(cross, seed ^ n << 32)).collect(),
            begin: None,
            delay: config.delay,
            jitter: config.jitter.as_ref().map(Jitter::new),
            reorder: config.reorder.map(|r| (Chance::from_ppm(r.probability_ppm), r.extra)),
            duplicate: Chance::from_ppm(config.duplicate_ppm),
            draws: Draws::new(seed),
            totals: Totals::default(),
        }
    }

    /// Sets the instant that stalls and cross traffic are relative to; by default, the first packet's.
    pub fn begin(&mut self, at: Instant) {
        self.begin = Some(at);
        if let Some(link) = &mut self.link {
            link.begin(at);
        }
    }

    /// Decides the fate of a packet that arrives at `arrival`. Arrivals must not go back in time; for the link, one
    /// that does counts as arriving with the one before it.
    pub fn schedule(&mut self, arrival: Instant, packet: &Packet) -> Verdict {
        self.totals.offered_packets += 1;
        self.totals.offered_bytes += packet.length.get();
        let verdict = self.decide(arrival, packet);
        match verdict {
            Verdict::Deliver { held_back, twice, changes, .. } => {
                let made = u64::from(changes.reset_beyond.is_some());
                self.totals.scheduled_packets += 1 + u64::from(twice) + made;
                self.totals.made_packets += made;
                self.totals.changed_packets += u64::from(changes.change_it());
                self.totals.duplicated_packets += u64::from(twice);
                self.totals.held_back_packets += u64::from(!held_back.is_zero());
            }
            Verdict::Drop { reason, .. } => *self.totals.dropped_packets.entry(reason).or_default() += 1,
        }
        verdict
    }

    /// Whether it needs to [overhear](Self::overhear) packets, and whether its verdicts may require more than delivery.
    pub fn has_middleboxes(&self) -> bool {
        !self.middleboxes.is_empty()
    }

    /// Shows it a packet offered to the other direction of the path and not dropped there. Middleboxes see both
    /// directions.
    pub fn overhear(&mut self, arrival: Instant, packet: &Packet) {
        self.middleboxes.overhear(arrival, packet);
    }

    fn decide(&mut self, arrival: Instant, packet: &Packet) -> Verdict {
        let mut changes = Changes::NONE;
        if self.has_middleboxes() {
            match self.middleboxes.pass(arrival, packet) {
                Action::Pass(made) => changes = made,
                Action::Drop(reason, answer) => return Verdict::Drop { reason, answer },
            }
        }
        let dropped = |reason| Verdict::Drop { reason, answer: None };
        if let Some(policer) = &mut self.policer
            && !policer.admits(arrival, packet.length)
        {
            return dropped(LossReason::Policed);
        }
        for loss in &mut self.loss {
            if let Some(reason) = loss.takes(packet, &mut self.draws) {
                return dropped(reason);
            }
        }
        self.serve_others(arrival);
        let mut due = arrival;
        if let Some(link) = &mut self.link {
            match link.departure(arrival, packet.length) {
                Some(departure) => due = departure,
                None => return dropped(LossReason::Queue),
            }
            let (packets, bytes) = link.backlog();
            self.totals.longest_queue_packets = self.totals.longest_queue_packets.max(packets);
            self.totals.longest_queue_bytes = self.totals.longest_queue_bytes.max(bytes.get());
        }
        due = due + self.delay;
        if let Some(jitter) = &mut self.jitter {
            due = jitter.delay(due, &mut self.draws);
        }
        let mut held_back = Duration::ZERO;
        if let Some((chance, extra)) = self.reorder
            && self.draws.happens(chance)
        {
            held_back = extra;
        }
        let twice = self.draws.happens(self.duplicate);
        Verdict::Deliver { due: due + held_back, held_back, twice, changes }
    }

    /// Queues the cross traffic packets that arrived since the last packet.
    fn serve_others(&mut self, now: Instant) {
        let begin = *self.begin.get_or_insert(now);
        let Some(link) = &mut self.link else { return };
        let elapsed = now.since(begin).unwrap_or_default();
        while let Some((after, cross)) = self
            .cross
            .iter_mut()
            .filter_map(|cross| Some((cross.next()?, cross)))
            .min_by_key(|(after, _)| *after)
            .filter(|(after, _)| *after <= elapsed)
        {
            self.totals.cross_packets += 1;
            if link.departure(begin + after, cross.take()).is_none() {
                self.totals.cross_dropped_packets += 1;
            }
        }
    }

    /// The totals so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

#[cfg(test)]
mod tests;
