//! Inputs that are not regular files, and files that name such: no command blocks, and no device is read.

use crate::captures::Captures;
use crate::profile::fixtures;
use crate::{flat, outcome, run, slowpath};
use slowpath_profile::{SymbolSources, open};
use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[expect(dead_code, reason = "the profile crate's tests use more of it")]
#[path = "../../../sources/profile/tests/profile/build.rs"]
mod build;

/// A command that runs longer counts as blocked.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a command to its end; panics if it blocks.
pub fn run_to_end(folder: &Captures, args: &[&str]) -> Output {
    run_until(slowpath(folder).args(args), PATIENCE)
}

/// Runs a command to its end; panics if it takes longer than `patience`.
pub fn run_until(command: &mut Command, patience: Duration) -> Output {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > patience {
            child.kill().expect("a child");
            panic!("{command:?} waits");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended")
}

pub fn fifo(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).expect("a name");
    // SAFETY: the name ends with a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{}", std::io::Error::last_os_error());
}

/// A profile with a sample in each of these files.
fn naming(files: &[&str]) -> Vec<u8> {
    let mut recording = build::Recording::new(build::Order::Little);
    for (number, file) in (1..).zip(files) {
        recording.map(number, 7, [number << 20, 0x1000, 0], file);
        recording.sample(99, 7, 1, &[build::USER, number << 20 | 0x10]);
    }
    recording.file()
}

/// A mapped file is opened only if it is a regular file below the root; nothing blocks.
#[test]
fn mapped_names_that_are_no_regular_files_below_the_root_are_not_opened() {
    let folder = Captures::new();
    let root = folder.path("root");
    fs::create_dir_all(root.join("folder")).expect("a folder");
    fifo(&root.join("fifo"));
    let _listener = UnixListener::bind(root.join("socket")).expect("a socket");
    // A program outside the root, and a link to it from inside.
    fs::copy("/bin/true", folder.path("outside")).expect("a small program");
    symlink("../outside", root.join("link")).expect("a link");
    symlink(folder.path("outside"), root.join("absolute")).expect("a link");
    symlink("/dev/zero", root.join("zero")).expect("a link");
    let names = [
        "/fifo",
        "/socket",
        "/folder",
        "/link",
        "/absolute",
        "/zero",
        "/./../outside",
        "/dev/zero",
        "/proc/kmsg",
    ];
    folder.write("p", &naming(&names));
    let (code, _, err) =
        outcome(&run_to_end(&folder, &["profile", "top", "p", "--root", "root", "--inline"]));
    assert_eq!(code, 0, "{err}");
    for name in names {
        assert!(err.contains(&format!("slowpath: {name}: cannot be read here")), "{name}: {err}");
    }
    // With this host's root the device exists, and is not opened either.
    let names = ["/dev/zero", "/proc/kmsg", "/dev/watchdog", "/"];
    folder.write("p", &naming(&names));
    let (_, _, err) = outcome(&run_to_end(&folder, &["profile", "top", "p", "--root", "/"]));
    for name in names {
        assert!(err.contains(&format!("slowpath: {name}: cannot be read here")), "{name}: {err}");
    }
}

/// A recording without host name and build-ids may be of any host: none of its paths is opened, and the output says how
/// to allow it.
#[test]
fn paths_in_a_recording_of_an_unknown_host_are_not_opened() {
    let folder = Captures::new();
    let program = std::env::current_exe().expect("a program");
    let program = program.to_str().expect("a name");
    folder.write("p", &naming(&[program]));
    let (code, _, err) = outcome(&run(&folder, &["profile", "top", "p"]));
    assert_eq!(code, 0);
    let words = flat(&err);
    assert!(
        words.contains(&format!("{program}: not opened, since the profile has no build-id for it")),
        "{err}"
    );
    assert!(words.ends_with("(--root DIR), or --root / if they are this host's"), "{err}");
    let (_, _, err) = outcome(&run(&folder, &["profile", "top", "p", "--root", "/"]));
    assert!(!err.contains("not opened"), "{err}");
}

/// A separate file with debug information is not opened either: a FIFO would block.
#[test]
fn links_to_separate_debug_files_are_not_followed() {
    let folder = Captures::new();
    folder.write("program.c", b"int main(int argc, char **argv) { for (;; argc++) argv[argc & 1] = 0; }\n");
    let cc = |args: &[&str]| {
        let mut command = Command::new("cc");
        let ran = command.current_dir(folder.path("")).args(args).output().expect("a C compiler");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    cc(&["-g", "-gsplit-dwarf", "-o", "program", "program.c"]);
    for entry in fs::read_dir(folder.path("")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "dwo") {
            fs::remove_file(&path).expect("it was there");
            fifo(&path);
        }
    }
    folder.write("apart.debug", b"debug");
    let linked = Command::new("objcopy")
        .current_dir(folder.path(""))
        .args(["--strip-all", "--add-gnu-debuglink=apart.debug", "program", "linked"])
        .status();
    assert!(linked.expect("binutils").success());
    fs::remove_file(folder.path("apart.debug")).expect("it was there");
    fifo(&folder.path("apart.debug"));
    folder.write("p", &naming(&["/program", "/linked"]));
    let (code, ..) = outcome(&run_to_end(&folder, &["profile", "top", "p", "--root", ".", "--inline"]));
    assert_eq!(code, 0);
}

#[test]
fn inputs_other_than_files_are_refused_or_read_as_a_stream() {
    let folder = Captures::new();
    let _listener = UnixListener::bind(folder.path("socket")).expect("a socket");
    let commands: [&[&str]; 3] = [&["profile", "top"], &["diagnose"], &["show"]];
    for command in commands {
        for (input, says) in [("/dev/zero", "not a "), ("socket", "cannot be opened"), ("/dev/null", "empty")]
        {
            let (code, out, err) = outcome(&run_to_end(&folder, &[command, &[input]].concat()));
            assert_eq!((code, out.as_str()), (2, ""), "{command:?} {input}: {err}");
            assert!(err.contains(says), "{command:?} {input}: {err}");
        }
    }
    let (code, _, err) = outcome(&run_to_end(&folder, &["profile", "top", "."]));
    assert_eq!(code, 2);
    assert!(err.contains("cannot be opened: is a directory"), "{err}");
}

/// A shell's `<(zcat …)`: a FIFO with a writer is read like a file.
#[test]
fn fifo_given_as_input_is_read() {
    let folder = Captures::new();
    fixtures(&folder);
    let capture = folder.transfer();
    fifo(&folder.path("fifo"));
    let perf_data = naming(&["/nowhere"]);
    let contents = [
        (
            &["profile", "top", "fifo"][..],
            fs::read(folder.path("perf.data")).expect("a profile"),
            "skb_clone",
        ),
        (&["profile", "top", "fifo"], perf_data, "[0x10]"),
        (&["diagnose", "fifo"], fs::read(capture).expect("a capture"), "receive window"),
    ];
    for (args, bytes, says) in contents {
        let to = folder.path("fifo");
        let writer = std::thread::spawn(move || {
            // Opening blocks until there is a reader.
            fs::File::options().write(true).open(to).and_then(|mut file| file.write_all(&bytes))
        });
        let (code, out, err) = outcome(&run_to_end(&folder, args));
        writer.join().expect("a thread").expect("all of it was read");
        assert_eq!(code, 0, "{args:?}: {err}");
        assert!(out.contains(says), "{args:?}: {out}");
    }
}

/// A table of a recording, or the work file next to a profile, may be a FIFO without a writer.
#[test]
fn fifo_next_to_an_input_is_not_waited_for() {
    let folder = Captures::new();
    fixtures(&folder);
    fs::create_dir_all(folder.path("recording/000001")).expect("a folder");
    for table in ["flows", "packets", "calls", "waits", "holds", "marks", "samples"] {
        fifo(&folder.path(&format!("recording/000001/{table}.parquet")));
    }
    let (code, _, err) = outcome(&run_to_end(&folder, &["diagnose", "recording"]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("it is a FIFO, not a regular file"), "{err}");
    fifo(&folder.path("perf.data.work.json"));
    let (_, _, err) = outcome(&run_to_end(&folder, &["profile", "costs", "perf.data"]));
    assert!(err.contains("perf.data.work.json: cannot be read: it is a FIFO, not a regular file"), "{err}");
}

/// A kallsyms file without line ends would never end.
#[test]
fn kallsyms_from_a_device_is_an_error() {
    let folder = Captures::new();
    let mut recording = build::Recording::new(build::Order::Little);
    recording.sample(1, 7, 1, &[build::KERNEL, 0x1000]);
    folder.write("p", &recording.file());
    let (_, _, err) = outcome(&run_to_end(&folder, &["profile", "top", "p", "--kallsyms", "/dev/zero"]));
    assert!(err.contains("line 1 is no symbol"), "{err}");
    let (_, _, err) = outcome(&run_to_end(&folder, &["profile", "top", "p", "--vmlinux", "/dev/zero"]));
    assert!(err.contains("it is a device, not a regular file"), "{err}");
}

/// perf's recording on this host is symbolized: host and boot match.
#[test]
fn recording_of_this_boot_is_symbolized() {
    let folder = Captures::new();
    let mut perf = Command::new("perf");
    perf.current_dir(folder.path("")).args([
        "record",
        "-q",
        "-B",
        "-N",
        "-e",
        "cpu-clock",
        "-F",
        "999",
        "-o",
        "here",
        "--",
    ]);
    perf.args(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"]).stdin(Stdio::null());
    let recorded = perf.output().map(|output| output.status.success()).unwrap_or(false);
    if !recorded {
        println!("not judged: perf does not record here");
        return;
    }
    let not_opened = |name: &str| {
        let input = open(folder.path(name), &SymbolSources::default()).expect("a profile");
        input.notes.iter().filter(|note| note.oddity == slowpath_profile::Oddity::Elsewhere).count()
    };
    assert_eq!(not_opened("here"), 0);
    // A file with a modification time a day later does not match this boot.
    let day = Duration::from_secs(86_400);
    let file = fs::File::options().append(true).open(folder.path("here")).expect("a file");
    file.set_modified(std::time::SystemTime::now() + day).expect("a file of ours");
    assert!(not_opened("here") > 0);
}
