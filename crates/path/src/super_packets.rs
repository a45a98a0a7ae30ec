//! Offload on the path: a middlebox that gets packets of a burst as a super-packet (GSO, or merged by its own GRO or
//! LRO) and cannot forward that. A segment that arrives alone passes.

use crate::action::Action;
use crate::action::LossReason;
use crate::packet::Packet;

/// The action on a packet, which is part of a super-packet or was sent alone.
pub(crate) fn pass(packet: &Packet) -> Action {
    match packet.part {
        Some(part) if part.super_packet > part.len => Action::Drop(LossReason::SuperPacket, None),
        _ => Action::UNCHANGED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::StreamPart;
    use crate::tests::segment;

    #[test]
    fn packets_of_a_super_packet_are_dropped_and_single_segments_pass() {
        let single = segment(1, 1448);
        assert_eq!(pass(&single), Action::UNCHANGED);
        let part = single.part.map(|part| StreamPart { super_packet: 2896, ..part });
        assert_eq!(pass(&Packet { part, ..single }), Action::Drop(LossReason::SuperPacket, None));
    }
}
