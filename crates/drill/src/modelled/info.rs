//! Measurements of a connection, by their names in the code of scripts.

use crate::call::Statistic;
use crate::wire;
use slowpath_model::SocketSample;
use slowpath_uapi::TcpInfo;

/// `TCP_LISTEN` (include/net/tcp_states.h).
const LISTEN: u8 = 10;
/// `TCP_CLOSE`.
const CLOSE: u8 = 7;
/// `TCP_INIT_CWND`.
const INITIAL_CWND: u32 = 10;

/// A listener's accept queue: its length, and its limit.
pub fn of_listener((waiting, backlog): (u32, u32)) -> TcpInfo {
    TcpInfo { state: LISTEN, unacked: waiting, sacked: backlog, ..TcpInfo::default() }
}

/// A socket that is neither listening nor connected.
pub fn of_closed() -> TcpInfo {
    TcpInfo { state: CLOSE, snd_ssthresh: i32::MAX as u32, snd_cwnd: INITIAL_CWND, ..TcpInfo::default() }
}

/// `SO_MEMINFO` (`sk_get_meminfo`, net/core/sock.c). The device takes sent packets immediately, and nothing waits
/// before the socket.
pub fn memory(sample: &SocketSample) -> [(&'static str, i64); 7] {
    let bytes = |value: Option<u32>| i64::from(value.unwrap_or(0));
    [
        ("SK_MEMINFO_RMEM_ALLOC", bytes(sample.rmem_alloc)),
        ("SK_MEMINFO_RCVBUF", bytes(sample.rcvbuf)),
        ("SK_MEMINFO_WMEM_ALLOC", 0),
        ("SK_MEMINFO_SNDBUF", bytes(sample.sndbuf)),
        ("SK_MEMINFO_WMEM_QUEUED", bytes(sample.wmem_queued)),
        ("SK_MEMINFO_OPTMEM", 0),
        ("SK_MEMINFO_BACKLOG", 0),
    ]
}

/// Attributes of `SCM_TIMESTAMPING_OPT_STATS`, in their order (`tcp_get_timestamping_opt_stats`, net/ipv4/tcp.c, 6.18);
/// `acknowledged`: they are for an ACK, which has a TTL.
pub fn statistics(info: &TcpInfo, acknowledged: bool) -> Vec<Statistic> {
    let value = |kind: i32, value: u64| Statistic { kind, value: Some(value) };
    let mut all = vec![
        value(1, info.busy_time),
        value(2, info.rwnd_limited),
        value(3, info.sndbuf_limited),
        value(4, info.data_segs_out.into()),
        value(5, info.total_retrans.into()),
        value(6, info.pacing_rate),
        value(7, info.delivery_rate),
        value(8, info.snd_cwnd.into()),
        value(9, info.reordering.into()),
        value(10, info.min_rtt.into()),
        value(11, info.retransmits.into()),
        value(12, info.delivery_rate_app_limited.into()),
        value(15, info.snd_ssthresh.into()),
        value(16, info.delivered.into()),
        value(17, info.delivered_ce.into()),
        value(
            13,
            u64::from(info.notsent_bytes)
                + (info.bytes_sent - info.bytes_retrans).saturating_sub(info.bytes_acked),
        ),
        value(14, info.ca_state.into()),
        value(18, info.bytes_sent),
        value(19, info.bytes_retrans),
        value(20, info.dsack_dups.into()),
        value(21, info.reord_seen.into()),
        value(22, info.rtt.into()),
        value(23, info.rehash.into()),
        value(24, info.notsent_bytes.into()),
        value(25, 0),
    ];
    if acknowledged {
        all.push(value(26, wire::TTL.into()));
    }
    all.push(value(27, info.rehash.into()));
    all
}

/// Bytes of an attribute, including header and padding.
pub fn attribute_bytes(statistic: &Statistic) -> u32 {
    // Times, rates, and counts of bytes or segments are 64-bit.
    const LONG: [i32; 10] = [1, 2, 3, 4, 5, 6, 7, 18, 19, 25];
    if LONG.contains(&statistic.kind) { 12 } else { 8 }
}
