//! How far hosts are from the tap, over all flows of a recording: a flow that begins behind a queue and ends behind it
//! never shows how short its path is, but another one of the same host may.

use crate::flow::FlowState;
use crate::rtt::Distance;
use slowpath_model::{End, FlowId, Instant};
use std::collections::HashMap;
use std::net::IpAddr;

/// For how long a way is taken to stay as it was, in nanoseconds: routes change.
const WITHIN: i64 = 60_000_000_000;

/// Hosts that are kept. What others show is not used.
const MOST: usize = 1 << 16;

/// Behind one address, hosts at several places may answer. Those whose packets have as many hops left are taken to be one.
type Host = (IpAddr, u8);

/// The shortest answers of hosts.
#[derive(Debug, Default)]
pub struct Nearest {
    seen: HashMap<Host, Shortest>,
}

/// The shortest answer of a host.
#[derive(Clone, Copy, Debug)]
struct Shortest {
    nanos: i64,
    at: Instant,
    by: FlowId,
}

impl Nearest {
    /// Takes in how far the ends of a flow are.
    pub fn note(&mut self, id: FlowId, flow: &FlowState) {
        for end in End::BOTH {
            let answering = flow.ends[end.index()].distance.answering();
            let Some(nanos) = answering.shortest_but_for_chance().filter(|_| !answering.is_here()) else {
                continue;
            };
            let new = Shortest { nanos, at: flow.last, by: id };
            let is_full = self.seen.len() >= MOST;
            match self.seen.get_mut(&host(flow, end)) {
                Some(old) if nanos <= old.nanos || new.at.nanos_since(old.at) > WITHIN => *old = new,
                None if !is_full => drop(self.seen.insert(host(flow, end), new)),
                _ => {}
            }
        }
    }

    /// What other flows show of the distances of a flow's ends.
    pub fn of(&self, id: FlowId, flow: &FlowState) -> Known {
        Known(End::BOTH.map(|end| {
            let seen = self.seen.get(&host(flow, end)).filter(|seen| seen.by != id);
            seen.filter(|seen| flow.first.nanos_since(seen.at) <= WITHIN).map(|seen| seen.nanos)
        }))
    }
}

/// The distances of a flow's ends as other flows show them, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Known([Option<i64>; 2]);

impl Known {
    /// The distance of `end`, which seems to be `shortest`.
    pub fn corrected(&self, end: End, own: &Distance, shortest: Option<i64>) -> Option<i64> {
        let known = self.0[end.index()].filter(|_| !own.is_here());
        shortest.map(|shortest| known.map_or(shortest, |known| known.min(shortest)))
    }
}

fn host(flow: &FlowState, end: End) -> Host {
    (flow.key.endpoint(end).address, flow.ends[end.index()].ttl_max)
}
