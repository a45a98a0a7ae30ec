//! What to capture to know more.

use crate::facts::Facts;
use crate::fix::{record, way_to};
use crate::{Advice, Fix, Host};

/// A recording at both hosts.
fn both_ends(facts: &Facts<'_>, advice: Advice) -> Advice {
    let port = facts.report.key.b.port;
    advice
        .with(way_to(Host::Sender, facts.peer_of(Host::Sender).address))
        .with(record(Host::Sender, facts.peer_of(Host::Sender), port, "sender.pcap"))
        .with(way_to(Host::Receiver, facts.peer_of(Host::Receiver).address))
        .with(record(Host::Receiver, facts.peer_of(Host::Receiver), port, "receiver.pcap"))
        .with(Fix::look(
            Host::Either,
            "slowpath diagnose sender.pcap receiver.pcap",
            "matches the two recordings, aligns their clocks and says where packets were lost or waited",
        ))
        .caution(
            "Start both before the transfer: the handshake tells window scale, MSS, SACK and the round trip.",
        )
}

pub(crate) fn capture_gap(facts: &Facts<'_>) -> Vec<Advice> {
    let sent = facts.sent();
    vec![both_ends(
        facts,
        Advice::new(format!(
            "The capture lost packets here ({} acknowledged but never seen, in {} gaps), so what bound the \
             flow in this time is not known. Record headers only, with more room in the kernel, to a fast \
             disk, and filter for this one conversation. tcpdump says at its end how many packets were \
             dropped by the kernel; on a mirror port the switch may drop too, and says so only in its own \
             counters.",
            sent.unseen_bytes, sent.unseen_gaps
        )),
    )]
}

pub(crate) fn one_direction(facts: &Facts<'_>) -> Vec<Advice> {
    let missing = if facts.answered().packets == 0 {
        "what the receiver sent back is missing, and with it its windows"
    } else {
        "what the sender sent is missing"
    };
    vec![both_ends(
        facts,
        Advice::new(format!(
            "Only one direction was captured; {missing}. Do not filter by direction (-Q in, src or dst \
             alone). On a mirror port mirror both directions; on a router the way back may be another: \
             record at the hosts."
        )),
    )]
}

pub(crate) fn undetermined(facts: &Facts<'_>) -> Vec<Advice> {
    vec![
        both_ends(
            facts,
            Advice::new(
                "Several limits fit what this capture shows. Recorded at the sender, one sees when data was \
                 ready and what was outstanding; at the receiver, when it arrived and when it was read. \
                 With both, what happens between is known as well.",
            ),
        ),
        Advice::new(
            "The sending kernel itself counts for how long it was held back, and by what; ask it during the \
             transfer.",
        )
        .with(Fix::look(
            Host::Sender,
            format!("ss -tin dst {}", facts.receiver()),
            "shows busy, rwnd_limited and sndbuf_limited: time with data to send, and of it that spent on a \
             full receive window and on a full send buffer",
        )),
    ]
}
