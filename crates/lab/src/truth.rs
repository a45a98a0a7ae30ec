//! The truth about a run, written next to its captures as `truth.json`.
//!
//! Times are nanoseconds of `CLOCK_REALTIME`, the clock of the captures' timestamps, unless a name says otherwise.
//! A counter that is absent is 0. What the kernel does not report is `null`.

use crate::case::{Check, Label, RunInput, ShareBasis};
use crate::load::LoadRecord;
use crate::path::PathConfig;
use crate::recording::RecordingReport;
use crate::relay::{Cost, DirectionReport};
use crate::run::TRUTH;
use crate::watch::WatchReport;
use crate::workload::end::EndRecord;
use crate::workload::programs::ProgramRecord;
use serde::{Deserialize, Serialize};
use slowpath_live::Counters;
use slowpath_model::{End, Endpoint, FlowKey};
use std::net::SocketAddr;
use std::path::Path;
use std::{fs, io};

/// The version of this format.
pub const FORMAT: u32 = 1;

/// The truth about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// [`FORMAT`].
    pub format: u32,
    /// What limits it, if it is a labelled case.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<Expected>,
    /// What was run, with all of its parameters.
    pub case: RunInput,
    /// Release of the kernel that both hosts ran on.
    pub kernel: String,
    /// When the first connection was opened.
    pub from_ns: u64,
    /// When everything was over.
    pub to_ns: u64,
    /// Every connection, in the order of opening.
    pub connections: Vec<Connection>,
    /// The growth of the hosts' counters (as of `nstat`) during the run.
    pub counters: BothHosts<Counters>,
    /// Background load on the hosts' CPUs, and the CPU time it had.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loads: Vec<LoadRecord>,
    /// The results of the user's programs: the server and the client.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub programs: Vec<ProgramRecord>,
    /// The path and what it did.
    pub path: BothWays,
    /// The result of the two captures.
    pub captures: BothHosts<WatchReport>,
    /// What is missing from the recordings.
    #[serde(default)]
    pub recordings: BothHosts<RecordingReport>,
    /// The checks of the run; all passed, or this file would not have been written.
    pub checks: Vec<CheckResult>,
}

/// What limits the transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The answer.
    #[serde(flatten)]
    pub label: Label,
    /// Other answers that count as right.
    pub also: Vec<Label>,
    /// Other answers that count as right for the capture at the sender.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also_at_sender: Vec<Label>,
    /// The least time of the limit, if a number shows it.
    pub share_at_least: Option<ExpectedShare>,
}

/// For how long a limit held, by the kernel's own count if possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedShare {
    /// Share of the time from the first write to the last acknowledgement, 0 to 1; over several connections
    /// it is the sum of the times by the sum of the times.
    pub of_transfer: f64,
    /// Share of `tcpi_busy_time`, 0 to 1; `None` where the number is not a part of it.
    pub of_busy: Option<f64>,
    /// The number it comes from.
    pub from: ShareBasis,
}

/// A value of each host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BothHosts<T> {
    /// The host that sends.
    pub sender: T,
    /// The host that receives.
    pub receiver: T,
}

/// One direction of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneWay {
    /// Seed of its random numbers.
    pub seed: u64,
    /// Its configuration.
    pub config: PathConfig,
    /// What it did.
    pub report: DirectionReport,
}

/// Both directions of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BothWays {
    /// From sender to receiver.
    pub forward: OneWay,
    /// From receiver to sender.
    pub backward: OneWay,
    /// The cost of carrying the packets; recordings by earlier versions lack it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
}

/// One connection as its two ends saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// The end on the sender's host.
    pub sender: EndRecord,
    /// The end on the receiver's host.
    pub receiver: EndRecord,
    /// The kernel's account of the sender's time.
    pub sender_shares: Option<KernelShares>,
    /// The kernel's account of the receiver's time, if that end wrote too.
    pub receiver_shares: Option<KernelShares>,
}

impl Connection {
    /// Which end of a flow is at the sender's host; `None` if it is another connection's.
    pub fn sender_in(&self, flow: &FlowKey) -> Option<End> {
        let is = |end: End, at: SocketAddr| {
            let Endpoint { address, port } = flow.endpoint(end);
            (address, port) == (at.ip(), at.port())
        };
        let is_sender = |end: &End| is(*end, self.sender.local) && is(!*end, self.sender.remote);
        End::BOTH.into_iter().find(is_sender)
    }
}

/// How the kernel accounts for the time of an end that writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelShares {
    /// From the first write to the last acknowledgement.
    pub transfer_us: u64,
    /// `tcpi_busy_time`.
    pub busy_us: u64,
    /// Share of the transfer without anything to send or to be acknowledged.
    pub idle: f64,
    /// Share of the transfer stopped by the peer's window.
    pub rwnd_limited: f64,
    /// Share of the transfer stopped by the send buffer.
    pub sndbuf_limited: f64,
}

impl KernelShares {
    /// The account of one end; `None` if it never wrote.
    pub fn of(end: &EndRecord) -> Option<Self> {
        let info = end.info.as_ref()?;
        let transfer_us = (end.info_ns?.saturating_sub(end.write_began_ns?) / 1000).max(1);
        let share = |us: u64| round(us as f64 / transfer_us as f64);
        Some(Self {
            transfer_us,
            busy_us: info.busy_time_us,
            idle: share(transfer_us.saturating_sub(info.busy_time_us)),
            rwnd_limited: share(info.rwnd_limited_us),
            sndbuf_limited: share(info.sndbuf_limited_us),
        })
    }
}

/// Four digits: the kernel's clock is no more precise.
fn round(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}

/// The kernel's account over several sending ends.
pub fn overall_share(ends: &[&EndRecord], basis: ShareBasis) -> Option<ExpectedShare> {
    let (mut transfer_us, mut busy_us, mut limited_us) = (0, 0, 0);
    for end in ends {
        let (Some(shares), Some(info)) = (KernelShares::of(end), &end.info) else { continue };
        transfer_us += shares.transfer_us;
        busy_us += info.busy_time_us;
        limited_us += match basis {
            ShareBasis::RwndLimited => info.rwnd_limited_us,
            ShareBasis::SndbufLimited => info.sndbuf_limited_us,
            ShareBasis::WriterStarved => end.starved_ns / 1000,
            ShareBasis::Idle => shares.transfer_us.saturating_sub(info.busy_time_us),
        };
    }
    let is_kernels = matches!(basis, ShareBasis::RwndLimited | ShareBasis::SndbufLimited);
    let of_busy = (is_kernels && busy_us > 0).then(|| round(limited_us as f64 / busy_us as f64));
    (transfer_us > 0).then(|| ExpectedShare {
        of_transfer: round(limited_us as f64 / transfer_us as f64),
        of_busy,
        from: basis,
    })
}

/// One check and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// What was required.
    pub required: Check,
    /// What was found, in the check's own unit.
    pub measured: f64,
    /// Whether that is enough.
    pub holds: bool,
}

/// The truth about the run in `folder`.
///
/// # Errors
/// If the file cannot be read, or is not of this format.
pub fn read(folder: &Path) -> io::Result<Truth> {
    Ok(serde_json::from_slice(&fs::read(folder.join(TRUTH))?)?)
}

/// JSON with one line for everything that is short, so that a list of dropped packets has one line each.
///
/// # Errors
/// If a map has keys that are not text, which no part of the truth has.
pub fn to_json(truth: &Truth) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    print(&serde_json::to_value(truth)?, 0, &mut text)?;
    text.push('\n');
    Ok(text)
}

const LINE_CHARACTERS: usize = 260;

fn print(value: &serde_json::Value, depth: usize, text: &mut String) -> Result<(), serde_json::Error> {
    let compact = serde_json::to_string(value)?;
    if compact.len() <= LINE_CHARACTERS {
        text.push_str(&compact);
        return Ok(());
    }
    let begin = |text: &mut String, first: bool, depth: usize| {
        text.push_str(if first { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(depth));
    };
    match value {
        serde_json::Value::Object(members) => {
            text.push('{');
            for (n, (name, member)) in members.iter().enumerate() {
                begin(text, n == 0, depth + 1);
                text.push_str(&serde_json::to_string(name)?);
                text.push_str(": ");
                print(member, depth + 1, text)?;
            }
            text.push('\n');
            text.push_str(&" ".repeat(depth));
            text.push('}');
        }
        serde_json::Value::Array(members) if members.iter().all(serde_json::Value::is_number) => {
            text.push_str(&compact);
        }
        serde_json::Value::Array(members) => {
            text.push('[');
            for (n, member) in members.iter().enumerate() {
                begin(text, n == 0, depth + 1);
                print(member, depth + 1, text)?;
            }
            text.push('\n');
            text.push_str(&" ".repeat(depth));
            text.push(']');
        }
        _ => text.push_str(&compact),
    }
    Ok(())
}
