//! The overhead of the probe on a host. Needs root.
//!
//! `cargo bench -p slowpath-lab --bench probe -- [NAME]...`
//!
//! One connection between two hosts joined by a veth pair, its ends on the first and the last CPU, as fast as possible.
//! It stays the same while the probe is loaded and removed again, in turns. Shown is the rate with the probe compared
//! with the mean of that before and after; the median, and in brackets the quartiles. If bpftrace is installed, its
//! one-liner for the same question has its turns too. `stolen` is the share of CPU time that the hypervisor took.

use slowpath_lab::error::LabError;
use slowpath_lab::host::{DEVICE, Host};
use slowpath_lab::lateness::StolenWatch;
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_lab::settings::Family;
use slowpath_lab::testbed::address;
use slowpath_lab::{probe, signals, task};
use slowpath_live::{EVERY, Filter, LiveError, Probe};
use slowpath_model::statistics::{median, quantile};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const TURNS: usize = 12;
const TURN: Duration = Duration::from_millis(1500);
/// The time for slow start and the start of a program.
const SETTLES: Duration = Duration::from_millis(500);
const PORT: u16 = 5001;
const READ_BYTES: usize = 128 << 10;

/// Each packet's time from its arrival to TCP, as a histogram.
const ONE_LINER: &str = "tracepoint:net:netif_receive_skb { @at[args->skbaddr] = nsecs; }
tracepoint:tcp:tcp_probe /@at[args->skbaddr]/ { @us = hist((nsecs - @at[args->skbaddr]) / 1000); delete(@at[args->skbaddr]); }";

/// What is sent.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    has_super_packets: bool,
    /// A byte there and a byte back, instead of as much as possible.
    is_ping_pong: bool,
    /// The most that the rate may drop, in percent.
    reach: f64,
}

const LOADS: [Load; 3] = [
    Load { name: "packets", has_super_packets: false, is_ping_pong: false, reach: 2.0 },
    Load { name: "super-packets", has_super_packets: true, is_ping_pong: false, reach: 1.0 },
    Load { name: "ping-pong", has_super_packets: true, is_ping_pong: true, reach: 5.0 },
];

/// Two hosts and a link.
fn hosts(load: Load) -> Result<Namespaces, LabError> {
    let namespaces = Namespaces::create()?;
    let receiver = namespaces.path(Place::Receiver);
    namespaces
        .ip(Place::Sender, &format!("link add {DEVICE} type veth peer name {DEVICE} netns {receiver}"))?;
    for host in Host::BOTH {
        let place = Place::from(host);
        namespaces.ip(place, &format!("addr add {}/24 dev {DEVICE}", address(Family::V4, host)))?;
        namespaces.ip(place, &format!("link set {DEVICE} up"))?;
        if !load.has_super_packets {
            namespaces.execute(place, &format!("ethtool -K {DEVICE} tso off gso off gro off"))?;
        }
    }
    Ok(namespaces)
}

fn bind_to(cpu: Option<u32>) {
    if let Some(cpu) = cpu {
        // Any CPU will do, too.
        let _ = task::set_cpus(0, &[cpu]);
    }
}

/// Reads, and answers if asked to; counts bytes until the peer closes.
fn receive(mut stream: TcpStream, load: Load, bytes: &AtomicU64) -> std::io::Result<()> {
    let mut buffer = vec![0; if load.is_ping_pong { 1 } else { READ_BYTES }];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => bytes.fetch_add(read as u64, Relaxed),
        };
        if load.is_ping_pong {
            stream.write_all(&buffer)?;
        }
    }
}

fn send(mut stream: TcpStream, load: Load, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_nodelay(load.is_ping_pong)?;
    let mut buffer = vec![0; if load.is_ping_pong { 1 } else { READ_BYTES }];
    while !stop.load(Relaxed) {
        stream.write_all(&buffer)?;
        if load.is_ping_pong {
            stream.read_exact(&mut buffer)?;
        }
    }
    Ok(())
}

/// Keeps a connection busy while `watch` measures its rate.
fn with_load<T>(load: Load, watch: impl FnOnce(&AtomicU64) -> Result<T, LabError>) -> Result<T, LabError> {
    let namespaces = hosts(load)?;
    let failed = |doing: &'static str| LabError::system(doing);
    let (bytes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let cpus = task::own_cpus();
    let to = (address(Family::V4, Host::Receiver), PORT);
    let listener = namespaces.inside(Place::Receiver, || TcpListener::bind(to).map_err(failed("listen")))?;
    let sending = namespaces.inside(Place::Sender, || TcpStream::connect(to).map_err(failed("connect")))?;
    let (receiving, _) = listener.accept().map_err(failed("accept"))?;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            bind_to(cpus.last().copied());
            receive(receiving, load, &bytes)
        });
        let sender = scope.spawn(|| {
            bind_to(cpus.first().copied());
            send(sending, load, &stop)
        });
        thread::sleep(SETTLES);
        let seen = watch(&bytes);
        stop.store(true, Relaxed);
        sender.join().expect("it ends").map_err(failed("send"))?;
        receiver.join().expect("it ends").map_err(failed("receive"))?;
        seen
    })
}

/// Bytes a second, for one turn.
fn rate(bytes: &AtomicU64) -> f64 {
    let (began, before) = (Instant::now(), bytes.load(Relaxed));
    thread::sleep(TURN);
    (bytes.load(Relaxed) - before) as f64 / began.elapsed().as_secs_f64()
}

/// The rate while the probe runs as in `slowpath diagnose --live`.
fn probed(bytes: &AtomicU64) -> Result<f64, LabError> {
    let probe = probe::Probe::start(&[], None)?.map_err(refused)?;
    thread::sleep(SETTLES);
    let rate = rate(bytes);
    probe.finish().map_err(refused)?;
    Ok(rate)
}

fn refused(error: LiveError) -> LabError {
    LabError::system("measure the probe")(std::io::Error::other(error))
}

/// bpftrace with its one-liner, ended when this value is dropped.
struct OneLiner(Child);

impl OneLiner {
    /// `None` if it is not installed, or does not work here.
    fn start() -> Option<Self> {
        let mut child = Self(
            Command::new("bpftrace")
                .args(["-e", &format!("BEGIN {{ printf(\"begun\\n\"); }} {ONE_LINER}")])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .ok()?,
        );
        let mut said = Vec::new();
        let mut out = child.0.stdout.take()?;
        let mut buffer = [0; 256];
        while !String::from_utf8_lossy(&said).contains("begun") {
            match out.read(&mut buffer) {
                Ok(read @ 1..) => said.extend_from_slice(&buffer[..read]),
                _ => return None,
            }
        }
        thread::sleep(SETTLES);
        Some(child)
    }
}

impl Drop for OneLiner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The median and, in brackets, the quartiles.
fn quarters(values: &[f64]) -> String {
    let at = |permille| quantile(values.iter().copied(), permille).unwrap_or(f64::NAN);
    let median = median(values.iter().copied()).unwrap_or(f64::NAN);
    format!("{median:+.1} % [{:+.1}, {:+.1}]", at(250), at(750))
}

fn row(what: &str, measured: &str, reach: &str) {
    println!("{what:<44} {measured:<32} {reach}");
}

fn throughput(load: Load) -> Result<(), LabError> {
    let stolen = StolenWatch::start();
    let (mut plain, mut watched, mut traced) = (Vec::new(), Vec::new(), Vec::new());
    with_load(load, |bytes| {
        let mut before = rate(bytes);
        for _ in 0..TURNS {
            let with_probe = probed(bytes)?;
            let with_one_liner = OneLiner::start().map(|_at_work| rate(bytes));
            thread::sleep(SETTLES);
            let after = rate(bytes);
            let changed = |rate: f64| (rate / ((before + after) / 2.0) - 1.0) * 100.0;
            watched.push(changed(with_probe));
            traced.extend(with_one_liner.map(changed));
            plain.push(after);
            before = after;
        }
        Ok(())
    })?;
    let (typical, stolen) = (median(plain).unwrap_or(f64::NAN), stolen.finish() * 100.0);
    let typical = match load.is_ping_pong {
        true => format!("{:.0} round trips a second", typical),
        false => format!("{:.1} Gbit/s", typical * 8.0 / 1e9),
    };
    row(&format!("{}: without", load.name), &typical, &format!("{stolen:.1} % stolen"));
    row(
        &format!("{}: with the probe", load.name),
        &quarters(&watched),
        &format!("-{} % at most", load.reach),
    );
    if !traced.is_empty() {
        row(&format!("{}: with bpftrace's one-liner", load.name), &quarters(&traced), "");
    }
    Ok(())
}

/// What each program takes for an event, by the kernel's own measurement. It includes two readings of its clock, and
/// little else for the cheapest program, which reads one number and returns.
fn cost(load: Load) -> Result<(), LabError> {
    let costs = with_load(load, |_| {
        let mut probe = Probe::start(Filter::default()).map_err(refused)?;
        let _measured = slowpath_live::measure_programs().map_err(|error| refused(error.into()))?;
        let began = Instant::now();
        while began.elapsed() < 2 * TURN {
            thread::sleep(EVERY);
            probe.look().map_err(refused)?;
        }
        Ok(probe.costs())
    })?;
    for cost in costs.iter().filter(|cost| cost.runs > 10_000) {
        let each = cost.ran.as_nanos() as f64 / cost.runs as f64;
        row(
            &format!("{}: {}", load.name, cost.program),
            &format!("{each:.0} ns"),
            &format!("{} events", cost.runs),
        );
    }
    Ok(())
}

fn main() -> Result<(), LabError> {
    signals::clean_up_when_ended()?;
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    row("", "measured", "reach");
    for load in LOADS {
        if only.is_empty() || only.iter().any(|name| name == load.name) {
            throughput(load)?;
            cost(load)?;
        }
    }
    Ok(())
}
