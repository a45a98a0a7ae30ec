//! What bound a flow, and what would help.

use crate::diagnosis::Advise;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::report::{self, FlowReport};
use slowpath_analyses::{Cause, Limit};
use slowpath_model::nanos;

/// One cause, over the life of a direction.
#[derive(Serialize, JsonSchema)]
pub struct Finding {
    /// What bound: the limit, a slash and the case of it.
    #[schemars(extend("enum" = cause_names()))]
    cause: String,
    /// The limit alone.
    #[schemars(extend("enum" = Limit::ALL.map(Limit::slug)))]
    limit: &'static str,
    /// The cause for people.
    title: &'static str,
    /// For how long, all its spells together.
    lasted_ns: u64,
    /// The share of the flow's life, 0 to 1.
    share: f64,
    /// In how many spells.
    spell_count: u64,
    /// How sure it is: `low`, `medium` or `high`.
    confidence: &'static str,
    /// Sentences with numbers: what shows it.
    evidence: Vec<String>,
    /// Where to look: when its longest spells start, at most three.
    instants_ns: Vec<i64>,
    /// What would give the time back.
    advice: Vec<Advice>,
}

/// What would give the time of a finding back.
#[derive(Serialize, JsonSchema)]
pub struct Advice {
    /// What is wrong and what would help.
    text: String,
    /// How, in the order in which they are to be given.
    commands: Vec<Command>,
    /// What it costs, or when not to do it.
    caution: Option<String>,
}

/// A line for a shell.
#[derive(Serialize, JsonSchema)]
pub struct Command {
    /// Where to give it: `sender`, `receiver`, `path` or `either`.
    host: &'static str,
    /// The line.
    line: String,
    /// What it shows or changes.
    changes: String,
    /// The right it needs; `null` where any user may.
    needs: Option<String>,
    /// The line that puts back what it changed; `null` where it changes nothing.
    reverts: Option<String>,
}

/// A time during which one cause bound.
#[derive(Serialize, JsonSchema)]
pub struct Spell {
    /// Its start.
    from_ns: i64,
    /// Its end.
    to_ns: i64,
    /// What bound.
    #[schemars(extend("enum" = cause_names()))]
    cause: String,
}

/// A pause longer than min(2 SRTT, RTO).
#[derive(Serialize, JsonSchema)]
pub struct Stall {
    /// Its start: the last segment before.
    from_ns: i64,
    /// How long it lasted.
    lasted_ns: u64,
    /// Its cause, in the words of TAPO (Zhou et al., CoNEXT 2015).
    cause: &'static str,
    /// The frame that ended it.
    frame: u64,
}

/// Every cause's name.
fn cause_names() -> Vec<String> {
    Cause::ALL.iter().map(ToString::to_string).collect()
}

/// Every cause's name, and `null`.
pub(super) fn cause_names_or_null() -> Vec<Option<String>> {
    cause_names().into_iter().map(Some).chain([None]).collect()
}

impl Finding {
    pub(super) fn of(finding: &report::Finding, flow: &FlowReport, advise: Option<&Advise>) -> Self {
        let advice = advise.map(|advise| advise(finding, flow)).unwrap_or_default();
        Self {
            cause: finding.cause.to_string(),
            limit: finding.cause.limit().slug(),
            title: finding.cause.title(),
            lasted_ns: nanos(finding.lasted),
            share: finding.share,
            spell_count: finding.spells,
            confidence: finding.confidence.slug(),
            evidence: finding.evidence.clone(),
            instants_ns: finding.instants.iter().map(|at| at.nanos()).collect(),
            advice: advice.into_iter().map(Advice::of).collect(),
        }
    }
}

impl Advice {
    /// From what the remedies say.
    pub(crate) fn of(advice: slowpath_remedies::Advice) -> Self {
        let command = |command: slowpath_remedies::Command| Command {
            host: command.host.slug(),
            line: command.line,
            changes: command.changes,
            needs: command.needs.map(str::to_owned),
            reverts: command.reverts,
        };
        Self {
            text: advice.text,
            commands: advice.commands.into_iter().map(command).collect(),
            caution: advice.caution,
        }
    }
}

impl Spell {
    pub(super) fn of(spell: &report::Spell) -> Self {
        Self { from_ns: spell.from.nanos(), to_ns: spell.to.nanos(), cause: spell.cause.to_string() }
    }
}

impl Stall {
    pub(super) fn of(stall: &report::Stall) -> Self {
        Self {
            from_ns: stall.from.nanos(),
            lasted_ns: nanos(stall.lasted),
            cause: stall.cause.slug(),
            frame: stall.frame,
        }
    }
}
