//! Inlined functions, compared with the output of binutils' addr2line for the same program.

use crate::build::{Order, Recording, USER};
use crate::stacks::{profile, stack_lines};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use slowpath_profile::{Oddity, SymbolSources, read};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{TempDir, tempdir};

const PROGRAM: &str = "
static volatile int sink;
static inline __attribute__((always_inline)) void innermost(int n) { sink = sink * n + 1; }
static inline __attribute__((always_inline)) void middle(int n) { sink = n; innermost(n + sink); }
__attribute__((noinline)) void outer(int n) { sink = 7; middle(n); sink = n; innermost(n); }
int main(int argc, char **argv) { for (;; argc++) outer(argc); }
";
/// The address at which the program's first byte is mapped.
const MAPPED: u64 = 0x5000_0000;

/// A compiled program in a temporary folder, removed at the end of the test.
struct Program(TempDir);

impl Program {
    fn compiled(flags: &[&str]) -> Self {
        let program = Self(tempdir().unwrap());
        let source = program.0.path().join("program.c");
        std::fs::write(&source, PROGRAM).unwrap();
        let compiled =
            Command::new("cc").arg("-O2").args(flags).arg("-o").arg(program.file()).arg(source).output();
        let compiled = compiled.expect("a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        program
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("program")
    }

    /// Each address of `outer` in the ELF file, and its file offset.
    fn addresses(&self) -> Vec<(u64, u64)> {
        let bytes = std::fs::read(self.file()).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let outer = object.symbols().find(|symbol| symbol.name() == Ok("outer")).expect("a symbol");
        let in_file = |address: u64| {
            let is_in = |segment: &object::Segment<'_, '_>| {
                address.checked_sub(segment.address()).is_some_and(|at| at < segment.file_range().1)
            };
            let segment = object.segments().find(is_in).expect("it is loaded");
            segment.file_range().0 + (address - segment.address())
        };
        (0..outer.size()).map(|at| outer.address() + at).map(|address| (address, in_file(address))).collect()
    }

    /// The functions at a file offset, the outermost first.
    fn functions_at(&self, in_file: u64, inlined: bool) -> String {
        let path = self.file();
        let mut recording = Recording::new(Order::Little);
        recording.map(1, 7, [MAPPED, 1 << 20, 0], path.to_str().expect("a name")).sample(
            2,
            7,
            1,
            &[USER, MAPPED + in_file],
        );
        let options = SymbolSources { inlined, root: Some("/".into()), ..SymbolSources::default() };
        let input = read("test", Cursor::new(recording.file()), &options).unwrap();
        stack_lines(profile(&input)).into_keys().next().expect("a sample")
    }
}

/// The functions at an address according to addr2line, the outermost first.
fn by_binutils(program: &Path, address: u64) -> String {
    let said =
        Command::new("addr2line").args(["-f", "-i", "-e"]).arg(program).arg(format!("{address:#x}")).output();
    let said = String::from_utf8(said.expect("binutils").stdout).unwrap();
    // Names alternate with line numbers, the innermost first.
    let mut names: Vec<String> =
        said.lines().step_by(2).map(|name| format!("{name} (program) inlined")).collect();
    names.reverse();
    names[0] = names[0].replace(" inlined", "");
    format!("cpu-clock [unknown]: … {}", names.join("; "))
}

#[test]
fn inlined_functions_match_addr2line_at_every_address() {
    for (test, flags) in [("plain", &["-g"][..]), ("packed", &["-g", "-gz=zlib"]), ("four", &["-gdwarf-4"])] {
        let program = Program::compiled(flags);
        let mut deepest = 0;
        for (address, in_file) in program.addresses() {
            let found = program.functions_at(in_file, true);
            assert_eq!(found, by_binutils(&program.file(), address), "{test}: {address:#x}");
            deepest = deepest.max(found.matches("inlined").count());
            // Inlined functions are shown only on request.
            assert_eq!(program.functions_at(in_file, false), "cpu-clock [unknown]: … outer (program)");
        }
        assert_eq!(deepest, 2, "{test}");
    }
}

#[test]
fn program_without_debug_information_uses_its_symbols() {
    let program = Program::compiled(&["-g0"]);
    let (_, in_file) = program.addresses()[0];
    assert_eq!(program.functions_at(in_file, true), "cpu-clock [unknown]: … outer (program)");
}

/// Damaged debug information gives fewer inlined functions, not an error.
#[test]
fn damaged_debug_information_keeps_the_outer_function() {
    let program = Program::compiled(&["-g"]);
    let bytes = std::fs::read(program.file()).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let debug: Vec<(u64, u64)> = object
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(".debug_")))
        .filter_map(|section| section.file_range())
        .collect();
    assert!(debug.len() > 4, "{debug:?}");
    let (_, in_file) = *program.addresses().last().expect("it has instructions");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let mut differ = 0;
    for _ in 0..400 {
        let mut damaged = bytes.clone();
        for _ in 0..=below(8) {
            let (start, length) = debug[below(debug.len() as u64) as usize];
            damaged[(start + below(length)) as usize] = below(256) as u8;
        }
        std::fs::write(program.file(), &damaged).unwrap();
        let found = program.functions_at(in_file, true);
        // The function itself is known by its symbol.
        assert!(found.starts_with("cpu-clock [unknown]: … outer (program)"), "{found}");
        differ += u32::from(found == "cpu-clock [unknown]: … outer (program)");
    }
    assert!(differ > 0, "nothing was damaged that matters");
}

/// A distribution's separate debug file is found by its build-id.
#[test]
fn separate_debug_file_is_found_by_build_id() {
    let program = Program::compiled(&["-g", "-Wl,--build-id"]);
    let bytes = std::fs::read(program.file()).unwrap();
    let id = object::File::parse(&*bytes).unwrap().build_id().unwrap().expect("a build-id").to_vec();
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let root = program.0.path();
    let debug = root.join("usr/lib/debug/.build-id").join(&hex[..2]);
    std::fs::create_dir_all(&debug).unwrap();
    let ran = |args: &[&str], file: &Path| {
        assert!(Command::new("objcopy").args(args).arg(program.file()).arg(file).status().unwrap().success());
    };
    let addresses = program.addresses();
    ran(&["--only-keep-debug"], &debug.join(format!("{}.debug", &hex[2..])));
    ran(&["--strip-all"], &root.join("stripped"));
    let mut recording = Recording::new(Order::Little);
    recording.map(1, 7, [MAPPED, 1 << 20, 0], "/stripped");
    for (at, (_, in_file)) in addresses.iter().enumerate() {
        recording.sample(2 + at as u64, 7, 1, &[USER, MAPPED + in_file]);
    }
    let options = SymbolSources { inlined: true, root: Some(root.to_owned()), ..SymbolSources::default() };
    let input = read("test", Cursor::new(recording.file()), &options).unwrap();
    let found = stack_lines(profile(&input));
    let nested = "outer (stripped); middle (stripped) inlined; innermost (stripped) inlined";
    assert!(found.keys().any(|line| line.ends_with(nested)), "{found:?}");
}

/// A mapping with a build-id, as perf writes it with `--buildid-mmap`.
fn mapped_with(id: &[u8], file: &str) -> Recording {
    let mut recording = Recording::new(Order::Little);
    let order = recording.order;
    let mut build_id = [0; 24];
    build_id[0] = id.len() as u8;
    build_id[4..][..id.len()].copy_from_slice(id);
    let places = order.words(&[MAPPED, 1 << 20, 0]);
    let name = crate::build::text(file);
    // Code (`PROT_EXEC`); after the name come the task and the time.
    let body =
        [order.pair(7, 7), places, build_id.to_vec(), order.pair(4, 0), name, order.words(&[7 << 32 | 7, 1])];
    recording.record(10, 1 << 14 | 2, &body.concat());
    recording
}

/// In a recording without a host name, a program is identified only by its build-id.
#[test]
fn build_id_identifies_programs_of_an_unknown_host() {
    let program = Program::compiled(&["-g", "-Wl,--build-id"]);
    let bytes = std::fs::read(program.file()).unwrap();
    let id = object::File::parse(&*bytes).unwrap().build_id().unwrap().expect("a build-id").to_vec();
    let other: Vec<u8> = id.iter().map(|byte| !byte).collect();
    let (_, in_file) = program.addresses()[0];
    let path = program.file();
    for (ran, name, oddity) in [
        (&id[..], "outer", None),
        (&other, "[0x", Some(Oddity::OtherImage)),
        (&[], "[0x", Some(Oddity::Elsewhere)),
    ] {
        let mut recording = mapped_with(ran, path.to_str().expect("a name"));
        recording.sample(2, 7, 1, &[USER, MAPPED + in_file]);
        let input = read("test", Cursor::new(recording.file()), &SymbolSources::default()).unwrap();
        let found = stack_lines(profile(&input)).into_keys().next().expect("a sample");
        assert!(found.starts_with(&format!("cpu-clock [unknown]: … {name}")), "{found}");
        assert_eq!(input.notes.first().map(|note| note.oddity), oddity, "{:?}", input.notes);
    }
}
