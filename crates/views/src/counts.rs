//! Counters of the parts of a simulated host and of a path, for JSON.

use crate::mirror::mirrored;
use slowpath_path as path;
use slowpath_simulator::report;
use std::collections::BTreeMap;

mirrored! {
    /// Counters of a NIC's receive ring.
    struct ReceiveCounts of report::ReceiveCounts {
        /// Packets that arrived from the wire.
        arrived: u64,
        /// Packets for which no descriptor was free (`rx_missed_errors`).
        dropped: u64,
        /// Packets that the driver took.
        taken: u64,
        /// Interrupts raised.
        interrupts: u64,
        /// Most packets that waited at once.
        most_waiting: u64,
    }

    /// Counters of receive processing in the softirq.
    struct SoftirqCounts of report::SoftirqCounts {
        /// Packets that the driver passed on.
        received: u64,
        /// Received packets that found the CPU backlog full, or throttled.
        backlog_dropped: u64,
        /// How often the backlog was throttled.
        throttled: u64,
        /// Packets that were merged into another.
        merged: u64,
        /// Packets and merged packets that were passed to IP.
        delivered: u64,
        /// Received packets that a reader took off the ring itself (`BusyPollRxPackets`).
        busy_polled: u64,
        /// Runs of `net_rx_action` that ended with their budget (`time_squeeze`).
        squeezed: u64,
        /// How often the work was left to `ksoftirqd`.
        deferred: u64,
    }

    /// Counters of a host's sockets.
    struct SocketCounts of report::SocketCounts {
        /// Packets and merged packets that IP passed on.
        arrived: u64,
        /// Packets that TCP processed.
        processed: u64,
        /// Packets that went through the backlog.
        backlogged: u64,
        /// Packets that found the backlog full (`TCPBacklogDrop`).
        backlog_dropped: u64,
        /// Packets that went through the prequeue.
        prequeued: u64,
        /// Most packets on the backlog and the prequeue.
        most_waiting: u64,
        /// Packets that the local queue dropped.
        local_drops: u64,
        /// Packets of established connections that header prediction matched (`TCPHPHits` and `TCPHPAcks`).
        fast_path: u64,
        /// Packets of established connections that it did not match.
        slow_path: u64,
        /// How often a full receive buffer made it discard out-of-order data (`OfoPruned`).
        ofo_pruned: u64,
        /// How often it found that the peer had discarded SACKed data (`TCPSACKReneging`).
        sack_renegings: u64,
        /// Window reductions undone.
        undos: u64,
    }

    /// Counters of the transmit queue and the NIC's ring.
    struct TransmitCounts of report::TransmitCounts {
        /// Packets and super-packets that the stack handed down.
        handed: u64,
        /// Packets that found the queue full.
        dropped: u64,
        /// Packets that were given to the NIC.
        sent: u64,
        /// Packets on the wire.
        wire_packets: u64,
        /// Most packets in the queue.
        most_queued: u64,
        /// Most descriptors in use.
        most_in_ring: u64,
        /// Most memory of the packets in the queue and the ring, in bytes.
        most_memory: u64,
    }

    /// Counters of a flow's datagrams.
    struct DatagramCounts of report::DatagramCounts {
        /// Datagrams that the sender's process handed to its socket.
        sent: u64,
        /// Sent datagrams that found the sender's transmit queue full.
        dropped_below: u64,
        /// Datagrams that reached the receiver's socket.
        arrived: u64,
        /// Arrived datagrams that found the receive buffer full.
        dropped_above: u64,
        /// Datagrams that the receiver's process read.
        read: u64,
    }

    /// Packet counts of one direction of a path: `offered + duplicated + made == scheduled + dropped`.
    struct PathTotals of path::Totals {
        /// Packets that came to the path.
        offered_packets: u64,
        /// Their IP bytes.
        offered_bytes: u64,
        /// Copies that the path made.
        duplicated_packets: u64,
        /// RSTs that middleboxes sent behind packets; absent if there were none.
        #[serde(skip_serializing_if = "is_zero")]
        #[schemars(default)]
        made_packets: u64,
        /// Packets that middleboxes changed; absent if there were none.
        #[serde(skip_serializing_if = "is_zero")]
        #[schemars(default)]
        changed_packets: u64,
        /// Packets that were delivered or are in flight, copies included.
        scheduled_packets: u64,
        /// Packets dropped, by reason; a reason that is absent dropped none.
        dropped_packets: BTreeMap<LossReason, u64> => by_reason,
        /// Packets of cross traffic that came to the link; absent if there were none.
        #[serde(skip_serializing_if = "is_zero")]
        #[schemars(default)]
        cross_packets: u64,
        /// Packets of cross traffic that found the queue full; absent if there were none.
        #[serde(skip_serializing_if = "is_zero")]
        #[schemars(default)]
        cross_dropped_packets: u64,
        /// Packets delayed by reordering.
        held_back_packets: u64,
        /// Most packets in the queue, the one in service included.
        longest_queue_packets: u64,
        /// Most bytes in the queue, the packet in service included.
        longest_queue_bytes: u64,
    }

    /// Why the path lost a packet. (Why a host dropped one: [`slowpath_model::DropReason`].)
    enum LossReason of path::LossReason {
        /// The queue before the link was full.
        Queue,
        /// Independent random loss.
        Random,
        /// The bursty loss process was in its bad state.
        Burst,
        /// A script asked for it.
        Scripted,
        /// The policer had no tokens left.
        Policed,
        /// It was longer than a link's MTU.
        Mtu,
        /// It was in a super-packet that a middlebox could not forward.
        SuperPacket,
        /// It was a SYN with data.
        SynData,
        /// Its data ended beyond the window that a firewall unaware of scaling knew of.
        BeyondWindow,
        /// A middlebox had forgotten its connection.
        Forgotten,
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn by_reason(all: BTreeMap<path::LossReason, u64>) -> BTreeMap<LossReason, u64> {
    all.into_iter().map(|(reason, packets)| (reason.into(), packets)).collect()
}
