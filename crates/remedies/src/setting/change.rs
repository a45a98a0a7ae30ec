//! A change of a setting, and how its value is meant.

use super::route::{METRICS, pairs};
use super::{NO_ROUTE, Process, Scheduling, Setting};
use std::net::IpAddr;

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
        let numbers = |text: &str| text.split_whitespace().map(|word| word.parse::<i64>().ok()).collect();
        let (now, then): (Option<Vec<i64>>, Option<Vec<i64>>) = (numbers(now), numbers(then));
        let (now, then) = now.zip(then).filter(|(now, then)| now.len() == then.len())?;
        let one = |(now, then): (i64, i64)| {
            if self == Self::AtMost { now.min(then) } else { now.max(then) }.to_string()
        };
        Some(now.into_iter().zip(then).map(one).collect::<Vec<_>>().join(" "))
    }
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

    /// A larger share of the CPUs for the process that owns the socket.
    pub(crate) fn larger_share() -> Self {
        Self::of_owner(Scheduling::Nice, "-5", Target::AtMost)
    }

    /// The process that owns the socket before all that are not real-time.
    pub(crate) fn first_in_line() -> Self {
        Self::of_owner(Scheduling::Policy, "SCHED_FIFO 1", Target::Exactly)
    }

    fn of_owner(what: Scheduling, then: &str, target: Target) -> Self {
        let setting = Setting::Process { process: Process::UNKNOWN, what };
        Self { setting, now: None, then: then.to_owned(), target }
    }

    /// Whether advice about a capture changes this setting in this way: a sysctl that it names, the route to `peer`, or the process
    /// that owns the socket.
    pub fn is_advised(&self, peer: IpAddr) -> bool {
        match &self.setting {
            Setting::Sysctl(name) => {
                self.target != Target::Added
                    && (LIMITS.contains(&&**name) || OTHERS.contains(&&**name))
                    && self.setting.check(&self.then).is_ok()
            }
            Setting::Process { .. } => [Self::larger_share(), Self::first_in_line()].contains(self),
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

/// Text in single spaces.
fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
