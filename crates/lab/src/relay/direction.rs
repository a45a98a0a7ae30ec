//! One direction of the relay: frames in, packets through the path, frames out.

use super::Way;
use super::arena::Arena;
use super::cut::Super;
use super::end::End;
use super::pending::Pending;
use super::report::{DirectionReport, Fate, Fault, Fullness, Lateness};
use super::ring::{Arrival, Output};
use super::vnet::Vnet;
use crate::frame::{self, Parsed, Streams};
use crate::path::link::{Link, LinkConfig, QueueLimit};
use crate::path::{Packet, Path, StreamPart, Verdict};
use slowpath_model::{Bytes, Histogram, Instant, Rate, StreamOffset};
use std::time::Duration;

const ADDRESSES_BYTES: usize = 12;
const TAG_BYTES: usize = 4;
const ETHERNET_BYTES: usize = 14;

/// What is known of a frame in the arena.
#[derive(Clone, Copy, Debug)]
struct Known {
    vnet: Vnet,
    /// How it is cut; `None` if it is one packet.
    shape: Option<Super>,
}

/// One direction at work.
#[derive(Debug)]
pub struct Direction {
    pub input: End,
    output: Output,
    /// The sending host's network card, which is serial.
    card: Option<Link>,
    path: Path,
    joined_within_ns: u64,
    streams: Streams,
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
            // What waits for the card waits in the host.
            queue: QueueLimit::Packets(u32::MAX),
            stalls: Vec::new(),
        });
        Self {
            input,
            output,
            card: card.as_ref().map(Link::new),
            path: way.path,
            joined_within_ns: way.joined_within_ns,
            streams: Streams::default(),
            arena: Arena::new(way.memory_bytes),
            pending: Pending::new(),
            late: Histogram::default(),
            read_in_a_row: 0,
            fullest: Fullness::default(),
            delivered_frames: 0,
            report: DirectionReport::default(),
        }
    }

    /// Takes the next frame from the ring; whether there was one.
    pub fn take(&mut self) -> bool {
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
                // Nothing can be done if it is not there.
                let _ = arrival.queued.map(|queued| queued.fetch([&mut [], &mut []]));
                None
            }
        };
        self.input.done();
        match vnet {
            Some(vnet) => self.carry(arrival_ns, bytes, vnet),
            None => self.report.missed_packets += 1,
        }
        true
    }

    /// Sends what was read last, packet by packet, over the path.
    fn carry(&mut self, arrival_ns: u64, bytes: usize, mut vnet: Vnet) {
        let Some(frame) = self.arena.room(bytes) else { return };
        let parsed = frame::parse(frame);
        let shape = parsed.and_then(|parsed| Super::of(vnet, frame, &parsed));
        if shape.is_none() && self.joined_within_ns == 0 {
            vnet.complete(frame);
        }
        self.report.cut_super_packets += u64::from(shape.is_some());
        let located = parsed.and_then(|parsed| parsed.tcp).map(|tcp| self.streams.locate(&tcp));
        let mut kept = 0;
        let mut packet = |offset: usize, bytes: usize, packet: &Packet, ip_id: u16| {
            kept += self.schedule(arrival_ns, (offset, bytes), packet, parsed.as_ref(), ip_id);
        };
        match shape {
            None => packet(0, bytes, &whole(bytes, parsed.as_ref(), located), parsed.map_or(0, |p| p.ip_id)),
            Some(shape) => shape.packets().for_each(|(offset, bytes)| {
                packet(offset, bytes, &part(shape, (offset, bytes), located), shape.ip_id(offset));
            }),
        }
        if kept > 0 {
            self.arena.keep(bytes, kept, Known { vnet, shape });
        }
        self.fullest.packets = self.fullest.packets.max(self.pending.len() as u64);
        self.fullest.bytes = self.fullest.bytes.max(self.arena.stored_bytes() as u64);
    }

    /// Asks the path about a packet, and puts it among those on their way; how often it arrives.
    fn schedule(
        &mut self,
        arrival_ns: u64,
        (offset, bytes): (usize, usize),
        packet: &Packet,
        parsed: Option<&Parsed>,
        ip_id: u16,
    ) -> u32 {
        let arrival = Instant::from_nanos(arrival_ns.cast_signed());
        let card = self.card.as_mut().and_then(|card| card.departure(arrival, packet.length));
        let at = card.unwrap_or(arrival);
        let (fate, copies) = match self.path.schedule(at, packet) {
            Verdict::Drop(reason) => (Some(Fate::Dropped(reason)), 0),
            Verdict::Deliver { due, held_back, twice } => {
                let copies = 1 + u32::from(twice);
                for _ in 0..copies {
                    self.pending.add(
                        due.nanos().cast_unsigned(),
                        self.arena.next_id(),
                        offset as u32,
                        bytes as u32,
                    );
                }
                match (twice, held_back) {
                    (true, _) => (Some(Fate::Duplicated), copies),
                    (false, Duration::ZERO) => (None, copies),
                    (false, _) => (Some(Fate::HeldBack), copies),
                }
            }
        };
        if let Some((fate, parsed)) = fate.zip(parsed) {
            let tcp = parsed.tcp;
            self.report.faults.push(Fault {
                at_ns: at.nanos().cast_unsigned(),
                fate,
                ip_id,
                from_port: tcp.map_or(0, |t| t.key.1),
                to_port: tcp.map_or(0, |t| t.key.3),
                // A whole packet begins where its frame does.
                sequence: tcp.map_or(0, |t| t.sequence.wrapping_add(offset as u32)),
                offset: packet.part.map_or(0, |part| u64::try_from(part.start.0 - 1).unwrap_or(0)),
                payload_bytes: packet.part.map_or(0, |part| part.len),
                length_bytes: packet.length.get() as u32,
            });
        }
        copies
    }

    /// When the next packets are to be handed over.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        self.pending.next(self.joined_within_ns, now_ns).map(|run| run.due_ns)
    }

    /// Hands over the next packets that are due by the clock; whether there were any.
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

/// Copies a frame into its room, with a VLAN tag that the kernel took out put back; `None` if not all of it is there.
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

/// A frame that is one packet, as the path is told of it.
fn whole(frame_bytes: usize, parsed: Option<&Parsed>, located: Option<(u64, u64)>) -> Packet {
    let tcp = parsed.and_then(|parsed| parsed.tcp);
    Packet {
        length: Bytes::new(parsed.map_or(frame_bytes, |p| p.ip_bytes) as u64),
        part: tcp.zip(located).map(|(tcp, (flow, offset))| StreamPart {
            flow,
            start: start(offset),
            len: tcp.payload_bytes as u32,
            syn: tcp.is_syn(),
        }),
    }
}

/// Where the path has a byte of data that is so far behind the first.
fn start(offset: u64) -> StreamOffset {
    StreamOffset(1).plus(offset.cast_signed())
}

/// A packet of a super-packet.
fn part(shape: Super, (from, bytes): (usize, usize), located: Option<(u64, u64)>) -> Packet {
    Packet {
        length: Bytes::new(shape.ip_bytes(bytes) as u64),
        part: located.map(|(flow, offset)| StreamPart {
            flow,
            start: start(offset + from as u64),
            len: bytes as u32,
            syn: false,
        }),
    }
}
