//! The sender's congestion window.

use crate::arithmetic;
use crate::facts::{Facts, percent, time};
use crate::fix::{NET_ADMIN, counters, route, socket, switch, sysctl};
use crate::{Advice, Fix, Host};

/// Has Linux keep the congestion window over a pause (tcp_cwnd_restart, 6.18).
pub(crate) fn keep_over_pauses() -> Fix {
    switch(
        Host::Sender,
        "net.ipv4.tcp_slow_start_after_idle",
        "0",
        "1",
        "keeps the congestion window over pauses, for all connections of this host",
    )
}

pub(crate) fn slow_start(facts: &Facts<'_>) -> Vec<Advice> {
    let rounds = facts.outstanding();
    let took = arithmetic::slow_start_rounds(rounds, facts.mss(), arithmetic::INITIAL_SEGMENTS);
    let doubling = facts.round_trip().map_or_else(String::new, |round_trip| {
        format!(
            " From ten segments to the {rounds} that were outstanding at most it takes {took} round trips \
             of {}, {}.",
            time(round_trip),
            time(round_trip.saturating_mul(took))
        )
    });
    let text = format!(
        "The congestion window doubled each round trip and had not reached the path's rate.{doubling} This \
         is paid once per connection: send more over each, keep connections open."
    );
    let mut advice = vec![Advice::new(text)];
    if facts.finding.spells > 1 {
        advice.push(
            Advice::new(
                "It happened more than once on this connection: after each pause longer than the RTO Linux \
                 cuts the window down (tcp_cwnd_restart, 6.18).",
            )
            .with(keep_over_pauses())
            .caution(
                "The first burst after a pause then leaves at once: use fq or BBR where queues are small.",
            ),
        );
    }
    let initial = 3 * arithmetic::INITIAL_SEGMENTS;
    let saved = took.saturating_sub(arithmetic::slow_start_rounds(rounds, facts.mss(), initial));
    advice.push(
        Advice::new(format!(
            "Where the path to this peer is known to take it, a larger first flight saves round trips: \
             {initial} segments instead of 10 saves {saved}. The receiver's first window has to allow it."
        ))
        .with_all(route(
            Host::Sender,
            facts.receiver().address,
            &format!("initcwnd {initial}"),
            &format!("sends {initial} segments before the first ACK"),
        ))
        .caution(
            "A first flight larger than the path's queue loses its own tail. Ten is what RFC 6928 found \
             safe.",
        ),
    );
    advice
}

pub(crate) fn after_loss(facts: &Facts<'_>) -> Vec<Advice> {
    let mss = facts.mss();
    let bound = match (facts.loss(), facts.round_trip()) {
        (Some(loss), Some(round_trip)) => {
            let allowed = arithmetic::cubic_rate(loss, mss, round_trip)
                .map_or_else(String::new, |rate| format!(", at which CUBIC averages about {rate}"));
            let bursts = match arithmetic::cubic_rate(loss, mss, round_trip).zip(facts.reached()) {
                Some((allowed, reached)) if allowed < reached => {
                    " It reached more, so the losses came in bursts, or another congestion control was at \
                     work."
                }
                _ => "",
            };
            let needed = facts
                .target()
                .and_then(|target| Some((target, arithmetic::loss_for(target, mss, round_trip)?)))
                .map_or_else(String::new, |(target, loss)| {
                    format!(" For {target} loss has to be below {}.", percent(loss))
                });
            format!(
                " {} of the segments were sent again{allowed} with {mss} byte segments over {} (RFC 9438, \
                 section 5.1; an estimate for evenly spread losses).{bursts}{needed}",
                percent(loss),
                time(round_trip)
            )
        }
        _ => String::new(),
    };
    vec![
        Advice::new(format!(
            "The window grew back from where a loss had cut it, and the path was not full.{bound} Repair \
             the loss first: look for it at both hosts' interfaces and at the devices on the way (dirty \
             optics, a duplex mismatch, a shallow buffer in front of a slower link)."
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
        bbr("Where the loss cannot be repaired and does not come from a full queue, use a congestion \
             control that does not take each loss for congestion: BBR sends at the rate it measures."),
        Advice::new(
            "Larger segments help in proportion (wu eq. 8: the rate is proportional to the MSS): jumbo \
             frames of 9000 bytes give six times the rate at the same loss, if every device on the way \
             takes them.",
        )
        .with(Fix::look(
            Host::Either,
            format!("tracepath -n {}", facts.receiver().address),
            "shows the largest packet that the path takes (pmtu)",
        )),
    ]
}

/// Use BBR.
pub(crate) fn bbr(why: &str) -> Advice {
    Advice::new(why)
        .with(
            Fix::look(Host::Sender, "modprobe tcp_bbr", "loads BBR where it is not built in")
                .needs("root (CAP_SYS_MODULE)")
                .undone_by("modprobe -r tcp_bbr"),
        )
        .with_all(sysctl(
            Host::Sender,
            "net.ipv4.tcp_congestion_control",
            "bbr",
            "uses BBR for connections from now on; a program may choose another with TCP_CONGESTION",
        ))
        .caution(
            "Beside each other BBR and CUBIC do not always divide a path evenly, and BBR's first version \
             can cause much loss where buffers are shallow. Measure before and after.",
        )
}

pub(crate) fn early_exit(facts: &Facts<'_>) -> Vec<Advice> {
    let peer = facts.receiver().address;
    vec![
        Advice::new(
            "The window stopped doubling though there was neither loss nor a queue. One reason is ssthresh \
             remembered from an earlier connection to the same peer (ubik IV-E and V). Since 5.6 Linux no \
             longer remembers ssthresh unless told to (tcp_no_ssthresh_metrics_save = 1).",
        )
        .with(Fix::look(
            Host::Sender,
            format!("ip tcp_metrics show {peer}"),
            "shows what is remembered of this peer: an entry with ssthresh or cwnd is the reason",
        ))
        .with(
            Fix::look(
                Host::Sender,
                format!("ip tcp_metrics delete {peer}"),
                "forgets this peer's values; they are learned again, so there is nothing to put back",
            )
            .needs(NET_ADMIN),
        )
        .with(switch(
            Host::Sender,
            "net.ipv4.tcp_no_ssthresh_metrics_save",
            "1",
            "0",
            "no longer remembers ssthresh, nor uses what is remembered",
        )),
        Advice::new(
            "Another is HyStart, with which CUBIC leaves slow start when ACKs come later than before (RFC \
             9406 describes its successor). Jitter on the way or in the receiver looks the same to it.",
        )
        .with(counters(
            Host::Sender,
            "TcpExtTCPHystartTrainDetect TcpExtTCPHystartTrainCwnd TcpExtTCPHystartDelayDetect \
             TcpExtTCPHystartDelayCwnd",
            "shows how often HyStart ended slow start, and the sum of the windows at which it did",
        ))
        .with(
            Fix::look(
                Host::Sender,
                "echo 0 > /sys/module/tcp_cubic/parameters/hystart",
                "switches HyStart off for all of this host's CUBIC connections",
            )
            .needs("root")
            .undone_by("echo 1 > /sys/module/tcp_cubic/parameters/hystart"),
        )
        .caution(
            "Without HyStart slow start ends by losing up to a window's worth where the path has no large \
             queue.",
        ),
        Advice::new(
            "A third is a limit that someone set: cwnd or ssthresh on the route, or a program with \
             SO_MAX_PACING_RATE.",
        )
        .with(Fix::look(Host::Sender, format!("ip route get {peer}"), "shows the route's attributes"))
        .with(socket(
            Host::Sender,
            facts.receiver(),
            "shows cwnd, ssthresh and pacing_rate (the second number behind the slash is the limit set)",
        )),
    ]
}
