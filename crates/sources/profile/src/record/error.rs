//! Errors of recording.

use std::io;

/// Why no recording was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// perf is not installed.
    #[error("no perf in PATH; it is in the package {package}")]
    NoPerf {
        /// The package of this distribution that contains it.
        package: String,
    },
    /// The kernel refuses to sample.
    #[error("{needs}")]
    NoRight {
        /// What was refused, by which setting, and what is needed.
        needs: String,
    },
    /// The kernel cannot sample what was asked for.
    #[error("this kernel does not sample {what}")]
    NoEvent {
        /// The event.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The command cannot be started.
    #[error("{program}: cannot be started")]
    Command {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// perf ended too early, or did not end.
    #[error("perf record {how}{}", in_a_line(.said))]
    Perf {
        /// How it ended.
        how: String,
        /// Its output.
        said: String,
    },
    /// A system call failed that normally works.
    #[error("cannot {doing}")]
    System {
        /// The action that failed.
        doing: String,
        /// What the system says.
        source: io::Error,
    },
}

impl RecordError {
    pub(super) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing: doing.to_owned(), source }
    }
}

/// A program's output as one line, appended to a message.
fn in_a_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    if lines.is_empty() { String::new() } else { format!(": {}", lines.join(" ")) }
}
