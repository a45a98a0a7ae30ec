//! One connection: which end is which, its sequence numbers, and when a new one replaces it.
//!
//! Reading list: RFC 9293 (section 3.5: establishing a connection, simultaneous open, old duplicates; section 3.10.7.3,
//! answers to a SYN), RFC 5961 (section 4: challenge ACKs), RFC 7413 (data in a SYN).

use slowpath_model::{End, Flags, IpFacts, SackBlock, SackBlocks, Segment, SeqNr, StreamOffset, Unwrapper};
use slowpath_wire::tcp::{Header, OptionFault, Options};

/// A number this far ahead is not followed unless the next one is as far ahead: no window is as large (RFC 7323,
/// section 2.3), so a single one is a stray, and two show that part of the connection was not captured.
const FAR: i32 = 1 << 30;

/// Numbers of one connection are closer than this: the window of 10 Gbit/s over 200 ms, and eight times that of a
/// default Linux (`tcp_rmem`).
const NEAR: i64 = 1 << 28;

/// At most an initial window is captured before the SYN-ACK: 10 segments (RFC 6928) of the largest size.
const INITIAL: i64 = 10 * 65_536;

/// One direction's sequence numbers.
#[derive(Clone, Copy, Debug)]
struct Stream {
    unwrapper: Unwrapper,
    /// The initial sequence number, if `syn`.
    isn: u32,
    /// Whether `unwrapper` has a valid base.
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

    /// Sets the base: `nr` is at `offset`, which is 0 or 1.
    fn base(&mut self, nr: u32, offset: u32) {
        self.unwrapper = Unwrapper::starting_at(SeqNr(nr.wrapping_sub(offset)));
        self.unwrapper.advance(SeqNr(nr));
        self.based = true;
    }

    /// The offset of a number that the connection has reached, with `bytes` bytes after it.
    #[inline(always)]
    fn reach(&mut self, nr: u32, bytes: u32) -> StreamOffset {
        let offset = self.unwrapper.place(SeqNr(nr));
        if self.far || self.unwrapper.ahead(SeqNr(nr)) >= FAR {
            self.reach_far(nr);
        } else {
            self.unwrapper.advance(SeqNr(nr.wrapping_add(bytes)));
        }
        offset
    }

    /// Handles a number that is far ahead, or follows one that was.
    #[cold]
    fn reach_far(&mut self, nr: u32) {
        let far = self.unwrapper.ahead(SeqNr(nr)) >= FAR;
        if self.far || !far {
            self.unwrapper.advance(SeqNr(nr));
        }
        self.far = far;
    }
}

/// A connection's state: what is needed to number its bytes and to distinguish it from its successor.
///
/// Rarely called functions take only the header fields that they need: passing a reference to the header, or all of it,
/// would write every packet's header to memory and reload it in other pieces, which stalls (5 ns per packet).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    streams: [Stream; 2],
    /// A SYN was answered with this acknowledgment number, which belongs to another connection between the same ends:
    /// by a challenge ACK, or by an old duplicate. Until its own answer arrives, no base is valid: numbers are placed
    /// and not followed.
    stray: Option<u32>,
    reset: bool,
    data: bool,
}

/// The header fields that a connection's start depends on.
#[derive(Clone, Copy)]
struct Start {
    from: End,
    flags: Flags,
    seq: u32,
    ack: u32,
    payload: u32,
}

/// The segment of `tcp`, with timestamps as the only option, before its sender and its place are known.
#[inline(always)]
pub(crate) fn unplaced(tcp: &Header<'_>, ip: IpFacts, frame: u64) -> Segment {
    Segment {
        window: tcp.window,
        timestamps: tcp.options.timestamps,
        ip,
        frame,
        ..Segment::new(End::A, tcp.flags, StreamOffset(0), tcp.payload)
    }
}

impl Connection {
    pub(crate) const NEW: Self =
        Self { streams: [Stream::UNKNOWN; 2], stray: None, reset: false, data: false };

    /// Whether `tcp`, sent by `from`, opens another connection between the same ends.
    #[inline]
    pub(crate) fn is_replaced_by(&self, from: End, tcp: &Header<'_>) -> bool {
        tcp.flags.has(Flags::SYN) && self.syn_replaces(from, tcp.flags, tcp.seq)
    }

    #[cold]
    fn syn_replaces(&self, from: End, flags: Flags, seq: u32) -> bool {
        let stream = &self.streams[from.index()];
        let [a, b] = &self.streams;
        let over = self.reset || a.fin || b.fin;
        if flags.has(Flags::ACK) {
            // A SYN-ACK belongs to the SYN before it; it opens a connection only if that SYN was not captured.
            return match stream {
                Stream { syn: true, isn, .. } => over && *isn != seq,
                // It may be captured after the data that follows it.
                Stream { based: true, unwrapper, .. } if self.stray.is_none() => {
                    !(-INITIAL..=0).contains(&unwrapper.place(SeqNr(seq)).0)
                }
                _ => false,
            };
        }
        if self.stray.is_some() {
            // The old connection is gone, and the open is retried, perhaps with another number.
            false
        } else if stream.syn {
            // A SYN with the number of the first is a retransmission, unless both sides had already closed, or the
            // other end had refused the first one.
            // refused the first one.
            let refused = self.reset && !self.streams[(!from).index()].syn;
            stream.isn != seq || (a.fin && b.fin) || refused
        } else if stream.based {
            // A SYN captured after the data that it precedes is at -1.
            stream.unwrapper.place(SeqNr(seq)) != StreamOffset(-1)
        } else {
            over || self.data
        }
    }

    /// Places `segment`, of `tcp`, in this connection's streams; returns whether its data begins below the highest seen
    /// before.
    #[inline(always)]
    pub(crate) fn place(&mut self, tcp: &Header<'_>, segment: &mut Segment) -> bool {
        let (from, flags) = (segment.from, tcp.flags);
        // A RST's numbers may be guesses; they are placed, but not followed.
        let mut loose = flags.has(Flags::RST);
        if !self.streams[from.index()].based {
            loose |= self.begin(Start { from, flags, seq: tcp.seq, ack: tcp.ack, payload: tcp.payload });
        }
        let stream = &mut self.streams[from.index()];
        let is_below = tcp.payload > 0 && stream.unwrapper.ahead(SeqNr(tcp.seq)) < 0;
        segment.seq =
            if loose { stream.unwrapper.place(SeqNr(tcp.seq)) } else { stream.reach(tcp.seq, tcp.payload) };
        segment.ack = flags.has(Flags::ACK).then(|| {
            if !self.streams[(!from).index()].based {
                self.base_on_acknowledgment(from, flags, tcp.seq, tcp.ack);
            }
            let other = &mut self.streams[(!from).index()];
            if loose { other.unwrapper.place(SeqNr(tcp.ack)) } else { other.reach(tcp.ack, 0) }
        });
        self.data |= tcp.payload > 0;
        is_below
    }

    /// The offset of a number that `from` is said to have sent; `None` if it is far from its stream.
    #[cold]
    pub(crate) fn locate(&self, from: End, seq: u32) -> Option<StreamOffset> {
        let Stream { unwrapper, based, .. } = &self.streams[from.index()];
        let is_near = (*based || self.stray.is_some())
            && unwrapper.ahead(SeqNr(seq)).unsigned_abs() < FAR.unsigned_abs();
        is_near.then(|| unwrapper.place(SeqNr(seq)))
    }

    /// Adds rare parts to `segment`: options other than timestamps, and the effects of SYN, FIN and RST.
    #[inline(always)]
    pub(crate) fn add_seldom(&mut self, tcp: &Header<'_>, segment: &mut Segment) {
        if tcp.flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            if tcp.flags.has(Flags::SYN) {
                segment.mss = tcp.options.mss;
                segment.window_scale = tcp.options.window_scale;
                segment.sack_permitted = tcp.options.sack_permitted;
                segment.fast_open = tcp.options.fast_open;
            }
            self.control(segment.from, tcp.flags, tcp.seq, tcp.ack);
        }
        segment.options_cut = tcp.options.fault == OptionFault::Cut;
        if !tcp.options.sack.is_empty() {
            segment.sack = self.sack(segment.from, tcp.options);
        }
    }

    /// Handles the first segment of an end, or any after one of another connection; returns whether its numbers must
    /// therefore not be followed.
    #[cold]
    fn begin(&mut self, start: Start) -> bool {
        let Start { from, flags, seq, ack, .. } = start;
        let [stream, other] = [from, !from].map(|end| self.streams[end.index()]);
        match self.stray {
            Some(_) if flags.has(Flags::RST) => {}
            // Retried with another number.
            Some(_) if flags.has(Flags::SYN) && stream.syn && stream.isn != seq => {
                *self = Self::NEW;
                self.streams[from.index()].base(seq, 0);
            }
            Some(_) if flags.has(Flags::SYN) && stream.syn => {}
            Some(_) if flags.has(Flags::SYN) && self.may_answer(start) => {
                *self = Self { streams: self.streams, ..Self::NEW };
                self.streams[(!from).index()].based = true;
                self.streams[from.index()].base(seq, 0);
            }
            Some(_) if flags.has(Flags::SYN) => self.stray = Some(ack),
            // It has an answer that was not captured.
            Some(_) if stream.syn => {
                self.stray = None;
                self.streams[from.index()].based = true;
            }
            Some(stray) if ack != stray => {
                self.stray = None;
                self.streams.iter_mut().for_each(|stream| stream.based = true);
                if self.may_answer(start) {
                    self.streams[from.index()].base(seq, 0);
                }
            }
            Some(_) => {}
            None => {
                let is_strange = !self.may_answer(start) && start.payload == 0;
                let stream = &mut self.streams[from.index()];
                stream.base(seq, 0);
                // A RST does not show an end's sequence numbers either.
                stream.based = !flags.has(Flags::RST);
                if is_strange && other.syn && stream.based {
                    self.stray = Some(ack);
                    self.streams.iter_mut().for_each(|stream| stream.based = false);
                }
            }
        }
        self.stray.is_some()
    }

    /// Whether a segment acknowledges something that the other end sent, at least its SYN.
    fn may_answer(&self, Start { from, flags, ack, .. }: Start) -> bool {
        let other = &self.streams[(!from).index()];
        // The SYN itself does not count as reached.
        let sent = other.unwrapper.ahead(SeqNr(other.isn)).wrapping_neg().wrapping_add(1);
        !flags.has(Flags::ACK) || !other.syn || (1..=sent).contains(&(ack.wrapping_sub(other.isn) as i32))
    }

    /// The first known position of the other end is what is acknowledged of it.
    #[cold]
    fn base_on_acknowledgment(&mut self, from: End, flags: Flags, seq: u32, ack: u32) {
        if self.stray.is_some() {
            return;
        }
        let own = self.streams[from.index()];
        // In a handshake it acknowledges the other's SYN, so it is at 1.
        let third = own.syn && seq == own.isn.wrapping_add(1) && !flags.has(Flags::RST);
        let handshake = flags.has(Flags::SYN) || third;
        let other = &mut self.streams[(!from).index()];
        other.base(ack, u32::from(handshake));
        other.based = !flags.has(Flags::RST);
    }

    /// The effects of SYN, FIN and RST on the connection.
    #[cold]
    fn control(&mut self, from: End, flags: Flags, seq: u32, ack: u32) {
        let answers_another = self.stray == Some(ack) && flags.has(Flags::ACK);
        if flags.has(Flags::SYN) && !answers_another {
            let stream = &mut self.streams[from.index()];
            (stream.isn, stream.syn) = (seq, true);
            let other = &mut self.streams[(!from).index()];
            if flags.has(Flags::ACK) && !other.syn {
                (other.isn, other.syn) = (ack.wrapping_sub(1), true);
            }
        }
        self.streams[from.index()].fin |= flags.has(Flags::FIN);
        self.reset |= flags.has(Flags::RST);
    }

    #[cold]
    fn sack(&mut self, from: End, options: Options<'_>) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let has_stray = self.stray.is_some();
        let other = &mut self.streams[(!from).index()];
        for (start, end) in options.sack_edges() {
            // Only without an acknowledgment, which no stack sends.
            if !other.based && !has_stray {
                other.base(start, 0);
            }
            let (ahead, length) = (other.unwrapper.ahead(SeqNr(end)), end.wrapping_sub(start) as i32);
            if length > 0 && i64::from(length) <= NEAR && i64::from(ahead).abs() <= NEAR {
                let place = |nr| other.unwrapper.place(SeqNr(nr));
                blocks.push(SackBlock { start: place(start), end: place(end) });
            } else {
                blocks.push_outside();
            }
        }
        blocks
    }
}
