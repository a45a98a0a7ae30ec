//! Errors of the probe, and how to fix them.

use std::io;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The kernel does not let this process.
    #[error(
        "the kernel refuses to {doing}: run it as root, or give it CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN{told}"
    )]
    NotAllowed {
        /// What was tried.
        doing: &'static str,
        /// What else was said.
        told: String,
    },
    /// The kernel has no types of its own to be read.
    #[error(
        "this kernel does not say how its structures look: /sys/kernel/btf/vmlinux is missing (CONFIG_DEBUG_INFO_BTF)"
    )]
    NoBtf,
    /// A tracepoint without which nothing can be seen is missing.
    #[error("this kernel has no tracepoint {name}: Linux 4.16 and newer have it, with CONFIG_TRACEPOINTS")]
    NoTracepoint {
        /// Which.
        name: &'static str,
    },
    /// The probe is not what this program was written for.
    #[error("the probe that was built into this program does not fit it: build it anew")]
    BadProbe,
    /// libbpf or the kernel's verifier says no.
    #[error("cannot {doing}: {source}{told}")]
    Bpf {
        /// What was tried.
        doing: &'static str,
        /// What came back.
        source: libbpf_rs::Error,
        /// What else was said, on lines of its own.
        told: String,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What came back.
        source: io::Error,
    },
    /// What came from the kernel is no record.
    #[error(transparent)]
    NoRecord(#[from] crate::record::NoRecord),
}

impl LiveError {
    pub(crate) fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| {
            let told = crate::said::take();
            match source.kind() {
                // The verifier refuses a program by the same error; more rights would not fix that.
                libbpf_rs::ErrorKind::PermissionDenied if !told.contains(crate::said::OF_VERIFIER) => {
                    Self::NotAllowed { doing, told }
                }
                _ => Self::Bpf { doing, source, told },
            }
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
