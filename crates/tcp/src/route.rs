//! What a route sets for its connections (`struct dst_entry`'s metrics, `ip-route(8)`).

use crate::choices::CongestionControl;
use std::time::Duration;

/// The metrics of a route that an endpoint reads, besides its MTU; `None` if not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Segments before the first ACK (`RTAX_INITCWND`).
    pub initcwnd: Option<u32>,
    /// The initial receive window, in segments (`RTAX_INITRWND`).
    pub initrwnd: Option<u32>,
    /// The maximum receive window, in bytes (`RTAX_WINDOW`).
    pub window: Option<u32>,
    /// The minimum RTO (`RTAX_RTO_MIN`; iproute2 locks it).
    pub rto_min: Option<Duration>,
    /// The advertised MSS (`RTAX_ADVMSS`).
    pub advmss: Option<u32>,
    /// ACKs are never delayed (`RTAX_QUICKACK`).
    pub quickack: bool,
    /// The congestion control; overrides the socket's (`RTAX_CC_ALGO`).
    pub congestion: Option<CongestionControl>,
    /// ECN is requested and accepted (`RTAX_FEATURE_ECN`).
    pub ecn: bool,
    /// CE marks begin at a short queue (`RTAX_FEATURE_ECN_LOW` of the BBR v3 branch): BBR v3 reacts to them.
    pub ecn_low: bool,
    /// Fast Open needs no cookie (`RTAX_FASTOPEN_NO_COOKIE`).
    pub fast_open_no_cookie: bool,
    /// Metrics cached from earlier connections to the destination (`struct tcp_metrics_block`).
    pub known: Metrics,
}

/// One destination's cached metrics; `None` if not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Eight times the smoothed RTT, in microseconds.
    pub rtt_us: Option<u32>,
    /// Four times its mean deviation, in microseconds.
    pub rttvar_us: Option<u32>,
    /// The slow start threshold, in segments.
    pub ssthresh: Option<u32>,
    /// The congestion window, in segments.
    pub cwnd: Option<u32>,
    /// The reordering, in segments.
    pub reordering: Option<u32>,
}
