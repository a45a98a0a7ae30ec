//! Structures of the kernel's user API, as bytes and as values: [`TcpInfo`], [`netlink`] messages, [`sock_diag`],
//! [`proc`], [`Capabilities`].
//!
//! Pure: the callers open the sockets and files, and send the requests.
//!
//! # Decisions
//!
//! **netlink is decoded by hand.** Only framing, attributes and one fixed message are needed. Measured in November 2026
//! on two cores, a cold debug build of `neli` 0.7 takes 35 crates and 16 s of CPU time, and one of
//! `netlink-packet-core`, `-route`, `-generic`, `-sock-diag` and `netlink-sys` 20 crates and 14 s. Neither supports
//! tcp_metrics, and the second's attributes would still be selected one by one.

pub mod capabilities;
pub mod netlink;
pub mod proc;
pub mod sock_diag;
pub mod tcp_info;

pub use capabilities::Capabilities;
pub use tcp_info::TcpInfo;
