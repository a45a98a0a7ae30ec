//! Errors of the probe, and how to fix them.

use std::io;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The kernel does not permit this to the process.
    #[error(
        "the kernel refuses to {doing}: run it as root, or give it CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN{log}"
    )]
    NotAllowed {
        /// What was attempted.
        doing: &'static str,
        /// What libbpf printed.
        log: String,
    },
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
    /// The object is not the one that this program was written for.
    #[error("the probe that was built into this program does not fit it: build it anew")]
    BadProbe,
    /// libbpf or the kernel's verifier refused.
    #[error("cannot {doing}: {source}{log}")]
    Bpf {
        /// What was tried.
        doing: &'static str,
        /// The error returned.
        source: libbpf_rs::Error,
        /// What libbpf printed, on its own lines.
        log: String,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What came back.
        source: io::Error,
    },
    /// Bytes from the kernel are not a record.
    #[error(transparent)]
    NoRecord(#[from] crate::record::NoRecord),
}

impl LiveError {
    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| {
            let log = crate::libbpf_log::take();
            match source.kind() {
                // The verifier refuses a program by the same error; more rights would not fix that.
                libbpf_rs::ErrorKind::PermissionDenied if !log.contains(crate::libbpf_log::OF_VERIFIER) => {
                    Self::NotAllowed { doing, log }
                }
                _ => Self::Bpf { doing, source, log },
            }
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
