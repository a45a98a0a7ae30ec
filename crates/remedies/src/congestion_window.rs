//! The sender's congestion window.

use crate::arithmetic;
use crate::facts::{Facts, percent, time, times};
use crate::fix::{DEFAULT_QDISC, bbr, counters, keep_over_pauses, route, socket, switch, sysctl};
use crate::{Advice, Fix, Host, loss_recovery};
use slowpath_analyses::Evidence;
use slowpath_model::units::counted;

pub(crate) fn slow_start(facts: &Facts<'_>) -> Vec<Advice> {
    let rounds = facts.outstanding();
    let took = arithmetic::slow_start_rounds(rounds, facts.mss(), arithmetic::INITIAL_SEGMENTS);
    let doubling = facts.round_trip().filter(|_| took > 0).map_or_else(String::new, |round_trip| {
        format!(
            " From ten segments to the {rounds} that were in flight at most takes {} of {}: {}.",
            counted(took.into(), "RTT"),
            time(round_trip),
            time(round_trip.saturating_mul(took))
        )
    });
    let text = format!(
        "The congestion window doubled each RTT and had not reached the path's rate.{doubling} Each \
         connection pays this once: send more over each, and keep connections open."
    );
    let mut advice = vec![Advice::new(text)];
    let paused = facts.sent().rto.is_some_and(|rto| facts.sent().idle_longest > rto);
    if facts.finding.spells > 1 && paused {
        advice.push(
            Advice::new(
                "It happened more than once on this connection: after each pause longer than the RTO, Linux \
                 reduces the window (tcp_cwnd_restart, 6.18).",
            )
            .with(keep_over_pauses())
            .caution(
                "The first burst after a pause then leaves at once. Use fq or BBR where queues are small.",
            ),
        );
    }
    let initial = 3 * arithmetic::INITIAL_SEGMENTS;
    let saved = took.saturating_sub(arithmetic::slow_start_rounds(rounds, facts.mss(), initial));
    if saved > 0 {
        advice.push(
            Advice::new(format!(
                "A larger initial window saves {}: {initial} segments instead of 10. Use it only where the \
                 path to this peer is known to take it; the receiver's first window has to allow it too.",
                counted(saved.into(), "RTT")
            ))
            .with_all(route(
                Host::Sender,
                facts.receiver().address,
                &format!("initcwnd {initial}"),
                &format!("sends {initial} segments before the first ACK"),
            ))
            .caution(
                "An initial window larger than the path's queue loses its own tail. RFC 6928 found ten \
                 segments safe.",
            ),
        );
    }
    advice
}

pub(crate) fn after_loss(facts: &Facts<'_>) -> Vec<Advice> {
    let sent = facts.sent();
    // Nothing was lost: there is no loss to be removed.
    if sent.labels.spurious > 0 && sent.labels.retransmission == 0 {
        let by_timer = sent.timeouts > 0 && sent.timeouts >= sent.recoveries;
        return if by_timer {
            loss_recovery::spurious_timeout(facts)
        } else {
            loss_recovery::reordering(facts)
        };
    }
    let mss = facts.mss();
    let bound = match (facts.loss(), facts.round_trip()) {
        (Some(loss), Some(round_trip)) => {
            let allowed = arithmetic::cubic_rate(loss, mss, round_trip)
                .map_or_else(String::new, |rate| format!(", at which CUBIC averages about {rate}"));
            let bursts = match arithmetic::cubic_rate(loss, mss, round_trip).zip(facts.reached()) {
                Some((allowed, reached)) if allowed < reached => {
                    " This flow was faster: the losses came in bursts, its window was still coming down from what slow \
                     start had reached, or it used another congestion control."
                }
                _ => "",
            };
            let needed = facts
                .target()
                .and_then(|target| Some((target, arithmetic::loss_for(target, mss, round_trip)?)))
                .map_or_else(String::new, |(target, loss)| {
                    format!(" {target} needs a loss below {}.", percent(loss))
                });
            format!(
                " {} of segments were retransmitted{allowed} with {mss} byte segments over {} (RFC 9438, \
                 section 5.1; an estimate for evenly spread losses).{bursts}{needed}",
                percent(loss),
                time(round_trip)
            )
        }
        _ => String::new(),
    };
    vec![
        Advice::new(format!(
            "A loss had reduced the window; it was growing back, and the path was not full.{bound} Remove the \
             loss first. Look for it at both hosts' interfaces and at the devices on the path (dirty optics, \
             a duplex mismatch, a shallow buffer in front of a slower link)."
        ))
        .with(crate::fix::way_to(Host::Either, facts.receiver().address))
        .with(Fix::look(
            Host::Either,
            "ip -s link show dev IFACE",
            "shows errors, drops and overruns of an interface",
        ))
        .with(Fix::look(Host::Either, "ethtool -S IFACE", "shows the NIC's own counters, such as CRC errors"))
        .with(Fix::look(
            Host::Sender,
            "tc -s qdisc show dev IFACE",
            "shows whether the sender's own queue drops",
        )),
        bbr("If the loss cannot be removed and does not come from a full queue, use a congestion control that \
         does not take each loss for congestion. BBR sends at the rate it measures."),
        Advice::new(
            "The rate is proportional to the MSS (wu eq. 8). Jumbo frames of 9000 bytes give six times the \
             rate at the same loss, if every device on the path takes them.",
        )
        .with(Fix::look(
            Host::Either,
            format!("tracepath -n {}", facts.receiver().address),
            "shows the largest packet that the path carries (pmtu)",
        )),
    ]
}

pub(crate) fn early_exit(facts: &Facts<'_>) -> Vec<Advice> {
    let peer = facts.receiver().address;
    vec![
        Advice::new(
            "The window stopped doubling although there was neither loss nor a queue. One reason is an \
             ssthresh remembered from an earlier connection to the same peer (ubik IV-E and V). Since 5.6, \
             Linux does not remember ssthresh unless tcp_no_ssthresh_metrics_save is 0.",
        )
        .with(Fix::look(
            Host::Sender,
            format!("ip tcp_metrics show {peer}"),
            "shows what is remembered of this peer: an entry with ssthresh or cwnd is the reason",
        ))
        .with(Fix::change(
            Host::Sender,
            format!("ip tcp_metrics delete {peer}"),
            "forgets this peer's values; new connections learn them again, so there is nothing to undo",
        ))
        .with(switch(
            Host::Sender,
            "net.ipv4.tcp_no_ssthresh_metrics_save",
            "1",
            "0",
            "stops remembering ssthresh, and using what is remembered",
        )),
        Advice::new(
            "Another is HyStart: CUBIC leaves slow start when ACKs arrive later than before (RFC 9406 \
             describes its successor). Jitter on the path or in the receiver looks the same to it.",
        )
        .with(counters(
            Host::Sender,
            "TcpExtTCPHystartTrainDetect TcpExtTCPHystartTrainCwnd TcpExtTCPHystartDelayDetect \
             TcpExtTCPHystartDelayCwnd",
            "shows how often HyStart ended slow start, and the sum of the windows at which it did",
        ))
        .with(
            Fix::change(
                Host::Sender,
                "echo 0 > /sys/module/tcp_cubic/parameters/hystart",
                "turns HyStart off for all CUBIC connections of this host",
            )
            .needs("root")
            .undone_by("echo 1 > /sys/module/tcp_cubic/parameters/hystart"),
        )
        .caution(
            "Without HyStart, slow start ends with a loss of up to a whole window where the path has no large \
             queue.",
        ),
        Advice::new(
            "A third is a limit that was set: cwnd or ssthresh on the route, or SO_MAX_PACING_RATE in an \
             application.",
        )
        .with(Fix::look(Host::Sender, format!("ip route get {peer}"), "shows the route's attributes"))
        .with(socket(
            Host::Sender,
            facts.receiver(),
            "shows cwnd, ssthresh and pacing_rate (the number after the slash is the limit that was set)",
        )),
    ]
}

pub(crate) fn ecn_marks(facts: &Facts<'_>) -> Vec<Advice> {
    let reduced = facts
        .evidence(|evidence| match *evidence {
            Evidence::EcnMarked { reductions, .. } if reductions > 0 => {
                Some(format!(" The sender reduced its window {}.", times(reductions)))
            }
            _ => None,
        })
        .unwrap_or_default();
    let queue = facts.round_trips().and_then(|rtt| facts.round_trip().zip(rtt.mean)).map_or_else(
        String::new,
        |(shortest, mean)| {
            // A queue of a quarter of the path keeps CUBIC's window from falling below it (0.7, RFC 9438, 4.6).
            let judged = if mean > shortest.saturating_mul(5) / 4 {
                "so a queue did stand, and the marks are what ECN is meant to do"
            } else {
                "so hardly a queue stood, and the marks come too early"
            };
            format!(
                " The RTT was {} at its shortest and {} on average, {judged}.",
                time(shortest),
                time(mean)
            )
        },
    );
    vec![
        Advice::new(format!(
            "A queue on the path marks packets (ECN, RFC 3168) where it would drop others, and the sender \
             reduces its congestion window for each RTT with a mark as if a packet were \
             lost.{reduced}{queue} Find the device that marks: behind it, packets carry CE. If it marks at a \
             threshold meant for DCTCP (ce_threshold), at a rate far below its link, or at random, correct \
             it there."
        ))
        .with(counters(
            Host::Receiver,
            "IpExtInCEPkts IpExtInECT0Pkts IpExtInECT1Pkts",
            "shows packets that arrived with a mark, and those that could have been marked",
        ))
        .with(Fix::look(
            Host::Path,
            "tc -s qdisc show dev IFACE",
            "shows what a Linux queue marked (ecn_mark, marks or marked) and dropped, and its target, \
             interval, ce_threshold or min and max",
        ))
        .with(
            Fix::change(
                Host::Path,
                "tc qdisc replace dev IFACE root fq_codel target 5ms interval 100ms ecn",
                "marks only after packets have waited 5 ms or more for 100 ms",
            )
            .undone_by(DEFAULT_QDISC),
        )
        .with(counters(
            Host::Sender,
            "TcpExtTCPDeliveredCE",
            "shows segments that were delivered with a mark, as the sender learnt",
        ))
        .caution(
            "On an interface with several queues, or below a shaper, replace the discipline that marks.",
        ),
        Advice::new(
            "To test whether the marks are the reason, open a connection without ECN: the end that opens it \
             requests it in its SYN.",
        )
        .with_all(sysctl(
            facts.host(slowpath_model::End::A),
            "net.ipv4.tcp_ecn",
            "0",
            "neither requests nor accepts ECN on new connections",
        ))
        .caution(
            "Only as a test: a queue that cannot mark drops instead, and every drop has to be repaired.",
        ),
    ]
}
