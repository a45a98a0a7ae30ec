//! What a list says of a flow: little enough that all flows of a recording can be listed.

use crate::headline::main_finding;
use slowpath_analyses::Cause;
use slowpath_analyses::report::{FlowReport, Rank};
use slowpath_model::{Bytes, End, FlowId, FlowKey, Instant};
use std::cmp::Reverse;
use std::time::Duration;

/// The most flows that a page lists: a row takes about 60 bytes of it.
pub const MOST_LINES: usize = 200_000;

/// What the list says of a flow.
#[derive(Clone, Debug)]
pub struct Line {
    pub(crate) id: FlowId,
    pub(crate) key: FlowKey,
    pub(crate) sender: End,
    pub(crate) bytes: Bytes,
    pub(crate) first: Instant,
    pub(crate) lasted: Duration,
    pub(crate) lost: Duration,
    pub(crate) retransmitted: u64,
    pub(crate) main: Option<(Cause, f64)>,
}

impl Line {
    /// What there is to say of `flow`.
    pub fn of(flow: &FlowReport) -> Self {
        let measures = &flow.main().measures;
        Self {
            id: flow.id,
            key: flow.key,
            sender: flow.sender,
            bytes: measures.moved(),
            first: flow.first,
            lasted: flow.lasted(),
            lost: flow.time_lost(),
            retransmitted: measures.retransmitted(),
            main: main_finding(flow).map(|finding| (finding.cause, finding.share)),
        }
    }

    /// Its place among flows.
    pub(crate) fn rank(&self) -> Rank {
        (Reverse(self.lost), Reverse(self.bytes), self.id)
    }
}
