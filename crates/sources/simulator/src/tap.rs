//! A host's view as the model's events: what a capture there would contain, and what a probe of its kernel would
//! report.

use crate::links::Link;
use crate::outside::{Observer, Occurrence, Sight, Wants};
use crate::shown;
use crate::wire::FrameKind;
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, Sink};
use slowpath_scenario::HostId;

/// Passes the packets at one host's NIC to a sink, and other requested events of that host. Super-packets are reported
/// as their segments.
#[derive(Debug)]
pub struct Tap<S> {
    sink: S,
    host: HostId,
    /// The flow of each connection seen here.
    flows: Vec<Option<FlowId>>,
    opened: u32,
    frames: u64,
    /// Packets are reported.
    packets: bool,
    wants: Wants,
}

impl<S: Sink> Tap<S> {
    /// A tap at a host, for packets only.
    pub fn new(host: HostId, sink: S) -> Self {
        Self { sink, host, flows: Vec::new(), opened: 0, frames: 0, packets: true, wants: Wants::default() }
    }

    /// Makes it report the wanted events, with or without packets. With packets, a flow begins with its first.
    pub fn reporting(self, packets: bool, wants: Wants) -> Self {
        Self { packets, wants, ..self }
    }

    /// The run is over: closes all flows and returns the sink.
    pub fn finish(mut self) -> S {
        for flow in self.flows.iter().flatten() {
            self.sink.close(*flow, FlowEnd::EndOfRecording);
        }
        self.sink
    }

    /// The sink, during the run.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Packets seen.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The flow of a connection, opened if it is new.
    fn flow(&mut self, number: u32, link: &Link) -> FlowId {
        let index = number as usize;
        if self.flows.len() <= index {
            self.flows.resize(index + 1, None);
        }
        if let Some(flow) = self.flows[index] {
            return flow;
        }
        self.opened += 1;
        let flow = FlowId(self.opened);
        self.flows[index] = Some(flow);
        self.sink.open(flow, &shown::key(number, link.hosts));
        flow
    }
}

impl<S: Sink> Observer for Tap<S> {
    fn packet(&mut self, sight: &Sight<'_>) {
        // Only TCP is reported.
        let is_segment = matches!(sight.frame.kind, FrameKind::Segment | FrameKind::Damaged);
        if sight.host != self.host || !self.packets || !is_segment {
            return;
        }
        self.frames += 1;
        let flow = self.flow(sight.frame.connection, sight.link);
        let mut seen = shown::segment(sight.frame, sight.from, sight.sent);
        seen.frame = self.frames;
        self.sink.accept(flow, &Event { at: sight.at, kind: EventKind::Seen(seen) });
    }

    fn wants(&self) -> Wants {
        self.wants
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let Occurrence { at, host, connection, link, kind } = *occurrence;
        let is_open = self.flows.get(connection as usize).is_some_and(Option::is_some);
        if host == self.host && self.wants.has(&kind) && (is_open || !self.packets) {
            let flow = self.flow(connection, link);
            self.sink.accept(flow, &Event { at, kind });
        }
    }
}
