//! Prefixes, and what the connections to each get. Pure.

use crate::record::{CONGESTION_NAME, Key, Value};
use slowpath_model::{Bytes, Rate};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Bits in front of an IPv4 address that is mapped into IPv6 (RFC 4291, section 2.5.5.2).
const MAPPED: u32 = 96;

/// The addresses that begin with the same bits. IPv4 ones are part of `::ffff:0:0/96`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    bits: u32,
    address: Ipv6Addr,
}

/// Why a text is no prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPrefix {
    /// It has another form.
    #[error("{0:?} is no prefix; write an address, or one with a length, such as 192.0.2.0/24")]
    Form(String),
    /// Bits are set behind its length.
    #[error("{given} has bits behind its length; write {meant}")]
    Bits {
        /// What was written.
        given: String,
        /// The prefix that it is in.
        meant: Prefix,
    },
}

impl Prefix {
    /// A prefix of this length, with the bits behind it cleared.
    fn new(address: Ipv6Addr, bits: u32) -> Self {
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        Self { bits, address: Ipv6Addr::from(u128::from(address) & mask) }
    }

    /// One address.
    pub fn of(address: IpAddr) -> Self {
        let mapped = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Self { bits: 128, address: mapped }
    }

    /// Whether another prefix is part of this one.
    fn has(&self, other: &Self) -> bool {
        self.bits <= other.bits && Self::new(other.address, self.bits) == *self
    }

    pub(crate) fn key(&self) -> Key {
        Key { bits: self.bits, address: self.address.octets() }
    }

    /// Whether it is an IPv4 one, and its address and length there.
    fn v4(&self) -> Option<(Ipv4Addr, u32)> {
        Some((self.address.to_ipv4_mapped()?, self.bits.checked_sub(MAPPED)?))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.v4() {
            Some((address, 32)) => address.fmt(f),
            Some((address, bits)) => write!(f, "{address}/{bits}"),
            None if self.bits == 128 => self.address.fmt(f),
            None => write!(f, "{}/{}", self.address, self.bits),
        }
    }
}

impl FromStr for Prefix {
    type Err = BadPrefix;

    fn from_str(text: &str) -> Result<Self, BadPrefix> {
        let bad = || BadPrefix::Form(text.to_owned());
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u32>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let one = Self::of(address);
        let (before, most) = if address.is_ipv4() { (MAPPED, 32) } else { (0, 128) };
        let length = length.unwrap_or(most);
        if length > most {
            return Err(bad());
        }
        let prefix = Self::new(one.address, before + length);
        if prefix.address != one.address {
            return Err(BadPrefix::Bits { given: text.to_owned(), meant: prefix });
        }
        Ok(prefix)
    }
}

/// What the connections to a prefix get; `None` leaves a setting alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The send buffer, as `tcp_wmem` counts it: twice what `SO_SNDBUF` is given.
    pub send: Option<Bytes>,
    /// The receive buffer, as `tcp_rmem` counts it.
    pub receive: Option<Bytes>,
    /// The largest window.
    pub clamp: Option<Bytes>,
    /// The highest rate.
    pub pacing: Option<Rate>,
    /// The congestion control.
    pub congestion: Option<String>,
}

impl Target {
    /// What is not set here, from another one.
    fn or(&self, other: &Self) -> Self {
        Self {
            send: self.send.or(other.send),
            receive: self.receive.or(other.receive),
            clamp: self.clamp.or(other.clamp),
            pacing: self.pacing.or(other.pacing),
            congestion: self.congestion.clone().or_else(|| other.congestion.clone()),
        }
    }

    pub(crate) fn value(&self) -> Value {
        let int = |bytes: Option<Bytes>| {
            bytes.map_or(0, |bytes| u32::try_from(bytes.get().min(i32::MAX as u64)).unwrap_or(0))
        };
        let pacing = self.pacing.map_or(0, |rate| rate.get() / 8);
        let mut congestion = [0; CONGESTION_NAME];
        // The last byte stays zero.
        let name = self.congestion.as_deref().unwrap_or_default().as_bytes();
        congestion[..CONGESTION_NAME - 1].iter_mut().zip(name).for_each(|(into, byte)| *into = *byte);
        Value {
            send_bytes: int(self.send),
            receive_bytes: int(self.receive),
            clamp_bytes: int(self.clamp),
            pacing_bytes_per_s: u32::try_from(pacing).unwrap_or(u32::MAX - 1),
            congestion,
        }
    }
}

/// What each prefix gets. The longest one that an address is in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(BTreeMap<Prefix, Target>);

impl Targets {
    /// What was asked for, and what a path store knows of single addresses. Where both say something, what was asked for counts.
    pub fn of(asked: &[(Prefix, Target)], known: &[(IpAddr, Target)]) -> Self {
        let mut targets: BTreeMap<Prefix, Target> = BTreeMap::new();
        let mut widest_first: Vec<_> = asked.iter().collect();
        widest_first.sort_by_key(|(prefix, _)| prefix.bits);
        let around = |targets: &BTreeMap<Prefix, Target>, prefix: &Prefix| {
            let around = targets.iter().filter(|(other, _)| other.has(prefix));
            around.max_by_key(|(other, _)| other.bits).map(|(_, target)| target.clone()).unwrap_or_default()
        };
        for (prefix, target) in widest_first {
            let whole = target.or(&around(&targets, prefix));
            targets.insert(*prefix, whole);
        }
        let asked = targets.clone();
        for (address, target) in known {
            let prefix = Prefix::of(address.to_canonical());
            targets.insert(prefix, around(&asked, &prefix).or(target));
        }
        Self(targets)
    }

    /// The number of prefixes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a prefix gets.
    pub fn get(&self, prefix: &Prefix) -> Option<&Target> {
        self.0.get(prefix)
    }

    /// All of them, in the order of the prefixes.
    pub fn iter(&self) -> impl Iterator<Item = (&Prefix, &Target)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect(text)
    }

    #[test]
    fn ipv4_prefixes_are_mapped_into_ipv6() {
        let key = prefix("192.0.2.0/24").key();
        assert_eq!(key.bits, 120);
        assert_eq!(key.address[10..], [0xff, 0xff, 192, 0, 2, 0]);
        assert_eq!(prefix("0.0.0.0/0").key().bits, 96);
        assert_eq!(prefix("::/0").key().bits, 0);
        assert_eq!(prefix("::/0").to_string(), "::/0");
        assert_eq!(prefix("192.0.2.1").to_string(), "192.0.2.1");
        let refused = "192.0.2.1/24".parse::<Prefix>().expect_err("bits").to_string();
        assert!(refused.ends_with("write 192.0.2.0/24"), "{refused}");
        for text in ["", "/8", "192.0.2.0/33", "2001:db8::/129", "192.0.2/24", "x/8"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_was_asked_for_counts_before_what_a_store_knows() {
        let asked = [
            (prefix("192.0.2.0/24"), Target { congestion: Some("bbr".to_owned()), ..Target::default() }),
            (prefix("192.0.2.7"), Target { send: Some(Bytes::new(1 << 20)), ..Target::default() }),
        ];
        let both = Target {
            send: Some(Bytes::new(8 << 20)),
            receive: Some(Bytes::new(9 << 20)),
            ..Target::default()
        };
        let known = [7, 8].map(|last| (IpAddr::from([192, 0, 2, last]), both.clone()));
        let targets = Targets::of(&asked, &known);
        assert_eq!(targets.len(), 3);
        let seven = targets.get(&prefix("192.0.2.7")).expect("it is there");
        assert_eq!(seven.congestion.as_deref(), Some("bbr"), "from the prefix around it");
        assert_eq!((seven.send, seven.receive), (Some(Bytes::new(1 << 20)), Some(Bytes::new(9 << 20))));
        let eight = targets.get(&prefix("192.0.2.8")).expect("it is there");
        assert_eq!((eight.send, eight.congestion.as_deref()), (Some(Bytes::new(8 << 20)), Some("bbr")));
    }

    #[test]
    fn values_fit_the_kernels_options() {
        let target = Target {
            send: Some(Bytes::new(1 << 40)),
            pacing: Some(Rate::mbit(8)),
            congestion: Some("a-name-that-is-too-long".to_owned()),
            ..Target::default()
        };
        let value = target.value();
        assert_eq!((value.send_bytes, value.receive_bytes), (i32::MAX as u32, 0));
        assert_eq!(value.pacing_bytes_per_s, 1_000_000);
        assert_eq!(value.congestion[CONGESTION_NAME - 1], 0);
    }

    proptest! {
        #[test]
        fn prefixes_are_read_back(address: u128, bits in 0_u32..=128) {
            let prefix = Prefix::new(Ipv6Addr::from(address), bits);
            prop_assert_eq!(prefix.to_string().parse::<Prefix>(), Ok(prefix));
        }

        #[test]
        fn ipv4_prefixes_are_read_back(address: u32, bits in 0_u32..=32) {
            let prefix = Prefix::new(Ipv4Addr::from(address).to_ipv6_mapped(), MAPPED + bits);
            prop_assert_eq!(prefix.to_string().parse::<Prefix>(), Ok(prefix));
        }
    }
}
