//! What is asked of a measurement, and what is measured for it.

use slowpath_model::Rate;
use slowpath_probe::findings::Wanted;
use slowpath_probe::measure::Direction;
use slowpath_probe::measure::ramp::Rates;
use std::time::Duration;

/// Rates in a ramp, unless asked for.
const STEPS: u32 = 11;
/// Duration of a TCP transfer, unless asked for.
const TRANSFER: Duration = Duration::from_secs(3);

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The RTT.
    Rtt,
    /// The rate of the bottleneck link.
    Capacity,
    /// The rate that other traffic leaves.
    Available,
    /// Loss at increasing rates of UDP.
    Ramp,
    /// A TCP transfer each way.
    Tcp,
}

/// What is asked for; what is not given has a default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// What to measure; everything if empty.
    pub measure: &'a [What],
    /// From the far end to this host.
    pub is_reversed: bool,
    /// The lowest and the highest rate of the ramp.
    pub ramp: Option<(Rate, Rate)>,
    /// The number of its rates.
    pub steps: Option<u32>,
    /// The duration of each TCP transfer.
    pub tcp: Option<Duration>,
}

/// An option is for a measurement that is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} needs {measurement} in --measure")]
pub struct Unneeded {
    option: &'static str,
    measurement: &'static str,
}

impl Asked<'_> {
    fn wants(&self, what: What) -> bool {
        self.measure.is_empty() || self.measure.contains(&what)
    }

    /// Refuses options for a measurement that is not made.
    ///
    /// # Errors
    ///
    /// The first of these options.
    pub fn check(&self) -> Result<(), Unneeded> {
        for (is_given, option, what, measurement) in [
            (self.ramp.is_some(), "--ramp", What::Ramp, "ramp"),
            (self.steps.is_some(), "--steps", What::Ramp, "ramp"),
            (self.tcp.is_some(), "--tcp", What::Tcp, "tcp"),
        ] {
            if is_given && !self.wants(what) {
                return Err(Unneeded { option, measurement });
            }
        }
        Ok(())
    }

    /// What is measured with packet trains.
    pub fn wanted(&self) -> Wanted {
        let steps = self.steps.unwrap_or(STEPS);
        Wanted {
            direction: if self.is_reversed { Direction::Back } else { Direction::There },
            // The search for the available rate starts from the capacity, and the default ramp ends above it.
            capacity: self.wants(What::Capacity)
                || self.wants(What::Available)
                || (self.wants(What::Ramp) && self.ramp.is_none()),
            available: self.wants(What::Available),
            ramp: self.wants(What::Ramp),
            rates: self.ramp.map(|(from, to)| Rates { from: from.get(), to: to.get(), steps }),
            steps,
        }
    }

    /// The duration of each TCP transfer; `None` for none.
    pub fn transfers(&self) -> Option<Duration> {
        self.wants(What::Tcp).then(|| self.tcp.unwrap_or(TRANSFER))
    }
}
