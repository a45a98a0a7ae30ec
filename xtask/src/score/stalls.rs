//! TAPO's causes of the stalls at the sender, compared with what the path dropped or delayed, what the applications
//! did, and what the kernel reported.

use super::run::Run;
use serde::Serialize;
use slowpath_analyses::Label;
use slowpath_analyses::report::{FlowReport, Stall, StallCause};
use slowpath_lab::recording::Omission;
use slowpath_lab::relay::{Fate, Fault};
use slowpath_lab::sampled::SampledState;
use slowpath_lab::truth::Connection;
use slowpath_lab::workload::{Reader, Workload};
use slowpath_model::{End, FlowId, Segment, nanos};
use std::collections::BTreeMap;

/// All runs.
#[derive(Default, Serialize)]
pub struct Stalls {
    /// Stalls whose cause is known independently, and how many of them are named right.
    pub known: u64,
    pub right: u64,
    /// Stalls whose cause the lab does not know either.
    pub unknown: u64,
    /// `what it was / reported cause`: how many.
    pub said: BTreeMap<String, u64>,
    /// Runs with a stall named wrong: `what it was / reported cause`, how many.
    pub wrong: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Adds a run, by its recording at the sender.
pub fn add(stalls: &mut Stalls, run: &Run) {
    let incomplete = |omission: &Omission| !matches!(omission, Omission::After { .. });
    if run.truth.case.experiment().recording.omissions.iter().any(incomplete) {
        return;
    }
    let watched = &run.ends[0];
    for connection in &run.truth.connections {
        let own = connection.sender.local;
        let of = |flow: &&FlowReport| {
            End::BOTH.into_iter().any(|end| {
                let (at, peer) = (flow.key.endpoint(end), flow.key.endpoint(!end));
                (at.address, at.port, peer.port) == (own.ip(), own.port(), connection.sender.remote.port())
            })
        };
        let Some(flow) = watched.flows.iter().find(of) else { continue };
        let end = if flow.key.a.address == own.ip() { End::A } else { End::B };
        let known = Known::of(run, connection);
        for stall in &flow.directions[end.index()].stalls {
            let from_ns = (stall.from.nanos() + watched.epoch_ns).cast_unsigned();
            let to_ns = from_ns + stall.lasted.as_nanos() as u64;
            let ended_it = |(_, segment, _): &&(FlowId, Segment, Label)| {
                segment.frame == stall.frame && segment.from == end
            };
            let by_sender = watched.labelled.iter().any(|labelled| ended_it(&labelled));
            let Some(was) = known.cause(from_ns, to_ns, by_sender) else {
                stalls.unknown += 1;
                continue;
            };
            stalls.note(&run.name, was, stall);
        }
    }
}

impl Stalls {
    fn note(&mut self, run: &str, was: &[StallCause], stall: &Stall) {
        let right = was.contains(&stall.cause);
        self.known += 1;
        self.right += u64::from(right);
        let was = if right { stall.cause } else { was[0] };
        let text = format!("{} / {}", was.slug(), stall.cause.slug());
        if !right {
            *self.wrong.entry(run.to_owned()).or_default().entry(text.clone()).or_default() += 1;
        }
        *self.said.entry(text).or_default() += 1;
    }
}

/// What the lab knows of one connection.
struct Known<'a> {
    run: &'a Run,
    connection: &'a Connection,
    samples: Vec<&'a SampledState>,
    /// Data that the path dropped, in the order of dropping.
    lost: Vec<&'a Fault>,
}

impl<'a> Known<'a> {
    fn of(run: &'a Run, connection: &'a Connection) -> Self {
        let own = &connection.sender;
        let is_own = |fault: &&Fault| {
            (fault.from_port, fault.to_port) == (own.local.port(), own.remote.port())
                && matches!(fault.fate, Fate::Dropped(_))
                && fault.payload_bytes > 0
        };
        let of_socket = |s: &&SampledState| s.local == own.local && s.remote == own.remote;
        Self {
            run,
            connection,
            samples: run.samples.iter().filter(of_socket).collect(),
            lost: run.truth.path.forward.report.faults.iter().filter(is_own).collect(),
        }
    }

    fn sample(&self, at_ns: u64) -> Option<&SampledState> {
        self.samples.iter().rfind(|s| s.at_ns <= at_ns).copied()
    }

    /// The causes of a silence, which the sender's data ended or something else; the first is the preferred name if
    /// several fit. `None` if nothing that was done explains it.
    fn cause(&self, from_ns: u64, to_ns: u64, by_sender: bool) -> Option<&'static [StallCause]> {
        use StallCause as S;
        let sample = self.sample(from_ns.midpoint(to_ns))?;
        if self.is_late(from_ns, to_ns) {
            return Some(&[S::PacketDelay, S::AckDelayOrLoss]);
        }
        // The SYN is counted as acknowledged, too.
        let acked = sample.acked_bytes.saturating_sub(1);
        let open =
            |fault: &&&Fault| fault.at_ns < to_ns && fault.offset + u64::from(fault.payload_bytes) > acked;
        let lost: Vec<&Fault> = self.lost.iter().filter(open).copied().collect();
        if let Some(first) = lost.first() {
            // Lost data was retransmitted before; a segment of the other end is the answer to that.
            return Some(if by_sender {
                self.loss(first, &lost, sample)
            } else {
                &[S::PacketDelay, S::AckDelayOrLoss]
            });
        }
        if sample.snd_wnd_bytes < 1448 {
            return Some(&[S::ZeroWindow]);
        }
        if sample.unacked_packets == 0 {
            return self.idle(to_ns, by_sender);
        }
        // Something in flight was not lost, and nothing more was there to send.
        (sample.notsent_bytes == 0 && self.wrote_at(to_ns)).then_some(&[S::ResourceConstraint])
    }

    /// Whether the link or the receiver was stalled in that time.
    fn is_late(&self, from_ns: u64, to_ns: u64) -> bool {
        let first_ns =
            self.run.truth.connections.iter().map(|c| c.sender.opened_ns.min(c.receiver.opened_ns)).min();
        let link = self.run.truth.case.experiment().forward.link.as_ref();
        let stalls = link.into_iter().flat_map(|link| &link.stalls);
        let stalls =
            stalls.map(|s| first_ns.unwrap_or(0) + nanos(s.from)..first_ns.unwrap_or(0) + nanos(s.to));
        let faulting = matches!(
            &self.run.truth.case.experiment().workload,
            Workload::Streams(streams) if streams.iter().any(|s| matches!(s.reader, Reader::Faulting { .. }))
        );
        let stops =
            self.connection.receiver.stops_ns.iter().filter(|_| faulting).map(|(from, to)| *from..*to);
        // At least half of the silence.
        let most = |over: std::ops::Range<u64>| {
            let shared = over.end.min(to_ns).saturating_sub(over.start.max(from_ns));
            2 * shared >= to_ns - from_ns
        };
        stalls.chain(stops).any(most)
    }

    /// TAPO, section 4.2: what prevented duplicate ACKs, most specific first.
    fn loss(&self, first: &Fault, lost: &[&Fault], sample: &SampledState) -> &'static [StallCause] {
        use StallCause as S;
        let again = lost.iter().filter(|fault| fault.offset == first.offset).count() > 1;
        let segments =
            lost.iter().map(|fault| fault.offset).collect::<std::collections::BTreeSet<_>>().len() as u64;
        let above = sample.unacked_packets.saturating_sub(segments);
        let nothing_left = sample.notsent_bytes < 1448;
        if again {
            &[S::DoubleRetransmission]
        } else if nothing_left && above < 3 {
            &[S::TailRetransmission]
        } else if sample.unacked_packets < 4 && sample.snd_wnd_bytes < 4 * 1448 {
            &[S::SmallReceiveWindow]
        } else if sample.unacked_packets < 4 {
            &[S::SmallCongestionWindow]
        } else if above == 0 {
            &[S::ContinuousLoss]
        } else {
            &[S::Undetermined]
        }
    }

    /// Neither end had anything outstanding: which was the first to act again?
    fn idle(&self, to_ns: u64, by_sender: bool) -> Option<&'static [StallCause]> {
        use StallCause as S;
        match &self.run.truth.case.experiment().workload {
            Workload::Exchange(_) if !by_sender => Some(&[S::ClientIdle]),
            Workload::Exchange(_) => self.wrote_at(to_ns).then_some(&[S::DataUnavailable]),
            Workload::Streams(_) => self.wrote_at(to_ns).then_some(&[S::ResourceConstraint]),
            // No labelled capture is of programs that report nothing of their own.
            Workload::Programs(_) => None,
        }
    }

    /// Whether the sending application began a message at that time.
    fn wrote_at(&self, at_ns: u64) -> bool {
        const WITHIN_NS: u64 = 5_000_000;
        self.connection.sender.messages_ns.iter().any(|begun| begun.abs_diff(at_ns) < WITHIN_NS)
    }
}
