//! Connections that were recorded at two places: where packets were lost and how long they took each way.
//!
//! A [`Collector`] per recording keeps 32 bytes a segment; [`pair`] finds the connections that both have, matches their
//! packets, aligns the clocks and reports what became of each packet. [`verdict::merge`] makes one verdict of the two
//! recordings' own.
//!
//! - [`collect`]: what is kept, and how much; `record`: of one segment.
//! - [`identify`]: which flow is which.
//! - `lane`, `matching`: which packet is which.
//! - [`clock`]: offset, drift and steps of the clocks.
//! - `compare`: what became of each packet; [`report`]: the result.

pub mod clock;
pub mod collect;
mod compare;
pub mod identify;
mod lane;
mod matching;
mod record;
pub mod report;
mod sizes;
pub mod verdict;

#[cfg(test)]
mod tests;

pub use collect::{Both, Collector, CollectorOptions, Tap};
pub use report::{DirectionPair, FlowPair, Pairing};

use crate::pairing::clock::{Alignment, Envelopes, Transit};
use crate::pairing::collect::{Tapped, mirrored};
use crate::pairing::compare::Compared;
use crate::pairing::identify::Same;
use crate::pairing::lane::{Glance, Side, glance};
use crate::pairing::matching::{Lane, Matching};
use crate::pairing::record::Record;
use crate::pairing::report::Rewritten;
use crate::pairing::sizes::Sizes;
use slowpath_model::{End, FlowId};
use std::collections::HashMap;
use std::net::IpAddr;

/// Why two recordings cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// One of them has no TCP.
    #[error("the {} recording has no TCP in it", if *.recording == 0 { "first" } else { "second" })]
    Empty {
        /// Which: 0 or 1.
        recording: usize,
    },
    /// Each has one direction of the same connections, as the two ports of a network tap do.
    #[error(
        "each recording has one direction of the same connections; join them to one file (mergecap -w both.pcap ONE OTHER) \
         and diagnose that"
    )]
    OneDirectionEach,
    /// No connection is in both.
    #[error(
        "the two recordings have no connection in common: none of the {first} and {second} flows has the same packets \
         in both; are they of the same transfer, and did they overlap in time?"
    )]
    NothingInCommon {
        /// Flows of the first.
        first: usize,
        /// Flows of the second.
        second: usize,
    },
}

/// Compares two recordings of the same connections, in any order.
///
/// # Errors
/// If they have no connection in common.
pub fn pair(first: &Tap, second: &Tap) -> Result<Pairing, PairingError> {
    for (recording, tap) in [first, second].into_iter().enumerate() {
        if tap.flows.is_empty() {
            return Err(PairingError::Empty { recording });
        }
    }
    let same = identify::identify(first, second);
    if same.is_empty() && identify::have_one_direction_each(first, second) {
        return Err(PairingError::OneDirectionEach);
    }
    if same.is_empty() {
        return Err(PairingError::NothingInCommon { first: first.flows.len(), second: second.flows.len() });
    }
    let taps = [first, second];
    let mut paths = Paths::of(taps, &same);
    let mut halves = Vec::with_capacity(same.len());
    for same in &same {
        let half = Half::of(taps, same);
        paths.note(&half);
        halves.push(half);
    }
    let clocks = paths.align();
    let flows: Vec<_> = halves.iter_mut().map(|half| half.finish(taps, clocks.as_ref())).collect();
    let alone = [0, 1].map(|n: usize| {
        let paired: Vec<_> = same.iter().map(|same| same.flows[n]).collect();
        let mut there = vec![false; taps[n].flows.len()];
        paired.into_iter().for_each(|flow| there[flow] = true);
        let alone = taps[n].flows.iter().zip(there).filter(|(_, there)| !there);
        alone.map(|(flow, _)| flow.id).collect::<Vec<FlowId>>()
    });
    let epochs_ns = taps.map(|tap| tap.epoch);
    let places = Pairing::places(&flows);
    Ok(Pairing { clocks, epochs_ns, flows, alone, not_kept: taps.map(|tap| tap.not_kept), places })
}

/// A pair of flows whose unambiguous packets are matched.
struct Half<'a> {
    same: Same,
    flows: [&'a Tapped; 2],
    nearer: Option<[usize; 2]>,
    /// The one recording that has packets of A, and of B, if none of them arrived.
    unheard: [Option<usize>; 2],
    /// The median time from the first recording's timestamp to the second's, of what A sent, and of what B sent.
    medians: [Option<i64>; 2],
    /// What A sent, and what B sent; `None` once finished.
    lanes: [(Lane<'a>, Option<Matching>); 2],
}

impl<'a> Half<'a> {
    fn of(taps: [&'a Tap; 2], same: &Same) -> Self {
        let flows = [0, 1].map(|n| &taps[n].flows[same.flows[n]]);
        let mss = full_packet(flows);
        let side = |n: usize, end: End| {
            let end = mirrored(end, same.swapped && n == 1);
            Side::new(&flows[n].ends[end.index()], taps[n].epoch, taps[n].span, flows[n].stripes)
        };
        let sides = End::BOTH.map(|end| [side(0, end), side(1, end)]);
        let shifts = |end: End| (same.shifts[end.index()], same.shifts[(!end).index()]);
        let glances = End::BOTH.map(|end| {
            let (shift, ack_shift) = shifts(end);
            let [first, second] = &sides[end.index()];
            glance(first, second, shift, ack_shift)
        });
        let unheard = End::BOTH
            .map(|end| unheard(&sides[end.index()], &sides[(!end).index()], same.shifts[end.index()]));
        let nearer = nearer(&glances, unheard);
        let [a, b] = sides;
        let medians = glances.each_ref().map(|glance| glance.median);
        let [glance_a, glance_b] = glances;
        let lane = |end: End, [first, second]: [Side<'a>; 2], glance: Glance| {
            let (shift, ack_shift) = shifts(end);
            let (near, far, shift, ack_shift) = if nearer.unwrap_or([0, 1])[end.index()] == 0 {
                (first, second, shift, ack_shift)
            } else {
                (second, first, -shift, -ack_shift)
            };
            let sizes = mss.map(|mss| match glance.trust.id {
                true => Sizes::follow(mss, &near, &far, shift),
                false => Sizes::always(mss),
            });
            let lane = Lane { near, far, shift, ack_shift, sizes, trust: glance.trust }.within_bounds();
            let matching = lane.matched();
            (lane, Some(matching))
        };
        let lanes = [lane(End::A, a, glance_a), lane(End::B, b, glance_b)];
        Self { same: *same, flows, nearer, unheard, medians, lanes }
    }

    fn near(&self, end: End) -> usize {
        self.nearer.unwrap_or([0, 1])[end.index()]
    }

    /// How the options of the SYN of `end` differ behind the path from those before it, if they do.
    fn rewritten(&self, end: End) -> Option<Rewritten> {
        let near = self.nearer?[end.index()];
        let [sent, arrived] = [near, 1 - near].map(|recording| {
            let end = mirrored(end, self.same.swapped && recording == 1);
            self.flows[recording].syns[end.index()]
        });
        let (sent, arrived) = sent.zip(arrived)?;
        (sent != arrived).then_some(Rewritten { sent, arrived })
    }

    /// The shortest transit time of what `end` sent, by the unambiguous matches.
    fn shortest(&self, end: End, transit: &Transit<'_>) -> Option<i64> {
        let (lane, matching) = &self.lanes[end.index()];
        lane.transits(&matching.as_ref()?.matches, transit).map(|(_, taken)| taken).min()
    }

    fn finish(&mut self, taps: [&Tap; 2], clocks: Option<&Alignment>) -> FlowPair {
        let transit_of = |near: usize| Transit {
            alignment: clocks,
            near,
            epoch: taps[0].epoch,
            shortest: Transit::UNKNOWN,
        };
        let shortest = End::BOTH.map(|end| self.shortest(end, &transit_of(self.near(end))));
        let directions = End::BOTH.map(|end| {
            let near = self.near(end);
            let mut transit = transit_of(near);
            let answers_from = mirrored(!end, self.same.swapped && near == 0);
            let answers = &self.flows[1 - near].ends[answers_from.index()];
            let (lane, matching) = &mut self.lanes[end.index()];
            let matching = matching.take().unwrap_or_else(|| lane.matched());
            if let Some(shortest) = shortest[end.index()] {
                transit.shortest = shortest.saturating_sub((shortest.saturating_abs() / 50).max(100_000));
            } else if self.unheard[end.index()].is_some() {
                // As if the way there and back took no time: the clocks can be no closer.
                let median = self.medians[(!end).index()];
                let median = median.map(|median| if near == 1 { median } else { -median });
                let back = shortest[(!end).index()].or(median).filter(|_| clocks.is_none());
                transit.shortest = back.map_or(0, i64::saturating_neg);
            }
            let matches = matching.settle(lane, &transit);
            Compared { from: end, lane, matches: &matches, transit: &transit, answers }.direction()
        });
        FlowPair {
            flows: [0, 1].map(|n: usize| self.flows[n].id),
            identified: self.same.by,
            swapped: self.same.swapped,
            nearer: self.nearer,
            directions,
            rewritten: End::BOTH.map(|end| self.rewritten(end)),
            one_in: 1 << self.flows[0].stripes.halvings.max(self.flows[1].stripes.halvings).min(31),
        }
    }
}

/// Which recording is nearer to A, and which to B: a packet from A passes that near A first, whatever the clocks show,
/// and one from B that near B. The difference of the two transit times by the timestamps is an RTT. Of an end that is
/// `unheard`, one recording alone has packets.
fn nearer([a, b]: &[Glance; 2], unheard: [Option<usize>; 2]) -> Option<[usize; 2]> {
    /// Two taps of one host are this near.
    const SAME_PLACE: i64 = 10_000;
    match unheard {
        [Some(of_a), None] => return Some([of_a, 1 - of_a]),
        [None, Some(of_b)] => return Some([1 - of_b, of_b]),
        _ => {}
    }
    // If only one direction has packets, the clocks have to be trusted.
    let round_trip = match (a.median, b.median) {
        (Some(a), Some(b)) => a.saturating_sub(b),
        (Some(a), None) => a,
        (None, Some(b)) => -b,
        (None, None) => return None,
    };
    (round_trip.abs() > SAME_PLACE).then_some(if round_trip > 0 { [0, 1] } else { [1, 0] })
}

/// The one recording that has what an end `sent`, if none of it reached the other end: that end `answered`, passed both
/// recordings and acknowledged nothing. (If it acknowledges, the other recording is of one direction only.)
fn unheard(sent: &[Side<'_>; 2], answered: &[Side<'_>; 2], shift: i64) -> Option<usize> {
    let has = [0, 1].map(|n: usize| !sent[n].records.is_empty());
    if has[0] == has[1] || answered.iter().any(|side| side.records.is_empty()) {
        return None;
    }
    let only = usize::from(has[1]);
    let first = sent[only].data.first().map(|index| sent[only].record(*index).end())?;
    let first = if only == 0 { first } else { first - shift };
    let reached = |n: usize, shift: i64| {
        answered[n].records.iter().filter_map(Record::ack).max().map(|ack| ack - shift)
    };
    let reached = reached(0, 0).max(reached(1, shift));
    reached.is_none_or(|reached| reached < first).then_some(only)
}

/// The payload of a full packet: as in the handshake, unless packets on the way are smaller.
fn full_packet(flows: [&Tapped; 2]) -> Option<i64> {
    let agreed = flows.iter().find_map(|flow| flow.agreed_mss());
    // Larger than any frame but a super-packet.
    let most = agreed.unwrap_or(9216);
    let mut lengths: HashMap<i64, u32> = HashMap::new();
    for records in flows.iter().flat_map(|flow| &flow.ends) {
        for record in records.iter().filter(|record| (1..=most).contains(&record.len())).take(20_000) {
            *lengths.entry(record.len()).or_default() += 1;
        }
    }
    match agreed {
        Some(mss) if lengths.is_empty() || lengths.contains_key(&mss) => Some(mss),
        // A path MTU below the MSS: most packets are as long as it allows.
        _ => lengths.into_iter().map(|(len, count)| (count, len)).max().map(|(_, len)| len).or(agreed),
    }
}

/// The transit times of all packets, and of those between each two hosts: no packet takes negative time, and
/// connections between the same two have the same shortest one.
struct Paths {
    all: Envelopes,
    by_hosts: HashMap<[IpAddr; 2], Envelopes>,
}

impl Paths {
    /// Pairs of hosts considered: one will be enough, and those with most packets come first.
    const MOST: usize = 64;

    fn of([first, _]: [&Tap; 2], same: &[Same]) -> Self {
        let mut packets: HashMap<[IpAddr; 2], usize> = HashMap::new();
        for same in same {
            let flow = &first.flows[same.flows[0]];
            *packets.entry(hosts(flow)).or_default() += flow.len();
        }
        let mut most: Vec<_> = packets.into_iter().map(|(hosts, packets)| (packets, hosts)).collect();
        most.sort_unstable_by(|one, other| other.cmp(one));
        let empty = Envelopes::over(first.span);
        // A single path shows no more than all packets do.
        let paths = if most.len() > 1 { most.len().min(Self::MOST) } else { 0 };
        let by_hosts = most.into_iter().take(paths).map(|(_, hosts)| (hosts, empty.clone())).collect();
        Self { all: empty, by_hosts }
    }

    /// Adds the unambiguously matched packets.
    fn note(&mut self, half: &Half<'_>) {
        let mut of_hosts = self.by_hosts.get_mut(&hosts(half.flows[0]));
        for end in End::BOTH {
            let near_is = half.near(end);
            let (lane, matching) = &half.lanes[end.index()];
            let Some(matching) = matching else { continue };
            for (far, near) in matching.matches.pairs() {
                let first = if near_is == 0 { lane.near.record(near) } else { lane.far.record(far) };
                let taken = lane.far.wall(far).saturating_sub(lane.near.wall(near));
                self.all.saw(near_is, first.at(), taken);
                if let Some(of_hosts) = &mut of_hosts {
                    of_hosts.saw(near_is, first.at(), taken);
                }
            }
        }
    }

    /// Aligns the clocks by all packets, and by the two hosts whose packets show most.
    fn align(self) -> Option<Alignment> {
        // In the order of the addresses among equals, so that the result is the same each time.
        let most = self.by_hosts.into_iter().max_by_key(|(hosts, envelopes)| (envelopes.weight(), *hosts));
        self.all.align(most.as_ref().map(|(_, envelopes)| envelopes))
    }
}

fn hosts(flow: &Tapped) -> [IpAddr; 2] {
    let (a, b) = (flow.key.a.address, flow.key.b.address);
    if a <= b { [a, b] } else { [b, a] }
}
