//! Middleboxes: devices on a path that inspect packets, and drop, change or answer them.
//!
//! A packet meets them in configuration order, before the policer. They are half way between the hosts: they see a
//! packet when it enters the path, and so they see those of the other direction
//! ([`Path::overhear`](crate::Path::overhear)). Thus the packets of both sides have been in flight for the same time.

use crate::action::{Action, Changes};
use crate::chance::Draws;
use crate::ecn::{EcnBox, EcnConfig};
use crate::forget::{Forget, ForgetConfig};
use crate::identification::{Identification, IdentificationConfig};
use crate::packet::Packet;
use crate::resets::{ResetConfig, Resets};
use crate::unscaled_window::UnscaledWindow;
use crate::{damage, mtu, sack_shift, super_packets, syn_data, window_scale};
use serde::{Deserialize, Serialize};
use slowpath_model::Instant;

/// One middlebox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum MiddleboxConfig {
    /// Drops packets longer than its MTU.
    Mtu(mtu::MtuConfig),
    /// Drops super-packets.
    SuperPackets,
    /// Drops SYNs that carry data.
    SynData,
    /// Drops data beyond the unscaled window field.
    UnscaledWindow,
    /// Drops or resets connections that were idle for too long.
    Forget(ForgetConfig),
    /// Changes the window scale of a SYN or SYN-ACK.
    WindowScale(window_scale::WindowScaleConfig),
    /// Shifts SACK blocks.
    SackShift(sack_shift::SackShiftConfig),
    /// Marks ECN-capable packets, or clears the field.
    Ecn(EcnConfig),
    /// Replaces IPv4 identifications.
    Identification(IdentificationConfig),
    /// Sends a RST to the receiver.
    Reset(ResetConfig),
    /// Corrupts packets, so that their checksum is wrong.
    Damage(damage::DamageConfig),
}

/// The state of a middlebox.
#[derive(Debug)]
enum Middlebox {
    Mtu(mtu::MtuConfig),
    SuperPackets,
    SynData,
    UnscaledWindow(UnscaledWindow),
    Forget(Forget),
    WindowScale(window_scale::WindowScaleConfig),
    SackShift(sack_shift::SackShiftConfig),
    Ecn(EcnBox),
    Identification(Identification),
    Resets(Resets),
    Damage(damage::Damage),
}

impl Middlebox {
    fn new(config: &MiddleboxConfig, draws: &mut Draws) -> Self {
        match config {
            MiddleboxConfig::Mtu(config) => Self::Mtu(*config),
            MiddleboxConfig::SuperPackets => Self::SuperPackets,
            MiddleboxConfig::SynData => Self::SynData,
            MiddleboxConfig::UnscaledWindow => Self::UnscaledWindow(UnscaledWindow::default()),
            MiddleboxConfig::Forget(config) => Self::Forget(Forget::new(config)),
            MiddleboxConfig::WindowScale(config) => Self::WindowScale(*config),
            MiddleboxConfig::SackShift(config) => Self::SackShift(*config),
            MiddleboxConfig::Ecn(config) => Self::Ecn(EcnBox::new(config)),
            MiddleboxConfig::Identification(config) => {
                Self::Identification(Identification::new(config, draws))
            }
            MiddleboxConfig::Reset(config) => Self::Resets(Resets::new(config)),
            MiddleboxConfig::Damage(config) => Self::Damage(damage::Damage::new(config)),
        }
    }

    fn pass(&mut self, at: Instant, packet: &Packet, draws: &mut Draws) -> Action {
        match self {
            Self::Mtu(config) => mtu::pass(config, packet),
            Self::SuperPackets => super_packets::pass(packet),
            Self::SynData => syn_data::pass(packet),
            Self::UnscaledWindow(firewall) => firewall.pass(packet),
            Self::Forget(forget) => forget.pass(at, packet),
            Self::WindowScale(config) => window_scale::pass(config, packet),
            Self::SackShift(config) => sack_shift::pass(config, packet),
            Self::Ecn(ecn) => ecn.pass(packet, draws),
            Self::Identification(identification) => identification.pass(packet, draws),
            Self::Resets(resets) => resets.pass(packet),
            Self::Damage(damage) => damage.pass(packet, draws),
        }
    }

    fn overhear(&mut self, at: Instant, packet: &Packet) {
        match self {
            Self::UnscaledWindow(firewall) => firewall.overhear(packet),
            Self::Forget(forget) => forget.overhear(at, packet),
            _ => {}
        }
    }
}

/// All middleboxes of a direction, with their own random numbers: other elements draw the same numbers with and without
/// middleboxes.
#[derive(Debug)]
pub(crate) struct Middleboxes {
    boxes: Vec<Middlebox>,
    draws: Draws,
}

impl Middleboxes {
    pub(crate) fn new(configs: &[MiddleboxConfig], seed: u64) -> Self {
        let mut draws = Draws::new(!seed);
        let boxes = configs.iter().map(|config| Middlebox::new(config, &mut draws)).collect();
        Self { boxes, draws }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// The combined action: each sees what the one before has made of the packet.
    pub(crate) fn pass(&mut self, at: Instant, packet: &Packet) -> Action {
        let (mut packet, mut changes) = (*packet, Changes::NONE);
        for middlebox in &mut self.boxes {
            match middlebox.pass(at, &packet, &mut self.draws) {
                Action::Pass(more) => {
                    packet.ecn = more.ecn.unwrap_or(packet.ecn);
                    packet.id = more.id.or(packet.id);
                    changes = changes.and(more);
                }
                dropped @ Action::Drop(..) => return dropped,
            }
        }
        Action::Pass(changes)
    }

    pub(crate) fn overhear(&mut self, at: Instant, packet: &Packet) {
        self.boxes.iter_mut().for_each(|middlebox| middlebox.overhear(at, packet));
    }
}
