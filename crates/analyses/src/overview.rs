//! What the whole of a direction tells about each part of it.

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
}
