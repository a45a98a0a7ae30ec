//! What held a sender at each time, by the lab's actions and by what its kernel reported every 10 ms.
//!
//! Nothing here looks at packets. Where one limit gives way to another within an RTT, or the kernel's numbers fit both,
//! the time is [`Held::Unsettled`] and is not scored.

use super::run::Run;
use serde::Serialize;
use slowpath_lab::host::Host;
use slowpath_lab::path::link::LinkConfig;
use slowpath_lab::relay::Fate;
use slowpath_lab::sampled::SampledState;
use slowpath_lab::truth::Connection;
use slowpath_lab::workload::end::EndRecord;
use slowpath_lab::workload::{Reader, Workload};
use slowpath_model::nanos;

/// What held the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// The connection was not established yet.
    Connecting,
    /// Nothing was left to send: nothing was outstanding, or all of it was in flight.
    Application,
    /// The writer waited for room, and everything in the buffer was in flight.
    SendBuffer,
    /// `tcpi_rwnd_limited` grew.
    ReceiveWindow,
    /// The kernel was in recovery, or waited for what the path had dropped.
    Loss,
    /// The kernel was in recovery, or waited for what the path had dropped, while the link was busy.
    LossOnFullPath,
    /// There was more to send than the congestion window allowed, and the link was not busy.
    CongestionWindow,
    /// There was more to send than the congestion window allowed, and the link was busy.
    Path,
    /// The link was stalled.
    LateLink,
    /// The receiver's socket was locked.
    LateReceiver,
    /// The recording lacks all of it.
    NotRecorded,
    /// None of these alone.
    Unsettled,
}

/// A period of time, `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub from_ns: u64,
    pub to_ns: u64,
    pub held: Held,
}

/// A link that carries this share of its rate is busy; below the second share it is not.
const BUSY: f64 = 0.85;
const NOT_BUSY: f64 = 0.7;

const SLICE_NS: u64 = 10_000_000;
const MTU_BYTES: u64 = 1500;
const PAYLOAD_BYTES: u64 = 1448;
/// `TCP_CA_Recovery` and `TCP_CA_Loss` (include/net/tcp.h).
const CA_RECOVERY: u8 = 3;

/// The time of the end on the sender's host, as one recording could have shown it.
pub fn moments(run: &Run, connection: &Connection, at: Host) -> Vec<Moment> {
    let end = &connection.sender;
    let samples: Vec<&SampledState> =
        run.samples.iter().filter(|s| s.local == end.local && s.remote == end.remote).collect();
    let known = Known::of(run, connection, &samples);
    let mut moments = Vec::new();
    if end.opened_ns < end.established_ns {
        moments.push(Moment { from_ns: end.opened_ns, to_ns: end.established_ns, held: Held::Connecting });
    }
    let busy = |pair: &[&SampledState]| pair[1].busy_us > pair[0].busy_us;
    let last_busy = samples.windows(2).rposition(busy).map_or(0, |last| last + 1);
    for pair in samples.windows(2).take(last_busy) {
        let (from, to) = (pair[0], pair[1]);
        let by_kernel = known.by_kernel(from, to);
        // A locked socket is not sampled; the lab's own records need no samples.
        let mut at_ns = from.at_ns;
        while at_ns < to.at_ns {
            let to_ns = (at_ns + SLICE_NS).min(to.at_ns);
            let held = known.by_lab(at_ns, to_ns).unwrap_or(by_kernel);
            moments.push(Moment { from_ns: at_ns, to_ns, held });
            at_ns = to_ns;
        }
    }
    let gaps = match at {
        Host::Sender => &run.truth.recordings.sender.gaps_ns,
        Host::Receiver => &run.truth.recordings.receiver.gaps_ns,
    };
    for moment in &mut moments {
        if gaps.iter().any(|(from, to)| *from <= moment.from_ns && moment.to_ns <= *to) {
            moment.held = Held::NotRecorded;
        } else if gaps.iter().any(|(from, to)| *from < moment.to_ns && moment.from_ns < *to) {
            moment.held = Held::Unsettled;
        }
    }
    moments
}

/// What the lab knows of one connection.
struct Known<'a> {
    run: &'a Run,
    /// When the first connection was opened.
    began_ns: u64,
    /// An RTT over the empty path.
    base_ns: u64,
    link: Option<&'a LinkConfig>,
    /// Times at which the link stalled, and at which the receiver held its socket locked.
    link_stalls: Vec<(u64, u64)>,
    receiver_stops: &'a [(u64, u64)],
    /// When a packet was dropped, and when its data was acknowledged.
    lost: Vec<(u64, u64)>,
    writer_starves: bool,
}

impl<'a> Known<'a> {
    fn of(run: &'a Run, connection: &'a Connection, samples: &[&SampledState]) -> Self {
        let truth = &run.truth;
        let end = &connection.sender;
        let link = truth.case.experiment().forward.link.as_ref();
        let service_ns = link.map_or(0, |link| MTU_BYTES * 8 * 1_000_000_000 / link.rate.get());
        let acked_ns = |bytes: u64| {
            samples.iter().find(|s| s.acked_bytes > bytes).or(samples.last()).map_or(0, |s| s.at_ns)
        };
        let faults = &truth.path.forward.report.faults;
        let own = faults.iter().filter(|fault| {
            (fault.from_port, fault.to_port) == (end.local.port(), end.remote.port())
                && matches!(fault.fate, Fate::Dropped(_))
                && fault.payload_bytes > 0
        });
        let faulting = matches!(
            &truth.case.experiment().workload,
            Workload::Streams(streams) if streams.iter().any(|s| matches!(s.reader, Reader::Faulting { .. }))
        );
        // Stalls count from the first packet on the link: the SYN, sent when the connection was opened.
        let began_ns = truth.connections.iter().map(opened_ns).min().unwrap_or(0);
        Self {
            run,
            began_ns,
            base_ns: nanos(truth.case.experiment().forward.delay + truth.case.experiment().backward.delay)
                + service_ns,
            link,
            link_stalls: link
                .map(|l| {
                    l.stalls.iter().map(|s| (began_ns + nanos(s.from), began_ns + nanos(s.to))).collect()
                })
                .unwrap_or_default(),
            receiver_stops: if faulting { &connection.receiver.stops_ns } else { &[] },
            lost: own.map(|f| (f.at_ns, acked_ns(f.offset + u64::from(f.payload_bytes)))).collect(),
            writer_starves: starves(end),
        }
    }

    /// What the lab itself did at a time.
    fn by_lab(&self, from_ns: u64, to_ns: u64) -> Option<Held> {
        let late = |times: &[(u64, u64)], held: Held| {
            let inside = |(start, end): &&(u64, u64)| *start < to_ns && from_ns < end + self.base_ns;
            // The last answers from before keep coming for another RTT, and the first from after need one.
            times.iter().find(inside).map(|(start, end)| {
                if start + self.base_ns <= from_ns && to_ns <= *end { held } else { Held::Unsettled }
            })
        };
        late(&self.link_stalls, Held::LateLink).or_else(|| late(self.receiver_stops, Held::LateReceiver))
    }

    /// What the kernel's counters show for the time between two samples.
    fn by_kernel(&self, from: &SampledState, to: &SampledState) -> Held {
        let took_us = (to.at_ns - from.at_ns) / 1000;
        let most_of = |grown_us: u64| 2 * grown_us >= took_us;
        if !most_of(to.busy_us - from.busy_us) {
            return Held::Application;
        }
        let full = self.link_used(to.at_ns).map(|share| (share >= BUSY, share <= NOT_BUSY));
        if from.ca_state >= CA_RECOVERY || to.ca_state >= CA_RECOVERY || self.waits_for_lost(from, to) {
            return if matches!(full, Some((_, true)) | None) { Held::Loss } else { Held::LossOnFullPath };
        }
        if most_of(to.rwnd_limited_us - from.rwnd_limited_us) {
            return Held::ReceiveWindow;
        }
        if self.lost.iter().any(|(at, acked)| *at < to.at_ns && from.at_ns < *acked) && to.notsent_bytes == 0
        {
            return Held::Unsettled;
        }
        let nothing_left = from.notsent_bytes < PAYLOAD_BYTES && to.notsent_bytes < PAYLOAD_BYTES;
        if most_of(to.sndbuf_limited_us - from.sndbuf_limited_us) || nothing_left && self.writer_starves {
            return Held::SendBuffer;
        }
        let window_used = from.unacked_packets + 1 >= from.cwnd_packets;
        match (nothing_left, window_used, full) {
            (true, false, _) => Held::Application,
            (false, true, Some((true, _))) => Held::Path,
            (false, true, Some((_, true)) | None) => Held::CongestionWindow,
            _ => Held::Unsettled,
        }
    }

    /// Whether data that the path dropped should have been acknowledged by now.
    fn waits_for_lost(&self, from: &SampledState, to: &SampledState) -> bool {
        let round_trip_ns = self.base_ns.max(from.rtt_us * 1000);
        let late_ns = round_trip_ns + round_trip_ns / 4;
        self.lost.iter().any(|(at, acked)| at + late_ns <= from.at_ns && to.at_ns <= *acked)
    }

    /// The share of the link's rate at which all connections' data was acknowledged over the RTTs before;
    /// `None` before there were any.
    fn link_used(&self, to_ns: u64) -> Option<f64> {
        const OVER_NS: u64 = 100_000_000;
        let over_ns = OVER_NS.max(2 * self.base_ns);
        let from_ns = to_ns.checked_sub(over_ns).filter(|from_ns| *from_ns >= self.began_ns)?;
        // The samples are in the order of their times.
        let acked = |end: &EndRecord, at_ns: u64| {
            let until = self.run.samples.partition_point(|s| s.at_ns <= at_ns);
            let of_end = |s: &&SampledState| s.local == end.local && s.remote == end.remote;
            self.run.samples[..until].iter().rfind(of_end).map_or(0, |s| s.acked_bytes)
        };
        let ends = self.run.truth.connections.iter().map(|connection| &connection.sender);
        let bytes: u64 = ends.map(|end| acked(end, to_ns) - acked(end, from_ns)).sum();
        let bits = bytes * 8 * MTU_BYTES / PAYLOAD_BYTES;
        Some(bits as f64 / (over_ns as f64 / 1e9) / self.link?.rate.get() as f64)
    }
}

fn opened_ns(connection: &Connection) -> u64 {
    connection.sender.opened_ns.min(connection.receiver.opened_ns)
}

/// Whether the end's application waited for room for a large part of its time while nothing was left to send.
fn starves(end: &EndRecord) -> bool {
    let wrote_ns = end.write_ended_ns.zip(end.write_began_ns).map_or(0, |(to, from)| to.saturating_sub(from));
    end.starved_ns * 4 > wrote_ns
}
