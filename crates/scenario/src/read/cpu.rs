//! CPU pinning.

use crate::schema::{Describe, Reader};

/// Checks that the CPU that something is pinned to is one of the host's.
pub fn check(reader: &Reader<'_>, key: &dyn Describe, cpu: Option<u32>, cpus: u32) {
    if let Some(cpu) = cpu
        && cpu >= cpus
    {
        reader.refuse(key, format!("there is no CPU {cpu}"), format!("this host has {cpus}, counted from 0"));
    }
}
