//! A log that a flood of events does not flood.

use slowpath_model::units::counted;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines in a second. Further ones are counted.
const MOST_LINES: u64 = 10;
const SECOND: Duration = Duration::from_secs(1);

/// How many lines of a log there were in this second.
#[derive(Default)]
pub struct Lines {
    since: Option<Instant>,
    count: u64,
}

impl Lines {
    /// Whether one more line is shown.
    pub fn shows(&mut self) -> bool {
        self.count += 1;
        self.count <= MOST_LINES
    }

    /// Begins the next second, if it has come. Returns a line about what was not shown in the last one.
    pub fn summary(&mut self, now: Instant) -> Option<String> {
        if self.since.is_some_and(|since| now < since + SECOND) {
            return None;
        }
        self.since = Some(now);
        self.rest()
    }

    /// A line about what was not shown until now.
    pub fn rest(&mut self) -> Option<String> {
        let more = std::mem::take(&mut self.count).saturating_sub(MOST_LINES);
        (more > 0).then(|| format!("… and {} about clients within a second", counted(more, "more line")))
    }
}

/// The lines of a server, whose threads report at once.
pub struct Log<'a> {
    lines: Mutex<Lines>,
    say: &'a (dyn Fn(&str) + Sync),
}

impl<'a> Log<'a> {
    /// An empty log, of which `say` gets the lines.
    pub fn new(say: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self { lines: Mutex::default(), say }
    }

    /// Nobody waits for this lock until a line is printed.
    fn lines(&self) -> MutexGuard<'_, Lines> {
        // A thread that panicked has left only counts.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints how many lines the last second left out, once it is over.
    pub fn summary(&self) {
        let summary = self.lines().summary(Instant::now());
        summary.into_iter().for_each(|line| (self.say)(&line));
    }

    /// Prints a line, unless there are too many.
    pub fn line(&self, line: impl FnOnce() -> String) {
        self.summary();
        let is_shown = self.lines().shows();
        if is_shown {
            (self.say)(&line());
        }
    }

    /// Prints how many lines were left out at the end.
    pub fn end(&self) {
        let rest = self.lines().rest();
        rest.into_iter().for_each(|line| (self.say)(&line));
    }
}

/// Where a server listens, in words.
pub fn listening(at: SocketAddr) -> String {
    let whom = if at.ip().is_loopback() { " (this host only; --listen takes another address)" } else { "" };
    format!("{at}{whom}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_lines_is_shown_in_part_and_counted() {
        let (mut lines, begin) = (Lines::default(), Instant::now());
        let after = |tenths: u32| begin + SECOND / 10 * tenths;
        assert_eq!(lines.summary(begin), None);
        let shown = (0..MOST_LINES + 1234).filter(|_| lines.shows()).count();
        assert_eq!((shown as u64, lines.summary(after(9))), (MOST_LINES, None));
        let summary = lines.summary(after(10));
        assert_eq!(summary.as_deref(), Some("… and 1,234 more lines about clients within a second"));
        assert!(lines.shows() && lines.summary(after(19)).is_none() && lines.summary(after(20)).is_none());
        let shown = (0..=MOST_LINES).filter(|_| lines.shows()).count();
        assert_eq!(shown as u64, MOST_LINES);
        assert_eq!(lines.rest().as_deref(), Some("… and 1 more line about clients within a second"));
        assert_eq!(lines.rest(), None);
    }
}
