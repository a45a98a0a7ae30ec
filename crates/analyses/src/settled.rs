//! Labelled events, held back until their labels are final.

use crate::{Judged, Label, Labels, SpuriousRetransmission};
use slowpath_model::{End, Event, EventKind, FlowId, FlowKey};
use std::collections::VecDeque;

/// How long a retransmission may yet turn out to be spurious, in nanoseconds of the recording: the evidence comes
/// within an RTT or two.
const OPEN_FOR: i64 = 10_000_000_000;
/// Events held back at most: 16 MiB.
const MOST_HELD: usize = 1 << 16;

/// Takes events with their final labels, in their order.
pub trait Labelled {
    /// A flow begins.
    fn open(&mut self, flow: FlowId, key: &FlowKey);
    /// Whether an event with this label is wanted.
    fn wants(&self, flow: FlowId, event: &Event, label: Label) -> bool;
    /// Takes an event that is wanted.
    fn take(&mut self, flow: FlowId, event: &Event, label: Label);
}

struct Held {
    flow: FlowId,
    event: Event,
    label: Label,
}

/// Passes the labels of an analysis on to a [`Labelled`].
pub struct Settled<L> {
    to: L,
    held: VecDeque<Held>,
}

impl<L: Labelled> Settled<L> {
    /// Nothing is labelled yet.
    pub fn new(to: L) -> Self {
        Self { to, held: VecDeque::new() }
    }

    /// All labels are final.
    pub fn finish(mut self) -> L {
        while let Some(held) = self.held.pop_front() {
            self.give(&held);
        }
        self.to
    }

    /// Whether an event is wanted with this label, or with the one that it may yet get.
    fn may_be_wanted(&self, flow: FlowId, event: &Event, label: Label) -> bool {
        self.to.wants(flow, event, label)
            || (label == Label::Retransmission && self.to.wants(flow, event, Label::Spurious))
    }

    fn give(&mut self, held: &Held) {
        if self.to.wants(held.flow, &held.event, held.label) {
            self.to.take(held.flow, &held.event, held.label);
        }
    }
}

impl<L: Labelled> Labels for Settled<L> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.to.open(flow, key);
    }

    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        if let Some(label) = judged.label
            && self.may_be_wanted(flow, event, label)
        {
            self.held.push_back(Held { flow, event: *event, label });
        }
        while let Some(first) = self.held.front()
            && (first.label != Label::Retransmission
                || event.at.nanos_since(first.event.at) > OPEN_FOR
                || self.held.len() > MOST_HELD)
        {
            let Some(held) = self.held.pop_front() else { break };
            self.give(&held);
        }
    }

    fn found_spurious(&mut self, flow: FlowId, from: End, spurious: &SpuriousRetransmission) {
        let is_it = |held: &&mut Held| {
            let EventKind::Seen(segment) = &held.event.kind else { return false };
            held.flow == flow && segment.from == from && segment.frame == spurious.frame
        };
        if let Some(held) = self.held.iter_mut().rev().find(is_it) {
            held.label = Label::Spurious;
        }
    }
}
