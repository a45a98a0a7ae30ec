//! From doctor's findings to a plan.

use super::{ByHand, Made, Plan, Planned};
use slowpath_doctor::Finding;
use slowpath_remedies::{Change, Fix, Setting};

/// The advice of findings, sorted: what to change, and what to leave to a person.
pub struct Proposed {
    /// The changes that are advised, each once, with what the finding says of them.
    wanted: Vec<(Change, Finding)>,
    by_hand: Vec<ByHand>,
}

/// The changes that cure findings. `with_hints` also takes those of hints, which may be harmless.
///
/// Of several fixes of a finding, all that are typed are taken: each sets another setting.
pub fn propose(findings: &[Finding], with_hints: bool) -> Proposed {
    let mut proposed = Proposed { wanted: Vec::new(), by_hand: Vec::new() };
    for finding in findings {
        for fix in &finding.fixes {
            match &fix.change {
                Some(change) if with_hints || finding.is_fault() => proposed.want(change, finding),
                Some(_) => proposed.leave(&fix.command, finding, "it is only a hint; --hints plans it"),
                // A command that only shows something has no place in a plan.
                None if fix.needs.is_none() => {}
                None => proposed.leave(&fix.command, finding, why_not(fix)),
            }
        }
    }
    proposed
}

fn why_not(fix: &Fix) -> &'static str {
    if fix.undo.is_some() {
        "slowpath cannot read this setting back"
    } else {
        "it cannot be taken back exactly"
    }
}

impl Proposed {
    fn want(&mut self, change: &Change, finding: &Finding) {
        match self.wanted.iter_mut().find(|(known, _)| known.setting == change.setting) {
            Some((known, _)) => known.join(change),
            None => self.wanted.push((change.clone(), finding.clone())),
        }
    }

    fn leave(&mut self, command: &str, finding: &Finding, not_applied: &str) {
        if self.by_hand.iter().any(|known| known.command == command) {
            return;
        }
        self.by_hand.push(ByHand {
            command: command.to_owned(),
            finding: finding.name().to_owned(),
            why: finding.title.clone(),
            not_applied: not_applied.to_owned(),
        });
    }

    /// The plan, with each setting's value as `read` gives it. A setting that cannot be read, or that has another value
    /// than the finding is about, is left to a person.
    pub fn plan(mut self, made: Made, read: impl Fn(&Setting) -> Result<String, String>) -> Plan {
        let mut changes = Vec::new();
        for (change, finding) in std::mem::take(&mut self.wanted) {
            let setting = &change.setting;
            let fits = read(setting).and_then(|now| {
                let then =
                    change.onto(&now).ok_or_else(|| format!("it is not as doctor has found it: {now}"))?;
                for value in [&now, &then] {
                    setting.check(value).map_err(|error| error.to_string())?;
                }
                if setting.canonical(&now) == setting.canonical(&then) {
                    return Err("it has this value already".to_owned());
                }
                Ok((now, then))
            });
            match fits {
                Ok((now, then)) => changes.push(Planned {
                    now,
                    then,
                    setting: change.setting,
                    finding: finding.name().to_owned(),
                    why: format!("{}. {}", finding.title, finding.why),
                    source: finding.source.to_owned(),
                }),
                Err(why) => self.leave(&change.command(), &finding, &why),
            }
        }
        Plan { made, changes, by_hand: self.by_hand }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_doctor::{Check, Severity};
    use slowpath_remedies::Host;

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
        let zero = |_: &Setting| Ok("0".to_owned());
        let plan = propose(&found, false).plan(Made::default(), zero);
        let names = |plan: &Plan| plan.changes.iter().map(|one| one.setting.to_string()).collect::<Vec<_>>();
        let by_hand = |plan: &Plan| plan.by_hand.iter().map(|one| one.command.clone()).collect::<Vec<_>>();
        assert_eq!(names(&plan), ["sysctl net.ipv4.tcp_sack"]);
        assert_eq!(by_hand(&plan), ["sysctl -w net.ipv4.tcp_frto=1", "tc qdisc del"]);
        let plan = propose(&found, true).plan(Made::default(), zero);
        assert_eq!(names(&plan), ["sysctl net.ipv4.tcp_sack", "sysctl net.ipv4.tcp_frto"]);
        let plan = propose(&found, true).plan(Made::default(), |_| Err("it is not here".to_owned()));
        assert!(plan.changes.is_empty() && plan.by_hand[1].not_applied == "it is not here", "{plan:#?}");
        let plan = propose(&found, false).plan(Made::default(), |_| Ok("1".to_owned()));
        assert_eq!(
            plan.by_hand.last().map(|one| one.not_applied.as_str()),
            Some("it has this value already")
        );
    }
}
