//! A folder for the raw captures of a run, removed at its end.
//!
//! It has a random name, belongs to this user alone (mode 0700) and is new, as mkdtemp(3) creates it, so that no
//! other user can create it first. This process holds a lock on it (flock(2)), which ends with the process. A folder without
//! a lock is what a killed run left, and the next run removes it.

use crate::error::LabError;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// A prefix that users do not give to folders of their own.
const PREFIX: &str = ".slowpath-scratch-";

/// The folders of this process, so that a signal can remove them.
static CREATED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A new folder, removed when this value is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Removes what killed runs left, then creates a new folder below `TMPDIR` (`/tmp`).
    ///
    /// # Errors
    /// If the folder for temporary files cannot be written to.
    pub fn create() -> Result<Self, LabError> {
        let parent = std::env::temp_dir();
        remove_leftovers(&parent);
        loop {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(&parent)
                .map_err(LabError::file(&parent))?;
            // Between its creation and its lock, another run may take it for a leftover.
            if let Some(lock) = lock(folder.path())
                && folder.path().exists()
            {
                if let Ok(mut created) = CREATED.lock() {
                    created.push(folder.path().to_owned());
                }
                return Ok(Self { folder, _lock: lock });
            }
        }
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(mut created) = CREATED.lock() {
            created.retain(|path| path != self.folder.path());
        }
    }
}

/// Removes every folder that this process has created; for the thread that waits for signals.
pub fn remove_all() {
    for path in CREATED.lock().map(|created| created.clone()).unwrap_or_default() {
        let _ = fs::remove_dir_all(path);
    }
}

/// A lock on a folder of this user; none if another process holds it, or if it is no folder or somebody else's.
fn lock(path: &Path) -> Option<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    // SAFETY: it has no arguments and cannot fail.
    let is_own = folder.metadata().ok()?.uid() == unsafe { libc::geteuid() };
    // SAFETY: the descriptor is open.
    let is_locked = is_own && unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    is_locked.then_some(folder)
}

fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && let Some(_lock) = lock(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Folders of an attacker, who knows every name but the random part.
    #[test]
    fn leftovers_are_removed_and_links_files_and_folders_in_use_are_not() {
        let parent = tempfile::tempdir().expect("a folder");
        let at = |name: &str| parent.path().join(name);
        let outside = tempfile::tempdir().expect("a folder");
        fs::write(outside.path().join("precious"), "").expect("a file");
        fs::create_dir(at(".slowpath-scratch-left")).expect("a folder");
        symlink(outside.path(), at(".slowpath-scratch-left/sender.pcap")).expect("a link in a leftover");
        symlink(outside.path(), at(".slowpath-scratch-link")).expect("a link");
        fs::write(at(".slowpath-scratch-file"), "").expect("a file");
        fs::create_dir(at(".slowpath-scratch-held")).expect("a folder");
        fs::create_dir(at("slowpath-results")).expect("a folder");
        let held = lock(&at(".slowpath-scratch-held")).expect("nobody else's");
        remove_leftovers(parent.path());
        assert!(!at(".slowpath-scratch-left").exists());
        for kept in
            [".slowpath-scratch-link", ".slowpath-scratch-file", ".slowpath-scratch-held", "slowpath-results"]
        {
            assert!(at(kept).exists(), "{kept}");
        }
        assert!(outside.path().join("precious").exists());
        drop(held);
        remove_leftovers(parent.path());
        assert!(!at(".slowpath-scratch-held").exists(), "its process is gone");
    }

    #[test]
    fn scratch_folder_is_private_and_removed() {
        let scratch = Scratch::create().expect("a folder");
        let folder = scratch.file("");
        assert_eq!(fs::metadata(&folder).expect("a folder").mode() & 0o777, 0o700);
        let second = Scratch::create().expect("another");
        assert!(folder.exists(), "a second run leaves it alone");
        assert_ne!(folder, second.file(""));
        drop(scratch);
        assert!(!folder.exists());
    }
}
