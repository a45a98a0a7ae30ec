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
    let watching = match Watching::start(wanted) {
        Err(error) if error.lacks_privilege() => {
            Watching::start(&Wanted { without_probe: true, ..wanted.clone() })?
        }
        other => other?,
    };
    let unseen = watching.unseen();
    Ok((watching, unseen))
}

/// When the kernel is read, and when an interval is over.
pub struct Pace {
    looked: Instant,
    began: Instant,
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let now = Instant::now();
        Self { looked: now, began: now, pause: EVERY }
    }
}

impl Pace {
    /// Reads the kernel, if it is time.
    pub fn look(&mut self, watching: &mut Watching) -> Result<(), Error> {
        if self.looked.elapsed() >= self.pause || self.began.elapsed() >= INTERVAL {
            self.looked = Instant::now();
            watching.look()?;
            self.pause = (self.looked.elapsed() * RARELY).clamp(EVERY, INTERVAL);
        }
        Ok(())
    }

    /// How long the interval lasted that is over now; `None` if it is not.
    pub fn interval(&mut self) -> Option<Duration> {
        let lasted = self.began.elapsed();
        (lasted >= INTERVAL && self.looked >= self.began + INTERVAL).then(|| {
            self.began = Instant::now();
            lasted
        })
    }

    /// Until the kernel is read next.
    pub fn left(&self) -> Duration {
        let pause = self.pause.saturating_sub(self.looked.elapsed());
        pause.min(INTERVAL.saturating_sub(self.began.elapsed()))
    }
}
