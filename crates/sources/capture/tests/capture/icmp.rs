//! ICMP errors, and the flows that they quote.

use slowpath_capture::Protocol;

use crate::build::{ACK, CLIENT, SERVER, SYN, Tcp, ethernet, frames, icmp, ipv4, ipv6, udp};

const ROUTER: u32 = 0xc000_02fe;

/// From a router to the client.
fn to_client(kind: u8, code: u8, word: u32, quoted: &[u8]) -> Vec<u8> {
    ethernet(0x0800, &ipv4(1, ROUTER, CLIENT.0, &icmp(kind, code, word, quoted)))
}

fn handshake() -> Vec<Vec<u8>> {
    vec![
        Tcp::new(SYN, 99, 0, 0).frame(),
        Tcp::new(SYN | ACK, 499, 100, 0).back().frame(),
        Tcp::new(ACK, 100, 500, 1448).frame(),
    ]
}

/// The event for an ICMP message after a handshake, and how many frames are skipped.
fn recorded(message: Vec<u8>) -> (Option<String>, u64) {
    let mut all = handshake();
    all.push(message);
    let (summary, recorded) = frames(&all);
    let line = recorded.lines.iter().find_map(|line| Some(line.split_once(" icmp ")?.1.to_owned()));
    assert_eq!(summary.icmp_errors, u64::from(line.is_some()));
    assert_eq!(summary.other_protocols.values().sum::<u64>(), summary.skipped());
    (line, summary.skipped())
}

#[test]
fn icmp_error_is_an_event_of_the_quoted_flow() {
    let sent = Tcp::new(ACK, 100, 500, 1448).v4();
    let says = |kind, code, word, what: &str| {
        let line = format!("{what} about > 1 from 192.0.2.254 // frame 4");
        assert_eq!(recorded(to_client(kind, code, word, &sent[..28])), (Some(line), 0));
    };
    says(3, 4, 1400, "packet-too-big mtu 1400");
    says(3, 4, 0, "packet-too-big");
    says(3, 0, 0, "network-unreachable");
    says(3, 1, 0, "host-unreachable");
    says(3, 3, 0, "port-unreachable");
    says(3, 13, 0, "administratively-prohibited");
    says(3, 5, 0, "unreachable code 5");
    says(11, 0, 0, "time-exceeded");
    says(12, 0, 0, "other type 12 code 0");
    // The quoted packet may be whole, and its length field need not be correct.
    let mut whole = sent;
    whole[2] = 0xff;
    assert!(recorded(to_client(11, 0, 0, &whole)).0.is_some());
}

#[test]
fn quoted_segment_determines_the_end() {
    let answer = Tcp::new(SYN | ACK, 499, 100, 0).back().v4();
    let to_server = ethernet(0x0800, &ipv4(1, ROUTER, SERVER.0, &icmp(3, 10, 0, &answer[..28])));
    let line = "administratively-prohibited about < 0 from 192.0.2.254 // frame 4";
    assert_eq!(recorded(to_server).0.unwrap(), line);
    // A number that is far from the flow's.
    let stray = Tcp::new(ACK, 2_000_000_000, 500, 10).v4();
    let line = "time-exceeded about > from 192.0.2.254 // frame 4";
    assert_eq!(recorded(to_client(11, 0, 0, &stray[..28])).0.unwrap(), line);
}

#[test]
fn icmpv6_errors_are_read() {
    let segment = Tcp::new(ACK, 100, 500, 1448).v6();
    let error = |quoted: &[u8]| ethernet(0x86dd, &ipv6(58, &icmp(2, 0, 1280, quoted)));
    let open = ethernet(0x86dd, &Tcp::new(SYN, 99, 0, 0).v6());
    let (summary, recorded) = frames(&[open.clone(), error(&segment)]);
    assert_eq!((summary.icmp_errors, summary.skipped()), (1, 0));
    assert!(recorded.lines[2].ends_with(" icmp packet-too-big mtu 1280 about > 1 from fd00::1 // frame 2"));
    // With a fragment header between IPv6 and TCP.
    let mut fragment = [&segment[..40], &[6, 0, 0, 1, 0, 0, 0, 9], &segment[40..]].concat();
    fragment[6] = 44;
    assert_eq!(frames(&[open, error(&fragment)]).0.icmp_errors, 1);
}

#[test]
fn quoted_segment_in_a_tunnel_is_found() {
    let inside = ethernet(0x0800, &Tcp::new(ACK, 100, 500, 1448).v4());
    let vxlan = ipv4(17, 1, 2, &udp(4789, &[&[8, 0, 0, 0, 0, 0, 9, 0], inside.as_slice()].concat()));
    let line = "packet-too-big mtu 1450 about > 1 from 192.0.2.254 // frame 4";
    assert_eq!(recorded(to_client(3, 4, 1450, &vxlan)).0.unwrap(), line);
    assert_eq!(recorded(to_client(3, 4, 1450, &vxlan[..60])), (None, 1), "too little of it is quoted");
}

#[test]
fn other_messages_and_unknown_flows_are_only_counted() {
    let sent = Tcp::new(ACK, 100, 500, 1448).v4();
    assert_eq!(recorded(to_client(5, 1, 0, &sent[..28])), (None, 1), "a redirect");
    assert_eq!(recorded(to_client(8, 0, 0, &sent[..28])), (None, 1), "a ping");
    assert_eq!(recorded(to_client(3, 4, 1400, &sent[..27])), (None, 1), "too little of it is quoted");
    let mut later = sent.clone();
    later[7] = 9;
    assert_eq!(recorded(to_client(3, 4, 1400, &later[..28])), (None, 1), "a later fragment");
    let about_error = ipv4(1, 1, 2, &icmp(11, 0, 0, &sent[..28]));
    assert_eq!(recorded(to_client(11, 0, 0, &about_error)), (None, 1), "an error about an error");
    // It opens no flow.
    let (summary, recorded) = frames(&[to_client(3, 4, 1400, &sent[..28])]);
    assert_eq!((summary.flows, summary.icmp_errors, recorded.lines.len()), (0, 0, 0));
    assert_eq!(summary.other_protocols.into_iter().collect::<Vec<_>>(), [(Protocol::Ip(1), 1)]);
}
