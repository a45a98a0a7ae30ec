//! `[[path.middleboxes]]`: devices that inspect packets.

use crate::schema::quantity::{Chance, Clearing, Dropping, HostIdentification, Scale};
use crate::schema::{Describe, Key, Reader, Section};
use slowpath_model::Bytes;
use slowpath_path::action::Replacement;
use slowpath_path::damage::DamageConfig;
use slowpath_path::ecn::EcnConfig;
use slowpath_path::forget::ForgetConfig;
use slowpath_path::identification::IdentificationConfig;
use slowpath_path::middlebox::MiddleboxConfig;
use slowpath_path::mtu::MtuConfig;
use slowpath_path::resets::ResetConfig;
use slowpath_path::sack_shift::SackShiftConfig;
use slowpath_path::window_scale::WindowScaleConfig;
use std::time::Duration;

const ANOTHER: &str = "another kind of middlebox";

static MTU: Key<Bytes> =
    Key::new("mtu", "Drops IP packets longer than this.").range("68 B", "65535 B").absent(ANOTHER);
static ICMP: Key<bool> = Key::new(
    "icmp",
    "With `mtu`: whether the sender gets ICMP \"fragmentation needed\" or ICMPv6 \"packet too big\".",
)
.default("false", "an MTU black hole");
static DROP: Key<Dropping> = Key::new(
    "drop",
    "Drops the packets of super-packets (offload on the way), SYNs with data (TCP Fast Open), or data beyond the last \
     ACK and the window field as it is on the wire (a firewall that does not know window scaling).",
)
.absent(ANOTHER);
static FORGET_AFTER: Key<Duration> = Key::new(
    "forget-after",
    "Forgets a connection that had no packet in either direction for longer than this, and drops its packets from then on.",
)
.range("1 us", "24 h")
.absent(ANOTHER);
static RESET: Key<bool> = Key::new(
    "reset",
    "With `forget-after`: whether packets of a forgotten connection are answered by a RST.",
)
.default("false", "no answer");
static WINDOW_SCALE: Key<Scale> = Key::new(
    "window-scale",
    "Replaces the window scale option of SYNs (in the direction of the SYN) or SYN-ACKs (in the other).",
)
.absent(ANOTHER);
static SACK_SHIFT: Key<u32> = Key::new(
    "sack-shift",
    "Adds this to the edges of SACK blocks, as if a firewall had changed sequence numbers and left the blocks alone.",
)
.range("1", "4294967295")
.absent(ANOTHER);
static ECN_MARK: Key<Chance> =
    Key::new("ecn-mark", "Chance that an ECN-capable packet is marked CE.").absent(ANOTHER);
static ECN_MARK_EVERY: Key<u64> =
    Key::new("ecn-mark-every", "Marks every nth ECN-capable packet CE; 1 marks all.")
        .range("1", "1000000000")
        .absent(ANOTHER);
static ECN: Key<Clearing> =
    Key::new("ecn", "Clears the ECN field, marks included (\"bleaching\").").absent(ANOTHER);
static IDENTIFICATION: Key<HostIdentification> = Key::new(
    "identification",
    "Gives IPv4 packets other identifications, as another kind of host would: from one counter of the host, random, \
     all 0, or the sender's own with the two bytes swapped.",
)
.absent(ANOTHER);
static OTHERS: Key<u32> = Key::new(
    "others",
    "With `identification = \"per-host\"`: packets that the host sends elsewhere between two of these, at most; any \
     number up to it is as likely.",
)
.range("0", "65535")
.default("10", "a host with some other traffic");
static RESET_AT: Key<Bytes> = Key::new(
    "reset-at",
    "Sends the receiver a RST behind the packet with this byte of the stream, once for each connection.",
)
.absent(ANOTHER);
static RESET_BEYOND: Key<Bytes> = Key::new(
    "reset-beyond",
    "With `reset-at`: how far the RST's sequence number is beyond what the receiver expects. If it is not 0, the receiver \
     sends a challenge ACK instead of closing (RFC 5961).",
)
.range("0 B", "1 GiB")
.default("0 B", "the RST is accepted");
static DAMAGE: Key<Chance> =
    Key::new("damage", "Chance that a packet arrives damaged, with a wrong TCP checksum.").absent(ANOTHER);

/// Every kind of middlebox.
static KINDS: [&dyn Describe; 11] = [
    &MTU,
    &DROP,
    &FORGET_AFTER,
    &WINDOW_SCALE,
    &SACK_SHIFT,
    &ECN_MARK,
    &ECN_MARK_EVERY,
    &ECN,
    &IDENTIFICATION,
    &RESET_AT,
    &DAMAGE,
];

/// A middlebox.
pub static MIDDLEBOX: Section = Section {
    heading: "[[path.middleboxes]]",
    meaning: "A middlebox looks into packets, half way between the hosts, and drops, changes or answers them. Packets meet \
              middleboxes in the order in which they are written. Each has exactly one of the keys whose default is \
              another kind of middlebox. An answer to a packet goes back over the other direction of the path.",
    keys: &[
        &MTU,
        &ICMP,
        &DROP,
        &FORGET_AFTER,
        &RESET,
        &WINDOW_SCALE,
        &SACK_SHIFT,
        &ECN_MARK,
        &ECN_MARK_EVERY,
        &ECN,
        &IDENTIFICATION,
        &OTHERS,
        &RESET_AT,
        &RESET_BEYOND,
        &DAMAGE,
    ],
    also: None,
};

/// Reads one middlebox.
pub fn read(reader: &Reader<'_>) -> Option<MiddleboxConfig> {
    reader.refuse_all_but_one(&KINDS);
    for (key, needed) in
        [(&ICMP as &dyn Describe, &MTU as &dyn Describe), (&RESET, &FORGET_AFTER), (&RESET_BEYOND, &RESET_AT)]
    {
        reader.refuse_without(key, needed);
    }
    reader.refuse_without(&OTHERS, &IDENTIFICATION);
    let Some(kind) = KINDS.into_iter().find(|kind| reader.has(*kind)) else {
        reader.refuse(&MTU, "what does this middlebox do?", "write mtu = \"1400 B\", or another of its keys");
        return None;
    };
    let read: fn(&Reader<'_>) -> Option<MiddleboxConfig> = match kind.name() {
        "mtu" => |reader| {
            let icmp = reader.get(&ICMP);
            Some(MiddleboxConfig::Mtu(MtuConfig { mtu: reader.optional(&MTU)?, icmp }))
        },
        "drop" => |reader| {
            reader.optional(&DROP).map(|drop| match drop {
                Dropping::SuperPackets => MiddleboxConfig::SuperPackets,
                Dropping::SynData => MiddleboxConfig::SynData,
                Dropping::BeyondUnscaledWindow => MiddleboxConfig::UnscaledWindow,
            })
        },
        "forget-after" => |reader| {
            let reset = reader.get(&RESET);
            Some(MiddleboxConfig::Forget(ForgetConfig { idle: reader.optional(&FORGET_AFTER)?, reset }))
        },
        "window-scale" => |reader| {
            let becomes = match reader.optional(&WINDOW_SCALE)? {
                Scale::Shift(shift) => Replacement::Shift(shift),
                Scale::Removed => Replacement::Removed,
            };
            Some(MiddleboxConfig::WindowScale(WindowScaleConfig { becomes }))
        },
        "sack-shift" => |reader| {
            reader.optional(&SACK_SHIFT).map(|shift| MiddleboxConfig::SackShift(SackShiftConfig { shift }))
        },
        "ecn-mark" => |reader| {
            let probability_ppm = reader.optional(&ECN_MARK)?.ppm;
            Some(MiddleboxConfig::Ecn(EcnConfig::MarkByChance { probability_ppm }))
        },
        "ecn-mark-every" => |reader| {
            let packets = reader.optional(&ECN_MARK_EVERY)?;
            Some(MiddleboxConfig::Ecn(EcnConfig::MarkEvery { packets }))
        },
        "ecn" => {
            |reader| reader.optional(&ECN).map(|Clearing::Bleach| MiddleboxConfig::Ecn(EcnConfig::Bleach))
        }
        "identification" => identification,
        "reset-at" => |reader| {
            let beyond = u32::try_from(reader.get(&RESET_BEYOND).get()).unwrap_or(u32::MAX);
            let at_byte = reader.optional(&RESET_AT)?.get();
            Some(MiddleboxConfig::Reset(ResetConfig { at_byte, beyond }))
        },
        _ => |reader| {
            let probability_ppm = reader.optional(&DAMAGE)?.ppm;
            Some(MiddleboxConfig::Damage(DamageConfig { probability_ppm }))
        },
    };
    read(reader)
}

fn identification(reader: &Reader<'_>) -> Option<MiddleboxConfig> {
    let policy = reader.optional(&IDENTIFICATION)?;
    if policy != HostIdentification::PerHost && reader.has(&OTHERS) {
        reader.refuse(
            &OTHERS,
            "only a counter of the host has this",
            "write identification = \"per-host\", or leave this out",
        );
    }
    let config = match policy {
        HostIdentification::PerHost => {
            IdentificationConfig::PerHost { others: u16::try_from(reader.get(&OTHERS)).unwrap_or(u16::MAX) }
        }
        HostIdentification::Random => IdentificationConfig::Random,
        HostIdentification::Zero => IdentificationConfig::Zero,
        HostIdentification::ByteSwapped => IdentificationConfig::ByteSwapped,
    };
    Some(MiddleboxConfig::Identification(config))
}
