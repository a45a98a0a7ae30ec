//! The option of Accurate ECN: counters of payload bytes by ECN field, both ways (RFC 9768, section 3.2.3;
//! `tcp_options_fit_accecn`, net/ipv4/tcp_output.c; `tcp_accecn_process_option`, net/ipv4/tcp_input.c, 6.18).
//!
//! A host sends it once it has seen the peer's: a device that does not know the option would remove it from the handshake.

use super::ecn_field::{OptionSeen, fields_in_order, first_value, fitting};
use crate::connection::Connection;
use crate::packet::{EcnBytes, OPTION_SPACE, Packet, Sack, TcpOptions};
use slowpath_model::Instant;
use slowpath_uapi::TcpInfo;

/// `tcp_ecn_option`: from here on, every segment has the option, instead of those that change a counter and some more.
const ON_EVERY_SEGMENT: u8 = 2;
/// Bytes sent after which the peer's first option comes too late: a counter may have wrapped.
const TOO_LATE: u64 = (1 << 23) - 1;

/// Bytes of the SACK option.
pub(crate) const fn sack_bytes(blocks: u32) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

impl Connection {
    /// SACK blocks and the option of Accurate ECN, as they fit into a segment after the handshake
    /// (`tcp_established_options`).
    pub(crate) fn options_after_handshake(&self) -> (TcpOptions, Option<EcnBytes>) {
        let options = self.sack_option();
        if !self.wants_ecn_bytes() {
            return (options, None);
        }
        let sack = match options {
            TcpOptions::Sack(sack) => sack,
            TcpOptions::None | TcpOptions::Syn(_) => Sack::default(),
        };
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        let blocks = u32::try_from(sack.len()).unwrap_or(0);
        let Some((counters, kept)) = fit(self.rcv.accurate.least_counters, blocks, OPTION_SPACE - timestamps)
        else {
            return (options, None);
        };
        let bytes = self.rcv.accurate.received_bytes.sent();
        let bytes =
            bytes.get(..usize::try_from(counters).unwrap_or(0)).and_then(|sent| EcnBytes::new(true, sent));
        let options = match options {
            TcpOptions::Sack(sack) => TcpOptions::Sack(sack.first(self.rcv.nxt, kept)),
            other => other,
        };
        (options, bytes)
    }

    fn wants_ecn_bytes(&self) -> bool {
        let accurate = &self.rcv.accurate;
        let when = self.settings.sysctls.tcp_ecn_option;
        self.negotiated.ecn.is_accurate()
            && when > 0
            && accurate.seen != OptionSeen::No
            && !accurate.option_is_lost
            && (when >= ON_EVERY_SEGMENT || accurate.demanded > 0 || self.is_ecn_beacon_due())
    }

    /// The option is sent this often in an RTT at least (`tcp_accecn_option_beacon_check`).
    fn is_ecn_beacon_due(&self) -> bool {
        let accurate = &self.rcv.accurate;
        let times = u128::from(self.settings.sysctls.tcp_ecn_option_beacon);
        let rtt_us = u128::from(self.snd.rtt.srtt_us >> 3);
        let since = accurate.option_sent.and_then(|sent| accurate.clock.since(sent));
        times > 0 && since.is_none_or(|since| since.as_micros() * times >= rtt_us)
    }

    /// The time for what is sent now; the MSS, if it may have changed with it.
    pub(crate) fn mss_with_beacon(&mut self, now: Instant, mss: u32) -> u32 {
        if !self.negotiated.ecn.is_accurate() {
            return mss;
        }
        self.rcv.accurate.clock = now;
        if self.is_ecn_beacon_due() { self.current_mss() } else { mss }
    }

    /// A segment is sent, with or without the option (`tcp_options_write`).
    pub(crate) fn note_ecn_option_sent(&mut self, now: Instant, with_option: bool) {
        let duplicate = self.rcv.duplicate_sack.map(|block| block.start);
        let accurate = &mut self.rcv.accurate;
        accurate.sent_with_duplicate = duplicate.filter(|_| with_option);
        if with_option {
            accurate.least_counters = 0;
            accurate.option_sent = Some(now);
            accurate.demanded = accurate.demanded.saturating_sub(1);
        }
    }

    /// Data comes once more although the ACK that reported it as a duplicate had the option: such ACKs are lost
    /// (`tcp_rcv_spurious_retrans`).
    pub(super) fn note_duplicate_again(&mut self, packet: &Packet) {
        let accurate = &mut self.rcv.accurate;
        accurate.option_is_lost |= accurate.sent_with_duplicate == Some(packet.seq);
    }

    /// The peer's counters in an ACK of `delivered` bytes: returns whether they tell what arrived marked.
    pub(super) fn read_ecn_bytes(&mut self, packet: &Packet, delivered: u32) -> bool {
        let bytes_sent = self.snd.totals.bytes_sent;
        let accurate = &mut self.rcv.accurate;
        if accurate.ignores_option {
            return false;
        }
        let Some(bytes) = packet.ecn_bytes else {
            if accurate.seen == OptionSeen::No {
                if bytes_sent >= TOO_LATE {
                    (accurate.seen, accurate.ignores_option) = (OptionSeen::Changed, true);
                }
                return false;
            }
            let counter = accurate.delivered_as.and_then(|ecn| accurate.delivered_bytes.of(ecn));
            return counter.map(|counter| *counter = counter.wrapping_add(delivered)).is_some();
        };
        accurate.note_option(&bytes);
        let estimated = accurate.delivered_as;
        let (mut is_clear, mut changed, mut ambiguous) = (estimated.is_some(), false, false);
        for (ecn, sent) in fields_in_order(bytes.ect1_first).into_iter().zip(bytes.counters()) {
            let delta =
                accurate.delivered_bytes.of(ecn).map_or(0, |counter| update(counter, sent, first_value(ecn)));
            let second = delta != 0 && estimated != Some(ecn) && changed;
            if delta < 0 || second {
                (is_clear, ambiguous) = (false, true);
            }
            if delta != 0 && estimated != Some(ecn) && !changed {
                (accurate.delivered_as, changed) = (Some(ecn), true);
            }
        }
        if ambiguous {
            accurate.delivered_as = None;
        }
        is_clear
    }

    /// The counters of both directions.
    pub(crate) const fn accurate_ecn_info(&self, info: &mut TcpInfo) {
        let accurate = &self.rcv.accurate;
        info.received_ce = accurate.received_ce;
        let (ours, theirs) = (&accurate.delivered_bytes, &accurate.received_bytes);
        (info.delivered_e1_bytes, info.delivered_e0_bytes, info.delivered_ce_bytes) =
            (ours.ect1, ours.ect0, ours.ce);
        (info.received_e1_bytes, info.received_e0_bytes, info.received_ce_bytes) =
            (theirs.ect1, theirs.ect0, theirs.ce);
    }

    /// Bytes reported as delivered with a CE mark.
    pub(super) const fn delivered_ce_bytes(&self) -> u32 {
        self.rcv.accurate.delivered_bytes.ce
    }
}

/// How many counters, at least `required`, fit into `room` bytes next to SACK blocks, and how many of these then remain
/// (`tcp_options_fit_accecn`); more than two blocks make place.
fn fit(required: u32, blocks: u32, room: u32) -> Option<(u32, u32)> {
    let shared = if blocks > 0 { 2 } else { 0 };
    let mut kept = blocks;
    loop {
        let left = room.checked_sub(sack_bytes(kept))?;
        if let Some(counters) = fitting(required, shared, left) {
            return Some((counters, kept));
        }
        if kept <= 2 || required == 0 {
            return None;
        }
        kept -= 1;
    }
}

/// Takes over a counter of 24 bits, and returns its change (`tcp_update_ecn_bytes`).
fn update(counter: &mut u32, sent: u32, first: u32) -> i32 {
    let delta = (sent.wrapping_sub(first).wrapping_sub(*counter) << 8) as i32 >> 8;
    *counter = counter.wrapping_add_signed(delta);
    delta
}

/// Marks that an ACK of more segments than the counter holds can mean: `least` more by the counter alone, or with a
/// multiple of eight (`__tcp_accecn_process`). `known`: what the byte counters tell.
pub(super) struct LargeAck {
    /// Segments and bytes delivered.
    pub segments: u32,
    pub bytes: u32,
    /// The increase of the counter.
    pub least: u32,
    /// The most that can have been marked.
    pub most: u32,
    /// The MSS.
    pub mss: u32,
    /// SACK, or no recovery: bytes and segments belong together.
    pub is_exact: bool,
}

impl LargeAck {
    /// The marks, with the bytes marked if these are known.
    pub fn marks(&self, marked_bytes: Option<u32>) -> u32 {
        /// `TCP_ACCECN_SAFETY_SHIFT`.
        const SAFETY_SHIFT: u32 = 1;
        let Some(marked) = marked_bytes else { return self.most };
        if marked == 0 {
            return self.least;
        }
        if self.segments >= 16 && self.is_exact {
            if self.bytes <= marked {
                return self.most;
            }
            let share = (u64::from(marked) * u64::from(self.segments)).div_ceil(u64::from(self.bytes));
            let wraps = u32::try_from(share).unwrap_or(u32::MAX) & !7;
            return self.most.min(self.least.saturating_add(wraps));
        }
        if marked > self.least.saturating_mul(self.mss) {
            return self.most;
        }
        if marked < self.most.saturating_mul(self.mss) >> SAFETY_SHIFT { self.least } else { self.most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::StreamOffset;

    #[test]
    fn counters_and_sack_blocks_share_the_options() {
        // Without timestamps: three counters and three blocks, of four.
        assert_eq!(fit(3, 4, 40), Some((3, 3)));
        assert_eq!(fit(3, 3, 40), Some((3, 3)));
        // With timestamps: two blocks, or fewer counters, if these suffice.
        assert_eq!(fit(0, 3, 28), Some((0, 3)));
        assert_eq!(fit(2, 3, 28), Some((2, 2)));
        assert_eq!(fit(3, 3, 28), None);
        assert_eq!(fit(1, 0, 28), Some((3, 0)));
    }

    #[test]
    fn counters_of_24_bits_go_up_and_down() {
        let mut counter = 0x00ff_fff0;
        assert_eq!(update(&mut counter, 0x11, 1), 0x20);
        assert_eq!(counter, 0x0100_0010);
        assert_eq!(update(&mut counter, 1, 1), -0x10);
        assert_eq!(counter, 0x0100_0000);
    }

    #[test]
    fn bytes_show_whether_the_counter_wrapped() {
        let ack = LargeAck { segments: 20, bytes: 20_000, least: 1, most: 17, mss: 1000, is_exact: true };
        assert_eq!(ack.marks(None), 17);
        assert_eq!(ack.marks(Some(0)), 1);
        assert_eq!(ack.marks(Some(1000)), 1);
        assert_eq!(ack.marks(Some(9000)), 9);
        assert_eq!(ack.marks(Some(20_000)), 17);
        let small = LargeAck { segments: 10, most: 9, ..ack };
        assert_eq!((small.marks(Some(1000)), small.marks(Some(9000))), (1, 9));
    }

    #[test]
    fn option_without_place_leaves_sack_blocks() {
        let mut sack = Sack::default();
        for start in [10, 30, 50] {
            let block = crate::packet::Block { start: StreamOffset(start), end: StreamOffset(start + 10) };
            assert!(sack.push(StreamOffset(1), block));
        }
        assert_eq!(sack.first(StreamOffset(1), 2).len(), 2);
        assert_eq!(sack.first(StreamOffset(1), 3), sack);
    }
}
