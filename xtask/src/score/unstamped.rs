//! The captures as two hosts without timestamps (RFC 7323) would have left them.

use slowpath_model::{Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, Sink};

/// What the option takes in each segment, in bytes.
const OPTION: u16 = 12;

/// Passes everything on without timestamps.
pub struct Unstamped<S>(pub S);

impl<S: Sink> Sink for Unstamped<S> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.open(flow, key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let mut event = *event;
        if let EventKind::Seen(segment) = &mut event.kind
            && segment.timestamps.take().is_some()
            && segment.flags.has(Flags::SYN)
        {
            // Full segments stay as large as they were.
            segment.mss = segment.mss.map(|mss| mss.saturating_sub(OPTION));
        }
        self.0.accept(flow, &event);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.0.close(flow, end);
    }
}
