//! From advice to a plan.

use super::{ByHand, MOST_CHANGES, Made, Plan, Planned};
use slowpath_doctor::Finding;
use slowpath_remedies::setting::Process;
use slowpath_remedies::{Change, Setting, Target};

/// The advice of findings, sorted: what to change, and what to leave to a person.
#[derive(Default)]
pub struct Proposed {
    /// The changes that are advised, each once.
    wanted: Vec<(Change, Reason)>,
    by_hand: Vec<ByHand>,
}

/// Why something is changed, for the plan's reader.
#[derive(Clone)]
pub(super) struct Reason {
    /// The finding: `receive-buffer`.
    pub(super) finding: String,
    /// What is wrong, in a line.
    pub(super) title: String,
    /// Why that matters.
    pub(super) why: String,
    /// Where that is documented.
    pub(super) source: String,
}

/// The changes that cure findings. `with_hints` also takes those of hints, which may be harmless.
///
/// Of several fixes of a finding, all that are typed are taken: each sets another setting.
pub fn propose(findings: &[Finding], with_hints: bool) -> Proposed {
    let mut proposed = Proposed::default();
    for finding in findings {
        let [title, why, source] = [&finding.title, &finding.why, finding.source].map(ToOwned::to_owned);
        let reason = Reason { finding: finding.name().to_owned(), title, why, source };
        for fix in &finding.fixes {
            match &fix.change {
                Some(change) if with_hints || finding.is_fault() => proposed.want(change, &reason),
                Some(_) => proposed.leave(&fix.command, &reason, "it is only a hint; --hints plans it"),
                // A command that only shows something has no place in a plan.
                None if !fix.changes => {}
                None => proposed.leave(&fix.command, &reason, not_typed(fix.undo.is_some())),
            }
        }
    }
    proposed
}

/// Why a command that changes something is not applied.
pub(super) const fn not_typed(has_undo: bool) -> &'static str {
    if has_undo { "slowpath cannot read this setting back" } else { "it cannot be taken back exactly" }
}

impl Proposed {
    pub(super) fn want(&mut self, change: &Change, reason: &Reason) {
        let has_room = self.wanted.len() < MOST_CHANGES;
        match self.wanted.iter_mut().find(|(known, _)| known.setting == change.setting) {
            Some((known, first)) => {
                if known.join(change) {
                    if !first.finding.split(", ").any(|name| name == reason.finding) {
                        first.finding += &format!(", {}", reason.finding);
                    }
                } else {
                    let why = format!("{} wants another value for this setting", first.finding);
                    self.leave(&change.command(), reason, &why);
                }
            }
            None if has_room => self.wanted.push((change.clone(), reason.clone())),
            None => self.leave(&change.command(), reason, "a plan has no room for more changes"),
        }
    }

    /// Says which process owns the sockets that the advice is about.
    pub fn know(&mut self, process: Process) {
        for (change, _) in &mut self.wanted {
            if let Setting::Process { process: known, .. } = &mut change.setting
                && *known == Process::UNKNOWN
            {
                *known = process;
            }
        }
    }

    /// Names what a person has to do, once for each finding.
    pub(super) fn leave(&mut self, command: &str, reason: &Reason, not_applied: &str) {
        let is_same = |known: &ByHand| known.command == command && known.finding == reason.finding;
        if self.by_hand.iter().any(is_same) {
            return;
        }
        if self.by_hand.len() >= MOST_CHANGES {
            // The last one, which counts for all others.
            if let Some(last) = self.by_hand.last_mut() {
                let why =
                    "there is more advice than a plan names: diagnose fewer flows (--flow, --min-bytes)";
                *last = ByHand { not_applied: why.to_owned(), ..ByHand::default() };
            }
            return;
        }
        self.by_hand.push(ByHand {
            command: command.to_owned(),
            finding: reason.finding.clone(),
            why: reason.title.clone(),
            not_applied: not_applied.to_owned(),
        });
    }

    /// The plan, with each setting's value as `read` gives it, and the value that the change applies to: the same, but for a
    /// route that does not exist yet. A setting that cannot be read, or that has another value than the finding is about, is
    /// left to a person.
    pub fn plan(mut self, made: Made, read: impl Fn(&Change) -> Result<(String, String), String>) -> Plan {
        let mut changes = Vec::new();
        for (change, reason) in std::mem::take(&mut self.wanted) {
            let setting = &change.setting;
            let fits = read(&change).and_then(|(now, found)| {
                let then =
                    change.onto(&found).ok_or_else(|| format!("it is not as the advice expects: {found}"))?;
                for value in [&now, &then] {
                    setting.check(value).map_err(|error| error.to_string())?;
                }
                if setting.canonical(&now) == setting.canonical(&then) {
                    return Err(match change.target {
                        Target::AtLeast | Target::AtMost => format!("it is {now} already, which suffices"),
                        Target::Exactly | Target::Added => "it has this value already".to_owned(),
                    });
                }
                Ok((now, then))
            });
            match fits {
                Ok((now, then)) => changes.push(Planned {
                    now,
                    then,
                    setting: change.setting,
                    finding: reason.finding,
                    why: format!("{}. {}", reason.title, reason.why),
                    source: reason.source,
                }),
                Err(why) => self.leave(&change.command(), &reason, &why),
            }
        }
        Plan { made, changes, by_hand: self.by_hand, predictions: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_doctor::{Check, Severity};
    use slowpath_remedies::{Fix, Host};

    fn finding(check: Check, severity: Severity, fixes: Vec<Fix>) -> Finding {
        let [title, seen, why] = ["a title", "", "Why."].map(str::to_owned);
        Finding { check, severity, title, seen, why, fixes, source: "a source" }
    }

    fn sysctl(name: &str) -> Fix {
        Fix::sysctl_known(Host::This, name, "1", "0")
    }

    #[test]
    fn what_is_no_typed_change_or_only_a_hint_is_left_to_a_person() {
        let (sack, frto) = ("net.ipv4.tcp_sack", "net.ipv4.tcp_frto");
        let found = [
            finding(Check::Sack, Severity::Costs, vec![sysctl(sack), Fix::look(Host::This, "nstat", "")]),
            finding(Check::Frto, Severity::Hint, vec![sysctl(frto)]),
            finding(Check::Shaper, Severity::Costs, vec![Fix::change(Host::This, "tc qdisc del", "")]),
            // The same setting once more.
            finding(Check::Dsack, Severity::Costs, vec![sysctl(sack)]),
        ];
        let has = |value: &str| Ok((value.to_owned(), value.to_owned()));
        let zero = |_: &Change| has("0");
        let plan = propose(&found, false).plan(Made::default(), zero);
        let names = |plan: &Plan| plan.changes.iter().map(|one| one.setting.to_string()).collect::<Vec<_>>();
        let by_hand = |plan: &Plan| plan.by_hand.iter().map(|one| one.command.clone()).collect::<Vec<_>>();
        assert_eq!(names(&plan), ["sysctl net.ipv4.tcp_sack"]);
        assert_eq!(by_hand(&plan), ["sysctl -w net.ipv4.tcp_frto=1", "tc qdisc del"]);
        let plan = propose(&found, true).plan(Made::default(), zero);
        assert_eq!(names(&plan), ["sysctl net.ipv4.tcp_sack", "sysctl net.ipv4.tcp_frto"]);
        let plan = propose(&found, true).plan(Made::default(), |_| Err("it is not here".to_owned()));
        assert!(plan.changes.is_empty() && plan.by_hand[1].not_applied == "it is not here", "{plan:#?}");
        let plan = propose(&found, false).plan(Made::default(), |_| has("1"));
        assert_eq!(
            plan.by_hand.last().map(|one| one.not_applied.as_str()),
            Some("it has this value already")
        );
    }
}
