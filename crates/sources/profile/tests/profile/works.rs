//! What a host did, stored and read back.

use slowpath_cost::Work;
use slowpath_cost::work::Carried;
use slowpath_profile::work::{Begun, beside, from_json, open, to_json, write};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

fn written() -> Work {
    Work {
        seconds: Some(10.5),
        cpus: Some(2),
        cpu_hz: None,
        is_whole_host: Some(true),
        counters: BTreeMap::from([("Tcp.InSegs".to_owned(), 7), ("TcpExt.TCPPureAcks".to_owned(), u64::MAX)]),
        devices: BTreeMap::from([(
            "eth0 \"<&".to_owned(),
            Carried { received_bytes: 1, received_packets: 2, sent_bytes: 3, sent_packets: 4 },
        )]),
    }
}

#[test]
fn work_file_round_trips() {
    let read = from_json("x", to_json(&written()).as_bytes()).unwrap();
    assert_eq!((read.work, read.skipped), (written(), Vec::new()));
    assert_eq!(beside(Path::new("a/perf.data")), Path::new("a/perf.data.work.json"));
}

#[test]
fn invalid_values_are_skipped_and_named() {
    let text = br#"{"schema": "slowpath/work/1", "seconds": -1, "cpus": 0, "cpu_hz": null, "later": {},
        "counters": {"Tcp.InSegs": -5, "Tcp.OutSegs": 3}, "devices": {"lo": {"received_bytes": 1}}}"#;
    let read = from_json("x", text).unwrap();
    assert_eq!(read.skipped, ["seconds", "cpus", "counters.Tcp.InSegs", "devices.lo"]);
    assert_eq!(read.work.counters, BTreeMap::from([("Tcp.OutSegs".to_owned(), 3)]));
    assert_eq!((read.work.seconds, read.work.segments()), (None, None));
}

#[test]
fn file_of_another_format_is_an_error() {
    for text in [
        "",
        "[]",
        "{}",
        "{\"schema\": 1}",
        "{\"schema\": \"slowpath/work/2\"}",
        "\u{0}",
        "{\"schema\": \"slowpath/work/1\"",
    ] {
        let error = from_json("x", text.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("x: not what a host did (slowpath/work/1): "), "{error}");
    }
    let deep = "[".repeat(100_000);
    assert!(from_json("x", deep.as_bytes()).is_err());
    assert!(from_json("x", &vec![b' '; 5 << 20]).unwrap_err().to_string().contains("more than"));
    assert!(
        open(Path::new("/dev/zero")).unwrap_err().to_string().contains("more than"),
        "it is read to a bound"
    );
    assert!(open(Path::new("/nowhere")).is_err());
}

/// A loopback transfer appears in the kernel's counters.
#[test]
fn loopback_transfer_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let begun = Begun::here();
    let address = listener.local_addr().unwrap();
    let sender = thread::spawn(move || {
        std::io::copy(&mut std::io::repeat(7).take(8 << 20), &mut TcpStream::connect(address).unwrap())
            .unwrap()
    });
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    assert_eq!((sender.join().unwrap(), received.len()), (8 << 20, 8 << 20));
    let work = begun.end();
    // Other tests may send at the same time.
    let lo = work.devices["lo"];
    assert!(lo.received_bytes > 8 << 20 && lo.sent_packets > 100, "{lo:?}");
    // A loopback packet has at most 64 KiB, and its MSS is smaller.
    assert!(work.segments().unwrap() >= 2 * 128, "{work:?}");
    assert!(work.counter("IpExt.InOctets").unwrap() > 8 << 20);
    assert!(work.counter("Tcp.PassiveOpens").unwrap() >= 1 && work.counter("Tcp.CurrEstab").is_none());
    assert!(work.seconds.unwrap() > 0.0 && work.cpus.unwrap() > 0);
    let folder = tempfile::tempdir().unwrap();
    let at = write(&folder.path().join("perf.data"), &work).unwrap();
    assert_eq!(open(&at).unwrap().work, work);
}
