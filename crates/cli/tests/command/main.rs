//! The command line as users and scripts see it: output, streams and exit codes.

mod anonymize;
mod both_ends;
mod buffers;
mod captures;
mod clock_steps;
mod cookbook;
mod copy;
mod diff;
mod doctor;
mod drill;
mod explain;
mod ftp;
mod help;
mod inputs;
mod killed;
mod lab;
mod live;
mod load;
mod metrics;
mod names;
mod outputs;
mod papers;
mod paths;
mod probe;
mod profile;
mod profiled;
mod programs;
mod recorded;
mod scarce;
mod scenario;
mod several;
mod show;
mod simulated;
mod sweep;
mod sweep_out;
mod tune;
mod tune_connections;
mod tune_lab;
mod tune_persist;
mod tune_plan;
mod tune_predict;
mod tune_verify;
mod tunings;
mod vantage;
mod watch;
mod what_if;
mod width;

use captures::Captures;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The program. `tools/test` copies it to where a user without root finds it.
fn slowpath(folder: &Captures) -> Command {
    let binary = std::env::var_os("SLOWPATH_BINARY");
    let mut command = Command::new(binary.as_deref().unwrap_or(env!("CARGO_BIN_EXE_slowpath").as_ref()));
    command.current_dir(folder.path("")).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn run(folder: &Captures, args: &[&str]) -> Output {
    slowpath(folder).args(args).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The exit code, standard output and standard error.
fn outcome(output: &Output) -> (i32, String, String) {
    (output.status.code().expect("it was not killed"), text(&output.stdout), text(&output.stderr))
}

fn send_signal(child: &Child, signal: i32) {
    // SAFETY: the caller's child has not been waited for, so the id is valid.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Text with whitespace collapsed, so that line breaks do not matter.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The capture of a shipped case at one end.
fn shipped(case: &str, end: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/shipped");
    format!("{folder}/{case}/{end}.pcap.zst")
}

/// The first example in a page of the handbook: a command's arguments, and its output.
fn handbook_example(page: &str) -> (Vec<String>, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(page);
    let page = std::fs::read_to_string(path).expect("a page of the handbook");
    let block =
        page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let (command, output) = block.split_once('\n').expect("a command and its output");
    let command = command.strip_prefix("$ slowpath ").expect("a command of slowpath");
    (command.split(' ').map(str::to_owned).collect(), output.to_owned())
}

/// Asserts that the first example in a page of the handbook, run where its captures are, prints what the page shows.
#[track_caller]
fn expect_handbook_example(page: &str) {
    let (args, wanted) = handbook_example(page);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = slowpath(&Captures::new()).args(args).current_dir(root).output();
    let (code, out, err) = outcome(&output.expect("the binary runs"));
    assert_eq!((code, err.as_str()), (0, ""));
    expect_lines(&wanted, &out);
}

/// Asserts that `printed` has the lines of `wanted`, one after the other; `…` stands for any number of others.
#[track_caller]
fn expect_lines(wanted: &str, printed: &str) {
    let mut lines = printed.lines();
    let mut skips = false;
    for line in wanted.lines() {
        let is_there = match line {
            "…" => true,
            _ if skips => lines.any(|one| one == line),
            _ => lines.next() == Some(line),
        };
        assert!(is_there, "not printed: {line}\n{printed}");
        skips = line == "…";
    }
}

#[test]
fn verdict_is_printed_in_words() {
    let folder = Captures::new();
    folder.transfer();
    let (code, out, err) = outcome(&run(&folder, &["diagnose", "transfer.pcap"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("192.0.2.1:40000 → 198.51.100.7:443 moved 2.04 MiB in 4.04 s"), "{out}");
    let words = flat(&out);
    assert!(words.contains("99 % of that time: receive window, receive buffer smaller"), "{out}");
    assert!(!out.contains('\x1b'), "a pipe gets no colour");
}

#[test]
fn json_names_its_schema() {
    let folder = Captures::new();
    folder.transfer();
    for (args, schema) in [
        (&["diagnose", "transfer.pcap", "--json"][..], "slowpath/diagnosis/1"),
        (&["flows", "transfer.pcap", "--json"], "slowpath/flows/1"),
        (&["causes", "--json"], "slowpath/causes/1"),
    ] {
        let (code, out, _) = outcome(&run(&folder, args));
        let document = json(&out);
        assert_eq!((code, document["schema"].as_str()), (0, Some(schema)));
    }
    let (_, out, _) = outcome(&run(&folder, &["show", "transfer.pcap", "--json", "--limit", "7"]));
    let lines: Vec<Value> = out.lines().map(json).collect();
    assert_eq!((lines.len(), lines[6]["schema"].as_str()), (7, Some("slowpath/event/1")));
}

#[test]
fn both_ends_of_a_transfer_are_matched() {
    let folder = Captures::new();
    folder.write("sender.pcapng", &captures::transfer(100));
    folder.write("receiver.pcapng", &captures::transfer_at_receiver(100));
    // In either order, the verdict is that of the sending end.
    for files in [["sender.pcapng", "receiver.pcapng"], ["receiver.pcapng", "sender.pcapng"]] {
        let (code, out, err) = outcome(&run(&folder, &["diagnose", files[0], files[1]]));
        assert_eq!((code, err.as_str()), (0, ""));
        let flat = flat(&out);
        for part in [
            "1 flow in both",
            "4 missed by the recording at the receiving end",
            "Recorded in receiver.pcapng as well, as flow 1",
            "They took 10 ms ± 10 ms (median;",
            "Recorded at the sender",
        ] {
            assert!(flat.contains(part), "{part}: {out}");
        }
        assert!(!out.contains("give both files"), "{out}");
    }
    let args = ["diagnose", "sender.pcapng", "receiver.pcapng", "--json", "--html", "both.html"];
    let (_, out, _) = outcome(&run(&folder, &args));
    let document = json(&out);
    assert_eq!(document["flows"][0]["pair"]["directions"][0]["missed_by_far"], 4, "{out}");
    assert!(document["clocks"][0]["offset_ns"].is_i64());
}

#[test]
fn data_stamped_late_is_corrected_for_text_page_and_flows() {
    let folder = Captures::new();
    folder.write("right.pcap", &captures::transfer_stamped_late(200, 0));
    folder.write("late.pcap", &captures::transfer_stamped_late(200, 3_000));
    let document = |args: &[&str]| -> Value {
        let (code, out, err) = outcome(&run(&folder, args));
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        json(&out)
    };
    let alone = document(&["diagnose", "late.pcap", "--json"]);
    let skipped = alone["recordings"][0]["skipped"].to_string();
    assert!(skipped.contains("segments of A stamped 3 ms late, corrected"), "{skipped}");
    let right = document(&["diagnose", "right.pcap", "--json"]);
    assert_eq!(right["flows"][0]["main_cause"], "receive-window/buffer-too-small");
    assert_eq!(alone["flows"][0]["main_cause"], right["flows"][0]["main_cause"]);
    let with_page = document(&["diagnose", "late.pcap", "--json", "--html", "late.html"]);
    assert_eq!(with_page, alone);
    let listed = document(&["flows", "late.pcap", "--json"]);
    assert_eq!(listed["flows"][0]["main_cause"], alone["flows"][0]["main_cause"]);
}

#[test]
fn events_as_text() {
    let folder = Captures::new();
    folder.transfer();
    let (code, out, _) = outcome(&run(&folder, &["show", "transfer.pcap", "--flow", "1", "--limit", "5"]));
    assert_eq!(code, 0);
    insta::assert_snapshot!(out);
    let range = ["show", "transfer.pcap", "--flow", "1", "--from", "1", "--to", "1.02"];
    let (_, out, _) = outcome(&run(&folder, &range));
    assert!(out.lines().skip(1).all(|line| line.starts_with("1.0")), "{out}");
    assert!(out.lines().count() > 20);
}

#[test]
fn flows_as_a_table() {
    let folder = Captures::new();
    folder.transfer();
    let (code, out, _) = outcome(&run(&folder, &["flows", "transfer.pcap"]));
    assert_eq!((code, out.lines().count()), (0, 2), "one line a flow in a pipe");
    let (_, out, _) = outcome(&run(&folder, &["flows", "transfer.pcap", "--long"]));
    assert!(out.contains("retransmissions"), "{out}");
}

#[test]
fn a_page_is_written_and_never_over_the_recording() {
    let folder = Captures::new();
    let capture = folder.transfer();
    let before = std::fs::read(&capture).expect("it is there");
    let (code, _, err) = outcome(&run(&folder, &["diagnose", "transfer.pcap", "--html", "r.html"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let page = std::fs::read_to_string(folder.path("r.html")).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.contains("slowpath/page/1"));
    let (code, _, err) = outcome(&run(&folder, &["diagnose", "transfer.pcap", "--html", "./transfer.pcap"]));
    assert!(code == 2 && err.contains("is what is read"), "{err}");
    assert_eq!(std::fs::read(&capture).expect("it is there"), before);
    let (code, _, err) = outcome(&run(&folder, &["diagnose", "transfer.pcap", "--html", "nowhere/r.html"]));
    assert!(code == 2 && err.contains("nowhere/r.html: cannot be written"), "{err}");
}

#[test]
fn a_stream_is_read_from_standard_input() {
    let folder = Captures::new();
    let mut child = slowpath(&folder)
        .args(["diagnose", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = child.stdin.take().expect("it was asked for");
    input.write_all(&captures::transfer(50)).expect("it reads all");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let out = text(&output.stdout);
    assert!(output.status.success() && out.starts_with("standard input: pcap"), "{out}");
    assert!(!out.contains("slowpath show -"), "there is nothing to show again: {out}");
}

#[test]
fn damaged_capture_gives_a_partial_result_with_a_note() {
    let folder = Captures::new();
    let whole = captures::transfer(100);
    folder.write("cut.pcap", &whole[..whole.len() - 17]);
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "cut.pcap"]));
    assert!(code == 1 && out.contains("Read only up to byte") && out.contains("moved"), "{out}");
    for args in [&["show", "cut.pcap"][..], &["flows", "cut.pcap"]] {
        let (code, out, err) = outcome(&run(&folder, args));
        assert!(code == 1 && err.contains("cut.pcap: Read only up to byte") && !out.is_empty(), "{err}");
    }
}

#[test]
fn errors_name_the_fix() {
    let folder = Captures::new();
    folder.transfer();
    folder.write("notes.txt", b"not a capture at all");
    folder.write("empty.pcap", b"");
    for (args, part) in [
        (&["diagnose", "missing.pcap"][..], "missing.pcap: cannot be opened"),
        (&["diagnose", "notes.txt"], "notes.txt: not a capture"),
        (&["diagnose", "empty.pcap"], "empty.pcap: empty"),
        (&["diagnose", "transfer.pcap", "--flow", "9"], "there is no flow 9; its only flow is 1"),
        (&["show", "transfer.pcap", "--flow", "9"], "there is no flow 9; its only flow is 1"),
        (&["diagnose", "transfer.pcap", "--flow", "0"], "flows are numbered from 1"),
        (&["diagnose", "transfer.pcap", "--min-bytes", "1000"], "write a number and a unit"),
        (&["diagnose", "transfer.pcap", "--vantage", "moon"], "possible values: sender, receiver, between"),
        (&["diagnose", "transfer.pcap", "--bogus"], "unexpected argument '--bogus'"),
        (&["show", "transfer.pcap", "--from", "noon"], "write seconds since the first packet"),
        (
            &["show", "transfer.pcap", "--from", "2", "--to", "1"],
            "--to 1.000000000 is before --from 2.000000000",
        ),
        (&["show", "transfer.pcap", "--label", "lost"], "possible values: new, retransmission"),
        (&["diagnose", "transfer.pcap", "./transfer.pcap"], "transfer.pcap: is given twice"),
        (&["causes", "no-such-cause"], "invalid value 'no-such-cause'"),
        (&["diagnose"], "required arguments"),
        (&[], "Usage: slowpath"),
    ] {
        let (code, out, err) = outcome(&run(&folder, args));
        assert!(code == 2 && err.contains(part) && out.is_empty(), "{args:?}: {code} {out} {err}");
    }
}

#[test]
fn a_recording_without_tcp_is_no_error() {
    let folder = Captures::new();
    folder.write("nothing.pcap", &captures::header());
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "nothing.pcap"]));
    assert!(code == 0 && out.contains("There are no packets in it."), "{out}");
    for command in ["flows", "show"] {
        let (code, _, err) = outcome(&run(&folder, &[command, "nothing.pcap"]));
        assert!(code == 0 && err.contains("nothing.pcap: there are no packets in it"), "{command}: {err}");
    }
    // Two datagrams and an ARP request: the output names them, and the exit code says that nothing could be read.
    let ip = [
        &[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0][..],
        &[10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 53, 0, 8, 0, 0],
    ];
    let datagram = [&[2; 12][..], &[8, 0], &ip.concat()].concat();
    let request = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
    let mut file = captures::header();
    file[20] = 1;
    for frame in [&datagram, &request, &datagram] {
        for word in [1, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    folder.write("datagrams.pcap", &file);
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "datagrams.pcap"]));
    assert!(code == 1 && out.contains("Nothing in it could be read as TCP."), "{out}");
    assert!(out.contains("Not used: 2 frames (UDP), 1 frame (ARP)."), "{out}");
    for command in ["flows", "show"] {
        let (code, _, err) = outcome(&run(&folder, &[command, "datagrams.pcap"]));
        assert!(
            code == 1 && err.contains("datagrams.pcap: nothing in it could be read as TCP"),
            "{command}: {err}"
        );
        assert!(err.contains("not used: 2 frames: UDP"), "{command}: {err}");
    }
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "datagrams.pcap", "--json"]));
    assert!(code == 1 && out.contains(r#""other_protocols""#) && out.contains(r#""UDP""#), "{out}");
}

#[test]
fn closed_output_pipe_is_no_error() {
    let folder = Captures::new();
    folder.write("long.pcap", &captures::transfer(3000));
    let mut child = slowpath(&folder)
        .args(["show", "long.pcap"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut first = [0; 100];
    child.stdout.take().expect("it was asked for").read_exact(&mut first).expect("there is some");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn flows_can_be_chosen() {
    let folder = Captures::new();
    folder.transfer();
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "transfer.pcap", "--min-bytes", "1 GiB"]));
    assert!(code == 0 && out.contains("1 flow not shown, as asked for"), "{out}");
    let (_, out, _) = outcome(&run(&folder, &["diagnose", "transfer.pcap", "--top", "0"]));
    assert!(out.contains("198.51.100.7:443") && !out.contains("── flow"), "{out}");
    let (_, out, _) = outcome(&run(&folder, &["diagnose", "transfer.pcap", "--vantage", "receiver"]));
    assert!(out.contains("Recorded at the receiver"), "{out}");
}

#[test]
fn every_cause_is_explained() {
    let folder = Captures::new();
    let (code, list, _) = outcome(&run(&folder, &["causes"]));
    assert_eq!(code, 0);
    let names: Vec<_> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.contains('/'))
        .collect();
    assert!(names.len() > 20, "{list}");
    for name in names {
        let (code, out, _) = outcome(&run(&folder, &["causes", name]));
        assert!(code == 0 && out.contains(name) && out.lines().count() > 20, "{name}: {out}");
        let short = name.split_once('/').expect("its limit, and what of it").1;
        assert_eq!(outcome(&run(&folder, &["causes", short])).1, out, "{short}");
    }
}

#[test]
fn completions_and_man_page_come_from_the_same_definition() {
    let folder = Captures::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, _) = outcome(&run(&folder, &["completions", shell]));
        assert!(code == 0 && out.contains("diagnose") && out.contains("vantage"), "{shell}");
    }
    let (code, out, _) = outcome(&run(&folder, &["man"]));
    assert!(code == 0 && out.contains(".TH slowpath 1") && out.contains("slowpath\\-diagnose(1)"), "{out}");
    let (code, out, _) = outcome(&run(&folder, &["man", "diagnose"]));
    assert!(code == 0 && out.contains(".TH slowpath-diagnose 1") && out.contains("\\-\\-vantage"), "{out}");
    let (code, out, _) = outcome(&run(&folder, &["man", "profile", "top"]));
    assert!(code == 0 && out.contains(".TH slowpath-profile-top 1"), "{out}");
    let (code, _, err) = outcome(&run(&folder, &["man", "profile", "bottom"]));
    assert!(code == 2 && err.contains("profile has no command bottom; it has record, top"), "{err}");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["man", "--out", "man1"]));
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    let pages: Vec<String> = std::fs::read_dir(folder.path("man1"))
        .expect("a folder")
        .map(|page| page.expect("a page").file_name().into_string().expect("a name"))
        .collect();
    let (_, help, _) = outcome(&run(&folder, &["-h"]));
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut count = 0;
    // Continuation lines are indented further.
    let named = commands
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    for command in named.filter(|name| *name != "help") {
        assert!(pages.contains(&format!("slowpath-{command}.1")), "{command}: {pages:?}");
        count += 1;
    }
    assert!(count >= 17 && pages.len() > count, "{count} commands, {} pages", pages.len());
}

/// Splits a command line of the help into words; what is in single quotes is one.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(place, part)| match place % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
}

#[test]
fn every_example_of_the_help_runs() {
    let folder = Captures::new();
    let pcaps = ["transfer.pcap", "monday.pcap", "tuesday.pcap"].map(str::to_owned);
    let pcapngs =
        ["transfer", "sender", "big", "good", "bad", "before", "after"].map(|name| format!("{name}.pcapng"));
    for name in pcaps.iter().chain(&pcapngs) {
        folder.write(name, &captures::transfer(60));
    }
    folder.write("receiver.pcapng", &captures::transfer_at_receiver(60));
    anonymize::key_file(&folder, 0o600);
    drill::write_scripts(&folder);
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    symlink(scenarios.canonicalize().expect("the shipped scenarios"), folder.path("scenarios"))
        .expect("a link");
    profile::fixtures(&folder);
    let mut ran = 0;
    let mut far_end = None;
    for page in help::pages(&folder) {
        for line in page.lines().filter_map(|line| line.strip_prefix("  ")) {
            if !line.starts_with("slowpath ") {
                continue;
            }
            let line = line.split(" | ").next().unwrap_or(line).split(" > ").next().unwrap_or(line);
            if line == "slowpath probe --serve" {
                far_end = Some(probe::FarEnd::start(&folder, &words(line)[1..]));
                continue;
            }
            let (code, _, err) = outcome(&run(&folder, &words(line)[1..]));
            if line.starts_with("slowpath doctor") {
                // What doctor finds, and whether the interface or host exists, depends on this machine.
                assert!(!err.contains("Usage:"), "{line}: {err}");
            } else {
                assert_eq!((code, err.as_str()), (0, ""), "{line}");
            }
            ran += 1;
        }
    }
    assert!(ran >= 14, "{ran} examples");
    far_end.expect("an example starts it").interrupt();
    assert!(Path::new(&folder.path("report.html")).exists());
}
