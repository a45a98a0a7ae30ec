//! A packet socket on a device, and the ring of memory that it shares with the kernel.
//!
//! The ring is `TPACKET_V2`'s (Documentation/networking/packet_mmap.rst): slots of one size, each owned by the kernel
//! or by us.

use crate::error::LabError;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

const BLOCK_BYTES: usize = 1 << 20;
/// `TP_STATUS_VLAN_TPID_VALID` (linux/if_packet.h).
const VLAN_TPID_VALID: u32 = 1 << 6;
/// `enum tpacket_versions`
const TPACKET_V2: i32 = 1;

/// A packet socket that does not receive yet.
///
/// # Errors
/// If packet sockets are not allowed, or there is no descriptor left.
pub fn socket() -> Result<File, LabError> {
    // SAFETY: no pointers are passed; the result is checked before it is owned.
    let raw = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
    };
    if raw < 0 {
        return Err(LabError::last_os("open a packet socket"));
    }
    // SAFETY: the descriptor was just made and nobody else owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(raw) }))
}

/// Sets an option of a packet socket.
///
/// # Errors
/// If the kernel refuses, with the name.
pub fn set<T>(socket: &File, level: i32, option: i32, value: &T, name: &str) -> Result<(), LabError> {
    // SAFETY: the value is live and its size is passed with it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(LabError::last_os(format!("set {name} on a packet socket"))) }
}

/// The socket and its ring.
#[derive(Debug)]
pub struct Slots {
    socket: File,
    map: NonNull<u8>,
    slot_bytes: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to the ring alone, and the kernel does not care which thread reads it.
unsafe impl Send for Slots {}

/// A slot with a frame in it.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    /// The whole slot, which starts with the kernel's header.
    bytes: &'a [u8],
    header: libc::tpacket2_hdr,
    status: u32,
}

impl Slot<'_> {
    /// When it arrived, by the kernel's timestamp (`CLOCK_REALTIME`).
    pub fn stamp_ns(&self) -> u64 {
        u64::from(self.header.tp_sec) * 1_000_000_000 + u64::from(self.header.tp_nsec)
    }

    /// Its length on the wire.
    pub fn length_bytes(&self) -> u32 {
        self.header.tp_len
    }

    /// A flag of its status (`TP_STATUS_*`).
    pub fn has(&self, flag: u32) -> bool {
        self.status & flag != 0
    }

    /// A VLAN tag that the kernel removed: its type and content.
    pub fn tag(&self) -> Option<(u16, u16)> {
        let kind =
            if self.has(VLAN_TPID_VALID) { self.header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
        self.has(libc::TP_STATUS_VLAN_VALID).then_some((kind, self.header.tp_vlan_tci))
    }
}

impl<'a> Slot<'a> {
    /// `before` bytes before the frame, and the part of the frame that fits.
    pub fn frame(&self, before: usize) -> (&'a [u8], &'a [u8]) {
        let at = usize::from(self.header.tp_mac);
        let frame = self.bytes.get(at..at + self.header.tp_snaplen as usize).unwrap_or_default();
        (self.bytes.get(at.wrapping_sub(before)..at).unwrap_or_default(), frame)
    }
}

impl Slots {
    /// Gives a socket a ring of `slots` slots, and makes it listen to a device of the calling thread's namespace. A
    /// mebibyte is a multiple of the slot size; all slots together are whole mebibytes.
    ///
    /// # Errors
    /// If there is no such device, or no memory.
    pub fn listen(socket: File, device: &str, slot_bytes: usize, slots: usize) -> Result<Self, LabError> {
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &TPACKET_V2, "PACKET_VERSION")?;
        let map_bytes = slot_bytes * slots;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (map_bytes / BLOCK_BYTES) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, "PACKET_RX_RING")?;
        // SAFETY: a new mapping of the socket's ring, of the size that was just asked for.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), map_bytes, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if map == libc::MAP_FAILED {
            return Err(LabError::last_os("map the ring of a packet socket"));
        }
        let map = NonNull::new(map.cast()).ok_or_else(|| LabError::last_os("map a ring"))?;
        let ring = Self { socket, map, slot_bytes, slots, next: 0 };
        // Packets arrive from here on.
        bind(ring.as_raw_fd(), device)?;
        Ok(ring)
    }

    /// The socket.
    pub fn socket(&self) -> &File {
        &self.socket
    }

    /// The next frame, if one arrived. It stays until [`Self::done`].
    pub fn next(&self) -> Option<Slot<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let slot = self.slot();
        // SAFETY: the status says that the slot is ours until it is given back and that the kernel has written its
        // header, for which slots are aligned. Nobody writes there while the result borrows the ring: giving it back needs
        // the ring for oneself.
        let (header, bytes) = unsafe {
            let header = slot.cast::<libc::tpacket2_hdr>().read();
            (header, std::slice::from_raw_parts(slot.as_ptr(), self.slot_bytes))
        };
        Some(Slot { bytes, header, status })
    }

    /// Gives the slot of the last frame back to the kernel.
    pub fn done(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
    }

    /// Frames that the ring had no slot for since the last call.
    pub fn missed_frames(&self) -> u64 {
        // `struct tpacket_stats`: packets, drops.
        let mut counts = [0_u32; 2];
        let mut size = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the buffer is live and its true size is passed with it.
        unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &raw mut size,
            )
        };
        u64::from(counts[1])
    }

    fn slot(&self) -> NonNull<u8> {
        // SAFETY: `next` is less than `slots`, so that the slot lies in the mapping. Blocks are whole slots, so that
        // slots follow each other without a gap.
        unsafe { self.map.add(self.next * self.slot_bytes) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: each slot begins with its status (`tp_status`), an aligned u32 that the kernel also writes atomically;
        // the mapping lives as long as the ring.
        unsafe { AtomicU32::from_ptr(self.slot().cast().as_ptr()) }
    }
}

impl AsRawFd for Slots {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this size, and nothing borrows it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.slot_bytes * self.slots) };
    }
}

fn bind(fd: RawFd, device: &str) -> Result<(), LabError> {
    let name =
        CString::new(device).map_err(|e| LabError::System { doing: device.to_owned(), source: e.into() })?;
    // SAFETY: the name is a valid C string for the duration of the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(LabError::last_os(format!("find device {device}")));
    }
    // SAFETY: all-zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    // SAFETY: the address is live and its true size is passed with it.
    let bound = unsafe {
        libc::bind(fd, (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    };
    if bound == 0 { Ok(()) } else { Err(LabError::last_os(format!("bind a packet socket to {device}"))) }
}
