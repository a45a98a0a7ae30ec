//! The sender's application gave TCP nothing to send. No setting of TCP makes a program write more.

use crate::arithmetic;
use crate::facts::{Facts, allows, time, times};
use crate::fix::{keep_over_pauses, quickack, socket};
use crate::{Advice, Fix, Host};
use slowpath_analyses::Evidence;
use std::time::Duration;

pub(crate) fn sender_idle(facts: &Facts<'_>) -> Vec<Advice> {
    let gain = facts.rate_without().zip(facts.reached()).map_or_else(String::new, |(without, reached)| {
        // What was sent in the rest of the time may have arrived while nothing was left to send.
        let most = match facts.peak().filter(|best| *best < without) {
            Some(best) if best > reached => format!("about {best}, the most that arrived in any RTT,"),
            Some(_) => return String::new(),
            None => format!("at most {without}"),
        };
        format!(" If it had always written in time, the rate would have been {most} instead of {reached}.")
    });
    let unanswered = if facts.is_after_last_data() {
        " Most of it came after its last data. If that was a request, the other end did not answer: look there \
         first."
    } else {
        ""
    };
    let mut advice = vec![
        Advice::new(format!(
            "The sending application had nothing to send for {} in all ({}). In this time neither the network \
             nor a TCP setting limits the transfer.{gain}{unanswered} Find out what the application waits for: \
             its disk, a CPU, a lock, or another connection that feeds this one.",
            time(facts.finding.lasted),
            times(facts.finding.spells),
        ))
        .with(socket(
            Host::Sender,
            facts.receiver(),
            "shows the process, and app_limited where TCP waits for it",
        ))
        .with(
            Fix::look(
                Host::Sender,
                "strace -f -T -e \
                 trace=read,pread64,write,writev,sendto,sendmsg,sendfile,splice,futex,poll,epoll_wait -p PID",
                "shows which system calls take the time (<seconds> at the end of a line); slows the process \
                 while it runs",
            )
            .by_owner(),
        )
        .with(Fix::look(
            Host::Sender,
            "cat /proc/pressure/io /proc/pressure/cpu",
            "shows the share of the last 10, 60 and 300 s in which some process waited for the disk, and for \
             a CPU",
        )),
    ];
    advice.extend(slow_start_after_idle(facts));
    advice
}

/// The congestion window is halved once per timeout of idle time.
fn slow_start_after_idle(facts: &Facts<'_>) -> Option<Advice> {
    let rto = facts.sent().rto?;
    let idle = facts.sent().idle_longest;
    (idle > rto).then(|| {
        Advice::new(format!(
            "After a pause longer than the RTO ({}) Linux halves the congestion window once per RTO of the \
             pause, down to ten segments (tcp_cwnd_restart, 6.18); the longest pause here was {}. Each burst \
             then begins with slow start. If the path's capacity does not change in between, the window can \
             be kept.",
            time(rto),
            time(idle),
        ))
        .with(keep_over_pauses())
        .caution(
            "The first burst after a pause is then as large as the window was. Where the path has small \
             queues, pace it with the fq qdisc or BBR.",
        )
    })
}

/// Nearly all of the time was one wait: what to ask is why, not how to have fewer turns.
fn one_long_wait(facts: &Facts<'_>) -> Option<Advice> {
    let from = facts.finding.from;
    let direction = &facts.report.directions[from.index()];
    let own = direction.spells.iter().filter(|spell| spell.cause == facts.finding.cause);
    // A spell may have many waits.
    let silence = facts.finding.evidence.iter().find_map(|evidence| match evidence {
        Evidence::Silence { longest } => Some(*longest),
        _ => None,
    });
    let longest = own.map(|spell| spell.lasted()).max()?.min(silence.unwrap_or(Duration::MAX));
    let answering = Duration::from_nanos(direction.overview.waits.answering.unsigned_abs());
    let (who, host, other) = if answering * 2 > facts.finding.lasted {
        (facts.sender(), Host::Sender, facts.receiver())
    } else {
        (facts.receiver(), Host::Receiver, facts.sender())
    };
    let is_one = longest * 10 >= facts.finding.lasted * 8 && facts.turns() <= 2;
    is_one.then(|| {
        Advice::new(format!(
            "Nearly all of it is one wait of {}, for what {who} had to send next. Find out what it did then: a slow look-up \
             (DNS), a disk, a lock, another server that it asked, or a user who thought.",
            time(longest)
        ))
        .with(socket(host, other, "shows which process to look at"))
    })
}

pub(crate) fn think_time(facts: &Facts<'_>) -> Vec<Advice> {
    if let Some(advice) = one_long_wait(facts) {
        return vec![advice];
    }
    let sent = facts.sent();
    // One spell may contain many turns.
    let turns = facts.turns().max(facts.finding.spells);
    let per_turn = sent.unique_bytes.get().checked_div(turns).filter(|bytes| *bytes > 0 && turns > 1);
    let turn = per_turn.map_or_else(String::new, |bytes| {
        format!(
            " There were {turns} turns; one waited {} on average and moved {}.",
            time(facts.finding.lasted / u32::try_from(turns).unwrap_or(u32::MAX)),
            slowpath_model::Bytes::new(bytes),
        )
    });
    let outstanding =
        facts.target_window().zip(per_turn).map(|(window, bytes)| (window, window.get().div_ceil(bytes)));
    let deeper = outstanding.filter(|(_, requests)| *requests > 1).map_or_else(String::new, |(window, outstanding)| {
        format!(
            " {outstanding} requests of this size in flight at once, instead of one, would fill the {} that \
             {} needs over this RTT.",
            window,
            facts.target().unwrap_or_default(),
        )
    });
    let mut advice = vec![
        Advice::new(format!(
            "One end sends a request, the other answers, and nothing is in flight while either end \
             thinks.{turn} Send the next request before the last answer has arrived (pipelining), ask for \
             more at a time, or use several connections.{deeper}"
        ))
        .with(socket(Host::Either, facts.receiver(), "shows which process to look at"))
        .caution("A faster network or larger buffers do not help here."),
    ];
    advice.extend(slow_start_after_idle(facts));
    advice
}

pub(crate) fn nagle_delayed_ack(facts: &Facts<'_>) -> Vec<Advice> {
    let waits = format!(" Here that took {} in all.", time(facts.finding.lasted));
    let one_segment = facts.overview().one_segment.then(|| {
        Advice::new(
            "Never more than one segment was in flight. If that is not by its writes, the sender's TCP keeps no more than \
             one, as small stacks such as uIP do: then no setting of the sender helps but one that cuts each segment in two \
             (uip-split), so that the receiver acknowledges at once.",
        )
    });
    let mut advice = vec![
        Advice::new(format!(
            "A write smaller than a segment waited until the data before it was acknowledged (Nagle's \
             algorithm, RFC 896), and the receiver delayed that ACK, to send it together with an answer \
             (Linux delays it by at least 40 ms: TCP_DELACK_MIN).{waits} Write the whole message in one call \
             (writev(), or MSG_MORE on all but its last part), or turn Nagle's algorithm off for this socket: \
             setsockopt(IPPROTO_TCP, TCP_NODELAY, 1) in the sending application. There is no sysctl for it."
        ))
        .with(
            Fix::look(
                Host::Sender,
                "strace -f -e trace=write,writev,sendto,sendmsg,setsockopt -p PID",
                "shows the small writes, and whether TCP_NODELAY is set",
            )
            .by_owner(),
        )
        .caution("With TCP_NODELAY and many small writes, each becomes a packet: gather them first."),
        Advice::new(
            "If the sending application cannot be changed, the receiver can acknowledge this peer's segments \
             at once. That costs an ACK per segment.",
        )
        .with_all(quickack(facts.sender().address)),
    ];
    advice.extend(one_segment);
    advice
}

pub(crate) fn protocol_window(facts: &Facts<'_>) -> Vec<Advice> {
    let outstanding = facts.outstanding();
    let bound = allows(facts, outstanding).map_or_else(String::new, |bound| format!(" {bound}."));
    let needed = facts
        .target()
        .zip(facts.target_window())
        .map_or_else(String::new, |(target, window)| format!(" {target} needs {window} over this RTT."));
    let each = facts.round_trip().and_then(|round_trip| arithmetic::largest_rate(outstanding, round_trip));
    let several =
        facts.target().zip(each).and_then(|(target, each)| Some((target, connections_for(target, each)?)));
    let several = several.map_or_else(String::new, |(target, count)| {
        format!(" {} could carry {target}.", slowpath_model::units::counted(count, "connection"))
    });
    vec![
        Advice::new(format!(
            "The sender waited for the receiving application, not for TCP: the protocol between them allows \
             only so much data ahead of what the receiver has asked for or granted. At most {outstanding} \
             were in flight.{bound}{needed} Raise that limit at the end that receives: the window of a \
             stream and of the connection in HTTP/2 (65,535 bytes by default, RFC 9113, section 6.9.2; such \
             as tune.h2.initial-window-size in HAProxy, MaxUploadBufferPerConnection and PerStream in Go, \
             initial_stream_window_size in Envoy), the channel window in SSH (2 MiB in OpenSSH; HPN-SSH \
             raises it), credits and the size of a read or write in SMB and NFS (max_credits, rsize, wsize), \
             the batch size of a database's cursor."
        ))
        .with(socket(
            Host::Receiver,
            facts.sender(),
            "shows the process, and that its buffer (rb in skmem) is larger than what was in flight",
        ))
        .caution("Larger socket buffers, another congestion control or a faster network do not help here."),
        Advice::new(format!(
            "If the limit cannot be raised, keep more in flight: more requests at once, or several streams or \
             connections (nconnect for NFS, max_channels for SMB).{several} Streams of one HTTP/2 connection \
             share the window of the connection."
        )),
    ]
}

/// How many connections of the same window would carry the target; used where one is limited by a window that no
/// setting of ours can raise.
pub(crate) fn connections_for(target: slowpath_model::Rate, each: slowpath_model::Rate) -> Option<u64> {
    (each.get() > 0).then(|| target.get().div_ceil(each.get()))
}
