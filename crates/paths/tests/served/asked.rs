//! The client and the server together, and a client before servers that lie, stall or break off.

use crate::{Server, TOKEN, known, measured, now, pair};
use slowpath_paths::Token;
use slowpath_paths::answer::{Advisor, Answer};
use slowpath_paths::client::{AskError, MOST_ANSWER, PATIENCE, Place, Report, ask, report};
use slowpath_paths::entry::Measure;
use slowpath_paths::store::Question;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

fn question(to: u8) -> Question {
    Question { to: vec![pair(to).to], from: vec![], streams: 2 }
}

#[test]
fn client_gets_what_the_store_computes() {
    let entries = measured(pair(7), now());
    let server = Server::start(&entries, None);
    for place in server.places() {
        let answer = ask(&place, &question(7), None).expect("an answer").expect("it is known");
        assert_eq!(answer, Answer::of(pair(7), &entries, 2, &mut Advisor::new(known()), answer.at));
        assert_eq!(answer.rtt(), Some(Duration::from_millis(40)));
        assert_eq!(answer.expected_rate().map(|rate| rate.get()), Some(95_000_000));
        assert!(answer.buffers.is_some_and(|buffers| buffers.window_bytes > 95_000_000 / 8 / 25 / 2));
        assert_eq!(ask(&place, &question(9), None).expect("an answer"), None);
        assert!(matches!(ask(&place, &Question::default(), None), Err(AskError::NoHost)));
    }
}

#[test]
fn values_are_taken_from_the_servers_user_and_with_the_token() {
    let server = Server::start(&[], Some(TOKEN));
    let [unix, tcp] = server.places();
    let token = Token::of(TOKEN).expect("a token");
    let wrong = Token::of(&"x".repeat(40)).expect("a token");
    let values = |to| Report { entries: measured(pair(to), now()).to_vec() };
    assert_eq!(report(&unix, &values(1), None).expect("by this user"), 4);
    assert_eq!(report(&tcp, &values(2), Some(&token)).expect("with the token"), 4);
    for token in [None, Some(&wrong)] {
        let error = report(&tcp, &values(3), token).expect_err("it is refused").to_string();
        assert!(error.contains("401") && error.contains("needs the server's token"), "{error}");
    }
    let mut bad = values(4);
    bad.entries[0].value = 0;
    let error = report(&unix, &bad, None).expect_err("it is refused").to_string();
    assert!(error.ends_with("rtt-min 0 is not from 1000 to 100000000000"), "{error}");
    let paths = server.store().all().expect("paths");
    assert_eq!(paths.len(), 2);
}

#[test]
fn no_server_is_told_from_one_that_is_silent() {
    let at = Place::Tcp(TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address"));
    assert!(matches!(ask(&at, &question(7), None), Err(AskError::Connect { .. })));
    let none = "unix:/nowhere/paths.sock".parse().expect("a place");
    assert!(matches!(ask(&none, &question(7), None), Err(AskError::Connect { .. })));
    for text in ["", "paths.sock", "https://127.0.0.1:1", "http://127.0.0.1", "http://"] {
        assert!(matches!(text.parse::<Place>(), Err(AskError::NoPlace(_))), "{text}");
    }
    assert_eq!("http://127.0.0.1:5/".parse::<Place>().expect("a place").to_string(), "http://127.0.0.1:5");
}

/// What a client makes of a server that answers with these bytes, and then closes or stays.
fn faced(bytes: &[u8], stays: bool) -> Result<Option<Answer>, AskError> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = Place::Tcp(listener.local_addr().expect("its address"));
    let bytes = bytes.to_vec();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 4096]);
        // A client that has seen enough hangs up.
        let _ = stream.write_all(&bytes);
        if stays {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let result = ask(&at, &question(7), None);
    server.join().expect("it ends");
    result
}

fn http(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[test]
fn hostile_server_is_refused_in_bounded_time_and_memory() {
    let entries = measured(pair(7), now());
    let good = Answer::of(pair(7), &entries, 2, &mut Advisor::new(known()), now());
    let text = serde_json::to_string(&good).expect("JSON");
    assert_eq!(faced(&http(&text), false).expect("an answer"), Some(good.clone()));
    let bad = |text: &str| matches!(faced(&http(text), false), Err(AskError::Bad { .. }));
    assert!(bad(&text.replace("198.51.100.7", "198.51.100.8")));
    assert!(bad(&text.replace("95000000", "95000001000000000")));
    assert!(bad(&text.replace("\"streams\":2", "\"streams\":0")));
    let mut richer = good;
    richer.buffers.as_mut().expect("buffers").receive_bytes = u64::MAX;
    assert!(bad(&serde_json::to_string(&richer).expect("JSON")));
    for form in ["", "{}", "[]", "null", "\u{0}", &"[".repeat(10_000), &text.replace("\"at\":", "\"at\":-")] {
        assert!(matches!(faced(&http(form), false), Err(AskError::Form { .. })), "{form:.20}");
    }
    for garbage in
        [&b"SSH-2.0-OpenSSH\r\n"[..], b"", b"\0\0\0\0", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
    {
        assert!(matches!(faced(garbage, false), Err(AskError::Http { .. })), "{garbage:?}");
    }
    let long = http(&" ".repeat(MOST_ANSWER + 1));
    assert!(matches!(faced(&long, false), Err(AskError::Body { .. })));
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(matches!(faced(head.as_bytes(), false), Err(AskError::Http { .. })));
    let broken = http(&text);
    assert!(matches!(faced(&broken[..broken.len() - 5], false), Err(AskError::Body { .. })));
    let reason = format!("{{\"error\":\"{}\"}}", "x".repeat(5000));
    let refusal = format!("HTTP/1.1 500 No\r\nContent-Length: {}\r\n\r\n{reason}", reason.len());
    match faced(refusal.as_bytes(), false) {
        Err(AskError::Refused { why, .. }) => assert_eq!(why.len(), 200),
        other => panic!("{other:?}"),
    }
}

#[test]
fn server_that_stalls_is_left_in_time() {
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"] {
        let begun = Instant::now();
        assert!(matches!(faced(bytes, true), Err(AskError::Silent { .. })), "{bytes:?}");
        assert!(begun.elapsed() < PATIENCE + Duration::from_secs(2));
    }
}

#[test]
fn rate_of_the_link_is_trusted_longer_than_what_traffic_leaves() {
    let server = Server::start(&measured(pair(7), now() - 7200), None);
    let [unix, _] = server.places();
    let answer = ask(&unix, &question(7), None).expect("an answer").expect("it is known");
    // Two hours old: what other traffic leaves is no longer trusted, the link's rate is.
    assert_eq!(answer.value(Measure::Available).map(|value| value.trusted), Some(false));
    assert_eq!(answer.rate.map(|rate| rate.basis), Some(Measure::Capacity));
    assert_eq!(answer.value(Measure::Loss), None);
}
