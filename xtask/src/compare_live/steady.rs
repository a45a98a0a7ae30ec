//! Whether the machine's CPUs were available during a comparison.

use slowpath_lab::lateness::{LatenessWatch, StolenWatch};
use slowpath_scenario::Scenario;
use std::fmt;
use std::time::Duration;

/// How late a CPU may be for a disagreement to count: about half a tick.
const STEADY: Duration = Duration::from_millis(2);
/// Largest share of CPU time taken away (steal) of a steady run.
const STEADY_SHARE: f64 = 0.005;

/// Watches whether the machine's CPUs are available when they are wanted.
pub enum Watch {
    Lateness(LatenessWatch),
    Stolen(StolenWatch),
}

/// How late they were.
#[derive(Clone, Copy)]
pub enum Late {
    By(Duration),
    Stolen(f64),
}

impl Watch {
    /// If the scenario has load, this does not touch scheduling: that is what the scenario is about.
    pub fn start(scenario: &Scenario) -> Self {
        if scenario.hosts.iter().any(|host| !host.load.is_empty()) {
            Self::Stolen(StolenWatch::start())
        } else {
            Self::Lateness(LatenessWatch::start())
        }
    }

    pub fn finish(self) -> Late {
        match self {
            Self::Lateness(watch) => Late::By(watch.finish()),
            Self::Stolen(watch) => Late::Stolen(watch.finish()),
        }
    }
}

impl Late {
    pub fn is_steady(self) -> bool {
        match self {
            Self::By(late) => late < STEADY,
            Self::Stolen(share) => share < STEADY_SHARE,
        }
    }

    pub fn or_less(self, other: Self) -> Self {
        match (self, other) {
            (Self::By(one), Self::By(other)) => Self::By(one.min(other)),
            (Self::Stolen(one), Self::Stolen(other)) => Self::Stolen(one.min(other)),
            _ => other,
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(late) => write!(f, "a CPU was late by {late:?}"),
            Self::Stolen(share) => write!(f, "{:.1} % of the CPUs' time was taken away", share * 100.0),
        }
    }
}
