//! Packet memory, and the receive queue.

use crate::choices::{BufferMemory, OLD_SK_BUFF};
use crate::packet::Packet;
use slowpath_model::StreamOffset;
use std::collections::VecDeque;

/// `struct sk_buff`, to a cache line.
const SK_BUFF: u32 = 256;
/// `struct skb_shared_info`, to a cache line.
const SHARED_INFO: u32 = 320;
/// Buffers of small packets (`SKB_SMALL_HEAD_CACHE_SIZE`, net/core/skbuff.c).
const SMALL_HEAD: u32 = 576;
/// Headroom that drivers leave before the packet (`NET_SKB_PAD`).
const PAD: u32 = 64;
/// The part of a longer packet that tun stores with its headers (`SKB_MAX_HEAD`); the rest is in pages.
const LINEAR: u32 = PAGE - PAD - SHARED_INFO;
/// The largest page fragment of a sender (`SKB_FRAG_PAGE_ORDER`: 32 KiB).
const SENDER_PAGES: u32 = 32_768;
/// Page fragments per buffer (`MAX_SKB_FRAGS`).
const MAX_FRAGS: u16 = 17;
/// The unit in which memory is reserved.
pub(super) const PAGE: u32 = 4096;
/// Payload of a buffer made by collapsing: one page (`SKB_MAX_ORDER(0, 0)` in `tcp_collapse`).
const COLLAPSED: u32 = PAGE - SHARED_INFO;

/// How the driver lays out arriving packets in memory, and so what they are charged (`truesize`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketMemory {
    /// Each segment in its own buffer from `kmalloc` (tun, and drivers that copy or allocate by size).
    #[default]
    Linear,
    /// In the sender's own buffers, charged by the byte (veth and loopback with super-packets).
    SenderPages,
    /// Each segment in a buffer for a whole frame, of the size that the driver requested; the allocator's rounding does
    /// not count ([`BufferMemory::AsAsked`](BufferMemory)).
    Frames(u32),
    /// Each segment in a page fragment of this size, headers pulled into a small buffer (drivers with page rings: 2048
    /// or 4096).
    Ring(u32),
}

/// The memory of a buffer, and what may still be merged with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Memory (`truesize`).
    pub truesize: u32,
    /// Number of page fragments (`nr_frags`).
    frags: u16,
    /// Whether the payload is in the linear part, and can only be merged by copying.
    linear: bool,
    /// Room after its payload (`skb_tailroom`).
    room: u32,
    /// The remaining charge when it is merged with the buffer before (`skb_try_coalesce`, `delta`).
    merged: u32,
}

impl Cost {
    /// Merges the following buffer of `len` bytes into this one if possible; returns the memory that adds
    /// (`skb_try_coalesce`).
    pub fn absorb(&mut self, len: u32, next: Self) -> Option<u32> {
        if len <= self.room {
            self.room -= len;
            return Some(0);
        }
        if next.linear || self.frags.saturating_add(next.frags) > MAX_FRAGS {
            return None;
        }
        // After page fragments there is no room to copy to.
        self.room = 0;
        self.frags += next.frags;
        self.truesize = self.truesize.saturating_add(next.merged);
        self.merged = self.merged.saturating_add(next.merged);
        Some(next.merged)
    }

    /// Copies `bytes` of payload to new buffers if that saves memory; returns how much it saves.
    pub fn collapse(&mut self, bytes: u32) -> u32 {
        let collapsed = bytes.div_ceil(COLLAPSED).saturating_mul(PAGE + SK_BUFF).min(self.truesize);
        let freed = self.truesize - collapsed;
        if freed > 0 {
            *self = Self { truesize: collapsed, frags: 0, linear: true, room: 0, merged: collapsed };
        }
        freed
    }
}

impl PacketMemory {
    /// How the drivers of a kernel lay out packets of up to `mtu` bytes; `merged`: whether GRO merges a flow's packets
    /// before TCP.
    pub fn of_kernel(memory: BufferMemory, mtu: u32, merged: bool) -> Self {
        // The frame's header and checksum, and what dev_alloc_skb and the driver add so that IP's header is aligned.
        const AROUND: u32 = 14 + 4 + 16 + 2;
        // SMP_CACHE_BYTES of a Pentium III.
        const CACHE_LINE: u32 = 32;
        match memory {
            BufferMemory::AsAsked => Self::Frames(mtu.saturating_add(AROUND).next_multiple_of(CACHE_LINE)),
            // Drivers with GRO have page rings, with half a page per fragment (ixgbe, 6.18).
            BufferMemory::AsAllocated if merged => Self::Ring(2048),
            BufferMemory::AsAllocated => Self::Linear,
        }
    }

    /// The memory of a segment with `len` bytes of payload and `headers` bytes of headers that is not merged.
    pub fn of_segment(self, len: u32, headers: u32) -> u32 {
        self.cost(&Packet::new(slowpath_model::Flags::ACK, StreamOffset(1), len), headers).truesize
    }

    /// The memory of a packet with `headers` bytes of headers.
    pub(crate) fn cost(self, packet: &Packet, headers: u32) -> Cost {
        let segments = packet.segments();
        match self {
            Self::Linear if segments == 1 && headers.saturating_add(packet.len) > LINEAR => {
                let (frags, pages) = pages_for(headers.saturating_add(packet.len) - LINEAR);
                let truesize = pages.saturating_add(PAGE + SK_BUFF);
                Cost { truesize, frags, linear: true, room: 0, merged: truesize }
            }
            Self::Linear => {
                let payload = if packet.gso_size == 0 { packet.len } else { u32::from(packet.gso_size) };
                let head = linear_head(headers.saturating_add(payload));
                let used = PAD.saturating_add(headers).saturating_add(payload);
                let room = if segments == 1 { (head - SHARED_INFO).saturating_sub(used) } else { 0 };
                let truesize = (head + SK_BUFF).saturating_mul(segments);
                Cost { truesize, frags: 0, linear: true, room, merged: truesize }
            }
            Self::Frames(frame) => {
                let payload = if packet.gso_size == 0 { packet.len } else { u32::from(packet.gso_size) };
                // Loopback delivers packets that no driver has a buffer for.
                let head = frame.max(headers.saturating_add(payload));
                let truesize = head.saturating_add(OLD_SK_BUFF).saturating_mul(segments);
                Cost { truesize, frags: 0, linear: true, room: 0, merged: truesize }
            }
            Self::SenderPages => {
                let pieces = packet.len.div_ceil(SENDER_PAGES);
                let truesize = packet.len.saturating_add(SMALL_HEAD + SK_BUFF);
                Cost { truesize, frags: saturate(pieces), linear: false, room: 0, merged: packet.len }
            }
            Self::Ring(piece) => {
                let pages = segments.saturating_mul(piece).max(packet.len);
                let truesize = pages.saturating_add(SMALL_HEAD + SK_BUFF);
                Cost { truesize, frags: saturate(segments), linear: false, room: 0, merged: pages }
            }
        }
    }
}

/// The page fragments for what does not fit into the page with the headers, of up to eight pages, each the largest
/// power of two that the rest fills (`alloc_skb_with_frags`); their number and bytes.
fn pages_for(bytes: u32) -> (u16, u32) {
    const LARGEST: u32 = 8 * PAGE;
    let (mut frags, mut pages) = (bytes / LARGEST, bytes - bytes % LARGEST);
    let mut rest = (bytes % LARGEST).next_multiple_of(PAGE);
    while rest > 0 {
        // The largest power of two in the rest.
        let piece = 1 << rest.ilog2();
        frags += 1;
        pages = pages.saturating_add(piece);
        rest -= piece;
    }
    (saturate(frags), pages)
}

fn saturate(pieces: u32) -> u16 {
    u16::try_from(pieces).unwrap_or(u16::MAX)
}

/// The buffer for a packet of this size (`kmalloc_reserve`): from the small cache, or the next power of two.
fn linear_head(bytes: u32) -> u32 {
    let wanted = PAD.saturating_add(bytes).min(1 << 30).next_multiple_of(64) + SHARED_INFO;
    if wanted <= SMALL_HEAD { SMALL_HEAD } else { wanted.next_power_of_two() }
}

/// A buffer of the receive queue.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    end: StreamOffset,
    cost: Cost,
    fin: bool,
}

/// The receive queue (`sk_receive_queue`), by its buffers.
#[derive(Debug, Default)]
pub(crate) struct ReceiveQueue {
    buffers: VecDeque<Buffer>,
}

impl ReceiveQueue {
    /// Whether the queue is empty, of FINs too.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The end of the buffer that holds `at`.
    pub fn buffer_end(&self, at: StreamOffset) -> Option<StreamOffset> {
        self.buffers.iter().map(|buffer| buffer.end).find(|end| *end > at)
    }

    /// Appends a segment; returns its charge, which is less if it continues the last buffer and is merged with it
    /// (`tcp_queue_rcv`, `tcp_try_coalesce`).
    pub fn push(&mut self, start: StreamOffset, end: StreamOffset, fin: bool, cost: Cost) -> u32 {
        let len = u32::try_from(end.distance_from(start)).unwrap_or(u32::MAX).saturating_sub(u32::from(fin));
        if let Some(last) = self.buffers.back_mut().filter(|last| !last.fin && last.end == start)
            && let Some(charge) = last.cost.absorb(len, cost)
        {
            last.end = end;
            last.fin = fin;
            return charge;
        }
        self.buffers.push_back(Buffer { end, cost, fin });
        cost.truesize
    }

    /// Frees the buffers read to their end; returns their memory.
    pub fn release(&mut self, copied: StreamOffset) -> u32 {
        let mut freed = 0_u32;
        while let Some(first) = self.buffers.front()
            && first.end <= copied
        {
            freed = freed.saturating_add(first.cost.truesize);
            self.buffers.pop_front();
        }
        freed
    }

    /// Copies payload from partly filled buffers to full ones (`tcp_collapse`); returns the memory freed.
    pub(super) fn collapse(&mut self, copied: StreamOffset) -> u32 {
        let mut start = copied;
        let mut freed = 0;
        for buffer in &mut self.buffers {
            let bytes = u32::try_from(buffer.end.distance_from(start).max(0)).unwrap_or(u32::MAX);
            freed += buffer.cost.collapse(bytes);
            start = buffer.end;
        }
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Flags;

    fn packet(len: u32, gso_size: u16) -> Packet {
        Packet { gso_size, ..Packet::new(Flags::ACK, StreamOffset(1), len) }
    }

    /// What `SO_MEMINFO` shows of one unread segment on a tun device.
    #[test]
    fn truesize_matches_so_meminfo_on_a_tun_device() {
        assert_eq!(PacketMemory::Linear.cost(&packet(1000, 0), 40).truesize, 2304);
        assert_eq!(PacketMemory::Linear.cost(&packet(1448, 0), 52).truesize, 2304);
        assert_eq!(PacketMemory::Linear.cost(&packet(1, 0), 40).truesize, 832);
        assert_eq!(PacketMemory::Linear.cost(&packet(14480, 1448), 52).truesize, 23_040);
    }

    /// A full segment is charged so that payload is five sixths of its memory (weigle's and wu's kernels), which allows
    /// three quarters of a buffer as window; a small one takes as much.
    #[test]
    fn truesize_of_frames_is_the_requested_size() {
        let frames = PacketMemory::Frames(1536);
        assert_eq!(frames.cost(&packet(1448, 0), 52).truesize, 1712);
        assert_eq!(frames.cost(&packet(1, 0), 52).truesize, 1712);
        assert_eq!(frames.cost(&packet(8948, 0), 52).truesize, 9176);
    }

    #[test]
    fn small_segments_are_coalesced() {
        let mut queue = ReceiveQueue::default();
        let mut push = |start, len| {
            let cost = PacketMemory::Linear.cost(&packet(len, 0), 40);
            queue.push(StreamOffset(start), StreamOffset(start) + len, false, cost)
        };
        assert_eq!([push(1, 1), push(2, 100), push(102, 100)], [832, 0, 832]);
        assert_eq!(queue.release(StreamOffset(150)), 832);
        assert_eq!(queue.release(StreamOffset(202)), 832);
        assert!(queue.is_empty());
    }

    #[test]
    fn truesize_of_a_huge_length_does_not_overflow() {
        for layout in [
            PacketMemory::Linear,
            PacketMemory::SenderPages,
            PacketMemory::Frames(1536),
            PacketMemory::Ring(4096),
        ] {
            for gso in [0, 1, u16::MAX] {
                assert!(layout.cost(&packet(u32::MAX, gso), u32::MAX).truesize > 1 << 20);
            }
        }
    }
}
