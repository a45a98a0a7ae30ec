//! Memory accounting of received segments, and drops when it is exceeded (`tcp_try_rmem_schedule`,
//! net/ipv4/tcp_input.c, 6.18).

use super::memory::{Cost, PAGE, PacketMemory, ReceiveQueue};
use crate::choices::{ForwardAlloc, Pruning};
use crate::connection::Connection;
use crate::packet::{Packet, TCP_HEADER};

impl Connection {
    /// Sets how drivers lay out arriving packets from now on.
    pub fn set_packet_memory(&mut self, layout: PacketMemory) {
        self.rcv.packet_memory = layout;
    }

    /// Memory of data received and not read, by truesize (`sk_rmem_alloc`).
    pub fn receive_memory(&self) -> u32 {
        self.rcv.rmem_alloc
    }

    /// The receive buffer's size in bytes of memory (`sk_rcvbuf`).
    pub fn receive_buffer(&self) -> u32 {
        self.rcv.buffer
    }

    /// The memory charge of a received packet.
    pub(super) fn arrival_cost(&self, packet: &Packet) -> Cost {
        let headers = self.settings.ip_header + TCP_HEADER + packet.option_bytes();
        self.rcv.packet_memory.cost(packet, headers)
    }

    /// Whether the packet may be queued; makes room if necessary (`tcp_try_rmem_schedule`).
    pub(super) fn make_room(&mut self, packet: &Packet) -> bool {
        let is_room = self.can_ingest() || self.prune_queue(packet);
        if is_room {
            self.reserve(self.arrival_cost(packet).truesize);
        }
        is_room
    }

    /// Reserves memory for a packet, in whole pages: until 2.6 for all of it, later for the missing part
    /// (`tcp_mem_schedule`, `sk_rmem_schedule`). The kernel has one reserve for both directions; this one is for
    /// received packets.
    fn reserve(&mut self, truesize: u32) {
        let missing = truesize.saturating_sub(self.rcv.reserved);
        if missing > 0 {
            let asked = match self.settings.choices.forward_alloc {
                ForwardAlloc::Kept => truesize,
                ForwardAlloc::Returned => missing,
            };
            self.rcv.reserved = self.rcv.reserved.saturating_add(asked.next_multiple_of(PAGE));
        }
    }

    /// Returns reserved memory not in use, in whole pages (`tcp_mem_reclaim`, `sk_mem_reclaim`).
    pub(super) fn reclaim_memory(&mut self) {
        self.rcv.reserved %= PAGE;
    }

    /// `tcp_can_ingest`: a buffer below its limit may exceed it by one packet (6.18's stable releases dropped the
    /// stronger checks of 6.17).
    fn can_ingest(&self) -> bool {
        self.rcv.rmem_alloc <= self.rcv.buffer
    }

    /// Whether a packet fits the reserved memory: only then does the fast path take it, without checking the buffer
    /// size.
    pub(super) fn is_reserved(&self, truesize: u32) -> bool {
        truesize <= self.rcv.reserved
    }

    /// Makes room by growing the buffer, collapsing queued buffers and, last, dropping out-of-order data
    /// (`tcp_prune_queue`; `prune_queue` in 2.2); returns whether it helped.
    fn prune_queue(&mut self, packet: &Packet) -> bool {
        if self.rcv.rmem_alloc == 0 {
            return false;
        }
        self.rcv.counters.prune_called += 1;
        let pruning = self.settings.choices.pruning;
        if pruning == Pruning::Purge {
            self.purge_ofo_queue();
            return self.rcv.rmem_alloc < self.rcv.buffer.saturating_mul(2);
        }
        self.clamp_window();
        if self.can_ingest() {
            return true;
        }
        let freed = self.rcv.ofo.collapse() + self.rcv.queue.collapse(self.rcv.copied);
        self.uncharge(freed);
        if self.can_ingest() {
            return true;
        }
        match pruning {
            Pruning::Purge | Pruning::CollapseAndPurge => self.purge_ofo_queue(),
            Pruning::CollapseAndPrune => self.prune_ofo_queue(packet),
        }
        if self.can_ingest() {
            return true;
        }
        self.rcv.fast_path = false;
        false
    }

    /// Drops the out-of-order data with the highest sequence numbers, an eighth of the buffer at a time (`tcp_prune_ofo_queue`).
    fn prune_ofo_queue(&mut self, packet: &Packet) {
        let eighth = i64::from(self.rcv.buffer >> 3);
        let mut goal = eighth;
        let mut pruned = false;
        while let Some(stretch) = self.rcv.ofo.pop_from(packet.seq) {
            pruned = true;
            self.uncharge(stretch.cost.truesize);
            goal -= i64::from(stretch.cost.truesize);
            if goal <= 0 {
                if self.can_ingest() {
                    break;
                }
                goal = eighth;
            }
        }
        if pruned {
            self.renege();
        }
    }

    /// Drops all out-of-order data (`__skb_queue_purge` in `tcp_prune_queue`, until 4.8).
    fn purge_ofo_queue(&mut self) {
        if !self.rcv.ofo.is_empty() {
            let freed = self.rcv.ofo.clear();
            self.uncharge(freed);
            self.renege();
        }
    }

    /// SACKed data is gone: the peer finds out when its head is SACKed, or by its timeout (RFC 2018, section 8).
    fn renege(&mut self) {
        self.rcv.counters.ofo_pruned += 1;
        self.rcv.sacks.clear();
    }

    /// Adds to the memory in use.
    pub(super) fn charge(&mut self, truesize: u32) {
        self.rcv.rmem_alloc = self.rcv.rmem_alloc.saturating_add(truesize);
        self.rcv.reserved = self.rcv.reserved.saturating_sub(truesize);
    }

    /// Takes from the memory in use.
    pub(crate) fn uncharge(&mut self, truesize: u32) {
        self.rcv.rmem_alloc = self.rcv.rmem_alloc.saturating_sub(truesize);
        self.rcv.reserved = self.rcv.reserved.saturating_add(truesize);
        if self.settings.choices.forward_alloc == ForwardAlloc::Returned {
            self.reclaim_memory();
        }
    }

    /// Purges everything received and not read (`tcp_done`'s purge, `tcp_disconnect`).
    pub(crate) fn purge_receive_queues(&mut self) {
        self.rcv.queue = ReceiveQueue::default();
        self.rcv.ofo.clear();
        self.rcv.sacks.clear();
        self.rcv.rmem_alloc = 0;
        self.rcv.reserved = 0;
    }
}
