//! The TUN device: packets that the kernel sends are read from it, and those written to it come from the network.

use super::addresses::Network;
use crate::error::LabError;
use crate::namespaces::run;
use std::fs::{File, OpenOptions};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// What scripts call it.
pub const NAME: &str = "tun0";
const PATH: &str = "/dev/net/tun";

/// The device, up and with its addresses, as long as this is open.
#[derive(Debug)]
pub struct Device {
    pub file: File,
}

impl Device {
    /// Makes the device in the namespace of the calling thread.
    pub fn create(network: &Network, mtu: u16) -> Result<Self, LabError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(PATH)
            .map_err(LabError::file(PATH))?;
        // SAFETY: integers and bytes only, for which all-zero is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, byte) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
            *slot = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the request is live for the duration of the call, and of the kind that it takes.
        if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } != 0 {
            return Err(LabError::last_os(format!("make {NAME}")));
        }
        set_up(network, mtu)?;
        Ok(Self { file })
    }
}

fn set_up(network: &Network, mtu: u16) -> Result<(), LabError> {
    let (local, remote) = (network.addresses.local.to_string(), network.addresses.remote.to_string());
    let mtu = mtu.to_string();
    run(&["ip", "link", "set", "lo", "up"])?;
    run(&["ip", "link", "set", NAME, "mtu", &mtu, "up"])?;
    match network.addresses.remote {
        IpAddr::V4(remote) => {
            let [a, b, c, _] = remote.octets();
            run(&["ip", "address", "add", &format!("{local}/16"), "dev", NAME])?;
            run(&["ip", "route", "add", &format!("{a}.{b}.{c}.0/24"), "dev", NAME])
        }
        IpAddr::V6(_) => {
            // An address is not to be defended against others before it is used: nobody else is there.
            run(&["ip", "-6", "address", "add", &format!("{local}/48"), "dev", NAME, "nodad"])?;
            run(&["ip", "-6", "route", "add", &format!("{remote}/64"), "dev", NAME])
        }
    }
}
