//! Real transfers in network namespaces over an emulated path, with the truth about them.

pub mod case;
pub mod cases;
pub mod check;
pub mod clock;
pub mod counters;
pub mod error;
pub mod frame;
pub mod namespaces;
pub mod path;
pub mod relay;
pub mod run;
pub mod samples;
pub mod scratch;
pub mod signals;
pub mod tcp_info;
pub mod testbed;
pub mod truth;
pub mod vlan;
pub mod watch;
pub mod wire;
pub mod workload;
