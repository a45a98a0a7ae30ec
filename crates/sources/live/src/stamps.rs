//! Asks the kernel to timestamp arriving packets.

use crate::error::LiveError;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// While this is open, the kernel timestamps every packet that arrives on this host (`net_enable_timestamp`,
/// net/core/dev.c): at least one socket has to ask.
#[derive(Debug)]
pub struct Stamps {
    socket: UdpSocket,
}

const DOING: &str = "have the kernel stamp packets";
/// The kernel starts when one of its workers has run (`netstamp_work`); a loopback device that is down shows nothing.
const PATIENCE: Duration = Duration::from_millis(300);

impl Stamps {
    /// Asks, and waits until the kernel does it.
    pub fn on() -> Result<Self, LiveError> {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).map_err(LiveError::system(DOING))?;
        let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        // SAFETY: the value is a live u32 and its size is passed with it.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPING,
                (&raw const flags).cast(),
                size_of_val(&flags) as libc::socklen_t,
            )
        };
        if result != 0 {
            return Err(LiveError::system(DOING)(io::Error::last_os_error()));
        }
        let stamps = Self { socket };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && !stamps.are_made() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(stamps)
    }

    /// Whether packets have timestamps now: sends one to itself.
    fn are_made(&self) -> bool {
        let sent = self.socket.local_addr().and_then(|own| self.socket.send_to(&[0], own));
        let waits = self.socket.set_read_timeout(Some(Duration::from_millis(100)));
        sent.is_ok() && waits.is_ok() && self.receives_stamp()
    }

    fn receives_stamp(&self) -> bool {
        let mut byte = [0_u8];
        let mut control = [0_u64; 16];
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        // SAFETY: the message points at live buffers of the sizes it states.
        if unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0) } < 0 {
            return false;
        }
        // SAFETY: the kernel filled the control buffer; the macros walk it within msg_controllen, and the record is
        // read as the type that its level and type say: three timespecs, of which the first is the software's.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while !header.is_null() {
                if ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
                    return libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned().tv_sec != 0;
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
        }
        false
    }
}

/// Whether packets are timestamped before they wait in a CPU's queue, as is usual (`net.core.netdev_tstamp_prequeue`,
/// `net_timestamp_check`, net/core/dev.c). If it cannot be read, this is assumed.
pub fn are_made_before_queue() -> bool {
    let setting = std::fs::read_to_string("/proc/sys/net/core/netdev_tstamp_prequeue");
    setting.map_or(true, |setting| setting.trim() != "0")
}

/// How far TAI is ahead of the time of day here, in nanoseconds. 0 if nobody set the kernel's leap seconds.
pub fn tai_minus_realtime_ns() -> i64 {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the timespec is live; both clocks exist since 3.10.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let apart = read(libc::CLOCK_TAI) - read(libc::CLOCK_REALTIME);
    // The two reads are less than half a second apart.
    (apart + 500_000_000).div_euclid(1_000_000_000) * 1_000_000_000
}

/// The size of a page, in bytes.
pub fn page_bytes() -> u64 {
    // SAFETY: no pointers are passed.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// The length of a kernel tick: the resolution of its coarse clocks (`LOW_RES_NSEC`, include/vdso/ktime.h). Its
/// configuration contains it too, but not always in a file.
pub fn tick_ns() -> u32 {
    let mut length = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the timespec is live; the clock exists since 2.6.32.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut length) };
    u32::try_from(length.tv_nsec).unwrap_or(0)
}
