//! A whole file: it is read to an end, every flow is opened before it speaks and closed once, the summary's counts
//! agree with what the sink was told, and reading it again tells the same.

use slowpath_capture::{Capture, Oddity};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;

#[derive(Default)]
struct Checked {
    live: HashSet<FlowId>,
    opened: u32,
    events: u64,
    hash: DefaultHasher,
}

impl Sink for Checked {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.opened += 1;
        assert_eq!(flow.0, self.opened, "numbered in order of appearance");
        self.live.insert(flow);
        key.hash(&mut self.hash);
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        assert!(self.live.contains(&flow));
        self.events += 1;
        let line = event.to_string();
        line.hash(&mut self.hash);
        assert_eq!(line.parse::<Event>().as_ref(), Ok(event), "{line}");
    }
    fn close(&mut self, flow: FlowId, _: FlowEnd) {
        assert!(self.live.remove(&flow));
    }
}

pub fn try_input(data: &[u8]) {
    let run = || {
        let mut sink = Checked::default();
        let summary =
            Capture::from_reader("fuzz", Cursor::new(data.to_vec())).max_live_flows(8).run(&mut sink);
        assert!(sink.live.is_empty());
        (summary, sink)
    };
    let (summary, sink) = run();
    if let Ok(summary) = &summary {
        assert_eq!(
            (summary.segments + summary.icmp_errors, summary.flows),
            (sink.events, sink.opened.into())
        );
        let skipped: u64 = summary.notes.iter().filter(|n| n.oddity.skips()).map(|n| n.count).sum();
        // A block that describes an interface may be malformed as well, without being a frame.
        let blocks = summary.count(Oddity::MalformedBlock);
        assert!((skipped - blocks..=skipped).contains(&summary.skipped()));
    }
    let (again, sink_again) = run();
    assert_eq!(sink.hash.finish(), sink_again.hash.finish());
    assert_eq!(summary.ok(), again.ok());
}
