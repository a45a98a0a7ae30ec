//! Commands with few descriptors and little memory to lock, without /proc, without /sys: the right result, or an error
//! that names what is missing. Nothing panics, waits for ever, or is left behind.

use crate::captures::{self, Captures};
use crate::drill::write_scripts;
use crate::inputs::run_until;
use crate::lab::{made_since, namespaces};
use crate::profile::fixtures;
use crate::{outcome, slowpath};
use std::ffi::CStr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use std::{fs, io, ptr};

/// The time that a command has. On a busy machine, a run in the lab takes some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

const SCENARIO: &str = "title = \"Short\"\nduration = \"1 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
                        [flows]\namount = \"100 KiB\"\n";

const COMMANDS: [&[&str]; 14] = [
    &["diagnose", "transfer.pcap"],
    &["diagnose", "sender.pcap", "receiver.pcap"],
    &["diagnose", "transfer.pcap", "--html", "out/page.html"],
    &["show", "transfer.pcap", "--limit", "5"],
    &["flows", "transfer.pcap"],
    &["run", "short.toml"],
    &["sweep", "short.toml", "--vary", "path.delay=1ms,2ms", "--jobs", "2", "--out", "out/runs"],
    &["scenario", "check", "short.toml"],
    &["probe", "short.toml", "--measure", "rtt"],
    &["profile", "top", "perf.data"],
    &["drill", "handshake.pkt"],
    &["causes"],
    &["lab", "check"],
    &["doctor"],
];
/// Those of them whose result depends on the host.
const OF_THE_HOST: [&str; 2] = ["lab", "doctor"];

const AS_ROOT: [&[&str]; 5] = [
    &["diagnose", "--live", "--for", "2s"],
    &["diagnose", "--live", "--own", "--for", "1s"],
    &["lab", "run", "short.toml"],
    &["lab", "run", "short.toml", "--carrier", "tap"],
    &["profile", "record", "--out", "out/perf.data", "--", "true"],
];

/// What a command has to do without.
#[derive(Clone, Copy, Debug)]
enum Scarce {
    Descriptors(libc::rlim_t),
    LockedMemory(libc::rlim_t),
    /// An empty file system is mounted over /proc, in a mount namespace of the command's own.
    Proc,
    /// An empty file system is mounted over /sys.
    Sys,
}

impl Scarce {
    /// Applies it to this process, which is a child between fork and exec.
    fn apply(self) -> io::Result<()> {
        let limit = |resource, most| {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: the limit is alive for the call.
            done(unsafe { libc::setrlimit(resource, &raw const limit) })
        };
        match self {
            Self::Descriptors(most) => limit(libc::RLIMIT_NOFILE, most),
            Self::LockedMemory(most) => limit(libc::RLIMIT_MEMLOCK, most),
            Self::Proc => cover(c"/proc"),
            Self::Sys => cover(c"/sys"),
        }
    }

    /// Whether a text says that it is missing.
    fn is_named(self, text: &str) -> bool {
        match self {
            Self::Descriptors(_) => text.contains("open files"),
            Self::LockedMemory(_) => text.contains("memlock"),
            Self::Proc => text.contains("/proc"),
            Self::Sys => text.contains("/sys"),
        }
    }

    fn on(self, command: &mut Command) -> &mut Command {
        // SAFETY: only system calls happen between fork and exec.
        unsafe { command.pre_exec(move || self.apply()) }
    }
}

fn done(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts an empty file system over a folder, for this process only.
fn cover(folder: &CStr) -> io::Result<()> {
    let (none, flags) = (ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: all names end with a NUL, and null is allowed for the others.
    unsafe {
        done(libc::unshare(libc::CLONE_NEWNS))?;
        done(libc::mount(none, c"/".as_ptr(), none, flags, none.cast()))?;
        done(libc::mount(c"none".as_ptr(), folder.as_ptr(), c"tmpfs".as_ptr(), 0, none.cast()))
    }
}

fn folder() -> Captures {
    let folder = Captures::new();
    fixtures(&folder);
    folder.transfer();
    folder.write("sender.pcap", &captures::transfer(100));
    folder.write("receiver.pcap", &captures::transfer_at_receiver(100));
    folder.write("short.toml", SCENARIO.as_bytes());
    write_scripts(&folder);
    for name in ["out", "temporary"] {
        fs::create_dir(folder.path(name)).expect("a folder");
    }
    folder
}

/// All files below a folder, by path.
fn files(folder: &Captures, below: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path(below)).expect("a folder").flatten();
    let mut files: Vec<String> = entries
        .flat_map(|entry| {
            let path = format!("{below}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() { files(folder, &path) } else { vec![path] }
        })
        .collect();
    files.sort();
    files
}

/// Runs a command with and without what is scarce, and returns what is wrong with it.
fn wrong_with(folder: &Captures, args: &[&str], scarce: Scarce) -> Option<String> {
    let run = |scarce: Option<Scarce>| {
        let _ = fs::remove_dir_all(folder.path("out"));
        fs::create_dir(folder.path("out")).expect("a folder");
        let mut command = slowpath(folder);
        command.args(args).env("TMPDIR", folder.path("temporary"));
        if let Some(scarce) = scarce {
            scarce.on(&mut command);
        }
        outcome(&run_until(&mut command, PATIENCE))
    };
    let (code, out, err) = run(Some(scarce));
    println!("{scarce:?} {args:?}: {code} {} {err}", out.len());
    let left = files(folder, "out");
    if !(0..=2).contains(&code) || err.contains("panicked") {
        return Some(format!("ended with {code}: {err}"));
    }
    if !files(folder, "temporary").is_empty() || left.iter().any(|file| file.contains("/.")) {
        return Some(format!("left {left:?} and {:?}", files(folder, "temporary")));
    }
    // Where it says what is missing, it need not give the result.
    if code == 2 {
        return (!scarce.is_named(&err)).then(|| format!("does not name what is missing: {err}"));
    }
    let is_impossible = matches!(
        (scarce, args),
        (Scarce::Proc, ["doctor"] | ["lab", "run", ..] | ["profile", "record", ..])
            | (Scarce::Descriptors(_), ["lab", "run", ..] | ["diagnose", "--live", "--for", _])
    );
    if is_impossible {
        return Some(format!("gives a result without what it needs: {out}"));
    }
    let is_partial = matches!(
        (scarce, args),
        (Scarce::Proc, ["lab", "check"] | ["diagnose", "--live", ..])
            | (Scarce::Descriptors(_), ["lab", "check"])
    );
    if is_partial && !scarce.is_named(&out) {
        return Some(format!("does not name what is missing: {out}"));
    }
    if OF_THE_HOST.contains(&args[0]) || args.contains(&"--live") || args.contains(&"record") {
        return None;
    }
    let (full_code, full_out, full_err) = run(None);
    let is_equal = args[0] == "sweep" || (code, &out) == (full_code, &full_out);
    (!is_equal && err == full_err).then(|| format!("another result, and nothing says so: {out}\n{full_out}"))
}

fn expect_right(commands: &[&[&str]], kinds: &[Scarce]) {
    let folder = folder();
    let mut wrong = Vec::new();
    for scarce in kinds {
        for args in commands {
            let found = wrong_with(&folder, args, *scarce);
            wrong.extend(found.map(|found| format!("{scarce:?}, {args:?}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn few_descriptors_and_little_locked_memory_give_the_result_or_an_error() {
    let kinds = [Scarce::Descriptors(16), Scarce::Descriptors(5), Scarce::LockedMemory(64 << 10)];
    expect_right(&COMMANDS, &kinds);
}

#[test]
#[ignore = "needs root"]
fn commands_without_proc_or_sys_give_the_result_or_an_error() {
    let before = namespaces();
    let kinds = [Scarce::Proc, Scarce::Sys];
    expect_right(&[&COMMANDS[..], &AS_ROOT].concat(), &kinds);
    assert_eq!(made_since(&before), 0, "namespaces are left");
}

#[test]
#[ignore = "needs root"]
fn few_descriptors_and_little_locked_memory_as_root() {
    let before = namespaces();
    let kinds = [Scarce::Descriptors(16), Scarce::Descriptors(5), Scarce::LockedMemory(64 << 10)];
    expect_right(&AS_ROOT, &kinds);
    assert_eq!(made_since(&before), 0, "namespaces are left");
}
