//! Ends that lie, send garbage, or disappear.

use crate::ends::{Ends, contents, listing, run};
use slowpath_copy::place::Place;
use slowpath_copy::protocol::{Entry, Message};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A program in place of ssh, whose far end says these bytes, whatever it hears, and then is silent or ends.
fn far_end(folder: &Path, says: &[u8], then: &str) -> String {
    let (said, script) = (folder.join("said"), folder.join("ssh"));
    fs::write(&said, says).expect("a file");
    fs::write(&script, format!("#!/bin/sh\ncat {}\n{then}\n", said.display())).expect("a file");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("its mode");
    script.display().to_string()
}

fn said(messages: &[Message]) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| message.write(&mut bytes));
    bytes
}

fn ready(listener: &TcpListener) -> Message {
    Message::Ready {
        port: listener.local_addr().expect("an address").port(),
        address: Some(Ipv4Addr::LOCALHOST.into()),
    }
}

fn entry(path: &[u8], size: Option<u64>) -> Message {
    Message::Entry(Entry { path: path.to_vec(), size, mode: 0o644, modified_s: 0, modified_ns: 0 })
}

fn ssh(path: &str) -> Place {
    Place::Ssh { host: "localhost".to_owned(), path: path.into() }
}

/// The error of a copy with a far end that says this. Nothing is written to the near end's folder.
fn get(says: &[u8], then: &str) -> String {
    let ends = Ends::new();
    let scripts = tempfile::tempdir().expect("a folder");
    let mut wanted = ends.wanted(ssh("data"), Place::Here(ends.here("got")));
    wanted.ssh = far_end(scripts.path(), says, then);
    let error = run(&wanted).expect_err("it cannot succeed").to_string();
    assert!(!ends.here("got").exists());
    for (path, _) in listing(ends.near.path()) {
        assert!(path.to_string_lossy().starts_with(".slowpath-partial-"), "{}", path.display());
    }
    error
}

#[test]
fn far_end_that_is_no_slowpath_is_named() {
    let cases: [(&[u8], &str, &str); 5] = [
        (b"Welcome to host!\nLast login: today\n", "exec sleep 20", "it says \"Welcome to host!\""),
        (b"", "exit 127", "ended with exit status: 127 before slowpath answered"),
        (&said(&[Message::Hello]), "exec sleep 20", "said what was not asked"),
        (
            &[0, 0, 0, 11, 2, b's', b'l', b'o', b'w', b'c', b'o', b'p', b'y', 0, 7],
            "exec sleep 20",
            "version 7",
        ),
        (
            &said(&[Message::Welcome, Message::Failed("no\x1b[2J".to_owned())]),
            "",
            "the far end: no\\u{1b}[2J",
        ),
    ];
    for (says, then, part) in cases {
        let error = get(says, then);
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn lying_source_writes_nothing_outside_the_destination() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let begin = [Message::Welcome, ready(&listener), Message::Root(b"data".to_vec())];
    let folder = entry(b"", None);
    let cases: [(&[Message], &str); 9] = [
        (&[folder.clone(), entry(b"../../x", Some(1))], "leads to another folder"),
        (&[folder.clone(), entry(b"/etc/x", Some(1))], "is empty"),
        (&[folder.clone(), entry(b"a/x", Some(1))], "not asked"),
        (&[folder.clone(), entry(b"a", Some(1)), entry(b"a/x", Some(1))], "not asked"),
        (&[folder.clone(), entry(b"a", Some(1)), entry(b"a", None)], "not asked"),
        (&[entry(b"x", Some(1))], "not asked"),
        (&[Message::Listed], "not asked"),
        (&[entry(b"", Some(1 << 50)), Message::Listed], "the disk has"),
        (&[folder, Message::Listed, Message::Root(b"x".to_vec())], "not asked"),
    ];
    for (lies, part) in cases {
        let error = get(&said(&[&begin, lies].concat()), "exec sleep 20");
        assert!(error.contains(part), "{lies:?}: {error}");
    }
}

/// What a source says that has one file, before the blocks.
fn one_file(listener: &TcpListener) -> [Message; 5] {
    let root = Message::Root(b"data".to_vec());
    [Message::Welcome, ready(listener), root, entry(b"", Some(5)), Message::Listed]
}

#[test]
fn data_connection_of_somebody_else_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let begin = one_file(&listener);
    let stranger = std::thread::spawn(move || {
        let (mut tcp, _) = listener.accept().expect("it connects");
        // As long as a record, and none.
        let garbage = [&[0, 0, 0, 61][..], &[7; 61]].concat();
        let _ = tcp.write_all(&garbage);
        let _ = tcp.read_to_end(&mut Vec::new());
    });
    let error = get(&said(&begin), "exec sleep 20");
    assert!(error.contains("does not have the key"), "{error}");
    stranger.join().expect("it ends");
}

#[test]
fn closed_port_is_an_error_that_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let begin = one_file(&listener);
    drop(listener);
    let error = get(&said(&begin), "exec sleep 20");
    assert!(error.contains("no data connection") && error.contains("--port"), "{error}");
}

#[test]
fn lying_destination_is_an_error() {
    let ends = Ends::new();
    let scripts = tempfile::tempdir().expect("a folder");
    fs::write(ends.here("file"), contents(3 << 20, 1)).expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let have = |file, first, count| Message::Have { file, first, digests: vec![[0; 32]; count] };
    for lie in
        [have(1, 0, 1), have(0, 1, 1), have(0, 0, 4), Message::Finished(Default::default()), Message::Listed]
    {
        let mut wanted = ends.wanted(Place::Here(ends.here("file")), ssh("copy"));
        let says = said(&[Message::Welcome, ready(&listener), lie.clone()]);
        wanted.ssh = far_end(scripts.path(), &says, "exec sleep 20");
        let error = run(&wanted).expect_err("a lie").to_string();
        assert!(error.contains("not asked"), "{lie:?}: {error}");
    }
}

#[test]
fn lines_of_the_far_hosts_standard_error_are_passed_on_in_part() {
    let ends = Ends::new();
    let scripts = tempfile::tempdir().expect("a folder");
    let mut wanted = ends.wanted(ssh("data"), Place::Here(ends.here("got")));
    wanted.ssh = far_end(scripts.path(), b"", "yes 'no such host' | head -n 5000 >&2");
    let lines = std::sync::Mutex::new(Vec::new());
    let say = |line: &str| lines.lock().expect("no panic").push(line.to_owned());
    slowpath_copy::real::near::copy(&wanted, &|| false, &mut |_| (), &say).expect_err("no far end");
    let lines = lines.into_inner().expect("no panic");
    assert!(lines.len() == 100 && lines[0] == "no such host", "{} lines", lines.len());
}

/// What a server answers to these bytes, until it closes the connection.
fn answer(ends: &Ends, bytes: &[u8]) -> Vec<u8> {
    let mut tcp = TcpStream::connect(ends.address).expect("it listens");
    tcp.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    tcp.write_all(bytes).expect("it listens");
    let mut answer = Vec::new();
    match tcp.read_to_end(&mut answer) {
        Ok(_) => answer,
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => answer,
        Err(error) => panic!("it does not end: {error}"),
    }
}

#[test]
fn server_tells_strangers_nothing_and_goes_on() {
    let ends = Ends::new();
    assert_eq!(answer(&ends, b"GET / HTTP/1.1\r\n\r\n"), b"");
    assert_eq!(answer(&ends, &[&b"slowdata"[..], &[1; 18], &[0; 100]].concat()), b"", "no such session");
    // A key agreement without the token: its answer is the server's public key, and no record that could be tried on.
    let hello = [&b"slowcopy"[..], &1_u16.to_be_bytes(), &[9; 32]].concat();
    let began = Instant::now();
    assert_eq!(answer(&ends, &hello).len(), 42, "and the connection ends by itself");
    assert!(began.elapsed() < Duration::from_secs(15));
    let garbage = [&hello[..], &[0, 0, 0, 100], &[5; 100]].concat();
    let said = answer(&ends, &garbage);
    assert!(said.len() >= 42 && !said.windows(5).any(|part| part == b"token"), "{said:?}");
    // Connections that say nothing take no place from others for long.
    let silent: Vec<TcpStream> = (0..100).filter_map(|_| TcpStream::connect(ends.address).ok()).collect();
    fs::write(ends.here("file"), "file").expect("a file");
    let began = Instant::now();
    while ends.put("file", "copy").is_err() {
        assert!(began.elapsed() < Duration::from_secs(40), "it serves nobody");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(fs::read(ends.there("copy")).expect("the copy"), b"file");
    drop(silent);
}
