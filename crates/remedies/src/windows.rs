//! The commands of Windows that show or change what a command of Linux does.
//!
//! Source: Microsoft's reference of `netsh interface tcp`, of `pktmon`, and of the PowerShell modules `NetTCPIP` and
//! `NetAdapter` (Windows 10 and Server 2019; BBR is in Windows 11). None was run here.

use crate::{Change, Fix, Setting};
use slowpath_model::Endpoint;

const ADMINISTRATOR: &str = "an administrator";

/// The command of Windows in place of `fix`, at the end whose peer is `peer`; `None` if there is none.
pub(crate) fn instead_of(fix: &Fix, peer: &Endpoint) -> Option<Fix> {
    if fix.changes {
        let (command, undo, effect) = match &fix.change {
            Some(Change { setting: Setting::Sysctl(name), then, .. }) => sysctl(name, then),
            Some(Change { setting: Setting::Route { .. }, then, .. }) => route(then),
            None if fix.command.starts_with("ethtool -K IFACE tso off") => Some((
                "Disable-NetAdapterLso -Name *".into(),
                "Enable-NetAdapterLso -Name *".into(),
                "has the host cut segments itself, on every NIC",
            )),
            _ => None,
        }?;
        return Some(Fix::change(fix.host, command, effect).needs(ADMINISTRATOR).undone_by(undo));
    }
    let (command, shows) = look(&fix.command, peer)?;
    let look = Fix::look(fix.host, command, shows);
    Some(if fix.command.contains("tcpdump") { look.needs(ADMINISTRATOR) } else { look })
}

/// What sets the same as a sysctl, what undoes it, and what it does.
fn sysctl(name: &str, then: &str) -> Option<(String, String, &'static str)> {
    let global = |what: &str, [value, other]: [&str; 2], effect| {
        let set = |value: &str| format!("netsh interface tcp set global {what}={value}");
        Some((set(value), set(other), effect))
    };
    let switch = |what: &str, [on, off]: [&'static str; 2]| {
        if then == "0" {
            global(what, ["disabled", "enabled"], off)
        } else {
            global(what, ["enabled", "disabled"], on)
        }
    };
    match name.strip_prefix("net.ipv4.")? {
        "tcp_window_scaling" if then == "0" => global(
            "autotuninglevel",
            ["disabled", "normal"],
            "keeps the window below 64 KiB, on new connections",
        ),
        "tcp_rmem" | "tcp_moderate_rcvbuf" | "tcp_window_scaling" => global(
            "autotuninglevel",
            ["normal", "LEVEL, with the level that was shown"],
            "lets the window scale and grow, the default; a program that sets SO_RCVBUF fixes its own",
        ),
        "tcp_timestamps" => {
            switch("timestamps", ["offers timestamps on new connections", "offers no timestamps"])
        }
        "tcp_ecn" => switch("ecncapability", ["offers ECN on new connections", "offers no ECN"]),
        "tcp_congestion_control" => {
            let set = |provider: &str| {
                format!(
                    "netsh interface tcp set supplemental template=internet congestionprovider={provider}"
                )
            };
            let effect = "uses BBR for new connections of more than 10 ms; Windows 11 has it";
            (then == "bbr").then(|| (set("bbr2"), set("cubic"), effect))
        }
        _ => None,
    }
}

/// What does as an attribute of a route, for the whole host.
fn route(attribute: &str) -> Option<(String, String, &'static str)> {
    let mut words = attribute.split_whitespace();
    let name = words.next()?;
    let value: u32 = words.find_map(|word| word.parse().ok())?;
    let template = |what: &str, usual: u32, effect| {
        let set =
            |value: u32| format!("netsh interface tcp set supplemental template=internet {what}={value}");
        Some((set(value), set(usual), effect))
    };
    let mtu = |value: u32| {
        let set = |value: String| {
            format!("netsh interface ipv4 set subinterface \"IFACE\" mtu={value} store=active")
        };
        let effect = "sends and accepts no larger packets, until the next boot";
        Some((set(value.to_string()), set("N, with the value of show subinterfaces".into()), effect))
    };
    match name {
        "initcwnd" => template("icw", 10, "sends so many segments before the first ACK, on new connections"),
        "quickack" => template("delayedackfrequency", 2, "acknowledges every segment at once"),
        "mtu" => mtu(value),
        // IPv4 and TCP have headers of 20 bytes each.
        "advmss" => mtu(value + 40),
        _ => None,
    }
}

/// What shows the same, and what that is.
fn look(command: &str, peer: &Endpoint) -> Option<(String, &'static str)> {
    let starts = |with: &str| command.starts_with(with);
    let Endpoint { address, port } = peer;
    Some(if starts("ss -l") {
        let port =
            command.rsplit(':').next().filter(|port| port.bytes().all(|letter| letter.is_ascii_digit()))?;
        (format!("Get-NetTCPConnection -State Listen -LocalPort {port}"), "shows whether a program listens")
    } else if starts("ss ") {
        let command =
            format!("Get-NetTCPConnection -RemoteAddress {address} -RemotePort {port} | Format-List");
        (command, "shows the connection, and in OwningProcess its process")
    } else if starts("nstat") {
        let protocol = if address.is_ipv4() { "tcp" } else { "tcpv6" };
        (
            format!("netstat -s -p {protocol}"),
            "shows the host's counters of TCP, such as segments retransmitted",
        )
    } else if starts("ip route get") {
        (format!("Find-NetRoute -RemoteIPAddress {address}"), "shows the interface and the next hop")
    } else if starts("ethtool -S") || starts("ip -s") {
        ("Get-NetAdapterStatistics | Format-List".into(), "shows what each NIC discarded or received damaged")
    } else if starts("ethtool -k") {
        (
            "Get-NetAdapterLso; Get-NetAdapterRsc".into(),
            "shows which NICs make large segments (LSO) and merge them (RSC)",
        )
    } else if starts("ethtool IFACE") {
        ("Get-NetAdapter".into(), "shows the speed that each NIC agreed on")
    } else if starts("traceroute") {
        (format!("tracert -d {address}"), "shows the routers on the way, as far as they answer")
    } else if starts("tracepath") && address.is_ipv4() {
        (format!("ping -f -l 1472 {address}"), "is answered if packets of 1500 bytes pass")
    } else if starts("ping -M do") && address.is_ipv4() {
        let size = command.split_once(" -s ")?.1.split(' ').next()?;
        (format!("ping -f -n 3 -l {size} {address}"), "is answered if such large packets pass")
    } else if starts("nft ") {
        (
            "Get-NetFirewallRule -Enabled True -Action Block".into(),
            "shows the rules by which the firewall discards packets",
        )
    } else if starts("tcpdump") || starts("timeout") && command.contains("tcpdump") {
        (
            "pktmon start --capture --comp nics --file-name slowpath.etl".into(),
            "records packets until pktmon stop; then pktmon etl2pcap slowpath.etl makes a file to diagnose",
        )
    } else if starts("sysctl net.ipv4.tcp_") && SHOWN.iter().any(|name| command.contains(name)) {
        (
            "netsh interface tcp show global".into(),
            "shows the level of autotuning, and whether timestamps and ECN are on",
        )
    } else {
        return None;
    })
}

/// The settings that `netsh interface tcp show global` shows.
const SHOWN: [&str; 5] =
    ["tcp_rmem", "tcp_moderate_rcvbuf", "tcp_window_scaling", "tcp_timestamps", "tcp_ecn"];
