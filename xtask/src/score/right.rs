//! Which verdicts are right for a run.

use super::run::Place;
use anyhow::{Context, Result};
use serde::Serialize;
use slowpath_analyses::{Cause, Limit};
use slowpath_lab::case::Label;
use slowpath_lab::path::link::QueueLimit;
use slowpath_lab::relay::Fate;
use slowpath_lab::truth::{BothWays, Truth};

/// A queue of so many packets or fewer does not show in RTTs. How full its link is, is then a matter of degree at each instant.
const SHORT_QUEUE: u32 = 6;

/// The kinds of faults that figures are given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    Application,
    SendBuffer,
    SendingHost,
    ReceiveWindow,
    SlowReader,
    Loss,
    TailLoss,
    Reordering,
    DelaySpike,
    Policer,
    SlowStart,
    EarlyExit,
    FullPath,
    ShortQueue,
    AckPath,
    SynLost,
    LateReceiver,
    WindowLag,
    WindowScale,
    Reneging,
    Middlebox,
    Unseen,
}

impl Group {
    /// For people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::SendBuffer => "send buffer",
            Self::SendingHost => "sending host",
            Self::ReceiveWindow => "receive window",
            Self::SlowReader => "slow reader",
            Self::Loss => "loss",
            Self::TailLoss => "tail loss",
            Self::Reordering => "reordering",
            Self::DelaySpike => "delay spike",
            Self::Policer => "policer",
            Self::SlowStart => "slow start",
            Self::EarlyExit => "early exit",
            Self::FullPath => "full path",
            Self::ShortQueue => "short queue",
            Self::AckPath => "ACK path",
            Self::SynLost => "lost SYN",
            Self::LateReceiver => "late receiver",
            Self::WindowLag => "window lag",
            Self::WindowScale => "window scale",
            Self::Reneging => "reneging",
            Self::Middlebox => "middlebox",
            Self::Unseen => "not recorded",
        }
    }

    /// What was imposed, from its label; or that a middlebox on the path did it.
    pub fn of(label: &Label, path: &BothWays) -> Self {
        if [&path.forward, &path.backward].iter().any(|way| !way.config.middleboxes.is_empty()) {
            return Self::Middlebox;
        }
        let link = path.forward.config.link.as_ref();
        if link.is_some_and(|link| matches!(link.queue, QueueLimit::Packets(..=SHORT_QUEUE))) {
            return Self::ShortQueue;
        }
        match (label.limit.as_str(), label.cause.as_str()) {
            (_, "handshake" | "syn-lost") => Self::SynLost,
            (_, "slow-reader" | "reader-stopped") => Self::SlowReader,
            (_, "reordering") => Self::Reordering,
            (_, "spurious-rto" | "delay-spike") => Self::DelaySpike,
            (_, "policer") => Self::Policer,
            (_, "ack-path-queue") => Self::AckPath,
            (_, "slow-start") => Self::SlowStart,
            (_, "sack-reneging") => Self::Reneging,
            (_, "autotuning-lag") => Self::WindowLag,
            (_, "scale-too-small") => Self::WindowScale,
            ("receiver-processing", _) => Self::LateReceiver,
            ("unknown", _) => Self::Unseen,
            (_, "tail-loss") => Self::TailLoss,
            (_, "after-loss") | ("loss-recovery", _) => Self::Loss,
            ("congestion-window", _) => Self::EarlyExit,
            ("application", _) => Self::Application,
            ("send-buffer", _) => Self::SendBuffer,
            ("receive-window", _) => Self::ReceiveWindow,
            ("sending-host", _) => Self::SendingHost,
            _ => Self::FullPath,
        }
    }
}

/// What counts as right.
pub struct Right {
    /// What was caused.
    pub group: Group,
    label: Vec<Cause>,
    causes: Vec<Cause>,
}

impl Right {
    /// From the label and what is also right, of a capture at a host.
    pub fn of(truth: &Truth, at: Place) -> Result<Self> {
        let expected = truth.expected.as_ref().context("truth.json: it has no label")?;
        let mut causes = Vec::new();
        if lost_in_handshake(truth) {
            causes.push(Cause::SynLost);
        }
        let at_sender: &[Label] = if at == Place::Sender { &expected.also_at_sender } else { &[] };
        for label in std::iter::once(&expected.label).chain(&expected.also).chain(at_sender) {
            causes.extend(named(label)?);
        }
        Ok(Self { group: Group::of(&expected.label, &truth.path), label: named(&expected.label)?, causes })
    }

    /// Whether the limit is right. A slow reader and a small buffer share a limit and nothing else, so each counts as
    /// wrong for the other.
    pub fn limit(&self, said: Cause) -> bool {
        self.causes.iter().any(|cause| cause.limit() == said.limit() && of_reader(*cause) == of_reader(said))
    }

    /// Whether it is the imposed cause.
    pub fn label(&self, said: Cause) -> bool {
        self.label.contains(&said)
    }

    /// Whether the cause is right.
    pub fn cause(&self, said: Cause) -> bool {
        self.causes.contains(&said)
    }
}

/// Whether the path's own list of drops, random or scripted, has a segment of the handshake.
fn lost_in_handshake(truth: &Truth) -> bool {
    let mut faults = truth.path.forward.report.faults.iter().chain(&truth.path.backward.report.faults);
    faults.any(|f| matches!(f.fate, Fate::Dropped(_)) && f.payload_bytes == 0 && f.offset == 0)
}

/// Whether the receiving program fills the window.
pub const fn of_reader(cause: Cause) -> bool {
    matches!(cause, Cause::SlowReader | Cause::ReaderStopped)
}

/// The causes by which slowpath names what the lab did. The lab knows more than packets show: whether a buffer was set
/// by the program or by a sysctl, or why slow start ended.
pub fn named(label: &Label) -> Result<Vec<Cause>> {
    let slug = format!("{}/{}", label.limit, label.cause);
    Ok(match slug.as_str() {
        "send-buffer/fixed" | "send-buffer/tcp-wmem" => vec![Cause::SendBufferFull],
        "congestion-window/cached-ssthresh"
        | "congestion-window/clamped"
        | "congestion-window/congestion-avoidance" => vec![Cause::EarlyExit],
        "loss-recovery/fast-retransmit" => vec![Cause::FastRecovery],
        "loss-recovery/handshake" => vec![Cause::SynLost],
        "path/reordering" => vec![Cause::Reordering],
        _ => {
            let known = Cause::ALL
                .iter()
                .find(|cause| cause.limit().slug() == label.limit && cause.slug() == label.cause);
            vec![*known.with_context(|| format!("{slug}: slowpath has no such cause"))?]
        }
    })
}

/// The columns of the confusion matrix: the limits, with the slow reader separate.
pub const COLUMNS: [&str; 11] = [
    "appl", "sndbuf", "rcvwnd", "reader", "rcvproc", "cwnd", "loss", "path", "connect", "unknown", "sendhost",
];

/// The column that a cause is counted in.
pub const fn column(cause: Cause) -> usize {
    match cause.limit() {
        Limit::Application => 0,
        Limit::SendBuffer => 1,
        Limit::ReceiveWindow if of_reader(cause) => 3,
        Limit::ReceiveWindow => 2,
        Limit::ReceiverProcessing => 4,
        Limit::CongestionWindow => 5,
        Limit::LossRecovery => 6,
        Limit::Path => 7,
        Limit::Connection => 8,
        Limit::Unknown => 9,
        Limit::SendingHost => 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_lab::case::Set;
    use slowpath_lab::cases;

    #[test]
    fn every_lab_label_has_a_cause() {
        for case in Set::ALL.into_iter().flat_map(cases::all) {
            let labels = std::iter::once(&case.expectation.expected)
                .chain(&case.expectation.also)
                .chain(&case.expectation.also_at_sender);
            for label in labels {
                named(label).unwrap_or_else(|error| panic!("{}: {error}", case.id()));
            }
        }
    }
}
