//! What either end of a copy can be sent: messages on the control channel, records on a data connection, and blocks in any
//! order. Nothing panics, accepted paths stay below their folder, and a file is whole only with each of its blocks.

use slowpath_copy::arrivals::Arrivals;
use slowpath_copy::protocol::block::{self, BLOCK, Record, blocks};
use slowpath_copy::protocol::{MOST_DIGESTS, MOST_MESSAGE, Message};
use std::collections::HashSet;

/// Files that blocks are sent for.
const SIZES: [Option<u64>; 4] = [Some(0), None, Some(1), Some(3 * BLOCK + 7)];

pub fn try_input(bytes: &[u8]) {
    let mut left = bytes;
    while let Ok(Some((message, length))) = Message::read(left) {
        assert!(length <= MOST_MESSAGE + 4);
        left = &left[length..];
        let path = match &message {
            Message::Entry(entry) => &entry.path[..],
            Message::Skipped { path, .. } => path,
            Message::Root(name) => name,
            _ => &[],
        };
        let is_inside = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
        assert!(path.is_empty() || path.split(|byte| *byte == b'/').all(is_inside));
        if let Message::Have { digests, .. } = &message {
            assert!((1..=MOST_DIGESTS).contains(&digests.len()));
        }
        let mut again = Vec::new();
        message.write(&mut again);
        let read = Message::read(&again);
        // A reason that was escaped may be longer than a message has room for.
        let is_cut = matches!(message, Message::Failed(_) | Message::Skipped { .. });
        assert!(read == Ok(Some((message, again.len()))) || is_cut && read.is_ok_and(|read| read.is_some()));
    }
    let mut arrivals = Arrivals::default();
    SIZES.iter().for_each(|size| arrivals.add(*size));
    let mut here = HashSet::new();
    let mut lost = HashSet::new();
    for step in bytes.chunks(4) {
        let &[kind, file, number, odd] = step else { break };
        let (file, number) = (u32::from(file % 6), u64::from(number % 6));
        if kind % 16 == 0 {
            if arrivals.lose(file).is_ok() {
                lost.insert(file);
            }
            continue;
        }
        let size = SIZES.get(file as usize).copied().flatten();
        let length = size.map_or(1, |size| block::length(size, number)) + u64::from(odd == 1);
        if arrivals.claim(file, number, (kind % 2 == 0).then_some(length)).is_ok() {
            assert!(size.is_some_and(|size| number < blocks(size)));
            assert!(here.insert((file, number)), "claimed twice");
            arrivals.written(file);
        }
    }
    for (file, size) in SIZES.iter().enumerate() {
        let count = here.iter().filter(|(of, _)| *of as usize == file).count() as u64;
        let is_whole = size.is_some_and(|size| count == blocks(size)) && !lost.contains(&(file as u32));
        assert_eq!(arrivals.is_whole(file), is_whole);
    }
    if let Some(Record::Data { data, .. }) = block::read(bytes) {
        assert!(!data.is_empty() && data.len() as u64 <= BLOCK);
    }
}
