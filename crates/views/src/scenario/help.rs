//! The long help of `slowpath scenario`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
A scenario file describes a run: hosts with their kernels, CPUs and NICs, the paths between them, and the transfers. \
Everything has a default. docs/src/scenario-reference.md lists every key; scenarios/ has files to start from.

Examples:
  slowpath scenario new my-path.toml
  slowpath scenario check my-path.toml
  slowpath scenario explain my-path.toml --set path.delay=50ms";

/// What `--help` teaches about `scenario check`.
pub const CHECK_HELP: &str = "\
Exit codes:
  0  all files are correct
  1  at least one file has errors; every error is shown with its line and a fix
  2  a file could not be read";

/// What `--help` teaches about `scenario new`.
pub const NEW_HELP: &str = "\
Examples:
  slowpath scenario new my-path.toml
  slowpath scenario new > my-path.toml";
