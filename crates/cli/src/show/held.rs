//! Labelled events, held back until their labels stand.

use super::Show;
use super::printer::Printer;
use slowpath_analyses::{Judged, Label, Labels, Needless};
use slowpath_model::{End, Event, EventKind, FlowId, FlowKey};
use std::collections::{HashMap, VecDeque};

/// How long a retransmission may yet turn out to be needless, in nanoseconds of the recording: what shows it comes
/// within a round trip or two.
const OPEN_FOR: i64 = 10_000_000_000;
/// Events held back at most: 16 MiB.
const MOST_HELD: usize = 1 << 16;

/// An event that may be shown.
struct Line {
    flow: FlowId,
    event: Event,
    label: Label,
}

/// Shows events of the labels asked for, in their order.
pub struct Held<'a> {
    args: &'a Show,
    printer: Printer<'a>,
    lines: VecDeque<Line>,
    /// The flows of which nothing was shown yet.
    keys: HashMap<FlowId, FlowKey>,
}

impl<'a> Held<'a> {
    pub fn new(args: &'a Show) -> Self {
        Self { args, printer: Printer::new(args), lines: VecDeque::new(), keys: HashMap::new() }
    }

    /// All labels stand.
    pub fn finish(mut self) -> Printer<'a> {
        while let Some(line) = self.lines.pop_front() {
            self.show(&line);
        }
        self.printer
    }

    /// Whether an event of this label may have to be shown, as it is or as what it may turn out to be.
    fn may_show(&self, label: Label) -> bool {
        let asked = |label| self.args.label.contains(&label);
        asked(label) || (label == Label::Retransmission && asked(Label::Spurious))
    }

    fn show(&mut self, line: &Line) {
        if !self.args.label.contains(&line.label) {
            return;
        }
        if let Some(key) = self.keys.remove(&line.flow) {
            self.printer.head(line.flow, &key);
        }
        self.printer.print(line.flow, &line.event, Some(line.label));
    }
}

impl Labels for Held<'_> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if self.printer.takes_flow(flow) {
            self.printer.met_flow = true;
            self.keys.insert(flow, *key);
        }
    }

    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        if let Some(label) = judged.label
            && self.may_show(label)
            && self.printer.takes(flow, event)
        {
            self.lines.push_back(Line { flow, event: *event, label });
        }
        while let Some(first) = self.lines.front()
            && (first.label != Label::Retransmission
                || event.at.nanos_since(first.event.at) > OPEN_FOR
                || self.lines.len() > MOST_HELD)
        {
            let Some(line) = self.lines.pop_front() else { break };
            self.show(&line);
        }
    }

    fn found_needless(&mut self, flow: FlowId, from: End, needless: &Needless) {
        let is_it = |line: &&mut Line| {
            let EventKind::Seen(segment) = &line.event.kind else { return false };
            line.flow == flow && segment.from == from && segment.frame == needless.frame
        };
        if let Some(line) = self.lines.iter_mut().rev().find(is_it) {
            line.label = Label::Spurious;
        }
    }
}
