//! The ECN fields of segments, and what they count for one connection: the modes of RFC 3168 and RFC 9768, the ACE field of
//! the flags AE, CWR and ECE, and the counters behind it (include/net/tcp_ecn.h, 6.18).

use crate::packet::Packet;
use slowpath_model::{Ecn, Flags};

/// How marks are reported (`TCP_ECN_MODE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EcnMode {
    /// They are not.
    #[default]
    Off,
    /// ECE until CWR (RFC 3168).
    Classic,
    /// The ACE field (RFC 9768).
    Accurate,
}

impl EcnMode {
    /// `tcp_ecn_mode_any`.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// `tcp_ecn_mode_rfc3168`.
    pub const fn is_classic(self) -> bool {
        matches!(self, Self::Classic)
    }

    /// `tcp_ecn_mode_accecn`.
    pub const fn is_accurate(self) -> bool {
        matches!(self, Self::Accurate)
    }
}

/// The three bits of the counter in a segment (`TCP_ACCECN_CEP_ACE_MASK`).
pub(super) const COUNT_MASK: u32 = 7;

/// AE, CWR and ECE as a number (`tcp_accecn_ace`).
pub(crate) fn ace(flags: Flags) -> u32 {
    let bit = |flag| u32::from(flags.has(flag));
    bit(Flags::AE) << 2 | bit(Flags::CWR) << 1 | bit(Flags::ECE)
}

/// The flags with these as the ACE field.
pub(super) fn with_ace(flags: Flags, ace: u32) -> Flags {
    let all = Flags::AE.with(Flags::CWR).with(Flags::ECE);
    [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)]
        .into_iter()
        .filter(|(bit, _)| ace & bit != 0)
        .fold(flags.without(all), |flags, (_, flag)| flags.with(flag))
}

/// The ACE field that tells how the SYN, or SYN-ACK, arrived (`tcp_accecn_reflector_flags`; RFC 9768, table 2).
pub(super) const fn reflected(ecn: Ecn) -> u32 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// How our SYN, or SYN-ACK, arrived, by the ACE field of the answer (`tcp_accecn_extract_syn_ect`).
pub(super) const fn arrived_as(ace: u32) -> Ecn {
    match ace & COUNT_MASK {
        0b010 => Ecn::NotEct,
        0b000 | 0b100 => Ecn::Ect0,
        0b110 => Ecn::Ce,
        _ => Ecn::Ect1,
    }
}

/// The counters of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccurateEcn {
    /// Segments received with a CE mark (`received_ce`), and those not reported yet, at most 15.
    pub(super) received_ce: u32,
    pub(super) unreported: u32,
    /// How the peer's SYN or SYN-ACK arrived (`syn_ect_rcv`), and the last segment (`prev_ecnfield`).
    pub(super) syn: Ecn,
    pub(super) previous: Ecn,
    /// The next ACK tells how the SYN-ACK arrived.
    pub(super) reflects: bool,
    /// The path changes the ECN field: nothing is sent ECN-capable (`TCP_ACCECN_ACE_FAIL_RECV`).
    pub(super) distrusts: bool,
    /// The segment being processed has a newer timestamp (`FLAG_TS_PROGRESS`).
    pub stamp_advanced: bool,
}

impl AccurateEcn {
    /// `tcp_ecn_received_counters`: returns whether the ECN field is another than that of the segment before.
    pub(super) fn count(&mut self, packet: &Packet) -> bool {
        if packet.ecn == Ecn::Ce {
            self.received_ce = self.received_ce.wrapping_add(packet.segments());
            self.unreported = (self.unreported + packet.segments()).min(0xf);
        }
        std::mem::replace(&mut self.previous, packet.ecn) != packet.ecn
    }

    /// How the peer's SYN arrived.
    pub const fn syn(&self) -> Ecn {
        self.syn
    }

    /// Whether the feedback on our SYN or SYN-ACK, which was not ECN-capable, is possible
    /// (`tcp_accecn_validate_syn_feedback`).
    pub(super) fn trusts(&mut self, ace: u32, checks: bool) -> bool {
        let is_possible = !checks || arrived_as(ace) == Ecn::NotEct;
        self.distrusts |= !is_possible;
        is_possible
    }
}

/// The flags of the SYN-ACK (`tcp_ecn_make_synack`, `tcp_accecn_echo_syn_ect`); `syn`: how the SYN arrived.
pub(crate) fn answering_flags(mode: EcnMode, syn: Ecn) -> Flags {
    let ace = match mode {
        EcnMode::Off => 0b000,
        EcnMode::Classic => 0b001,
        EcnMode::Accurate => reflected(syn),
    };
    with_ace(Flags::SYN.with(Flags::ACK), ace)
}
