//! Processing of a received segment (`tcp_v4_do_rcv`, `tcp_rcv_established`, `tcp_rcv_state_process`,
//! net/ipv4/tcp_ipv4.c and tcp_input.c, 6.18).

use super::closing::Closing;
use crate::connection::{Connection, State};
use crate::packet::{Packet, TcpOptions};
use crate::send::ack::AckResult;
use slowpath_model::{Flags, Instant};

/// What is left to process of a segment after its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Its payload.
    GoOn,
    /// Nothing.
    Done,
}

impl Connection {
    /// Processes a segment from the network.
    ///
    /// A connection in TIME-WAIT ignores a SYN that may begin a new connection; with a listener, ask
    /// [`accepts_reopening`](Self::accepts_reopening) first.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        self.rcv.counters.segs_in = self.rcv.counters.segs_in.wrapping_add(packet.segments());
        if packet.len != 0 {
            let data = &mut self.rcv.counters.data_segs_in;
            *data = data.wrapping_add(packet.segments());
        }
        match self.state {
            State::Established => self.receive_established(now, packet),
            State::Closed => self.send_reset_for(packet),
            State::TimeWait => self.receive_time_wait(now, packet),
            State::SynSent => self.receive_syn_sent(now, packet),
            State::FinWait2 if self.rcv.waiting_quietly => self.receive_quiet_fin_wait2(now, packet),
            _ => self.receive_other_states(now, packet),
        }
    }

    /// `tcp_rcv_established`: an expected segment takes the fast path.
    fn receive_established(&mut self, now: Instant, packet: &Packet) {
        if self.is_predicted(packet) {
            if packet.len == 0 {
                self.rcv.counters.fast_path += 1;
                self.receive_predicted_ack(now, packet);
                return;
            }
            if packet.end() <= self.rcv.nxt + self.rcv.window_left() {
                self.receive_predicted_data(now, packet);
                return;
            }
        }
        self.rcv.counters.slow_path += 1;
        if !packet.flags.has_any(Flags::ACK.with(Flags::RST).with(Flags::SYN)) {
            return;
        }
        if self.validate_incoming(now, packet) {
            self.receive_step5(now, packet);
        }
    }

    /// Header prediction (`pred_flags`): the next segment, no flag but ACK and PSH, an unchanged window, no option but
    /// timestamps, and these not going back.
    fn is_predicted(&self, packet: &Packet) -> bool {
        const PREDICTED: Flags = Flags(
            Flags::FIN.0
                | Flags::SYN.0
                | Flags::RST.0
                | Flags::ACK.0
                | Flags::URG.0
                | Flags::ECE.0
                | Flags::CWR.0
                | Flags::AE.0,
        );
        let theirs = self.negotiated.window_scale.map_or(0, |(theirs, _)| theirs);
        self.rcv.fast_path
            && packet.flags.0 & PREDICTED.0 == self.predicted_flags().0
            && packet.seq == self.rcv.nxt
            && packet.ack <= self.snd.nxt
            && u32::from(packet.window) == self.snd.wnd >> theirs
            && packet.options == TcpOptions::None
            && packet.ecn_bytes.is_none()
            && packet.timestamps.is_some() == self.negotiated.timestamps
            && self.timestamps_of(packet).is_none_or(|stamps| !self.rcv.is_older(stamps))
    }

    /// Bulk data, on the sender.
    fn receive_predicted_ack(&mut self, now: Instant, packet: &Packet) {
        self.note_predicted_timestamp(now, packet);
        self.count_ecn_field(packet);
        self.ack_predicted(now, packet);
        self.data_snd_check(now);
        if let Some(timestamps) = self.timestamps_of(packet) {
            self.rcv.last_tsecr = timestamps.ecr;
        }
    }

    /// Bulk data, on the receiver.
    fn receive_predicted_data(&mut self, now: Instant, packet: &Packet) {
        if !self.is_reserved(self.arrival_cost(packet).truesize) {
            // No memory is reserved: the slow path.
            self.rcv.counters.slow_path += 1;
            self.receive_step5(now, packet);
            return;
        }
        self.rcv.counters.fast_path += 1;
        self.rcv.counters.predicted_data += 1;
        self.note_predicted_timestamp(now, packet);
        self.measure_round_trip_by_timestamp(now, packet);
        self.count_ecn_field(packet);
        let truesize = self.append(packet);
        self.data_received(now, packet, truesize);
        let mut owed = true;
        if packet.ack == self.snd.una {
            self.snd.wl1 = packet.seq;
        } else {
            self.ack_predicted(now, packet);
            self.data_snd_check(now);
            // Sending data may have carried the ACK.
            owed = self.rcv.ack.pending.scheduled;
        }
        if owed {
            self.decide_ack(now, false);
        }
        self.data_ready();
    }

    /// The acknowledgment of a fast-path segment: only its timestamp can be wrong.
    fn ack_predicted(&mut self, now: Instant, packet: &Packet) {
        let una = self.snd.una;
        let result = self.ack(now, packet, false);
        self.rcv.counters.predicted_acks += u32::from(self.snd.una > una);
        if result == AckResult::TooOld && self.settings.choices.challenges {
            self.send_challenge_ack(now);
        }
    }

    fn note_predicted_timestamp(&mut self, now: Instant, packet: &Packet) {
        if let Some(timestamps) = self.timestamps_of(packet)
            && self.rcv.nxt == self.rcv.wup
        {
            self.rcv.store_ts_recent(now, timestamps);
        }
    }

    /// The ACK and everything after it, in ESTABLISHED (`step5`).
    fn receive_step5(&mut self, now: Instant, packet: &Packet) {
        self.count_ecn_field(packet);
        let result = self.process_ack(now, packet);
        if matches!(result, AckResult::TooOld | AckResult::Unsent) && self.settings.choices.challenges {
            self.send_challenge_ack(now);
            return;
        }
        self.measure_round_trip_by_timestamp(now, packet);
        self.urgent_received(packet);
        self.queue_data(now, packet);
        self.after_data(now);
    }

    /// Processes a segment's acknowledgment, and then its timestamp.
    fn process_ack(&mut self, now: Instant, packet: &Packet) -> AckResult {
        if self.acknowledges_outstanding(packet.ack) {
            self.replace_ts_recent(now, packet);
        }
        self.ack(now, packet, true)
    }

    /// Sends data and ACKs that the segment made possible.
    pub(super) fn after_data(&mut self, now: Instant) {
        if !matches!(self.state, State::Closed | State::TimeWait) {
            self.data_snd_check(now);
            self.ack_snd_check(now);
        }
    }

    /// `tcp_rcv_state_process`, from SYN-RECEIVED on.
    fn receive_other_states(&mut self, now: Instant, packet: &Packet) {
        if !packet.flags.has_any(Flags::ACK.with(Flags::RST).with(Flags::SYN)) {
            return;
        }
        if !self.passes_fast_open_check(now, packet) || !self.validate_incoming(now, packet) {
            return;
        }
        match self.process_ack(now, packet) {
            AckResult::Valid => {}
            _ if self.state == State::SynReceived => {
                // The peer believes in another connection.
                self.send_reset_for(packet);
                return;
            }
            AckResult::Old => {}
            AckResult::TooOld | AckResult::Unsent => {
                self.send_challenge_ack(now);
                return;
            }
        }
        if self.acknowledged(now, packet) == Step::Done {
            return;
        }
        self.urgent_received(packet);
        if self.receive_text(now, packet) {
            self.after_data(now);
        }
    }

    /// The state change caused by the ACK.
    fn acknowledged(&mut self, now: Instant, packet: &Packet) -> Step {
        match self.state {
            State::SynReceived => {
                self.syn_ack_acknowledged(now, packet);
                Step::GoOn
            }
            State::FinWait1 if self.everything_acknowledged() => {
                self.finish_fast_open(now);
                match self.fin_acknowledged(now, packet) {
                    Closing::GoOn => Step::GoOn,
                    Closing::Done => Step::Done,
                    Closing::Abort => {
                        self.send_reset_for(packet);
                        Step::Done
                    }
                }
            }
            State::FinWait1 => {
                self.finish_fast_open(now);
                Step::GoOn
            }
            State::Closing if self.everything_acknowledged() => {
                self.enter_time_wait(now);
                Step::Done
            }
            State::LastAck if self.everything_acknowledged() => {
                self.learn_metrics();
                self.done();
                Step::Done
            }
            _ => Step::GoOn,
        }
    }

    /// Whether everything written has been acknowledged, including the FIN.
    fn everything_acknowledged(&self) -> bool {
        self.snd.una == self.snd.write_seq
    }

    /// The segment's payload, by state; returns whether processing continues.
    fn receive_text(&mut self, now: Instant, packet: &Packet) -> bool {
        match self.state {
            // Only retransmissions follow a FIN.
            State::CloseWait | State::Closing | State::LastAck if packet.seq >= self.rcv.nxt => true,
            State::CloseWait | State::Closing | State::LastAck | State::FinWait1 | State::FinWait2
                if self.receive_shutdown && self.brings_unwanted(packet) =>
            {
                // Nobody will read it (RFC 9293, section 3.6.1).
                self.reset(now);
                self.send_reset_for(packet);
                false
            }
            State::Closed | State::TimeWait => false,
            State::SynReceived | State::SynSent => true,
            _ => {
                self.queue_data(now, packet);
                true
            }
        }
    }

    /// The third segment of the handshake, with or without data (`TCP_SYN_RECV` there).
    fn syn_ack_acknowledged(&mut self, now: Instant, packet: &Packet) {
        if self.negotiated.timestamps {
            self.rcv.advmss = self.rcv.advmss.saturating_sub(12);
        }
        if self.is_fast_open_child() {
            self.finish_fast_open(now);
        } else {
            self.init_transfer(now);
            self.init_receive_buffer(now);
            self.rcv.copied = self.rcv.nxt;
        }
        // The SYN-ACK, which is in no queue.
        self.snd.delivered = self.snd.delivered.wrapping_add(1);
        self.set_state(State::Established);
        self.wakeups.state |= !self.orphaned;
        self.wakeups.writable |= !self.orphaned;
        self.snd_established(now, packet);
        self.init_rcv_mss();
        self.rcv.fast_path = true;
        if self.send_shutdown {
            self.close_send(now);
        }
    }
}
