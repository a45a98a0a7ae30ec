//! The protocol, as bytes: every message is read as it was written, and no bytes are taken for more than they are.

use proptest::collection::vec;
use proptest::prelude::*;
use slowpath_copy::arrivals::Arrivals;
use slowpath_copy::protocol::block::{self, BLOCK, Record, blocks, header, length};
use slowpath_copy::protocol::{
    Arrived, Direction, Entry, MOST_DIGESTS, MOST_FILE_BYTES, MOST_MESSAGE, Message, NotAMessage, Request,
    Sent, Tuning, names,
};
use std::collections::HashSet;

fn name() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>().prop_filter("no name has it", |byte| !matches!(byte, 0 | b'/')), 1..255)
        .prop_filter("dots", |name| !matches!(&name[..], b"." | b".."))
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    vec(name(), 0..8).prop_map(|names| names.join(&b'/'))
}

fn request() -> impl Strategy<Value = Request> {
    let tuning =
        prop_oneof![Just(Tuning::Kernel), Just(Tuning::Drs), (1_u64..1 << 31).prop_map(Tuning::Fixed)];
    let ends = (any::<bool>(), vec(1_u8.., 0..300), prop_oneof![Just(vec![]), name()], any::<bool>());
    (ends, tuning, "[a-z]{0,15}", any::<u16>(), any::<[u8; 16]>(), any::<[u8; 32]>()).prop_map(
        |((puts, path, name, force), tuning, congestion, port, session, key)| {
            let direction = if puts { Direction::Put } else { Direction::Get };
            Request { direction, path, name, force, tuning, congestion, port, session, key }
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let size = prop_oneof![Just(None), (0..=MOST_FILE_BYTES).prop_map(Some)];
    let entry = (path(), size, 0_u32..0o1000, any::<i64>(), 0_u32..1_000_000_000);
    let entry = entry.prop_map(|(path, size, mode, modified_s, modified_ns)| {
        Message::Entry(Entry { path, size, mode, modified_s, modified_ns })
    });
    let sent =
        (any::<[u64; 9]>(), any::<[u64; 9]>(), any::<u8>()).prop_map(|(numbers, bound_ns, now)| {
            let [
                bytes,
                kept_bytes,
                read_ns,
                cpu_ns,
                socket_ns,
                retransmitted,
                min_rtt_us,
                streams,
                buffer_bytes,
            ] = numbers;
            Sent {
                bytes,
                kept_bytes,
                read_ns,
                cpu_ns,
                socket_ns,
                retransmitted,
                min_rtt_us,
                streams,
                buffer_bytes,
                bound_ns,
                now,
            }
        });
    let arrived = any::<[u64; 8]>().prop_map(|numbers| {
        let [bytes, kept_bytes, socket_ns, cpu_ns, write_ns, sync_ns, buffer_bytes, examined_bytes] = numbers;
        Arrived { bytes, kept_bytes, socket_ns, cpu_ns, write_ns, sync_ns, buffer_bytes, examined_bytes }
    });
    prop_oneof![
        Just(Message::Hello),
        Just(Message::Welcome),
        request().prop_map(Message::Request),
        (any::<u16>(), proptest::option::of(any::<[u8; 4]>())).prop_map(|(port, address)| Message::Ready {
            port,
            address: address.map(|ip| std::net::Ipv4Addr::from(ip).into())
        }),
        "[ -~]{0,400}".prop_map(Message::Failed),
        name().prop_map(Message::Root),
        entry,
        (path(), "[ -~]{0,200}").prop_map(|(path, why)| Message::Skipped { path, why }),
        Just(Message::Listed),
        (any::<u32>(), any::<u64>(), vec(any::<[u8; 32]>(), 1..=MOST_DIGESTS))
            .prop_map(|(file, first, digests)| Message::Have { file, first, digests }),
        Just(Message::Go),
        sent.clone().prop_map(Message::Sent),
        arrived.clone().prop_map(Message::Arrived),
        (any::<u16>(), any::<u64>()).prop_map(|(stream, bytes)| Message::Window { stream, bytes }),
        sent.prop_map(Message::Done),
        any::<u32>().prop_map(Message::Changed),
        arrived.prop_map(Message::Finished),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_are_read_as_they_were_written(message in message(), rest in vec(any::<u8>(), 0..20)) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        let whole = bytes.len();
        prop_assert!(whole <= MOST_MESSAGE + 4);
        for cut in [0, 3, whole / 2, whole - 1] {
            prop_assert_eq!(Message::read(&bytes[..cut]), Ok(None), "cut at {}", cut);
        }
        bytes.extend(rest);
        // An address of zeros says that none is known.
        let expected = match message {
            Message::Ready { port, address: Some(address) } if address.is_unspecified() => {
                Message::Ready { port, address: Some(address) }
            }
            message => message,
        };
        prop_assert_eq!(Message::read(&bytes), Ok(Some((expected, whole))));
    }

    #[test]
    fn any_bytes_are_a_message_a_part_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(Some((message, length))) = Message::read(&bytes) {
            prop_assert!(length <= bytes.len());
            let mut again = Vec::new();
            message.write(&mut again);
            prop_assert!(Message::read(&again).is_ok_and(|read| read.is_some()));
        }
        block::read(&bytes);
    }

    #[test]
    fn accepted_paths_stay_below_their_folder(bytes in vec(prop_oneof![Just(b'.'), Just(b'/'), Just(0), any::<u8>()], 0..30)) {
        if let Ok(path) = names::path(&bytes) {
            let text = String::from_utf8_lossy(path).into_owned();
            prop_assert!(!text.starts_with('/') && !text.ends_with('/') && !text.contains('\0'));
            prop_assert!(text.is_empty() || text.split('/').all(|part| !matches!(part, "" | "." | "..")));
        }
    }

    #[test]
    fn records_are_read_as_they_were_written(file: u32, block: u64, digest: [u8; 32], data in vec(any::<u8>(), 1..100)) {
        let data = Record::Data { file, block, digest, data: &data };
        for record in [Record::Hello, data, Record::Same { file, block }, Record::Lost { file }] {
            let mut bytes = header(&record).to_vec();
            if let Record::Data { data, .. } = record {
                bytes.extend(data);
            }
            prop_assert_eq!(block::read(&bytes), Some(record));
            prop_assert_eq!(block::read(&bytes[..block::HEADER - 1]), None);
        }
    }

    /// Against a set of the blocks that are missing.
    #[test]
    fn arrivals_are_what_was_claimed_once(
        sizes in vec(proptest::option::of(0..4 * BLOCK), 1..6),
        steps in vec((0_u32..8, 0_u64..6, any::<bool>(), 0_u8..20), 0..60),
    ) {
        let mut arrivals = Arrivals::default();
        sizes.iter().for_each(|size| arrivals.add(*size));
        let mut missing: HashSet<(u32, u64)> = HashSet::new();
        for (file, size) in (0..).zip(&sizes) {
            missing.extend((0..blocks(size.unwrap_or(0))).map(|block| (file, block)));
        }
        let mut lost = HashSet::new();
        for (file, block, is_right, kind) in steps {
            let size = sizes.get(file as usize).copied().flatten();
            let is_open = missing.iter().any(|(of, _)| *of == file);
            if kind == 0 {
                prop_assert_eq!(arrivals.lose(file).is_ok(), is_open);
                if is_open { lost.insert(file); }
                continue;
            }
            let right = size.map(|size| length(size, block)).unwrap_or(1);
            let claimed = arrivals.claim(file, block, Some(if is_right { right } else { right + 1 }));
            let may = is_right && missing.contains(&(file, block));
            prop_assert_eq!(claimed.is_ok(), may, "{:?}", claimed);
            if let Ok(length) = claimed {
                prop_assert_eq!(length.is_none(), lost.contains(&file));
                missing.remove(&(file, block));
                arrivals.written(file);
            }
        }
        let is_open = |file: u32| missing.iter().any(|(of, _)| *of == file);
        for (file, size) in (0..).zip(&sizes) {
            let is_whole = size.is_some() && !is_open(file) && !lost.contains(&file);
            prop_assert_eq!(arrivals.is_whole(file as usize), is_whole);
        }
        let is_complete = missing.iter().all(|(file, _)| lost.contains(file));
        prop_assert_eq!(arrivals.are_complete(), is_complete);
    }
}

#[test]
fn hostile_messages_are_refused_at_once() {
    let hello = |magic: &[u8], version: u16| [&[0, 0, 0, 11, 1], magic, &version.to_be_bytes()].concat();
    assert_eq!(Message::read(&hello(b"slowcopy", 1)), Ok(Some((Message::Hello, 15))));
    assert_eq!(Message::read(&hello(b"slowcopy", 9)), Err(NotAMessage::Version(9)));
    assert_eq!(Message::read(&hello(b"slowpath", 1)), Err(NotAMessage::Field(1)));
    assert_eq!(Message::read(b"GET / HTTP/1.1"), Err(NotAMessage::TooLong(0x4745_5420)));
    assert_eq!(Message::read(&[0; 4]), Err(NotAMessage::Unknown { kind: 0, bytes: 0 }));
    for path in ["..", "a/../b", "/etc", "a//b", "a/", ".", "a\0b"] {
        let entry = Entry { path: path.into(), size: Some(1), mode: 0o7777, modified_s: 0, modified_ns: 0 };
        let mut bytes = Vec::new();
        Message::Entry(entry).write(&mut bytes);
        assert!(matches!(Message::read(&bytes), Err(NotAMessage::Name { .. })), "{path}");
    }
    // Set-user-ID is not taken over.
    let mut bytes = Vec::new();
    let entry = Entry { path: vec![], size: Some(1), mode: 0o4755, modified_s: 0, modified_ns: 0 };
    Message::Entry(entry).write(&mut bytes);
    assert!(matches!(Message::read(&bytes), Ok(Some((Message::Entry(Entry { mode: 0o755, .. }), _)))));
}
