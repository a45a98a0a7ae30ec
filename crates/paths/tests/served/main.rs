//! The server as its clients meet it: what it answers, what it refuses, and what it bears.

mod api;
mod asked;
mod hostile;
mod speed;

use serde_json::Value;
use slowpath_paths::client::Place;
use slowpath_paths::entry::{Entry, Measure, Pair, Source};
use slowpath_paths::store::Store;
use slowpath_paths::{Serving, Token, serve};
use slowpath_tune::advice::Known;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const TOKEN: &str = "0123456789abcdefghijABCDEFGHIJ-._~+/==";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn known() -> Known {
    Known { release: "6.18.1".to_owned(), page: 4096, sysctls: Vec::new() }
}

fn pair(to: u8) -> Pair {
    Pair::new([192, 0, 2, 1].into(), [198, 51, 100, to].into())
}

/// A path of 100 Mbit/s and 40 ms.
fn measured(pair: Pair, at: u64) -> [Entry; 4] {
    [
        (Measure::RttMin, 40_000_000),
        (Measure::Capacity, 100_000_000),
        (Measure::Available, 95_000_000),
        (Measure::Mtu, 1500),
    ]
    .map(|(measure, value)| Entry::new(pair, at, Source::Probe, measure, value))
}

/// A server in a thread, with a store of its own.
struct Server {
    folder: tempfile::TempDir,
    http: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves these values on loopback and on a Unix socket.
    fn start(entries: &[Entry], token: Option<&str>) -> Self {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), entries, token)
    }

    fn listen(at: SocketAddr, entries: &[Entry], token: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("paths.db");
        Store::open(&store).expect("a store").record(entries, now()).expect("recorded");
        let stop = Arc::new(AtomicBool::new(false));
        let (ended, socket) = (Arc::clone(&stop), folder.path().join("socket"));
        let token = token.map(|token| Token::of(token).expect("a token"));
        let (say, said) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let serving =
                Serving { store: &store, listen: Some(at), socket: Some(&socket), token, known: known() };
            let say = |line: &str| say.send(line.to_owned()).expect("the test listens");
            serve(serving, &|| ended.load(Ordering::Relaxed), &say).expect("it serves");
        });
        let line = said.recv_timeout(Duration::from_secs(20)).expect("it listens");
        said.recv_timeout(Duration::from_secs(20)).expect("on its socket too");
        let http = line.split_once("http://").expect("an address").1;
        let http = http.split_once(". ").expect("its end").0.parse().expect("an address");
        Self { folder, http, stop, thread: Some(thread) }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn places(&self) -> [Place; 2] {
        [Place::Unix(self.socket()), Place::Tcp(self.http)]
    }

    fn store(&self) -> Store {
        Store::open_existing(&self.folder.path().join("paths.db")).expect("the store")
    }

    /// Sends a request by TCP, and returns status and body.
    fn tcp(&self, head: &str, body: &str) -> (u16, Value) {
        exchange(TcpStream::connect(self.http).expect("it listens"), head, body)
    }

    /// Sends a request by the Unix socket.
    fn unix(&self, head: &str, body: &str) -> (u16, Value) {
        exchange(UnixStream::connect(self.socket()).expect("it listens"), head, body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server panicked");
        }
    }
}

/// `head` is the request's first line without the version, with further headers on lines of their own.
fn exchange(mut stream: impl Read + Write, head: &str, body: &str) -> (u16, Value) {
    let (line, more) = head.split_once('\n').unwrap_or((head, ""));
    let headers: String = more.lines().map(|line| format!("{line}\r\n")).collect();
    let host = if more.contains("Host:") { "" } else { "Host: 127.0.0.1\r\n" };
    let length = body.len();
    let text = format!(
        "{line} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("sent");
    let mut answer = String::new();
    // A server that refuses a body may hang up before all of it has come.
    let _ = stream.read_to_string(&mut answer);
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}
