//! The ECN fields of segments, and what they count for one connection: the modes of RFC 3168 and RFC 9768, the ACE field of
//! the flags AE, CWR and ECE, and the counters behind it (include/net/tcp_ecn.h, 6.18).

use crate::packet::{EcnBytes, OPTION_SPACE, Packet};
use slowpath_model::{Ecn, Flags, Instant, StreamOffset};

/// `TCP_ACCECN_NUMFIELDS`.
const ALL_COUNTERS: u32 = 3;

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

/// What the peer's options with byte counters showed (`TCP_ACCECN_OPT_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OptionSeen {
    /// None has come.
    #[default]
    No,
    /// A counter that does not begin at zero was zero: a device changes the option.
    Changed,
    /// Only options without counters.
    Empty,
    /// Counters.
    Counters,
}

impl OptionSeen {
    /// The first options of a peer (`tcp_accecn_option_init`).
    pub fn of(bytes: &EcnBytes) -> Self {
        let counters: [Option<u32>; 3] = {
            let mut counters = bytes.counters();
            [counters.next(), counters.next(), counters.next()]
        };
        match counters {
            [None, ..] => Self::Empty,
            [Some(0), ..] | [_, _, Some(0)] => Self::Changed,
            _ => Self::Counters,
        }
    }
}

/// Counters of payload bytes by the ECN field they came with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BytesByField {
    pub ect1: u32,
    pub ect0: u32,
    pub ce: u32,
}

impl BytesByField {
    /// The counter of a field; there is none of Not-ECT.
    pub fn of(&mut self, ecn: Ecn) -> Option<&mut u32> {
        match ecn {
            Ecn::NotEct => None,
            Ecn::Ect1 => Some(&mut self.ect1),
            Ecn::Ect0 => Some(&mut self.ect0),
            Ecn::Ce => Some(&mut self.ce),
        }
    }

    /// The counters as sent, of ECT(1), CE and ECT(0): those of ECT begin at 1, so that zeros on the way show
    /// (`TCP_ACCECN_E1B_INIT_OFFSET`, `TCP_ACCECN_E0B_INIT_OFFSET`).
    pub const fn sent(self) -> [u32; 3] {
        [
            self.ect1.wrapping_add(first_value(Ecn::Ect1)),
            self.ce,
            self.ect0.wrapping_add(first_value(Ecn::Ect0)),
        ]
    }
}

/// Where a counter begins (`tcp_accecn_field_init_offset`).
pub(super) const fn first_value(ecn: Ecn) -> u32 {
    match ecn {
        Ecn::Ect0 | Ecn::Ect1 => 1,
        Ecn::NotEct | Ecn::Ce => 0,
    }
}

/// The fields in the order of an option's counters (`tcp_accecn_optfield_to_ecnfield`).
pub(super) const fn fields_in_order(ect1_first: bool) -> [Ecn; 3] {
    if ect1_first { [Ecn::Ect1, Ecn::Ce, Ecn::Ect0] } else { [Ecn::Ect0, Ecn::Ce, Ecn::Ect1] }
}

/// How many counters an option needs to have that of a field (`tcp_ecnfield_to_accecn_optfield`).
const fn counters_up_to(ecn: Ecn) -> u32 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ce => 2,
        Ecn::Ect0 => 3,
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
    /// Payload received, and what the peer reports of ours (`received_ecn_bytes`, `delivered_ecn_bytes`).
    pub(super) received_bytes: BytesByField,
    pub(super) delivered_bytes: BytesByField,
    /// The field of data delivered by ACKs without the option, if the last one with it leaves no doubt
    /// (`est_ecnfield`).
    pub(super) delivered_as: Option<Ecn>,
    /// What the peer's options showed; after one was found changed, they are not read
    /// (`TCP_ACCECN_OPT_FAIL_RECV`).
    pub(super) seen: OptionSeen,
    pub(super) ignores_option: bool,
    /// Segments that must carry the option (`accecn_opt_demand`), and the counters that the next must have at least
    /// (`accecn_minlen`).
    pub(super) demanded: u8,
    pub(super) least_counters: u32,
    /// When the option was last sent (`accecn_opt_tstamp`), and the time of the segment that is made now.
    pub(super) option_sent: Option<Instant>,
    pub clock: Instant,
    /// The start of the duplicate that the last segment reported, if it had the option (`accecn_opt_sent_w_dsack`).
    pub(super) sent_with_duplicate: Option<StreamOffset>,
    /// ACKs with the option are lost: it is not sent any more (`TCP_ACCECN_OPT_FAIL_SEND`).
    pub(super) option_is_lost: bool,
}

impl AccurateEcn {
    /// `tcp_ecn_received_counters`: returns whether the ECN field is another than that of the segment before.
    pub(super) fn count(&mut self, packet: &Packet) -> bool {
        /// Counters are reported at least this often, in bytes.
        const MOST_BYTES: u32 = 1 << 22;
        let is_ce = packet.ecn == Ecn::Ce;
        if is_ce {
            self.received_ce = self.received_ce.wrapping_add(packet.segments());
            self.unreported = (self.unreported + packet.segments()).min(0xf);
        }
        if packet.len > 0
            && let Some(counter) = self.received_bytes.of(packet.ecn)
        {
            let before = *counter;
            *counter = before.wrapping_add(packet.len);
            if *counter / MOST_BYTES != before / MOST_BYTES {
                self.demanded = self.demanded.max(1);
            }
            self.least_counters = self.least_counters.max(counters_up_to(packet.ecn));
        }
        let changed = std::mem::replace(&mut self.previous, packet.ecn) != packet.ecn;
        if changed || is_ce {
            // The second shows which of two fields the last segment had.
            self.demanded = 2;
        }
        changed
    }

    /// The peer's first options (`tcp_accecn_saw_opt_fail_recv`).
    pub(super) fn note_option(&mut self, bytes: &EcnBytes) {
        if self.seen < OptionSeen::Counters {
            self.seen = OptionSeen::of(bytes);
            self.ignores_option |= self.seen == OptionSeen::Changed;
        }
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

/// How many counters, at least `required`, fit into `room` bytes, of which another option's padding is `shared`.
pub(super) fn fitting(required: u32, shared: u32, room: u32) -> Option<u32> {
    (required..=ALL_COUNTERS).rev().find(|count| EcnBytes::padded(*count, shared) <= room)
}

/// The counters of a SYN-ACK: nothing has arrived yet. As many as fit, unless the sysctl `when` is 0.
pub(crate) fn first_counters(syn_ack: &Packet, when: u8) -> Option<EcnBytes> {
    if when == 0 {
        return None;
    }
    let syn = syn_ack.syn_options();
    let shared = syn.shared_padding(syn_ack.timestamps.is_some());
    let left = OPTION_SPACE.checked_sub(syn_ack.option_bytes())?;
    let counters = fitting(0, shared, left)?;
    let sent = BytesByField::default().sent();
    EcnBytes::new(true, sent.get(..usize::try_from(counters).ok()?)?)
}
