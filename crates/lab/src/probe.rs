//! The kernel's view of a run: the probe's records of the sockets on both hosts, stored as they arrive.

use crate::background::Background;
use crate::error::LabError;
use slowpath_live::{BpfError, EVERY, Filter, Live, LiveError};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// Runs on a thread of its own.
pub struct Probe(Background<Result<(), LiveError>>);

impl Probe {
    /// Starts watching the sockets of these network namespaces, or of all if none is named, and writing the records to
    /// a file, if one is given, that `slowpath_live` replays.
    ///
    /// # Errors
    /// Inside, why this kernel or the missing privilege prevents it; else if the file cannot be created.
    pub fn start(netns: &[u32], into: Option<&Path>) -> Result<Result<Self, LiveError>, LabError> {
        let filter = Filter::of_netns(netns);
        let create = |path| File::create(path).map(BufWriter::new).map_err(LabError::file(path));
        let out = into.map(create).transpose()?;
        let (tell, told) = mpsc::channel();
        // Its parts must not be moved between threads.
        let probe = Self(Background::start(move |stop| {
            let mut live = Live::start(filter)?;
            if let Some(out) = out {
                live.record(Box::new(out))?;
            }
            let _ = tell.send(());
            watch(live, stop)
        }));
        // A thread that could not start has hung up.
        Ok(if told.recv().is_err() {
            Err(probe.finish().err().unwrap_or(LiveError::Bpf(BpfError::BadObject)))
        } else {
            Ok(probe)
        })
    }

    /// Stops watching; the file is complete.
    ///
    /// # Errors
    /// If the kernel did not answer, or the file could not be written.
    pub fn finish(self) -> Result<(), LiveError> {
        self.0.finish().unwrap_or(Err(LiveError::Bpf(BpfError::BadObject)))
    }
}

fn watch(mut live: Live, stop: &AtomicBool) -> Result<(), LiveError> {
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(EVERY);
        live.tell(&mut ())?;
    }
    live.finish(&mut ()).map(drop)
}
