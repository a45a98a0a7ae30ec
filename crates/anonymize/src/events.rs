//! Events with other addresses.

use crate::names::Names;
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, Sink};

/// Passes events on, with the replacements of their addresses and ports.
pub struct Renamed<'s, S> {
    sink: &'s mut S,
    names: &'s mut Names,
}

impl<'s, S: Sink> Renamed<'s, S> {
    /// Passes events on to `sink`.
    pub fn new(sink: &'s mut S, names: &'s mut Names) -> Self {
        Self { sink, names }
    }
}

impl<S: Sink> Sink for Renamed<'_, S> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.sink.open(flow, &self.names.key(key));
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let EventKind::IcmpError(mut error) = event.kind else { return self.sink.accept(flow, event) };
        error.from = error.from.map(|from| self.names.address(from));
        self.sink.accept(flow, &Event { kind: EventKind::IcmpError(error), ..*event });
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.sink.close(flow, end);
    }
}
