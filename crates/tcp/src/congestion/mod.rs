//! Congestion controls, with the kernel's interface (`struct tcp_congestion_ops`).
//!
//! A control sees the [`Window`] it controls and the [`Moment`] of the call, nothing else of the connection.

mod bbr;
mod bbr3;
mod bic;
mod cubic;
mod highspeed;
mod htcp;
mod reno;
mod scalable;
mod vegas;
mod westwood;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use cubic::Cubic;
pub use highspeed::HighSpeed;
pub use htcp::Htcp;
pub use reno::Reno;
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use westwood::Westwood;

use crate::choices::{BbrVersion, CongestionControl, Hystart};
pub use slowpath_model::CaState;
use slowpath_model::{Instant, StreamOffset};
use std::fmt::Debug;
use std::time::Duration;

/// An ssthresh that no window reaches (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The congestion window and its state; all in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window (`snd_cwnd`).
    pub cwnd: u32,
    /// Acknowledged segments towards the next increase (`snd_cwnd_cnt`).
    pub count: u32,
    /// The slow start threshold.
    pub ssthresh: u32,
    /// The upper limit of cwnd (`snd_cwnd_clamp`).
    pub clamp: u32,
    /// cwnd before the last reduction.
    pub prior_cwnd: u32,
    /// Whether the last window of data was limited by cwnd (`is_cwnd_limited`).
    pub limited: bool,
    /// The most segments in flight in the last window of data (`max_packets_out`).
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

    /// ssthresh, but at least three quarters of cwnd (`tcp_current_ssthresh`, outside recovery).
    pub const fn current_ssthresh(&self) -> u32 {
        let of_window = (self.cwnd >> 1) + (self.cwnd >> 2);
        if self.ssthresh > of_window { self.ssthresh } else { of_window }
    }

    /// `tcp_in_slow_start`.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the sender fills its window, so that it may grow (`tcp_is_cwnd_limited`). In slow start it may reach
    /// twice what was acknowledged.
    pub const fn is_limiting(&self) -> bool {
        self.limited || (self.in_slow_start() && self.cwnd < 2 * self.most_outstanding)
    }

    /// Grows by what was acknowledged, up to ssthresh; returns the rest (`tcp_slow_start`).
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

/// The time of a call, and the connection's state then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Now.
    pub now: Instant,
    /// The congestion state.
    pub state: CaState,
    /// Payload bytes of a full segment (`mss_cache`).
    pub mss: u32,
    /// The oldest unacknowledged byte.
    pub snd_una: StreamOffset,
    /// The next byte to be sent for the first time.
    pub snd_nxt: StreamOffset,
    /// Smoothed RTT; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// The pacing rate, in bytes per second; 0 before the first measurement.
    pub pacing_rate: u64,
    /// Whether segments are paced.
    pub paced: bool,
    /// When data was last sent (`lsndtime`).
    pub last_sent: Instant,
    /// The kernel's ticks per second.
    pub hz: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments delivered since the connection began.
    pub delivered: u32,
    /// Segments delivered with a CE mark (`delivered_ce`).
    pub delivered_ce: u32,
    /// Segments marked lost.
    pub lost: u32,
    /// When a segment was last delivered.
    pub delivered_at: Instant,
    /// When the next segment may leave (`tcp_wstamp_ns`).
    pub wire_at: Instant,
    /// Whether the sender is application-limited (`app_limited`).
    pub app_limited: bool,
    /// The recent minimum RTT, in microseconds (`tcp_min_rtt`).
    pub least_rtt_us: Option<u32>,
    /// The limit of `SO_MAX_PACING_RATE`, in bytes per second.
    pub most_pacing_rate: u64,
    /// The minimum number of segments in a super-packet (`tcp_min_tso_segs`).
    pub least_tso_segments: u32,
    /// Whether ECN was negotiated on a route whose marks begin at a short queue (`TCP_ECN_LOW` of the v3 branch).
    pub ecn_low: bool,
    /// The kernel's HyStart.
    pub hystart: Hystart,
    /// Whether the kernel's BBR makes room for ACKs that come in lumps.
    pub bbr_ack_aggregation: bool,
}

impl Moment {
    /// A connection that has just begun, with ticks of a millisecond.
    #[cfg(test)]
    fn of_tests() -> Self {
        Self {
            now: Instant::START,
            state: CaState::Open,
            mss: 1448,
            snd_una: StreamOffset(1),
            snd_nxt: StreamOffset(1),
            srtt: None,
            pacing_rate: 0,
            paced: false,
            last_sent: Instant::START,
            hz: 1000,
            in_flight: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            delivered_at: Instant::START,
            wire_at: Instant::START,
            app_limited: false,
            least_rtt_us: None,
            most_pacing_rate: u64::MAX,
            least_tso_segments: 2,
            ecn_low: false,
            hystart: Hystart::Microseconds,
            bbr_ack_aggregation: true,
        }
    }

    /// Ticks since the start (`tcp_jiffies32`).
    pub const fn jiffies(&self) -> i64 {
        self.now.nanos() / self.tick_ns()
    }

    /// A time in ticks, rounded up (`usecs_to_jiffies`).
    pub fn ticks_of(&self, time: Duration) -> u32 {
        let ticks = time.as_nanos().div_ceil(self.tick_ns().unsigned_abs().into());
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// Nanoseconds per tick.
    pub const fn tick_ns(&self) -> i64 {
        1_000_000_000 / self.hz as i64
    }
}

/// The events of a congestion control (`enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// The first segment is sent with none in flight.
    TransmitStart,
    /// cwnd was reset after idle time.
    WindowRestart,
    /// A window reduction is over.
    CompleteCwr,
    /// A timeout.
    Loss,
    /// A tail loss probe has repaired a loss (`CA_EVENT_TLP_RECOVERY` of the v3 branch); whether the sender was
    /// application-limited when it sent the original.
    ProbeRepairedLoss {
        /// `tlp_orig_data_app_limited`.
        app_limited: bool,
    },
}

/// A buffer that was just marked lost (`skb_marked_lost` of the v3 branch).
#[derive(Clone, Copy, Debug)]
pub struct LostBuffer {
    /// Its segments.
    pub segments: u32,
    /// Segments in flight when it was sent, with its own (`tx.in_flight`).
    pub in_flight: u32,
    /// Segments marked lost since then, with its own.
    pub lost: u32,
    /// Whether the sender was application-limited then.
    pub app_limited: bool,
}

/// What an ACK measured (`struct ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments newly acknowledged.
    pub acked: u32,
    /// The RTT; `None` if it could not be measured.
    pub rtt: Option<Duration>,
    /// Segments in flight when the newest acknowledged segment was sent.
    pub in_flight: u32,
}

/// The delivery rate that an ACK measured (`struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Segments delivered in the interval; `None` if it could not be measured.
    pub delivered: Option<u32>,
    /// The interval, in microseconds; `None` if it was shorter than an RTT.
    pub interval_us: Option<u32>,
    /// Segments already delivered when the newest segment delivered by this ACK was sent.
    pub prior_delivered: u32,
    /// Segments in flight when it was sent, with those of its buffer (`tx_in_flight`).
    pub sent_in_flight: u32,
    /// Segments marked lost since then (`lost`).
    pub lost: u32,
    /// Segments delivered with a CE mark since then (`delivered_ce`).
    pub delivered_ce: u32,
    /// Whether the sender was application-limited during the interval.
    pub app_limited: bool,
    /// Segments that this ACK delivers.
    pub acked: u32,
    /// Segments that this ACK marks lost.
    pub losses: u32,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// The RTT, in microseconds.
    pub rtt_us: Option<u32>,
    /// Whether the receiver may have delayed the ACK.
    pub is_ack_delayed: bool,
    /// Whether the ACK has ECN-Echo (`is_ece`).
    pub is_ece: bool,
    /// Whether it acknowledges exactly what a tail loss probe retransmitted: the original or the probe may have arrived
    /// (`is_acking_tlp_retrans_seq`).
    pub is_of_probe: bool,
}

/// A congestion control.
pub trait Control: Debug + Send {
    /// The name for `TCP_CONGESTION`.
    fn name(&self) -> &'static str;
    /// The connection is established, or switches to this control.
    fn init(&mut self, _window: &mut Window, _moment: &Moment) {}
    /// ssthresh after a loss.
    fn ssthresh(&mut self, window: &Window, moment: &Moment) -> u32;
    /// Data was acknowledged outside recovery: the window may grow.
    fn cong_avoid(&mut self, window: &mut Window, moment: &Moment, acked: u32);
    /// cwnd after a spurious reduction is undone.
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }
    /// The minimum cwnd of rate halving (`min_cwnd`, until 3.1).
    fn least_in_reduction(&self, window: &Window) -> u32 {
        window.ssthresh / 2
    }
    /// The congestion state changes.
    fn set_state(&mut self, _to: CaState, _window: &mut Window, _moment: &Moment) {}
    /// An event of the connection.
    fn event(&mut self, _event: CaEvent, _window: &mut Window, _moment: &Moment) {}
    /// An ACK came; `slow` if it did not pass header prediction (`in_ack_event`).
    fn ack(&mut self, _slow: bool, _moment: &Moment) {}
    /// An ACK gave an RTT sample or acknowledged segments.
    fn acked(&mut self, _window: &mut Window, _moment: &Moment, _sample: &AckSample) {}
    /// An ACK was fully processed (`cong_control`): a control that paces sets cwnd and rate here, also in recovery.
    fn control(&mut self, _window: &mut Window, _moment: &Moment, _sample: &RateSample) {}
    /// A buffer was marked lost.
    fn marked_lost(&mut self, _window: &Window, _moment: &Moment, _lost: &LostBuffer) {}
    /// Its pacing rate, in bytes per second; always `None` if it does not pace.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// The minimum number of segments in a super-packet (`min_tso_segs`).
    fn least_segments(&self) -> Option<u32> {
        None
    }
    /// Congestion windows that the send buffer has room for (`sndbuf_expand`).
    fn buffer_windows(&self) -> Option<u32> {
        None
    }
    /// Whether it deliberately sends less than it could, so that the delivery rate says nothing about the path.
    fn holds_back(&self) -> bool {
        false
    }
    /// Whether its kernel also checks for an application limit when an ACK or a timer comes (the v3 branch's "broaden
    /// app-limited rate sample detection").
    fn checks_app_limited_often(&self) -> bool {
        false
    }
    /// Whether it acknowledges what it receives without regard to the window it can offer (`fast_ack_mode` of the v3
    /// branch).
    fn acks_fast(&self) -> bool {
        false
    }
}

/// The congestion control of a connection.
#[derive(Debug)]
pub struct Congestion {
    control: Box<dyn Control>,
    /// The control paces, and alone sets window and rate.
    pub(crate) paces: bool,
}

impl Congestion {
    /// A new instance of `kind`; `bbr`: the version that the kernel has under that name.
    pub fn new(kind: CongestionControl, bbr: BbrVersion) -> Self {
        let control: Box<dyn Control> = match kind {
            CongestionControl::Reno => Box::new(Reno),
            CongestionControl::Cubic => Box::new(Cubic::default()),
            CongestionControl::Bbr => match bbr {
                BbrVersion::V1 => Box::new(Bbr::default()),
                BbrVersion::V3 => Box::new(Bbr3::named(kind.name())),
            },
            CongestionControl::Bbr3 => Box::new(Bbr3::named(kind.name())),
            CongestionControl::Bic => Box::new(Bic::default()),
            CongestionControl::HighSpeed => Box::new(HighSpeed::default()),
            CongestionControl::Htcp => Box::new(Htcp::default()),
            CongestionControl::Scalable => Box::new(Scalable),
            CongestionControl::Vegas => Box::new(Vegas::default()),
            CongestionControl::Westwood => Box::new(Westwood::default()),
        };
        let paces = control.pacing_rate().is_some();
        Self { control, paces }
    }
}

impl std::ops::Deref for Congestion {
    type Target = dyn Control;
    fn deref(&self) -> &Self::Target {
        &*self.control
    }
}

impl std::ops::DerefMut for Congestion {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.control
    }
}
