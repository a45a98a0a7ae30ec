//! The TCP connections of this host as a source of events: what the kernel's tracepoints report of them.
//!
//! The probe (`bpf/`) adds up next to each socket how long packets waited for TCP, data for its reader and the reader
//! for a CPU, and what held the sender. [`Probe`] loads and reads it; [`Live`] turns the differences into events, and
//! stores the records in a file, from which [`replay`] reproduces them.
//!
//! # Decisions
//!
//! **The kernel adds up; this crate reads differences.** The probe keeps one record per socket, in socket storage,
//! ordered by the socket's lock. A segment therefore costs no table lookup, no atomic operation and no message. Ten
//! times a second an iterator reads all records, and `Decoder` turns the differences into events. The end of a flow
//! is reported through a ring buffer, so that short flows are complete. Some kernels refuse to load an iterator over
//! socket storage (EPERM, as root too, while other programs load): there the probe keeps a list of the flows, and each
//! is read by its cookie (`bpf/list.h`).
//!
//! **What held the sender is sampled when an ACK arrives**, before TCP processes it. The socket is then still in the
//! state in which it waited.
//!
//! **Arrival times are the kernel's own timestamps.** A packet carries one as long as some socket asks for timestamps.
//! For tests, `exact.h` finds each segment by its sequence numbers instead.
//!
//! **Hooks that run in process and in softirq context have two programs, one for each.** A BPF program does not run
//! on top of itself, so with one program the nested event would be lost: one segment in a thousand, when measured.
//!
//! **No program runs on a context switch**, which is the most frequent event of all. When a task got its CPU is read
//! from its own `sched_info`. The offset of the scheduler's clock from the time of day is learned from tasks that
//! were just woken up (`clocks.h`).
//!
//! **The kernel's types decide, not its version.** BTF shows which hooks a kernel has. Missing hooks are left out and
//! named; fields and constants are found by CO-RE when the object is loaded, so that `bpf/kernel.h` needs names only
//! and no layout. `tools/kernels` runs the tests under Debian's 6.1 and 6.12 in qemu. The values read from a socket
//! are compared with `inet_diag` number by number (`tests/live/attached.rs`).
//!
//! **Decoding is tested without root.** `Decoder` does not touch the kernel. The probe's output can be stored
//! (`raw.rs`) and decoded again (`tests/live/raw.rs`).
//!
//! **The compiled object is shipped**, so that a build needs no clang. It contains a hash of its sources. `build.rs`
//! compares the hash and compiles when it differs; `SLOWPATH_UPDATE=1 cargo test -p slowpath-live --test live
//! shipped` updates the object.

mod address;
mod copy;
mod counters;
mod decoder;
mod drops;
mod error;
mod flows;
mod object;
mod own;
mod owners;
mod probe;
mod raw;
pub mod record;
mod ring;
mod source;
mod stamps;
mod table;
mod tcp_info;

pub use copy::{RawCopied, copy_raw};
pub use counters::{Counters, counters, growth};
pub use decoder::{Check, Counted, Device, Rest};
pub use drops::{Dropped, Drops};
pub use error::LiveError;
pub use own::{Listener, Own, UNSEEN, listeners};
pub use owners::{Owners, cgroups_below};
pub use probe::{Filter, Probe};
pub use raw::{Raw, RawError, open as open_raw};
pub use record::NETNSES;
pub use slowpath_bpf::{BpfError, measure_programs};
pub use source::{EVERY, HostSoFar, Live, Replayed, replay};
pub use stamps::{page_bytes, tick_ns};
pub use table::{Owner, Process};
pub use tcp_info::TcpInfo;
