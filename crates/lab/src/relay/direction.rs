//! One direction of the relay: frames in, packets through the path, frames out.

use super::Way;
use super::arena::Arena;
use super::cut::Super;
use super::end::End;
use super::made;
use super::pending::Pending;
use super::report::{DirectionReport, Fate, Fault, Fullness, Lateness};
use super::ring::{Arrival, Output};
use super::vnet::Vnet;
use crate::frame::{self, Located, Parsed, Streams, Tcp};
use crate::path::action::{Answer, Changes};
use crate::path::link::{Link, LinkConfig, QueueLimit};
use crate::path::{Packet, Path, StreamPart, Verdict};
use slowpath_model::{Bytes, Ecn, Histogram, Instant, Rate, StreamOffset};
use slowpath_wire::tcp;
use std::time::Duration;

const ADDRESSES_BYTES: usize = 12;
const TAG_BYTES: usize = 4;
const ETHERNET_BYTES: usize = 14;

/// The description of a frame in the arena.
#[derive(Clone, Copy, Debug)]
struct Known {
    vnet: Vnet,
    /// How it is cut; `None` if it is one packet.
    shape: Option<Super>,
}

/// The effect of a packet on the other direction.
#[derive(Debug)]
pub enum ToOther {
    /// It passed.
    Passed(Instant, Packet),
    /// It is answered by this frame.
    Answer(Instant, Vec<u8>),
}

/// A whole frame that the path created.
#[derive(Debug)]
struct Made {
    due_ns: u64,
    copies: u32,
    frame: Vec<u8>,
}

/// One direction of the relay.
#[derive(Debug)]
pub struct Direction {
    pub input: End,
    output: Output,
    /// The sending host's network card, which sends one packet after the other.
    card: Option<Link>,
    path: Path,
    joined_within_ns: u64,
    /// Answers for the other direction, and packets while that listens.
    to_other: Vec<ToOther>,
    /// The other direction listens.
    pub is_overheard: bool,
    /// Packets that the path created from the current frame.
    made: Vec<Made>,
    arena: Arena<Known>,
    pending: Pending,
    late: Histogram,
    read_in_a_row: u64,
    fullest: Fullness,
    delivered_frames: u64,
    report: DirectionReport,
}

impl Direction {
    pub fn new(input: End, output: Output, way: Way) -> Self {
        let card = way.card_bit_per_s.map(|rate| LinkConfig {
            rate: Rate::bits_per_second(rate),
            // Packets that wait for the card wait in the host.
            queue: QueueLimit::Packets(u32::MAX),
            stalls: Vec::new(),
        });
        Self {
            input,
            output,
            card: card.as_ref().map(Link::new),
            path: way.path,
            joined_within_ns: way.joined_within_ns,
            to_other: Vec::new(),
            is_overheard: false,
            made: Vec::new(),
            arena: Arena::new(way.memory_bytes),
            pending: Pending::new(),
            late: Histogram::default(),
            read_in_a_row: 0,
            fullest: Fullness::default(),
            delivered_frames: 0,
            report: DirectionReport::default(),
        }
    }

    /// Whether its middleboxes have to [hear](Self::hear) of the other direction's packets.
    pub fn listens(&self) -> bool {
        self.path.has_middleboxes()
    }

    /// The effects of the packets so far on the other direction; each is returned once.
    pub fn tell(&mut self) -> std::vec::Drain<'_, ToOther> {
        self.to_other.drain(..)
    }

    /// Processes the effect of the other direction's packet: the middleboxes see it, or an answer goes over the path.
    pub fn hear(&mut self, of: ToOther) {
        match of {
            ToOther::Passed(at, packet) => self.path.overhear(at, &packet),
            ToOther::Answer(at, frame) => {
                let length = frame::parse(&frame).map_or(frame.len(), |parsed| parsed.ip_bytes);
                let packet = Packet { length: Bytes::new(length as u64), ..Packet::default() };
                if let Verdict::Deliver { due, twice, .. } = self.path.schedule(at, &packet) {
                    let copies = 1 + u32::from(twice);
                    self.made.push(Made { due_ns: due.nanos().cast_unsigned(), copies, frame });
                    self.keep_made();
                }
            }
        }
    }

    /// Schedules what the path has created.
    fn keep_made(&mut self) {
        for made in std::mem::take(&mut self.made) {
            let Made { due_ns, copies, frame } = made;
            match self.arena.room(frame.len()) {
                Some(room) => {
                    room.copy_from_slice(&frame);
                    let known = Known { vnet: Vnet::default(), shape: None };
                    let id = self.arena.keep(frame.len(), copies, known);
                    for _ in 0..copies {
                        self.pending.add(due_ns, id, 0, frame.len() as u32);
                    }
                }
                None => self.report.missed_packets += 1,
            }
        }
    }

    /// Takes the next frame from the ring; returns whether there was one.
    pub fn take(&mut self, streams: &mut Streams) -> bool {
        let Some(arrival) = self.input.arrival() else {
            self.read_in_a_row = 0;
            return false;
        };
        self.read_in_a_row += 1;
        self.fullest.ring_frames = self.fullest.ring_frames.max(self.read_in_a_row);
        let arrival_ns = arrival.stamp_ns;
        let bytes = arrival.bytes + arrival.vlan.map_or(0, |_| TAG_BYTES);
        let room = self.arena.room(bytes).filter(|_| arrival.bytes >= ETHERNET_BYTES);
        let vnet = match room {
            Some(room) => read(&arrival, room),
            None => {
                // Nothing can be done if it is missing.
                let _ = arrival.queued.map(|queued| queued.fetch([&mut [], &mut []]));
                None
            }
        };
        self.input.done();
        match vnet {
            Some(vnet) => self.carry(arrival_ns, bytes, vnet, streams),
            None => self.report.missed_packets += 1,
        }
        true
    }

    /// Sends the frame read last, packet by packet, over the path.
    fn carry(&mut self, arrival_ns: u64, bytes: usize, mut vnet: Vnet, streams: &mut Streams) {
        let Some(frame) = self.arena.room(bytes) else { return };
        let parsed = frame::parse(frame);
        let shape = parsed.and_then(|parsed| Super::of(vnet, frame, &parsed));
        if shape.is_none() && self.joined_within_ns == 0 {
            vnet.complete(frame);
        }
        self.report.cut_super_packets += u64::from(shape.is_some());
        let looks_inside = self.is_overheard || self.path.has_middleboxes();
        let located = parsed.and_then(|parsed| parsed.tcp).map(|tcp| {
            let options = if looks_inside { options(frame, &tcp) } else { tcp::Options::default() };
            part(&tcp, streams.locate(&tcp), &options)
        });
        let known = Known { vnet, shape };
        let mut kept = 0;
        match shape {
            None => {
                let packet = whole(bytes, parsed.as_ref(), located);
                kept += self.schedule(arrival_ns, known, (0, bytes), (bytes, &packet), parsed.as_ref());
            }
            Some(shape) => shape.packets().for_each(|(offset, length)| {
                let packet = piece(shape, (offset, length), parsed.as_ref(), located);
                kept += self.schedule(arrival_ns, known, (offset, length), (bytes, &packet), parsed.as_ref());
            }),
        }
        if kept > 0 {
            self.arena.keep(bytes, kept, known);
        }
        self.keep_made();
        self.fullest.packets = self.fullest.packets.max(self.pending.len() as u64);
        self.fullest.bytes = self.fullest.bytes.max(self.arena.stored_bytes() as u64);
    }

    /// Asks the path about a packet of the current frame, which has `bytes` bytes, and schedules it; returns how often
    /// it arrives as a part of that frame.
    fn schedule(
        &mut self,
        arrival_ns: u64,
        known: Known,
        (offset, bytes): (usize, usize),
        (frame_bytes, packet): (usize, &Packet),
        parsed: Option<&Parsed>,
    ) -> u32 {
        let arrival = Instant::from_nanos(arrival_ns.cast_signed());
        let card = self.card.as_mut().and_then(|card| card.departure(arrival, packet.length));
        let at = card.unwrap_or(arrival);
        let mut of_frame = 0;
        let fate = match self.path.schedule(at, packet) {
            Verdict::Drop { reason, answer } => {
                if let Some(answer) = answer {
                    self.answer(at, known, (offset, bytes), frame_bytes, answer);
                }
                Some(Fate::Dropped(reason))
            }
            Verdict::Deliver { due, held_back, twice, changes } => {
                if self.is_overheard {
                    self.to_other.push(ToOther::Passed(at, *packet));
                }
                let (due_ns, copies) = (due.nanos().cast_unsigned(), 1 + u32::from(twice));
                if changes.change_it() {
                    self.change(due_ns, copies, known, (offset, bytes), frame_bytes, &changes);
                } else {
                    for _ in 0..copies {
                        self.pending.add(due_ns, self.arena.next_id(), offset as u32, bytes as u32);
                    }
                    of_frame = copies;
                }
                if let Some(beyond) = changes.reset_beyond {
                    let sent = self.alone(known, (offset, bytes), frame_bytes);
                    let frame = sent.and_then(|sent| made::reset_behind(&sent, beyond));
                    self.made.extend(frame.map(|frame| Made { due_ns, copies: 1, frame }));
                }
                match (twice, held_back) {
                    (true, _) => Some(Fate::Duplicated),
                    (false, Duration::ZERO) => Fate::of_changes(&changes),
                    (false, _) => Some(Fate::HeldBack),
                }
            }
        };
        if let Some((fate, parsed)) = fate.zip(parsed) {
            let tcp = parsed.tcp;
            self.report.faults.push(Fault {
                at_ns: at.nanos().cast_unsigned(),
                fate,
                ip_id: packet.id.unwrap_or(0),
                from_port: tcp.map_or(0, |t| t.key.1),
                to_port: tcp.map_or(0, |t| t.key.3),
                // A whole packet begins where its frame does.
                sequence: tcp.map_or(0, |t| t.sequence.wrapping_add(offset as u32)),
                offset: packet.part.map_or(0, |part| u64::try_from(part.start.0 - 1).unwrap_or(0)),
                payload_bytes: packet.part.map_or(0, |part| part.len),
                length_bytes: packet.length.get() as u32,
            });
        }
        of_frame
    }

    /// A packet of the current frame as a whole frame with right checksums; `None` if the frame is missing.
    fn alone(
        &mut self,
        known: Known,
        (offset, bytes): (usize, usize),
        frame_bytes: usize,
    ) -> Option<Vec<u8>> {
        let frame = self.arena.room(frame_bytes)?;
        match known.shape {
            None => {
                let (mut vnet, mut whole) = (known.vnet, frame.to_vec());
                vnet.complete(&mut whole);
                Some(whole)
            }
            Some(shape) => {
                let payload = shape.payload(frame, offset, bytes);
                let mut header = shape.header(known.vnet, frame, offset, bytes);
                header.complete(payload);
                Some([header.bytes(), payload].concat())
            }
        }
    }

    /// Creates the packet that arrives after middleboxes changed it. It is delivered on its own.
    fn change(
        &mut self,
        due_ns: u64,
        copies: u32,
        known: Known,
        piece: (usize, usize),
        frame_bytes: usize,
        changes: &Changes,
    ) {
        if let Some(mut frame) = self.alone(known, piece, frame_bytes) {
            made::change(&mut frame, changes);
            self.made.push(Made { due_ns, copies, frame });
        }
    }

    /// Answers a packet over the other direction.
    fn answer(
        &mut self,
        at: Instant,
        known: Known,
        piece: (usize, usize),
        frame_bytes: usize,
        answer: Answer,
    ) {
        let sent = self.alone(known, piece, frame_bytes);
        let frame = sent.and_then(|sent| made::answer(&sent, answer));
        self.to_other.extend(frame.map(|frame| ToOther::Answer(at, frame)));
    }

    /// When the next packets are due.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        self.pending.next(self.joined_within_ns, now_ns).map(|run| run.due_ns)
    }

    /// Delivers the next packets that are due by the clock; returns whether there were any.
    pub fn deliver(&mut self, now_ns: u64) -> bool {
        let run = self.pending.next(self.joined_within_ns, now_ns).filter(|run| run.due_ns <= now_ns);
        let Some(run) = run else { return false };
        let (frame, known) = self.arena.frame(run.frame);
        let is_taken = match known.shape {
            None => self.output.send(known.vnet, frame, &[]),
            Some(shape) => {
                let (offset, bytes) = (run.offset as usize, run.bytes as usize);
                let payload = shape.payload(frame, offset, bytes);
                let mut header = shape.header(known.vnet, frame, offset, bytes);
                if self.joined_within_ns == 0 {
                    header.complete(payload);
                }
                self.output.send(header.vnet, header.bytes(), payload)
            }
        };
        if is_taken {
            self.report.delivered_packets += u64::from(run.packets);
            self.delivered_frames += 1;
        } else {
            self.report.refused_packets += u64::from(run.packets);
        }
        for _ in 0..run.packets {
            let Some(packet) = self.pending.pop() else { break };
            self.late.add(Duration::from_nanos(now_ns.saturating_sub(packet.due_ns)), 1);
        }
        self.arena.release(run.frame, run.packets);
        true
    }

    pub fn finish(self) -> DirectionReport {
        DirectionReport {
            totals: self.path.totals().clone(),
            left_packets: self.pending.len() as u64,
            missed_packets: self.report.missed_packets + self.input.missed_frames(),
            delivered_frames: Some(self.delivered_frames),
            joined_within_ns: self.joined_within_ns,
            lateness: Lateness::of(&self.late),
            fullest: Some(self.fullest),
            ..self.report
        }
    }
}

/// Copies a frame into its room, putting back a VLAN tag that the kernel removed; `None` if part of it is missing.
fn read(arrival: &Arrival<'_>, room: &mut [u8]) -> Option<Vnet> {
    let (addresses, mut rest) = room.split_at_mut(ADDRESSES_BYTES);
    if let Some(tci) = arrival.vlan {
        let tag;
        (tag, rest) = rest.split_at_mut(TAG_BYTES);
        tag[..2].copy_from_slice(&frame::ETHERTYPE_VLAN.to_be_bytes());
        tag[2..].copy_from_slice(&tci.to_be_bytes());
    }
    let mut vnet = arrival.vnet;
    if let Some(queued) = arrival.queued {
        let (header, bytes) = queued.fetch([addresses, rest]).ok()?;
        vnet = (bytes == arrival.bytes).then_some(header)?;
    } else {
        let head = (arrival.head.len() == arrival.bytes).then_some(arrival.head)?;
        addresses.copy_from_slice(&head[..ADDRESSES_BYTES]);
        rest.copy_from_slice(&head[ADDRESSES_BYTES..]);
    }
    if arrival.vlan.is_some() {
        vnet.shift(TAG_BYTES as u16);
    }
    Some(vnet)
}

/// The options of a segment; none if they are truncated.
fn options<'a>(frame: &'a [u8], tcp: &Tcp) -> tcp::Options<'a> {
    let options = frame.get(tcp.at + tcp::HEADER..tcp.payload_at);
    options.map(|options| tcp::Options::parse(options, false)).unwrap_or_default()
}

/// The part of a stream that a frame carries.
fn part(tcp: &Tcp, located: Located, options: &tcp::Options<'_>) -> StreamPart {
    StreamPart {
        ack: located.ack.map(start),
        window: tcp.window,
        window_scale: options.window_scale,
        has_sack: !options.sack.is_empty(),
        ..StreamPart::new(
            located.connection,
            tcp.flags,
            if tcp.is_syn() { StreamOffset(0) } else { start(located.offset) },
            tcp.payload_bytes as u32,
        )
    }
}

/// A frame that is one packet, as the path sees it.
fn whole(frame_bytes: usize, parsed: Option<&Parsed>, part: Option<StreamPart>) -> Packet {
    let length = parsed.map_or(frame_bytes, |p| p.ip_bytes) as u64;
    packet(length, parsed.map_or(0, |p| p.ip_id), parsed, part)
}

/// The stream offset of a byte of data, for the path.
fn start(offset: u64) -> StreamOffset {
    StreamOffset(1).plus(offset.cast_signed())
}

/// A packet of a super-packet.
fn piece(
    shape: Super,
    (from, bytes): (usize, usize),
    parsed: Option<&Parsed>,
    part: Option<StreamPart>,
) -> Packet {
    // The super-packet's flags; only the last packet really has FIN and PSH, but no middlebox checks these.
    let part = part.map(|part| StreamPart {
        start: part.start.plus(from as i64),
        len: bytes as u32,
        super_packet: part.len,
        ..part
    });
    packet(shape.ip_bytes(bytes) as u64, shape.ip_id(from), parsed, part)
}

fn packet(length: u64, ip_id: u16, parsed: Option<&Parsed>, part: Option<StreamPart>) -> Packet {
    Packet {
        length: Bytes::new(length),
        ecn: parsed.map_or(Ecn::NotEct, |parsed| parsed.ecn),
        id: parsed.filter(|parsed| parsed.is_v4).map(|_| ip_id),
        part,
    }
}
