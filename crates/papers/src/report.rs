//! What a paper says beside what came out.

use crate::figure::Figure;
use schemars::JsonSchema;
use serde::Serialize;

/// All of a paper's tables, figures and claims.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this layout.
    pub schema: &'static str,
    /// The paper, in short.
    pub paper: &'static str,
    /// Its authors, year and title.
    pub title: &'static str,
    /// How often each experiment was run, each time with another seed.
    pub seeds: u64,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// What it says that has a direction and no number.
    pub claims: Vec<Claim>,
    /// The experiments: the paper's name of each, and the command that runs it.
    pub runs: Vec<(String, String)>,
}

/// A table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Table {
    /// Its name in the paper.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Its cells, row by row.
    pub cells: Vec<Cell>,
}

/// How far a cell may be from the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cell {
    /// The table's row.
    pub row: String,
    /// What it counts, with its unit.
    pub quantity: &'static str,
    /// What the paper has.
    pub published: f64,
    /// The median of our runs.
    pub ours: f64,
    /// The least of them.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// How it is judged.
    pub judged: Judged,
}

impl Cell {
    /// A cell from the least, the median and the most of our runs.
    pub fn new(
        row: impl Into<String>,
        quantity: &'static str,
        published: f64,
        [least, ours, most]: [f64; 3],
        judged: Judged,
    ) -> Self {
        Self { row: row.into(), quantity, published, ours, least, most, judged }
    }

    /// How much larger ours is, as a share of the paper's; `None` where the paper has nothing.
    pub fn error(&self) -> Option<f64> {
        (self.published != 0.0).then(|| self.ours / self.published - 1.0)
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Claim {
    /// Where it says so.
    pub place: &'static str,
    /// What, in our words.
    pub says: &'static str,
    /// What we saw.
    pub seen: String,
    /// Whether it is so here.
    pub holds: bool,
}
