//! Devices whose other end is a program: TUN and TAP (Documentation/networking/tuntap.rst).

use crate::error::LabError;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Where they are created.
pub const PATH: &str = "/dev/net/tun";

/// Creates a device of a kind (`IFF_*`) in the calling thread's namespace; it exists as long as the file is open. Reads
/// and writes of the file are packets and do not block.
///
/// # Errors
/// If the kernel has no such devices, they are not allowed, or there is one of that name.
pub fn open(name: &str, kind: libc::c_int) -> Result<File, LabError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(PATH)
        .map_err(LabError::file(PATH))?;
    // SAFETY: integers and bytes only, for which all-zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *slot = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is live for the duration of the call, and of the kind that it takes.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } != 0 {
        return Err(LabError::last_os(format!("make {name}")));
    }
    Ok(file)
}
