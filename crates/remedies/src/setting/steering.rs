//! Which CPUs handle the packets of a queue, and an interrupt.
//!
//! Reference: Documentation/networking/scaling.rst; `rps_dev_queue_show_map`, `xps_queue_show` (net/core/net-sysfs.c, 6.18).

use super::Unfit;
use super::cpus::{Cpus, number};

/// What steers the packets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steering {
    /// RPS: CPUs that share the packets of a receive queue.
    Rps,
    /// RFS: entries of the table by which packets follow the reader to its CPU.
    Rfs,
    /// XPS: CPUs that send by a transmit queue.
    Xps,
}

impl Steering {
    const ALL: [(Self, &'static str, &'static str); 3] =
        [(Self::Rps, "rps", "rps_cpus"), (Self::Rfs, "rfs", "rps_flow_cnt"), (Self::Xps, "xps", "xps_cpus")];

    /// Its name in a setting: `rps`.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, _)| *known == name).map(|(steering, ..)| steering)
    }

    /// The direction in the name of a queue's folder: `rx`.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Rps | Self::Rfs => "rx",
            Self::Xps => "tx",
        }
    }

    /// The file below `/sys`.
    pub fn file(self, device: &str, queue: u32) -> String {
        let (direction, file) = (self.direction(), Self::ALL[self as usize].2);
        format!("class/net/{device}/queues/{direction}-{queue}/{file}")
    }

    /// The number in the name of a queue: 0 of `rx-0`.
    pub(super) fn queue(self, name: &str) -> Option<u32> {
        number(name.strip_prefix(self.direction())?.strip_prefix('-')?)
    }

    /// What is written to the file for a value.
    pub fn written(self, value: &str) -> String {
        match (self, value.parse::<Cpus>()) {
            (Self::Rps | Self::Xps, Ok(cpus)) => cpus.mask(),
            _ => value.to_owned(),
        }
    }

    /// The value that the file's text stands for; `None` if the file has another form.
    pub fn shown(self, text: &str) -> Option<String> {
        match self {
            Self::Rps | Self::Xps => Cpus::from_mask(text).map(|cpus| cpus.to_string()),
            Self::Rfs => number(text.trim()).map(|count| count.to_string()),
        }
    }

    pub(super) fn check(self, value: &str) -> Result<(), Unfit> {
        if self != Self::Rfs {
            return value.parse::<Cpus>().map(drop);
        }
        // The kernel rounds others up, which would read back as another value.
        match number(value) {
            Some(count) if count == 0 || count.is_power_of_two() => Ok(()),
            _ => Err(Unfit(format!("\"{value}\" is not a number of flows; write 0 or a power of two"))),
        }
    }
}
