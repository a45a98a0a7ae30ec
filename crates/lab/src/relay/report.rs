//! Statistics of the relay.

use crate::path::action::Changes;
use crate::path::{LossReason, Totals};
use serde::{Deserialize, Serialize};
use slowpath_model::{Ecn, Histogram, nanos};

/// The action of the path on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was lost.
    Dropped(LossReason),
    /// It arrived twice.
    Duplicated,
    /// It was delayed so that later packets overtook it.
    HeldBack,
    /// It arrived with a wrong checksum.
    Damaged,
    /// It was marked CE.
    Marked,
    /// Its window scale option was replaced.
    Rescaled,
    /// Its SACK blocks were shifted.
    SackShifted,
    /// A RST followed it.
    Reset,
}

impl Fate {
    /// What middleboxes did to a packet, if it is worth reporting for each packet: a new identification and a cleared
    /// ECN field apply to all.
    pub(super) fn of_changes(changes: &Changes) -> Option<Self> {
        let all = [
            (changes.is_damaged, Self::Damaged),
            (changes.ecn == Some(Ecn::Ce), Self::Marked),
            (changes.window_scale.is_some(), Self::Rescaled),
            (changes.sack_shift != 0, Self::SackShifted),
            (changes.reset_beyond.is_some(), Self::Reset),
        ];
        all.into_iter().find(|(is_so, _)| *is_so).map(|(_, fate)| fate)
    }
}

/// A packet that the path did not simply carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When it reached the path, `CLOCK_REALTIME`.
    pub at_ns: u64,
    /// The fate of the packet.
    pub fate: Fate,
    /// IPv4 identification; 0 for IPv6.
    pub ip_id: u16,
    /// Source port.
    pub from_port: u16,
    /// Destination port.
    pub to_port: u16,
    /// TCP sequence number as on the wire.
    pub sequence: u32,
    /// Offset of its first payload byte in the stream, which begins with 0 after the SYN.
    pub offset: u64,
    /// TCP payload bytes.
    pub payload_bytes: u32,
    /// IP bytes.
    pub length_bytes: u32,
}

/// How late deliveries were against the schedule, within 2 %; the latest exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile; recordings by earlier versions lack it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_9_ns: Option<u64>,
    /// The latest.
    pub max_ns: u64,
}

impl Lateness {
    /// From a histogram.
    pub fn of(late: &Histogram) -> Self {
        Self {
            p50_ns: nanos(late.quantile(500)),
            p99_ns: nanos(late.quantile(990)),
            p99_9_ns: Some(nanos(late.quantile(999))),
            max_ns: nanos(late.longest()),
        }
    }
}

/// The largest use of the relay's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fullness {
    /// Frames that the relay read in a row before its ring was empty.
    pub ring_frames: u64,
    /// Packets that were on the path, or due.
    pub packets: u64,
    /// Bytes of frames with a packet on the path.
    pub bytes: u64,
}

/// Statistics of one direction of the relay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// The path's own counts.
    pub totals: Totals,
    /// Packets delivered to the far side.
    pub delivered_packets: u64,
    /// Packets still on the path when the relay stopped.
    pub left_packets: u64,
    /// Packets the far side's device refused; should be 0.
    pub refused_packets: u64,
    /// Frames that the relay's ring, or its memory, had no room for; should be 0.
    pub missed_packets: u64,
    /// Super-packets that the relay cut into packets.
    pub cut_super_packets: u64,
    /// Frames delivered to the far side, of one packet or of several joined ones; earlier versions joined none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivered_frames: Option<u64>,
    /// How long a packet may have waited for the next ones of its super-packet, to be joined with them. It affects the
    /// number of ACKs.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub joined_within_ns: u64,
    /// How late deliveries were, including waits for other packets.
    pub lateness: Lateness,
    /// The largest use of the relay's memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fullest: Option<Fullness>,
    /// Every packet that was dropped, duplicated, held back, marked, damaged, or changed in a way worth reporting for
    /// each packet.
    pub faults: Vec<Fault>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl DirectionReport {
    /// Whether every packet is accounted for.
    pub fn is_conserved(&self) -> bool {
        self.totals.are_conserved()
            && self.totals.scheduled_packets
                == self.delivered_packets + self.left_packets + self.refused_packets
    }
}

/// The CPU time of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time of its thread, including the far side's reception: a packet is received where it is sent.
    pub cpu_ns: u64,
    /// How long it ran.
    pub ran_ns: u64,
}

impl Cost {
    /// CPUs kept busy, on average.
    pub fn cores(self) -> f64 {
        self.cpu_ns as f64 / self.ran_ns.max(1) as f64
    }
}
