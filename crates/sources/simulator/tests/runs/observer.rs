//! Events that a host reports besides its packets, compared with other results of the run.

use crate::run::scenario;
use slowpath_model::{
    DropReason, Event, EventKind, FlowEnd, FlowId, FlowKey, Mark, Sink, SocketSample, Wait,
};
use slowpath_scenario::{HostId, Scenario};
use slowpath_simulator::{Nobody, Simulation, Tap, Wants};
use std::time::Duration;

const ALL: Wants =
    Wants { calls: true, waits: true, marks: true, drops: true, samples: Some(Duration::from_millis(100)) };

#[derive(Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}
    fn accept(&mut self, _flow: FlowId, event: &Event) {
        self.0.push(*event);
    }
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}

/// A run, and all events of one of its hosts.
struct Observed {
    simulation: Simulation,
    events: Vec<Event>,
}

impl Observed {
    fn at(host: usize, plan: &Scenario) -> Self {
        let mut tap = Tap::new(HostId(host), Events::default()).reporting(true, ALL);
        let mut simulation = Simulation::new(plan);
        simulation.run(&mut tap);
        Self { simulation, events: tap.finish().0 }
    }

    /// Waits at a place: duration and bytes.
    fn waits(&self, at: Wait) -> Vec<(Duration, u64)> {
        let wait = |event: &Event| match event.kind {
            EventKind::Waited { on, lasted, amount, .. } if on == at => Some((lasted, amount.get())),
            _ => None,
        };
        self.events.iter().filter_map(wait).collect()
    }

    fn count(&self, is_it: impl Fn(&EventKind) -> bool) -> u64 {
        self.events.iter().filter(|event| is_it(&event.kind)).count() as u64
    }

    fn samples(&self) -> Vec<(i64, SocketSample)> {
        let sample = |event: &Event| match event.kind {
            EventKind::Sampled(sample) => Some((event.at.nanos(), sample)),
            _ => None,
        };
        self.events.iter().filter_map(sample).collect()
    }
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// A receiver of 2005 with four other tasks on its only CPU.
fn busy() -> Scenario {
    scenario(
        "duration = \"1 s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"100 us\"\n\
         [hosts.sender]\nkernel = \"2.6.14\"\n[hosts.sender.nic]\nrate = \"1 Gbit/s\"\n\
         [hosts.receiver]\nkernel = \"2.6.14\"\ncpus = 1\nmachine = \"pc-2002\"\nload = { hogs = 4 }\n\
         [hosts.receiver.nic]\nrate = \"1 Gbit/s\"\n",
    )
}

#[test]
fn observer_changes_nothing() {
    let plan = busy();
    let mut alone = Simulation::new(&plan);
    alone.run(&mut Nobody);
    for host in [SENDER, RECEIVER] {
        let observed = Observed::at(host, &plan).simulation;
        assert_eq!(observed.events(), alone.events());
        assert_eq!(observed.transfers(), alone.transfers());
        assert_eq!(observed.host_reports(), alone.host_reports());
    }
}

#[test]
fn every_wait_is_reported_once() {
    let observed = Observed::at(RECEIVER, &busy());
    let report = &observed.simulation.host_reports()[RECEIVER];
    // Packets of the handshake arrive before there is a socket, but not before there is a flow.
    assert_eq!(observed.waits(Wait::Ring).len() as u64, report.ring.taken);
    // At the end some may still wait.
    let backlogged = observed.waits(Wait::SocketBacklog).len() as u64;
    assert!(backlogged > 0 && backlogged <= report.sockets.backlogged, "{backlogged}");
    assert!(report.sockets.backlogged - backlogged <= report.sockets.most_waiting, "{backlogged}");
    let prequeued = observed.waits(Wait::Prequeue).len() as u64;
    assert!(prequeued > 0 && prequeued <= report.sockets.prequeued, "{prequeued}");
    let read: u64 = observed.simulation.transfers().iter().map(|transfer| transfer.bytes.get()).sum();
    let waited: u64 = observed.waits(Wait::ReceiveQueue).iter().map(|(_, bytes)| bytes).sum();
    // The arrival time of data before the server's `accept` is unknown.
    assert!(waited <= read && read - waited < read / 1000, "{waited} of {read} bytes");
}

#[test]
fn ring_drops_are_reported() {
    let mut plan = busy();
    plan.hosts[RECEIVER].nic.rx_ring = 2;
    let observed = Observed::at(RECEIVER, &plan);
    let dropped = observed.simulation.host_reports()[RECEIVER].ring.dropped;
    assert!(dropped > 0);
    assert_eq!(observed.count(|kind| matches!(kind, EventKind::Dropped(_, DropReason::Ring))), dropped);
}

#[test]
fn calls_add_up_to_the_bytes_transferred() {
    let plan = scenario("[flows]\namount = \"3 MB\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n");
    for (host, written, read) in [(SENDER, 3_000_000, 0), (RECEIVER, 0, 3_000_000)] {
        let mut sums = [0, 0];
        for event in Observed::at(host, &plan).events {
            match event.kind {
                EventKind::Written { amount, .. } => sums[0] += amount.get(),
                EventKind::Read { amount, .. } => sums[1] += amount.get(),
                _ => {}
            }
        }
        assert_eq!(sums, [written, read]);
    }
}

/// Data waits in the receive queue while its reader pauses, and meanwhile the window closes.
#[test]
fn reader_pause_shows_as_a_wait_and_a_zero_window() {
    let plan = scenario(
        "duration = \"6 s\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
         [flows.receiver]\npauses = { at = \"3 s\", lasts = \"2 s\" }\n",
    );
    let observed = Observed::at(RECEIVER, &plan);
    let longest = observed.waits(Wait::ReceiveQueue).into_iter().map(|(lasted, _)| lasted).max();
    let longest = longest.expect("data was read").as_secs_f64();
    assert!((1.99..2.01).contains(&longest), "{longest}");
    let marks = |wanted: Mark| {
        observed.count(|kind| matches!(kind, EventKind::Marked { mark, .. } if *mark == wanted))
    };
    assert_eq!((marks(Mark::ZeroWindow), marks(Mark::WindowOpened)), (1, 1));
    assert!(
        observed.count(|kind| matches!(kind, EventKind::Marked { mark: Mark::ReceiveBuffer(_), .. })) > 0
    );
    let closed = observed.samples().into_iter().filter(|(_, sample)| sample.rcv_wnd == Some(0)).count();
    // The buffer holds a second of data.
    assert!((5..20).contains(&closed), "{closed} samples at 100 ms in a pause of 2 s");
}

#[test]
fn timeouts_are_marked_and_samples_are_periodic() {
    let plan = scenario(
        "duration = \"5 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n[path.forward]\nloss = \"15 %\"\n\
         [hosts.sender]\nkernel = \"2.4.17\"\n",
    );
    let observed = Observed::at(SENDER, &plan);
    let kernel = observed.simulation.transfers()[0].info.expect("a connection");
    let marked = observed.count(|kind| matches!(kind, EventKind::Marked { mark: Mark::Timeout, .. }));
    assert!(kernel.timeouts > 0);
    assert_eq!(marked, u64::from(kernel.timeouts));
    let samples = observed.samples();
    assert!(samples.windows(2).all(|pair| pair[1].0 - pair[0].0 == 100_000_000), "not every 100 ms");
    assert!((49..=50).contains(&samples.len()), "{}", samples.len());
    // Before the first RTT sample there is none to report; then it agrees with the path.
    let srtts: Vec<_> = samples.iter().filter_map(|(_, sample)| sample.srtt).collect();
    assert!(srtts.iter().all(|srtt| *srtt >= 20_000), "{srtts:?}");
    let state = samples.iter().filter_map(|(_, sample)| sample.ca_state).max();
    assert_eq!(state, Some(slowpath_model::CaState::Loss));
}

/// The reader waits for a CPU shared with hogs of its own priority, and does not on a CPU of its own.
#[test]
fn reader_next_to_hogs_waits_for_the_cpu() {
    let longest = |plan: &Scenario| {
        Observed::at(RECEIVER, plan).waits(Wait::RunQueue).into_iter().map(|(lasted, _)| lasted).max()
    };
    let mut plan = busy();
    let busy = longest(&plan).expect("the reader was woken");
    plan.hosts[RECEIVER].load.clear();
    let quiet = longest(&plan).expect("the reader was woken");
    assert!(busy > Duration::from_millis(5) && quiet < Duration::from_millis(1), "{busy:?}, {quiet:?}");
}
