//! Recordings made on this machine: they start, end cleanly, and leave nothing behind.

use crate::stacks::{profile, read_bytes};
use slowpath_profile::{RecordError, Recorder, Recording, What};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};

fn out(folder: &TempDir) -> PathBuf {
    folder.path().join("perf.data")
}

fn command(words: &[&str]) -> What {
    What::Command(words.iter().map(OsString::from).collect())
}

/// Starts a recording; prints why if perf is missing or not permitted.
fn start(test: &str, recorder: &Recorder) -> Option<Recording> {
    match recorder.start() {
        Ok(recording) => Some(recording),
        Err(error @ (RecordError::NoPerf { .. } | RecordError::NoRight { .. })) => {
            println!("not judged: {test}: {error}");
            None
        }
        Err(error) => panic!("{test}: {error}"),
    }
}

fn wait(recording: &mut Recording) {
    let begun = Instant::now();
    while !recording.is_over() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Processes that have this path in their arguments.
fn processes_with(path: &Path) -> Vec<String> {
    let path = path.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // Zombies have no arguments; this process's own do not count.
        if line.contains(path) && entry.file_name() != *std::process::id().to_string() {
            found.push(line);
        }
    }
    found
}

#[test]
fn command_is_recorded_from_start_to_exit() {
    let folder = tempdir().unwrap();
    let busy = command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=60000", "status=none"]);
    let Some(mut recording) = start("command", &Recorder::new(busy, out(&folder))) else { return };
    wait(&mut recording);
    let recorded = recording.stop().unwrap();
    assert!(recorded.command.unwrap().success() && !recorded.cut_short);
    let bytes = fs::read(out(&folder)).unwrap();
    assert_eq!(recorded.bytes, bytes.len() as u64);
    let input = read_bytes(&bytes).unwrap();
    // The recording is complete: an unfinished one lacks the tables at its end.
    assert!(
        input.notes.iter().all(|note| note.subject != "perf.data") && input.stopped.is_none(),
        "{:?}",
        input.notes
    );
    let profile = profile(&input);
    assert_eq!(profile.events[0].name, recorded.event.name);
    let of_dd: u64 = profile
        .entries
        .iter()
        .filter(|of| profile.tasks[of.task as usize] == "dd")
        .map(|of| of.samples)
        .sum();
    let all: u64 = profile.entries.iter().map(|of| of.samples).sum();
    assert!(of_dd > 20 && of_dd * 10 > all * 9, "{of_dd} of {all}");
    assert!(recorded.work.seconds.unwrap() > 0.0 && recorded.work.counter("Tcp.InSegs").is_some());
}

#[test]
fn exit_code_of_a_failing_command_is_reported() {
    let folder = tempdir().unwrap();
    let Some(mut recording) = start("fails", &Recorder::new(command(&["sh", "-c", "exit 7"]), out(&folder)))
    else {
        return;
    };
    wait(&mut recording);
    assert_eq!(recording.stop().unwrap().command.unwrap().code(), Some(7));
}

#[test]
fn missing_command_leaves_the_older_file_in_place() {
    let folder = tempdir().unwrap();
    fs::write(out(&folder), "an older one").unwrap();
    for name in ["slowpath-no-such-program", "/nowhere/program"] {
        match Recorder::new(command(&[name]), out(&folder)).start().map(drop).unwrap_err() {
            RecordError::Command { program, .. } => assert_eq!(program, name),
            RecordError::NoPerf { .. } | RecordError::NoRight { .. } => return,
            other => panic!("{other}"),
        }
    }
    assert_eq!(fs::read_to_string(out(&folder)).unwrap(), "an older one");
}

#[test]
fn system_recording_ends_after_its_duration() {
    let folder = tempdir().unwrap();
    let longest = Duration::from_millis(700);
    let recorder = Recorder { longest, ..Recorder::new(What::System { cpus: Some(vec![0]) }, out(&folder)) };
    let Some(mut recording) = start("system", &recorder) else { return };
    wait(&mut recording);
    let recorded = recording.stop().unwrap();
    assert!(recorded.lasted >= longest && recorded.command.is_none(), "{recorded:?}");
    let input = read_bytes(&fs::read(out(&folder)).unwrap()).unwrap();
    assert!(!profile(&input).stacks.is_empty());
    assert_eq!(processes_with(folder.path()), [""; 0]);
}

#[test]
fn process_is_recorded_until_it_exits() {
    let folder = tempdir().unwrap();
    let mut busy =
        Command::new("sh").args(["-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"]).spawn().unwrap();
    let recording = start("process", &Recorder::new(What::Process(busy.id()), out(&folder)));
    if let Some(mut recording) = recording {
        busy.wait().unwrap();
        wait(&mut recording);
        recording.stop().unwrap();
        let input = read_bytes(&fs::read(out(&folder)).unwrap()).unwrap();
        assert!(profile(&input).tasks.iter().all(|task| task == "sh"), "{:?}", profile(&input).tasks);
    } else {
        busy.wait().unwrap();
    }
}

#[test]
fn stopping_terminates_the_command() {
    let folder = tempdir().unwrap();
    let Some(mut recording) = start("stopped", &Recorder::new(command(&["sleep", "600"]), out(&folder)))
    else {
        return;
    };
    assert!(!recording.is_over());
    let recorded = recording.stop().unwrap();
    assert!(recorded.cut_short);
    assert_eq!(recorded.command.unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn dropped_recording_leaves_no_process() {
    let folder = tempdir().unwrap();
    let mark = folder.path().join("mark");
    fs::write(&mark, "").unwrap();
    let waits = ["tail", "-f", mark.to_str().unwrap()];
    let Some(recording) = start("dropped", &Recorder::new(command(&waits), out(&folder))) else { return };
    assert_eq!(processes_with(folder.path()).len(), 2, "perf and tail");
    drop(recording);
    assert_eq!(processes_with(folder.path()), [""; 0]);
    // The file is complete as well.
    assert!(read_bytes(&fs::read(out(&folder)).unwrap()).is_ok());
}

#[test]
fn perf_ends_with_the_thread_that_started_it() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(What::System { cpus: Some(vec![0]) }, out(&folder));
    let started = thread::spawn(move || {
        // As if the program were killed: nothing is dropped.
        start("orphan", &recorder).map(std::mem::forget)
    });
    if started.join().unwrap().is_none() {
        return;
    }
    let begun = Instant::now();
    while !processes_with(&out(&folder)).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "perf is still there");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn older_file_is_renamed() {
    let folder = tempdir().unwrap();
    fs::write(out(&folder), "an older one").unwrap();
    let Some(mut recording) = start("older", &Recorder::new(command(&["true"]), out(&folder))) else {
        return;
    };
    wait(&mut recording);
    recording.stop().unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("perf.data.old")).unwrap(), "an older one");
}

#[test]
fn error_text_of_perf_is_passed_on() {
    let folder = tempdir().unwrap();
    let recorder = Recorder {
        event: Some("no-such-event".to_owned()),
        ..Recorder::new(command(&["true"]), out(&folder))
    };
    match recorder.start().map(drop).unwrap_err() {
        RecordError::Perf { said, .. } => assert!(said.contains("no-such-event"), "{said}"),
        RecordError::NoPerf { .. } | RecordError::NoRight { .. } => {}
        other => panic!("{other}"),
    }
}
