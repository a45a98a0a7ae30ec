//! A setting of a host that can be read, written and restored, and a change of one.
//!
//! One definition serves the shell lines of an advice ([`Change::command`], [`Change::undo`]) and the program that applies
//! a plan, which runs the same words ([`Setting::words`]). As text a setting is one line: `link eth0 txqueuelen`.
//!
//! References: ip-link(8), ip-route(8), ethtool(8), tc(8), sysctl(8); `dev_valid_name` (6.18) for names of interfaces.

use slowpath_model::shown;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

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

/// Keys of a route's value, besides the attributes of connections ([`METRICS`]).
const ROUTE_KEYS: &[&str] = &["via", "dev", "proto", "scope", "src", "metric", "pref", "onlink"];
/// Attributes of connections over a route (`mx_names` of iproute2).
const METRICS: &[&str] = &[
    "advmss",
    "congctl",
    "cwnd",
    "fastopen_no_cookie",
    "features",
    "hoplimit",
    "initcwnd",
    "initrwnd",
    "mtu",
    "quickack",
    "reordering",
    "rto_min",
    "rtt",
    "rttvar",
    "ssthresh",
    "window",
];

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is changed.
    pub setting: Setting,
    /// Its current value; `None` if it is not known.
    pub now: Option<String>,
    /// Its new value.
    pub then: String,
    /// How the new value is meant where the setting has another value than expected.
    pub target: Target,
}

/// How the new value of a change is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// As it is.
    Exactly,
    /// As a limit: larger numbers stay.
    AtLeast,
    /// As a limit: smaller numbers stay.
    AtMost,
    /// As attributes that a route gets besides those that it has.
    Added,
}

/// Sysctls whose numbers are limits, which advice only raises.
const LIMITS: &[&str] = &[
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// The other sysctls that advice about a capture changes.
const OTHERS: &[&str] = &[
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fastopen_blackhole_timeout_sec",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.netfilter.nf_conntrack_tcp_be_liberal",
    "net.netfilter.nf_conntrack_tcp_timeout_established",
];

impl Target {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Exactly, "exactly"),
        (Self::AtLeast, "at-least"),
        (Self::AtMost, "at-most"),
        (Self::Added, "added"),
    ];

    /// The name in JSON: `at-least`.
    pub const fn slug(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The target of a name.
    pub fn from_slug(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(target, _)| target)
    }

    /// How advice means the value of a sysctl.
    pub(crate) fn of_sysctl(name: &str) -> Self {
        if LIMITS.contains(&name) { Self::AtLeast } else { Self::Exactly }
    }

    /// The numbers of two values of a limit, one by one; `None` for what is none.
    fn limit(self, now: &str, then: &str) -> Option<String> {
        let numbers = |text: &str| text.split_whitespace().map(|word| word.parse::<u64>().ok()).collect();
        let (now, then): (Option<Vec<u64>>, Option<Vec<u64>>) = (numbers(now), numbers(then));
        let (now, then) = now.zip(then).filter(|(now, then)| now.len() == then.len())?;
        let one = |(now, then): (u64, u64)| {
            if self == Self::AtMost { now.min(then) } else { now.max(then) }.to_string()
        };
        Some(now.into_iter().zip(then).map(one).collect::<Vec<_>>().join(" "))
    }
}

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
            Self::Route { .. } => canonical_route(&words),
            _ => words.join(" "),
        }
    }

    /// The program that turns `from` into `to`, and its arguments. A sysctl can also be written to its file.
    ///
    /// Only the removal of a route depends on `from`: its next hop and interface say which route is meant.
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
        }
    }

    /// Whether `value` can be written at all; the kernel decides the rest.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self, value: &str) -> Result<(), Unfit> {
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
        }
    }
}

/// Text in single spaces.
fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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

/// Keys and values of a route's words: `mtu lock 1400` has the value `lock 1400`.
fn pairs(words: &[&str]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = words.iter().copied().peekable();
    while let Some(key) = rest.next() {
        if key == "onlink" {
            found.push((key.to_owned(), String::new()));
            continue;
        }
        let mut value = rest.next().unwrap_or_default().to_owned();
        if value == "lock" {
            value = format!("lock {}", rest.next().unwrap_or_default());
        }
        found.push((key.to_owned(), value));
    }
    found
}

/// A route's words in one order, without what `ip route` prints but nobody set (`print_route`, iproute2 6.15).
fn canonical_route(words: &[&str]) -> String {
    if words == [NO_ROUTE] {
        return NO_ROUTE.to_owned();
    }
    // Flags of the moment.
    let words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "linkdown" | "dead" | "offload" | "rt_trap"))
        .collect();
    let implied = |key: &str, value: &str| {
        matches!(
            (key, value),
            ("proto", "boot") | ("scope", "link" | "global") | ("metric", "0" | "1024") | ("pref", "medium")
        )
    };
    let mut pairs = pairs(&words);
    pairs.retain(|(key, value)| !implied(key, value));
    for (key, value) in &mut pairs {
        if matches!(&**key, "rto_min" | "rtt" | "rttvar") {
            // Setting rto_min locks it, and the kernel prints the lock.
            *value = milliseconds(value.trim_start_matches("lock "));
        }
    }
    pairs.sort();
    let words: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key} {value}")).collect();
    words.join(" ").trim_end().to_owned()
}

/// A time as `ip route` takes or prints it, in milliseconds where it is one.
fn milliseconds(text: &str) -> String {
    let number = |unit: &str| text.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok());
    let ms = number("ms").or_else(|| number("s").map(|seconds| seconds * 1000.0));
    ms.map_or_else(|| text.to_owned(), |ms| format!("{ms}ms"))
}

impl Change {
    /// The shell line that makes it.
    pub fn command(&self) -> String {
        self.setting.line(self.now.as_deref().unwrap_or_default(), &self.then)
    }

    /// The shell line that takes it back; `None` if the old value is not known.
    pub fn undo(&self) -> Option<String> {
        self.now.as_ref().map(|now| self.setting.line(&self.then, now))
    }

    /// Whether advice about a capture changes this setting in this way: a sysctl that it names, or the route to `peer`.
    pub fn is_advised(&self, peer: IpAddr) -> bool {
        match &self.setting {
            Setting::Sysctl(name) => {
                self.target != Target::Added
                    && (LIMITS.contains(&&**name) || OTHERS.contains(&&**name))
                    && self.setting.check(&self.then).is_ok()
            }
            setting => {
                let attributes = pairs(&self.then.split_whitespace().collect::<Vec<_>>());
                let is_known = |(key, _): &(String, String)| METRICS.contains(&&**key);
                self.target == Target::Added
                    && *setting == Setting::route_to(peer)
                    && attributes.iter().all(is_known)
                    && setting.check(&format!("dev any {}", self.then)).is_ok()
            }
        }
    }

    /// The new value for a setting that has the value `found`, of which [`Change::now`] may be a part: a route keeps
    /// attributes that the advice does not know, and a limit that is large enough stays. `None` if `found` lacks what the
    /// change removes, or is not of its form.
    pub fn onto(&self, found: &str) -> Option<String> {
        match self.target {
            Target::Exactly => self.replace(found),
            Target::AtLeast | Target::AtMost => self.target.limit(found, &self.then),
            Target::Added if found == NO_ROUTE => None,
            Target::Added => {
                let words = |text: &str| pairs(&text.split_whitespace().collect::<Vec<_>>());
                let added = words(&self.then);
                let kept =
                    words(found).into_iter().filter(|(key, _)| !added.iter().any(|(new, _)| new == key));
                let all: Vec<String> =
                    kept.chain(added.clone()).map(|(key, value)| format!("{key} {value}")).collect();
                Some(words_of(&all.join(" ")))
            }
        }
    }

    fn replace(&self, found: &str) -> Option<String> {
        let words = |text: &str| pairs(&text.split_whitespace().collect::<Vec<_>>());
        let is_route = matches!(self.setting, Setting::Route { .. });
        let now = self.now.as_deref().filter(|now| is_route && *now != NO_ROUTE && found != NO_ROUTE);
        let Some(now) = now else {
            let is_same = !is_route || self.now.as_deref().is_none_or(|now| now == found);
            return is_same.then(|| words_of(&self.then));
        };
        let keeps = words(&self.then);
        let mut removes: Vec<String> = words(now).into_iter().map(|(key, _)| key).collect();
        removes.retain(|key| !keeps.iter().any(|(kept, _)| kept == key));
        let found = words(found);
        let has = |key: &String| found.iter().any(|(known, _)| known == key);
        let keeps = || found.iter().filter(|(key, _)| !removes.contains(key));
        removes.iter().all(has).then(|| {
            let kept: Vec<String> = keeps().map(|(key, value)| format!("{key} {value}")).collect();
            words_of(&kept.join(" "))
        })
    }

    /// Takes over another change of the setting as far as both can be made: what the other removes from a route or adds to it,
    /// and the higher one of two limits. Otherwise the first change stays. Returns whether the other is contained.
    pub fn join(&mut self, other: &Self) -> bool {
        if self.setting != other.setting || self.target != other.target {
            return false;
        }
        match self.target {
            Target::Exactly => self.join_exactly(other),
            Target::AtLeast | Target::AtMost => match self.target.limit(&self.then, &other.then) {
                Some(both) => {
                    self.then = both;
                    true
                }
                None => false,
            },
            Target::Added => {
                // Of an attribute that both have, the first stays.
                match other.onto(&self.then).zip(self.onto(&other.then)) {
                    Some((theirs, ours))
                        if self.setting.canonical(&theirs) == self.setting.canonical(&ours) =>
                    {
                        self.then = ours;
                        true
                    }
                    _ => false,
                }
            }
        }
    }

    fn join_exactly(&mut self, other: &Self) -> bool {
        if !matches!(self.setting, Setting::Route { .. }) {
            return self.setting.canonical(&self.then) == self.setting.canonical(&other.then);
        }
        let words = |text: &str| pairs(&text.split_whitespace().collect::<Vec<_>>());
        let theirs = words(&other.then);
        let kept = words(&self.then).into_iter().filter(|pair| theirs.contains(pair));
        let kept: Vec<String> =
            kept.map(|(key, value)| format!("{key} {value}").trim_end().to_owned()).collect();
        self.then = kept.join(" ");
        true
    }
}

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
        }
    }
}

/// How each kind of setting is written.
const FORMS: &str = "write one of: sysctl net.NAME; link IFACE txqueuelen, mtu or gso_max; offload IFACE tx, sg, \
                     tso, gso or gro; ring IFACE rx; route PREFIX; route -6 PREFIX; qdisc IFACE root KIND limit";

impl FromStr for Setting {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let unfit = |why: &str| Unfit(format!("\"{text}\" {why}; {FORMS}"));
        let device = |name: &str| {
            // A leading hyphen would be an option, and IFNAMSIZ is 16 with the NUL.
            let fits = (1..16).contains(&name.len()) && !name.contains(['/', ':']) && !name.starts_with('-');
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

#[cfg(test)]
mod tests;
