//! TCP segments in IP fragments: a segment has arrived once all its fragments have.
//!
//! Reading list: RFC 791 (section 3.2), RFC 8200 (section 4.5), RFC 815 (reassembly).
//!
//! Only the first fragment has the ports, so a filter such as `tcp port 80` drops the others. A first fragment
//! therefore counts as its segment until the capture has shown another fragment in the same direction between the same
//! hosts. From then on it is held until its datagram is whole.

use crate::addresses::Addresses;
use crate::layer::{First, Fragment};
use crate::oddity::Oddities;
use crate::packet::Packet;
use slowpath_model::{Instant, IpFacts};
use slowpath_wire::tcp;
use std::collections::{HashSet, VecDeque};

/// The maximum number of unfinished datagrams; the oldest gives way. The fragments of a datagram are only a few packets
/// apart, so that only datagrams with missing fragments stay.
const MOST_HELD: usize = 256;

/// The maximum number of fragments of a datagram: 64 KiB with an MTU of 576 bytes (RFC 791, section 3.1).
const MOST_PIECES: usize = 120;

/// The maximum number of directions between hosts whose fragments are known to be captured. Beyond it, first fragments
/// count as segments.
const MOST_DIRECTIONS: usize = 4096;

/// A host waits this long for the rest of a datagram, in nanoseconds (Linux `IP_FRAG_TIME`, include/net/ip.h).
const WAIT_NS: i64 = 30_000_000_000;

/// The maximum length of a TCP header, in bytes (RFC 9293, section 3.1).
const TCP_HEADER: usize = 60;

/// The unfinished datagrams.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    /// Directions between hosts, by protocol, of which fragments other than the first were captured.
    recorded: HashSet<(Addresses, u8)>,
    /// From the oldest to the newest.
    held: VecDeque<Held>,
}

/// An unfinished datagram.
#[derive(Debug)]
struct Held {
    since: Instant,
    /// One of its fragments, which identifies it.
    fragment: Fragment,
    first: Option<Beginning>,
    /// Start and length of the captured fragments.
    pieces: Vec<(u32, u32)>,
    /// The datagram's length, from its last fragment.
    total: Option<u32>,
}

/// A segment whose first fragment was captured.
#[derive(Debug)]
pub(crate) struct Beginning {
    addresses: Addresses,
    ip: IpFacts,
    oddities: Oddities,
    header: [u8; TCP_HEADER],
    captured: usize,
    /// The segment's length, as far as it is known.
    length: u32,
    /// How many bytes of the datagram the first fragment has, if the rest of them are the segment's.
    grows_beyond: Option<u32>,
    /// The first fragment's frame.
    pub(crate) frame: u64,
    /// The offset of its record.
    pub(crate) offset: u64,
}

impl Beginning {
    /// Of a frame with its number and the offset of its record.
    pub(crate) fn new(packet: &Packet<'_>, first: &First<'_>, frame: u64, offset: u64) -> Self {
        let captured = first.tcp.len().min(TCP_HEADER);
        let mut header = [0; TCP_HEADER];
        header[..captured].copy_from_slice(&first.tcp[..captured]);
        Self {
            addresses: packet.addresses,
            ip: packet.ip,
            oddities: packet.oddities,
            header,
            captured,
            length: first.length,
            grows_beyond: first.is_open_ended.then_some(first.fragment.length),
            frame,
            offset,
        }
    }

    /// The segment.
    pub(crate) fn packet(&self) -> Option<Packet<'_>> {
        let tcp = tcp::Header::parse(&self.header[..self.captured], self.length).ok()?;
        Some(Packet { addresses: self.addresses, ip: self.ip, tcp, oddities: self.oddities })
    }
}

impl Held {
    /// Whether `fragment` belongs to this datagram, and is not a copy of one that was captured.
    fn lacks(&self, fragment: &Fragment) -> bool {
        self.fragment.is_of_datagram(fragment)
            && self.pieces.iter().all(|(start, _)| *start != fragment.start)
    }

    fn add(&mut self, fragment: &Fragment) {
        if self.pieces.len() < MOST_PIECES {
            self.pieces.push((fragment.start, fragment.length));
        }
        if fragment.is_last {
            self.total = Some(fragment.start.saturating_add(fragment.length));
        }
    }

    /// The segment, if no part of the datagram is missing.
    fn finish(&mut self) -> Option<Beginning> {
        let total = self.total?;
        self.pieces.sort_unstable();
        let mut reached = 0;
        for (start, length) in &self.pieces {
            if *start > reached {
                return None;
            }
            reached = reached.max(start.saturating_add(*length));
        }
        let mut first = self.first.take_if(|_| reached >= total)?;
        if let Some(in_first) = first.grows_beyond {
            first.length = first.length.saturating_add(total.saturating_sub(in_first));
        }
        Some(first)
    }
}

impl Fragments {
    /// Whether the capture has fragments other than the first in this direction between hosts.
    pub(crate) fn are_recorded(&self, like: &Fragment) -> bool {
        self.recorded.contains(&(like.addresses, like.protocol))
    }

    /// Takes a fragment, the first one with its segment's beginning. Returns the segment if its datagram is now whole.
    pub(crate) fn take(
        &mut self,
        at: Instant,
        fragment: &Fragment,
        first: Option<Beginning>,
    ) -> Option<Beginning> {
        if first.is_none() && self.recorded.len() < MOST_DIRECTIONS {
            self.recorded.insert((fragment.addresses, fragment.protocol));
        }
        // Identifications are reused, and frames are captured more than once: the newest datagram without it, and one
        // whose first fragment is there before one with copies of others.
        let lacks = |needs_first: bool| {
            let mut held = self.held.iter();
            held.rposition(|held| held.lacks(fragment) && (held.first.is_some() || !needs_first))
        };
        let number = match lacks(true).or_else(|| lacks(false)) {
            Some(number) => number,
            None => {
                let (fragment, pieces) = (*fragment, Vec::new());
                self.held.push_back(Held { since: at, fragment, first: None, pieces, total: None });
                self.held.len() - 1
            }
        };
        let held = &mut self.held[number];
        held.add(fragment);
        held.first = first.or(held.first.take());
        let whole = held.finish()?;
        self.held.remove(number);
        Some(whole)
    }

    /// Gives up the oldest datagram if its time is over, or if there are too many; with its segment's beginning, if
    /// that was captured.
    pub(crate) fn give_up(&mut self, at: Instant) -> Option<Option<Beginning>> {
        let is_late = |held: &mut Held| at.nanos_since(held.since) > WAIT_NS;
        let is_due = self.held.len() > MOST_HELD || self.held.front_mut().is_some_and(is_late);
        let given_up = if is_due { self.held.pop_front() } else { None };
        given_up.map(|held| held.first)
    }

    /// The beginnings of segments that never arrived whole.
    pub(crate) fn into_unfinished(self) -> impl Iterator<Item = Beginning> {
        self.held.into_iter().filter_map(|held| held.first)
    }
}
