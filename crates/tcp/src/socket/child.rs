//! The server's connection after a handshake (`tcp_create_openreq_child`, net/ipv4/tcp_minisocks.c, 6.18).

use super::options::SocketOptions;
use super::request::SynAck;
use crate::connection::{Connection, State};
use crate::packet::Packet;
use crate::receive::initial_window::{InitialReceiveWindow, initial_window};
use crate::receive::receiver::Receiver;
use crate::settings::Settings;
use slowpath_model::{Instant, StreamOffset};
use std::sync::Arc;

/// The initial receive window of a listener's connections (`tcp_openreq_init_rwin`).
pub(super) fn listener_window(
    settings: &Settings,
    options: &SocketOptions,
    mss: u32,
    scaling: bool,
) -> InitialReceiveWindow {
    let socket = Receiver::new(settings, options);
    let space = u32::try_from(socket.full_space(settings).max(0)).unwrap_or(u32::MAX);
    let clamp = match socket.window_clamp {
        0 => settings.route.window.unwrap_or(0),
        clamp => clamp,
    };
    let clamp = if socket.buffer_locked && (clamp == 0 || clamp > space) { space } else { clamp };
    initial_window(settings, space, mss, clamp, scaling)
}

impl Connection {
    /// The child, in SYN-RECEIVED, before it processes the segment that completes the handshake.
    pub(super) fn from_request(
        settings: Arc<Settings>,
        options: SocketOptions,
        request: &SynAck,
        packet: &Packet,
        now: Instant,
    ) -> Self {
        let mut child = Self::new(settings, options);
        child.state = State::SynReceived;
        child.unaccepted = true;
        child.negotiated = request.negotiated;
        child.init_sender(request, packet);
        if child.negotiated.ecn.is_accurate() {
            child.begin_accurate_ecn(request.syn_ecn, request.distrusts, packet);
        }
        let rcv = &mut child.rcv;
        rcv.nxt = request.rcv_nxt;
        rcv.wup = request.rcv_nxt;
        rcv.copied = request.rcv_nxt;
        rcv.set_initial_window(request.window);
        rcv.advmss = request.advmss;
        rcv.offered_scale = request.window.scale;
        // The SYN.
        rcv.counters.segs_in = 1;
        rcv.ack.last_data = child.settings.choices.clock.jiffies(now);
        if request.negotiated.timestamps {
            rcv.ts_recent = request.ts_recent;
            rcv.ts_recent_stamp = Some(now);
        }
        child.snd.last_sent = now;
        child.sync_mss();
        child.init_rcv_mss();
        child.start_keepalive(now);
        child
    }

    /// The SYN-ACK is acknowledged: the first RTT sample (`tcp_synack_rtt_meas`). There is none if it was retransmitted
    /// (Karn), or with a SYN cookie, whose send time is unknown.
    pub(super) fn measure_syn_ack(&mut self, now: Instant, request: &SynAck) {
        let measures = request.retransmissions == 0 && !request.in_sequence;
        let sample = now.since(request.first_sent).filter(|_| measures);
        self.set_initial_rtt(now, sample);
    }

    /// Our SYN is acknowledged.
    fn init_sender(&mut self, request: &SynAck, packet: &Packet) {
        let first = StreamOffset(1);
        let theirs = self.negotiated.window_scale.map_or(0, |(theirs, _)| theirs);
        let snd = &mut self.snd;
        snd.una = first;
        snd.nxt = first;
        snd.write_seq = first;
        snd.pushed_seq = first;
        snd.small_end = first;
        snd.urgent = first;
        snd.wnd = u32::from(packet.window) << theirs;
        snd.max_window = snd.wnd;
        snd.totals.retransmissions = u32::from(request.retransmissions);
    }
}
