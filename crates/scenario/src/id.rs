//! The ids by which parts of a scenario refer to each other.

/// The index of a host in [`Scenario::hosts`](crate::Scenario::hosts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub usize);

/// The index of a path in [`Scenario::paths`](crate::Scenario::paths).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub usize);
