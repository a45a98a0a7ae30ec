//! A packet socket on a device: a ring of memory shared with the kernel to read from, and a way to write.
//!
//! The ring is `TPACKET_V2`'s (Documentation/networking/packet_mmap.rst), with the kernel's stamps and a [`Vnet`] before
//! each frame. Its slots are for packets. Of a super-packet the slot has the beginning, and the frame itself, which costs
//! nothing to keep, is queued at the socket (`PACKET_COPY_THRESH`; net/packet/af_packet.c, `tpacket_rcv`): one call
//! reads it, and one for some forty packets is cheap. Slots for super-packets would be 64 KiB each, and a machine that
//! takes the CPU away for a moment would soon run out of them.

use super::vnet::Vnet;
use crate::error::LabError;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A packet of 1500 bytes, its Ethernet header and what the kernel puts before it.
const SLOT_BYTES: usize = 2048;
const BLOCK_BYTES: usize = 1 << 20;
/// 0.4 s of full packets at 1 Gbit/s.
const SLOTS: usize = 32_768;
const MAP_BYTES: usize = SLOTS * SLOT_BYTES;
/// For super-packets that are queued: a thousand, as the kernel counts (it doubles the number).
const QUEUE_BYTES: i32 = 64 << 20;
/// `enum tpacket_versions`
const TPACKET_V2: i32 = 1;

/// The socket and its ring.
#[derive(Debug)]
pub struct Ring {
    socket: File,
    map: NonNull<u8>,
    next: usize,
}

// SAFETY: the mapping belongs to the ring alone, and the kernel does not care which thread reads it.
unsafe impl Send for Ring {}

/// A frame that came.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// When, by the kernel's stamp (`CLOCK_REALTIME`).
    pub stamp_ns: u64,
    /// What is left to the card.
    pub vnet: Vnet,
    /// The frame, or the beginning of one that did not fit.
    pub head: &'a [u8],
    /// Its whole length.
    pub bytes: usize,
    /// The rest of a frame that did not fit can be had of [`Ring::fetch`], and has to be.
    pub is_queued: bool,
    /// A VLAN tag that the kernel has taken out.
    pub vlan: Option<u16>,
}

impl Ring {
    /// Opens a device of the calling thread's namespace.
    ///
    /// # Errors
    /// If there is no such device, no memory, or packet sockets are not allowed.
    pub fn open(device: &str) -> Result<Self, LabError> {
        let socket = socket()?;
        let fd = socket.as_raw_fd();
        for (level, option, value, name) in [
            (libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1, "PACKET_VNET_HDR"),
            (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING"),
            (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS"),
            (libc::SOL_PACKET, libc::PACKET_VERSION, TPACKET_V2, "PACKET_VERSION"),
            (libc::SOL_PACKET, libc::PACKET_COPY_THRESH, 1, "PACKET_COPY_THRESH"),
            // With this the kernel stamps packets as they come in, not when this socket sees them.
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS"),
            (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, QUEUE_BYTES, "SO_RCVBUFFORCE"),
            (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, QUEUE_BYTES, "SO_SNDBUFFORCE"),
        ] {
            set(fd, level, option, &value, name)?;
        }
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (MAP_BYTES / BLOCK_BYTES) as u32,
            tp_frame_size: SLOT_BYTES as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, "PACKET_RX_RING")?;
        // SAFETY: a new mapping of the socket's ring, of the size that was just asked for.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), MAP_BYTES, access, libc::MAP_SHARED, fd, 0)
        };
        if map == libc::MAP_FAILED {
            return Err(LabError::last_os("map the ring of a packet socket"));
        }
        let map = NonNull::new(map.cast()).ok_or_else(|| LabError::last_os("map a ring"))?;
        let ring = Self { socket, map, next: 0 };
        // Packets come from here on.
        bind(fd, device)?;
        Ok(ring)
    }

    /// The next frame, if one came. It stays until [`Self::done`].
    pub fn arrival(&self) -> Option<Arrival<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let slot = self.slot();
        // SAFETY: the status says that the slot is ours until it is given back and that the kernel has written its
        // header; slots are aligned for it.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        let (at, bytes) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        // A slot has room for every header that the kernel puts into it.
        let (at, bytes) =
            if at >= Vnet::BYTES && at + bytes <= SLOT_BYTES { (at, bytes) } else { (Vnet::BYTES, 0) };
        // SAFETY: both lie in the slot, which is ours, and nobody writes there while the result borrows the ring: giving it
        // back needs the ring for oneself.
        let (vnet, head) = unsafe {
            let vnet = slot.add(at - Vnet::BYTES).cast::<[u8; Vnet::BYTES]>().read();
            (vnet, std::slice::from_raw_parts(slot.add(at).as_ptr(), bytes))
        };
        Some(Arrival {
            stamp_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            vnet: Vnet::read(vnet),
            head,
            bytes: header.tp_len as usize,
            is_queued: status & libc::TP_STATUS_COPY != 0,
            vlan: (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(header.tp_vlan_tci),
        })
    }

    /// Gives the slot of the last arrival back to the kernel.
    pub fn done(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
    }

    /// Reads the oldest frame that is queued into parts that lie one after the other; what does not fit is lost. Gives its
    /// header and the bytes read.
    ///
    /// # Errors
    /// If none is there.
    pub fn fetch(&self, parts: [&mut [u8]; 2]) -> io::Result<(Vnet, usize)> {
        let mut vnet = [0; Vnet::BYTES];
        let [first, second] = parts;
        let mut parts = [IoSliceMut::new(&mut vnet), IoSliceMut::new(first), IoSliceMut::new(second)];
        let read = (&self.socket).read_vectored(&mut parts)?;
        Ok((Vnet::read(vnet), read.saturating_sub(Vnet::BYTES)))
    }

    /// A way to write frames to the device.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn output(&self) -> Result<Output, LabError> {
        self.socket.try_clone().map(Output).map_err(LabError::system("duplicate a packet socket"))
    }

    /// Frames that the ring had no slot for since this was last asked.
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
        // SAFETY: `next` is less than `SLOTS`, so that the slot lies in the mapping. Blocks are whole slots, so that
        // slots follow each other without a gap.
        unsafe { self.map.add(self.next * SLOT_BYTES) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: each slot begins with its status (`tp_status`), an aligned u32 that the kernel also writes atomically;
        // the mapping lives as long as the ring.
        unsafe { AtomicU32::from_ptr(self.slot().cast().as_ptr()) }
    }
}

impl AsRawFd for Ring {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this size, and nothing borrows it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), MAP_BYTES) };
    }
}

/// Writes frames to a device.
#[derive(Debug)]
pub struct Output(File);

impl Output {
    /// Hands a frame, in two parts, to the device; whether it took it.
    pub fn send(&self, vnet: Vnet, header: &[u8], payload: &[u8]) -> bool {
        let vnet = vnet.bytes();
        let parts = [IoSlice::new(&vnet), IoSlice::new(header), IoSlice::new(payload)];
        (&self.0).write_vectored(&parts).is_ok()
    }
}

fn socket() -> Result<File, LabError> {
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

fn set<T>(fd: RawFd, level: i32, option: i32, value: &T, name: &str) -> Result<(), LabError> {
    // SAFETY: the value is live and its size is passed with it.
    let result = unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(LabError::last_os(format!("set {name} on a packet socket"))) }
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
