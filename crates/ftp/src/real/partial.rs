//! The local file that a `get` writes: under another name until it is whole.

use crate::error::FtpError;
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat_with, statat,
};
use slowpath_files::{Existing, OutputError, check_output};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How the name begins until the file is whole, as that of `slowpath copy`.
pub const PARTIAL: &str = ".slowpath-partial-";

/// A file that is being written.
pub struct Partial {
    file: File,
    partial: PathBuf,
    path: PathBuf,
    existing: Existing,
    /// What an interrupted transfer had left.
    pub kept: u64,
}

impl Partial {
    /// Begins a file, or goes on with what is left of one. `version` tells versions of the source apart: what is left of another
    /// one has another name. Without a version, nothing is kept.
    pub fn open(path: &Path, existing: Existing, version: Option<&str>) -> Result<Self, FtpError> {
        check_output(path, existing, &[])?;
        let mut name = OsString::from(PARTIAL);
        name.push(path.file_name().unwrap_or_default());
        if let Some(version) = version {
            name.push(format!("-{version}"));
        }
        let partial = path.with_file_name(name);
        // Whoever may write to the folder may have put a link or a FIFO there.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(CWD, &partial, flags, Mode::from(0o666)).map_err(FtpError::file(&partial))?;
        let mut file = File::from(file);
        let about = file.metadata().map_err(FtpError::file(&partial))?;
        if !about.is_file() {
            return Err(FtpError::file(&partial)(io::Error::other("is no regular file; remove it")));
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| FtpError::Busy(path.to_owned()))?;
        if version.is_none() {
            file.set_len(0).map_err(FtpError::file(&partial))?;
        }
        let kept = file.seek(SeekFrom::End(0)).map_err(FtpError::file(&partial))?;
        Ok(Self { file, partial, path: path.to_owned(), existing, kept })
    }

    /// Forgets what was left.
    pub fn begin_anew(&mut self) -> Result<(), FtpError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(FtpError::file(&self.partial))?;
        self.kept = 0;
        Ok(())
    }

    /// Adds data.
    pub fn write(&mut self, data: &[u8]) -> Result<(), FtpError> {
        self.file.write_all(data).map_err(FtpError::file(&self.partial))
    }

    /// Gives the file its name, once the disk has all of it.
    pub fn finish(self) -> Result<(), FtpError> {
        self.file.sync_all().map_err(FtpError::file(&self.partial))?;
        let flags = match self.existing {
            Existing::Keep => RenameFlags::NOREPLACE,
            Existing::Replace => RenameFlags::empty(),
        };
        match renameat_with(CWD, &self.partial, CWD, &self.path, flags) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::EXIST) => Err(OutputError::Exists(self.path).into()),
            // A file system without RENAME_NOREPLACE.
            Err(rustix::io::Errno::INVAL) if statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW).is_err() => {
                std::fs::rename(&self.partial, &self.path).map_err(FtpError::file(&self.path))
            }
            Err(error) => Err(FtpError::file(&self.path)(error)),
        }
    }

    /// Removes it: what arrived is not what the server said.
    pub fn discard(self) {
        let _ = std::fs::remove_file(&self.partial);
    }
}
