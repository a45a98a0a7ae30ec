//! The TUN device: packets that the kernel sends are read from it, and packets written to it arrive from the network.

use super::addresses::Network;
use crate::error::LabError;
use crate::namespaces::run;
use crate::tun;
use std::fs::File;
use std::net::IpAddr;
use std::time::Duration;

/// Its name in scripts.
pub const NAME: &str = "tun0";
/// How long to wait until an address is usable.
const PATIENCE: Duration = Duration::from_secs(5);

/// The device, up and with its addresses, as long as this is open.
#[derive(Debug)]
pub struct Device {
    pub file: File,
}

impl Device {
    /// Creates the device in the namespace of the calling thread.
    pub fn create(network: &Network, mtu: u16) -> Result<Self, LabError> {
        let file = tun::open(NAME, libc::IFF_TUN)?;
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
            // No duplicate address detection: there is nobody else.
            run(&["ip", "-6", "address", "add", &format!("{local}/48"), "dev", NAME, "nodad"])?;
            run(&["ip", "-6", "route", "add", &format!("{remote}/64"), "dev", NAME])?;
            await_own_route(network.addresses.local)
        }
    }
}

/// Waits until the kernel accepts packets for an IPv6 address: `ip` returns before, and a work queue does the rest
/// (`addrconf_dad_work`, net/ipv6/addrconf.c).
fn await_own_route(address: IpAddr) -> Result<(), LabError> {
    /// `RTF_LOCAL` (include/uapi/linux/ipv6_route.h).
    const LOCAL: u32 = 0x8000_0000;
    const ROUTES: &str = "/proc/thread-self/net/ipv6_route";
    let IpAddr::V6(address) = address else { return Ok(()) };
    let own: String = address.octets().iter().map(|byte| format!("{byte:02x}")).collect();
    let started = std::time::Instant::now();
    while started.elapsed() < PATIENCE {
        let routes = std::fs::read_to_string(ROUTES).map_err(LabError::file(ROUTES))?;
        let is_own = |line: &str| {
            let flags = line.split_whitespace().nth(8).and_then(|flags| u32::from_str_radix(flags, 16).ok());
            line.starts_with(&own) && flags.is_some_and(|flags| flags & LOCAL != 0)
        };
        if routes.lines().any(is_own) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(LabError::TimedOut { what: format!("the route to {NAME}'s own address"), waited: PATIENCE })
}
