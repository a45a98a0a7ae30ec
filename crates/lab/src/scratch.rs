//! A folder for the raw captures of a run, removed at its end.

use crate::error::LabError;
use crate::namespaces;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A private folder, removed when this value is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Removes what dead runs left, then creates a new folder.
    ///
    /// # Errors
    /// If the folder for temporary files cannot be written to.
    pub fn create() -> Result<Self, LabError> {
        remove_where(namespaces::is_left);
        let name = format!("{}{}", namespaces::own_prefix(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).map_err(LabError::file(&path))?;
        Ok(Self(path))
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is found at the next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes every folder that this process has created; for the thread that waits for signals.
pub fn remove_all() {
    let own = namespaces::own_prefix();
    remove_where(|name| name.starts_with(&own));
}

fn remove_where(unwanted: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&unwanted) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
