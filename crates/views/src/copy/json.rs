//! The JSON of `slowpath copy`.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_copy::report::{Report, Spent};
use slowpath_model::{Bytes, Rate, nanos};

/// A finished copy (schema slowpath/copy/1).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "slowpath/copy/1")]
pub struct CopyDocument<'a> {
    /// Version of this layout.
    schema: &'static str,
    /// The source, as it was written.
    source: &'a str,
    /// The destination, as it was written.
    destination: &'a str,
    /// Files that were copied.
    files: u64,
    /// Bytes of the source.
    bytes: u64,
    /// Bytes that moved.
    moved_bytes: u64,
    /// Bytes that an interrupted copy had left, and that were those of the source.
    kept_bytes: u64,
    /// From the command to its end.
    lasted_ns: u64,
    /// To the first block.
    began_ns: u64,
    /// While blocks moved.
    moving_ns: u64,
    /// The end: fsync and rename.
    synced_ns: u64,
    /// Bytes that moved, while they moved, in bit/s; null if none did.
    rate: Option<u64>,
    /// Data connections.
    streams: u16,
    /// Largest send buffer, as the kernel counts it.
    send_buffer_bytes: u64,
    /// Largest receive buffer, as the kernel counts it.
    receive_buffer_bytes: u64,
    /// Smallest RTT; null if none was measured.
    min_rtt_ns: Option<u64>,
    /// Segments retransmitted.
    retransmitted_segments: u64,
    /// What limited the data connections, the longest first.
    limits: Vec<CopyLimit>,
    /// What the threads of the source spent their time on.
    source_spent: CopySpent,
    /// What the threads of the destination spent their time on.
    destination_spent: CopySpent,
    /// Files that changed while they were read.
    changed: Vec<String>,
    /// What was not copied.
    skipped: Vec<CopySkipped>,
    /// Whether all of the source was copied as it was.
    complete: bool,
}

/// A limit and its share.
#[derive(Debug, Serialize, JsonSchema)]
struct CopyLimit {
    /// `source-disk`, `destination-disk`, or a limit as `slowpath causes` lists it.
    limit: &'static str,
    /// Its share of the connections' time, in thousandths.
    permille: u32,
}

/// The time of all threads of an end together.
#[derive(Debug, Serialize, JsonSchema)]
struct CopySpent {
    /// Reading or writing files, without fsync.
    disk_ns: u64,
    /// Digests and encryption.
    cpu_ns: u64,
    /// Reading or writing sockets.
    socket_ns: u64,
}

/// A file that was not copied.
#[derive(Debug, Serialize, JsonSchema)]
struct CopySkipped {
    /// Its path in the source.
    path: String,
    /// Why.
    why: String,
}

impl From<Spent> for CopySpent {
    fn from(spent: Spent) -> Self {
        let Spent { disk, cpu, socket } = spent;
        Self { disk_ns: nanos(disk), cpu_ns: nanos(cpu), socket_ns: nanos(socket) }
    }
}

impl<'a> CopyDocument<'a> {
    /// The document of a copy.
    pub fn new(report: &'a Report) -> Self {
        let limits = report.bound.iter();
        let skipped = report.skipped.iter();
        Self {
            schema: "slowpath/copy/1",
            source: &report.source,
            destination: &report.destination,
            files: report.files,
            bytes: report.amount.get(),
            moved_bytes: report.moved.get(),
            kept_bytes: report.kept.get(),
            lasted_ns: nanos(report.lasted),
            began_ns: nanos(report.began),
            moving_ns: nanos(report.moving),
            synced_ns: nanos(report.synced),
            rate: report.rate.map(Rate::get),
            streams: report.streams,
            send_buffer_bytes: Bytes::get(report.send_buffer),
            receive_buffer_bytes: Bytes::get(report.receive_buffer),
            min_rtt_ns: report.min_rtt.map(nanos),
            retransmitted_segments: report.retransmitted,
            limits: limits
                .map(|(bound, permille)| CopyLimit { limit: bound.slug(), permille: *permille })
                .collect(),
            source_spent: report.source_spent.into(),
            destination_spent: report.destination_spent.into(),
            changed: report.changed.iter().map(|path| path.display().to_string()).collect(),
            skipped: skipped
                .map(|(path, why)| CopySkipped { path: path.display().to_string(), why: why.clone() })
                .collect(),
            complete: report.is_whole(),
        }
    }
}
