//! A connection that a RST ended.

use crate::connection::{forgetting_device, keep_alive, keepalive_time};
use crate::facts::{Facts, time};
use crate::fix::{NET_ADMIN, NET_RAW, counters, hops, sysctl};
use crate::{Advice, Fix, Host};
use slowpath_analyses::Evidence;
use slowpath_model::End;
use std::time::Duration;

pub(crate) fn unknown(facts: &Facts<'_>) -> Vec<Advice> {
    if let Some(flow) = stray(facts) {
        return vec![untranslated(facts, flow), liberal(facts)];
    }
    let by = resetter(facts);
    match pause(facts) {
        Some(pause) => {
            let begin = format!(
                "{by} answered as if the connection did not exist, after a pause of {} in which neither end sent \
                 anything: a load balancer, NAT or firewall in front of it, or the program itself, ends what is \
                 idle for longer than it allows. Send something more often than that.",
                time(pause)
            );
            vec![keep_alive(&begin, keepalive_time(pause)), forgetting_device(facts)]
        }
        None => vec![lost_its_state(facts, &by), liberal(facts)],
    }
}

/// The number of the flow with the stray segment.
fn stray(facts: &Facts<'_>) -> Option<u64> {
    facts.evidence(|evidence| match *evidence {
        Evidence::StraySegment { flow } => Some(flow),
        _ => None,
    })
}

fn pause(facts: &Facts<'_>) -> Option<Duration> {
    facts.evidence(|evidence| match *evidence {
        Evidence::ResetAfterPause { pause } => Some(pause),
        _ => None,
    })
}

/// The address of the end that sent the RST.
fn resetter(facts: &Facts<'_>) -> String {
    let by = facts.report.closing.reset.as_ref().map_or(End::B, |reset| reset.by);
    facts.report.key.endpoint(by).to_string()
}

/// Connection tracking let a packet of this connection through untranslated.
fn untranslated(facts: &Facts<'_>, flow: u64) -> Advice {
    Advice::new(format!(
        "A packet of this connection came with another address (flow {flow}): the NAT on the way did not translate \
         it back, and the client's host, which knows no connection with that address, answered it with a RST. \
         Linux leaves packets alone that its connection tracking calls invalid, such as data beyond the window \
         that it believes in. Drop these packets instead, so that they are retransmitted: in Kubernetes, newer \
         versions of kube-proxy add this rule by themselves."
    ))
    .with(
        Fix::look(
            Host::Path,
            format!("conntrack -S; conntrack -L -p tcp --dport {}", facts.report.key.b.port),
            "shows how many packets were invalid, and the connections that are tracked",
        )
        .needs(NET_ADMIN),
    )
    .with(
        Fix::change(
            Host::Path,
            "iptables -I FORWARD -p tcp -m conntrack --ctstate INVALID -j DROP",
            "drops what connection tracking calls invalid",
        )
        .undone_by("iptables -D FORWARD -p tcp -m conntrack --ctstate INVALID -j DROP"),
    )
}

/// Connection tracking takes out-of-window packets as part of their connection.
fn liberal(facts: &Facts<'_>) -> Advice {
    Advice::new(
        "Where connection tracking calls good packets invalid, as with lost or late packets and large windows, have it \
         take them all the same: it then translates them, and resets nothing.",
    )
    .with_all(sysctl(
        Host::Path,
        "net.netfilter.nf_conntrack_tcp_be_liberal",
        "1",
        "takes packets outside the window as part of their connection",
    ))
    .caution(format!(
        "A firewall that relies on connection tracking then lets forged packets to {} through as well.",
        facts.report.key.b
    ))
}

fn lost_its_state(facts: &Facts<'_>, by: &str) -> Advice {
    Advice::new(format!(
        "{by} answered as if the connection did not exist, though it had not closed it. The program or its host was \
         restarted, a load balancer or a changed route took the packets to another host, or a device in front of it \
         lost or rewrote the connection. Right after the handshake, a listening socket with a full queue does it, \
         if tcp_abort_on_overflow is 1."
    ))
    .with(counters(
        Host::Either,
        "TcpOutRsts TcpEstabResets TcpExtListenOverflows TcpExtTCPAbortOnTimeout",
        "shows RSTs sent, connections that ended by one, full accept queues, and connections given up",
    ))
    .with(Fix::look(
        Host::Either,
        format!("ss -tano sport = :{port} or dport = :{port}", port = facts.report.key.b.port),
        "shows, on the host that sent the RST, whether it has the connection",
    ))
    .with(
        Fix::look(
            Host::Either,
            format!(
                "timeout 60 tcpdump -ni any 'tcp port {} and tcp[tcpflags] & tcp-rst != 0'",
                facts.report.key.b.port
            ),
            "shows, on the host whose address the RST bears, whether it sends it at all",
        )
        .needs(NET_RAW),
    )
}

/// Whether the other end was in the middle of sending, without a pause as long as any server's idle timeout.
fn is_in_the_middle(facts: &Facts<'_>) -> bool {
    const SHORTEST_IDLE_TIMEOUT: Duration = Duration::from_secs(1);
    facts.report.closing.reset.as_ref().is_some_and(|reset| {
        let sent = &facts.report.directions[(!reset.by).index()].measures;
        let took = sent.first_data.zip(sent.last_data).and_then(|(first, last)| last.since(first));
        reset.pause < SHORTEST_IDLE_TIMEOUT && took.is_some_and(|took| took > reset.pause)
    })
}

pub(crate) fn closed(facts: &Facts<'_>) -> Vec<Advice> {
    let by = resetter(facts);
    let text = if is_in_the_middle(facts) {
        format!(
            "{by} had closed the connection while the other end was still sending, so it answered with a RST. A \
             client that has all that it wants, or that gives up by a timeout of its own or because its user stops \
             it, ends a download so. If it was a timeout, look for what makes the answer take so long."
        )
    } else {
        format!(
            "{by} had closed the connection, and then data came: it answered with a RST, and the data is lost. On a \
             connection that is kept open between requests, the server's idle timeout ran out just when the next \
             request left. Close idle connections at the client first: give it a shorter idle timeout than the \
             server (and than each proxy between), and let it repeat a request that was reset."
        )
    };
    vec![
        Advice::new(text).with(Fix::look(
            Host::Either,
            "ss -tano state close-wait state fin-wait-2",
            "shows connections that one end has closed and the other has not",
        )),
        Advice::new(
            "A program that closes without having read everything that came loses its own last answer too, such as \
             an error message about an upload that is too large. Have it call shutdown(SHUT_WR), read to the end, \
             and only then close.",
        ),
    ]
}

pub(crate) fn aborted(facts: &Facts<'_>) -> Vec<Advice> {
    let by = resetter(facts);
    vec![
        Advice::new(format!(
            "{by} aborted the connection: its RST carries an ACK, as one does that a program's own host sends. The \
             program ended or closed the socket with data that it had not read, set SO_LINGER to zero, or its \
             keepalives or its user timeout ran out. A test that stops after a given time ends so as well, and that \
             is no fault. Otherwise look for the reason in the log of the program at that end."
        ))
        .with(counters(
            Host::Either,
            "TcpExtTCPAbortOnData TcpExtTCPAbortOnClose TcpExtTCPAbortOnMemory TcpExtTCPAbortOnTimeout \
             TcpExtTCPAbortOnLinger TcpExtTCPAbortFailed",
            "shows, on the host that sent the RST, why it aborted connections: SO_LINGER, unread data, memory, \
             timeouts",
        )),
    ]
}

pub(crate) fn on_path(facts: &Facts<'_>) -> Vec<Advice> {
    let by = resetter(facts);
    let port = facts.report.key.b.port;
    let forgets = pause(facts).map(|pause| {
        let begin = format!(
            "The RST came after a pause of {} in which neither end sent anything: a NAT, firewall or load balancer \
             forgets a connection that is idle for longer than it allows. Send something more often than that.",
            time(pause)
        );
        keep_alive(&begin, keepalive_time(pause))
    });
    let device = [
        Advice::new(format!(
            "The RST bears the address of {by} and came from another place. A firewall, an intrusion prevention \
             system or a load balancer sends such RSTs, to end what a rule forbids or what has been idle for too \
             long. Capture at {by}: if the RST did not leave there, search the rules and logs of the devices \
             between."
        ))
        .with(
            Fix::look(
                Host::Either,
                format!("timeout 60 tcpdump -nvi any 'tcp port {port} and tcp[tcpflags] & tcp-rst != 0'"),
                "shows RSTs with their TTL, at each end",
            )
            .needs(NET_RAW),
        )
        .with(hops(
            Host::Either,
            &facts.report.key.b,
            "shows the hops: the difference of the TTLs says how far away the device is",
        )),
    ];
    forgets.into_iter().chain(device).collect()
}
