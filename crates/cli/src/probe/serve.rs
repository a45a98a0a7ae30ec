//! `slowpath probe --serve`: the far end.

use crate::Outcome;
use crate::console;
use crate::interrupt::Interrupt;
use slowpath_model::units::{counted, duration_text};
use slowpath_model::{Rate, shown};
use slowpath_probe::real::{Caps, Happened, Server};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines in a second. What is more is counted.
const MOST_LINES: u64 = 10;
const SECOND: Duration = Duration::from_secs(1);

pub fn run(listen: SocketAddr, rate: Rate, duration: Duration) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let server = Server::bind(listen, Caps { rate, duration })?;
    let at = server.address()?;
    let whom = if at.ip().is_loopback() { " (this host only; --listen takes another address)" } else { "" };
    say(&format!("Listening on {at}{whom}, up to {rate} for {}. Ctrl-C stops it.", duration_text(duration)));
    let lines = Mutex::new(Lines::default());
    // A thread that panicked has left only counts.
    let lines = || lines.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody waits for this lock until a line is printed.
    let summary = || {
        let summary = lines().summary(Instant::now());
        summary.into_iter().for_each(|line| say(&line));
    };
    let report = |happened: Happened<'_>| {
        summary();
        let is_shown = lines().shows();
        match happened {
            _ if !is_shown => {}
            Happened::Began(client) => say(&format!("{client}: session started")),
            Happened::Ended(client) => say(&format!("{client}: session ended")),
            Happened::Broke(client, error) => say(&format!("{client}: {error}")),
        }
    };
    let stop = || {
        summary();
        interrupt.has_come()
    };
    server.run(&stop, &report)?;
    let rest = lines().rest();
    rest.into_iter().for_each(|line| say(&line));
    Ok(Outcome::Whole)
}

/// Prints a line; a closed standard output does not stop the server.
fn say(line: &str) {
    let _ = console::print(format!("{}\n", shown::line(line)).as_bytes());
}

/// How many lines there were in this second.
#[derive(Default)]
struct Lines {
    since: Option<Instant>,
    count: u64,
}

impl Lines {
    /// Whether one more line is shown.
    fn shows(&mut self) -> bool {
        self.count += 1;
        self.count <= MOST_LINES
    }

    /// Begins the next second, if it has come. Returns a line about what was not shown in the last one.
    fn summary(&mut self, now: Instant) -> Option<String> {
        if self.since.is_some_and(|since| now < since + SECOND) {
            return None;
        }
        self.since = Some(now);
        self.rest()
    }

    /// A line about what was not shown until now.
    fn rest(&mut self) -> Option<String> {
        let more = std::mem::take(&mut self.count).saturating_sub(MOST_LINES);
        (more > 0).then(|| format!("… and {} about clients within a second", counted(more, "more line")))
    }
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
