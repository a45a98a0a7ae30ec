//! The table of live flows.
//!
//! Open addressing with linear probing over eight-byte buckets, flows in a separate slab, and a seeded multiply-fold
//! hash, so that nobody can craft a capture whose flows all collide. When the table is full, the clock algorithm picks
//! the flow to evict: one that was silent since the hand last passed it.

use crate::addresses::Addresses;
use crate::connection::Connection;
use slowpath_model::{End, Endpoint, FlowId, FlowKey};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The two ends of a flow in canonical order: the same whichever of them sent.
///
/// IPv4: the two addresses with their ports, in one word each. IPv6: two words per address, then the ports. The last
/// word has the IP version above the ports; in an empty slot it is 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair([u64; 5]);

impl PartialEq for Pair {
    /// As one comparison; the derived one is a call.
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let ([a, b, c, d, e], [p, q, r, s, t]) = (self.0, other.0);
        (a ^ p) | (b ^ q) | (c ^ r) | (d ^ s) | (e ^ t) == 0
    }
}

impl Eq for Pair {}

const V4: u64 = 4 << 32;
const V6: u64 = 6 << 32;

impl Pair {
    const EMPTY: Self = Self([0; 5]);

    /// The pair, and whether its second end is the sender.
    #[inline(always)]
    pub(crate) fn of(addresses: Addresses, source_port: u16, destination_port: u16) -> (Self, bool) {
        match addresses {
            Addresses::V4 { source, destination } => {
                let source = u64::from(source) << 16 | u64::from(source_port);
                let destination = u64::from(destination) << 16 | u64::from(destination_port);
                let second = source > destination;
                let (first, last) = if second { (destination, source) } else { (source, destination) };
                (Self([first, last, 0, 0, V4]), second)
            }
            Addresses::V6 { source, destination } => {
                let source = (source, source_port);
                let destination = (destination, destination_port);
                let second = source > destination;
                let (first, last) = if second { (destination, source) } else { (source, destination) };
                let ports = u64::from(first.1) << 16 | u64::from(last.1);
                let words = [(first.0 >> 64) as u64, first.0 as u64, (last.0 >> 64) as u64, last.0 as u64];
                (Self([words[0], words[1], words[2], words[3], V6 | ports]), second)
            }
        }
    }

    fn endpoints(&self) -> [Endpoint; 2] {
        let words = self.0;
        if words[4] & V6 == V6 {
            let address = |i: usize| {
                let bits = u128::from(words[i]) << 64 | u128::from(words[i + 1]);
                IpAddr::V6(Ipv6Addr::from_bits(bits))
            };
            return [
                Endpoint { address: address(0), port: (words[4] >> 16) as u16 },
                Endpoint { address: address(2), port: words[4] as u16 },
            ];
        }
        [words[0], words[1]].map(|word| Endpoint {
            address: IpAddr::V4(Ipv4Addr::from_bits((word >> 16) as u32)),
            port: word as u16,
        })
    }

    /// The flow's key if its `a` is the first or the second of the pair.
    pub(crate) fn key(&self, a_is_second: bool, occurrence: u32) -> FlowKey {
        let [first, second] = self.endpoints();
        let (a, b) = if a_is_second { (second, first) } else { (first, second) };
        FlowKey { a, b, occurrence }
    }
}

/// A live flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveFlow {
    pub(crate) connection: Connection,
    pub(crate) id: FlowId,
    pub(crate) occurrence: u32,
    pub(crate) a_is_second: bool,
    /// Whether it sent, after its first segment, since the hand last passed. A flow of one segment is never marked: a
    /// flood of them evicts its own flows, not the others.
    touched: bool,
}

impl LiveFlow {
    pub(crate) fn new(id: FlowId, occurrence: u32, a_is_second: bool) -> Self {
        Self { connection: Connection::NEW, id, occurrence, a_is_second, touched: false }
    }

    /// The sending end, given whether the pair's second end sent.
    #[inline]
    pub(crate) fn sender(&self, second: bool) -> End {
        if second == self.a_is_second { End::A } else { End::B }
    }
}

/// Two cache lines, prefetched as a pair.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Slot {
    pair: Pair,
    flow: LiveFlow,
}

/// A bucket of the index: the low half of the hash, and the slot's number plus one (0: free).
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    tag: u32,
    slot: u32,
}

/// The live flows.
#[derive(Debug)]
pub(crate) struct Flows {
    buckets: Vec<Bucket>,
    slots: Vec<Slot>,
    /// Empty slots.
    free: Vec<u32>,
    /// The last slot found: packets come in trains.
    last: usize,
    hand: usize,
    most: usize,
    seeds: [u64; 3],
}

/// The initial number of buckets; it doubles.
const BUCKETS: usize = 1024;

impl Flows {
    /// A table that keeps at most `most` flows.
    pub(crate) fn new(most: usize) -> Self {
        let state = RandomState::new();
        Self {
            buckets: vec![Bucket::default(); BUCKETS],
            slots: Vec::new(),
            free: Vec::new(),
            last: 0,
            hand: 0,
            // A slot's number fits its bucket.
            most: most.clamp(1, 1 << 28),
            seeds: [0, 1, 2].map(|i: u64| state.hash_one(i)),
        }
    }

    /// The live flow between the ends of `pair`.
    #[inline(always)]
    pub(crate) fn find(&mut self, pair: &Pair) -> Option<&mut LiveFlow> {
        let flow = self.at(pair)?;
        flow.touched = true;
        Some(flow)
    }

    /// The flow of `pair`, without marking it as touched.
    #[cold]
    pub(crate) fn peek(&mut self, pair: &Pair) -> Option<&mut LiveFlow> {
        self.at(pair)
    }

    #[inline(always)]
    fn at(&mut self, pair: &Pair) -> Option<&mut LiveFlow> {
        self.last = match self.slots.get(self.last) {
            Some(slot) if slot.pair == *pair => self.last,
            _ => self.look_up(pair)?,
        };
        Some(&mut self.slots[self.last].flow)
    }

    #[inline(always)]
    fn look_up(&self, pair: &Pair) -> Option<usize> {
        let tag = self.tag(pair);
        let mask = self.buckets.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let bucket = self.buckets[at];
            if bucket.slot == 0 {
                return None;
            }
            let slot = bucket.slot as usize - 1;
            if bucket.tag == tag && self.slots[slot].pair == *pair {
                return Some(slot);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a flow between ends that have none. Returns the evicted flow.
    #[cold]
    pub(crate) fn insert(&mut self, pair: Pair, flow: LiveFlow) -> Option<FlowId> {
        let evicted = if self.len() >= self.most { self.evict() } else { None };
        if (self.len() + 1) * 2 > self.buckets.len() {
            self.grow();
        }
        let slot = Slot { pair, flow };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        let tag = self.tag(&pair);
        self.enter(Bucket { tag, slot: number + 1 });
        self.last = number as usize;
        evicted
    }

    /// The number of live flows.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The live flows, in order of appearance.
    pub(crate) fn into_ids(self) -> Vec<FlowId> {
        let live = self.slots.iter().filter(|slot| slot.pair != Pair::EMPTY);
        let mut ids: Vec<_> = live.map(|slot| slot.flow.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Multiply and fold, as in wyhash and foldhash.
    #[inline(always)]
    fn tag(&self, pair: &Pair) -> u32 {
        let [a, b, c, d, e] = pair.0;
        let fold = |x: u64, y: u64| {
            let product = u128::from(x) * u128::from(y);
            product as u64 ^ (product >> 64) as u64
        };
        let mut hash = fold(a ^ self.seeds[0], b ^ self.seeds[1]);
        if e & V6 == V6 {
            hash ^= fold(c ^ self.seeds[1] ^ e, d ^ self.seeds[2]);
        }
        fold(hash ^ self.seeds[2], self.seeds[0] | 1) as u32
    }

    fn enter(&mut self, bucket: Bucket) {
        let mask = self.buckets.len() - 1;
        let mut at = bucket.tag as usize & mask;
        while self.buckets[at].slot != 0 {
            at = (at + 1) & mask;
        }
        self.buckets[at] = bucket;
    }

    fn grow(&mut self) {
        let double = vec![Bucket::default(); self.buckets.len() * 2];
        for bucket in std::mem::replace(&mut self.buckets, double) {
            if bucket.slot != 0 {
                self.enter(bucket);
            }
        }
    }

    /// Evicts a flow that was silent while the hand went round.
    fn evict(&mut self) -> Option<FlowId> {
        // Two rounds: the first one clears every mark.
        for _ in 0..self.slots.len() * 2 {
            self.hand = if self.hand + 1 < self.slots.len() { self.hand + 1 } else { 0 };
            let slot = &mut self.slots[self.hand];
            if slot.pair == Pair::EMPTY || std::mem::take(&mut slot.flow.touched) {
                continue;
            }
            let (id, pair) = (slot.flow.id, slot.pair);
            self.leave(&pair, self.hand as u32 + 1);
            self.slots[self.hand].pair = Pair::EMPTY;
            self.free.push(self.hand as u32);
            return Some(id);
        }
        None
    }

    /// Removes a slot from the index and closes the gap, so that no search ends early.
    fn leave(&mut self, pair: &Pair, slot: u32) {
        let mask = self.buckets.len() - 1;
        let mut gap = self.tag(pair) as usize & mask;
        while self.buckets[gap].slot != slot {
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let bucket = self.buckets[at];
            if bucket.slot == 0 {
                break;
            }
            let home = bucket.tag as usize & mask;
            // It may move into the gap unless its home is after the gap.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.buckets[gap] = bucket;
                gap = at;
            }
        }
        self.buckets[gap] = Bucket::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn pair(source: u32, port: u16) -> Pair {
        Pair::of(Addresses::V4 { source, destination: 9 }, port, 80).0
    }

    #[test]
    fn slot_is_two_cache_lines() {
        assert_eq!(size_of::<Slot>(), 128);
    }

    #[test]
    fn both_directions_have_the_same_pair() {
        let v4 = Addresses::V4 { source: 0x0a00_0001, destination: 0x0a00_0002 };
        let back = Addresses::V4 { source: 0x0a00_0002, destination: 0x0a00_0001 };
        let (one, second) = Pair::of(v4, 1000, 80);
        assert!(!second);
        assert_eq!(Pair::of(back, 80, 1000), (one, true));
        assert_eq!(one.key(false, 0).to_string(), "10.0.0.1:1000 > 10.0.0.2:80");
        assert_eq!(one.key(true, 1).to_string(), "10.0.0.2:80 > 10.0.0.1:1000 (2nd)");
        let v6 = Addresses::V6 { source: 1, destination: 2 << 64 };
        assert_eq!(Pair::of(v6, 1000, 80).0.key(false, 0).to_string(), "[::1]:1000 > [0:0:0:2::]:80");
        let alone = Addresses::V4 { source: 7, destination: 7 };
        assert_eq!(
            Pair::of(alone, 5, 5),
            (Pair::of(alone, 5, 5).0, false),
            "an endpoint connected to itself"
        );
    }

    #[test]
    fn flow_silent_for_longest_is_evicted() {
        let mut flows = Flows::new(4);
        for n in 1..=4 {
            assert_eq!(flows.insert(pair(n, 1), LiveFlow::new(FlowId(n), 0, false)), None);
        }
        assert!(flows.insert(pair(5, 1), LiveFlow::new(FlowId(5), 0, false)).is_some());
        let live =
            |flows: &mut Flows| (1..=9).filter(|n| flows.look_up(&pair(*n, 1)).is_some()).collect::<Vec<_>>();
        let before = live(&mut flows);
        assert_eq!(before.len(), 4);
        let active = before[0];
        for n in 6..=9 {
            flows.find(&pair(active, 1)).expect("an active flow stays");
            assert!(flows.insert(pair(n, 1), LiveFlow::new(FlowId(n), 0, false)).is_some());
        }
        assert_eq!(flows.len(), 4);
    }

    proptest! {
        /// The table compared with a map, with insertions, lookups and evictions in any order.
        #[test]
        fn flow_table_agrees_with_a_map(
            most in 1usize..40, steps in prop::collection::vec((any::<bool>(), 0u32..80), 1..400),
        ) {
            let mut flows = Flows::new(most);
            let mut map: HashMap<u32, FlowId> = HashMap::new();
            let mut next = 0;
            for (v6, n) in steps {
                let key = n * 2 + u32::from(v6);
                let pair = if v6 {
                    Pair::of(Addresses::V6 { source: n.into(), destination: 3 }, 1, 2).0
                } else {
                    pair(n, 1)
                };
                let found = flows.find(&pair).map(|flow| flow.id);
                prop_assert_eq!(found, map.get(&key).copied());
                if found.is_none() {
                    next += 1;
                    let evicted = flows.insert(pair, LiveFlow::new(FlowId(next), 0, false));
                    map.retain(|_, id| Some(*id) != evicted);
                    map.insert(key, FlowId(next));
                }
                prop_assert_eq!(flows.len(), map.len());
                prop_assert!(flows.len() <= most);
            }
            let mut left: Vec<_> = map.into_values().collect();
            left.sort_unstable();
            prop_assert_eq!(flows.into_ids(), left);
        }
    }
}
