//! One connection: which end is which, where its sequence numbers lie, and when a new one takes its place.
//!
//! Reading list: RFC 9293 (section 3.5: establishing a connection, simultaneous open, old duplicates; section 3.10.7.3,
//! what a SYN is answered with), RFC 5961 (section 4: challenge ACKs), RFC 7413 (data in a SYN).

use slowpath_model::{
    Checksum, End, Flags, IpFacts, SackBlock, SackBlocks, Segment, SeqNr, StreamOffset, Unwrapper,
};
use slowpath_wire::tcp::{Header, OptionFault, Options};

/// A number this far ahead is not followed unless the next one is as far ahead: no window is as large (RFC 7323,
/// section 2.3), so a single one is a stray, and two are a stretch of the connection that was not captured.
const FAR: i32 = 1 << 30;

/// What belongs together is nearer than this: the window of 10 Gbit/s over 200 ms, and eight times that of an untuned
/// Linux (`tcp_rmem`).
const NEAR: i64 = 1 << 28;

/// More than an initial window is not captured before the SYN-ACK: 10 segments (RFC 6928) of the largest size.
const INITIAL: i64 = 10 * 65_536;

/// One direction's sequence numbers.
#[derive(Clone, Copy, Debug)]
struct Stream {
    unwrapper: Unwrapper,
    /// The initial sequence number, if `syn`.
    isn: u32,
    /// Whether `unwrapper` has a base that holds for what comes.
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

    /// The offset of a number that the connection has reached, with so many bytes behind it.
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

    /// Takes in a number that is far ahead, or follows one that was.
    #[cold]
    fn reach_far(&mut self, nr: u32) {
        let far = self.unwrapper.ahead(SeqNr(nr)) >= FAR;
        if self.far || !far {
            self.unwrapper.advance(SeqNr(nr));
        }
        self.far = far;
    }
}

/// A connection's state: what is needed to number its bytes and to tell it from its successor.
///
/// What is seldom done takes the fields of a header that it needs: for a reference to the header, or for all of it,
/// every packet's would be written to memory, and read back in other pieces, which waits (5 ns a packet).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    streams: [Stream; 2],
    /// A SYN was answered with this acknowledgment number, which belongs to another connection between the same ends: by
    /// a challenge ACK, or by an old duplicate. Until an answer of its own comes, no base holds: numbers are placed and not
    /// followed.
    stray: Option<u32>,
    reset: bool,
    data: bool,
}

/// What a header says that a connection's start depends on.
#[derive(Clone, Copy)]
struct Start {
    from: End,
    flags: Flags,
    seq: u32,
    ack: u32,
    payload: u32,
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
            // A SYN-ACK belongs to the SYN before it; only if that one was not captured does it open anything.
            return match stream {
                Stream { syn: true, isn, .. } => over && *isn != seq,
                // It may be captured after data that follows it.
                Stream { based: true, unwrapper, .. } if self.stray.is_none() => {
                    !(-INITIAL..=0).contains(&unwrapper.place(SeqNr(seq)).0)
                }
                _ => false,
            };
        }
        if self.stray.is_some() {
            // The connection that it met is gone, and it is tried again, perhaps with another number.
            false
        } else if stream.syn {
            // A SYN with the number of the first is a retransmission, unless both sides had already said goodbye, or the other end had
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

    /// The segment that `tcp`, sent by `from`, is in this connection's streams, without its options but timestamps; and
    /// whether its data begins below what was seen before.
    #[inline(always)]
    pub(crate) fn place(&mut self, from: End, tcp: &Header<'_>, ip: IpFacts, frame: u64) -> (Segment, bool) {
        let flags = tcp.flags;
        // A reset's numbers may be anyone's guess; they are placed, but followed no further.
        let mut loose = flags.has(Flags::RST);
        if !self.streams[from.index()].based {
            loose |= self.begin(Start { from, flags, seq: tcp.seq, ack: tcp.ack, payload: tcp.payload });
        }
        let stream = &mut self.streams[from.index()];
        let is_below = tcp.payload > 0 && stream.unwrapper.ahead(SeqNr(tcp.seq)) < 0;
        let seq =
            if loose { stream.unwrapper.place(SeqNr(tcp.seq)) } else { stream.reach(tcp.seq, tcp.payload) };
        let ack = flags.has(Flags::ACK).then(|| {
            if !self.streams[(!from).index()].based {
                self.base_on_acknowledgment(from, flags, tcp.seq, tcp.ack);
            }
            let other = &mut self.streams[(!from).index()];
            if loose { other.unwrapper.place(SeqNr(tcp.ack)) } else { other.reach(tcp.ack, 0) }
        });
        self.data |= tcp.payload > 0;
        let segment = Segment {
            from,
            flags,
            seq,
            len: tcp.payload,
            ack,
            window: tcp.window,
            mss: None,
            window_scale: None,
            sack_permitted: false,
            fast_open: false,
            options_cut: false,
            timestamps: tcp.options.timestamps,
            sack: SackBlocks::NONE,
            ip,
            checksum: Checksum::Unknown,
            frame,
        };
        (segment, is_below)
    }

    /// Where a number lies that `from` is said to have sent; `None` if it is nowhere near.
    #[cold]
    pub(crate) fn locate(&self, from: End, seq: u32) -> Option<StreamOffset> {
        let Stream { unwrapper, based, .. } = &self.streams[from.index()];
        let is_near = (*based || self.stray.is_some())
            && unwrapper.ahead(SeqNr(seq)).unsigned_abs() < FAR.unsigned_abs();
        is_near.then(|| unwrapper.place(SeqNr(seq)))
    }

    /// Adds to `segment` what few segments have: options but timestamps, and what SYN, FIN and RST mean.
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

    /// Takes the first segment of an end, or any after one that belongs to another connection; says whether its numbers
    /// are not to be followed for that reason.
    #[cold]
    fn begin(&mut self, start: Start) -> bool {
        let Start { from, flags, seq, ack, .. } = start;
        let [stream, other] = [from, !from].map(|end| self.streams[end.index()]);
        match self.stray {
            Some(_) if flags.has(Flags::RST) => {}
            // Tried again with another number.
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
                // Nor does a RST show where the sequence numbers of an end are.
                stream.based = !flags.has(Flags::RST);
                if is_strange && other.syn && stream.based {
                    self.stray = Some(ack);
                    self.streams.iter_mut().for_each(|stream| stream.based = false);
                }
            }
        }
        self.stray.is_some()
    }

    /// Whether a segment acknowledges something that the other end sent, its SYN at least.
    fn may_answer(&self, Start { from, flags, ack, .. }: Start) -> bool {
        let other = &self.streams[(!from).index()];
        // The SYN itself is not among what is reached.
        let sent = other.unwrapper.ahead(SeqNr(other.isn)).wrapping_neg().wrapping_add(1);
        !flags.has(Flags::ACK) || !other.syn || (1..=sent).contains(&(ack.wrapping_sub(other.isn) as i32))
    }

    /// The first that is known of the other end is what of it is acknowledged.
    #[cold]
    fn base_on_acknowledgment(&mut self, from: End, flags: Flags, seq: u32, ack: u32) {
        if self.stray.is_some() {
            return;
        }
        let own = self.streams[from.index()];
        // In a handshake it acknowledges the other's SYN, so that it is at 1.
        let third = own.syn && seq == own.isn.wrapping_add(1) && !flags.has(Flags::RST);
        let handshake = flags.has(Flags::SYN) || third;
        let other = &mut self.streams[(!from).index()];
        other.base(ack, u32::from(handshake));
        other.based = !flags.has(Flags::RST);
    }

    /// What SYN, FIN and RST mean to the connection.
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
