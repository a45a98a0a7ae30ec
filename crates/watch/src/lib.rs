//! What limits this host's transfers now: a full screen, refreshed each second, or metrics for a monitoring system.
//!
//! # Decisions
//!
//! **The screen is a pure function of reports and keys.** [`Flows`] takes in what each connection did in an interval and
//! keeps the last seconds of each; [`Screen`] has the state that keys change, and draws. Only [`run`] and [`export`] touch
//! the system: they read the probe ten times a second, or less often if that takes more than a fortieth of the time, and
//! the terminal, or serve what is asked.
//!
//! **Time is of the last seconds.** The accounts of connections begin anew with each interval
//! (`Hosts::next_interval`), but keep what tells causes apart. A hold that goes on without a segment is in no report
//! until the next segment; it is shown at once, and taken off that report.
//!
//! **Memory is bounded.** A connection costs its last seconds only, and is forgotten when it has ended. Of the last ten
//! minutes, the rows that lost most are kept.
//!
//! **A letter for each tenth of the time**, as in the tables of `diagnose`, with or without colour.

mod cgroup;
mod cgroups;
mod error;
mod export;
mod figures;
mod flows;
mod host;
pub mod metrics;
mod real;
mod reports;
mod screen;
mod source;

pub use cgroup::Cgroup;
pub use error::WatchError;
pub use export::{Exporting, export};
pub use figures::{Figures, WINDOW};
pub use flows::{FlowNow, Flows, Focus, Interval, Key, Moment, Numbers, Row, Unit};
pub use host::HostNow;
pub use real::{Wishes, run};
pub use screen::{Screen, Theme};
