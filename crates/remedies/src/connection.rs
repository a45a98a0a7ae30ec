//! Opening the connection.

use crate::facts::{Facts, time, times};
use crate::fix::{counters, switch, sysctl};
use crate::{Advice, Fix, Host};
use slowpath_model::End;

pub(crate) fn handshake(facts: &Facts<'_>) -> Vec<Advice> {
    let cost = facts
        .report
        .opening
        .round_trip
        .map_or_else(|| "one RTT".to_owned(), |round_trip| format!("one RTT, {} here,", time(round_trip)));
    let client = facts.host(End::A);
    let server = facts.host(End::B);
    vec![
        Advice::new(format!(
            "Every connection pays {cost} before its first byte. Nothing makes that shorter. Pay it less \
             often: keep connections open and reuse them (HTTP keep-alive, a connection pool) instead of \
             opening one per request."
        )),
        Advice::new(
            "TCP Fast Open (RFC 7413) carries the first data in the SYN, from the second connection to the \
             same server on. Both applications have to request it: the server with TCP_FASTOPEN on its \
             listening socket, the client with TCP_FASTOPEN_CONNECT or MSG_FASTOPEN.",
        )
        .with(switch(
            server,
            "net.ipv4.tcp_fastopen",
            "3",
            "1",
            "lets programs accept (bit 2) as well as send (bit 1, the default) data in a SYN",
        ))
        .with(counters(
            client,
            "TcpExtTCPFastOpenActive TcpExtTCPFastOpenActiveFail",
            "shows how often it was used, and how often something on the path blocked it",
        ))
        .caution(
            "Data in a SYN can arrive twice: use it only for requests that may be repeated. Some middleboxes \
             drop such SYNs, which costs a SYN timeout.",
        ),
    ]
}

pub(crate) fn syn_lost(facts: &Facts<'_>) -> Vec<Advice> {
    let server = facts.host(End::B);
    let again = u64::from(facts.report.opening.retransmitted.max(1));
    vec![
        Advice::new(format!(
            "A SYN or SYN-ACK was retransmitted {}. The first timeout is 1 s whatever the RTT is (RFC 6298, \
             section 2; TCP_TIMEOUT_INIT), so each loss costs at least that. The usual reason is a listening \
             socket whose queue is full: Linux then drops the SYN or the last ACK silently.",
            times(again)
        ))
        .with(counters(
            server,
            "TcpExtListenOverflows TcpExtListenDrops TcpExtTCPReqQFullDrop TcpExtTCPReqQFullDoCookies",
            "shows whether a listening socket's queue was full since boot: these should not grow",
        ))
        .with(Fix::look(
            server,
            format!("ss -ltn sport = :{}", facts.report.key.b.port),
            "shows connections waiting for accept() (Recv-Q) and how many may wait (Send-Q)",
        ))
        .with_all(sysctl(
            server,
            "net.core.somaxconn",
            "16384",
            "lets a program ask listen() for a longer queue (default 4096 since 5.4); it takes effect when \
             the program calls listen() again with a larger backlog",
        ))
        .with_all(sysctl(
            server,
            "net.ipv4.tcp_max_syn_backlog",
            "16384",
            "lets more half-open connections be remembered",
        ))
        .caution(
            "A longer queue only absorbs a burst. An application that accepts too slowly fills any \
         queue.",
        ),
        Advice::new(
            "If the counters do not grow, the SYN was lost on the path: a full firewall or \
             connection-tracking table, a rate limit for SYNs, or plain loss, which other flows show too.",
        )
        .with(Fix::look(
            Host::Either,
            "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
            "shows how full the connection-tracking table is, where it is in use",
        )),
    ]
}

pub(crate) fn old_connection(_facts: &Facts<'_>) -> Vec<Advice> {
    vec![Advice::new("The other end still had an old connection between the same addresses and ports.")]
}

pub(crate) fn fast_open_lost(_facts: &Facts<'_>) -> Vec<Advice> {
    vec![Advice::new("Something on the path drops SYNs that carry data.")]
}

pub(crate) fn not_answered(_facts: &Facts<'_>) -> Vec<Advice> {
    vec![Advice::new("The SYN reached the host and its TCP did not answer.")]
}

pub(crate) fn peer_gone(_facts: &Facts<'_>) -> Vec<Advice> {
    vec![Advice::new("The other end, or something on the path, has forgotten the connection.")]
}
