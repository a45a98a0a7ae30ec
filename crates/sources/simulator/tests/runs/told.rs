//! What a host reports besides its packets, against what is known of the run otherwise.

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

/// A run, and everything that one of its hosts reported.
struct Told {
    simulation: Simulation,
    events: Vec<Event>,
}

impl Told {
    fn at(host: usize, plan: &Scenario) -> Self {
        let mut tap = Tap::new(HostId(host), Events::default()).telling(true, ALL);
        let mut simulation = Simulation::new(plan);
        simulation.run(&mut tap);
        Self { simulation, events: tap.finish().0 }
    }

    /// Waits at a place: how long, and of how many bytes.
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
fn an_observer_of_calls_waits_and_marks_changes_nothing() {
    let plan = busy();
    let mut alone = Simulation::new(&plan);
    alone.run(&mut Nobody);
    for host in [SENDER, RECEIVER] {
        let told = Told::at(host, &plan).simulation;
        assert_eq!(told.events(), alone.events());
        assert_eq!(told.transfers(), alone.transfers());
        assert_eq!(told.host_reports(), alone.host_reports());
    }
}

#[test]
fn every_wait_is_reported_once() {
    let told = Told::at(RECEIVER, &busy());
    let report = &told.simulation.host_reports()[RECEIVER];
    // Those of the handshake come before there is a socket, but not before there is a flow.
    assert_eq!(told.waits(Wait::Ring).len() as u64, report.ring.taken);
    // At the end some may still wait.
    let backlogged = told.waits(Wait::SocketBacklog).len() as u64;
    assert!(backlogged > 0 && backlogged <= report.sockets.backlogged, "{backlogged}");
    assert!(report.sockets.backlogged - backlogged <= report.sockets.most_waiting, "{backlogged}");
    let prequeued = told.waits(Wait::Prequeue).len() as u64;
    assert!(prequeued > 0 && prequeued <= report.sockets.prequeued, "{prequeued}");
    let read: u64 = told.simulation.transfers().iter().map(|transfer| transfer.bytes.get()).sum();
    let waited: u64 = told.waits(Wait::ReceiveQueue).iter().map(|(_, bytes)| bytes).sum();
    // Of what came before the server had called `accept`, nobody knows when.
    assert!(waited <= read && read - waited < read / 1000, "{waited} of {read} bytes");
}

#[test]
fn ring_drops_are_reported() {
    let mut plan = busy();
    plan.hosts[RECEIVER].nic.rx_ring = 2;
    let told = Told::at(RECEIVER, &plan);
    let dropped = told.simulation.host_reports()[RECEIVER].ring.dropped;
    assert!(dropped > 0);
    assert_eq!(told.count(|kind| matches!(kind, EventKind::Dropped(_, DropReason::Ring))), dropped);
}

#[test]
fn calls_add_up_to_what_was_transferred() {
    let plan = scenario("[flows]\namount = \"3 MB\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n");
    for (host, written, read) in [(SENDER, 3_000_000, 0), (RECEIVER, 0, 3_000_000)] {
        let mut sums = [0, 0];
        for event in Told::at(host, &plan).events {
            match event.kind {
                EventKind::Written { amount, .. } => sums[0] += amount.get(),
                EventKind::Read { amount, .. } => sums[1] += amount.get(),
                _ => {}
            }
        }
        assert_eq!(sums, [written, read]);
    }
}

/// Data waits in the receive queue for as long as its reader pauses, and meanwhile the window closes.
#[test]
fn a_pause_of_the_reader_shows_as_a_wait_and_as_a_closed_window() {
    let plan = scenario(
        "duration = \"6 s\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
         [flows.receiver]\npauses = { at = \"3 s\", lasts = \"2 s\" }\n",
    );
    let told = Told::at(RECEIVER, &plan);
    let longest = told.waits(Wait::ReceiveQueue).into_iter().map(|(lasted, _)| lasted).max();
    let longest = longest.expect("data was read").as_secs_f64();
    assert!((1.99..2.01).contains(&longest), "{longest}");
    let marks =
        |wanted: Mark| told.count(|kind| matches!(kind, EventKind::Marked { mark, .. } if *mark == wanted));
    assert_eq!((marks(Mark::ZeroWindow), marks(Mark::WindowOpened)), (1, 1));
    assert!(told.count(|kind| matches!(kind, EventKind::Marked { mark: Mark::ReceiveBuffer(_), .. })) > 0);
    let closed = told.samples().into_iter().filter(|(_, sample)| sample.rcv_wnd == Some(0)).count();
    // The buffer takes a second of what comes.
    assert!((5..20).contains(&closed), "{closed} samples at 100 ms in a pause of 2 s");
}

#[test]
fn timeouts_are_marked_and_samples_come_in_time() {
    let plan = scenario(
        "duration = \"5 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n[path.forward]\nloss = \"15 %\"\n\
         [hosts.sender]\nkernel = \"2.4.17\"\n",
    );
    let told = Told::at(SENDER, &plan);
    let kernel = told.simulation.transfers()[0].info.expect("a connection");
    let marked = told.count(|kind| matches!(kind, EventKind::Marked { mark: Mark::Timeout, .. }));
    assert!(kernel.timeouts > 0);
    assert_eq!(marked, u64::from(kernel.timeouts));
    let samples = told.samples();
    assert!(samples.windows(2).all(|pair| pair[1].0 - pair[0].0 == 100_000_000), "not every 100 ms");
    assert!((49..=50).contains(&samples.len()), "{}", samples.len());
    // Before the first RTT sample there is none to report; then it agrees with the path.
    let srtts: Vec<_> = samples.iter().filter_map(|(_, sample)| sample.srtt).collect();
    assert!(srtts.iter().all(|srtt| *srtt >= 20_000), "{srtts:?}");
    let state = samples.iter().filter_map(|(_, sample)| sample.ca_state).max();
    assert_eq!(state, Some(slowpath_model::CaState::Loss));
}

/// On one CPU with hogs of its own priority the reader waits for its turn, and on one of its own it does not.
#[test]
fn a_reader_among_hogs_waits_for_the_cpu() {
    let longest = |plan: &Scenario| {
        Told::at(RECEIVER, plan).waits(Wait::RunQueue).into_iter().map(|(lasted, _)| lasted).max()
    };
    let mut plan = busy();
    let busy = longest(&plan).expect("the reader was woken");
    plan.hosts[RECEIVER].load.clear();
    let quiet = longest(&plan).expect("the reader was woken");
    assert!(busy > Duration::from_millis(5) && quiet < Duration::from_millis(1), "{busy:?}, {quiet:?}");
}
