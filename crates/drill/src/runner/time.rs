//! When events are due, and whether they were on time.

use crate::config::Config;
use crate::script::When;
use slowpath_model::Instant;
use std::time::Duration;

/// How an event's time is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeKind {
    /// With one time.
    Exact,
    /// With a range.
    Range,
    /// Not at all.
    Any,
}

/// When an event is due.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    pub kind: TimeKind,
    pub from: Instant,
    pub to: Instant,
}

/// An event that was not in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    pub expected: String,
    pub actual: String,
    pub tolerance: Duration,
}

impl Due {
    /// When an event is due, with relative times based on `base`.
    pub fn of(when: When, base: Instant) -> Self {
        let start = Instant::START;
        let (kind, from, to) = match when {
            When::At(at) => (TimeKind::Exact, start + at, start + at),
            When::After(after) => (TimeKind::Exact, base + after, base + after),
            When::Between(from, to) => (TimeKind::Range, start + from, start + to),
            When::AfterBetween(from, to) => (TimeKind::Range, base + from, base + to),
            When::Any | When::Outside => (TimeKind::Any, base, base),
        };
        Self { kind, from, to }
    }

    /// Whether an event at `actual` was on time; the tolerance grows with the time since `last`, the previous event.
    pub fn check(&self, actual: Instant, last: Option<Instant>, config: &Config) -> Result<(), Late> {
        if self.kind == TimeKind::Any {
            return Ok(());
        }
        let since = last.and_then(|last| self.from.since(last)).unwrap_or(Duration::ZERO);
        let tolerance = config.tolerance_after(since);
        if actual + tolerance >= self.from && actual <= self.to + tolerance {
            return Ok(());
        }
        let expected = match self.kind {
            TimeKind::Range => format!("from {} to {} s", super::seconds(self.from), super::seconds(self.to)),
            TimeKind::Exact | TimeKind::Any => format!("at {} s", super::seconds(self.from)),
        };
        Err(Late { expected, actual: format!("at {} s", super::seconds(actual)), tolerance })
    }
}
