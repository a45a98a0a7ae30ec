//! What must not be in a copy: addresses, payload, cookies, keys, and whatever is not understood.

use crate::names;
use proptest::prelude::*;
use slowpath_anonymize::frame::Frames;
use slowpath_anonymize::names::Mapped;
use slowpath_capture::{LinkType, decode};
use slowpath_model::Checksum;
use slowpath_wire::{checksum, ip, options, tcp};
use std::net::IpAddr;

/// Bytes that are in no copy.
#[derive(Clone, Debug)]
struct Secrets {
    macs: [[u8; 6]; 2],
    v4: [[u8; 4]; 2],
    v6: [[u8; 16]; 2],
    payload: [u8; 24],
    option: [u8; 12],
}

fn secrets() -> impl Strategy<Value = Secrets> {
    // Not special ones, which stay in their class: unicast MAC addresses, private IPv4 and global IPv6 addresses.
    let parts = (
        any::<[[u8; 6]; 2]>(),
        any::<[[u8; 3]; 2]>(),
        any::<[[u8; 14]; 2]>(),
        any::<[u8; 24]>(),
        any::<[u8; 12]>(),
    );
    // Smaller ones would be in any packet.
    parts.no_shrink().prop_map(|(mut macs, v4, v6, payload, option)| {
        macs.iter_mut().for_each(|mac| mac[0] &= 0xfc);
        let v4 = v4.map(|[a, b, c]| [10, a, b, c]);
        let v6 = v6.map(|rest| {
            let mut address = [0x20; 16];
            address[2..].copy_from_slice(&rest);
            address
        });
        // Unlike the numbers in headers.
        let (payload, option) = (payload.map(|byte| byte | 0x80), option.map(|byte| byte | 0x80));
        Secrets { macs, v4, v6, payload, option }
    })
}

impl Secrets {
    fn v4(&self) -> (IpAddr, IpAddr) {
        (self.v4[0].into(), self.v4[1].into())
    }

    fn v6(&self) -> (IpAddr, IpAddr) {
        (self.v6[0].into(), self.v6[1].into())
    }

    /// A packet from the first host to the second.
    fn packet(&self, (from, to): (IpAddr, IpAddr), protocol: u8, body: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let fields = ip::Fields { ttl: 64, protocol, flow_label: 0xabcde, ..ip::Fields::default() };
        fields.put(&mut packet, (from, to), body.len() as u32);
        packet.extend(body);
        packet
    }

    /// A segment with secrets in its options and its payload, and the right checksum.
    fn segment(&self, between: (IpAddr, IpAddr), payload: &[u8], with: &[u8]) -> Vec<u8> {
        let mut segment = Vec::new();
        let fields =
            tcp::Fields { source: 40_000, destination: 443, seq: 7, ack: 9, ..tcp::Fields::default() };
        fields.put(&mut segment, with);
        segment.extend(payload);
        let pseudo =
            checksum::pseudo_header(checksum::addresses(between.0, between.1), ip::TCP, segment.len() as u32);
        let sum = checksum::of(pseudo + checksum::sum(&segment));
        segment[tcp::CHECKSUM..tcp::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        segment
    }

    fn ethernet(&self, kind: u16, body: &[u8]) -> Vec<u8> {
        [&self.macs[0][..], &self.macs[1], &kind.to_be_bytes(), body].concat()
    }

    fn udp(&self, port: u16, body: &[u8]) -> Vec<u8> {
        let sum = self.payload.first_chunk::<2>().expect("two bytes");
        let words = [49_152, port, 8 + body.len() as u16].map(u16::to_be_bytes).concat();
        [&words[..], sum, body].concat()
    }

    /// An option with a secret as its content.
    fn option(&self, kind: u8, before: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        options::put(&mut bytes, kind, before.iter().copied().chain(self.option));
        bytes
    }

    /// Frames of many kinds.
    fn frames(&self) -> Vec<(u16, Vec<u8>)> {
        let kept = [2, 4, 5, 180, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
        let md5 = [&kept[..], &self.option(options::MD5, &[])].concat();
        let segment = self.segment(self.v4(), &self.payload, &md5);
        let v4 = self.packet(self.v4(), ip::TCP, &segment);
        let v6 = self.packet(self.v6(), ip::TCP, &self.segment(self.v6(), &self.payload, &kept));
        let mut routed = vec![ip::TCP, 2, 0, 1, 0, 0, 0, 0];
        routed.extend(self.v6[1]);
        routed.extend(self.segment(self.v6(), &self.payload, &[]));
        let arp =
            [&[0, 1, 8, 0, 6, 4, 0, 1][..], &self.macs[0], &self.v4[0], &self.macs[1], &self.v4[1]].concat();
        let icmp = |kind: u8, code: u8, quoted: &[u8]| [&[kind, code, 0, 0, 0, 0, 5, 100], quoted].concat();
        let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &self.ethernet(0x0800, &v4)].concat();
        let gre = [&[0x20, 0, 8, 0][..], &self.option[..4], &v4].concat();
        let mut frames: Vec<(u16, Vec<u8>)> = [34, 29, 77]
            .map(|kind| self.option(kind, &[]))
            .into_iter()
            .chain([self.option(30, &[0x30]), self.option(254, &options::FAST_OPEN_MAGIC)])
            .map(|option| {
                (
                    1,
                    self.ethernet(
                        0x0800,
                        &self.packet(self.v4(), ip::TCP, &self.segment(self.v4(), &self.payload, &option)),
                    ),
                )
            })
            .collect();
        frames.extend([
            (1, self.ethernet(0x0800, &v4)),
            (1, self.ethernet(0x86dd, &v6)),
            (1, self.ethernet(0x86dd, &self.packet(self.v6(), 43, &routed))),
            (1, self.ethernet(0x8100, &[&[0, 7, 8, 0], &v4[..]].concat())),
            (1, self.ethernet(0x0806, &arp)),
            (1, self.ethernet(0x88b5, &self.payload)),
            (1, self.ethernet(0x0800, &self.packet(self.v4(), 17, &self.udp(53, &self.payload)))),
            (1, self.ethernet(0x0800, &self.packet(self.v4(), 17, &self.udp(4789, &vxlan)))),
            (1, self.ethernet(0x0800, &self.packet(self.v4(), 47, &gre))),
            (1, self.ethernet(0x0800, &self.packet(self.v4(), 50, &self.payload))),
            (1, self.ethernet(0x0800, &self.packet(self.v4(), 1, &icmp(3, 4, &v4)))),
            (1, self.ethernet(0x0800, &self.packet(self.v4(), 1, &icmp(8, 0, &self.payload)))),
            (1, self.ethernet(0x86dd, &self.packet(self.v6(), 58, &icmp(2, 0, &v6)))),
            (1, self.ethernet(0x86dd, &self.packet(self.v6(), 58, &icmp(135, 0, &self.v6[1])))),
            (113, [&[0, 0, 0, 1, 0, 6][..], &self.macs[0], &self.payload[..2], &[8, 0], &v4].concat()),
            (276, [&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6][..], &self.macs[0], &[0, 0], &v4].concat()),
            (147, self.payload.to_vec()),
            (101, v4),
        ]);
        frames
    }

    /// Parts of all secrets that are long enough to be in a copy only if they were copied. Crypto-PAn leaves runs of an
    /// address's bits as they are by chance: a bit that is like the padding's has the same flip as the next.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let macs = self.macs.iter().flat_map(|mac| mac.windows(4));
        let v6 = self.v6.iter().flat_map(|address| address.windows(12));
        let others = self.payload.windows(4).chain(self.option.windows(4));
        self.v4.iter().map(<[u8; 4]>::as_slice).chain(macs).chain(v6).chain(others)
    }
}

proptest! {
    #[test]
    fn no_address_and_no_byte_of_payload_is_in_a_copy(secrets in secrets()) {
        let mut names = names();
        // One address in some ten thousand is mapped to itself.
        prop_assume!(secrets.v4.iter().all(|v4| names.address((*v4).into()) != IpAddr::from(*v4)));
        for (link, frame) in secrets.frames() {
            let mut frames = Frames::new(&mut names);
            let copy = frames.copy(LinkType(link), &frame, frame.len() as u32, false).0;
            for part in secrets.parts() {
                let is_in = copy.windows(part.len()).any(|bytes| bytes == part);
                prop_assert!(!is_in, "{:02x?} is in {:02x?}, a copy of {:02x?}", part, copy, frame);
            }
        }
        let Mapped { addresses, macs, .. } = names.mapped();
        prop_assert_eq!((addresses, macs), (4, 2));
    }

    #[test]
    fn payload_changes_no_bit_of_a_copy(secrets in secrets(), other: [u8; 24]) {
        let changed = Secrets { payload: other, ..secrets.clone() };
        let mut names = names();
        for ((link, frame), (_, other)) in secrets.frames().into_iter().zip(changed.frames()) {
            let mut frames = Frames::new(&mut names);
            let one = frames.copy(LinkType(link), &frame, frame.len() as u32, false).0.to_vec();
            let two = frames.copy(LinkType(link), &other, other.len() as u32, false).0;
            prop_assert_eq!(one, two, "not even a checksum tells it");
        }
    }

    #[test]
    fn times_and_options_of_a_transfer_stay(secrets in secrets()) {
        let kept = [2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 3, 3, 7, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0, 1];
        let frame = secrets.packet(secrets.v4(), ip::TCP, &secrets.segment(secrets.v4(), &secrets.payload, &kept));
        let mut names = names();
        let copy = Frames::new(&mut names).copy(LinkType::RAW, &frame, frame.len() as u32, false).0.to_vec();
        prop_assert_eq!(&copy[40..40 + kept.len()], &kept[..]);
        prop_assert_eq!(copy.len(), frame.len() - secrets.payload.len());
        prop_assert_eq!(checksum::of(checksum::sum(&copy[..20])), 0, "IP's checksum is right");
    }

    #[test]
    fn checksums_stay_right_wrong_or_unfinished(secrets in secrets(), is_v6: bool, difference in 1_u16.., len in 0_usize..24) {
        let between = if is_v6 { secrets.v6() } else { secrets.v4() };
        let payload = &secrets.payload[..len];
        let right = secrets.segment(between, payload, &[]);
        let mut names = names();
        let renamed = checksum::addresses(names.address(between.0), names.address(between.1));
        let mut check = |segment: &[u8]| {
            let packet = secrets.packet(between, ip::TCP, segment);
            let header = packet.len() - segment.len();
            let mut frames = Frames::new(&mut names);
            let mut copy = frames.copy(LinkType::RAW, &packet, packet.len() as u32, false).0[header..].to_vec();
            let is_whole = copy.len() == segment.len();
            // What is not in it is zeros.
            copy.resize(segment.len(), 0);
            (tcp::verify(&copy, renamed), is_whole)
        };
        prop_assert_eq!(check(&right), (Checksum::Good, len == 0));
        let before = checksum::addresses(between.0, between.1);
        let with = |field: u16| {
            let mut segment = right.clone();
            segment[tcp::CHECKSUM..tcp::CHECKSUM + 2].copy_from_slice(&field.to_be_bytes());
            segment
        };
        let wrong = with(u16::from_be_bytes([right[tcp::CHECKSUM], right[tcp::CHECKSUM + 1]]) ^ difference);
        if tcp::verify(&wrong, before) == Checksum::Wrong {
            prop_assert_eq!(check(&wrong), (Checksum::Wrong, true), "damage stays visible");
        }
        let pseudo = checksum::folded(checksum::pseudo_header(before, ip::TCP, right.len() as u32));
        if tcp::verify(&with(pseudo), before) == Checksum::Unknown {
            prop_assert_ne!(check(&with(pseudo)).0, Checksum::Wrong, "the NIC would have completed it");
        }
    }
}

#[test]
fn segments_are_read_from_the_copies_of_all_frames_that_have_one() {
    let secrets = Secrets {
        macs: [[0x50, 1, 2, 3, 4, 5], [0x50, 9, 8, 7, 6, 5]],
        v4: [[10, 1, 2, 3], [10, 4, 5, 6]],
        v6: [[0x20; 16], [0x21; 16]],
        payload: [0x5a; 24],
        option: [0x77; 12],
    };
    let mut names = names();
    let mut segments = 0;
    for (link, frame) in secrets.frames() {
        let (link, wire) = (LinkType(link), frame.len() as u32);
        let before = decode::headers(link, &frame, wire).map(|packet| (packet.tcp.seq, packet.tcp.payload));
        let mut frames = Frames::new(&mut names);
        let copy = frames.copy(link, &frame, wire, false).0;
        let after = decode::headers(link, copy, wire).map(|packet| (packet.tcp.seq, packet.tcp.payload));
        assert_eq!(after.ok(), before.ok(), "{frame:02x?}");
        segments += u32::from(before.is_ok());
    }
    assert_eq!(segments, 14);
}
