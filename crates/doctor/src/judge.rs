//! Checks a host against a goal. Pure: the same host and goal give the same findings.
//!
//! One file per part of the host, in the order of the debugging procedure (ubik V): buffers first, then the parameter
//! cache and the route, the qdisc, the NIC, the CPUs, and counters. Each rule is a function that reports nothing if
//! data is missing.

mod buffers;
mod counters;
mod cpus;
mod loss;
mod nic;
mod qdisc;
mod route;
mod sender;

use crate::finding::{Finding, Severity};
use crate::goal::Goal;
use crate::host::Host;
use slowpath_model::Rate;
use slowpath_remedies::arithmetic;

/// The host, and the goal it is checked against.
struct Examination<'a> {
    host: &'a Host,
    goal: &'a Goal,
}

/// A rule: adds its findings.
type Rule = fn(&Examination<'_>, &mut Vec<Finding>);

const RULES: &[Rule] =
    &[buffers::all, sender::all, route::all, qdisc::all, nic::all, cpus::all, loss::all, counters::all];

/// The settings of a host that harm a transfer: the lowest limit first, then costs, then hints.
pub fn judge(host: &Host, goal: &Goal) -> Vec<Finding> {
    let exam = Examination { host, goal };
    let mut found = Vec::new();
    RULES.iter().for_each(|rule| rule(&exam, &mut found));
    found.sort_by_key(|finding| finding.severity.rank());
    found
}

/// The maximum rate of a transfer with this goal, and the finding that limits it; `None` without a limit.
pub fn bound(findings: &[Finding]) -> Option<(Rate, &Finding)> {
    let limits = findings.iter().filter_map(|finding| Some((finding.severity.limit()?, finding)));
    limits.min_by_key(|(rate, _)| rate.get())
}

/// Header bytes per packet: IPv4's and TCP's with timestamps (RFC 9293, RFC 7323).
const HEADERS: u32 = 52;
/// Ethernet's bytes per packet: header, checksum, preamble and interframe gap (IEEE 802.3).
const FRAMING: u64 = 38;
/// The packet rate above which CPU costs matter. A packet takes in the order of a microsecond through the whole stack,
/// so this is a twentieth of a CPU.
const MANY_PACKETS: u64 = 50_000;

impl Examination<'_> {
    /// Whether new connections start with the ssthresh cached from an old one (`tcp_init_metrics`, 6.18).
    fn takes_ssthresh(&self) -> bool {
        // It came with 5.6 and is on by default; before, ssthresh was always used.
        self.host.number("net.ipv4.tcp_no_ssthresh_metrics_save") != Some(1)
    }

    fn mtu(&self) -> u32 {
        let route = self.host.route.as_ref().and_then(|route| route.attributes.get("mtu")).copied();
        let device = self.host.outgoing().and_then(|interface| interface.mtu);
        let least = route.into_iter().chain(device).min().unwrap_or(1500);
        // The length field of IP allows no more.
        least.min(65_535)
    }

    /// Payload of a full segment.
    fn mss(&self) -> u32 {
        self.mtu().saturating_sub(HEADERS).max(1)
    }

    /// Packets per second at the goal, if each has the interface's MTU.
    fn packets_per_s(&self) -> u64 {
        self.goal.rate.get() / 8 / u64::from(self.mtu().max(1))
    }

    fn has_many_packets(&self) -> bool {
        self.packets_per_s() >= MANY_PACKETS
    }

    /// The loss rate at which CUBIC still averages the goal.
    fn bearable_loss(&self) -> Option<f64> {
        arithmetic::loss_for(self.goal.rate_of_each(), self.mss(), self.goal.rtt)
    }

    /// The share, if it exceeds the tolerable loss rate.
    fn is_too_much(&self, lost: u64, of: u64) -> Option<f64> {
        let share = lost as f64 / of.max(1) as f64;
        (lost > 0 && share > self.bearable_loss()?).then_some(share)
    }

    /// The severity of a limit of `rate`, if that is less than the goal.
    fn limits(&self, rate: Rate) -> Option<Severity> {
        (rate < self.goal.rate).then_some(Severity::Limits(rate))
    }

    /// `1 Gbit/s × 40 ms = 4.77 MiB`, and each connection's part of it.
    fn product(&self) -> String {
        let goal = self.goal;
        let whole =
            format!("{} × {} = {}", goal.rate, slowpath_model::units::duration_text(goal.rtt), goal.window());
        if goal.streams > 1 {
            format!("{whole}, {} for each of {} connections", goal.window_of_each(), goal.streams)
        } else {
            whole
        }
    }
}

/// A sum of counters, which saturates.
fn together(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}
