//! The configuration of connections: settings shared by a host's sockets, and options negotiated in a handshake.

use crate::choices::Choices;
use crate::packet::TCP_HEADER;
use crate::receive::ecn_field::EcnMode;
use crate::route::Route;
use crate::socket::options::SocketOptions;
use crate::sysctl::Sysctls;

/// Settings shared by the sockets of a host.
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
    /// The maximum segments of a super-packet (`gso_max_segs`), and its maximum bytes (`gso_max_size`).
    pub gso_max: (u32, u32),
    /// What the route sets besides its MTU.
    pub route: Route,
}

impl Settings {
    /// Whether this is an IPv6 route.
    pub const fn is_ipv6(&self) -> bool {
        self.ip_header == 40
    }

    /// The MSS that a socket advertises to its peer: what fits the route, or less with `TCP_MAXSEG`
    /// (`dst_metric_advmss`, `tcp_mss_clamp`).
    pub(crate) fn advmss(&self, options: &SocketOptions) -> u32 {
        // IPV4_MAX_PMTU less headers, and ip_rt_min_advmss.
        let fits = self.mtu.saturating_sub(self.ip_header + TCP_HEADER).clamp(256, 65_495);
        let route = self.route.advmss.unwrap_or(fits);
        options.max_seg.map_or(route, |user| route.min(u32::from(user)))
    }
}

/// What the handshake negotiated (`struct tcp_options_received`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// Both sides send timestamps.
    pub timestamps: bool,
    /// Both sides support SACK.
    pub sack: bool,
    /// Both sides scale their windows; the peer's shift and ours.
    pub window_scale: Option<(u8, u8)>,
    /// The peer's MSS option (`mss_clamp` after capping); 536 without the option.
    pub mss: u16,
    /// How both sides report CE marks.
    pub ecn: EcnMode,
}
