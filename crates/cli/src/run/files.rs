//! The files that a run writes: one for each host.

use anyhow::Context;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_scenario::{HostId, Scenario};
use slowpath_simulator::pcapng::Pcapng;
use slowpath_simulator::{Observer, Sight, Tap};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file and its name.
struct Written {
    path: PathBuf,
    file: File,
}

impl Written {
    fn create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(name);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        Ok(Self { path, file })
    }

    /// Writes what the buffer holds and empties it.
    fn write(&mut self, buffer: &mut Vec<u8>) -> anyhow::Result<()> {
        self.file.write_all(buffer).with_context(|| self.path.display().to_string())?;
        buffer.clear();
        Ok(())
    }
}

/// A host's wire, as pcapng.
pub struct Capture {
    encoder: Pcapng,
    file: Written,
}

impl Capture {
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.file.write(self.encoder.buffer())
    }
}

impl Observer for Capture {
    fn packet(&mut self, sight: &Sight<'_>) {
        self.encoder.packet(sight);
    }
}

/// A capture of each host that is recorded.
pub fn captures(folder: &Path, scenario: &Scenario) -> anyhow::Result<Vec<Capture>> {
    let capture = |host: &HostId| {
        let name = &scenario.host(*host).name;
        let file = Written::create(folder, &format!("{name}.pcapng"))?;
        Ok(Capture { encoder: Pcapng::new(*host, name), file })
    };
    scenario.record.hosts.iter().map(capture).collect()
}

/// A host's events, one a line behind the number of its flow.
pub struct Lines {
    buffer: Vec<u8>,
    file: Written,
}

impl Lines {
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.file.write(&mut self.buffer)
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        self.buffer.extend(format!("{text}\n").as_bytes());
    }
}

impl Sink for Lines {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.line(format_args!("# flow {flow}: {key}"));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.line(format_args!("{flow} {event}"));
    }
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}

/// The events of each host that is recorded.
pub fn records(folder: &Path, scenario: &Scenario) -> anyhow::Result<Vec<Tap<Lines>>> {
    let record = |host: &HostId| {
        let name = &scenario.host(*host).name;
        let file = Written::create(folder, &format!("{name}.events"))?;
        Ok(Tap::new(*host, Lines { buffer: Vec::new(), file }))
    };
    scenario.record.hosts.iter().map(record).collect()
}
