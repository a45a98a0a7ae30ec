//! `TCP_INFO` (`tcp_get_info`, tcp.c, 6.18).

use super::sender::micros;
use crate::connection::{Connection, State};
use slowpath_model::Instant;
use slowpath_uapi::TcpInfo;

/// The kernel's numbers of the states (include/net/tcp_states.h).
const fn number(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        // The application's socket is closed: TIME-WAIT is a small socket's state.
        State::TimeWait | State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

/// `TCPI_OPT_*`.
const OPT_TIMESTAMPS: u8 = 1;
const OPT_SACK: u8 = 2;
const OPT_WSCALE: u8 = 4;
const OPT_ECN: u8 = 8;

/// Milliseconds between two instants, on a millisecond clock.
pub(super) fn millis_between(from: Instant, to: Instant) -> u32 {
    u32::try_from(to.nanos().div_euclid(1_000_000) - from.nanos().div_euclid(1_000_000)).unwrap_or(0)
}

impl Connection {
    /// What `getsockopt(TCP_INFO)` would return now.
    pub fn info(&self, now: Instant) -> TcpInfo {
        let mut info = TcpInfo { state: number(self.state), ..TcpInfo::default() };
        self.options_info(&mut info);
        self.sender_info(now, &mut info);
        self.totals_info(now, &mut info);
        self.receiver_info(now, &mut info);
        info
    }

    fn options_info(&self, info: &mut TcpInfo) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        info.options = flag(self.negotiated.timestamps, OPT_TIMESTAMPS)
            | flag(self.negotiated.sack, OPT_SACK)
            | flag(self.negotiated.window_scale.is_some(), OPT_WSCALE)
            | flag(self.negotiated.ecn.is_on(), OPT_ECN);
        if let Some((theirs, ours)) = self.negotiated.window_scale {
            (info.snd_wscale, info.rcv_wscale) = (theirs, ours);
        }
    }

    fn sender_info(&self, now: Instant, info: &mut TcpInfo) {
        let snd = &self.snd;
        let millis = |since: Instant| {
            now.since(since).map_or(0, |span| u32::try_from(span.as_millis()).unwrap_or(u32::MAX))
        };
        info.ca_state = snd.ca_state as u8;
        info.retransmits = snd.retransmits;
        info.probes = snd.probes_out;
        info.backoff = snd.backoff;
        info.rto = micros(self.span(snd.rtt.rto));
        info.snd_mss = snd.mss;
        info.unacked = snd.packets_out;
        info.sacked = snd.sacked_out;
        info.lost = snd.lost_out;
        info.retrans = snd.retrans_out;
        info.last_data_sent = millis(snd.last_sent);
        info.last_ack_recv = millis(snd.last_ack);
        info.pmtu = snd.pmtu;
        info.rtt = snd.rtt.srtt_us >> 3;
        info.rttvar = snd.rtt.mdev_us >> 2;
        info.snd_ssthresh = snd.window.ssthresh;
        info.snd_cwnd = snd.window.cwnd;
        info.reordering = snd.reordering;
        info.reord_seen = snd.reordering_seen;
        info.min_rtt = self.min_rtt_us().unwrap_or(u32::MAX);
        info.snd_wnd = snd.wnd;
        info.notsent_bytes = u32::try_from(snd.write_seq.distance_from(snd.nxt)).unwrap_or(0);
    }

    fn totals_info(&self, now: Instant, info: &mut TcpInfo) {
        let snd = &self.snd;
        info.pacing_rate = snd.pacing_rate;
        info.max_pacing_rate = self.options.max_pacing_rate;
        (info.delivery_rate, info.delivery_rate_app_limited) = self.delivery_rate();
        let in_micros = |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        [info.busy_time, info.rwnd_limited, info.sndbuf_limited] = snd.chrono.totals(now).map(in_micros);
        info.delivered = snd.delivered;
        info.delivered_ce = snd.delivered_ce;
        info.total_retrans = snd.totals.retransmissions;
        info.bytes_acked = snd.totals.bytes_acked;
        info.bytes_sent = snd.totals.bytes_sent;
        info.bytes_retrans = snd.totals.bytes_retransmitted;
        info.segs_out = snd.totals.segments_out;
        info.data_segs_out = snd.totals.data_segments_out;
        info.dsack_dups = snd.totals.dsack_duplicates;
        info.total_rto = snd.total_rto;
        info.total_rto_recoveries = snd.total_rto_recoveries;
        info.total_rto_time = snd.total_rto_ms + snd.rto_since.map_or(0, |since| millis_between(since, now));
        info.rehash = snd.rehashes;
        self.accurate_ecn_info(info);
    }
}
