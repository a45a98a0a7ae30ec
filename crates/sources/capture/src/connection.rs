//! One connection: which end is which, where its sequence numbers lie, and when a new one takes its place.

use crate::tcp::Header;
use slowpath_model::{End, Flags, SackBlock, SackBlocks, Segment, SeqNr, StreamOffset, Unwrapper};

/// A number this far ahead is not followed unless the next one is as far ahead: no window is as large (RFC 7323,
/// section 2.3), so a single one is a stray, and two are a stretch of the connection that was not captured.
const FAR: i64 = 1 << 30;

/// One direction's sequence numbers.
#[derive(Clone, Copy, Debug)]
struct Stream {
    unwrapper: Unwrapper,
    /// The initial sequence number, if `syn`.
    isn: u32,
    /// Whether `unwrapper` has a base.
    based: bool,
    /// Whether `isn` is known: from the SYN, or from the SYN-ACK that acknowledged it.
    syn: bool,
    /// Whether the last number was [`FAR`] ahead.
    far: bool,
    /// Whether its FIN was seen.
    fin: bool,
}

impl Stream {
    const UNKNOWN: Self = Self {
        unwrapper: Unwrapper::starting_at(SeqNr(0)),
        isn: 0,
        based: false,
        syn: false,
        far: false,
        fin: false,
    };

    /// Puts `nr` at `offset`, which is 0 or 1.
    fn base(&mut self, nr: u32, offset: u32) {
        self.unwrapper = Unwrapper::starting_at(SeqNr(nr.wrapping_sub(offset)));
        self.unwrapper.advance(SeqNr(nr));
        self.based = true;
    }

    /// The offset of a number that the connection has reached.
    #[inline(always)]
    fn reach(&mut self, nr: u32) -> StreamOffset {
        let offset = self.unwrapper.place(SeqNr(nr));
        if self.far || offset.distance_from(self.unwrapper.furthest()) >= FAR {
            self.reach_far(nr);
        } else {
            self.unwrapper.advance(SeqNr(nr));
        }
        offset
    }

    /// The same where the number, or the one before it, is far ahead.
    #[cold]
    fn reach_far(&mut self, nr: u32) {
        let place = self.unwrapper.place(SeqNr(nr));
        let far = place.distance_from(self.unwrapper.furthest()) >= FAR;
        if self.far || !far {
            self.unwrapper.advance(SeqNr(nr));
        }
        self.far = far;
    }
}

/// A connection's state: what is needed to number its bytes and to tell it from its successor.
///
/// What is seldom done takes a header by value: a reference would have every packet's header written to memory for
/// it, and read back in other pieces, which waits (5 ns a packet).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    streams: [Stream; 2],
    reset: bool,
    data: bool,
}

impl Connection {
    pub(crate) const NEW: Self = Self { streams: [Stream::UNKNOWN; 2], reset: false, data: false };

    /// Whether `tcp`, sent by `from`, opens another connection between the same ends.
    #[inline]
    pub(crate) fn is_replaced_by(&self, from: End, tcp: &Header<'_>) -> bool {
        tcp.flags.has(Flags::SYN) && self.syn_replaces(from, *tcp)
    }

    #[cold]
    fn syn_replaces(&self, from: End, tcp: Header<'_>) -> bool {
        let stream = &self.streams[from.index()];
        let [a, b] = &self.streams;
        let over = self.reset || a.fin || b.fin;
        if tcp.flags.has(Flags::ACK) {
            // A SYN-ACK belongs to the SYN before it; only if that one was not captured does it open anything.
            return over && stream.syn && stream.isn != tcp.seq;
        }
        if stream.syn {
            // The same number again is a retransmission, unless both sides had already said goodbye.
            stream.isn != tcp.seq || (a.fin && b.fin)
        } else if stream.based {
            // A SYN captured after the data that it precedes is at -1.
            stream.unwrapper.place(SeqNr(tcp.seq)) != StreamOffset(-1)
        } else {
            over || self.data
        }
    }

    /// Places `tcp` in this connection's streams and copies what it says into `segment`, which is empty but for
    /// its sender and flags. Filled in place, since it is large.
    #[inline(always)]
    pub(crate) fn place(&mut self, tcp: &Header<'_>, segment: &mut Segment) {
        let (from, flags) = (segment.from, tcp.flags);
        let stream = &mut self.streams[from.index()];
        if !stream.based {
            stream.base(tcp.seq, 0);
        }
        // A reset's numbers may be anyone's guess; they are placed, but followed no further.
        let reset = flags.has(Flags::RST);
        segment.seq = if reset { stream.unwrapper.place(SeqNr(tcp.seq)) } else { stream.reach(tcp.seq) };
        segment.len = tcp.payload;
        if flags.has(Flags::ACK) {
            segment.ack = Some(self.acknowledge(from, tcp, reset));
        }
        segment.window = tcp.window;
        segment.timestamps = tcp.options.timestamps;
        if flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            self.control(from, *tcp, segment);
        }
        self.data |= tcp.payload > 0;
        if !tcp.options.sack.is_empty() {
            segment.sack = self.sack(from, *tcp);
        }
    }

    #[inline(always)]
    fn acknowledge(&mut self, from: End, tcp: &Header<'_>, reset: bool) -> StreamOffset {
        if !self.streams[(!from).index()].based {
            self.base_on_acknowledgment(from, *tcp, reset);
        }
        let other = &mut self.streams[(!from).index()];
        if reset { other.unwrapper.place(SeqNr(tcp.ack)) } else { other.reach(tcp.ack) }
    }

    /// The first that is known of the other end is what of it is acknowledged.
    #[cold]
    fn base_on_acknowledgment(&mut self, from: End, tcp: Header<'_>, reset: bool) {
        let own = self.streams[from.index()];
        // In a handshake it acknowledges the other's SYN, so that it is at 1.
        let handshake =
            tcp.flags.has(Flags::SYN) || (own.syn && tcp.seq == own.isn.wrapping_add(1) && !reset);
        self.streams[(!from).index()].base(tcp.ack, u32::from(handshake));
    }

    /// What SYN, FIN and RST mean to the connection.
    #[cold]
    fn control(&mut self, from: End, tcp: Header<'_>, segment: &mut Segment) {
        let flags = tcp.flags;
        if flags.has(Flags::SYN) {
            segment.mss = tcp.options.mss;
            segment.window_scale = tcp.options.window_scale;
            segment.sack_permitted = tcp.options.sack_permitted;
            let stream = &mut self.streams[from.index()];
            (stream.isn, stream.syn) = (tcp.seq, true);
            let other = &mut self.streams[(!from).index()];
            if flags.has(Flags::ACK) && !other.syn {
                (other.isn, other.syn) = (tcp.ack.wrapping_sub(1), true);
            }
        }
        self.streams[from.index()].fin |= flags.has(Flags::FIN);
        self.reset |= flags.has(Flags::RST);
    }

    #[cold]
    fn sack(&mut self, from: End, tcp: Header<'_>) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let other = &mut self.streams[(!from).index()];
        for (start, end) in tcp.options.sack_edges() {
            // Only without an acknowledgment, which no stack sends.
            if !other.based {
                other.base(start, 0);
            }
            let place = |nr| other.unwrapper.place(SeqNr(nr));
            blocks.push(SackBlock { start: place(start), end: place(end) });
        }
        blocks
    }
}
