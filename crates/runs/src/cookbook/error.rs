//! Why a case cannot be added or checked.

use super::{Change, MOST_BYTES};
use slowpath_capture::CaptureError;
use slowpath_capture::anonymous::AnonymiseError;
use slowpath_model::Bytes;
use std::io;
use std::path::{Path, PathBuf};

/// Why a case cannot be added or checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text is empty.
    #[error("{0} is empty; write what others should find")]
    NoText(&'static str),
    /// The folder exists.
    #[error("{}: exists already; name a new folder for --out", .0.display())]
    Exists(PathBuf),
    /// An input is no file.
    #[error("{}: is no capture file; give a pcap or pcapng file", .0.display())]
    NotACapture(PathBuf),
    /// A recording is too large to be stored.
    #[error(
        "{}: {} are left without payload, and a case has {} at most; cut it, such as with `editcap -c` or `-A` and `-B`",
        capture.display(), Bytes::new(*bytes), Bytes::new(MOST_BYTES)
    )]
    TooLarge {
        /// The original.
        capture: PathBuf,
        /// The size of the copy.
        bytes: u64,
    },
    /// Without addresses and payload the verdict is another one.
    #[error("{}: {}", capture.display(), other(.changes))]
    OtherVerdict {
        /// The original.
        capture: PathBuf,
        /// The differences; empty without a flow.
        changes: Vec<Change>,
    },
    /// There is no case.
    #[error("{}: has no case; `slowpath cookbook add` writes one", .0.display())]
    NoCase(PathBuf),
    /// A case names another file than a recording.
    #[error("{}: recordings.file: {file:?} is not the name of a case's recording", path.display())]
    NoRecording {
        /// The verdict.
        path: PathBuf,
        /// The name.
        file: String,
    },
    /// A case is of another version.
    #[error("{}: format: {found} is not {known}; use the slowpath that wrote it", path.display())]
    OtherFormat {
        /// The verdict.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The known one.
        known: u32,
    },
    /// A verdict is not JSON of this kind.
    #[error("{}", path.display())]
    Json {
        /// The verdict.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        source: serde_json::Error,
    },
    /// A file or folder cannot be used.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel reported.
        source: io::Error,
    },
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A copy cannot be made.
    #[error(transparent)]
    Copy(#[from] AnonymiseError),
    /// A recording cannot be analysed.
    #[error(transparent)]
    Read(Box<crate::Error>),
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::Read(Box::new(error))
    }
}

impl Error {
    pub(super) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::File { path, source }
    }

    pub(super) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Json { path, source }
    }
}

fn other(changes: &[Change]) -> String {
    let Some(change) = changes.first() else { return "has no TCP flow to diagnose".to_owned() };
    let named = |cause: &Option<String>| cause.clone().unwrap_or_else(|| "none".to_owned());
    format!(
        "the verdict on flow {} is {} without addresses and payload, and {} with them; please report this",
        change.flow,
        named(&change.now),
        named(&change.before)
    )
}
