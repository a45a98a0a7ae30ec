//! Reads the state of the system.
//!
//! Files ([`files`]), rtnetlink for interfaces, routes and queues, generic netlink for the parameter cache, and ethtool
//! for the NIC. Failed queries are recorded in [`Host::unseen`]; only a missing interface is an error.

mod ethtool;
mod files;
mod links;
mod metrics;
mod netlink;
mod privileged;
mod queues;
mod routes;

use crate::host::{Host, Interface, Route};
use ethtool::Ethtool;
pub use files::Files;
use links::Link;
use netlink::Netlink;
use std::io;
use std::net::IpAddr;

/// How a transfer's route is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To an address.
    To(IpAddr),
    /// Through an interface.
    By(String),
    /// The default route.
    Default,
}

/// Why there is nothing to check.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kernel did not answer.
    #[error("the kernel does not say what interfaces there are")]
    Netlink(#[source] io::Error),
    /// Without the kernel's settings, nothing could be said.
    #[error("the settings of this host cannot be read; mount /proc (mount -t proc proc /proc)")]
    NoProc(#[source] io::Error),
    /// There is no such interface.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// There is no route to it.
    #[error("there is no route to {0}")]
    NoRoute(IpAddr, #[source] io::Error),
    /// There is no default route.
    #[error("there is no default route; name the other host, or an interface (--interface)")]
    NoDefault,
}

/// Reads this host, in the network namespace of the calling thread.
///
/// # Errors
/// If the interface or the route does not exist.
pub fn read(files: &Files, asked: &Asked) -> Result<Host, ReadError> {
    let mut host = Host::default();
    std::fs::metadata(files.proc.join("sys/net")).map_err(ReadError::NoProc)?;
    let mut netlink = Netlink::open(libc::NETLINK_ROUTE).map_err(ReadError::Netlink)?;
    let links = links::all(&mut netlink).map_err(ReadError::Netlink)?;
    let route = way(&mut netlink, &links, asked)?;
    let chain = links::chain(&links, route.interface);
    if chain.is_empty() {
        return Err(ReadError::NoInterface(format!("number {}", route.interface)));
    }
    for link in chain {
        let interface = interface(files, &mut netlink, link, &mut host);
        host.interfaces.push(interface);
    }
    host.route = Some(route);
    files::settings(files, &mut host);
    files::counters(files, &mut host);
    files::softnet(files, &mut host);
    files::clocks(files, &mut host);
    host.page = page();
    match metrics::all() {
        Ok(entries) => host.metrics = Some(entries),
        Err(error) => host.missed("the parameter cache (ip tcp_metrics)", error.to_string(), None),
    }
    match privileged::sock_ops(&files.sys.join("fs/cgroup")) {
        Ok(count) => host.sock_ops = Some(count),
        Err(error) => {
            let needs = matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES));
            let needs = needs.then_some(privileged::QUERY_NEEDS);
            let what = "BPF programs that set buffers and windows of sockets (sock_ops)";
            let why = match error.raw_os_error() {
                // The query's error for a folder of another file system.
                Some(libc::EBADF) => "there is no cgroup2 in /sys/fs/cgroup".to_owned(),
                _ => error.to_string(),
            };
            host.missed(what, why, needs);
        }
    }
    Ok(host)
}

/// Reads an interface by its name, in the network namespace of the calling thread.
///
/// # Errors
/// If there is no such interface.
pub fn read_interface(files: &Files, name: &str) -> Result<Interface, ReadError> {
    let mut netlink = Netlink::open(libc::NETLINK_ROUTE).map_err(ReadError::Netlink)?;
    let links = links::all(&mut netlink).map_err(ReadError::Netlink)?;
    let link = links.iter().find(|link| link.interface.name == name);
    let link = link.ok_or_else(|| ReadError::NoInterface(name.to_owned()))?;
    Ok(interface(files, &mut netlink, link, &mut Host::default()))
}

/// The options of the root qdisc of an interface, by its number, as the kernel has them: `TCA_OPTIONS`, of a form of each kind.
///
/// # Errors
/// If the kernel does not answer.
pub fn read_root_options(interface: u32) -> Result<Vec<u8>, ReadError> {
    let mut netlink = Netlink::open(libc::NETLINK_ROUTE).map_err(ReadError::Netlink)?;
    queues::root_options(&mut netlink, interface).map_err(ReadError::Netlink)
}

fn way(netlink: &mut Netlink, links: &[Link], asked: &Asked) -> Result<Route, ReadError> {
    match asked {
        Asked::To(to) => match routes::to(netlink, *to) {
            Ok(Some(route)) => Ok(route),
            Ok(None) => Err(ReadError::NoRoute(*to, io::ErrorKind::NotFound.into())),
            Err(error) => Err(ReadError::NoRoute(*to, error)),
        },
        Asked::By(name) => {
            let of = links.iter().find(|link| link.interface.name == *name);
            let index = of.ok_or_else(|| ReadError::NoInterface(name.clone()))?.interface.index;
            // Its attributes are those of the default route through it, if there is one.
            let route = routes::default(netlink, Some(index)).ok().flatten();
            Ok(route.unwrap_or(Route { interface: index, ..Route::default() }))
        }
        Asked::Default => {
            routes::default(netlink, None).map_err(ReadError::Netlink)?.ok_or(ReadError::NoDefault)
        }
    }
}

fn interface(files: &Files, netlink: &mut Netlink, link: &Link, host: &mut Host) -> Interface {
    let mut interface = link.interface.clone();
    let name = interface.name.clone();
    match Ethtool::open() {
        Ok(ethtool) => {
            for (what, error) in ethtool.describe(&mut interface) {
                host.missed(format!("{what} of {name}"), error.to_string(), None);
            }
        }
        Err(error) => host.missed(format!("offloads and rings of {name}"), error.to_string(), None),
    }
    match queues::of(netlink, interface.index) {
        Ok(queues) => interface.queues = Some(queues),
        Err(error) => host.missed(format!("queues of {name}"), error.to_string(), None),
    }
    match files::device(files, &name, interface.index, &link.address) {
        Some(of) => {
            (interface.steered_queues, interface.interrupts) = (of.steered_queues, of.interrupts);
        }
        None if interface.kind.is_none() => {
            let why = "/sys shows another network namespace";
            host.missed(format!("interrupts and RPS of {name}"), why, None);
        }
        // A virtual device has neither.
        None => {}
    }
    interface
}

fn page() -> Option<u64> {
    // SAFETY: it takes a number and gives one.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}
