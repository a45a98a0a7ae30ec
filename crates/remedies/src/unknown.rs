//! Unknown limits: what to capture to find out more.

use crate::facts::Facts;
use crate::fix::{record, way_to};
use crate::{Advice, Fix, Host};
use slowpath_model::units::counted;

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
            "matches the two captures, aligns their clocks and shows where packets were lost or waited",
        ))
        .caution(
            "Start both before the transfer: the handshake shows the window scale, MSS, SACK and the RTT.",
        )
}

pub(crate) fn capture_gap(facts: &Facts<'_>) -> Vec<Advice> {
    let sent = facts.sent();
    let lost = if sent.unseen_gaps == 0 {
        String::new()
    } else {
        let gaps = counted(sent.unseen_gaps, "gap");
        format!(" ({} were acknowledged and never seen, in {gaps})", sent.unseen_bytes)
    };
    vec![both_ends(
        facts,
        Advice::new(format!(
            "The capture lost packets here{lost}, so what limited the flow in this time is not known. Record \
             headers only, with a larger kernel buffer, to a fast disk, and filter for this one conversation. \
             When tcpdump ends, it prints how many packets the kernel dropped. A switch may drop packets on \
             its mirror port too; only the switch's own counters show that."
        )),
    )]
}

pub(crate) fn one_direction(facts: &Facts<'_>) -> Vec<Advice> {
    let missing = if facts.answered().packets == 0 {
        "the receiver's ACKs are missing, and with them its window"
    } else {
        "the sender's segments are missing"
    };
    vec![both_ends(
        facts,
        Advice::new(format!(
            "Only one direction was captured; {missing}. Do not filter by direction (-Q in, src or dst \
             alone). Mirror both directions of a port. If the way back takes another router, capture at the \
             hosts."
        )),
    )]
}

pub(crate) fn undetermined(facts: &Facts<'_>) -> Vec<Advice> {
    vec![
        both_ends(
            facts,
            Advice::new(
                "Several limits fit this capture. A capture at the sender shows when data was ready and how \
                 much was in flight; one at the receiver, when it arrived and when it was read. Both together \
                 also show what happens in between.",
            ),
        ),
        Advice::new(
            "The sending kernel counts how long it was limited, and by what. Query it during the transfer.",
        )
        .with(Fix::look(
            Host::Sender,
            format!("ss -tin dst {}", facts.receiver()),
            "shows busy, rwnd_limited and sndbuf_limited: the time with data to send, and the parts of it \
             with a full receive window and a full send buffer",
        )),
    ]
}
