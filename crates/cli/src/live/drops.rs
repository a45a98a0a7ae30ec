//! What the kernel dropped, and what that means for a transfer.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_live::Dropped;
use slowpath_views::quantity::counted;
use std::io::{self, Write};

/// Packets that the kernel dropped for a reason.
#[derive(Serialize, JsonSchema)]
pub struct DropResult<'a> {
    /// The kernel's name of it (`enum skb_drop_reason`), without `SKB_DROP_REASON_`.
    reason: &'a str,
    /// How many.
    packets: u64,
    /// What it means for a transfer; `null` where slowpath does not know.
    means: Option<&'static str>,
}

impl<'a> DropResult<'a> {
    pub fn all(dropped: &'a [Dropped]) -> Vec<Self> {
        let result =
            |one: &'a Dropped| Self { reason: &one.reason, packets: one.packets, means: means(&one.reason) };
        dropped.iter().map(result).collect()
    }
}

/// A line for each reason, behind what it is that dropped.
pub fn print(before: &str, dropped: &[Dropped], out: &mut impl Write) -> io::Result<()> {
    for Dropped { reason, packets } in dropped {
        write!(out, "{before} {}, {reason}", counted(*packets, "packet"))?;
        match means(reason) {
            Some(means) => writeln!(out, ": {means}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

/// What a reason means for a transfer (include/net/dropreason-core.h, and where TCP gives it).
fn means(reason: &str) -> Option<&'static str> {
    Some(match reason {
        // tcp_add_backlog
        "SOCKET_BACKLOG" => {
            "the process that had locked the socket kept it for too long; to the sender it is a loss"
        }
        // tcp_data_queue, tcp_data_queue_ofo
        "PROTO_MEM" | "SOCKET_RCVBUFF" => {
            "no room in the receive buffer, or in tcp_mem; to the sender it is a loss"
        }
        "TCP_OFO_QUEUE_PRUNE" => {
            "the receive buffer was full, and what lay beyond a hole had to go; it is sent again"
        }
        "TCP_ZEROWINDOW" => "it came while the window was closed: a reader is too slow",
        "TCP_OVERWINDOW" => "it lay beyond the window",
        "TCP_OLD_DATA" | "TCP_OFOMERGE" | "TCP_OFO_DROP" => {
            "it had come before: it was sent again needlessly"
        }
        "TCP_OLD_SEQUENCE" | "TCP_INVALID_SEQUENCE" | "TCP_INVALID_END_SEQUENCE" => {
            "it was not of the window"
        }
        "TCP_OLD_ACK" | "TCP_TOO_OLD_ACK" | "TCP_ACK_UNSENT_DATA" => {
            "an ACK that could not be right any more, or yet"
        }
        "TCP_RFC7323_PAWS" | "TCP_RFC7323_PAWS_ACK" | "TCP_RFC7323_TW_PAWS" => {
            "its timestamp was older than others"
        }
        "TCP_CSUM" | "IP_CSUM" | "SKB_CSUM" => "it was damaged on the way; to the sender it is a loss",
        "NO_SOCKET" => "nobody listens on its port, or its connection is gone",
        "TCP_LISTEN_OVERFLOW" => "the queue of connections to be accepted was full",
        "TCP_RESET" | "TCP_CLOSE" | "TCP_ABORT_ON_DATA" | "SOCKET_CLOSE" => {
            "its connection was over: no loss"
        }
        // enqueue_to_backlog
        "CPU_BACKLOG" => {
            "the CPU's input queue was full (net.core.netdev_max_backlog); to the sender it is a loss"
        }
        "QDISC_DROP" | "QDISC_OVERLIMIT" | "QDISC_CONGESTED" | "FQ_FLOW_LIMIT" | "FQ_BAND_LIMIT"
        | "CAKE_FLOOD" | "DUALPI2_STEP_DROP" => {
            "the local queue of the card was full; TCP sends it again at once or later"
        }
        "FULL_RING" => "the ring of the receiver's card was full; to the sender it is a loss",
        "NETFILTER_DROP" | "SOCKET_FILTER" | "TC_INGRESS" | "TC_EGRESS" | "XDP" | "BPF_CGROUP_EGRESS" => {
            "a rule of this host's did not let it through"
        }
        "NOMEM" | "PFMEMALLOC" => "the host had no memory for it; to the sender it is a loss",
        _ => return None,
    })
}
