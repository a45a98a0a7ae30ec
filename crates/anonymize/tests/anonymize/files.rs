//! Files: the same events and statistics, in every format, whatever else is in them, and however damaged they are.

use crate::{corpus, damaged, names};
use proptest::prelude::*;
use slowpath_anonymize::{Copied, Renamed, copy};
use slowpath_capture::{Capture, CaptureError, CaptureSummary, Oddity};
use slowpath_model::{Checksum, Event, EventKind, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_wire::pcapng;
use std::io::Cursor;

/// What is read from a file, as text. A checksum that was good may be unknown in a copy.
#[derive(Default)]
struct Lines(Vec<String>);

impl Sink for Lines {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.push(format!("{flow}: {key}"));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        let mut kind = event.kind;
        if let EventKind::Seen(segment) = &mut kind
            && segment.checksum == Checksum::Good
        {
            segment.checksum = Checksum::Unknown;
        }
        self.0.push(format!("{flow}: {:?} {kind:?}", event.at));
    }
    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.0.push(format!("{flow}: {end:?}"));
    }
}

fn capture(file: &[u8]) -> Capture {
    Capture::from_reader("test", Cursor::new(file.to_vec()))
}

/// The summary without sizes, names and places in the file.
fn plain(summary: CaptureSummary) -> String {
    let mut plain = summary;
    (plain.file_bytes, plain.captured_bytes, plain.stopped) = (0, 0, None);
    plain.compression = slowpath_capture::Compression::None;
    plain.interfaces.iter_mut().for_each(|interface| interface.name = None);
    // Blocks that are left out, and frames that are too long to be examined whole, are no oddity of the copy; where
    // headers are cut off, the copy may be cut off before they contradict themselves.
    plain.notes.retain(|note| {
        let left =
            [Oddity::UnknownBlock, Oddity::LargeRecord, Oddity::TruncatedHeader, Oddity::MalformedHeader];
        !left.contains(&note.oddity)
    });
    plain.notes.iter_mut().for_each(|note| note.first_offset = 0);
    format!("{plain:?}")
}

fn copied(file: &[u8]) -> Result<(Vec<u8>, Copied), CaptureError> {
    let mut written = Vec::new();
    match copy(capture(file), &mut names(), &mut written) {
        Ok(copied) => Ok((written, copied)),
        Err(slowpath_anonymize::file::CopyError::Capture(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// The copy has the events of the original.
fn check(file: &[u8]) -> Result<(), TestCaseError> {
    let mut before = Lines::default();
    let read = capture(file).run(&mut Renamed::new(&mut before, &mut names()));
    let copy = copied(file);
    let Ok(read) = read else { return Ok(()) };
    let (copy, _) = copy.expect("what can be read can be copied");
    let mut after = Lines::default();
    let again = capture(&copy).run(&mut after).expect("a capture");
    prop_assert_eq!(after.0, before.0);
    prop_assert_eq!(plain(again), plain(read));
    Ok(())
}

#[test]
fn every_format_is_read_from_its_copy() {
    for (name, file) in corpus("capture") {
        assert!(capture(&file).run(&mut ()).is_ok_and(|summary| summary.segments > 0), "{name}");
        if let Err(error) = check(&file) {
            panic!("{name}: {error}");
        }
    }
}

/// A block with a body.
fn block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (body.len().next_multiple_of(4) + pcapng::FRAME) as u32;
    file.extend(kind.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(body);
    file.resize(file.len().next_multiple_of(4), 0);
    file.extend(length.to_le_bytes());
}

#[test]
fn names_comments_and_secrets_of_pcapng_are_left_out() {
    const HIDDEN: [&str; 9] = [
        "office-laptop",
        "dumpcap of Eve",
        "wlp3s0-secret",
        "host admin@corp",
        "a comment on it",
        "db.internal.example",
        "CLIENT_RANDOM 00",
        "custom content",
        "journal entry of",
    ];
    let mut file = Vec::new();
    pcapng::put_section(&mut file, &[(1, HIDDEN[0].as_bytes()), (4, HIDDEN[1].as_bytes())]);
    let clock: &[(u16, &[u8])] =
        &[(2, HIDDEN[2].as_bytes()), (9, &[9]), (14, &1000_u64.to_le_bytes()), (12, HIDDEN[3].as_bytes())];
    pcapng::put_interface(&mut file, 101, clock);
    let (_, seed) = corpus("frame").into_iter().find(|(name, _)| name.ends_with("/ipv4")).expect("a seed");
    let packet = &seed[6 + 14..];
    let mut body = [0, 0, 5000].map(u32::to_le_bytes).concat();
    body.extend([packet.len() as u32; 2].map(u32::to_le_bytes).concat());
    body.extend(packet);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend([1, 0, HIDDEN[4].len() as u8, 0]);
    body.extend(HIDDEN[4].as_bytes());
    block(&mut file, pcapng::ENHANCED_PACKET, &body);
    block(&mut file, pcapng::NAME_RESOLUTION, HIDDEN[5].as_bytes());
    block(&mut file, pcapng::DECRYPTION_SECRETS, HIDDEN[6].as_bytes());
    block(&mut file, 0x0bad, HIDDEN[7].as_bytes());
    block(&mut file, 9, HIDDEN[8].as_bytes());
    block(&mut file, 0x7777, HIDDEN[8].as_bytes());
    let statistics = [&[0; 12][..], &[5, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0], b"busy"].concat();
    block(&mut file, pcapng::INTERFACE_STATISTICS, &statistics);
    pcapng::put_packet(&mut file, 0, 9000, packet.len() as u32, packet);

    let (copy, copied) = copied(&file).expect("a capture");
    for hidden in HIDDEN {
        let holds = |bytes: &[u8]| {
            bytes.windows(8).any(|eight| hidden.as_bytes().windows(8).any(|part| part == eight))
        };
        assert!(holds(&file) && !holds(&copy), "{hidden}");
    }
    let left_out: Vec<_> = copied.left_out.into_iter().collect();
    assert_eq!(
        left_out,
        [
            ("custom blocks, journal entries and other events", 2),
            ("decryption secrets", 1),
            ("interface names and options", 1),
            ("name resolution blocks", 1),
            ("packet comments and options", 1),
            ("section options", 1),
            ("statistics options", 1),
            ("unknown blocks", 1),
        ]
    );
    assert_eq!((copied.frames, copied.segments), (2, 2));
    let summary = capture(&copy).run(&mut ()).expect("a capture");
    assert_eq!((summary.drops, summary.epoch_ns), (Some(7), Some(1_000_000_005_000)), "clock and drops stay");
    assert_eq!(summary.frames, 4, "blocks that are numbered leave their numbers");
    if let Err(error) = check(&file) {
        panic!("{error}");
    }
}

#[test]
fn capture_that_breaks_off_is_copied_up_to_there() {
    let (_, file) =
        corpus("capture").into_iter().find(|(name, _)| name.ends_with("/usual.pcap")).expect("a seed");
    let (_, whole) = copied(&file).expect("a capture");
    assert_eq!(whole.stopped, None);
    let (copy, cut) = copied(&file[..file.len() - 5]).expect("a capture");
    let reason = cut.stopped.expect("it breaks off").reason;
    assert!(reason.contains("the capture ends inside a record"), "{reason}");
    assert_eq!(cut.frames, whole.frames - 1);
    assert_eq!(capture(&copy).run(&mut ()).expect("a capture").stopped, None, "the copy is whole");
    assert!(copied(b"no capture at all, but some text").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files_are_read_from_their_copies(file in damaged(corpus("capture"))) {
        check(&file)?;
    }
}
