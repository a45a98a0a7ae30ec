use super::*;
use slowpath_model::{Bytes, Ecn};
use slowpath_wire::options::{SACK_PERMITTED, put};

/// A frame with right checksums: ECN-capable, over IPv4 or IPv6, tagged or not.
fn sent(is_v4: bool, tagged: bool, control: Flags, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let between: (IpAddr, IpAddr) = if is_v4 {
        (Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(192, 0, 2, 2).into())
    } else {
        (
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2).into(),
        )
    };
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tagged {
        frame.extend([0x81, 0, 0, 7]);
    }
    frame.extend(if is_v4 { [8, 0] } else { [0x86, 0xdd] });
    let mut segment = Vec::new();
    let fields =
        tcp::Fields { source: 40000, destination: 5001, seq: 1000, ack: 77, control, window: 9, urgent: 0 };
    fields.put(&mut segment, options);
    segment.extend(payload);
    let ip = ip::Fields { class: 0x22, id: 0x1234, ttl: 64, protocol: ip::TCP, ..ip::Fields::default() };
    ip.put(&mut frame, between, segment.len() as u32);
    frame.extend(segment);
    let tcp = frame::parse(&frame).unwrap().tcp.unwrap();
    complete(&mut frame, &tcp);
    frame
}

/// Whether both checksums are right; that of IPv6 has none.
fn is_right(frame: &[u8]) -> bool {
    let parsed = frame::parse(frame).unwrap();
    let header_is = !parsed.is_v4 || checksum::of(checksum::sum(&frame[parsed.ip_at..][..ip::V4_BYTES])) == 0;
    let Some(tcp) = parsed.tcp else { return header_is };
    let segment = &frame[tcp.at..];
    let addresses = checksum::addresses(tcp.key.0, tcp.key.2);
    let pseudo = checksum::pseudo_header(addresses, ip::TCP, segment.len() as u32);
    header_is && checksum::of(checksum::sum(segment) + pseudo) == 0
}

fn each_kind(test: impl Fn(bool, bool)) {
    [(true, false), (true, true), (false, false), (false, true)]
        .into_iter()
        .for_each(|(v4, tag)| test(v4, tag));
}

#[test]
fn only_ecn_and_identification_are_changed() {
    each_kind(|is_v4, tagged| {
        let mut frame = sent(is_v4, tagged, Flags::ACK, &[], b"payload");
        let before = frame::parse(&frame).unwrap();
        assert!(is_right(&frame));
        change(&mut frame, &Changes { ecn: Some(Ecn::Ce), id: Some(7), ..Changes::NONE });
        let after = frame::parse(&frame).unwrap();
        let ip_id = if is_v4 { 7 } else { 0 };
        assert_eq!(after, Parsed { ecn: Ecn::Ce, ip_id, ..before });
        assert!(is_right(&frame));
        change(&mut frame, &Changes { ecn: Some(Ecn::Ect0), id: Some(0x1234), ..Changes::NONE });
        assert_eq!(frame, sent(is_v4, tagged, Flags::ACK, &[], b"payload"));
    });
}

#[test]
fn options_are_changed_in_place() {
    let mut options = vec![NOP];
    put(&mut options, WINDOW_SCALE, [7]);
    put(&mut options, SACK_PERMITTED, []);
    let read = |frame: &[u8]| {
        let tcp = frame::parse(frame).unwrap().tcp.unwrap();
        let options = tcp::Options::parse(&frame[tcp.at + tcp::HEADER..tcp.payload_at], false);
        (options.window_scale, options.sack_permitted, options.sack.to_vec())
    };
    each_kind(|is_v4, tagged| {
        let mut frame = sent(is_v4, tagged, Flags::SYN, &options, b"");
        let becomes = |to| Changes { window_scale: Some(to), ..Changes::NONE };
        change(&mut frame, &becomes(Replacement::Shift(3)));
        assert_eq!(read(&frame), (Some(3), true, vec![]));
        assert!(is_right(&frame));
        change(&mut frame, &becomes(Replacement::Removed));
        assert_eq!(read(&frame), (None, true, vec![]));
        assert!(is_right(&frame));

        let mut blocks = vec![NOP, NOP];
        put(&mut blocks, SACK, [0xffff_ffff_u32, 5].into_iter().flat_map(u32::to_be_bytes));
        let mut frame = sent(is_v4, tagged, Flags::ACK, &blocks, b"");
        change(&mut frame, &Changes { sack_shift: 2, ..Changes::NONE });
        assert_eq!(read(&frame).2, [0, 0, 0, 1, 0, 0, 0, 7]);
        assert!(is_right(&frame));
    });
}

#[test]
fn damage_makes_the_checksum_wrong() {
    each_kind(|is_v4, tagged| {
        for payload in [&b""[..], b"odd"] {
            let mut frame = sent(is_v4, tagged, Flags::ACK, &[], payload);
            change(&mut frame, &Changes { is_damaged: true, ..Changes::NONE });
            assert!(!is_right(&frame));
        }
    });
}

#[test]
fn rst_has_the_right_numbers_in_both_directions() {
    each_kind(|is_v4, tagged| {
        let frame = sent(is_v4, tagged, Flags::ACK, &[], b"payload");
        let of = frame::parse(&frame).unwrap().tcp.unwrap();
        let back = answer(&frame, Answer::Reset).unwrap();
        let tcp = frame::parse(&back).unwrap().tcp.unwrap();
        assert_eq!(tcp.key, (of.key.2, of.key.3, of.key.0, of.key.1));
        assert_eq!((tcp.flags, tcp.sequence, tcp.payload_bytes), (Flags::RST, 77, 0));
        assert_eq!((&back[..6], &back[6..12]), (&frame[6..12], &frame[..6]));
        assert!(is_right(&back));
        let on = reset_behind(&frame, 5).unwrap();
        let tcp = frame::parse(&on).unwrap().tcp.unwrap();
        assert_eq!((tcp.key, tcp.sequence, tcp.ack), (of.key, 1000 + 7 + 5, Some(77)));
        assert!(tcp.flags.has(Flags::RST) && is_right(&on));
    });
}

#[test]
fn icmp_error_quotes_the_packet_too_big() {
    each_kind(|is_v4, tagged| {
        let frame = sent(is_v4, tagged, Flags::ACK, &[], &[1; 1400]);
        let error = answer(&frame, Answer::TooBig { mtu: Bytes::new(1300) }).unwrap();
        let parsed = frame::parse(&error).unwrap();
        let (message, most) = match is_v4 {
            true => (&error[parsed.ip_at + ip::V4_BYTES..], 576),
            false => (&error[parsed.ip_at + ip::V6_BYTES..], 1280),
        };
        assert_eq!(parsed.ip_bytes, most);
        assert_eq!(message[..2], if is_v4 { [3, 4] } else { [2, 0] });
        assert_eq!(message[4..8], 1300_u32.to_be_bytes());
        let of = frame::parse(&frame).unwrap();
        assert!(frame[of.ip_at..].starts_with(&message[8..]));
        let pseudo = if is_v4 {
            0
        } else {
            let addresses = checksum::sum(&error[parsed.ip_at + 8..parsed.ip_at + 40]);
            checksum::pseudo_header(addresses, ip::ICMPV6, message.len() as u32)
        };
        assert_eq!(checksum::of(checksum::sum(message) + pseudo), 0);
        assert_eq!(error[..6], frame[6..12]);
        assert!(is_right(&error));
    });
}

#[test]
fn truncated_or_non_tcp_packets_are_unchanged() {
    let frame = sent(true, false, Flags::ACK, &[NOP; 4], b"payload");
    for end in 0..frame.len() {
        let mut short = frame[..end].to_vec();
        let changes = Changes { sack_shift: 1, is_damaged: true, id: Some(1), ..Changes::NONE };
        change(&mut short, &changes);
        let _ = (answer(&short, Answer::Reset), reset_behind(&short, 0));
    }
    assert_eq!(answer(&[0; 60], Answer::Reset), None);
}
