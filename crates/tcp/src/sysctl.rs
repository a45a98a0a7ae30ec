//! The sysctls of `net.ipv4.tcp_*` and `net.core.*` that an endpoint reads, by their kernel names.

use std::time::Duration;

/// `SOCK_MIN_RCVBUF` (include/net/sock.h): `TCP_SKB_MIN_TRUESIZE`.
pub(crate) const MIN_RECEIVE_BUFFER: u32 = 2304;
/// `SOCK_MIN_SNDBUF`: twice that.
pub(crate) const MIN_SEND_BUFFER: u32 = 2 * MIN_RECEIVE_BUFFER;

/// Minimum, default and maximum of a buffer, in bytes (`tcp_rmem`, `tcp_wmem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSizes {
    /// The size guaranteed to a socket under memory pressure.
    pub min: u32,
    /// The initial size.
    pub default: u32,
    /// The maximum size by autotuning; does not limit `setsockopt`.
    pub max: u32,
}

/// The sysctls, as defined in `Documentation/networking/ip-sysctl.rst`.
///
/// The kernel's seconds and microseconds are [`Duration`]s here.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is documented under its own name in the kernel's ip-sysctl.rst")]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the kernel's switches")]
pub struct Sysctls {
    pub tcp_rmem: BufferSizes,
    pub tcp_wmem: BufferSizes,
    /// The maximum request of `SO_RCVBUF` (`net.core.rmem_max`).
    pub rmem_max: u32,
    /// The maximum request of `SO_SNDBUF` (`net.core.wmem_max`).
    pub wmem_max: u32,
    pub somaxconn: u32,
    pub tcp_window_scaling: bool,
    pub tcp_timestamps: u8,
    pub tcp_sack: bool,
    pub tcp_dsack: bool,
    pub tcp_ecn: u8,
    pub tcp_ecn_fallback: bool,
    pub tcp_ecn_option: u8,
    pub tcp_ecn_option_beacon: u8,
    pub tcp_fastopen: u32,
    pub tcp_fastopen_blackhole_timeout: Duration,
    pub tcp_moderate_rcvbuf: bool,
    pub tcp_app_win: u8,
    pub tcp_reordering: u32,
    pub tcp_max_reordering: u32,
    pub tcp_recovery: u8,
    pub tcp_frto: u8,
    pub tcp_early_retrans: u8,
    pub tcp_limit_output_bytes: u32,
    pub tcp_min_tso_segs: u32,
    pub tcp_tso_win_divisor: u32,
    pub tcp_tso_rtt_log: u8,
    pub tcp_pacing_ss_ratio: u32,
    pub tcp_pacing_ca_ratio: u32,
    pub tcp_slow_start_after_idle: bool,
    pub tcp_no_metrics_save: bool,
    pub tcp_no_ssthresh_metrics_save: bool,
    pub tcp_autocorking: bool,
    pub tcp_syn_retries: u8,
    pub tcp_synack_retries: u8,
    pub tcp_syn_linear_timeouts: u8,
    pub tcp_retries1: u8,
    pub tcp_retries2: u8,
    pub tcp_orphan_retries: u8,
    pub tcp_syncookies: u8,
    pub tcp_max_syn_backlog: u32,
    pub tcp_abort_on_overflow: bool,
    pub tcp_fin_timeout: Duration,
    pub tcp_tw_reuse: u8,
    pub tcp_tw_reuse_delay: Duration,
    pub tcp_keepalive_time: Duration,
    pub tcp_keepalive_intvl: Duration,
    pub tcp_keepalive_probes: u8,
    pub tcp_invalid_ratelimit: Duration,
    pub tcp_challenge_ack_limit: u32,
    pub tcp_comp_sack_delay: Duration,
    pub tcp_comp_sack_slack: Duration,
    pub tcp_comp_sack_nr: u8,
    pub tcp_rto_min: Duration,
    pub tcp_rto_max: Duration,
    pub tcp_notsent_lowat: u32,
    pub tcp_retrans_collapse: bool,
    pub tcp_thin_linear_timeouts: bool,
    pub tcp_base_mss: u32,
    pub tcp_min_snd_mss: u32,
    pub tcp_mtu_probing: u8,
    pub tcp_mtu_probe_floor: u32,
    pub tcp_probe_threshold: u32,
    pub tcp_probe_interval: Duration,
    pub tcp_stdurg: bool,
    pub tcp_rfc1337: bool,
    pub tcp_workaround_signed_windows: bool,
    pub tcp_shrink_window: bool,
    pub tcp_min_rtt_wlen: Duration,
    pub tcp_backlog_ack_defer: bool,
    pub tcp_pingpong_thresh: u8,
    pub tcp_reflect_tos: bool,
    pub tcp_migrate_req: bool,
    pub tcp_fwmark_accept: bool,
}
