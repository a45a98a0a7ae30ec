//! What a NIC reports: the unprivileged queries of ethtool(8), by `SIOCETHTOOL`.

use crate::host::{Interface, Offload, Ring};
use slowpath_uapi::netlink::{number, text};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// Commands of include/uapi/linux/ethtool.h.
const GET_SETTINGS: u32 = 0x01;
const GET_RINGS: u32 = 0x10;
const GET_STRINGS: u32 = 0x1b;
const GET_SET_INFO: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const GET_CHANNELS: u32 = 0x3c;
/// The set of feature names (`ETH_SS_FEATURES`), and bytes per name (`ETH_GSTRING_LEN`).
const FEATURES: u32 = 4;
const NAME_BYTES: usize = 32;
/// The maximum number of features, more than any kernel has.
const MOST_FEATURES: u32 = 1024;

/// A socket for queries, in the network namespace of the thread that opened it.
pub struct Ethtool(OwnedFd);

impl Ethtool {
    pub fn open() -> io::Result<Self> {
        // SAFETY: no pointers are passed; the result is checked before it is owned.
        let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    /// Fills in what the driver reports; returns what it did not, with the reason.
    pub fn describe(&self, interface: &mut Interface) -> Vec<(&'static str, io::Error)> {
        let name = interface.name.clone();
        let mut unseen = Vec::new();
        let mut note = |what, result: io::Result<()>| {
            // A feature that a device does not have is not unseen.
            let is_none = |error: &io::Error| error.raw_os_error() == Some(libc::EOPNOTSUPP);
            unseen.extend(result.err().filter(|error| !is_none(error)).map(|error| (what, error)));
        };
        note(
            "link rate",
            self.settings(&name).map(|(speed, full)| {
                (interface.speed, interface.full_duplex) = (speed, full);
            }),
        );
        note("offloads", self.features(&name).map(|features| interface.offloads = features));
        note(
            "rings",
            self.rings(&name).map(|(receive, transmit)| {
                (interface.receive_ring, interface.transmit_ring) = (receive, transmit);
            }),
        );
        note("queues", self.queues(&name).map(|queues| interface.receive_queues = Some(queues)));
        unseen
    }

    /// Sends a query; the answer replaces the message.
    fn ask(&self, interface: &str, message: &mut [u8]) -> io::Result<()> {
        // SAFETY: all zeros are a valid `ifreq`: numbers, arrays and a pointer that may be null.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let room = request.ifr_name.len() - 1;
        for (place, byte) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
            *place = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_data = message.as_mut_ptr().cast();
        // SAFETY: the request is live and refers to memory that is live; each command's answer has the size that its
        // callers give the message (the kernel writes no more than the counts that are in it).
        let asked = unsafe { libc::ioctl(self.0.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if asked < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// `struct ethtool_cmd`: rate in bit/s, and whether full duplex.
    fn settings(&self, interface: &str) -> io::Result<(Option<u64>, Option<bool>)> {
        let mut message = [0; 44];
        message[..4].copy_from_slice(&GET_SETTINGS.to_ne_bytes());
        self.ask(interface, &mut message)?;
        Ok(settings(&message))
    }

    /// `struct ethtool_ringparam`.
    fn rings(&self, interface: &str) -> io::Result<(Option<Ring>, Option<Ring>)> {
        let mut message = [0; 36];
        message[..4].copy_from_slice(&GET_RINGS.to_ne_bytes());
        self.ask(interface, &mut message)?;
        let ring = |most: usize, slots: usize| {
            let ring = Ring { slots: number(&message, slots), most: number(&message, most) };
            (ring.most > 0).then_some(ring)
        };
        Ok((ring(4, 20), ring(16, 32)))
    }

    /// `struct ethtool_channels`: receive queues.
    fn queues(&self, interface: &str) -> io::Result<u32> {
        let mut message = [0; 36];
        message[..4].copy_from_slice(&GET_CHANNELS.to_ne_bytes());
        self.ask(interface, &mut message)?;
        Ok(number(&message, 20).saturating_add(number(&message, 32)))
    }

    fn features(&self, interface: &str) -> io::Result<BTreeMap<String, Offload>> {
        let names = self.names(interface)?;
        let blocks = names.len().div_ceil(32);
        // `struct ethtool_gfeatures`: command, blocks, and four words for each.
        let mut message = vec![0; 8 + blocks * 16];
        message[..4].copy_from_slice(&GET_FEATURES.to_ne_bytes());
        message[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
        self.ask(interface, &mut message)?;
        Ok(features(&names, &message))
    }

    /// The names of features, by number.
    fn names(&self, interface: &str) -> io::Result<Vec<String>> {
        // `struct ethtool_sset_info`: command, reserved, mask, and a count for each requested set.
        let mut message = [0; 20];
        message[..4].copy_from_slice(&GET_SET_INFO.to_ne_bytes());
        message[8..16].copy_from_slice(&(1_u64 << FEATURES).to_ne_bytes());
        self.ask(interface, &mut message)?;
        let count = number(&message, 16).min(MOST_FEATURES);
        // `struct ethtool_gstrings`: command, set, count, and the names. With room for the maximum.
        let mut message = vec![0; 12 + MOST_FEATURES as usize * NAME_BYTES];
        message[..4].copy_from_slice(&GET_STRINGS.to_ne_bytes());
        message[4..8].copy_from_slice(&FEATURES.to_ne_bytes());
        message[8..12].copy_from_slice(&count.to_ne_bytes());
        self.ask(interface, &mut message)?;
        Ok(message[12..].chunks_exact(NAME_BYTES).take(count as usize).map(text).collect())
    }
}

/// Rate and duplex; a rate of all ones is unknown, and zero means no link.
fn settings(message: &[u8]) -> (Option<u64>, Option<bool>) {
    let half = |at: usize| u64::from(number(message, at) & 0xffff);
    let mbit = half(12) | half(28) << 16;
    // Some drivers only fill the lower half.
    let speed = Some(mbit).filter(|mbit| !matches!(mbit, 0 | 0xffff | 0xffff_ffff));
    let full = match message.get(14) {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    };
    (speed.map(|mbit| mbit * 1_000_000), full)
}

/// `struct ethtool_get_features_block`: available, requested, active, never changed.
fn features(names: &[String], message: &[u8]) -> BTreeMap<String, Offload> {
    let is_set = |feature: usize, word: usize| {
        number(message, 8 + feature / 32 * 16 + word * 4) & 1 << (feature % 32) != 0
    };
    let one = |(number, name): (usize, &String)| {
        let offload = Offload { on: is_set(number, 2), can_change: is_set(number, 0) && !is_set(number, 3) };
        (name.clone(), offload)
    };
    names.iter().enumerate().filter(|(_, name)| !name.is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_link_rate_is_none() {
        let parsed = |low: u16, high: u16, duplex: u8| {
            let mut message = [0; 44];
            message[12..14].copy_from_slice(&low.to_ne_bytes());
            message[14] = duplex;
            message[28..30].copy_from_slice(&high.to_ne_bytes());
            settings(&message)
        };
        assert_eq!(parsed(1000, 0, 1), (Some(1_000_000_000), Some(true)));
        assert_eq!(
            parsed(34_464, 1, 0),
            (Some(100_000_000_000), Some(false)),
            "100 Gbit/s takes both halves"
        );
        assert_eq!(parsed(0xffff, 0xffff, 0xff), (None, None));
        assert_eq!(parsed(0, 0, 0xff).0, None, "no link");
        assert_eq!(settings(&[]), (None, None));
    }

    #[test]
    fn features_are_read_by_their_bits() {
        let names: Vec<String> = (0..40).map(|number| format!("f{number}")).collect();
        let mut message = vec![0; 8 + 32];
        // Number 33: available, active; number 1: active, never changed.
        message[8 + 16] = 2;
        message[8 + 16 + 8] = 2;
        message[8 + 8] = 2;
        message[8 + 12] = 2;
        let found = features(&names, &message);
        assert_eq!(found["f33"], Offload { on: true, can_change: true });
        assert_eq!(found["f1"], Offload { on: true, can_change: false });
        assert_eq!(found["f0"], Offload::default());
    }

    #[test]
    fn loopback_reports_its_features() {
        let mut interface = Interface { name: "lo".to_owned(), ..Interface::default() };
        let unseen = Ethtool::open().expect("a socket").describe(&mut interface);
        assert!(unseen.is_empty(), "{unseen:?}");
        assert!(interface.offload("tx-generic-segmentation").is_some(), "{interface:?}");
    }
}
