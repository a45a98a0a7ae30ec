//! Events on standard output, as far as they are asked for.

use super::Show;
use crate::console;
use slowpath_analyses::Label;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_views::json;
use std::io::{self, BufWriter, StdoutLock, Write};

pub struct Printer<'a> {
    args: &'a Show,
    out: BufWriter<StdoutLock<'static>>,
    shown: u64,
    /// The flow asked for is there.
    pub met_flow: bool,
}

impl<'a> Printer<'a> {
    pub fn new(args: &'a Show) -> Self {
        Self { args, out: console::stdout(), shown: 0, met_flow: false }
    }

    /// Whether events of `flow` are asked for.
    pub fn takes_flow(&self, flow: FlowId) -> bool {
        self.args.flow.is_none_or(|id| id == flow)
    }

    /// Whether an event is, by its flow and its time.
    pub fn takes(&self, flow: FlowId, event: &Event) -> bool {
        let early = self.args.from.is_some_and(|from| event.at < from);
        let late = self.args.to.is_some_and(|to| event.at > to);
        !early && !late && self.takes_flow(flow)
    }

    /// Says between which ends a flow is.
    pub fn head(&mut self, flow: FlowId, key: &FlowKey) {
        if !self.args.json {
            let written = writeln!(self.out, "# flow {flow}: {key}");
            self.end_unless(written);
        }
    }

    pub fn print(&mut self, flow: FlowId, event: &Event, label: Option<Label>) {
        self.shown += 1;
        let written = self.write(flow, event, label);
        self.end_unless(written);
    }

    fn write(&mut self, flow: FlowId, event: &Event, label: Option<Label>) -> io::Result<()> {
        if self.args.json {
            serde_json::to_writer(&mut self.out, &json::EventLine::of(flow, event, label))?;
            return self.out.write_all(b"\n");
        }
        if self.args.flow.is_none() {
            write!(self.out, "{flow} ")?;
        }
        if let Some(label) = label {
            let widest = self.args.label.iter().map(|label| label.slug().len()).max().unwrap_or(0);
            write!(self.out, "{:widest$} ", label.slug())?;
        }
        writeln!(self.out, "{event}")
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
