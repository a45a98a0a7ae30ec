//! Evidence in words: one sentence for each kind, only here.

use super::times;
use crate::quantity::{counted, duration, share};
use slowpath_analyses::Evidence;
use slowpath_analyses::report::VantageEvidence;
use slowpath_model::units::{count, counted_were};
use slowpath_model::{Bytes, IcmpKind};
use std::time::Duration;

/// The text of an ICMP error, by Linux's errno for it (`icmp_err_convert`, `icmpv6_err_convert`).
fn icmp_error(errno: u64) -> String {
    match errno {
        13 => "administratively prohibited (EACCES)".to_owned(),
        71 => "parameter problem (EPROTO)".to_owned(),
        92 => "protocol unreachable (ENOPROTOOPT)".to_owned(),
        101 => "network unreachable (ENETUNREACH)".to_owned(),
        111 => "port unreachable (ECONNREFUSED)".to_owned(),
        113 => "host unreachable (EHOSTUNREACH)".to_owned(),
        errno => format!("errno {errno}"),
    }
}

/// The queue of the sender's own device; unknown parts are omitted.
fn own_queue(backlog: Bytes, held_back: u64) -> String {
    let waited =
        (backlog > Bytes::ZERO).then(|| format!("up to {backlog} waited in the queue of its own device"));
    let held = (held_back > 0)
        .then(|| format!("the queue of its own device held packets back {}", times(held_back)));
    match (waited, held) {
        (Some(waited), Some(_)) => format!("{waited}, which held packets back {}", times(held_back)),
        (waited, held) => {
            waited.or(held).unwrap_or_else(|| "data waited in the queue of its own device".to_owned())
        }
    }
}

/// Evidence as a sentence without capital and full stop.
pub fn evidence(evidence: &Evidence) -> String {
    match *evidence {
        Evidence::Handshake { rtt } => format!("the handshake took {}", duration(rtt)),
        Evidence::SynRetransmitted { times: n } => format!("SYN or SYN-ACK was retransmitted {}", times(n)),
        Evidence::WrittenByClock { writes, every, within } => format!(
            "{} began at multiples of {}, within {}, whatever came in between: the program has a timer, or keeps to so much \
             per interval",
            counted(writes, "write"),
            duration(every),
            duration(within)
        ),
        Evidence::Silence { longest } => {
            format!("nothing was sent for up to {}, while the receiver's window was open", duration(longest))
        }
        Evidence::TurnsTook { sender, receiver } if sender * 100 < receiver => {
            "nearly all of it passed until the receiver's data came, for which the sender waited".to_owned()
        }
        Evidence::TurnsTook { sender, receiver } if receiver * 100 < sender => {
            "nearly all of it passed after the receiver's data had come, until the sender went on".to_owned()
        }
        Evidence::TurnsTook { sender, receiver } => format!(
            "the sender took {} from the receiver's data to its own; for the other {}, it waited for the receiver and the path",
            duration(sender),
            duration(receiver)
        ),
        Evidence::SilentToTheEnd { lasted } => format!(
            "the sender was silent for the last {}, and did not close the connection: one that was cut off looks the same from \
             here",
            duration(lasted)
        ),
        Evidence::FlightPlateau { flight_max } => format!(
            "the data in flight never exceeded {flight_max}, and more was sent only when an ACK made room"
        ),
        Evidence::WindowFilled { segments, largest } => format!(
            "{} used up the receiver's window, which was {largest} at its largest",
            counted(segments, "segment")
        ),
        Evidence::WindowAllows { rtt, rate } => {
            format!("over an RTT of {} such a window allows at most {rate}", duration(rtt))
        }
        Evidence::WindowTook { took, rtt } => format!(
            "each such window took {} on average, though the RTT is {}: its ACKs came late",
            duration(took),
            duration(rtt)
        ),
        Evidence::AwaitedData {} => {
            "the sender waited for data of the other end, which this delayed".to_owned()
        }
        Evidence::ScalingNotOffered {} => "the two SYNs did not both offer window scaling".to_owned(),
        Evidence::FirstWindow { opened, next, scale } => format!(
            "the receiver opened with a window of {opened}, and its next is {next} with the scale of {scale} that the sender \
             was shown: a device on the path changed the scale"
        ),
        Evidence::ScaledOtherwise { segments, sender, receiver } => format!(
            "{} end where the window ends with a scale of {sender}; the receiver sent {receiver}, so a device on the path \
             changed it",
            counted(segments, "segment")
        ),
        Evidence::WindowClosed { times: n, total } => {
            let total =
                if total.is_zero() { String::new() } else { format!(", for {} in all", duration(total)) };
            format!("the window closed {}{total}", times(n))
        }
        Evidence::WindowShrank { largest, smallest } => {
            format!("the window shrank from {largest} to {smallest} while data waited to be read")
        }
        Evidence::AnswersWhenRead { acks, after } => format!(
            "{} for three segments or more left the receiver {} after the last of them on average: when its program read",
            counted(acks, "ACK"),
            duration(after)
        ),
        Evidence::AcksFollowReads { times: n } => format!(
            "{}, an ACK came the later, the more the one before it had acknowledged: the program first dealt with what it \
             had read",
            times(n)
        ),
        Evidence::ScaleInferred { shift } => {
            format!("the handshake was not captured; a window scale of {shift} is the least that fits")
        }
        Evidence::ScaleFits { shift } => format!(
            "the handshake was not captured; segments end where the window ends with a scale of {shift}, to the byte"
        ),
        Evidence::LateAcks { beyond } => {
            format!("ACKs for several segments came more than {} after them", duration(beyond))
        }
        Evidence::FlightBound { flight_max } => {
            // Far from the sender, whether it had more to send does not show.
            format!("up to {flight_max} were in flight, with room in the receiver's window")
        }
        Evidence::NoQueue { shortest } => {
            format!("RTTs were near their shortest, {}, so no queue was in the way", duration(shortest))
        }
        Evidence::Jitter { shortest } => format!(
            "RTTs varied from {} on by jitter, not by a queue: each anew, with pauses, and more data in flight arrived \
             that much faster",
            duration(shortest)
        ),
        Evidence::LongerPath { shortest, longer } => format!(
            "RTTs of {}, where the shortest was {}, came with pauses that no queue of this flow leaves: the path had \
             become longer, or its ACKs waited on their way",
            duration(longer),
            duration(shortest)
        ),
        Evidence::Retransmitted { segments, spurious, lost_share, recoveries, timeouts } => {
            retransmitted(segments, spurious, lost_share, recoveries, timeouts)
        }
        Evidence::LongestRecovery { lasted } => format!("the longest recovery took {}", duration(lasted)),
        Evidence::DeliveryRate { peak } => format!("data was delivered at up to {peak}, RTT after RTT"),
        Evidence::RttSpread { shortest, mean } => {
            format!("the shortest RTT was {}, the mean {}", duration(shortest), duration(mean))
        }
        Evidence::SameRateAtLoss { rate } => {
            format!("losses came at about the same rate each time, {rate}, and without a longer RTT")
        }
        Evidence::LostInBursts { lowest, highest, depth, lost, lost_above, delivered, delivered_above } => format!(
            "losses followed bursts: a token bucket of {} and {depth} would drop {lost_above} of {lost} lost and \
             {delivered_above} of {delivered} delivered segments",
            if lowest == highest { format!("about {lowest}") } else { format!("{lowest} to {highest}") }
        ),
        Evidence::BurstsNotDelayed { longer, queue } => format!(
            "segments late in a burst were {}; a queue would have delayed them by {} or more",
            if longer.is_zero() { "not delayed".into() } else { format!("delayed by {}", duration(longer)) },
            duration(queue)
        ),
        Evidence::SoftError { errno } => format!("an ICMP error came for the connection: {}", icmp_error(errno)),
        Evidence::PacingLimit { rate } => {
            format!("the application limits the pacing rate to {rate} (SO_MAX_PACING_RATE), and TCP paced to that")
        }
        Evidence::OwnQueue { backlog, held_back } => own_queue(backlog, held_back),
        Evidence::OwnQueueRate { rate } => format!("that queue is set to {rate}"),
        Evidence::LateButNotLost { longest } => format!(
            "ACKs came far later than an RTT, after up to {}, without a retransmission meanwhile",
            duration(longest)
        ),
        Evidence::SenderNotCaptured {} => "no segment of the sender was captured".to_owned(),
        Evidence::ReceiverNotCaptured {} => "no segment of the receiver was captured".to_owned(),
        Evidence::DataNotCaptured { data } => {
            format!("{data} were acknowledged that the capture does not hold")
        }
        Evidence::NoRtt {} => {
            "no RTT could be measured, so a full path and a small window look alike".to_owned()
        }
        Evidence::SenderDistanceUnknown {} => {
            "how far the sender is from the tap is unknown, so what it knew and when is unknown too"
                .to_owned()
        }
        Evidence::ChallengeAck { times: n } => {
            format!("the SYN was answered {} by an ACK of another connection between these ports", times(n))
        }
        Evidence::SynDataLost { times: n } => {
            format!("{} with data went unanswered, and one without data was answered", counted(n, "SYN"))
        }
        Evidence::SynNotAnswered { times, wrong_checksum } => unanswered(times, "SYN", wrong_checksum),
        Evidence::SynAckNotAnswered { times, wrong_checksum } => {
            unanswered(times, "SYN-ACK", wrong_checksum) + ": the client sent its SYN again"
        }
        Evidence::FinUnanswered { times: n, lasted } => {
            format!("the FIN was retransmitted {} in {}, and not acknowledged", times(n), duration(lasted))
        }
        Evidence::PeerSilent { lasted, retransmissions } => format!(
            "nothing came from the other end for the last {}, while {} sent",
            duration(lasted),
            counted_were(retransmissions, "retransmission")
        ),
        Evidence::PeerUnaware { lasted, retransmissions, segments } => format!(
            "{} sent in the last {}, and {} of the other end {} that it received none of them: the path is cut \
             behind the tap",
            counted_were(retransmissions, "retransmission"),
            duration(lasted),
            counted(segments, "segment"),
            if segments == 1 { "shows" } else { "show" },
        ),
        Evidence::SilentAfterPause { pause } => {
            format!("it fell silent during a pause of {} in which nobody sent anything", duration(pause))
        }
        Evidence::OnlyLargeUnanswered { smallest } => format!(
            "nothing of less than {} bytes was tried: a path whose MTU has become smaller looks like this, too",
            smallest.get()
        ),
        Evidence::AnsweredInVain { retransmissions } => format!(
            "{} of the oldest segment, each alone on its way, were answered after an RTT by an ACK of nothing: they arrived",
            counted(retransmissions, "retransmission"),
        ),
        Evidence::DamagedOnArrival { segments } => {
            format!("{} arrived with a wrong TCP checksum", counted(segments, "retransmission"))
        }
        Evidence::EcnNotCapable { segments } => format!(
            "both ends had agreed on ECN, and none of {} is ECN-capable at the tap",
            counted(segments, "data segment")
        ),
        Evidence::IcmpErrors { times: n, kind } => {
            format!("{} came back for these segments: {}", counted(n, "ICMP error"), icmp(kind))
        }
        Evidence::SynRefused { after } => format!("a RST answered the SYN after {}", duration(after)),
        Evidence::SynUnanswered { times: n } => {
            format!("{} left or passed here, and nothing of the other end came", counted(n, "SYN"))
        }
        Evidence::SynAckAgain { times: n, data } => syn_ack_again(n, data),
        Evidence::ConnectionNotKnown {} => {
            "the RST has no ACK, and the sequence number that the other end had acknowledged: so a host answers a \
             segment of a connection that it does not have"
                .to_owned()
        }
        Evidence::ResetAfterPause { pause } => {
            format!("before the segment that it answers, nobody had sent anything for {}", duration(pause))
        }
        Evidence::UnacknowledgedAtReset { of_resetter, of_other } => unacknowledged(of_resetter, of_other),
        Evidence::OtherTtl { ttl, usual } => {
            format!("the RST has a TTL of {ttl}, the other packets of that end {usual}")
        }
        Evidence::AnsweredTooSoon { after, shortest } => format!(
            "the RST came {} after the segment that it answers, and that end never answered in less than {}",
            duration(after),
            duration(shortest)
        ),
        Evidence::WentOnSending {} => {
            "the end whose address the RST bears sent new data after it, so the RST is not its own".to_owned()
        }
        Evidence::WentOnReceiving {} => {
            "the end whose address the RST bears acknowledged more data after it, so the RST is not its own".to_owned()
        }
        Evidence::StraySegment { flow } => format!(
            "in flow {flow}, a segment came to the same address and port from another address, and was answered with a RST"
        ),
        Evidence::FollowsPayload { waits, by_ack } => format!(
            "data was sent when the receiver's own data came, {}, and when an ACK alone came, {}",
            times(waits),
            times(by_ack)
        ),
        Evidence::SteadyRate { rate, flight } => format!(
            "data left evenly at {rate}, with {flight} in flight, RTT after RTT: a congestion window would have grown or shrunk"
        ),
        Evidence::PacedBunches { rate } => format!(
            "full segments left in bunches at one pace, together at {rate}, which no other limit explains: the bursts of a \
             program end in a short segment, and those of a congestion window start with an ACK"
        ),
        Evidence::UnpromptedSends { share: part } => {
            format!("{} of the data left when no ACK had just come", share(part))
        }
        Evidence::BurstsAfterAcks {} => "bursts came about an RTT after ACKs had left: a full send buffer and a program that \
            writes then look alike from here"
            .to_owned(),
        Evidence::NearlyFullSegments {} => {
            "every segment was a little shorter than the MSS: a path with a smaller MTU and an application that writes \
             as much at a time look alike"
                .to_owned()
        }
        Evidence::AnsweredAtOnce { data, late } => format!(
            "one ACK came for all that was in flight, {data}, {} later than the shortest RTT, again and again: packets that leave a \
             queue have ACKs one after the other, so the receiver waited, or the path let all of it through at once",
            duration(late)
        ),
        Evidence::SeveralLimitsFit {} => {
            "more than one limit explains what this capture shows of that time".to_owned()
        }
        Evidence::SilentAfterFullSegment {} => {
            "nothing came for a while after a full segment: the sender had nothing to send, or what it sent was lost on \
             the way to this tap"
                .to_owned()
        }
        Evidence::SetOffByAcks { share: part } => format!("{} of the data left when an ACK came", share(part)),
        Evidence::SetOffByPayload { share: part } => {
            format!("{} of the data left when the receiver's own data came", share(part))
        }
        Evidence::AlwaysMoreToSend {} => {
            "no segment ended short, so there was always more to send".to_owned()
        }
        Evidence::RoomInWindow { share: part } => {
            format!("the receiver's window had room for {} of that time", share(part))
        }
        Evidence::WindowUsedUp { share: part } => {
            format!("the receiver's window was used up for {} of that time", share(part))
        }
        Evidence::NothingInFlight { share: part } => {
            format!("all data was acknowledged for {} of that time", share(part))
        }
        Evidence::NothingRepaired {} => "no loss was being repaired".to_owned(),
        Evidence::QueueStood { share: part } => {
            format!("RTTs were longer than the shortest by a queue for {} of that time", share(part))
        }
        Evidence::SackOutside { blocks, all } => format!(
            "{} of the receiver's {} fit no data that was sent",
            count(blocks),
            counted(all, "SACK block")
        ),
        Evidence::OneAtATime { waits } => {
            format!("{} ended with the ACK of all that was in flight, and not before", counted(waits, "wait"))
        }
        Evidence::ShortAfterShort { total } => format!(
            "short segments left right after the ACK of an earlier short one, for which they had waited {} in all",
            duration(total)
        ),
        Evidence::EdgeMovedBack { times: n, largest } => {
            format!("the window's edge moved back {}, by up to {largest}", times(n))
        }
        Evidence::EcnMarked { marked, echoes, reductions } => ecn_marked(marked, echoes, reductions),
        Evidence::LostAboveSize { lost, smallest, largest_delivered: Bytes::ZERO } => format!(
            "each of {} of {} bytes or more was lost, and no smaller one was sent: something else than their size may be \
             the reason",
            counted(lost, "transmission"),
            smallest.get(),
        ),
        Evidence::LostAboveSize { lost, smallest, largest_delivered } => format!(
            "each of {} of {} bytes or more was lost, and none of {} or less",
            counted(lost, "transmission"),
            smallest.get(),
            largest_delivered.get()
        ),
        Evidence::LostBeyondWindowField { lost, delivered } => format!(
            "{} beyond the unscaled window and each was lost; {} within it arrived",
            counted_were(lost, "segment"),
            counted(delivered, "segment")
        ),
        Evidence::WindowFieldTooSmall { field, segment } => format!(
            "data came in the first RTT only: from then on, the ACKs' window fields of at most {}, taken as they are and not \
             scaled, had no room for a segment of {} bytes",
            field.get(),
            segment.get()
        ),
        Evidence::LostBeforeTap { segments } => format!(
            "{} passed this tap next to the sender for the first time as a repair: what was sent before was lost on the host, \
             in front of the tap",
            counted(segments, "segment")
        ),
        Evidence::SentUnseen { data } => {
            format!("the sender's sequence numbers show {data} that never came")
        }
        Evidence::LostBetween { packets } => format!(
            "the two captures show {} lost between them in these times or within an RTT before",
            packets_or_none(packets)
        ),
        Evidence::WindowUpdateLost { updates, waited } => format!(
            "for {} of this time, the receiver's capture shows an open window: {} lost on the way back, and the sender \
             learned of the window only by its probe",
            duration(waited),
            counted_were(updates, "ACK")
        ),
        Evidence::HandshakeLate { after } => format!(
            "the handshake took {}: a SYN was retransmitted, though the first one or its answer was late and not lost",
            duration(after)
        ),
        Evidence::SynLostBetween { syns: 0, syn_acks: 0 } => {
            "the two captures show that no SYN and no SYN-ACK was lost between them".to_owned()
        }
        Evidence::SynLostBetween { syns, syn_acks } => {
            let parts = [(syns, "SYN", "to the server"), (syn_acks, "SYN-ACK", "back from it")];
            let lost = parts.iter().filter(|(count, ..)| *count > 0);
            let lost: Vec<_> = lost.map(|(n, what, way)| format!("{} on the way {way}", counted(*n, what))).collect();
            format!("the two captures show what was lost between them: {}", lost.join(", and "))
        }
        Evidence::NotAccepted { packets } => {
            format!(
                "{} reached the receiving host and its TCP did not accept them",
                counted(packets, "packet")
            )
        }
        Evidence::StaleTimestamps {} => {
            "what was not accepted had an older timestamp than packets before it, as after reordering: PAWS \
             drops these (RFC 7323, section 5)"
                .to_owned()
        }
        Evidence::ReorderedBetween { lost, reordered, latest } => reordered_between(lost, reordered, latest),
        Evidence::AckDelay { p95, longest } => format!(
            "next to the receiver, ACKs left {} after the data at the 95th percentile, the latest after {}",
            millis(p95),
            millis(longest)
        ),
        Evidence::AcksLate { acks, queue } => format!(
            "RTTs were {} longer than the shortest, on average, of which ACKs spent at least {} on their way back, by \
             the receiver's timestamps",
            millis(queue),
            millis(acks)
        ),
        Evidence::DataPunctual { data, queue } => format!(
            "RTTs were {} longer than the shortest, on average, but data waited at most {} on its way, by the sender's \
             timestamps",
            millis(queue),
            millis(data)
        ),
        Evidence::QueueingBetween { forward_p95, backward_p95 } => format!(
            "at the 95th percentile, queues held packets for {} on the way of the data and {} on the way back",
            millis(forward_p95),
            millis(backward_p95)
        ),
    }
}

fn retransmitted(segments: u64, spurious: u64, lost_share: f64, recoveries: u64, timeouts: u64) -> String {
    let mut text = format!("{} retransmitted", counted_were(segments, "segment"));
    if spurious > 0 && spurious == segments {
        text += " spuriously";
    } else if spurious > 0 {
        text += &format!(", {spurious} of them spuriously");
    }
    if lost_share > 0.0 {
        text += &format!(" ({} of segments lost)", slowpath_remedies::percent(lost_share));
    }
    if recoveries > 0 {
        text += &format!(", in {}", counted(recoveries, "episode"));
    }
    if timeouts > 0 {
        text += &format!(" with {}", counted(timeouts, "timeout"));
    }
    text
}

fn ecn_marked(marked: u64, echoes: u64, reductions: u64) -> String {
    let mut parts = Vec::new();
    if marked > 0 {
        parts.push(format!("{} marked (CE) when they passed", counted_were(marked, "segment")));
    }
    parts.push(format!("the receiver echoed marks (ECE) on {}", counted(echoes, "segment")));
    if reductions > 0 {
        parts.push(format!("the sender reported {} of its window (CWR)", counted(reductions, "reduction")));
    }
    parts.join(", ")
}

fn reordered_between(lost: u64, reordered: u64, latest: Duration) -> String {
    let mut text = format!(
        "the two captures show {} lost in these times or within an RTT before",
        packets_or_none(lost)
    );
    if reordered > 0 {
        let late = millis(latest);
        text += &format!("; in all, {} reordered, by up to {late}", counted(reordered, "packet"));
    }
    text
}

fn packets_or_none(packets: u64) -> String {
    if packets == 0 { "no packet".to_owned() } else { counted(packets, "packet") }
}

/// Evidence for the vantage point, as a sentence without capital and full stop.
pub fn vantage_evidence(evidence: &VantageEvidence) -> String {
    let both = |a: Duration, b: Duration| format!("A answered within {}, B within {}", millis(a), millis(b));
    match *evidence {
        VantageEvidence::Given => "given on the command line".to_owned(),
        VantageEvidence::OneEndAnswered { end, within } => {
            format!(
                "{end} answered within {}; the other end's answers are not in the capture",
                duration(within)
            )
        }
        VantageEvidence::TooFewAnswers => "too few answers to measure either end's distance".to_owned(),
        VantageEvidence::Distances { a, b } => both(a, b),
        VantageEvidence::Offload { a, b, end } => {
            format!("{}; {end}'s segments longer than the MSS are made by offload on its host", both(a, b))
        }
        VantageEvidence::TooNear { a, b } => {
            format!("{}: the difference is too small to decide which is nearer", both(a, b))
        }
    }
}

/// Milliseconds, with microseconds if there are few.
fn millis(lasted: Duration) -> String {
    let millis = lasted.as_secs_f64() * 1e3;
    if millis < 0.000_5 {
        "less than 0.001 ms".to_owned()
    } else if millis < 9.995 {
        format!("{millis:.3} ms")
    } else {
        format!("{millis:.1} ms")
    }
}

/// The message of an ICMP error, in words.
const fn icmp(kind: IcmpKind) -> &'static str {
    match kind {
        IcmpKind::PacketTooBig { .. } => "packet too big",
        IcmpKind::NetworkUnreachable => "no route to the network",
        IcmpKind::HostUnreachable => "the host does not answer on its link",
        IcmpKind::ProtocolUnreachable => "protocol unreachable",
        IcmpKind::PortUnreachable => "port unreachable, as firewalls reject",
        IcmpKind::AdministrativelyProhibited => "a firewall forbids it",
        IcmpKind::Unreachable { .. } => "unreachable",
        IcmpKind::TimeExceeded => "its TTL ran out, as in a routing loop",
        IcmpKind::ReassemblyTimeExceeded => "fragments were missing",
        IcmpKind::Other { .. } => "another error",
    }
}

/// What arrived and had no answer.
fn unanswered(times: u64, what: &str, wrong_checksum: u64) -> String {
    let text = format!("{} arrived here and went unanswered", counted(times, what));
    if wrong_checksum == 0 { text } else { format!("{text}, {wrong_checksum} with a wrong TCP checksum") }
}

fn syn_ack_again(times: u64, data: u64) -> String {
    if times == 0 {
        return format!(
            "the handshake was over, and {} of the client had no effect: nothing came from the server until it \
             accepted the last one",
            counted(data, "data segment")
        );
    }
    let effect = if data > 0 {
        format!(", and {} of the client had no effect", counted(data, "data segment"))
    } else {
        String::new()
    };
    format!("{} came again after the handshake was over{effect}", counted(times, "SYN-ACK"))
}

fn unacknowledged(of_resetter: Bytes, of_other: Bytes) -> String {
    match (of_resetter > Bytes::ZERO, of_other > Bytes::ZERO) {
        (true, true) => format!(
            "{of_resetter} from the end that sent the RST, and {of_other} from the other end, were not acknowledged"
        ),
        (true, false) => format!("{of_resetter} from the end that sent the RST were not acknowledged"),
        _ => format!("{of_other} from the other end were not acknowledged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_are_singular_and_zeros_are_omitted() {
        let text =
            |segments, spurious, share, timeouts| retransmitted(segments, spurious, share, 1, timeouts);
        assert_eq!(
            text(1, 0, 0.0007, 0),
            "1 segment was retransmitted (0.07 % of segments lost), in 1 episode"
        );
        assert_eq!(
            text(46, 5, 0.012, 2),
            "46 segments were retransmitted, 5 of them spuriously (1.2 % of segments lost), in 1 episode with 2 timeouts"
        );
        assert_eq!(
            evidence(&Evidence::LostBetween { packets: 0 }),
            "the two captures show no packet lost between them in these times or within an RTT before"
        );
    }

    #[test]
    fn black_hole_through_which_nothing_came_names_no_size_that_arrived() {
        let lost = |largest_delivered| {
            let smallest = Bytes::new(1448);
            evidence(&Evidence::LostAboveSize { lost: 9, smallest, largest_delivered })
        };
        assert_eq!(
            lost(Bytes::ZERO),
            "each of 9 transmissions of 1448 bytes or more was lost, and no smaller one was sent: something else than their size \
             may be the reason"
        );
        assert_eq!(
            lost(Bytes::new(300)),
            "each of 9 transmissions of 1448 bytes or more was lost, and none of 300 or less"
        );
    }
}
