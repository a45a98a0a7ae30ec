//! Flushing the parameter cache of a host: what its kernel keeps of earlier connections to a destination.

use crate::clock;
use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::{Namespaces, Place};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A host's parameter cache is flushed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flush {
    /// Whose.
    pub host: Host,
    /// When, after the workload's start.
    pub after_ns: u64,
}

/// How often a waiting thread checks whether the run is over.
const CHECKED_EVERY: Duration = Duration::from_millis(20);

/// Flushes the parameter caches of both hosts.
///
/// # Errors
/// If `ip` fails.
pub fn parameter_caches(namespaces: &Namespaces) -> Result<(), LabError> {
    Host::BOTH.into_iter().try_for_each(|host| parameter_cache(namespaces, host))
}

fn parameter_cache(namespaces: &Namespaces, host: Host) -> Result<(), LabError> {
    namespaces.ip(Place::from(host), "tcp_metrics flush")
}

/// Flushes at all the times, counted from `start_ns` (monotonic), until `stop` is set.
///
/// # Errors
/// If `ip` fails.
pub fn at_times(
    namespaces: &Namespaces,
    flushes: &[Flush],
    start_ns: u64,
    stop: &AtomicBool,
) -> Result<(), LabError> {
    let mut flushes = flushes.to_vec();
    flushes.sort_by_key(|flush| flush.after_ns);
    for flush in flushes {
        let due_ns = start_ns.saturating_add(flush.after_ns);
        while clock::monotonic_ns() < due_ns {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let left = Duration::from_nanos(due_ns.saturating_sub(clock::monotonic_ns()));
            std::thread::sleep(left.min(CHECKED_EVERY));
        }
        parameter_cache(namespaces, flush.host)?;
    }
    Ok(())
}
