//! Line charts as SVG: a self-contained file, or a part of a page.
//!
//! Lines differ in colour, marks and dashes, so that they can be distinguished in print and by colour-blind readers,
//! and so that both of two overlapping lines are visible. An axis whose values span more than a factor of ten is
//! logarithmic, unless the axis says otherwise.
//!
//! The charts are drawn here, without a library. In a page they take the page's light and dark colours from CSS
//! variables; a file has its own. `plotters` writes colours into each element, and has neither these axes nor marks and
//! dashes that also appear in the legend, so scales, marks and legends would stay here. `charming` needs a JavaScript
//! engine to draw.

mod draw;
mod look;
mod scale;
mod text;

pub use draw::{inline, svg};
pub use look::PAGE_STYLE;
pub use text::escaped;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// Remarks below the title.
    pub remarks: Vec<String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its title.
    pub title: String,
    /// Formats a number with its unit.
    pub write: fn(f64) -> String,
    /// Whether ticks are at powers of two instead of decimal round numbers.
    pub binary: bool,
    /// Whether the scale is logarithmic; `None` chooses by the numbers.
    pub logarithmic: Option<bool>,
    /// On the horizontal axis: whether ticks are at round numbers instead of the values.
    pub round: bool,
}

/// A line; its points are in ascending order of `x`.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend; empty if there is only one line.
    pub name: String,
    /// Its points.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub look: Look,
    /// Its colour number, and whether it is dashed; `None` chooses a combination that no other line has.
    pub stroke: Option<(usize, bool)>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// With a mark at each point.
    Marked,
    /// Without marks.
    Plain,
    /// As steps: a value holds until the next point.
    Steps,
    /// Without a line, with this letter at each point.
    Letters(char),
}

/// A point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its place on the horizontal axis.
    pub x: f64,
    /// Its place on the vertical axis.
    pub y: f64,
    /// The single values behind it, which are drawn if there are several.
    pub each: Vec<f64>,
}

/// The most lines that can be distinguished.
pub const MOST_LINES: usize = 24;
