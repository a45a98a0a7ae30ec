//! This host's connections as metrics: counters that never decrease, with a bounded number of labels.
//!
//! # Decisions
//!
//! **What is counted lives here, not in the connections.** A connection that ends leaves its counts in its group.
//!
//! **Series are bounded before names are.** Names of processes and control groups are foreign, and a hostile host can
//! have any number of them. Connections that would need a series too many count under `other`, so that sums over all
//! labels stay right; how many they were is a metric.
//!
//! **No time is counted twice.** A hold that goes on is counted while it lasts, and taken off the report that comes
//! later, as on the screen.

mod encode;
mod families;
mod groups;
mod host;
mod labels;
mod places;
mod totals;

pub use encode::{Exported, Format};
pub use families::{FAMILIES, Family, Kind, sample_names};
pub use groups::Group;
pub use host::{HostTotals, tcp_bytes, tcp_limits};
pub use labels::{BadLabel, BadPrefixes, LABELS, Label, Prefixes};
pub use places::{Lost, PATIENCE, Place};
pub use totals::{Connection, Labelling, SERIES, Totals};
