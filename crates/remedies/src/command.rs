//! The commands that advice is made of: what each kind needs and how it is undone, said once.

use crate::{Command, Host};
use slowpath_model::Endpoint;
use std::net::IpAddr;

const NET_ADMIN: &str = "root (CAP_NET_ADMIN)";
const NET_RAW: &str = "root (CAP_NET_RAW)";
const OWNER: &str = "root, or the owner of the process (CAP_SYS_PTRACE)";

impl Command {
    /// A command that only looks.
    pub(crate) fn look(host: Host, line: impl Into<String>, shows: impl Into<String>) -> Self {
        Self { host, line: line.into(), changes: shows.into(), needs: None, reverts: None }
    }

    pub(crate) fn needs(mut self, right: &'static str) -> Self {
        self.needs = Some(right);
        self
    }

    pub(crate) fn by_root(self) -> Self {
        self.needs(NET_ADMIN)
    }

    pub(crate) fn by_owner(self) -> Self {
        self.needs(OWNER)
    }

    pub(crate) fn undone_by(mut self, line: impl Into<String>) -> Self {
        self.reverts = Some(line.into());
        self
    }
}

/// Notes the value of a sysctl in a file, then sets it; the file puts it back.
///
/// What a host is set to is not seen in a capture, so the value to go back to has to be read there.
pub(crate) fn sysctl(host: Host, key: &str, value: &str, changes: &str) -> [Command; 2] {
    let note = format!("{}.before", key.rsplit('.').next().unwrap_or(key));
    let value = if value.contains(' ') { format!("\"{value}\"") } else { value.to_owned() };
    [
        Command::look(
            host,
            format!("sysctl {key} | tee {note}"),
            format!("shows {key} and notes it in {note}, to go back to"),
        ),
        Command::look(host, format!("sysctl -w {key}={value}"), changes)
            .by_root()
            .undone_by(format!("sysctl -p {note}")),
    ]
}

/// Sets a sysctl that has two values of interest, so that it was `other` if setting it changed anything.
pub(crate) fn switch(host: Host, key: &str, value: &str, other: &str, changes: &str) -> Command {
    Command::look(host, format!("sysctl -w {key}={value}"), changes)
        .by_root()
        .undone_by(format!("sysctl -w {key}={other}"))
}

/// Shows the socket of the flow with its buffers, window, RTT and what limited it.
pub(crate) fn socket(host: Host, peer: &Endpoint, shows: &str) -> Command {
    Command::look(host, format!("ss -tinmp dst {peer}"), shows)
}

/// Shows counters of the kernel's TCP since boot.
pub(crate) fn counters(host: Host, names: &str, shows: &str) -> Command {
    Command::look(host, format!("nstat -az {names}"), shows)
}

/// Shows interface and next hop towards `peer`.
pub(crate) fn way_to(host: Host, peer: IpAddr) -> Command {
    Command::look(
        host,
        format!("ip route get {peer}"),
        "shows the interface (dev) and the next hop (via) to put in place of IFACE and GATEWAY",
    )
}

/// A route to this peer alone with an attribute, which new connections to it take; undone by deleting the
/// route.
pub(crate) fn route(host: Host, peer: IpAddr, attribute: &str, changes: &str) -> [Command; 2] {
    let (family, prefix) = match peer {
        IpAddr::V4(_) => ("", 32),
        IpAddr::V6(_) => (" -6", 128),
    };
    [
        way_to(host, peer),
        Command::look(
            host,
            format!("ip{family} route add {peer}/{prefix} via GATEWAY dev IFACE {attribute}"),
            format!(
                "{changes} (for new connections to this peer; leave out \"via GATEWAY\" where none was \
                 shown)"
            ),
        )
        .by_root()
        .undone_by(format!("ip{family} route del {peer}/{prefix} via GATEWAY dev IFACE")),
    ]
}

/// Records the headers of the conversation between two hosts, as a diagnosis wants it.
pub(crate) fn record(host: Host, peer: &Endpoint, port: u16, file: &str) -> Command {
    Command::look(
        host,
        format!(
            "tcpdump -i IFACE -s 128 -B 65536 --time-stamp-precision=nano -w {file} 'host {} and tcp port \
             {port}'",
            peer.address
        ),
        "records the headers of both directions, with 64 MiB of room in the kernel; it says at its end how \
         many packets the kernel dropped, which should be 0",
    )
    .needs(NET_RAW)
}
