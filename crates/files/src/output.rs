//! Output files.
//!
//! An [`Output`] is written next to its final place under a random name, and gets its name when the disk has all of it:
//! a full disk, an error or a kill leaves no half file under that name. Until then it is locked (flock(2)). A lock ends with
//! its process, in whatever PID namespace or container that is, so what a killed program left is known by its missing lock
//! and removed by the next ([`remove_unfinished`]). What exists is kept unless the user wants it
//! replaced ([`Existing`]). A link is never followed: it counts as a file that exists, and is replaced itself. FIFOs,
//! sockets and devices are refused: a user who may write to the folder could make a program that runs as root wait for
//! ever or write to a disk. Only paths below `/dev` (`/dev/stdout`, `/dev/null`, `/dev/fd/63`) are written to as they are.

use crate::regular::special;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Below it, what the user names is written to as it is.
const DEVICES: &str = "/dev";
/// How the name of an unfinished output begins. Readers of data sets skip names with a dot.
const UNFINISHED: &str = ".slowpath-unfinished-";

/// What to do with a file that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Keep it: the output is refused.
    #[default]
    Keep,
    /// Replace it, as `--force` asks for.
    Replace,
}

/// Why an output cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file or link of that name exists.
    #[error("{}: exists already; name another file, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// It is also read.
    #[error("{}: is what is read; give what is written another name", .0.display())]
    IsInput(PathBuf),
    /// Its folder does not exist.
    #[error("{}: cannot be written: its folder does not exist", .0.display())]
    NoFolder(PathBuf),
    /// Something of that name exists that no file may replace.
    #[error("{}: is {what}; name a file", path.display())]
    NoFile {
        /// The output.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// The output.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// An output file that is being written. Dropped without [`Output::finish`] it leaves nothing behind.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    existing: Existing,
    to: To,
}

#[derive(Debug)]
enum To {
    Beside(NamedTempFile),
    Device(File),
}

impl Output {
    /// Begins an output file.
    ///
    /// # Errors
    /// If it exists and is to be kept, is no regular file, or its folder cannot be written to.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, OutputError> {
        let io = |source| OutputError::Io { path: path.to_owned(), source };
        let to = if path.starts_with(DEVICES) {
            To::Device(OpenOptions::new().write(true).open(path).map_err(io)?)
        } else {
            check_kind(path, existing)?;
            To::Beside(locked_in(folder_of(path)).map_err(io)?)
        };
        Ok(Self { path: path.to_owned(), existing, to })
    }

    /// Gives the file its name, once the disk has all of it.
    ///
    /// # Errors
    /// If the disk is full, or a file of that name exists by now and is to be kept.
    pub fn finish(self) -> Result<(), OutputError> {
        let To::Beside(file) = self.to else { return Ok(()) };
        let io = |source| OutputError::Io { path: self.path.clone(), source };
        file.as_file().sync_data().map_err(io)?;
        check_kind(&self.path, self.existing)?;
        let persisted = match self.existing {
            Existing::Keep => file.persist_noclobber(&self.path),
            Existing::Replace => file.persist(&self.path),
        };
        match persisted {
            Ok(file) => {
                // The file may stay open in this process (`create`).
                lock(&file, libc::LOCK_UN);
                Ok(())
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(OutputError::Exists(self.path))
            }
            Err(error) => Err(io(error.error)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Beside(file) => file.write(bytes),
            To::Device(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Beside(file) => file.flush(),
            To::Device(file) => file.flush(),
        }
    }
}

/// Creates an output that has its name from the beginning, for what is worth keeping when it breaks off, such as a recording.
///
/// # Errors
/// As of [`Output::create`].
pub fn create(path: &Path, existing: Existing) -> Result<File, OutputError> {
    let output = Output::create(path, existing)?;
    let file = match &output.to {
        To::Beside(file) => file.as_file(),
        To::Device(file) => file,
    };
    let file = file.try_clone().map_err(|source| OutputError::Io { path: path.to_owned(), source })?;
    output.finish()?;
    Ok(file)
}

/// Writes a whole output file.
///
/// # Errors
/// As of [`Output::create`] and [`Output::finish`].
pub fn write(path: &Path, existing: Existing, bytes: &[u8]) -> Result<(), OutputError> {
    let mut output = Output::create(path, existing)?;
    output.write_all(bytes).map_err(|source| OutputError::Io { path: path.to_owned(), source })?;
    output.finish()
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file in a folder, locked by this process.
fn locked_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // Less the umask, as for any new file.
    builder.prefix(UNFINISHED).permissions(Permissions::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(folder)?;
        let is_locked = lock(file.as_file(), libc::LOCK_EX | libc::LOCK_NB);
        let is_locked = is_locked || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock;
        // Between its creation and its lock, another process may take it for a leftover. A file system without locks has
        // no leftovers either.
        if is_locked && file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Calls flock(2); returns whether it succeeded.
fn lock(file: &File, operation: i32) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), operation) == 0 }
}

/// Removes unfinished outputs that killed programs of this user left in a folder. Those of running programs are kept, and
/// so is whatever is no regular file.
pub fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !is_unfinished(&entry.path()) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(entry.path()) else { continue };
        // SAFETY: it has no arguments and cannot fail.
        let is_own = |found: fs::Metadata| found.is_file() && found.uid() == unsafe { libc::geteuid() };
        if file.metadata().is_ok_and(is_own) && lock(&file, libc::LOCK_EX | libc::LOCK_NB) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file has the name of an unfinished output.
pub fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()))
}

/// Refuses an output that cannot be written, before any work is done for it, and removes what killed programs left next to
/// it. `inputs` are the files that are read.
///
/// # Errors
/// If it is an input, its folder does not exist, it exists and is to be kept, or it is no regular file.
pub fn check(path: &Path, existing: Existing, inputs: &[PathBuf]) -> Result<(), OutputError> {
    let whole = path.canonicalize().ok();
    if whole.is_some() && inputs.iter().any(|input| input.canonicalize().ok() == whole) {
        return Err(OutputError::IsInput(path.to_owned()));
    }
    if path.starts_with(DEVICES) {
        return Ok(());
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(OutputError::NoFolder(path.to_owned()));
    }
    remove_unfinished(folder);
    check_kind(path, existing)
}

fn check_kind(path: &Path, existing: Existing) -> Result<(), OutputError> {
    // A link is not followed.
    let kind = match fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(OutputError::Io { path: path.to_owned(), source }),
    };
    match special(kind) {
        Some(what) => Err(OutputError::NoFile { path: path.to_owned(), what }),
        None if existing == Existing::Keep => Err(OutputError::Exists(path.to_owned())),
        None => Ok(()),
    }
}
