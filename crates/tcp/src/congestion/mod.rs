//! Congestion controls, in the kernel's own terms (`struct tcp_congestion_ops`).
//!
//! A control sees the [`Window`] it steers and the [`Moment`] it is asked in, nothing else of the connection.

mod cubic;
mod reno;

pub use cubic::Cubic;
pub use reno::Reno;

use crate::choices::CongestionControl;
pub use slowpath_model::CaState;
use slowpath_model::{Instant, StreamOffset};
use std::fmt::Debug;
use std::time::Duration;

/// A slow start threshold that no window reaches (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The congestion window and what belongs to it; all in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window (`snd_cwnd`).
    pub cwnd: u32,
    /// Acknowledged segments towards the next increase (`snd_cwnd_cnt`).
    pub count: u32,
    /// The slow start threshold.
    pub ssthresh: u32,
    /// The window never grows beyond it (`snd_cwnd_clamp`).
    pub clamp: u32,
    /// The window before the last reduction.
    pub prior_cwnd: u32,
    /// Whether the last window's worth of data was held by the window (`is_cwnd_limited`).
    pub limited: bool,
    /// Most segments outstanding in the last window's worth of data (`max_packets_out`).
    pub most_outstanding: u32,
}

impl Window {
    /// A window before the first measurement.
    pub const fn new(cwnd: u32) -> Self {
        Self {
            cwnd,
            count: 0,
            ssthresh: INFINITE_SSTHRESH,
            clamp: u32::MAX,
            prior_cwnd: 0,
            limited: false,
            most_outstanding: 0,
        }
    }

    /// `tcp_in_slow_start`.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the sender uses its window, so that it may grow (`tcp_is_cwnd_limited`). In slow start it may reach
    /// twice what was acknowledged.
    pub const fn is_limiting(&self) -> bool {
        self.limited || (self.in_slow_start() && self.cwnd < 2 * self.most_outstanding)
    }

    /// Grows by what was acknowledged, up to the threshold; what is left over (`tcp_slow_start`).
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.clamp);
        left
    }

    /// Grows by one for every `window` acknowledged segments (`tcp_cong_avoid_ai`).
    pub fn additive_increase(&mut self, window: u32, acked: u32) {
        let window = window.max(1);
        // If credits accumulated at a higher window, apply them gently now.
        if self.count >= window {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        if self.count >= window {
            let delta = self.count / window;
            self.count -= delta * window;
            self.cwnd += delta;
        }
        self.cwnd = self.cwnd.min(self.clamp);
    }
}

/// When a control is asked, and what the connection knows then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Now.
    pub now: Instant,
    /// The oldest unacknowledged byte.
    pub snd_una: StreamOffset,
    /// The next byte to be sent for the first time.
    pub snd_nxt: StreamOffset,
    /// Smoothed round trip; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// What the pacer would send at, in bytes a second; 0 before the first measurement.
    pub pacing_rate: u64,
    /// Whether segments are paced.
    pub paced: bool,
    /// When data was sent last (`lsndtime`).
    pub last_sent: Instant,
    /// The kernel's ticks a second.
    pub hz: u32,
}

/// What a control is told of (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// The first segment goes out after a time with none in flight.
    TransmitStart,
    /// The window was reset after idle time.
    WindowRestart,
    /// A window reduction is over.
    CompleteCwr,
    /// A timeout.
    Loss,
}

/// What an ACK measured (`struct ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments newly acknowledged.
    pub acked: u32,
    /// The round trip; `None` if it could not be measured.
    pub rtt: Option<Duration>,
    /// Segments in flight when the newest of them was sent.
    pub in_flight: u32,
}

/// A congestion control.
pub trait Control: Debug + Send {
    /// The name that `TCP_CONGESTION` knows it by.
    fn name(&self) -> &'static str;
    /// The threshold after a loss.
    fn ssthresh(&mut self, window: &Window) -> u32;
    /// Data was acknowledged outside recovery: the window may grow.
    fn cong_avoid(&mut self, window: &mut Window, moment: &Moment, acked: u32);
    /// The window when a reduction turns out to have been needless.
    fn undo_cwnd(&self, window: &Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }
    /// The state changes.
    fn set_state(&mut self, _to: CaState, _moment: &Moment) {}
    /// Something happened.
    fn event(&mut self, _event: CaEvent, _moment: &Moment) {}
    /// An ACK measured something.
    fn acked(&mut self, _window: &mut Window, _moment: &Moment, _sample: &AckSample) {}
}

/// The congestion control of a connection.
#[derive(Debug)]
pub struct Congestion(Box<dyn Control>);

impl Congestion {
    /// A fresh one of a kind.
    pub fn new(kind: CongestionControl) -> Self {
        Self(match kind {
            CongestionControl::Reno => Box::new(Reno),
            CongestionControl::Cubic => Box::new(Cubic::default()),
        })
    }
}

impl std::ops::Deref for Congestion {
    type Target = dyn Control;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::ops::DerefMut for Congestion {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}
