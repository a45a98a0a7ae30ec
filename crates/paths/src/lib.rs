//! What is known of each path: kept on disk, answered to programs, measured on a budget.
//!
//! Enable (Tierney, Gunter, Lee, Stoufer and Evans, *Enabling Network-Aware Applications*, HPDC 2001; one of the techniques that weigle
//! compares) is a service that measures paths and tells programs which buffers to use. This is that service for today's kernels.
//!
//! - [`entry`]: a value of a path. [`learned`]: what a measurement or a transfer shows. [`answer`]: what follows from
//!   all values of a path, and the check of an answer that somebody else gives. All pure.
//! - [`store`]: values on disk, bounded in size and age.
//! - [`serve()`]: answers programs over HTTP, on loopback and on a Unix socket. [`client`]: asks.
//!
//! # Decisions
//!
//! **A path has a direction**, from a sender to a receiver. Its RTT is learned for both.
//!
//! **One value, one row**, with its time, its source and for how long it is trusted. Answers are computed when they are asked for,
//! so a rule that changes needs no migration.
//!
//! **The buffers are `tune advise`'s**, from the least RTT: a window slightly larger than the empty pipe gives the whole rate,
//! a larger one only fills queues (ubik V).
//!
//! **Nobody is trusted to be honest or quick.** Values are checked when they are written, when they are read and when a client gets
//! them. The server bounds bodies, and `slowpath-http` header, time and number of connections. A client bounds time and length
//! of an answer.
//!
//! **Reading is free on this host, writing is not.** A false value makes transfers slow, or takes memory. Values are taken from the
//! user of the server and from root, by the Unix socket, and from who has the token.
//!
//! # Dependencies
//!
//! - `rusqlite` with SQLite's own source: transactions that survive a kill, and several programs at once. Nothing to install.
//! - `slowpath-http` for the server. The client is hyper's, as the server is, so no parser here.

pub mod answer;
pub mod client;
pub mod entry;
pub mod learned;
mod serve;
pub mod store;

pub use serve::{MOST_BODY, PORT, SOCKET, ServeError, Serving, serve};
pub use slowpath_http::{Token, TokenError};
