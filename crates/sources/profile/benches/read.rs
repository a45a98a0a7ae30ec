//! The cost of reading a perf.data, compared with perf.
//!
//! `cargo bench -p slowpath-profile --bench read -- [FILE]`
//!
//! Without a file, perf records this program while it sends to itself over loopback: a million samples with their
//! stacks (`cpu-clock`, which every machine has). `slowpath` reads the file, resolves all functions and writes folded
//! stacks; `perf report` prints its call graph; `perf script` prints the input of a stack collapser, whose own time
//! would come on top. Time is CPU time, user and system, the minimum of several interleaved runs; memory is the peak
//! resident set of a separate process.

use slowpath_profile::{Contents, Measure, SymbolSources, open, write_folded};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

const SAMPLES: u64 = 1_000_000;
/// Samples per second and CPU; the kernel's default limit is 100,000 (`DEFAULT_MAX_SAMPLE_RATE`).
const RATE: u64 = 25_000;
const RUNS: usize = 3;

/// The argument of the process that only reads.
const ONLY_READ: &str = "--only-read";

/// CPU seconds and peak MiB of a command whose output is discarded.
fn measure(command: &mut Command) -> io::Result<(f64, f64)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut status = 0;
    // SAFETY: all zeros are a valid `rusage`.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is this process's own, and both results are only written.
    if unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, &raw mut used) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if status != 0 {
        return Err(io::Error::other(format!("{command:?} fails")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok((seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss as f64 / 1024.0))
}

/// Reads a file as a user would, with all names, into folded stacks.
fn read(path: &Path) -> Result<u64, Box<dyn Error>> {
    let input = open(path, &SymbolSources::default())?;
    let Contents::Stacks(profile) = &input.contents else { return Err("no stacks".into()) };
    for event in 0..profile.events.len() {
        write_folded(
            profile,
            event as u16,
            Measure::Samples,
            &mut BufWriter::new(File::create("/dev/null")?),
        )?;
    }
    Ok(profile.entries.iter().map(|entry| entry.samples).sum())
}

/// Runs connections of this process to itself until `stop` is set.
fn send(connections: usize, stop: &Arc<AtomicBool>) -> io::Result<Vec<thread::JoinHandle<()>>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut threads = Vec::new();
    for _ in 0..connections {
        let mut sender = TcpStream::connect(address)?;
        let (mut receiver, _) = listener.accept()?;
        let stop = Arc::clone(stop);
        threads.push(thread::spawn(move || {
            let mut buffer = vec![0; 16 * 1024];
            while receiver.read(&mut buffer).is_ok_and(|read| read > 0) {}
        }));
        threads.push(thread::spawn(move || {
            let buffer = vec![0; 4 * 1024];
            while !stop.load(Relaxed) && sender.write_all(&buffer).is_ok() {}
        }));
    }
    Ok(threads)
}

fn record(path: &Path) -> Result<(), Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    let cpus = thread::available_parallelism()?.get();
    let threads = send(cpus, &stop)?;
    // Twice the time: sender and receiver wait for each other, and other programs use the CPUs too.
    let seconds = (SAMPLES * 2).div_ceil(RATE * cpus as u64);
    let status = Command::new("perf")
        .args(["record", "-q", "-g", "-e", "cpu-clock", "-F", &RATE.to_string(), "-m", "2048", "-o"])
        .arg(path)
        .args(["-p", &std::process::id().to_string(), "--", "sleep", &seconds.to_string()])
        .status();
    stop.store(true, Relaxed);
    for thread in threads {
        let _ = thread.join();
    }
    if status?.success() {
        Ok(())
    } else {
        Err("perf record fails; it needs root, or kernel.perf_event_paranoid=1".into())
    }
}

fn compare(path: &Path) -> Result<(), Box<dyn Error>> {
    let samples = read(path)?;
    let mib = std::fs::metadata(path)?.len() as f64 / 1024.0 / 1024.0;
    println!("{samples} samples in {mib:.0} MiB");
    let with = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).arg(path);
        command
    };
    let own = std::env::current_exe()?.display().to_string();
    let mut rows: [(&str, Command, (f64, f64)); 3] = [
        ("slowpath", with(&own, &[ONLY_READ]), (f64::MAX, 0.0)),
        ("perf report --stdio -g", with("perf", &["report", "--stdio", "-g", "-i"]), (f64::MAX, 0.0)),
        ("perf script", with("perf", &["script", "-i"]), (f64::MAX, 0.0)),
    ];
    for run in 0..RUNS {
        for (_, command, best) in &mut rows {
            // perf takes so long that one run stands out from noise.
            if run == 0 || best.0 < 5.0 {
                let (seconds, peak) = measure(command)?;
                *best = (best.0.min(seconds), best.1.max(peak));
            }
        }
    }
    let ours = rows[0].2.0;
    for (name, _, (seconds, peak)) in &rows {
        let each = seconds * 1e9 / samples as f64;
        println!(
            "{name:<24} {seconds:>8.2} s  {each:>8.0} ns/sample  {peak:>6.0} MiB  {:>6.1} times",
            seconds / ours
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    match (arguments.next(), arguments.next()) {
        (Some(mark), Some(path)) if mark == ONLY_READ => read(Path::new(&path)).map(drop),
        (Some(path), _) => compare(Path::new(&path)),
        (None, _) => {
            let path: PathBuf =
                std::env::temp_dir().join(format!("slowpath-bench-{}.perf.data", std::process::id()));
            let result = record(&path).and_then(|()| compare(&path));
            let _ = std::fs::remove_file(&path);
            result
        }
    }
}
