//! Packets as bytes, for real kernels.

pub mod decode;
pub mod encode;
pub mod options;

use std::net::IpAddr;

/// The two addresses of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The address of the kernel under test.
    pub local: IpAddr,
    /// The address of the network, played by the script.
    pub remote: IpAddr,
}

/// The TTL if the script states none: Linux's default.
pub(crate) const TTL: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Body, Datagram, Echoed, Icmp, Segment, TcpOption};
    use slowpath_model::{Flags, Timestamps};
    use slowpath_wire::checksum;

    fn v4() -> Addresses {
        Addresses { local: [192, 168, 0, 1].into(), remote: [192, 0, 2, 1].into() }
    }

    fn v6() -> Addresses {
        Addresses { local: "fd00::1".parse().unwrap(), remote: "2001:db8::1".parse().unwrap() }
    }

    fn datagram(body: Body) -> Datagram {
        Datagram { source_port: 4321, destination_port: 8080, class: 2, ttl: 255, flow_label: 0, body }
    }

    #[test]
    fn packets_round_trip() {
        let segment = Segment {
            flags: Flags(0x112),
            seq: u32::MAX,
            ack: 7,
            len: 3,
            window: 257,
            urgent: 9,
            options: vec![
                TcpOption::Mss(1460),
                TcpOption::SackPermitted,
                TcpOption::Timestamps(Timestamps { val: 1, ecr: 2 }),
                TcpOption::Nop,
                TcpOption::WindowScale(7),
                TcpOption::FastOpen(vec![1, 2]),
            ],
        };
        for addresses in [v4(), v6()] {
            let sent = datagram(Body::Tcp(segment.clone()));
            let bytes = encode::datagram(&sent, addresses).unwrap();
            // Packets from the script's side have its address as source.
            let back = Addresses { local: addresses.remote, remote: addresses.local };
            assert_eq!(decode::datagram(&bytes, back), Some(sent));
        }
    }

    #[test]
    fn checksums_are_correct() {
        let bytes = encode::datagram(&datagram(Body::Udp { len: 5 }), v4()).unwrap();
        assert_eq!(checksum::of(checksum::sum(&bytes[..20])), 0);
        let message =
            Icmp { kind: 3, code: 4, mtu: Some(1200), echo_id: 0, echoed: Echoed::Tcp { seq: 1, len: 9 } };
        let bytes = encode::datagram(&datagram(Body::Icmp(message)), v4()).unwrap();
        assert_eq!(checksum::of(checksum::sum(&bytes[20..])), 0);
    }

    #[test]
    fn truncated_or_foreign_packets_are_ignored() {
        let whole = encode::datagram(&datagram(Body::Tcp(Segment::default())), v4()).unwrap();
        let back = Addresses { local: v4().remote, remote: v4().local };
        for length in 0..whole.len() {
            assert_eq!(decode::datagram(&whole[..length], back), None, "{length}");
        }
        assert_eq!(decode::datagram(&whole, v4()), None);
    }
}
