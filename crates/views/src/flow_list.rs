//! `slowpath flows`: the measures of each flow, as a table, CSV, JSON, or in full.

use crate::headline::main_finding;
use crate::json;
use crate::rank::Selection;
use crate::recording::Recording;
use crate::terminal::{self, Look};
use crate::wall_clock::Utc;
use slowpath_analyses::Analysis;
use slowpath_analyses::Cause;
use slowpath_analyses::report::{FlowReport, RttMeasures};
use slowpath_model::{Bytes, End, FlowId, FlowKey, Instant, Rate, nanos};
use std::cmp::Reverse;
use std::io;
use std::time::Duration;

/// How flows are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line each, for people.
    Table,
    /// All measures, for people.
    Long,
    /// A line each, for programs (RFC 4180).
    Csv,
    /// A document with all measures.
    Json,
}

/// What flows are sorted by: the most first, except for their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    /// Their numbers: the order in which they began.
    #[default]
    Flow,
    /// The time lost.
    Lost,
    /// Unique payload.
    Bytes,
    /// Its rate.
    Goodput,
    /// How long they lasted.
    Time,
    /// The shortest RTT.
    Rtt,
    /// Retransmitted segments.
    Retransmitted,
}

impl SortKey {
    /// All keys.
    pub const ALL: [Self; 7] =
        [Self::Flow, Self::Lost, Self::Bytes, Self::Goodput, Self::Time, Self::Rtt, Self::Retransmitted];

    /// Its name as an argument.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Lost => "lost",
            Self::Bytes => "bytes",
            Self::Goodput => "goodput",
            Self::Time => "time",
            Self::Rtt => "rtt",
            Self::Retransmitted => "retr",
        }
    }

    /// The place of a flow among others. Unknown values come last.
    fn place(self, row: &FlowRow) -> (Reverse<Option<u64>>, FlowId) {
        let value = match self {
            Self::Flow => None,
            Self::Lost => Some(nanos(row.lost)),
            Self::Bytes => Some(row.bytes.get()),
            Self::Goodput => row.goodput.map(Rate::get),
            Self::Time => Some(nanos(row.lasted)),
            Self::Rtt => row.rtt.map(nanos),
            Self::Retransmitted => Some(row.retransmitted),
        };
        (Reverse(value), row.id)
    }
}

/// What a line says of a flow.
#[derive(Clone, Debug)]
pub struct FlowRow {
    /// Its number in the recording.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// The end that sent more.
    pub sender: End,
    /// Its first packet.
    pub first: Instant,
    /// From the first packet to the last.
    pub lasted: Duration,
    /// What the sender moved.
    pub bytes: Bytes,
    /// Its unique payload in the recording.
    pub unique_bytes: Bytes,
    /// Its rate.
    pub goodput: Option<Rate>,
    /// The shortest RTT from the place of the capture.
    pub rtt: Option<Duration>,
    /// Retransmitted segments, spurious ones included.
    pub retransmitted: u64,
    /// The time lost.
    pub lost: Duration,
    /// What limited it for the most part, and the share of its time; `None` without data.
    pub limited_by: Option<(Cause, f64)>,
}

impl FlowRow {
    /// The row of a flow.
    pub fn of(flow: &FlowReport) -> Self {
        let measures = &flow.main().measures;
        Self {
            id: flow.id,
            key: flow.key,
            sender: flow.sender,
            first: flow.first,
            lasted: flow.lasted(),
            bytes: measures.moved(),
            unique_bytes: measures.unique_bytes,
            goodput: measures.goodput,
            rtt: best_rtt(flow).min,
            retransmitted: measures.retransmitted(),
            lost: flow.time_lost(),
            limited_by: main_finding(flow).map(|finding| (finding.cause, finding.share)),
        }
    }
}

/// The RTTs of the main direction that are closest to the path's: by ACK if there are any.
fn best_rtt(flow: &FlowReport) -> RttMeasures {
    let measures = &flow.main().measures;
    if measures.rtt_by_ack.count > 0 { measures.rtt_by_ack } else { measures.rtt_by_timestamp }
}

/// Writes the selected flows of an analysis. Except for JSON, no more of a flow is kept than its row: all reports at once
/// take twice the memory.
///
/// # Errors
///
/// The errors of `out`.
pub fn write(
    analysis: Analysis,
    recording: &Recording,
    selection: &Selection,
    (form, sort): (Form, SortKey),
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    match form {
        Form::Long => terminal::flows_long(analysis, selection, look, out),
        Form::Json => {
            let report = analysis.finish();
            let mut flows: Vec<_> = report.flows.iter().filter(|flow| selection.takes(flow)).collect();
            flows.sort_by_cached_key(|flow| sort.place(&FlowRow::of(flow)));
            json::write(&json::FlowList::of(recording, flows, report.not_kept.flows), out)
        }
        Form::Table | Form::Csv => {
            let mut rows = Vec::new();
            analysis.finish_each(|flow| rows.extend(selection.takes(&flow).then(|| FlowRow::of(&flow))));
            rows.sort_by_cached_key(|row| sort.place(row));
            match form {
                Form::Csv => csv(&rows, recording.epoch_ns, out),
                _ => terminal::flows_table(&rows, recording.epoch_ns, look, out),
            }
        }
    }
}

/// The columns of the CSV, with the names that the measures have in JSON.
const COLUMNS: &str = "flow,a,b,occurrence,sender,first_ns,first_utc,lasted_ns,unique_bytes,goodput_bits_per_second,\
                       rtt_min_ns,retransmitted,lost_ns,main_cause,main_cause_share";

/// Writes a line per flow, after one with the columns' names. Unknown values are empty.
fn csv(rows: &[FlowRow], epoch_ns: Option<i64>, out: &mut impl io::Write) -> io::Result<()> {
    fn or_empty<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    // RFC 4180 ends lines with CR LF, which awk and cut would show; all readers of CSV take LF alone.
    writeln!(out, "{COLUMNS}")?;
    for row in rows {
        let FlowRow { id, key, unique_bytes, retransmitted, .. } = row;
        let (a, b, occurrence, sender) = (key.a, key.b, key.occurrence, row.sender.letter());
        let utc = or_empty(epoch_ns.map(|epoch| Utc::of(epoch, row.first).rfc3339()));
        let (first, lasted, lost) = (row.first.nanos(), nanos(row.lasted), nanos(row.lost));
        let (goodput, rtt) = (or_empty(row.goodput.map(Rate::get)), or_empty(row.rtt.map(nanos)));
        let (cause, share) = row.limited_by.unzip();
        let (cause, share) = (or_empty(cause), share.map_or_else(String::new, |share| format!("{share:.6}")));
        writeln!(
            out,
            "{id},{a},{b},{occurrence},{sender},{first},{utc},{lasted},{},{goodput},{rtt},{retransmitted},{lost},\
             {cause},{share}",
            unique_bytes.get()
        )?;
    }
    Ok(())
}
