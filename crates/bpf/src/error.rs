//! Errors of BPF programs, and how to fix them.

use crate::log;
use std::io;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BpfError {
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
    /// The object is not the one that this program was written for.
    #[error("the BPF object that was built into this program does not fit it: build it anew")]
    BadObject,
    /// libbpf or the kernel's verifier refused.
    #[error("cannot {doing}: {source}{log}")]
    Refused {
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
}

impl BpfError {
    /// Makes an error of libbpf's, with its messages.
    pub fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| {
            let log = log::take();
            match source.kind() {
                // The verifier refuses a program by the same error; more rights would not fix that.
                libbpf_rs::ErrorKind::PermissionDenied if !log.contains(log::OF_VERIFIER) => {
                    Self::NotAllowed { doing, log }
                }
                _ => Self::Refused { doing, source, log },
            }
        }
    }

    /// Makes an error of a system call's.
    pub fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
