//! Streams that begin when others have ended.

use super::Follows;
use super::end::Surroundings;
use crate::clock;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a waiting stream checks whether the run is over.
const CHECKED_EVERY: Duration = Duration::from_millis(50);

/// The ends of streams: who waits for them learns when both processes have ended.
pub(super) struct Sequence {
    /// By stream: its processes that have not ended.
    running: Mutex<Vec<u8>>,
    changed: Condvar,
}

impl Sequence {
    /// This many streams, with two processes each.
    pub fn new(streams: usize) -> Self {
        Self { running: Mutex::new(vec![2; streams]), changed: Condvar::new() }
    }

    /// A process of a stream, which ends when the value is dropped.
    pub fn process(&self, stream: usize) -> Running<'_> {
        Running { sequence: self, stream }
    }

    /// Waits until the streams have ended, and returns that instant of [`clock::monotonic_ns`]; `None` if it was time
    /// to stop first.
    pub fn wait_for(&self, follows: Follows, around: Surroundings) -> Option<u64> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let streams = running.iter().skip(follows.first).take(follows.count);
            if streams.copied().all(|processes| processes == 0) {
                return Some(clock::monotonic_ns());
            }
            if clock::monotonic_ns() >= around.until(u64::MAX) {
                return None;
            }
            let waited = self.changed.wait_timeout(running, CHECKED_EVERY);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A process of a stream that has not ended.
pub(super) struct Running<'a> {
    sequence: &'a Sequence,
    stream: usize,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = self.sequence.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(processes) = running.get_mut(self.stream) {
            *processes = processes.saturating_sub(1);
        }
        self.sequence.changed.notify_all();
    }
}
