//! `slowpath show`: events, one per line.

mod help;
mod printer;

pub use help::HELP;
pub use printer::{Printer, Wanted};

use crate::json::{self, EventLine};
use slowpath_analyses::Label;
use slowpath_model::{Event, FlowId, FlowKey};
use std::io::{self, Write};

/// The format of events.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// As JSON objects.
    pub json: bool,
    /// In text, starts each line with the flow's number.
    pub with_flow: bool,
    /// The width of the labels' column, in text.
    pub label_width: usize,
}

impl Lines {
    /// Prints the two ends of a flow; in JSON every event has them.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn head(self, flow: FlowId, key: &FlowKey, out: &mut impl Write) -> io::Result<()> {
        if self.json { Ok(()) } else { writeln!(out, "# flow {flow}: {key}") }
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn event(
        self,
        flow: FlowId,
        event: &Event,
        label: Option<Label>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if self.json {
            return json::write_line(&EventLine::of(flow, event, label), out);
        }
        if self.with_flow {
            write!(out, "{flow} ")?;
        }
        if let Some(label) = label {
            write!(out, "{:width$} ", label.slug(), width = self.label_width)?;
        }
        writeln!(out, "{event}")
    }
}

/// Labels by their names, and by the first word of those that have two.
pub fn labels() -> [(Label, String, Option<String>); 7] {
    Label::ALL.map(|label| {
        let short = match label {
            Label::Spurious => Some("spurious".to_owned()),
            Label::Duplicate => Some("duplicate".to_owned()),
            _ => None,
        };
        (label, label.slug().to_owned(), short)
    })
}
