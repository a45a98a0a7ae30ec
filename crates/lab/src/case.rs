//! A case: one transfer whose limiting cause is known because the lab imposed it.

use crate::experiment::Experiment;
use crate::path::PathConfig;
use crate::path::link::{LinkConfig, QueueLimit};
use crate::recording::{Omission, Recording};
use crate::settings::{MTU_BYTES, Offload, Settings};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use slowpath_model::Rate;
use std::time::Duration;

/// Which collection a case belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// A regression set: rules are written on it.
    Shipped,
    /// A regression set: it shares no parameter with the shipped set, and three rules were changed after its first
    /// figures were seen.
    Heldout,
    /// A regression set: it has parameters that neither of the others has, and was first scored when all rules were fixed; its
    /// figures have been seen since.
    Fresh,
}

impl Set {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Shipped, Self::Heldout, Self::Fresh];

    /// The folder that holds it.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Heldout => "heldout",
            Self::Fresh => "fresh",
        }
    }

    /// How meaningful a score on it is.
    pub const fn role(self) -> &'static str {
        match self {
            Self::Shipped => "regression set: rules are written on it",
            Self::Heldout | Self::Fresh => {
                "regression set: its figures were seen before the last change of rules"
            }
        }
    }
}

/// What limits a transfer: a limit and, inside it, a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Such as `receive-window`.
    pub limit: String,
    /// Such as `buffer-too-small`.
    pub cause: String,
}

impl Label {
    /// From `limit/cause`.
    pub fn parse(slug: &str) -> Option<Self> {
        let (limit, cause) = slug.split_once('/')?;
        Some(Self { limit: limit.to_owned(), cause: cause.to_owned() })
    }
}

/// A number, from the kernel if possible, that shows for how long a limit held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareBasis {
    /// `tcpi_rwnd_limited`.
    RwndLimited,
    /// `tcpi_sndbuf_limited`. Linux counts it only if the buffer fills up between a write and the transmission of the
    /// written data (`tcp_cwnd_validate`), so it is often 0 although the buffer is the limit.
    SndbufLimited,
    /// Time in which the writing application waited for room while everything in the send buffer was in flight; by the
    /// application's own count (`starved_ns`), for lack of one by the kernel.
    WriterStarved,
    /// The time without `tcpi_busy_time`.
    Idle,
}

/// A condition that a run has to meet to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The kernel's share of a limit, of the time from the first write to the last acknowledgement, is at
    /// least this, on every sending end together.
    Share(ShareBasis, f64),
    /// It is at most this.
    ShareAtMost(ShareBasis, f64),
    /// A counter of the sender's host grew by at least this.
    SenderCounter(String, u64),
    /// A counter of the receiver's host grew by at least this.
    ReceiverCounter(String, u64),
    /// Readers did not read, by `stops_ns`, for at least this share of the time from the first write to the last
    /// acknowledgment.
    ReaderWaited(f64),
    /// At least this many captured frames are left out of both recordings.
    LeftOut(u64),
    /// Senders retransmitted at least this many packets.
    Retransmitted(u64),
    /// Senders retransmitted at most this many packets.
    RetransmittedAtMost(u64),
    /// The forward path dropped at least this many packets.
    Dropped(u64),
    /// The forward queue never overflowed.
    NoQueueDrops,
    /// No path dropped any packet.
    NothingDropped,
    /// The forward path held back at least this many packets.
    HeldBack(u64),
    /// The forward path delivered at least this many packets twice.
    Duplicated(u64),
    /// The forward path dropped at least this many SYNs or, on the backward path, SYN-ACKs.
    SynDropped(u64),
    /// The forward link carried at least this share of its rate between first write and last acknowledgement.
    LinkUsed(f64),
    /// It carried at most this share.
    LinkUsedAtMost(f64),
    /// The forward queue held at least this many milliseconds of link time at its longest.
    QueueReached(f64),
    /// The path delivered with at most this lateness at the 99th percentile, in milliseconds.
    LatenessAtMost(f64),
    /// At the end, the senders' ssthresh was at most this many packets.
    SsthreshAtMost(u32),
    /// At the end, the senders' congestion window was at most this many packets.
    CwndAtMost(u32),
    /// Neither capture lost a packet. Required of every run.
    CapturesComplete,
    /// The relay neither missed nor failed to deliver a packet, and its counts add up. Required of every run.
    PathComplete,
    /// What was written was read, on every connection. Required of every run.
    EveryByteArrived,
}

/// The expected verdict of a run, and its checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// What limits it.
    pub expected: Label,
    /// Other verdicts that count as right.
    pub also: Vec<Label>,
    /// Other verdicts that count as right for a capture at the sender, which cannot see inside the receiver.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also_at_sender: Vec<Label>,
    /// The number that shows for how long, if there is one.
    pub share: Option<ShareBasis>,
    /// What must be true of the run.
    pub checks: Vec<Check>,
}

/// One labelled transfer: what is run, and what is expected of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelledCase {
    /// The collection.
    pub set: Set,
    /// The kind, such as `small-rcvbuf`.
    pub name: String,
    /// The parameters in short, such as `20mbit-40ms-16k`.
    pub variant: String,
    /// One sentence: what is done, and how that limits the transfer.
    pub about: String,
    /// Its expected verdict and checks.
    #[serde(flatten)]
    pub expectation: Expectation,
    /// What is run.
    #[serde(flatten)]
    pub experiment: Experiment,
}

/// The input of a run: a labelled case, or an experiment without expectations, such as a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "there is one of it a run")]
pub enum RunInput {
    /// With a label and checks.
    Labelled(LabelledCase),
    /// Without.
    Unlabelled(Experiment),
}

impl RunInput {
    /// What is run.
    pub const fn experiment(&self) -> &Experiment {
        match self {
            Self::Labelled(case) => &case.experiment,
            Self::Unlabelled(experiment) => experiment,
        }
    }

    /// What is expected of it, if anything.
    pub const fn expectation(&self) -> Option<&Expectation> {
        match self {
            Self::Labelled(case) => Some(&case.expectation),
            Self::Unlabelled(_) => None,
        }
    }

    /// The seeds of the paths' random numbers, forward and backward.
    pub fn seeds(&self) -> [u64; 2] {
        let of_label = || match self {
            Self::Labelled(case) => case.seeds(),
            Self::Unlabelled(_) => [0, 1],
        };
        self.experiment().seeds.unwrap_or_else(of_label)
    }
}

const NS_PER_S: u128 = 1_000_000_000;

/// The bandwidth-delay product of a path, in bytes.
pub fn bdp_bytes(rate_bit_per_s: u64, rtt_ns: u64) -> u64 {
    u64::try_from(u128::from(rate_bit_per_s) * u128::from(rtt_ns) / 8 / NS_PER_S).unwrap_or(u64::MAX)
}

impl LabelledCase {
    /// A case on a path of a rate and an RTT, with a queue of one bandwidth-delay product (at least 20
    /// packets), per-packet captures, cubic, and a fast way back.
    ///
    /// # Panics
    /// If `label` is not `limit/cause`; the case table is part of the program.
    pub fn new(
        set: Set,
        name: &str,
        label: &str,
        rate_bit_per_s: u64,
        rtt_ns: u64,
        workload: Workload,
    ) -> Self {
        let queue = (bdp_bytes(rate_bit_per_s, rtt_ns) / MTU_BYTES).max(20);
        let link = |rate_bit_per_s, packets: u64| {
            Some(LinkConfig {
                rate: Rate::bits_per_second(rate_bit_per_s),
                queue: QueueLimit::Packets(u32::try_from(packets).unwrap_or(u32::MAX)),
                stalls: Vec::new(),
            })
        };
        Self {
            set,
            name: name.into(),
            variant: String::new(),
            about: String::new(),
            expectation: Expectation {
                expected: Label::parse(label).expect("labels are limit/cause"),
                also: Vec::new(),
                also_at_sender: Vec::new(),
                share: None,
                checks: vec![Check::LatenessAtMost(5.0)],
            },
            experiment: Experiment {
                settings: Settings::plain(),
                forward: PathConfig {
                    link: link(rate_bit_per_s, queue),
                    delay: Duration::from_nanos(rtt_ns / 2),
                    ..PathConfig::default()
                },
                backward: PathConfig {
                    link: link(rate_bit_per_s, queue.max(1000)),
                    delay: Duration::from_nanos(rtt_ns - rtt_ns / 2),
                    ..PathConfig::default()
                },
                seeds: None,
                warm_up_bytes: None,
                workload,
                loads: Vec::new(),
                flushes: Vec::new(),
                cut_after_ns: None,
                recording: Recording::default(),
            },
        }
    }

    /// `name-variant`, the name of the case's folder.
    pub fn id(&self) -> String {
        format!("{}-{}", self.name, self.variant)
    }

    /// The seeds of the paths' random numbers, forward and backward, made from FNV-1a of the id.
    pub fn seeds(&self) -> [u64; 2] {
        let of_id = self
            .id()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        [of_id, of_id.rotate_left(32) ^ 1]
    }

    /// Names the parameters.
    #[must_use]
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = variant.into();
        self
    }

    /// Describes the case.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// Allows another answer.
    ///
    /// # Panics
    /// If `label` is not `limit/cause`.
    #[must_use]
    pub fn or(mut self, label: &str) -> Self {
        self.expectation.also.push(Label::parse(label).expect("labels are limit/cause"));
        self
    }

    /// Allows another answer from a capture at the sender.
    ///
    /// # Panics
    /// If `label` is not `limit/cause`.
    #[must_use]
    pub fn or_at_sender(mut self, label: &str) -> Self {
        self.expectation.also_at_sender.push(Label::parse(label).expect("labels are limit/cause"));
        self
    }

    /// Leaves frames out of both recordings.
    #[must_use]
    pub fn without(mut self, omission: Omission) -> Self {
        self.experiment.recording.omissions.push(omission);
        self
    }

    /// Adds a check.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.expectation.checks.push(check);
        self
    }

    /// Sets the number that shows the share, and the least share.
    #[must_use]
    pub fn share_at_least(mut self, basis: ShareBasis, at_least: f64) -> Self {
        self.expectation.share = Some(basis);
        self.check(Check::Share(basis, at_least))
    }

    /// Changes the hosts' settings.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.experiment.settings);
        self
    }

    /// Changes the forward path.
    #[must_use]
    pub fn forward(mut self, change: impl FnOnce(&mut PathConfig)) -> Self {
        change(&mut self.experiment.forward);
        self
    }

    /// Changes the backward path.
    #[must_use]
    pub fn backward(mut self, change: impl FnOnce(&mut PathConfig)) -> Self {
        change(&mut self.experiment.backward);
        self
    }

    /// Sets the forward queue, in packets.
    #[must_use]
    pub fn queue(mut self, packets: u32) -> Self {
        if let Some(link) = &mut self.experiment.forward.link {
            link.queue = QueueLimit::Packets(packets);
        }
        self
    }

    /// Sets a sysctl on both hosts.
    #[must_use]
    pub fn sysctl(mut self, name: &str, value: &str) -> Self {
        for list in
            [&mut self.experiment.settings.sender_sysctls, &mut self.experiment.settings.receiver_sysctls]
        {
            list.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the offloads.
    #[must_use]
    pub fn offload(mut self, offload: Offload) -> Self {
        self.experiment.settings.offload = offload;
        self
    }

    /// Sets the sender's congestion control.
    #[must_use]
    pub fn congestion_control(mut self, name: &str) -> Self {
        self.experiment.settings.sender_socket.congestion_control = Some(name.into());
        self
    }
}
