//! The metrics by name: the units, and what each means.

use Kind::{Counter, Gauge, Histogram, Info};

/// What a metric is (OpenMetrics 1.0, section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sum that never decreases.
    Counter,
    /// A value now.
    Gauge,
    /// Counts by size.
    Histogram,
    /// Text, in labels.
    Info,
}

/// A metric, with all of its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name, without `slowpath_` before it and unit and suffix after it.
    pub name: &'static str,
    /// Its unit, which ends its name; `None` for events.
    pub unit: Option<&'static str>,
    /// What it is.
    pub kind: Kind,
    /// Its labels beyond those of connections.
    pub labels: &'static [&'static str],
    /// Whether it also has the labels of connections.
    pub is_labelled: bool,
    /// One sentence.
    pub help: &'static str,
}

/// A metric of the host.
const fn host(
    name: &'static str,
    unit: Option<&'static str>,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { name, unit, kind, labels, is_labelled: false, help }
}

/// A metric of connections, by their labels.
const fn labelled(
    name: &'static str,
    unit: Option<&'static str>,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family { is_labelled: true, ..host(name, unit, kind, labels, help) }
}

const SECONDS: Option<&str> = Some("seconds");
const BYTES: Option<&str> = Some("bytes");
const SEGMENTS: Option<&str> = Some("segments");
const PACKETS: Option<&str> = Some("packets");

pub const LIMITED: Family = labelled(
    "connection_limited",
    SECONDS,
    Counter,
    &["limit", "cause"],
    "Time for which a cause limited connections, of all of them together",
);
pub const WATCHED: Family = labelled(
    "connection_watched",
    SECONDS,
    Counter,
    &[],
    "Time for which connections were watched, of all of them together",
);
pub const SENT: Family = labelled("sent", BYTES, Counter, &[], "Data that processes wrote to connections");
pub const RECEIVED: Family =
    labelled("received", BYTES, Counter, &[], "Data that processes read from connections");
pub const DATA_SEGMENTS: Family =
    labelled("received_data", SEGMENTS, Counter, &[], "Data segments that connections received");
pub const RETRANSMITTED: Family = labelled(
    "retransmitted",
    SEGMENTS,
    Counter,
    &["lost"],
    "Segments that this host retransmitted, by where they were lost",
);
pub const CONNECTIONS: Family = labelled("connections", None, Gauge, &[], "Connections that are watched now");
pub const WAITS: Family = host(
    "wait",
    SECONDS,
    Histogram,
    &["wait"],
    "How long packets, data and processes waited on this host; in the receive queue each byte counts",
);
pub const DROPPED: Family = host(
    "dropped",
    PACKETS,
    Counter,
    &["place", "reason"],
    "TCP packets that the kernel dropped, by its own reason",
);
pub const QUEUE_LENGTH: Family =
    host("accept_queue_length", None, Gauge, &["listener"], "Connections that wait to be accepted");
pub const QUEUE_LIMIT: Family = host(
    "accept_queue_limit",
    None,
    Gauge,
    &["listener"],
    "The most connections that can wait to be accepted",
);
pub const QUEUE_OVERFLOWS: Family = host(
    "accept_queue_overflows",
    None,
    Counter,
    &[],
    "Connections that were dropped since the accept queue was full (ListenOverflows)",
);
pub const LISTEN_DROPS: Family = host(
    "listen_drops",
    None,
    Counter,
    &[],
    "SYNs and connections that listening sockets dropped, for any reason (ListenDrops)",
);
pub const TCP_MEMORY: Family =
    host("tcp_memory", BYTES, Gauge, &[], "Memory that TCP takes for its buffers (sockstat)");
pub const TCP_MEMORY_LIMIT: Family = host(
    "tcp_memory_limit",
    BYTES,
    Gauge,
    &["threshold"],
    "The three thresholds of net.ipv4.tcp_mem; above pressure, TCP shrinks its buffers",
);
pub const PRESSURE: Family = host(
    "tcp_memory_pressure",
    SECONDS,
    Counter,
    &[],
    "Time under memory pressure (TCPMemoryPressuresChrono)",
);
pub const PRESSURES: Family = host(
    "tcp_memory_pressures",
    None,
    Counter,
    &[],
    "Times that TCP came under memory pressure (TCPMemoryPressures)",
);
pub const COLLAPSED: Family = host(
    "receive_queue_collapsed",
    PACKETS,
    Counter,
    &[],
    "Packets of receive queues that were merged for lack of room (TCPRcvCollapsed)",
);
pub const PRUNED: Family = host(
    "receive_queue_pruned",
    None,
    Counter,
    &["queue"],
    "Times that a receive queue gave up received data for lack of room (RcvPruned; out of order, OfoPruned)",
);
pub const SOFTIRQS: Family = host("softirq", SECONDS, Counter, &["cpu"], "Time in softirqs since boot");
pub const TCP_SEGMENTS: Family = host(
    "tcp",
    SEGMENTS,
    Counter,
    &["direction"],
    "Segments of this network namespace since it was made (InSegs, OutSegs)",
);
pub const TCP_RETRANSMITTED: Family = host(
    "tcp_retransmitted",
    SEGMENTS,
    Counter,
    &[],
    "Segments that this network namespace retransmitted since it was made (RetransSegs)",
);
pub const ESTABLISHED: Family = host(
    "tcp_established_sockets",
    None,
    Gauge,
    &[],
    "Sockets of this network namespace that have a connection (CurrEstab)",
);
pub const WATCHED_SOCKETS: Family = host(
    "watched_sockets",
    None,
    Gauge,
    &[],
    "Sockets that are watched now, in all network namespaces; two for a connection within this host",
);
pub const UNWATCHED: Family = host(
    "unwatched_connections",
    None,
    Counter,
    &["reason"],
    "Connections that were not watched: too many at once, or no memory in the kernel",
);
pub const MISSED: Family = host(
    "probe_missed_events",
    None,
    Counter,
    &["reason"],
    "What the probe did not see: its buffer was full, or its program was running already",
);
pub const ACCOUNTED: Family = host(
    "accounted",
    Some("ratio"),
    Gauge,
    &[],
    "The share of the time of all connections in the last interval that is under a cause",
);
pub const INTERVALS: Family = host("intervals", None, Counter, &[], "Intervals that were evaluated");
pub const WATCH: Family =
    host("watch", SECONDS, Counter, &[], "Time since watching began, up to the last interval");
pub const SERIES: Family =
    host("labelled_series", None, Gauge, &[], "Series in use that depend on labels, without those of other");
pub const SERIES_LIMIT: Family =
    host("labelled_series_limit", None, Gauge, &[], "The most of them (--series)");
pub const MERGED: Family =
    host("other_connections", None, Counter, &[], "Connections counted under other, for want of series");
pub const BUILD: Family =
    host("watch", None, Info, &["version", "source"], "This program, and its source: probe or tcp-info");

/// All metrics, in the order of the output.
pub const FAMILIES: &[Family] = &[
    BUILD,
    LIMITED,
    WATCHED,
    SENT,
    RECEIVED,
    DATA_SEGMENTS,
    RETRANSMITTED,
    CONNECTIONS,
    WAITS,
    DROPPED,
    QUEUE_LENGTH,
    QUEUE_LIMIT,
    QUEUE_OVERFLOWS,
    LISTEN_DROPS,
    TCP_MEMORY,
    TCP_MEMORY_LIMIT,
    PRESSURE,
    PRESSURES,
    COLLAPSED,
    PRUNED,
    SOFTIRQS,
    TCP_SEGMENTS,
    TCP_RETRANSMITTED,
    ESTABLISHED,
    WATCHED_SOCKETS,
    UNWATCHED,
    MISSED,
    ACCOUNTED,
    INTERVALS,
    WATCH,
    SERIES,
    SERIES_LIMIT,
    MERGED,
];

impl Family {
    /// The names of its samples, as a query has them.
    pub fn samples(&self) -> Vec<String> {
        let unit = self.unit.map(|unit| format!("_{unit}")).unwrap_or_default();
        let suffixes: &[&str] = match self.kind {
            Counter => &["_total"],
            Gauge => &[""],
            Histogram => &["_bucket", "_sum", "_count"],
            Info => &["_info"],
        };
        suffixes.iter().map(|suffix| format!("slowpath_{}{unit}{suffix}", self.name)).collect()
    }
}

/// The names of all samples, as queries have them.
pub fn sample_names() -> Vec<String> {
    FAMILIES.iter().flat_map(Family::samples).collect()
}
