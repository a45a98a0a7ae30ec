//! Queueing of payload (`tcp_data_queue`, net/ipv4/tcp_input.c, 6.18).

use super::acks::MAX_QUICKACKS;
use super::ofo::Stretch;
use crate::connection::{Connection, State};
use crate::packet::Packet;
use slowpath_model::{Flags, Instant};

impl Connection {
    /// Queues a segment's payload, in order or out of order (`tcp_data_queue`).
    pub(super) fn queue_data(&mut self, now: Instant, packet: &Packet) {
        self.accept_cwr(packet);
        if packet.seq == packet.end() {
            return;
        }
        self.rcv.duplicate_sack = None;
        let window = self.rcv.window_left();
        self.work.out_of_order += u64::from(packet.seq != self.rcv.nxt);
        let bare_fin = packet.len == 0 && packet.flags.has(Flags::FIN);
        if packet.seq == self.rcv.nxt {
            if window == 0 && !bare_fin {
                self.refuse_out_of_window();
            } else {
                self.queue_in_order(now, packet);
            }
        } else if packet.end() <= self.rcv.nxt {
            // A duplicate: our ACK was lost, or the peer retransmitted spuriously.
            self.note_duplicate_again(packet);
            self.set_duplicate_sack(packet.seq, packet.end());
            self.refuse_out_of_window();
        } else if packet.seq >= self.rcv.nxt + window {
            self.refuse_out_of_window();
        } else if packet.seq < self.rcv.nxt {
            self.set_duplicate_sack(packet.seq, self.rcv.nxt);
            if window == 0 {
                self.refuse_out_of_window();
            } else {
                self.queue_in_order(now, packet);
            }
        } else {
            self.queue_beyond_hole(now, packet);
        }
    }

    /// All of it is out of the window; an ACK is sent immediately.
    fn refuse_out_of_window(&mut self) {
        self.enter_quickack_mode(MAX_QUICKACKS);
        self.schedule_ack();
    }

    /// `queue_and_out`.
    fn queue_in_order(&mut self, now: Instant, packet: &Packet) {
        if !self.make_room(packet) {
            self.rcv.ack.pending.nomem = true;
            self.rcv.ack.pending.now = true;
            self.schedule_ack();
            self.data_ready();
            if !self.rcv.queue.is_empty() && packet.len != 0 {
                self.rcv.counters.memory_drops += 1;
                return;
            }
        }
        let truesize = self.append(packet);
        if packet.len != 0 {
            self.data_received(now, packet, truesize);
        }
        if packet.flags.has(Flags::FIN) {
            self.fin_received(now);
        }
        if !self.rcv.ofo.is_empty() {
            self.drain_ofo_queue(now);
            if self.rcv.ofo.is_empty() {
                self.hole_filled();
            }
        }
        self.remove_sack_blocks();
        self.check_fast_path();
        self.data_ready();
    }

    /// The last hole is filled: an ACK is sent immediately (RFC 5681, section 4.2).
    fn hole_filled(&mut self) {
        if self.settings.choices.ack_repairs_at_once {
            self.rcv.ack.pending.now = true;
        } else {
            self.exit_pingpong_mode();
        }
    }

    /// Appends a segment to the receive queue (`tcp_queue_rcv`); returns its memory charge.
    pub(super) fn append(&mut self, packet: &Packet) -> u32 {
        let cost = self.arrival_cost(packet);
        let end = packet.end();
        let fresh = u32::try_from(end.distance_from(self.rcv.nxt)).unwrap_or(0);
        let charged = self.rcv.queue.push(packet.seq, end, packet.flags.has(Flags::FIN), cost);
        self.charge(charged);
        self.rcv.counters.bytes_received += u64::from(fresh);
        self.rcv.nxt = end;
        cost.truesize
    }

    /// Queues the payload of a SYN or SYN-ACK (`tcp_fastopen_add_skb`).
    pub(crate) fn receive_syn_payload(&mut self, now: Instant, syn: &Packet) {
        if syn.end() == syn.seq + 1 {
            return;
        }
        self.rcv.syn_data = true;
        let fin = syn.flags.has(Flags::FIN);
        let flags = if fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        self.append(&Packet { seq: syn.seq + 1, flags, ..*syn });
        if fin {
            self.fin_received(now);
        }
        self.data_ready();
    }

    /// Moves data that is now in order to the receive queue (`tcp_ofo_queue`).
    fn drain_ofo_queue(&mut self, now: Instant) {
        let repaired = self.rcv.nxt;
        while let Some(stretch) = self.rcv.ofo.pop_until(self.rcv.nxt) {
            if stretch.start < repaired {
                self.extend_duplicate_sack(stretch.start, stretch.end.min(repaired));
            }
            if stretch.end <= self.rcv.nxt {
                self.uncharge(stretch.cost.truesize);
                continue;
            }
            let fresh = u64::try_from(stretch.end.distance_from(self.rcv.nxt)).unwrap_or(0);
            let charged = self.rcv.queue.push(stretch.start, stretch.end, stretch.fin, stretch.cost);
            self.uncharge(stretch.cost.truesize - charged);
            self.rcv.counters.bytes_received += fresh;
            self.rcv.nxt = stretch.end;
            if stretch.fin {
                self.fin_received(now);
                break;
            }
        }
    }

    /// `tcp_data_queue_ofo`.
    fn queue_beyond_hole(&mut self, now: Instant, packet: &Packet) {
        self.check_ecn(packet);
        if !self.make_room(packet) {
            self.rcv.counters.memory_drops += 1;
            self.data_ready();
            return;
        }
        let cost = self.arrival_cost(packet);
        self.measure_rcv_mss(packet, cost.truesize);
        self.rcv.fast_path = false;
        self.schedule_ack();
        let segments = packet.segments();
        self.rcv.counters.ofo_segments = self.rcv.counters.ofo_segments.wrapping_add(segments);
        let first = self.rcv.ofo.is_empty();
        let insertion = self.rcv.ofo.insert(Stretch {
            start: packet.seq,
            end: packet.end(),
            cost,
            fin: packet.flags.has(Flags::FIN),
        });
        self.uncharge(insertion.freed);
        if let Some(duplicate) = insertion.duplicate {
            self.set_duplicate_sack(duplicate.start, duplicate.end);
        }
        if self.negotiated.sack {
            if first {
                self.rcv.sacks.clear();
            }
            self.add_sack_block(now, packet.seq, packet.end());
        }
        if let Some(charged) = insertion.charged {
            // Without SACK the window stays: a changed window would make the ACKs no duplicates. With SACK, it grows
            // before the segment's own memory counts.
            if self.negotiated.sack && self.settings.choices.window_growth_beyond_holes {
                self.grow_window(packet.len, cost.truesize);
            }
            self.charge(charged);
        }
        if !self.orphaned && !self.unaccepted {
            self.grow_buffer(self.rcv.space.space);
        }
    }

    /// A FIN was received (`tcp_fin`).
    fn fin_received(&mut self, now: Instant) {
        self.schedule_ack();
        self.receive_shutdown = true;
        self.rcv.fin = true;
        match self.state {
            State::SynReceived | State::Established => {
                self.set_state(State::CloseWait);
                // Our own FIN most likely follows.
                self.enter_pingpong_mode();
            }
            State::FinWait1 => {
                self.send_ack(now);
                self.set_state(State::Closing);
            }
            State::FinWait2 => {
                self.send_ack(now);
                self.enter_time_wait(now);
            }
            State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait
            | State::Closed
            | State::SynSent => {}
        }
        // Data after a FIN is invalid.
        let freed = self.rcv.ofo.clear();
        self.uncharge(freed);
        if self.negotiated.sack {
            // A DSACK too (`tcp_sack_reset`).
            self.rcv.sacks.clear();
            self.rcv.duplicate_sack = None;
        }
        self.wakeups.state |= !self.orphaned;
    }

    /// Wakes the reader if there is enough to read (`tcp_data_ready`, `tcp_epollin_ready`).
    pub(super) fn data_ready(&mut self) {
        if !self.orphaned && self.is_readable() {
            self.wakeups.readable = true;
        }
    }

    /// Turns header prediction on again when its conditions hold (`tcp_fast_path_check`).
    pub(crate) fn check_fast_path(&mut self) {
        if self.rcv.ofo.is_empty()
            && self.rcv.wnd != 0
            && self.rcv.rmem_alloc < self.rcv.buffer
            && !self.has_urgent()
        {
            self.rcv.fast_path = true;
        }
    }
}
