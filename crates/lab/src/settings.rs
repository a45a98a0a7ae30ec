//! Settings of the two hosts of an experiment.

use crate::host::Host;
use crate::namespaces::Place;
use crate::workload::SocketOptions;
use serde::{Deserialize, Serialize};

/// Bytes of an MTU packet, the unit of queue sizes.
pub const MTU_BYTES: u64 = 1500;

/// Offloads on the hosts' interfaces, which decide what a capture there shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offload {
    /// All off: captures show packets as on the wire.
    PerPacket,
    /// Segmentation offload at the hosts, packets joined again for the receiver, checksums left to the device: captures
    /// show super-packets. The path still carries packets.
    SuperPackets,
}

/// Address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The carrier of packets between the hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// The relay, by packet sockets at pairs of veth(4) devices: the kernel timestamps each packet.
    #[default]
    Veth,
    /// The relay, by TAP devices: a packet arrives when it is read.
    Tap,
    /// The kernel, by [`crate::netem`]: the hosts have no offloads.
    Netem,
}

impl Carrier {
    /// Its name on command lines and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::Tap => "tap",
            Self::Netem => "netem",
        }
    }

    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// How the two hosts are set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Address family.
    pub family: Family,
    /// 802.1Q tag of what the hosts send and expect, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub vlan: Option<u16>,
    /// The carrier of the packets.
    #[serde(skip_serializing_if = "Carrier::is_usual", default)]
    pub carrier: Carrier,
    /// Offloads.
    pub offload: Offload,
    /// The receiver's offloads, if different.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver_offload: Option<Offload>,
    /// With super-packets, how long a packet may wait on the far side of the path to be joined with the next one of its
    /// super-packet.
    #[serde(skip_serializing_if = "is_usual_wait", default = "usual_wait")]
    pub joined_within_ns: u64,
    /// Rate of the network card of the sender's host, in bits of IP packet per second; `None` is a card that takes no
    /// time, which no real host has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender_card_bit_per_s: Option<u64>,
    /// Rate of the NIC of the receiver's host, in bits of IP packet per second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver_card_bit_per_s: Option<u64>,
    /// Sysctls of the sender's host beyond the pinned ones.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sender_sysctls: Vec<(String, String)>,
    /// Sysctls of the receiver's host beyond the pinned ones.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub receiver_sysctls: Vec<(String, String)>,
    /// Attributes of the sender's route to the receiver, as `ip route` takes them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender_route: Option<String>,
    /// The machine's CPU that runs the sender's receive softirqs, if not that which transmits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender_softirq_cpu: Option<u32>,
    /// The machine's CPU that runs the receiver's receive softirqs, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver_softirq_cpu: Option<u32>,
    /// The sender receives through NAPI, packet by packet, as from a card's driver, so that its readers can poll.
    #[serde(skip_serializing_if = "crate::workload::is_false", default)]
    pub sender_napi: bool,
    /// The receiver does, likewise.
    #[serde(skip_serializing_if = "crate::workload::is_false", default)]
    pub receiver_napi: bool,
    /// Options of the sockets on the sender's host.
    pub sender_socket: SocketOptions,
    /// Options of the sockets on the receiver's host.
    pub receiver_socket: SocketOptions,
}

/// The labelled captures' receivers had GRO with this flush timeout.
const fn usual_wait() -> u64 {
    400_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_usual_wait(ns: &u64) -> bool {
    *ns == usual_wait()
}

impl Settings {
    /// Two hosts over IPv4 that show packets as on the wire, use cubic and otherwise have Linux's defaults.
    pub fn plain() -> Self {
        let cubic = SocketOptions { congestion_control: Some("cubic".into()), ..SocketOptions::default() };
        Self {
            family: Family::V4,
            vlan: None,
            carrier: Carrier::default(),
            offload: Offload::PerPacket,
            receiver_offload: None,
            joined_within_ns: usual_wait(),
            sender_card_bit_per_s: None,
            receiver_card_bit_per_s: None,
            sender_sysctls: Vec::new(),
            receiver_sysctls: Vec::new(),
            sender_route: None,
            sender_softirq_cpu: None,
            receiver_softirq_cpu: None,
            sender_napi: false,
            receiver_napi: false,
            sender_socket: cubic.clone(),
            receiver_socket: cubic,
        }
    }

    /// A host's offloads.
    pub fn offload_of(&self, host: Place) -> Offload {
        if self.carrier == Carrier::Netem {
            return Offload::PerPacket;
        }
        self.receiver_offload.filter(|_| host == Place::Receiver).unwrap_or(self.offload)
    }

    /// The socket options of its applications.
    pub fn socket_of(&self, host: Host) -> &SocketOptions {
        match host {
            Host::Sender => &self.sender_socket,
            Host::Receiver => &self.receiver_socket,
        }
    }

    /// Whether a host receives through NAPI.
    pub fn napi_of(&self, host: Place) -> bool {
        match host {
            Place::Sender => self.sender_napi,
            Place::Receiver => self.receiver_napi,
            Place::Path => false,
        }
    }

    /// Rate of a host's card.
    pub fn card_bit_per_s(&self, host: Place) -> Option<u64> {
        match host {
            Place::Sender => self.sender_card_bit_per_s,
            Place::Receiver => self.receiver_card_bit_per_s,
            Place::Path => None,
        }
    }
}
