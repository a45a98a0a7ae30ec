//! The timers of a connection, as the kernel shares them out.

use slowpath_model::Instant;

/// What the one retransmission timer of a connection waits for (`icsk_pending`).
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

/// When what is due. A timer that is not set is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    /// The retransmission timer, with what it is for.
    pub retransmit: Option<(Pending, Instant)>,
    /// The delayed acknowledgment.
    pub delayed_ack: Option<Instant>,
    /// The ACK that stands for several about data beyond a hole.
    pub compressed_ack: Option<Instant>,
    /// When pacing lets the next segment go.
    pub pacing: Option<Instant>,
    /// Keepalive, and the wait in FIN-WAIT-2 and TIME-WAIT.
    pub keepalive: Option<Instant>,
}

impl Timers {
    /// The first that is due.
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
