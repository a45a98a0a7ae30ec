//! Settings as text: one line each.

use super::cpus::number;
use super::{LIMITED, LinkAttribute, OFFLOADS, Process, Scheduling, Setting, Steering, Unfit};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl(name) => write!(out, "sysctl {name}"),
            Self::Link { device, attribute } => write!(out, "link {device} {}", attribute.name()),
            Self::Offload { device, option } => write!(out, "offload {device} {option}"),
            Self::ReceiveRing { device } => write!(out, "ring {device} rx"),
            Self::Route { is_v6: false, to } => write!(out, "route {to}"),
            Self::Route { is_v6: true, to } => write!(out, "route -6 {to}"),
            Self::QueueLimit { device, parent: None, kind } => {
                write!(out, "qdisc {device} root {kind} limit")
            }
            Self::QueueLimit { device, parent: Some(parent), kind } => {
                write!(out, "qdisc {device} {parent} {kind} limit")
            }
            Self::RootQdisc { device } => write!(out, "qdisc {device} root"),
            Self::Steering { device, queue, what } => {
                write!(out, "{} {device} {}-{queue}", what.name(), what.direction())
            }
            Self::Interrupt(number) => write!(out, "irq {number} affinity"),
            Self::Process { process, what } => write!(out, "process {process} {}", what.name()),
        }
    }
}

/// How each kind of setting is written.
const FORMS: &str = "write one of: sysctl net.NAME; link IFACE txqueuelen, mtu or gso_max; offload IFACE tx, sg, \
                     tso, gso or gro; ring IFACE rx; route PREFIX; route -6 PREFIX; qdisc IFACE root KIND limit; qdisc IFACE root; \
                     rps IFACE rx-N; \
                     rfs IFACE rx-N; xps IFACE tx-N; irq N affinity; process PID nice, scheduler or affinity";

impl FromStr for Setting {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let unfit = |why: &str| Unfit(format!("\"{text}\" {why}; {FORMS}"));
        let device = |name: &str| {
            // A leading hyphen would be an option, dots alone another folder, and IFNAMSIZ is 16 with the NUL.
            let is_folder = matches!(name, "." | "..") || name.contains('/');
            let fits = (1..16).contains(&name.len())
                && !is_folder
                && !name.contains(|c: char| c == ':' || c.is_control())
                && !name.starts_with('-');
            if fits { Ok(name.to_owned()) } else { Err(unfit("names no interface")) }
        };
        match words[..] {
            ["sysctl", name] => {
                let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.starts_with('-');
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
                if name.starts_with("net.")
                    && name.chars().all(is_plain)
                    && name.split(['.', '/']).all(is_part)
                {
                    Ok(Self::Sysctl(name.to_owned()))
                } else {
                    Err(unfit("names no setting below net."))
                }
            }
            ["link", name, attribute] => {
                let known = LinkAttribute::ALL.into_iter().find(|(_, known)| *known == attribute);
                let (attribute, _) = known.ok_or_else(|| unfit("has an unknown attribute"))?;
                Ok(Self::Link { device: device(name)?, attribute })
            }
            ["offload", name, option] if OFFLOADS.iter().any(|(known, _)| *known == option) => {
                Ok(Self::Offload { device: device(name)?, option: option.to_owned() })
            }
            ["ring", name, "rx"] => Ok(Self::ReceiveRing { device: device(name)? }),
            ["route", to] => prefix(to, false).ok_or_else(|| unfit("names no IPv4 prefix")),
            ["route", "-6", to] => prefix(to, true).ok_or_else(|| unfit("names no IPv6 prefix")),
            ["qdisc", name, place, kind, "limit"] if LIMITED.iter().any(|(known, _)| *known == kind) => {
                let is_handle = place.split_once(':').is_some_and(|(major, minor)| {
                    [major, minor].iter().all(|part| u16::from_str_radix(part, 16).is_ok() || part.is_empty())
                });
                if place != "root" && !is_handle {
                    return Err(unfit("names no parent"));
                }
                let parent = (place != "root").then(|| place.to_owned());
                Ok(Self::QueueLimit { device: device(name)?, parent, kind: kind.to_owned() })
            }
            ["qdisc", name, "root"] => Ok(Self::RootQdisc { device: device(name)? }),
            [what @ ("rps" | "rfs" | "xps"), name, queue] => {
                let what = Steering::from_name(what).ok_or_else(|| unfit("is not a setting"))?;
                let queue = what.queue(queue).ok_or_else(|| unfit("names no queue"))?;
                Ok(Self::Steering { device: device(name)?, queue, what })
            }
            ["irq", interrupt, "affinity"] => {
                let interrupt = number(interrupt).ok_or_else(|| unfit("names no interrupt"))?;
                Ok(Self::Interrupt(interrupt))
            }
            ["process", process, what] => {
                let process = Process::from_text(process).ok_or_else(|| unfit("names no process"))?;
                let what = Scheduling::from_name(what).ok_or_else(|| unfit("has an unknown attribute"))?;
                Ok(Self::Process { process, what })
            }
            _ => Err(unfit("is not a setting")),
        }
    }
}

/// A route to a prefix with its length, or the default route.
fn prefix(to: &str, is_v6: bool) -> Option<Setting> {
    let is_fine = to == "default"
        || to.split_once('/').is_some_and(|(address, length)| {
            let address: Option<IpAddr> = address.parse().ok();
            let most = if is_v6 { 128 } else { 32 };
            address.is_some_and(|address| address.is_ipv6() == is_v6)
                && length.parse::<u8>().is_ok_and(|length| length <= most)
        });
    is_fine.then(|| Setting::Route { is_v6, to: to.to_owned() })
}
