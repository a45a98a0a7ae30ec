//! Scenario files: hosts, paths and flows, checked before anything runs.
//!
//! - [`scenario`]: a run with everything filled in, which is what the simulator and the lab work from.
//! - [`host`], [`path`], [`flow`], [`record`]: its parts.
//! - [`costs`]: what the kernel's work costs, by machine.

pub mod costs;
pub mod flow;
pub mod host;
pub mod path;
pub mod record;
pub mod scenario;

pub use costs::{Cost, CostTable};
pub use flow::{Bulk, Flow, Messages, Pause, Process, RequestResponse, SocketOptions, Workload};
pub use host::{Host, Load, LoadKind, Nic};
pub use path::Path;
pub use record::Record;
pub use scenario::{HostId, PathId, Scenario};
