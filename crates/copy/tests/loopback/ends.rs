//! Both ends on this host, over loopback.

use slowpath_copy::CopyError;
use slowpath_copy::hints::Hints;
use slowpath_copy::place::Place;
use slowpath_copy::protocol::Tuning;
use slowpath_copy::real::far::Server;
use slowpath_copy::real::near::{Wanted, copy};
use slowpath_copy::report::Report;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tempfile::TempDir;

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A folder for the near end, and one that a far end serves.
pub struct Ends {
    pub near: TempDir,
    pub far: TempDir,
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ends {
    pub fn new() -> Self {
        let (near, far) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let server =
            Server::bind(([127, 0, 0, 1], 0).into(), far.path(), TOKEN.as_bytes()).expect("it listens");
        let address = server.address().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(&|| stops.load(Ordering::Relaxed), &|_, _| ()));
        Self { near, far, address, stop, thread: Some(thread) }
    }

    pub fn served(&self, path: &str) -> Place {
        Place::Served { host: self.address.ip().to_string(), port: self.address.port(), path: path.into() }
    }

    pub fn here(&self, path: &str) -> PathBuf {
        self.near.path().join(path)
    }

    pub fn there(&self, path: &str) -> PathBuf {
        self.far.path().join(path)
    }

    pub fn wanted(&self, source: Place, destination: Place) -> Wanted {
        Wanted {
            source,
            destination,
            force: false,
            tuning: Tuning::Kernel,
            congestion: String::new(),
            streams: None,
            port: 0,
            ssh: "ssh".to_owned(),
            far_program: "slowpath".to_owned(),
            token: TOKEN.as_bytes().to_vec(),
            hints: Hints::default(),
        }
    }

    pub fn put(&self, here: &str, there: &str) -> Result<Report, CopyError> {
        run(&self.wanted(Place::Here(self.here(here)), self.served(there)))
    }

    pub fn get(&self, there: &str, here: &str) -> Result<Report, CopyError> {
        run(&self.wanted(self.served(there), Place::Here(self.here(here))))
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

pub fn run(wanted: &Wanted) -> Result<Report, CopyError> {
    copy(wanted, &|| false, &mut |_| (), &|_| ())
}

/// Bytes that no block has twice.
pub fn contents(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// What a folder has, but for empty folders: path and contents.
pub fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn add(folder: &Path, below: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                add(&path, below, found);
            } else {
                let name = path.strip_prefix(below).expect("below").to_owned();
                found.push((name, fs::read(&path).expect("a file")));
            }
        }
    }
    let mut found = Vec::new();
    add(folder, folder, &mut found);
    found.sort();
    found
}
