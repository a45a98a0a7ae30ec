//! The timers of a connection, as the kernel shares them.

use slowpath_model::Instant;

/// The current purpose of the one retransmission timer (`icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The retransmission timeout (`ICSK_TIME_RETRANS`).
    Retransmit,
    /// The tail loss probe (`ICSK_TIME_LOSS_PROBE`).
    LossProbe,
    /// RACK's reordering window (`ICSK_TIME_REO_TIMEOUT`).
    Reordering,
    /// The zero-window probe (`ICSK_TIME_PROBE0`).
    WindowProbe,
}

/// When each timer is due; `None` if not set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    /// The retransmission timer, with its purpose.
    pub retransmit: Option<(Pending, Instant)>,
    /// The delayed acknowledgment.
    pub delayed_ack: Option<Instant>,
    /// The compressed ACK for out-of-order data.
    pub compressed_ack: Option<Instant>,
    /// When pacing allows the next segment.
    pub pacing: Option<Instant>,
    /// Keepalive, and the wait in FIN-WAIT-2 and TIME-WAIT.
    pub keepalive: Option<Instant>,
}

impl Timers {
    /// The earliest timer.
    pub fn next(&self) -> Option<Instant> {
        [
            self.retransmit.map(|(_, due)| due),
            self.delayed_ack,
            self.compressed_ack,
            self.pacing,
            self.keepalive,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
