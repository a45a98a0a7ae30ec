//! Look-ups a second, and the size of a full store.

use crate::{Server, now, pair};
use slowpath_paths::entry::{Entry, Measure, Pair, Source};
use slowpath_paths::store::{Limits, Store};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// How long look-ups are counted.
const TIME: Duration = Duration::from_secs(3);
/// Look-ups a second that the server gives at the least, also in an unoptimised build and next to other tests.
const LEAST: f64 = 500.0;

/// Asks on one connection again and again; returns how often it was answered.
fn lookups(mut stream: impl Read + Write, until: Instant) -> u64 {
    let (mut count, mut buffer) = (0, vec![0; 16 << 10]);
    while Instant::now() < until {
        let to = Ipv4Addr::from_bits(0x0a00_0000 + (count as u32 * 7919) % 4096);
        let request = format!("GET /v1/answer?to={to} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let (mut come, mut length) = (0, usize::MAX);
        while come < length {
            let read = stream.read(&mut buffer[come..]).expect("an answer");
            assert!(read > 0, "it hung up");
            come += read;
            let text = String::from_utf8_lossy(&buffer[..come]);
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
                let body = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                length = head.len() + 4 + body.expect("a length").parse::<usize>().expect("a number");
            }
        }
        count += 1;
    }
    count
}

/// A store with all paths that it can have, each with some values.
fn full() -> Vec<Entry> {
    let at = now();
    let pairs = (0..Limits::default().pairs)
        .map(|number| Pair::new(pair(1).from, Ipv4Addr::from_bits(0x0a00_0000 + number).into()));
    pairs.flat_map(|pair| crate::measured(pair, at)).collect()
}

#[test]
fn thousands_of_look_ups_a_second() {
    let server = Server::start(&full(), None);
    for connections in [1, 8] {
        let begun = Instant::now();
        let until = begun + TIME;
        let http = server.http;
        let tcp: Vec<_> = (0..connections)
            .map(|_| thread::spawn(move || lookups(TcpStream::connect(http).expect("it listens"), until)))
            .collect();
        let count: u64 = tcp.into_iter().map(|thread| thread.join().expect("it asks")).sum();
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        println!("{rate:.0} look-ups/s by TCP with {connections} connections");
        assert!(rate > LEAST, "{rate:.0} look-ups/s");
    }
    let begun = Instant::now();
    let stream = UnixStream::connect(server.socket()).expect("it listens");
    let rate = lookups(stream, begun + TIME) as f64 / begun.elapsed().as_secs_f64();
    println!("{rate:.0} look-ups/s by the Unix socket with 1 connection");
}

#[test]
#[ignore = "a measurement"]
fn size_of_a_full_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("paths.db");
    let mut store = Store::open(&file).expect("a store");
    let limits = Limits::default();
    let at = now() - 1000;
    for number in 0..limits.pairs {
        let path = Pair::new(pair(1).from, Ipv4Addr::from_bits(0x0a00_0000 + number).into());
        let of = |measure: Measure| {
            (0..limits.history).map(move |time| {
                let value = *measure.range().end() / 2;
                Entry::new(path, at + u64::from(time), Source::Probe, measure, value)
            })
        };
        let entries: Vec<Entry> = Measure::ALL.into_iter().flat_map(of).collect();
        store.record(&entries, now()).expect("recorded");
    }
    drop(store);
    let size = std::fs::metadata(&file).expect("the store").len();
    println!("{} paths with all values: {:.1} MB", limits.pairs, size as f64 / 1e6);
}
