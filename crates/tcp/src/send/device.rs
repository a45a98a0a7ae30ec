//! TCP small queues: the data of one connection in qdisc and device (`tcp_small_queue_check`, `tcp_wfree`,
//! `tcp_should_autocork`; 6.18), and the reaction to a local drop (`tcp_transmit_skb`).

use super::queue::WriteQueue;
use super::skb::{Fate, Skb, SkbId};
use crate::choices::BufferMemory;
use crate::congestion::CaState;
use crate::connection::Connection;
use crate::packet::Packet;
use crate::timers::Pending;
use slowpath_model::{Flags, Instant, StreamOffset};

/// The limit: about a millisecond of data (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;

impl Packet {
    /// The packet's memory in qdisc and device (`skb->truesize`), in kernels that count it, those since 3.6, with a small
    /// head. A pure ACK counts for next to nothing (`skb_set_tcp_pure_ack`).
    pub fn send_memory(&self) -> u32 {
        let control = self.flags.has(Flags::SYN) || self.flags.has(Flags::FIN);
        if self.len == 0 && !control { 0 } else { BufferMemory::AsAllocated.send_head(true) + self.len }
    }
}

impl Connection {
    /// The host will call [`handle_departed`](Self::handle_departed): packets in qdisc and device count against small
    /// queues, in kernels that have them.
    pub fn expect_departures(&mut self) {
        self.snd.device.tells = self.settings.choices.small_queues || self.settings.choices.autocorking;
    }

    /// A packet with this much [memory](Packet::send_memory) has left the device (`tcp_wfree`). Returns whether the
    /// host must call [`handle_room`](Self::handle_room) once no process owns the socket.
    #[must_use]
    pub const fn handle_departed(&mut self, memory: u32) -> bool {
        let device = &mut self.snd.device;
        device.waiting = device.waiting.saturating_sub(memory);
        std::mem::replace(&mut device.throttled, false)
    }

    /// Whether sending continues when a packet leaves the device.
    pub const fn waits_for_departure(&self) -> bool {
        self.snd.device.throttled
    }

    /// The device has room again (`tcp_tsq_write`).
    pub fn handle_room(&mut self, now: Instant) {
        if self.may_still_send() {
            if self.snd.lost_out > self.snd.retrans_out && self.snd.window.cwnd > self.snd.in_flight() {
                self.retransmit_queue(now);
            }
            self.push_pending(now);
        }
    }

    /// A packet is passed to the device.
    pub(super) fn hand_down(&mut self, packet: &Packet, segments: u32) {
        let begins = self.out.is_empty();
        let timer = self.timers.retransmit;
        let device = &mut self.snd.device;
        device.probe = None;
        if begins {
            device.timer_before = timer;
        }
        device.burst = if begins { segments } else { device.burst + segments };
        if device.tells {
            device.waiting += packet.send_memory();
        }
    }

    /// `tcp_small_queue_check`: enough data of this connection is in qdisc and device. Twice the limit for
    /// retransmissions.
    pub(super) fn is_throttled(&mut self, skb: &Skb, retransmission: bool) -> bool {
        if !self.settings.choices.small_queues {
            return false;
        }
        let millisecond = u32::try_from(self.snd.pacing_rate >> PACING_SHIFT).unwrap_or(u32::MAX);
        let limit = millisecond.max(2 * self.memory(skb));
        let is_limited = !self.is_paced() || self.settings.choices.paced_output_limit;
        let most = if is_limited { self.settings.sysctls.tcp_limit_output_bytes } else { u32::MAX };
        let limit = limit.min(most);
        let limit = limit.saturating_mul(1 + u32::from(retransmission));
        // One buffer is always allowed: a late completion must not stop the connection.
        if self.snd.device.waiting < limit || self.snd.queue.head() == self.snd.queue.tail() {
            return false;
        }
        self.snd.device.throttled = true;
        true
    }

    /// `tcp_should_autocork`: a small write waits while an earlier one is in qdisc or device; it may grow meanwhile.
    pub(super) fn should_cork(&mut self, skb: &Skb, goal: u32) -> bool {
        let corks = self.settings.choices.autocorking
            && self.settings.sysctls.tcp_autocorking
            && skb.len() < goal
            && !self.snd.queue.is_all_acknowledged()
            && self.snd.device.waiting >= self.memory(skb)
            && !skb.eor
            && !skb.flags.has(Flags::FIN);
        self.snd.device.throttled |= corks;
        corks
    }

    /// The qdisc dropped a packet. The kernel learns of it immediately (`NET_XMIT_DROP`): cwnd is reduced, the send
    /// loop ends, and the packet counts as unsent (`tcp_write_xmit`, `tcp_xmit_retransmit_queue`). Here the host
    /// reports it when it reaches the packet, so later packets of the same loop are taken back.
    pub fn handle_local_drop(&mut self, now: Instant, packet: &Packet) {
        self.snd.device.waiting = self.snd.device.waiting.saturating_sub(packet.send_memory());
        let newly = self.snd.ca_state < CaState::Cwr;
        let mut sent = self.snd.device.burst;
        if let Some(id) = self.buffer_of(packet) {
            let taken_back = if self.snd.queue[id].fate.any(Fate::EVER_RETRANSMITTED) {
                self.take_back_retransmissions(now, id)
            } else {
                self.take_back_new(now, packet.seq)
            };
            sent = sent.saturating_sub(taken_back);
            if self.snd.in_reduction() {
                self.snd.prr_out = self.snd.prr_out.saturating_sub(taken_back);
            }
        }
        self.enter_cwr(now);
        if newly && self.settings.choices.window_reduction.is_proportional() {
            self.snd.prr_out = sent;
        }
        if let Some(before) = self.snd.device.probe.take() {
            self.window_probe_was_dropped(now, before);
        } else if self.snd.packets_out == 0 && !self.snd.queue.is_all_sent() && self.may_still_send() {
            self.check_window_probe(now);
        }
    }

    /// The sent buffer of a data packet. A SYN is not taken back: its timer runs (`tcp_connect`).
    fn buffer_of(&mut self, packet: &Packet) -> Option<SkbId> {
        let id = self.snd.queue.find(packet.seq).filter(|_| !packet.flags.has(Flags::SYN))?;
        let skb = &self.snd.queue[id];
        (skb.seq == packet.seq && packet.end() > packet.seq).then_some(id)
    }

    /// Marks new data from `seq` on as unsent again; returns the number of segments.
    fn take_back_new(&mut self, now: Instant, seq: StreamOffset) -> u32 {
        self.drop_from_out(|_, packet| packet.seq >= seq && packet.end() > packet.seq);
        let mut segments = 0;
        while let Some(id) = self.snd.queue.tail().filter(|&id| self.snd.queue[id].seq >= seq) {
            if self.snd.highest_sack == Some(id) {
                self.snd.highest_sack = None;
            }
            segments += self.snd.queue[id].segments;
            self.snd.queue.tail_is_unsent_again();
        }
        let snd = &mut self.snd;
        snd.nxt = seq;
        snd.packets_out = snd.packets_out.saturating_sub(segments);
        snd.probe = snd.probe.filter(|probe| probe.high_seq <= seq);
        if snd.packets_out == 0 {
            self.rearm_rto(now);
            // What was not sent has not replaced the timer of window probes.
            if let Some((Pending::WindowProbe, _)) = self.snd.device.timer_before {
                self.timers.retransmit = self.snd.device.timer_before;
            }
        }
        segments
    }

    /// Takes back a retransmission and those after it; returns the number of segments. New data is still tried
    /// (`tcp_data_snd_check`) and may be dropped too.
    fn take_back_retransmissions(&mut self, now: Instant, id: SkbId) -> u32 {
        let mut segments = self.take_back_retransmission(id);
        let first = self.snd.queue[id].seq;
        let withdrawn = self.drop_from_out(|queue, packet| {
            packet.seq > first
                && packet.end() > packet.seq
                && queue.find(packet.seq).is_some_and(|id| queue[id].fate.any(Fate::RETRANSMITTED))
        });
        for packet in withdrawn {
            if let Some(id) = self.buffer_of(&packet) {
                segments += self.take_back_retransmission(id);
            }
        }
        self.snd.probe = self.snd.probe.filter(|probe| !probe.retransmission);
        let timed_out = self.snd.ca_state == CaState::Loss && self.snd.retransmits > 0;
        if timed_out && self.snd.queue.head() == Some(id) {
            // `tcp_retransmit_timer`: tried again soon, since the drop was local.
            let ticks = self.ticks(super::timer::RESOURCE_PROBE);
            self.set_retransmit_timer(now, Pending::Retransmit, ticks);
        }
        segments
    }

    fn take_back_retransmission(&mut self, id: SkbId) -> u32 {
        let skb = &mut self.snd.queue[id];
        if !skb.fate.any(Fate::RETRANSMITTED) {
            return 0;
        }
        skb.fate.clear(Fate::RETRANSMITTED);
        let (segments, lost) = (skb.segments, skb.fate.any(Fate::LOST));
        self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
        if lost {
            self.snd.queue.leave_time_order(id);
            self.verify_retransmit_hint(id);
        }
        segments
    }

    /// Removes packets that the host has not fetched yet: they were never sent.
    fn drop_from_out(&mut self, gone: impl Fn(&mut WriteQueue, &Packet) -> bool) -> Vec<Packet> {
        let queue = &mut self.snd.queue;
        let (dropped, kept): (Vec<_>, Vec<_>) = self.out.drain(..).partition(|packet| gone(queue, packet));
        self.out.extend(kept);
        for packet in &dropped {
            let segments = packet.segments();
            let totals = &mut self.snd.totals;
            totals.segments_out = totals.segments_out.wrapping_sub(segments);
            totals.data_segments_out = totals.data_segments_out.wrapping_sub(segments);
            totals.bytes_sent = totals.bytes_sent.saturating_sub(u64::from(packet.len));
            let device = &mut self.snd.device;
            device.waiting = device.waiting.saturating_sub(packet.send_memory());
        }
        dropped
    }
}
