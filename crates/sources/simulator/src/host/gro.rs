//! Merging received packets before the stack sees them (`dev_gro_receive`, `tcp_gro_receive`, 6.18).

use crate::wire::{Frame, FrameKind};
use slowpath_model::Flags;
use slowpath_tcp::packet::TcpOptions;

/// The maximum number of held flows (`GRO_HASH_BUCKETS` times `MAX_GRO_SKBS`).
const MOST_HELD: usize = 64;
/// The largest merged packet (`GRO_LEGACY_MAX_SIZE`), headers included.
const MOST_BYTES: u32 = 65_536;

/// Packets held for more segments of their flow, at most until the end of the poll.
#[derive(Debug, Default)]
pub struct Gro {
    held: Vec<Frame>,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It was merged into a held packet.
    Merged,
    /// It is held.
    Held,
    /// It is passed up unmerged.
    Normal,
}

/// The result for a packet, and the held packet that it flushed.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// The fate of the packet.
    pub merge: Merge,
    /// A packet that is no longer held, to be passed up before anything else of its flow.
    pub flushed: Option<Frame>,
}

impl Gro {
    /// Offers a packet.
    pub fn offer(&mut self, frame: &Frame) -> Offered {
        if frame.kind != FrameKind::Segment {
            return Offered { merge: Merge::Normal, flushed: None };
        }
        let at = self.held.iter().position(|held| held.connection == frame.connection);
        let control = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0 | Flags::URG.0);
        if frame.packet.len == 0 || frame.packet.flags.has_any(control) {
            return Offered { merge: Merge::Normal, flushed: at.map(|at| self.held.swap_remove(at)) };
        }
        if let Some(at) = at {
            let held = &mut self.held[at];
            if follows(held, frame) {
                append(held, frame);
                // A short packet or PSH ends its train.
                let last =
                    frame.packet.flags.has(Flags::PSH) || frame.packet.len < u32::from(held.packet.gso_size);
                let flushed = last.then(|| self.held.swap_remove(at));
                return Offered { merge: Merge::Merged, flushed };
            }
            let flushed = Some(std::mem::replace(held, *frame));
            return Offered { merge: Merge::Held, flushed };
        }
        let flushed = (self.held.len() >= MOST_HELD).then(|| self.held.remove(0));
        self.held.push(*frame);
        Offered { merge: Merge::Held, flushed }
    }

    /// The end of the poll: the next packet that is no longer held.
    pub fn flush(&mut self) -> Option<Frame> {
        if self.held.is_empty() { None } else { Some(self.held.remove(0)) }
    }

    /// The next packet with PSH, which is no longer held. `tcp_gro_receive` holds none of these, not even the first of
    /// a flow; that only matters when polling continues without ending the poll.
    pub fn flush_pushed(&mut self) -> Option<Frame> {
        let at = self.held.iter().position(|held| held.packet.flags.has(Flags::PSH))?;
        Some(self.held.remove(at))
    }

    /// The number of held packets.
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

/// Whether `frame` continues `held` and may be merged: acknowledgment, window, options and flags but PSH must be the
/// same, and it must not be longer than those before it.
fn follows(held: &Frame, frame: &Frame) -> bool {
    let (one, two) = (&held.packet, &frame.packet);
    let size = if one.gso_size == 0 { one.len } else { u32::from(one.gso_size) };
    let quiet = |flags: Flags| flags.0 & !(Flags::PSH.0 | Flags::CWR.0);
    one.end() == two.seq
        && two.len <= size
        && !one.flags.has(Flags::PSH)
        && one.ack == two.ack
        && one.window == two.window
        && quiet(one.flags) == quiet(two.flags)
        && !two.flags.has(Flags::CWR)
        && one.ecn == two.ecn
        && one.timestamps == two.timestamps
        && one.ecn_bytes == two.ecn_bytes
        && one.options == TcpOptions::None
        && two.options == TcpOptions::None
        && held.length() + two.len < MOST_BYTES
}

fn append(held: &mut Frame, frame: &Frame) {
    let packet = &mut held.packet;
    if packet.gso_size == 0 {
        packet.gso_size = u16::try_from(packet.len).unwrap_or(u16::MAX);
    }
    packet.len += frame.packet.len;
    packet.flags = packet.flags.with(frame.packet.flags);
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::StreamOffset;
    use slowpath_tcp::Packet;

    fn frame(connection: u32, seq: i64, len: u32, flags: Flags) -> Frame {
        Frame {
            connection,
            id: 0,
            kind: FrameKind::Segment,
            packet: Packet::new(flags, StreamOffset(seq), len),
        }
    }

    #[test]
    fn gro_merges_a_train_until_psh() {
        let mut gro = Gro::default();
        for n in 0..3 {
            let offered = gro.offer(&frame(1, 1 + n * 1000, 1000, Flags::ACK));
            assert_eq!(offered.merge, if n == 0 { Merge::Held } else { Merge::Merged });
            assert!(offered.flushed.is_none());
        }
        let last =
            gro.offer(&frame(1, 3001, 500, Flags::ACK.with(Flags::PSH))).flushed.expect("a push flushes");
        assert_eq!((last.packet.len, last.packet.gso_size, last.packet.segments()), (3500, 1000, 4));
        assert_eq!(gro.held(), 0);
    }

    #[test]
    fn gro_train_ends_at_a_hole_or_an_ack_but_not_at_other_flows() {
        let mut gro = Gro::default();
        gro.offer(&frame(1, 1, 1000, Flags::ACK));
        gro.offer(&frame(2, 1, 1000, Flags::ACK));
        let hole = gro.offer(&frame(1, 5001, 1000, Flags::ACK));
        assert_eq!(hole.merge, Merge::Held);
        assert_eq!(hole.flushed.map(|held| held.packet.seq.0), Some(1));
        let ack = gro.offer(&frame(1, 6001, 0, Flags::ACK));
        assert_eq!(ack.merge, Merge::Normal);
        assert_eq!(ack.flushed.map(|held| held.packet.seq.0), Some(5001));
        assert_eq!(gro.flush().map(|held| held.connection), Some(2));
        assert!(gro.flush().is_none());
    }

    #[test]
    fn gro_packets_stay_within_64_kib() {
        let mut gro = Gro::default();
        let mut most = 0;
        for n in 0..100 {
            if let Some(flushed) = gro.offer(&frame(1, 1 + n * 1448, 1448, Flags::ACK)).flushed {
                most = most.max(flushed.length());
            }
        }
        assert!((64_000..65_536).contains(&most), "{most}");
    }
}
