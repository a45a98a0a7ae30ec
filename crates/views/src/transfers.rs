//! The flows of a run, simulated or real, as JSON and as a table.

use crate::counts;
use crate::quantity::{count, counted, duration, duration_or_dash, share};
use crate::table::Table;
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::Rate;
use slowpath_simulator::report::{DatagramCounts, Total};
use std::io::{self, Write};
use std::time::Duration;

/// A flow, summed over its connections.
#[derive(Serialize, JsonSchema)]
pub struct FlowResult<'a> {
    /// Its name.
    name: &'a str,
    /// Connections that were opened.
    connections: u64,
    /// Data that was read.
    bytes: u64,
    /// From the first connection's start to the last one's end, in seconds.
    seconds: f64,
    /// Bytes over that time, in bits a second; `null` if no time passed.
    rate_bit_per_s: Option<u64>,
    /// Retransmitted segments.
    retransmits: u64,
    /// Retransmission timeouts.
    timeouts: u64,
    /// The smoothed RTT at the end, in microseconds; `null` if there was none.
    rtt_us: Option<u64>,
    /// The minimum RTT, in microseconds.
    least_rtt_us: Option<u64>,
    /// Its datagrams; `null` for TCP.
    datagrams: Option<counts::DatagramCounts>,
}

impl<'a> FlowResult<'a> {
    /// The document of a flow's counts.
    pub fn new(name: &'a str, flow: &Total) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).ok();
        Self {
            name,
            connections: flow.connections,
            bytes: flow.bytes.get(),
            seconds: flow.lasted().as_secs_f64(),
            rate_bit_per_s: flow.rate().map(Rate::get),
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            rtt_us: flow.smoothed_rtt.and_then(micros),
            least_rtt_us: flow.least_rtt.and_then(micros),
            datagrams: flow.datagrams.map(Into::into),
        }
    }
}

/// Prints a table of flows, and a line for each flow of datagrams.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(flows: &[(&str, Total)], look: &Look, out: &mut impl Write) -> io::Result<()> {
    let mut table =
        Table::new(1, ["flow", "conns", "data", "time", "rate", "retrans", "RTOs", "RTT", "min RTT"]);
    for (name, flow) in flows {
        table.row(vec![
            (*name).to_owned(),
            count(flow.connections),
            flow.bytes.to_string(),
            duration(flow.lasted()),
            flow.rate().map_or_else(|| "-".to_owned(), |rate| rate.to_string()),
            count(flow.retransmits),
            count(flow.timeouts),
            duration_or_dash(flow.smoothed_rtt),
            duration_or_dash(flow.least_rtt),
        ]);
    }
    table.print(look, out)?;
    for (name, flow) in flows {
        if let Some(datagrams) = &flow.datagrams {
            look.paragraph(out, &format!("{name}: "), &of_datagrams(datagrams))?;
        }
    }
    Ok(())
}

/// The numbers of datagrams read and dropped, in words.
fn of_datagrams(counts: &DatagramCounts) -> String {
    let part = |part: u64| share(part as f64 / counts.sent.max(1) as f64);
    let read = format!("{} sent, {} read", counted(counts.sent, "datagram"), part(counts.read));
    let losses = [
        (counts.dropped_below, "found the transmit queue full"),
        (counts.dropped_above, "found the socket's buffer full"),
    ];
    losses
        .into_iter()
        .filter(|(packets, _)| *packets > 0)
        .fold(read, |text, (packets, what)| format!("{text}, {} ({}) {what}", count(packets), part(packets)))
}
