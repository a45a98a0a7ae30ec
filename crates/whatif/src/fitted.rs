//! A transfer's fitted values, each with its range and what it was read from.

use crate::exchange::Requests;
use slowpath_kernels::Release;
use slowpath_model::{Bytes, Rate};
use std::fmt;
use std::time::Duration;

/// A value, the range it may have, and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known<T> {
    /// The value used.
    pub value: T,
    /// The least that fits too.
    pub low: T,
    /// The most that fits too.
    pub high: T,
    /// What it was read from.
    pub basis: Basis,
    /// It was adjusted, within its range, until the simulated transfer showed what the capture shows.
    pub is_adjusted: bool,
}

impl<T: Copy> Known<T> {
    /// A value without a range.
    pub const fn exact(value: T, basis: Basis) -> Self {
        Self { value, low: value, high: value, basis, is_adjusted: false }
    }

    /// A value with a range.
    pub const fn between(value: T, low: T, high: T, basis: Basis) -> Self {
        Self { value, low, high, basis, is_adjusted: false }
    }
}

/// What a value was read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// ACKs without a pause between them came at this pace.
    AckPace {
        /// The part of the data in such trains within 3 % of the pace: 0 to 1.
        share: f64,
    },
    /// The shortest RTT of the path.
    ShortestRtt,
    /// How much longer RTTs were when data was lost.
    DelayAtLoss {
        /// Times of loss that showed it.
        times: u64,
        /// That delay.
        delay: Duration,
    },
    /// The queue was never seen full; it holds at least the longest delay seen.
    NeverFull {
        /// That delay.
        delay: Duration,
    },
    /// Losses counted.
    LossesCounted {
        /// Segments lost.
        lost: u64,
        /// Of so many.
        of: u64,
    },
    /// The rate at which losses began again and again, without a queue.
    RateAtLoss,
    /// The largest window that the receiver advertised.
    LargestWindow {
        /// That window.
        window: Bytes,
    },
    /// The window scale in the receiver's SYN, which Linux chooses for its largest buffer (`tcp_select_initial_window`, 6.18).
    WindowScale {
        /// The shift count.
        shift: u8,
    },
    /// The most data outstanding, where the sender waited for its own buffer.
    FlightPlateau {
        /// That amount.
        flight: Bytes,
    },
    /// Payload sent before any of it was acknowledged.
    FirstFlight {
        /// That amount.
        flight: Bytes,
    },
    /// Of the controls tried, only these reproduce the capture.
    Reproduces,
    /// The capture shows it.
    Captured,
    /// The capture does not show it: an assumption.
    Assumed,
}

impl Basis {
    /// Its name in JSON.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::AckPace { .. } => "ack-pace",
            Self::ShortestRtt => "shortest-rtt",
            Self::DelayAtLoss { .. } => "delay-at-loss",
            Self::NeverFull { .. } => "never-full",
            Self::LossesCounted { .. } => "losses-counted",
            Self::RateAtLoss => "rate-at-loss",
            Self::LargestWindow { .. } => "largest-window",
            Self::WindowScale { .. } => "window-scale",
            Self::FlightPlateau { .. } => "flight-plateau",
            Self::FirstFlight { .. } => "first-flight",
            Self::Reproduces => "reproduces",
            Self::Captured => "captured",
            Self::Assumed => "assumed",
        }
    }
}

/// A congestion control that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// CUBIC, the default of Linux.
    Cubic,
    /// Reno.
    Reno,
    /// BBR, version 1.
    Bbr,
}

impl Control {
    /// Those of every distribution's kernel, the most common first.
    pub const ALL: [Self; 3] = [Self::Cubic, Self::Reno, Self::Bbr];

    /// Its name in a scenario, and in `tcp_congestion_control`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What bounds the receiver's window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceiveBuffer {
    /// A buffer of fixed size, as `SO_RCVBUF` makes it.
    Fixed {
        /// What `setsockopt` is given.
        size: Known<Bytes>,
        /// With less, Linux would have chosen a smaller window scale (`tcp_select_initial_window`, 6.18).
        least: Bytes,
    },
    /// Tuning up to this size: the third value of `tcp_rmem`.
    Tuned(Known<Bytes>),
    /// No tuning (`tcp_moderate_rcvbuf` 0): the first size, the second value of `tcp_rmem`, is kept.
    Untuned {
        /// That size.
        size: Known<Bytes>,
        /// The third value of `tcp_rmem`, for which Linux chose the window scale.
        most: Bytes,
    },
}

/// What a send buffer takes beyond its size depends on these: only a new packet asks whether there is room
/// (`tcp_sendmsg_locked`, 6.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// The writer is quicker than the NIC, so that what it writes waits for small queues (`tcp_small_queue_check`); otherwise the
    /// NIC has taken each packet before the next is written, as virtual ones do, and slow writers.
    pub waits_for_nic: bool,
    /// `TCP_NODELAY`: the short end of a write leaves at once, and nothing is appended to it.
    pub nodelay: bool,
}

/// Why packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossProcess {
    /// None but those of a full queue.
    None,
    /// Each packet with one probability, in millionths.
    Chance(Known<f64>),
    /// Those above a rate, with this much at once.
    Policer {
        /// In bits of IP packets per second.
        rate: Known<Rate>,
        /// The size of the bucket.
        burst: Known<Bytes>,
    },
}

/// All that a scenario of the transfer needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The bottleneck, in bits of IP packets per second.
    pub rate: Known<Rate>,
    /// The RTT without a queue.
    pub rtt: Known<Duration>,
    /// What the bottleneck's queue holds, in packets.
    pub queue: Known<u32>,
    /// Losses.
    pub loss: LossProcess,
    /// The receiver's buffer.
    pub receive: ReceiveBuffer,
    /// The first value of the tuned window: the second of `tcp_rmem`.
    pub first_buffer: Known<Bytes>,
    /// A send buffer of fixed size, as `setsockopt` is given it; `None`: it never was the limit.
    pub send: Option<Known<Bytes>>,
    /// To which a send buffer that is tuned may grow: the third of `tcp_wmem`.
    pub send_most: Bytes,
    /// How its writer and its NIC fill that send buffer.
    pub writing: Writing,
    /// The receiver's NIC merges packets, in pages of 2 KiB each, and so what they take of the receive buffer (`PacketMemory`).
    pub merges: bool,
    /// Congestion controls that reproduce the capture, the most common first.
    pub controls: Vec<Control>,
    /// Where the congestion control is from.
    pub control_basis: Basis,
    /// Segments sent before the first ACK.
    pub initial_window: Known<u32>,
    /// The data of the transfer.
    pub amount: Bytes,
    /// The requests that it answers; `None` for a transfer of all its data at once.
    pub requests: Option<Requests>,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// SACK is in use.
    pub sack: bool,
    /// Window scaling, as the sender and the receiver offered it.
    pub scaling: [bool; 2],
    /// The sender's capture has super-packets.
    pub super_packets: bool,
    /// The kernel of both hosts, which a capture does not show.
    pub kernel: Release,
    /// How long the captured transfer took.
    pub lasted: Duration,
}
