//! What a socket measures, by the names that scripts' code uses.

use slowpath_drill::KernelError;
use slowpath_drill::call::Fd;

/// A field of `struct tcp_info`: its name, where it begins and how many bytes it has (include/uapi/linux/tcp.h, 6.18).
type Field = (&'static str, usize, usize);

#[rustfmt::skip]
const TCP_INFO: &[Field] = &[
    ("tcpi_state", 0, 1), ("tcpi_ca_state", 1, 1), ("tcpi_retransmits", 2, 1), ("tcpi_probes", 3, 1),
    ("tcpi_backoff", 4, 1), ("tcpi_options", 5, 1), ("tcpi_rto", 8, 4), ("tcpi_ato", 12, 4),
    ("tcpi_snd_mss", 16, 4), ("tcpi_rcv_mss", 20, 4), ("tcpi_unacked", 24, 4), ("tcpi_sacked", 28, 4),
    ("tcpi_lost", 32, 4), ("tcpi_retrans", 36, 4), ("tcpi_fackets", 40, 4), ("tcpi_last_data_sent", 44, 4),
    ("tcpi_last_ack_sent", 48, 4), ("tcpi_last_data_recv", 52, 4), ("tcpi_last_ack_recv", 56, 4),
    ("tcpi_pmtu", 60, 4), ("tcpi_rcv_ssthresh", 64, 4), ("tcpi_rtt", 68, 4), ("tcpi_rttvar", 72, 4),
    ("tcpi_snd_ssthresh", 76, 4), ("tcpi_snd_cwnd", 80, 4), ("tcpi_advmss", 84, 4),
    ("tcpi_reordering", 88, 4), ("tcpi_rcv_rtt", 92, 4), ("tcpi_rcv_space", 96, 4),
    ("tcpi_total_retrans", 100, 4), ("tcpi_pacing_rate", 104, 8), ("tcpi_max_pacing_rate", 112, 8),
    ("tcpi_bytes_acked", 120, 8), ("tcpi_bytes_received", 128, 8), ("tcpi_segs_out", 136, 4),
    ("tcpi_segs_in", 140, 4), ("tcpi_notsent_bytes", 144, 4), ("tcpi_min_rtt", 148, 4),
    ("tcpi_data_segs_in", 152, 4), ("tcpi_data_segs_out", 156, 4), ("tcpi_delivery_rate", 160, 8),
    ("tcpi_busy_time", 168, 8), ("tcpi_rwnd_limited", 176, 8), ("tcpi_sndbuf_limited", 184, 8),
    ("tcpi_delivered", 192, 4), ("tcpi_delivered_ce", 196, 4), ("tcpi_bytes_sent", 200, 8),
    ("tcpi_bytes_retrans", 208, 8), ("tcpi_dsack_dups", 216, 4), ("tcpi_reord_seen", 220, 4),
    ("tcpi_rcv_ooopack", 224, 4), ("tcpi_snd_wnd", 228, 4), ("tcpi_rcv_wnd", 232, 4), ("tcpi_rehash", 236, 4),
    ("tcpi_total_rto", 240, 2), ("tcpi_total_rto_recoveries", 242, 2), ("tcpi_total_rto_time", 244, 4),
];

/// `SO_MEMINFO` (include/uapi/linux/sock_diag.h).
const MEMORY: &[Field] = &[
    ("SK_MEMINFO_RMEM_ALLOC", 0, 4),
    ("SK_MEMINFO_RCVBUF", 4, 4),
    ("SK_MEMINFO_WMEM_ALLOC", 8, 4),
    ("SK_MEMINFO_SNDBUF", 12, 4),
    ("SK_MEMINFO_FWD_ALLOC", 16, 4),
    ("SK_MEMINFO_WMEM_QUEUED", 20, 4),
    ("SK_MEMINFO_OPTMEM", 24, 4),
    ("SK_MEMINFO_BACKLOG", 28, 4),
    ("SK_MEMINFO_DROPS", 32, 4),
];

const SO_MEMINFO: libc::c_int = 55;

/// All that a socket measures.
pub fn of(fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError> {
    let info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let mut measures = read(TCP_INFO, &info);
    // The three that share bytes with others.
    if let [_, _, _, _, _, _, scales, bits, ..] = info[..] {
        measures.push(("tcpi_snd_wscale", i64::from(scales & 15)));
        measures.push(("tcpi_rcv_wscale", i64::from(scales >> 4)));
        measures.push(("tcpi_delivery_rate_app_limited", i64::from(bits & 1)));
        measures.push(("tcpi_fastopen_client_fail", i64::from(bits >> 1 & 3)));
    }
    measures.extend(read(MEMORY, &option(fd, libc::SOL_SOCKET, SO_MEMINFO)?));
    Ok(measures)
}

fn option(fd: Fd, level: libc::c_int, name: libc::c_int) -> Result<Vec<u8>, KernelError> {
    let mut value = vec![0u8; 512];
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the buffer is live and its true length is passed with it.
    let result = unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        return Err(KernelError::new(format!("this socket does not say what it measures: {error}")));
    }
    value.truncate(length as usize);
    Ok(value)
}

/// The fields that the kernel filled.
fn read(fields: &[Field], bytes: &[u8]) -> Vec<(&'static str, i64)> {
    let value = |(name, at, width): &Field| {
        let field = bytes.get(*at..at + width)?;
        let value = field.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        // ~0 means unlimited for rates: too large for code, and -1 there too.
        Some((*name, value as i64))
    };
    fields.iter().filter_map(value).collect()
}
