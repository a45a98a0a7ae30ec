//! A capture file, or a frame of any link type (its first two bytes): its copy is not longer, and the events of the copy are
//! those of the original.

use slowpath_anonymize::frame::Frames;
use slowpath_anonymize::{Key, Names, Ports, copy};
use slowpath_capture::{Capture, LinkType};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::io::Cursor;

#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    flows: u32,
    events: u32,
}

impl Sink for Count {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {
        self.flows += 1;
    }
    fn accept(&mut self, _flow: FlowId, _event: &Event) {
        self.events += 1;
    }
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}

pub fn try_input(data: &[u8]) {
    let mut names = Names::new(&Key::from([0x5a; 32]), Ports::Map);
    if let Some((&[a, b, c, d, e, f], frame)) = data.split_first_chunk() {
        let link = LinkType(u16::from_be_bytes([a, b]));
        let wire = u32::from_be_bytes([c, d, e, f]);
        let mut frames = Frames::new(&mut names);
        let (copied, _) = frames.copy(link, frame, wire, false);
        assert!(copied.len() <= frame.len());
    }
    let capture = |file: &[u8]| Capture::from_reader("fuzzed", Cursor::new(file.to_vec()));
    let mut written = Vec::new();
    let copied = copy(capture(data), &mut names, &mut written);
    let mut before = Count::default();
    if capture(data).run(&mut before).is_ok() {
        assert!(copied.is_ok(), "what can be read can be copied");
        let mut after = Count::default();
        capture(&written).run(&mut after).expect("a copy is a capture");
        assert_eq!(after, before);
    }
}
