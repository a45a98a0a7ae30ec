//! What TCP has counted since boot (nstat(8)). A count says that something was, not when: a hint, never a verdict.

use super::{Examination, percent};
use crate::finding::{Check, Finding, Severity, look};

/// A counter that shows a fault of this host.
struct Counter {
    counter: &'static str,
    check: Check,
    /// Of what it is a share.
    of: &'static str,
    /// The smallest share that is reported. `None`: the loss that CUBIC tolerates at the goal.
    least: Option<f64>,
    receiving: bool,
    title: &'static str,
    why: &'static str,
    source: &'static str,
}

const IN: &str = "TcpInSegs";
const OUT: &str = "TcpOutSegs";

const TOLD: [Counter; 9] = [
    Counter {
        counter: "TcpExtTCPRcvQDrop",
        check: Check::ReceiveQueueDrops,
        of: IN,
        least: None,
        receiving: true,
        title: "segments found no memory in receive queues",
        why: "They were dropped, and had to be retransmitted.",
        source: "tcp_data_queue (6.18)",
    },
    Counter {
        counter: "TcpExtTCPBacklogDrop",
        check: Check::BacklogFull,
        of: IN,
        least: None,
        receiving: true,
        title: "segments came while a socket was in use, and its backlog was full",
        why: "They were dropped: a reader holds its socket for long, or the buffers are small.",
        source: "tcp_add_backlog (6.18); wu, section 3",
    },
    Counter {
        counter: "TcpExtRcvPruned",
        check: Check::Pruned,
        of: IN,
        least: None,
        receiving: true,
        title: "receive queues were pruned of segments",
        why: "A buffer was full although its window had invited what came: packets took more memory than their \
              payload.",
        source: "tcp_prune_queue (6.18)",
    },
    Counter {
        counter: "TcpExtTCPRcvCollapsed",
        check: Check::Collapsed,
        of: IN,
        least: Some(0.001),
        receiving: true,
        title: "receive queues were copied together to save memory",
        why: "It takes CPU in the softirq: many small segments in buffers that are nearly full.",
        source: "tcp_collapse (6.18)",
    },
    Counter {
        counter: "TcpExtTCPZeroWindowDrop",
        check: Check::ZeroWindowDrops,
        of: IN,
        least: None,
        receiving: true,
        title: "segments came against a window of zero",
        why: "Readers did not keep up, and what came meanwhile was dropped.",
        source: "tcp_data_queue (6.18)",
    },
    Counter {
        counter: "TcpExtTCPMemoryPressures",
        check: Check::MemoryPressure,
        of: IN,
        least: Some(0.0),
        receiving: true,
        title: "TCP was under memory pressure",
        why: "All connections together came to the second number of tcp_mem: windows shrank.",
        source: "tcp_enter_memory_pressure (6.18); ip-sysctl.rst, tcp_mem",
    },
    Counter {
        counter: "TcpExtTCPTimeouts",
        check: Check::Timeouts,
        of: OUT,
        least: Some(0.001),
        receiving: false,
        title: "many retransmission timeouts",
        why: "In each, a connection stood still for 200 ms or more.",
        source: "tcp_retransmit_timer (6.18); leith, section 1.2",
    },
    Counter {
        counter: "TcpExtTCPSpuriousRTOs",
        check: Check::SpuriousTimeouts,
        of: "TcpExtTCPTimeouts",
        least: Some(0.1),
        receiving: false,
        title: "a part of the timeouts was needless",
        why: "ACKs were late, not lost: receivers off their CPUs, or round trips that jump.",
        source: "tcp_process_loss (6.18); RFC 5682; wu, section 4",
    },
    Counter {
        counter: "TcpExtTCPRetransFail",
        check: Check::RetransmitsRefused,
        of: OUT,
        least: None,
        receiving: false,
        title: "retransmissions were refused by this host itself",
        why: "The queue before the card was full, or the socket's memory.",
        source: "__tcp_retransmit_skb (6.18); ubik V",
    },
];

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    found.extend(TOLD.iter().filter_map(|told| finding(exam, told)));
}

fn finding(exam: &Examination<'_>, told: &Counter) -> Option<Finding> {
    let role = exam.goal.role;
    (if told.receiving { role.receives() } else { role.sends() }).then_some(())?;
    let counted = *exam.host.counters.get(told.counter)?;
    let of = *exam.host.counters.get(told.of)?;
    // A handful may be anything.
    let few = if told.least == Some(0.0) { 0 } else { 10 };
    let share = counted as f64 / of.max(1) as f64;
    let least = told.least.or_else(|| exam.bearable_loss())?;
    (counted > few && share > least).then_some(())?;
    Some(
        Finding::new(told.check, Severity::Hint, told.title)
            .seen(format!("{} = {counted}, {} = {of}", told.counter, told.of))
            .because(
                format!("{} ({} since boot; look again after a transfer.)", told.why, percent(share)),
                told.source,
            )
            .fixed_by(look(format!("nstat -az {}", told.counter))),
    )
}
