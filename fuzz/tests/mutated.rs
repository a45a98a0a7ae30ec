//! Each target with the pieces of its corpus and with changed ones, others in each run. It takes an input that is slow, that takes
//! much memory or that panics for a failure, and keeps it in `fuzz/artifacts/TARGET`.
//!
//! `FUZZ_SECONDS` is how long each target is tried: 2 seconds by default.

use slowpath_fuzz::target;
use slowpath_path::chance::Draws;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

/// No input is longer, which keeps each try short.
const LONGEST: usize = 4096;

/// No input may take longer.
const SLOWEST: Duration = Duration::from_secs(10);

/// The tests of all targets together may take no more memory.
const MOST_MEMORY_KIB: u64 = 1 << 20;

/// Numbers that lie at limits.
const LIMITS: [u64; 9] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, u64::MAX];

/// A number below `bound`.
fn below(draws: &mut Draws, bound: usize) -> usize {
    draws.below(bound as u64) as usize
}

/// A part of `of`, at most so long.
fn part<'a>(draws: &mut Draws, of: &'a [u8], most: usize) -> &'a [u8] {
    let from = below(draws, of.len() + 1);
    &of[from..of.len().min(from + below(draws, most) + 1)]
}

/// Changes a piece of the corpus in a few places.
fn changed(corpus: &[Vec<u8>], draws: &mut Draws) -> Vec<u8> {
    let mut input = corpus[below(draws, corpus.len())].clone();
    for _ in 0..=below(draws, 8) {
        let at = below(draws, input.len() + 1);
        let end = input.len().min(at + below(draws, 16) + 1);
        match below(draws, 7) {
            0 if at < input.len() => input[at] ^= 1 << below(draws, 8),
            1 if at < input.len() => input[at] = draws.bits() as u8,
            2 => {
                input.drain(at..end);
            }
            3 => input.truncate(at),
            4 => {
                let size = 1 << below(draws, 4);
                let number = LIMITS[below(draws, LIMITS.len())];
                let bytes = if below(draws, 2) == 0 {
                    number.to_le_bytes()
                } else {
                    number.rotate_right(8 * size).to_be_bytes()
                };
                let end = input.len().min(at + size as usize);
                input.splice(at..end, bytes[..size as usize].iter().copied());
            }
            5 => {
                let own = part(draws, &input, 64).to_vec();
                input.splice(at..at, own);
            }
            _ => {
                let other = &corpus[below(draws, corpus.len())];
                input.splice(at..end, part(draws, other, 256).iter().copied());
            }
        }
    }
    input.truncate(LONGEST);
    input
}

/// Tries one input, and keeps it if it fails.
fn once(name: &str, check: fn(&[u8]), input: &[u8]) {
    let begun = Instant::now();
    let ended = catch_unwind(AssertUnwindSafe(|| check(input)));
    let took = begun.elapsed();
    if ended.is_err() || took > SLOWEST {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(name);
        let path = folder.join(format!("failed-{}-{}", process::id(), begun.elapsed().as_nanos()));
        let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input));
        panic!("{name}: took {took:?}; the input is in {}: {kept:?}", path.display());
    }
}

/// The most memory that this process has used, in KiB.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.parse().ok()
}

fn try_target(name: &str) {
    let check = target(name).expect("a target");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder).expect("a corpus").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a piece")).collect();
    for piece in &corpus {
        once(name, check, piece);
    }
    let seconds = env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(2);
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let (mut draws, begun, mut tries) = (Draws::new(seed), Instant::now(), 0u64);
    while begun.elapsed() < Duration::from_secs(seconds) {
        once(name, check, &changed(&corpus, &mut draws));
        tries += 1;
    }
    println!("{name}: {tries} changed inputs");
    let used = memory().unwrap_or(0);
    assert!(used <= MOST_MEMORY_KIB, "{name}: {used} KiB of memory");
    // Targets that read folders create one here.
    let _ = fs::remove_dir_all(env::temp_dir().join(format!("slowpath-fuzz-{name}-{}", process::id())));
}

macro_rules! tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            try_target(stringify!($name));
        })*

        #[test]
        fn every_target_is_tried() {
            let tried = [$(stringify!($name)),*];
            assert_eq!(slowpath_fuzz::TARGETS.map(|(name, _)| name), tried);
        }
    };
}

tests!(anonymize capture copy drill elf event far_end findings frame near_end options plan profile protocol raw recording rows scenario script);
