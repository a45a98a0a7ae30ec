//! This host's connections, and how often they are read.

use slowpath_live::EVERY;
use slowpath_runs::Error;
use slowpath_runs::watch::{Wanted, Watching};
use std::time::{Duration, Instant};

/// How long an interval is.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// Reading the kernel takes at most one part in so many of the time: with many connections, it is read less often.
const RARELY: u32 = 40;

/// Begins to watch, and lists what is not seen. If this process may not load the probe, the kernel is asked instead.
pub fn start(wanted: &Wanted<'_>) -> Result<(Watching, Vec<String>), Error> {
    let watching = Watching::start_as_possible(wanted)?;
    let unseen = watching.unseen();
    Ok((watching, unseen))
}

/// When the kernel is read, and when an interval is over.
pub struct Pace {
    looked: Instant,
    began: Instant,
    pause: Duration,
    longest: Duration,
}

impl Pace {
    /// Intervals last [`INTERVAL`], or up to `longest` if reading the kernel takes long.
    pub fn new(longest: Duration) -> Self {
        let now = Instant::now();
        Self { looked: now, began: now, pause: EVERY, longest }
    }

    /// Reads the kernel, if it is time.
    pub fn look(&mut self, watching: &mut Watching) -> Result<(), Error> {
        if self.left().is_zero() {
            self.looked = Instant::now();
            watching.look()?;
            self.pause = (self.looked.elapsed() * RARELY).clamp(EVERY, self.longest);
        }
        Ok(())
    }

    /// How long the interval lasted that is over now; `None` if it is not. The kernel was read at its end.
    pub fn interval(&mut self) -> Option<Duration> {
        let lasted = self.began.elapsed();
        let is_over = self.looked.saturating_duration_since(self.began) >= INTERVAL;
        is_over.then(|| {
            self.began = Instant::now();
            lasted
        })
    }

    /// Until the kernel is read next.
    pub fn left(&self) -> Duration {
        let pause = self.pause.saturating_sub(self.looked.elapsed());
        // At the end of an interval, unless that is too soon.
        let end = INTERVAL.saturating_sub(self.began.elapsed());
        if self.pause > INTERVAL { pause } else { pause.min(end) }
    }
}
