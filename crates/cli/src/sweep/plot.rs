//! `--plot`: a number of the runs over one of the keys, a line for every combination of the others.

use super::Row;
use super::keys::{Key, Kind, split};
use super::numbers::{self, Number};
use super::plan::Plan;
use super::table::last_part;
use anyhow::{Context, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use slowpath_views::chart::{self, Axis, Chart, Line, Look, MOST_LINES, Point};
use std::fs;
use std::path::{Path, PathBuf};

/// What to draw.
#[derive(Args)]
pub struct Plot {
    /// Draw the runs as a picture (SVG): a number of theirs over a key, a line for every combination of the others
    #[arg(long, value_name = "FILE.svg", value_hint = clap::ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// The key that lies to the right in the picture; the first one whose values are numbers unless it is given
    #[arg(long, value_name = "KEY", requires = "plot")]
    x: Option<String>,
    /// The number that lies upwards in the picture, as the data set calls it
    #[arg(long, value_name = "NUMBER", requires = "plot", default_value = numbers::RATE.column)]
    #[arg(value_parser = PossibleValuesParser::new(numbers::all().map(|number| number.column)))]
    y: String,
}

/// A picture that can be drawn of a plan.
pub struct Drawing<'a> {
    file: &'a Path,
    x: &'a Key,
    y: &'static Number,
}

impl Plot {
    /// What is to be drawn, if anything: checked before anything runs.
    pub fn of<'a>(&'a self, plan: &'a Plan, both: bool) -> anyhow::Result<Option<Drawing<'a>>> {
        let Some(file) = &self.plot else { return Ok(None) };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let shown = file.display();
        ensure!(folder.is_none_or(Path::is_dir), "{shown}: cannot be written: its folder is not there");
        ensure!(!file.is_dir(), "{shown}: cannot be written: it is a folder");
        let varied = || plan.keys.iter().filter(|key| values(plan, key).len() > 1);
        let numeric: Vec<&Key> = varied().filter(|key| key.is_number()).collect();
        let names = numeric.iter().map(|key| key.key.as_str()).collect::<Vec<_>>().join(", ");
        let x = match &self.x {
            Some(name) => numeric.iter().find(|key| key.key == *name).with_context(|| {
                let can = if names.is_empty() { "none".to_owned() } else { names };
                format!("--x {name}: is no key with several numbers in this sweep; that is {can}")
            })?,
            None => numeric.first().context(
                "--plot: no key of this sweep has several numbers to draw over; add one, such as --vary path.delay=5ms,50ms",
            )?,
        };
        let others = varied().filter(|key| key.key != x.key).map(|key| values(plan, key).len());
        let lines = others.fold(if both { 2 } else { 1 }, usize::saturating_mul);
        ensure!(
            lines <= MOST_LINES,
            "--plot: over {} these are {lines} lines, and {MOST_LINES} can be told apart; name another key with --x, or vary less",
            x.key
        );
        let y = numbers::all().find(|number| number.column == self.y).context("clap knows the numbers")?;
        Ok(Some(Drawing { file, x, y }))
    }
}

/// The values of a key in the grid, each once.
fn values<'a>(plan: &'a Plan, key: &Key) -> Vec<&'a str> {
    let varied = plan.sweep.vary.iter().filter(|vary| vary.key == key.key);
    let mut values: Vec<&str> = varied.flat_map(|vary| &vary.values).map(|one| split(one).1).collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl Drawing<'_> {
    /// Writes the picture.
    pub fn write(&self, plan: &Plan, rows: &[Row<'_>], place: &str) -> anyhow::Result<()> {
        let chart = self.chart(plan, rows, place);
        if chart.lines.is_empty() {
            bail!(
                "{}: is not written: of these runs nothing is known of {}; choose another with --y",
                self.file.display(),
                self.y.column
            );
        }
        fs::write(self.file, chart::svg(&chart))
            .with_context(|| format!("{}: cannot be written", self.file.display()))
    }

    fn chart(&self, plan: &Plan, rows: &[Row<'_>], place: &str) -> Chart {
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
        Chart {
            title: plan.base.heading().to_owned(),
            remarks,
            x: Axis {
                title: self.x.key.clone(),
                write: self.x.kind.write(),
                binary: self.x.kind == Kind::Data,
                logarithmic: None,
                round: false,
            },
            y: Axis {
                title: self.y.meaning.to_owned(),
                write: self.y.write_on_axis,
                binary: self.y.column == "data_bytes",
                logarithmic: None,
                round: false,
            },
            lines,
        }
    }

    fn point(&self, row: &Row<'_>, runs: &[crate::measured::Measured]) -> Option<Point> {
        let x = self.x.number(&row.planned.case)?;
        Some(Point { x, y: self.y.median(runs)?, each: self.y.each(runs).collect() })
    }

    /// What the other keys are there, as far as they differ from run to run.
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
