//! Hosts, their kernels and the paths between them, simulated event by event.

pub mod agenda;
pub mod host;
