//! A fix: one command that shows or changes something, with everything needed to run it.
//!
//! Captures, the live kernel and `doctor` all advise with this type; only this module knows what each kind of command
//! needs and how it is undone.

use crate::Advice;
use crate::setting::{Change, Setting, Target};
use slowpath_model::Endpoint;
use std::net::IpAddr;

/// The right to configure the network.
pub const NET_ADMIN: &str = "root (CAP_NET_ADMIN)";
/// The right to capture packets.
pub const NET_RAW: &str = "root (CAP_NET_RAW)";
/// The right to trace or signal a process.
pub const OWNER: &str = "root, or the owner of the process (CAP_SYS_PTRACE)";
/// The right to change how a process is scheduled.
pub const SYS_NICE: &str = "root (CAP_SYS_NICE)";

/// A command that shows or changes something.
///
/// `IFACE`, `GATEWAY` and `PID` stand for what a capture does not show: the interface and next hop towards the peer,
/// which `ip route get` prints, and the process that owns the socket, which `ss -p` prints. `PEER` is the peer's
/// address, in advice about a host without a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Where to run it.
    pub host: Host,
    /// The shell command.
    pub command: String,
    /// What it shows or changes; empty if a finding already states it.
    pub effect: String,
    /// Whether it changes something. What only shows something may need a capability as well.
    pub changes: bool,
    /// The capability it needs; `None` if any user may run it.
    pub needs: Option<&'static str>,
    /// The line that restores what it changed; `None` if it changes nothing that can be restored.
    pub undo: Option<String>,
    /// What makes it persistent: a file and its line; `None` if it changes nothing, or if that depends on the
    /// distribution.
    pub persists: Option<String>,
    /// Where this is documented, if the advice around it does not state it.
    pub source: Option<&'static str>,
    /// What the command changes, where slowpath can read, make and take back that change itself.
    pub change: Option<Change>,
}

/// Where a fix applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// The host that sent the data the verdict is about.
    Sender,
    /// The host that received it.
    Receiver,
    /// A device on the path: the one before the bottleneck, unless the text names another.
    Path,
    /// Either end, or each.
    Either,
    /// The host that slowpath runs on.
    This,
}

impl Host {
    /// The name in JSON: `sender`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Path => "path",
            Self::Either => "either",
            Self::This => "this",
        }
    }
}

impl Fix {
    /// A command that only shows something.
    pub fn look(host: Host, command: impl Into<String>, shows: impl Into<String>) -> Self {
        Self {
            host,
            command: command.into(),
            effect: shows.into(),
            changes: false,
            needs: None,
            undo: None,
            persists: None,
            source: None,
            change: None,
        }
    }

    /// A command that changes something, as root with [`NET_ADMIN`] unless it [`needs`](Self::needs) another capability.
    pub fn change(host: Host, command: impl Into<String>, changes: impl Into<String>) -> Self {
        Self { changes: true, ..Self::look(host, command, changes) }.needs(NET_ADMIN)
    }

    /// A change that is typed: its lines follow from it.
    pub fn of(host: Host, change: Change) -> Self {
        Self {
            undo: change.undo(),
            persists: change.setting.persists(&change.then),
            ..Self::change(host, change.command(), "")
        }
        .changing(change)
    }

    /// A sysctl of a host whose current value is known.
    pub fn sysctl_known(host: Host, name: &str, value: &str, before: &str) -> Self {
        let setting = Setting::Sysctl(name.to_owned());
        let (now, then) = (Some(before.to_owned()), value.to_owned());
        Self::of(host, Change { setting, now, then, target: Target::Exactly })
    }

    pub(crate) fn changing(mut self, change: Change) -> Self {
        self.change = Some(change);
        self
    }

    /// Adds the privilege that the command needs.
    #[must_use]
    pub const fn needs(mut self, right: &'static str) -> Self {
        self.needs = Some(right);
        self
    }

    /// Adds that root or the owner of the process has to run it.
    #[must_use]
    pub(crate) const fn by_owner(self) -> Self {
        self.needs(OWNER)
    }

    /// Adds the line that undoes it.
    #[must_use]
    pub fn undone_by(mut self, line: impl Into<String>) -> Self {
        self.undo = Some(line.into());
        self
    }
}

/// Saves the value of a sysctl to a file, then sets it; the file restores it.
///
/// A capture does not show how a host is configured, so the old value has to be read there.
pub(crate) fn sysctl(host: Host, key: &str, value: &str, changes: &str) -> [Fix; 2] {
    sysctl_meant(host, key, value, Target::of_sysctl(key), changes)
}

/// As [`sysctl`], for a limit that is to be lowered.
pub(crate) fn lower(host: Host, key: &str, value: &str, changes: &str) -> [Fix; 2] {
    sysctl_meant(host, key, value, Target::AtMost, changes)
}

fn sysctl_meant(host: Host, key: &str, value: &str, target: Target, changes: &str) -> [Fix; 2] {
    let setting = Setting::Sysctl(key.to_owned());
    let note = format!("{}.before", key.rsplit('.').next().unwrap_or(key));
    [
        Fix::look(host, format!("sysctl {key} | tee {note}"), format!("shows {key} and saves it to {note}")),
        Fix {
            effect: changes.to_owned(),
            ..Fix::of(host, Change { setting, now: None, then: value.to_owned(), target })
        }
        .undone_by(format!("sysctl -p {note}")),
    ]
}

/// Sets a sysctl with two relevant values: if setting it changed anything, it was `other`.
pub(crate) fn switch(host: Host, key: &str, value: &str, other: &str, changes: &str) -> Fix {
    Fix { effect: changes.to_owned(), ..Fix::sysctl_known(host, key, value, other) }
}

/// Shows the socket of the flow with its buffers, window, RTT and what limited it.
pub(crate) fn socket(host: Host, peer: &Endpoint, shows: &str) -> Fix {
    Fix::look(host, format!("ss -tinmp dst {peer}"), shows)
}

/// Shows counters of the kernel's TCP since boot.
pub(crate) fn counters(host: Host, names: &str, shows: &str) -> Fix {
    Fix::look(host, format!("nstat -az {names}"), shows)
}

/// Makes Linux keep the congestion window over a pause (tcp_cwnd_restart, 6.18).
pub(crate) fn keep_over_pauses() -> Fix {
    switch(
        Host::Sender,
        "net.ipv4.tcp_slow_start_after_idle",
        "0",
        "1",
        "keeps the congestion window over pauses, for all connections of this host",
    )
}

/// Use BBR.
pub(crate) fn bbr(why: &str) -> Advice {
    Advice::new(why)
        .with(
            Fix::change(Host::Sender, "modprobe tcp_bbr", "loads BBR where it is not built in")
                .needs("root (CAP_SYS_MODULE)")
                .undone_by("modprobe -r tcp_bbr"),
        )
        .with_all(sysctl(
            Host::Sender,
            "net.ipv4.tcp_congestion_control",
            "bbr",
            "uses BBR for connections from now on; a program may choose another with TCP_CONGESTION",
        ))
        .caution(
            "BBR and CUBIC do not always share a path evenly, and BBR's first version can cause much loss \
             where buffers are shallow. Measure before and after.",
        )
}

/// What undoes `tc qdisc replace dev IFACE root …`.
pub(crate) const DEFAULT_QDISC: &str = "tc qdisc del dev IFACE root, which brings back the default one";

/// Shows interface and next hop towards `peer`.
pub(crate) fn way_to(host: Host, peer: IpAddr) -> Fix {
    Fix::look(
        host,
        format!("ip route get {peer}"),
        "shows the interface (dev) and the next hop (via) to put in place of IFACE and GATEWAY",
    )
}

/// Shows how far a SYN gets towards `peer`, by the routers that answer; `shows` is the meaning of that.
pub(crate) fn hops(host: Host, peer: &Endpoint, shows: &str) -> Fix {
    Fix::look(host, format!("traceroute -n -T -p {} {}", peer.port, peer.address), shows)
}

/// Shows a host's firewall.
pub(crate) fn firewall(host: Host) -> Fix {
    Fix::look(
        host,
        "nft list ruleset; iptables -L -n -v",
        "shows the host's firewall, with the packets that each rule dropped",
    )
    .needs(NET_ADMIN)
}

/// A route to this peer alone with an attribute that new connections to it use; undone by deleting the route.
pub(crate) fn route(host: Host, peer: IpAddr, attribute: &str, changes: &str) -> [Fix; 2] {
    let (family, prefix) = match peer {
        IpAddr::V4(_) => ("", 32),
        IpAddr::V6(_) => (" -6", 128),
    };
    [
        way_to(host, peer),
        Fix::change(
            host,
            format!("ip{family} route add {peer}/{prefix} via GATEWAY dev IFACE {attribute}"),
            format!(
                "{changes} (for new connections to this peer; leave out \"via GATEWAY\" where none was \
                 shown)"
            ),
        )
        .undone_by(format!("ip{family} route del {peer}/{prefix} via GATEWAY dev IFACE"))
        .changing(Change {
            setting: Setting::route_to(peer),
            now: None,
            then: attribute.to_owned(),
            target: Target::Added,
        }),
    ]
}

/// Has the receiver acknowledge each segment of its peer at once.
pub(crate) fn quickack(peer: IpAddr) -> [Fix; 2] {
    route(Host::Receiver, peer, "quickack 1", "acknowledges every segment at once")
}

/// Records the headers of the conversation between two hosts, as needed for a diagnosis.
pub(crate) fn record(host: Host, peer: &Endpoint, port: u16, file: &str) -> Fix {
    Fix::look(
        host,
        format!(
            "tcpdump -i IFACE -s 128 -B 65536 --time-stamp-precision=nano -w {file} 'host {} and tcp port \
             {port}'",
            peer.address
        ),
        "records the headers of both directions, with 64 MiB of room in the kernel; at its end it prints how \
         many packets the kernel dropped, which should be 0",
    )
    .needs(NET_RAW)
}
