//! What `slowpath diagnose --live --json` prints.

use super::drops::DropResult;
use super::receiver::ReceiverResult;
use super::sender::BoundResult;
use super::spells::SpellResult;
use crate::waits::WaitTimes;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::hosts::{Account, EndAccount};
use slowpath_live::{Counted, Device};
use slowpath_model::{Bytes, End, FlowId, Hold, Instant, Rate, SocketSample, nanos};
use slowpath_runs::watch::Watched;
use std::collections::BTreeMap;

/// What this host's connections did while they were watched.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/live/1")]
pub struct LiveDocument<'a> {
    /// `slowpath/live/1`.
    schema: &'static str,
    /// How long they were watched, in seconds.
    seconds: f64,
    /// The connections, the one with the most data first.
    flows: Vec<FlowResult<'a>>,
    /// Flows that were too many to be kept.
    flows_not_kept: u64,
    /// TCP packets that the kernel dropped and that belong to no watched socket.
    drops: Vec<DropResult<'a>>,
    /// How long this host's receive softirqs waited to run, while packets waited in a NIC's ring or a CPU's queue;
    /// `null` if none was seen.
    softirqs: Option<WaitTimes>,
    /// The probe's counts compared with the kernel's; `null` with `--own`.
    check: Option<CheckResult>,
    /// What cannot be seen on this kernel, or with `--own`.
    unseen: &'a [String],
    /// Why a file of the probe's records was not read to its end; `null` if it was, or there was none.
    incomplete: Option<&'a str>,
}

/// A connection.
#[derive(Serialize, JsonSchema)]
struct FlowResult<'a> {
    /// Its number.
    flow: u32,
    /// The end with the higher port: as a rule it opened the connection.
    a: EndResult<'a>,
    /// The other end.
    b: EndResult<'a>,
    /// Which end sent more: `a` or `b`.
    sender: &'static str,
    /// What it sent, in bytes.
    bytes: u64,
    /// When it was first seen, in nanoseconds after the first of all flows was.
    first_seen_ns: u64,
    /// How long it was watched, in seconds.
    seconds: f64,
    /// Bytes over that time, in bits a second; `null` if no time passed.
    rate_bit_per_s: Option<u64>,
    /// What limited the sender, the longest first; empty if it is on another host.
    bounds: Vec<BoundResult>,
    /// What limited the sender over time, from when the flow was first seen until it or the watch ended.
    spells: Vec<SpellResult>,
}

/// One end of a connection.
#[derive(Serialize, JsonSchema)]
struct EndResult<'a> {
    /// Its address and port.
    endpoint: String,
    /// The process that has the socket open; `null` if it is on another host, or no longer existed when it was looked
    /// up.
    process: Option<ProcessResult<'a>>,
    /// What its host reported; `null` if that is another host.
    host: Option<HostResult<'a>>,
}

/// A process.
#[derive(Serialize, JsonSchema)]
struct ProcessResult<'a> {
    /// Its number.
    pid: u32,
    /// Its name.
    name: &'a str,
}

/// What the host of an end reported.
#[derive(Serialize, JsonSchema)]
struct HostResult<'a> {
    /// Bytes that the process wrote.
    written_bytes: u64,
    /// Bytes that it read.
    read_bytes: u64,
    /// What held its sender, and for how long, in nanoseconds; the names are those of the table `holds` in a recording.
    held_ns: BTreeMap<&'static str, u64>,
    /// The device that sends its packets; `null` if unknown.
    device: Option<DeviceResult<'a>>,
    /// Where packets, data and the process waited.
    waits: Vec<WaitTimes>,
    /// Packets that its kernel dropped, while receiving or sending.
    drops: Vec<DropResult<'a>>,
    /// What limited the transfer at this end, as the receiver, the longest first.
    receiver_bounds: Vec<ReceiverResult>,
    /// The last smoothed RTT minus the minimum, in microseconds; `null` if no queueing shows.
    queueing_us: Option<u64>,
    /// How often the window that it advertises closed.
    zero_windows: u64,
    /// The sizes of its receive buffer, each when it was first seen: at most 64.
    receive_buffer: Vec<SizeResult>,
    /// Retransmission timeouts.
    timeouts: u64,
    /// Of these, those that were spurious.
    spurious_timeouts: u64,
    /// Fast recoveries.
    recoveries: u64,
    /// Of these, those that were undone.
    undone_recoveries: u64,
    /// The socket's last state; the names are those of the table `samples` in a recording.
    last: BTreeMap<&'static str, u32>,
}

/// A device.
#[derive(Serialize, JsonSchema)]
struct DeviceResult<'a> {
    /// Its name.
    name: &'a str,
    /// Its queueing discipline, such as `fq_codel`; `null` if that is not known.
    qdisc: Option<&'a str>,
}

/// A size of a buffer.
#[derive(Serialize, JsonSchema)]
struct SizeResult {
    /// Since when, in seconds after the flow was first seen.
    since_seconds: f64,
    /// Bytes of memory (`sk_rcvbuf`).
    bytes: u64,
}

/// How completely the connections were seen.
#[derive(Serialize, JsonSchema)]
struct CheckResult {
    /// Sockets that were watched.
    sockets: u64,
    /// Segments with data that the kernel counted for them (`tcpi_data_segs_in`).
    kernel_segments: u64,
    /// Of these, those that the probe saw.
    segments: u64,
    /// Of these, those without an arrival timestamp, which are not in the waits.
    unstamped: u64,
    /// Events for which there was no room.
    untold: u64,
    /// Sockets for which the kernel had no memory.
    unwatched: u64,
    /// Timeouts that were undone in this network namespace (`TCPLossUndo`); `null` if not all of it is watched.
    timeouts_undone: Option<CountedResult>,
    /// Zero windows that were advertised in this network namespace (`TCPToZeroWindowAdv`); `null` if not all of it is
    /// watched.
    zero_windows: Option<CountedResult>,
    /// Runs of BPF programs that the kernel skipped because the program was already running; those events were not
    /// seen.
    skipped: u64,
}

/// A counter of the kernel, and the probe's count of the same.
#[derive(Serialize, JsonSchema)]
struct CountedResult {
    /// The kernel.
    kernel: u64,
    /// The probe.
    probe: u64,
}

impl CountedResult {
    fn of(counted: Counted) -> Self {
        Self { kernel: counted.kernel, probe: counted.probe }
    }
}

impl<'a> LiveDocument<'a> {
    /// The document of the watched connections.
    pub fn of(watched: &'a Watched) -> Self {
        let began = watched.accounts.iter().filter_map(|account| account.told).map(|[first, _]| first).min();
        let began = began.unwrap_or(Instant::START);
        Self {
            schema: "slowpath/live/1",
            seconds: watched.lasted.as_secs_f64(),
            flows: watched.accounts.iter().map(|account| FlowResult::of(watched, began, account)).collect(),
            flows_not_kept: watched.not_kept,
            drops: DropResult::all(&watched.drops.host),
            softirqs: watched.softirqs.spreads().next().as_ref().map(WaitTimes::of),
            check: watched.check.as_ref().map(|check| CheckResult {
                sockets: check.sockets,
                kernel_segments: check.kernel_segments,
                segments: check.segments,
                unstamped: check.unstamped,
                untold: check.untold,
                unwatched: check.unwatched,
                timeouts_undone: check.undone.map(CountedResult::of),
                zero_windows: check.zero_windows.map(CountedResult::of),
                skipped: check.skipped,
            }),
            unseen: &watched.unseen,
            incomplete: watched.incomplete.as_deref(),
        }
    }
}

impl<'a> FlowResult<'a> {
    /// A flow's part of the document; `began` is when the first flow was first seen.
    fn of(watched: &'a Watched, began: Instant, account: &'a Account) -> Self {
        let first_seen = account.told.map(|[first, _]| first);
        let end = |end: End| EndResult {
            endpoint: account.key.endpoint(end).to_string(),
            process: watched
                .processes
                .get(&(account.id, end))
                .map(|process| ProcessResult { pid: process.pid, name: &process.name }),
            host: account.ends[end.index()]
                .as_deref()
                .map(|own| HostResult::of(first_seen, own, watched, (account.id, end))),
        };
        Self {
            flow: account.id.0,
            a: end(End::A),
            b: end(End::B),
            sender: account.sender().letter(),
            bytes: account.carried().get(),
            first_seen_ns: first_seen.and_then(|seen| seen.since(began)).map_or(0, nanos),
            seconds: account.lasted().as_secs_f64(),
            rate_bit_per_s: Rate::of(account.carried(), account.lasted()).map(Rate::get),
            bounds: BoundResult::all(watched, account),
            spells: SpellResult::all(account),
        }
    }
}

impl<'a> HostResult<'a> {
    fn of(began: Option<Instant>, account: &EndAccount, watched: &'a Watched, of: (FlowId, End)) -> Self {
        let device = |device: &'a Device| DeviceResult { name: &device.name, qdisc: device.qdisc.as_deref() };
        let size = |(at, size): &(Instant, Bytes)| SizeResult {
            since_seconds: began.and_then(|began| at.since(began)).unwrap_or_default().as_secs_f64(),
            bytes: size.get(),
        };
        let held = Hold::ALL.iter().zip(account.sending.holds());
        let names = SocketSample::FIELDS.iter().map(|(name, ..)| *name);
        let last = account.samples.map(|[_, last]| names.zip(last.values()).collect::<Vec<_>>());
        Self {
            written_bytes: account.written.get(),
            read_bytes: account.read.get(),
            held_ns: held.map(|(hold, time)| (hold.name(), nanos(time))).collect(),
            waits: account.waits.spreads().map(|spread| WaitTimes::of(&spread)).collect(),
            drops: DropResult::all(watched.drops.of(of.0, of.1)),
            device: watched.devices.get(&of).map(device),
            receiver_bounds: ReceiverResult::all(account),
            queueing_us: account.queueing().map(|time| time.as_micros() as u64),
            zero_windows: account.zero_windows,
            receive_buffer: account.receive_buffer.iter().map(size).collect(),
            timeouts: account.timeouts[0],
            spurious_timeouts: account.timeouts[1],
            recoveries: account.recoveries[0],
            undone_recoveries: account.recoveries[1],
            last: last.into_iter().flatten().filter_map(|(name, value)| Some((name, value?))).collect(),
        }
    }
}
