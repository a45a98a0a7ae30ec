//! The seeds of the fuzzers, under `fuzz/corpus`: written here, and read here, including former crashes.

use crate::build::{
    ACK, FIN, PSH, RST, SYN, Tcp, block, ethernet, gzip, icmp, interface, ipv4, ipv6, packet, pcap,
    pcap_header, read, record, section, udp, zstd,
};
use slowpath_capture::{LinkType, decode};
use slowpath_wire::tcp::Options;
use std::fs;
use std::path::PathBuf;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus").join(target)
}

fn talk() -> Vec<Vec<u8>> {
    let sack = [1, 1, 5, 10, 0, 0, 0, 120, 0, 0, 0, 130];
    vec![
        Tcp::new(SYN, 99, 0, 0)
            .options(&[2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7])
            .frame(),
        Tcp::new(SYN | ACK, 499, 100, 0).back().options(&[2, 4, 5, 180]).frame(),
        Tcp::new(PSH | ACK, 100, 500, 9).options(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]).frame(),
        Tcp::new(ACK, 500, 109, 0).back().options(&sack).frame(),
        Tcp::new(FIN | ACK, 109, 500, 0).frame(),
        Tcp::new(RST, 500, 0, 0).back().frame(),
        Tcp::new(SYN, 7777, 0, 0).frame(),
        // A challenge ACK, an ICMP error, a SYN with data and a cookie.
        Tcp::new(ACK, 70_000, 9, 0).back().frame(),
        ethernet(0x0800, &ipv4(1, 9, 0x0a00_0001, &icmp(3, 4, 1400, &Tcp::new(SYN, 7777, 0, 0).v4()))),
        Tcp::new(SYN, 8888, 0, 9).options(&[34, 6, 1, 2, 3, 4, 1, 1]).frame(),
    ]
}

fn captures() -> Vec<(&'static str, Vec<u8>)> {
    let mut nanoseconds = pcap_header(0xa1b2_3c4d, 1);
    let mut modified = pcap_header(0xa1b2_cd34, 1);
    for frame in talk() {
        nanoseconds.extend(record(9, 5, &frame[..frame.len().min(60)], frame.len()));
        let usual = record(8, 0, &frame, frame.len());
        modified.extend([&usual[..16], &[0; 8], &usual[16..]].concat());
    }
    let mut next = section();
    next.extend(interface(1, &[2, 0, 4, 0, b'e', b't', b'h', b'0', 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    next.extend(interface(
        101,
        &[9, 0, 1, 0, 0x94, 0, 0, 0, 14, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ));
    for (n, frame) in talk().iter().enumerate() {
        next.extend(packet(0, n as u64 * 1000, frame));
        next.extend(packet(1, n as u64 * 1000, &frame[14..]));
    }
    next.extend(block(3, &[&[54, 0, 0, 0], talk()[4].as_slice()].concat()));
    next.extend(block(2, &[&[0; 12][..], &[54, 0, 0, 0, 54, 0, 0, 0], talk()[4].as_slice()].concat()));
    next.extend(block(5, &[&[0; 12][..], &[5, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0]].concat()));
    next.extend(block(4, &[0; 8]));
    next.extend(section());
    let cooked: Vec<_> = talk()
        .iter()
        .map(|f| [&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], &f[14..]].concat())
        .collect();
    vec![
        ("usual.pcap", pcap(1, &talk())),
        ("nanoseconds.pcap", nanoseconds),
        ("modified.pcap", modified),
        ("cooked.pcap", pcap(113, &cooked)),
        ("usual.pcap.gz", gzip(&pcap(1, &talk()))),
        ("usual.pcap.zst", zstd(&pcap(1, &talk()))),
        ("blocks.pcapng", next.clone()),
        ("blocks.pcapng.zst", zstd(&next)),
    ]
}

fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let tcp = Tcp::new(ACK, 1, 1, 9).options(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
    let (v4, v6) = (tcp.v4(), tcp.v6());
    let on = |link: u16, frame: &[u8]| {
        let wire = frame.len() as u32;
        [&link.to_be_bytes()[..], &wire.to_be_bytes(), frame].concat()
    };
    let with = |header: &[u8], body: &[u8]| [header, body].concat();
    let inside = ethernet(0x0800, &v4);
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    vec![
        ("ipv4", on(1, &inside)),
        ("ipv6", on(1, &ethernet(0x86dd, &v6))),
        ("vlans", on(1, &ethernet(0x88a8, &with(&[0, 9, 0x81, 0, 0, 9, 8, 0], &v4)))),
        ("snap", on(1, &ethernet(80, &with(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &v4)))),
        ("pppoe", on(1, &ethernet(0x8864, &with(&[0x11, 0, 0, 9, 0, 63, 0, 0x21], &v4)))),
        ("mpls", on(1, &ethernet(0x8847, &with(&[0, 1, 0, 64, 0, 1, 1, 64], &v4)))),
        ("gre", on(101, &ipv4(47, 1, 2, &with(&[0x30, 0, 0x65, 0x58, 0, 0, 0, 1, 0, 0, 0, 1], &inside)))),
        (
            "erspan",
            on(101, &ipv4(47, 1, 2, &with(&[&[0x10, 0, 0x22, 0xeb][..], &[0; 16]].concat(), &inside))),
        ),
        ("vxlan", on(101, &ipv4(17, 1, 2, &udp(4789, &with(&[8, 0, 0, 0, 0, 0, 9, 0], &inside))))),
        ("geneve", on(101, &ipv4(17, 1, 2, &udp(6081, &with(&[0, 0, 0x65, 0x58, 0, 0, 9, 0], &inside))))),
        ("ipip", on(12, &ipv4(41, 1, 2, &ipv6(4, &v4)))),
        (
            "extensions",
            on(229, &ipv6(0, &with(&[44, 0, 5, 2, 0, 0, 0, 0, 6, 0, 0, 1, 0, 0, 0, 9], &tcp.bytes()))),
        ),
        ("authenticated", on(228, &ipv4(51, 1, 2, &with(&[&[6, 4][..], &[0; 22]].concat(), &tcp.bytes())))),
        ("loopback", on(0, &with(&[30, 0, 0, 0], &v6))),
        ("fddi", on(10, &with(&[&[0x50; 13][..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat(), &v4))),
        ("ppp", on(50, &with(&[0xff, 3, 0, 0x21], &v4))),
        ("cooked", on(276, &with(&[&[8, 0][..], &[0; 18]].concat(), &v4))),
        (
            "radiotap",
            on(
                127,
                &with(
                    &[&[0, 0, 9, 0, 2, 0, 0, 0, 0x20, 0x88, 1][..], &[0; 24], &[0, 0], &snap].concat(),
                    &v4,
                ),
            ),
        ),
        (
            "aggregate",
            on(105, &with(&[&[0x88, 1][..], &[0; 22], &[0x80, 0], &[7; 12], &[0, 69], &snap].concat(), &v4)),
        ),
        ("ppi", on(192, &with(&[0, 0, 8, 0, 1, 0, 0, 0], &inside))),
        ("nflog", on(239, &with(&[2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 3, 0, 65, 0, 9, 0], &v4))),
        ("infiniband", on(242, &with(&[&[0xfe; 40][..], &[8, 0, 0, 0]].concat(), &v4))),
        ("hdlc", on(104, &with(&[0x8f, 0, 8, 0], &v4))),
        ("tags", on(1, &ethernet(0x893f, &with(&[0, 1, 0, 2, 0, 0, 0x88, 0xe7, 0, 0, 0, 1], &inside)))),
        (
            "gtp",
            on(
                101,
                &ipv4(
                    17,
                    1,
                    2,
                    &udp(2152, &with(&[0x34, 255, 0, 69, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0, 9, 0], &v4)),
                ),
            ),
        ),
    ]
}

fn options() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("syn", vec![2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]),
        ("timestamps", vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]),
        ("sack", [&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 26][..], &[7; 24]].concat()),
        ("end", vec![2, 4, 5, 180, 0, 0, 0, 0]),
        ("length-0", vec![2, 4, 5, 180, 8, 0, 0, 0]),
    ]
}

fn events() -> Vec<(&'static str, Vec<u8>)> {
    [
        ("syn", "0.000000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 100 ecr 0,wscale 7> // frame 1 id 4660 ttl 64"),
        ("sack", "2.000000000 < . 1:1(0) ack 1449 win 0 <TS val 1 ecr 2,sack 2897:4345 5793:7241> // frame 9 ttl 1 ce"),
        ("missed", "1.500000000 missed 12"),
        ("icmp", "0.270000000 icmp packet-too-big mtu 1400 about > 1449 from 192.0.2.254 // frame 4"),
        ("fast-open", "0 > S 0:9(9) win 1 <FO,sack 1:2,sack-outside 2> // frame 1 ttl 64 checksum wrong"),
        ("by-hand", "-1 < FRPUEWA. -5:0(5) ack 1001 win 257 <nop,nop,sack 2001:3001,eol>"),
    ]
    .map(|(name, line)| (name, line.as_bytes().to_vec()))
    .to_vec()
}

/// Writes them; run by hand when they change.
#[test]
#[ignore = "writes fuzz/corpus"]
fn write_fuzz_seeds() {
    let all = [("capture", captures()), ("frame", frames()), ("options", options()), ("event", events())];
    for (target, seeds) in all {
        let folder = corpus(target);
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in seeds {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

fn each(target: &str, check: impl Fn(&[u8])) {
    let mut count = 0;
    for entry in fs::read_dir(corpus(target)).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 3, "{target} has seeds");
}

#[test]
fn every_fuzz_seed_is_read_without_a_crash() {
    each("capture", |bytes| {
        let _ = read(bytes);
    });
    each("frame", |bytes| {
        let Some((&[a, b, c, d, e, f], frame)) = bytes.split_first_chunk() else { return };
        let _ =
            decode::headers(LinkType(u16::from_be_bytes([a, b])), frame, u32::from_be_bytes([c, d, e, f]));
    });
    each("options", |bytes| {
        Options::parse(bytes, false);
    });
    each("event", |bytes| {
        let _ = String::from_utf8_lossy(bytes).parse::<slowpath_model::Event>();
    });
}

#[test]
fn fuzz_seeds_cover_the_intended_cases() {
    for (name, file) in captures() {
        let (summary, _) = read(&file).unwrap();
        assert_eq!(summary.stopped, None, "{name}");
        assert!(summary.segments >= 7, "{name}");
    }
    for (name, bytes) in frames() {
        let link = LinkType(u16::from_be_bytes([bytes[0], bytes[1]]));
        decode::headers(link, &bytes[6..], bytes.len() as u32 - 6)
            .unwrap_or_else(|skip| panic!("{name}: {skip:?}"));
    }
    for (name, line) in events() {
        assert!(String::from_utf8(line).unwrap().parse::<slowpath_model::Event>().is_ok(), "{name}");
    }
}
