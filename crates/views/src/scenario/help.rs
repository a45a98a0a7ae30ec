//! The long help of `slowpath scenario`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
A scenario file describes a run: hosts with their kernels, CPUs and NICs, the paths between them, and the transfers. \
Everything has a default. docs/src/scenario-reference.md lists every key; scenarios/ has files to start from.

Examples:
  slowpath scenario new my-path.toml
  slowpath scenario check my-path.toml
  slowpath scenario explain my-path.toml --set path.delay=50ms";
