//! The sysctls of `net.ipv4.tcp_*` and `net.core.*` that an endpoint reads, by their kernel names.

use std::time::Duration;

/// Least, default and most of a buffer, in bytes (`tcp_rmem`, `tcp_wmem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSizes {
    /// What a socket is sure to get under memory pressure.
    pub min: u32,
    /// What a socket starts with.
    pub default: u32,
    /// What tuning may grow it to; not a bound on `setsockopt`.
    pub max: u32,
}

/// The sysctls, with the meaning that `Documentation/networking/ip-sysctl.rst` gives them.
///
/// Times of the kernel in seconds or microseconds are [`Duration`]s here.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is documented under its own name in the kernel's ip-sysctl.rst")]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the kernel's switches")]
pub struct Sysctls {
    pub tcp_rmem: BufferSizes,
    pub tcp_wmem: BufferSizes,
    /// Most that `SO_RCVBUF` may ask for (`net.core.rmem_max`).
    pub rmem_max: u32,
    /// Most that `SO_SNDBUF` may ask for (`net.core.wmem_max`).
    pub wmem_max: u32,
    pub somaxconn: u32,
    pub tcp_window_scaling: bool,
    pub tcp_timestamps: u8,
    pub tcp_sack: bool,
    pub tcp_dsack: bool,
    pub tcp_ecn: u8,
    pub tcp_ecn_fallback: bool,
    pub tcp_fastopen: u32,
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
    pub tcp_reflect_tos: bool,
    pub tcp_migrate_req: bool,
    pub tcp_fwmark_accept: bool,
}

impl Sysctls {
    /// The defaults of Linux 6.18 on a machine with enough memory (`tcp_sk_init`, `tcp_init`,
    /// net/ipv4/tcp_ipv4.c and tcp.c).
    pub const LINUX_6_18: Self = Self {
        tcp_rmem: BufferSizes { min: 4096, default: 131_072, max: 33_554_432 },
        tcp_wmem: BufferSizes { min: 4096, default: 16_384, max: 4_194_304 },
        rmem_max: 4_194_304,
        wmem_max: 4_194_304,
        somaxconn: 4096,
        tcp_window_scaling: true,
        tcp_timestamps: 1,
        tcp_sack: true,
        tcp_dsack: true,
        tcp_ecn: 2,
        tcp_ecn_fallback: true,
        tcp_fastopen: 1,
        tcp_moderate_rcvbuf: true,
        tcp_app_win: 31,
        tcp_reordering: 3,
        tcp_max_reordering: 300,
        tcp_recovery: 1,
        tcp_frto: 2,
        tcp_early_retrans: 3,
        tcp_limit_output_bytes: 4 << 20,
        tcp_min_tso_segs: 2,
        tcp_tso_win_divisor: 3,
        tcp_tso_rtt_log: 9,
        tcp_pacing_ss_ratio: 200,
        tcp_pacing_ca_ratio: 120,
        tcp_slow_start_after_idle: true,
        tcp_no_metrics_save: false,
        tcp_no_ssthresh_metrics_save: true,
        tcp_autocorking: true,
        tcp_syn_retries: 6,
        tcp_synack_retries: 5,
        tcp_syn_linear_timeouts: 4,
        tcp_retries1: 3,
        tcp_retries2: 15,
        tcp_orphan_retries: 0,
        tcp_syncookies: 1,
        tcp_max_syn_backlog: 4096,
        tcp_abort_on_overflow: false,
        tcp_fin_timeout: Duration::from_secs(60),
        tcp_keepalive_time: Duration::from_secs(7200),
        tcp_keepalive_intvl: Duration::from_secs(75),
        tcp_keepalive_probes: 9,
        tcp_invalid_ratelimit: Duration::from_millis(500),
        tcp_challenge_ack_limit: u32::MAX / 2,
        tcp_comp_sack_delay: Duration::from_millis(1),
        tcp_comp_sack_slack: Duration::from_micros(100),
        tcp_comp_sack_nr: 44,
        tcp_rto_min: Duration::from_millis(200),
        tcp_rto_max: Duration::from_secs(120),
        tcp_notsent_lowat: u32::MAX,
        tcp_retrans_collapse: true,
        tcp_thin_linear_timeouts: false,
        tcp_base_mss: 1024,
        tcp_min_snd_mss: 48,
        tcp_mtu_probing: 0,
        tcp_mtu_probe_floor: 48,
        tcp_probe_threshold: 8,
        tcp_probe_interval: Duration::from_secs(600),
        tcp_stdurg: false,
        tcp_rfc1337: false,
        tcp_workaround_signed_windows: false,
        tcp_shrink_window: false,
        tcp_min_rtt_wlen: Duration::from_secs(300),
        tcp_backlog_ack_defer: true,
        tcp_reflect_tos: false,
        tcp_migrate_req: false,
        tcp_fwmark_accept: false,
    };

    /// The defaults of Linux 2.6.14 on a machine with 1 GiB (`tcp_init`).
    pub const LINUX_2_6_14: Self = Self {
        tcp_rmem: BufferSizes { min: 4096, default: 87_380, max: 174_760 },
        tcp_wmem: BufferSizes { min: 4096, default: 16_384, max: 131_072 },
        rmem_max: 131_071,
        wmem_max: 131_071,
        somaxconn: 128,
        tcp_ecn: 0,
        tcp_fastopen: 0,
        tcp_max_reordering: 127,
        tcp_recovery: 0,
        tcp_frto: 0,
        tcp_early_retrans: 0,
        tcp_no_ssthresh_metrics_save: false,
        tcp_autocorking: false,
        tcp_syn_retries: 5,
        tcp_syncookies: 0,
        tcp_max_syn_backlog: 1024,
        tcp_syn_linear_timeouts: 0,
        ..Self::LINUX_6_18
    };

    /// The defaults of Linux 2.4.17 on a machine with 256 MiB or more.
    pub const LINUX_2_4_17: Self = Self {
        tcp_wmem: BufferSizes { min: 4096, default: 16_384, max: 131_072 },
        rmem_max: 65_535,
        wmem_max: 65_535,
        ..Self::LINUX_2_6_14
    };

    /// The defaults of Linux 2.2.20, whose buffers have one size (`SK_RMEM_MAX`, `SK_WMEM_MAX`).
    pub const LINUX_2_2_20: Self = Self {
        tcp_rmem: BufferSizes { min: 65_535, default: 65_535, max: 65_535 },
        tcp_wmem: BufferSizes { min: 65_535, default: 65_535, max: 65_535 },
        ..Self::LINUX_2_4_17
    };
}
