//! A TCP segment between two endpoints, as small as a simulation needs it.
//!
//! Sequence numbers are [`StreamOffset`]s from the initial sequence number of their direction: either side's SYN is 0
//! and its first byte 1. The code at the edge to real packets wraps and unwraps them.

use slowpath_model::{Ecn, Flags, StreamOffset, Timestamps};

/// The MSS that every host accepts (`TCP_MSS_DEFAULT`, RFC 9293, section 3.7.1).
pub(crate) const DEFAULT_MSS: u32 = 536;
/// The TCP header without options.
pub(crate) const TCP_HEADER: u32 = 20;
/// The most that options can take (`MAX_TCP_OPTION_SPACE`, include/net/tcp.h).
pub(crate) const OPTION_SPACE: u32 = 40;

/// One segment, or a super-packet that the network device cuts into segments of [`gso_size`](Self::gso_size).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The first sequence number: of the SYN, or of the first byte.
    pub seq: StreamOffset,
    /// The next byte expected from the other side; valid only with the ACK flag.
    pub ack: StreamOffset,
    /// Bytes of payload.
    pub len: u32,
    /// The window field as on the wire, unscaled.
    pub window: u16,
    /// The urgent pointer; valid only with the URG flag.
    pub urgent: u16,
    /// Bytes of payload in each segment of a super-packet; 0 if it is not a super-packet.
    pub gso_size: u16,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// AE, CWR and ECE are a counter (RFC 9768).
    pub accurate_ecn: bool,
    /// The byte counters of Accurate ECN.
    pub ecn_bytes: Option<EcnBytes>,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// Options that only some segments have.
    pub options: TcpOptions,
}

/// Options other than timestamps. A SYN has no SACK blocks and only a SYN has the others (RFC 2018, RFC 7323, RFC
/// 7413), so they share one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpOptions {
    /// None.
    #[default]
    None,
    /// SACK blocks.
    Sack(Sack),
    /// What a SYN or SYN-ACK offers.
    Syn(SynOptions),
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, in bytes.
    pub mss: Option<u16>,
    /// Window scale: the shift count.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// TCP Fast Open: a cookie, or a request for one (RFC 7413).
    pub fast_open: Option<Cookie>,
}

/// A Fast Open cookie; an empty one requests a cookie (RFC 7413, section 4.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; 16],
    len: u8,
    /// It has the option number for experiments, which older kernels use (`TCPOPT_EXP`, RFC 6994).
    pub experimental: bool,
}

impl Cookie {
    /// A cookie of at most 16 bytes; `None` if it is longer.
    pub fn new(cookie: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes.get_mut(..cookie.len())?.copy_from_slice(cookie);
        Some(Self { bytes, len: u8::try_from(cookie.len()).ok()?, experimental: false })
    }

    /// The cookie in a received option: of an even length, from 4 bytes; or none, in a request
    /// (`tcp_parse_fastopen_option`, 6.18).
    pub fn of_option(cookie: &[u8], experimental: bool) -> Option<Self> {
        let valid = cookie.is_empty() || (cookie.len() >= 4 && cookie.len().is_multiple_of(2));
        let cookie = Self::new(cookie).filter(|_| valid)?;
        Some(cookie.with_number(experimental))
    }

    /// With the option number for experiments, or that of RFC 7413.
    #[must_use]
    pub const fn with_number(self, experimental: bool) -> Self {
        Self { experimental, ..self }
    }

    /// Whether there is none: the option requests one.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the option that carries it, without padding (`TCPOLEN_FASTOPEN_BASE`, `TCPOLEN_EXP_FASTOPEN_BASE`).
    const fn option_len(self) -> u32 {
        self.len as u32 + if self.experimental { 4 } else { 2 }
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The option of Accurate ECN: up to three counters of payload bytes that arrived with an ECN field, of 24 bits each
/// (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnBytes {
    counters: [[u8; 3]; 3],
    count: u8,
    /// The first counter is that of ECT(1), and the third that of ECT(0) (`TCPOPT_ACCECN1`); otherwise they are
    /// exchanged. CE is between them.
    pub ect1_first: bool,
}

impl EcnBytes {
    /// An option with these counters, of which the upper eight bits are left out; `None` if there are more than three.
    pub fn new(ect1_first: bool, counters: &[u32]) -> Option<Self> {
        let mut bytes = [[0; 3]; 3];
        for (place, counter) in bytes.get_mut(..counters.len())?.iter_mut().zip(counters) {
            let [_, high, middle, low] = counter.to_be_bytes();
            *place = [high, middle, low];
        }
        Some(Self { counters: bytes, count: u8::try_from(counters.len()).ok()?, ect1_first })
    }

    /// The counters, in the order of the option.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.counters[..usize::from(self.count)]
            .iter()
            .map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low]))
    }

    /// Bytes on the wire of an option with `count` counters. Of its last bytes, `shared` at most take the place of
    /// another option's padding (`tcp_options_fit_accecn`).
    pub(crate) const fn padded(count: u32, shared: u32) -> u32 {
        let len = 2 + 3 * count;
        if len % 4 > shared { len.next_multiple_of(4) } else { len - len % 4 }
    }
}

/// A range of sequence numbers, with an exclusive end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The left edge.
    pub start: StreamOffset,
    /// The right edge: the first number not in the block.
    pub end: StreamOffset,
}

/// Up to four SACK blocks in the order of the option (RFC 2018, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    // Distances from the packet's own `ack`: half the size of offsets, in a struct copied at every hop.
    blocks: [(i32, i32); 4],
    count: u8,
}

impl Sack {
    /// Adds a block of a packet that acknowledges `ack`; returns whether there was room and the distance fits.
    pub fn push(&mut self, ack: StreamOffset, block: Block) -> bool {
        let distance = |edge: StreamOffset| i32::try_from(edge.distance_from(ack)).ok();
        let (Some(start), Some(end)) = (distance(block.start), distance(block.end)) else { return false };
        let Some(slot) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *slot = (start, end);
        self.count += 1;
        true
    }

    /// The blocks of a packet that acknowledges `ack`.
    pub fn blocks(&self, ack: StreamOffset) -> impl ExactSizeIterator<Item = Block> + '_ {
        self.blocks[..usize::from(self.count)].iter().map(move |&(start, end)| Block {
            start: StreamOffset(ack.0 + i64::from(start)),
            end: StreamOffset(ack.0 + i64::from(end)),
        })
    }

    /// The first `count` blocks of a packet that acknowledges `ack`.
    #[must_use]
    pub(crate) fn first(&self, ack: StreamOffset, count: u32) -> Self {
        let mut first = Self::default();
        for block in self.blocks(ack).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            first.push(ack, block);
        }
        first
    }

    /// How many blocks there are.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Packet {
    /// A segment with only flags, sequence number and length.
    pub const fn new(flags: Flags, seq: StreamOffset, len: u32) -> Self {
        Self {
            seq,
            ack: StreamOffset(0),
            len,
            window: 0,
            urgent: 0,
            gso_size: 0,
            flags,
            ecn: Ecn::NotEct,
            accurate_ecn: false,
            ecn_bytes: None,
            timestamps: None,
            options: TcpOptions::None,
        }
    }

    /// The sequence number after it: SYN and FIN count one each (RFC 9293, section 3.4).
    pub fn end(&self) -> StreamOffset {
        let control = u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN));
        self.seq + self.len + control
    }

    /// The acknowledgment number, if it has one.
    pub fn acknowledges(&self) -> Option<StreamOffset> {
        self.flags.has(Flags::ACK).then_some(self.ack)
    }

    /// Its SACK blocks; none without the option.
    pub fn sack(&self) -> Sack {
        match self.options {
            TcpOptions::Sack(sack) => sack,
            TcpOptions::None | TcpOptions::Syn(_) => Sack::default(),
        }
    }

    /// The options of a SYN; empty for other segments.
    pub fn syn_options(&self) -> SynOptions {
        match self.options {
            TcpOptions::Syn(syn) => syn,
            TcpOptions::None | TcpOptions::Sack(_) => SynOptions::default(),
        }
    }

    /// How many segments it is on the wire.
    pub fn segments(&self) -> u32 {
        if self.gso_size == 0 { 1 } else { self.len.div_ceil(u32::from(self.gso_size)).max(1) }
    }

    /// The segments that a network device cuts it into (`tcp_gso_segment`): the first has CWR, unless that
    /// is part of a counter (`SKB_GSO_TCP_ACCECN`), the last FIN and PSH.
    pub fn cut(self) -> impl Iterator<Item = Self> {
        let size = if self.gso_size == 0 { self.len } else { u32::from(self.gso_size) };
        let count = self.segments();
        (0..count).map(move |n| {
            let before = n * size;
            let mut flags = self.flags;
            if n > 0 && !self.accurate_ecn {
                flags = flags.without(Flags::CWR);
            }
            if n + 1 < count {
                flags = flags.without(Flags::FIN.with(Flags::PSH));
            }
            let len = (self.len - before.min(self.len)).min(size);
            Self { seq: self.seq + before, len, gso_size: 0, flags, ..self }
        })
    }

    /// Bytes of TCP options on the wire, padded as Linux pads them (`tcp_options_write`, 6.18).
    pub fn option_bytes(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let (others, shared) = match self.options {
            TcpOptions::None => (0, 0),
            TcpOptions::Sack(sack) => (4 + 8 * u32::from(sack.count), 2),
            TcpOptions::Syn(syn) => {
                let stamped = self.timestamps.is_some();
                (syn.bytes(stamped), syn.shared_padding(stamped))
            }
        };
        let counted = self.ecn_bytes.map_or(0, |bytes| EcnBytes::padded(u32::from(bytes.count), shared));
        timestamps + others + counted
    }
}

impl SynOptions {
    /// Bytes of padding whose place the option of Accurate ECN can take (`tcp_synack_options_combine_saving`).
    pub(crate) const fn shared_padding(self, timestamps: bool) -> u32 {
        if self.sack_permitted && !timestamps { 2 } else { self.window_scale.is_some() as u32 }
    }

    /// Bytes on the wire. SACK-permitted takes the place of the timestamps' padding, if there are timestamps.
    pub(crate) fn bytes(self, timestamps: bool) -> u32 {
        let word = |present: bool| if present { 4 } else { 0 };
        let fast_open = self.fast_open.map_or(0, |cookie| cookie.option_len().next_multiple_of(4));
        word(self.mss.is_some())
            + word(self.window_scale.is_some())
            + word(self.sack_permitted && !timestamps)
            + fast_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is copied into and out of every queue of a simulated path.
    #[test]
    fn packet_stays_small() {
        assert_eq!(size_of::<Packet>(), 96);
    }

    #[test]
    fn gso_cuts_a_super_packet_into_segments() {
        let flags = Flags::ACK.with(Flags::PSH).with(Flags::FIN).with(Flags::CWR);
        let packet = Packet { gso_size: 1000, ..Packet::new(flags, StreamOffset(1), 2500) };
        let cut: Vec<_> = packet.cut().map(|segment| (segment.seq.0, segment.len, segment.flags)).collect();
        let (first, last) = (Flags::ACK.with(Flags::CWR), Flags::ACK.with(Flags::PSH).with(Flags::FIN));
        assert_eq!(cut, [(1, 1000, first), (1001, 1000, Flags::ACK), (2001, 500, last)]);
        assert!(Packet::new(flags, StreamOffset(1), 2500).cut().eq([Packet::new(
            flags,
            StreamOffset(1),
            2500
        )]));
    }

    #[test]
    fn sack_blocks_round_trip() {
        let ack = StreamOffset(1000);
        let blocks = [(3000, 4000), (500, 600), (5000, 5001), (2000, 2500)]
            .map(|(start, end)| Block { start: StreamOffset(start), end: StreamOffset(end) });
        let mut sack = Sack::default();
        assert!(blocks.iter().all(|block| sack.push(ack, *block)));
        assert!(!sack.push(ack, blocks[0]));
        assert!(sack.blocks(ack).eq(blocks));
    }

    #[test]
    fn option_lengths_match_linux() {
        let mut packet = Packet::new(Flags::SYN, StreamOffset(0), 0);
        packet.timestamps = Some(Timestamps { val: 1, ecr: 0 });
        packet.options = TcpOptions::Syn(SynOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            fast_open: None,
        });
        assert_eq!(packet.option_bytes(), 20);
    }
}
