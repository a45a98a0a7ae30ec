//! Errors of measuring a paper on this machine.

use slowpath_lab::error::LabError;
use slowpath_lab::tools::Missing;
use slowpath_model::Bytes;
use slowpath_profile::{ProfileError, RecordError};
use std::io;
use std::path::{Path, PathBuf};

/// Why a paper could not be measured, or its stored measurements could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option is for another paper.
    #[error("{0}")]
    Misfit(&'static str),
    /// Ctrl-C came.
    #[error("interrupted; a paper is only compared as a whole (--seeds 1 is fastest)")]
    Interrupted,
    /// Ctrl-C cannot be taken notice of.
    #[error(transparent)]
    NoSignals(#[from] crate::interrupt::NoSignals),
    /// A case is no scenario.
    #[error(transparent)]
    NoScenario(#[from] slowpath_scenario::Rejected),
    /// Programs are missing.
    #[error("{}", needs(.0))]
    NoPrograms(Vec<Missing>),
    /// The user is not root.
    #[error("{0} needs root: {1}")]
    NotRoot(&'static str, &'static str),
    /// No case has that name.
    #[error("no case has all the words {words:?}; the name of a case is like {like:?}")]
    NoSuchCase {
        /// The words that were given.
        words: String,
        /// An example of a case's name.
        like: String,
    },
    /// The output folder exists.
    #[error("{}: exists; --keep needs the name of a new folder", .0.display())]
    Exists(PathBuf),
    /// A folder has none of the requested cases.
    #[error("{}: has none of these cases; --keep writes such a folder", .0.display())]
    NoneKept(PathBuf),
    /// Cases are in only one of two folders; the text says in which.
    #[error("{0}; the same cases are compared")]
    NotInBoth(String),
    /// Two folders have no comparable cases.
    #[error(
        "{} and {}: have none of the cases that are compared: {names}",
        folders[0].display(),
        folders[1].display()
    )]
    NoneCompared {
        /// The folders.
        folders: [PathBuf; 2],
        /// The comparable cases.
        names: String,
    },
    /// A stored file has another version.
    #[error("{}: is of schema {found}, not {known}", path.display())]
    OtherSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
        /// The schema that is read here.
        known: &'static str,
    },
    /// The functions of a profile cannot be resolved.
    #[error("{}: {note}", path.display())]
    NoNames {
        /// The profile.
        path: PathBuf,
        /// Why.
        note: String,
    },
    /// A profile has no stacks.
    #[error("{}: has no stacks", .0.display())]
    NoStacks(PathBuf),
    /// A file or folder cannot be used.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        what: &'static str,
        /// What the kernel reported.
        source: io::Error,
    },
    /// A stored file is not JSON of this kind.
    #[error("{}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A case failed.
    #[error("{name}")]
    Case {
        /// Its name.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// A file was not copied as a whole.
    #[error("{copied} of {of} arrived in time")]
    Incomplete {
        /// What arrived.
        copied: Bytes,
        /// The size of the file.
        of: Bytes,
    },
    /// A transfer in the lab failed.
    #[error(transparent)]
    Transfer(Box<crate::Error>),
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A profile cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A profile cannot be read.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

impl Error {
    /// A file or folder that cannot be read, written or created.
    pub(super) fn file(path: impl AsRef<Path>, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::File { path, what, source }
    }

    /// A transfer that failed.
    pub(super) fn transfer(error: crate::Error) -> Self {
        Self::Transfer(Box::new(error))
    }

    /// A file that is not valid JSON.
    pub(super) fn json(path: &Path, source: serde_json::Error) -> Self {
        Self::Json { path: path.to_owned(), source }
    }
}

/// The missing programs, and how to install them.
fn needs(missing: &[Missing]) -> String {
    let named = missing.iter().map(|one| {
        if one.command == one.package {
            one.command.to_owned()
        } else {
            format!("{} (in {})", one.command, one.package)
        }
    });
    let mut packages: Vec<_> = missing.iter().map(|one| one.package).collect();
    packages.dedup();
    let services = packages.iter().filter_map(|package| match *package {
        server @ ("nginx" | "apache2" | "haproxy") => Some(server),
        "openssh-server" => Some("ssh"),
        _ => None,
    });
    let started = match services.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => none,
        services => format!(
            " (Debian starts {services} after the installation; stop with `systemctl disable --now {services}`)"
        ),
    };
    format!(
        "missing: {}; on Debian and Ubuntu, install them with `apt-get install --no-install-recommends {}`{started}",
        named.collect::<Vec<_>>().join(", "),
        packages.join(" ")
    )
}
