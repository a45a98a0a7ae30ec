//! Errors of the lab.

use std::path::PathBuf;
use std::time::Duration;

/// A failure of the lab, naming what failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A command did not start.
    #[error("cannot run `{command}`")]
    Start {
        /// The command line.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// A command ran and failed.
    #[error("`{command}` failed ({status}): {}", stderr.lines().collect::<Vec<_>>().join("; "))]
    Command {
        /// The command line.
        command: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Its output.
        stderr: String,
    },
    /// A system call failed.
    #[error("{doing}")]
    System {
        /// What was being done.
        doing: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A file could not be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {waited:?}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        waited: Duration,
    },
    /// Without root, the lab needs namespaces of its own.
    #[error(
        "the lab makes network namespaces: run it as root (CAP_SYS_ADMIN, CAP_NET_ADMIN), or have user namespaces allowed \
         (sysctl user.max_user_namespaces; kernel.unprivileged_userns_clone on Debian; \
         kernel.apparmor_restrict_unprivileged_userns on Ubuntu)"
    )]
    NoNamespace {
        /// Why there is none.
        source: std::io::Error,
    },
    /// A program over the path failed.
    #[error("`{command}` ended {when} (exit code {exit_code}){}{said}", if said.is_empty() { "" } else { ": " })]
    Program {
        /// The command.
        command: String,
        /// In which phase.
        when: &'static str,
        /// Its exit code.
        exit_code: i32,
        /// Its output.
        said: String,
    },
    /// This machine, or its load, does not fit the experiment.
    #[error("{0}")]
    Unfit(String),
    /// A thread of the lab panicked.
    #[error("the thread that {role} panicked")]
    Panicked {
        /// What the thread does.
        role: &'static str,
    },
    /// JSON could not be written or read.
    #[error("JSON")]
    Json(#[from] serde_json::Error),
}

impl LabError {
    /// A failed system call, with the reason the system just gave.
    pub fn last_os(doing: impl Into<String>) -> Self {
        Self::System { doing: doing.into(), source: std::io::Error::last_os_error() }
    }

    /// A failed system call.
    pub fn system(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }

    /// A failed file operation.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
