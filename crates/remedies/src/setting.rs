//! A setting of a host that can be read, written and restored, and a change of one.
//!
//! One definition serves the shell lines of an advice ([`Change::command`], [`Change::undo`]) and the program that applies
//! a plan, which runs the same words ([`Setting::words`]). As text a setting is one line: `link eth0 txqueuelen`.
//!
//! References: ip-link(8), ip-route(8), ethtool(8), tc(8), sysctl(8); `dev_valid_name` (6.18) for names of interfaces.

mod change;
mod cpus;
mod qdisc;
mod route;
mod steering;
mod text;
mod threads;

pub use change::{Change, Target};
pub use cpus::Cpus;
pub use qdisc::DEFAULT as DEFAULT_QDISC;
pub use route::attributes as route_attributes;
pub use steering::Steering;
pub use threads::{POLICIES, Policy, Process, Scheduling, Threads};

use qdisc::RootQdisc;
use route::{METRICS, ROUTE_KEYS, pairs};
use slowpath_model::shown;
use std::net::IpAddr;

/// Something that a host keeps until it is changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// A sysctl, by its dotted name.
    Sysctl(String),
    /// An attribute of an interface.
    Link {
        /// The interface.
        device: String,
        /// The attribute.
        attribute: LinkAttribute,
    },
    /// An offload: `on`, `off`, or its features one by one where they differ.
    Offload {
        /// The interface.
        device: String,
        /// The option of `ethtool -K`: one of [`OFFLOADS`].
        option: String,
    },
    /// Slots of the receive ring.
    ReceiveRing {
        /// The interface.
        device: String,
    },
    /// A route of the main table: next hop, interface and attributes in `ip route`'s words, or [`NO_ROUTE`].
    Route {
        /// Whether it is of IPv6.
        is_v6: bool,
        /// The prefix with its length, or `default`.
        to: String,
    },
    /// The limit of a qdisc, in the unit of its kind: one of [`LIMITED`].
    QueueLimit {
        /// The interface.
        device: String,
        /// The handle of the parent, `1:30`; `None` for the root.
        parent: Option<String>,
        /// The kind: `pfifo`.
        kind: String,
    },
    /// The root qdisc with its options, in tc's words, or [`DEFAULT_QDISC`].
    RootQdisc {
        /// The interface.
        device: String,
    },
    /// What steers the packets of a queue.
    Steering {
        /// The interface.
        device: String,
        /// The queue's number.
        queue: u32,
        /// What.
        what: Steering,
    },
    /// The CPUs that may handle an interrupt, by its number.
    Interrupt(u32),
    /// How the threads of a process are scheduled.
    Process {
        /// The process.
        process: Process,
        /// Which of its attributes.
        what: Scheduling,
    },
}

/// An attribute of an interface (`IFLA_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkAttribute {
    /// `txqueuelen`, in packets.
    QueueLength,
    /// `mtu`, in bytes.
    Mtu,
    /// The largest super-packet: `gso_max_size BYTES gso_max_segs SEGMENTS`.
    SuperPackets,
}

/// The value of a route that does not exist.
pub const NO_ROUTE: &str = "none";

/// Options of `ethtool -K`, with the features that each stands for (`off_flag_def` of ethtool 6.15). An asterisk stands for
/// any text.
pub const OFFLOADS: &[(&str, &str)] = &[
    ("tx", "tx-checksum-*"),
    ("sg", "tx-scatter-gather*"),
    ("tso", "tx-tcp*-segmentation"),
    ("gso", "tx-generic-segmentation"),
    ("gro", "rx-gro"),
];

/// Kinds of qdiscs whose `limit` can be changed alone, and whether it is in bytes (`fifo_init`, `fq_change`,
/// `fq_codel_change`, `codel_change`, 6.18).
pub const LIMITED: &[(&str, bool)] =
    &[("pfifo", false), ("bfifo", true), ("fq", false), ("fq_codel", false), ("codel", false)];

/// Why a text is no setting, or no value of one, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

impl LinkAttribute {
    const ALL: [(Self, &'static str); 3] =
        [(Self::QueueLength, "txqueuelen"), (Self::Mtu, "mtu"), (Self::SuperPackets, "gso_max")];

    /// Its name: that of `ip link`, or what its two names begin with.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl Setting {
    /// The route to one address alone.
    pub fn route_to(peer: IpAddr) -> Self {
        let length = if peer.is_ipv6() { 128 } else { 32 };
        Self::Route { is_v6: peer.is_ipv6(), to: format!("{peer}/{length}") }
    }

    /// What `value` is compared by: values with the same text are the same to the kernel.
    pub fn canonical(&self, value: &str) -> String {
        let words: Vec<&str> = value.split_whitespace().collect();
        match self {
            Self::Route { .. } => route::canonical(&words),
            Self::Steering { what: Steering::Rps | Steering::Xps, .. } | Self::Interrupt(_) => {
                value.trim().parse::<Cpus>().map_or_else(|_| words.join(" "), |cpus| cpus.to_string())
            }
            Self::RootQdisc { .. } => {
                RootQdisc::parse(value).map_or_else(|_| words.join(" "), |qdisc| qdisc.text())
            }
            Self::Process { what, .. } => Threads::parse(*what, value)
                .map_or_else(|_| words.join(" "), |threads| threads.brief().to_string()),
            _ => words.join(" "),
        }
    }

    /// `value` as a person reads it: one value where all threads of a process have it.
    pub fn brief(&self, value: &str) -> String {
        match self {
            Self::Process { .. } => self.canonical(value),
            _ => value.to_owned(),
        }
    }

    /// Whether the value that was `found` is `value`. Of a process, threads that have ended do not count; of a qdisc, options that
    /// `value` does not name.
    pub fn is(&self, found: &str, value: &str) -> bool {
        self.is_one_of(found, &[value])
    }

    /// Whether the value that was `found` is one of `values`. Each thread of a process may have another one of them, since they
    /// are changed one by one.
    pub fn is_one_of(&self, found: &str, values: &[&str]) -> bool {
        if let Self::Process { process, what } = self {
            let parse = |text: &str| Threads::parse(*what, text).ok();
            let values: Option<Vec<Threads>> = values.iter().map(|value| parse(value)).collect();
            return parse(found)
                .zip(values)
                .is_some_and(|(found, values)| found.are(process.pid, &values.iter().collect::<Vec<_>>()));
        }
        if let Self::RootQdisc { .. } = self {
            let parse = |text: &str| RootQdisc::parse(text).ok();
            let is =
                |value: &&str| parse(found).zip(parse(value)).is_some_and(|(found, value)| found.is(&value));
            return values.iter().any(is);
        }
        values.iter().any(|value| self.canonical(found) == self.canonical(value))
    }

    /// The value to write once more where the kernel rounded `to` to `became`, so that it has `to` itself.
    pub fn compensated(&self, to: &str, became: &str) -> Option<String> {
        let Self::RootQdisc { .. } = self else { return None };
        let [to, became] = [to, became].map(|value| RootQdisc::parse(value).ok());
        to?.compensated(&became?).map(|again| again.text())
    }

    /// Whether it is of a process whose number is not known: it cannot be read or changed.
    pub fn is_of_unknown(&self) -> bool {
        matches!(self, Self::Process { process, .. } if *process == Process::UNKNOWN)
    }

    /// Whether it belongs to a network namespace, and goes with it.
    pub const fn is_of_namespace(&self) -> bool {
        !matches!(self, Self::Interrupt(_) | Self::Process { .. })
    }

    /// The program that turns `from` into `to`, and its arguments; empty for what no program is needed for. A sysctl can also be
    /// written to its file.
    ///
    /// Little depends on `from`: the next hop and interface of a route that is removed, and options of a qdisc that cannot change.
    pub fn words(&self, from: &str, to: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        match self {
            Self::Sysctl(name) => return vec!["sysctl".into(), "-w".into(), format!("{name}={to}")],
            Self::Link { device, attribute } => {
                add(&["ip", "link", "set", device]);
                // The other value has its names in it.
                if *attribute != LinkAttribute::SuperPackets {
                    add(&[attribute.name()]);
                }
            }
            Self::Offload { device, option } => {
                add(&["ethtool", "-K", device]);
                if matches!(to, "on" | "off") {
                    add(&[option]);
                }
            }
            Self::ReceiveRing { device } => add(&["ethtool", "-G", device, "rx"]),
            Self::QueueLimit { device, parent, kind } => {
                add(&["tc", "qdisc", "change", "dev", device]);
                match parent {
                    Some(parent) => add(&["parent", parent]),
                    None => add(&["root"]),
                }
                add(&[kind, "limit"]);
            }
            Self::Route { is_v6, to: prefix } => {
                add(if *is_v6 { &["ip", "-6", "route"] } else { &["ip", "route"] });
                if to == NO_ROUTE {
                    add(&["del", prefix]);
                    let of = pairs(&from.split_whitespace().collect::<Vec<_>>());
                    let which = of.iter().filter(|(key, _)| matches!(&**key, "via" | "dev" | "metric"));
                    which.for_each(|(key, value)| add(&[key, value]));
                    return words;
                }
                add(&["replace", prefix]);
            }
            Self::RootQdisc { device } => {
                return RootQdisc::parse(to).map_or_else(|_| words, |qdisc| qdisc.command(device, from));
            }
            Self::Steering { .. } | Self::Interrupt(_) | Self::Process { .. } => return words,
        }
        add(&to.split_whitespace().collect::<Vec<_>>());
        words
    }

    /// The shell line that turns `from` into `to`.
    pub fn line(&self, from: &str, to: &str) -> String {
        if let Self::Sysctl(name) = self {
            let to = self.canonical(to);
            let to = if to.contains(' ') { format!("\"{to}\"") } else { to };
            return format!("sysctl -w {name}={to}");
        }
        match self {
            Self::Steering { device, queue, what } => {
                let file = format!("/sys/{}", what.file(device, *queue));
                return format!("echo {} > {}", what.written(to), shown::word(&file));
            }
            Self::Interrupt(number) => return format!("echo {to} > /proc/irq/{number}/smp_affinity_list"),
            Self::Process { process, what } => return what.line(*process, to),
            _ => {}
        }
        let words = self.words(from, to);
        words.iter().map(|word| shown::word(word)).collect::<Vec<_>>().join(" ")
    }

    /// The file and its line that keep a value over a reboot; `None` if that depends on the distribution.
    pub fn persists(&self, value: &str) -> Option<String> {
        let Self::Sysctl(name) = self else { return None };
        Some(format!("/etc/sysctl.d/90-slowpath.conf: {name} = {value}"))
    }

    /// What a change of it may disturb.
    pub const fn risk(&self) -> &'static str {
        match self {
            Self::Sysctl(_) => "applies to all connections of the host, most settings only to new ones",
            Self::Link { attribute: LinkAttribute::Mtu, .. } => {
                "all hosts of the link need this MTU; some drivers take the link down for a moment"
            }
            Self::Link { attribute: LinkAttribute::QueueLength, .. } => {
                "queued packets stay; a longer queue can delay other traffic"
            }
            Self::Link { .. } => "larger super-packets can delay other traffic on slow links",
            Self::Offload { .. } => {
                "some drivers take the link down for a moment; captures show super-packets"
            }
            Self::ReceiveRing { .. } => "many drivers take the link down for a moment; the ring takes memory",
            Self::Route { .. } => "applies to new connections over this route",
            Self::QueueLimit { .. } => "queued packets stay; a longer queue can delay other traffic",
            Self::RootQdisc { .. } => {
                "packets in the old queue are dropped; counters of the qdisc begin at zero"
            }
            Self::Steering { what: Steering::Rfs, .. } => {
                "each entry takes memory; does nothing unless net.core.rps_sock_flow_entries is above 0"
            }
            Self::Steering { .. } => "other CPUs take over work; packets of a flow may be reordered once",
            Self::Interrupt(_) => "lasts until irqbalance, if it runs, moves the interrupt again",
            Self::Process { what: Scheduling::Policy, .. } => {
                "a real-time process that never sleeps starves all others on its CPU"
            }
            Self::Process { .. } => {
                "a larger share of the CPUs for one process is a smaller one for all others"
            }
        }
    }

    /// Whether `value` can be written at all; the kernel decides the rest.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self, value: &str) -> Result<(), Unfit> {
        match self {
            Self::Steering { what, .. } => return what.check(value),
            Self::Interrupt(_) => {
                return match value.parse::<Cpus>()? {
                    none if none.is_empty() => {
                        Err(Unfit("an interrupt needs a CPU; write a list such as 0-3,8".to_owned()))
                    }
                    _ => Ok(()),
                };
            }
            Self::Process { what, .. } => return Threads::parse(*what, value).map(drop),
            Self::RootQdisc { .. } => return RootQdisc::parse(value).map(drop),
            _ => {}
        }
        let words: Vec<&str> = value.split_whitespace().collect();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+:/,".contains(c);
        let number = || match words[..] {
            [word] if word.parse::<u32>().is_ok() => Ok(()),
            _ => Err(Unfit(format!("\"{value}\" is not a number from 0 to {}", u32::MAX))),
        };
        if words.is_empty() || !words.iter().all(|word| word.chars().all(is_plain) && !word.starts_with('-'))
        {
            let is_negative =
                matches!(self, Self::Sysctl(_)) && words.iter().all(|word| word.parse::<i64>().is_ok());
            if words.is_empty() || !is_negative {
                return Err(Unfit(format!(
                    "\"{value}\" is not a value; write words of letters, digits and ._-+:/,"
                )));
            }
        }
        match self {
            Self::Sysctl(_) => Ok(()),
            Self::Link { attribute: LinkAttribute::SuperPackets, .. } => match words[..] {
                ["gso_max_size", bytes, "gso_max_segs", segments]
                    if [bytes, segments].iter().all(|word| word.parse::<u32>().is_ok()) =>
                {
                    Ok(())
                }
                _ => Err(Unfit(format!("\"{value}\" is not \"gso_max_size BYTES gso_max_segs SEGMENTS\""))),
            },
            Self::Link { .. } | Self::ReceiveRing { .. } | Self::QueueLimit { .. } => number(),
            Self::Offload { option, .. } => {
                let pattern =
                    OFFLOADS.iter().find(|(known, _)| known == option).map_or("", |(_, pattern)| pattern);
                let is_of = |pair: &[&str]| matches!(pair, [feature, "on" | "off"] if matches_pattern(pattern, feature));
                if matches!(value, "on" | "off") || words.chunks(2).all(is_of) {
                    return Ok(());
                }
                Err(Unfit(format!("\"{value}\" is not a state of {option}; write on or off")))
            }
            Self::Route { .. } if words == [NO_ROUTE] => Ok(()),
            Self::Route { .. } => {
                let known = |key: &str| ROUTE_KEYS.contains(&key) || METRICS.contains(&key);
                let pairs = pairs(&words);
                let odd =
                    pairs.iter().find(|(key, value)| !known(key) || value.is_empty() && key != "onlink");
                match odd {
                    Some((key, _)) => Err(Unfit(format!(
                        "\"{key}\" is not an attribute of a route with its value; write words as in `ip route`: \"via \
                         192.0.2.1 dev eth0 initcwnd 20\""
                    ))),
                    None if !pairs.iter().any(|(key, _)| key == "dev") => {
                        Err(Unfit("a route needs its interface: \"dev eth0\"".to_owned()))
                    }
                    None => Ok(()),
                }
            }
            // These were checked above.
            Self::RootQdisc { .. } | Self::Steering { .. } | Self::Interrupt(_) | Self::Process { .. } => {
                Ok(())
            }
        }
    }
}

/// Whether a feature's name fits a pattern with at most one asterisk.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests;
