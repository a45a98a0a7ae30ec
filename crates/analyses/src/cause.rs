//! What can bind a transfer: the limits, and the causes told apart inside each.

use std::fmt;

/// What bound a flow for a while. Every instant of a flow belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Opening the connection, before any data can flow.
    Connection,
    /// The application gave the sender nothing to send.
    Application,
    /// The sender's socket buffer was full, so the application could not hand over more.
    SendBuffer,
    /// The receiver's advertised window was used up.
    ReceiveWindow,
    /// The receiver had the data and was late to answer.
    ReceiverProcessing,
    /// The congestion window was used up and the path was not full.
    CongestionWindow,
    /// Loss, or what was taken for it, was being repaired.
    LossRecovery,
    /// The path carried what it can: the good case, unless it queues or polices.
    Path,
    /// This place of observation cannot tell.
    Unknown,
}

impl Limit {
    /// All limits, in the order of the tables.
    pub const ALL: [Self; 9] = [
        Self::Connection,
        Self::Application,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::ReceiverProcessing,
        Self::CongestionWindow,
        Self::LossRecovery,
        Self::Path,
        Self::Unknown,
    ];

    /// The name in JSON and in the handbook's addresses: `receive-window`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Application => "application",
            Self::SendBuffer => "send-buffer",
            Self::ReceiveWindow => "receive-window",
            Self::ReceiverProcessing => "receiver-processing",
            Self::CongestionWindow => "congestion-window",
            Self::LossRecovery => "loss-recovery",
            Self::Path => "path",
            Self::Unknown => "unknown",
        }
    }

    /// The name for people: `receive window`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Connection => "connection set-up",
            Self::Application => "application",
            Self::SendBuffer => "send buffer",
            Self::ReceiveWindow => "receive window",
            Self::ReceiverProcessing => "receiver processing",
            Self::CongestionWindow => "congestion window",
            Self::LossRecovery => "loss recovery",
            Self::Path => "path",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $limit:ident / $slug:literal: $title:literal;)*) => {
        /// Why a limit bound: what `diagnose` names, and what the handbook has a page for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause {
            $($(#[$doc])* $name,)*
        }

        impl Cause {
            /// All causes, in the order of the limits.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The limit it is a case of.
            pub const fn limit(self) -> Limit {
                match self { $(Self::$name => Limit::$limit,)* }
            }

            /// Its name below the limit's in JSON and in the handbook's addresses: `slow-reader`.
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// One line for people, as the end of "the transfer was bound by …".
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

causes! {
    /// The round trip of SYN and SYN-ACK.
    Handshake = Connection / "handshake": "the handshake's round trip";
    /// A SYN or SYN-ACK was lost and its timer had to run out (RFC 6298, section 2: 1 s).
    SynLost = Connection / "syn-lost": "a lost SYN or SYN-ACK";

    /// All data was acknowledged, or all that was written was sent, and no more came.
    SenderIdle = Application / "sender-idle": "an application that wrote too little";
    /// One end waited for the other to ask or to answer.
    ThinkTime = Application / "think-time": "requests and answers that take turns";
    /// A small write waited for the ACK that the receiver delayed (RFC 896 against RFC 1122, 4.2.3.2).
    NagleDelayedAck = Application / "nagle-delayed-ack": "Nagle's algorithm waiting for a delayed ACK";

    /// Each ACK let the writer in for as much as it freed: the data outstanding stands at the buffer's size.
    SendBufferFull = SendBuffer / "full": "a full send buffer";

    /// The window stood at its largest and was used up every round trip.
    ReceiveBufferTooSmall = ReceiveWindow / "buffer-too-small": "a receive buffer smaller than the path holds";
    /// No window scaling was agreed, so no window exceeds 65,535 bytes (RFC 7323, section 2.2).
    NoWindowScaling = ReceiveWindow / "no-window-scaling": "a window without scaling, 65,535 bytes at most";
    /// The window field stood at its maximum under the agreed scale.
    WindowScaleTooSmall = ReceiveWindow / "scale-too-small": "a window scale too small for the path";
    /// The window was used up while it grew.
    AutotuningLag = ReceiveWindow / "autotuning-lag": "a receive window that grew too late";
    /// The window shrank because the reader took data more slowly than it came.
    SlowReader = ReceiveWindow / "slow-reader": "an application that reads too slowly";
    /// The window stood at zero for long: the reader did not read at all.
    ReaderStopped = ReceiveWindow / "reader-stopped": "an application that stopped reading";

    /// ACKs for data that had arrived came far later than a delayed ACK may.
    AcksHeldBack = ReceiverProcessing / "acks-held-back": "a receiver that answered late";

    /// The window doubled each round trip and had not reached the path's rate.
    SlowStart = CongestionWindow / "slow-start": "slow start";
    /// The window grew from where a loss had put it.
    AfterLoss = CongestionWindow / "after-loss": "a congestion window cut by loss";
    /// Slow start ended with neither loss nor queue, as a cached ssthresh or a clamp makes it.
    EarlyExit = CongestionWindow / "early-exit": "a congestion window that stopped growing early";

    /// Losses repaired from duplicate ACKs or SACK within about a round trip.
    FastRecovery = LossRecovery / "fast-recovery": "loss repaired by fast retransmit";
    /// Losses that waited for the retransmission timer.
    Timeout = LossRecovery / "rto": "retransmission timeouts";
    /// The timer ran out though nothing was lost.
    SpuriousTimeout = LossRecovery / "spurious-rto": "spurious retransmission timeouts";
    /// The last segments were lost, with nothing behind them to raise duplicate ACKs.
    TailLoss = LossRecovery / "tail-loss": "losses at the tail of a burst";
    /// A retransmission was lost too.
    LostRetransmission = LossRecovery / "lost-retransmission": "retransmissions that were lost again";
    /// The receiver took back data it had selectively acknowledged (RFC 2018, section 8).
    SackReneging = LossRecovery / "sack-reneging": "a receiver that took back SACKed data";
    /// Segments overtook each other and the sender took that for loss.
    Reordering = LossRecovery / "reordering": "reordering taken for loss";

    /// The bottleneck was busy and its queue moderate: the path gave what it has.
    BottleneckFull = Path / "bottleneck-full": "the path's capacity, which it used";
    /// The bottleneck was busy behind a queue longer than the path itself.
    StandingQueue = Path / "standing-queue": "the path's capacity, behind a standing queue";
    /// Data or its ACKs were under way for far longer than usual, and arrived.
    DelaySpike = Path / "delay-spike": "packets that were late, not lost";
    /// Losses without queueing whenever a fixed rate was exceeded.
    Policer = Path / "policer": "a policer that drops above its rate";

    /// The capture itself lost packets here.
    CaptureGap = Unknown / "capture-gap": "packets the capture lost";
    /// Only one direction was captured.
    OneDirection = Unknown / "one-direction": "a capture of one direction only";
    /// Several limits fit what was seen.
    Undetermined = Unknown / "undetermined": "nothing that shows from here";
}

impl fmt::Display for Cause {
    /// `receive-window/slow-reader`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.limit().slug(), self.slug())
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It fits, and so may something else.
    Low,
    /// The usual explanation of what was seen.
    Medium,
    /// What was seen leaves no other explanation.
    High,
}

impl Confidence {
    /// `low`, `medium`, `high`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_ordered_by_limit() {
        let names: BTreeSet<_> = Cause::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        assert!(Cause::ALL.is_sorted_by_key(|cause| cause.limit()));
        assert!(Limit::ALL.is_sorted());
    }
}
