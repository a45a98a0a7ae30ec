//! What identifies a host, and its replacement: IP addresses, MAC addresses, ports.
//!
//! Reading list: RFC 6890 and IANA's special-purpose address registries; RFC 4291 (IPv4-mapped addresses, link-local,
//! multicast); IEEE 802 (the I/G and U/L bits of a MAC address); M. Luby, C. Rackoff, "How to construct pseudorandom
//! permutations from pseudorandom functions", SIAM J. Comput. 1988.
//!
//! - An IP address is mapped by Crypto-PAn: two addresses with their first n bits in common have just these in common
//!   afterwards. Private addresses are mapped like any other.
//! - A special block is mapped to itself, and its addresses within it: loopback, link-local, multicast. The unspecified
//!   address, 127.0.0.1, `::1` and the limited broadcast are kept. For that, a bit is not flipped where the bits before it
//!   are those of a special block: an address shows as many of its first bits as it shares with one of these, the first
//!   ones, and one more.
//! - The IPv4 address in an IPv4-mapped one is mapped like the IPv4 address.
//! - A MAC address becomes one of local administration. Multicast, broadcast and zeros stay that.
//! - Ports are kept, or those from 32768 up, which clients get from their kernel, are permuted, for each host in another
//!   way.

use crate::key::{CryptoPan, Key};
use slowpath_model::{Endpoint, FlowKey};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first port of the range from which Linux chooses a client's (`ip_local_port_range`).
pub const FIRST_CLIENT_PORT: u16 = 32768;

/// The most replacements that are remembered: 64 MB of them. Beyond that, they are computed anew.
const MOST_KEPT: usize = 1 << 20;

/// What to do with ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    /// Keep them.
    #[default]
    Keep,
    /// Permute those of clients.
    Map,
}

/// A block that is mapped to itself: its address, and the length of its prefix.
struct Block(u128, u32);

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u32) -> Block {
    Block((Ipv4Addr::new(a, b, c, d).to_bits() as u128) << 96, prefix)
}

const fn v6(first: u16, last: u16, prefix: u32) -> Block {
    Block(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, last).to_bits(), prefix)
}

/// Unspecified, loopback and its usual address, link-local, multicast, limited broadcast.
const SPECIAL_V4: [Block; 6] = [
    v4(0, 0, 0, 0, 32),
    v4(127, 0, 0, 0, 8),
    v4(127, 0, 0, 1, 32),
    v4(169, 254, 0, 0, 16),
    v4(224, 0, 0, 0, 4),
    v4(255, 255, 255, 255, 32),
];

/// Unspecified, loopback, IPv4-mapped, link-local, multicast.
const SPECIAL_V6: [Block; 5] = [
    v6(0, 0, 128),
    v6(0, 1, 128),
    Block(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0).to_bits(), 96),
    v6(0xfe80, 0, 10),
    v6(0xff00, 0, 8),
];

/// Whether the first `bits` bits of an address are those of a block, and the block has more.
fn lead_to_one(blocks: &[Block], prefix: u128, bits: u32) -> bool {
    let of_prefix = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    blocks.iter().any(|Block(block, length)| bits < *length && block & of_prefix == prefix)
}

/// Replacements that were used before.
#[derive(Clone)]
struct Known<K, V> {
    all: HashMap<K, V>,
    /// The latest ones, each at the place that its name gives: most packets are of few hosts.
    latest: Box<[Option<(K, V)>]>,
}

/// Places for the latest replacements: a power of two.
const LATEST_BITS: u32 = 10;

impl<K: Copy + Eq + Hash, V: Copy> Known<K, V> {
    fn new() -> Self {
        Self { all: HashMap::new(), latest: vec![None; 1 << LATEST_BITS].into() }
    }

    /// The replacement of `key`, which `number` is made of.
    #[inline]
    fn get_or(&mut self, key: K, number: u64, count: &mut u64, make: impl FnOnce() -> V) -> V {
        // Knuth's multiplicative hash.
        let place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LATEST_BITS);
        let latest = &mut self.latest[place as usize];
        if let Some((known, value)) = latest
            && *known == key
        {
            return *value;
        }
        if self.all.len() >= MOST_KEPT && !self.all.contains_key(&key) {
            self.all.clear();
        }
        let value = match self.all.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                *count += 1;
                *free.insert(make())
            }
        };
        *latest = Some((key, value));
        value
    }
}

fn number_of(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => (address.to_bits() >> 64 ^ address.to_bits()) as u64,
    }
}

/// How many different names were replaced; more than that if there were more than a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// IP addresses.
    pub addresses: u64,
    /// MAC addresses.
    pub macs: u64,
    /// Ports of hosts.
    pub ports: u64,
}

/// The replacements of names under a key.
#[derive(Clone)]
pub struct Names {
    pan: CryptoPan,
    ports: Ports,
    known_v4: Known<u32, u32>,
    known_v6: Known<u128, u128>,
    known_macs: Known<[u8; 6], [u8; 6]>,
    known_ports: Known<(IpAddr, u16), u16>,
    mapped: Mapped,
}

/// What a block is encrypted for, so that no two uses share one: in its last byte, which an address has not.
#[derive(Clone, Copy)]
enum Use {
    Mac = 1,
    Host,
    Round,
}

impl Names {
    /// The replacements under `key`.
    pub fn new(key: &Key, ports: Ports) -> Self {
        Self {
            pan: CryptoPan::new(key),
            ports,
            known_v4: Known::new(),
            known_v6: Known::new(),
            known_macs: Known::new(),
            known_ports: Known::new(),
            mapped: Mapped::default(),
        }
    }

    /// How many were replaced.
    pub const fn mapped(&self) -> Mapped {
        self.mapped
    }

    /// The replacement of an IPv4 address.
    pub fn v4(&mut self, address: u32) -> u32 {
        let Self { pan, known_v4, mapped, .. } = self;
        known_v4.get_or(address, address.into(), &mut mapped.addresses, || {
            let keeps = |prefix, bits| lead_to_one(&SPECIAL_V4, prefix, bits);
            (pan.map(u128::from(address) << 96, 32, keeps) >> 96) as u32
        })
    }

    /// The replacement of an IPv6 address.
    pub fn v6(&mut self, address: u128) -> u128 {
        if let Some(v4) = Ipv6Addr::from_bits(address).to_ipv4_mapped() {
            return Ipv4Addr::from_bits(self.v4(v4.to_bits())).to_ipv6_mapped().to_bits();
        }
        let Self { pan, known_v6, mapped, .. } = self;
        known_v6.get_or(address, (address >> 64 ^ address) as u64, &mut mapped.addresses, || {
            pan.map(address, 128, |prefix, bits| lead_to_one(&SPECIAL_V6, prefix, bits))
        })
    }

    /// The replacement of an address.
    pub fn address(&mut self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => Ipv4Addr::from_bits(self.v4(address.to_bits())).into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(self.v6(address.to_bits())).into(),
        }
    }

    /// The replacement of a MAC address.
    pub fn mac(&mut self, mac: [u8; 6]) -> [u8; 6] {
        if mac == [0; 6] || mac == [0xff; 6] {
            return mac;
        }
        let Self { pan, known_macs, mapped, .. } = self;
        let number = u64::from_be_bytes([0, 0, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]]);
        known_macs.get_or(mac, number, &mut mapped.macs, || {
            let mut block = [0; 16];
            block[..6].copy_from_slice(&mac);
            let mapped = pan.encrypted(with_use(u128::from_be_bytes(block), Use::Mac)).to_be_bytes();
            let mut mapped = [mapped[0], mapped[1], mapped[2], mapped[3], mapped[4], mapped[5]];
            // Group or individual as before; locally administered.
            mapped[0] = mapped[0] & !3 | mac[0] & 1 | 2;
            mapped
        })
    }

    /// The replacement of a port of the host with this address, which is the original one.
    pub fn port(&mut self, host: IpAddr, port: u16) -> u16 {
        if self.ports == Ports::Keep || port < FIRST_CLIENT_PORT {
            return port;
        }
        let Self { pan, known_ports, mapped, .. } = self;
        let number = number_of(host) ^ u64::from(port) << 32;
        known_ports.get_or((host, port), number, &mut mapped.ports, || {
            let host = match host {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            let host = pan.encrypted(host.to_bits().rotate_left(8) ^ with_use(0, Use::Host));
            // A permutation of all ports, taken until it leads back to a client's, is one of clients' ports.
            let mut mapped = permuted(pan, host, port);
            while mapped < FIRST_CLIENT_PORT {
                mapped = permuted(pan, host, mapped);
            }
            mapped
        })
    }

    /// The replacement of an address and a port of it.
    pub fn endpoint(&mut self, endpoint: Endpoint) -> Endpoint {
        let Endpoint { address, port } = endpoint;
        Endpoint { address: self.address(address), port: self.port(address, port) }
    }

    /// The replacements of a flow's ends.
    pub fn key(&mut self, key: &FlowKey) -> FlowKey {
        FlowKey { a: self.endpoint(key.a), b: self.endpoint(key.b), ..*key }
    }
}

fn with_use(block: u128, of: Use) -> u128 {
    block & !0xff | of as u128
}

/// A port in a permutation that `host` selects: a Feistel network of four rounds with halves of 8 bits.
fn permuted(pan: &CryptoPan, host: u128, port: u16) -> u16 {
    let [mut left, mut right] = port.to_be_bytes();
    for round in 0..4_u8 {
        let block = host ^ u128::from(round) << 16 ^ u128::from(right) << 8;
        (left, right) = (right, left ^ (pan.encrypted(with_use(block, Use::Round)) >> 120) as u8);
    }
    u16::from_be_bytes([left, right])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn names(ports: Ports) -> Names {
        Names::new(&Key::from(std::array::from_fn(|n| n as u8 * 7)), ports)
    }

    fn mapped(address: &str) -> IpAddr {
        names(Ports::Keep).address(address.parse().expect("an address"))
    }

    #[test]
    fn special_addresses_stay_in_their_class() {
        for kept in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1"] {
            assert_eq!(mapped(kept).to_string(), kept);
        }
        assert!(matches!(mapped("127.0.0.53"), IpAddr::V4(v4) if v4.is_loopback()));
        assert!(matches!(mapped("169.254.7.9"), IpAddr::V4(v4) if v4.is_link_local()));
        assert!(mapped("224.0.0.251").is_multicast() && mapped("ff02::1:ff00:1234").is_multicast());
        assert!(matches!(mapped("fe80::1"), IpAddr::V6(v6) if v6.is_unicast_link_local()));
        let IpAddr::V6(of_v4) = mapped("::ffff:192.0.2.7") else { panic!("IPv6") };
        assert_eq!(of_v4.to_ipv4_mapped().map(IpAddr::V4), Some(mapped("192.0.2.7")));
    }

    #[test]
    fn mac_addresses_become_locally_administered_ones() {
        let mut names = names(Ports::Keep);
        assert_eq!([names.mac([0; 6]), names.mac([0xff; 6])], [[0; 6], [0xff; 6]]);
        let (one, group) = (names.mac([0x52, 0x54, 0, 1, 2, 3]), names.mac([0x01, 0, 0x5e, 1, 2, 3]));
        assert_eq!((one[0] & 3, group[0] & 3), (2, 3));
        assert_ne!(one, [0x52, 0x54, 0, 1, 2, 3]);
        assert_eq!(names.mac([0x52, 0x54, 0, 1, 2, 3]), one);
        assert_eq!(names.mapped().macs, 2);
    }

    #[test]
    fn ports_of_clients_are_permuted_for_each_host() {
        let hosts: [IpAddr; 2] = ["192.0.2.1", "2001:db8::1"].map(|host| host.parse().expect("an address"));
        let mut names = names(Ports::Map);
        let of =
            |names: &mut Names, host| (0..=u16::MAX).map(|port| names.port(host, port)).collect::<Vec<_>>();
        let (one, other) = (of(&mut names, hosts[0]), of(&mut names, hosts[1]));
        assert_eq!(one.iter().collect::<HashSet<_>>().len(), 1 << 16, "no two ports become one");
        let (low, high) = one.split_at(FIRST_CLIENT_PORT.into());
        assert!(low.iter().zip(0..).all(|(mapped, port)| *mapped == port), "ports of servers stay");
        assert!(high.iter().all(|mapped| *mapped >= FIRST_CLIENT_PORT));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!(same < low.len() + 100, "another host, another permutation: {same}");
    }

    proptest! {
        #[test]
        fn common_prefixes_stay_common(one: u128, flipped in 0u32..128, key: [u8; 32], special in prop::option::of(0usize..5)) {
            let one = special.map_or(one, |block| SPECIAL_V6[block].0 | one & 0xffff);
            let other = one ^ (1 << (127 - flipped));
            let mut names = Names::new(&key.into(), Ports::Keep);
            let [a, b] = [one, other].map(|address| names.v6(address));
            let is_v4 = |address: u128| address >> 32 == 0xffff;
            // An IPv4-mapped address is mapped as IPv4, below its block.
            if !is_v4(one) && !is_v4(other) {
                prop_assert_eq!((a ^ b).leading_zeros(), flipped);
            }
            let [one, other] = [one, other].map(|address| (address >> 32) as u32);
            let common = (one ^ other).leading_zeros();
            prop_assert_eq!((names.v4(one) ^ names.v4(other)).leading_zeros(), common);
        }
    }
}
