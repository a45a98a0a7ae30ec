//! `watch --metrics`: served, guarded, and right about faults that are put in; the files that come with it.

mod files;

use super::{outcome, run, send_signal, slowpath};
use crate::captures::Captures;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdefghijABCDEFGHIJ-._~+/==";

/// How long something may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// `slowpath watch --metrics`, in a process of its own.
struct Exporter {
    child: Child,
    port: u16,
}

impl Exporter {
    fn start(folder: &Captures, listen: &str, args: &[&str]) -> Self {
        let mut command = slowpath(folder);
        command.args(["watch", "--metrics", listen]).args(args).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut out = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        let said = out.next().and_then(Result::ok).unwrap_or_default();
        let port = said.strip_prefix("Metrics on http://").and_then(|rest| rest.split('/').next());
        let address: Option<SocketAddr> = port.and_then(|address| address.parse().ok());
        // What else it says must not fill the pipe.
        thread::spawn(move || out.for_each(drop));
        Self { child, port: address.unwrap_or_else(|| panic!("no address: {said}")).port() }
    }

    /// Asks by GET; returns the response's head and body.
    fn ask(&self, path: &str, headers: &str) -> (String, String) {
        self.request(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Connection: close\r\n\r\n"))
    }

    fn request(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("text");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head and a body");
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        assert!(!is_chunked, "{head}");
        (head.to_owned(), body.to_owned())
    }

    fn samples(&self) -> BTreeMap<String, f64> {
        let (head, body) = self.ask("/metrics", "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(body.ends_with("# EOF\n"), "{body}");
        let lines = body.lines().filter(|line| !line.starts_with('#'));
        let read = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            Some((series.to_owned(), value.parse().ok()?))
        };
        lines.map(|line| read(line).unwrap_or_else(|| panic!("no sample: {line}"))).collect()
    }

    /// Waits for so many intervals.
    fn intervals(&self, wanted: f64) {
        let began = Instant::now();
        while self.samples()["slowpath_intervals_total"] < wanted {
            assert!(began.elapsed() < PATIENCE, "no intervals");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ends it by a signal; returns the exit code.
    fn end(mut self, signal: i32) -> Option<i32> {
        send_signal(&self.child, signal);
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status.code();
            }
            assert!(began.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // It has ended if the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn metrics_are_served_and_signals_end_it() {
    let folder = Captures::new();
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let exporter = Exporter::start(&folder, "127.0.0.1:0", &["--own"]);
        let (head, body) = exporter.ask("/metrics", "");
        assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
        assert!(body.contains("source=\"tcp-info\"") && body.ends_with("# EOF\n"), "{body}");
        // A scraper that keeps its connection does not keep it from ending.
        let mut kept = TcpStream::connect(("127.0.0.1", exporter.port)).expect("it listens");
        kept.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it reads");
        assert_eq!(kept.read(&mut [0; 1]).expect("an answer"), 1);
        assert_eq!(exporter.end(signal), Some(0));
    }
}

#[test]
fn requests_that_are_not_for_metrics_are_refused() {
    let folder = Captures::new();
    let exporter = Exporter::start(&folder, "127.0.0.1:0", &["--own"]);
    let status = |request: &str| exporter.request(request).0.split(' ').nth(1).map(str::to_owned);
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", "404"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "403"),
        ("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", "403"),
        ("nonsense\r\n\r\n", "400"),
        (&format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "x".repeat(20_000)), "431"),
    ] {
        let short = &request[..request.len().min(60)];
        assert!(
            status(request).is_some_and(|code| code == expected || (expected == "431" && code == "414")),
            "{short}: {:?}",
            status(request)
        );
    }
}

#[test]
fn other_hosts_need_the_token() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["watch", "--own", "--metrics", "0.0.0.0:0"]));
    assert!((code, out.as_str()) == (2, "") && err.contains("--token-file"), "{err}");
    let file = folder.write("token", format!("{TOKEN}\n").as_bytes());
    let file = file.to_str().expect("text");
    let mode =
        |mode| std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("its mode");
    mode(0o644);
    let args = ["watch", "--own", "--metrics", "0.0.0.0:0", "--token-file", file];
    let (code, _, err) = outcome(&run(&folder, &args));
    assert!(code == 2 && err.contains("chmod 600"), "{err}");
    mode(0o600);
    let exporter = Exporter::start(&folder, "0.0.0.0:0", &["--own", "--token-file", file]);
    for (headers, expected) in [
        (String::new(), "401"),
        (format!("Authorization: Bearer {TOKEN}x\r\n"), "401"),
        (format!("Authorization: Bearer {TOKEN}\r\n"), "200"),
    ] {
        let (head, body) = exporter.ask("/metrics", &headers);
        assert_eq!(head.split(' ').nth(1), Some(expected), "{headers}");
        assert_eq!(body.contains("slowpath_"), expected == "200", "{headers}");
    }
}

#[test]
fn arguments_that_do_not_fit_are_explained() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let taken = taken.local_addr().expect("an address").to_string();
    for (args, says) in [
        (&["--metrics", &*taken][..], "cannot listen on"),
        (&["--metrics", "9433"], "invalid"),
        (&["--metrics", "127.0.0.1:0", "--by", "port"], "cannot be used with"),
        (&["--metrics", "127.0.0.1:0", "--labels", "port"], "write service, process, cgroup, pod or remote"),
        (&["--metrics", "127.0.0.1:0", "--remote-prefix", "24"], "such as 24,48"),
        (&["--series", "5"], "--metrics"),
    ] {
        let (code, out, err) = outcome(&run(&Captures::new(), &[&["watch", "--own"], args].concat()));
        assert!((code, out.as_str()) == (2, "") && err.contains(says), "{args:?}: {code} {err}");
    }
}

/// A connection over loopback that goes on until it is dropped.
struct Transfer {
    port: u16,
    over: Arc<AtomicBool>,
    ends: Vec<JoinHandle<()>>,
    // It listens on: its port is a service's.
    _listener: TcpListener,
}

impl Transfer {
    fn start(
        mut write: impl FnMut(&mut TcpStream) + Send + 'static,
        mut read: impl FnMut(&mut TcpStream) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let mut server = listener.accept().expect("its other end").0;
        for stream in [&client, &server] {
            let time = Some(Duration::from_millis(250));
            stream.set_read_timeout(time).expect("a socket takes it");
            stream.set_write_timeout(time).expect("a socket takes it");
        }
        let over = Arc::new(AtomicBool::new(false));
        let (reader, writer) = (Arc::clone(&over), Arc::clone(&over));
        let ends = vec![
            thread::spawn(move || {
                while !writer.load(Ordering::Relaxed) {
                    write(&mut client);
                }
            }),
            thread::spawn(move || {
                while !reader.load(Ordering::Relaxed) {
                    read(&mut server);
                }
            }),
        ];
        Self { port: address.port(), over, ends, _listener: listener }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.ends.drain(..).for_each(|end| end.join().expect("it ends"));
    }
}

fn write_much(stream: &mut TcpStream) {
    // It may time out: the window is closed.
    let _ = stream.write(&[1; 1 << 16]);
}

fn read_slowly(stream: &mut TcpStream) {
    thread::sleep(Duration::from_millis(50));
    let _ = stream.read(&mut [0; 1 << 16]);
}

fn write_rarely(stream: &mut TcpStream) {
    thread::sleep(Duration::from_millis(200));
    let _ = stream.write(&[1; 100]);
}

fn read_all(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 1 << 16]);
}

/// The seconds of a service under a limit, or a cause of it.
fn seconds(samples: &BTreeMap<String, f64>, port: u16, label: &str) -> f64 {
    of_service(samples, "slowpath_connection_limited_seconds_total", port, label)
}

fn of_service(samples: &BTreeMap<String, f64>, name: &str, port: u16, label: &str) -> f64 {
    let is_it = |series: &str| {
        series.starts_with(name) && series.contains(&format!("service=\"{port}\"")) && series.contains(label)
    };
    samples.iter().filter(|(series, _)| is_it(series)).map(|(_, value)| value).sum()
}

/// Counters of one scrape are in the next one, and no smaller.
fn expect_growth(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) {
    let is_counter = |series: &str| {
        let name = series.split('{').next().unwrap_or_default();
        ["_total", "_bucket", "_sum", "_count"].iter().any(|end| name.ends_with(end))
    };
    for (series, value) in before.iter().filter(|(series, _)| is_counter(series)) {
        assert!(
            after.get(series).is_some_and(|now| now >= value),
            "{series}: {value}, then {:?}",
            after.get(series)
        );
    }
}

/// Three faults at once, each at a port of its own: its time is under the right cause, and nowhere else.
#[test]
#[ignore = "needs root"]
fn faults_are_in_the_right_counters() {
    let folder = Captures::new();
    // Before anybody watches, it fills the window and then shows only window probes.
    let (tells, closed) = mpsc::channel();
    let fill = move |stream: &mut TcpStream| {
        if stream.write(&[1; 1 << 16]).is_err() {
            let _ = tells.send(());
        }
    };
    let stopped = Transfer::start(fill, |_| thread::sleep(Duration::from_millis(100)));
    closed.recv_timeout(PATIENCE).expect("its window closes");
    let exporter = Exporter::start(&folder, "127.0.0.1:0", &[]);
    let slow = Transfer::start(write_much, read_slowly);
    let idle = Transfer::start(write_rarely, read_all);
    let mut before = exporter.samples();
    // Meanwhile, connections come and go.
    for interval in 1..=4_u32 {
        for _ in 0..10 {
            let short = Transfer::start(write_rarely, read_all);
            drop(TcpStream::connect(("127.0.0.1", short.port)));
            short.over.store(true, Ordering::Relaxed);
        }
        exporter.intervals(f64::from(interval));
        let after = exporter.samples();
        expect_growth(&before, &after);
        before = after;
    }
    let samples = exporter.samples();
    let shown = || format!("{samples:#?}");
    assert!(samples.contains_key(&format!(
        "slowpath_watch_info{{version=\"{}\",source=\"probe\"}}",
        env!("CARGO_PKG_VERSION")
    )));
    for (port, label) in [
        (slow.port, "cause=\"slow-reader\""),
        (stopped.port, "cause=\"slow-reader\""),
        (idle.port, "cause=\"sender-idle\""),
    ] {
        let (right, all) = (seconds(&samples, port, label), seconds(&samples, port, ""));
        assert!(right >= 2.0 && right >= all * 0.75, "{label}: {right} s of {all} s\n{}", shown());
        let watched = of_service(&samples, "slowpath_connection_watched_seconds_total", port, "");
        assert!(all >= watched * 0.8 && all <= watched * 1.1, "{label}: {all} s of {watched} s watched");
    }
    // They are of this process, whose control group is known.
    let own = samples.keys().filter(|series| {
        series.starts_with("slowpath_received_bytes_total")
            && series.contains(&format!("service=\"{}\"", slow.port))
    });
    let own: Vec<&String> = own.collect();
    assert!(own.len() == 1 && !own[0].contains("=\"unknown\""), "{own:?}");
    assert!(samples[own[0]] > 1e5, "{}", shown());
    assert!(samples["slowpath_accounted_ratio"] <= 1.0, "{}", shown());
    let waits = "slowpath_wait_seconds_bucket{le=\"+Inf\",wait=\"receive-queue\"}";
    assert!(samples.get(waits).is_some_and(|bytes| *bytes > 1e5), "{}", shown());
    assert_eq!(exporter.end(libc::SIGTERM), Some(0));
}

/// Without privilege, the kernel's own clocks show the same fault.
#[test]
fn tcp_info_counts_a_slow_reader() {
    let slow = Transfer::start(write_much, read_slowly);
    let folder = Captures::new();
    let exporter = Exporter::start(
        &folder,
        "127.0.0.1:0",
        &["--own", "--port", &slow.port.to_string(), "--labels", "service,remote"],
    );
    exporter.intervals(3.0);
    let samples = exporter.samples();
    let (right, all) =
        (seconds(&samples, slow.port, "limit=\"receive-window\""), seconds(&samples, slow.port, ""));
    assert!(right >= 1.5 && right >= all * 0.75, "{right} s of {all} s: {samples:#?}");
    let connections = format!("slowpath_connections{{service=\"{}\",remote=\"127.0.0.0/24\"}}", slow.port);
    assert_eq!(samples.get(&connections), Some(&1.0), "{samples:#?}");
    assert!(!samples.keys().any(|series| series.contains("slowpath_wait_seconds_count")), "unknown, not 0");
}

/// An accept queue that nobody empties fills up.
#[test]
fn accept_queue_that_nobody_empties_is_full() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let _waiting: Vec<TcpStream> = (0..5).filter_map(|_| TcpStream::connect(address).ok()).collect();
    let folder = Captures::new();
    let exporter = Exporter::start(&folder, "127.0.0.1:0", &["--own"]);
    exporter.intervals(1.0);
    let samples = exporter.samples();
    let of =
        |name: &str| samples.get(&format!("slowpath_accept_queue_{name}{{listener=\"{address}\"}}")).copied();
    assert_eq!(of("length"), Some(5.0), "{samples:#?}");
    assert!(of("limit").is_some_and(|limit| limit >= 5.0), "{samples:#?}");
}

/// A program that may not be there; says that a test was not judged without it.
fn installed(test: &str, program: &str) -> bool {
    let is_there =
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("not judged: {test}: {program} is not installed (Debian package prometheus)");
    }
    is_there
}

/// A Prometheus on loopback that scrapes one target each second.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    fn start(folder: &Captures, target: u16) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let shipped = std::fs::read_to_string(files::path("contrib/prometheus.yml")).expect("shipped");
        let rules = files::path("contrib/slowpath-rules.yml");
        let here = shipped
            .replace("127.0.0.1:9433", &format!("127.0.0.1:{target}"))
            .replace("scrape_interval: 15s", "scrape_interval: 1s")
            .replace("[slowpath-rules.yml]", &format!("[{}]", rules.display()));
        let config = folder.write("prometheus.yml", here.as_bytes());
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        Self { child, port }
    }

    /// The value of a query, once it has one.
    fn query(&self, query: &str) -> f64 {
        let began = Instant::now();
        loop {
            let url: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let asked = format!("GET /api/v1/query?query={url} HTTP/1.0\r\nHost: localhost\r\n\r\n");
            let mut response = String::new();
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
                let sent = stream.write_all(asked.as_bytes());
                let _ = sent.and_then(|()| stream.read_to_string(&mut response));
            }
            let body = response.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
            let answer: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
            let value = answer["data"]["result"][0]["value"][1].as_str().and_then(|value| value.parse().ok());
            if let Some(value) = value {
                return value;
            }
            assert!(began.elapsed() < PATIENCE, "{query}: {response}");
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A real Prometheus takes what is exported, with the configuration that is shipped.
#[test]
fn prometheus_scrapes_it() {
    if !installed("prometheus_scrapes_it", "prometheus") {
        return;
    }
    let slow = Transfer::start(write_much, read_slowly);
    let folder = Captures::new();
    let exporter = Exporter::start(&folder, "127.0.0.1:0", &["--own"]);
    exporter.intervals(2.0);
    let prometheus = Prometheus::start(&folder, exporter.port);
    let limited = format!(
        "sum(slowpath_connection_limited_seconds_total{{service=\"{}\",limit=\"receive-window\"}})",
        slow.port
    );
    assert!(prometheus.query(&limited) > 0.5);
    assert_eq!(prometheus.query("up{job=\"slowpath\"}"), 1.0);
    assert_eq!(prometheus.query("count(slowpath_watch_info{source=\"tcp-info\"})"), 1.0);
    assert!(prometheus.query("count({__name__=~\"slowpath_.*\"})") > 20.0);
    assert_eq!(
        prometheus
            .query("count({__name__=~\"slowpath_.*\",service!~\"[0-9]+|unknown|other|\"}) or vector(0)"),
        0.0
    );
}
