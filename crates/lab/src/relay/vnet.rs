//! The header before each frame of a packet socket with `PACKET_VNET_HDR`: the offloads left to the NIC
//! (include/uapi/linux/virtio_net.h, `struct virtio_net_hdr`).

use slowpath_wire::checksum;

/// The offloads left to the NIC. Offsets count from the start of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vnet {
    /// `VIRTIO_NET_HDR_F_*`.
    pub flags: u8,
    /// `VIRTIO_NET_HDR_GSO_*`.
    pub gso_type: u8,
    /// Bytes of headers; a hint.
    pub header_bytes: u16,
    /// Payload bytes of each segment.
    pub gso_bytes: u16,
    /// Where the checksummed bytes begin.
    pub checksum_start: u16,
    /// The place of the checksum, from there.
    pub checksum_offset: u16,
}

impl Vnet {
    /// Its length before the frame.
    pub const BYTES: usize = 10;
    /// The checksum has to be completed; its field has the pseudo-header's part.
    pub const NEEDS_CHECKSUM: u8 = 1;
    /// Not a super-packet.
    pub const GSO_NONE: u8 = 0;
    /// TCP over IPv4.
    pub const GSO_TCP_V4: u8 = 1;
    /// TCP over IPv6.
    pub const GSO_TCP_V6: u8 = 4;
    /// With CWR in its first segment.
    pub const GSO_ECN: u8 = 0x80;

    /// From the wire. For packet sockets it is in the machine's own byte order (`vio_le`, net/packet/af_packet.c).
    pub fn read(bytes: [u8; Self::BYTES]) -> Self {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            header_bytes: number(2),
            gso_bytes: number(4),
            checksum_start: number(6),
            checksum_offset: number(8),
        }
    }

    /// In the kernel's format.
    pub fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.flags;
        bytes[1] = self.gso_type;
        let numbers = [self.header_bytes, self.gso_bytes, self.checksum_start, self.checksum_offset];
        for (n, number) in numbers.into_iter().enumerate() {
            bytes[2 + 2 * n..4 + 2 * n].copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    /// Whether a checksum is missing.
    pub fn needs_checksum(self) -> bool {
        self.flags & Self::NEEDS_CHECKSUM != 0
    }

    /// The frame has become this many bytes longer before its IP header.
    pub fn shift(&mut self, bytes: u16) {
        if self.header_bytes > 0 {
            self.header_bytes = self.header_bytes.saturating_add(bytes);
        }
        if self.needs_checksum() {
            self.checksum_start = self.checksum_start.saturating_add(bytes);
        }
    }

    /// Completes the checksum of a frame, as the card would (`skb_checksum_help`). Does nothing if its place is outside
    /// the frame.
    pub fn complete(&mut self, frame: &mut [u8]) {
        let start = usize::from(self.checksum_start);
        let at = start + usize::from(self.checksum_offset);
        if self.needs_checksum() && at + 2 <= frame.len() {
            let checksum = checksum::of(checksum::sum(&frame[start..]));
            frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
            self.flags &= !Self::NEEDS_CHECKSUM;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vnet_header_round_trips() {
        let vnet = Vnet {
            flags: 1,
            gso_type: Vnet::GSO_TCP_V6 | Vnet::GSO_ECN,
            header_bytes: 0x0102,
            gso_bytes: 0x0304,
            checksum_start: 0x0506,
            checksum_offset: 0x0708,
        };
        assert_eq!(Vnet::read(vnet.bytes()), vnet);
    }
}
