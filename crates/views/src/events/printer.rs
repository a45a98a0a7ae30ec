//! Prints the events that are asked for.

use super::Lines;
use slowpath_analyses::Label;
use slowpath_analyses::settled::Labelled;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Instant, Sink};
use slowpath_runs::filter::Filter;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// The events that are asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Of this flow only.
    pub flow: Option<FlowId>,
    /// Of flows between these ends only.
    pub filter: Option<Filter>,
    /// From this time on.
    pub from: Option<Instant>,
    /// Up to this time.
    pub to: Option<Instant>,
    /// Data with these labels only, if there are any.
    pub labels: Vec<Label>,
    /// At most this many.
    pub limit: Option<u64>,
    /// As JSON objects.
    pub json: bool,
}

/// Prints events as they come.
pub struct Printer<W> {
    wanted: Wanted,
    lines: Lines,
    out: W,
    /// Ends the program, since a source cannot be stopped half-way and the rest of the recording may be long.
    end: fn(io::Result<()>) -> !,
    shown: u64,
    /// The flow asked for is there.
    pub met_flow: bool,
    /// The flows that the filter selects.
    selected: HashSet<FlowId>,
    /// The flows of which nothing was shown yet, where only labelled events are.
    keys: HashMap<FlowId, FlowKey>,
}

impl<W: Write> Printer<W> {
    /// Prints to `out`. When nothing more is to be shown, or `out` fails, it calls `end`.
    pub fn new(wanted: Wanted, out: W, end: fn(io::Result<()>) -> !) -> Self {
        let label_width = wanted.labels.iter().map(|label| label.slug().len()).max().unwrap_or(0);
        let lines = Lines { json: wanted.json, with_flow: wanted.flow.is_none(), label_width };
        Self {
            wanted,
            lines,
            out,
            end,
            shown: 0,
            met_flow: false,
            selected: HashSet::new(),
            keys: HashMap::new(),
        }
    }

    fn takes_flow(&self, flow: FlowId) -> bool {
        self.wanted.flow.is_none_or(|id| id == flow)
            && (self.wanted.filter.is_none() || self.selected.contains(&flow))
    }

    /// Notes whether the filter selects a flow.
    fn select(&mut self, flow: FlowId, key: &FlowKey) {
        if self.wanted.filter.as_ref().is_some_and(|filter| filter.takes(key)) {
            self.selected.insert(flow);
        }
        self.met_flow |= self.wanted.flow == Some(flow);
    }

    /// Whether an event is asked for, by its flow and its time.
    fn takes(&self, flow: FlowId, event: &Event) -> bool {
        let early = self.wanted.from.is_some_and(|from| event.at < from);
        let late = self.wanted.to.is_some_and(|to| event.at > to);
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

    fn end_unless(&mut self, written: io::Result<()>) {
        let more = self.wanted.limit.is_none_or(|limit| self.shown < limit);
        let flushed = if more { Ok(()) } else { self.out.flush() };
        match written.and(flushed) {
            Ok(()) if more => {}
            ended => (self.end)(ended),
        }
    }

    /// Ends the output; how many events were shown.
    ///
    /// # Errors
    ///
    /// The errors of the output.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.shown)
    }
}

impl<W: Write> Sink for Printer<W> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.select(flow, key);
        if self.takes_flow(flow) {
            self.head(flow, key);
        }
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        if self.takes(flow, event) {
            self.print(flow, event, None);
        }
    }

    fn close(&mut self, flow: FlowId, _: FlowEnd) {
        self.selected.remove(&flow);
    }
}

impl<W: Write> Labelled for Printer<W> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.select(flow, key);
        if self.takes_flow(flow) {
            self.keys.insert(flow, *key);
        }
    }

    fn wants(&self, flow: FlowId, event: &Event, label: Label) -> bool {
        self.wanted.labels.contains(&label) && self.takes(flow, event)
    }

    fn take(&mut self, flow: FlowId, event: &Event, label: Label) {
        if let Some(key) = self.keys.remove(&flow) {
            self.head(flow, &key);
        }
        self.print(flow, event, Some(label));
    }
}
