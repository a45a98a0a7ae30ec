//! Regular files only.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The unit of `st_blocks` (stat(3type)).
const BLOCK: u64 = 512;

/// Opens a file to be read, if it is a regular one. Symbolic links are followed.
///
/// # Errors
///
/// If there is no such file, it may not be read, or it is a folder, a FIFO, a socket or a device.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Before it is opened: a device may act on that (watchdog(4), st(4)).
    check(fs::metadata(path)?.file_type())?;
    // It may have become a FIFO since, which is opened without waiting and refused then.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// How much of a file is on the disk: less than its size where it has holes, which read as zeros.
pub fn allocated(metadata: &Metadata) -> u64 {
    metadata.len().min(metadata.blocks().saturating_mul(BLOCK))
}

/// Refuses all but regular files.
pub(crate) fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let what = special(kind).unwrap_or("something else");
    Err(io::Error::other(format!("it is {what}, not a regular file")))
}

/// What is neither a regular file nor a link, with its article.
pub(crate) fn special(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_dir() => Some("a folder"),
        _ if kind.is_fifo() => Some("a FIFO"),
        _ if kind.is_socket() => Some("a socket"),
        _ if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        _ => None,
    }
}
