//! From doctor's findings to a plan.

use super::{ByHand, Made, Plan, Planned};
use slowpath_doctor::Finding;
use slowpath_remedies::{Change, Fix, Setting};

/// A plan, and what reading the settings for it costs: nothing but the reading.
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
