//! What connections are made with: what the sockets of a host share, and what a handshake agrees on.

use crate::choices::Choices;
use crate::packet::TCP_HEADER;
use crate::route::Route;
use crate::socket::options::SocketOptions;
use crate::sysctl::Sysctls;

/// What the sockets of a host share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kernel's choices.
    pub choices: Choices,
    /// Its sysctls.
    pub sysctls: Sysctls,
    /// The MTU of the route, in bytes of IP packet.
    pub mtu: u32,
    /// Bytes of the IP header: 20, or 40 for IPv6.
    pub ip_header: u32,
    /// Segments of a super-packet at most (`gso_max_segs`), and its bytes (`gso_max_size`).
    pub gso_max: (u32, u32),
    /// What the route sets besides its MTU.
    pub route: Route,
}

impl Settings {
    /// Whether the route is one of IPv6.
    pub const fn is_ipv6(&self) -> bool {
        self.ip_header == 40
    }

    /// The MSS that a socket advertises to its peer: what the route carries, or less by `TCP_MAXSEG`
    /// (`dst_metric_advmss`, `tcp_mss_clamp`).
    pub(crate) fn advmss(&self, options: &SocketOptions) -> u32 {
        // IPV4_MAX_PMTU less headers, and ip_rt_min_advmss.
        let fits = self.mtu.saturating_sub(self.ip_header + TCP_HEADER).clamp(256, 65_495);
        let route = self.route.advmss.unwrap_or(fits);
        options.max_seg.map_or(route, |user| route.min(u32::from(user)))
    }
}

/// What is negotiated in the handshake (`struct tcp_options_received`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// Both sides stamp their segments.
    pub timestamps: bool,
    /// Both sides know SACK.
    pub sack: bool,
    /// Both sides scale; the peer's shift and ours.
    pub window_scale: Option<(u8, u8)>,
    /// The peer's MSS option (`mss_clamp` after capping); 536 if it gave none.
    pub mss: u16,
    /// Both sides do ECN (RFC 3168).
    pub ecn: bool,
}
