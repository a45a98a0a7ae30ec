//! Applies a plan, and keeps it only if a command measures that it helps.

mod command;

pub use command::Reading;

use crate::access::Access;
use crate::apply::{self, Applied, Asked, Start, Work};
use crate::error::{BadRun, Error};
use crate::gain::{Gain, Measure, ReadingUnit, Verdict};
use crate::journal::{Changed, Journal, Measured, Record, Side, Written};
use crate::lock::Lock;
use crate::namespace;
use crate::plan::Forecast;
use crate::revert::{Fate, Reverted, revert_locked};
use slowpath_model::shown::with_causes;
use slowpath_model::statistics::median;
use slowpath_remedies::Setting;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long somebody else may hold the lock of the journal, such as a revert of another plan.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a plan is verified.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The shell command that measures.
    pub command: &'a str,
    /// What it measures.
    pub measure: Measure,
    /// The gain that is asked for, as a share.
    pub wanted: f64,
    /// Runs with the old values, and as many with the new ones.
    pub runs: u32,
    /// The longest time of a run.
    pub timeout: Duration,
    /// Ends the verification when it becomes true.
    pub stop: &'a AtomicBool,
}

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The values that the settings had.
    pub side: Side,
    /// The result.
    pub reading: Reading,
}

/// How a plan was verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// The command that measured.
    pub command: String,
    /// What it measured.
    pub measure: Measure,
    /// The gain that was asked for, as a share.
    pub wanted: f64,
    /// All runs, in their order. Two in a row are a pair.
    pub runs: Vec<Run>,
    /// What the plan gained.
    pub gain: Gain,
    /// What that means.
    pub verdict: Verdict,
    /// What was predicted of the plan, or why nothing was; `None` for a plan without predictions.
    pub predicted: Option<Result<Forecast, String>>,
    /// What became of the plan.
    pub ended: Ended,
}

/// What became of a plan that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It helped, and is in force.
    Kept(Applied),
    /// It is taken back.
    TakenBack(Reverted),
}

impl Verified {
    /// Whether the plan is in force.
    pub const fn is_kept(&self) -> bool {
        matches!(self.ended, Ended::Kept(_))
    }

    /// The unit of all measurements.
    pub fn unit(&self) -> ReadingUnit {
        unit_of(&self.runs)
    }

    /// Median, smallest and largest measurement of a side.
    pub fn spread(&self, side: Side) -> Option<[f64; 3]> {
        spread(&self.runs, side)
    }
}

/// Median, smallest and largest measurement of a side; `None` without one.
pub fn spread(runs: &[Run], side: Side) -> Option<[f64; 3]> {
    let values: Vec<f64> = runs.iter().filter(|run| run.side == side).map(|run| run.reading.value).collect();
    let smallest = values.iter().copied().reduce(f64::min)?;
    Some([median(values.iter().copied())?, smallest, values.iter().copied().reduce(f64::max)?])
}

/// Measures with the old and the new values of a plan in turn, and keeps the plan if it helped. `each` is called after each run.
///
/// The runs are pairs, and in each pair chance decides which side is first. So whatever drifts meanwhile is as likely to favour one
/// side as the other, which is what the test assumes.
///
/// # Errors
/// If the plan cannot be applied, or the command fails, does not end, or prints no rate. Then all changes are taken back, or the
/// error names those that are not. That the plan does not help is no error.
pub fn verify(
    asked: Asked<'_>,
    trial: &Trial<'_>,
    each: &mut (dyn FnMut() + Send),
) -> Result<Verified, Error> {
    apply::need_possible(asked)?;
    asked.journal.need_nothing_verified()?;
    namespace::inside(asked.netns, || {
        let predicted = asked.plan.predicted();
        let plan = apply::named(asked.plan, &Access::reading())?;
        let asked = Asked { plan: &plan, ..asked };
        apply::need_expected(asked.plan, &Access::reading())?;
        // One run that does not count shows that the command works, before anything is changed, and fills caches.
        measured(trial, &[]).map_err(Error::CannotMeasure)?;
        each();
        let mut switched = Switched::new(asked, trial)?;
        let mut runs = Vec::new();
        match switched.judge(asked, trial, &mut runs, each) {
            Ok((gain, verdict)) => {
                let ended = switched.end(asked, verdict)?;
                let command = trial.command.to_owned();
                let Trial { measure, wanted, .. } = *trial;
                Ok(Verified { command, measure, wanted, runs, gain, verdict, predicted, ended })
            }
            Err(stop) => Err(switched.give_up(stop)),
        }
    })?
}

/// One run, which has to have the unit of those before.
fn measured(trial: &Trial<'_>, before: &[Run]) -> Result<Reading, BadRun> {
    let reading = command::measure(trial.command, trial.measure, trial.timeout, trial.stop)?;
    let is_other = before.first().is_some_and(|first| first.reading.unit != reading.unit);
    if is_other { Err(BadRun::OtherUnit) } else { Ok(reading) }
}

/// The sides of all runs. In each pair, chance decides which one is first.
///
/// # Errors
/// If there are no random numbers.
pub fn order(pairs: u32) -> io::Result<Vec<Side>> {
    let mut chance = vec![0_u8; pairs as usize];
    File::open("/dev/urandom")?.read_exact(&mut chance)?;
    let pair = |byte: u8| if byte & 1 == 0 { [Side::Old, Side::New] } else { [Side::New, Side::Old] };
    Ok(chance.into_iter().flat_map(pair).collect())
}

/// The gain of runs of which two in a row are a pair; `None` without pairs.
pub fn gain_of(measure: Measure, runs: &[Run]) -> Option<Gain> {
    let pairs: Vec<(f64, f64)> = runs
        .chunks_exact(2)
        .map(|pair| {
            let [first, second] = [pair[0].reading.value, pair[1].reading.value];
            if pair[0].side == Side::Old { (first, second) } else { (second, first) }
        })
        .collect();
    Gain::of(measure, &pairs)
}

/// The unit of all these measurements.
pub fn unit_of(runs: &[Run]) -> ReadingUnit {
    runs.first().map_or(ReadingUnit::Seconds, |run| run.reading.unit)
}

impl Measured {
    /// What runs of which two in a row are a pair measured.
    pub fn of(measure: Measure, runs: &[Run], gain: Gain) -> Self {
        let [old, new] = [Side::Old, Side::New].map(|side| spread(runs, side).unwrap_or_default()[0]);
        let pairs = u32::try_from(runs.len() / 2).unwrap_or(u32::MAX);
        Self { measure, unit: unit_of(runs), runs: pairs, old, new, gain }
    }
}

fn value(changed: &Changed, side: Side) -> &str {
    match side {
        Side::Old => &changed.old,
        Side::New => &changed.new,
    }
}

/// Why a verification ends without a verdict.
enum Stop {
    /// Somebody else has reverted the plan.
    TakenBack,
    /// Something failed.
    Failed(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(with_causes(&error))
    }
}

/// A plan whose settings are switched on and off.
struct Switched<'a> {
    journal: &'a Journal,
    start: Start,
    work: Work,
    /// The values that the settings have.
    at: Side,
}

impl<'a> Switched<'a> {
    /// Begins the plan in the journal, and makes its changes.
    fn new(asked: Asked<'a>, trial: &Trial<'_>) -> Result<Self, Error> {
        let lock = Lock::take(asked.journal.folder(), "applying a plan that is verified", PATIENCE)?;
        asked.journal.need_nothing_verified()?;
        let access = Access::writing(&lock);
        apply::need_expected(asked.plan, &access)?;
        let (start, mut work) = Work::begin(asked)?;
        let command = trial.command.to_owned();
        let begun = work.writer.hold().and_then(|()| work.writer.write(&Record::Verifying { command }));
        let made = begun.map_err(|error| with_causes(&error)).and_then(|()| work.make(asked, start, &access));
        match made {
            Ok(()) => Ok(Self { journal: asked.journal, start, work, at: Side::New }),
            Err(why) => Err(work.undo(why, &access)),
        }
    }

    /// Measures, and ends with the new values if these helped.
    fn judge(
        &mut self,
        asked: Asked<'_>,
        trial: &Trial<'_>,
        runs: &mut Vec<Run>,
        each: &mut (dyn FnMut() + Send),
    ) -> Result<(Gain, Verdict), Stop> {
        let order = order(trial.runs).map_err(|error| format!("/dev/urandom: {error}"))?;
        let all = order.len();
        for (number, side) in order.into_iter().enumerate() {
            self.switch(side, &self.lock("switching a plan that is verified")?)?;
            let reading = measured(trial, runs).map_err(|error| match error {
                BadRun::Interrupted => "interrupted".to_owned(),
                error => format!("run {} of {all} failed: {error}", number + 1),
            })?;
            runs.push(Run { side, reading });
            each();
        }
        let gain = gain_of(trial.measure, runs).ok_or_else(|| "there were no runs".to_owned())?;
        let verdict = gain.verdict(trial.wanted);
        if verdict == Verdict::Helped {
            let lock = self.lock("keeping a plan that is verified")?;
            self.switch(Side::New, &lock)?;
            self.work.writer.write(&Record::Measured(Measured::of(trial.measure, runs, gain)))?;
            self.work.keep(asked, self.start)?;
        }
        Ok((gain, verdict))
    }

    fn lock(&self, doing: &str) -> Result<Lock, Error> {
        Lock::take(self.journal.folder(), doing, PATIENCE)
    }

    /// Its records; `None` if somebody else has reverted it.
    fn written(&self) -> Result<Option<Written>, Error> {
        Ok(self.journal.read(self.start.id)?.filter(|written| !written.is_closed()))
    }

    /// Gives all settings the values of a side, after a look that nobody else has changed them.
    fn switch(&mut self, to: Side, lock: &Lock) -> Result<(), Stop> {
        self.written()?.ok_or(Stop::TakenBack)?;
        let access = Access::writing(lock);
        for (setting, changed) in &self.work.made {
            let found = access.read(setting).map_err(|error| format!("{setting} cannot be read: {error}"))?;
            if !setting.is(&found, value(changed, self.at)) {
                let found = setting.brief(&found);
                let why = format!("{setting} was changed to \"{found}\" by somebody else meanwhile");
                return Err(Stop::Failed(why));
            }
        }
        if to == self.at {
            return Ok(());
        }
        self.work.writer.write(&Record::Switch { to })?;
        let set = |(setting, changed): &(Setting, Changed)| {
            let (from, to) = (value(changed, self.at), value(changed, to));
            access.set(setting, from, to).map_err(|error| {
                // Both values had been accepted before; a part of one would look like somebody else's.
                let _ = access.set(setting, to, from);
                format!("{setting} {error}")
            })
        };
        match to {
            Side::Old => self.work.made.iter().rev().try_for_each(set)?,
            Side::New => self.work.made.iter().try_for_each(set)?,
        }
        self.at = to;
        Ok(())
    }

    /// Ends as the verdict says. A plan that helped is in force already.
    fn end(self, asked: Asked<'_>, verdict: Verdict) -> Result<Ended, Error> {
        if verdict == Verdict::Helped {
            return Ok(Ended::Kept(self.work.applied(asked, self.start)));
        }
        match self.take_back() {
            Ok(Some(mut reverted)) => {
                // The last switch brought them back.
                let back = reverted.taken.iter_mut().filter(|taken| taken.fate == Fate::WasBack);
                back.for_each(|taken| taken.fate = Fate::Restored);
                Ok(Ended::TakenBack(reverted))
            }
            Ok(None) => Err(Error::TakenBack { id: self.start.id }),
            Err(source) => Err(self.not_taken_back("the plan is not to be kept".to_owned(), source)),
        }
    }

    /// Gives the settings their old values, as `revert` does; `None` if somebody else has done so.
    fn take_back(&self) -> Result<Option<Reverted>, Error> {
        let lock = self.lock("taking a plan back")?;
        let Some(written) = self.written()? else { return Ok(None) };
        revert_locked(self.journal, &written, &Access::writing(&lock)).map(Some)
    }

    /// Ends with the old values because something failed.
    fn give_up(&self, stop: Stop) -> Error {
        let why = match stop {
            Stop::TakenBack => return Error::TakenBack { id: self.start.id },
            Stop::Failed(why) => why,
        };
        match self.take_back() {
            Ok(reverted) => {
                Error::Failed { why, left: reverted.map_or_else(Vec::new, |reverted| reverted.left()) }
            }
            Err(source) => self.not_taken_back(why, source),
        }
    }

    fn not_taken_back(&self, why: String, source: Error) -> Error {
        Error::NotTakenBack { id: self.start.id, why, source: Box::new(source) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_both_sides_in_either_order() {
        let order = order(200).expect("there is chance");
        let pairs: Vec<&[Side]> = order.chunks(2).collect();
        assert_eq!(pairs.len(), 200);
        assert!(pairs.iter().all(|pair| pair[0] != pair[1]));
        let old_first = pairs.iter().filter(|pair| pair[0] == Side::Old).count();
        // Outside of this once in a billion times.
        assert!((57..=143).contains(&old_first), "{old_first}");
    }

    #[test]
    fn pairs_have_the_old_value_first() {
        let run = |(side, value)| Run { side, reading: Reading { value, unit: ReadingUnit::Seconds } };
        let runs = [(Side::Old, 10.0), (Side::New, 5.0), (Side::New, 5.0), (Side::Old, 10.0)].map(run);
        let gain = gain_of(Measure::Time, &runs).expect("pairs");
        assert!((gain.estimate - 0.5).abs() < 1e-9, "{gain:?}");
    }
}
