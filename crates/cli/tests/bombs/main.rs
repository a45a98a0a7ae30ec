//! Files of about a megabyte that decompress to, claim, or multiply into far more: each is read in little time and
//! memory, and the output reports what was left out.

#[expect(dead_code, reason = "the profile crate's tests use more of it")]
#[path = "../../../sources/profile/tests/profile/build.rs"]
mod build;
mod captures;
mod elf;
mod packed;
mod profiles;
mod recordings;

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The limits of memory and CPU time for reading a bomb. The slowest took 5.0 s on a slow machine; what is not bounded
/// takes minutes.
const MOST_MEMORY: u64 = 256 << 20;
const MOST_TIME: Duration = Duration::from_secs(15);
/// A command is killed after this time. It is longer than [`MOST_TIME`], which is compared with the CPU time, since
/// other tests may run at the same time.
const PATIENCE: Duration = Duration::from_secs(120);
/// The limit of address space, at which the command fails before the machine does.
const MOST_ADDRESSES: u64 = 8 << 30;

/// A file, and what the command must report about it.
struct Bomb {
    name: &'static str,
    /// Arguments, in which `@` is the folder.
    args: &'static [&'static str],
    /// Writes the file into a folder.
    make: fn(&Path),
    /// A part of the output.
    says: &'static str,
}

const fn bomb(
    name: &'static str,
    args: &'static [&'static str],
    make: fn(&Path),
    says: &'static str,
) -> Bomb {
    Bomb { name, args, make, says }
}

/// The result of a command.
struct Ended {
    code: Option<i32>,
    said: String,
    memory: u64,
    time: Duration,
}

/// Runs a command to its end, or kills it.
fn run(args: &[String]) -> Ended {
    let said = tempfile::tempfile().expect("a temporary file");
    let mut command =
        Command::new(std::env::var_os("SLOWPATH").unwrap_or_else(|| env!("CARGO_BIN_EXE_slowpath").into()));
    command.args(args).env("NO_COLOR", "1").stdin(Stdio::null());
    command.stdout(said.try_clone().expect("a file")).stderr(said.try_clone().expect("a file"));
    // SAFETY: setrlimit(2) may be called between fork(2) and execve(2).
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: MOST_ADDRESSES, rlim_max: MOST_ADDRESSES };
            match libc::setrlimit(libc::RLIMIT_AS, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let child = command.spawn().expect("the binary runs");
    let (code, memory, time) = wait(child);
    Ended { code, said: all_of(said), memory, time }
}

fn all_of(mut file: std::fs::File) -> String {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut text)).expect("it is read back");
    String::from_utf8_lossy(&text).into_owned()
}

/// Waits for a command; returns its exit code, peak memory and CPU time.
fn wait(mut child: Child) -> (Option<i32>, u64, Duration) {
    let begun = Instant::now();
    let pid = i32::try_from(child.id()).expect("a process's number");
    let mut memory = 0;
    loop {
        memory = memory.max(high_water(pid));
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        // SAFETY: all zeros are a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let mut status = 0;
        // SAFETY: both pointers are valid for the results.
        let ended = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
        assert!(ended >= 0, "{}", std::io::Error::last_os_error());
        if ended == pid {
            let seconds = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
            let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            return (code, memory, seconds(usage.ru_utime) + seconds(usage.ru_stime));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `VmHWM`; `ru_maxrss` would be this process's own if that is larger.
fn high_water(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn size(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).expect("it was written");
    if !metadata.is_dir() {
        // The size on disk of a file with holes.
        return slowpath_files::allocated(&metadata);
    }
    let entries = std::fs::read_dir(path).expect("a folder");
    entries.map(|entry| size(&entry.expect("an entry").path())).sum()
}

/// Runs all bombs of a kind one after another, so that their memory and time can be measured.
fn go_off(bombs: &[Bomb]) {
    let mut wrong = Vec::new();
    for bomb in bombs {
        let folder: TempDir = tempfile::tempdir().expect("a folder for temporary files");
        (bomb.make)(folder.path());
        let packed = size(folder.path());
        let place = folder.path().to_str().expect("a name");
        let ended = run(&bomb.args.iter().map(|arg| arg.replace('@', place)).collect::<Vec<_>>());
        let line = format!(
            "{}: {} kB on disk; {} MiB and {:.2} s; exit {:?}; {}",
            bomb.name,
            packed / 1000,
            ended.memory >> 20,
            ended.time.as_secs_f64(),
            ended.code,
            ended.said.replace(place, "@").lines().take(12).collect::<Vec<_>>().join(" | "),
        );
        println!("{line}");
        let is_small = packed <= 3 << 20;
        let is_bounded = ended.memory <= MOST_MEMORY && ended.time <= MOST_TIME;
        // The output wraps long lines.
        let said = ended.said.split_whitespace().collect::<Vec<_>>().join(" ");
        let says = said.contains(bomb.says);
        if !(is_small && is_bounded && says && matches!(ended.code, Some(0..=2))) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn captures_are_bounded() {
    go_off(captures::BOMBS);
}

#[test]
fn profiles_are_bounded() {
    go_off(profiles::BOMBS);
}

#[test]
fn programs_are_bounded() {
    go_off(elf::BOMBS);
}

#[test]
fn recordings_are_bounded() {
    go_off(recordings::BOMBS);
}

/// A path in a folder.
fn at(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}
