//! The parameter cache (ubik IV-E), by generic netlink: the data of `ip tcp_metrics`.

use super::netlink::Netlink;
use crate::host::Metrics;
use slowpath_uapi::netlink::{address, attribute, attributes, number};
use std::io;

const HEADER_BYTES: usize = 4;
/// The controller family (`GENL_ID_CTRL`), and its query for a family by name.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `TCP_METRICS_CMD_GET` (include/uapi/linux/tcp_metrics.h).
const GET: u8 = 1;

/// All cached metrics of the kernel.
pub fn all() -> io::Result<Vec<Metrics>> {
    let mut netlink = Netlink::open(libc::NETLINK_GENERIC)?;
    let mut question = vec![GET_FAMILY, 1, 0, 0];
    attribute(&mut question, FAMILY_NAME, b"tcp_metrics\0");
    let mut family = None;
    netlink.get(CONTROL, &question, |message| {
        let all = message.get(HEADER_BYTES..).unwrap_or_default();
        let of = attributes(all).find(|(kind, _)| *kind == FAMILY_ID);
        family = of.and_then(|(_, value)| Some(u16::from_ne_bytes(*value.first_chunk()?)));
    })?;
    let family = family.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut found = Vec::new();
    netlink.dump(family, &[GET, 1, 0, 0], |message| found.extend(entry(message)))?;
    Ok(found)
}

fn entry(message: &[u8]) -> Option<Metrics> {
    let mut entry = Metrics::default();
    for (kind, value) in attributes(message.get(HEADER_BYTES..)?) {
        match kind {
            1 | 2 => entry.to = address(value),
            // Each has its number in `enum tcp_metric_index` plus one.
            6 => {
                for (kind, value) in attributes(value) {
                    match kind {
                        3 => entry.ssthresh = Some(number(value, 0)),
                        // Stored in eighths, like `srtt_us`.
                        6 => entry.rtt_us = Some(number(value, 0) / 8),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_entry_is_decoded() {
        let mut message = vec![GET, 1, 0, 0];
        attribute(&mut message, 1, &[192, 0, 2, 9]);
        let mut values = Vec::new();
        attribute(&mut values, 3, &14_u32.to_ne_bytes());
        attribute(&mut values, 6, &320_000_u32.to_ne_bytes());
        attribute(&mut message, 6, &values);
        let entry = entry(&message).expect("whole");
        assert_eq!((entry.ssthresh, entry.rtt_us), (Some(14), Some(40_000)));
        assert_eq!(entry.to, Some([192, 0, 2, 9].into()));
        assert_eq!(super::entry(&message[..3]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_message_is_too_strange(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = entry(&bytes);
        }
    }
}
