//! A path between two hosts.

use crate::id::HostId;
use slowpath_path::PathConfig;

/// A path between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its name in the file.
    pub name: String,
    /// The hosts that it connects; never the same twice.
    pub ends: [HostId; 2],
    /// From the first end to the second.
    pub forward: PathConfig,
    /// From the second end to the first.
    pub reverse: PathConfig,
}

impl Path {
    /// The direction that begins at `from`; `None` if `from` is not an end of the path.
    pub fn direction(&self, from: HostId) -> Option<&PathConfig> {
        match self.ends {
            [first, _] if first == from => Some(&self.forward),
            [_, second] if second == from => Some(&self.reverse),
            _ => None,
        }
    }
}
