//! Data in the SYN (`tcp_send_syn_data`, `tcp_rcv_fastopen_synack`; net/ipv4/tcp_output.c and tcp_input.c, 6.18; RFC
//! 7413).

use super::skb::Skb;
use crate::connection::Connection;
use crate::packet::{Cookie, OPTION_SPACE, TCP_HEADER, TcpOptions};
use slowpath_model::{Flags, Instant, StreamOffset};

impl Connection {
    /// Sends the SYN, with the Fast Open option if given, and at most `len` bytes of data. Returns the bytes sent.
    pub(crate) fn start_fast_connect(&mut self, now: Instant, option: Option<Cookie>, len: u32) -> u32 {
        self.start_connect(now);
        let path = self.snd.pmtu.saturating_sub(self.settings.ip_header + TCP_HEADER);
        let len = len.min(path.min(u32::from(self.negotiated.mss)).saturating_sub(OPTION_SPACE));
        let Some(packet) = self.out.back_mut() else { return 0 };
        if let TcpOptions::Syn(offer) = &mut packet.options {
            offer.fast_open = option;
        }
        if len == 0 {
            return 0;
        }
        packet.len = len;
        self.keep_syn_data(len);
        len
    }

    /// The data is queued in its own buffer after the SYN, in case it must be retransmitted.
    fn keep_syn_data(&mut self, len: u32) {
        let start = StreamOffset(1);
        let mut data = Skb::new(start, start + len, Flags::ACK.with(Flags::PSH));
        if let Some(syn) = self.snd.queue.head() {
            data.sent = self.snd.queue[syn].sent;
            data.sent_at = self.snd.queue[syn].sent_at;
        }
        data.cut(len);
        self.snd.wmem_queued += self.memory(&data);
        self.snd.queue.push_sent(data);
        self.snd.packets_out += 1;
        self.snd.write_seq = start + len;
        self.snd.pushed_seq = self.snd.write_seq;
        self.snd.nxt = self.snd.write_seq;
        self.snd.totals.bytes_sent += u64::from(len);
        self.snd.totals.data_segments_out += 1;
    }

    /// The SYN-ACK did not acknowledge the SYN's data: it is retransmitted immediately, not as congestion.
    pub(crate) fn retransmit_syn_data(&mut self, now: Instant) {
        let mut next = self.snd.queue.head();
        while let Some(id) = next {
            next = self.snd.queue.next(id);
            self.mark_lost(now, id);
        }
        self.recover_without_congestion(now);
    }
}
