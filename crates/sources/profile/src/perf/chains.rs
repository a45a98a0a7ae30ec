//! Stacks of addresses as sampled; each distinct stack is stored once and counted.

use super::room::Room;
use super::spaces::Space;
use std::hash::{BuildHasher, RandomState};

/// Limit of distinct stacks.
const MOST_CHAINS: usize = 4 * 1024 * 1024;
/// Limit of addresses in all stacks: 256 MiB.
const MOST_ADDRESSES: usize = 32 * 1024 * 1024;

/// The key of a sample besides its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) space: Space,
    pub(crate) event: u16,
    pub(crate) thread_name: u32,
    /// Whether the sample has a stack, not only an address.
    pub(crate) has_stack: bool,
}

/// A distinct stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) key: Key,
    hash: u64,
    start: u32,
    length: u32,
    pub(crate) samples: u64,
    pub(crate) weight: u64,
}

/// All distinct stacks. A sample of a known stack allocates nothing.
pub(crate) struct Chains {
    all: Vec<Chain>,
    addresses: Vec<u64>,
    /// Open addressing: an index into `all` plus one, or 0.
    slots: Vec<u32>,
    /// Random in each run, so that no file can be crafted to have hash collisions.
    seed: u64,
    most_chains: usize,
    most_addresses: usize,
}

/// Multiplies to 128 bits and xors the two halves.
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Chains {
    pub(crate) fn of(room: Room) -> Self {
        Self {
            all: Vec::new(),
            addresses: Vec::new(),
            slots: vec![0; 1024],
            seed: RandomState::new().hash_one(0u64) | 1,
            most_chains: room.things().min(MOST_CHAINS),
            most_addresses: room.addresses().min(MOST_ADDRESSES),
        }
    }

    fn hash(&self, key: &Key, addresses: &[u64]) -> u64 {
        let tail = u64::from(key.thread_name) << 32 | u64::from(key.event) << 1 | u64::from(key.has_stack);
        let mut hash = folded(self.seed ^ tail, 0x9e37_79b9_7f4a_7c15 ^ u64::from(key.space.0));
        for address in addresses {
            hash = folded(hash ^ address, 0xa076_1d64_78bd_642f ^ self.seed.rotate_left(17));
        }
        folded(hash, self.seed)
    }

    /// Counts a sample; returns false if there was no room for its stack.
    pub(crate) fn add(&mut self, key: Key, addresses: &[u64], period: u64) -> bool {
        let hash = self.hash(&key, addresses);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while let Some(at) = self.slots[slot].checked_sub(1) {
            let chain = &self.all[at as usize];
            if chain.hash == hash && chain.key == key && self.addresses_of(chain) == addresses {
                let chain = &mut self.all[at as usize];
                chain.samples += 1;
                chain.weight = chain.weight.saturating_add(period);
                return true;
            }
            slot = (slot + 1) & mask;
        }
        if self.all.len() == self.most_chains || self.addresses.len() + addresses.len() > self.most_addresses
        {
            return false;
        }
        // Both bounds are far below 2^32.
        let (start, length) = (self.addresses.len() as u32, addresses.len() as u32);
        self.addresses.extend_from_slice(addresses);
        self.all.push(Chain { key, hash, start, length, samples: 1, weight: period });
        self.slots[slot] = self.all.len() as u32;
        if self.all.len() * 2 > self.slots.len() {
            self.grow();
        }
        true
    }

    fn grow(&mut self) {
        let length = self.slots.len() * 4;
        self.slots = vec![0; length];
        for (at, chain) in self.all.iter().enumerate() {
            let mut slot = chain.hash as usize & (length - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (length - 1);
            }
            self.slots[slot] = at as u32 + 1;
        }
    }

    /// All stacks, in the order in which they were first seen.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Chain, &[u64])> {
        self.all.iter().map(|chain| (chain, self.addresses_of(chain)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn addresses_of(&self, chain: &Chain) -> &[u64] {
        &self.addresses[chain.start as usize..][..chain.length as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_stacks_are_stored_once_and_counted() {
        let mut chains = Chains::of(Room::of(0));
        let key = |name| Key { space: Space(1), event: 0, thread_name: name, has_stack: true };
        for round in 0..3u64 {
            for n in 0..5000 {
                assert!(chains.add(key(n as u32 % 2), &[n, n / 7, n % 3], round + 1));
            }
        }
        assert_eq!(chains.iter().count(), 5000);
        for (n, (chain, addresses)) in chains.iter().enumerate() {
            let n = n as u64;
            assert_eq!((chain.samples, chain.weight, addresses), (3, 6, &[n, n / 7, n % 3][..]));
        }
        assert!(chains.add(key(0), &[0, 0], 1), "its beginning is another stack's");
        assert_eq!(chains.iter().count(), 5001);
    }
}
