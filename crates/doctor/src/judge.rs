//! Checks a host against a goal. Pure: the same host and goal give the same findings.
//!
//! One file a part of the host, in the order of the debugging procedure (ubik V): buffers first, then what the
//! parameter cache and the route hold, the queue before the card, the card, the CPUs, and what was counted.
//! Each rule is a function that says nothing where it does not know.

mod buffers;
mod card;
mod counters;
mod cpus;
mod loss;
mod queue;
mod route;
mod sender;

use crate::finding::{Finding, Severity};
use crate::goal::Goal;
use crate::host::Host;
use slowpath_model::Rate;
use slowpath_remedies::arithmetic;

/// What is judged, and against what.
struct Examination<'a> {
    host: &'a Host,
    goal: &'a Goal,
}

/// A rule: what it finds is added.
type Rule = fn(&Examination<'_>, &mut Vec<Finding>);

const RULES: &[Rule] =
    &[buffers::all, sender::all, route::all, queue::all, card::all, cpus::all, loss::all, counters::all];

/// The settings of a host that harm a transfer: what limits it most first, then what costs it something, then
/// what is to be known.
pub fn judge(host: &Host, goal: &Goal) -> Vec<Finding> {
    let exam = Examination { host, goal };
    let mut found = Vec::new();
    RULES.iter().for_each(|rule| rule(&exam, &mut found));
    found.sort_by_key(|finding| finding.severity.rank());
    found
}

/// The rate that no transfer of this goal goes beyond, and the finding that says so; `None` where none does.
pub fn bound(findings: &[Finding]) -> Option<(Rate, &Finding)> {
    let limits = findings.iter().filter_map(|finding| Some((finding.severity.limit()?, finding)));
    limits.min_by_key(|(rate, _)| rate.get())
}

/// What a header takes of a packet: IPv4's and TCP's with timestamps (RFC 9293, RFC 7323).
const HEADERS: u32 = 52;
/// What Ethernet adds to a packet: header, checksum, preamble and the gap between frames (IEEE 802.3).
const FRAMING: u64 = 38;
/// From so many packets a second on, what a packet costs a CPU shows. A packet through the whole stack costs in the
/// order of a microsecond, so that this is a twentieth of a CPU.
const MANY_PACKETS: u64 = 50_000;

impl Examination<'_> {
    /// Whether new connections begin with the ssthresh that an old one left (`tcp_init_metrics`, 6.18).
    fn takes_ssthresh(&self) -> bool {
        // It came with 5.6 and is on by default; before, ssthresh was always taken.
        self.host.number("net.ipv4.tcp_no_ssthresh_metrics_save") != Some(1)
    }

    fn mtu(&self) -> u32 {
        let route = self.host.route.as_ref().and_then(|route| route.attributes.get("mtu")).copied();
        let device = self.host.outgoing().and_then(|interface| interface.mtu);
        let least = route.into_iter().chain(device).min().unwrap_or(1500);
        // No interface carries more than IP's length field says.
        least.min(65_535)
    }

    /// Payload of a full segment.
    fn mss(&self) -> u32 {
        self.mtu().saturating_sub(HEADERS).max(1)
    }

    /// Packets a second at the goal, if each is of the interface's size.
    fn packets_per_s(&self) -> u64 {
        self.goal.rate.get() / 8 / u64::from(self.mtu().max(1))
    }

    fn has_many_packets(&self) -> bool {
        self.packets_per_s() >= MANY_PACKETS
    }

    /// The part of packets that may be lost so that CUBIC still averages the goal.
    fn bearable_loss(&self) -> Option<f64> {
        arithmetic::loss_for(self.goal.rate_of_each(), self.mss(), self.goal.rtt)
    }

    /// Whether so many of so many are more than may be lost.
    fn is_too_much(&self, lost: u64, of: u64) -> Option<f64> {
        let share = lost as f64 / of.max(1) as f64;
        (lost > 0 && share > self.bearable_loss()?).then_some(share)
    }

    /// The severity of something that allows no more than `rate`, if that is less than the goal.
    fn limits(&self, rate: Rate) -> Option<Severity> {
        (rate < self.goal.rate).then_some(Severity::Limits(rate))
    }

    /// `1 Gbit/s × 40 ms = 4.77 MiB`, and what of it each connection needs.
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

/// A sum of counts, which may be as large as they like.
fn together(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// A share for people: `0.012 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals =
        if percent >= 1.0 { 0 } else { (1.0 - percent.max(1e-9).log10().floor()).clamp(1.0, 9.0) as usize };
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_figures() {
        assert_eq!([0.25, 0.004, 0.000_012].map(percent), ["25 %", "0.40 %", "0.0012 %"]);
    }
}
