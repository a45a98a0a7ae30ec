//! Errors of the probe, and how to fix them.

use slowpath_bpf::BpfError;
use std::io;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The kernel refuses the probe, or an answer about it.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// The kernel has no BTF.
    #[error(
        "this kernel does not say how its structures look: /sys/kernel/btf/vmlinux is missing (CONFIG_DEBUG_INFO_BTF)"
    )]
    NoBtf,
    /// A tracepoint is missing without which nothing can be seen.
    #[error("this kernel has no tracepoint {name}: Linux 4.16 and newer have it, with CONFIG_TRACEPOINTS")]
    NoTracepoint {
        /// Its name.
        name: &'static str,
    },
    /// Bytes from the kernel are not a record.
    #[error(transparent)]
    NoRecord(#[from] crate::record::NoRecord),
}

impl LiveError {
    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| BpfError::bpf(doing)(source).into()
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| BpfError::system(doing)(source).into()
    }
}
