//! Which checksums are verified, and the results.

use crate::build::{ACK, SYN, Tcp, ethernet, frames, pcap_header, read, record, summed};
use slowpath_model::{Checksum, EventKind};

/// The checksum of each segment of a capture of these frames.
fn checksums(all: &[Vec<u8>]) -> Vec<Checksum> {
    let (_, recorded) = frames(all);
    let segments = recorded.events.iter().map(|(_, event)| match event.kind {
        EventKind::Seen(segment) => segment.checksum,
        _ => panic!("no segment"),
    });
    segments.collect()
}

fn damaged(mut packet: Vec<u8>) -> Vec<u8> {
    *packet.last_mut().unwrap() ^= 1;
    packet
}

#[test]
fn syns_and_retransmissions_are_verified() {
    let good = |tcp: Tcp| ethernet(0x0800, &summed(tcp.v4()));
    let wrong = |tcp: Tcp| ethernet(0x0800, &damaged(summed(tcp.v4())));
    let data = |seq| Tcp::new(ACK, seq, 500, 101);
    let found = checksums(&[
        good(Tcp::new(SYN, 99, 0, 0).options(&[2, 4, 5, 180])),
        wrong(Tcp::new(SYN | ACK, 499, 100, 0).back().options(&[2, 4, 5, 180])),
        good(data(100)),
        wrong(data(201)),
        good(data(302)),
        wrong(data(302)),
        good(data(201)),
        wrong(data(201)),
        good(Tcp::new(ACK, 500, 100, 0).back()),
    ]);
    use Checksum::{Good, Unknown, Wrong};
    assert_eq!(found, [Good, Wrong, Unknown, Unknown, Unknown, Wrong, Good, Wrong, Unknown]);
}

#[test]
fn ipv6_checksums_are_verified_after_extension_headers() {
    let syn = summed(Tcp::new(SYN, 99, 0, 0).v6());
    let mut options = [&syn[..40], &[6, 0, 1, 4, 0, 0, 0, 0], &syn[40..]].concat();
    options[4..6].copy_from_slice(&28_u16.to_be_bytes());
    options[6] = 60;
    // Two addresses are left: the checksum is for the last of them, which is not in the IPv6 header.
    let mut routed = options.clone();
    (routed[6], routed[43]) = (43, 2);
    let found = [syn.clone(), damaged(syn), options, routed].map(|ip| checksums(&[ethernet(0x86dd, &ip)])[0]);
    assert_eq!(found, [Checksum::Good, Checksum::Wrong, Checksum::Good, Checksum::Unknown]);
}

#[test]
fn truncated_or_offloaded_checksums_are_not_verified() {
    let whole = ethernet(0x0800, &damaged(summed(Tcp::new(SYN, 99, 0, 10).v4())));
    assert_eq!(checksums(std::slice::from_ref(&whole)), [Checksum::Wrong]);
    let cut = [pcap_header(0xa1b2_c3d4, 1), record(1, 0, &whole[..60], whole.len())].concat();
    let (_, recorded) = read(&cut).unwrap();
    let EventKind::Seen(segment) = recorded.events[0].1.kind else { panic!("no segment") };
    assert_eq!(segment.checksum, Checksum::Unknown);
    assert_eq!(checksums(&[Tcp::new(SYN, 99, 0, 10).frame()]), [Checksum::Unknown], "0");
    // Ethernet's padding is not part of the segment.
    let mut padded = ethernet(0x0800, &summed(Tcp::new(SYN, 99, 0, 0).v4()));
    padded.extend([7; 6]);
    assert_eq!(checksums(&[padded]), [Checksum::Good]);
}
