//! What limited a flow, and how to fix it.

use crate::diagnosis::Advise;
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses as analyses;
use slowpath_analyses::evidence::Value;
use slowpath_analyses::report::{self, FlowReport};
use slowpath_analyses::{Cause, Limit};
use slowpath_model::nanos;
use std::collections::BTreeMap;

/// One cause, over the life of a direction.
#[derive(Serialize, JsonSchema)]
pub struct Finding {
    /// What limited the flow: the limit, a slash and the specific cause.
    #[schemars(extend("enum" = cause_names()))]
    cause: String,
    /// The limit alone.
    #[schemars(extend("enum" = Limit::ALL.map(Limit::slug)))]
    limit: &'static str,
    /// The cause for people.
    title: &'static str,
    /// The end whose sending it bound, `a` or `b`: the one that advice calls the sender.
    from: &'static str,
    /// The total duration of its spells.
    lasted_ns: u64,
    /// The share of the flow's life, 0 to 1.
    share: f64,
    /// The number of its spells.
    spell_count: u64,
    /// How sure it is: `low`, `medium` or `high`.
    confidence: &'static str,
    /// Its evidence.
    evidence: Vec<Evidence>,
    /// What else could have limited the sender in this time, and what excludes it. Empty where packets show the cause directly.
    alternatives: Vec<Alternative>,
    /// Where to look: when its longest spells start, at most three.
    instants_ns: Vec<i64>,
    /// Advice on how to recover the time.
    advice: Vec<Advice>,
}

/// Another limit that could explain the time of a cause.
#[derive(Serialize, JsonSchema)]
pub struct Alternative {
    /// The limit.
    #[schemars(extend("enum" = Limit::ALL.map(Limit::slug)))]
    limit: &'static str,
    /// The fact that excludes it; `null` where nothing does.
    excluded_by: Option<Evidence>,
}

/// One fact that supports a cause.
#[derive(Serialize, JsonSchema)]
pub struct Evidence {
    /// What kind of fact.
    #[schemars(extend("enum" = analyses::Evidence::SLUGS))]
    kind: &'static str,
    /// Its numbers. A name ends in its unit: `_ns`, `_bytes`, `_bit_per_s`; a share is 0 to 1, all else is a count.
    values: BTreeMap<String, Scalar>,
    /// The fact as a sentence.
    text: String,
}

/// A value of evidence.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Scalar {
    /// A count, or an amount in the unit of its name.
    Whole(u64),
    /// A share, 0 to 1.
    Share(f64),
    /// One of a few names.
    Name(&'static str),
}

/// Advice on how to recover the time of a finding.
#[derive(Serialize, JsonSchema)]
pub struct Advice {
    /// What is wrong and how to fix it.
    text: String,
    /// The commands, in the order in which to run them.
    fixes: Vec<Fix>,
    /// What it costs, or when not to do it.
    caution: Option<String>,
}

/// A command that looks at or changes something.
#[derive(Serialize, JsonSchema)]
pub struct Fix {
    /// Where to run it: `sender`, `receiver`, `path` or `either`.
    host: &'static str,
    /// The shell command.
    command: String,
    /// What it shows or changes; empty where the finding says it already.
    effect: String,
    /// Whether it changes something, or only shows it.
    changes: bool,
    /// The capability it needs; `null` where any user may.
    needs: Option<String>,
    /// The command that undoes it; `null` where nothing can be undone.
    undo: Option<String>,
    /// What makes it persistent: a file and its line; `null` where it changes nothing, or that depends on the
    /// distribution.
    persists: Option<String>,
    /// Where it is documented; `null` where the advice around it says so.
    source: Option<&'static str>,
    /// What the command changes, where `slowpath tune` can make and undo that change; `null` otherwise.
    change: Option<Change>,
}

/// A change of one setting.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FixChange")]
struct Change {
    /// The setting, as in a plan: `sysctl net.ipv4.tcp_rmem`.
    setting: String,
    /// Its new value.
    then: String,
    /// How that is meant: `exactly`, `at-least` and `at-most` for limits, `added` for attributes of a route.
    target: &'static str,
}

/// A time with one cause.
#[derive(Serialize, JsonSchema)]
pub struct Spell {
    /// Its start.
    from_ns: i64,
    /// Its end.
    to_ns: i64,
    /// What limited it.
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
pub(crate) fn cause_names() -> Vec<String> {
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
            from: finding.from.letter(),
            lasted_ns: nanos(finding.lasted),
            share: finding.share,
            spell_count: finding.spells,
            confidence: finding.confidence.slug(),
            evidence: finding.evidence.iter().map(Evidence::of).collect(),
            alternatives: finding.alternatives.iter().map(Alternative::of).collect(),
            instants_ns: finding.instants.iter().map(|at| at.nanos()).collect(),
            advice: advice.into_iter().map(Advice::of).collect(),
        }
    }
}

impl Alternative {
    fn of(alternative: &report::Alternative) -> Self {
        Self {
            limit: alternative.limit.slug(),
            excluded_by: alternative.excluded_by.as_ref().map(Evidence::of),
        }
    }
}

impl Advice {
    /// Converts the remedies' advice.
    pub fn of(advice: slowpath_remedies::Advice) -> Self {
        Self {
            text: advice.text,
            fixes: advice.fixes.into_iter().map(Fix::of).collect(),
            caution: advice.caution,
        }
    }
}

impl Fix {
    /// Converts a fix of the remedies or the doctor.
    pub fn of(fix: slowpath_remedies::Fix) -> Self {
        Self {
            host: fix.host.slug(),
            command: fix.command,
            effect: fix.effect,
            changes: fix.changes,
            needs: fix.needs.map(str::to_owned),
            undo: fix.undo,
            persists: fix.persists,
            source: fix.source,
            change: fix.change.map(|change| Change {
                setting: change.setting.to_string(),
                then: change.then,
                target: change.target.slug(),
            }),
        }
    }
}

impl Evidence {
    pub(crate) fn of(evidence: &analyses::Evidence) -> Self {
        let scalar = |value: Value| match value {
            Value::Count(count) => Scalar::Whole(count),
            Value::Bytes(bytes) => Scalar::Whole(bytes.get()),
            Value::Rate(rate) => Scalar::Whole(rate.get()),
            Value::Time(time) => Scalar::Whole(nanos(time)),
            Value::Share(share) => Scalar::Share(share),
            Value::Name(name) => Scalar::Name(name),
        };
        let values = evidence.values().into_iter();
        Self {
            kind: evidence.slug(),
            values: values
                .map(|(name, value)| (format!("{name}{}", value.suffix()), scalar(value)))
                .collect(),
            text: words::sentence(&words::evidence(evidence)),
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
