//! TCP segments in IP fragments: when they count, and what is reported of the others.

use crate::build::{ACK, CLIENT, Recorded, SERVER, Tcp, ethernet, frames, ipv4, ipv6};
use slowpath_capture::Oddity;
use slowpath_model::EventKind;

/// A fragment of an IPv4 packet with this identification, from CLIENT to SERVER.
fn fragment(id: u16, place: u16, body: &[u8]) -> Vec<u8> {
    let mut packet = ipv4(6, CLIENT.0, SERVER.0, body);
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[6..8].copy_from_slice(&place.to_be_bytes());
    ethernet(0x0800, &packet)
}

/// A fragment of an IPv6 packet with this identification.
fn fragment6(id: u8, place: u16, body: &[u8]) -> Vec<u8> {
    let [high, low] = place.to_be_bytes();
    ethernet(0x86dd, &ipv6(44, &[&[6, 0, high, low, 0, 0, 0, id], body].concat()))
}

/// The frame and the length of each segment.
fn lengths(recorded: &Recorded) -> Vec<(u64, u32)> {
    let segments = recorded.events.iter().filter_map(|(_, event)| match event.kind {
        EventKind::Seen(segment) => Some((segment.frame, segment.len)),
        _ => None,
    });
    segments.collect()
}

#[test]
fn segment_arrives_with_its_last_fragment() {
    let bytes = |seq: u32| Tcp::new(ACK, seq, 1, 1000).bytes();
    type Part = fn(u8, u16, &[u8]) -> Vec<u8>;
    let v4: Part = |id, place, body| fragment(id.into(), place, body);
    let v6: Part = |id, place, body| fragment6(id, place, body);
    // The unit of the offset is 8 bytes, above the three lowest bits in IPv6.
    for (part, more, unit) in [(v4, 0x2000, 8), (v6, 1, 1)] {
        let at = |bytes: u16| bytes / unit;
        let of = |id: u8, seq: u32| {
            let whole = bytes(seq);
            [
                part(id, more, &whole[..520]),
                part(id, more | at(520), &whole[520..720]),
                part(id, at(720), &whole[720..]),
            ]
        };
        let [one, two, three, four] = [1u8, 2, 3, 4].map(|n| of(n, u32::from(n) * 1000));
        let (summary, recorded) = frames(&[
            // None of the others is known to be captured.
            one[0].clone(),
            one[1].clone(),
            one[2].clone(),
            // In any order, and mixed.
            two[2].clone(),
            three[0].clone(),
            two[0].clone(),
            three[2].clone(),
            two[1].clone(),
            // The middle of the third is missing.
            four[0].clone(),
            four[1].clone(),
            four[1].clone(),
            four[2].clone(),
        ]);
        assert_eq!(lengths(&recorded), [(1, 500), (8, 1000), (12, 1000)]);
        assert_eq!(summary.count(Oddity::FirstFragment), 1);
        assert_eq!(summary.count(Oddity::MissingFragments), 1);
        let missing = summary.notes.iter().find(|note| note.oddity == Oddity::MissingFragments);
        assert_eq!(missing.map(|note| note.first_frame), Some(5));
        assert_eq!(summary.count(Oddity::LaterFragment), 8);
        assert_eq!(summary.skipped(), 9);
    }
}

#[test]
fn segment_in_a_fragmented_tunnel_needs_all_fragments() {
    let outer = |id: u16, seq: u32| {
        let inner = ipv4(6, CLIENT.0, SERVER.0, &Tcp::new(ACK, seq, 1, 1000).bytes());
        let part = |place: u16, body: &[u8]| {
            let mut packet = ipv4(4, 1, 2, body);
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            packet[6..8].copy_from_slice(&place.to_be_bytes());
            ethernet(0x0800, &packet)
        };
        [part(0x2000, &inner[..600]), part(75, &inner[600..])]
    };
    let [one, two, three] = [outer(1, 1000), outer(2, 2000), outer(3, 3000)];
    let [[a, b], [c, _], [d, e]] = [one, two, three];
    let (summary, recorded) = frames(&[a, b, c, d, e]);
    assert_eq!(lengths(&recorded), [(1, 1000), (5, 1000)]);
    assert_eq!(summary.count(Oddity::MissingFragments), 1);
}

/// Fragments of datagrams that never become whole do not fill the memory.
#[test]
fn unfinished_datagrams_are_given_up() {
    let whole = Tcp::new(ACK, 1000, 1, 1000).bytes();
    let mut all = vec![fragment(9, 65, &whole[520..])];
    all.extend((1000..3000).map(|id| fragment(id, 0x2000, &whole[..520])));
    // The rest of the first comes too late.
    all.push(fragment(1000, 65, &whole[520..]));
    all.push(fragment(2999, 65, &whole[520..]));
    let (summary, recorded) = frames(&all);
    assert_eq!(lengths(&recorded), [(2003, 1000)]);
    assert_eq!(summary.count(Oddity::MissingFragments), 1999);
    assert_eq!(summary.count(Oddity::FirstFragment), 0);
}
