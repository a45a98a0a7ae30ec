//! What the whole of a direction tells about each part of it.

use crate::loss_pattern::LossPattern;

/// What the stretches of one direction say together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overview {
    /// The shortest round trip, in microseconds.
    pub base_rtt: Option<u32>,
    /// The highest rate of delivery that was held for about a round trip, in bit/s.
    pub peak_rate: f64,
    /// Time spent with a standing queue while sending, in nanoseconds.
    pub queued: i64,
    /// The longest recovery from loss, in nanoseconds.
    pub longest_recovery: i64,
    /// The rate a policer lets through, in bit/s, where one shows.
    pub policed: Option<f64>,
    /// Never was more than one segment in flight.
    pub one_segment: bool,
    /// What lost transmissions have in common; known next to the sender.
    pub loss: Option<LossPattern>,
    /// What the receiver took back of its window.
    pub taken_back: TakenBack,
    /// Waits that payload of the other end ended, and waits that an ACK alone ended.
    pub waits: Waits,
}

/// How often, and how far, the receiver moved the edge of its window back while data was in flight beyond it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakenBack {
    /// How often.
    pub times: u64,
    /// The furthest, in bytes.
    pub largest: i64,
}

/// What ended the waits of a sender that had nothing to send.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// Payload of the other end.
    pub prompted: u64,
    /// An ACK alone.
    pub clocked: u64,
    /// Of these, the ACK of the one segment in flight.
    pub one_at_a_time: u64,
}
