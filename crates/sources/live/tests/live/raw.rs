//! The probe's records of a real transfer, stored in a file and read again without root.

use crate::hosts::{connect, in_own_namespace, start};
use slowpath_live::{Check, RawError, Replayed, Rest, replay};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// All reports of a source, as lines.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, line: &dyn std::fmt::Display) {
        self.0 += &format!("{line}\n");
    }

    fn rest(&mut self, rest: &Rest) {
        let Check { segments, kernel_segments, unstamped, sockets, .. } = rest.check;
        self.add(&format!(
            "{sockets} sockets, {segments} of {kernel_segments} segments, {unstamped} unstamped"
        ));
        for counted in [rest.check.undone, rest.check.zero_windows].into_iter().flatten() {
            self.add(&format!("{} of {}", counted.probe, counted.kernel));
        }
        for dropped in &rest.drops.host {
            self.add(&format!("{} dropped: {}", dropped.packets, dropped.reason));
        }
    }
}

impl Sink for Lines {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.add(&format!("{flow} opened {} {} {}", key.a, key.b, key.occurrence));
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.add(&format!("{flow} {event}"));
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.add(&format!("{flow} {end:?}"));
    }
}

/// Next to this file: the probe's records, and the events made from them.
pub fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/kept").join(name)
}

fn replayed(bytes: &[u8]) -> (Lines, Result<Replayed, RawError>) {
    let mut lines = Lines::default();
    let result = replay(bytes, &mut lines);
    if let Ok(replayed) = &result {
        lines.rest(&replayed.rest);
    }
    (lines, result)
}

/// `SLOWPATH_UPDATE=1` stores this run for the tests without root.
#[test]
#[ignore = "needs root"]
fn replayed_records_give_the_same_events() {
    in_own_namespace(|| {
        let mut file = tempfile();
        let mut reports = Lines::default();
        let mut live = start();
        live.record(Box::new(file.try_clone().expect("it is open"))).expect("there is room");
        let (mut client, mut server) = connect();
        let writer = thread::spawn(move || client.write_all(&vec![0; 16 << 20]).map(|()| client));
        // The window closes, and opens again.
        let began = Instant::now();
        while !reports.0.contains("marked zero-window") && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(100));
            live.tell(&mut reports).expect("it reports");
        }
        server.read_exact(&mut vec![0; 16 << 20]).expect("it is written");
        drop((writer.join().expect("it ends").expect("it is read"), server));
        thread::sleep(Duration::from_millis(50));
        let rest = live.finish(&mut reports).expect("it reports");
        reports.rest(&rest);
        let mut raw = Vec::new();
        std::io::Seek::rewind(&mut file).expect("a file");
        file.read_to_end(&mut raw).expect("it was written");
        let (again, result) = replayed(&raw);
        assert_eq!(again.0, reports.0);
        assert!(result.is_ok_and(|replayed| replayed.incomplete.is_none()));
        for what in
            ["marked zero-window", "marked window-opened", "waited receive-queue", "held receive-window"]
        {
            assert!(reports.0.contains(what), "{what}: {}", reports.0);
        }
        if std::env::var_os("SLOWPATH_UPDATE").is_some() {
            fs::create_dir_all(kept("")).expect("the folder can be made");
            fs::write(kept("transfer.raw"), raw).expect("the folder is there");
            fs::write(kept("transfer.events"), reports.0).expect("the folder is there");
        }
    });
}

/// A file without a name.
fn tempfile() -> File {
    let path = std::env::temp_dir().join(format!("slowpath-raw-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a new file");
    fs::remove_file(path).expect("it is ours");
    file
}

/// Decoding: the events of a stored live run stay the same.
#[test]
fn stored_transfer_gives_the_same_events() {
    let (lines, result) = replayed(&fs::read(kept("transfer.raw")).expect("it is kept"));
    let replayed =
        result.unwrap_or_else(|error| panic!("{error}: record it again, as root, with SLOWPATH_UPDATE=1"));
    assert!(replayed.incomplete.is_none() && !replayed.lasted.is_zero(), "{replayed:?}");
    assert_eq!(lines.0, fs::read_to_string(kept("transfer.events")).expect("it is kept"));
}

/// A file of the previous version gives the events that that version gave.
#[test]
fn stored_transfer_of_version_2_gives_the_same_events() {
    let raw = fs::read(kept("transfer-2.raw")).expect("it is kept");
    let (lines, result) = replayed(&raw);
    assert!(result.is_ok_and(|replayed| replayed.incomplete.is_none()));
    assert_eq!(lines.0, fs::read_to_string(kept("transfer-2.events")).expect("it is kept"));
    // A file truncated here has no record of any version.
    for length in (40..raw.len()).step_by(997) {
        let (part, result) = replayed(&raw[..length]);
        assert!(result.is_ok_and(|replayed| replayed.incomplete.is_some()), "{length}");
        assert!(part.0.len() <= lines.0.len());
    }
}

/// Wherever a file is truncated, everything before that is reported, and so is the place.
#[test]
fn truncated_file_is_read_up_to_the_cut() {
    let raw = fs::read(kept("transfer.raw")).expect("it is kept");
    let whole = replayed(&raw).0.0;
    let mut most = 0;
    for length in (0..raw.len()).step_by(97).chain([15, 16, 39, 40, 41, 48, raw.len() - 1]) {
        let (lines, result) = replayed(&raw[..length]);
        match result {
            Err(RawError::OtherFile) => assert!(length < 16),
            Err(RawError::Truncated { at }) => assert_eq!((at, length < 40), (length as u64, true)),
            Err(error) => panic!("{length}: {error}"),
            Ok(replayed) => {
                assert!(
                    matches!(replayed.incomplete, Some(RawError::Truncated { at }) if at == length as u64)
                );
                let events = lines
                    .0
                    .lines()
                    .filter(|line| line.split(' ').nth(2).is_some_and(|word| word == "A" || word == "B"));
                let events: Vec<&str> = events.collect();
                assert!(events.iter().all(|line| whole.contains(line)), "{length}");
                most = most.max(events.len());
            }
        }
    }
    assert!(most > 0, "something was reported of some");
}

/// Files of another version and invalid files are refused; no input causes a panic.
#[test]
fn invalid_files_are_refused() {
    let raw = fs::read(kept("transfer.raw")).expect("it is kept");
    let with = |at: usize, value: u32| {
        let mut bytes = raw.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        replayed(&bytes).1
    };
    assert!(matches!(with(0, 7), Err(RawError::OtherFile)));
    assert!(matches!(with(16, 0x0403_0201), Err(RawError::ByteOrder)));
    assert!(matches!(with(20, 99), Err(RawError::OtherVersion { version: 99, .. })));
    assert!(matches!(with(24, 99), Err(RawError::OtherVersion { bytes: 99, .. })));
    let incomplete = |result: Result<Replayed, RawError>| result.expect("the header is sound").incomplete;
    assert!(matches!(incomplete(with(40, 77)), Some(RawError::BadFrame { at: 40, kind: 77, .. })));
    assert!(matches!(incomplete(with(44, u32::MAX)), Some(RawError::Truncated { .. })));
    // Any change anywhere: the file is read to an end, with or without an error.
    for at in (40..raw.len() - 4).step_by(4) {
        let _ = with(at, u32::MAX);
    }
}
