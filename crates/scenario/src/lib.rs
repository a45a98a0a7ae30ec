//! Scenario files: hosts, paths and flows, checked before anything runs.
//!
//! [`check`] turns a file's text into a complete [`Scenario`], or returns all its errors. Each key of a file is
//! declared once, in [`read`]; the errors, the defaults, the reference page, and a view's explanation of a run are
//! generated from that.
//!
//! - [`scenario`]: a run with every value set, the input of the simulator and the lab.
//! - [`host`], [`path`], [`flow`], [`record`]: its parts.
//! - [`sweep`]: the runs made from one scenario with different values.
//! - [`costs`], [`machines`]: CPU costs of the kernel's work, by machine.
//! - [`mod@file`], [`schema`], [`read`]: from text to a scenario.
//! - [`estimate`]: the needs of a run.
//! - [`reference`](mod@reference), [`template`]: documentation and a file to start from.

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
pub mod sysctl;
pub mod template;

pub use costs::{Cost, CostTable};
pub use estimate::Estimate;
pub use file::{Override, Rejected};
pub use flow::{
    Bulk, DATAGRAM_HEADERS, Datagrams, Flow, Messages, Pause, Process, RequestResponse, SocketOptions, Start,
    Workload,
};
pub use host::{Affinity, Bus, Class, Host, Load, LoadKind, Nic, Priority};
pub use id::{HostId, PathId};
pub use path::Path;
pub use read::{Checked, check};
pub use record::Record;
pub use scenario::Scenario;
pub use sweep::{Sweep, SweepCase, Vary};
