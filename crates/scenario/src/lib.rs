//! Scenario files: hosts, paths and flows, checked before anything runs.
//!
//! [`check`] turns a file's text into a [`Scenario`] in which nothing is left to decide, or says everything that is wrong
//! with it. What a file may hold is declared once, key by key, in [`read`]; the errors, the defaults and
//! the reference page all come from there, and what a view explains of a run.
//!
//! - [`scenario`]: a run with everything filled in, which is what the simulator and the lab work from.
//! - [`host`], [`path`], [`flow`], [`record`]: its parts.
//! - [`sweep`]: the runs that are made of one scenario, each with other values.
//! - [`costs`], [`machines`]: what the kernel's work costs, by machine.
//! - [`mod@file`], [`schema`], [`read`]: from text to a scenario.
//! - [`estimate`]: what a run will need.
//! - [`reference`](mod@reference), [`template`]: what people read.

pub mod costs;
pub mod estimate;
pub mod file;
pub mod flow;
pub mod host;
pub mod id;
pub mod machines;
pub mod path;
pub mod read;
pub mod record;
pub mod reference;
pub mod scenario;
pub mod schema;
pub mod sweep;
pub mod template;

pub use costs::{Cost, CostTable};
pub use estimate::Estimate;
pub use file::{Override, Rejected};
pub use flow::{
    Bulk, DATAGRAM_HEADERS, Datagrams, Flow, Messages, Pause, Process, RequestResponse, SocketOptions,
    Workload,
};
pub use host::{Affinity, Class, Host, Load, LoadKind, Nic, Priority};
pub use id::{HostId, PathId};
pub use path::Path;
pub use read::{Checked, check};
pub use record::Record;
pub use scenario::Scenario;
pub use sweep::{Sweep, SweepCase, Vary};
