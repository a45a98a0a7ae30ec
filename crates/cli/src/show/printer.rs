//! Events on standard output, as far as they are asked for.

use super::Show;
use crate::console;
use slowpath_analyses::Label;
use slowpath_analyses::settled::Labelled;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_views::events::Lines;
use std::collections::HashMap;
use std::io::{self, Write};

pub struct Printer<'a> {
    args: &'a Show,
    lines: Lines,
    out: console::Out,
    shown: u64,
    /// The flow asked for is there.
    pub met_flow: bool,
    /// The flows of which nothing was shown yet, where only labelled events are.
    keys: HashMap<FlowId, FlowKey>,
}

impl<'a> Printer<'a> {
    pub fn new(args: &'a Show) -> Self {
        let label_width = args.label.iter().map(|label| label.slug().len()).max().unwrap_or(0);
        let lines = Lines { json: args.json, with_flow: args.flow.is_none(), label_width };
        Self { args, lines, out: console::stdout(), shown: 0, met_flow: false, keys: HashMap::new() }
    }

    fn takes_flow(&self, flow: FlowId) -> bool {
        self.args.flow.is_none_or(|id| id == flow)
    }

    /// Whether an event is asked for, by its flow and its time.
    fn takes(&self, flow: FlowId, event: &Event) -> bool {
        let early = self.args.from.is_some_and(|from| event.at < from);
        let late = self.args.to.is_some_and(|to| event.at > to);
        !early && !late && self.takes_flow(flow)
    }

    fn head(&mut self, flow: FlowId, key: &FlowKey) {
        let written = self.lines.head(flow, key, &mut self.out);
        self.end_unless(written);
    }

    fn print(&mut self, flow: FlowId, event: &Event, label: Option<Label>) {
        self.shown += 1;
        let written = self.lines.event(flow, event, label, &mut self.out);
        self.end_unless(written);
    }

    /// Ends the process where nothing more is to be shown, since a source cannot be stopped half-way and the rest
    /// of the recording may be long.
    fn end_unless(&mut self, written: io::Result<()>) {
        let more = self.args.limit.is_none_or(|limit| self.shown < limit);
        let flushed = if more { Ok(()) } else { self.out.flush() };
        match written.and(flushed) {
            Ok(()) if more => {}
            Ok(()) => std::process::exit(0),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
            Err(error) => {
                console::warn(&format!("standard output: {error}"));
                std::process::exit(2)
            }
        }
    }

    /// Ends the output; how many events were shown.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.shown)
    }
}

impl Sink for Printer<'_> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if self.takes_flow(flow) {
            self.met_flow = true;
            self.head(flow, key);
        }
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        if self.takes(flow, event) {
            self.print(flow, event, None);
        }
    }

    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

impl Labelled for Printer<'_> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if self.takes_flow(flow) {
            self.met_flow = true;
            self.keys.insert(flow, *key);
        }
    }

    fn wants(&self, flow: FlowId, event: &Event, label: Label) -> bool {
        self.args.label.contains(&label) && self.takes(flow, event)
    }

    fn take(&mut self, flow: FlowId, event: &Event, label: Label) {
        if let Some(key) = self.keys.remove(&flow) {
            self.head(flow, &key);
        }
        self.print(flow, event, Some(label));
    }
}
