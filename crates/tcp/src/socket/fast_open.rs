//! Data in the SYN (RFC 7413; net/ipv4/tcp_fastopen.c, 6.18).

use super::cookie::{Known, Learned, Omen, Pause, Request};
use super::options::SocketOptions;
use super::request::{SynAck, Verdict};
use crate::congestion::CaState;
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::packet::Packet;
use crate::receive::receiver::Attempt;
use crate::settings::Settings;
use slowpath_model::{Flags, Instant};
use std::sync::Arc;

/// `TFO_CLIENT_ENABLE`.
pub const CLIENT_ENABLE: u32 = 1;
/// `TFO_CLIENT_NO_COOKIE`: the client sends data without having a cookie.
const CLIENT_NO_COOKIE: u32 = 4;

impl Connection {
    /// Opens a connection with data in the SYN (`sendto` with `MSG_FASTOPEN`), if the server's cookie is known or not
    /// required; otherwise the SYN requests one. Returns how many of the `len` bytes were sent.
    ///
    /// # Errors
    ///
    /// `EINPROGRESS` if no data was sent, `EOPNOTSUPP` if `tcp_fastopen` does not allow it. The connection is being
    /// opened except in the last case.
    pub fn connect_fast(
        settings: Arc<Settings>,
        options: SocketOptions,
        now: Instant,
        known: Known,
        len: u32,
    ) -> (Self, Result<u32, Errno>) {
        let mut connection = Self::new(settings, options);
        if connection.settings.sysctls.tcp_fastopen & CLIENT_ENABLE == 0 {
            return (connection, Err(Errno::EOPNOTSUPP));
        }
        let result = connection.open_with_data(now, known, len);
        (connection, result)
    }

    /// Opens a connection whose SYN waits for the first data (`TCP_FASTOPEN_CONNECT`), if the server's cookie is known
    /// or not required; otherwise the SYN requests one now (`tcp_fastopen_defer_connect`).
    ///
    /// # Errors
    ///
    /// `EINPROGRESS` if the SYN was sent.
    pub fn connect_with_first_write(
        settings: Arc<Settings>,
        options: SocketOptions,
        now: Instant,
        known: Known,
    ) -> (Self, Result<(), Errno>) {
        let mut connection = Self::new(settings, options);
        let ready = !known.option().is_empty() || connection.needs_no_cookie();
        if ready && known.pause != Pause::Now {
            connection.state = State::SynSent;
            connection.rcv.attempt.deferred = true;
            return (connection, Ok(()));
        }
        let result = connection.open_with_data(now, known, 0);
        (connection, result.map(drop))
    }

    /// Whether the SYN waits for the first data (`DEFER_CONNECT`).
    pub fn is_deferred(&self) -> bool {
        self.rcv.attempt.deferred
    }

    /// Whether no cookie is required (`tcp_fastopen_no_cookie`).
    fn needs_no_cookie(&self) -> bool {
        self.settings.sysctls.tcp_fastopen & CLIENT_NO_COOKIE != 0
            || self.options.fast_open_no_cookie
            || self.settings.route.fast_open_no_cookie
    }

    /// Sends the SYN with data, or with a request for a cookie (`tcp_send_syn_data`). Returns how many of the `len`
    /// bytes were sent.
    ///
    /// # Errors
    ///
    /// `EINPROGRESS` if no data was sent.
    pub fn open_with_data(&mut self, now: Instant, known: Known, len: u32) -> Result<u32, Errno> {
        self.prepare_connect();
        // The server's cached MSS, or the one we would advertise.
        let mss = known.mss().unwrap_or(self.rcv.advmss);
        let mss = self.options.max_seg.map_or(mss, |user| mss.min(user.into()));
        self.negotiated.mss = u16::try_from(mss).unwrap_or(u16::MAX);
        self.sync_mss();
        let (option, len) = match known.option() {
            _ if known.pause == Pause::Now => (None, 0),
            _ if self.needs_no_cookie() => (None, len),
            cookie if cookie.is_empty() => (Some(cookie), 0),
            cookie => (Some(cookie), len),
        };
        let sent = self.start_fast_connect(now, option, len);
        let on_trial = known.pause == Pause::Over;
        self.rcv.attempt = Attempt { option, data: sent > 0, on_trial, ..Attempt::default() };
        if sent > 0 { Ok(sent) } else { Err(Errno::EINPROGRESS) }
    }

    /// The SYN-ACK arrived: returns whether it did not acknowledge the SYN's data, which is then retransmitted
    /// (`tcp_rcv_fastopen_synack`).
    pub(crate) fn fast_open_answered(&mut self, now: Instant, syn_ack: &Packet) -> bool {
        let attempt = self.rcv.attempt;
        if attempt.option.is_none() && !attempt.data {
            return false;
        }
        self.learn_fast_open(syn_ack);
        if attempt.data && self.snd.una < self.snd.nxt {
            self.retransmit_syn_data(now);
            return true;
        }
        if attempt.data {
            self.rcv.syn_data = true;
            // The SYN and its data were counted as two segments.
            if self.snd.delivered > 1 {
                self.snd.delivered -= 1;
            }
        }
        self.receive_syn_payload(now, syn_ack);
        false
    }

    /// What the host remembers of the SYN-ACK.
    fn learn_fast_open(&mut self, syn_ack: &Packet) {
        let theirs = syn_ack.syn_options();
        // The server's own MSS, if the option limits ours.
        let limited = self.options.max_seg == Some(self.negotiated.mss);
        let mss = if limited { theirs.mss.unwrap_or(0) } else { self.negotiated.mss };
        let mut learned = Learned { mss, ..Learned::default() };
        // An unsolicited cookie is ignored.
        if let Some(sent) = self.rcv.attempt.option {
            learned.cookie = theirs.fast_open.unwrap_or_default();
            let again = self.snd.totals.retransmissions > 0;
            if !again && theirs.fast_open.is_none() && !self.rcv.attempt.data {
                learned.request =
                    if sent.experimental { Request::StandardAgain } else { Request::Experimental };
            }
        }
        self.rcv.attempt.learned = Some(learned);
    }

    /// What the server's SYN-ACK taught, once, for the host's [`CookieCache`](super::cookie::CookieCache).
    pub fn poll_cookie(&mut self) -> Option<Learned> {
        self.rcv.attempt.learned.take()
    }

    /// What the connection says of Fast Open, once, for the host's [`CookieCache`](super::cookie::CookieCache).
    pub fn poll_omen(&mut self) -> Option<Omen> {
        self.rcv.attempt.omen.take()
    }

    /// A timeout: the third in a row, or the last, of a connection with Fast Open may be a middlebox's fault
    /// (`tcp_fastopen_active_detect_blackhole`).
    pub(crate) fn suspect_fast_open(&mut self, expired: bool) {
        let attempt = &self.rcv.attempt;
        let used = attempt.option.is_some() || attempt.data || self.rcv.syn_data;
        if used && (self.snd.retransmits == 2 || (self.snd.retransmits < 2 && expired)) {
            self.rcv.attempt.omen = Some(Omen::BlackHole);
        }
    }

    /// A RST that is not in order, before any data (`tcp_validate_incoming`), or a FIN beyond a hole after `close`
    /// (`tcp_rcv_state_process`).
    pub(crate) fn blame_fast_open(&mut self) {
        if self.rcv.attempt.option.is_some() {
            self.rcv.attempt.omen = Some(Omen::BlackHole);
        }
    }

    /// The connection ends: only a FIN has arrived, beyond a hole; or data has
    /// (`tcp_fastopen_active_disable_ofo_check`).
    pub(crate) fn judge_fast_open(&mut self) {
        let attempt = &mut self.rcv.attempt;
        if attempt.option.is_none() {
            return;
        }
        if self.rcv.counters.data_segs_in > 0 {
            if attempt.on_trial {
                attempt.omen = Some(Omen::Works);
            }
        } else if self.rcv.ofo.is_only_a_fin() {
            attempt.omen = Some(Omen::BlackHole);
        }
    }

    /// Whether a SYN with data opened it and the handshake is not complete.
    pub(crate) fn is_fast_open_child(&self) -> bool {
        self.rcv.fast_open.is_some()
    }

    /// Starts as the child of a SYN with data (`tcp_fastopen_create_child`): sends the SYN-ACK; the application can
    /// write before its ACK.
    pub(super) fn open_fast(&mut self, now: Instant, syn: &Packet, mut request: SynAck) {
        self.init_transfer(now);
        self.init_receive_buffer(now);
        // The window of a SYN is not scaled.
        self.snd.wnd = u32::from(syn.window);
        self.snd.max_window = self.snd.wnd;
        self.rcv.fast_open_child = true;
        self.rcv.counters.data_segs_in = u32::from(syn.len > 0);
        self.receive_syn_payload(now, syn);
        request.rcv_nxt = self.rcv.nxt;
        self.rcv.wup = self.rcv.nxt;
        self.out.push_back(request.packet(self.timestamp(now), self.settings.sysctls.tcp_ecn_option));
        let longest = self.span(self.rto_max());
        request.rearm(now, &self.settings, longest);
        self.timers.keepalive = Some(request.due);
        self.rcv.fast_open = Some(request);
    }

    /// Whether a segment may be processed before the handshake of a SYN with data is complete (`tcp_check_req` with
    /// `fastopen`).
    pub(crate) fn passes_fast_open_check(&mut self, now: Instant, packet: &Packet) -> bool {
        let Some(request) = self.rcv.fast_open.as_mut() else { return true };
        let settings = self.settings.clone();
        let verdict = request.check(packet, None, settings.choices.handshake_challenges);
        match verdict {
            Verdict::Complete => return true,
            Verdict::Repeat => {
                if !request.is_rate_limited(now, &settings) {
                    self.repeat_syn_ack(now);
                }
            }
            Verdict::Acknowledge => {
                if !request.is_rate_limited(now, &settings) {
                    self.send_ack(now);
                }
            }
            Verdict::Challenge => {
                if !request.is_rate_limited(now, &settings) {
                    self.rcv.counters.challenge_acks += 1;
                    self.send_ack(now);
                }
            }
            Verdict::Abort if packet.flags.has(Flags::RST) => self.reset(now),
            Verdict::Abort | Verdict::WrongAck => self.send_reset_for(packet),
            Verdict::Ignore => {}
        }
        false
    }

    fn repeat_syn_ack(&mut self, now: Instant) {
        let timestamp = self.timestamp(now);
        if let Some(request) = self.rcv.fast_open.as_mut() {
            request.retransmissions = request.retransmissions.saturating_add(1);
            self.out.push_back(request.packet_again(timestamp));
            let totals = &mut self.snd.totals;
            totals.retransmissions = totals.retransmissions.wrapping_add(1);
        }
    }

    /// The SYN-ACK is acknowledged (`tcp_rcv_synrecv_state_fastopen`).
    pub(crate) fn finish_fast_open(&mut self, now: Instant) {
        let Some(request) = self.rcv.fast_open.take() else { return };
        if self.snd.rtt.srtt_us == 0 {
            self.measure_syn_ack(now, &request);
        }
        self.end_timeouts(now);
        self.snd.retransmits = 0;
        if self.snd.ca_state != CaState::Recovery {
            self.snd.retrans_stamp = None;
        }
        self.timers.keepalive = None;
        self.start_keepalive(now);
        // Data may have been sent.
        self.rearm_rto(now);
    }

    /// The SYN-ACK was not acknowledged in time (`tcp_fastopen_synack_timer`).
    pub(super) fn fast_open_timer(&mut self, now: Instant) {
        let retries =
            u16::from(self.options.syn_count.unwrap_or(self.settings.sysctls.tcp_synack_retries)) + 1;
        let longest = self.span(self.rto_max());
        let Some(request) = self.rcv.fast_open.as_mut() else { return };
        if u16::from(request.timeouts) >= retries {
            self.done_with_error(now, Errno::ETIMEDOUT);
            return;
        }
        self.snd.retrans_stamp.get_or_insert(now);
        request.timeouts = request.timeouts.saturating_add(1);
        request.rearm(now, &self.settings, longest);
        let due = request.due;
        self.count_timeout(now);
        self.repeat_syn_ack(now);
        self.timers.keepalive = Some(due);
    }
}
