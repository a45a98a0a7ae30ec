//! What a connection measures, by the names that scripts' code uses.

use crate::call::Statistic;
use crate::wire;
use slowpath_model::SocketSample;
use slowpath_tcp::TcpInfo;

/// `TCP_LISTEN` (include/net/tcp_states.h).
const LISTEN: i64 = 10;
/// `TCP_CLOSE`.
const CLOSE: u8 = 7;
/// `TCP_INIT_CWND`.
const INITIAL_CWND: u32 = 10;

/// A listener's queue: how many wait, and how many may.
pub fn of_listener((waiting, backlog): (u32, u32)) -> Vec<(&'static str, i64)> {
    let mut measures = measures(&TcpInfo::default());
    measures.extend([
        ("tcpi_state", LISTEN),
        ("tcpi_unacked", i64::from(waiting)),
        ("tcpi_sacked", i64::from(backlog)),
    ]);
    measures
}

/// A socket that is neither listening nor connected.
pub fn of_closed() -> Vec<(&'static str, i64)> {
    measures(&TcpInfo {
        state: CLOSE,
        snd_ssthresh: i32::MAX as u32,
        snd_cwnd: INITIAL_CWND,
        ..TcpInfo::default()
    })
}

/// `SO_MEMINFO` (`sk_get_meminfo`, net/core/sock.c). The device takes what is sent at once, and nothing waits before
/// the socket.
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

/// Attributes of `SCM_TIMESTAMPING_OPT_STATS`, in their order (`tcp_get_timestamping_opt_stats`, net/ipv4/tcp.c,
/// 6.18); `acknowledged` says that an ACK is what they are about, which has a time to live.
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

/// Bytes of an attribute, its header and padding with it.
pub fn attribute_bytes(statistic: &Statistic) -> u32 {
    // Times, rates, and counts of bytes or segments have 64 bits.
    const LONG: [i32; 10] = [1, 2, 3, 4, 5, 6, 7, 18, 19, 25];
    if LONG.contains(&statistic.kind) { 12 } else { 8 }
}

macro_rules! fields {
    ($info:expr, $($name:literal = $field:ident,)*) => {
        // As the kernel's integers become Python's: by their bits.
        vec![$(($name, $info.$field as i64)),*]
    };
}

/// All fields of `struct tcp_info`.
pub fn measures(info: &TcpInfo) -> Vec<(&'static str, i64)> {
    fields!(
        info,
        "tcpi_state" = state,
        "tcpi_ca_state" = ca_state,
        "tcpi_retransmits" = retransmits,
        "tcpi_probes" = probes,
        "tcpi_backoff" = backoff,
        "tcpi_options" = options,
        "tcpi_snd_wscale" = snd_wscale,
        "tcpi_rcv_wscale" = rcv_wscale,
        "tcpi_delivery_rate_app_limited" = delivery_rate_app_limited,
        "tcpi_fastopen_client_fail" = fastopen_client_fail,
        "tcpi_rto" = rto,
        "tcpi_ato" = ato,
        "tcpi_snd_mss" = snd_mss,
        "tcpi_rcv_mss" = rcv_mss,
        "tcpi_unacked" = unacked,
        "tcpi_sacked" = sacked,
        "tcpi_lost" = lost,
        "tcpi_retrans" = retrans,
        "tcpi_fackets" = fackets,
        "tcpi_last_data_sent" = last_data_sent,
        "tcpi_last_ack_sent" = last_ack_sent,
        "tcpi_last_data_recv" = last_data_recv,
        "tcpi_last_ack_recv" = last_ack_recv,
        "tcpi_pmtu" = pmtu,
        "tcpi_rcv_ssthresh" = rcv_ssthresh,
        "tcpi_rtt" = rtt,
        "tcpi_rttvar" = rttvar,
        "tcpi_snd_ssthresh" = snd_ssthresh,
        "tcpi_snd_cwnd" = snd_cwnd,
        "tcpi_advmss" = advmss,
        "tcpi_reordering" = reordering,
        "tcpi_rcv_rtt" = rcv_rtt,
        "tcpi_rcv_space" = rcv_space,
        "tcpi_total_retrans" = total_retrans,
        "tcpi_pacing_rate" = pacing_rate,
        "tcpi_max_pacing_rate" = max_pacing_rate,
        "tcpi_bytes_acked" = bytes_acked,
        "tcpi_bytes_received" = bytes_received,
        "tcpi_segs_out" = segs_out,
        "tcpi_segs_in" = segs_in,
        "tcpi_notsent_bytes" = notsent_bytes,
        "tcpi_min_rtt" = min_rtt,
        "tcpi_data_segs_in" = data_segs_in,
        "tcpi_data_segs_out" = data_segs_out,
        "tcpi_delivery_rate" = delivery_rate,
        "tcpi_busy_time" = busy_time,
        "tcpi_rwnd_limited" = rwnd_limited,
        "tcpi_sndbuf_limited" = sndbuf_limited,
        "tcpi_delivered" = delivered,
        "tcpi_delivered_ce" = delivered_ce,
        "tcpi_bytes_sent" = bytes_sent,
        "tcpi_bytes_retrans" = bytes_retrans,
        "tcpi_dsack_dups" = dsack_dups,
        "tcpi_reord_seen" = reord_seen,
        "tcpi_rcv_ooopack" = rcv_ooopack,
        "tcpi_snd_wnd" = snd_wnd,
        "tcpi_rcv_wnd" = rcv_wnd,
        "tcpi_rehash" = rehash,
        "tcpi_total_rto" = total_rto,
        "tcpi_total_rto_recoveries" = total_rto_recoveries,
        "tcpi_total_rto_time" = total_rto_time,
    )
}
