//! Opening a connection, and peers that are gone.

use crate::facts::{Facts, time, times};
use crate::fix::{NET_ADMIN, NET_RAW, counters, firewall, hops, switch, sysctl, way_to};
use crate::{Advice, Fix, Host, loss_recovery};
use slowpath_analyses::Evidence;
use slowpath_model::End;
use slowpath_model::units::{counted, counted_were};
use std::time::Duration;

pub(crate) fn handshake(facts: &Facts<'_>) -> Vec<Advice> {
    let opening = facts.report.opening.round_trip;
    let shortest = facts.round_trip();
    let cost = shortest
        .or(opening)
        .map_or_else(|| "one RTT".to_owned(), |rtt| format!("one RTT, {} here,", time(rtt)));
    let late = opening.zip(shortest).filter(|(opening, shortest)| took_longer(*opening, *shortest));
    let late = late.map_or_else(String::new, |(opening, _)| {
        format!(
            " This one took {}: a packet of the opening was lost, or an end answered late.",
            time(opening)
        )
    });
    let client = facts.host(End::A);
    let server = facts.host(End::B);
    vec![
        Advice::new(format!(
            "Every connection pays {cost} before its first byte. Nothing makes that shorter. Pay it less \
             often: keep connections open and reuse them (HTTP keep-alive, a connection pool) instead of \
             opening one per request.{late}"
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

/// Whether an opening took so long that a retransmission or a late answer is part of it, and not the path's RTT alone: by half
/// an RTT, and by what a host may be late by itself.
fn took_longer(opening: Duration, rtt: Duration) -> bool {
    const LATE_BY_ITSELF: Duration = Duration::from_millis(10);
    opening > rtt.saturating_add((rtt / 2).max(LATE_BY_ITSELF))
}

pub(crate) fn syn_lost(facts: &Facts<'_>) -> Vec<Advice> {
    let between = facts.evidence(|evidence| match *evidence {
        Evidence::SynLostBetween { syns, syn_acks } if syns + syn_acks > 0 => Some((syns, syn_acks)),
        _ => None,
    });
    if let Some((syns, syn_acks)) = between {
        return handshake_lost_on_the_path(facts, syns, syn_acks);
    }
    let server = facts.host(End::B);
    let again = u64::from(facts.report.opening.retransmitted.max(1));
    vec![
        Advice::new(format!(
            "A SYN or SYN-ACK was retransmitted {}. The first timeout is 1 s whatever the RTT is (RFC 6298, \
             section 2; TCP_TIMEOUT_INIT), so each loss costs at least that. The usual reason is a listening \
             socket whose queue is full: Linux then drops the SYN or the last ACK silently.",
            times(again)
        ))
        .with_all(listen_queue(facts))
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
        .with(tracking_table(Host::Either)),
    ]
}

/// The command that shows how full a firewall's table is.
fn tracking_table(host: Host) -> Fix {
    Fix::look(
        host,
        "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
        "shows how full the connection-tracking table is, where it is in use",
    )
}

/// Two captures show that the path lost what is missing: no setting of the server did.
fn handshake_lost_on_the_path(facts: &Facts<'_>, syns: u64, syn_acks: u64) -> Vec<Advice> {
    let begin = match (syns, syn_acks) {
        (syns, 0) => format!("{} left the client and did not reach the server.", counted(syns, "SYN")),
        (0, syn_acks) => format!(
            "The SYN reached the server, which answered. {} left it and did not reach the client: they were lost on the \
             way back.",
            counted(syn_acks, "SYN-ACK")
        ),
        (syns, syn_acks) => format!(
            "{} on the way to the server and {} on the way back were lost.",
            counted(syns, "SYN"),
            counted(syn_acks, "SYN-ACK")
        ),
    };
    let one_sided = if syn_acks > 0 {
        " A stateful firewall drops a SYN-ACK whose SYN it did not see, as if it were invalid: then SYN and SYN-ACK take \
         different ways (asymmetric routing). Compare the routes of both directions."
    } else {
        ""
    };
    let from = facts.host(if syn_acks > 0 { End::B } else { End::A });
    let to = if syn_acks > 0 { facts.report.key.a } else { facts.report.key.b };
    vec![
        Advice::new(format!(
            "{begin} Neither end dropped them, so look between the two captures: a firewall's rule or its full \
             connection-tracking table, a rate limit for SYNs, or plain loss, which data shows too.{one_sided}"
        ))
        .with(way_to(from, to.address))
        .with(tracking_table(Host::Path))
        .with(
            Fix::look(
                Host::Path,
                "conntrack -S",
                "shows packets that connection tracking found invalid, or had no room for (drop)",
            )
            .needs(NET_ADMIN),
        )
        .with(firewall(Host::Path)),
    ]
}

/// Commands that show a listening socket's queue, and lengthen it.
fn listen_queue(facts: &Facts<'_>) -> Vec<Fix> {
    let server = facts.host(End::B);
    let look = [
        counters(
            server,
            "TcpExtListenOverflows TcpExtListenDrops TcpExtTCPReqQFullDrop TcpExtTCPReqQFullDoCookies",
            "shows whether a listening socket's queue was full since boot: these should not grow",
        ),
        Fix::look(
            server,
            format!("ss -ltn sport = :{}", facts.report.key.b.port),
            "shows connections waiting for accept() (Recv-Q) and how many may wait (Send-Q)",
        ),
    ];
    let longer = sysctl(
        server,
        "net.core.somaxconn",
        "16384",
        "lets a program ask listen() for a longer queue (default 4096 since 5.4); it takes effect when the program \
         calls listen() again with a larger backlog",
    );
    look.into_iter().chain(longer).collect()
}

pub(crate) fn accept_queue_full(facts: &Facts<'_>) -> Vec<Advice> {
    let cost = time(facts.finding.lasted);
    let seen = if facts.report.opening.unaccepted > 0 {
        "the server sent its SYN-ACK again"
    } else {
        "its data had no effect, as with SYN cookies, where no SYN-ACK comes again"
    };
    vec![
        Advice::new(format!(
            "The client had finished the handshake, and {seen}: Linux drops the handshake's last ACK if the queue of \
             connections that wait for accept() is full, and the data that follows. It took {cost} here. Most often the program accepts too slowly: it is busy or blocked, or has \
             too few threads or processes. A burst of connections needs a longer queue: the backlog that the program \
             gives to listen(), which net.core.somaxconn limits."
        ))
        .with_all(listen_queue(facts))
        .caution("A longer queue only absorbs a burst: an application that accepts too slowly fills any queue."),
        Advice::new(
            "Let clients fail at once instead, so that they try another server: then the server answers the ACK with \
             a RST.",
        )
        .with_all(sysctl(
            facts.host(End::B),
            "net.ipv4.tcp_abort_on_overflow",
            "1",
            "resets connections for which the accept queue has no room",
        ))
        .caution("Bursts that the queue would have taken a moment later then fail too."),
    ]
}

pub(crate) fn refused(facts: &Facts<'_>) -> Vec<Advice> {
    let port = facts.report.key.b.port;
    vec![
        Advice::new(format!(
            "{} answered the SYN with a RST. Nothing listens on port {port} of that address: the program is not \
             running, or it listens on another address (127.0.0.1 only, or IPv6 only) or port. A firewall that \
             rejects with a RST looks the same, and so does a load balancer without a healthy server.",
            facts.report.key.b
        ))
        .with(Fix::look(
            facts.host(End::B),
            format!("ss -ltnp sport = :{port}"),
            "shows what listens on the port, and on which address",
        ))
        .with(firewall(facts.host(End::B))),
    ]
}

pub(crate) fn unreachable(facts: &Facts<'_>) -> Vec<Advice> {
    vec![
        Advice::new(format!(
            "A router or host on the way answered the SYN with an ICMP error. Its sender, shown by slowpath show, is \
             where to look. A host that does not answer on its link is down or has another address; a network \
             without a route needs one, there or on the client; a firewall that rejects needs a rule for port {}.",
            facts.report.key.b.port
        ))
        .with(way_to(facts.host(End::A), facts.report.key.b.address))
        .with(hops(facts.host(End::A), &facts.report.key.b, "shows how far a SYN gets"))
        .with(firewall(Host::Path)),
    ]
}

pub(crate) fn no_answer(facts: &Facts<'_>) -> Vec<Advice> {
    let to = facts.report.key.b;
    vec![
        Advice::new(format!(
            "Nothing answered the SYN to {to}: no SYN-ACK, no RST, no ICMP error. Firewalls and security groups drop \
             without an answer; otherwise the host is down, the address or the route is wrong, or the answer takes \
             a way that loses it. Capture on the server: if the SYN arrives, look for what drops it or its answer \
             there; if not, look on the way."
        ))
        .with(hops(facts.host(End::A), &to, "shows how far a SYN gets"))
        .with(
            Fix::look(
                facts.host(End::B),
                format!("timeout 60 tcpdump -ni any host {} and tcp port {}", facts.report.key.a.address, to.port),
                "shows whether the SYN arrives, and whether an answer leaves",
            )
            .needs(NET_RAW),
        )
        .with(firewall(facts.host(End::B))),
        Advice::new(
            "Let the program learn of it sooner: by default Linux sends the SYN 7 times in 127 s, since \
             6.5 11 times in 131 s, before connect() fails. Programs can limit that with a connect timeout or \
             TCP_USER_TIMEOUT.",
        )
        .with_all(sysctl(
            facts.host(End::A),
            "net.ipv4.tcp_syn_retries",
            "3",
            "gives up after 15 s, since 6.5 after 19 s (default 6: 127 s and 131 s)",
        ))
        .caution("A path that loses many packets then fails to open connections more often."),
    ]
}

pub(crate) fn old_connection(facts: &Facts<'_>) -> Vec<Advice> {
    let (client, server) = (facts.host(End::A), facts.host(End::B));
    let cost = time(facts.finding.lasted);
    vec![
        Advice::new(format!(
            "The server still had a connection between the same addresses and ports. It answered the SYN \
             with an ACK of that connection (a challenge ACK, RFC 5961, section 4), the client answered with \
             a RST, and only the next SYN, after a timeout, opened the new one: {cost} here. A client's own \
             kernel does not reuse a port that early. A NAT or a load balancer does, if it has few ports for \
             many connections, and so does a client that crashed. Give the device that translates more \
             addresses or a larger range of ports, or keep connections open and reuse them."
        ))
        .with(counters(
            server,
            "TcpExtTCPSYNChallenge TcpExtTCPChallengeACK TcpExtTCPACKSkippedChallenge",
            "shows how often a SYN met an open connection, all challenge ACKs, and those not sent because of \
             their rate limit",
        ))
        .with(Fix::look(
            server,
            format!("ss -tanope dst {}", facts.report.key.a),
            "shows the old connection if it is still there: its state, its timer and its process",
        ))
        .with_all(sysctl(
            client,
            "net.ipv4.ip_local_port_range",
            "15000 60999",
            "lets the connections that this host opens, as a proxy does too, use 46,000 ports instead of \
             28,000",
        ))
        .caution(
            "Services of the host that listen on a port in the range have to be kept out of it with \
             net.ipv4.ip_local_reserved_ports.",
        ),
        Advice::new(
            "If the client was gone, the server kept its half of the connection because no packet told it so. \
             Keepalives remove such connections: SO_KEEPALIVE in the serving program, or its own idle \
             timeout. Timestamps help where the old connection is in TIME_WAIT: a SYN with a newer timestamp \
             then opens a new one at once (RFC 6191).",
        )
        .with(switch(
            Host::Either,
            "net.ipv4.tcp_timestamps",
            "1",
            "0",
            "offers timestamps on connections \
             from now on",
        ))
        .caution(
            "Behind a NAT, each client has a timestamp clock of its own, so the newer SYN may have the older \
             timestamp.",
        ),
        Advice::new(
            "If SYNs are answered with challenge ACKs again and again, something drops the challenge ACK or \
             the client's RST: a firewall that knows only the new connection finds neither in sequence. Let \
             both through there.",
        ),
    ]
}

pub(crate) fn fast_open_lost(facts: &Facts<'_>) -> Vec<Advice> {
    let client = facts.host(End::A);
    let lost = facts
        .evidence(|evidence| match *evidence {
            Evidence::SynDataLost { times } => Some(times),
            _ => None,
        })
        .unwrap_or(1);
    let saved = facts.report.opening.round_trip.map_or_else(String::new, |round_trip| {
        format!(" What Fast Open saves is one RTT, {} here.", time(round_trip))
    });
    vec![
        Advice::new(format!(
            "{} with data (TCP Fast Open, RFC 7413) got no answer, and a SYN without data did. Something on \
             the path drops SYNs that carry data: a firewall, a load balancer or a mobile network. Each such \
             connection waits 1 s for the timeout.{saved} Until the device is fixed, turn Fast Open off: in \
             the program (TCP_FASTOPEN_CONNECT, MSG_FASTOPEN, or its option for it), or for the whole \
             client.",
            counted(lost, "SYN")
        ))
        .with(counters(
            client,
            "TcpExtTCPFastOpenActive TcpExtTCPFastOpenActiveFail TcpExtTCPFastOpenBlackhole",
            "shows how often it worked, how often it failed, and how often the client turned it off by itself",
        ))
        .with(Fix::look(
            client,
            format!("ip tcp_metrics show {}", facts.report.key.b.address),
            "shows SYNs with data lost on the way to this peer (fo_syn_drops) and its cookie (fo_cookie)",
        ))
        .with_all(sysctl(
            client,
            "net.ipv4.tcp_fastopen",
            "0",
            "sends no data in SYNs, for all programs of this host",
        )),
        Advice::new(
            "Linux can turn Fast Open off for a while after such losses, and longer after the next ones. By \
             default it does not (0).",
        )
        .with_all(sysctl(
            client,
            "net.ipv4.tcp_fastopen_blackhole_timeout_sec",
            "3600",
            "stops sending data in SYNs for an hour after a black hole is noticed",
        ))
        .caution("The first connections still wait for their timeouts: it takes several to notice."),
    ]
}

pub(crate) fn not_answered(facts: &Facts<'_>) -> Vec<Advice> {
    // What arrived, at which end, how often, and how often with a wrong checksum.
    let (what, at, times, wrong) = facts
        .evidence(|evidence| match *evidence {
            Evidence::SynNotAnswered { times, wrong_checksum } => {
                Some(("SYN", End::B, times, wrong_checksum))
            }
            Evidence::SynAckNotAnswered { times, wrong_checksum } => {
                Some(("SYN-ACK", End::A, times, wrong_checksum))
            }
            _ => None,
        })
        .unwrap_or(("SYN", End::B, 1, 0));
    let host = if at == End::B { "server" } else { "client" };
    let arrived = format!("{} reached the {host}'s host, and its TCP did not answer.", counted(times, what));
    let dropped = |begin: &str| match at {
        End::A => dropped_on_client(facts, begin),
        End::B => dropped_on_host(facts, begin),
    };
    if wrong > 0 {
        vec![wrong_checksum(facts, !at, &arrived), dropped("If the counter does not grow, look further.")]
    } else {
        vec![
            dropped(&arrived),
            wrong_checksum(facts, !at, "If TcpInCsumErrors grows, the checksum is wrong."),
        ]
    }
}

/// Something on the client's host dropped the SYN-ACK.
fn dropped_on_client(facts: &Facts<'_>, begin: &str) -> Advice {
    let client = facts.host(End::A);
    with_looks_at_drops(
        Advice::new(format!(
            "{begin} On that host a firewall may drop it, which takes an answer for invalid if it did not see the SYN, \
             or the reverse path filter, if the answer came by another interface than the SYN left by. Where \
             connections share ports behind a NAT, the check of timestamps (PAWS) may."
        )),
        client,
        "TcpInCsumErrors TcpExtIPReversePathFilter TcpExtPAWSActive",
        "shows, while SYN-ACKs come, which of them grows: checksum, reverse path filter, timestamps",
    )
}

/// What shows where a host drops packets before TCP has them.
fn with_looks_at_drops(advice: Advice, host: Host, names: &str, what: &str) -> Advice {
    advice
        .with(counters(host, names, what))
        .with(firewall(host))
        .with(Fix::look(
            host,
            "sysctl net.ipv4.conf.all.rp_filter",
            "shows the reverse path filter: 1 drops what came by another interface than answers would leave by; 2 \
             is looser",
        ))
        .with(
            Fix::look(
                host,
                "timeout 10 perf trace -e skb:kfree_skb",
                "shows every packet that the kernel drops in 10 s, with the reason and the place",
            )
            .needs("root (CAP_PERFMON)"),
        )
}

/// The host discarded the packet because of its checksum. `from` is the end that sent it.
pub(crate) fn wrong_checksum(facts: &Facts<'_>, from: End, begin: &str) -> Advice {
    let (sender, receiver) = (facts.host(from), facts.host(!from));
    Advice::new(format!(
        "{begin} Linux discards a segment whose TCP checksum is wrong, without an answer. The usual reason \
         is offload: the sending host leaves the checksum to a device that does not fill it in, above all \
         below a tunnel (VXLAN, Geneve) of containers or virtual machines. Let the tunnel's device compute \
         it, and update the kernel or the NIC's driver that gets it wrong."
    ))
    .with(counters(receiver, "TcpInCsumErrors", "should not grow: segments discarded for their checksum"))
    .with(way_to(sender, facts.report.key.endpoint(!from).address))
    .with(Fix::look(
        sender,
        "ethtool -k IFACE",
        "shows whether tx-checksum-ip-generic is on at the tunnel's device, such as flannel.1",
    ))
    .with(
        Fix::change(
            sender,
            "ethtool -K IFACE tx-checksum-ip-generic off",
            "has the CPU compute the checksums of what leaves by this device, before it enters the tunnel",
        )
        .undone_by("ethtool -K IFACE tx-checksum-ip-generic on"),
    )
    .caution(
        "It costs CPU time, and TCP segmentation offload of this device with it. A capture taken on the \
         sending host itself shows wrong checksums wherever the NIC fills them in: that is no fault.",
    )
}

/// Something on the host dropped the packet before TCP answered it.
fn dropped_on_host(facts: &Facts<'_>, begin: &str) -> Advice {
    let server = facts.host(End::B);
    let port = facts.report.key.b.port;
    with_looks_at_drops(
        Advice::new(format!(
            "{begin} On that host a firewall may drop it, the reverse path filter, a full listen queue, or the \
             check of timestamps (PAWS) if an old connection of these ports is in TIME_WAIT. A port on which \
             nothing listens is answered with a RST, so this is not one."
        ))
        .with(Fix::look(
            server,
            format!("ss -ltn sport = :{port}"),
            "shows the listening socket: connections waiting for accept() (Recv-Q) and how many may wait (Send-Q)",
        )),
        server,
        "TcpInCsumErrors TcpExtListenOverflows TcpExtListenDrops TcpExtTCPReqQFullDrop \
         TcpExtIPReversePathFilter TcpExtPAWSActive TcpExtPAWSTimewait",
        "shows, while SYNs come, which of them grows: checksum, listen queue (three), reverse path filter, \
         timestamps (two)",
    )
}

pub(crate) fn peer_gone(facts: &Facts<'_>) -> Vec<Advice> {
    let silent = facts.evidence(|evidence| match *evidence {
        Evidence::PeerSilent { lasted, retransmissions } => Some((lasted, retransmissions)),
        _ => None,
    });
    let pause = facts.evidence(|evidence| match *evidence {
        Evidence::SilentAfterPause { pause } => Some(pause),
        _ => None,
    });
    let seen = silent.map_or_else(
        || "Nothing came back from the other end any more.".to_owned(),
        |(lasted, retransmissions)| {
            format!(
                "Nothing came back from {} for the last {}, while {} sent.",
                facts.receiver(),
                time(lasted),
                counted_were(retransmissions, "retransmission")
            )
        },
    );
    let device = forgetting_device(facts);
    let only_large = facts.evidence(|evidence| match *evidence {
        Evidence::OnlyLargeUnanswered { smallest } => Some(smallest),
        _ => None,
    });
    let narrower = only_large.map(|smallest| loss_recovery::narrower_path(facts, smallest));
    let mut advice = match pause {
        Some(pause) => {
            let begin = format!(
                "{seen} It fell silent during a pause of {} in which neither end sent anything: a NAT, \
                 firewall or load balancer forgets a connection that is idle for longer than it allows, and \
                 drops what comes later. Send something more often than that.",
                time(pause)
            );
            vec![keep_alive(&begin, keepalive_time(pause)), device, give_up_earlier("")]
        }
        None => {
            let begin = format!(
                "{seen} The host at the other end crashed or lost its network, or a device on the way lost \
                 the connection: a restart, a failover, a changed route. "
            );
            let idle =
                "Where connections are idle at times, keep the devices on the way from forgetting them.";
            vec![give_up_earlier(&begin), device, keep_alive(idle, 60)]
        }
    };
    advice.splice(1..1, narrower);
    advice
}

/// The keepalive time in seconds: half of a pause that was too long, at most a minute.
pub(crate) fn keepalive_time(pause: Duration) -> u64 {
    (pause.as_secs() / 2).clamp(1, 60)
}

/// No keepalive time for all sockets of a host is shorter than this, in seconds: a server has many.
const LEAST_FOR_ALL: u64 = 15;

pub(crate) fn keep_alive(begin: &str, idle: u64) -> Advice {
    let for_all = if idle < LEAST_FOR_ALL {
        "So short a time is for the sockets of this program only; the host's sysctl would be for all."
    } else {
        "The sysctls are for sockets that set SO_KEEPALIVE and no times of their own; by default the first \
         keepalive follows after 7200 s, which is longer than most devices remember."
    };
    let advice = Advice::new(format!(
        "{begin} TCP does it for a socket with SO_KEEPALIVE: set TCP_KEEPIDLE to {idle} s or less in either \
         program, or use the program's own option (ServerAliveInterval of ssh, tcp_keepalives_idle of \
         PostgreSQL, pings of HTTP/2 and WebSocket). {for_all}"
    ))
    .with(Fix::look(
        Host::Either,
        "ss -tno state established",
        "shows which connections have a keepalive timer, and when it expires",
    ));
    if idle < LEAST_FOR_ALL {
        return advice;
    }
    advice
        .with_all(sysctl(
            Host::Either,
            "net.ipv4.tcp_keepalive_time",
            &idle.to_string(),
            &format!("sends the first keepalive after {idle} s of silence"),
        ))
        .with_all(sysctl(
            Host::Either,
            "net.ipv4.tcp_keepalive_intvl",
            "10",
            "repeats it every 10 s while there is no answer",
        ))
        .with_all(sysctl(
            Host::Either,
            "net.ipv4.tcp_keepalive_probes",
            "6",
            "ends the connection after 6 keepalives without an answer",
        ))
}

fn give_up_earlier(begin: &str) -> Advice {
    Advice::new(format!(
        "{begin}By default Linux retransmits for about 15 minutes before it reports an error to the program. \
         Let it report the failure sooner, so that the program can connect again: TCP_USER_TIMEOUT limits, \
         in ms, how long data of one socket may stay unacknowledged; tcp_retries2 is for all sockets."
    ))
    .with(counters(
        Host::Sender,
        "TcpExtTCPAbortOnTimeout TcpExtTCPTimeouts TcpExtTCPKeepAlive",
        "shows connections given up, timeouts, and keepalives sent",
    ))
    .with_all(sysctl(
        Host::Sender,
        "net.ipv4.tcp_retries2",
        "8",
        "gives up after about 100 s without an answer, the least that RFC 1122 allows, instead of 15 minutes \
         (15)",
    ))
    .caution("A path that is down for longer than that then costs the connection.")
}

pub(crate) fn forgetting_device(facts: &Facts<'_>) -> Advice {
    let icmp = facts.evidence(|evidence| match *evidence {
        Evidence::IcmpErrors { times, .. } => Some(times),
        _ => None,
    });
    let errors = icmp.map_or_else(String::new, |n| {
        format!(" {} came back for these segments: who sent them is where to look.", counted(n, "ICMP error"))
    });
    Advice::new(format!(
        "Look at the devices between the two hosts.{errors} A Linux router remembers an idle connection for \
         5 days, and less if its table is full; many others for 5 to 60 minutes. Raise the time there, or \
         have the device answer with a RST what it does not know."
    ))
    .with(Fix::look(
        Host::Path,
        "sysctl net.netfilter.nf_conntrack_tcp_timeout_established net.netfilter.nf_conntrack_count \
         net.netfilter.nf_conntrack_max",
        "shows how long an idle connection is remembered (seconds), and how full the table is",
    ))
    .with(
        Fix::look(
            Host::Path,
            format!("conntrack -L -p tcp --dport {}", facts.report.key.b.port),
            "shows the connections to this port that the router remembers",
        )
        .needs(NET_ADMIN),
    )
    .with_all(sysctl(
        Host::Path,
        "net.netfilter.nf_conntrack_tcp_timeout_established",
        "432000",
        "remembers idle connections for 5 days, the default",
    ))
}
