//! How long the packets are into which a super-packet is cut. A path MTU that changes changes that. The other recording shows it:
//! there, the packet with the j-th identification after that of the super-packet begins j packets behind its first byte.

use super::lane::Side;
use super::record::Record;
use std::ops::RangeInclusive;

/// Super-packets in a row that are cut otherwise, until that is a new length.
const AGREE: u32 = 3;
/// Packets of a super-packet: 512 KiB (BIG TCP) in packets of 1448 bytes.
pub(super) const MOST_PACKETS: u16 = 400;
/// Packets of the other recording that are looked at for one super-packet.
const MOST_LOOKED_AT: usize = 4;

/// The payload of a full packet, and from when on, on the clock of the recording: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sizes(Vec<(i64, i64)>);

/// A length to which the last super-packets may have been cut.
#[derive(Clone, Copy)]
struct Candidate {
    since: i64,
    size: i64,
    agree: u32,
}

impl Sizes {
    /// One length all the time.
    pub fn always(size: i64) -> Self {
        Self(vec![(i64::MIN, size)])
    }

    /// Follows what `far` shows of the super-packets of `near`, whose positions it has `shift` later. `first` is the length at first,
    /// and the most.
    pub fn follow(first: i64, near: &Side<'_>, far: &Side<'_>, shift: i64) -> Self {
        let mut sizes = Self::always(first);
        let mut now = first;
        let mut candidate: Option<Candidate> = None;
        for record in near.records {
            let is_cut = record.is_data() && record.len() > now;
            let shown = if is_cut { shown(record, far, shift, now + 1..=first) } else { None };
            let Some(size) = shown else { continue };
            candidate = match candidate {
                _ if size == now => None,
                Some(of) if of.size == size => Some(Candidate { agree: of.agree + 1, ..of }),
                _ => Some(Candidate { since: record.at(), size, agree: 1 }),
            };
            if let Some(of) = candidate.filter(|of| of.agree == AGREE) {
                sizes.0.push((of.since, of.size));
                now = of.size;
                candidate = None;
            }
        }
        sizes
    }

    /// The payload of a full packet at `at`.
    pub fn at(&self, at: i64) -> i64 {
        let (_, size) = self.0.iter().rev().find(|(since, _)| *since <= at).unwrap_or(&self.0[0]);
        *size
    }

    /// The payload of a full packet at first.
    pub fn first(&self) -> i64 {
        self.0[0].1
    }
}

/// The length of the packets into which `record` was cut, as `far` shows it, if it has the first of them; `longer` are those that
/// are longer than so far.
fn shown(record: &Record, far: &Side<'_>, shift: i64, longer: RangeInclusive<i64>) -> Option<i64> {
    let (from, id) = (record.seq() + shift, record.id()?);
    let first = far.data.partition_point(|index| far.record(*index).seq() < from);
    let mut inside = far.data[first..].iter().take(MOST_LOOKED_AT).map(|index| far.record(*index));
    let head = inside.by_ref().find(|other| other.seq() == from && other.id() == Some(id))?;
    let so_far = longer.start() - 1;
    if longer.contains(&head.len()) && head.len() % so_far != 0 {
        // Not several taken together (GRO).
        return Some(head.len());
    }
    inside.take_while(|other| other.seq() < from + record.len()).find_map(|other| {
        let packets =
            Some(other.id()?.wrapping_sub(id)).filter(|packets| (1..=MOST_PACKETS).contains(packets))?;
        let (packets, bytes) = (i64::from(packets), other.seq() - from);
        let is_cut = bytes > 0 && bytes % packets == 0;
        Some(bytes / packets).filter(|size| is_cut && size <= longer.end() && head.len() % size == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::collect::Stripes;
    use super::*;
    use slowpath_model::{End, Flags, Instant, IpFacts, Segment, StreamOffset};

    /// Super-packets of these lengths that were cut to a length each; GRO takes two packets for one if `joined`.
    fn sizes(of: &[(i64, i64)], joined: bool) -> Vec<(i64, i64)> {
        let record = |at, id, seq, len| {
            let mut segment = Segment::new(End::A, Flags::ACK, StreamOffset(seq), len as u32);
            segment.ip = IpFacts { id: Some(id), ..segment.ip };
            Record::of(Instant::from_nanos(at), &segment)
        };
        let (mut near, mut far) = (Vec::new(), Vec::new());
        let (mut id, mut seq) = (65_530_u16, 1);
        for ((len, size), at) in of.iter().zip(0..) {
            near.push(record(at, id, seq, *len));
            let packets = (len + size - 1) / size;
            for packet in (0..packets).step_by(if joined { 2 } else { 1 }) {
                let from = packet * size;
                let to = (from + if joined { 2 * size } else { *size }).min(*len);
                far.push(record(at + 10, id.wrapping_add(packet as u16), seq + from, to - from));
            }
            id = id.wrapping_add(packets as u16);
            seq += len;
        }
        let side = |records| Side::new(records, 0, (0, 100), Stripes::default());
        Sizes::follow(1448, &side(&near), &side(&far), 0).0[1..].to_vec()
    }

    #[test]
    fn super_packets_of_the_agreed_length_change_nothing() {
        let whole = [(14_480, 1448), (2000, 1448), (100, 1448), (4344, 1448), (4344, 1448)];
        assert_eq!(sizes(&whole, false), []);
        assert_eq!(sizes(&whole, true), []);
    }

    #[test]
    fn length_changes_when_several_super_packets_are_cut_otherwise() {
        let twice = [(14_480, 1448), (2048, 1024), (2048, 1024), (14_480, 1448)];
        assert_eq!(sizes(&twice, false), []);
        let shrinks = [(14_480, 1448), (2048, 1024), (4096, 1024), (300, 1024), (2048, 1024), (3172, 1024)];
        assert_eq!(sizes(&shrinks, false), [(1, 1024)]);
        let longer = [(14_480, 1448), (4096, 1024), (4096, 1024), (3172, 1024)];
        assert_eq!(sizes(&longer, true), [(1, 1024)], "GRO");
        let and_grows = [&shrinks[..], &[(1448, 1448), (1448, 1448), (1448, 1448), (2896, 1448)]].concat();
        assert_eq!(sizes(&and_grows, false), [(1, 1024), (6, 1448)]);
    }
}
