//! A host.

pub mod schedule;
