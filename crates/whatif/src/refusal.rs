//! Why nothing is predicted.

use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, Rate, Vantage};
use std::time::Duration;

/// Why a capture is not fitted, or its fit is not used.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The capture was not made next to the sender.
    NotAtSender(Vantage),
    /// The handshake is not in the capture, so its options are not known.
    NoHandshake,
    /// The flow moved too little data.
    TooLittle {
        /// Segments with data.
        segments: u64,
        /// Fewer do not show a path.
        least: u64,
    },
    /// Both ends sent data.
    TwoWay {
        /// What the receiver sent.
        answered: Bytes,
    },
    /// Other flows of the capture moved data at the same time.
    Shared {
        /// How many.
        flows: u64,
    },
    /// The capture lacks data that was acknowledged.
    Gaps(Bytes),
    /// SYNs were lost.
    LostSyns(u32),
    /// Congestion marks reduced the window.
    Marked(u64),
    /// Segments came out of order or twice.
    Disturbed(u64),
    /// Part of the time was limited by something that a fit does not have.
    NotModelled {
        /// That cause.
        cause: Cause,
        /// The share of the time.
        share: f64,
    },
    /// The rate of the path did not show: no trains of ACKs agree on it.
    RateUnknown,
    /// No RTT was measured.
    NoRtt,
    /// Losses are too many to be replayed.
    TooManyLosses,
    /// Losses came in bursts.
    BurstyLoss {
        /// Lost segments right behind a lost one.
        adjacent: u64,
        /// Lost segments.
        lost: u64,
    },
    /// There was one loss, at the longest RTT: by chance or because the queue was full.
    LossUnclear,
    /// Data was lost without SACK: what a run does then depends on single packets (docs/src/truth.md).
    NoSack,
    /// The fitted scenario is refused by its own check.
    NoScenario(String),
    /// The simulated transfer is not the captured one.
    Differs(Vec<Difference>),
    /// It was interrupted.
    Interrupted,
}

impl Refusal {
    /// Its name in JSON.
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::NotAtSender(_) => "not-at-sender",
            Self::NoHandshake => "no-handshake",
            Self::TooLittle { .. } => "too-little",
            Self::TwoWay { .. } => "two-way",
            Self::Shared { .. } => "shared",
            Self::Gaps(_) => "gaps",
            Self::LostSyns(_) => "lost-syns",
            Self::Marked(_) => "ecn-marks",
            Self::Disturbed(_) => "disturbed",
            Self::NotModelled { .. } => "not-modelled",
            Self::RateUnknown => "rate-unknown",
            Self::NoRtt => "no-rtt",
            Self::TooManyLosses => "too-many-losses",
            Self::BurstyLoss { .. } => "bursty-loss",
            Self::LossUnclear => "loss-unclear",
            Self::NoSack => "no-sack",
            Self::NoScenario(_) => "no-scenario",
            Self::Differs(_) => "differs",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What differs between the capture and the simulated transfer, beyond its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Difference {
    /// The rate.
    Rate {
        /// In the capture.
        captured: Rate,
        /// In the simulation.
        simulated: Rate,
    },
    /// The mean RTT.
    MeanRtt {
        /// In the capture.
        captured: Duration,
        /// In the simulation.
        simulated: Duration,
    },
    /// The share of segments that were retransmitted, 0 to 1.
    Retransmitted {
        /// In the capture.
        captured: f64,
        /// In the simulation.
        simulated: f64,
    },
    /// SACK blocks, those of data that came twice left out.
    Sacked {
        /// In the capture.
        captured: u64,
        /// In the simulation.
        simulated: u64,
    },
    /// The share of the time under a limit, 0 to 1.
    Limit {
        /// The limit.
        limit: Limit,
        /// In the capture.
        captured: f64,
        /// In the simulation.
        simulated: f64,
    },
    /// The pace at which ACKs came, over the spread of trains.
    Pace {
        /// By which factor, less 1, on average.
        off: f64,
    },
    /// With losses by chance, no seed has the capture's rate within its range.
    Chance {
        /// In the capture.
        captured: Rate,
        /// The lowest of the simulated ones.
        low: Rate,
        /// The highest.
        high: Rate,
    },
}
