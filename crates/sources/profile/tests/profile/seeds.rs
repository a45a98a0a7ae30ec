//! The seeds that fuzzing starts from, under `fuzz/corpus/profile`: made here, and read here, crashes of old included.

use crate::build::{KERNEL, Order, Recording, USER};
use crate::told::read_apart;
use std::fs;
use std::path::PathBuf;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/profile")
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let recording = |order| {
        let mut recording = Recording::new(order);
        recording
            .map(0, u32::MAX, [0x1000, 0x1000, 0x1000], "[kernel.kallsyms]_text")
            .comm(5, 7, "server", true)
            .map(10, 7, [0x5000_0000, 0x1000, 0], "/nowhere/server")
            .lost(3)
            .sample(20, 7, 1, &[KERNEL, 0x1045, USER, 0x5000_0010]);
        recording
    };
    let mut packed = Recording::new(Order::Little);
    let inner = recording(Order::Little).records;
    packed.record(81, 0, &zstd::encode_all(&inner[..], 1).unwrap());
    // A sample type, a sample, a location, a function and its name.
    let pprof = b"\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05\x22\x06\x08\x01\x22\x02\x08\x01\
        \x2a\x04\x08\x01\x10\x03\x32\x00\x32\x07samples\x32\x05count\x32\x07tcp_ack";
    vec![
        ("little.perf.data", recording(Order::Little).file()),
        ("big.perf.data", recording(Order::Big).file()),
        ("pipe.perf.data", recording(Order::Little).pipe()),
        ("packed.perf.data", packed.file()),
        (
            "script",
            b"a 1 [0] 1.5: 3 cycles:\n\tff00 tcp_ack+0x1 ([kernel.kallsyms])\n\t55 f (inlined)\n".to_vec(),
        ),
        ("folded", b"a;b_[k];c_[k]_[i] 12\nd 1.5\n".to_vec()),
        ("pprof", pprof.to_vec()),
        (
            "opreport",
            b"samples  %        image name  symbol name\n----------\n  5  100.0  vmlinux  ip_rcv\n\
            9  50.0  vmlinux  tcp_v4_rcv\n  9  100.0  vmlinux  tcp_v4_rcv [self]\n----------\n"
                .to_vec(),
        ),
    ]
}

/// Writes them; run by hand when they change.
#[test]
#[ignore = "writes fuzz/corpus"]
fn write_the_seeds() {
    fs::create_dir_all(corpus()).unwrap();
    for (name, bytes) in seeds() {
        fs::write(corpus().join(name), bytes).unwrap();
    }
}

#[test]
fn every_seed_is_read_without_a_crash() {
    let mut count = 0;
    for entry in fs::read_dir(corpus()).unwrap() {
        let _ = read_apart(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= seeds().len(), "{count} seeds");
}

#[test]
fn the_seeds_hold_what_they_should() {
    for (name, bytes) in seeds() {
        let input = read_apart(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(input.stopped, None, "{name}");
    }
}
