//! The windows that one end advertises.

use slowpath_model::Instant;

/// The windows one end advertised.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowStats {
    pub current: u32,
    pub min: Option<u32>,
    pub max: u32,
    pub sum: u64,
    pub count: u64,
    pub zero_count: u64,
    /// In nanoseconds.
    pub zero_time: i64,
    zero_since: Option<Instant>,
}

impl WindowStats {
    #[inline(always)]
    pub fn saw(&mut self, at: Instant, window: u32) {
        self.sum += u64::from(window);
        self.count += 1;
        if window > 0 && window == self.current {
            return;
        }
        self.changes(at, window);
    }

    /// The window is another one, or closed.
    #[inline(never)]
    fn changes(&mut self, at: Instant, window: u32) {
        self.current = window;
        if window > 0 {
            self.min = Some(self.min.map_or(window, |min| min.min(window)));
            self.close(at);
        } else if self.zero_since.is_none() {
            self.zero_since = Some(at);
            self.zero_count += 1;
        }
        self.max = self.max.max(window);
    }

    /// Ends a period of zero window, if there is one.
    pub fn close(&mut self, at: Instant) {
        if let Some(since) = self.zero_since.take() {
            self.zero_time += at.nanos_since(since);
        }
    }
}
