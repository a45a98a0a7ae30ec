//! The relay's end of a host's wire, in one of two forms: a packet socket at the other end of a veth pair, or the host's own
//! interface as a TAP device.

use super::ring::{Arrival, Output, Ring};
use super::tap::Tap;
use crate::error::LabError;
use crate::host::{DEVICE, Host, PATH_DEVICES};
use crate::namespaces::{Namespaces, Place};
use std::os::fd::{AsRawFd, RawFd};

/// Receives from a host and sends to it.
#[derive(Debug)]
pub enum End {
    /// A packet socket, with a ring that it shares with the kernel.
    Ring(Ring),
    /// A TAP device.
    Tap(Tap),
}

impl End {
    /// Opens the form that the host was built with.
    ///
    /// # Errors
    /// If a device is missing, or packet sockets are not allowed.
    pub fn open(namespaces: &Namespaces, host: Host) -> Result<Self, LabError> {
        if let Some(tap) = namespaces.tap(host.into())? {
            return namespaces.inside(host.into(), || Tap::open(tap, DEVICE)).map(Self::Tap);
        }
        let device = match host {
            Host::Sender => PATH_DEVICES.0,
            Host::Receiver => PATH_DEVICES.1,
        };
        namespaces.inside(Place::Path, || Ring::open(device)).map(Self::Ring)
    }

    /// The next frame, if one arrived. It stays until [`Self::done`].
    pub fn arrival(&mut self) -> Option<Arrival<'_>> {
        match self {
            Self::Ring(ring) => ring.arrival(),
            Self::Tap(tap) => tap.arrival(),
        }
    }

    /// Releases the last arrival.
    pub fn done(&mut self) {
        if let Self::Ring(ring) = self {
            ring.done();
        }
    }

    /// A way to write frames to the host.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn output(&self) -> Result<Output, LabError> {
        match self {
            Self::Ring(ring) => ring.output(),
            Self::Tap(tap) => tap.output(),
        }
    }

    /// Frames for which there was no room.
    pub fn missed_frames(&self) -> u64 {
        match self {
            Self::Ring(ring) => ring.missed_frames(),
            Self::Tap(tap) => tap.missed_frames(),
        }
    }
}

impl AsRawFd for End {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Ring(ring) => ring.as_raw_fd(),
            Self::Tap(tap) => tap.as_raw_fd(),
        }
    }
}
