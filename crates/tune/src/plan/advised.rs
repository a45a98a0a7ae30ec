//! From the advice of a diagnosis to a plan for one of the hosts that it is about.
//!
//! A capture does not say on which host it is read. That has to be said, and is never guessed: the advice for one end, applied at
//! the other one, changes a host for nothing.

use super::Proposed;
use super::propose::{Reason, not_typed};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Confidence};
use slowpath_doctor::Role;
use slowpath_model::End;
use slowpath_remedies::{Advice, Change, Fix, Host, advise, percent};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Findings of less of a flow's life than this are minor: what fixes them is a hint.
const MINOR: f64 = 0.05;
/// Addresses that an error names.
const MOST_NAMED: usize = 8;

/// A flow with its findings, and the advice about each.
#[derive(Clone, Debug, PartialEq)]
pub struct Advised {
    /// Its number.
    pub(super) flow: u32,
    /// The addresses of A and of B.
    pub(super) addresses: [IpAddr; 2],
    /// The end that sent most.
    pub(super) sender: End,
    /// What was found of the sending of that end.
    pub(super) findings: Vec<Found>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) cause: Cause,
    /// The end that advice calls the sender.
    pub(super) from: End,
    pub(super) share: f64,
    /// Whether it is about an instant, which has no share.
    pub(super) is_instant: bool,
    pub(super) confidence: Confidence,
    pub(super) advice: Vec<Offer>,
}

/// Advice about a finding.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Offer {
    pub(super) text: String,
    pub(super) caution: Option<String>,
    pub(super) fixes: Vec<OfferedFix>,
}

/// A command of an advice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfferedFix {
    pub(super) host: Host,
    pub(super) command: String,
    /// Whether it changes something.
    pub(super) changes: bool,
    pub(super) has_undo: bool,
    pub(super) change: Option<Change>,
}

/// Which end of the flows this host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// The end that sends most of the data.
    Sender,
    /// The end that receives it.
    Receiver,
    /// The one with this address.
    At(IpAddr),
}

impl Here {
    /// The end with this address, or else in this role; `None` if neither tells the ends apart.
    pub const fn of(address: Option<IpAddr>, role: Role) -> Option<Self> {
        match (address, role) {
            (Some(address), _) => Some(Self::At(address)),
            (None, Role::Sender) => Some(Self::Sender),
            (None, Role::Receiver) => Some(Self::Receiver),
            (None, Role::Both) => None,
        }
    }
}

/// Why it is not known which advice is for this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownHost {
    /// Nothing was found.
    #[error("no flow has a finding with advice: there is nothing to plan")]
    NoAdvice,
    /// Several hosts play that part.
    #[error(
        "the flows have several {role}s ({}); say which of them this host is: --host ADDRESS",
        list(addresses)
    )]
    Several {
        /// `sender` or `receiver`.
        role: &'static str,
        /// Their addresses.
        addresses: Vec<IpAddr>,
    },
    /// No flow has that end.
    #[error("no flow has an end at {address}; there are {}", list(addresses))]
    NotThere {
        /// The address that was given.
        address: IpAddr,
        /// Those of the flows.
        addresses: Vec<IpAddr>,
    },
}

fn list(addresses: &[IpAddr]) -> String {
    let mut named: Vec<String> = addresses.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    if addresses.len() > MOST_NAMED {
        named.push(format!("{} more", addresses.len() - MOST_NAMED));
    }
    named.join(", ")
}

impl Advised {
    /// The advice about a flow, whose findings have their evidence.
    pub fn of(report: &FlowReport) -> Self {
        let findings = report.main().findings.iter().map(|finding| Found {
            cause: finding.cause,
            from: finding.from,
            share: finding.share,
            is_instant: finding.spells == 0,
            confidence: finding.confidence,
            advice: advise(finding, report).into_iter().map(Offer::from).collect(),
        });
        Self {
            flow: report.id.0,
            addresses: [report.key.a.address, report.key.b.address],
            sender: report.sender,
            findings: findings.collect(),
        }
    }

    fn address(&self, end: End) -> IpAddr {
        self.addresses[end.index()]
    }

    /// Whether this host is the sender of the flow, and whether it is the receiver; both, if it is between two of its sockets.
    pub fn is_end(&self, here: Here) -> [bool; 2] {
        let own = self.own(here);
        [self.sender, !self.sender].map(|end| own == Some(self.address(end)))
    }

    /// The address that this host has, if it is an end.
    fn own(&self, here: Here) -> Option<IpAddr> {
        match here {
            Here::Sender => Some(self.address(self.sender)),
            Here::Receiver => Some(self.address(!self.sender)),
            Here::At(address) => self.addresses.contains(&address).then_some(address),
        }
    }
}

impl From<Advice> for Offer {
    fn from(advice: Advice) -> Self {
        let fixes = advice.fixes.into_iter().map(|fix| {
            let Fix { host, command, changes, undo, change, .. } = fix;
            OfferedFix { host, command, changes, has_undo: undo.is_some(), change }
        });
        Self { text: advice.text, caution: advice.caution, fixes: fixes.collect() }
    }
}

/// Advice sorted for one host, and how many flows it is about.
pub struct ForHost {
    /// What to change.
    pub proposed: Proposed,
    /// The address of this host in the flows.
    pub address: IpAddr,
    /// Flows of this host.
    pub flows: usize,
    /// Flows between others, which were left out.
    pub others: usize,
}

/// The changes that cure findings, as far as this host can make them. `with_hints` also takes what cures minor and uncertain
/// findings, and alternatives.
///
/// # Errors
/// If it is not clear which end of the flows this host is.
pub fn propose_advised(flows: &[Advised], here: Here, with_hints: bool) -> Result<ForHost, UnknownHost> {
    let with_advice = || flows.iter().filter(|flow| !flow.findings.is_empty());
    let own: BTreeSet<IpAddr> = with_advice().filter_map(|flow| flow.own(here)).collect();
    let address = match (own.first(), here) {
        (Some(only), _) if own.len() == 1 => *only,
        (None, Here::At(address)) if with_advice().next().is_some() => {
            let all: BTreeSet<IpAddr> = with_advice().flat_map(|flow| flow.addresses).collect();
            return Err(UnknownHost::NotThere { address, addresses: all.into_iter().collect() });
        }
        (None, _) => return Err(UnknownHost::NoAdvice),
        (Some(_), _) => {
            let role = if here == Here::Sender { "sender" } else { "receiver" };
            return Err(UnknownHost::Several { role, addresses: own.into_iter().collect() });
        }
    };
    let mut proposed = Proposed::default();
    let (ours, others): (Vec<&Advised>, Vec<&Advised>) =
        with_advice().partition(|flow| flow.own(here).is_some());
    for flow in &ours {
        let is_here = |end: End| flow.address(end) == address;
        for found in &flow.findings {
            let place = Place { sender: is_here(found.from), receiver: is_here(!found.from) };
            sort(&mut proposed, flow, found, place, with_hints);
        }
    }
    Ok(ForHost { proposed, address, flows: ours.len(), others: others.len() })
}

/// Which parts this host plays in a finding; both, if a flow is between two of its sockets.
#[derive(Clone, Copy)]
struct Place {
    sender: bool,
    receiver: bool,
}

impl Place {
    /// Why a fix is not for this host; `None` if it is.
    const fn not_for(self, host: Host) -> Option<&'static str> {
        match host {
            Host::Sender if !self.sender => Some("it is for the sender, and this host is the receiver"),
            Host::Receiver if !self.receiver => Some("it is for the receiver, and this host is the sender"),
            Host::Path => Some("it is for a device on the path"),
            Host::Sender | Host::Receiver | Host::Either | Host::This => None,
        }
    }
}

/// Adds what cures a finding to a plan, or names it with the reason why it is not applied.
fn sort(proposed: &mut Proposed, flow: &Advised, found: &Found, place: Place, with_hints: bool) {
    let reason = |offer: &Offer| {
        let share =
            if found.is_instant { String::new() } else { format!("{} of ", percent(rounded(found.share))) };
        let [a, b] = flow.addresses;
        let caution = offer.caution.as_ref().map_or_else(String::new, |text| format!(" {text}"));
        Reason {
            finding: found.cause.to_string(),
            title: format!("{} ({share}flow {}, {a} and {b})", found.cause.title(), flow.flow),
            why: format!("{}{caution}", offer.text),
            source: format!("slowpath causes {}", found.cause),
        }
    };
    let minor = if !found.is_instant && found.share < MINOR {
        Some("it cost little of the flow; --hints plans it")
    } else if found.confidence == Confidence::Low {
        Some("the finding is uncertain; --hints plans it")
    } else {
        None
    };
    let mut has_changed = false;
    let mut is_named = false;
    for offer in &found.advice {
        let reason = reason(offer);
        let mut changes_here = false;
        for fix in offer.fixes.iter().filter(|fix| fix.changes) {
            is_named = true;
            let why = match (&fix.change, place.not_for(fix.host)) {
                (_, Some(why)) => why,
                (None, None) => not_typed(fix.has_undo),
                (Some(_), None) if minor.is_some() && !with_hints => minor.unwrap_or_default(),
                (Some(_), None) if has_changed && !with_hints => {
                    "it is an alternative to what is planned for this finding; --hints plans it"
                }
                (Some(change), None) => {
                    proposed.want(change, &reason);
                    changes_here = true;
                    continue;
                }
            };
            proposed.leave(&fix.command, &reason, why);
        }
        has_changed |= changes_here;
    }
    if let Some(first) = found.advice.first().filter(|_| !is_named) {
        let reason = Reason { title: first.text.clone(), ..reason(first) };
        proposed.leave("", &reason, "no setting of a host changes this");
    }
}

/// To a thousandth, which is what a person reads.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plan::{Made, Plan};
    use slowpath_remedies::{Setting, Target};

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn fix(host: Host, setting: &str, then: &str) -> OfferedFix {
        let setting: Setting = setting.parse().expect(setting);
        let target = if setting.to_string().contains("mem") { Target::AtLeast } else { Target::Exactly };
        let change = Change { setting, now: None, then: then.to_owned(), target };
        OfferedFix { host, command: change.command(), changes: true, has_undo: true, change: Some(change) }
    }

    fn offer(fixes: Vec<OfferedFix>) -> Offer {
        Offer { text: "Why.".to_owned(), caution: Some("When not.".to_owned()), fixes }
    }

    fn found(cause: Cause, share: f64, advice: Vec<Offer>) -> Found {
        Found { cause, from: End::A, share, is_instant: false, confidence: Confidence::High, advice }
    }

    /// A sends to B: a receive buffer, SACK at either end with an alternative, and an idle application.
    pub(crate) fn flow(number: u32, a: u8, b: u8) -> Advised {
        let look = OfferedFix {
            host: Host::Sender,
            command: "ss".to_owned(),
            changes: false,
            has_undo: false,
            change: None,
        };
        let untyped = OfferedFix { command: "chrt -b 0 PID".to_owned(), changes: true, ..look.clone() };
        Advised {
            flow: number,
            addresses: [address(a), address(b)],
            sender: End::A,
            findings: vec![
                found(
                    Cause::ReceiveBufferTooSmall,
                    0.61,
                    vec![offer(vec![
                        look.clone(),
                        fix(Host::Receiver, "sysctl net.ipv4.tcp_rmem", "4096 131072 8388608"),
                    ])],
                ),
                found(
                    Cause::FastRecovery,
                    0.2,
                    vec![
                        offer(vec![fix(Host::Either, "sysctl net.ipv4.tcp_sack", "1"), untyped]),
                        offer(vec![fix(Host::Sender, "sysctl net.ipv4.tcp_congestion_control", "bbr")]),
                        offer(vec![fix(Host::Path, "sysctl net.ipv4.tcp_ecn", "0")]),
                    ],
                ),
                found(
                    Cause::SlowStart,
                    0.01,
                    vec![offer(vec![fix(Host::Either, "sysctl net.ipv4.tcp_fastopen", "3")])],
                ),
                found(Cause::SenderIdle, 0.18, vec![offer(vec![look])]),
            ],
        }
    }

    fn planned(flows: &[Advised], here: Here, hints: bool) -> Plan {
        let of = propose_advised(flows, here, hints).expect("this host is known");
        let now = |change: &Change| {
            let is_memory = change.setting.to_string().contains("mem");
            let now = if is_memory { "4096 131072 6291456" } else { "0" }.to_owned();
            Ok((now.clone(), now))
        };
        of.proposed.plan(Made::default(), now)
    }

    fn changes(plan: &Plan) -> Vec<String> {
        plan.changes.iter().map(|one| format!("{} {}", one.setting, one.then)).collect()
    }

    #[test]
    fn each_end_gets_its_own_changes_and_all_else_is_named() {
        let flows = [flow(1, 1, 2)];
        let plan = planned(&flows, Here::Receiver, false);
        assert_eq!(
            changes(&plan),
            ["sysctl net.ipv4.tcp_rmem 4096 131072 8388608", "sysctl net.ipv4.tcp_sack 1"]
        );
        assert!(plan.changes[0].why.contains("(61 % of flow 1, 192.0.2.1 and 192.0.2.2). Why. When not."));
        let by_hand: Vec<(&str, &str)> =
            plan.by_hand.iter().map(|hand| (hand.finding.as_str(), hand.not_applied.as_str())).collect();
        assert_eq!(
            by_hand,
            [
                ("loss-recovery/fast-recovery", "it is for the sender, and this host is the receiver"),
                ("loss-recovery/fast-recovery", "it is for the sender, and this host is the receiver"),
                ("loss-recovery/fast-recovery", "it is for a device on the path"),
                ("congestion-window/slow-start", "it cost little of the flow; --hints plans it"),
                ("application/sender-idle", "no setting of a host changes this"),
            ]
        );
        let plan = planned(&flows, Here::At(address(1)), false);
        assert_eq!(changes(&plan), ["sysctl net.ipv4.tcp_sack 1"]);
        let alternative = plan.by_hand.iter().find(|hand| hand.command.ends_with("=bbr")).expect("named");
        assert!(alternative.not_applied.contains("an alternative"), "{alternative:?}");
        assert!(plan.by_hand.iter().any(|hand| hand.not_applied.contains("it cannot be taken back exactly")));
        assert_eq!(changes(&planned(&flows, Here::Sender, true)).len(), 3, "sack, bbr, fastopen");
    }

    #[test]
    fn which_host_this_is_is_never_guessed() {
        let flows = [flow(1, 1, 2), flow(2, 1, 3), flow(3, 4, 5)];
        let error = |here| propose_advised(&flows, here, false).map(|_| ()).expect_err("unknown").to_string();
        assert_eq!(
            error(Here::Sender),
            "the flows have several senders (192.0.2.1, 192.0.2.4); say which of them this host is: --host ADDRESS"
        );
        assert!(
            error(Here::Receiver).starts_with("the flows have several receivers (192.0.2.2, 192.0.2.3, ")
        );
        assert_eq!(
            error(Here::At(address(9))),
            "no flow has an end at 192.0.2.9; there are 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5"
        );
        assert_eq!(propose_advised(&[], Here::Sender, false).map(|_| ()), Err(UnknownHost::NoAdvice));
        let of = propose_advised(&flows, Here::At(address(1)), false).expect("it is known");
        assert_eq!((of.flows, of.others), (2, 1));
        assert!(propose_advised(&flows[..2], Here::Sender, false).is_ok(), "one host sends both");
    }

    #[test]
    fn a_host_that_talks_to_itself_is_both_ends() {
        assert_eq!(changes(&planned(&[flow(1, 1, 1)], Here::Sender, false)).len(), 2);
    }

    #[test]
    fn limits_are_joined_and_large_enough_ones_stay() {
        let mut second = flow(2, 1, 2);
        second.findings[0].advice[0].fixes[1] =
            fix(Host::Receiver, "sysctl net.ipv4.tcp_rmem", "4096 131072 16777216");
        let plan = planned(&[flow(1, 1, 2), second], Here::Receiver, false);
        assert_eq!(changes(&plan)[0], "sysctl net.ipv4.tcp_rmem 4096 131072 16777216");
        let mut small = flow(1, 1, 2);
        small.findings[0].advice[0].fixes[1] =
            fix(Host::Receiver, "sysctl net.ipv4.tcp_rmem", "4096 131072 4194304");
        let plan = planned(&[small], Here::Receiver, false);
        let rmem = plan.by_hand.iter().find(|hand| hand.command.contains("rmem")).expect("named");
        assert_eq!(rmem.not_applied, "it is 4096 131072 6291456 already, which suffices");
    }

    #[test]
    fn a_plan_of_very_many_findings_has_a_bound() {
        let flows: Vec<Advised> = (0..300)
            .map(|number| {
                let mut flow = flow(number, 1, 2);
                let fixes = (0..3).map(|more| {
                    let name = format!("sysctl net.ipv4.conf.a{number}x{more}.rp_filter");
                    fix(Host::Either, &name, "1")
                });
                flow.findings[0].advice[0].fixes.extend(fixes);
                flow
            })
            .collect();
        let plan = planned(&flows, Here::Receiver, false);
        assert_eq!((plan.changes.len(), plan.by_hand.len()), (200, 200));
        assert!(plan.by_hand[199].not_applied.contains("more advice than a plan names"));
        assert!(Plan::from_toml("plan.toml", &plan.to_toml()).is_ok());
    }
}
