//! Files that hold a secret.

use crate::open_regular;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a file holds no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It cannot be read.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel reported.
        source: io::Error,
    },
    /// Others may read it.
    #[error("{}: others may read or write it; `chmod 600` it", .0.display())]
    Open(PathBuf),
    /// It is not ours.
    #[error("{}: belongs to user {owner}, who could change it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The user's id.
        owner: u32,
    },
}

/// Opens a file that only its owner, this user or root, may read and change.
///
/// # Errors
/// If there is none, or somebody else may read or change it.
pub fn open_secret(path: &Path) -> Result<File, SecretError> {
    let failed = |source| SecretError::File { path: path.to_owned(), source };
    let file = open_regular(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.mode() & 0o077 != 0 {
        return Err(SecretError::Open(path.to_owned()));
    }
    let owner = about.uid();
    if owner != 0 && owner != own_uid().map_err(failed)? {
        return Err(SecretError::Foreign { path: path.to_owned(), owner });
    }
    Ok(file)
}

/// The user that this program runs as.
///
/// # Errors
/// If /proc is not mounted.
pub fn own_uid() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    /// A file with this mode.
    fn with_mode(folder: &Path, mode: u32) -> PathBuf {
        let file = folder.join(format!("{mode:o}"));
        fs::write(&file, "secret").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
        file
    }

    #[test]
    fn secrets_that_others_may_read_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for mode in [0o600, 0o400] {
            assert!(open_secret(&with_mode(folder.path(), mode)).is_ok(), "{mode:o}");
        }
        for mode in [0o640, 0o604, 0o620] {
            let refused = open_secret(&with_mode(folder.path(), mode));
            assert!(matches!(refused, Err(SecretError::Open(_))), "{mode:o}");
        }
        assert!(matches!(open_secret(folder.path()), Err(SecretError::File { .. })));
    }

    #[test]
    #[ignore = "needs root"]
    fn secrets_of_another_user_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = with_mode(folder.path(), 0o600);
        chown(&file, Some(1), None).expect("as root");
        assert!(matches!(open_secret(&file), Err(SecretError::Foreign { owner: 1, .. })));
    }
}
