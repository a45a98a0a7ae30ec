//! What is known of a flow as a whole when its time is divided among causes.

use crate::cause::Cause;
use crate::overview::ScaleChanged;
use crate::report::ScaleKnown;
use crate::token_bucket::TokenBucket;
use slowpath_model::Instant;

/// What classification knows of the flow as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The flow's first event.
    pub first: Instant,
    /// The flow's last event.
    pub last: Instant,
    /// When the handshake was over, where it was seen.
    pub established: Option<Instant>,
    /// The cause of the time until then.
    pub opening: Cause,
    /// Since when the losses have one cause in common, if they do.
    pub ruled_since: Instant,
    /// Until when, if the sender found out then.
    pub ruled_until: Option<Instant>,
    /// How the receiver's window is scaled, and whether each end offered scaling.
    pub scale: ScaleKnown,
    /// The largest window as it is on the wire, where its scale is not known.
    pub unscaled_window: Option<u32>,
    /// Both ends offered window scaling; unknown without the handshake.
    pub scaling: Option<bool>,
    /// Largest payload of a segment.
    pub mss: u32,
    /// Whether the receiver was seen at all.
    pub answered: bool,
    /// The shortest RTT of the path, in microseconds.
    pub base_rtt: Option<u32>,
    /// Whether another flow shows that RTTs were never nearly as short as the path: a queue stood from the first packet on.
    pub queued_at_first: bool,
    /// Whether the tap is next to the sender.
    pub at_sender: bool,
    /// Whether it is next to the receiver, and not to the sender too.
    pub at_receiver: bool,
    /// Whether a queue would show: RTTs are measured all the time, and not only in the handshake.
    pub queue_shows: bool,
    /// The receiver's first window after its SYN was far smaller than the one in the SYN, which is never scaled: the scale
    /// was changed on the way.
    pub scale_changed: Option<ScaleChanged>,
    /// Whether the receiver ever reported what it held above a hole, by SACK.
    pub sacked: bool,
    /// The token bucket that would have dropped what was lost, which may be a queue.
    pub bucket: Option<TokenBucket>,
}
