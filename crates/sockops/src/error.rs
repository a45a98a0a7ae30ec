//! Errors of the tuner.

use slowpath_bpf::BpfError;
use std::io;
use std::path::PathBuf;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum SockopsError {
    /// The kernel refuses the program, or an answer about it.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// The control group cannot be opened.
    #[error("{}", path.display())]
    Group {
        /// Its folder.
        path: PathBuf,
        /// What the kernel reported.
        source: io::Error,
    },
    /// It is no control group of version 2.
    #[error("{}: no control group of version 2; `mount -t cgroup2` lists where these are", .0.display())]
    NotUnified(PathBuf),
    /// Another program has it alone.
    #[error(
        "{}: a BPF program is attached to it or to one above it that allows no other; `bpftool cgroup tree` shows it",
        .0.display()
    )]
    Taken(PathBuf),
    /// More prefixes than there is room for.
    #[error("{wanted} prefixes, and there is room for {most}")]
    TooMany {
        /// Their number.
        wanted: usize,
        /// The most.
        most: u32,
    },
}
