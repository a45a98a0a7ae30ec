//! A paper's results, next to ours.

use crate::comparison::Comparison;
use crate::figure::Figure;
use crate::graph::Graph;
use crate::measure::FlowMeasures;

/// All of a paper's tables, figures and claims.
#[derive(Clone, Debug)]
pub struct Report {
    /// The paper's short name.
    pub paper: &'static str,
    /// Its authors, year and title.
    pub title: &'static str,
    /// How often each experiment was simulated, each time with another seed; 0 if measured on a real kernel.
    pub seeds: u64,
    /// For a measured paper: the machine, the tools, and the interference.
    pub measured_on: Vec<String>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its call graphs.
    pub graphs: Vec<Graph>,
    /// For a paper that was measured twice: the comparison.
    pub comparison: Option<Comparison>,
    /// Its claims without a number.
    pub claims: Vec<Claim>,
    /// The experiments: the paper's name of each, and its command.
    pub runs: Vec<(String, String)>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in the paper.
    pub name: &'static str,
    /// Its subject.
    pub about: &'static str,
    /// Its cells, row by row.
    pub cells: Vec<Cell>,
}

/// The tolerance of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// A quarter of the paper's value.
    Share,
    /// A factor of two; an empty cell must be empty.
    Factor,
    /// Not judged: it was used to fit a cost.
    Fitted,
    /// Not judged: shown as an explanation.
    Shown,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The table's row.
    pub row: String,
    /// The quantity, with its unit.
    pub quantity: &'static str,
    /// The paper's value, or the lower end of its range; `None` if it gives none.
    pub published: Option<f64>,
    /// The upper end, if the paper gives a range.
    pub published_most: Option<f64>,
    /// The median of our runs; or a sampled share.
    pub ours: f64,
    /// The minimum; or the lower confidence bound (one in twenty).
    pub least: f64,
    /// The maximum; or the upper confidence bound.
    pub most: f64,
    /// How it is judged.
    pub judged: Judged,
}

impl Report {
    /// An empty report of a paper whose experiments were simulated.
    pub(crate) fn simulated(paper: &'static str, title: &'static str, runs: &[Vec<FlowMeasures>]) -> Self {
        Self {
            paper,
            title,
            seeds: runs.iter().map(Vec::len).min().unwrap_or(0) as u64,
            measured_on: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
            graphs: Vec::new(),
            comparison: None,
            claims: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// The verdict on a claim; for a paper measured on a real kernel, whether it still holds.
    pub const fn verdict(&self, claim: &Claim) -> &'static str {
        match (claim.holds, self.measured_on.is_empty()) {
            (Some(true), true) => "holds",
            (Some(false), true) => "does not hold",
            (Some(true), false) => "still so",
            (Some(false), false) => "no longer so",
            (None, _) => "cannot tell",
        }
    }
}

/// The tolerance of a number: a quarter of the paper's.
const TOLERANCE: f64 = 0.25;

/// Whether a number is what the paper says, from `least` to `most`, or within a quarter of it: the papers' numbers are read
/// off figures, or rounded.
pub fn is_about(ours: f64, [least, most]: [f64; 2]) -> bool {
    (least * (1.0 - TOLERANCE)..=most * (1.0 + TOLERANCE)).contains(&ours)
}

impl Cell {
    /// A cell from the minimum, median and maximum of our runs.
    pub fn new(
        row: impl Into<String>,
        quantity: &'static str,
        published: impl Into<Option<f64>>,
        [least, ours, most]: [f64; 3],
        judged: Judged,
    ) -> Self {
        let published = published.into();
        Self { row: row.into(), quantity, published, published_most: None, ours, least, most, judged }
    }

    /// The relative error of ours, from the nearer end of a range; 0 inside it. `None` without a value in the paper.
    pub fn error(&self) -> Option<f64> {
        let published = self.published.filter(|published| *published != 0.0)?;
        let nearest = self.published_most.map_or(published, |most| self.ours.clamp(published, most));
        Some(self.ours / nearest - 1.0)
    }

    /// Whether it is within the tolerance.
    pub fn is_near(&self) -> bool {
        match (self.judged, self.error()) {
            (Judged::Share, Some(error)) => error.abs() <= TOLERANCE,
            (Judged::Factor, Some(error)) => (-0.5..=1.0).contains(&error),
            (Judged::Share | Judged::Factor, None) => self.ours == 0.0,
            (Judged::Fitted | Judged::Shown, _) => true,
        }
    }
}

/// A claim of the paper.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its place in the paper.
    pub place: &'static str,
    /// The claim, in our words.
    pub says: &'static str,
    /// Our observation.
    pub seen: String,
    /// Whether it holds here. `None` if undecided.
    pub holds: Option<bool>,
}
