//! Reads and writes settings, in the network namespace of the calling thread.

mod qdisc;
mod sysfs;
mod threads;

use crate::error::{AccessError, NotSet};
use crate::lock::Lock;
use slowpath_doctor::host::{Interface, Queue};
use slowpath_doctor::{Files, read_interface, read_root_options};
use slowpath_remedies::Setting;
use slowpath_remedies::setting::{
    Cpus, LinkAttribute, NO_ROUTE, OFFLOADS, Process, Scheduling, Steering, Threads, matches_pattern,
};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Access to the settings of a host.
pub struct Access<'a>(Option<&'a Lock>);

impl Access<'static> {
    /// Access that only reads.
    pub const fn reading() -> Self {
        Self(None)
    }
}

impl<'a> Access<'a> {
    /// Access that also writes, by programs that keep the lock.
    pub(crate) const fn writing(lock: &'a Lock) -> Self {
        Self(Some(lock))
    }

    /// The setting as it is kept: a process with its start, so that it is never another one.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn named(&self, setting: &Setting) -> Result<Setting, AccessError> {
        Ok(match setting {
            Setting::Process { process, what } => {
                Setting::Process { process: threads::named(*process)?, what: *what }
            }
            other => other.clone(),
        })
    }

    /// The process with a number, and its start.
    pub(crate) fn process(&self, pid: u32) -> Result<Process, AccessError> {
        threads::named(Process { pid, start: None })
    }

    /// Refuses a value that this host cannot have, before anything is changed. The kernel would take some, and make another
    /// value of them.
    pub(crate) fn need_possible(&self, setting: &Setting, value: &str) -> Result<(), AccessError> {
        let lists: Vec<String> = match setting {
            Setting::Steering { what: Steering::Rps | Steering::Xps, .. } | Setting::Interrupt(_) => {
                vec![value.to_owned()]
            }
            Setting::Process { what: what @ Scheduling::Affinity, .. } => {
                match Threads::parse(*what, value) {
                    Ok(Threads::All(value)) => vec![value],
                    Ok(Threads::Each(each)) => each.into_values().collect(),
                    Err(_) => Vec::new(),
                }
            }
            _ => Vec::new(),
        };
        lists
            .iter()
            .filter_map(|list| list.parse::<Cpus>().ok())
            .try_for_each(|cpus| sysfs::need_online(&cpus))
    }

    /// The current value of a setting, in single spaces. That of a process lists each of its threads.
    ///
    /// # Errors
    /// If it does not exist here, or has a form that could not be restored.
    pub fn read(&self, setting: &Setting) -> Result<String, AccessError> {
        match setting {
            Setting::Sysctl(name) => {
                let text = std::fs::read_to_string(file(name)).map_err(|error| sysctl_error(name, error))?;
                Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            Setting::Link { device, attribute } => {
                let interface = interface(device)?;
                let (first, second) = match attribute {
                    LinkAttribute::QueueLength => (interface.queue_length, None),
                    LinkAttribute::Mtu => (interface.mtu, None),
                    LinkAttribute::SuperPackets => {
                        (interface.gso_max_bytes, Some(interface.gso_max_segments))
                    }
                };
                let absent = || AccessError::Absent(format!("{device} reports no {}", attribute.name()));
                let first = first.ok_or_else(absent)?;
                match second {
                    None => Ok(first.to_string()),
                    Some(second) => {
                        Ok(format!("gso_max_size {first} gso_max_segs {}", second.ok_or_else(absent)?))
                    }
                }
            }
            Setting::Offload { device, option } => offload(&interface(device)?, option),
            Setting::ReceiveRing { device } => match interface(device)?.receive_ring {
                Some(ring) => Ok(ring.slots.to_string()),
                None => Err(AccessError::Absent(format!("the driver of {device} reports no ring"))),
            },
            Setting::QueueLimit { device, parent, kind } => queue_limit(device, parent.as_deref(), kind),
            Setting::Route { is_v6, to } => self.route(*is_v6, to),
            Setting::RootQdisc { device } => self.root_qdisc(&interface(device)?),
            Setting::Steering { device, queue, what } => {
                interface(device)?;
                sysfs::steering(device, *queue, *what)
            }
            Setting::Interrupt(number) => sysfs::interrupt(*number),
            Setting::Process { process, what } => Ok(threads::read(*process, *what)?.to_string()),
        }
    }

    /// Gives a setting that has the value `from` the value `to`, and reads it back.
    pub(crate) fn set(&self, setting: &Setting, from: &str, to: &str) -> Result<(), NotSet> {
        let written = self.write(setting, from, to);
        written.map_err(|source| NotSet::Refused { to: to.to_owned(), source })?;
        let mut became = self.read(setting).map_err(NotSet::Unread)?;
        if let Some(again) = setting.compensated(to, &became)
            && self.write(setting, &became, &again).is_ok()
        {
            became = self.read(setting).map_err(NotSet::Unread)?;
        }
        if setting.is(&became, to) {
            return Ok(());
        }
        Err(NotSet::Became { to: to.to_owned(), became })
    }

    /// Gives a setting the value `to`, whatever it has, and reads it back; an error says what failed.
    pub(crate) fn put(&self, setting: &Setting, to: &str) -> Result<(), String> {
        let found = self.read(setting).map_err(|error| format!("{setting} cannot be read: {error}"))?;
        if setting.is(&found, to) {
            return Ok(());
        }
        self.set(setting, &found, to).map_err(|error| format!("{setting} {error}"))
    }

    /// Gives a setting that has the value `from` the value `to`. If the kernel refuses a sysctl of several numbers, that may have
    /// some of them.
    fn write(&self, setting: &Setting, from: &str, to: &str) -> Result<(), AccessError> {
        match setting {
            Setting::Sysctl(name) => {
                let opened = OpenOptions::new().write(true).open(file(name));
                let mut file = opened.map_err(|error| sysctl_error(name, error))?;
                // Of an unknown congestion control too the kernel says that it does not exist.
                file.write_all(to.as_bytes()).map_err(AccessError::Kernel)
            }
            Setting::Steering { device, queue, what } => sysfs::steer(device, *queue, *what, to),
            Setting::Interrupt(number) => sysfs::set_interrupt(*number, to),
            Setting::Process { process, what } => {
                let parse = |value: &str| {
                    Threads::parse(*what, value).map_err(|unfit| AccessError::Absent(unfit.to_string()))
                };
                threads::write(*process, *what, &parse(from)?, &parse(to)?)
            }
            _ => self.run(&setting.words(from, to)).map(drop),
        }
    }

    /// The one route to exactly this prefix in the main table.
    fn route(&self, is_v6: bool, to: &str) -> Result<String, AccessError> {
        let (family, any) = if is_v6 { ("-6", "::/0") } else { ("-4", "0.0.0.0/0") };
        let exact = if to == "default" { any } else { to };
        let words = ["ip", family, "-o", "route", "show", "exact", exact, "table", "main"];
        let output = self.run(&words.map(str::to_owned))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let Some(line) = lines.next() else { return Ok(NO_ROUTE.to_owned()) };
        let mut words = line.split_whitespace();
        let (first, words) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
        let is_prefix = first == "default" || first.parse::<IpAddr>().is_ok() || first.contains('/');
        if lines.next().is_some() || words.contains(&"nexthop") || !is_prefix {
            let why = format!(
                "there are several routes to {to}, or one of several next hops or another kind: {line}"
            );
            return Err(AccessError::Absent(why));
        }
        // `ip route` prints the lock of rto_min, sets it with each rto_min, and does not take the word.
        Ok(words.join(" ").replace("rto_min lock ", "rto_min "))
    }

    /// The next hop and interface by which packets to `peer` leave, as the value of a route.
    pub(crate) fn way_to(&self, peer: IpAddr) -> Result<String, AccessError> {
        let family = if peer.is_ipv6() { "-6" } else { "-4" };
        let words = ["ip", family, "-o", "route", "get", &peer.to_string()].map(str::to_owned);
        let output = self.run(&words)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let way = way_of(&text);
        way.ok_or_else(|| {
            AccessError::Absent(format!("packets to {peer} leave by no ordinary route: {}", text.trim()))
        })
    }

    fn root_qdisc(&self, interface: &Interface) -> Result<String, AccessError> {
        let value = qdisc::root(interface, &read_root_options(interface.index)?)?;
        if qdisc::may_have_filters(&value) {
            let words = ["tc", "filter", "show", "dev", &interface.name, "root"].map(str::to_owned);
            if !self.run(&words)?.stdout.is_empty() {
                let why =
                    format!("the root qdisc of {} has filters; that is left to a person", interface.name);
                return Err(AccessError::Absent(why));
            }
        }
        Ok(value)
    }

    fn run(&self, words: &[String]) -> Result<Output, AccessError> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(AccessError::Absent("there is nothing to run".to_owned()));
        };
        let failed = |source| AccessError::NoProgram { program: program.clone(), source };
        let input = self.0.map_or_else(|| Ok(Stdio::null()), Lock::input).map_err(failed)?;
        let output =
            Command::new(program).args(arguments).stdin(input).env("LC_ALL", "C").output().map_err(failed)?;
        if output.status.success() {
            return Ok(output);
        }
        let mut says =
            String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        if says.contains("qdisc kind is unknown") {
            says += " This kernel has no such qdisc: neither built in nor as a module (CONFIG_NET_SCH_*).";
        }
        Err(AccessError::Program { line: words.join(" "), says })
    }
}

/// The next hop and interface in a line of `ip route get`.
fn way_of(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Before the address is the kind of the route, if that is no ordinary one: `local`, `blackhole`.
    words.first()?.parse::<IpAddr>().ok()?;
    let after =
        |key: &str| words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1).copied());
    let via = match after("via") {
        Some(hop) => format!("via {} ", hop.parse::<IpAddr>().ok()?),
        None => String::new(),
    };
    after("dev").map(|device| format!("{via}dev {device}"))
}

/// The file of a sysctl. As with sysctl(8), a slash in a name is a dot in the file's: `net.ipv4.conf.eth0/5.rp_filter`.
fn file(name: &str) -> PathBuf {
    let swapped: String = name
        .chars()
        .map(|c| {
            if c == '.' {
                '/'
            } else if c == '/' {
                '.'
            } else {
                c
            }
        })
        .collect();
    PathBuf::from("/proc/sys").join(swapped)
}

fn sysctl_error(name: &str, error: io::Error) -> AccessError {
    match error.kind() {
        io::ErrorKind::NotFound => AccessError::NoSysctl(name.to_owned()),
        _ => AccessError::Kernel(error),
    }
}

fn interface(device: &str) -> Result<Interface, AccessError> {
    Ok(read_interface(&Files::default(), device)?)
}

/// `on` or `off` where all features of an option are, otherwise each feature with its state.
fn offload(interface: &Interface, option: &str) -> Result<String, AccessError> {
    let (_, pattern) = OFFLOADS.iter().find(|(known, _)| *known == option).copied().unwrap_or_default();
    let features: Vec<(&str, bool)> = interface
        .offloads
        .iter()
        .filter(|(name, offload)| offload.can_change && matches_pattern(pattern, name))
        .map(|(name, offload)| (name.as_str(), offload.on))
        .collect();
    let state = |on: bool| if on { "on" } else { "off" };
    match features[..] {
        [] => Err(AccessError::Absent(format!("{option} of {} cannot be changed", interface.name))),
        [(_, first), ref rest @ ..] if rest.iter().all(|(_, on)| *on == first) => Ok(state(first).to_owned()),
        _ => {
            let pairs: Vec<String> =
                features.iter().map(|(name, on)| format!("{name} {}", state(*on))).collect();
            Ok(pairs.join(" "))
        }
    }
}

fn queue_limit(device: &str, parent: Option<&str>, kind: &str) -> Result<String, AccessError> {
    let parent = parent.map_or(Some(u32::MAX), handle);
    let queues = interface(device)?.queues.unwrap_or_default();
    let is_it = |queue: &&Queue| Some(queue.parent) == parent && queue.kind == kind;
    let limit = queues.iter().find(is_it).and_then(|queue| queue.limit_packets.or(queue.limit_bytes));
    limit
        .map(|limit| limit.to_string())
        .ok_or_else(|| AccessError::Absent(format!("{device} has no qdisc {kind} with a limit there")))
}

/// `1:30` as a number, in hexadecimal.
fn handle(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once(':').unwrap_or((text, ""));
    let [major, minor] =
        [major, minor].map(|part| u16::from_str_radix(if part.is_empty() { "0" } else { part }, 16).ok());
    Some(u32::from(major?) << 16 | u32::from(minor?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_doctor::host::Offload;

    #[test]
    fn slashes_in_names_of_sysctls_are_dots() {
        assert_eq!(
            file("net.ipv4.conf.eth0/5.rp_filter"),
            PathBuf::from("/proc/sys/net/ipv4/conf/eth0.5/rp_filter")
        );
    }

    #[test]
    fn features_that_differ_are_listed() {
        let mut interface = Interface::default();
        let mut set = |name: &str, on, can_change| {
            interface.offloads.insert(name.to_owned(), Offload { on, can_change });
            offload(&interface, "tso").ok()
        };
        assert_eq!(set("tx-tcp-segmentation", true, false), None, "it is fixed");
        assert_eq!(set("tx-tcp6-segmentation", true, true).as_deref(), Some("on"));
        let both = set("tx-tcp-mangleid-segmentation", false, true);
        assert_eq!(both.as_deref(), Some("tx-tcp-mangleid-segmentation off tx-tcp6-segmentation on"));
    }

    #[test]
    fn the_way_to_a_peer_is_its_next_hop_and_interface() {
        for (line, way) in [
            (
                "192.0.2.9 via 198.51.100.1 dev eth0 src 198.51.100.7 uid 0 \\    cache",
                Some("via 198.51.100.1 dev eth0"),
            ),
            ("192.0.2.9 dev eth0 src 192.0.2.7 uid 0", Some("dev eth0")),
            (
                "2001:db8::9 from :: via fe80::1 dev eth0 proto ra src 2001:db8::7 metric 100",
                Some("via fe80::1 dev eth0"),
            ),
            ("192.0.2.9 via inet6 fe80::1 dev eth0 src 192.0.2.7", None),
            ("local 192.0.2.7 dev lo src 192.0.2.7 uid 0", None),
            ("broadcast 192.0.2.255 dev eth0", None),
            ("", None),
        ] {
            assert_eq!(way_of(line).as_deref(), way, "{line}");
        }
    }

    #[test]
    fn handles_are_hexadecimal() {
        assert_eq!(
            (handle("1:30"), handle("ffff:"), handle("8001"), handle("x:1")),
            (Some(0x1_0030), Some(0xffff_0000), Some(0x8001_0000), None)
        );
    }
}
