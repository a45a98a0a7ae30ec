//! The urgent byte (`tcp_urg`, net/ipv4/tcp_input.c, 6.18).

use super::receiver::{Urgent, UrgentByte};
use crate::connection::Connection;
use crate::packet::Packet;
use slowpath_model::Flags;

impl Connection {
    /// Notes an urgent pointer and the byte it points to (`tcp_urg`).
    pub(super) fn urgent_received(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::URG) {
            self.check_urgent(packet);
        }
        if self.rcv.urgent.byte == UrgentByte::Announced {
            let syn = u32::from(packet.flags.has(Flags::SYN));
            let place = self.rcv.urgent.seq.distance_from(packet.seq + syn);
            if (0..i64::from(packet.len)).contains(&place) {
                self.rcv.urgent.byte = UrgentByte::Here;
                self.wakeups.readable |= !self.orphaned;
            }
        }
    }

    /// A new urgent pointer (`tcp_check_urg`).
    fn check_urgent(&mut self, packet: &Packet) {
        let mut pointer = u32::from(packet.urgent);
        // BSD's reading of RFC 793: the pointer is one after the byte.
        if pointer != 0 && !self.settings.sysctls.tcp_stdurg {
            pointer -= 1;
        }
        let place = packet.seq + pointer;
        let rcv = &mut self.rcv;
        if place < rcv.copied || place < rcv.nxt {
            return;
        }
        if rcv.urgent.byte != UrgentByte::None && place <= rcv.urgent.seq {
            return;
        }
        // If the next byte was the urgent one and was read out of band, skip it now, since its position will be
        // overwritten.
        if rcv.urgent.seq == rcv.copied
            && rcv.urgent.byte != UrgentByte::None
            && !self.options.oob_inline
            && rcv.copied < rcv.nxt
        {
            rcv.copied = rcv.copied + 1;
            let freed = rcv.queue.release(rcv.copied);
            self.uncharge(freed);
        }
        self.rcv.urgent = Urgent { byte: UrgentByte::Announced, seq: place };
        self.rcv.fast_path = false;
    }

    /// Whether the next byte to read is the urgent one (`SIOCATMARK`).
    pub fn is_at_mark(&self) -> bool {
        self.has_urgent() && self.rcv.urgent.seq == self.rcv.copied
    }

    /// Whether an urgent byte is announced or received.
    pub(crate) fn has_urgent(&self) -> bool {
        self.rcv.urgent.byte != UrgentByte::None
    }
}
