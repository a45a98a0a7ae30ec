//! The next generation format: sections of blocks.
//!
//! Reading list: draft-ietf-opsawg-pcapng (block layouts in section 4), Wireshark's `wiretap/pcapng.c`.

use crate::frames::{Frame, Frames};
use crate::input::{Input, LARGEST, WHOLE};
use crate::interfaces::Interfaces;
use crate::oddity::Oddity;
use crate::summary::Stop;
use slowpath_model::Sink;
use slowpath_wire::bytes::Order;
use slowpath_wire::pcapng::{
    BYTE_ORDER_MAGIC, DECRYPTION_SECRETS, ENHANCED_PACKET, FRAME, INTERFACE, INTERFACE_STATISTICS,
    NAME_RESOLUTION, OBSOLETE_PACKET, SECTION, SIMPLE_PACKET,
};

/// Blocks without a packet that Wireshark (4.x, `wiretap/pcapng.c`) numbers as frames: custom blocks, systemd journal
/// entries, and sysdig events.
pub(crate) const NUMBERED: [u32; 9] = [0x0bad, 0x4000_0bad, 9, 0x204, 0x208, 0x216, 0x217, 0x221, 0x222];

/// Reads blocks until none is left; returns where and why if that is before the end.
pub(crate) fn read<S: Sink>(
    input: &mut Input,
    interfaces: &mut Interfaces,
    frames: &mut Frames<'_, S>,
) -> Option<Stop> {
    let mut order = Order::Little;
    loop {
        let bytes = input.available();
        let offset = input.offset();
        let (mut at, mut count) = (0, 0);
        // All blocks that are completely in the buffer; then what the next one needs.
        let next = loop {
            let rest = &bytes[at..];
            if rest.len() < FRAME {
                break Ok(FRAME);
            }
            let here = offset + at as u64;
            let length = match begin(rest, here, &mut order) {
                Ok(length) => length,
                Err(stop) => break Err(stop),
            };
            if length > WHOLE || rest.len() < length {
                break Ok(length);
            }
            let block = Block::whole(order, &rest[..length], here);
            if let Err(stop) = block.and_then(|block| block.take(length - FRAME, interfaces, frames)) {
                break Err(stop);
            }
            at += length;
            count += 1;
        };
        input.consume(at, count);
        match next {
            Ok(want) if want > WHOLE => {
                let stop = large(want, order, input, |block| {
                    block.take(want - FRAME, interfaces, frames)?;
                    if block.is_packet() {
                        frames.note(Oddity::LargeRecord, block.offset);
                    }
                    Ok(())
                });
                if stop.is_some() {
                    return stop;
                }
            }
            Ok(want) => {
                if !input.fill(want) {
                    return input.broken_off("a block", want);
                }
            }
            Err(stop) => return Some(stop),
        }
    }
}

/// The length of the block that begins with `bytes`. A section's header tells the byte order from there on.
#[inline(always)]
pub(crate) fn begin(bytes: &[u8], offset: u64, order: &mut Order) -> Result<usize, Stop> {
    if bytes[..4] == SECTION {
        *order = byte_order(bytes, offset)?;
    }
    let length = order.u32(bytes, 4) as usize;
    if length < FRAME || !length.is_multiple_of(4) {
        return Err(claims(length, offset));
    }
    Ok(length)
}

#[cold]
fn claims(length: usize, offset: u64) -> Stop {
    Stop { offset, reason: format!("a block that claims to be {length} bytes long") }
}

/// Shows a block that is too large for the buffer to `take`.
#[cold]
pub(crate) fn large(
    length: usize,
    order: Order,
    input: &mut Input,
    take: impl FnOnce(&Block<'_>) -> Result<(), Stop>,
) -> Option<Stop> {
    let offset = input.offset();
    if length as u64 > LARGEST {
        return Some(claims(length, offset));
    }
    if !input.fill(WHOLE) {
        return input.broken_off("a block", length);
    }
    let bytes = &input.available()[..WHOLE];
    if let Err(stop) = take(&Block { order, kind: order.u32(bytes, 0), body: &bytes[8..], offset }) {
        return Some(stop);
    }
    if !input.skip(length as u64) {
        let here = (input.offset() - offset) as usize;
        return Some(input.broken_off_inside("a block", offset, here, length));
    }
    None
}

/// The byte order of the section whose header starts `block`, by its byte-order magic (section 4.1).
#[cold]
fn byte_order(block: &[u8], offset: u64) -> Result<Order, Stop> {
    let found = [Order::Little, Order::Big].into_iter().find(|order| order.u32(block, 8) == BYTE_ORDER_MAGIC);
    found.ok_or_else(|| Stop { offset, reason: "a section header without a byte-order magic".into() })
}

/// A block with consistent lengths.
pub(crate) struct Block<'a> {
    order: Order,
    pub(crate) kind: u32,
    /// The bytes between the two lengths, as far as they are in the buffer.
    pub(crate) body: &'a [u8],
    offset: u64,
}

impl<'a> Block<'a> {
    /// The block that `bytes` are.
    #[inline(always)]
    pub(crate) fn whole(order: Order, bytes: &'a [u8], offset: u64) -> Result<Self, Stop> {
        let length = bytes.len();
        let trailer = order.u32(bytes, length - 4) as usize;
        if trailer != length {
            let reason = format!("a block that is {length} bytes long by its start, {trailer} by its end");
            return Err(Stop { offset, reason });
        }
        Ok(Self { order, kind: order.u32(bytes, 0), body: &bytes[8..length - 4], offset })
    }

    fn is_packet(&self) -> bool {
        matches!(self.kind, ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET)
    }

    /// Handles a block by its type. `length` is its body's in the file.
    #[inline]
    fn take<S: Sink>(
        &self,
        length: usize,
        interfaces: &mut Interfaces,
        frames: &mut Frames<'_, S>,
    ) -> Result<(), Stop> {
        match self.kind {
            ENHANCED_PACKET => self.packet(length, interfaces, frames),
            OBSOLETE_PACKET => self.packet(length, interfaces, frames),
            SIMPLE_PACKET => self.simple_packet(length, interfaces, frames),
            _ => return self.other(interfaces, frames),
        }
        Ok(())
    }

    /// An enhanced packet block (section 4.3), or an obsolete packet block (section A.1), which has a count of
    /// drops in the upper half of the interface's number.
    #[inline]
    fn packet<S: Sink>(&self, length: usize, interfaces: &mut Interfaces, frames: &mut Frames<'_, S>) {
        let (order, body) = (self.order, self.body);
        if body.len() < 20 {
            return frames.reject(Oddity::MalformedBlock, self.offset);
        }
        let number = match self.kind {
            OBSOLETE_PACKET => u32::from(order.u16(body, 0)),
            _ => order.u32(body, 0),
        };
        let (captured, wire) = (order.u32(body, 12), order.u32(body, 16));
        if captured as usize > length - 20 {
            return frames.reject(Oddity::MalformedBlock, self.offset);
        }
        let Some(interface) = interfaces.get(number) else {
            return frames.reject(Oddity::UnknownInterface, self.offset);
        };
        let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
        let end = (20 + captured as usize).min(body.len());
        frames.accept(Frame {
            link: interface.link,
            stamp: Some(interface.clock.stamp(ticks)),
            data: &body[20..end],
            captured,
            wire,
            offset: self.offset,
        });
    }

    /// A simple packet block (section 4.4): from the first interface, without a timestamp, and limited by its snapshot
    /// length.
    fn simple_packet<S: Sink>(&self, length: usize, interfaces: &mut Interfaces, frames: &mut Frames<'_, S>) {
        if self.body.len() < 4 {
            return frames.reject(Oddity::MalformedBlock, self.offset);
        }
        let Some(interface) = interfaces.get(0) else {
            return frames.reject(Oddity::UnknownInterface, self.offset);
        };
        let wire = self.order.u32(self.body, 0);
        let kept = match interface.snap_length {
            0 => wire,
            limit => wire.min(limit),
        };
        let captured = (length - 4).min(kept as usize);
        let end = (4 + captured).min(self.body.len());
        frames.accept(Frame {
            link: interface.link,
            stamp: None,
            data: &self.body[4..end],
            captured: captured as u32,
            wire,
            offset: self.offset,
        });
    }

    #[cold]
    fn other<S: Sink>(&self, interfaces: &mut Interfaces, frames: &mut Frames<'_, S>) -> Result<(), Stop> {
        match self.kind {
            section if section.to_ne_bytes() == SECTION => {
                // After the magic: version (1.0, or 1.2, which nobody wrote), section length, options.
                let version = self.body.get(4..6).map_or(0, |version| self.order.u16(version, 0));
                if version != 1 {
                    let reason = format!("a section of version {version} of the format; known is 1");
                    return Err(Stop { offset: self.offset, reason });
                }
                interfaces.new_section();
            }
            INTERFACE if self.body.len() < 8 => frames.note(Oddity::MalformedBlock, self.offset),
            INTERFACE => {
                if !interfaces.describe(self.order, self.body) {
                    frames.note(Oddity::TooManyInterfaces, self.offset);
                }
            }
            INTERFACE_STATISTICS => interfaces.statistics(self.order, self.body),
            NAME_RESOLUTION | DECRYPTION_SECRETS => {}
            kind if NUMBERED.contains(&kind) => frames.reject(Oddity::NotAPacket, self.offset),
            _ => frames.note(Oddity::UnknownBlock, self.offset),
        }
        Ok(())
    }
}
