//! What is bound to a CPU.

use crate::schema::{Describe, Reader};

/// A CPU that something is bound to, if it is one of the host's.
pub fn check(reader: &Reader<'_>, key: &dyn Describe, cpu: Option<u32>, cpus: u32) {
    if let Some(cpu) = cpu
        && cpu >= cpus
    {
        reader.refuse(key, format!("there is no CPU {cpu}"), format!("this host has {cpus}, counted from 0"));
    }
}
