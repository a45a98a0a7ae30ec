//! Who watches a run: the analysis, and the files that are written of it.

use super::files::{Capture, Lines};
use slowpath_analyses::Analysis;
use slowpath_simulator::{Observer, Sight, Tap};

/// All that watch a run.
pub struct Watchers {
    pub analysis: Tap<Analysis>,
    pub pcaps: Vec<Capture>,
    pub records: Vec<Tap<Lines>>,
}

impl Watchers {
    pub fn new(analysis: Tap<Analysis>) -> Self {
        Self { analysis, pcaps: Vec::new(), records: Vec::new() }
    }

    /// Hands what was written to the system, in whole blocks and lines, so that whatever comes they can be read.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.pcaps.iter_mut().try_for_each(Capture::flush)?;
        self.records.iter_mut().try_for_each(|record| record.sink_mut().flush())
    }

    /// The run is over.
    pub fn finish(mut self) -> anyhow::Result<Analysis> {
        self.flush()?;
        for record in self.records {
            record.finish().flush()?;
        }
        Ok(self.analysis.finish())
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
}
