//! The SACK option of our ACKs (RFC 2018, RFC 2883; net/ipv4/tcp_input.c, 6.18).

use super::sack_blocks::{BLOCKS_EXPECTED, extend, touches};
use crate::connection::Connection;
use crate::packet::{Block, Sack, TcpOptions};
use slowpath_model::{Instant, StreamOffset};

impl Connection {
    /// The SACK option of an ACK: the duplicate first (DSACK), then the latest blocks (`tcp_established_options`);
    /// three blocks next to timestamps, four without.
    pub(crate) fn sack_option(&self) -> TcpOptions {
        if !self.negotiated.sack {
            return TcpOptions::None;
        }
        // 40 bytes of options: 12 for timestamps, 4 for the option's head, 8 per block.
        let room = if self.negotiated.timestamps { 3 } else { 4 };
        let mut sack = Sack::default();
        let blocks = self.rcv.duplicate_sack.iter().chain(self.rcv.sacks.as_slice());
        for block in blocks.take(room) {
            sack.push(self.rcv.nxt, *block);
        }
        if sack.is_empty() { TcpOptions::None } else { TcpOptions::Sack(sack) }
    }

    /// Notes a duplicate for DSACK (`tcp_dsack_set`).
    pub(super) fn set_duplicate_sack(&mut self, start: StreamOffset, end: StreamOffset) {
        if self.negotiated.sack && self.settings.sysctls.tcp_dsack {
            self.rcv.duplicate_sack = Some(Block { start, end });
        }
    }

    /// Extends the noted duplicate by another of the same segment (`tcp_dsack_extend`); one that does not touch it is
    /// not reported.
    pub(super) fn extend_duplicate_sack(&mut self, start: StreamOffset, end: StreamOffset) {
        let range = Block { start, end };
        match &mut self.rcv.duplicate_sack {
            None => self.set_duplicate_sack(start, end),
            Some(noted) if touches(*noted, range) => extend(noted, range),
            Some(_) => {}
        }
    }

    /// Adds a SACK block for data beyond a hole (`tcp_sack_new_ofo_skb`).
    pub(super) fn add_sack_block(&mut self, now: Instant, start: StreamOffset, end: StreamOffset) {
        let range = Block { start, end };
        let place = self.rcv.sacks.position(range).unwrap_or(self.rcv.sacks.as_slice().len());
        if place >= BLOCKS_EXPECTED {
            self.flush_compressed_ack(now);
        }
        self.rcv.sacks.add(range);
    }

    /// Removes blocks that are in order now (`tcp_sack_remove`).
    pub(super) fn remove_sack_blocks(&mut self) {
        if self.rcv.ofo.is_empty() {
            self.rcv.sacks.clear();
        } else {
            self.rcv.sacks.remove_below(self.rcv.nxt);
        }
    }
}
