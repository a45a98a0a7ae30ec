//! Interfaces, by rtnetlink(7).

use super::netlink::Netlink;
use crate::host::{Interface, Statistics};
use slowpath_uapi::netlink::{attributes, number, text, wide};
use std::io;

/// An interface from rtnetlink, and the interfaces below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    pub interface: Interface,
    /// The interface beneath it (`IFLA_LINK`), of this namespace.
    pub beneath: Option<u32>,
    /// Its master (`IFLA_MASTER`).
    pub master: Option<u32>,
    /// Its hardware address.
    pub address: Vec<u8>,
}

const RTM_GETLINK: u16 = 18;
const FIXED_BYTES: usize = 16;

/// All interfaces of this namespace.
pub fn all(netlink: &mut Netlink) -> io::Result<Vec<Link>> {
    let mut found = Vec::new();
    netlink.dump(RTM_GETLINK, &[0; FIXED_BYTES], |message| found.extend(link(message)))?;
    Ok(found)
}

/// `struct ifinfomsg` and its attributes (include/uapi/linux/if_link.h).
fn link(message: &[u8]) -> Option<Link> {
    const RUNNING: u32 = libc::IFF_UP as u32 | 1 << 16;
    let fixed = message.get(..FIXED_BYTES)?;
    let mut link = Link::default();
    link.interface.index = number(fixed, 4);
    link.interface.running = Some(number(fixed, 8) & RUNNING == RUNNING);
    let mut is_elsewhere = false;
    for (kind, value) in attributes(&message[FIXED_BYTES..]) {
        let one = || Some(number(value, 0));
        let interface = &mut link.interface;
        match kind {
            1 => link.address = value.to_vec(),
            3 => interface.name = text(value),
            4 => interface.mtu = one(),
            5 => link.beneath = one().filter(|index| *index != interface.index && *index != 0),
            10 => link.master = one(),
            13 => interface.queue_length = one(),
            18 => {
                interface.kind = attributes(value).find(|(kind, _)| *kind == 1).map(|(_, value)| text(value));
            }
            23 => interface.statistics = statistics(value),
            // The number of another namespace: the lower interface is not here.
            37 => is_elsewhere = true,
            40 => interface.gso_max_segments = one(),
            41 => interface.gso_max_bytes = one(),
            _ => {}
        }
    }
    if is_elsewhere {
        link.beneath = None;
    }
    Some(link)
}

/// `struct rtnl_link_stats64`.
fn statistics(value: &[u8]) -> Statistics {
    let of = |place: usize| wide(value, place * 8);
    Statistics {
        rx_packets: of(0),
        tx_packets: of(1),
        rx_dropped: of(6),
        tx_dropped: of(7),
        collisions: of(9),
        rx_over_errors: of(11),
        rx_crc_errors: of(12),
        rx_fifo_errors: of(14),
        rx_missed_errors: of(15),
        tx_carrier_errors: of(17),
    }
}

/// The interface with this number and those below it: a VLAN's parent, a bond's slaves.
pub fn chain(links: &[Link], index: u32) -> Vec<&Link> {
    /// The maximum depth, more than any stack of devices has.
    const DEEPEST: usize = 8;
    let mut chain: Vec<&Link> = links.iter().filter(|link| link.interface.index == index).collect();
    let mut next = 0;
    while let Some(above) = chain.get(next).copied() {
        next += 1;
        // A bridge's ports lead to other hosts too, and which one is ours is not known here.
        let is_bond = above.interface.kind.as_deref() == Some("bond");
        let of = |link: &&Link| {
            Some(link.interface.index) == above.beneath
                || (is_bond && link.master == Some(above.interface.index))
        };
        for link in links.iter().filter(of) {
            let is_new = chain.iter().all(|known| known.interface.index != link.interface.index);
            if is_new && chain.len() < DEEPEST {
                chain.push(link);
            }
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_uapi::netlink::attribute;

    fn at(index: u32, kind: &str, beneath: Option<u32>, master: Option<u32>) -> Link {
        let interface = Interface { index, kind: Some(kind.to_owned()), ..Interface::default() };
        Link { interface, beneath, master, ..Link::default() }
    }

    #[test]
    fn chain_lists_lower_interfaces() {
        let links = [
            at(2, "card", None, Some(4)),
            at(3, "card", None, Some(4)),
            at(4, "bond", None, None),
            at(5, "vlan", Some(4), None),
            at(6, "vlan", Some(7), None),
            at(7, "vlan", Some(6), None),
        ];
        let numbers =
            |index| -> Vec<u32> { chain(&links, index).iter().map(|link| link.interface.index).collect() };
        assert_eq!(numbers(5), [5, 4, 2, 3]);
        assert_eq!(numbers(6), [6, 7], "a cycle ends");
        assert!(numbers(9).is_empty());
    }

    #[test]
    fn link_message_is_decoded() {
        let mut message = vec![0; FIXED_BYTES];
        message[4] = 7;
        message[8..12].copy_from_slice(&(1_u32 | 1 << 16).to_ne_bytes());
        attribute(&mut message, 3, b"eth0\0");
        attribute(&mut message, 4, &1500_u32.to_ne_bytes());
        attribute(&mut message, 5, &9_u32.to_ne_bytes());
        let link = link(&message).expect("whole");
        assert_eq!((link.interface.name.as_str(), link.interface.mtu), ("eth0", Some(1500)));
        assert_eq!((link.interface.running, link.beneath), (Some(true), Some(9)));
        assert_eq!(link.interface.queue_length, None, "unreported values are unknown");
        attribute(&mut message, 37, &0_u32.to_ne_bytes());
        assert_eq!(super::link(&message).expect("whole").beneath, None, "it is in another namespace");
        assert_eq!(super::link(&message[..10]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_message_is_too_strange(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = link(&bytes);
        }
    }
}
