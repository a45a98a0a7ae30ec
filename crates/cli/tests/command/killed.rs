//! A command killed at any time leaves nothing behind: no process, no namespace, no BPF program, and no file after the
//! next start.

use crate::captures::Captures;
use crate::lab::{made_since, namespaces};
use crate::programs::LISTENING;
use slowpath_lab::ssh;
use slowpath_lab::web::{Server, tools};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

/// The number of kills; `SLOWPATH_KILLS=100` overrides it. `SLOWPATH_KILLED="probe --serve"` kills only commands that
/// begin so.
const KILLS: u64 = 16;
const LATEST: Duration = Duration::from_millis(2500);
const PATIENCE: Duration = Duration::from_secs(10);

const LOADED: &str = "title = \"Loaded\"\nduration = \"20 s\"\n[hosts.receiver]\ncpus = 1\nload = [{ hogs = 3, cpu = 0 }]\n\
                      [path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n[flows]\namount = \"100 MiB\"\n";
const SHORT: &str = "title = \"Short\"\nduration = \"5 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n[flows]\namount = \
                     \"100 KiB\"\n";

/// A program that starts another in the background, in a session of its own.
const ASTRAY: &str = "setsid sleep 600 & sleep 600";

/// Where the far end of a path listens, so that another can measure against it.
const FAR_END: &str = "127.0.19.7:52019";

const RUNS: [&[&str]; 8] = [
    &["lab", "run", "loaded.toml"],
    &["diagnose", "--live", "--raw", "host.raw", "--force"],
    &["sweep", "loaded.toml", "--lab", "--vary", "path.delay=1ms,2ms"],
    &["lab", "compare", "loaded.toml", "--set", "duration=3s"],
    &["lab", "run", "loaded.toml", "--server", LISTENING, "--client", ASTRAY],
    &["profile", "record", "--out", "perf.data", "--system", "20s"],
    &["profile", "record", "--out", "perf.data", "--", "sleep", "600"],
    &["probe", "--serve", "--listen", FAR_END],
];
/// Measures against the far end meanwhile.
const NEAR_END: &[&str] = &["probe", "127.0.19.7", "--port", "52019", "--tcp", "1s"];
/// Runs only where its programs are installed.
const WEB: &[&str] = &["papers", "lavoie", "--only", "1K", "--keep", "kept"];
/// Likewise.
const SSH: &[&str] = &["papers", "ubik", "--lab", "--keep", "kept"];

/// Processes that run this binary, or were started in its folder, or have a file of the folder in their command.
fn running(binary: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").expect("proc(5)").flatten().map(|entry| entry.path());
    let is = |process: &Path, link: &str, what: Option<&Path>| {
        fs::read_link(process.join(link)).is_ok_and(|found| Some(found.as_path()) == what)
    };
    // sshd changes its working directory.
    let folder = binary.parent().unwrap_or(binary).as_os_str().as_encoded_bytes();
    let names_it = |process: &Path| {
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        command.windows(folder.len()).any(|part| part == folder)
    };
    let is_ours = |process: &Path| {
        is(process, "exe", Some(binary)) || is(process, "cwd", binary.parent()) || names_it(process)
    };
    all.filter(|process| is_ours(process)).collect()
}

/// Ids of all BPF programs, maps and links on the machine. A pin would keep its object.
fn loaded() -> BTreeSet<(&'static str, u32)> {
    // `enum bpf_cmd` (include/uapi/linux/bpf.h): BPF_PROG_GET_NEXT_ID, BPF_MAP_GET_NEXT_ID, BPF_LINK_GET_NEXT_ID.
    let mut loaded = BTreeSet::new();
    for (what, command) in [("program", 11), ("map", 12), ("link", 31)] {
        // `union bpf_attr`: the previous id, and the next one.
        let mut attributes = [0_u32; 3];
        // SAFETY: the kernel accesses no more bytes of the live array than the given length.
        while unsafe {
            libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), size_of_val(&attributes)) == 0
        } {
            attributes[0] = attributes[1];
            loaded.insert((what, attributes[1]));
        }
        let error = io::Error::last_os_error();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{error}");
    }
    loaded
}

/// The queueing disciplines of this network namespace.
fn qdiscs() -> String {
    let shown = Command::new("tc").args(["qdisc", "show"]).output().expect("iproute2");
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

/// Scratch files of runs.
fn scratch(temporary: &Path) -> BTreeSet<OsString> {
    let all = fs::read_dir(temporary).expect("a folder for temporary files").flatten();
    let ours = |name: &str| name.starts_with(".slowpath-scratch-");
    all.map(|entry| entry.file_name()).filter(|name| name.to_str().is_some_and(ours)).collect()
}

#[test]
#[ignore = "needs root"]
fn killed_commands_leave_nothing_behind() {
    let folder = Captures::new();
    let binary = folder.path("slowpath");
    fs::copy(env!("CARGO_BIN_EXE_slowpath"), &binary).expect("a folder to write to");
    let temporary = folder.path("temporary");
    fs::create_dir(&temporary).expect("a folder to write to");
    fs::write(folder.path("loaded.toml"), LOADED).expect("a folder to write to");
    fs::write(folder.path("small.toml"), SHORT).expect("a folder to write to");
    let kills = env::var("SLOWPATH_KILLS").map_or(KILLS, |kills| kills.parse().expect("a number"));
    let mut runs = RUNS.to_vec();
    match tools::missing(&[Server::Nginx]).first() {
        None => runs.push(WEB),
        Some(missing) => println!("not judged: papers lavoie killed: {} is not installed", missing.command),
    }
    match ssh::missing().first() {
        None => runs.push(SSH),
        Some(missing) => {
            println!("not judged: papers ubik --lab killed: {} is not installed", missing.command)
        }
    }
    if let Ok(only) = env::var("SLOWPATH_KILLED") {
        runs.retain(|run| run.join(" ").starts_with(&only));
    }
    let before = (namespaces(), loaded(), qdiscs());
    let mut at = 0x9e37_79b9_7f4a_7c15_u64;
    for nth in 0..kills {
        // A step of xorshift: different delays, equal in each run of the test.
        at ^= at << 13;
        at ^= at >> 7;
        at ^= at << 17;
        let after = LATEST.mul_f64((at >> 11) as f64 / (1_u64 << 53) as f64);
        let arguments = runs[nth as usize % runs.len()];
        // Output of a killed run would block the next one.
        let _ = fs::remove_dir_all(folder.path("kept"));
        let start = |arguments: &[&str]| {
            let mut command = Command::new(&binary);
            command.args(arguments).current_dir(folder.path("")).env("TMPDIR", &temporary);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        };
        let mut child = start(arguments);
        let mut near = arguments.contains(&"--serve").then(|| {
            thread::sleep(Duration::from_millis(50));
            start(NEAR_END)
        });
        thread::sleep(after);
        assert!(child.try_wait().expect("it is ours").is_none(), "{arguments:?} ended before it was killed");
        child.kill().expect("it runs");
        child.wait().expect("it is ours");
        let killed = Instant::now();
        let gone =
            || running(&binary).is_empty() && made_since(&before.0) == 0 && loaded().is_subset(&before.1);
        while !gone() && killed.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(20));
            // The near end reports that the far end is gone, and ends.
            let _ = near.as_mut().map(std::process::Child::try_wait);
        }
        let (left, namespaces, loaded) = (running(&binary), made_since(&before.0), loaded());
        let loaded: Vec<_> = loaded.difference(&before.1).collect();
        assert!(
            left.is_empty() && namespaces == 0 && loaded.is_empty(),
            "{arguments:?} killed after {after:?}: {left:?}, {namespaces} namespaces, {loaded:?}"
        );
    }
    let next = Command::new(&binary)
        .args(["lab", "run", "small.toml"])
        .current_dir(folder.path(""))
        .env("TMPDIR", &temporary)
        .output()
        .expect("it starts");
    assert!(matches!(next.status.code(), Some(0 | 1)), "{next:?}");
    assert_eq!(scratch(&temporary), BTreeSet::new(), "files");
    assert_eq!(qdiscs(), before.2, "queueing disciplines");
    println!("{kills} runs killed");
}
