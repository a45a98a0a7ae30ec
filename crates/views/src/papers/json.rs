//! The JSON of `slowpath papers`.

use crate::mirror::{each, mirrored, one};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_papers::{self as papers, comparison, graph};

/// All of a paper's tables, figures and claims.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Report")]
pub struct PaperDocument {
    /// Version of this layout.
    schema: &'static str,
    /// The paper, in short.
    paper: &'static str,
    /// Its authors, year and title.
    title: &'static str,
    /// How often each experiment was simulated, each time with another seed; 0 of one that was measured on a real kernel.
    seeds: u64,
    /// For a paper that was measured: the machine, the tools, and what interfered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measured_on: Vec<String>,
    /// Its tables.
    tables: Vec<Table>,
    /// Its figures.
    figures: Vec<Figure>,
    /// Its call graphs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    graphs: Vec<Graph>,
    /// For a paper that was measured twice: both side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
    /// Its claims that state a direction and no number.
    claims: Vec<Claim>,
    /// The experiments: the paper's name of each, and the command that runs it.
    runs: Vec<(String, String)>,
}

impl From<papers::Report> for PaperDocument {
    fn from(of: papers::Report) -> Self {
        let papers::Report {
            paper,
            title,
            seeds,
            measured_on,
            tables,
            figures,
            graphs,
            comparison,
            claims,
            runs,
        } = of;
        Self {
            schema: "slowpath/paper/1",
            paper,
            title,
            seeds,
            measured_on,
            tables: each(tables),
            figures: each(figures),
            graphs: each(graphs),
            comparison: one(comparison),
            claims: each(claims),
            runs,
        }
    }
}

mirrored! {
    /// A table.
    struct Table of papers::Table {
        /// Its name in the paper.
        name: &'static str,
        /// What it shows.
        about: &'static str,
        /// Its cells, row by row.
        cells: Vec<Cell> => each,
    }

    /// A cell of a table.
    struct Cell of papers::Cell {
        /// The table's row.
        row: String,
        /// What it counts, with its unit.
        quantity: &'static str,
        /// What the paper has, or the lower end of its range; `None` where it gives no number.
        published: Option<f64>,
        /// The upper end, where the paper has a range.
        published_most: Option<f64>,
        /// The median of our runs, or a share measured by samples.
        ours: f64,
        /// The minimum of the runs, or the lower bound of the share, at 95 % confidence.
        least: f64,
        /// The maximum of the runs, or the upper bound of the share, at 95 % confidence.
        most: f64,
        /// How it is judged.
        judged: Judged,
    }

    /// How far a cell may be from the paper's.
    enum Judged of papers::Judged {
        /// By a quarter of it.
        Share,
        /// By a factor of two; an empty cell has to be empty.
        Factor,
        /// Not at all: it was used to fit a cost.
        Fitted,
        /// Not at all: it is shown for what it explains.
        Shown,
    }

    /// A claim of the paper.
    struct Claim of papers::Claim {
        /// Where the paper makes it.
        place: &'static str,
        /// The claim, in our words.
        says: &'static str,
        /// What we saw.
        seen: String,
        /// Whether it holds here. `None` if undecided.
        holds: Option<bool>,
    }

    /// A figure, or a part of one: series over one pair of axes.
    struct Figure of papers::Figure {
        /// Its name in the paper, with the part: `Plate 1(a)`.
        name: &'static str,
        /// What it shows.
        about: &'static str,
        /// The horizontal axis.
        x: Axis,
        /// The vertical axis.
        y: Axis,
        /// What is drawn, in the order of the legend.
        series: Vec<Series> => each,
        /// What the paper says of it, in our words.
        says: &'static str,
        /// What ours shows.
        seen: String,
    }

    /// An axis.
    struct Axis of papers::Axis {
        /// What it is: `throughput`.
        title: &'static str,
        /// In which unit the numbers are: `Mbit/s`. Nothing for a count.
        unit: &'static str,
        /// Whether its scale is logarithmic; otherwise it is linear.
        logarithmic: bool,
    }

    /// One series of a figure: columns of the same length, in the order of `x`.
    struct Series of papers::Series {
        /// What the legend says.
        name: String,
        /// How it is drawn.
        drawn: Drawn,
        /// The letter of a series of marks.
        #[serde(skip_serializing_if = "Option::is_none")]
        letter: Option<char>,
        /// Whether these are the paper's own numbers.
        published: bool,
        /// The places of its points on the horizontal axis.
        x: Vec<f64>,
        /// Their places on the vertical axis: the median, if there were several runs.
        y: Vec<f64>,
        /// The least of several runs; empty if there was one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        least: Vec<f64>,
        /// The most of them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        most: Vec<f64>,
        /// How many values the points stand for: more than there are points where a [`Course`] thinned them out.
        of: u64,
    }

    /// How a series is drawn.
    enum Drawn of papers::Drawn {
        /// As straight lines from point to point, each of which was measured by itself.
        Line,
        /// As a course over time: one line, too many points for marks.
        Course,
        /// As steps: a value holds until the next point.
        Steps,
        /// As letters, each at its point.
        Marks,
    }

    /// A call graph.
    struct Graph of graph::Graph {
        /// Its name in the paper.
        name: &'static str,
        /// What it shows.
        about: &'static str,
        /// What the paper says of it, in our words.
        says: &'static str,
        /// The high-level function below which everything works.
        root: &'static str,
        /// All samples.
        samples: u64,
        /// Functions with fewer samples in them and below, for the root, are left out.
        least: u64,
        /// How many those are.
        left_out: usize,
        /// The functions: the root first, then by what was seen for it, the greatest first.
        nodes: Vec<Worker> => each,
        /// The calls, the heaviest first.
        edges: Vec<Call> => each,
    }

    /// A function below the root.
    struct Worker of graph::Worker {
        /// The paper's name for what it does, or its own.
        name: String,
        /// Samples in which it ran itself, for any operation.
        own: u64,
        /// The part of these that belongs to the root.
        own_here: u64,
        /// Samples in which it or its callees ran, for any operation; for the root, also those in which what belongs to it did.
        all: u64,
        /// The part of these that belongs to the root; for the root, all that do.
        here: u64,
    }

    /// A function that had another called, for the root.
    struct Call of graph::Call {
        /// The caller, by its place among the nodes.
        from: usize,
        /// The callee.
        to: usize,
        /// Samples in the callee and below, on stacks with both.
        samples: u64,
        /// The part of these with no function in between that is left out.
        direct: u64,
    }

    /// Two measurements.
    struct Comparison of comparison::Comparison {
        /// What each was made on: before, and after.
        of: [String; 2],
        /// Remarks to read before comparing numbers.
        remarks: Vec<String>,
        /// The experiments.
        tables: Vec<Compared> => each,
    }

    /// An experiment in both.
    struct Compared of comparison::Compared {
        /// The figure in the paper.
        name: &'static str,
        /// What it shows.
        about: &'static str,
        /// Samples before, and after.
        samples: [u64; 2],
        /// Microseconds of CPU for a request before, and after; null where they are not known.
        us_a_request: [Option<f64>; 2],
        /// How many functions are in the top ten of both.
        in_both_top_tens: usize,
        /// The functions in both top tens, and those with the largest significant differences: by their cost after, the
        /// greatest first.
        functions: Vec<Difference> => each,
    }

    /// A function in both.
    struct Difference of comparison::Difference {
        /// Its newest name.
        name: String,
        /// Its ranks by cost before, and after, from 1; null where it cost nothing.
        places: [Option<usize>; 2],
        /// What it cost itself before, and after, in per cent of the CPU.
        shares: [Option<f64>; 2],
        /// What it cost before, and after, in microseconds of CPU for a request; null where these are not known.
        us_a_request: [Option<f64>; 2],
        /// The probability, 0 to 1, that chance alone makes such a difference of shares.
        by_chance: Option<f64>,
        /// That probability, corrected for all functions of the experiment (Holm).
        among_all: Option<f64>,
    }
}
