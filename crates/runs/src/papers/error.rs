//! Errors of measuring a paper on this machine.

use slowpath_lab::error::LabError;
use slowpath_lab::web::tools::Missing;
use slowpath_profile::{ProfileError, RecordError};
use std::io;
use std::path::{Path, PathBuf};

/// Why a paper could not be measured, or its stored measurements could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Programs are missing.
    #[error("{}", needs(.0))]
    NoPrograms(Vec<Missing>),
    /// The user is not root.
    #[error("lavoie needs root: it creates network namespaces, steers packets to CPUs, and samples a CPU")]
    NotRoot,
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
    let packages: Vec<_> = missing.iter().map(|one| one.package).collect();
    format!(
        "missing: {}; on Debian and Ubuntu, install them with `apt-get install --no-install-recommends {}` (Debian starts \
         web servers after the installation; stop them with `systemctl disable --now nginx apache2 haproxy`)",
        named.collect::<Vec<_>>().join(", "),
        packages.join(" ")
    )
}
