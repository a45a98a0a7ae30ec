//! The JSON of `slowpath ftp`.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_ftp::report::{Direction, Report, ServerBuffer};
use slowpath_ftp::{Basis, Tuning};
use slowpath_model::{Bytes, Rate, nanos};

/// A finished transfer (schema slowpath/ftp/1).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "slowpath/ftp/1")]
pub struct FtpDocument<'a> {
    /// Version of this layout.
    schema: &'static str,
    /// `get` or `put`.
    direction: &'static str,
    /// The source: a URL without user and password, or a file.
    source: &'a str,
    /// The destination, likewise.
    destination: &'a str,
    /// Bytes of the file.
    bytes: u64,
    /// Bytes that moved: not what an interrupted transfer had left.
    moved_bytes: u64,
    /// From the command to its end.
    lasted_ns: u64,
    /// Until the data connection was asked for.
    began_ns: u64,
    /// From there to the last byte.
    moving_ns: u64,
    /// Bytes that moved, while they moved, in bit/s; null if none did.
    rate: Option<u64>,
    /// Who sized the buffers: `kernel`, `auto`, `drs`, `paths` or `fixed`.
    tuning: &'static str,
    /// What the technique knew of the path; null if it needed or found nothing.
    path: Option<FtpPath>,
    /// What this host's socket was asked for; null if the kernel sized it.
    asked_buffer_bytes: Option<u64>,
    /// The buffer that this host's socket had at the end, as the kernel counts it: to receive for `get`, to send for `put`.
    buffer_bytes: u64,
    /// `unasked`, `not-offered`, `set` or `refused`.
    server_buffer: &'static str,
    /// The command for it; null if none was used.
    server_command: Option<&'static str>,
    /// What it was set to; null if it was not.
    server_buffer_bytes: Option<u64>,
    /// Smallest RTT of the data connection; null if none was measured.
    min_rtt_ns: Option<u64>,
    /// Segments that this host retransmitted.
    retransmitted_segments: u64,
    /// What limited the data connection, the longest first.
    limits: Vec<FtpLimit>,
}

/// What was known of the path.
#[derive(Debug, Serialize, JsonSchema)]
struct FtpPath {
    /// `measured`, or `store`.
    basis: &'static str,
    /// The RTT.
    rtt_ns: u64,
    /// The rate, in bit/s.
    rate: u64,
}

/// A limit and its share.
#[derive(Debug, Serialize, JsonSchema)]
struct FtpLimit {
    /// `source-disk`, `destination-disk`, a limit as `slowpath causes` lists it, or null for what a receiver cannot see.
    limit: Option<&'static str>,
    /// Its share of the connection's time, in thousandths.
    permille: u32,
}

const fn name(tuning: Tuning) -> &'static str {
    match tuning {
        Tuning::Kernel => "kernel",
        Tuning::Auto => "auto",
        Tuning::Drs => "drs",
        Tuning::Known => "paths",
        Tuning::Fixed(_) => "fixed",
    }
}

impl<'a> FtpDocument<'a> {
    /// The document of a transfer.
    pub fn new(report: &'a Report) -> Self {
        let (server_buffer, server_command, server_bytes) = match report.server {
            ServerBuffer::Unasked => ("unasked", None, None),
            ServerBuffer::NotOffered => ("not-offered", None, None),
            ServerBuffer::Set { command, bytes } => ("set", Some(command), Some(bytes)),
            ServerBuffer::Refused { command } => ("refused", Some(command), None),
        };
        let limits = report.bound.iter();
        Self {
            schema: "slowpath/ftp/1",
            direction: if report.direction == Direction::Get { "get" } else { "put" },
            source: &report.source,
            destination: &report.destination,
            bytes: report.amount.get(),
            moved_bytes: report.moved.get(),
            lasted_ns: nanos(report.lasted),
            began_ns: nanos(report.began),
            moving_ns: nanos(report.moving),
            rate: report.rate.map(Rate::get),
            tuning: name(report.tuning),
            path: report.path.map(|path| FtpPath {
                basis: if path.basis == Basis::Measured { "measured" } else { "store" },
                rtt_ns: nanos(path.rtt),
                rate: path.rate.get(),
            }),
            asked_buffer_bytes: report.own.asked.map(Bytes::get),
            buffer_bytes: report.own.has.get(),
            server_buffer,
            server_command,
            server_buffer_bytes: server_bytes.map(Bytes::get),
            min_rtt_ns: report.min_rtt.map(nanos),
            retransmitted_segments: report.retransmitted,
            limits: limits
                .map(|(bound, permille)| FtpLimit {
                    limit: bound.map(|bound| bound.slug()),
                    permille: *permille,
                })
                .collect(),
        }
    }
}
