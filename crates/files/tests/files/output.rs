//! Output files: new, existing, links, and what is no file.

use crate::fifo;
use slowpath_files::{
    Existing, Output, OutputError, check_output, create_output, remove_unfinished, write_output,
};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_new_file_appears_when_it_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.svg");
    let mut output = Output::create(&path, Existing::Keep).expect("new");
    output.write_all(b"half").expect("written");
    assert!(!path.exists());
    output.write_all(b" and half").expect("written");
    output.finish().expect("nothing is in the way");
    assert_eq!(fs::read(&path).expect("a file"), b"half and half");
    assert_eq!(names(folder.path()), ["out.svg"]);
    // SAFETY: umask(2) cannot fail; the second call restores it.
    let umask = unsafe {
        let umask = libc::umask(0o022);
        libc::umask(umask);
        umask
    };
    assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, 0o666 & !umask);
}

#[test]
fn an_output_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut output = Output::create(&folder.path().join("out"), Existing::Keep).expect("new");
    output.write_all(b"half").expect("written");
    drop(output);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_file_that_exists_is_kept_unless_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    fs::write(&path, "precious").expect("a file");
    let error = write_output(&path, Existing::Keep, b"new").expect_err("it exists").to_string();
    assert!(error.ends_with("out: exists already; name another file, or replace it with --force"), "{error}");
    assert_eq!(fs::read(&path).expect("a file"), b"precious");
    write_output(&path, Existing::Replace, b"new").expect("it may be replaced");
    assert_eq!(fs::read(&path).expect("a file"), b"new");
    assert_eq!(names(folder.path()), ["out"]);
}

/// It was made between the first check and the end of the writing.
#[test]
fn a_file_that_came_meanwhile_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let output = Output::create(&path, Existing::Keep).expect("new");
    fs::write(&path, "precious").expect("a file");
    assert!(matches!(output.finish(), Err(OutputError::Exists(_))));
    assert_eq!(fs::read(&path).expect("a file"), b"precious");
}

#[test]
fn links_are_replaced_and_never_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "precious").expect("a file");
    symlink(&target, &link).expect("a link");
    symlink("nowhere", folder.path().join("dangling")).expect("a link");
    for link in [&link, &folder.path().join("dangling")] {
        assert!(matches!(write_output(link, Existing::Keep, b"new"), Err(OutputError::Exists(_))));
        write_output(link, Existing::Replace, b"new").expect("the link may be replaced");
        assert!(fs::symlink_metadata(link).expect("a file").is_file());
    }
    assert_eq!(fs::read(&target).expect("a file"), b"precious");
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn fifos_sockets_devices_and_folders_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fifo(&at("fifo"));
    let _socket = UnixListener::bind(at("socket")).expect("a socket");
    fs::create_dir(at("folder")).expect("a folder");
    for (name, what) in [("fifo", "a FIFO"), ("socket", "a socket"), ("folder", "a folder")] {
        for existing in [Existing::Keep, Existing::Replace] {
            let error = write_output(&at(name), existing, b"new").expect_err("it is no file").to_string();
            assert!(error.ends_with(&format!("{name}: is {what}; name a file")), "{error}");
        }
    }
    assert_eq!(names(folder.path()), ["fifo", "folder", "socket"]);
}

#[test]
fn a_folder_that_is_missing_or_full_is_an_error_with_the_name() {
    let error = write_output(Path::new("/no/such/folder/out"), Existing::Keep, b"")
        .expect_err("no folder")
        .to_string();
    assert!(error.starts_with("/no/such/folder/out: "), "{error}");
    let full =
        write_output(Path::new("/dev/full"), Existing::Keep, b"text").expect_err("it is full").to_string();
    assert!(full.starts_with("/dev/full: No space left"), "{full}");
    write_output(Path::new("/dev/null"), Existing::Keep, b"text").expect("it takes all");
}

#[test]
fn a_recording_has_its_name_from_the_beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("host.raw");
    let mut file = create_output(&path, Existing::Keep).expect("new");
    file.write_all(b"first records").expect("written");
    assert_eq!(fs::read(&path).expect("a file"), b"first records");
    assert!(matches!(create_output(&path, Existing::Keep), Err(OutputError::Exists(_))));
    create_output(&path, Existing::Replace).expect("it may be replaced");
    assert_eq!(fs::read(&path).expect("a file"), b"");
    assert_eq!(names(folder.path()), ["host.raw"]);
}

/// The names are those that an attacker could choose, who knows all but the random part.
#[test]
fn leftovers_of_killed_programs_are_removed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let outside = tempfile::NamedTempFile::new().expect("a file");
    let output = Output::create(&at("out"), Existing::Keep).expect("new");
    let unfinished = names(folder.path());
    assert!(unfinished[0].starts_with(".slowpath-unfinished-"), "{unfinished:?}");
    fs::write(at(".slowpath-unfinished-left"), "PAR1").expect("a file");
    symlink(outside.path(), at(".slowpath-unfinished-link")).expect("a link");
    fifo(&at(".slowpath-unfinished-fifo"));
    fs::create_dir(at(".slowpath-unfinished-folder")).expect("a folder");
    fs::write(at(".slowpath-other"), "").expect("a file");
    check_output(&at("next"), Existing::Keep, &[]).expect("nothing is in the way");
    assert!(!at(".slowpath-unfinished-left").exists());
    assert!(outside.path().exists());
    for kept in [
        &unfinished[0],
        ".slowpath-unfinished-link",
        ".slowpath-unfinished-fifo",
        ".slowpath-unfinished-folder",
        ".slowpath-other",
    ] {
        assert!(fs::symlink_metadata(at(kept)).is_ok(), "{kept}");
    }
    output.finish().expect("it was left alone");
    assert!(at("out").exists());
}

/// Files are created while another thread removes what it takes for leftovers.
#[test]
fn files_that_are_being_written_are_never_taken_for_leftovers() {
    let folder = tempfile::tempdir().expect("a folder");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                remove_unfinished(folder.path());
            }
        });
        let written: Result<(), OutputError> = (0..200).try_for_each(|number| {
            write_output(&folder.path().join(format!("{}", number % 7)), Existing::Replace, b"whole")
        });
        is_over.store(true, Relaxed);
        written.expect("each is kept until it has its name");
    });
    assert_eq!(names(folder.path()).len(), 7);
}
