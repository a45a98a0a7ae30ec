//! The JSON of `slowpath paths`.

use super::text::ended;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::nanos;
use slowpath_paths::answer::{Answer, Value};
use slowpath_paths::entry::{Entry, Measure, Pair};
use slowpath_runs::paths::{Imported, MeasuredPath, PathHistory};

/// What is known of paths (schema slowpath/paths-show/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/paths-show/1")]
pub struct ShowDocument {
    /// `slowpath/paths-show/1`.
    schema: &'static str,
    /// The paths, the one with the newest value first.
    paths: Vec<PathAnswer>,
}

/// What is known of a path.
#[derive(Serialize, JsonSchema)]
struct PathAnswer {
    /// The address of the host that sends.
    from: String,
    /// The address of the host that receives.
    to: String,
    /// When this was answered, in seconds since 1970.
    at: u64,
    /// Parallel connections.
    streams: u32,
    /// The rate that all connections together can expect, in bit/s; null if no rate is trusted.
    rate_bit_per_s: Option<u64>,
    /// The measure that this is: `available`, `capacity` or `delivered`; null without a rate.
    rate_basis: Option<&'static str>,
    /// The RTT of the empty path; null if none is trusted.
    rtt_ns: Option<u64>,
    /// The buffers of each connection; null without a rate or an RTT, or as `no_buffers` says.
    buffers: Option<PathBuffers>,
    /// Why there are no buffers though rate and RTT are known; null otherwise.
    no_buffers: Option<String>,
    /// The best value of each measure.
    values: Vec<PathValue>,
}

/// Buffers of a connection over a path.
#[derive(Serialize, JsonSchema)]
struct PathBuffers {
    /// The kernel whose arithmetic this is, as `slowpath kernels` lists it.
    kernel: String,
    /// The bandwidth-delay product of all connections together.
    product_bytes: u64,
    /// The window that each connection needs.
    window_bytes: u64,
    /// The limit to set in `tcp_rmem`.
    receive_bytes: u64,
    /// The limit to set in `tcp_wmem`.
    send_bytes: u64,
    /// What a program has to ask for that sets `SO_RCVBUF` itself; null if no value suffices.
    ask_receive_bytes: Option<u64>,
    /// What a program has to ask for that sets `SO_SNDBUF` itself; null if no value suffices.
    ask_send_bytes: Option<u64>,
}

/// A value of a path.
#[derive(Serialize, JsonSchema)]
struct PathValue {
    /// What is measured: `rtt-min`, `rtt`, `capacity`, `available`, `delivered`, `loss` or `mtu`.
    measure: &'static str,
    /// The value.
    value: u64,
    /// Its unit: `ns`, `bit/s`, `ppb` (parts per billion) or `bytes`.
    unit: &'static str,
    /// When, in seconds since 1970.
    at: u64,
    /// Where it is from: `probe`, `capture`, `recording` or `live`.
    source: &'static str,
    /// For how many seconds it is trusted.
    trusted_s: u32,
    /// Whether it is trusted now.
    trusted: bool,
}

/// The values of paths (schema slowpath/paths-history/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/paths-history/1")]
pub struct HistoryDocument {
    /// `slowpath/paths-history/1`.
    schema: &'static str,
    /// The paths, the one with the newest value first.
    paths: Vec<PathValues>,
}

/// A path and its values.
#[derive(Serialize, JsonSchema)]
struct PathValues {
    /// The address of the host that sends.
    from: String,
    /// The address of the host that receives.
    to: String,
    /// The values, by measure, the newest first.
    values: Vec<PathValue>,
}

/// A path that was measured (schema slowpath/paths-measure/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/paths-measure/1")]
pub struct MeasureDocument {
    /// `slowpath/paths-measure/1`.
    schema: &'static str,
    /// Whether everything was measured.
    complete: bool,
    /// Why it ended early; null if it did not.
    ended_by: Option<String>,
    /// IP bytes of the trains of packets, in both directions.
    cost_bytes: u64,
    /// How long it took.
    cost_ns: u64,
    /// What is left of the day's budget.
    left_bytes: u64,
    /// What is left of the day's time.
    left_ns: u64,
    /// The values that were measured of both directions: the RTT is that of both.
    measured: Vec<MeasuredValue>,
    /// What is known of the path now.
    path: PathAnswer,
}

/// A value that was measured, with its path.
#[derive(Serialize, JsonSchema)]
struct MeasuredValue {
    /// The address of the host that sends.
    from: String,
    /// The address of the host that receives.
    to: String,
    /// The value.
    #[serde(flatten)]
    value: PathValue,
}

/// What was learned from files, or from this host's connections (schema slowpath/paths-import/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/paths-import/1")]
pub struct ImportDocument {
    /// `slowpath/paths-import/1`.
    schema: &'static str,
    /// The files.
    files: Vec<ImportedFile>,
}

/// What was learned from a file.
#[derive(Serialize, JsonSchema)]
struct ImportedFile {
    /// The file; null for this host's connections.
    file: Option<String>,
    /// Its flows.
    flows: u64,
    /// Values that they show.
    values: usize,
    /// Of these, the values that the store keeps.
    kept: usize,
}

/// The paths that were forgotten (schema slowpath/paths-forget/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/paths-forget/1")]
pub struct ForgetDocument {
    /// `slowpath/paths-forget/1`.
    schema: &'static str,
    /// The paths.
    forgotten: Vec<ForgottenPath>,
}

/// A path.
#[derive(Serialize, JsonSchema)]
struct ForgottenPath {
    /// The address of the host that sends.
    from: String,
    /// The address of the host that receives.
    to: String,
}

const fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::RttMin | Measure::Rtt => "ns",
        Measure::Capacity | Measure::Available | Measure::Delivered => "bit/s",
        Measure::Loss => "ppb",
        Measure::Mtu => "bytes",
    }
}

impl PathValue {
    fn of(value: &Value) -> Self {
        Self {
            measure: value.measure.slug(),
            value: value.value,
            unit: unit(value.measure),
            at: value.at,
            source: value.source.slug(),
            trusted_s: value.trusted_s,
            trusted: value.trusted,
        }
    }

    fn of_entry(entry: &Entry, now: u64) -> Self {
        let Entry { at, measure, source, value, trusted_s, .. } = *entry;
        Self::of(&Value { measure, value, at, source, trusted_s, trusted: entry.is_trusted(now) })
    }
}

impl PathAnswer {
    fn of(answer: &Answer) -> Self {
        let buffers = answer.buffers.clone().map(|buffers| PathBuffers {
            kernel: buffers.kernel,
            product_bytes: buffers.product_bytes,
            window_bytes: buffers.window_bytes,
            receive_bytes: buffers.receive_bytes,
            send_bytes: buffers.send_bytes,
            ask_receive_bytes: buffers.ask_receive_bytes,
            ask_send_bytes: buffers.ask_send_bytes,
        });
        Self {
            from: answer.from.to_string(),
            to: answer.to.to_string(),
            at: answer.at,
            streams: answer.streams,
            rate_bit_per_s: answer.rate.map(|rate| rate.bit_per_s),
            rate_basis: answer.rate.map(|rate| rate.basis.slug()),
            rtt_ns: answer.rtt_ns,
            buffers,
            no_buffers: answer.no_buffers.clone(),
            values: answer.values.iter().map(PathValue::of).collect(),
        }
    }
}

impl ShowDocument {
    /// The document of answers.
    pub fn of(answers: &[Answer]) -> Self {
        Self { schema: "slowpath/paths-show/1", paths: answers.iter().map(PathAnswer::of).collect() }
    }
}

impl HistoryDocument {
    /// The document of paths and their values, at a time.
    pub fn of(paths: &[PathHistory], now: u64) -> Self {
        let path = |(pair, entries): &PathHistory| PathValues {
            from: pair.from.to_string(),
            to: pair.to.to_string(),
            values: entries.iter().map(|entry| PathValue::of_entry(entry, now)).collect(),
        };
        Self { schema: "slowpath/paths-history/1", paths: paths.iter().map(path).collect() }
    }
}

impl MeasureDocument {
    /// The document of a path that was measured.
    pub fn of(measured: &MeasuredPath) -> Self {
        let value = |entry: &Entry| MeasuredValue {
            from: entry.from.to_string(),
            to: entry.to.to_string(),
            value: PathValue::of_entry(entry, measured.answer.at),
        };
        Self {
            schema: "slowpath/paths-measure/1",
            complete: measured.ended_by.is_none(),
            ended_by: measured.ended_by.as_ref().map(ended),
            cost_bytes: measured.cost.bytes.get(),
            cost_ns: nanos(measured.cost.time),
            left_bytes: measured.left.bytes.get(),
            left_ns: nanos(measured.left.time),
            measured: measured.entries.iter().map(value).collect(),
            path: PathAnswer::of(&measured.answer),
        }
    }
}

impl ImportDocument {
    /// The document of files that were learned from.
    pub fn of(imported: &[Imported]) -> Self {
        let file = |one: &Imported| ImportedFile {
            file: one.file.as_ref().map(|file| file.display().to_string()),
            flows: one.flows,
            values: one.values,
            kept: one.kept,
        };
        Self { schema: "slowpath/paths-import/1", files: imported.iter().map(file).collect() }
    }
}

impl ForgetDocument {
    /// The document of paths that were forgotten.
    pub fn of(gone: &[Pair]) -> Self {
        let path = |pair: &Pair| ForgottenPath { from: pair.from.to_string(), to: pair.to.to_string() };
        Self { schema: "slowpath/paths-forget/1", forgotten: gone.iter().map(path).collect() }
    }
}
