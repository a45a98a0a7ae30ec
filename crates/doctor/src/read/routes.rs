//! The route to a destination, by rtnetlink(7).

use super::netlink::Netlink;
use crate::host::Route;
use slowpath_uapi::netlink::{address, attribute, attributes, number, text};
use std::io;
use std::net::IpAddr;

const RTM_GETROUTE: u16 = 26;
const FIXED_BYTES: usize = 12;
const RTA_DST: u16 = 1;

/// The relevant `RTAX_*`, by number (include/uapi/linux/rtnetlink.h).
const ATTRIBUTES: [(u16, &str); 10] = [
    (2, "mtu"),
    (3, "window"),
    (6, "ssthresh"),
    (7, "cwnd"),
    (8, "advmss"),
    (9, "reordering"),
    (11, "initcwnd"),
    (13, "rto_min"),
    (14, "initrwnd"),
    (15, "quickack"),
];

/// The route of packets to `to`.
pub fn to(netlink: &mut Netlink, to: IpAddr) -> io::Result<Option<Route>> {
    let (family, bytes) = match to {
        IpAddr::V4(four) => (libc::AF_INET, four.octets().to_vec()),
        IpAddr::V6(six) => (libc::AF_INET6, six.octets().to_vec()),
    };
    let mut question = vec![0; FIXED_BYTES];
    (question[0], question[1]) = (family as u8, bytes.len() as u8 * 8);
    attribute(&mut question, RTA_DST, &bytes);
    let mut found = None;
    netlink.get(RTM_GETROUTE, &question, |message| found = route(message))?;
    Ok(found.map(|RouteMessage { route, .. }| Route { to: Some(to), ..route }))
}

/// The default route, of IPv4 or otherwise of IPv6; through one interface, if given.
pub fn default(netlink: &mut Netlink, interface: Option<u32>) -> io::Result<Option<Route>> {
    const MAIN: u32 = libc::RT_TABLE_MAIN as u32;
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut question = vec![0; FIXED_BYTES];
        question[0] = family as u8;
        let mut found: Option<RouteMessage> = None;
        netlink.dump(RTM_GETROUTE, &question, |message| {
            let Some(parsed) = route(message) else { return };
            let is_it = parsed.length == 0 && parsed.table == MAIN && parsed.route.interface != 0;
            let ours = interface.is_none_or(|interface| interface == parsed.route.interface);
            if is_it && ours && found.as_ref().is_none_or(|before| parsed.priority < before.priority) {
                found = Some(parsed);
            }
        })?;
        if let Some(parsed) = found {
            return Ok(Some(parsed.route));
        }
    }
    Ok(None)
}

/// A route and its place in the table.
struct RouteMessage {
    route: Route,
    /// Its prefix length.
    length: u8,
    table: u32,
    priority: u32,
}

/// `struct rtmsg` and its attributes.
fn route(message: &[u8]) -> Option<RouteMessage> {
    let fixed = message.get(..FIXED_BYTES)?;
    let mut parsed =
        RouteMessage { route: Route::default(), length: fixed[1], table: fixed[4].into(), priority: 0 };
    for (kind, value) in attributes(&message[FIXED_BYTES..]) {
        match kind {
            4 => parsed.route.interface = number(value, 0),
            5 => parsed.route.gateway = address(value),
            6 => parsed.priority = number(value, 0),
            8 => metrics(value, &mut parsed.route),
            // Multipath: the first `struct rtnexthop` represents all.
            9 if parsed.route.interface == 0 => parsed.route.interface = number(value, 4),
            15 => parsed.table = number(value, 0),
            _ => {}
        }
    }
    Some(parsed)
}

fn metrics(value: &[u8], route: &mut Route) {
    const LOCK: u16 = 1;
    const CONTROL: u16 = 16;
    let mut locks = 0;
    for (kind, value) in attributes(value) {
        match kind {
            LOCK => locks = number(value, 0),
            CONTROL => route.congestion_control = Some(text(value)),
            _ => {
                if let Some((_, name)) = ATTRIBUTES.iter().find(|(number, _)| *number == kind) {
                    route.attributes.insert((*name).to_owned(), number(value, 0));
                }
            }
        }
    }
    let locked = ATTRIBUTES.iter().filter(|(number, _)| locks & 1 << number != 0);
    route.locked = locked.map(|(_, name)| (*name).to_owned()).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_message_is_decoded() {
        let mut message = vec![2, 0, 0, 0, 254, 0, 0, 0, 0, 0, 0, 0];
        attribute(&mut message, 4, &3_u32.to_ne_bytes());
        attribute(&mut message, 5, &[192, 0, 2, 1]);
        let mut metrics = Vec::new();
        attribute(&mut metrics, 1, &(1_u32 << 7).to_ne_bytes());
        attribute(&mut metrics, 7, &40_u32.to_ne_bytes());
        attribute(&mut metrics, 16, b"reno\0");
        attribute(&mut message, 8, &metrics);
        let RouteMessage { route, length, table, .. } = route(&message).expect("whole");
        assert_eq!((length, table, route.interface), (0, 254, 3));
        assert_eq!(route.gateway, Some(IpAddr::from([192, 0, 2, 1])));
        assert_eq!((route.attributes["cwnd"], route.locked.as_slice()), (40, &["cwnd".to_owned()][..]));
        assert_eq!(route.congestion_control.as_deref(), Some("reno"));
        assert!(super::route(&message[..5]).is_none());
    }

    #[test]
    fn route_to_this_host_is_found() {
        let mut netlink = Netlink::open(libc::NETLINK_ROUTE).expect("a socket");
        let found = to(&mut netlink, IpAddr::from([127, 0, 0, 1])).expect("it answers").expect("a way");
        assert_ne!(found.interface, 0);
    }

    proptest::proptest! {
        #[test]
        fn no_message_is_too_strange(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = route(&bytes);
        }
    }
}
