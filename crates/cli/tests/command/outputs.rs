//! Output files: they replace nothing unasked, follow no link, and are complete or absent.

use crate::captures::Captures;
use crate::inputs::{fifo, run_to_end};
use crate::outcome;
use crate::profile::fixtures;
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::{io, ptr};

const SCENARIO: &str = "title = \"Short\"\nduration = \"1 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
                        [flows]\namount = \"10 KiB\"\n";

/// Commands that write one file, without its name, which is their last argument.
const COMMANDS: [&[&str]; 9] = [
    &["diagnose", "transfer.pcap", "--html"],
    &["profile", "flame", "perf.data", "--out"],
    &["profile", "export", "perf.data", "--as", "folded", "--out"],
    &["profile", "export", "perf.data", "--as", "pprof", "--out"],
    &["profile", "attribute", "perf.data", "--svg"],
    &["sweep", "short.toml", "--vary", "path.delay=1ms,2ms", "--plot"],
    &["sweep", "short.toml", "--vary", "path.delay=1ms,2ms", "--html"],
    &["run", "short.toml", "--html"],
    &["papers", "wu", "--seeds", "1", "--html"],
];

/// The number of these commands that take a second at most.
const QUICK: usize = 8;

fn folder() -> Captures {
    let folder = Captures::new();
    fixtures(&folder);
    folder.transfer();
    folder.write("short.toml", SCENARIO.as_bytes());
    folder
}

/// The names in the folder.
fn names(folder: &Captures) -> Vec<String> {
    let entries = fs::read_dir(folder.path("")).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn existing_files_links_and_fifos_are_refused_before_any_work() {
    let folder = folder();
    folder.write("exists", b"precious");
    symlink(folder.path("exists"), folder.path("link")).expect("a link");
    symlink("elsewhere", folder.path("dangling")).expect("a link");
    fifo(&folder.path("fifo"));
    let before = names(&folder);
    let refused = [
        ("exists", "exists: exists already; name another file, or replace it with --force"),
        ("link", "link: exists already"),
        ("dangling", "dangling: exists already"),
        ("fifo", "fifo: is a FIFO; name a file"),
        (".", ".: is a folder; name a file"),
    ];
    for command in COMMANDS {
        for (output, says) in refused {
            let (code, out, err) = outcome(&run_to_end(&folder, &[command, &[output]].concat()));
            assert_eq!((code, out.as_str()), (2, ""), "{command:?} {output}: {err}");
            assert!(err.contains(says), "{command:?} {output}: {err}");
        }
    }
    assert_eq!(names(&folder), before);
    assert_eq!(fs::read(folder.path("exists")).expect("a file"), b"precious");
}

#[test]
fn force_replaces_a_link_and_not_its_target() {
    let folder = folder();
    folder.write("target", b"precious");
    for command in &COMMANDS[..QUICK] {
        let link = folder.path("link");
        let _ = fs::remove_file(&link);
        symlink(folder.path("target"), &link).expect("a link");
        let (code, _, err) = outcome(&run_to_end(&folder, &[command, &["link", "--force"][..]].concat()));
        assert!(code < 2, "{command:?}: {err}");
        assert!(fs::symlink_metadata(&link).expect("a file").is_file(), "{command:?}");
        assert!(fs::metadata(&link).expect("a file").len() > 100, "{command:?}");
        assert_eq!(fs::read(folder.path("target")).expect("a file"), b"precious", "{command:?}");
    }
    let unfinished = names(&folder).into_iter().filter(|name| name.starts_with('.'));
    assert_eq!(unfinished.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let folder = folder();
    for command in &COMMANDS[..QUICK] {
        let (code, _, err) = outcome(&run_to_end(&folder, &[command, &["/dev/full"][..]].concat()));
        assert!(code == 2 && err.contains("/dev/full"), "{command:?}: {code} {err}");
        assert!(
            err.contains("No space left on device") || err.contains("no space left"),
            "{command:?}: {err}"
        );
    }
}

/// Commands that write a folder or a file of several, without its name, which is their last argument.
const OF_FOLDERS: [&[&str]; 4] = [
    &["run", "short.toml", "--record"],
    &["run", "short.toml", "--pcap"],
    &["sweep", "short.toml", "--vary", "path.delay=1ms,2ms", "--out"],
    &["man", "--out"],
];

/// Commands of both kinds and `scenario new`, writing into the folder `into`: each ends with an error that names it, and
/// leaves no unfinished file. Returns those that succeed.
fn fail_into(folder: &Captures, into: &str) -> Vec<String> {
    let new: &[&str] = &["scenario", "new"];
    let all = COMMANDS[..QUICK].iter().chain(&OF_FOLDERS).copied().chain([new]);
    let mut succeeded = Vec::new();
    for command in all {
        let output = format!("{into}/{}", command[command.len() - 1].trim_start_matches('-'));
        let (code, _, err) = outcome(&run_to_end(folder, &[command, &[output.as_str()]].concat()));
        if code == 0 {
            succeeded.push(command.join(" "));
            continue;
        }
        assert!(code == 2 && err.contains(into), "{command:?}: {code} {err}");
        assert!(!err.contains("panicked"), "{command:?}: {err}");
        let left =
            fs::read_dir(folder.path(into)).expect("a folder").flatten().map(|entry| entry.file_name());
        let unfinished: Vec<_> = left.filter(|name| name.as_encoded_bytes().starts_with(b".")).collect();
        assert!(unfinished.is_empty(), "{command:?} left {unfinished:?}");
        let is_single = !OF_FOLDERS.contains(&command);
        assert!(!is_single || !folder.path(&output).exists(), "{command:?}: {output} is there");
    }
    succeeded
}

#[test]
fn read_only_folder_is_an_error_that_names_it() {
    // SAFETY: it has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return println!(
            "not judged: a read-only folder: root writes there; the tests without root cover it"
        );
    }
    let folder = folder();
    fs::create_dir(folder.path("closed")).expect("a folder");
    fs::set_permissions(folder.path("closed"), Permissions::from_mode(0o555)).expect("permissions");
    assert_eq!(fail_into(&folder, "closed"), Vec::<String>::new());
    fs::set_permissions(folder.path("closed"), Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
#[ignore = "needs root"]
fn full_file_system_leaves_no_half_file() {
    let folder = folder();
    fs::create_dir(folder.path("full")).expect("a folder");
    let full = CString::new(folder.path("full").into_os_string().into_encoded_bytes()).expect("a path");
    let none = ptr::null();
    // SAFETY: all names end with a NUL, and null is allowed for the others. The mounts are those of this thread and of
    // what it starts, and end with it.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
            && libc::mount(c"none".as_ptr(), full.as_ptr(), c"tmpfs".as_ptr(), 0, c"size=4k".as_ptr().cast())
                == 0
    };
    assert!(mounted, "{}", io::Error::last_os_error());
    fs::write(folder.path("full/filled"), [0; 4096]).expect("all of it");
    assert_eq!(fail_into(&folder, "full"), Vec::<String>::new());
}

#[test]
fn force_without_an_output_is_an_error() {
    let folder = folder();
    let commands: [&[&str]; 4] = [
        &["diagnose", "transfer.pcap", "--force"],
        &["profile", "attribute", "perf.data", "--force"],
        &["sweep", "short.toml", "--vary", "path.delay=1ms,2ms", "--force"],
        &["run", "short.toml", "--force"],
    ];
    for command in commands {
        let (code, out, err) = outcome(&run_to_end(&folder, command));
        assert_eq!((code, out.as_str()), (2, ""), "{command:?}: {err}");
        assert!(err.contains("--force: no file is written; it goes with --"), "{command:?}: {err}");
    }
}

#[test]
fn packets_of_a_run_are_not_written_over_other_files() {
    let folder = folder();
    let run = ["run", "short.toml", "--pcap", "wire"];
    assert_eq!(outcome(&run_to_end(&folder, &run)).0, 0);
    let written = fs::read(folder.path("wire/sender.pcapng")).expect("a capture");
    let (code, _, err) = outcome(&run_to_end(&folder, &run));
    assert!(
        code == 2 && err.contains("wire/receiver.pcapng: exists already")
            || err.contains("wire/sender.pcapng: exists already"),
        "{err}"
    );
    fs::write(folder.path("wire/sender.pcapng"), "old").expect("a file");
    assert_eq!(outcome(&run_to_end(&folder, &[&run[..], &["--force"]].concat())).0, 0);
    assert_eq!(fs::read(folder.path("wire/sender.pcapng")).expect("a capture"), written);
}
