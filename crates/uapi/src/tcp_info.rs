//! `struct tcp_info`, as filled by `getsockopt(TCP_INFO)` and `INET_DIAG_INFO` (include/uapi/linux/tcp.h, Linux 6.18).
//!
//! The struct only grows at its end. A kernel fills the fields it has, and the length says how many: [`filled_by`].

/// How many bytes a kernel fills, by the release that added the last of them.
pub mod filled_by {
    /// Up to `tcpi_snd_wnd`.
    pub const LINUX_5_4: usize = 232;
    /// Up to `tcpi_rcv_wnd` and `tcpi_rehash`.
    pub const LINUX_6_2: usize = 240;
    /// Up to `tcpi_total_rto_time`.
    pub const LINUX_6_7: usize = 248;
    /// Up to `tcpi_received_ce_bytes`. Two fields of Accurate ECN follow, which differ between releases.
    pub const LINUX_6_18: usize = 276;
}

/// The bytes of the whole struct.
const LENGTH: usize = filled_by::LINUX_6_18;

/// A field of at least a byte: its kernel name, offset, and length.
type Field = (&'static str, usize, usize);

/// The offset of the shift counts: `tcpi_snd_wscale` in the low four bits, `tcpi_rcv_wscale` in the high ones.
const SCALES: usize = 6;
/// `tcpi_delivery_rate_app_limited` in the lowest bit, `tcpi_fastopen_client_fail` in the two above.
const BITS: usize = 7;

/// Declares the struct, its decoder and encoder from one list: each field with its type and offset.
macro_rules! layout {
    ($($name:ident: $type:ident = $offset:literal $kernel:literal,)*) => {
        /// The fields of `struct tcp_info` without `tcpi_`; times, amounts and rates are in the kernel's units:
        /// microseconds (`last_*` and `total_rto_time`: milliseconds), bytes or segments, bytes per second.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each is documented under its own name in the kernel's header")]
        pub struct TcpInfo {
            pub snd_wscale: u8,
            pub rcv_wscale: u8,
            pub delivery_rate_app_limited: bool,
            pub fastopen_client_fail: u8,
            $(pub $name: $type,)*
        }

        const FIELDS: &[Field] = &[$(($kernel, $offset, size_of::<$type>())),*];

        impl TcpInfo {
            fn read_fields(&mut self, bytes: &[u8; LENGTH]) {
                $(
                    let mut field = [0; size_of::<$type>()];
                    field.copy_from_slice(&bytes[$offset..][..size_of::<$type>()]);
                    self.$name = $type::from_ne_bytes(field);
                )*
            }

            fn write_fields(&self, bytes: &mut [u8; LENGTH]) {
                $(bytes[$offset..][..size_of::<$type>()].copy_from_slice(&self.$name.to_ne_bytes());)*
            }

            /// In the order of [`FIELDS`], as signed: a rate of ~0 is unlimited, and -1 in scripts too.
            fn values(&self) -> [i64; FIELDS.len()] {
                [$(self.$name as i64),*]
            }
        }
    };
}

layout! {
    state: u8 = 0 "tcpi_state",
    ca_state: u8 = 1 "tcpi_ca_state",
    retransmits: u8 = 2 "tcpi_retransmits",
    probes: u8 = 3 "tcpi_probes",
    backoff: u8 = 4 "tcpi_backoff",
    options: u8 = 5 "tcpi_options",
    rto: u32 = 8 "tcpi_rto",
    ato: u32 = 12 "tcpi_ato",
    snd_mss: u32 = 16 "tcpi_snd_mss",
    rcv_mss: u32 = 20 "tcpi_rcv_mss",
    unacked: u32 = 24 "tcpi_unacked",
    sacked: u32 = 28 "tcpi_sacked",
    lost: u32 = 32 "tcpi_lost",
    retrans: u32 = 36 "tcpi_retrans",
    fackets: u32 = 40 "tcpi_fackets",
    last_data_sent: u32 = 44 "tcpi_last_data_sent",
    last_ack_sent: u32 = 48 "tcpi_last_ack_sent",
    last_data_recv: u32 = 52 "tcpi_last_data_recv",
    last_ack_recv: u32 = 56 "tcpi_last_ack_recv",
    pmtu: u32 = 60 "tcpi_pmtu",
    rcv_ssthresh: u32 = 64 "tcpi_rcv_ssthresh",
    rtt: u32 = 68 "tcpi_rtt",
    rttvar: u32 = 72 "tcpi_rttvar",
    snd_ssthresh: u32 = 76 "tcpi_snd_ssthresh",
    snd_cwnd: u32 = 80 "tcpi_snd_cwnd",
    advmss: u32 = 84 "tcpi_advmss",
    reordering: u32 = 88 "tcpi_reordering",
    rcv_rtt: u32 = 92 "tcpi_rcv_rtt",
    rcv_space: u32 = 96 "tcpi_rcv_space",
    total_retrans: u32 = 100 "tcpi_total_retrans",
    pacing_rate: u64 = 104 "tcpi_pacing_rate",
    max_pacing_rate: u64 = 112 "tcpi_max_pacing_rate",
    bytes_acked: u64 = 120 "tcpi_bytes_acked",
    bytes_received: u64 = 128 "tcpi_bytes_received",
    segs_out: u32 = 136 "tcpi_segs_out",
    segs_in: u32 = 140 "tcpi_segs_in",
    notsent_bytes: u32 = 144 "tcpi_notsent_bytes",
    min_rtt: u32 = 148 "tcpi_min_rtt",
    data_segs_in: u32 = 152 "tcpi_data_segs_in",
    data_segs_out: u32 = 156 "tcpi_data_segs_out",
    delivery_rate: u64 = 160 "tcpi_delivery_rate",
    busy_time: u64 = 168 "tcpi_busy_time",
    rwnd_limited: u64 = 176 "tcpi_rwnd_limited",
    sndbuf_limited: u64 = 184 "tcpi_sndbuf_limited",
    delivered: u32 = 192 "tcpi_delivered",
    delivered_ce: u32 = 196 "tcpi_delivered_ce",
    bytes_sent: u64 = 200 "tcpi_bytes_sent",
    bytes_retrans: u64 = 208 "tcpi_bytes_retrans",
    dsack_dups: u32 = 216 "tcpi_dsack_dups",
    reord_seen: u32 = 220 "tcpi_reord_seen",
    rcv_ooopack: u32 = 224 "tcpi_rcv_ooopack",
    snd_wnd: u32 = 228 "tcpi_snd_wnd",
    rcv_wnd: u32 = 232 "tcpi_rcv_wnd",
    rehash: u32 = 236 "tcpi_rehash",
    total_rto: u16 = 240 "tcpi_total_rto",
    total_rto_recoveries: u16 = 242 "tcpi_total_rto_recoveries",
    total_rto_time: u32 = 244 "tcpi_total_rto_time",
    received_ce: u32 = 248 "tcpi_received_ce",
    delivered_e1_bytes: u32 = 252 "tcpi_delivered_e1_bytes",
    delivered_e0_bytes: u32 = 256 "tcpi_delivered_e0_bytes",
    delivered_ce_bytes: u32 = 260 "tcpi_delivered_ce_bytes",
    received_e1_bytes: u32 = 264 "tcpi_received_e1_bytes",
    received_e0_bytes: u32 = 268 "tcpi_received_e0_bytes",
    received_ce_bytes: u32 = 272 "tcpi_received_ce_bytes",
}

impl TcpInfo {
    /// The length of the struct. A newer kernel fills no more of a buffer than that.
    pub const LENGTH: usize = LENGTH;

    /// Decodes what a kernel filled, which may be shorter or longer than this struct. Missing fields are 0.
    pub fn decode(bytes: &[u8]) -> Self {
        let mut whole = [0; LENGTH];
        let filled = bytes.len().min(LENGTH);
        whole[..filled].copy_from_slice(&bytes[..filled]);
        let mut info = Self {
            snd_wscale: whole[SCALES] & 15,
            rcv_wscale: whole[SCALES] >> 4,
            delivery_rate_app_limited: whole[BITS] & 1 != 0,
            fastopen_client_fail: whole[BITS] >> 1 & 3,
            ..Self::default()
        };
        info.read_fields(&whole);
        info
    }

    /// The struct as a kernel fills it.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        self.write_fields(&mut bytes);
        bytes[SCALES] = self.snd_wscale & 15 | self.rcv_wscale << 4;
        bytes[BITS] = u8::from(self.delivery_rate_app_limited) | (self.fastopen_client_fail & 3) << 1;
        bytes
    }

    /// The fields within the first `filled` bytes, by their kernel names.
    pub fn measures(&self, filled: usize) -> Vec<(&'static str, i64)> {
        let bits = [
            ("tcpi_snd_wscale", SCALES, i64::from(self.snd_wscale)),
            ("tcpi_rcv_wscale", SCALES, i64::from(self.rcv_wscale)),
            ("tcpi_delivery_rate_app_limited", BITS, i64::from(self.delivery_rate_app_limited)),
            ("tcpi_fastopen_client_fail", BITS, i64::from(self.fastopen_client_fail)),
        ];
        let whole =
            FIELDS.iter().zip(self.values()).map(|((name, at, width), value)| (*name, at + width, value));
        let parts = bits.into_iter().map(|(name, at, value)| (name, at + 1, value));
        whole
            .chain(parts)
            .filter(|(_, end, _)| *end <= filled)
            .map(|(name, _, value)| (name, value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_info_layout_matches_pahole() {
        // From pahole on the 6.18 header.
        let offset = |name| FIELDS.iter().find(|field| field.0 == name).map(|field| field.1);
        assert_eq!(offset("tcpi_pacing_rate"), Some(104));
        assert_eq!(offset("tcpi_busy_time"), Some(168));
        assert_eq!(offset("tcpi_bytes_sent"), Some(200));
        assert_eq!(offset("tcpi_snd_wnd"), Some(228));
        // No field overlaps another, and none is missing except the two bytes of bit fields.
        let mut next = 0;
        for (name, at, width) in FIELDS {
            let gap = if *name == "tcpi_rto" { 2 } else { 0 };
            assert_eq!(*at, next + gap, "{name}");
            next = at + width;
        }
        assert_eq!(next, LENGTH);
    }

    #[test]
    fn tcp_info_fields_round_trip() {
        let mut whole: [u8; LENGTH] = std::array::from_fn(|at| at as u8);
        whole[BITS] = 5;
        assert_eq!(TcpInfo::decode(&whole).encode(), whole);
    }

    #[test]
    fn fields_beyond_an_older_kernels_length_are_omitted() {
        let info = TcpInfo::decode(&[0xff; 104]);
        assert_eq!((info.total_retrans, info.pacing_rate), (u32::MAX, 0));
        let measures = info.measures(104);
        assert!(measures.contains(&("tcpi_fastopen_client_fail", 3)));
        assert!(measures.contains(&("tcpi_total_retrans", i64::from(u32::MAX))));
        assert!(measures.iter().all(|(name, _)| *name != "tcpi_pacing_rate"));
        assert_eq!(info.measures(LENGTH).len(), FIELDS.len() + 4);
    }
}
