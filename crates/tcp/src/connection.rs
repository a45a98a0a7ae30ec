//! The state of one end of a connection (`struct tcp_sock`).

use crate::choices::CongestionControl;
use crate::congestion::Congestion;
use crate::errno::Errno;
use crate::packet::Packet;
use crate::receive::receiver::Receiver;
use crate::send::sender::Sender;
use crate::settings::{Negotiated, Settings};
use crate::socket::options::SocketOptions;
use crate::timers::{Pending, Timers};
use crate::work::Work;
use slowpath_model::Instant;
use std::collections::VecDeque;
use std::sync::Arc;

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the states' own names")]
pub enum State {
    #[default]
    Closed,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Events that an application or host may wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakeups {
    /// There is data or EOF to read (`sk_data_ready`).
    pub readable: bool,
    /// There is room to write (`sk_write_space`).
    pub writable: bool,
    /// The state changed, or there is an error to report (`sk_state_change`, `sk_error_report`).
    pub state: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    pub(crate) settings: Arc<Settings>,
    pub(crate) options: SocketOptions,
    pub(crate) state: State,
    pub(crate) negotiated: Negotiated,
    /// The sending half: `send/`.
    pub(crate) snd: Sender,
    /// The receiving half: `receive/`.
    pub(crate) rcv: Receiver,
    pub(crate) congestion: Congestion,
    pub(crate) timers: Timers,
    /// Segments on their way to the network device.
    pub(crate) out: VecDeque<Packet>,
    pub(crate) wakeups: Wakeups,
    pub(crate) work: Work,
    /// The error of the next system call (`sk_err`), and the error if the connection timed out (`sk_err_soft`).
    pub(crate) error: Option<Errno>,
    pub(crate) soft_error: Option<Errno>,
    /// The application has shut down writing or reading (`sk_shutdown`).
    pub(crate) send_shutdown: bool,
    pub(crate) receive_shutdown: bool,
    /// No process has it open any more (`SOCK_DEAD`).
    pub(crate) orphaned: bool,
    /// A listener has it, and no application yet (`sk_socket` is `NULL`).
    pub(crate) unaccepted: bool,
}

impl Connection {
    /// The next segment to transmit.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.out.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The wake-ups since the last call.
    pub fn poll_wakeups(&mut self) -> Wakeups {
        std::mem::take(&mut self.wakeups)
    }

    /// Runs every timer that is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        if due(self.timers.delayed_ack) {
            self.timers.delayed_ack = None;
            self.delayed_ack_timer(now);
        }
        if due(self.timers.compressed_ack) {
            self.timers.compressed_ack = None;
            self.compressed_ack_timer(now);
        }
        if due(self.timers.pacing) {
            self.timers.pacing = None;
            self.pacing_timer(now);
        }
        if let Some((pending, at)) = self.timers.retransmit
            && at <= now
        {
            self.timers.retransmit = None;
            self.recheck_app_limited();
            match pending {
                Pending::Retransmit => self.retransmit_timer(now),
                Pending::LossProbe => self.send_loss_probe(now),
                Pending::Reordering => self.reordering_timer(now),
                Pending::WindowProbe => self.window_probe_timer(now),
            }
        }
        if due(self.timers.keepalive) {
            self.timers.keepalive = None;
            self.keepalive_timer(now);
        }
    }

    /// The host's settings have changed (`sysctl`, `ip route`). Settings copied when the socket was created stay.
    pub fn set_settings(&mut self, settings: Arc<Settings>) {
        if self.settings.mtu != settings.mtu {
            self.snd.changed_mtu = Some(settings.mtu);
        }
        self.settings = settings;
    }

    /// The options set with `setsockopt`.
    pub const fn options(&self) -> &SocketOptions {
        &self.options
    }

    /// The name of its congestion control, as `TCP_CONGESTION` returns it.
    pub fn congestion_control(&self) -> &'static str {
        self.congestion.name()
    }

    /// Switches to another congestion control (`tcp_reinit_congestion_control`).
    pub fn set_congestion_control(&mut self, now: Instant, kind: CongestionControl) {
        self.options.congestion = Some(kind);
        self.congestion = Congestion::new(kind, self.settings.choices.bbr_version);
        self.begin_congestion_control(now);
        self.snd.prior_ssthresh = 0;
    }

    /// Its state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The work done since the last call.
    pub const fn take_work(&mut self) -> Work {
        std::mem::replace(&mut self.work, Work { queue_steps: 0, freed: 0, out_of_order: 0 })
    }
}
