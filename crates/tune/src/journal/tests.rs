//! Files of a journal that are whole, torn at each byte, or damaged.

use super::*;
use slowpath_model::Rate;

fn begun() -> Begun {
    Begun {
        version: VERSION,
        plan: "plän.toml".to_owned(),
        goal: "1 Gbit/s over 40 ms".to_owned(),
        at: 1_700_000_000,
        ends: Some(1_700_000_600),
        uid: 0,
        sudo_user: Some("ann".to_owned()),
        boot: "b".to_owned(),
        netns: None,
        netns_inode: 1,
        reasons: vec![Reason {
            setting: "sysctl net.ipv4.tcp_sack".to_owned(),
            finding: "sack".to_owned(),
            why: "Wéll.".to_owned(),
        }],
        predicted: Some(Forecast::of(Rate::mbit(14), [44, 47].map(Rate::mbit), None).ok_or_else(String::new)),
    }
}

fn change(new: &str) -> Record {
    let [setting, old, new] = ["sysctl net.ipv4.tcp_sack", "0", new].map(str::to_owned);
    Record::Change(Changed { setting, old, new })
}

fn records() -> Vec<Record> {
    vec![
        Record::Timer(Timer::Watcher { pid: 7 }),
        change("1"),
        change("2"),
        Record::Persist { file: PathBuf::from("90-slowpath-1.conf"), text: "# ü\n".to_owned() },
        Record::Measured(Measured {
            measure: Measure::Rate,
            unit: ReadingUnit::BitsPerSecond,
            runs: 8,
            old: 14.2e6,
            new: 46.6e6,
            gain: Gain { estimate: 2.29, lower: Some(2.26), upper: None },
        }),
        Record::Applied,
        Record::Reverting { at: 5, uid: 0 },
        Record::Reverted { at: 6, left: vec!["ö".to_owned()] },
    ]
}

/// A journal with one plan, and its file.
fn journal(folder: &Path) -> (Journal, PathBuf) {
    let journal = Journal::at(folder);
    let (id, mut writer) = journal.begin(begun()).expect("there is room");
    assert_eq!(id, 1);
    for record in records() {
        writer.write(&record).expect("there is room");
    }
    (journal, folder.join("0001.jsonl"))
}

/// By hand, a prediction may become one that no slowpath writes.
#[test]
fn a_prediction_that_cannot_be_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let begun = r#"{"record":"begun","version":1,"plan":"p","goal":"","at":1,"ends":null,"uid":0,"sudo_user":null,"boot":"b","netns":null,"netns_inode":1,"reasons":[],"predicted":null}"#;
    let read = |text: &str| {
        fs::write(folder.path().join("0001.jsonl"), format!("{text}\n{{\"record\":\"applied\"}}\n"))
            .expect("a file");
        Journal::at(folder.path()).read(1)
    };
    let written = read(begun).expect("whole").expect("begun");
    assert!(written.is_applied() && written.measured().is_none(), "{written:?}");
    let bad = r#""predicted":{"Ok":{"now":"1","then":"2","limit":""}}"#;
    assert!(read(&begun.replace("\"predicted\":null", bad)).is_err());
}

#[test]
fn records_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, _) = journal(folder.path());
    let written = journal.read(1).expect("whole").expect("begun");
    assert_eq!((written.begun.clone(), written.records.clone()), (begun(), records()));
    assert!(written.is_applied() && written.is_closed());
    // Of a setting, the last record counts.
    assert_eq!(written.changes().map(|change| change.new.as_str()).collect::<Vec<_>>(), ["2"]);
    let (id, _) = journal.begin(begun()).expect("there is room");
    assert_eq!((id, journal.all().expect("a folder").len()), (2, 2));
}

#[test]
fn torn_at_each_byte_it_has_the_whole_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, path) = journal(folder.path());
    let bytes = fs::read(&path).expect("a file");
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).expect("there is room");
        let lines = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
        let written = journal.read(1).expect("a torn line is no damage");
        let known = written.map_or(0, |written| written.records.len() + 1);
        assert_eq!(known, lines, "{length}");
        if lines > 0 {
            // The next record does not continue the torn line.
            journal.resume(1).expect("a file").write(&Record::Applied).expect("there is room");
            let written = journal.read(1).expect("whole").expect("begun");
            assert_eq!(written.records.len(), lines);
            assert_eq!(written.records.last(), Some(&Record::Applied));
        }
    }
}

#[test]
fn zeros_after_a_power_cut_are_a_torn_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, path) = journal(folder.path());
    let mut bytes = fs::read(&path).expect("a file");
    bytes.extend([0; 4096]);
    fs::write(&path, bytes).expect("there is room");
    assert_eq!(journal.read(1).expect("torn").expect("begun").records, records());
}

#[test]
fn damage_in_the_middle_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, path) = journal(folder.path());
    let text = fs::read_to_string(&path).expect("a file");
    for (from, to, says) in [
        ("\"watcher\"", "\"sundial\"", "0001.jsonl:2"),
        ("\"version\":1", "\"version\":9", "another slowpath"),
        ("{\"record\":\"begun\"", "{\"record\":\"begin\"", "0001.jsonl:1"),
        ("\"uid\":0,\"sudo", "\"more\":0,\"uid\":0,\"sudo", "unknown field"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replace(from, to)).expect("there is room");
        let error = journal.read(1).expect_err(from).to_string();
        assert!(error.contains(says), "{error}");
    }
}
