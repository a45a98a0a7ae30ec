//! The relay's end of a device: a ring to read frames from, and a way to write them.
//!
//! The kernel puts a [`Vnet`] before each frame. The ring's slots are for packets. For a super-packet the slot has only
//! the beginning, and the frame itself, which costs nothing to keep, is queued at the socket (`PACKET_COPY_THRESH`;
//! net/packet/af_packet.c, `tpacket_rcv`): one call reads it, and one call for some forty packets is cheap. Slots for
//! super-packets would be 64 KiB each, and a machine that takes the CPU away for a moment would soon run out of them.

use super::vnet::Vnet;
use crate::error::LabError;
use crate::slots::{self, Slots};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// A packet of 1500 bytes, its Ethernet header and what the kernel puts before it.
const SLOT_BYTES: usize = 2048;
/// 0.4 s of full packets at 1 Gbit/s.
const SLOTS: usize = 32_768;
/// For super-packets that are queued: a thousand, as the kernel counts (it doubles the number).
const QUEUE_BYTES: i32 = 64 << 20;

/// A device to relay from and to.
#[derive(Debug)]
pub struct Ring(Slots);

/// A frame that arrived.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// When, by the kernel's timestamp (`CLOCK_REALTIME`).
    pub stamp_ns: u64,
    /// The offloads left to the NIC.
    pub vnet: Vnet,
    /// The frame, or the beginning of one that did not fit.
    pub head: &'a [u8],
    /// Its whole length.
    pub bytes: usize,
    /// Where a frame that did not fit can be fetched as a whole, which has to be done.
    pub queued: Option<Queued<'a>>,
    /// A VLAN tag that the kernel removed.
    pub vlan: Option<u16>,
}

/// The oldest frame that is queued at a socket.
#[derive(Clone, Copy, Debug)]
pub struct Queued<'a>(&'a File);

impl Queued<'_> {
    /// Reads it into consecutive parts; what does not fit is lost. Returns its header and the bytes read.
    ///
    /// # Errors
    /// If none is there.
    pub fn fetch(self, parts: [&mut [u8]; 2]) -> io::Result<(Vnet, usize)> {
        let mut vnet = [0; Vnet::BYTES];
        let [first, second] = parts;
        let mut parts = [IoSliceMut::new(&mut vnet), IoSliceMut::new(first), IoSliceMut::new(second)];
        let mut socket = self.0;
        let read = socket.read_vectored(&mut parts)?;
        Ok((Vnet::read(vnet), read.saturating_sub(Vnet::BYTES)))
    }
}

impl Ring {
    /// Opens a device of the calling thread's namespace.
    ///
    /// # Errors
    /// If there is no such device, no memory, or packet sockets are not allowed.
    pub fn open(device: &str) -> Result<Self, LabError> {
        let socket = slots::socket()?;
        for (level, option, name) in [
            (libc::SOL_PACKET, libc::PACKET_VNET_HDR, "PACKET_VNET_HDR"),
            (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING"),
            (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, "PACKET_QDISC_BYPASS"),
            (libc::SOL_PACKET, libc::PACKET_COPY_THRESH, "PACKET_COPY_THRESH"),
            // The kernel then timestamps packets on arrival, not when this socket sees them.
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS"),
        ] {
            slots::set(&socket, level, option, &1, name)?;
        }
        for (beyond, up_to, name) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, "SO_RCVBUF"),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, "SO_SNDBUF"),
        ] {
            // Only the machine's root may exceed net.core.rmem_max and wmem_max.
            if slots::set(&socket, libc::SOL_SOCKET, beyond, &QUEUE_BYTES, name).is_err() {
                slots::set(&socket, libc::SOL_SOCKET, up_to, &QUEUE_BYTES, name)?;
            }
        }
        Slots::listen(socket, device, SLOT_BYTES, SLOTS).map(Self)
    }

    /// The next frame, if one arrived. It stays until [`Self::done`].
    pub fn arrival(&self) -> Option<Arrival<'_>> {
        let slot = self.0.next()?;
        // A slot has room for every header that the kernel puts into it.
        let (vnet, head) = slot.frame(Vnet::BYTES);
        Some(Arrival {
            stamp_ns: slot.stamp_ns(),
            vnet: Vnet::read(vnet.try_into().unwrap_or_default()),
            head,
            bytes: slot.length_bytes() as usize,
            queued: slot.has(libc::TP_STATUS_COPY).then(|| Queued(self.0.socket())),
            vlan: slot.tag().map(|(_, content)| content),
        })
    }

    /// Gives the slot of the last arrival back to the kernel.
    pub fn done(&mut self) {
        self.0.done();
    }

    /// A way to write frames to the device.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn output(&self) -> Result<Output, LabError> {
        self.0.socket().try_clone().map(Output).map_err(LabError::system("duplicate a packet socket"))
    }

    /// Frames that the ring had no slot for since the last call.
    pub fn missed_frames(&self) -> u64 {
        self.0.missed_frames()
    }
}

impl AsRawFd for Ring {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Writes frames to a device.
#[derive(Debug)]
pub struct Output(File);

impl Output {
    /// For a device whose file takes frames as a packet socket does.
    pub(super) fn new(file: File) -> Self {
        Self(file)
    }

    /// Passes a frame, in two parts, to the device; returns whether it was accepted.
    pub fn send(&self, vnet: Vnet, header: &[u8], payload: &[u8]) -> bool {
        let vnet = vnet.bytes();
        let parts = [IoSlice::new(&vnet), IoSlice::new(header), IoSlice::new(payload)];
        (&self.0).write_vectored(&parts).is_ok()
    }
}
