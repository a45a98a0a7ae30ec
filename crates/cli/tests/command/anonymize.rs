//! Copies without names: the same verdict, from every kind of input.

use crate::captures::{self, Captures};
use crate::{json, outcome, run, shipped};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Fields that are names, sizes of the file, or places in it.
const NAMES: [&str; 8] =
    ["name", "file_bytes", "captured_bytes", "first_offset", "compression", "format", "host", "title"];

pub fn key_file(folder: &Captures, mode: u32) {
    folder.write("key", "5a".repeat(32).as_bytes());
    fs::set_permissions(folder.path("key"), fs::Permissions::from_mode(mode)).expect("its mode");
}

/// The document without names, its hosts numbered in the order of its flows.
fn without_names(mut document: Value) -> Value {
    fn forget(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(forget),
            Value::Object(fields) => {
                fields.retain(|key, _| !NAMES.contains(&key.as_str()));
                fields.values_mut().for_each(forget);
            }
            _ => {}
        }
    }
    forget(&mut document);
    let flows = document["flows"].as_array().expect("flows");
    let ends = flows.iter().flat_map(|flow| [&flow["a"], &flow["b"]]).filter_map(Value::as_str);
    let mut hosts: Vec<String> = Vec::new();
    for end in ends {
        let (host, _) = end.rsplit_once(':').expect("a port");
        let host = host.trim_matches(['[', ']']).to_owned();
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let mut text = document.to_string();
    let mut longest: Vec<_> = hosts.iter().enumerate().collect();
    longest.sort_by_key(|(_, host)| std::cmp::Reverse(host.len()));
    for (number, host) in longest {
        text = text.replace(host, &format!("host {number}"));
    }
    json(&text)
}

fn verdict(folder: &Captures, file: &str) -> Value {
    let (code, out, err) = outcome(&run(folder, &["diagnose", "--json", file]));
    assert_eq!((code, err.as_str()), (0, ""), "{file}");
    json(&out)
}

fn anonymize(folder: &Captures, args: &[&str]) -> Value {
    let (code, out, err) = outcome(&run(folder, &[&["anonymize", "--json"], args].concat()));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/anonymize/1");
    document
}

/// A few of the labelled captures; all of them are compared when the command changes (`docs/src/anonymize.md`).
#[test]
fn labelled_captures_keep_their_verdicts() {
    let sets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut files: Vec<PathBuf> = Vec::new();
    for set in ["shipped", "heldout", "fresh"] {
        for case in fs::read_dir(sets.join(set)).expect("a set") {
            let case = case.expect("a case").path();
            let ends =
                ["sender", "receiver"].map(|end| ["pcap", "pcapng"].map(|kind| format!("{end}.{kind}.zst")));
            files.extend(ends.as_flattened().iter().map(|name| case.join(name)).filter(|file| file.exists()));
        }
    }
    files.sort();
    assert!(files.len() > 600, "{} captures", files.len());
    for file in files.iter().step_by(23) {
        let folder = Captures::new();
        let file = file.display().to_string();
        anonymize(&folder, &[&file, "copy"]);
        let (before, after) = (verdict(&folder, &file), verdict(&folder, "copy"));
        assert_eq!(without_names(after), without_names(before), "{file}");
    }
}

#[test]
fn key_file_gives_both_ends_the_same_addresses() {
    let folder = Captures::new();
    key_file(&folder, 0o600);
    folder.write("sender.pcapng", &captures::transfer(100));
    folder.write("receiver.pcapng", &captures::transfer_at_receiver(100));
    // Each is packed as its name says.
    for (end, packed, magic) in [("sender", "zst", &[0x28, 0xb5][..]), ("receiver", "gz", &[0x1f, 0x8b])] {
        let (from, to) = (format!("{end}.pcapng"), format!("{end}-copy.pcapng.{packed}"));
        anonymize(&folder, &["--key-file", "key", &from, &to]);
        assert!(fs::read(folder.path(&to)).expect("the copy").starts_with(magic), "{to}");
    }
    let of = |files: [&str; 2]| {
        let (code, out, err) = outcome(&run(&folder, &["diagnose", "--json", files[0], files[1]]));
        assert_eq!((code, err.as_str()), (0, ""));
        without_names(json(&out))
    };
    let copies = of(["sender-copy.pcapng.zst", "receiver-copy.pcapng.gz"]);
    assert!(copies["flows"][0]["pair"].is_object(), "the ends are matched: {copies}");
    assert_eq!(copies["flows"], of(["sender.pcapng", "receiver.pcapng"])["flows"]);
}

#[test]
fn random_key_differs_from_run_to_run() {
    let folder = Captures::new();
    folder.transfer();
    let address = |copy: &str| {
        let document = anonymize(&folder, &["transfer.pcap", copy]);
        assert_eq!(document["addresses"], 2);
        verdict(&folder, copy)["flows"][0]["a"].clone()
    };
    assert_ne!(address("one"), address("two"));
}

#[test]
fn key_file_that_others_may_read_is_refused() {
    let folder = Captures::new();
    folder.transfer();
    key_file(&folder, 0o644);
    let (code, _, err) = outcome(&run(&folder, &["anonymize", "--key-file", "key", "transfer.pcap", "copy"]));
    assert!(code == 2 && err.contains("others may read"), "{err}");
    key_file(&folder, 0o600);
    folder.write("key", b"no key");
    let (code, _, err) = outcome(&run(&folder, &["anonymize", "--key-file", "key", "transfer.pcap", "copy"]));
    assert!(code == 2 && err.contains("64 hexadecimal digits"), "{err}");
    assert!(!folder.path("copy").exists());
}

#[test]
fn copy_replaces_neither_its_input_nor_another_file() {
    let folder = Captures::new();
    folder.transfer();
    let refused = |args: &[&str], why: &str| {
        let (code, _, err) = outcome(&run(&folder, &[&["anonymize"], args].concat()));
        assert!(code == 2 && err.contains(why), "{args:?}: {err}");
    };
    let before = fs::read(folder.path("transfer.pcap")).expect("the capture");
    refused(&["transfer.pcap", "transfer.pcap", "--force"], "is what is read");
    folder.write("there", b"");
    refused(&["transfer.pcap", "there"], "exists already");
    folder.write("text", b"no capture, but a text that is long enough for a header");
    refused(&["text", "copy"], "text");
    assert!(!folder.path("copy").exists(), "nothing is left of a copy that was not made");
    assert_eq!(fs::read(folder.path("transfer.pcap")).expect("the capture"), before);
    anonymize(&folder, &["transfer.pcap", "there", "--force"]);
}

#[test]
fn capture_that_breaks_off_is_copied_with_exit_code_1() {
    let folder = Captures::new();
    folder.transfer();
    let whole = fs::read(folder.path("transfer.pcap")).expect("the capture");
    folder.write("cut.pcap", &whole[..whole.len() - 7]);
    let (code, out, err) = outcome(&run(&folder, &["anonymize", "cut.pcap", "copy"]));
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("the input breaks off: byte ") && out.contains("ends inside a record"), "{out}");
    assert!(folder.path("copy").exists());
}

/// A page without the handbook's pages in it, whose examples have addresses for documentation.
fn without_handbook(page: &str) -> String {
    let (before, rest) = page.split_once("id=\"data\">").expect("the data");
    let (data, after) = rest.split_once("</script>").expect("its end");
    let mut data = json(data);
    let causes = data["causes"].as_array_mut().expect("a list");
    let explained = causes.iter_mut().filter_map(|cause| cause.as_object_mut()?.remove("page"));
    assert!(explained.filter(|page| page.is_string()).count() > 0);
    [before, &data.to_string(), after].concat()
}

#[test]
fn report_without_names_has_none() {
    let folder = Captures::new();
    folder.write("sender.pcapng", &captures::transfer(100));
    folder.write("receiver.pcapng", &captures::transfer_at_receiver(100));
    // With a random key, an address keeps its first three bytes now and then.
    key_file(&folder, 0o600);
    let hidden = ["192.0.2.1", "198.51.100.7", "sender.pcapng", "receiver.pcapng"];
    for files in [&["sender.pcapng"][..], &["sender.pcapng", "receiver.pcapng"]] {
        for form in [&[][..], &["--json"], &["--html", "page.html", "--force"]] {
            let args = [&["diagnose", "--anonymize=key"], files, form].concat();
            let (code, mut out, err) = outcome(&run(&folder, &args));
            assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
            if form.len() == 3 {
                out += &without_handbook(&fs::read_to_string(folder.path("page.html")).expect("a page"));
            }
            for name in hidden {
                assert!(!out.contains(name), "{args:?}: {name}: {out}");
            }
        }
    }
    let ends = |args: &[&str]| {
        let (_, out, _) = outcome(&run(&folder, &[&["diagnose", "--json"], args].concat()));
        json(&out)["flows"][0]["a"].clone()
    };
    anonymize(&folder, &["--key-file", "key", "sender.pcapng", "copy"]);
    assert_eq!(ends(&["--anonymize=key", "sender.pcapng"]), ends(&["copy"]), "the mapping of the copy");
}

#[test]
fn recordings_keep_their_events() {
    let folder = Captures::new();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/small-rcvbuf.toml");
    let (code, _, err) = outcome(&run(&folder, &["run", scenario, "--record", "recorded"]));
    assert_eq!(code, 0, "{err}");
    let document = anonymize(&folder, &["recorded", "shared"]);
    assert!(document["kind"] == "recording" && document["events"].as_u64() > Some(1000), "{document}");
    assert_eq!(without_names(verdict(&folder, "shared")), without_names(verdict(&folder, "recorded")));
    let names = |file: &str| verdict(&folder, file)["flows"][0]["a"].clone();
    assert_ne!(names("shared"), names("recorded"));
    let (code, _, err) = outcome(&run(&folder, &["anonymize", "recorded", "shared"]));
    assert!(code == 2 && err.contains("exists already"), "{err}");
}

#[test]
fn records_of_the_probe_keep_their_verdict() {
    let folder = Captures::new();
    let shipped = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../captures/shipped/mtu-told-20mbit-30ms-1400/probe.raw.zst"
    );
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../sources/live/tests/live/kept/transfer");
    for kept in [shipped.to_owned(), format!("{kept}.raw"), format!("{kept}-2.raw")] {
        let document = anonymize(&folder, &[&kept, "copy", "--force"]);
        assert_eq!(document["kind"], "records");
        let read = |file: &str| json(&outcome(&run(&folder, &["diagnose", "--json", file])).1);
        let (before, after) = (read(&kept), read("copy"));
        if kept == shipped {
            let ends = |document: &Value| document["flows"][0]["a"]["endpoint"].clone();
            assert!(ends(&before).is_string() && ends(&before) != ends(&after), "{after}");
        }
        assert_eq!(nameless(after), nameless(before), "{kept}");
    }
}

/// Records without the names of devices, processes and ends.
fn nameless(document: Value) -> Value {
    match document {
        Value::Array(items) => items.into_iter().map(nameless).collect(),
        Value::Object(fields) => {
            let named = ["endpoint", "device", "process", "name"];
            let kept = fields.into_iter().filter(|(key, _)| !named.contains(&key.as_str()));
            kept.map(|(key, value)| (key, nameless(value))).collect::<serde_json::Map<_, _>>().into()
        }
        other => other,
    }
}

#[test]
fn standard_input_is_copied() {
    let folder = Captures::new();
    let file = shipped("full-link-10mbit-40ms-cubic", "sender");
    let shell = format!("zstd -dc {file} | \"$0\" anonymize - copy");
    let program = env!("CARGO_BIN_EXE_slowpath");
    let done =
        std::process::Command::new("sh").args(["-c", &shell, program]).current_dir(folder.path("")).output();
    assert!(done.expect("a shell").status.success());
    assert_eq!(without_names(verdict(&folder, "copy")), without_names(verdict(&folder, &file)));
}
