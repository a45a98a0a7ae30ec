//! TCP's counters since boot (nstat(8)). A counter shows that something happened, not when: a hint, never a verdict.

use super::Examination;
use crate::finding::{Check, Finding, Severity, look};
use slowpath_remedies::percent;

/// A counter that shows a fault of this host.
struct Counter {
    counter: &'static str,
    check: Check,
    /// The counter that it is related to.
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

const COUNTERS: [Counter; 9] = [
    Counter {
        counter: "TcpExtTCPRcvQDrop",
        check: Check::ReceiveQueueDrops,
        of: IN,
        least: None,
        receiving: true,
        title: "segments were dropped because the receive queue was full",
        why: "They had to be retransmitted.",
        source: "tcp_data_queue (6.18)",
    },
    Counter {
        counter: "TcpExtTCPBacklogDrop",
        check: Check::BacklogFull,
        of: IN,
        least: None,
        receiving: true,
        title: "segments were dropped because a locked socket's backlog was full",
        why: "A reader holds its socket for long, or the buffers are small.",
        source: "tcp_add_backlog (6.18); wu, section 3",
    },
    Counter {
        counter: "TcpExtRcvPruned",
        check: Check::Pruned,
        of: IN,
        least: None,
        receiving: true,
        title: "receive queues were pruned",
        why: "A buffer was full although the data was within the advertised window: packets took more memory than \
              their payload.",
        source: "tcp_prune_queue (6.18)",
    },
    Counter {
        counter: "TcpExtTCPRcvCollapsed",
        check: Check::Collapsed,
        of: IN,
        least: Some(0.001),
        receiving: true,
        title: "receive queues were collapsed to save memory",
        why: "Collapsing takes CPU in the softirq. It means many small segments in nearly full buffers.",
        source: "tcp_collapse (6.18)",
    },
    Counter {
        counter: "TcpExtTCPZeroWindowDrop",
        check: Check::ZeroWindowDrops,
        of: IN,
        least: None,
        receiving: true,
        title: "segments arrived while the window was zero",
        why: "Readers did not keep up, and the segments were dropped.",
        source: "tcp_data_queue (6.18)",
    },
    Counter {
        counter: "TcpExtTCPMemoryPressures",
        check: Check::MemoryPressure,
        of: IN,
        least: Some(0.0),
        receiving: true,
        title: "TCP was under memory pressure",
        why: "All connections together reached the second number of tcp_mem, so windows shrank.",
        source: "tcp_enter_memory_pressure (6.18); ip-sysctl.rst, tcp_mem",
    },
    Counter {
        counter: "TcpExtTCPTimeouts",
        check: Check::Timeouts,
        of: OUT,
        least: Some(0.001),
        receiving: false,
        title: "many retransmission timeouts",
        why: "In each, a connection was idle for 200 ms or more.",
        source: "tcp_retransmit_timer (6.18); leith, section 1.2",
    },
    Counter {
        counter: "TcpExtTCPSpuriousRTOs",
        check: Check::SpuriousTimeouts,
        of: "TcpExtTCPTimeouts",
        least: Some(0.1),
        receiving: false,
        title: "part of the timeouts were spurious",
        why: "ACKs were late, not lost: receivers waited for a CPU, or the RTT jumped.",
        source: "tcp_process_loss (6.18); RFC 5682; wu, section 4",
    },
    Counter {
        counter: "TcpExtTCPRetransFail",
        check: Check::RetransmitsRefused,
        of: OUT,
        least: None,
        receiving: false,
        title: "this host refused to send retransmissions",
        why: "The qdisc or the socket's memory was full.",
        source: "__tcp_retransmit_skb (6.18); ubik V",
    },
];

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    found.extend(COUNTERS.iter().filter_map(|counter| finding(exam, counter)));
}

fn finding(exam: &Examination<'_>, counter: &Counter) -> Option<Finding> {
    let role = exam.goal.role;
    (if counter.receiving { role.receives() } else { role.sends() }).then_some(())?;
    let counted = *exam.host.counters.get(counter.counter)?;
    let of = *exam.host.counters.get(counter.of)?;
    // Small counts are not significant.
    let few = if counter.least == Some(0.0) { 0 } else { 10 };
    let share = counted as f64 / of.max(1) as f64;
    let least = counter.least.or_else(|| exam.bearable_loss())?;
    (counted > few && share > least).then_some(())?;
    Some(
        Finding::new(counter.check, Severity::Hint, counter.title)
            .seen(format!("{} = {counted}, {} = {of}", counter.counter, counter.of))
            .because(
                format!("{} ({} since boot; look again after a transfer.)", counter.why, percent(share)),
                counter.source,
            )
            .fixed_by(look(format!("nstat -az {}", counter.counter))),
    )
}
