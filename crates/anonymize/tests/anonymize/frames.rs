//! The reader of captures finds in a copy what it finds in the original, whatever the link type, the tunnel or the damage.

use crate::{corpus, damaged, names};
use proptest::prelude::*;
use slowpath_anonymize::Names;
use slowpath_anonymize::frame::Frames;
use slowpath_capture::addresses::Addresses;
use slowpath_capture::layer::{Fragment, Quote, Skip};
use slowpath_capture::{LinkType, decode};

fn renamed(addresses: Addresses, names: &mut Names) -> Addresses {
    match addresses {
        Addresses::V4 { source, destination } => {
            Addresses::V4 { source: names.v4(source), destination: names.v4(destination) }
        }
        Addresses::V6 { source, destination } => {
            Addresses::V6 { source: names.v6(source), destination: names.v6(destination) }
        }
    }
}

/// What is found in a frame, with other names.
fn found(link: LinkType, frame: &[u8], wire: u32, names: &mut Names) -> String {
    match decode::headers(link, frame, wire) {
        Ok(mut packet) => {
            let (from, to) = (packet.addresses.source(), packet.addresses.destination());
            packet.tcp.source = names.port(from, packet.tcp.source);
            packet.tcp.destination = names.port(to, packet.tcp.destination);
            packet.addresses = renamed(packet.addresses, names);
            format!("{packet:?}")
        }
        Err(Skip::IcmpError(quote)) => {
            let (from, to) = (quote.addresses.source(), quote.addresses.destination());
            let ports = (names.port(from, quote.ports.0), names.port(to, quote.ports.1));
            let addresses = renamed(quote.addresses, names);
            format!("{:?}", Quote { from: names.address(quote.from), addresses, ports, ..quote })
        }
        Err(Skip::LaterFragment(fragment)) => {
            format!("{:?}", Fragment { addresses: renamed(fragment.addresses, names), ..fragment })
        }
        // Of headers that are cut off it does not matter where.
        Err(Skip::Truncated | Skip::Malformed) => "cut off or malformed".to_owned(),
        Err(skip) => format!("{skip:?}"),
    }
}

/// A seed of the fuzz target: link type, length on the wire, frame.
fn of_seed(seed: &[u8]) -> Option<(LinkType, u32, &[u8])> {
    let (&[a, b, c, d, e, f], frame) = seed.split_first_chunk()?;
    let wire = u32::from_be_bytes([c, d, e, f]);
    Some((LinkType(u16::from_be_bytes([a, b])), wire, frame))
}

/// The copy has what the original has.
fn check(seed: &[u8], name: &str) -> Result<(), TestCaseError> {
    let Some((link, wire, frame)) = of_seed(seed) else { return Ok(()) };
    // Captured bytes beyond the length on the wire count as its length.
    let wire = wire.max(frame.len() as u32);
    let mut names = names();
    let copy = Frames::new(&mut names).copy(link, frame, wire, false).0.to_vec();
    prop_assert!(copy.len() <= frame.len(), "{}", name);
    let (before, after) = (found(link, frame, wire, &mut names), found_in_copy(link, &copy, wire));
    prop_assert_eq!(after, before, "{}: {:02x?} became {:02x?}", name, frame, copy);
    Ok(())
}

/// What is found in a copy, as it is there.
fn found_in_copy(link: LinkType, frame: &[u8], wire: u32) -> String {
    match decode::headers(link, frame, wire) {
        Ok(packet) => format!("{packet:?}"),
        Err(Skip::IcmpError(quote)) => format!("{quote:?}"),
        Err(Skip::LaterFragment(fragment)) => format!("{fragment:?}"),
        Err(Skip::Truncated | Skip::Malformed) => "cut off or malformed".to_owned(),
        Err(skip) => format!("{skip:?}"),
    }
}

#[test]
fn every_link_type_and_tunnel_is_read_from_its_copy() {
    for (name, seed) in corpus("frame") {
        let (link, wire, frame) = of_seed(&seed).expect("a frame");
        assert!(decode::headers(link, frame, wire).is_ok(), "{name} has a segment");
        if let Err(error) = check(&seed, &name) {
            panic!("{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_frames_are_read_from_their_copies(seed in damaged(corpus("frame"))) {
        check(&seed, "damaged")?;
    }

    #[test]
    fn any_bytes_have_a_copy(link in 0_u16..300, wire: u32, frame in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut names = names();
        let copy = Frames::new(&mut names).copy(LinkType(link), &frame, wire, false).0.len();
        prop_assert!(copy <= frame.len());
    }
}
