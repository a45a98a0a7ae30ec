//! A socket, and its active open (`tcp_init_sock`, `tcp_connect_init`; net/ipv4/tcp.c, tcp_output.c).

use super::default_mss;
use super::options::SocketOptions;
use crate::congestion::Congestion;
use crate::connection::{Connection, State, Wakeups};
use crate::receive::initial_window::initial_window;
use crate::receive::receiver::{Counters, Receiver};
use crate::send::sender::{Sender, micros};
use crate::settings::{Negotiated, Settings};
use crate::timers::Timers;
use crate::work::Work;
use slowpath_model::Instant;
use slowpath_uapi::TcpInfo;
use std::collections::VecDeque;
use std::sync::Arc;

impl Connection {
    /// A socket in CLOSED (`tcp_init_sock`).
    pub fn new(settings: Arc<Settings>, options: SocketOptions) -> Self {
        let chosen = settings.route.congestion.or(options.congestion);
        let kind = chosen.unwrap_or(settings.choices.congestion_control);
        Self {
            snd: Sender::new(&settings, &options),
            rcv: Receiver::new(&settings, &options),
            congestion: Congestion::new(kind, settings.choices.bbr_version),
            negotiated: Negotiated { mss: default_mss(&settings), ..Negotiated::default() },
            settings,
            options,
            state: State::Closed,
            timers: Timers::default(),
            out: VecDeque::new(),
            wakeups: Wakeups::default(),
            work: Work::default(),
            error: None,
            soft_error: None,
            send_shutdown: false,
            receive_shutdown: false,
            orphaned: false,
            unaccepted: false,
        }
    }

    /// A socket that has sent its SYN (`tcp_v4_connect`). A blocking `connect` waits for a state change.
    pub fn connect(settings: Arc<Settings>, options: SocketOptions, now: Instant) -> Self {
        let mut connection = Self::new(settings, options);
        connection.begin_connect(now);
        connection
    }

    /// A socket that has sent its SYN, and takes the ports of a connection in TIME-WAIT with what is known of the
    /// peer's timestamps.
    pub fn connect_in_place_of(
        old: &Self,
        settings: Arc<Settings>,
        options: SocketOptions,
        now: Instant,
    ) -> Self {
        let mut connection = Self::new(settings, options);
        connection.rcv.ts_recent = old.rcv.ts_recent;
        connection.rcv.ts_recent_stamp = old.rcv.ts_recent_stamp;
        connection.begin_connect(now);
        connection
    }

    /// Sends the SYN of a socket in CLOSED.
    pub(crate) fn begin_connect(&mut self, now: Instant) {
        self.prepare_connect();
        self.start_connect(now);
    }

    /// What is chosen before the SYN (`tcp_connect_init`).
    pub(crate) fn prepare_connect(&mut self) {
        self.state = State::SynSent;
        // Until the SYN-ACK, only the option limits the peer's MSS.
        self.negotiated.mss = self.options.max_seg.unwrap_or_else(|| default_mss(&self.settings));
        self.sync_mss();
        self.init_rcv_mss();
        let space = self.rcv.full_space(&self.settings).max(0);
        let space = u32::try_from(space).unwrap_or(u32::MAX);
        if let (Some(most), 0) = (self.settings.route.window, self.rcv.window_clamp) {
            self.rcv.window_clamp = most;
        }
        if self.rcv.buffer_locked && (self.rcv.window_clamp == 0 || self.rcv.window_clamp > space) {
            self.rcv.window_clamp = space;
        }
        let sysctls = &self.settings.sysctls;
        let chosen = initial_window(
            &self.settings,
            space,
            self.rcv.advmss,
            self.rcv.window_clamp,
            sysctls.tcp_window_scaling,
        );
        self.rcv.offered_scale = chosen.scale;
        self.rcv.set_initial_window(chosen);
    }

    /// Counters of the receiver.
    pub fn counters(&self) -> Counters {
        self.rcv.counters
    }

    /// The receiver's part of `TCP_INFO` (`tcp_get_info`).
    pub(crate) fn receiver_info(&self, now: Instant, info: &mut TcpInfo) {
        // TCPI_OPT_ECN_SEEN, TCPI_OPT_SYN_DATA and TCPI_OPT_TFO_CHILD (include/uapi/linux/tcp.h).
        const ECN_SEEN: u8 = 16;
        const SYN_DATA: u8 = 32;
        const TFO_CHILD: u8 = 128;
        let clock = self.settings.choices.clock;
        let rcv = &self.rcv;
        let flags = [(rcv.ecn_seen, ECN_SEEN), (rcv.syn_data, SYN_DATA), (rcv.fast_open_child, TFO_CHILD)];
        info.options |= flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit);
        let quiet = self.span(clock.jiffies(now).0 - rcv.ack.last_data.0);
        info.ato = micros(self.span(rcv.ack.ato));
        info.rcv_mss = rcv.ack.rcv_mss;
        info.last_data_recv = u32::try_from(quiet.as_millis()).unwrap_or(u32::MAX);
        info.advmss = rcv.advmss;
        info.rcv_ssthresh = rcv.ssthresh;
        info.rcv_rtt = rcv.rtt.rtt_us >> 3;
        info.rcv_space = rcv.space.space;
        info.rcv_wnd = rcv.wnd;
        info.bytes_received = rcv.counters.bytes_received;
        info.segs_in = rcv.counters.segs_in;
        info.data_segs_in = rcv.counters.data_segs_in;
        info.rcv_ooopack = rcv.counters.ofo_segments;
    }
}
