//! Accurate ECN (RFC 9768; include/net/tcp_ecn.h, net/ipv4/tcp_input.c, 6.18): in place of ECE and CWR, the flags AE, CWR
//! and ECE are a counter of the segments that arrived with a CE mark, the ACE field.
//!
//! Linux 6.18 has it, but `tcp_ecn` takes no value that would ask for it (`tcp_ecn_mode_max` is 2). A client of 6.18
//! that asked for classic ECN uses it nevertheless if the SYN-ACK has an ACE field of a server that does
//! (`tcp_ecn_rcv_synack`).

use super::ecn_field::{COUNT_MASK, EcnMode, ace, arrived_as, reflected, with_ace};
use super::ecn_option::LargeAck;
use crate::congestion::CaState;
use crate::connection::Connection;
use crate::packet::Packet;
use crate::send::acking::{AckFlags, Acking};
use crate::settings::Settings;
use slowpath_model::{Ecn, Flags};

/// The counter in the first segment, so that it is never 0 (`TCP_ACCECN_CEP_INIT_OFFSET`).
const FIRST_COUNT: u32 = 5;
/// Marks after which an ACK is sent at once, before the counter wraps (`TCP_ACCECN_ACE_MAX_DELTA`).
const MOST_UNREPORTED: u32 = 6;

/// Bits of `tcp_ecn` that ask for, or accept, more than classic ECN (`enum tcp_ecn_mode`).
const ASK_ACCURATE: u8 = 3;
const ACCEPT_ACCURATE: std::ops::RangeInclusive<u8> = 3..=5;
const ASK_CLASSIC: [u8; 2] = [1, 4];

impl Connection {
    /// The feedback that our SYN asks for (`tcp_ecn_send_syn`).
    pub(crate) fn asked_ecn(&self) -> EcnMode {
        let asks = self.settings.sysctls.tcp_ecn;
        if asks == ASK_ACCURATE && self.settings.choices.accurate_ecn {
            EcnMode::Accurate
        } else if ASK_CLASSIC.contains(&asks) || asks == ASK_ACCURATE || self.settings.route.ecn {
            EcnMode::Classic
        } else {
            EcnMode::Off
        }
    }

    /// The flags of our SYN.
    pub(crate) fn asking_flags(&self) -> Flags {
        let ace = match self.asked_ecn() {
            EcnMode::Off => 0b000,
            EcnMode::Classic => 0b011,
            EcnMode::Accurate => 0b111,
        };
        with_ace(Flags::SYN, ace)
    }

    /// The answer to our SYN (`tcp_ecn_rcv_synack`).
    pub(crate) fn learn_ecn(&mut self, syn_ack: &Packet) {
        let answer = ace(syn_ack.flags);
        self.negotiated.ecn = match (self.asked_ecn(), answer) {
            (EcnMode::Off, _) | (_, 0b000 | 0b111) => EcnMode::Off,
            (_, 0b001) | (EcnMode::Classic, 0b101) => EcnMode::Classic,
            _ if self.settings.choices.accurate_ecn => EcnMode::Accurate,
            _ => EcnMode::Off,
        };
        if self.negotiated.ecn.is_accurate() {
            let checks = self.settings.sysctls.tcp_ecn_fallback;
            let accurate = &mut self.rcv.accurate;
            accurate.syn = syn_ack.ecn;
            accurate.reflects = true;
            if let Some(bytes) = &syn_ack.ecn_bytes {
                accurate.note_option(bytes);
                // On the ACK of the SYN-ACK, and on one segment more.
                accurate.demanded = 2;
            }
            if syn_ack.ecn == Ecn::Ce && accurate.trusts(answer, checks) {
                accurate.received_ce += 1;
                accurate.unreported += 1;
            }
        }
    }

    /// The peer's SYN crossed ours (`tcp_ecn_rcv_syn`).
    pub(crate) fn learn_ecn_of_crossed_syn(&mut self, syn: &Packet) {
        let asks = ace(syn.flags);
        self.negotiated.ecn = match self.asked_ecn() {
            EcnMode::Accurate if !matches!(asks, 0b000 | 0b011) => {
                self.rcv.accurate.syn = syn.ecn;
                self.rcv.accurate.previous = syn.ecn;
                EcnMode::Accurate
            }
            EcnMode::Off => EcnMode::Off,
            _ if syn.flags.has(Flags::ECE) && syn.flags.has(Flags::CWR) => EcnMode::Classic,
            _ => EcnMode::Off,
        };
    }

    /// A listener's connection, with the segment that completes the handshake (`tcp_ecn_openreq_child`,
    /// `tcp_accecn_third_ack`). `syn`: how the SYN arrived.
    pub(crate) fn begin_accurate_ecn(&mut self, syn: Ecn, distrusts: bool, third: &Packet) {
        let checks = self.settings.sysctls.tcp_ecn_fallback;
        let answer = ace(third.flags);
        let accurate = &mut self.rcv.accurate;
        (accurate.syn, accurate.previous) = (syn, syn);
        accurate.distrusts = distrusts;
        if let Some(bytes) = &third.ecn_bytes {
            accurate.note_option(bytes);
        }
        match answer {
            0b000 => (accurate.distrusts, accurate.ignores_option) = (true, true),
            0b001 | 0b101 | 0b111 => {}
            _ => {
                if third.len == 0 && accurate.trusts(answer, checks) && arrived_as(answer) == Ecn::Ce {
                    self.snd.delivered_ce = self.snd.delivered_ce.max(1);
                }
            }
        }
        self.rcv.accurate.demanded = 1;
        self.count_ecn_field(third);
    }

    /// The ECN field of a segment of the established connection (`tcp_ecn_received_counters`): a change is reported at
    /// once.
    pub(super) fn count_ecn_field(&mut self, packet: &Packet) {
        if !self.settings.choices.accurate_ecn {
            return;
        }
        let changed = self.rcv.accurate.count(packet);
        // For classic ECN, only that of data counts as seen.
        self.rcv.ecn_seen |= packet.ecn != Ecn::NotEct && !self.negotiated.ecn.is_classic();
        if changed && self.negotiated.ecn.is_accurate() {
            self.rcv.ack.pending.now = true;
        }
    }

    /// The ACE field that header prediction expects (`__tcp_fast_path_on`).
    pub(super) fn predicted_flags(&self) -> Flags {
        if self.negotiated.ecn.is_accurate() {
            with_ace(Flags::ACK, FIRST_COUNT.wrapping_add(self.snd.delivered_ce))
        } else {
            Flags::ACK
        }
    }

    /// The ECN field of a segment without payload.
    pub(super) const fn last_ecn(&self) -> Ecn {
        if self.negotiated.ecn.is_accurate() && !self.rcv.accurate.distrusts {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    /// Sets the ECN field and the ACE field of a segment (`tcp_ecn_send`, `tcp_accecn_set_ace`).
    pub(crate) fn set_accurate_ecn(&mut self, packet: &mut Packet) {
        packet.ecn = self.last_ecn();
        let accurate = &mut self.rcv.accurate;
        packet.accurate_ecn = true;
        let count = if std::mem::take(&mut accurate.reflects) {
            reflected(accurate.syn)
        } else {
            accurate.unreported = 0;
            accurate.received_ce.wrapping_add(FIRST_COUNT)
        };
        packet.flags = with_ace(packet.flags, count);
    }

    /// Another SYN, or the SYN-ACK again: the next ACK tells how it arrived (`tcp_send_ack_reflect_ect`), or how the
    /// first did in some builds of Linux 6.18.
    pub(super) fn reflect_syn(&mut self, syn: &Packet) {
        if !self.negotiated.ecn.is_accurate() {
            return;
        }
        let accurate = &mut self.rcv.accurate;
        accurate.reflects = true;
        accurate.syn = syn.ecn;
        if let Some(bytes) = &syn.ecn_bytes {
            accurate.note_option(bytes);
            accurate.demanded = accurate.demanded.max(1);
        }
    }

    /// The SYN-ACK is acknowledged by a later segment than an ACK of its own, which does not tell how it arrived.
    pub(super) fn forget_reflecting(&mut self) {
        self.rcv.accurate.reflects = false;
    }

    /// What the ACE field of an ACK counts (`tcp_accecn_process`). `slow`: it did not pass header prediction.
    pub(crate) fn count_marks(&mut self, packet: &Packet, slow: bool, acking: &mut Acking) {
        let stamp_advanced = std::mem::take(&mut self.rcv.accurate.stamp_advanced);
        if !self.negotiated.ecn.is_accurate()
            || !(acking.flags.any(AckFlags::FORWARD_PROGRESS) || stamp_advanced)
        {
            return;
        }
        let delivered = self.snd.delivered.wrapping_sub(acking.prior_delivered);
        let prior_bytes = self.delivered_ce_bytes();
        let are_bytes_known = self.read_ecn_bytes(packet, acking.delivered_bytes);
        // Header prediction knows the counter, unless it may have wrapped.
        if (!slow && delivered <= COUNT_MASK) || acking.flags.any(AckFlags::SYN_ACKED) {
            return;
        }
        self.rcv.ack.pending.now |= self.rcv.accurate.unreported >= MOST_UNREPORTED;
        let known = self.snd.delivered_ce.wrapping_add(FIRST_COUNT);
        let least = ace(packet.flags).wrapping_sub(known) & COUNT_MASK;
        let marked = if delivered <= COUNT_MASK {
            least
        } else {
            let ack = LargeAck {
                segments: delivered,
                bytes: acking.delivered_bytes,
                least,
                most: delivered - (delivered.wrapping_sub(least) & COUNT_MASK),
                mss: self.snd.mss,
                is_exact: self.negotiated.sack || self.snd.ca_state <= CaState::Cwr,
            };
            let bytes = self.delivered_ce_bytes().wrapping_sub(prior_bytes);
            ack.marks(are_bytes_known.then_some(bytes))
        };
        if marked > 0 {
            self.snd.delivered_ce = self.snd.delivered_ce.wrapping_add(marked);
            acking.flags.set(AckFlags::ECE);
        }
    }
}

/// The feedback that a listener agrees to (`tcp_ecn_create_request`): accurate, if the SYN's ACE field is neither empty
/// nor that of classic ECN. A SYN with ECT does not follow RFC 3168, unless it has AE.
pub(crate) fn accepted_ecn(syn: &Packet, settings: &Settings) -> EcnMode {
    let accepts = settings.sysctls.tcp_ecn;
    let asks = ace(syn.flags);
    let accurate = settings.choices.accurate_ecn && ACCEPT_ACCURATE.contains(&accepts);
    if accurate && !matches!(asks, 0b000 | 0b011) {
        EcnMode::Accurate
    } else if syn.flags.has(Flags::ECE.with(Flags::CWR))
        && (accepts != 0 || settings.route.ecn)
        && (syn.ecn == Ecn::NotEct || syn.flags.has(Flags::AE))
    {
        EcnMode::Classic
    } else {
        EcnMode::Off
    }
}
