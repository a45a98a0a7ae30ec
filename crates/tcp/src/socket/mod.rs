//! The socket layer: opening and closing, listening, options, and what system calls return.
//!
//! - [`options`], `setsockopt`: socket options.
//! - `connect`, `child`: active and passive open.
//! - [`listener`], `request`: the listening socket, and handshakes in progress.
//! - `read`, `poll`, `close`: the other calls of an application.
//! - `keepalive`, `icmp`: events that it does not cause.
//! - `fast_open`: data in the SYN (RFC 7413); [`cookie`]: its cookies.

mod child;
mod close;
mod connect;
pub mod cookie;
mod fast_open;
mod icmp;
mod keepalive;
pub mod listener;
pub mod options;
mod poll;
mod read;
pub(crate) mod request;
mod setsockopt;

pub use crate::receive::{Counters, PacketMemory};
pub use close::Shutdown;
pub use cookie::Peer;
pub use fast_open::CLIENT_ENABLE;
pub use icmp::Unreachable;
pub use listener::Listener;
pub use options::{SocketOption, SocketOptions};
pub use poll::Events;
pub use read::ReadFlags;

use crate::packet::DEFAULT_MSS;
use crate::settings::Settings;

/// The MSS that every host accepts over IPv6: what fits its minimum MTU (`tcp_v6_connect`, RFC 8200, section 5).
const DEFAULT_MSS_V6: u16 = 1220;

/// The MSS of a peer without the MSS option (`mss_clamp`).
pub(crate) fn default_mss(settings: &Settings) -> u16 {
    // DEFAULT_MSS fits.
    if settings.is_ipv6() { DEFAULT_MSS_V6 } else { DEFAULT_MSS as u16 }
}

/// The MSS that the peer's SYN allows (`tcp_parse_options`, `TCPOPT_MSS`): the default without the option, and at most
/// `TCP_MAXSEG`.
pub(crate) fn peer_mss(offered: Option<u16>, options: &SocketOptions, settings: &Settings) -> u16 {
    let offered = offered.filter(|mss| *mss != 0).unwrap_or_else(|| default_mss(settings));
    options.max_seg.map_or(offered, |user| offered.min(user))
}
