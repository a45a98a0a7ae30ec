//! What a paper reports, next to our results.

use crate::comparison::Comparison;
use crate::figure::Figure;
use crate::graph::Graph;
use crate::measure::FlowMeasures;

/// All of a paper's tables, figures and claims.
#[derive(Clone, Debug)]
pub struct Report {
    /// The paper, in short.
    pub paper: &'static str,
    /// Its authors, year and title.
    pub title: &'static str,
    /// How often each experiment was simulated, each time with another seed; 0 of one that was measured on a real kernel.
    pub seeds: u64,
    /// For a paper that was measured: the machine, the tools, and what interfered.
    pub measured_on: Vec<String>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its graphs of who calls whom.
    pub graphs: Vec<Graph>,
    /// For a paper that was measured twice: both side by side.
    pub comparison: Option<Comparison>,
    /// What it says that has a direction and no number.
    pub claims: Vec<Claim>,
    /// The experiments: the paper's name of each, and the command that runs it.
    pub runs: Vec<(String, String)>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in the paper.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Its cells, row by row.
    pub cells: Vec<Cell>,
}

/// How far a cell may be from the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// By a quarter of it.
    Share,
    /// By a factor of two; an empty cell has to be empty.
    Factor,
    /// Not at all: it was used to fit a cost.
    Fitted,
    /// Not at all: it is shown for what it explains.
    Shown,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The table's row.
    pub row: String,
    /// What it counts, with its unit.
    pub quantity: &'static str,
    /// What the paper has; `None` where it gives no number.
    pub published: Option<f64>,
    /// The median of our runs; or a part that was measured by samples.
    pub ours: f64,
    /// The least of them; or below which it is not, by chance of one in twenty.
    pub least: f64,
    /// The most; or above which.
    pub most: f64,
    /// How it is judged.
    pub judged: Judged,
}

impl Report {
    /// One of a paper whose experiments were simulated, with nothing in it yet.
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

    /// What is said of a claim: of a paper that was measured on a real kernel, whether it still is so.
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

impl Cell {
    /// A cell from the least, the median and the most of our runs.
    pub fn new(
        row: impl Into<String>,
        quantity: &'static str,
        published: impl Into<Option<f64>>,
        [least, ours, most]: [f64; 3],
        judged: Judged,
    ) -> Self {
        Self { row: row.into(), quantity, published: published.into(), ours, least, most, judged }
    }

    /// How much larger ours is, as a share of the paper's; `None` where the paper has nothing.
    pub fn error(&self) -> Option<f64> {
        let published = self.published.filter(|published| *published != 0.0)?;
        Some(self.ours / published - 1.0)
    }

    /// Whether it is as near as it is to be.
    pub fn is_near(&self) -> bool {
        match (self.judged, self.error()) {
            (Judged::Share, Some(error)) => error.abs() <= 0.25,
            (Judged::Factor, Some(error)) => (-0.5..=1.0).contains(&error),
            (Judged::Share | Judged::Factor, None) => self.ours == 0.0,
            (Judged::Fitted | Judged::Shown, _) => true,
        }
    }
}

/// Something that a paper says.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Where it says so.
    pub place: &'static str,
    /// What, in our words.
    pub says: &'static str,
    /// What we saw.
    pub seen: String,
    /// Whether it is so here. `None` where that is undecided.
    pub holds: Option<bool>,
}
