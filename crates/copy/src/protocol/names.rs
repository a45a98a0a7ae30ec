//! Names that an end accepts from the other.
//!
//! A name may have any bytes that Linux allows: control characters are escaped where it is shown, not here. What a name
//! must not do is lead elsewhere.

use super::NotAMessage;
use slowpath_model::shown;

/// `NAME_MAX`, include/uapi/linux/limits.h.
const MOST_NAME: usize = 255;
/// `PATH_MAX`, include/uapi/linux/limits.h.
pub const MOST_PATH: usize = 4096;
/// Folders inside each other. Each is held open on the way.
pub const MOST_DEEP: usize = 128;

/// Why a name is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// It names nothing.
    #[error("it is empty")]
    Empty,
    /// `.` or `..`.
    #[error("it leads to another folder")]
    Dots,
    /// It has a `/` or a NUL.
    #[error("it has a byte that no name has")]
    Byte,
    /// Longer than a name, or deeper than a path can be.
    #[error("it is too long")]
    Long,
}

fn check(name: &[u8]) -> Result<(), BadName> {
    match name {
        [] => Err(BadName::Empty),
        b"." | b".." => Err(BadName::Dots),
        _ if name.len() > MOST_NAME => Err(BadName::Long),
        _ if name.iter().any(|byte| matches!(byte, 0 | b'/')) => Err(BadName::Byte),
        _ => Ok(()),
    }
}

fn refused(name: &[u8]) -> impl FnOnce(BadName) -> NotAMessage {
    let name = shown::shortened(&shown::line(&String::from_utf8_lossy(name)), 80).into_owned();
    move |why| NotAMessage::Name { name, why }
}

/// A name in a folder.
///
/// # Errors
/// If it could lead out of the folder, or no file can have it.
pub fn name(name: &[u8]) -> Result<&[u8], NotAMessage> {
    check(name).map(|()| name).map_err(refused(name))
}

/// A path below a folder: names separated by `/`. The empty path is the folder itself.
///
/// # Errors
/// If it could lead out of the folder, or is longer or deeper than an end opens.
pub fn path(path: &[u8]) -> Result<&[u8], NotAMessage> {
    if path.is_empty() {
        return Ok(path);
    }
    let parts = path.split(|byte| *byte == b'/');
    let is_long = path.len() > MOST_PATH || parts.clone().count() > MOST_DEEP;
    let checked = if is_long { Err(BadName::Long) } else { parts.clone().try_for_each(check) };
    checked.map(|()| path).map_err(refused(path))
}
