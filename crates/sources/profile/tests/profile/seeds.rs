//! The fuzzing seeds in `fuzz/corpus/profile`: created and read here, together with inputs that once crashed.

use crate::build::{KERNEL, Order, Recording, USER};
use crate::stacks::read_apart;
use slowpath_profile::{SymbolSources, read};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/profile")
}

fn programs() -> PathBuf {
    corpus().with_file_name("elf")
}

/// A program with inlined functions, as small as a compiler makes it.
const PROGRAM: &str = "
static volatile int sink;
static inline __attribute__((always_inline)) void inner(int n) { sink = n; }
__attribute__((noinline)) void outer(int n) { inner(n); inner(n + 1); }
void _start(void) { for (;;) outer(1); }
";
const FLAGS: &str =
    "-O1 -nostdlib -static -fno-asynchronous-unwind-tables -fno-stack-protector -Wl,-n -Wl,--build-id=sha1";

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
    let mut about = recording(Order::Little);
    // A host name and a kernel release, a file's build-id, and a mapping with one.
    for (feature, name) in [(3, "web1"), (4, "6.1.0")] {
        let text = crate::build::text(name);
        let length = Order::Little.u32(text.len() as u32).to_vec();
        about.record(80, 0, &[Order::Little.u64(feature).to_vec(), length, text].concat());
    }
    about.record(67, 2, &[vec![7; 28], crate::build::text("/nowhere/server")].concat());
    let places = Order::Little.words(&[0x6000_0000, 0x1000, 0]);
    let name = crate::build::text("/nowhere/library");
    let mapped = [Order::Little.pair(7, 7), places, vec![20; 24], Order::Little.pair(4, 0), name];
    about.record(10, 1 << 14 | 2, &[mapped.concat(), Order::Little.words(&[7 << 32 | 7, 1])].concat());
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    // A sample type, a sample, a location, a function and its name.
    let pprof = b"\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05\x22\x06\x08\x01\x22\x02\x08\x01\
        \x2a\x04\x08\x01\x10\x03\x32\x00\x32\x07samples\x32\x05count\x32\x07tcp_ack";
    vec![
        ("little.perf.data", recording(Order::Little).file()),
        ("big.perf.data", recording(Order::Big).file()),
        ("pipe.perf.data", recording(Order::Little).pipe()),
        ("packed.perf.data", packed.file()),
        ("about.perf.data", about.pipe()),
        ("perf.data.gz", gzip(&recording(Order::Little).file())),
        ("folded.gz", gzip(b"a;b_[k];c_[k]_[i] 12\nd 1.5\n")),
        ("pprof.gz", gzip(pprof)),
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

/// Writes the seeds; run by hand when they change.
#[test]
#[ignore = "writes fuzz/corpus"]
fn write_the_seeds() {
    fs::create_dir_all(corpus()).unwrap();
    for (name, bytes) in seeds() {
        fs::write(corpus().join(name), bytes).unwrap();
    }
}

/// Writes the programs; run by hand when they change.
#[test]
#[ignore = "writes fuzz/corpus"]
fn write_the_programs() {
    fs::create_dir_all(programs()).unwrap();
    let source = std::env::temp_dir().join(format!("slowpath-seeds-{}.c", std::process::id()));
    fs::write(&source, PROGRAM).unwrap();
    let ran = |command: &mut Command| assert!(command.status().unwrap().success());
    for (name, more) in [
        ("dwarf-5", "-gdwarf-5"),
        ("dwarf-4", "-gdwarf-4"),
        ("packed", "-gdwarf-5 -gz=zlib"),
        ("none", "-g0"),
    ] {
        let file = programs().join(name);
        let flags = FLAGS.split(' ').chain(more.split(' '));
        ran(Command::new("cc").args(flags).arg("-o").arg(&file).arg(&source));
        ran(Command::new("objcopy")
            .args(["-R", ".comment", "-R", ".debug_line", "-R", ".debug_aranges"])
            .arg(&file));
    }
    fs::remove_file(source).unwrap();
    let symbols =
        "ffffffff81000000 T _text\nffffffff81000040 t tcp_ack\nffffffffc0001000 t bbr_main\t[tcp_bbr]\n";
    fs::write(programs().join("kallsyms"), symbols).unwrap();
}

/// The functions at each address of a program.
fn functions(program: &Path) -> String {
    let mut recording = Recording::new(Order::Little);
    recording.map(
        1,
        7,
        [0x5000_0000, 0x1000, 0],
        program.file_name().and_then(|name| name.to_str()).map(|name| format!("/{name}")).unwrap().as_str(),
    );
    for at in 0..0x1000 {
        recording.sample(2, 7, 1, &[USER, 0x5000_0000 + at]);
    }
    let options = SymbolSources {
        kallsyms: Some(programs().join("kallsyms")),
        root: Some(programs()),
        inlined: true,
        ..SymbolSources::default()
    };
    let input = read("seed", Cursor::new(recording.file()), &options).unwrap();
    let found = crate::stacks::stack_lines(crate::stacks::profile(&input));
    found.into_keys().collect::<Vec<_>>().join("\n")
}

#[test]
fn elf_seeds_resolve_inlined_functions() {
    for name in ["dwarf-5", "dwarf-4", "packed", "none"] {
        let file = programs().join(name);
        assert!(fs::metadata(&file).unwrap().len() <= 4096, "{name} is longer than fuzz/run takes");
        let found = functions(&file);
        assert!(found.contains(&format!("… outer ({name})")), "{name}: {found}");
        assert_eq!(
            found.contains(&format!("outer ({name}); inner ({name}) inlined")),
            name != "none",
            "{found}"
        );
    }
}

#[test]
fn corpus_is_read_without_a_panic() {
    let mut count = 0;
    for entry in fs::read_dir(corpus()).unwrap() {
        let _ = read_apart(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= seeds().len(), "{count} seeds");
    for entry in fs::read_dir(programs()).unwrap() {
        let _ = functions(&entry.unwrap().path());
    }
}

#[test]
fn generated_seeds_are_read_to_the_end() {
    for (name, bytes) in seeds() {
        let input = read_apart(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(input.stopped, None, "{name}");
    }
}
