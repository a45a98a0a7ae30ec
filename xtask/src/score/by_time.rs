//! Limits at each time, compared with [`Held`].

use super::held::{self, Held};
use super::right::{COLUMNS, Group, column, named};
use super::run::{Place, Run, Watched};
use anyhow::Result;
use serde::Serialize;
use slowpath_analyses::report::{FlowReport, Spell};
use slowpath_analyses::{Cause, Confidence, Limit};
use slowpath_lab::truth::Connection;
use slowpath_model::End;
use slowpath_model::statistics::mean;
use std::collections::BTreeMap;

/// All runs.
#[derive(Default, Serialize)]
pub struct ByTime {
    pub groups: Vec<Row>,
    /// What is reported with high confidence, by place.
    pub sure: BTreeMap<Place, Sure>,
    /// Over all runs and places: what held, and what was reported, in seconds.
    pub said: Vec<Said>,
    pub runs: Vec<Timed>,
}

/// One recording of one run.
#[derive(Serialize)]
pub struct Timed {
    pub run: String,
    pub place: Place,
    pub group: Group,
    /// Seconds in which what held was known.
    pub known_s: f64,
    /// Seconds in which it was not.
    pub unsettled_s: f64,
    /// Seconds with the right limit, within the sampling and the delay to the tap.
    pub right_s: f64,
    /// Seconds under a cause reported with high confidence.
    pub high_s: f64,
    /// Of these, seconds with a wrong limit.
    pub high_wrong_s: f64,
    #[serde(skip)]
    said: BTreeMap<Held, [f64; COLUMNS.len()]>,
    /// What held while the limit was wrong, and what was reported: seconds.
    pub wrong: BTreeMap<String, f64>,
    /// When it was wrong.
    #[serde(skip)]
    pub stretches: Vec<Wrong>,
}

/// A stretch of time with one wrong limit. Times are seconds since the recording's start.
#[derive(Debug)]
pub struct Wrong {
    pub from_s: f64,
    pub to_s: f64,
    pub held: Held,
    pub said: Cause,
    /// Reported with high confidence.
    pub is_high: bool,
}

/// What is reported with high confidence at one place, all runs together.
#[derive(Serialize)]
pub struct Sure {
    /// Share of the time in which it is known what held.
    pub share: f64,
    /// Of that, the share with a wrong limit.
    pub wrong: f64,
}

/// A group: shares of the known time with the right limit, means over the runs.
#[derive(Serialize)]
pub struct Row {
    pub group: Group,
    pub runs: usize,
    pub right_at: BTreeMap<Place, f64>,
    /// Share of the time in which it was known what held.
    pub known: f64,
}

/// One row of the confusion matrix.
#[derive(Serialize)]
pub struct Said {
    pub held: Held,
    pub seconds: f64,
    pub columns: BTreeMap<&'static str, f64>,
}

/// How often the kernel was sampled.
pub const SAMPLED_NS: u64 = 10_000_000;

/// The right causes of a run at a place.
pub struct Judging {
    place: Place,
    also: Vec<Cause>,
    at_sender: Vec<Cause>,
}

impl Judging {
    pub fn of(run: &Run, place: Place) -> Result<Self> {
        let expected = &run.expected;
        let labels = std::iter::once(&expected.label).chain(&expected.also);
        let also = labels.map(named).collect::<Result<Vec<_>>>()?.concat();
        let at_sender = expected.also_at_sender.iter().map(named).collect::<Result<Vec<_>>>()?.concat();
        Ok(Self { place, also, at_sender })
    }

    /// Whether `said` is right while `held` held.
    pub fn fits(&self, held: Held, said: Cause) -> bool {
        accepts(held, said, &self.also)
            || self.place == Place::Sender && held == Held::LateReceiver && self.at_sender.contains(&said)
    }
}

impl Timed {
    /// Nothing yet.
    pub fn new(run: &Run, place: Place) -> Self {
        Self {
            run: run.name.clone(),
            place,
            group: Group::of(&run.expected.label, &run.truth.path),
            known_s: 0.0,
            unsettled_s: 0.0,
            right_s: 0.0,
            high_s: 0.0,
            high_wrong_s: 0.0,
            said: BTreeMap::new(),
            wrong: BTreeMap::new(),
            stretches: Vec::new(),
        }
    }

    /// Adds a time with a wrong limit; it extends a stretch of the same kind that it touches.
    fn add_wrong(&mut self, wrong: Wrong) {
        let seconds = wrong.to_s - wrong.from_s;
        *self.wrong.entry(format!("{:?} / {}", wrong.held, wrong.said)).or_default() += seconds;
        match self.stretches.last_mut() {
            Some(last)
                if (last.held, last.said) == (wrong.held, wrong.said) && wrong.from_s - last.to_s < 1e-6 =>
            {
                last.to_s = wrong.to_s;
            }
            _ => self.stretches.push(wrong),
        }
    }

    /// Adds so many seconds in which `held` held, and a cause of that column was reported.
    pub fn add(&mut self, held: Held, column: usize, seconds: f64) {
        self.said.entry(held).or_default()[column] += seconds;
    }
}

/// Adds a run's verdicts.
pub fn add(by_time: &mut ByTime, run: &Run) -> Result<()> {
    if run.truth.recordings.sender.left_out_frames > 0 && run.truth.recordings.sender.gaps_ns.is_empty() {
        // One direction alone, or less than an RTT, leaves no time to score.
        return Ok(());
    }
    for (place, watched) in run.places() {
        let judging = Judging::of(run, place)?;
        let mut timed = Timed::new(run, place);
        let near_ns = match place {
            Place::Sender | Place::Both => 0,
            Place::Receiver => slowpath_model::nanos(run.truth.case.experiment().forward.delay),
        };
        for flow in &watched.flows {
            let Some((connection, end)) = connection(run, flow) else { continue };
            let spells = Spells { watched, spells: &flow.directions[end.index()].spells };
            for moment in held::moments(run, connection, place.host()) {
                let seconds = (moment.to_ns - moment.from_ns) as f64 / 1e9;
                let middle = moment.from_ns.midpoint(moment.to_ns) + near_ns / 2;
                let Some(said) = spells.at(middle) else { continue };
                if moment.held == Held::Unsettled {
                    timed.unsettled_s += seconds;
                    continue;
                }
                let slack = SAMPLED_NS + near_ns;
                let around = spells.around(middle.saturating_sub(slack), middle + slack);
                timed.known_s += seconds;
                let right = around.into_iter().find(|said| judging.fits(moment.held, *said));
                let counted = right.unwrap_or(said);
                timed.add(moment.held, column(counted), seconds);
                let is_high = is_sure(flow, end, said);
                if is_high {
                    timed.high_s += seconds;
                    timed.high_wrong_s += if right.is_none() { seconds } else { 0.0 };
                }
                if right.is_some() {
                    timed.right_s += seconds;
                } else {
                    let [from_s, to_s] =
                        [moment.from_ns, moment.to_ns].map(|at| spells.clock(at) as f64 / 1e9);
                    timed.add_wrong(Wrong { from_s, to_s, held: moment.held, said, is_high });
                }
            }
        }
        by_time.runs.push(timed);
    }
    Ok(())
}

/// Whether that cause is reported with high confidence.
fn is_sure(flow: &FlowReport, end: End, said: Cause) -> bool {
    let findings = &flow.directions[end.index()].findings;
    findings.iter().any(|finding| finding.cause == said && finding.confidence == Confidence::High)
}

/// The connection a flow is, and which of the flow's ends is on the sender's host.
fn connection<'a>(run: &'a Run, flow: &FlowReport) -> Option<(&'a Connection, End)> {
    let of = |connection: &'a Connection| Some((connection, connection.sender_in(&flow.key)?));
    run.truth.connections.iter().find_map(of)
}

/// Whether reporting this cause is right while that held. `also` are the causes that the lab imposed: while the kernel
/// repairs what a fault on the path did, or keeps its window small because of it, that fault is right.
fn accepts(held: Held, said: Cause, also: &[Cause]) -> bool {
    let put_there = also.contains(&said) && is_fault_of_path(said);
    let on_path = matches!(said, Cause::BottleneckFull | Cause::StandingQueue);
    match held {
        Held::Connecting => said.limit() == Limit::Connection,
        Held::Application => said.limit() == Limit::Application,
        Held::SendBuffer => said.limit() == Limit::SendBuffer,
        Held::ReceiveWindow => said.limit() == Limit::ReceiveWindow,
        Held::Loss => said.limit() == Limit::LossRecovery || put_there,
        Held::LossOnFullPath => said.limit() == Limit::LossRecovery || on_path || put_there,
        Held::CongestionWindow => said.limit() == Limit::CongestionWindow || put_there,
        Held::Path => on_path,
        Held::LateLink => matches!(said, Cause::DelaySpike | Cause::SpuriousTimeout),
        Held::LateReceiver => said == Cause::AcksHeldBack,
        Held::NotRecorded => said == Cause::CaptureGap,
        Held::Unsettled => true,
    }
}

/// Whether something on the path causes it by what it drops or delays.
const fn is_fault_of_path(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Policer
            | Cause::AckPathQueue
            | Cause::PeerGone
            | Cause::MtuBlackHole
            | Cause::SuperPacketsDropped
            | Cause::BeyondUnscaledWindow
    )
}

/// The spells of one direction in one recording.
struct Spells<'a> {
    watched: &'a Watched,
    spells: &'a [Spell],
}

impl Spells<'_> {
    fn clock(&self, at_ns: u64) -> i64 {
        at_ns.cast_signed() - self.watched.epoch_ns
    }

    fn at(&self, at_ns: u64) -> Option<Cause> {
        let at = self.clock(at_ns);
        self.spells.iter().find(|s| (s.from.nanos()..s.to.nanos()).contains(&at)).map(|s| s.cause)
    }

    fn around(&self, from_ns: u64, to_ns: u64) -> Vec<Cause> {
        let (from, to) = (self.clock(from_ns), self.clock(to_ns));
        let overlaps = |s: &&Spell| s.from.nanos() < to && from < s.to.nanos();
        self.spells.iter().filter(overlaps).map(|s| s.cause).collect()
    }
}

/// Fills the tables.
pub fn sum_up(by_time: &mut ByTime) {
    let mut groups: BTreeMap<Group, Vec<&Timed>> = BTreeMap::new();
    let mut said: BTreeMap<Held, [f64; COLUMNS.len()]> = BTreeMap::new();
    for timed in &by_time.runs {
        groups.entry(timed.group).or_default().push(timed);
        for (held, columns) in &timed.said {
            let sums = said.entry(*held).or_default();
            sums.iter_mut().zip(columns).for_each(|(sum, seconds)| *sum += seconds);
        }
    }
    let row = |(group, all): (Group, Vec<&Timed>)| {
        let right_at = |place: Place| {
            let at = all.iter().filter(|timed| timed.place == place && timed.known_s > 0.0);
            Some((place, mean(at.map(|timed| timed.right_s / timed.known_s))?))
        };
        let sum = |of: fn(&Timed) -> f64| all.iter().map(|timed| of(timed)).sum::<f64>();
        let known_s = sum(|timed| timed.known_s);
        Row {
            group,
            runs: all.iter().filter(|timed| timed.place == Place::Sender).count(),
            right_at: Place::ALL.into_iter().filter_map(right_at).collect(),
            known: known_s / (known_s + sum(|timed| timed.unsettled_s)).max(f64::MIN_POSITIVE),
        }
    };
    let sure = |place: Place| {
        let sum = |of: fn(&Timed) -> f64| -> f64 {
            by_time.runs.iter().filter(|timed| timed.place == place).map(of).sum()
        };
        let high = sum(|timed| timed.high_s);
        let least = f64::MIN_POSITIVE;
        let share = high / sum(|timed| timed.known_s).max(least);
        (place, Sure { share, wrong: sum(|timed| timed.high_wrong_s) / high.max(least) })
    };
    let sure = Place::ALL.map(sure).into();
    by_time.groups = groups.into_iter().map(row).collect();
    by_time.sure = sure;
    let said = said.into_iter().map(|(held, sums)| Said {
        held,
        seconds: sums.iter().sum(),
        columns: COLUMNS.into_iter().zip(sums).collect(),
    });
    by_time.said = said.collect();
}
