//! Which flows have ended, and what begins then: flows that come after them.

use crate::agenda::{Agenda, Slot};
use slowpath_model::Instant;
use std::time::Duration;

/// The processes of flows, and what waits for their ends.
#[derive(Debug, Default)]
pub struct Sequence {
    /// The flow of each stream.
    flows: Vec<usize>,
    /// By flow: its processes that have not ended.
    running: Vec<u32>,
    /// By flow: what begins after it, and how long after.
    followers: Vec<Vec<(Slot, Duration)>>,
    /// The sum of `running`.
    all_running: usize,
}

impl Sequence {
    /// A sequence of this many flows, without processes.
    pub fn new(flows: usize) -> Self {
        let followers = vec![Vec::new(); flows];
        Self { flows: Vec::new(), running: vec![0; flows], followers, all_running: 0 }
    }

    /// Adds a stream of a flow, with this many processes; returns the stream's number.
    pub fn add_stream(&mut self, flow: usize, processes: u32) -> usize {
        self.flows.push(flow);
        self.running[flow] += processes;
        self.all_running += processes as usize;
        self.flows.len() - 1
    }

    /// Arms a slot of the agenda `pause` after the end of a flow.
    pub fn follow(&mut self, flow: usize, slot: Slot, pause: Duration) {
        self.followers[flow].push((slot, pause));
    }

    /// A process of a stream has ended.
    pub fn ended(&mut self, stream: usize, now: Instant, agenda: &mut Agenda) {
        let flow = self.flows[stream];
        self.running[flow] -= 1;
        self.all_running -= 1;
        if self.running[flow] == 0 {
            for (slot, pause) in std::mem::take(&mut self.followers[flow]) {
                agenda.set(slot, Some(now + pause));
            }
        }
    }

    /// Whether all processes of all flows have ended.
    pub fn is_over(&self) -> bool {
        self.all_running == 0
    }

    /// The number of streams.
    pub fn streams(&self) -> usize {
        self.flows.len()
    }

    /// The flow of a stream.
    pub fn flow_of(&self, stream: usize) -> usize {
        self.flows[stream]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follower_starts_after_the_last_process_of_a_flow() {
        let (mut sequence, mut agenda) = (Sequence::new(2), Agenda::new());
        let slot = agenda.add();
        let streams = [sequence.add_stream(0, 2), sequence.add_stream(0, 1), sequence.add_stream(1, 1)];
        assert_eq!(streams.map(|stream| sequence.flow_of(stream)), [0, 0, 1]);
        sequence.follow(0, slot, Duration::from_nanos(5));
        for (nanos, stream) in [(10, 0), (20, 0), (30, 1)] {
            assert_eq!(agenda.first(), None);
            sequence.ended(stream, Instant::from_nanos(nanos), &mut agenda);
        }
        assert_eq!(agenda.first(), Some((Instant::from_nanos(35), slot)));
        assert!(!sequence.is_over());
        sequence.ended(2, Instant::from_nanos(40), &mut agenda);
        assert!(sequence.is_over());
    }
}
