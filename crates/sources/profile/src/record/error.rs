//! Why nothing could be recorded.

use std::io;

/// A recording that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// perf is not there.
    #[error("no perf in PATH; it is in the package {package}")]
    NoPerf {
        /// The package of this distribution that has it.
        package: String,
    },
    /// The kernel refuses to sample.
    #[error("{needs}")]
    NoRight {
        /// What was refused, by what, and what it takes.
        needs: String,
    },
    /// The kernel cannot sample what was asked for.
    #[error("this kernel does not sample {what}")]
    NoEvent {
        /// What.
        what: String,
        /// What it says.
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
    /// perf ended before it was to, or not at all.
    #[error("perf record {how}{}", in_a_line(.said))]
    Perf {
        /// How.
        how: String,
        /// Its output.
        said: String,
    },
    /// Something that works on every system did not.
    #[error("cannot {doing}")]
    System {
        /// What.
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

/// What a program said, behind what it did: a line.
fn in_a_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    if lines.is_empty() { String::new() } else { format!(": {}", lines.join(" ")) }
}
