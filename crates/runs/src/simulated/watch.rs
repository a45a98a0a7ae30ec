//! The observers of a simulated run: the analysis, and the files that are written.

use super::files::Capture;
use crate::Error;
use crate::waits::Waiting;
use slowpath_analyses::Analysis;
use slowpath_analyses::picture::Pictures;
use slowpath_recording::{Ending, Writer};
use slowpath_simulator::{Observer, Occurrence, Sight, Tap, Wants};

/// The analysis of what the vantage host saw, with pictures if they are wanted.
pub type Drawn = Analysis<Option<Pictures>>;

/// The observers of a run.
pub struct Watchers {
    pub analysis: Tap<Drawn>,
    pub pcaps: Vec<Capture>,
    pub records: Vec<Tap<Writer>>,
    waiting: Waiting,
}

impl Watchers {
    pub fn new(analysis: Tap<Drawn>, waiting: Waiting) -> Self {
        Self { analysis, pcaps: Vec::new(), records: Vec::new(), waiting }
    }

    /// Writes complete blocks to the files, so that they can be read even if the program is killed.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.pcaps.iter_mut().try_for_each(Capture::flush)?;
        Ok(self.records.iter_mut().try_for_each(|record| record.sink_mut().check())?)
    }

    /// Finishes the analysis and the files when the run has ended or was stopped.
    pub fn finish(mut self, end: Ending) -> Result<(Drawn, Waiting), Error> {
        self.flush()?;
        for record in self.records {
            record.finish().finish(end)?;
        }
        Ok((self.analysis.finish(), self.waiting))
    }
}

impl Observer for Watchers {
    fn packet(&mut self, sight: &Sight<'_>) {
        self.analysis.packet(sight);
        for capture in &mut self.pcaps {
            capture.packet(sight);
        }
        for record in &mut self.records {
            record.packet(sight);
        }
    }

    fn wants(&self) -> Wants {
        let waits = Wants { waits: true, ..Wants::default() };
        self.records.iter().fold(waits, |wants, record| wants.or(record.wants()))
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        self.waiting.happened(occurrence.link.stream, &occurrence.kind);
        for record in &mut self.records {
            record.happened(occurrence);
        }
    }
}
