//! `slowpath what-if`: a transfer of a capture is fitted, the fit is checked, and only then simulated with other settings.

use crate::parallel;
use slowpath_analyses::Analysis;
use slowpath_analyses::report::FlowReport;
use slowpath_kernels::Release;
use slowpath_model::{Bytes, FlowId, FlowKey, Instant};
use slowpath_whatif::predict::{Job, Trial, best_first, jobs, pairs, predictions, singles};
use slowpath_whatif::reproduce::{together, with_control};
use slowpath_whatif::seen::largest;
use slowpath_whatif::upgrade::tries;
use slowpath_whatif::{Control, Fitted, Predicted, Refusal, Remedy, Reproduced, Seen, Traces, fit, readings};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A flow with at least this part of the transfer's data, at the same time, shares its path.
const SHARING_PART: u64 = 20;

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The fit is adjusted and checked.
    Checking,
    /// So many of so many runs of the remedies are done.
    Trying(usize, usize),
}

/// What came of a transfer.
pub struct Answer {
    /// Its number in the capture.
    pub flow: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// The captured transfer, if it has enough data for any number.
    pub captured: Option<Seen>,
    /// The predictions, or why there are none.
    pub result: Result<Predictions, Refusal>,
}

/// What a fit that passed its check says.
pub struct Predictions {
    /// The fit, for each congestion control that reproduces the capture.
    pub found: Reproduced,
    /// The transfer as it is, with the range of its fit.
    pub unchanged: Option<Predicted>,
    /// The transfer with each remedy and with pairs of them, the best first.
    pub tried: Vec<Predicted>,
}

/// What to find out about a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The kernel that its hosts ran.
    pub kernel: Release,
    /// What another kernel would make of it, change by change.
    pub upgrade: Option<Release>,
    /// What to try, alone and in pairs, if it is not an upgrade; without any, what the verdict suggests.
    pub tries: &'a [Remedy],
}

impl Wanted<'_> {
    /// What the verdict suggests, of hosts with today's kernel.
    pub const SUGGESTED: Self = Self { kernel: Release::Linux6_18, upgrade: None, tries: &[] };
}

/// Fits a transfer, checks the fit and tries what is wanted. The transfer is `flow`, or the one with the most data. `None` if
/// the capture has no such flow.
pub fn answer(
    analysis: Analysis<Traces>,
    flow: Option<FlowId>,
    wanted: Wanted<'_>,
    stop: &AtomicBool,
    at: &(dyn Fn(Stage) + Sync),
) -> Option<Answer> {
    let mut reports = Vec::new();
    let (_, mut traces) = analysis.finish_each(|report| reports.push(report));
    let report = match flow {
        Some(flow) => reports.iter().find(|report| report.id == flow)?,
        None => largest(&reports)?,
    };
    let shared = Span::of(report).shared_by(reports.iter().map(Span::of));
    let captured = seen(report, &mut traces);
    let result = match &captured {
        Ok(seen) => predict(seen, shared, wanted, stop, at),
        Err(refusal) => Err(refusal.clone()),
    };
    Some(Answer { flow: report.id, key: report.key, captured: captured.ok(), result })
}

/// The numbers of a traced flow.
///
/// # Errors
///
/// If it carried too little to have a rate.
pub(crate) fn seen(report: &FlowReport, traces: &mut Traces) -> Result<Seen, Refusal> {
    let trace = traces.take(report.id, report.sender);
    let too_little = || Refusal::TooLittle { segments: report.main().measures.data_segments(), least: 2 };
    trace.and_then(|trace| Seen::of(report, &trace)).ok_or_else(too_little)
}

/// When a flow was there, and what it carried.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    flow: FlowId,
    first: Instant,
    last: Instant,
    amount: Bytes,
}

impl Span {
    pub(crate) fn of(report: &FlowReport) -> Self {
        let amount = report.main().measures.unique_bytes;
        Self { flow: report.id, first: report.first, last: report.last, amount }
    }

    /// How many of the flows share its path.
    pub(crate) fn shared_by(self, flows: impl Iterator<Item = Self>) -> u64 {
        let others = flows.filter(|other| other.flow != self.flow);
        let others = others.filter(|other| other.first < self.last && self.first < other.last);
        others.filter(|other| other.amount.get() * SHARING_PART >= self.amount.get().max(1)).count() as u64
    }
}

/// Fits, checks and tries one transfer.
///
/// # Errors
///
/// Why nothing is predicted.
pub fn predict(
    seen: &Seen,
    shared: u64,
    wanted: Wanted<'_>,
    stop: &AtomicBool,
    at: &(dyn Fn(Stage) + Sync),
) -> Result<Predictions, Refusal> {
    let found = reproduced(seen, shared, wanted.kernel, stop, at)?;
    let one = match wanted.upgrade {
        Some(to) => tries(wanted.kernel, to).into_iter().map(|remedy| vec![remedy]).collect(),
        None => singles(seen, &found, wanted.tries),
    };
    // As many pairs as there can be, and the transfer as it is.
    let paired = if wanted.upgrade.is_some() { 0 } else { one.len() * one.len().saturating_sub(1) / 2 };
    let run = |trials: &[Trial]| simulated(seen, &found, trials, one.len() + paired + 1, stop, at);
    let unchanged = run(&[Trial::new()])?.pop();
    let mut tried = run(&one)?;
    if paired > 0 {
        tried.extend(run(&pairs(&tried))?);
    }
    best_first(&mut tried);
    Ok(Predictions { found, unchanged, tried })
}

/// Fits a transfer between hosts with this kernel, and checks the fit.
///
/// # Errors
///
/// Why nothing is predicted.
pub(crate) fn reproduced(
    seen: &Seen,
    shared: u64,
    kernel: Release,
    stop: &AtomicBool,
    at: &(dyn Fn(Stage) + Sync),
) -> Result<Reproduced, Refusal> {
    at(Stage::Checking);
    let fitted = Fitted { kernel, ..fit(seen, shared)? };
    let each = |fitted: Fitted| Control::ALL.map(|control| (fitted.clone(), control));
    let all: Vec<(Fitted, Control)> = readings(seen, &fitted).into_iter().flat_map(each).collect();
    let work = |(fitted, control): &(Fitted, Control)| with_control(seen, fitted, *control, stop).map(Some);
    let models = parallel::each(&all, None, stop, &|| (), work)?;
    let models: Option<Vec<_>> = models.into_iter().collect();
    together(models.ok_or(Refusal::Interrupted)?)
}

/// What a fit predicts of some trials, of which there are `all` in the whole command. Those without a run are left out.
///
/// # Errors
///
/// If it was interrupted.
pub(crate) fn simulated(
    seen: &Seen,
    found: &Reproduced,
    trials: &[Trial],
    all: usize,
    stop: &AtomicBool,
    at: &(dyn Fn(Stage) + Sync),
) -> Result<Vec<Predicted>, Refusal> {
    let jobs = jobs(seen, found, trials, all);
    let done = AtomicUsize::new(0);
    at(Stage::Trying(0, jobs.len()));
    let each = || at(Stage::Trying(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len()));
    let runs = parallel::each(&jobs, None, stop, &each, |job: &Job| Ok::<_, Refusal>(job.run(stop)))?;
    if stop.load(Ordering::Relaxed) {
        return Err(Refusal::Interrupted);
    }
    Ok(predictions(found, trials, &jobs, &runs))
}
