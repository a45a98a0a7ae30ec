//! A host's own interface as a TAP device (Documentation/networking/tuntap.rst), which needs no second one on the path.
//!
//! The host's packets wait in the device's queue until they are read, one frame per call, and the host receives a
//! written frame within that call. Headers are the same as a packet socket's ([`Vnet`]). The kernel does not timestamp:
//! a frame arrives when it is read.

use super::ring::{Arrival, Output};
use super::vnet::Vnet;
use crate::clock;
use crate::error::LabError;
use crate::settings::Offload;
use crate::tun;
use std::fs::File;
use std::io::{IoSliceMut, Read, Seek};
use std::os::fd::{AsRawFd, RawFd};

/// Maximum number of frames that wait to be read: about as many as a packet socket's ring has slots. Debian's 6.1 takes
/// 32,767.
pub const QUEUE_FRAMES: u32 = 32_000;
/// A super-packet of IP, with Ethernet's header and a tag.
const MOST_BYTES: usize = (64 << 10) + 18;

/// Creates the device in the calling thread's namespace, where it exists as long as the file is open. What a host with
/// segmentation offload leaves to its card is left to the reader.
///
/// # Errors
/// If the kernel has no TAP devices, or there is a device of that name.
pub fn create(device: &str, offload: Offload) -> Result<File, LabError> {
    let file = tun::open(device, libc::IFF_TAP | libc::IFF_VNET_HDR)?;
    let left_to_the_card = match offload {
        Offload::PerPacket => 0,
        Offload::SuperPackets => libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN,
    };
    // SAFETY: it takes a plain number.
    let set = unsafe {
        libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(left_to_the_card)) == 0
    };
    if set { Ok(file) } else { Err(LabError::last_os(format!("set the offloads of {device}"))) }
}

/// A host's TAP device, for the relay.
#[derive(Debug)]
pub struct Tap {
    file: File,
    /// The counters of the host's interfaces.
    counters: File,
    device: String,
    frame: Box<[u8]>,
}

impl Tap {
    /// The device open in `file`; call it on a thread inside its namespace.
    ///
    /// # Errors
    /// If /proc is missing.
    pub fn open(file: File, device: &str) -> Result<Self, LabError> {
        const COUNTERS: &str = "/proc/thread-self/net/dev";
        let counters = File::open(COUNTERS).map_err(LabError::file(COUNTERS))?;
        Ok(Self { file, counters, device: device.to_owned(), frame: vec![0; MOST_BYTES].into_boxed_slice() })
    }

    /// Reads the next frame, if one arrived.
    pub fn arrival(&mut self) -> Option<Arrival<'_>> {
        let mut vnet = [0; Vnet::BYTES];
        let mut parts = [IoSliceMut::new(&mut vnet), IoSliceMut::new(&mut self.frame)];
        let read = (&self.file).read_vectored(&mut parts).ok()?;
        let bytes = read.saturating_sub(Vnet::BYTES);
        Some(Arrival {
            stamp_ns: clock::realtime_ns(),
            vnet: Vnet::read(vnet),
            head: &self.frame[..bytes],
            bytes,
            queued: None,
            // The kernel has put it back.
            vlan: None,
        })
    }

    /// A way to write frames to the device.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn output(&self) -> Result<Output, LabError> {
        self.file.try_clone().map(Output::new).map_err(LabError::system("duplicate a TAP device"))
    }

    /// Frames for which its queue had no room.
    pub fn missed_frames(&self) -> u64 {
        // The fourth of the transmit counters, after eight receive counters (`dev_seq_printf_stats`).
        const TX_DROPPED: usize = 8 + 3;
        let mut text = String::new();
        let mut counters = &self.counters;
        let _ = counters.rewind().and_then(|()| counters.read_to_string(&mut text));
        let of_device = |line: &str| {
            let numbers = line.trim_start().strip_prefix(&self.device)?.strip_prefix(':')?;
            numbers.split_ascii_whitespace().nth(TX_DROPPED)?.parse().ok()
        };
        text.lines().find_map(of_device).unwrap_or_default()
    }
}

impl AsRawFd for Tap {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
