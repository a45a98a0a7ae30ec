//! The files that a run writes, one for each host.

use crate::Error;
use slowpath_files::{Existing, create_output};
use slowpath_recording::about::Side;
use slowpath_recording::{About, Writer};
use slowpath_scenario::{HostId, Record, Scenario};
use slowpath_simulator::pcapng::Pcapng;
use slowpath_simulator::{Observer, Sight, Tap, Wants};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file and its name.
struct Written {
    path: PathBuf,
    file: File,
}

impl Written {
    fn create(folder: &Path, name: &str, existing: Existing) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let path = folder.join(name);
        let file = create_output(&path, existing)?;
        Ok(Self { path, file })
    }

    /// Writes what the buffer holds and empties it.
    fn write(&mut self, buffer: &mut Vec<u8>) -> Result<(), Error> {
        self.file.write_all(buffer).map_err(Error::file(&self.path))?;
        buffer.clear();
        Ok(())
    }
}

/// A host's packets, written as pcapng.
pub struct Capture {
    encoder: Pcapng,
    file: Written,
}

impl Capture {
    pub fn flush(&mut self) -> Result<(), Error> {
        self.file.write(self.encoder.buffer())
    }
}

impl Observer for Capture {
    fn packet(&mut self, sight: &Sight<'_>) {
        self.encoder.packet(sight);
    }
}

/// A host's name as a file name: a scenario cannot name a file in another folder.
fn file_name(host: &str) -> Result<&str, Error> {
    let is_name = Path::new(host).file_name().is_some_and(|name| name == host);
    if is_name { Ok(host) } else { Err(Error::NoFileName(host.to_owned())) }
}

/// A capture for each recorded host.
pub fn captures(folder: &Path, scenario: &Scenario, existing: Existing) -> Result<Vec<Capture>, Error> {
    let capture = |host: &HostId| {
        let name = &scenario.host(*host).name;
        let file = Written::create(folder, &format!("{}.pcapng", file_name(name)?), existing)?;
        Ok(Capture { encoder: Pcapng::new(*host, name), file })
    };
    scenario.record.hosts.iter().map(capture).collect()
}

/// A recording of events for each recorded host, in a folder of its name.
pub fn records(folder: &Path, scenario: &Scenario) -> Result<Vec<Tap<Writer>>, Error> {
    let Record { packets, calls, waits, marks, samples, .. } = scenario.record;
    let wants = Wants { calls, waits, marks, drops: packets, samples };
    let main = scenario.vantage();
    let record = |host: &HostId| {
        let name = &scenario.host(*host).name;
        let about = About {
            source: "simulated".to_owned(),
            title: scenario.title.clone(),
            host: name.clone(),
            seed: Some(scenario.seed),
            side: side(scenario, *host),
            main: *host == main,
        };
        let writer = Writer::create(&folder.join(file_name(name)?), about)?;
        Ok(Tap::new(*host, writer).reporting(packets, wants))
    };
    scenario.record.hosts.iter().map(record).collect()
}

/// The side of a host, if it is the same in all flows.
pub fn side(scenario: &Scenario, host: HostId) -> Option<Side> {
    let flows = || scenario.flows.iter().filter(|flow| [flow.client, flow.server].contains(&host));
    let sends = flows().filter(|flow| flow.sender_host() == host).count();
    match sends {
        0 => Some(Side::Receiver),
        all if all == flows().count() => Some(Side::Sender),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn host_names_cannot_leave_the_folder() {
        for host in ["", ".", "..", "/etc/passwd", "../up", "a/b", "a/", "a/.."] {
            assert!(file_name(host).is_err(), "{host:?}");
        }
        assert!(file_name("sender").is_ok() && file_name("..a").is_ok());
    }
}
