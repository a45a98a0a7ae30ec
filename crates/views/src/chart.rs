//! Lines over numbers as a picture: an SVG file that needs no other file, or a part of a page.
//!
//! Lines differ in colour, in the shape of their marks and in their dashes, so that they can be distinguished in print and by
//! the colour-blind, and so that of two that lie on each other both show. What an axis covers by more than a factor of
//! ten is shown on a logarithmic scale, unless the axis says otherwise.
//!
//! Drawn here and not by a library. A figure in a page takes the page's colours, light and dark, from CSS variables, in a file of its
//! own it brings them along; `plotters` writes colours into each element, and has neither these axes nor marks and dashes that go with
//! a line into its key, so that scales, marks and keys would stay here. `charming` needs a JavaScript engine to draw.

mod draw;
mod look;
mod scale;
mod text;

pub use draw::{inline, svg};
pub use look::PAGE_STYLE;
pub use text::escaped;

/// A picture.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// Remarks below the title.
    pub remarks: Vec<String>,
    /// What lies to the right.
    pub x: Axis,
    /// What lies upwards.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// What is along an axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its title.
    pub title: String,
    /// A number with its unit.
    pub write: fn(f64) -> String,
    /// Whether round numbers are those of the binary units.
    pub binary: bool,
    /// Whether the scale is logarithmic; `None` leaves it to the numbers.
    pub logarithmic: Option<bool>,
    /// What is marked to the right: round numbers, instead of the values that there are.
    pub round: bool,
}

/// A line, from the least `x` to the greatest.
#[derive(Clone, Debug)]
pub struct Line {
    /// What the legend says; nothing where there is one line only.
    pub name: String,
    /// Where it goes.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub look: Look,
    /// Its colour, by number, and whether it is dashed; `None` gives it what other lines have not.
    pub stroke: Option<(usize, bool)>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// With a mark at each point.
    Marked,
    /// Without.
    Plain,
    /// As steps: a value holds until the next point.
    Steps,
    /// Not at all: there is this letter at each point.
    Letters(char),
}

/// A point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where it lies.
    pub x: f64,
    /// Where the line passes.
    pub y: f64,
    /// What lies behind that: single values, each of them shown where there are several.
    pub each: Vec<f64>,
}

/// Lines that can be distinguished.
pub const MOST_LINES: usize = 24;
