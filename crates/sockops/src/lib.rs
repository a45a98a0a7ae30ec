//! Tunes the connections of a control group by their destination, while the programs that open them know nothing of it.
//!
//! - [`wanted`]: what is asked for a prefix, as text and as values. [`targets`]: what each prefix gets. Both pure.
//! - [`record`]: what the BPF program (`bpf/sockops.bpf.c`) and user space tell each other.
//! - [`Tuner`]: the program, attached to a control group. [`running()`]: the commands that have one attached.
//!
//! # Decisions
//!
//! **Never slower.** `SO_SNDBUF` and `SO_RCVBUF` turn the kernel's own tuning off for good (`SOCK_SNDBUF_LOCK`), and
//! `net.core.wmem_max` and `rmem_max` cap them in BPF too (`sk_setsockopt`). So a buffer is set only where what the caps allow
//! exceeds what the kernel's tuning would reach (`tcp_wmem`, `tcp_rmem`), and the path needs more than that.
//!
//! **Each decision is made in the kernel, at the connection**, from the values of the socket and of its network namespace at that
//! moment: no copy of a sysctl in user space can be old. Only the two caps come from user space, since no BTF type has them.
//!
//! **Programs and administrators come first.** What a program has set before it connects is left, and what it sets later
//! replaces ours. A sysctl that has another value than at the first connection of its network namespace was changed by somebody:
//! its setting is left alone from then on. A window and pacing and a congestion control that only slow down or are a matter
//! of choice are set when they are asked for by name, never from a path store.
//!
//! **Nothing is left behind.** The program is attached by a link (`bpf_link`) that only this process holds: the kernel detaches
//! it when the process ends, however it does. Connections keep what they have until they are closed.
//!
//! **One trie for both families**: IPv4 addresses are looked up as IPv6 addresses have them, so a socket of either family finds
//! its path.

mod error;
pub mod record;
mod running;
pub mod targets;
mod tuner;
pub mod wanted;

pub use error::SockopsError;
pub use record::{Config, Counts, Fate, Granted, Setting};
pub use running::{Running, running};
pub use targets::{Prefix, Target, Targets};
pub use tuner::{Most, Tuner};
pub use wanted::Wanted;
