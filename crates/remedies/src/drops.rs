//! The effect of each kernel drop reason on a transfer.

/// What a drop reason means: `reason` is the kernel's name without `SKB_DROP_REASON_` (`enum skb_drop_reason`,
/// include/net/dropreason-core.h). `None` if slowpath does not know it.
pub fn drop_meaning(reason: &str) -> Option<&'static str> {
    Some(match reason {
        // tcp_add_backlog
        "SOCKET_BACKLOG" => {
            "the process that had locked the socket kept it for too long; the sender sees a loss"
        }
        // tcp_data_queue, tcp_data_queue_ofo
        "PROTO_MEM" | "SOCKET_RCVBUFF" => {
            "no room in the receive buffer, or in tcp_mem; the sender sees a loss"
        }
        "TCP_OFO_QUEUE_PRUNE" => {
            "the receive buffer was full, so out-of-order data was discarded; it is retransmitted"
        }
        "TCP_ZEROWINDOW" => "it arrived while the window was closed: the reader is too slow",
        "TCP_OVERWINDOW" => "it was beyond the window",
        "TCP_OLD_DATA" | "TCP_OFOMERGE" | "TCP_OFO_DROP" => {
            "its data had arrived before: a spurious retransmission or a duplicate"
        }
        "TCP_OLD_SEQUENCE" | "TCP_INVALID_SEQUENCE" | "TCP_INVALID_END_SEQUENCE" => {
            "its sequence number was outside the window"
        }
        "TCP_OLD_ACK" | "TCP_TOO_OLD_ACK" | "TCP_ACK_UNSENT_DATA" => {
            "its ACK was too old, or for data not yet sent"
        }
        "TCP_RFC7323_PAWS" | "TCP_RFC7323_PAWS_ACK" | "TCP_RFC7323_TW_PAWS" => {
            "its timestamp was older than the last one (PAWS)"
        }
        "TCP_CSUM" | "IP_CSUM" | "SKB_CSUM" => {
            "its checksum was wrong: damaged on the way; the sender sees a loss"
        }
        "NO_SOCKET" => "no socket listens on its port, or its connection is gone",
        "TCP_LISTEN_OVERFLOW" => "the accept queue was full",
        "TCP_RESET" | "TCP_CLOSE" | "TCP_ABORT_ON_DATA" | "SOCKET_CLOSE" => {
            "its connection was closed: not a loss"
        }
        // enqueue_to_backlog
        "CPU_BACKLOG" => {
            "the CPU's input queue was full (net.core.netdev_max_backlog); the sender sees a loss"
        }
        "QDISC_DROP" | "QDISC_OVERLIMIT" | "QDISC_CONGESTED" | "FQ_FLOW_LIMIT" | "FQ_BAND_LIMIT"
        | "CAKE_FLOOD" | "DUALPI2_STEP_DROP" => {
            "the local queue in front of the NIC was full; TCP retransmits it"
        }
        "FULL_RING" => "the NIC's receive ring was full; the sender sees a loss",
        "NETFILTER_DROP" | "SOCKET_FILTER" | "TC_INGRESS" | "TC_EGRESS" | "XDP" | "BPF_CGROUP_EGRESS" => {
            "a firewall rule or BPF program of this host dropped it"
        }
        "NOMEM" | "PFMEMALLOC" => "the host had no memory for it; the sender sees a loss",
        _ => return None,
    })
}
