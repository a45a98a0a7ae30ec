//! Both ends of a copy, on loopback.

mod ends;
mod hostile;

use ends::{Ends, contents, listing, run};
use rustix::fs::{FlockOperation, flock};
use slowpath_copy::CopyError;
use slowpath_copy::place::Place;
use slowpath_copy::protocol::Tuning;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

const MIB: usize = 1 << 20;

#[test]
fn file_is_copied_in_both_directions() {
    let ends = Ends::new();
    for (n, size) in [0, 1, MIB - 1, MIB, MIB + 1, 9 * MIB + 17].into_iter().enumerate() {
        let bytes = contents(size, 7);
        let (name, copy, back) = (format!("file{n}"), format!("copy{n}"), format!("back{n}"));
        fs::write(ends.here(&name), &bytes).expect("a file");
        fs::set_permissions(ends.here(&name), Permissions::from_mode(0o640)).expect("its mode");
        let report = ends.put(&name, &copy).expect("it is sent");
        assert_eq!((report.files, report.amount.get(), report.moved.get()), (1, size as u64, size as u64));
        assert!(fs::read(ends.there(&copy)).expect("the copy") == bytes, "{size}");
        ends.get(&copy, &back).expect("it is fetched");
        assert!(fs::read(ends.here(&back)).expect("the copy") == bytes, "{size}");
        let (own, copied) =
            (ends.here(&name).metadata().expect("it"), ends.here(&back).metadata().expect("it"));
        assert_eq!(
            (own.mode(), own.mtime(), own.mtime_nsec()),
            (copied.mode(), copied.mtime(), copied.mtime_nsec())
        );
    }
    assert_eq!(listing(ends.far.path()).len(), 6, "nothing partial is left");
}

#[test]
fn folder_is_copied_with_names_of_any_bytes() {
    let ends = Ends::new();
    let folder = ends.here("tree");
    fs::create_dir_all(folder.join("a/b/empty")).expect("folders");
    let odd = std::ffi::OsStr::from_bytes(b"a/\x1b[31m\xff\n");
    for (name, size) in [("x", 3 * MIB), ("a/y", 0), ("a/b/z", 10)] {
        fs::write(folder.join(name), contents(size, 3)).expect("a file");
    }
    fs::write(folder.join(odd), "odd").expect("a file");
    fs::create_dir(ends.there("into")).expect("a folder");
    let report = ends.put("tree", "into").expect("it is sent");
    assert!(report.is_whole() && report.files == 4, "{report:?}");
    assert!(listing(&ends.there("into/tree")) == listing(&folder));
    assert!(ends.there("into/tree/a/b/empty").is_dir());
    ends.get("into/tree", "back").expect("it is fetched");
    assert!(listing(&ends.here("back")) == listing(&folder));
}

#[test]
fn links_and_special_files_are_skipped_and_reported() {
    let ends = Ends::new();
    let folder = ends.here("tree");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("file"), "file").expect("a file");
    symlink("/etc/passwd", folder.join("link")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(folder.join("fifo")).status().expect("mkfifo");
    assert!(made.success());
    let report = ends.put("tree", "copy").expect("it is sent");
    let why: Vec<String> =
        report.skipped.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect();
    assert_eq!(why, ["fifo: a FIFO, which is not copied", "link: a symbolic link, which is not copied"]);
    assert!(!report.is_whole());
    assert_eq!(listing(&ends.there("copy")).len(), 1);
}

#[test]
fn existing_destination_is_kept_unless_forced() {
    let ends = Ends::new();
    fs::write(ends.here("new"), "new").expect("a file");
    fs::write(ends.there("old"), "old").expect("a file");
    let error = ends.put("new", "old").expect_err("it exists").to_string();
    assert!(error.contains("exists already") && error.contains("--force"), "{error}");
    assert_eq!(fs::read(ends.there("old")).expect("it"), b"old");
    let forced = |destination| {
        let mut wanted = ends.wanted(Place::Here(ends.here("new")), destination);
        wanted.force = true;
        run(&wanted)
    };
    forced(ends.served("old")).expect("it is replaced");
    assert_eq!(fs::read(ends.there("old")).expect("it"), b"new");
    fs::create_dir_all(ends.there("folder/new")).expect("a folder");
    let error = forced(ends.served("folder")).expect_err("a folder").to_string();
    assert!(error.contains("is a folder"), "{error}");
}

#[test]
fn served_folder_is_not_left() {
    let ends = Ends::new();
    fs::write(ends.here("file"), "file").expect("a file");
    fs::create_dir(ends.there("inside")).expect("a folder");
    symlink(ends.near.path(), ends.there("out")).expect("a link");
    for path in ["../x", "/tmp/x", "inside/../../x", "out/x", "out"] {
        let error = ends.put("file", path).expect_err(path).to_string();
        assert!(error.starts_with("the far end: "), "{path}: {error}");
    }
    for path in ["../x", "out/file", "/etc/passwd", "inside/../../x"] {
        let error = ends.get(path, "got").expect_err(path).to_string();
        assert!(error.starts_with("the far end: "), "{path}: {error}");
    }
    assert_eq!(listing(ends.near.path()).len(), 1, "nothing was written outside");
    assert_eq!(listing(&ends.there("inside")).len(), 0);
}

#[test]
fn interrupted_copy_continues_with_what_is_right() {
    let ends = Ends::new();
    let bytes = contents(20 * MIB, 11);
    fs::write(ends.here("file"), &bytes).expect("a file");
    // A copy that is stopped when some of it has arrived.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let wanted = ends.wanted(Place::Here(ends.here("file")), ends.served("copy"));
    let mut slowed = wanted.clone();
    slowed.streams = Some(1);
    let stopped = slowpath_copy::real::near::copy(
        &slowed,
        &|| stop.load(std::sync::atomic::Ordering::Relaxed),
        &mut |progress| {
            let moves = progress.phase == slowpath_copy::real::Phase::Moves;
            stop.fetch_or(moves, std::sync::atomic::Ordering::Relaxed);
        },
        &|_| (),
    );
    if !matches!(stopped, Err(CopyError::Stopped)) {
        // It was faster than the first report of its progress.
        fs::remove_file(ends.there("copy")).expect("it is whole");
    }
    assert!(!ends.there("copy").exists());
    // What is left has a wrong block, and one that was cut off.
    let name = format!(".slowpath-partial-{}", &blake3::hash(b"copy").to_hex()[..32]);
    let mut left = bytes[..7 * MIB + 100].to_vec();
    left[2 * MIB + 5] ^= 1;
    // Until the far end of the stopped copy lets go of it, that may remove it.
    let is_held = || {
        let file = fs::File::open(ends.there(&name));
        file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
    };
    let begun = std::time::Instant::now();
    while is_held() {
        assert!(begun.elapsed().as_secs() < 20, "the far end holds it");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let report = (0..100)
        .find_map(|_| {
            fs::write(ends.there(&name), &left).expect("a file");
            match run(&wanted) {
                Err(CopyError::Far(why)) if why.contains("another copy") => {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    None
                }
                other => Some(other),
            }
        })
        .expect("it ends")
        .expect("it is sent");
    assert!(fs::read(ends.there("copy")).expect("the copy") == bytes);
    assert_eq!((report.kept.get(), report.moved.get()), (6 << 20, 14 << 20));
    assert_eq!(listing(ends.far.path()).len(), 1);
}

#[test]
fn partial_folder_of_another_source_is_cleared() {
    let ends = Ends::new();
    fs::create_dir_all(ends.here("tree/kept")).expect("folders");
    fs::write(ends.here("tree/kept/file"), contents(MIB, 5)).expect("a file");
    let partial = ends.there(&format!(".slowpath-partial-{}", &blake3::hash(b"copy").to_hex()[..32]));
    fs::create_dir_all(partial.join("kept/file/was a folder")).expect("folders");
    fs::create_dir_all(partial.join("old")).expect("folders");
    fs::write(partial.join("old/file"), "old").expect("a file");
    symlink("/etc", partial.join("link")).expect("a link");
    // A hard link of a file outside: writing to it would change that.
    fs::write(ends.there("outside"), "outside").expect("a file");
    ends.put("tree", "copy").expect("it is sent");
    assert!(listing(&ends.there("copy")) == listing(&ends.here("tree")));
    fs::hard_link(ends.there("outside"), ends.there(&partial_name("single"))).expect("a link");
    fs::write(ends.here("single"), "single").expect("a file");
    ends.put("single", "single").expect("it is sent");
    assert_eq!(fs::read(ends.there("outside")).expect("it"), b"outside");
    assert!(std::path::Path::new("/etc/passwd").exists());
}

fn partial_name(name: &str) -> String {
    format!(".slowpath-partial-{}", &blake3::hash(name.as_bytes()).to_hex()[..32])
}

#[test]
fn wrong_token_is_refused() {
    let ends = Ends::new();
    fs::write(ends.here("file"), "file").expect("a file");
    let mut wanted = ends.wanted(Place::Here(ends.here("file")), ends.served("copy"));
    wanted.token = b"another".to_vec();
    let error = run(&wanted).expect_err("no token").to_string();
    assert!(error.contains("token"), "{error}");
    assert_eq!(listing(ends.far.path()).len(), 0);
}

#[test]
fn tunings_and_stream_counts_copy_the_same() {
    let ends = Ends::new();
    let bytes = contents(6 * MIB, 2);
    fs::write(ends.here("file"), &bytes).expect("a file");
    for (n, (tuning, streams)) in
        [(Tuning::Drs, None), (Tuning::Fixed(1 << 20), Some(1)), (Tuning::Kernel, Some(9))]
            .into_iter()
            .enumerate()
    {
        let copy = format!("copy{n}");
        let mut wanted = ends.wanted(Place::Here(ends.here("file")), ends.served(&copy));
        (wanted.tuning, wanted.streams, wanted.congestion) = (tuning, streams, "reno".to_owned());
        let report = run(&wanted).expect("it is sent");
        assert!(report.streams >= 1 && streams.is_none_or(|most| report.streams <= most), "{report:?}");
        assert!(fs::read(ends.there(&copy)).expect("the copy") == bytes);
    }
    let mut wanted = ends.wanted(Place::Here(ends.here("file")), ends.served("none"));
    wanted.congestion = "none-such".to_owned();
    let error = run(&wanted).expect_err("no such algorithm").to_string();
    assert!(error.contains("congestion control"), "{error}");
}

#[test]
fn missing_source_is_reported_by_its_end() {
    let ends = Ends::new();
    let error = ends.put("none", "copy").expect_err("no file").to_string();
    assert!(error.contains("none") && error.contains("No such file"), "{error}");
    let error = ends.get("none", "copy").expect_err("no file").to_string();
    assert!(error.starts_with("the far end: ") && error.contains("No such file"), "{error}");
    let error = ends.put("none", "none/copy").expect_err("no folder").to_string();
    assert!(error.contains("No such file"), "{error}");
}
