//! The plot of `slowpath sweep`: a number of the runs over one key, with a line for each combination of the other keys.

use super::numbers::{write_key, write_on_axis};
use super::text::last_part;
use crate::chart::{Axis, Chart, Line, Look, MOST_LINES, Point};
use slowpath_runs::Measured;
use slowpath_runs::sweep::{Key, Kind, NUMBERS, Number, Plan, Row, Unit, split};
use thiserror::Error;

/// The axes of a plot.
pub struct Axes<'a> {
    x: &'a Key,
    y: &'static Number,
}

/// Why a plan cannot be plotted.
#[derive(Debug, Error)]
pub enum AxesError {
    /// The key does not have several numeric values.
    #[error("--x {name}: is no key with several numbers in this sweep; that is {can}")]
    NoSuchKey {
        /// The key.
        name: String,
        /// The keys that do.
        can: String,
    },
    /// No key has several numeric values.
    #[error(
        "--plot: no key of this sweep has several numbers to draw over; add one, such as --vary path.delay=5ms,50ms"
    )]
    NoKey,
    /// There would be more lines than can be distinguished.
    #[error(
        "--plot: over {x} these are {lines} lines, and {MOST_LINES} can be distinguished; name another key with --x, or vary less"
    )]
    TooManyLines {
        /// The key of the axis.
        x: String,
        /// The number of lines.
        lines: usize,
    },
    /// Runs have no number of that name.
    #[error("--y {0}: is no number of a run")]
    NoSuchNumber(String),
}

impl<'a> Axes<'a> {
    /// Chooses the axes: `x` is a key (by default the first with several numeric values), `y` the column of a number.
    /// `both` says that there are runs in the simulator and on the kernel.
    ///
    /// # Errors
    ///
    /// If the plan has no such key or number, or there would be too many lines.
    pub fn choose(plan: &'a Plan, x: Option<&str>, y: &str, both: bool) -> Result<Self, AxesError> {
        let varied = || plan.keys.iter().filter(|key| values(plan, key).len() > 1);
        let numeric: Vec<&Key> = varied().filter(|key| key.is_number()).collect();
        let names = numeric.iter().map(|key| key.key.as_str()).collect::<Vec<_>>().join(", ");
        let x = match x {
            Some(name) => numeric.iter().find(|key| key.key == name).ok_or_else(|| AxesError::NoSuchKey {
                name: name.to_owned(),
                can: if names.is_empty() { "none".to_owned() } else { names },
            })?,
            None => numeric.first().ok_or(AxesError::NoKey)?,
        };
        let others = varied().filter(|key| key.key != x.key).map(|key| values(plan, key).len());
        let lines = others.fold(if both { 2 } else { 1 }, usize::saturating_mul);
        if lines > MOST_LINES {
            return Err(AxesError::TooManyLines { x: x.key.clone(), lines });
        }
        let number = NUMBERS.iter().find(|number| number.column == y);
        Ok(Self { x, y: number.ok_or_else(|| AxesError::NoSuchNumber(y.to_owned()))? })
    }

    /// Draws the runs; `None` if no run has the number. `place` says where they ran.
    pub fn chart(&self, plan: &Plan, rows: &[Row<'_>], place: &str) -> Option<Chart> {
        let mut lines: Vec<Line> = Vec::new();
        for is_real in [false, true] {
            for row in rows.iter().filter(|row| row.planned.case.name.is_none()) {
                let runs = row.of(is_real);
                let Some((point, name)) = self.point(row, runs).zip(self.name(plan, row)) else { continue };
                let both = rows.iter().any(|row| !row.of(!is_real).is_empty());
                let place = if is_real { "kernel" } else { "simulator" };
                let name = if both { [name.as_str(), place].join(" ").trim().to_owned() } else { name };
                match lines.iter_mut().find(|line| line.name == name) {
                    Some(line) => line.points.push(point),
                    None => lines.push(Line { name, points: vec![point], look: Look::Marked, stroke: None }),
                }
            }
        }
        for line in &mut lines {
            line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        let repeats = plan.cases.first().map_or(1, |planned| planned.scenarios.len());
        let mut remarks = vec![format!("{place}, from seed {} on", plan.base.seed)];
        if repeats > 1 {
            remarks.push(format!(
                "{repeats} runs of each; the lines are their medians, the small marks the runs"
            ));
        }
        (!lines.is_empty()).then(|| Chart {
            title: plan.base.heading().into_owned(),
            remarks,
            x: Axis {
                title: self.x.key.clone(),
                write: write_key(self.x.kind),
                binary: self.x.kind == Kind::Data,
                logarithmic: None,
                round: false,
            },
            y: Axis {
                title: self.y.meaning.to_owned(),
                write: write_on_axis(self.y.unit),
                binary: self.y.unit == Unit::Data,
                logarithmic: None,
                round: false,
            },
            lines,
        })
    }

    /// The column of the plotted number.
    pub fn y(&self) -> &'static str {
        self.y.column
    }

    fn point(&self, row: &Row<'_>, runs: &[Measured]) -> Option<Point> {
        let x = self.x.number(&row.planned.case)?;
        Some(Point { x, y: self.y.median(runs)?, each: self.y.each(runs).collect() })
    }

    /// The name of a line: the values of the other keys that vary.
    fn name(&self, plan: &Plan, row: &Row<'_>) -> Option<String> {
        let keys: Vec<&Key> = plan.keys.iter().filter(|key| values(plan, key).len() > 1).collect();
        let names: Vec<&str> = keys.iter().map(|key| key.key.as_str()).collect();
        let others = keys.iter().filter(|key| key.key != self.x.key);
        let parts = others.map(|key| {
            let written = key.written(&row.planned.case)?;
            Some(format!("{} {written}", last_part(&key.key, &names)))
        });
        Some(parts.collect::<Option<Vec<_>>>()?.join(", "))
    }
}

/// The distinct values of a key in the grid.
fn values<'a>(plan: &'a Plan, key: &Key) -> Vec<&'a str> {
    let varied = plan.sweep.vary.iter().filter(|vary| vary.key == key.key);
    let mut values: Vec<&str> = varied.flat_map(|vary| &vary.values).map(|one| split(one).1).collect();
    values.sort_unstable();
    values.dedup();
    values
}
