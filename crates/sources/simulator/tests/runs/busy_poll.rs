//! Readers that busy-poll the NIC before they sleep (`SO_BUSY_POLL`).

use crate::run::{Run, scenario};
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_scenario::HostId;
use slowpath_simulator::pcapng::Pcapng;
use slowpath_simulator::report::HostReport;
use slowpath_simulator::{Nobody, Progress, Simulation, Tap, Wants};
use std::time::Duration;

/// The client, which is the receiver, and the level of tasks.
const CLIENT: usize = 1;
const TASKS: usize = 0;

/// Requests and responses over 20 µs, one after the other; `host` and `socket` extend the client's configuration.
fn exchange(host: &str, socket: &str) -> (u64, HostReport) {
    let text = format!(
        "duration = \"200 ms\"\n[path]\nrate = \"10 Gbit/s\"\ndelay = \"10 us\"\n\
         [hosts.receiver]\ncpus = 1\n{host}\n\
         [flows]\nfrom = \"receiver\"\n[flows.requests]\nrequest = \"100 B\"\nresponse = \"100 B\"\n[flows.receiver]\n{socket}\n"
    );
    let run = Run::of(&text);
    (run.bytes().get(), run.simulation.host_reports().swap_remove(CLIENT))
}

fn busy(report: &HostReport, level: usize) -> Duration {
    report.cpus.iter().map(|cpu| cpu.levels[level]).sum()
}

const MODERATED: &str = "nic = { interrupt-delay = \"50 us\" }";
const PLAIN: &str = "nic = { interrupt-delay = \"0 s\" }";
const POLLS: &str = "socket = { SO_BUSY_POLL = \"1 ms\" }";

/// With interrupt coalescing, busy polling saves its delay; without it, softirq, wake-up and context switch. The
/// client's waiting time is spent on its CPU.
#[test]
fn busy_polling_lowers_latency_at_the_cost_of_cpu() {
    for (nic, least_gain) in [(MODERATED, 1.2), (PLAIN, 1.01)] {
        let ((plain, sleeps), (polled, polls)) = (exchange(nic, ""), exchange(nic, POLLS));
        let gain = polled as f64 / plain as f64;
        assert!(gain > least_gain, "{nic}: {plain} B without, {polled} B with, which is {gain:.3} times");
        assert_eq!(sleeps.softirq.busy_polled, 0);
        let share = polls.softirq.busy_polled as f64 / polls.softirq.received as f64;
        assert!(share > 0.99, "{nic}: {share:.3} of the packets were polled");
        let (idle, spun) = (busy(&sleeps, TASKS), busy(&polls, TASKS));
        assert!(spun > Duration::from_millis(150) && spun > 3 * idle, "{nic}: {idle:?} and {spun:?}");
        assert!(polls.cpus[0].switches * 100 < sleeps.cpus[0].switches, "{nic}");
    }
}

/// Packets taken before the coalescing delay raise no interrupt; without coalescing the NIC still raises its interrupt,
/// and the handler finds NAPI taken.
#[test]
fn busy_polling_does_not_disable_the_nics_interrupt() {
    let (_, moderated) = exchange(MODERATED, POLLS);
    assert!(moderated.ring.interrupts < 10, "{}", moderated.ring.interrupts);
    let (_, zero_cost) = exchange(PLAIN, POLLS);
    assert!(zero_cost.ring.interrupts * 10 > zero_cost.ring.taken * 9, "{:?}", zero_cost.ring);
}

/// A socket has the host's setting (`net.core.busy_read`) unless it sets its own; zero disables polling.
#[test]
fn a_socket_inherits_busy_read() {
    let polled = |sysctl: &str, socket: &str| {
        exchange(&format!("sysctl = {{ net.core.busy_read = {sysctl} }}"), socket).1.softirq.busy_polled
    };
    assert_eq!(polled("0", ""), 0);
    assert!(polled("1000", "") > 100);
    assert_eq!(polled("1000", "socket = { SO_BUSY_POLL = \"0 us\" }"), 0);
}

/// A reader polls no longer than its setting: it does not see responses that take longer.
#[test]
fn so_busy_poll_bounds_the_time_polled() {
    let polled = |time: &str| {
        let text = format!(
            "duration = \"200 ms\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"100 us\"\n\
             [flows]\nfrom = \"receiver\"\n[flows.requests]\nrequest = \"100 B\"\nresponse = \"100 B\"\n\
             [flows.receiver.socket]\nSO_BUSY_POLL = \"{time}\"\n"
        );
        let report = Run::of(&text).simulation.host_reports().swap_remove(CLIENT);
        (report.softirq.busy_polled, busy(&report, TASKS))
    };
    let ((none, little), (all, much)) = (polled("50 us"), polled("400 us"));
    assert_eq!(none, 0);
    assert!(all > 100, "{all}");
    assert!(little > Duration::from_millis(20) && little < much / 2, "{little:?} and {much:?}");
}

/// Hogs on the reader's CPU, and a socket that would poll forever.
const HOGS: &str = r#"
duration = "2 s"
[hosts.receiver]
cpus = 1
load = { hogs = 2 }
[path]
rate = "100 Mbit/s"
delay = "1 ms"
[flows.messages]
size = "3000 B"
interval = "3 ms"
count = 500
[flows.receiver.socket]
SO_BUSY_POLL = "10 s"
"#;

/// A polling process yields when its slice is over, and leaves the remaining packets to the softirq.
#[test]
fn busy_polling_yields_to_hogs_and_loses_no_packet() {
    let run = Run::of(HOGS);
    assert_eq!(run.bytes().get(), 500 * 3000);
    let report = run.simulation.host_reports().swap_remove(CLIENT);
    assert!(report.softirq.busy_polled > 100, "{:?}", report.softirq);
    assert!(report.softirq.busy_polled < report.softirq.received, "some arrived while it had no CPU");
    // Three tasks that are always runnable: without yielding between messages there would be no switches.
    assert!(report.cpus[0].switches > 300, "{}", report.cpus[0].switches);
    assert!(report.ring.most_waiting < 10, "{:?}", report.ring);
    // The reader gets a third of the time, so a message waits for at most two slices of others.
    let mut tap = Tap::new(HostId(CLIENT), Longest::default())
        .reporting(true, Wants { waits: true, ..Wants::default() });
    Simulation::new(&scenario(HOGS)).run(&mut tap);
    let longest = tap.finish().0;
    assert!(longest > Duration::from_millis(1) && longest < Duration::from_millis(20), "{longest:?}");
}

/// The longest wait of any packet or data.
#[derive(Default)]
struct Longest(Duration);

impl Sink for Longest {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}
    fn accept(&mut self, _flow: FlowId, event: &Event) {
        if let EventKind::Waited { lasted, .. } = event.kind {
            self.0 = self.0.max(lasted);
        }
    }
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}

fn capture(text: &str, stretch: Duration) -> Vec<u8> {
    let mut simulation = Simulation::new(&scenario(text));
    let mut file = Pcapng::new(HostId(0), "sender");
    while simulation.run_until(simulation.now() + stretch, &mut file) == Progress::Running {}
    std::mem::take(file.buffer())
}

#[test]
fn busy_polling_runs_are_deterministic() {
    let first = capture(HOGS, Duration::from_secs(10));
    assert!(first.len() > 100_000);
    assert!(first == capture(HOGS, Duration::from_secs(10)));
    assert!(first == capture(HOGS, Duration::from_millis(7)));
}

/// On a zero-cost host there is nothing to wait for.
#[test]
fn busy_polling_changes_nothing_on_a_zero_cost_host() {
    let text = |time: &str| {
        format!(
            "duration = \"100 ms\"\n[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nmachine = \"free\"\n\
             [path]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n[flows.receiver.socket]\nSO_BUSY_POLL = \"{time}\"\n"
        )
    };
    let whole = Duration::from_secs(1);
    assert!(capture(&text("0 us"), whole) == capture(&text("1 ms"), whole));
    let mut simulation = Simulation::new(&scenario(&text("1 ms")));
    simulation.run(&mut Nobody);
    assert_eq!(simulation.host_reports()[CLIENT].softirq.busy_polled, 0);
}
