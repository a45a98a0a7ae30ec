//! The measurements of a run, with the papers' instruments.

mod rtt;

use crate::PaperCase;
use crate::trace::{Trace, Tracer};
use rtt::Rtts;
use slowpath_analyses::waits::Waits;
use slowpath_model::statistics::median;
use slowpath_model::{End, EventKind, Instant, Wait};
use slowpath_scenario::{Bulk, Flow, HostId, Rejected, Scenario, Start, Workload};
use slowpath_simulator::report::DatagramCounts;
use slowpath_simulator::{Nobody, Observer, Occurrence, Sight, Simulation, Wants, shown};
use std::ops::Range;
use std::time::Duration;

/// The measurements of a case's flow, from its start for its duration; of one that follows another, to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowMeasures {
    /// The duration.
    pub seconds: f64,
    /// What the sender's process had written by then, in bytes, as iperf's client reports it.
    pub written: u64,
    /// What the receiver's process had read by then, in bytes, as iperf's server reports it.
    pub read: u64,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u16,
    /// Packets lost on the path or in a host.
    pub lost: u64,
    /// Packets to the receiver's TCP, by how long they waited on prequeue or backlog: less than 1 ms, 10 ms, 100 ms,
    /// 200 ms and 1 s, and longer (wu, section 4).
    pub waited: [u64; 6],
    /// The counters of its datagrams, if it has datagrams.
    pub datagrams: Option<DatagramCounts>,
    /// Window reductions that the sender undid.
    pub undos: u64,
    /// How often the sender found that the receiver had discarded SACKed data (`TCPSACKReneging`).
    pub sack_renegings: u64,
    /// How often the receiver discarded out-of-order data (`OfoPruned`).
    pub ofo_pruned: u64,
    /// Packets of the sender that its qdisc dropped.
    pub local_drops: u64,
    /// Drops of the sender's CPU backlog (`netdev_max_backlog`).
    pub sender_backlog: Backlog,
    /// CPU time of the receiver's process in user space and in the kernel, by ticks that found it running, in seconds.
    pub cpu: [f64; 2],
    /// CPU time of the receiver's other processes in user space meanwhile, by ticks, in seconds.
    pub others: f64,
    /// The longest RTT of a segment of its first connection, as tcptrace measures it at the sender, in seconds.
    pub longest_rtt: f64,
}

impl FlowMeasures {
    /// The rate at which the receiver's process read, in Mbit/s.
    pub fn rate(&self) -> f64 {
        self.read as f64 * 8.0 / self.seconds / 1e6
    }
}

/// Drops of a backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets dropped.
    pub dropped: u64,
    /// How often it was throttled: everything was dropped until it was empty.
    pub throttled: u64,
}

/// Runs a case.
///
/// # Errors
///
/// If its scenario is invalid.
pub fn measure(case: &PaperCase, seed: u64) -> Result<FlowMeasures, Rejected> {
    Ok(run(&case.scenario(Some(seed))?, case.flow, &mut Nobody))
}

/// Runs a case, and traces it over time.
///
/// # Errors
///
/// If its scenario is invalid.
pub fn traced(case: &PaperCase, seed: u64) -> Result<(FlowMeasures, Trace), Rejected> {
    let scenario = case.scenario(Some(seed))?;
    let flow = &scenario.flows[case.flow];
    let mut tracer = Tracer::new(&scenario, lasts(&scenario, flow).unwrap_or(scenario.duration));
    let measured = run(&scenario, case.flow, &mut tracer);
    Ok((measured, tracer.finish()))
}

/// How long a flow is measured; `None` if to its end.
fn lasts(scenario: &Scenario, flow: &Flow) -> Option<Duration> {
    match (flow.start, &flow.workload) {
        (Start::After { .. }, _) => None,
        (Start::At(_), Workload::Bulk(Bulk::Time(lasts))) => Some(*lasts),
        (Start::At(start), _) => Some(scenario.duration.saturating_sub(start)),
    }
}

/// Measures, with another observer.
fn run(scenario: &Scenario, number: usize, also: &mut dyn Observer) -> FlowMeasures {
    let flow = &scenario.flows[number];
    let mut simulation = Simulation::new(scenario);
    let lasts = lasts(scenario, flow);
    let until = lasts.map_or(simulation.end(), |lasts| Instant::START + flow.start.earliest() + lasts);
    let mut watch = Watch {
        sender: flow.sender_host(),
        receiver: flow.receiver_host(),
        streams: streams(scenario, number),
        first_connection: None,
        written: 0,
        waits: Waits::default(),
        rtts: Rtts::default(),
        from: if flow.sender_host() == flow.client { End::A } else { End::B },
        also,
    };
    let receiver = flow.receiver_host().0;
    let start = Instant::START + flow.start.earliest();
    simulation.run_until(start.min(simulation.end()), &mut watch);
    let before = simulation.hosts()[receiver].user_time_of_load();
    simulation.run_until(until.min(simulation.end()), &mut watch);
    let others = simulation.hosts()[receiver].user_time_of_load() - before;
    let reports = simulation.host_reports();
    let (total, report, sender) =
        (simulation.total(number), &reports[receiver], &reports[flow.sender_host().0]);
    let mut waited = [0; 6];
    for spread in watch.waits.spreads() {
        for (sum, packets) in waited.iter_mut().zip(spread.classes) {
            *sum += packets;
        }
    }
    // The rest was processed immediately.
    waited[0] += report.sockets.processed.saturating_sub(waited.iter().sum());
    let cpu = simulation.hosts()[receiver]
        .ticks_of(0)
        .map_or([0.0; 2], |(ticks, hz)| [ticks.user, ticks.system].map(|ticks| ticks as f64 / f64::from(hz)));
    FlowMeasures {
        seconds: match &flow.workload {
            Workload::Bulk(Bulk::Time(_)) => lasts.unwrap_or_else(|| total.lasted()),
            // Counting ends with the last datagram.
            _ => total.lasted(),
        }
        .as_secs_f64(),
        written: watch.written,
        read: total.bytes.get(),
        retransmits: total.retransmits as u32,
        timeouts: total.timeouts as u16,
        lost: lost(&simulation),
        waited,
        datagrams: total.datagrams,
        undos: sender.sockets.undos,
        sack_renegings: sender.sockets.sack_renegings,
        ofo_pruned: report.sockets.ofo_pruned,
        local_drops: sender.sockets.local_drops,
        sender_backlog: Backlog {
            dropped: sender.softirq.backlog_dropped,
            throttled: sender.softirq.throttled,
        },
        cpu,
        others: others.as_secs_f64(),
        longest_rtt: watch.rtts.longest.as_secs_f64(),
    }
}

/// The streams of a flow.
fn streams(scenario: &Scenario, flow: usize) -> Range<usize> {
    let count = |flow: &Flow| flow.streams as usize;
    let first = scenario.flows[..flow].iter().map(count).sum();
    first..first + count(&scenario.flows[flow])
}

fn lost(simulation: &Simulation) -> u64 {
    let in_hosts = simulation.host_reports().into_iter().map(|host| {
        host.ring.dropped
            + host.softirq.backlog_dropped
            + host.sockets.backlog_dropped
            + host.transmit.dropped
    });
    let on_paths = simulation.wires().iter().map(|wire| wire.totals().dropped());
    in_hosts.sum::<u64>() + on_paths.sum::<u64>()
}

/// Counts reported events.
struct Watch<'a> {
    sender: HostId,
    receiver: HostId,
    /// The flow's streams.
    streams: Range<usize>,
    /// The first connection of the first of them.
    first_connection: Option<u32>,
    written: u64,
    waits: Waits,
    rtts: Rtts,
    /// The sender's end.
    from: End,
    also: &'a mut dyn Observer,
}

impl Observer for Watch<'_> {
    fn packet(&mut self, sight: &Sight<'_>) {
        self.also.packet(sight);
        if sight.host != self.sender || sight.frame.is_datagram() || sight.link.stream != self.streams.start {
            return;
        }
        let connection = sight.frame.connection;
        if *self.first_connection.get_or_insert(connection) == connection {
            let segment = shown::segment(sight.frame, sight.from, sight.sent);
            self.rtts.see(sight.at, &segment, self.from);
        }
    }

    fn wants(&self) -> Wants {
        Wants { calls: true, waits: true, ..Wants::default() }.or(self.also.wants())
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        self.also.happened(occurrence);
        match occurrence.kind {
            EventKind::Written { amount, .. }
                if occurrence.host == self.sender && self.streams.contains(&occurrence.link.stream) =>
            {
                self.written += amount.get()
            }
            EventKind::Waited {
                on: on @ (Wait::Prequeue | Wait::SocketBacklog),
                lasted,
                amount,
                times,
                ..
            } if occurrence.host == self.receiver => {
                self.waits.add(on, lasted, amount, times);
            }
            _ => {}
        }
    }
}

/// The minimum, median and maximum of several runs.
pub fn spread(runs: &[FlowMeasures], of: impl Fn(&FlowMeasures) -> f64) -> [f64; 3] {
    let values: Vec<f64> = runs.iter().map(of).collect();
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    [least, median(values), most].map(|value| value.unwrap_or(f64::NAN))
}
