//! FTP with socket buffers that fit the path.
//!
//! Three of the techniques that weigle compares (section II, table I) are programs rather than kernels, and two of these are
//! FTP clients. This crate is these three for today's kernels:
//!
//! - **Auto-ncFTP** measures RTT and rate just before the transfer, and sets both buffers before the data connection is
//!   opened ([`burst`]).
//! - **DRS FTP** measures what arrives in an RTT while it transfers, and has both buffers grow (`slowpath_copy::drs`).
//! - **Enable** looks the path up in a store that others fill ([`Tuning::Known`]).
//!
//! The parts:
//!
//! - [`place`]: `ftp://[USER[:PASSWORD]@]HOST[:PORT]/PATH`. [`netrc`]: passwords.
//! - [`offers`]: the command with which a server lets its buffers be set.
//! - [`burst`]: the rate of the bottleneck, from how fast the data of an RTT arrives.
//! - [`report`]: the result.
//! - [`real`]: files and sockets, and the lab's server.
//!
//! All but [`real`] is pure.
//!
//! # Decisions
//!
//! **suppaftp speaks the protocol.** It is maintained, bounds the length of replies, and asks this crate for the socket of a
//! passive data connection, so that buffers are set and addresses are checked before it connects. In active mode, it owns
//! the listening socket: the buffers are set when the server has connected. That is early enough, because Linux chooses the
//! window scale by `net.core.rmem_max` unless `SO_RCVBUF` was set (`tcp_select_initial_window`, 6.18).
//!
//! **No thread waits on a server without a deadline.** suppaftp blocks. A watchdog shuts the sockets down when a command has
//! taken too long or a stop is requested, so a server that sends a byte now and then gains nothing.
//!
//! **No TLS.** It would bring a second implementation of cryptography. `slowpath copy` encrypts.
//!
//! **No transfer between two servers.** This host can measure only paths that it is an end of. weigle (section II-B) found that
//! DRS FTP and Auto-ncFTP measure the wrong connection there. `place` refuses it and says so.

pub mod burst;
mod error;
pub mod netrc;
pub mod offers;
pub mod place;
pub mod real;
pub mod report;
mod tuning;

pub use error::FtpError;
pub use tuning::{Basis, PathValues, Tuning};
