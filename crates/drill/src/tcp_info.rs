//! `struct tcp_info` as bytes (include/uapi/linux/tcp.h, 6.18).

/// A field: its name, where it begins and how many bytes it has.
pub type Field = (&'static str, usize, usize);

/// The bytes of the whole.
pub const LENGTH: usize = 248;

/// The fields that have bytes of their own.
#[rustfmt::skip]
pub const FIELDS: &[Field] = &[
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

/// Where two shift counts are, and two fields of less than a byte.
const SCALES: usize = 6;
const BITS: usize = 7;

/// The values of the fields that the bytes reach to.
pub fn decode(bytes: &[u8]) -> Vec<(&'static str, i64)> {
    let mut measures = read(FIELDS, bytes);
    if let (Some(scales), Some(bits)) = (bytes.get(SCALES), bytes.get(BITS)) {
        measures.push(("tcpi_snd_wscale", i64::from(scales & 15)));
        measures.push(("tcpi_rcv_wscale", i64::from(scales >> 4)));
        measures.push(("tcpi_delivery_rate_app_limited", i64::from(bits & 1)));
        measures.push(("tcpi_fastopen_client_fail", i64::from(bits >> 1 & 3)));
    }
    measures
}

/// The values of fields, as far as the bytes reach.
pub fn read(fields: &[Field], bytes: &[u8]) -> Vec<(&'static str, i64)> {
    let value = |(name, at, width): &Field| {
        let field = bytes.get(*at..at + width)?;
        let value = field.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        // ~0 means unlimited for rates: too large for code, and -1 there too.
        Some((*name, value as i64))
    };
    fields.iter().filter_map(value).collect()
}

/// The bytes that hold these values.
pub fn encode(measures: &[(&str, i64)]) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    let value =
        |wanted: &str| measures.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, value)| *value);
    for (name, at, width) in FIELDS {
        bytes[*at..at + width].copy_from_slice(&value(name).to_le_bytes()[..*width]);
    }
    bytes[SCALES] = (value("tcpi_snd_wscale") & 15 | value("tcpi_rcv_wscale") << 4) as u8;
    let limited = value("tcpi_delivery_rate_app_limited") & 1;
    bytes[BITS] = (limited | (value("tcpi_fastopen_client_fail") & 3) << 1) as u8;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_went_in() {
        let whole: Vec<u8> = (0..LENGTH).map(|at| if at == BITS { 5 } else { at as u8 }).collect();
        assert_eq!(encode(&decode(&whole)), whole);
        assert_eq!(decode(&whole[..104]).last(), Some(&("tcpi_fastopen_client_fail", 2)));
    }
}
