//! `slowpath show`: events as text.

use crate::args::Show;
use crate::console::{self, Console};
use crate::{Outcome, recording};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_views::json;
use std::io::{self, Write};

pub fn run(args: &Show, console: &Console) -> anyhow::Result<Outcome> {
    let mut printer = Printer { args, out: console::stdout(), shown: 0, seen: false };
    if args.limit == Some(0) {
        return Ok(Outcome::Whole);
    }
    let summary = recording::read(&args.file, &mut printer, console)?;
    printer.out.flush()?;
    if let (Some(flow), false) = (args.flow, printer.seen) {
        let hint = match summary.flows {
            0 => "there is no TCP in it".to_owned(),
            1 => "its only flow is 1".to_owned(),
            n => format!("its flows are 1 to {n}"),
        };
        anyhow::bail!("{}: there is no flow {flow}; {hint}", summary.name);
    }
    let read = recording::describe(&summary)?;
    recording::warn_of(&read);
    Ok(recording::outcome(&[read]))
}

struct Printer<'a, W> {
    args: &'a Show,
    out: W,
    shown: u64,
    seen: bool,
}

impl<W: Write> Printer<'_, W> {
    fn takes(&self, flow: FlowId) -> bool {
        self.args.flow.is_none_or(|id| id == flow)
    }

    fn print(&mut self, flow: FlowId, event: &Event) -> io::Result<()> {
        if self.args.json {
            serde_json::to_writer(&mut self.out, &json::EventLine::of(flow, event))?;
            self.out.write_all(b"\n")
        } else if self.args.flow.is_some() {
            writeln!(self.out, "{event}")
        } else {
            writeln!(self.out, "{flow} {event}")
        }
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
}

impl<W: Write> Sink for Printer<'_, W> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if self.takes(flow) {
            self.seen = true;
            if !self.args.json {
                let written = writeln!(self.out, "# flow {flow}: {key}");
                self.end_unless(written);
            }
        }
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let early = self.args.from.is_some_and(|from| event.at < from);
        let late = self.args.to.is_some_and(|to| event.at > to);
        if early || late || !self.takes(flow) {
            return;
        }
        self.shown += 1;
        let written = self.print(flow, event);
        self.end_unless(written);
    }

    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}
