//! A plan that was made, as JSON and as text.

use super::predicted::{Predicted, said_of};
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::shown;
use slowpath_model::units::counted;
use slowpath_tune::Plan;
use slowpath_tune::plan::{ByHand, Planned};
use std::io::{self, Write};

/// A plan (schema slowpath/tune-plan/1). `tune apply` reads the TOML file, not this.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-plan/1")]
pub struct PlanDocument {
    /// `slowpath/tune-plan/1`.
    schema: &'static str,
    /// When it was made: `2026-03-01 12:00:00 UTC`.
    made: String,
    /// The host's name.
    host: String,
    /// The kernel's release.
    kernel: String,
    /// What it is for.
    goal: String,
    /// The changes, in the order in which they are made.
    changes: Vec<PlannedChange>,
    /// What is predicted of all changes together; null for a plan that is not from a capture.
    predicted: Option<Predicted>,
    /// Advice that is not applied.
    by_hand: Vec<LeftByHand>,
}

/// A change of a plan.
#[derive(Serialize, JsonSchema)]
struct PlannedChange {
    /// The setting: `sysctl net.ipv4.tcp_rmem`.
    setting: String,
    /// The value that it has to have before.
    now: String,
    /// Its new value.
    then: String,
    /// The finding that it fixes, or several with commas.
    finding: String,
    /// Why.
    why: String,
    /// What it may disturb.
    risk: &'static str,
    /// The shell line that takes it back.
    undo: String,
    /// Where it is documented.
    source: String,
    /// What is predicted of this change alone; null for a plan that is not from a capture.
    predicted: Option<Predicted>,
}

/// Advice that is not applied.
#[derive(Serialize, JsonSchema)]
struct LeftByHand {
    /// The shell line; empty where no command changes anything.
    command: String,
    /// The finding that it fixes.
    finding: String,
    /// Why.
    why: String,
    /// Why it is not applied.
    not_applied: String,
}

impl PlanDocument {
    /// The document of a plan.
    pub fn of(plan: &Plan) -> Self {
        let made = plan.made.clone();
        let change = |planned: &Planned| PlannedChange {
            setting: planned.setting.to_string(),
            now: planned.now.clone(),
            then: planned.then.clone(),
            finding: planned.finding.clone(),
            why: planned.why.clone(),
            risk: planned.setting.risk(),
            undo: planned.undo(),
            source: planned.source.clone(),
            predicted: plan.predicted_of(planned).map(Predicted::of),
        };
        let left =
            |ByHand { command, finding, why, not_applied }| LeftByHand { command, finding, why, not_applied };
        Self {
            schema: "slowpath/tune-plan/1",
            made: made.at,
            host: made.host,
            kernel: made.kernel,
            goal: made.goal,
            changes: plan.changes.iter().map(change).collect(),
            predicted: plan.predicted().as_ref().map(Predicted::of),
            by_hand: plan.by_hand.iter().cloned().map(left).collect(),
        }
    }
}

/// Why nothing is predicted of any change, if that has one reason.
fn reason_of_all(plan: &Plan) -> Option<&String> {
    let mut reasons = plan.changes.iter().map(|planned| plan.predicted_of(planned)?.as_ref().err());
    let first = reasons.next()??;
    reasons.all(|other| other == Some(first)).then_some(first)
}

/// Prints a plan that is in no file; of one in `file`, what it would change and give, and what it leaves to a person.
///
/// # Errors
/// The errors of `out`.
pub fn planned(plan: &Plan, file: Option<&str>, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let Some(file) = file else { return out.write_all(plan.to_toml().as_bytes()) };
    let goal = &plan.made.goal;
    let common = reason_of_all(plan);
    if plan.changes.is_empty() {
        look.strong_paragraph(out, &format!("Nothing to apply for {goal}."))?;
    } else {
        let text = format!(
            "{} planned for {goal}, in {}.",
            counted(plan.changes.len() as u64, "change"),
            shown::line(file)
        );
        look.strong_paragraph(out, &text)?;
    }
    for planned in &plan.changes {
        writeln!(out, "  {}: {} → {}", planned.setting, planned.now, planned.then)?;
        look.faint_paragraph(out, "    ", &format!("risk: {}", planned.setting.risk()))?;
        if let Some(said) = plan.predicted_of(planned).filter(|_| common.is_none()) {
            look.paragraph(out, "    ", &said_of(said))?;
        }
    }
    match (plan.predicted(), common) {
        (_, Some(why)) => look.paragraph(out, "", &format!("Not predicted: {why}."))?,
        (Some(whole), None) if plan.changes.len() > 1 => {
            look.paragraph(out, "", &format!("All changes together: {}.", said_of(&whole)))?;
        }
        _ => {}
    }
    for hand in &plan.by_hand {
        // Where no command changes anything, it is what was found.
        if hand.command.is_empty() {
            look.paragraph(out, "  ", &format!("{}: {}", hand.finding, hand.why))?;
            look.faint_paragraph(out, "    ", &hand.not_applied)?;
        } else {
            writeln!(out, "  by hand: {}", shown::line(&hand.command))?;
            look.faint_paragraph(out, "    ", &format!("{} ({})", hand.not_applied, hand.finding))?;
        }
    }
    if !plan.changes.is_empty() {
        writeln!(out, "Read it, then: slowpath tune apply {}", shown::word(file))?;
    }
    Ok(())
}
