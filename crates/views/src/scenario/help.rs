//! The long help of `slowpath scenario`.

use slowpath_model::shown;

/// What `--help` teaches about the command.
pub const HELP: &str = "\
A scenario file describes a run: hosts with their kernels, CPUs and NICs, the paths between them, and the transfers. \
Everything has a default. docs/src/scenario-reference.md lists every key; scenarios/ has files to start from.

Examples:
  slowpath scenario new my-path.toml
  slowpath scenario check my-path.toml
  slowpath scenario explain my-path.toml --set path.delay=50ms";

/// Exit codes of `scenario check`.
pub const CHECK_HELP: &str = "\
Exit codes:
  0  all files are correct
  1  at least one file has errors; every error is shown with its line and a fix
  2  a file could not be read";

/// Examples of `scenario new`.
pub const NEW_HELP: &str =
    "Examples:\n  slowpath scenario new my-path.toml\n  slowpath scenario new > my-path.toml";

/// What `scenario new` says when the file is written.
pub fn created(name: &str) -> String {
    let (shown, word) = (shown::line(name), shown::word(name));
    format!("{shown} written; `slowpath scenario explain {word}` shows its values\n")
}
