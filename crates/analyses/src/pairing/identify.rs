//! Which flow of one recording is which of the other, and how their positions relate.

use super::collect::{Tap, Tapped, mirrored};
use super::record::Record;
use crate::cause::Confidence;
use slowpath_model::{End, Endpoint};
use std::collections::HashMap;

/// Two flows that are one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Same {
    /// Where they are in the two taps.
    pub flows: [usize; 2],
    /// Whether end A of one is end B of the other.
    pub swapped: bool,
    /// By how much a position of each end (named as in the first tap) in the second exceeds that in the first.
    pub shifts: [i64; 2],
    /// How it was identified.
    pub by: Identified,
}

/// How two flows are known to be one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identified {
    /// By equal addresses and ports, and equal packets.
    ByAddresses,
    /// Other addresses or ports, but the same SYN by its timestamp, and the same packets: translated on the way.
    ByHandshake,
    /// Other addresses or ports, but the same packets.
    ByPackets,
}

impl Identified {
    /// How sure.
    pub const fn confidence(self) -> Confidence {
        match self {
            Self::ByAddresses => Confidence::High,
            Self::ByHandshake => Confidence::Medium,
            Self::ByPackets => Confidence::Low,
        }
    }

    /// `addresses`, `handshake`, `packets`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::ByAddresses => "addresses",
            Self::ByHandshake => "handshake",
            Self::ByPackets => "packets",
        }
    }
}

/// Finds the connections that both have.
pub(super) fn identify(first: &Tap, second: &Tap) -> Vec<Same> {
    let mut found = Found { first, second, taken: vec![false; second.flows.len()], same: Vec::new() };
    let mut by_ends: HashMap<[Endpoint; 2], Vec<usize>> = HashMap::new();
    for (n, flow) in second.flows.iter().enumerate() {
        by_ends.entry(ends(flow)).or_default().push(n);
    }
    let mut left = Vec::new();
    for (n, flow) in first.flows.iter().enumerate() {
        let candidates = by_ends.get(&ends(flow)).map_or(&[][..], Vec::as_slice);
        if !found.take(n, candidates, Identified::ByAddresses) {
            left.push(n);
        }
    }
    let mut by_syn: HashMap<u32, Vec<usize>> = HashMap::new();
    for (n, flow) in second.flows.iter().enumerate().filter(|(n, _)| !found.taken[*n]) {
        if let Some(stamp) = syn_stamp(flow) {
            by_syn.entry(stamp).or_default().push(n);
        }
    }
    left.retain(|n| {
        let candidates = syn_stamp(&first.flows[*n]).and_then(|stamp| by_syn.get(&stamp));
        !candidates.is_some_and(|candidates| found.take(*n, candidates, Identified::ByHandshake))
    });
    // Each is compared with each: only those that carried most.
    const MOST: usize = 24;
    let mut right: Vec<_> = (0..second.flows.len()).filter(|n| !found.taken[*n]).collect();
    let largest = |list: &mut Vec<usize>, tap: &Tap| {
        list.sort_by_key(|n| std::cmp::Reverse(tap.flows[*n].len()));
        list.truncate(MOST);
    };
    largest(&mut left, first);
    largest(&mut right, second);
    for n in left {
        found.take(n, &right, Identified::ByPackets);
    }
    found.same.sort_by_key(|same| same.flows);
    found.same
}

struct Found<'a> {
    first: &'a Tap,
    second: &'a Tap,
    taken: Vec<bool>,
    same: Vec<Same>,
}

impl Found<'_> {
    /// Takes the candidate that has most packets in common with flow `n` of the first.
    fn take(&mut self, n: usize, candidates: &[usize], by: Identified) -> bool {
        let flow = &self.first.flows[n];
        let free = candidates.iter().copied().filter(|candidate| !self.taken[*candidate]);
        let best = free
            .flat_map(|candidate| [false, true].map(|swapped| (candidate, swapped)))
            .filter_map(|(candidate, swapped)| {
                let other = &self.second.flows[candidate];
                let known = by == Identified::ByAddresses;
                if known && (flow.key.a == other.key.b && flow.key.b == other.key.a) != swapped {
                    return None;
                }
                let ports = [flow.key.a.port, flow.key.b.port];
                let theirs = [
                    other.key.endpoint(mirrored(End::A, swapped)),
                    other.key.endpoint(mirrored(End::B, swapped)),
                ];
                // A translator changes addresses and at most one of the ports.
                if ports[0] != theirs[0].port && ports[1] != theirs[1].port {
                    return None;
                }
                let by_packets = if by == Identified::ByPackets { Enough::Most } else { Enough::One };
                // A device that gives each packet a new identification leaves the handshake's timestamps.
                let shifts = shifts(flow, other, swapped, by_packets)
                    .or_else(|| shifts(flow, other, swapped, Enough::Handshake).filter(|_| known))?;
                Some((shifts.votes, candidate, swapped, shifts.by_end))
            })
            .max_by_key(|(votes, ..)| *votes);
        let Some((_, candidate, swapped, shifts)) = best else { return false };
        self.taken[candidate] = true;
        self.same.push(Same { flows: [n, candidate], swapped, shifts, by });
        true
    }
}

fn ends(flow: &Tapped) -> [Endpoint; 2] {
    let (a, b) = (flow.key.a, flow.key.b);
    if a <= b { [a, b] } else { [b, a] }
}

/// Whether the two have the opposite directions of a connection, and nothing else of it.
pub(super) fn have_one_direction_each(first: &Tap, second: &Tap) -> bool {
    let speakers = |tap: &Tap| -> HashMap<[Endpoint; 2], [Option<Endpoint>; 2]> {
        let speaker =
            |flow: &Tapped, end: End| (!flow.ends[end.index()].is_empty()).then(|| flow.key.endpoint(end));
        tap.flows.iter().map(|flow| (ends(flow), End::BOTH.map(|end| speaker(flow, end)))).collect()
    };
    let others = speakers(second);
    speakers(first).iter().any(|(ends, speakers)| match (speakers, others.get(ends)) {
        ([Some(one), None] | [None, Some(one)], Some([Some(other), None] | [None, Some(other)])) => {
            one != other
        }
        _ => false,
    })
}

/// TSval of the first SYN: Linux starts each connection's clock at a random value (`secure_tcp_ts_off`).
fn syn_stamp(flow: &Tapped) -> Option<u32> {
    flow.ends[0].iter().take(16).find(|record| record.is_syn())?.tsval()
}

struct Shifts {
    by_end: [i64; 2],
    votes: u64,
}

/// What a packet is recognised by wherever offset 0 is. Not its length: super-packets differ in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Look {
    Stamped { end: u8, syn: bool, id: u16, tsval: u32 },
    Plain { end: u8, syn: bool, id: u16, len: i64, print: u16 },
}

impl Look {
    fn of(end: End, record: &Record, enough: Enough) -> Self {
        let id = if enough == Enough::Handshake { None } else { record.id() };
        let (end, syn, id) = (end.index() as u8, record.is_syn(), id.unwrap_or(0));
        match record.tsval() {
            Some(tsval) => Self::Stamped { end, syn, id, tsval },
            None => Self::Plain { end, syn, id, len: record.len(), print: record.print() },
        }
    }
}

/// How many packets have to look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enough {
    /// One does.
    One,
    /// Most of those that can.
    Most,
    /// The SYN and the SYN-ACK, whatever their identifications are.
    Handshake,
}

/// Lets packets that look the same vote on by how much a position of each end in `second` exceeds that in `first`.
/// Packets look the same by chance too, but then each votes for something else.
fn shifts(first: &Tapped, second: &Tapped, swapped: bool, enough: Enough) -> Option<Shifts> {
    const SAMPLE: usize = 2048;
    /// Of packets that look the same, only this many are used: in an idle connection all do.
    const ALIKE: usize = 4;
    let mut sample: HashMap<Look, Vec<&Record>> = HashMap::new();
    let mut sampled = 0u64;
    for end in End::BOTH {
        let records = &second.ends[end.index()];
        let step = (records.len() / SAMPLE).max(1);
        // The handshake, and a sample of the rest.
        for record in records.iter().take(4).chain(records.iter().skip(4).step_by(step)) {
            let alike = sample.entry(Look::of(mirrored(end, swapped), record, enough)).or_default();
            if alike.len() < ALIKE {
                alike.push(record);
                sampled += 1;
            }
        }
    }
    let mut votes: [HashMap<i64, u64>; 2] = Default::default();
    let mut by_syn: [Option<i64>; 2] = [None; 2];
    let mut looked_same = 0u64;
    let mut have_syn = [false; 2];
    'all: for end in End::BOTH {
        for record in &first.ends[end.index()] {
            for other in sample.get(&Look::of(end, record, enough)).into_iter().flatten() {
                let mut vote = |end: End, shift: i64| {
                    *votes[end.index()].entry(shift).or_default() += 1;
                    if record.is_syn() {
                        by_syn[end.index()] = Some(shift);
                    }
                };
                have_syn[end.index()] |= record.is_syn();
                vote(end, other.seq() - record.seq());
                if let (Some(theirs), Some(ours)) = (other.ack(), record.ack()) {
                    vote(!end, theirs - ours);
                }
                looked_same += 1;
                if looked_same > 200_000 {
                    break 'all;
                }
            }
        }
    }
    let winner = |end: End| {
        let votes = &votes[end.index()];
        // A connection has one SYN, so its vote is final. Among equals, the same offset 0 is the likeliest.
        let syns = by_syn[end.index()].map(|shift| (votes[&shift], true, shift));
        syns.or_else(|| votes.iter().map(|(shift, count)| (*count, *shift == 0, *shift)).max())
    };
    let [a, b] = End::BOTH.map(winner);
    // A connection with only a SYN shows nothing of B.
    let (a, b) = (a.or(b.map(|_| (0, true, 0)))?, b.unwrap_or((0, true, 0)));
    let count = a.0.max(b.0);
    let is_enough = match enough {
        Enough::One => count >= 1,
        Enough::Most => count >= 8 && count * 2 >= sampled.min(looked_same),
        Enough::Handshake => have_syn == [true; 2],
    };
    is_enough.then_some(Shifts { by_end: [a.2, b.2], votes: count })
}
