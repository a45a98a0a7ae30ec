//! The sysctls that TCP reads, by their kernel names.

use slowpath_tcp::sysctl::{BufferSizes, Sysctls};
use std::time::Duration;

declare! {
    foreign Sysctls of release;
    parts {}
    choices {}
    sysctls {
        tcp_rmem: BufferSizes = value "net.ipv4.tcp_rmem", [
            BufferSizes { min: 65_535, default: 65_535, max: 65_535 },
            Linux2_4_17 => BufferSizes { min: 4096, default: 87_380, max: 174_760 },
            Linux4_18 => BufferSizes { min: 4096, default: 87_380, max: 6_291_456 },
            Linux5_14 => BufferSizes { min: 4096, default: 131_072, max: 6_291_456 },
            Linux6_18 => BufferSizes { min: 4096, default: 131_072, max: 33_554_432 },
        ];
        tcp_wmem: BufferSizes = value "net.ipv4.tcp_wmem", [
            BufferSizes { min: 65_535, default: 65_535, max: 65_535 },
            Linux2_4_17 => BufferSizes { min: 4096, default: 16_384, max: 131_072 },
            Linux4_18 => BufferSizes { min: 4096, default: 16_384, max: 4_194_304 },
        ];
        rmem_max: u32 = value "net.core.rmem_max", [
            65_535, Linux2_6_14 => 131_071, Linux4_18 => 212_992, Linux6_18 => 4_194_304,
        ];
        wmem_max: u32 = value "net.core.wmem_max", [
            65_535, Linux2_6_14 => 131_071, Linux4_18 => 212_992, Linux6_18 => 4_194_304,
        ];
        somaxconn: u32 = value "net.core.somaxconn", [128, Linux5_14 => 4096];
        tcp_window_scaling: bool = switch "net.ipv4.tcp_window_scaling", [true];
        tcp_timestamps: u8 = value "net.ipv4.tcp_timestamps", [1];
        tcp_sack: bool = switch "net.ipv4.tcp_sack", [true];
        tcp_dsack: bool = switch "net.ipv4.tcp_dsack", [true];
        tcp_ecn: u8 = value "net.ipv4.tcp_ecn", [0, Linux4_18 => 2];
        tcp_ecn_fallback: bool = switch "net.ipv4.tcp_ecn_fallback", [true];
        tcp_ecn_option: u8 = value "net.ipv4.tcp_ecn_option", [2];
        tcp_ecn_option_beacon: u8 = value "net.ipv4.tcp_ecn_option_beacon", [3];
        tcp_fastopen: u32 = value "net.ipv4.tcp_fastopen", [0, Linux4_18 => 1];
        tcp_fastopen_blackhole_timeout: Duration = time "net.ipv4.tcp_fastopen_blackhole_timeout_sec" in SECOND, [
            Duration::ZERO, Linux4_18 => Duration::from_secs(3600), Linux5_14 => Duration::ZERO,
        ];
        tcp_moderate_rcvbuf: bool = switch "net.ipv4.tcp_moderate_rcvbuf", [true];
        tcp_app_win: u8 = value "net.ipv4.tcp_app_win", [31];
        tcp_reordering: u32 = value "net.ipv4.tcp_reordering", [3];
        tcp_max_reordering: u32 = value "net.ipv4.tcp_max_reordering", [127, Linux4_18 => 300];
        tcp_recovery: u8 = value "net.ipv4.tcp_recovery", [0, Linux4_18 => 1];
        tcp_frto: u8 = value "net.ipv4.tcp_frto", [0, Linux4_18 => 2];
        tcp_early_retrans: u8 = value "net.ipv4.tcp_early_retrans", [0, Linux4_18 => 3];
        tcp_limit_output_bytes: u32 = value "net.ipv4.tcp_limit_output_bytes", [
            4 << 20, Linux4_18 => 256 << 10, Linux5_14 => 1 << 20, Linux6_18 => 4 << 20,
        ];
        tcp_min_tso_segs: u32 = value "net.ipv4.tcp_min_tso_segs", [2];
        tcp_tso_win_divisor: u32 = value "net.ipv4.tcp_tso_win_divisor", [3];
        tcp_tso_rtt_log: u8 = value "net.ipv4.tcp_tso_rtt_log", [9, Linux4_18 => 0, Linux6_1 => 9];
        tcp_pacing_ss_ratio: u32 = value "net.ipv4.tcp_pacing_ss_ratio", [200];
        tcp_pacing_ca_ratio: u32 = value "net.ipv4.tcp_pacing_ca_ratio", [120];
        tcp_slow_start_after_idle: bool = switch "net.ipv4.tcp_slow_start_after_idle", [true];
        tcp_no_metrics_save: bool = switch "net.ipv4.tcp_no_metrics_save", [false];
        tcp_no_ssthresh_metrics_save: bool = switch "net.ipv4.tcp_no_ssthresh_metrics_save", [
            false,
            Linux5_14 => true,
        ];
        tcp_autocorking: bool = switch "net.ipv4.tcp_autocorking", [false, Linux4_18 => true];
        tcp_syn_retries: u8 = value "net.ipv4.tcp_syn_retries", [5, Linux4_18 => 6];
        tcp_synack_retries: u8 = value "net.ipv4.tcp_synack_retries", [5];
        tcp_syn_linear_timeouts: u8 = value "net.ipv4.tcp_syn_linear_timeouts", [0, Linux6_6 => 4];
        tcp_retries1: u8 = value "net.ipv4.tcp_retries1", [3];
        tcp_retries2: u8 = value "net.ipv4.tcp_retries2", [15];
        tcp_orphan_retries: u8 = value "net.ipv4.tcp_orphan_retries", [0];
        tcp_syncookies: u8 = value "net.ipv4.tcp_syncookies", [0, Linux4_18 => 1];
        tcp_max_syn_backlog: u32 = value "net.ipv4.tcp_max_syn_backlog", [1024, Linux4_18 => 4096];
        tcp_abort_on_overflow: bool = switch "net.ipv4.tcp_abort_on_overflow", [false];
        tcp_fin_timeout: Duration = time "net.ipv4.tcp_fin_timeout" in SECOND, [Duration::from_secs(60)];
        tcp_tw_reuse: u8 = value "net.ipv4.tcp_tw_reuse", [0, Linux5_14 => 2];
        tcp_tw_reuse_delay: Duration = time "net.ipv4.tcp_tw_reuse_delay" in MILLISECOND, [
            Duration::from_secs(1),
        ];
        tcp_keepalive_time: Duration = time "net.ipv4.tcp_keepalive_time" in SECOND, [
            Duration::from_secs(7200),
        ];
        tcp_keepalive_intvl: Duration = time "net.ipv4.tcp_keepalive_intvl" in SECOND, [
            Duration::from_secs(75),
        ];
        tcp_keepalive_probes: u8 = value "net.ipv4.tcp_keepalive_probes", [9];
        tcp_invalid_ratelimit: Duration = time "net.ipv4.tcp_invalid_ratelimit" in MILLISECOND, [
            Duration::from_millis(500),
        ];
        tcp_challenge_ack_limit: u32 = value "net.ipv4.tcp_challenge_ack_limit", [
            u32::MAX / 2, Linux4_18 => 1000, Linux6_1 => u32::MAX / 2,
        ];
        tcp_comp_sack_delay: Duration = time "net.ipv4.tcp_comp_sack_delay_ns" in NANOSECOND, [
            Duration::from_millis(1),
        ];
        tcp_comp_sack_slack: Duration = time "net.ipv4.tcp_comp_sack_slack_ns" in NANOSECOND, [
            Duration::from_micros(100), Linux4_18 => Duration::ZERO, Linux5_14 => Duration::from_micros(100),
        ];
        tcp_comp_sack_nr: u8 = value "net.ipv4.tcp_comp_sack_nr", [44];
        tcp_rto_min: Duration = time "net.ipv4.tcp_rto_min_us" in MICROSECOND, [Duration::from_millis(200)];
        tcp_rto_max: Duration = time "net.ipv4.tcp_rto_max_ms" in MILLISECOND, [Duration::from_secs(120)];
        tcp_notsent_lowat: u32 = value "net.ipv4.tcp_notsent_lowat", [u32::MAX];
        tcp_retrans_collapse: bool = switch "net.ipv4.tcp_retrans_collapse", [true];
        tcp_thin_linear_timeouts: bool = switch "net.ipv4.tcp_thin_linear_timeouts", [false];
        tcp_base_mss: u32 = value "net.ipv4.tcp_base_mss", [1024];
        tcp_min_snd_mss: u32 = value "net.ipv4.tcp_min_snd_mss", [48];
        tcp_mtu_probing: u8 = value "net.ipv4.tcp_mtu_probing", [0];
        tcp_mtu_probe_floor: u32 = value "net.ipv4.tcp_mtu_probe_floor", [48];
        tcp_probe_threshold: u32 = value "net.ipv4.tcp_probe_threshold", [8];
        tcp_probe_interval: Duration = time "net.ipv4.tcp_probe_interval" in SECOND, [Duration::from_secs(600)];
        tcp_stdurg: bool = switch "net.ipv4.tcp_stdurg", [false];
        tcp_rfc1337: bool = switch "net.ipv4.tcp_rfc1337", [false];
        tcp_workaround_signed_windows: bool = switch "net.ipv4.tcp_workaround_signed_windows", [false];
        tcp_shrink_window: bool = switch "net.ipv4.tcp_shrink_window", [false];
        tcp_min_rtt_wlen: Duration = time "net.ipv4.tcp_min_rtt_wlen" in SECOND, [Duration::from_secs(300)];
        tcp_backlog_ack_defer: bool = switch "net.ipv4.tcp_backlog_ack_defer", [
            true, Linux4_18 => false, Linux6_8 => true,
        ];
        tcp_pingpong_thresh: u8 = value "net.ipv4.tcp_pingpong_thresh", [1];
        tcp_reflect_tos: bool = switch "net.ipv4.tcp_reflect_tos", [false];
        tcp_migrate_req: bool = switch "net.ipv4.tcp_migrate_req", [false];
        tcp_fwmark_accept: bool = switch "net.ipv4.tcp_fwmark_accept", [false];
    }
}
