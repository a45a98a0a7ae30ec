//! Reads a scenario like a recording: it is simulated while it is read.

use crate::Error;
use crate::file::{self, Changes};
use slowpath_simulator::pcapng::Pcapng;
use slowpath_simulator::{Progress, Simulation};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// Simulated time per step; the packets of a step are held in memory.
const STRETCH: Duration = Duration::from_millis(20);

/// The recording that a run's sending host would make.
pub struct Simulated {
    simulation: Simulation,
    encoder: Pcapng,
    progress: Progress,
    /// Bytes of the encoder's buffer that have been read.
    read: usize,
}

impl Simulated {
    /// Loads the scenario of a file, without overrides.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let scenario = file::load(path, &Changes::default())?;
        let host = scenario.vantage();
        let encoder = Pcapng::new(host, &scenario.host(host).name);
        let simulation = Simulation::new(&scenario);
        Ok(Self { simulation, encoder, progress: Progress::Running, read: 0 })
    }
}

impl Read for Simulated {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.read == self.encoder.buffer().len() {
            if self.progress == Progress::Finished {
                return Ok(0);
            }
            self.encoder.buffer().clear();
            self.read = 0;
            let until = self.simulation.now() + STRETCH;
            self.progress = self.simulation.run_until(until, &mut self.encoder);
        }
        let waiting = &self.encoder.buffer()[self.read..];
        let length = waiting.len().min(to.len());
        to[..length].copy_from_slice(&waiting[..length]);
        self.read += length;
        Ok(length)
    }
}
