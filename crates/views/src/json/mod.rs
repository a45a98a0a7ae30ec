//! Results for programs, as JSON documents with a stable contract.
//!
//! The structs are separate from those of the analyses, which can therefore change without breaking programs. Each
//! document names its schema and version in `schema`; a version only gains fields. Field names end with their unit
//! (`_ns`, `_bytes`, `_bits_per_second`), instants are nanoseconds since the recording's first frame, and unknown
//! values are `null`, never 0. `schema/*.json` in this crate describes each document and is generated from these
//! structs.

pub(crate) mod account;
mod catalogue;
mod event;
mod finding;
mod flow;
mod measures;
mod pairing;
mod recording;
mod summary;

pub use catalogue::{CauseEntry, Causes};
pub use event::EventLine;
pub(crate) use finding::cause_names;
pub use finding::{Advice, Evidence, Finding, Fix, Spell, Stall};
pub use flow::{Closing, Direction, Flow, Opening, Vantage};
pub use measures::{Labels, Measures, RoundTrips, SynOptions, Window, WindowScale};
pub use pairing::{Clocks, Pair, Spread, Way};
pub use recording::{Recording, Skipped};
pub use summary::Summary;

use crate::diagnosis;
use schemars::JsonSchema;
use serde::Serializer;
use slowpath_analyses::report::FlowReport;
use slowpath_model::shown;
use std::io::{self, BufWriter, IntoInnerError, Write};

pub use serde::Serialize;

/// Writes a document, indented.
///
/// # Errors
///
/// The errors of `out`.
pub fn write(document: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    escaped(out, DOCUMENT, |out| serde_json::to_writer_pretty(out, document))
}

/// Writes a document on one line.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_line(document: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    escaped(out, LINE, |out| serde_json::to_writer(out, document))
}

/// Buffer sizes: of a large document, and of an event.
const DOCUMENT: usize = 1 << 16;
const LINE: usize = 1 << 10;

/// Writes the output of `to` and a line end with control characters escaped, buffered in parts of a given size.
fn escaped<W: Write>(
    out: &mut W,
    part: usize,
    to: impl FnOnce(&mut BufWriter<shown::Writer<&mut W>>) -> serde_json::Result<()>,
) -> io::Result<()> {
    let mut parts = BufWriter::with_capacity(part, shown::Writer::json(out));
    to(&mut parts)?;
    writeln!(parts)?;
    // Unlike a flush, this leaves it to the caller to flush `out`.
    parts.into_inner().map_err(IntoInnerError::into_error)?;
    Ok(())
}

/// What `slowpath diagnose --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/diagnosis/1")]
pub struct Diagnosis<'a> {
    /// `slowpath/diagnosis/1`.
    schema: &'static str,
    /// What was read, one per file.
    recordings: Vec<Recording>,
    /// Flows that were seen, but not kept, to save memory.
    flows_not_kept: u64,
    /// The offset between the clocks of two recordings; empty where they could not be aligned, `null` where one was given.
    clocks: Option<Vec<Clocks>>,
    /// The recording in which the flows are reported: 0 or 1.
    reported: usize,
    /// The selected flows, those that lost most time first.
    #[serde(serialize_with = "diagnosed")]
    #[schemars(with = "Vec<Flow>")]
    flows: Flows<'a>,
}

impl<'a> Diagnosis<'a> {
    /// The document of the flows that are ranked in full.
    pub fn of(diagnosis: &'a diagnosis::Diagnosis<'a>) -> Self {
        Self {
            schema: "slowpath/diagnosis/1",
            recordings: diagnosis.recordings.iter().map(Recording::of).collect(),
            flows_not_kept: diagnosis.flows_not_kept,
            clocks: diagnosis.paired.as_ref().map(Clocks::of),
            reported: diagnosis.paired.as_ref().map_or(0, |paired| paired.base),
            flows: Flows { reports: diagnosis.ranking.full.iter().collect(), diagnosis: Some(diagnosis) },
        }
    }
}

/// What `slowpath flows --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/flows/1")]
pub struct FlowList<'a> {
    /// `slowpath/flows/1`.
    schema: &'static str,
    /// What was read.
    recordings: Vec<Recording>,
    /// Flows that were seen, but not kept, to save memory.
    flows_not_kept: u64,
    /// The selected flows, in the order of their numbers, or as sorted. Findings have no advice here.
    #[serde(serialize_with = "diagnosed")]
    #[schemars(with = "Vec<Flow>")]
    flows: Flows<'a>,
}

impl<'a> FlowList<'a> {
    /// The document of `flows`, in their order.
    pub fn of(recording: &crate::Recording, flows: Vec<&'a FlowReport>, flows_not_kept: u64) -> Self {
        Self {
            schema: "slowpath/flows/1",
            recordings: vec![Recording::of(recording)],
            flows_not_kept,
            flows: Flows { reports: flows, diagnosis: None },
        }
    }
}

/// Flows that are serialised one by one, since there can be hundreds of thousands.
struct Flows<'a> {
    reports: Vec<&'a FlowReport>,
    diagnosis: Option<&'a diagnosis::Diagnosis<'a>>,
}

fn diagnosed<S: Serializer>(flows: &Flows<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(flows.reports.iter().map(|report| Flow::of(report, flows.diagnosis)))
}

#[cfg(test)]
mod tests;
