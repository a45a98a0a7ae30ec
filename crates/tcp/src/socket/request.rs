//! A handshake on the server (`struct request_sock`, `tcp_check_req`; net/ipv4/tcp_minisocks.c, 6.18).

use crate::packet::{Cookie, Packet, SynOptions, TcpOptions};
use crate::receive::ecn_field::{EcnMode, ace, answering_flags, first_counters};
use crate::receive::initial_window::InitialReceiveWindow;
use crate::settings::{Negotiated, Settings};
use slowpath_model::{Ecn, Flags, Instant, StreamOffset, Timestamps};
use std::time::Duration;

/// How long a SYN cookie is valid (`MAX_SYNCOOKIE_AGE` times `TCP_SYNCOOKIE_PERIOD`).
const COOKIE_LIFE: Duration = Duration::from_secs(120);

/// The longest timeout of a handshake without a connection, whatever `tcp_rto_max_ms` says (`TCP_RTO_MAX` in
/// `reqsk_timer_handler`, 6.18).
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The SYN-ACK, how often it was sent, and what it negotiated.
#[derive(Clone, Debug)]
pub(crate) struct SynAck {
    /// The negotiated options.
    pub negotiated: Negotiated,
    /// Our initial receive window, and its scale.
    pub window: InitialReceiveWindow,
    /// The MSS that we advertise to the peer.
    pub advmss: u32,
    /// The peer's timestamp, to echo.
    pub ts_recent: u32,
    /// When the SYN-ACK was first and last sent (`snt_synack`, `snt_tsval_first`, `snt_tsval_last`).
    pub first_sent: Instant,
    pub last_sent: Instant,
    /// Timeouts, and SYN-ACK retransmissions (`num_timeout`, `num_retrans`).
    pub timeouts: u8,
    pub retransmissions: u8,
    /// When the next timeout is due.
    pub due: Instant,
    /// Its ACK arrived but was not sufficient (`acked`).
    pub acked: bool,
    /// The next expected sequence number (`rcv_nxt`): after the SYN's data if that was accepted.
    pub rcv_nxt: StreamOffset,
    /// The child of a SYN with data has been accepted (`sk` of the request is `NULL`).
    pub accepted: bool,
    /// When an ACK was last sent for an invalid segment.
    pub last_oow_ack: Option<Instant>,
    /// The Fast Open cookie to send.
    pub cookie: Option<Cookie>,
    /// It is a SYN cookie: only what its sequence number encodes is kept (`tcp_syncookies`).
    pub in_sequence: bool,
    /// The ECN field of the SYN (`syn_ect_rcv`).
    pub syn_ecn: Ecn,
    /// SYN or SYN-ACK did not pass with Accurate ECN: nothing is sent ECN-capable (`accecn_fail_mode`).
    pub distrusts: bool,
}

/// What a segment means for a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing, or it was answered.
    Ignore,
    /// It repeats the SYN: the SYN-ACK is retransmitted.
    Repeat,
    /// It is answered with an ACK of the current state.
    Acknowledge,
    /// It is a RST that may be forged: answered with a challenge ACK.
    Challenge,
    /// It acknowledges something else: answered with a RST.
    WrongAck,
    /// It ends the handshake, and is answered with a RST unless it is one.
    Abort,
    /// It completes the handshake.
    Complete,
}

impl SynAck {
    /// Turns it into a SYN cookie, which has room for one of four MSS values (`__cookie_v4_init_sequence`,
    /// `__cookie_v6_init_sequence`) and, without timestamps, for no option (`tcp_clear_options`). It is never
    /// retransmitted.
    pub fn put_into_sequence(&mut self, now: Instant, settings: &Settings) {
        const SIZES_V4: [u16; 4] = [1460, 1440, 1300, 536];
        const SIZES_V6: [u16; 4] = [8940, 1440, 1420, 1220];
        let sizes = if settings.is_ipv6() { SIZES_V6 } else { SIZES_V4 };
        let mss = self.negotiated.mss;
        self.negotiated.mss = sizes.into_iter().find(|size| *size <= mss).unwrap_or(sizes[3]);
        self.in_sequence = true;
        self.due = now + COOKIE_LIFE;
        if !self.negotiated.timestamps {
            self.negotiated.sack = false;
            self.negotiated.window_scale = None;
            self.negotiated.ecn = EcnMode::Off;
            self.window.clamp = self.window.clamp.min(65_535);
            self.window.scale = 0;
        }
    }

    /// Restarts the timer (`reqsk_timeout`): doubling from the first timeout up to `longest`.
    pub fn rearm(&mut self, now: Instant, settings: &Settings, longest: Duration) {
        let factor = 1_u32.checked_shl(u32::from(self.timeouts)).unwrap_or(u32::MAX);
        let timeout = settings.choices.initial_rto.saturating_mul(factor).min(longest);
        let clock = settings.choices.clock;
        self.due = clock.fires(now, clock.ticks(timeout));
    }

    /// The SYN-ACK (`tcp_make_synack`). `timestamp` is the current time, by our clock; `ecn_option` is the sysctl.
    pub fn packet(&self, timestamp: u32, ecn_option: u8) -> Packet {
        let flags = answering_flags(self.negotiated.ecn, self.syn_ecn);
        let mut packet = Packet {
            ack: self.rcv_nxt,
            // Never scaled.
            window: self.window.window.min(65_535) as u16,
            timestamps: self.stamps(timestamp),
            options: TcpOptions::Syn(SynOptions {
                mss: Some(u16::try_from(self.advmss).unwrap_or(u16::MAX)),
                window_scale: self.negotiated.window_scale.map(|(_, ours)| ours),
                sack_permitted: self.negotiated.sack,
                fast_open: self.cookie,
            }),
            ..Packet::new(flags, StreamOffset(0), 0)
        };
        if self.negotiated.ecn.is_accurate() {
            packet.ecn_bytes = first_counters(&packet, ecn_option);
        }
        packet
    }

    /// The SYN-ACK again: without the option of Accurate ECN, and after another timeout without its flags, since they may
    /// be why it does not arrive (`tcp_ecn_make_synack`, 7.2; 6.18 has no listener with Accurate ECN).
    pub fn packet_again(&self, timestamp: u32) -> Packet {
        let packet = self.packet(timestamp, 0);
        if self.negotiated.ecn.is_accurate() && self.timeouts > 0 {
            Packet { flags: Flags::SYN.with(Flags::ACK), ..packet }
        } else {
            packet
        }
    }

    /// The peer's SYN came again, and so does our SYN-ACK (`tcp_check_req`).
    pub fn note_repeated(&mut self, syn: &Packet) {
        self.retransmissions = self.retransmissions.saturating_add(1);
        if self.negotiated.ecn.is_accurate() {
            self.syn_ecn = syn.ecn;
            self.distrusts |= ace(syn.flags) == 0 || self.retransmissions > 1;
        }
    }

    /// An ACK of the current state (`tcp_v4_reqsk_send_ack`).
    pub fn plain_ack(&self, timestamp: u32) -> Packet {
        let scale = self.negotiated.window_scale.map_or(0, |(_, ours)| ours);
        Packet {
            ack: self.rcv_nxt,
            window: (self.window.window >> scale).min(65_535) as u16,
            timestamps: self.stamps(timestamp),
            ..Packet::new(Flags::ACK, StreamOffset(1), 0)
        }
    }

    fn stamps(&self, timestamp: u32) -> Option<Timestamps> {
        self.negotiated.timestamps.then_some(Timestamps { val: timestamp, ecr: self.ts_recent })
    }

    /// What a segment from the same peer means (`tcp_check_req`). `echoes` is the range of timestamps in its SYN-ACKs;
    /// `None` for the child of a SYN with data, which is already open.
    /// `challenges`: see [`Choices::handshake_challenges`](crate::choices::Choices::handshake_challenges).
    pub fn check(&self, packet: &Packet, echoes: Option<(u32, u32)>, challenges: bool) -> Verdict {
        let (syn, ack, reset) =
            (packet.flags.has(Flags::SYN), packet.flags.has(Flags::ACK), packet.flags.has(Flags::RST));
        let stamps = packet.timestamps.filter(|_| self.negotiated.timestamps);
        let old = stamps.is_some_and(|stamps| self.ts_recent.wrapping_sub(stamps.val) as i32 > 0)
            && self.ts_recent != 0;
        if packet.seq == StreamOffset(0) && syn && !ack && !reset && !old {
            return Verdict::Repeat;
        }
        let open = echoes.is_none();
        if ack && !open && packet.ack != StreamOffset(1) && !(reset && challenges) {
            return Verdict::WrongAck;
        }
        let echoes_nonsense = match (stamps, echoes) {
            (Some(stamps), Some((first, last))) if stamps.ecr != 0 => {
                last.wrapping_sub(stamps.ecr) > last.wrapping_sub(first)
            }
            _ => false,
        };
        if old || echoes_nonsense || !self.in_window(packet) {
            return if reset { Verdict::Ignore } else { Verdict::Acknowledge };
        }
        if reset && challenges && packet.seq != self.rcv_nxt {
            return Verdict::Challenge;
        }
        if reset || (syn && packet.seq != StreamOffset(0)) {
            return Verdict::Abort;
        }
        if ack { Verdict::Complete } else { Verdict::Ignore }
    }

    /// `tcp_in_window`, with the window that the SYN-ACK advertised.
    fn in_window(&self, packet: &Packet) -> bool {
        let start = self.rcv_nxt;
        let limit = start + self.window.window.min(65_535);
        packet.seq == start
            || (packet.end() > start && packet.seq < limit)
            || (packet.seq == limit && packet.seq == packet.end())
    }

    /// `tcp_oow_rate_limited`.
    pub fn is_rate_limited(&mut self, now: Instant, settings: &Settings) -> bool {
        let limit = settings.sysctls.tcp_invalid_ratelimit;
        if self.last_oow_ack.and_then(|last| now.since(last)).is_some_and(|since| since < limit) {
            return true;
        }
        self.last_oow_ack = Some(now);
        false
    }
}
