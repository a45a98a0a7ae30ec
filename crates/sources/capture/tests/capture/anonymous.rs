//! Copies without addresses and payload, from which the same events are read.

use crate::build::{
    ACK, CLIENT, FIN, Recorded, SYN, Tcp, ethernet, icmp, ipv4, ipv6, pcap, read, summed, udp,
};
use proptest::prelude::*;
use slowpath_capture::Capture;
use slowpath_capture::anonymous::{Anonymiser, Copied};
use slowpath_model::{Checksum, EventKind};
use std::io::Cursor;

/// The copy of a capture, and what was copied.
fn copy(file: &[u8]) -> (Vec<u8>, Copied) {
    let mut written = Vec::new();
    let capture = Capture::from_reader("test", Cursor::new(file.to_vec()));
    let mut seen = Recorded::default();
    let copied = Anonymiser::default().copy(capture, &mut seen, &mut written).expect("a copy");
    assert_eq!(seen, read(file).expect("a capture").1, "the original is read as always");
    (written, copied)
}

/// Its events without frame numbers and addresses; a checksum that was found to be good may be unknown in a copy.
fn events(file: &[u8]) -> Vec<String> {
    let (_, recorded) = read(file).expect("a capture");
    let event = |(flow, event): &(_, slowpath_model::Event)| {
        let mut kind = event.kind;
        match &mut kind {
            EventKind::Seen(segment) => {
                segment.frame = 0;
                if segment.checksum == Checksum::Good {
                    segment.checksum = Checksum::Unknown;
                }
            }
            EventKind::IcmpError(error) => (error.frame, error.from) = (0, None),
            _ => {}
        }
        format!("{flow} {:?} {kind:?}", event.at)
    };
    recorded.events.iter().map(event).collect()
}

fn holds(file: &[u8], what: &[u8]) -> bool {
    file.windows(what.len()).any(|part| part == what)
}

#[test]
fn copy_has_the_events_and_nothing_of_the_hosts() {
    let mut damaged = summed(Tcp::new(ACK, 100, 500, 101).v4());
    *damaged.last_mut().expect("payload") ^= 1;
    let router = 0xc633_0a0a;
    let mut error = icmp(3, 4, 1400, &Tcp::new(ACK, 100, 500, 101).v4()[..28]);
    error.extend(*b"xxxxxxxx");
    let named = [
        Tcp::new(SYN, 99, 0, 0).options(&[2, 4, 5, 180, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 1]).frame(),
        Tcp::new(SYN | ACK, 499, 100, 0).back().frame(),
        ethernet(0x0800, &summed(Tcp::new(ACK, 100, 500, 101).v4())),
        ethernet(0x0800, &damaged),
        ethernet(0x0800, &ipv4(1, router, CLIENT.0, &error)),
        ethernet(0x0800, &ipv4(17, CLIENT.0, router, &udp(53, b"example.com"))),
        ethernet(0x0806, b"who-has"),
        ethernet(0x86dd, &Tcp::new(ACK, 1, 1, 7).v6()),
        ethernet(0x86dd, &ipv6(58, b"neighbour")),
        Tcp::new(ACK | FIN, 201, 500, 0).frame(),
    ];
    let file = pcap(1, &named);
    let (written, copied) = copy(&file);
    assert_eq!((copied.frames, copied.left_out), (7, 3));
    assert_eq!(events(&written), events(&file));
    let fd00 = (0xfd00_u128 << 112 | 1).to_be_bytes();
    for gone in [&CLIENT.0.to_be_bytes()[..], &router.to_be_bytes(), &fd00, b"xxxx", b"example", b"who-has"] {
        assert!(holds(&file, gone) && !holds(&written, gone), "{gone:?}");
    }
    // Both copies of a transfer have the same replacements, and the same clock.
    let mut anonymiser = Anonymiser::default();
    let [mut one, mut other] = [Vec::new(), Vec::new()];
    for (frames, written) in [(&named[..3], &mut one), (&named[1..3], &mut other)] {
        let capture = Capture::from_reader("test", Cursor::new(pcap(1, frames)));
        anonymiser.copy(capture, &mut Recorded::default(), written).expect("a copy");
    }
    let key = |file: &[u8]| read(file).expect("a capture").1.lines[0].clone();
    assert!(key(&one).contains("192.0.2.1:40000") && key(&other).contains("192.0.2.1:40000"));
    let epochs = [&one, &other].map(|file| read(file).expect("a capture").0.epoch_ns);
    assert_eq!(epochs, [Some(86_400_000_000_000); 2]);
}

proptest! {
    /// Frames of any content: no panic, and the segments that can be read are in the copy.
    #[test]
    fn copy_of_any_frames_has_their_events(
        frames in prop::collection::vec(
            (0..6_u8, any::<u32>(), any::<u32>(), 0..40_usize, prop::collection::vec(any::<u8>(), 0..80), any::<bool>()),
            1..20,
        )
    ) {
        let of = |(flags, seq, ack, payload, noise, back): &(u8, u32, u32, usize, Vec<u8>, bool)| {
            let flags = [SYN, ACK, SYN | ACK, ACK | FIN, ACK, 0][usize::from(*flags)];
            if flags == 0 {
                return noise.clone();
            }
            let tcp = Tcp::new(flags, *seq, *ack, *payload);
            if *back { tcp.back().frame() } else { tcp.frame() }
        };
        let frames: Vec<Vec<u8>> = frames.iter().map(of).collect();
        let file = pcap(1, &frames);
        let (written, _) = copy(&file);
        if !events(&file).is_empty() {
            // Times are from the first frame, which may be left out.
            let kinds = |file: &[u8]| -> Vec<String> {
                let kind = |event: String| event.split_once("Seen").map_or_else(String::new, |(_, kind)| kind.to_owned());
                events(file).into_iter().map(kind).collect()
            };
            prop_assert_eq!(kinds(&written), kinds(&file));
        }
    }
}
