//! Frames: every link type, tunnel and header, and the fast path compared with the general one.

use crate::build::{ACK, CLIENT, PSH, SERVER, SYN, Tcp, ethernet, frames, ipv4, ipv6, pcap, read, udp};
use proptest::prelude::*;
use slowpath_capture::layer::Skip;
use slowpath_capture::packet::Packet;
use slowpath_capture::{LinkType, Oddity, Protocol, decode};

fn tcp() -> Tcp {
    Tcp::new(PSH | ACK, 1000, 2000, 10).options(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6])
}

fn decoded(link: u16, frame: &[u8]) -> Result<Packet<'_>, Skip> {
    decode::headers(LinkType(link), frame, frame.len() as u32)
}

/// Asserts that the frame holds the segment of [`tcp`].
fn holds(link: u16, frame: &[u8]) {
    let packet = decoded(link, frame).unwrap_or_else(|skip| panic!("{skip:?}: {frame:02x?}"));
    assert_eq!((packet.tcp.source, packet.tcp.destination), (CLIENT.1, SERVER.1));
    assert_eq!((packet.tcp.seq, packet.tcp.ack, packet.tcp.payload), (1000, 2000, 10));
    assert!(packet.tcp.options.timestamps.is_some());
    assert_eq!(packet.ip.ttl, 64);
    assert_eq!(packet.oddities.iter().collect::<Vec<_>>(), []);
    for length in 0..frame.len() - 10 {
        // Cut anywhere: no panic, and either options are missing or the frame is skipped.
        match decode::headers(LinkType(link), &frame[..length], frame.len() as u32) {
            Ok(packet) => {
                assert!(packet.oddities.has(Oddity::OptionsCut));
                assert_eq!(packet.tcp.payload, 10, "by the IP header, not by what was captured");
            }
            Err(skip) => assert!(matches!(skip, Skip::Truncated | Skip::NotTcp(17)), "{skip:?} at {length}"),
        }
    }
}

fn with(header: &[u8], body: &[u8]) -> Vec<u8> {
    [header, body].concat()
}

#[test]
fn all_link_types_are_decoded() {
    let (v4, v6) = (tcp().v4(), tcp().v6());
    for (ip, kind) in [(&v4, 0x0800u16), (&v6, 0x86dd)] {
        let [high, low] = kind.to_be_bytes();
        holds(1, &ethernet(kind, ip));
        for tag in [0x8100, 0x88a8, 0x9100, 0x9200] {
            let tagged = with(&[0, 7, high, low], ip);
            holds(1, &ethernet(tag, &tagged));
            let double = with(&[0, 7, 0x81, 0], &tagged);
            holds(1, &ethernet(tag, &double));
            holds(1, &ethernet(0x8100, &with(&[0, 7, 0x81, 0], &double)));
        }
        holds(113, &with(&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, high, low], ip));
        holds(276, &with(&[high, low, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], ip));
        for raw in [12, 14, 101] {
            holds(raw, ip);
        }
        let snap = with(&[0xaa, 0xaa, 3, 0, 0, 0, high, low], ip);
        holds(1, &ethernet(snap.len() as u16, &snap));
        holds(10, &with(&[0x50, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2], &snap));
        let bridged = with(&[0xaa, 0xaa, 3, 0, 0, 0xf8, high, low], ip);
        holds(1, &ethernet(bridged.len() as u16, &bridged));
        holds(1, &ethernet(0x8847, &with(&[0, 1, 0, 64, 0, 2, 1, 64], ip)));
        holds(1, &ethernet(0x8848, &with(&[0, 1, 1, 64, 0, 0, 0, 0], &ethernet(kind, ip))));
    }
    holds(228, &v4);
    holds(229, &v6);
    for (family, ip) in [(2u32, &v4), (10, &v6), (24, &v6), (28, &v6), (30, &v6)] {
        for link in [0, 108] {
            holds(link, &with(&family.to_be_bytes(), ip));
            holds(link, &with(&family.to_le_bytes(), ip));
        }
    }
    holds(1, &ethernet(0x8100, &with(&[0, 1, 0x88, 0x64], &pppoe(&v4, &[0, 0x21]))));
    holds(1, &ethernet(0x8864, &pppoe(&v6, &[0, 0x57])));
    holds(1, &ethernet(0x8864, &pppoe(&v4, &[0x21])));
    holds(51, &pppoe(&v4, &[0, 0x21]));
    holds(50, &with(&[0xff, 3, 0, 0x21], &v4));
    holds(9, &with(&[0x57], &v6));
    holds(9, &with(&[0xff, 3, 2, 0x81, 0, 1, 1, 64], &v6));
}

fn pppoe(ip: &[u8], protocol: &[u8]) -> Vec<u8> {
    let length = (ip.len() + protocol.len()) as u16;
    let [high, low] = length.to_be_bytes();
    [&[0x11, 0, 0, 9, high, low], protocol, ip].concat()
}

#[test]
fn frames_without_ip_or_tcp_are_skipped() {
    let is = |link, frame: &[u8], skip| assert_eq!(decoded(link, frame), Err(skip));
    let other = |link, frame: &[u8], protocol| is(link, frame, Skip::NotIp(protocol));
    other(1, &ethernet(0x0806, &[0; 28]), Protocol::EtherType(0x0806));
    other(1, &ethernet(38, &[0x42, 0x42, 3, 0, 0]), Protocol::Llc(0x42));
    other(1, &ethernet(38, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 8, 0]), Protocol::Llc(0xaa));
    other(1, &ethernet(38, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]), Protocol::EtherType(0x2000));
    other(1, &ethernet(0x8863, &[0x11, 9, 0, 0, 0, 0]), Protocol::EtherType(0x8863));
    other(1, &ethernet(0x8864, &[0x11, 1, 0, 0, 0, 0]), Protocol::EtherType(0x8864));
    other(1, &ethernet(0x8864, &[0x11, 0, 0, 0, 0, 2, 0xc0, 0x21]), Protocol::Ppp(0xc021));
    other(1, &ethernet(0x8847, &[0, 1, 1, 64, 0x10, 0]), Protocol::Mpls);
    other(0, &[0, 0, 0, 7, 0, 0], Protocol::Family(7));
    other(101, &[0x50; 40], Protocol::NotIp);
    is(147, &[0; 40], Skip::UnsupportedLink(LinkType(147)));
    is(101, &ipv4(1, 1, 2, &[0; 8]), Skip::NotTcp(1));
    is(101, &ipv4(17, 1, 2, &udp(53, &[0; 20])), Skip::NotTcp(17));
    is(101, &ipv4(17, 1, 2, &udp(4789, &[0; 20])), Skip::NotTcp(17));
    is(101, &ipv4(47, 1, 2, &[0x40, 0, 8, 0, 0, 0, 0, 0]), Skip::NotTcp(47));
    is(101, &ipv6(59, &[]), Skip::NotTcp(59));
}

#[test]
fn wireless_frames_are_decoded() {
    let llc = with(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &tcp().v4());
    let addresses = [7; 18];
    let header =
        |control: [u8; 2], more: &[u8]| [&control, &[0, 0][..], &addresses, &[0x10, 0], more].concat();
    // From the station, to it, and between two systems with a fourth address; with QoS, with HT control.
    let data = [
        header([0x08, 1], &[]),
        header([0x08, 2], &[]),
        header([0x08, 3], &[7; 6]),
        header([0x88, 1], &[5, 0]),
        header([0x88, 3], &[7, 7, 7, 7, 7, 7, 5, 0]),
        header([0x88, 0x82], &[5, 0, 1, 2, 3, 4]),
    ];
    for header in data {
        let mut frame = with(&header, &llc);
        holds(105, &frame);
        // Radiotap with nothing; with a timestamp and flags, after more words of presence bits.
        holds(127, &with(&[0, 0, 8, 0, 0, 0, 0, 0], &frame));
        let rich = [&[0, 0, 25, 0, 3, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0][..], &[9; 8], &[0]].concat();
        holds(127, &with(&rich, &frame));
        // PPI before radiotap's and before its own.
        holds(192, &with(&[0, 0, 12, 0, 105, 0, 0, 0, 2, 0, 0, 0], &frame));
        holds(192, &with(&[0, 0, 8, 0, 127, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0], &frame));
        // The frame check sequence follows.
        frame.extend([1, 2, 3, 4]);
        assert_eq!(decoded(105, &frame).unwrap().tcp.payload, 10);
        // The header is padded to a multiple of four bytes.
        let padded = [&header, &vec![0; header.len().next_multiple_of(4) - header.len()], &llc[..]].concat();
        holds(127, &with(&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], &padded));
    }
    holds(192, &with(&[0, 0, 8, 0, 1, 0, 0, 0], &tcp().frame()));
    // Several packets in one frame: the first is read.
    let length = (llc.len() as u16).to_be_bytes();
    let aggregate = [&header([0x88, 1], &[0x85, 0]), &[7; 12][..], &length, &llc, &[9; 40]].concat();
    assert_eq!(decoded(105, &aggregate).unwrap().tcp.payload, 10);

    let is = |link, frame: &[u8], skip| assert_eq!(decoded(link, frame), Err(skip));
    let management = Skip::NotIp(Protocol::WifiManagement);
    is(105, &with(&header([0x80, 0], &[]), &[0; 20]), management);
    is(105, &[0xd4, 0, 0, 0, 1, 2, 3, 4, 5, 6], management);
    is(105, &with(&header([0x48, 1], &[]), &[]), management);
    is(105, &with(&header([0xc8, 1], &[5, 0]), &[]), management);
    let unreadable = Skip::NotIp(Protocol::WifiUnreadable);
    is(105, &with(&header([0x08, 0x41], &[]), &llc), unreadable);
    is(105, &with(&header([0x08, 0x05], &[]), &llc), unreadable);
    let mut later = with(&header([0x08, 0x01], &[]), &llc);
    later[22] = 0x11;
    is(105, &later, unreadable);
    is(127, &[0, 0, 4, 0, 0, 0, 0, 0], Skip::Malformed);
    is(192, &[0, 0, 4, 0, 1, 0, 0, 0], Skip::Malformed);
    is(192, &[0, 0, 8, 0, 147, 0, 0, 0], Skip::UnsupportedLink(LinkType(147)));
    let mut nested = tcp().frame();
    for _ in 0..30 {
        nested = with(&[0, 0, 8, 0, 192, 0, 0, 0], &nested);
    }
    is(192, &nested, Skip::TooDeep);
}

#[test]
fn nflog_is_decoded_in_either_byte_order() {
    let (v4, v6) = (tcp().v4(), tcp().v6());
    let attributes = |order: fn(u16) -> [u8; 2], ip: &[u8]| {
        let mut bytes = Vec::new();
        // The header of the hook, a prefix of odd length, the packet.
        for (kind, body) in [(1, &[8, 0, 3, 0][..]), (10, b"in: \0"), (9, ip)] {
            bytes.extend(order(body.len() as u16 + 4));
            bytes.extend(order(kind));
            bytes.extend(body);
            if kind != 9 {
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
        }
        bytes
    };
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        // Padding after the packet may be missing.
        holds(239, &with(&[2, 0, 0, 5], &attributes(order, &v4)));
        holds(239, &with(&[10, 0, 0, 5], &attributes(order, &v6)));
    }
    assert_eq!(decoded(239, &[2, 0, 0, 5, 3, 0, 1, 0]), Err(Skip::Malformed));
    assert_eq!(decoded(239, &[2, 0, 0, 5, 4, 0, 1, 0]), Err(Skip::Malformed), "no packet");
}

#[test]
fn infiniband_and_cisco_hdlc_are_decoded() {
    for (ip, kind) in [(tcp().v4(), [8, 0]), (tcp().v6(), [0x86, 0xdd])] {
        for before in [40, 20, 0] {
            holds(242, &[&vec![0xfe; before], &kind[..], &[0, 0], &ip].concat());
        }
        // Cooked by Linux: its hardware type is 32, and the address has 20 bytes, of which 8 are stored.
        holds(113, &with(&[0, 4, 0, 32, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, kind[0], kind[1]], &ip));
        for address in [0x0f, 0x8f] {
            holds(104, &with(&[address, 0, kind[0], kind[1]], &ip));
            holds(50, &with(&[address, 0, kind[0], kind[1]], &ip));
        }
    }
    holds(104, &with(&[0xff, 3, 0, 0x21], &tcp().v4()));
    let arp = [&[0xfe; 40], &[8, 6, 0, 0][..], &[0; 28]].concat();
    assert_eq!(decoded(242, &arp), Err(Skip::NotIp(Protocol::EtherType(0x0806))));
    let slarp = [0x8f, 0, 0x80, 0x35, 0, 0, 0, 2];
    assert_eq!(decoded(104, &slarp), Err(Skip::NotIp(Protocol::EtherType(0x8035))));
}

#[test]
fn switch_tags_are_skipped() {
    for (ip, kind) in [(tcp().v4(), 0x0800_u16), (tcp().v6(), 0x86dd)] {
        let [high, low] = kind.to_be_bytes();
        holds(1, &ethernet(0x893f, &with(&[0, 1, 0, 2, 0, 0, high, low], &ip)));
        holds(1, &ethernet(0x8926, &with(&[0x80, 1, 0, 2, high, low], &ip)));
        holds(1, &ethernet(0x88e7, &with(&[0, 0, 1, 2], &ethernet(kind, &ip))));
        // A backbone VLAN, its service, a customer's VLAN.
        let customer = ethernet(0x8100, &with(&[0, 7, high, low], &ip));
        holds(1, &ethernet(0x88a8, &[&[0, 9, 0x88, 0xe7, 0, 0, 1, 2], customer.as_slice()].concat()));
    }
}

#[test]
fn tunnels_are_decoded() {
    let (v4, v6) = (tcp().v4(), tcp().v6());
    let around = |protocol: u8, body: &[u8]| {
        [ethernet(0x0800, &ipv4(protocol, 7, 8, body)), ethernet(0x86dd, &ipv6(protocol, body))]
    };
    let inside = ethernet(0x0800, &v4);
    let mut all = Vec::new();
    all.extend(around(4, &v4));
    all.extend(around(41, &v6));
    all.extend(around(137, &with(&[0, 1, 1, 64], &v4)));
    all.extend(around(47, &with(&[0, 0, 8, 0], &v4)));
    all.extend(around(47, &with(&[0xb0, 0, 0x86, 0xdd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1], &v6)));
    all.extend(around(47, &with(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 9], &inside)));
    all.extend(around(47, &with(&[0, 0, 0x88, 0xbe], &inside)));
    all.extend(around(47, &with(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], &inside)));
    all.extend(around(47, &with(&[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0; 12]].concat(), &inside)));
    all.extend(around(47, &with(&[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0x21], &v4)));
    for port in [4789, 8472] {
        all.extend(around(17, &udp(port, &with(&[8, 0, 0, 0, 0, 0, 9, 0], &inside))));
    }
    all.extend(around(17, &udp(6081, &with(&[1, 0, 0x65, 0x58, 0, 0, 9, 0, 1, 2, 3, 4], &inside))));
    all.extend(around(17, &udp(6081, &with(&[0, 0, 0x86, 0xdd, 0, 0, 9, 0], &v6))));
    all.extend(around(17, &udp(4754, &with(&[0x20, 0, 0x86, 0xdd, 0, 0, 0, 9], &v6))));
    for (ip, length) in [(&v4, v4.len() as u16), (&v6, v6.len() as u16)] {
        let gtp = |flags: u8, more: &[u8]| {
            let length = (length + more.len() as u16).to_be_bytes();
            udp(2152, &[&[flags, 255, length[0], length[1], 0, 0, 0, 7], more, ip].concat())
        };
        all.extend(around(17, &gtp(0x30, &[])));
        all.extend(around(17, &gtp(0x32, &[0, 1, 0, 0])));
        // The container of a 5G session, and another extension header of twice its length.
        all.extend(around(17, &gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0xc0, 2, 0, 0, 0, 0, 0, 0, 0])));
    }
    for frame in &all {
        holds(1, frame);
    }
    for echo in [[0x32, 1, 0, 4, 0, 0, 0, 0], [0x48, 255, 0, 4, 0, 0, 0, 0]] {
        assert_eq!(decoded(101, &ipv4(17, 1, 2, &udp(2152, &with(&echo, &[0; 4])))), Err(Skip::NotTcp(17)));
    }
    // Nested tunnels, up to a limit.
    let mut packet = v4;
    for _ in 0..5 {
        packet = ipv4(4, 7, 8, &packet);
    }
    holds(1, &ethernet(0x0800, &packet));
    for _ in 0..30 {
        packet = ipv4(4, 7, 8, &packet);
    }
    assert_eq!(decoded(1, &ethernet(0x0800, &packet)), Err(Skip::TooDeep));
    assert_eq!(decoded(1, &ethernet(0x8100, &[0, 1, 0x81, 0].repeat(40))), Err(Skip::TooDeep));
    assert_eq!(
        decoded(1, &ethernet(0x86dd, &ipv6(0, &[0; 400]))),
        Err(Skip::TooDeep),
        "too many hop-by-hop headers"
    );
}

#[test]
fn ipv6_extension_headers_and_ipv4_options_are_skipped() {
    let tcp_bytes = tcp().bytes();
    for next in [0u8, 43, 60, 135, 139, 140] {
        holds(101, &ipv6(next, &with(&[6, 0, 0, 0, 0, 0, 0, 0], &tcp_bytes)));
        let long = with(&[6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &tcp_bytes);
        holds(101, &ipv6(0, &with(&[next, 0, 0, 0, 0, 0, 0, 0], &long)));
    }
    let authenticated = with(&[&[6, 4, 0, 0][..], &[0; 20]].concat(), &tcp_bytes);
    holds(101, &ipv6(51, &authenticated));
    holds(101, &ipv4(51, 1, 2, &authenticated));
    holds(101, &ipv6(44, &with(&[6, 0, 0, 0, 0, 0, 0, 1], &tcp_bytes)));

    let mut options = tcp().v4();
    options.splice(20..20, [1, 1, 1, 0]);
    options[0] = 0x46;
    options[3] += 4;
    holds(101, &options);
}

#[test]
fn only_the_first_fragment_is_read() {
    let segment = Tcp::new(ACK, 1, 1, 1000).bytes();
    let part = |place: u16, body: &[u8]| {
        let mut packet = ipv4(6, CLIENT.0, SERVER.0, body);
        packet[6..8].copy_from_slice(&place.to_be_bytes());
        ethernet(0x0800, &packet)
    };
    let part6 = |place: u16, body: &[u8]| {
        let [high, low] = place.to_be_bytes();
        ethernet(0x86dd, &ipv6(44, &with(&[6, 0, high, low, 0, 0, 0, 9], body)))
    };
    let (summary, recorded) = frames(&[
        part(0x2000, &segment[..520]),
        part(65, &segment[520..]),
        part6(1, &segment[..520]),
        part6(520, &segment[520..]),
    ]);
    assert_eq!(summary.count(Oddity::FirstFragment), 2);
    assert_eq!(summary.count(Oddity::LaterFragment), 2);
    assert_eq!(summary.segments, 2);
    assert!(recorded.lines[1].contains(" 0:500(500) "), "only the fragment's bytes: {recorded:?}");
    // A tunnel's first fragment knows the inner length.
    let inner = ipv4(6, CLIENT.0, SERVER.0, &segment);
    let mut outer = ipv4(4, 1, 2, &inner[..600]);
    outer[6] = 0x20;
    let frame = ethernet(0x0800, &outer);
    let packet = decoded(1, &frame).unwrap();
    assert_eq!(packet.tcp.payload, 1000);
    assert_eq!(packet.oddities.iter().collect::<Vec<_>>(), [Oddity::FirstFragment]);
}

#[test]
fn payload_length_prefers_headers_over_the_frame() {
    let payload = |frame: &[u8], wire: u32| {
        let packet = decode::headers(LinkType::ETHERNET, frame, wire).unwrap();
        (packet.tcp.payload, packet.oddities.iter().collect::<Vec<_>>())
    };
    // Ethernet's padding of short frames is not payload, on either path.
    let mut padded = Tcp::new(ACK, 1, 1, 0).frame();
    padded.resize(60, 0);
    assert_eq!(payload(&padded, 60), (0, vec![]));
    padded[20] = 0; // no longer "don't fragment": still fast
    assert_eq!(decode::headers(LinkType::ETHERNET, &padded, 60).unwrap().tcp.payload, 0);
    // Segmentation offload and jumbograms leave the length to the frame.
    let mut super_packet = Tcp::new(ACK, 1, 1, 100).frame();
    super_packet[16..18].fill(0);
    assert_eq!(payload(&super_packet, 100_000), (100_000 - 54, vec![Oddity::LengthFromFrame]));
    let mut jumbo = ethernet(0x86dd, &ipv6(0, &with(&[6, 0, 0xc2, 4, 0, 1, 0, 0], &tcp().bytes())));
    jumbo[18..20].fill(0);
    assert_eq!(payload(&jumbo, 200_000), (200_000 - 14 - 40 - 8 - 32, vec![Oddity::LengthFromFrame]));
    // A tool truncated the frame without recording its length on the wire.
    let frame = Tcp::new(ACK, 1, 1, 1000).frame();
    assert_eq!(payload(&frame[..54], 54), (1000, vec![Oddity::LengthBeyondFrame]));
    assert_eq!(payload(&frame[..54], 1054), (1000, vec![]));
    // PPPoE's own length takes precedence over IP's.
    let mut ip = Tcp::new(ACK, 1, 1, 0).v4();
    ip[3] = 46;
    ip.extend([0; 6]);
    let mut session = pppoe(&ip, &[0, 0x21]);
    session[5] = 42;
    assert_eq!(payload(&ethernet(0x8864, &session), 68), (0, vec![Oddity::LengthBeyondFrame]));
}

#[test]
fn contradictory_headers_are_malformed() {
    let malformed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = tcp().frame();
        change(&mut frame);
        assert_eq!(decoded(1, &frame), Err(Skip::Malformed));
    };
    malformed(&|frame| frame[14] = 0x44);
    malformed(&|frame| frame[14] = 0x35);
    malformed(&|frame| frame[17] = 19);
    malformed(&|frame| frame[17] = 30);
    malformed(&|frame| frame[46] = 0x40);
    malformed(&|frame| frame[46] = 0xf0);
    let mut frame = tcp().options(&[2, 4, 5, 180, 8, 0, 0, 0]).frame();
    let packet = decoded(1, &frame).unwrap();
    assert_eq!((packet.tcp.options.mss, packet.tcp.payload), (Some(1460), 10));
    assert!(packet.oddities.has(Oddity::MalformedOptions));
    frame.truncate(58);
    assert!(decode::headers(LinkType::ETHERNET, &frame, 72).unwrap().oddities.has(Oddity::OptionsCut));
    let (summary, _) = frames(&[frame]);
    assert_eq!((summary.segments, summary.count(Oddity::LengthBeyondFrame)), (1, 1));
}

#[test]
fn sack_is_read_from_a_truncated_frame_as_far_as_captured() {
    let sack = [
        1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18, 0, 0, 0, 50, 0, 0, 0, 60, 0, 0, 0, 70, 0, 0, 0, 80,
    ];
    let frame = Tcp::new(ACK, 1, 1, 0).options(&sack).frame();
    let packet = decoded(1, &frame).unwrap();
    assert_eq!(packet.tcp.options.sack_edges().collect::<Vec<_>>(), [(50, 60), (70, 80)]);
    let cut = decode::headers(LinkType::ETHERNET, &frame[..68], frame.len() as u32).unwrap();
    assert!(cut.tcp.options.sack.is_empty() && cut.tcp.options.timestamps.is_some());
    assert!(cut.oddities.has(Oddity::OptionsCut));
}

#[test]
fn protocols_other_than_tcp_are_counted() {
    let datagram = ethernet(0x0800, &ipv4(17, 1, 2, &udp(53, &[0; 20])));
    let ping = ethernet(0x0800, &ipv4(1, 1, 2, &[0; 20]));
    let (summary, _) = frames(&[datagram.clone(), ping, datagram, ethernet(0x0806, &[0; 28])]);
    let named: Vec<_> = summary.other_protocols.iter().map(|(which, n)| format!("{n} {which}")).collect();
    assert_eq!(named, ["1 ICMP", "2 UDP", "1 ARP"]);
    assert_eq!(summary.notes.len(), 2);
    let (summary, _) = read(&pcap(147, &[vec![0; 40]])).unwrap();
    let named: Vec<_> = summary.other_protocols.iter().map(|(which, n)| format!("{n} {which}")).collect();
    assert_eq!(named, ["1 link type 147"]);
    assert_eq!(summary.count(Oddity::UnsupportedLink), 1);
    assert_eq!(summary.interfaces[0].link_name, "not supported");
}

/// Nearly valid frames: a valid one with some bytes changed, cut somewhere.
fn frame() -> impl Strategy<Value = (Vec<u8>, u32)> {
    let options = prop_oneof![
        Just(vec![]),
        Just(vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]),
        prop::collection::vec(prop_oneof![0u8..11, any::<u8>()], 0..=40).prop_map(|mut options| {
            options.truncate(options.len() / 4 * 4);
            options
        }),
    ];
    let change = (0usize..100, any::<u8>());
    (
        (any::<u16>(), any::<u32>(), any::<u32>(), 0usize..100, options, any::<bool>(), 0usize..4),
        prop::collection::vec(change, 0..3),
        prop_oneof![Just(0usize), 0usize..120],
        prop_oneof![3 => Just(0i32), 1 => -80i32..200],
        0usize..8,
    )
        .prop_map(|((flags, seq, ack, payload, options, v6, tags), changes, cut, wire, padding)| {
            let tcp = Tcp::new(flags & 0xfff, seq, ack, payload).options(&options);
            let (mut kind, mut body) = if v6 { (0x86dd, tcp.v6()) } else { (0x0800, tcp.v4()) };
            for tag in [0x8100u16, 0x88a8, 0x9100].into_iter().take(tags) {
                body = with(&[[0, 9], u16::to_be_bytes(kind)].concat(), &body);
                kind = tag;
            }
            let mut frame = ethernet(kind, &body);
            frame.extend(std::iter::repeat_n(0, padding));
            let wire = (frame.len() as i32 + wire).max(0) as u32;
            for (at, value) in changes {
                let at = at % frame.len();
                frame[at] = value;
            }
            frame.truncate(frame.len() - cut.min(frame.len()));
            (frame, wire)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Where the fast path finds a segment, the general path finds the same one.
    #[test]
    fn fast_path_agrees_with_the_general_path((frame, wire) in frame()) {
        let long = decode::headers(LinkType::ETHERNET, &frame, wire);
        if let Some(packet) = decode::fast(&frame, wire) {
            prop_assert_eq!(long, Ok(packet));
        }
    }

    /// Whatever the bytes and the link type, nothing panics.
    #[test]
    fn decoding_any_bytes_does_not_panic(
        link in prop_oneof![Just(0u16), Just(1), Just(9), Just(10), Just(51), Just(101), Just(113), Just(104),
            Just(105), Just(127), Just(192), Just(239), Just(242), Just(276), any::<u16>()],
        frame in prop::collection::vec(any::<u8>(), 0..200),
        wire: u32,
    ) {
        let _ = decode::headers(LinkType(link), &frame, wire);
    }
}

#[test]
fn fast_path_takes_common_frames() {
    for tags in 0..=2 {
        let tag = [[0, 9, 0x81, 0], [0, 9, 8, 0]];
        let body = match tags {
            0 => tcp().frame(),
            1 => ethernet(0x8100, &with(&tag[1], &tcp().v4())),
            _ => ethernet(0x88a8, &with(&tag.concat(), &tcp().v4())),
        };
        assert!(decode::fast(&body, body.len() as u32).is_some());
    }
    let six = ethernet(0x86dd, &tcp().v6());
    assert!(decode::fast(&six, 2000).is_some());
    let stamped = tcp().options(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).frame();
    assert!(decode::fast(&stamped, 2000).is_some());
    let syn = Tcp::new(SYN, 1, 0, 0).options(&[2, 4, 5, 180, 1, 1, 4, 2]).frame();
    assert!(decode::fast(&syn, 2000).is_none());
}
