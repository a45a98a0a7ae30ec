//! Limits by time: how much of each transfer's time has the right limit in the verdict.

use super::right::{COLUMNS, Group, Right, column};
use super::run::{Place, Run, Watched};
use anyhow::Result;
use serde::Serialize;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::statistics;
use std::collections::BTreeMap;
use std::ops::Add;
use std::time::Duration;

/// All runs, and their sums.
#[derive(Default, Serialize)]
pub struct Limits {
    pub groups: Vec<Row>,
    pub runs: Vec<Verdict>,
}

/// The verdict on one capture.
#[derive(Serialize)]
pub struct Verdict {
    pub run: String,
    pub place: Place,
    pub group: Group,
    /// Share of the time whose limit is right, of what the kernel reports: 0 to 1.
    pub by_limit: f64,
    /// Share of the time whose cause is right: 0 to 1.
    pub by_cause: f64,
    /// Share of the time with the one cause that was imposed: 0 to 1.
    pub by_label: f64,
    /// Share of the time by cause, most first.
    pub shares: Vec<(String, f64)>,
    /// The kernel's account of the same transfer.
    pub kernel: Kernel,
    #[serde(skip)]
    columns: [f64; COLUMNS.len()],
}

/// Shares of the time from the first write to the last acknowledgment, by the kernel's own clock (`TCP_INFO`).
#[derive(Default, Serialize)]
pub struct Kernel {
    /// Nothing to send and nothing outstanding.
    pub idle: f64,
    /// `tcpi_rwnd_limited`.
    pub rwnd_limited: f64,
    /// `tcpi_sndbuf_limited`.
    pub sndbuf_limited: f64,
    /// The least share of this run's limit, if something counted it.
    pub expected: Option<f64>,
}

/// One row of the confusion matrix.
#[derive(Serialize)]
pub struct Row {
    pub group: Group,
    /// Captures: two a run. The figures below are of these, except for the verdicts of both together.
    pub captures: usize,
    /// Mean over the captures.
    pub by_limit: f64,
    /// The worst capture.
    pub by_limit_least: f64,
    /// Mean over the runs, for each place.
    pub by_limit_at: BTreeMap<Place, f64>,
    /// Mean over the captures.
    pub by_cause: f64,
    /// Mean over the captures.
    pub by_label: f64,
    /// Mean share of the time in each column.
    pub columns: BTreeMap<&'static str, f64>,
}

/// Adds a run's verdicts.
pub fn add(limits: &mut Limits, run: &Run) -> Result<()> {
    run.places().try_for_each(|(place, watched)| limits.add(run, place, shares(watched)))
}

impl Limits {
    /// Adds how the time of a run is divided at a place, most first.
    pub fn add(&mut self, run: &Run, place: Place, shares: Vec<(Cause, f64)>) -> Result<()> {
        let right = Right::of(&run.truth, place)?;
        let share_of = |is: &dyn Fn(Cause) -> bool| -> f64 {
            shares.iter().filter(|(cause, _)| is(*cause)).map(|(_, share)| share).fold(0.0, Add::add)
        };
        // The kernel may show that the limit held for part of the time only. What held for the rest is not known.
        let expected = run.expected.share_at_least.map(|share| share.of_transfer);
        let of_expected = |share: f64| match expected {
            Some(expected) if expected > 0.0 => (share / expected).min(1.0),
            _ => share,
        };
        let mut columns = [0.0; COLUMNS.len()];
        for (cause, share) in &shares {
            columns[column(*cause)] += share;
        }
        self.runs.push(Verdict {
            run: run.name.clone(),
            place,
            group: right.group,
            by_limit: of_expected(share_of(&|cause| right.limit(cause))),
            by_cause: of_expected(share_of(&|cause| right.cause(cause))),
            by_label: of_expected(share_of(&|cause| right.label(cause))),
            shares: shares.into_iter().map(|(cause, share)| (cause.to_string(), share)).collect(),
            kernel: Kernel { expected, ..kernel(run) },
            columns,
        });
        Ok(())
    }
}

/// Fills the matrix.
pub fn sum_up(limits: &mut Limits) {
    let mut groups: BTreeMap<Group, Vec<&Verdict>> = BTreeMap::new();
    for verdict in &limits.runs {
        groups.entry(verdict.group).or_default().push(verdict);
    }
    let row = |(group, verdicts): (Group, Vec<&Verdict>)| {
        let mean = |of: &dyn Fn(&Verdict) -> Option<f64>| {
            statistics::mean(verdicts.iter().filter_map(|verdict| of(verdict))).unwrap_or(0.0)
        };
        let single = |verdict: &Verdict| verdict.place != Place::Both;
        let of_captures =
            |of: &dyn Fn(&Verdict) -> f64| mean(&|verdict| single(verdict).then(|| of(verdict)));
        Row {
            group,
            captures: verdicts.iter().filter(|verdict| single(verdict)).count(),
            by_limit: of_captures(&|verdict| verdict.by_limit),
            by_limit_least: verdicts
                .iter()
                .filter(|verdict| single(verdict))
                .map(|verdict| verdict.by_limit)
                .fold(1.0, f64::min),
            by_limit_at: Place::ALL
                .into_iter()
                .filter(|place| verdicts.iter().any(|verdict| verdict.place == *place))
                .map(|place| (place, mean(&|verdict| (verdict.place == place).then_some(verdict.by_limit))))
                .collect(),
            by_cause: of_captures(&|verdict| verdict.by_cause),
            by_label: of_captures(&|verdict| verdict.by_label),
            columns: COLUMNS
                .iter()
                .enumerate()
                .map(|(index, name)| (*name, of_captures(&|verdict| verdict.columns[index])))
                .collect(),
        }
    };
    limits.groups = groups.into_iter().map(row).collect();
}

/// How the time of all of a capture's transfers is divided, most first. The handshake is not part of a transfer, nor is
/// the time after the last data.
fn shares(watched: &Watched) -> Vec<(Cause, f64)> {
    let mut time: BTreeMap<Cause, Duration> = BTreeMap::new();
    let mut all = Duration::ZERO;
    for flow in &watched.flows {
        let main = flow.main();
        let until = main.measures.last_data.unwrap_or(flow.last);
        for spell in main.spells.iter().filter(|spell| spell.cause != Cause::Handshake) {
            let lasted = spell.to.min(until).since(spell.from).unwrap_or_default();
            *time.entry(spell.cause).or_default() += lasted;
            all += lasted;
        }
    }
    let mut shares: Vec<(Cause, f64)> = time
        .into_iter()
        .filter(|(_, lasted)| !lasted.is_zero())
        .map(|(cause, lasted)| (cause, lasted.as_secs_f64() / all.as_secs_f64()))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// The kernel's account over all ends that wrote.
fn kernel(run: &Run) -> Kernel {
    let ends = run.truth.connections.iter().flat_map(|c| [c.sender_shares, c.receiver_shares]).flatten();
    let (mut kernel, mut all) = (Kernel::default(), 0.0);
    for end in ends {
        let time = end.transfer_us as f64;
        kernel.idle += end.idle * time;
        kernel.rwnd_limited += end.rwnd_limited * time;
        kernel.sndbuf_limited += end.sndbuf_limited * time;
        all += time;
    }
    if all > 0.0 {
        kernel.idle /= all;
        kernel.rwnd_limited /= all;
        kernel.sndbuf_limited /= all;
    }
    kernel
}

impl Verdict {
    /// slowpath's share of what the kernel has a clock for: idle, receive window, send buffer.
    pub fn ours(&self) -> [f64; 3] {
        let of = |limit: Limit| {
            let prefix = format!("{}/", limit.slug());
            let shares = self.shares.iter().filter(|(cause, _)| cause.starts_with(&prefix));
            shares.map(|(_, share)| share).fold(0.0, Add::add)
        };
        [of(Limit::Application), of(Limit::ReceiveWindow), of(Limit::SendBuffer)]
    }
}
