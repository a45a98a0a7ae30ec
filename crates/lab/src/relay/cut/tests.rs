use super::*;
use crate::frame;
use proptest::prelude::*;

/// How a network card cuts, slow and obvious: each packet is built byte by byte, with both checksums.
fn card(vnet: Vnet, frame: &[u8]) -> Vec<Vec<u8>> {
    let parsed = frame::parse(frame).expect("a frame of these tests");
    let tcp = parsed.tcp.expect("with TCP");
    let payload = &frame[tcp.payload_at..];
    let size = if vnet.gso_type == Vnet::GSO_NONE { payload.len().max(1) } else { vnet.gso_bytes.into() };
    let last = payload.len().div_ceil(size) - 1;
    let packet = |(n, piece): (usize, &[u8])| {
        let mut packet = [&frame[..tcp.payload_at], piece].concat();
        let (ip, ip_bytes) = (parsed.ip_at, packet.len() - parsed.ip_at);
        if parsed.is_v4 {
            packet[ip + 2..ip + 4].copy_from_slice(&(ip_bytes as u16).to_be_bytes());
            packet[ip + 4..ip + 6].copy_from_slice(&parsed.ip_id.wrapping_add(n as u16).to_be_bytes());
            packet[ip + 10..ip + 12].fill(0);
            let checksum = ones_complement(&packet[ip..tcp.at]);
            packet[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
        } else {
            packet[ip + 4..ip + 6].copy_from_slice(&((ip_bytes - 40) as u16).to_be_bytes());
        }
        let sequence = tcp.sequence.wrapping_add((n * size) as u32);
        packet[tcp.at + 4..tcp.at + 8].copy_from_slice(&sequence.to_be_bytes());
        if n < last {
            packet[tcp.at + 13] &= !0x09;
        }
        if n > 0 {
            packet[tcp.at + 13] &= !0x80;
        }
        packet[tcp.at + 16..tcp.at + 18].fill(0);
        let addresses = if parsed.is_v4 { ip + 12..ip + 20 } else { ip + 8..ip + 40 };
        let length = (packet.len() - tcp.at) as u16;
        let pseudo = [&packet[addresses], &[0, 6], &length.to_be_bytes(), &packet[tcp.at..]].concat();
        packet[tcp.at + 16..tcp.at + 18].copy_from_slice(&ones_complement(&pseudo).to_be_bytes());
        packet
    };
    payload.chunks(size).enumerate().map(packet).collect()
}

/// RFC 1071, word by word.
fn ones_complement(bytes: &[u8]) -> u16 {
    let add = |sum: u16, word: &[u8]| {
        let word = u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]);
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    };
    !bytes.chunks(2).fold(0, add)
}

/// What a host with segmentation offload sends.
#[derive(Clone, Debug)]
struct Original {
    is_v4: bool,
    has_tag: bool,
    option_words: u8,
    flags: u8,
    ip_id: u16,
    sequence: u32,
    segment_bytes: u16,
    payload: Vec<u8>,
}

fn originals() -> impl Strategy<Value = Original> {
    let size = (1_u16..3000).prop_flat_map(|segment| (Just(segment), usize::from(segment) + 1..65_000));
    let rest =
        (any::<bool>(), any::<bool>(), 0_u8..=10, any::<u8>(), any::<u16>(), any::<u32>(), any::<u32>());
    (size, rest).prop_map(
        |((segment_bytes, bytes), (is_v4, has_tag, option_words, flags, ip_id, sequence, seed))| {
            let byte = |n: u32| (n.wrapping_mul(0x9e37_79b9) ^ seed).to_be_bytes()[0];
            let payload = (0..bytes as u32).map(byte).collect();
            // No SYN in a super-packet.
            let flags = flags & !0x02;
            Original { is_v4, has_tag, option_words, flags, ip_id, sequence, segment_bytes, payload }
        },
    )
}

impl Original {
    fn frame(&self) -> (Vnet, Vec<u8>) {
        let mut f = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        if self.has_tag {
            f.extend([0x81, 0, 0, 7]);
        }
        let tcp_bytes = 20 + 4 * usize::from(self.option_words) + self.payload.len();
        if self.is_v4 {
            f.extend([8, 0, 0x45, 0]);
            f.extend(((20 + tcp_bytes) as u16).to_be_bytes());
            f.extend(self.ip_id.to_be_bytes());
            f.extend([0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        } else {
            f.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            f.extend((tcp_bytes as u16).to_be_bytes());
            f.extend([6, 64]);
            f.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            f.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        }
        let tcp_at = f.len() as u16;
        f.extend([0x9c, 0x40, 0x13, 0x89]);
        f.extend(self.sequence.to_be_bytes());
        f.extend([0, 0, 0, 1, (5 + self.option_words) << 4, self.flags, 1, 0, 0xaa, 0xaa, 0, 0]);
        f.extend((0..4 * self.option_words).map(|n| n | 1));
        let vnet = Vnet {
            flags: Vnet::NEEDS_CHECKSUM,
            gso_type: if self.is_v4 { Vnet::GSO_TCP_V4 } else { Vnet::GSO_TCP_V6 },
            header_bytes: f.len() as u16,
            gso_bytes: self.segment_bytes,
            checksum_start: tcp_at,
            checksum_offset: tcp::CHECKSUM as u16,
        };
        f.extend(&self.payload);
        (vnet, f)
    }
}

/// What the far device gets: a header and a payload.
fn handed(shape: Super, vnet: Vnet, frame: &[u8], offset: usize, bytes: usize) -> (Vnet, Vec<u8>) {
    let header = shape.header(vnet, frame, offset, bytes);
    (header.vnet, [header.bytes(), shape.payload(frame, offset, bytes)].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The packets are those of a card; and if some were lost, the others, joined and cut again by the far side's card,
    /// are the same packets, each once.
    #[test]
    fn cutting_and_joining_match_a_nic(original in originals(), lost in any::<u64>()) {
        let (vnet, frame) = original.frame();
        let parsed = frame::parse(&frame).expect("IP");
        let shape = Super::of(vnet, &frame, &parsed).expect("a super-packet");
        let expected = card(vnet, &frame);
        let packets: Vec<_> = shape.packets().collect();
        prop_assert_eq!(packets.len(), expected.len());
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut kept = Vec::new();
        for (n, (offset, bytes)) in packets.into_iter().enumerate() {
            let payload = shape.payload(&frame, offset, bytes);
            let mut header = shape.header(vnet, &frame, offset, bytes);
            header.complete(payload);
            let packet = [header.bytes(), payload].concat();
            prop_assert_eq!(header.vnet.flags, 0);
            prop_assert_eq!(&packet, &expected[n], "packet {}", n);
            prop_assert_eq!(shape.ip_bytes(bytes), packet.len() - parsed.ip_at);
            if lost >> (n % 64) & 1 == 1 {
                continue;
            }
            kept.push(packet);
            match runs.last_mut() {
                Some((from, length)) if *from + *length == offset => *length += bytes,
                _ => runs.push((offset, bytes)),
            }
        }
        let again = runs.into_iter().flat_map(|(offset, bytes)| {
            let (vnet, frame) = handed(shape, vnet, &frame, offset, bytes);
            card(vnet, &frame)
        });
        prop_assert_eq!(again.collect::<Vec<_>>(), kept);
    }

    /// Frames from a device may contain anything.
    #[test]
    fn any_frame_is_cut_without_panic(
        original in originals(),
        header in proptest::collection::vec(any::<u8>(), Vnet::BYTES),
        changes in proptest::collection::vec((0_usize..160, any::<u8>()), 0..6),
        length in 0_usize..65_100,
    ) {
        let (vnet, mut frame) = original.frame();
        frame.truncate(length);
        for (at, byte) in changes {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        let hostile = Vnet::read(header.try_into().expect("ten bytes"));
        for mut vnet in [vnet, hostile, Vnet { gso_type: vnet.gso_type, flags: 1, ..hostile }] {
            vnet.shift(4);
            if let Some(shape) = frame::parse(&frame).and_then(|parsed| Super::of(vnet, &frame, &parsed)) {
                let mut reached = 0;
                for (offset, bytes) in shape.packets() {
                    prop_assert_eq!(offset, reached);
                    reached += bytes;
                    shape.header(vnet, &frame, offset, bytes).complete(shape.payload(&frame, offset, bytes));
                }
                prop_assert!(reached <= frame.len());
            }
            vnet.complete(&mut frame.clone());
        }
    }
}

/// As the far side's kernel sees it: a single packet has no segments, and joined packets keep their segment size.
#[test]
fn delivered_headers_state_the_offloads() {
    let original = Original {
        is_v4: true,
        has_tag: false,
        option_words: 3,
        flags: 0x99,
        ip_id: 0x12ff,
        sequence: 0xffff_fff0,
        segment_bytes: 1000,
        payload: vec![7; 2500],
    };
    let (mut vnet, frame) = original.frame();
    vnet.gso_type |= Vnet::GSO_ECN;
    let shape = Super::of(vnet, &frame, &frame::parse(&frame).unwrap()).unwrap();
    let (alone, _) = handed(shape, vnet, &frame, 2000, 500);
    assert_eq!(alone, Vnet { flags: 1, checksum_start: 34, checksum_offset: 16, ..Vnet::default() });
    let joined = Vnet { gso_type: Vnet::GSO_TCP_V4, header_bytes: 66, gso_bytes: 1000, ..alone };
    assert_eq!(handed(shape, vnet, &frame, 1000, 1500).0, joined);
    let first = Vnet { gso_type: Vnet::GSO_TCP_V4 | Vnet::GSO_ECN, ..joined };
    assert_eq!(handed(shape, vnet, &frame, 0, 2000).0, first);
}

/// A partial checksum of any protocol, here UDP, is completed as in `skb_checksum_help`.
#[test]
fn partial_checksum_is_completed() {
    let mut frame = vec![0xee; 14];
    frame.extend([0x12, 0x34, 0, 9, 0, 10, 0, 0, 0x55]);
    let mut vnet =
        Vnet { flags: Vnet::NEEDS_CHECKSUM, checksum_start: 14, checksum_offset: 6, ..Vnet::default() };
    vnet.complete(&mut frame);
    assert_eq!(vnet.flags, 0);
    assert_eq!(ones_complement(&frame[14..]), 0);
    // One that would be beyond the frame is left unchanged.
    let mut beyond = Vnet { flags: Vnet::NEEDS_CHECKSUM, checksum_start: 22, ..Vnet::default() };
    beyond.complete(&mut frame);
    assert!(beyond.needs_checksum());
}
