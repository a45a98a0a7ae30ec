//! Errors of runs and of their storage.

use slowpath_capture::CaptureError;
use slowpath_drill::ScriptError;
use slowpath_files::OutputError;
use slowpath_lab::error::LabError;
use slowpath_lab::scenario::Refused;
use slowpath_live::{BpfError, LiveError, RawError};
use slowpath_model::{Bytes, shown};
use slowpath_profile::LoadError;
use slowpath_recording::{Damage, ReadError, WriteError};
use slowpath_scenario::Rejected;
use std::io;
use std::num::TryFromIntError;
use std::path::PathBuf;

/// Why a run was not made, or not stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Ctrl-C cannot be taken notice of.
    #[error(transparent)]
    NoSignals(#[from] crate::interrupt::NoSignals),
    /// A file or folder cannot be read, created or removed.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel reported.
        source: io::Error,
    },
    /// An output file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A scenario file is not UTF-8.
    #[error("{0}: this is not text (UTF-8)")]
    NotText(String),
    /// A file is too long to be read whole.
    #[error("{name}: this is longer than {most}")]
    TooLong {
        /// Its name.
        name: String,
        /// The longest one that is read.
        most: Bytes,
    },
    /// The scenario file to create exists.
    #[error("{} exists already and is not changed; choose another name", .0.display())]
    NotChanged(PathBuf),
    /// A host's name cannot be a file name.
    #[error("the files of host {0:?} cannot have its name; give it another one without /")]
    NoFileName(String),
    /// A host's name has no address.
    #[error("{name} has no address")]
    NoAddress {
        /// The name.
        name: String,
        /// What the resolver reported, if it failed.
        source: Option<io::Error>,
    },
    /// An option of scripts is wrong.
    #[error("{0}")]
    Option(String),
    /// The scenario has errors.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The lab cannot run this scenario.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The kernel events of a run in the lab cannot be opened.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The kernel events of a run in the lab cannot be decoded.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// A recording or a stored run cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The kernel events of a run in the lab are damaged.
    #[error("{}: is damaged", .0.display())]
    Damaged(PathBuf),
    /// The folder for the files of a run exists.
    #[error("{}: exists already; name a new folder", .0.display())]
    Exists(PathBuf),
    /// Packets or captured frames were lost for want of CPU time.
    #[error("the machine was too busy to carry and capture every packet: {0}")]
    TooBusy(String),
    /// A file is not a script.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Scripts cannot be run on this machine's kernel.
    #[error("this kernel cannot be drilled")]
    Undrillable(#[source] LabError),
    /// This host's connections cannot be watched.
    #[error("{reason}{}", without_privilege(reason))]
    Watch {
        /// Why.
        reason: LiveError,
    },
    /// What was watched before cannot be decoded.
    #[error("{}", path.display())]
    Replay {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RawError,
    },
    /// There is no such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// There is no such control group.
    #[error("{}: is no control group; they are below /sys/fs/cgroup", .0.display())]
    NoControlGroup(PathBuf),
    /// There is no such network namespace.
    #[error("{}: no such network namespace; `ip netns` lists them", path.display())]
    NoNamespace {
        /// Its file.
        path: PathBuf,
        /// What the kernel reported.
        source: io::Error,
    },
    /// A file is not a network namespace: its inode number is too large.
    #[error("{}: is no network namespace", path.display())]
    OtherThanNamespace {
        /// The file.
        path: PathBuf,
        /// The conversion error.
        source: TryFromIntError,
    },
    /// Every run of the sweep would be the same.
    #[error("{0}: nothing differs from run to run; write --vary KEY=VALUE,VALUE, or [[vary]] in the file")]
    NothingDiffers(String),
    /// The sweep is too long.
    #[error("these are {runs} runs; a sweep has at most {most}")]
    TooMany {
        /// Runs of the sweep.
        runs: usize,
        /// The most that a sweep may have.
        most: usize,
    },
    /// A sweep's folder is not one that this sweep can use.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A stored run cannot be read.
    #[error("{0}; remove that file, and its runs are repeated")]
    Stored(Damage),
    /// A run of a sweep failed.
    #[error("{name}")]
    Case {
        /// The case, as the tables name it.
        name: String,
        /// Why.
        source: Box<Error>,
    },
}

/// Why a folder cannot hold the runs of a sweep.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It is a file.
    #[error("{}: is a file; name a folder for --out", .0.display())]
    IsFile(PathBuf),
    /// It holds something that no sweep wrote.
    #[error("{}: is not the folder of a sweep: it holds {holds}; name another one for --out", folder.display())]
    HoldsOther {
        /// The folder.
        folder: PathBuf,
        /// The file that no sweep wrote.
        holds: String,
    },
    /// A file in it is not of this sweep.
    #[error("{}: is not a file of this sweep; name another folder for --out", .0.display())]
    NotOurs(PathBuf),
    /// It holds runs of another sweep.
    #[error("{}: has runs of another sweep: {what} differs ({differs}); name another folder for --out", folder.display())]
    OtherSweep {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: &'static str,
        /// How it differs.
        differs: String,
    },
}

impl Error {
    /// Whether the probe was refused because this process may not load it.
    pub const fn lacks_privilege(&self) -> bool {
        matches!(self, Self::Watch { reason } if lacks_privilege(reason))
    }

    /// Whether the message has several lines, each safe to print: it quotes a file or lists errors.
    pub const fn has_lines(&self) -> bool {
        matches!(self, Self::Rejected(_) | Self::Refused(_) | Self::Script(_))
    }

    /// A file or folder that cannot be used.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

/// An error on one line, but for those that have lines of their own, each without line breaks of a name.
pub fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    if let Some(LoadError::Missing(functions)) = error.downcast_ref() {
        let lines: Vec<String> = functions.iter().map(ToString::to_string).collect();
        return lines.iter().map(|line| shown::line(line)).collect::<Vec<_>>().join("\n");
    }
    // It may be boxed inside another.
    let run = error.downcast_ref().or_else(|| error.downcast_ref::<Box<Error>>().map(Box::as_ref));
    if run.is_some_and(Error::has_lines) { text } else { shown::line(&text).into_owned() }
}

/// Whether the probe was refused because this process may not load it.
const fn lacks_privilege(error: &LiveError) -> bool {
    matches!(error, LiveError::Bpf(BpfError::NotAllowed { .. }))
}

/// Without privilege, the error adds what works without it.
fn without_privilege(error: &LiveError) -> &'static str {
    if lacks_privilege(error) { "; --own needs none of these, and sees less" } else { "" }
}
