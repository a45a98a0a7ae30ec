//! What is kept of a segment to recognise it in the other recording: 32 bytes.

use slowpath_model::{Flags, Instant, Segment, StreamOffset};

/// One segment as one recording has it. Positions have 48 bits and lengths 24, which no stream and no super-packet
/// exceeds; what does, in a forged header, is cut to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    at: i64,
    tsval: u32,
    id: u16,
    print: u16,
    seq: [u8; 6],
    ack: [u8; 6],
    len: [u8; 3],
    bits: u8,
}

/// 36 years: timestamps of forged captures may lie further apart, and are compared with each other.
pub(super) const LONGEST: i64 = 1 << 60;

const HAS_ID: u8 = 1;
const HAS_STAMP: u8 = 2;
const HAS_ACK: u8 = 4;
const SYN: u8 = 8;
const FIN: u8 = 16;
const RST: u8 = 32;

impl Record {
    pub fn of(at: Instant, segment: &Segment) -> Self {
        let bit = |condition: bool, bit: u8| if condition { bit } else { 0 };
        let bits = bit(segment.ip.id.is_some(), HAS_ID)
            | bit(segment.timestamps.is_some(), HAS_STAMP)
            | bit(segment.ack.is_some(), HAS_ACK)
            | bit(segment.flags.has(Flags::SYN), SYN)
            | bit(segment.flags.has(Flags::FIN), FIN)
            | bit(segment.flags.has(Flags::RST), RST);
        let [l0, l1, l2, _] = segment.len.min(0x00ff_ffff).to_le_bytes();
        Self {
            at: at.nanos().clamp(-LONGEST, LONGEST),
            tsval: segment.timestamps.map_or(0, |stamps| stamps.val),
            id: segment.ip.id.unwrap_or(0),
            print: fingerprint(segment),
            seq: pack(segment.seq),
            ack: pack(segment.ack.unwrap_or_default()),
            len: [l0, l1, l2],
            bits,
        }
    }

    /// When, in nanoseconds on its recording's clock.
    pub const fn at(&self) -> i64 {
        self.at
    }

    /// Its first sequence number.
    pub fn seq(&self) -> i64 {
        unpack(self.seq)
    }

    /// What it acknowledges.
    pub fn ack(&self) -> Option<i64> {
        (self.bits & HAS_ACK != 0).then(|| unpack(self.ack))
    }

    /// Bytes of payload.
    pub fn len(&self) -> i64 {
        let [l0, l1, l2] = self.len;
        i64::from(u32::from_le_bytes([l0, l1, l2, 0]))
    }

    /// The number after its last: SYN and FIN count one each.
    pub fn end(&self) -> i64 {
        self.seq() + self.len() + i64::from(self.bits & SYN != 0) + i64::from(self.bits & FIN != 0)
    }

    /// Whether it takes sequence space, so that it is found by its place in the stream. (A reset's place is
    /// anyone's guess.)
    pub fn is_data(&self) -> bool {
        self.bits & RST == 0 && (self.len != [0; 3] || self.bits & (SYN | FIN) != 0)
    }

    /// Whether it opens the connection.
    pub const fn is_syn(&self) -> bool {
        self.bits & SYN != 0
    }

    /// The IP identification.
    pub fn id(&self) -> Option<u16> {
        (self.bits & HAS_ID != 0).then_some(self.id)
    }

    /// TSval.
    pub fn tsval(&self) -> Option<u32> {
        (self.bits & HAS_STAMP != 0).then_some(self.tsval)
    }

    /// A hash of the window and TSecr: nothing that depends on where offset 0 is, and not the SACK blocks, which a
    /// middlebox may have changed between the taps, or may have left alone when it changed everything else.
    pub const fn print(&self) -> u16 {
        self.print
    }

    /// Where it is searched for if it takes no sequence space: what it acknowledges.
    pub fn place(&self) -> i64 {
        self.ack().unwrap_or_else(|| self.seq())
    }
}

fn pack(offset: StreamOffset) -> [u8; 6] {
    let [b0, b1, b2, b3, b4, b5, _, _] = offset.0.to_le_bytes();
    [b0, b1, b2, b3, b4, b5]
}

fn unpack([b0, b1, b2, b3, b4, b5]: [u8; 6]) -> i64 {
    let sign = if b5 & 0x80 == 0 { 0 } else { 0xff };
    i64::from_le_bytes([b0, b1, b2, b3, b4, b5, sign, sign])
}

fn fingerprint(segment: &Segment) -> u16 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let ecr = segment.timestamps.map_or(0, |stamps| u64::from(stamps.ecr));
    let reset = u64::from(segment.flags.has(Flags::RST));
    let hash = (ecr << 17 | u64::from(segment.window) << 1 | reset).wrapping_mul(ODD);
    (hash >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::End;

    #[test]
    fn record_is_32_bytes() {
        assert_eq!(size_of::<Record>(), 32);
    }

    #[test]
    fn record_positions_keep_their_sign() {
        for at in [0, 1, -1, -11, 1 << 46, -(1 << 46)] {
            let mut segment = Segment::new(End::A, Flags::ACK.with(Flags::FIN), StreamOffset(at), 70_000);
            segment.ack = Some(StreamOffset(-at));
            let record = Record::of(Instant::START, &segment);
            assert_eq!((record.seq(), record.ack(), record.end()), (at, Some(-at), at + 70_001));
            assert!(record.is_data());
        }
    }
}
