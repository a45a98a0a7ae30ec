//! Files: every variant of the formats, truncated files, and false lengths.

use crate::build::{
    self, ACK, SYN, Tcp, block, gzip, interface, packet, pcap, pcap_header, read, record, section, zstd,
};
use slowpath_capture::{Capture, CaptureError, CaptureSummary, Compression, Format, Oddity};
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

/// A handshake and some data.
fn talk() -> Vec<Vec<u8>> {
    vec![
        Tcp::new(SYN, 99, 0, 0).options(&[2, 4, 5, 180, 1, 3, 3, 7]).frame(),
        Tcp::new(SYN | ACK, 499, 100, 0).back().frame(),
        Tcp::new(ACK, 100, 500, 0).frame(),
        Tcp::new(ACK, 100, 500, 64).frame(),
        Tcp::new(ACK, 500, 164, 0).back().frame(),
    ]
}

fn pcapng(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = section();
    file.extend(interface(1, &[]));
    for (n, frame) in frames.iter().enumerate() {
        file.extend(packet(0, 1_000_000_000 + n as u64 * 1000, frame));
    }
    file
}

/// Before version 2.4, the lengths of a record were in the other order; in 2.3, only with some writers.
#[test]
fn old_versions_of_pcap_are_read() {
    let (_, plain) = read(&pcap(1, &talk())).unwrap();
    let file = |version: [u16; 2], link: u32, swapped: bool, unit: u32, big: bool| {
        let word = |word: u32| if big { word.to_be_bytes() } else { word.to_le_bytes() };
        let mut file = word(0xa1b2_c3d4).to_vec();
        file.extend(version.map(|half| if big { half.to_be_bytes() } else { half.to_le_bytes() }).concat());
        file.extend([0, 0, 65_535, link].map(word).concat());
        for (n, frame) in talk().iter().enumerate() {
            // Cut, so that the lengths differ.
            let (captured, wire) = (frame.len().min(66) as u32, frame.len() as u32);
            let lengths = if swapped { [wire, captured] } else { [captured, wire] };
            file.extend([1_000, n as u32 * unit].map(word).concat());
            file.extend(lengths.map(word).concat());
            file.extend(&frame[..captured as usize]);
        }
        file
    };
    for big in [false, true] {
        for (file, name) in [
            (file([2, 4], 1, false, 1000, big), "2.4"),
            (file([2, 3], 1, false, 1000, big), "2.3"),
            (file([2, 3], 1, true, 1000, big), "2.3, swapped"),
            (file([2, 2], 1, true, 1000, big), "2.2"),
            (file([543, 0], 1, true, 1000, big), "DG/UX"),
            (file([2, 2], 6, true, 1_000_000, big), "AIX"),
        ] {
            let (summary, recorded) = read(&file).unwrap();
            assert_eq!((summary.stopped, summary.segments), (None, 5), "{name}");
            assert_eq!(summary.interfaces[0].link_name, "Ethernet", "{name}");
            assert_eq!(recorded.lines, plain.lines, "{name}");
        }
    }
}

#[test]
fn all_formats_give_the_same_events() {
    let (summary, plain) = read(&pcap(1, &talk())).unwrap();
    assert_eq!((summary.format, summary.frames, summary.segments), (Format::Pcap, 5, 5));
    assert_eq!((summary.epoch_ns, summary.latest_ns), (Some(1_000_000_000_000), Some(1_000_004_000_000)));
    assert_eq!(
        plain.lines,
        [
            "1: open 10.0.0.1:40000 > 10.0.0.2:80",
            "1: 0.000000000 > S 0:0(0) win 1000 <mss 1460,wscale 7> // frame 1 id 4660 ttl 64",
            "1: 0.001000000 < S. 0:0(0) ack 1 win 1000 // frame 2 id 4660 ttl 64",
            "1: 0.002000000 > . 1:1(0) ack 1 win 1000 // frame 3 id 4660 ttl 64",
            "1: 0.003000000 > . 1:65(64) ack 1 win 1000 // frame 4 id 4660 ttl 64",
            "1: 0.004000000 < . 1:1(0) ack 65 win 1000 // frame 5 id 4660 ttl 64",
            "1: close EndOfRecording",
        ]
    );
    let file = pcap(1, &talk());
    let mut nanoseconds = pcap_header(0xa1b2_3c4d, 1);
    let mut modified = pcap_header(0xa1b2_cd34, 1);
    for (n, frame) in talk().iter().enumerate() {
        nanoseconds.extend(record(1_000, n as u32 * 1_000_000, frame, frame.len()));
        let usual = record(1_000, n as u32 * 1000, frame, frame.len());
        modified.extend(&usual[..16]);
        modified.extend([7; 8]);
        modified.extend(&usual[16..]);
    }
    let mut members = gzip(&file[..100]);
    members.extend(gzip(&file[100..]));
    for (file, format, compression) in [
        (nanoseconds, Format::PcapNanoseconds, Compression::None),
        (modified, Format::PcapModified, Compression::None),
        (swapped(&file), Format::Pcap, Compression::None),
        (pcapng(&talk()), Format::Pcapng, Compression::None),
        (gzip(&file), Format::Pcap, Compression::Gzip),
        (members, Format::Pcap, Compression::Gzip),
        (zstd(&file), Format::Pcap, Compression::Zstd),
        (zstd(&pcapng(&talk())), Format::Pcapng, Compression::Zstd),
    ] {
        let (other, recorded) = read(&file).unwrap();
        assert_eq!((other.format, other.compression), (format, compression));
        assert_eq!(other.stopped, None);
        assert_eq!(recorded, plain, "{format:?} {compression:?}");
        assert_eq!(other.epoch_ns, summary.epoch_ns, "{format:?}");
    }
}

/// A little-endian pcap file converted to big-endian.
fn swapped(file: &[u8]) -> Vec<u8> {
    let words =
        |bytes: &[u8]| bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect::<Vec<_>>();
    let mut other = words(&file[..24]);
    other[4..8].copy_from_slice(&[0, 2, 0, 4]);
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        other.extend(words(&rest[..16]));
        other.extend(&rest[16..16 + length]);
        rest = &rest[16 + length..];
    }
    other
}

#[test]
fn pcapng_sections_of_either_byte_order_are_read() {
    let big = |kind: u32, body: Vec<u8>| {
        let length = 12 + body.len() as u32;
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend(length.to_be_bytes());
        bytes.extend(body);
        bytes.extend(length.to_be_bytes());
        bytes
    };
    let mut file = pcapng(&talk()[..3]);
    let mut header = 0x1a2b_3c4du32.to_be_bytes().to_vec();
    header.extend([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(big(0x0a0d_0d0a, header));
    file.extend(big(1, vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0]));
    for (n, frame) in talk()[3..].iter().enumerate() {
        let ticks = 1_000_003_000_000u64 + n as u64 * 1_000_000;
        let mut body = vec![0, 0, 0, 0];
        body.extend(ticks.to_be_bytes());
        body.extend((frame.len() as u32).to_be_bytes());
        body.extend((frame.len() as u32).to_be_bytes());
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(big(6, body));
    }
    let (summary, recorded) = read(&file).unwrap();
    assert_eq!(recorded, read(&pcap(1, &talk())).unwrap().1);
    assert_eq!((summary.interface_count, summary.interfaces[1].frames), (2, 2));
}

#[test]
fn simple_and_obsolete_packet_blocks_are_read() {
    let frames = talk();
    let mut file = section();
    file.extend(interface(1, &[]));
    let mut simple = (frames[0].len() as u32).to_le_bytes().to_vec();
    simple.extend(&frames[0]);
    file.extend(block(3, &simple));
    let mut obsolete = vec![0, 0, 0xff, 0xff];
    for word in [232u32, 3_567_587_328, frames[1].len() as u32, 1000] {
        obsolete.extend(word.to_le_bytes());
    }
    obsolete.extend(&frames[1]);
    file.extend(block(2, &obsolete));
    let (summary, recorded) = read(&file).unwrap();
    assert_eq!(summary.segments, 2);
    assert_eq!(summary.epoch_ns, Some(((232 << 32) + 3_567_587_328) * 1000), "the first timestamp");
    assert!(recorded.lines[1].starts_with("1: 0.000000000 > S"), "{recorded:?}");
    assert_eq!(summary.wire_bytes, frames[0].len() as u64 + 1000);
}

#[test]
fn other_blocks_are_skipped() {
    let mut file = section();
    file.extend(interface(1, &[2, 0, 4, 0, b'e', b't', b'h', b'0', 0, 0, 0, 0]));
    for kind in [4, 10, 77, 0x8000_0000] {
        file.extend(block(kind, b"whatever"));
    }
    file.extend(packet(0, 0, &talk()[0]));
    file.extend(packet(3, 0, &talk()[0]));
    for kind in [0x0bad, 0x4000_0bad, 9, 0x204] {
        file.extend(block(kind, b"numbered by Wireshark"));
    }
    let mut statistics = vec![0; 12];
    statistics.extend([5, 0, 8, 0, 17, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(block(5, &statistics));
    file.extend(block(6, b"too short"));
    file.extend(block(1, b"four"));
    let (summary, _) = read(&file).unwrap();
    assert_eq!((summary.frames, summary.segments, summary.drops), (7, 1, Some(17)));
    assert_eq!(summary.interfaces[0].name.as_deref(), Some("eth0"));
    assert_eq!(summary.count(Oddity::UnknownBlock), 2);
    assert_eq!(summary.count(Oddity::NotAPacket), 4);
    assert_eq!(summary.count(Oddity::UnknownInterface), 1);
    assert_eq!(summary.count(Oddity::MalformedBlock), 2);
    let unknown = summary.notes.iter().find(|note| note.oddity == Oddity::UnknownInterface).unwrap();
    assert_eq!(unknown.first_frame, 2);
    assert_eq!(&file[unknown.first_offset as usize..][..4], [6, 0, 0, 0]);
    assert_eq!(unknown.oddity.name(), "unknown-interface");
}

/// Everything complete before the cut is delivered, and the summary says where reading ended.
#[test]
fn truncated_capture_is_read_up_to_the_cut() {
    for whole in [pcap(1, &talk()), pcapng(&talk())] {
        let all = read(&whole).unwrap().1;
        for length in 0..whole.len() {
            match read(&whole[..length]) {
                Ok((summary, recorded)) => {
                    assert!(recorded.events.len() < all.events.len());
                    assert_eq!(recorded.events, all.events[..recorded.events.len()]);
                    assert_eq!(summary.segments as usize, recorded.events.len());
                    if let Some(stop) = summary.stopped {
                        assert!(stop.offset < length as u64, "{stop:?} at {length}");
                    }
                }
                Err(error) => assert!(error.to_string().starts_with("test: "), "{error}"),
            }
        }
    }
}

#[test]
fn truncated_compressed_capture_is_read_up_to_the_cut() {
    let file = pcap(1, &talk());
    let all = read(&file).unwrap().1;
    for packed in [gzip(&file), zstd(&file)] {
        for length in 0..packed.len() {
            if let Ok((summary, recorded)) = read(&packed[..length]) {
                assert_eq!(recorded.events, all.events[..recorded.events.len()]);
                assert!(summary.stopped.is_some(), "the compressed data is truncated at {length}");
            }
        }
    }
}

#[test]
fn damage_after_the_first_frames_is_not_an_error() {
    let mut file = pcap(1, &talk());
    let end = file.len() as u64;
    file.extend(u32::MAX.to_le_bytes().repeat(4));
    let (summary, _) = read(&file).unwrap();
    assert_eq!(summary.frames, 5);
    let stop = summary.stopped.unwrap();
    assert_eq!((stop.offset, stop.reason.as_str()), (end, "a record that claims to hold 4294967295 bytes"));

    let mut packed = gzip(&pcap(1, &talk()));
    packed.extend(b"trailing rubbish");
    let (summary, _) = read(&packed).unwrap();
    assert_eq!(summary.frames, 5);
    assert!(summary.stopped.is_some());
}

#[test]
fn false_lengths_are_reported() {
    // Zero bytes captured; zero on the wire; more captured than on the wire; a frame without any header.
    let mut file = pcap_header(0xa1b2_c3d4, 1);
    file.extend(record(0, 0, &[], 0));
    file.extend(record(0, 0, &[], 1500));
    file.extend(record(0, 0, &talk()[3], 10));
    file.extend(record(0, 0, &[1, 2, 3], 3));
    let (summary, recorded) = read(&file).unwrap();
    assert_eq!((summary.frames, summary.segments, summary.stopped), (4, 1, None));
    assert_eq!(
        summary.notes.iter().map(|note| (note.oddity, note.count)).collect::<Vec<_>>(),
        [(Oddity::TruncatedHeader, 1), (Oddity::MalformedHeader, 2), (Oddity::CapturedBeyondWire, 1),]
    );
    let slowpath_model::EventKind::Seen(segment) = recorded.events[0].1.kind else { panic!() };
    assert_eq!(segment.len, 64);

    for (length, reason) in [
        (0u32, "a block that claims to be 0 bytes long"),
        (8, "a block that claims to be 8 bytes long"),
        (30, "a block that claims to be 30 bytes long"),
        (0xffff_fffc, "a block that claims to be 4294967292 bytes long"),
    ] {
        let mut file = pcapng(&talk());
        let end = file.len() as u64;
        file.extend(6u32.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend([0; 400]);
        let stop = read(&file).unwrap().0.stopped.unwrap();
        assert_eq!((stop.offset, stop.reason.as_str()), (end, reason));
    }
    let mut file = pcapng(&talk());
    let last = file.len() - 4;
    file[last] ^= 4;
    let (summary, _) = read(&file).unwrap();
    assert_eq!(summary.frames, 4);
    assert!(summary.stopped.unwrap().reason.contains("by its end"));
    // Captured length beyond the block.
    let mut file = pcapng(&talk());
    let caplen = file.len() - 4 - talk()[4].len().next_multiple_of(4) - 8;
    file[caplen] = 0xff;
    let (summary, _) = read(&file).unwrap();
    assert_eq!((summary.frames, summary.segments, summary.count(Oddity::MalformedBlock)), (5, 4, 1));
}

/// An endless stream of zeros after some bytes, larger than memory.
struct Vast {
    start: io::Cursor<Vec<u8>>,
    zeros: u64,
}

impl Read for Vast {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.start.read(buffer)? {
            0 => {
                let n = buffer.len().min(usize::try_from(self.zeros).unwrap_or(usize::MAX));
                buffer[..n].fill(0);
                self.zeros -= n as u64;
                Ok(n)
            }
            n => Ok(n),
        }
    }
}

fn vast(start: Vec<u8>, zeros: u64) -> CaptureSummary {
    let reader = Vast { start: io::Cursor::new(start), zeros };
    Capture::from_reader("vast", reader).run(&mut build::Recorded::default()).unwrap()
}

#[test]
fn large_records_are_read_partly_and_skipped() {
    let frame = &talk()[3];
    let size = 100 << 20;
    let mut file = pcap(1, &talk());
    let mut large = record(0, 0, frame, size);
    large[8..12].copy_from_slice(&(size as u32).to_le_bytes());
    file.extend(large);
    let summary = vast(file.clone(), (size - frame.len()) as u64);
    assert_eq!((summary.frames, summary.segments, summary.count(Oddity::LargeRecord)), (6, 6, 1));
    assert_eq!(summary.stopped, None);
    let summary = vast(file.clone(), size as u64 / 2);
    let stop = summary.stopped.unwrap();
    assert_eq!(stop.offset, pcap(1, &talk()).len() as u64);
    assert!(stop.reason.starts_with("the capture ends inside a record"), "{stop:?}");

    let mut file = pcapng(&talk());
    let offset = file.len() as u64;
    file.extend(6u32.to_le_bytes());
    file.extend((size as u32).to_le_bytes());
    file.extend([0; 12]);
    file.extend((size as u32 - 32).to_le_bytes());
    file.extend((size as u32 - 32).to_le_bytes());
    file.extend(frame);
    let summary = vast(file.clone(), (size - frame.len() - 28) as u64);
    assert_eq!((summary.frames, summary.segments, summary.count(Oddity::LargeRecord)), (6, 6, 1));
    assert_eq!(summary.stopped, None);
    assert_eq!(vast(file, 1000).stopped.unwrap().offset, offset);
}

#[test]
fn two_million_interfaces_do_not_exhaust_memory() {
    let mut file = section();
    let one = interface(1, &[]);
    for _ in 0..2_000_000 {
        file.extend(&one);
    }
    file.extend(packet(65_535, 0, &talk()[0]));
    file.extend(packet(1_999_999, 0, &talk()[0]));
    let (summary, _) = read(&file).unwrap();
    assert_eq!((summary.interface_count, summary.interfaces.len(), summary.segments), (2_000_000, 64, 1));
    assert_eq!(summary.count(Oddity::UnknownInterface), 1);
    assert_eq!(summary.count(Oddity::TooManyInterfaces), 2_000_000 - 65_536);
}

#[test]
fn zero_and_backward_timestamps_are_kept() {
    let mut file = pcap_header(0xa1b2_c3d4, 1);
    for (seconds, frame) in [(100, 0), (0, 1), (99, 2), (101, 3)] {
        file.extend(record(seconds, 0, &talk()[frame], talk()[frame].len()));
    }
    let (summary, recorded) = read(&file).unwrap();
    let at: Vec<_> = recorded.events.iter().map(|(_, event)| event.at.nanos() / 1_000_000_000).collect();
    assert_eq!(at, [0, -100, -1, 1]);
    assert_eq!((summary.steps_back.count, summary.steps_back.largest_ns), (1, 100_000_000_000));
    assert_eq!((summary.earliest_ns, summary.latest_ns), (Some(0), Some(101_000_000_000)));
}

#[test]
fn other_files_are_refused_with_a_reason() {
    let message = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(message(b""), "test: empty; a capture has at least a header of 24 bytes");
    let known = "slowpath reads pcap and pcapng, plain or compressed with gzip or zstd";
    assert_eq!(message(b"Hello, world"), format!("test: not a capture: starts with \"Hell\"; {known}"));
    assert_eq!(message(&[0, 1]), format!("test: not a capture: starts with bytes 00 01; {known}"));
    assert_eq!(message(&gzip(b"no")), format!("test: not a capture: starts with \"no\"; {known}"));
    assert!(message(&[0xfd, b'7', b'z', b'X', b'Z', 0]).contains("packed with xz"));
    assert!(message(&gzip(&gzip(b"x"))).contains("gzip twice"));
    assert!(message(b"snoop\0\0\0").contains("editcap"));
    assert!(message(&pcap(1, &[])[..20]).contains("20 bytes into 24 at offset 20"));
    let mut old = pcap(1, &talk());
    old[4] = 1;
    assert!(message(&old).contains("version 1 of the format"), "{}", message(&old));
    let mut new = pcapng(&talk());
    new[12] = 2;
    assert!(message(&new).contains("version 2 of the format"), "{}", message(&new));
    assert!(matches!(Capture::open("/nowhere/at all"), Err(CaptureError::Open { .. })));
    let error = Capture::open("/").unwrap_err().to_string();
    assert!(error.starts_with("/: cannot be opened"), "{error}");
    let (summary, _) = read(&pcap(1, &[])).unwrap();
    assert_eq!((summary.frames, summary.stopped, summary.epoch_ns), (0, None, None), "empty, but sound");
}

#[test]
fn too_large_zstd_window_is_refused_with_a_hint() {
    // RFC 8878, section 3.1.1.1: a frame header with a window of 1 GiB, and an empty last block.
    let message = read(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 1, 0, 0]).unwrap_err().to_string();
    assert!(message.ends_with("unpack it first (`zstd -dc --long=31`)"), "{message}");
}

/// A reader that fails after its bytes.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the disk is gone")),
            n => Ok(n),
        }
    }
}

#[test]
fn read_error_keeps_earlier_frames() {
    let run = |bytes: Vec<u8>| {
        let reader = Failing(io::Cursor::new(bytes));
        Capture::from_reader("disk", reader).run(&mut build::Recorded::default())
    };
    let file = pcap(1, &talk());
    let length = file.len() as u64;
    let summary = run(file).unwrap();
    let stop = summary.stopped.unwrap();
    assert_eq!((summary.frames, stop.offset, stop.reason.as_str()), (5, length, "the disk is gone"));
    let error = run(vec![]).unwrap_err().to_string();
    assert_eq!(error, "disk: cannot be read at offset 0: the disk is gone");
}

#[test]
fn progress_counts_bytes_read_from_the_file() {
    let folder = std::env::temp_dir().join(format!("slowpath-progress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.pcap.gz");
    let packed = gzip(&pcap(1, &talk()));
    std::fs::write(&path, &packed).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let summary = Capture::open(&path)
        .unwrap()
        .on_progress(move |read, total| log.lock().unwrap().push((read, total)))
        .run(&mut build::Recorded::default())
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let size = packed.len() as u64;
    assert_eq!(summary.file_bytes, size);
    assert_eq!(seen.lock().unwrap().last(), Some(&(size, Some(size))));
}
