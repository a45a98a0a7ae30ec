//! The measures of each flow: a table of one line each, or all of them.

use super::look::{Look, columns};
use crate::flow_list::FlowRow;
use crate::quantity::{count, duration, duration_or_dash, share};
use crate::rank::Selection;
use crate::wall_clock::Utc;
use crate::words;
use slowpath_analyses::Analysis;
use slowpath_analyses::report::{DirectionReport, FlowReport, Measures, ScaleKnown};
use slowpath_model::Bytes;
use std::io;

/// Writes a table of one line per flow, in the order given. `epoch_ns` is the wall-clock time of the recording's instant
/// 0, in nanoseconds since 1970.
///
/// # Errors
///
/// The errors of `out`.
pub fn flows_table(
    flows: &[FlowRow],
    epoch_ns: Option<i64>,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    const HEAD: [&str; 8] = ["flow", "start", "time", "bytes", "goodput", "rtt", "retr", "limited by"];
    let rows: Vec<[String; 8]> = flows.iter().map(cells).collect();
    let mut widths: [usize; 8] = std::array::from_fn(|column| {
        let longest = rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0);
        longest.max(columns(HEAD[column]))
    });
    let of_numbers = widths.iter().sum::<usize>() + GAP * 8;
    // If a line is too short for both, the ends are on a line of their own below the numbers: with the wall-clock time
    // if that fits.
    let mut ends: Vec<String> = flows.iter().map(|flow| ends_of(flow, epoch_ns, "")).collect();
    let one_line = of_numbers + ends.iter().map(|ends| columns(ends)).max().unwrap_or(0) <= look.width;
    for (ends, flow) in ends.iter_mut().zip(flows).filter(|_| !one_line) {
        // No heading says which zone it is.
        let dated = ends_of(flow, epoch_ns, " UTC");
        let fits = widths[0] + GAP + columns(&dated) <= look.width;
        *ends = if fits { dated } else { ends_of(flow, None, "") };
    }
    let before = |left_out: &[usize]| -> usize {
        let kept = (0..BOUND_BY).filter(|column| !left_out.contains(column));
        kept.map(|column| widths[column] + GAP).sum()
    };
    let fits = |left_out: &[usize]| before(left_out) + LEAST_BOUND_BY <= look.width;
    let dropped = (0..DISPENSABLE.len()).find(|dropped| fits(&DISPENSABLE[..*dropped]));
    let left_out = &DISPENSABLE[..dropped.unwrap_or(DISPENSABLE.len())];
    let before_last = before(left_out);
    widths[BOUND_BY] =
        widths[BOUND_BY].min(look.width.saturating_sub(before_last)).max(columns(HEAD[BOUND_BY]));
    let line = |row: [&str; 8], ends: &str| -> String {
        let mut text = String::new();
        let kept = row.into_iter().take(BOUND_BY).enumerate();
        for (column, cell) in kept.filter(|(column, _)| !left_out.contains(column)) {
            text += &format!("{:>width$}{:GAP$}", cell, "", width = widths[column]);
        }
        let bound = shortened(row[BOUND_BY], widths[BOUND_BY]);
        if one_line {
            format!("{text}{bound:<width$}{:GAP$}{ends}", "", width = widths[BOUND_BY])
        } else {
            text + &bound
        }
    };
    let head_of_ends =
        if epoch_ns.is_some() { "started (UTC)            from → to" } else { "from → to" };
    writeln!(out, "{}", look.strong(line(HEAD, head_of_ends).trim_end()))?;
    for (row, ends) in rows.iter().zip(&ends) {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str), ends).trim_end())?;
        if !one_line {
            writeln!(out, "{:indent$}{}", "", look.faint(ends), indent = widths[0] + GAP)?;
        }
    }
    Ok(())
}

/// The ends of a flow, after the wall-clock time of its first packet.
fn ends_of(flow: &FlowRow, epoch_ns: Option<i64>, zone: &str) -> String {
    let ends = words::ends_of(&flow.key, flow.sender);
    match epoch_ns {
        Some(epoch) => format!("{}{zone}  {ends}", Utc::of(epoch, flow.first).text()),
        None => ends,
    }
}

/// The index of the column with the flow's limit, the last one.
const BOUND_BY: usize = 7;
/// The minimum width of that column: a share and the first word of a limit.
const LEAST_BOUND_BY: usize = 16;
/// The columns that a narrow terminal omits, in this order: start, RTT, goodput, retransmissions.
const DISPENSABLE: [usize; 4] = [1, 5, 4, 6];
/// Spaces between columns.
const GAP: usize = 2;

fn shortened(text: &str, width: usize) -> String {
    if columns(text) <= width {
        text.to_owned()
    } else {
        text.chars().take(width - 1).chain(['…']).collect()
    }
}

fn cells(flow: &FlowRow) -> [String; 8] {
    [
        flow.id.to_string(),
        format!("{:.3}", flow.first.seconds()),
        duration(flow.lasted),
        flow.bytes.to_string(),
        or_dash(flow.goodput),
        duration_or_dash(flow.rtt),
        count(flow.retransmitted),
        match flow.limited_by {
            Some((cause, part)) => format!("{} {}", share(part), cause.limit()),
            None => "-".to_owned(),
        },
    ]
}

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Writes all measures of the flows selected, each as it is reported: all reports at once take twice the memory.
///
/// # Errors
///
/// The errors of `out`.
pub fn flows_long(
    analysis: Analysis,
    selection: &Selection,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut between = "";
    let mut written = Ok(());
    analysis.finish_each(|flow| {
        if written.is_ok() && selection.takes(&flow) {
            written = out.write_all(between.as_bytes()).and_then(|()| flow_long(&flow, look, out));
            between = "\n";
        }
    });
    written
}

/// Writes all measures of one flow, both directions side by side.
///
/// # Errors
///
/// The errors of `out`.
pub fn flow_long(flow: &FlowReport, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let mut text = look.strong(&format!("flow {}: A {} → B {}", flow.id, flow.key.a, flow.key.b));
    text.push('\n');
    let line = |text: &mut String, name: &str, value: &str| {
        *text += INDENT;
        push_cell(text, name, NAME);
        *text += value;
        text.push('\n');
    };
    line(&mut text, "first event", &format!("{} s", flow.first));
    line(&mut text, "last event", &format!("{} s", flow.last));
    line(&mut text, "lasted", &duration(flow.lasted()));
    line(&mut text, "recorded", &format!("{} ({})", words::vantage(flow), flow.vantage.confidence.slug()));
    line(&mut text, "from the tap to A and back", &duration_or_dash(flow.vantage.to_a));
    line(&mut text, "from the tap to B and back", &duration_or_dash(flow.vantage.to_b));
    line(&mut text, "handshake RTT", &duration_or_dash(flow.opening.round_trip));
    line(&mut text, "SYN and SYN-ACK retransmissions", &count(u64::from(flow.opening.retransmitted)));
    line(&mut text, "verdict", &words::verdict_in_short(flow));
    let mut row = |name: &str, left: &str, right: &str| {
        text += INDENT;
        push_cell(&mut text, name, NAME);
        push_cell(&mut text, left, DIRECTION);
        text += right;
        text.push('\n');
    };
    row("", &look.strong("A → B"), &look.strong("B → A"));
    let [a, b] = &flow.directions;
    for (name, show) in ROWS {
        row(name, &show(a), &show(b));
    }
    out.write_all(text.as_bytes())
}

const INDENT: &str = "  ";
/// Columns of a measure's name.
const NAME: usize = 32;
/// Columns of one direction's measures.
const DIRECTION: usize = 22;

/// Appends `cell`, padded to `width`. `{:<width$}` pads one space at a time, which for 40,000 flows takes longer than
/// their analysis.
fn push_cell(text: &mut String, cell: &str, width: usize) {
    const SPACES: &str = "                                ";
    *text += cell;
    *text += &SPACES[..width.saturating_sub(cell.chars().count()).min(SPACES.len())];
}

/// A measure's name, and how to show it for one direction.
type Row = (&'static str, fn(&DirectionReport) -> String);

/// Every measure: those of tcptrace's `-l -r`, and more.
const ROWS: [Row; 52] = [
    ("packets", |d| count(d.measures.packets)),
    ("data packets", |d| count(d.measures.data_packets)),
    ("pure ACKs", |d| count(d.measures.pure_acks)),
    ("super-packets (TSO, GRO)", |d| count(d.measures.super_packets)),
    ("payload", |d| exact(d.measures.bytes)),
    ("unique payload", |d| exact(d.measures.unique_bytes)),
    ("throughput", |d| or_dash(d.measures.throughput)),
    ("goodput", |d| or_dash(d.measures.goodput)),
    ("first data", |d| d.measures.first_data.map_or_else(|| "-".into(), |at| format!("{at} s"))),
    ("last data", |d| d.measures.last_data.map_or_else(|| "-".into(), |at| format!("{at} s"))),
    ("longest pause between data", |d| duration(d.measures.idle_longest)),
    ("MSS offered", |d| or_dash(d.measures.options.and_then(|options| options.mss))),
    ("largest segment", |d| format!("{} B", count(u64::from(d.measures.mss_seen)))),
    ("window scale", scale),
    ("SACK permitted", |d| option(&d.measures, |options| options.sack_permitted)),
    ("timestamps", |d| option(&d.measures, |options| options.timestamps)),
    ("new", |d| count(d.measures.labels.new)),
    ("retransmissions", |d| count(d.measures.labels.retransmission)),
    ("spurious retransmissions", |d| count(d.measures.labels.spurious)),
    ("out of order", |d| count(d.measures.labels.out_of_order)),
    ("duplicate frames", |d| count(d.measures.labels.duplicate)),
    ("keep-alives", |d| count(d.measures.labels.keep_alive)),
    ("window probes", |d| count(d.measures.labels.window_probe)),
    ("holes in the sequence", |d| count(d.measures.holes)),
    ("segments that filled the window", |d| count(d.measures.window_full)),
    ("acknowledged but not recorded", |d| exact(d.measures.unseen_bytes)),
    ("gaps in the recording", |d| count(d.measures.unseen_gaps)),
    ("episodes of loss recovery", |d| count(d.measures.recoveries)),
    ("retransmission timeouts", |d| count(d.measures.timeouts)),
    ("stalls", |d| count(d.stall_count)),
    ("duplicate ACKs sent", |d| count(d.measures.duplicate_acks)),
    ("SACK blocks sent", |d| count(d.measures.sack_blocks)),
    ("DSACK blocks sent", |d| count(d.measures.dsack_blocks)),
    ("SACK blocks of data never sent", |d| count(d.measures.unusual().sack_outside)),
    ("window advertised, smallest", |d| or_dash(d.measures.window.min)),
    ("window advertised, mean", |d| or_dash(d.measures.window.mean)),
    ("window advertised, largest", |d| or_dash(d.measures.window.max)),
    ("window closed", |d| count(d.measures.window.zero_count)),
    ("window closed for", |d| duration(d.measures.window.zero_time)),
    ("in flight, mean", |d| d.measures.flight_mean.to_string()),
    ("in flight, most", |d| d.measures.flight_max.to_string()),
    ("RTT by ACK: samples", |d| count(d.measures.rtt_by_ack.count)),
    ("RTT by ACK: min", |d| duration_or_dash(d.measures.rtt_by_ack.min)),
    ("RTT by ACK: mean", |d| duration_or_dash(d.measures.rtt_by_ack.mean)),
    ("RTT by ACK: max", |d| duration_or_dash(d.measures.rtt_by_ack.max)),
    ("RTT by ACK: deviation", |d| duration_or_dash(d.measures.rtt_by_ack.deviation)),
    ("RTT by timestamp: samples", |d| count(d.measures.rtt_by_timestamp.count)),
    ("RTT by timestamp: min", |d| duration_or_dash(d.measures.rtt_by_timestamp.min)),
    ("RTT by timestamp: mean", |d| duration_or_dash(d.measures.rtt_by_timestamp.mean)),
    ("RTT by timestamp: max", |d| duration_or_dash(d.measures.rtt_by_timestamp.max)),
    ("RTT by timestamp: deviation", |d| duration_or_dash(d.measures.rtt_by_timestamp.deviation)),
    ("RTO that Linux would have", |d| duration_or_dash(d.measures.rto)),
];

fn exact(bytes: Bytes) -> String {
    if bytes.get() < 1024 { bytes.to_string() } else { format!("{} ({bytes})", count(bytes.get())) }
}

fn scale(direction: &DirectionReport) -> String {
    match direction.measures.window_scale {
        ScaleKnown::Agreed(shift) => shift.to_string(),
        ScaleKnown::Fits(shift) => format!("{shift}, by where segments end"),
        ScaleKnown::AtLeast(shift) => format!("at least {shift}"),
        ScaleKnown::Unknown => "unknown".to_owned(),
    }
}

fn option(measures: &Measures, show: fn(&slowpath_analyses::report::SynOptions) -> bool) -> String {
    match &measures.options {
        Some(options) if show(options) => "yes".to_owned(),
        Some(_) => "no".to_owned(),
        None => "-".to_owned(),
    }
}
