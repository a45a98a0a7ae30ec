//! The sender's part of opening a connection (`tcp_connect`, `tcp_init_transfer`).

use super::skb::Skb;
use crate::congestion::CaState;
use crate::connection::Connection;
use crate::packet::{Packet, SynOptions, TCP_HEADER, TcpOptions};
use crate::timers::Pending;
use slowpath_model::{Flags, Instant, StreamOffset, Timestamps};

/// `ip_rt_min_advmss`, `ip6_rt_min_advmss`.
const MIN_ADVMSS_V4: u32 = 256;
const MIN_ADVMSS_V6: u32 = 1220;

impl Connection {
    /// Sends the SYN (`tcp_connect`).
    pub(crate) fn start_connect(&mut self, now: Instant) {
        let flags = self.asking_flags();
        let mut skb = Skb::new(StreamOffset(0), StreamOffset(1), flags);
        skb.cut(self.snd.mss);
        let id = self.snd.queue.push_sent(skb);
        self.charge_head();
        self.snd.write_seq = StreamOffset(1);
        self.snd.pushed_seq = StreamOffset(1);
        self.snd.nxt = StreamOffset(1);
        self.snd.retrans_stamp = Some(now);
        self.transmit(now, id);
        self.snd.packets_out = 1;
        self.add_syn_options(false);
        let rto = self.snd.rtt.rto;
        self.set_retransmit_timer(now, Pending::Retransmit, rto);
    }

    /// Adds the options of the SYN just built (`tcp_syn_options`). A retransmission after a timeout does not request ECN
    /// (`tcp_ecn_fallback`, RFC 3168, section 6.1.1.1), a second one no Accurate ECN (`__tcp_retransmit_skb`, 7.2).
    pub(super) fn add_syn_options(&mut self, again: bool) {
        self.lower_advmss();
        let now_offered = self.syn_options();
        let timestamps = self.settings.sysctls.tcp_timestamps != 0;
        let with_ecn = u8::from(self.asked_ecn().is_accurate());
        let fall_back = again && self.settings.sysctls.tcp_ecn_fallback && self.snd.retransmits > with_ecn;
        let value = self.snd.queue.head().map(|id| self.timestamp(self.snd.queue[id].sent_at));
        let ecr = self.rcv.ts_recent;
        let Some(syn) = self.out.back_mut() else { return };
        syn.options = TcpOptions::Syn(now_offered);
        if timestamps {
            syn.timestamps = value.map(|val| Timestamps { val, ecr });
        }
        if fall_back {
            syn.flags = syn.flags.without(Flags::AE.with(Flags::ECE).with(Flags::CWR));
        }
    }

    /// We advertise no more than fits the path MTU, which may have become smaller (`tcp_advertise_mss`,
    /// `ipv4_default_advmss`, `ip6_default_advmss`).
    fn lower_advmss(&mut self) {
        let headers = self.settings.ip_header + TCP_HEADER;
        let least = if self.settings.is_ipv6() { MIN_ADVMSS_V6 } else { MIN_ADVMSS_V4 };
        let fits = self.snd.pmtu.saturating_sub(headers).max(least);
        self.rcv.advmss = self.rcv.advmss.min(fits);
    }

    /// The options that our SYN offers.
    pub(crate) fn syn_options(&self) -> SynOptions {
        let sysctls = &self.settings.sysctls;
        SynOptions {
            mss: Some(u16::try_from(self.rcv.advmss).unwrap_or(u16::MAX)),
            window_scale: sysctls.tcp_window_scaling.then(|| self.offered_window_scale()),
            sack_permitted: sysctls.tcp_sack,
            fast_open: None,
        }
    }

    /// Takes window and sequence number from the segment that established the connection.
    pub(crate) fn snd_established(&mut self, now: Instant, packet: &Packet) {
        let shift = match self.negotiated.window_scale {
            Some((theirs, _)) if !packet.flags.has(Flags::SYN) => theirs,
            _ => 0,
        };
        self.snd.wnd = u32::from(packet.window) << shift;
        self.snd.wl1 = packet.seq;
        self.snd.max_window = self.snd.max_window.max(self.snd.wnd);
        self.snd.last_ack = now;
    }

    /// The connection is established: initial cwnd, buffer, congestion control (`tcp_init_transfer`).
    pub(crate) fn init_transfer(&mut self, now: Instant) {
        self.begin_mtu_search(now);
        let first_cwnd = self.use_metrics();
        // A retransmitted SYN indicates a lossy path (RFC 6298, section 5.7).
        let lost_syn = self.snd.totals.retransmissions > 1 && self.snd.undo.is_some();
        self.snd.window.cwnd = if lost_syn { 1 } else { first_cwnd };
        self.snd.cwnd_stamp = now;
        self.snd.cwnd_usage_seq = self.snd.nxt;
        self.snd.ca_state = CaState::Open;
        self.begin_congestion_control(now);
        self.expand_send_buffer();
        self.update_pacing_rate();
    }
}
