//! What shows a cause, as values with units. `views` puts them into words.
//!
//! A new kind of evidence is one entry of `evidence!`: the compiler then asks `views::words` for its sentence, and
//! `--json` contains its values without further code.

use slowpath_model::{Bytes, IcmpKind, Rate};
use std::time::Duration;

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// How many.
    Count(u64),
    /// An amount of data.
    Bytes(Bytes),
    /// A rate.
    Rate(Rate),
    /// A time.
    Time(Duration),
    /// A part of a whole, 0 to 1.
    Share(f64),
    /// One of a few names.
    Name(&'static str),
}

macro_rules! from {
    ($($type:ty => $name:ident),*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self { Self::$name(value) }
        })*
    };
}

from!(u64 => Count, Bytes => Bytes, Rate => Rate, Duration => Time, f64 => Share, &'static str => Name);

impl From<IcmpKind> for Value {
    fn from(kind: IcmpKind) -> Self {
        Self::Name(kind.name())
    }
}

impl Value {
    /// The suffix of this value's name where there are no types: `_bytes`; empty for a count, a share or a name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Count(_) | Self::Share(_) | Self::Name(_) => "",
            Self::Bytes(_) => "_bytes",
            Self::Rate(_) => "_bit_per_s",
            Self::Time(_) => "_ns",
        }
    }
}

macro_rules! evidence {
    ($($(#[$doc:meta])* $name:ident = $slug:literal { $($field:ident: $type:ty = $field_doc:literal),* $(,)? })*) => {
        /// One fact that supports a cause.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Evidence {
            $($(#[$doc])* $name { $(#[doc = $field_doc] $field: $type,)* },)*
        }

        impl Evidence {
            /// The names of all kinds.
            pub const SLUGS: &[&str] = &[$($slug,)*];

            /// Its name in JSON: `window-filled`.
            pub const fn slug(&self) -> &'static str {
                match self { $(Self::$name { .. } => $slug,)* }
            }

            /// Its numbers, each with its name.
            pub fn values(&self) -> Vec<(&'static str, Value)> {
                match *self { $(Self::$name { $($field),* } => vec![$((stringify!($field), $field.into()),)*],)* }
            }
        }
    };
}

evidence! {
    /// The handshake, without a retransmission.
    Handshake = "handshake" { rtt: Duration = "From SYN to the handshake's last ACK." }
    /// SYNs and SYN-ACKs that were retransmitted.
    SynRetransmitted = "syn-retransmitted" { times: u64 = "How many." }
    /// The end waited for data of the other end, which this delayed.
    AwaitedData = "awaited-data" {}
    /// The FIN was retransmitted, and not acknowledged.
    FinUnanswered = "fin-unanswered" {
        times: u64 = "How often.",
        lasted: Duration = "From the first FIN to an answer, or to the end.",
    }
    /// No data was sent although the receiver's window was open.
    Silence = "silence" { longest: Duration = "The longest such time." }
    /// Writes began at multiples of one time, whatever passed in between: a program has a timer.
    WrittenByClock = "written-by-clock" {
        writes: u64 = "How many.",
        every: Duration = "That time.",
        within: Duration = "How far they were from its multiples: the root mean square, without outliers.",
    }
    /// Request/response turns: which end took the time.
    TurnsTook = "turns-took" {
        sender: Duration = "From the other end's data to the sender's next.",
        receiver: Duration = "The rest: until the other end's data came, with the path's share.",
    }
    /// Far from the sender: it fell silent until the recording ended, and never closed the connection.
    SilentToTheEnd = "silent-to-the-end" { lasted: Duration = "For so long." }
    /// The data outstanding stays at one amount, and more is sent only when an ACK makes room.
    FlightPlateau = "flight-plateau" { flight_max: Bytes = "The most data outstanding." }
    /// Segments that used up the receiver's window.
    WindowFilled = "window-filled" {
        segments: u64 = "How many.",
        largest: Bytes = "The largest window.",
    }
    /// What a window allows over an RTT.
    WindowAllows = "window-allows" {
        rtt: Duration = "The shortest RTT of the path.",
        rate: Rate = "Window by RTT.",
    }
    /// How long each window took until it was acknowledged, where that is far longer than the RTT.
    WindowTook = "window-took" {
        took: Duration = "The largest window by the rate reached.",
        rtt: Duration = "The shortest RTT of the path.",
    }
    /// The two SYNs did not both carry the window scale option.
    ScalingNotOffered = "scaling-not-offered" {}
    /// The sender goes by another window scale than the receiver sent: a device on the path changed it.
    ScaledOtherwise = "scaled-otherwise" {
        segments: u64 = "Segments that end where the window ends with that scale.",
        sender: u64 = "The scale that the sender goes by.",
        receiver: u64 = "The scale that the receiver sent.",
    }
    /// The window of a SYN is not scaled, and the next is much smaller: a device on the path changed the scale.
    FirstWindow = "first-window" {
        opened: Bytes = "The window of the SYN.",
        next: Bytes = "The next window, with the scale that the sender was shown.",
        scale: u64 = "That scale.",
    }
    /// The receiver's window closed to zero.
    WindowClosed = "window-closed" {
        times: u64 = "How often.",
        total: Duration = "For how long, all together.",
    }
    /// The receiver's window shrank while data was in flight.
    WindowShrank = "window-shrank" {
        largest: Bytes = "The largest window.",
        smallest: Bytes = "The smallest window above zero.",
    }
    /// ACKs left the receiver neither when data arrived nor by a timer: its program read.
    AnswersWhenRead = "answers-when-read" {
        acks: u64 = "Such ACKs, each of three segments or more.",
        after: Duration = "How long after the last arrival they left, on average.",
    }
    /// The time to an ACK grew with what the one before had acknowledged, not with what it acknowledged itself.
    AcksFollowReads = "acks-follow-reads" { times: u64 = "How often that showed." }
    /// The handshake was not captured, so the window scale is the least that fits.
    ScaleInferred = "scale-inferred" { shift: u64 = "The least shift count." }
    /// The handshake was not captured; segments end to the byte where windows of this scale end.
    ScaleFits = "scale-fits" { shift: u64 = "The shift count." }
    /// ACKs for several segments came late after them.
    LateAcks = "late-acks" { beyond: Duration = "Later than this." }
    /// The data outstanding was below the receiver's window, and more was there to send.
    FlightBound = "flight-bound" { flight_max: Bytes = "The most data outstanding." }
    /// RTTs stayed near their shortest: no queue stood in the way.
    NoQueue = "no-queue" { shortest: Duration = "The shortest RTT of the path." }
    /// What was retransmitted in the whole direction.
    Retransmitted = "retransmitted" {
        segments: u64 = "Segments retransmitted, spurious ones included.",
        spurious: u64 = "Segments of these that had arrived.",
        lost_share: f64 = "Retransmitted and not spurious, of all segments sent.",
        recoveries: u64 = "Episodes of recovery.",
        timeouts: u64 = "Retransmission timeouts.",
    }
    /// An episode of loss recovery.
    LongestRecovery = "longest-recovery" { lasted: Duration = "The longest." }
    /// The rate of delivery that was held RTT after RTT.
    DeliveryRate = "delivery-rate" { peak: Rate = "The highest that was held." }
    /// RTTs of the whole path.
    RttSpread = "rtt-spread" {
        shortest: Duration = "The shortest.",
        mean: Duration = "The mean over ACKs.",
    }
    /// A token bucket would have dropped what was lost, and little else.
    LostInBursts = "lost-in-bursts" {
        lowest: Rate = "The lowest rate of payload at which the bucket may fill.",
        highest: Rate = "The highest.",
        depth: Bytes = "How much it holds.",
        lost: u64 = "How many transmissions were lost, several in a row counted once.",
        lost_above: u64 = "Those of them that found it empty.",
        delivered: u64 = "How many transmissions were delivered.",
        delivered_above: u64 = "Those of them that it would have dropped.",
    }
    /// Segments late in a burst were not delayed: no queue dropped what followed.
    BurstsNotDelayed = "bursts-not-delayed" {
        longer: Duration = "By how much their median RTT was longer than the shortest.",
        queue: Duration = "By how much a queue of the highest of these rates would have delayed them.",
    }
    /// Losses came at the same rate each time, and without a longer RTT.
    SameRateAtLoss = "same-rate-at-loss" { rate: Rate = "The mean of these rates." }
    /// ACKs came far later than an RTT, and nothing was lost.
    LateButNotLost = "late-but-not-lost" { longest: Duration = "The longest such time." }
    /// No segment of the sender is in the capture.
    SenderNotCaptured = "sender-not-captured" {}
    /// No segment of the receiver is in the capture.
    ReceiverNotCaptured = "receiver-not-captured" {}
    /// Data that was acknowledged and is not in the capture.
    DataNotCaptured = "data-not-captured" { data: Bytes = "How much." }
    /// No RTT could be measured, so a full path and a small window look alike.
    NoRtt = "no-rtt" {}
    /// How far the sender is from the tap is not known, so what it knew when is not either.
    SenderDistanceUnknown = "sender-distance-unknown" {}

    /// Retransmissions reached the receiver with a wrong TCP checksum.
    DamagedOnArrival = "damaged-on-arrival" { segments: u64 = "How many." }
    /// Data arrived as not ECN-capable, though both ends had agreed on ECN.
    EcnNotCapable = "ecn-not-capable" { segments: u64 = "Segments with data, all of them." }
    /// A SYN was answered by an ACK of an old connection.
    ChallengeAck = "challenge-ack" { times: u64 = "How often." }
    /// SYNs with data that were not answered.
    SynDataLost = "syn-data-lost" { times: u64 = "How many." }
    /// SYNs that reached the host and were not answered.
    SynNotAnswered = "syn-not-answered" {
        times: u64 = "How many.",
        wrong_checksum: u64 = "Of these, with a wrong TCP checksum.",
    }
    /// SYN-ACKs that reached the client's host, which sent its SYN again.
    SynAckNotAnswered = "syn-ack-not-answered" {
        times: u64 = "How many.",
        wrong_checksum: u64 = "Of these, with a wrong TCP checksum.",
    }
    /// Nothing came from the other end any more.
    PeerSilent = "peer-silent" {
        lasted: Duration = "From its last segment to the end of the capture.",
        retransmissions: u64 = "Retransmissions and probes in that time.",
    }
    /// Between the ends: the other end went on to send, and had received nothing.
    PeerUnaware = "peer-unaware" {
        lasted: Duration = "From the first retransmitted segment to the end of the capture.",
        retransmissions: u64 = "Retransmissions and probes in that time.",
        segments: u64 = "Segments of the other end in that time.",
    }
    /// The other end fell silent during a pause.
    SilentAfterPause = "silent-after-pause" { pause: Duration = "How long nobody had sent anything." }
    /// Everything that got no answer was too large for a path whose MTU has become smaller.
    OnlyLargeUnanswered = "only-large-unanswered" { smallest: Bytes = "Payload of the smallest segment." }
    /// An ICMP error came back for segments of this direction.
    IcmpErrors = "icmp-errors" {
        times: u64 = "How many.",
        kind: IcmpKind = "What the last one says.",
    }
    /// A RST answered the SYN.
    SynRefused = "syn-refused" { after: Duration = "How long after the first SYN." }
    /// SYNs that nothing answered.
    SynUnanswered = "syn-unanswered" { times: u64 = "How many." }
    /// The handshake was over, and SYN-ACKs came again or data of the client had no effect.
    SynAckAgain = "syn-ack-again" {
        times: u64 = "SYN-ACKs that came again.",
        data: u64 = "Data segments of the client that had been sent before the last of them, or before the server answered at all, and were not acknowledged.",
    }
    /// The RST is the one that answers a segment of no known connection (RFC 9293, section 3.10.7.1).
    ConnectionNotKnown = "connection-not-known" {}
    /// Nothing was sent for a while before the segment that the RST answers.
    ResetAfterPause = "reset-after-pause" { pause: Duration = "For how long." }
    /// Payload that was not acknowledged when the RST came.
    UnacknowledgedAtReset = "unacknowledged-at-reset" {
        of_resetter: Bytes = "What the end that sent the RST had sent.",
        of_other: Bytes = "What the other end had sent.",
    }
    /// The TTL of the RST is not that of its sender's other packets.
    OtherTtl = "other-ttl" {
        ttl: u64 = "Of the RST.",
        usual: u64 = "Of the other packets.",
    }
    /// The RST came sooner than its sender can answer.
    AnsweredTooSoon = "answered-too-soon" {
        after: Duration = "How long after the segment that it answers.",
        shortest: Duration = "The shortest answer of the end itself.",
    }
    /// The end whose address the RST bears sent new data afterwards.
    WentOnSending = "went-on-sending" {}
    /// The end in whose name a RST was sent acknowledged more data afterwards.
    WentOnReceiving = "went-on-receiving" {}
    /// A segment of this connection came from another address, and was answered with a RST.
    StraySegment = "stray-segment" { flow: u64 = "The number of the flow that it is in." }
    /// Segments leave when the receiver's payload comes, and not when an ACK alone does.
    FollowsPayload = "follows-payload" {
        waits: u64 = "Waits that payload of the receiver ended.",
        by_ack: u64 = "Waits that an ACK alone ended.",
    }
    /// Data left evenly and at one rate, with the same amount in flight.
    SteadyRate = "steady-rate" {
        rate: Rate = "That rate.",
        flight: Bytes = "What was in flight.",
    }
    /// Next to the sender: bunches of full segments left at one pace.
    PacedBunches = "paced-bunches" { rate: Rate = "Their rate, pauses included." }
    /// Data left when no ACK had just come.
    UnpromptedSends = "unprompted-sends" { share: f64 = "The part of the data." }
    /// Far from the sender: bursts came about an RTT after ACKs had left, when much of what was in flight was acknowledged.
    BurstsAfterAcks = "bursts-after-acks" {}
    /// Every segment was a little shorter than the MSS.
    NearlyFullSegments = "nearly-full-segments" {}
    /// One ACK came for everything in flight, long after the shortest RTT: no queue on the path.
    AnsweredAtOnce = "answered-at-once" {
        data: Bytes = "What such an ACK acknowledged: the median.",
        late: Duration = "By how much the RTT exceeded the shortest: the median.",
    }
    /// More than one limit explains what the capture shows.
    SeveralLimitsFit = "several-limits-fit" {}
    /// Far from the sender: it fell silent after a full segment, and may have sent what never came.
    SilentAfterFullSegment = "silent-after-full-segment" {}
    /// ACKs triggered the data sent.
    SetOffByAcks = "set-off-by-acks" { share: f64 = "The part of the data." }
    /// Payload of the receiver triggered the data sent.
    SetOffByPayload = "set-off-by-payload" { share: f64 = "The part of the data." }
    /// No segment ended short.
    AlwaysMoreToSend = "always-more-to-send" {}
    /// The receiver's window had room.
    RoomInWindow = "room-in-window" { share: f64 = "For this part of the cause's time." }
    /// The receiver's window was used up.
    WindowUsedUp = "window-used-up" { share: f64 = "For this part of the cause's time." }
    /// All data was acknowledged.
    NothingInFlight = "nothing-in-flight" { share: f64 = "For this part of the cause's time." }
    /// RTTs were long without a queue: what arrived came with pauses, which no queue leaves, far below the peak rate.
    LongerPath = "longer-path" {
        shortest: Duration = "The shortest RTT of all.",
        longer: Duration = "That of this time, within about 3 %.",
    }
    /// RTTs varied without a queue: from one to the next, with pauses, and more data in flight arrived that much faster.
    Jitter = "jitter" { shortest: Duration = "The shortest RTT of all." }
    /// No loss was being repaired.
    NothingRepaired = "nothing-repaired" {}
    /// RTTs were longer than the shortest by a queue.
    QueueStood = "queue-stood" { share: f64 = "For this part of the cause's time." }
    /// SACK blocks of data that was never sent, nor ever will be.
    SackOutside = "sack-outside" { blocks: u64 = "How many.", all: u64 = "Of so many." }
    /// Each wait ended with the ACK of everything in flight.
    OneAtATime = "one-at-a-time" { waits: u64 = "How many such waits." }
    /// Short segments left right after the ACK of an earlier short one.
    ShortAfterShort = "short-after-short" { total: Duration = "How long they waited for it, all together." }
    /// The window's right edge moved back while data was in flight up to it.
    EdgeMovedBack = "edge-moved-back" {
        times: u64 = "How often.",
        largest: Bytes = "The furthest.",
    }
    /// Congestion marks.
    EcnMarked = "ecn-marked" {
        marked: u64 = "Segments with the mark CE in this direction, at the tap.",
        echoes: u64 = "Segments of the receiver with ECE.",
        reductions: u64 = "Segments of the sender with CWR.",
    }
    /// Transmissions above a size were lost, each of them.
    LostAboveSize = "lost-above-size" {
        lost: u64 = "How many transmissions.",
        smallest: Bytes = "Payload of the smallest of them.",
        largest_delivered: Bytes = "Payload of the largest segment that was delivered.",
    }
    /// Transmissions beyond the unscaled window were lost, each of them.
    LostBeyondWindowField = "lost-beyond-window-field" {
        lost: u64 = "How many transmissions.",
        delivered: u64 = "Segments within the unscaled window that were delivered.",
    }
    /// Next to the receiver: data came in the first RTT only, before an ACK passed whose window field, unscaled, has no
    /// room for a segment.
    WindowFieldTooSmall = "window-field-too-small" {
        field: Bytes = "The largest window field, as it is on the wire.",
        segment: Bytes = "Payload of a segment.",
    }
    /// Next to the sender, segments passed for the first time when they were repaired.
    LostBeforeTap = "lost-before-tap" { segments: u64 = "How many." }
    /// The sender's segment numbers show data that never passed the tap.
    SentUnseen = "sent-unseen" { data: Bytes = "How much." }

    /// An ICMP error came for the connection and did not end it.
    SoftError = "soft-error" { errno: u64 = "The errno that the sending host's kernel makes of it, such as 113 for EHOSTUNREACH." }
    /// The application limits the rate to which TCP paces (`SO_MAX_PACING_RATE`), and that was the rate in force.
    PacingLimit = "pacing-limit" { rate: Rate = "The limit." }
    /// The queue of the sending host's own device made packets wait.
    OwnQueue = "own-queue" {
        backlog: Bytes = "The most that was seen to wait in it, of all flows.",
        held_back: u64 = "How often it held packets back to keep to its rate.",
    }
    /// The rate to which that queue is set.
    OwnQueueRate = "own-queue-rate" { rate: Rate = "That rate." }

    /// Two captures show packets lost between them, in these times or within an RTT before.
    LostBetween = "lost-between" { packets: u64 = "How many." }
    /// A SYN or a SYN-ACK was repeated, and the first one came all the same, late.
    HandshakeLate = "handshake-late" { after: Duration = "From the first SYN to the end of the handshake." }
    /// SYNs and SYN-ACKs that were lost between the two captures.
    SynLostBetween = "syn-lost-between" {
        syns: u64 = "SYNs lost on the way to the responder.",
        syn_acks: u64 = "SYN-ACKs lost on the way back.",
    }
    /// Two captures show that the ACKs which opened the window again were lost, so that the sender waited for its persist timer
    /// (RFC 9293, section 3.8.6.1).
    WindowUpdateLost = "window-update-lost" {
        updates: u64 = "ACKs lost from the opening of the window on.",
        waited: Duration = "How long the window was open and the sender did not know it.",
    }
    /// The receiving host's capture has packets that its TCP did not accept.
    NotAccepted = "not-accepted" { packets: u64 = "How many, in these times or within an RTT before." }
    /// Retransmissions of the oldest segment, each alone on its way, were answered by an ACK that acknowledged nothing.
    AnsweredInVain = "answered-in-vain" { retransmissions: u64 = "How many." }
    /// What was not accepted had an older timestamp than packets before it: PAWS (RFC 7323, section 5).
    StaleTimestamps = "stale-timestamps" {}
    /// Two captures show what was reordered between them.
    ReorderedBetween = "reordered-between" {
        lost: u64 = "Packets lost in these times or within an RTT before.",
        reordered: u64 = "Packets reordered, in the whole direction.",
        latest: Duration = "By how much the latest was late.",
    }
    /// How long after the data ACKs left the receiver, seen next to it.
    AckDelay = "ack-delay" {
        p95: Duration = "95th percentile.",
        longest: Duration = "The longest.",
    }
    /// By the receiver's timestamps, its ACKs waited on their way.
    AcksLate = "acks-late" {
        acks: Duration = "How much later than the most punctual one they came, at least, on average.",
        queue: Duration = "By how much RTTs exceeded the shortest meanwhile, on average.",
    }
    /// By the sender's timestamps, its data did not wait on its way to the receiver.
    DataPunctual = "data-punctual" {
        data: Duration = "How much later than the most punctual segment it came, at most, on average.",
        queue: Duration = "By how much RTTs exceeded the shortest meanwhile, on average.",
    }
    /// Queueing delay between two captures.
    QueueingBetween = "queueing-between" {
        forward_p95: Duration = "95th percentile on the way of the data.",
        backward_p95: Duration = "95th percentile on the way of the ACKs.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn evidence_slugs_are_unique_and_values_have_units() {
        assert_eq!(Evidence::SLUGS.iter().collect::<BTreeSet<_>>().len(), Evidence::SLUGS.len());
        let evidence = Evidence::WindowFilled { segments: 3, largest: Bytes::kib(64) };
        assert_eq!(evidence.slug(), "window-filled");
        let values = evidence.values();
        assert_eq!(values, [("segments", Value::Count(3)), ("largest", Value::Bytes(Bytes::kib(64)))]);
        assert_eq!(values.iter().map(|(_, value)| value.suffix()).collect::<Vec<_>>(), ["", "_bytes"]);
    }
}
