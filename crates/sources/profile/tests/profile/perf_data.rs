//! perf.data files built by hand: byte orders, losses, truncation, and sources of symbols.

use crate::build::{KERNEL, Order, Recording, USER};
use crate::stacks::{profile, read_apart, read_bytes, stack_lines};
use slowpath_profile::{At, Oddity, ProfileError, SymbolSources, read};
use std::io::Cursor;

const TEXT: u64 = 0xffff_ffff_8100_0000;

/// A server that is sampled twice at the same place; its mapping comes after the first sample.
fn recording(order: Order) -> Recording {
    let mut recording = Recording::new(order);
    let stack = [KERNEL, TEXT + 0x45, TEXT + 0x90, USER, 0x5000_0010, 0x5000_0020];
    recording
        .map(0, u32::MAX, [TEXT, 0x100_0000, TEXT], "[kernel.kallsyms]_text")
        .sample(20, 7, 1_000_000, &stack)
        .comm(5, 7, "server", true)
        .map(10, 7, [0x5000_0000, 0x1000, 0], "/nowhere/server")
        .lost(3)
        .sample(30, 7, 1_000_000, &stack)
        .sample(31, 7, 500_000, &[USER, 0x5000_0030]);
    recording
}

#[test]
fn byte_orders_and_pipe_format_give_equal_profiles() {
    for order in [Order::Little, Order::Big] {
        let recording = recording(order);
        for bytes in [recording.file(), recording.pipe()] {
            let input = read_apart(&bytes).unwrap();
            assert_eq!(input.stopped, None);
            let profile = profile(&input);
            // A caller's address is the return address.
            let lines: Vec<_> = stack_lines(profile).into_iter().collect();
            let stack = "[0x20] (server); [0x10] (server); tcp_v4_rcv (kernel); tcp_ack (kernel)";
            let expected = [
                (format!("cpu-clock server: … {stack}"), (2, 2_000_000)),
                ("cpu-clock server: … [0x30] (server)".to_owned(), (1, 500_000)),
            ];
            assert_eq!(lines, expected);
            assert_eq!((profile.lost.samples, profile.lost.truncated), (3, 3));
            assert_eq!(profile.events[0].unit, "ns");
            let missing: Vec<String> = input.notes.iter().map(ToString::to_string).collect();
            assert_eq!(missing.len(), 1);
            assert!(missing[0].starts_with("/nowhere/server: cannot be read here"), "{missing:?}");
            assert!(missing[0].contains("(3 samples); read the profile on the host"), "{missing:?}");
        }
    }
}

#[test]
fn hidden_kernel_symbols_are_shown_as_addresses_with_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let kallsyms = folder.path().join("kallsyms");
    std::fs::write(&kallsyms, "0000000000000000 T _text\n0000000000000000 t tcp_ack\n").unwrap();
    let options = SymbolSources { kallsyms: Some(kallsyms), ..SymbolSources::default() };
    let input = read("test", Cursor::new(recording(Order::Little).file()), &options).unwrap();
    let note = input.notes.iter().find(|note| note.oddity == Oddity::KernelSymbolsHidden).unwrap();
    assert_eq!(note.count, 2);
    assert!(note.to_string().contains("kernel.kptr_restrict=0"), "{note}");
    assert!(stack_lines(profile(&input)).keys().any(|line| line.ends_with("[0xffffffff81000045] (kernel)")));
}

#[test]
fn kernel_of_another_host_is_not_symbolized() {
    // The file has no build-id of the kernel, and the kernel's address differs.
    let mut recording = Recording::new(Order::Little);
    recording.map(0, u32::MAX, [0x1000, 0x1000, 0x1000], "[kernel.kallsyms]_text").sample(
        1,
        7,
        1,
        &[KERNEL, 0x1045],
    );
    let input = read_bytes(&recording.file()).unwrap();
    assert_eq!(stack_lines(profile(&input)).keys().next().unwrap(), "cpu-clock [unknown]: [0x1045] (kernel)");
    let oddities: Vec<_> = input.notes.iter().map(|note| note.oddity).collect();
    // This host's addresses can be compared only with the privilege to see them.
    assert!(matches!(oddities[..], [Oddity::OtherKernel | Oddity::KernelSymbolsHidden]), "{oddities:?}");
}

#[test]
fn compressed_data_may_be_split_across_records() {
    let mut plain = Recording::new(Order::Little);
    let mut inner = recording(Order::Little);
    inner.records.extend(std::mem::take(&mut recording(Order::Little).records));
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    std::io::Write::write_all(&mut encoder, &inner.records).unwrap();
    let packed = encoder.finish().unwrap();
    for piece in packed.chunks(13) {
        plain.record(81, 0, piece);
    }
    let (expected, unpacked) = (read_apart(&inner.file()).unwrap(), read_apart(&plain.file()).unwrap());
    assert_eq!(unpacked.stopped, None);
    assert_eq!(stack_lines(profile(&unpacked)), stack_lines(profile(&expected)));
}

#[test]
fn truncated_record_is_reported_with_its_offset() {
    let whole = recording(Order::Little).file();
    let input = read_apart(&whole[..whole.len() - 4]).unwrap();
    let stop = input.stopped.unwrap().to_string();
    let last = whole.len() - 64;
    assert_eq!(stop, format!("the file ends 60 bytes into a record of 64 at offset {last}"));
    assert_eq!(profile(&read_apart(&whole[..last]).unwrap()).entries.len(), 1);
}

#[test]
fn invalid_record_size_is_reported_with_its_offset() {
    let mut bytes = recording(Order::Little).file();
    bytes[104 + 80 + 6] = 3;
    let error = read_apart(&bytes).unwrap_err().to_string();
    assert_eq!(
        error,
        "test: no sample can be read: a record's field `size` is 3, less than its header's 8 bytes, at offset 184"
    );
    let error = read_apart(b"PERFILE2").unwrap_err();
    assert!(matches!(error, ProfileError::Damaged { at: At::Offset(0), .. }), "{error}");
}

#[test]
fn malformed_record_is_counted_and_the_rest_is_read() {
    let mut recording = recording(Order::Little);
    // A call chain of 2^60 addresses.
    let body = Order::Little.words(&[1, 2, 3, 4, 1 << 60, 6]);
    recording.record(9, 2, &body).sample(40, 7, 1, &[USER, 0x5000_0030]);
    let input = read_apart(&recording.file()).unwrap();
    let profile = profile(&input);
    assert_eq!(
        (profile.lost.unreadable, profile.entries.iter().map(|entry| entry.samples).sum::<u64>()),
        (1, 4)
    );
    let note = input.notes.iter().find(|note| note.oddity == Oddity::Malformed).unwrap();
    assert_eq!((note.subject.as_str(), note.count), ("samples", 1));
}
