//! A graph of who calls whom, in layers from top to bottom: a caller stands above those that it calls. An SVG file that needs no
//! other file, or a part of a page.
//!
//! As K. Sugiyama, S. Tagawa and M. Toda do it (IEEE Trans. SMC 11(2), 1981): what would close a cycle is turned round, every
//! function stands one layer below the lowest of its callers, lines over several layers get a place in each of them, and layers
//! are put in an order in which few lines cross. A function's name is never cut: boxes are as wide as what is in them.
//!
//! Laid out here and not by a library: `layout-rs` would replace `order.rs` and `place.rs`, 307 lines with their tests, by a dependency,
//! and the drawing would stay.

mod draw;
mod look;
mod order;
mod place;

pub use draw::{inline, svg};
pub use look::PAGE_STYLE;

/// A picture: graphs below each other.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Its title.
    pub title: String,
    /// Remarks below the title.
    pub remarks: Vec<String>,
    /// The graphs.
    pub graphs: Vec<Graph>,
}

/// A graph, of which the first box is the root.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Remarks above it.
    pub title: String,
    /// The boxes.
    pub boxes: Vec<Box>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Box {
    /// Its name.
    pub name: String,
    /// What stands below the name.
    pub lines: Vec<String>,
    /// What its tooltip says.
    pub about: String,
    /// How much of the box is filled, 0 to 1.
    pub filled: f64,
    /// The kind of function.
    pub kind: crate::flame::Kind,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Line {
    /// The caller, by its place among the boxes.
    pub from: usize,
    /// The callee.
    pub to: usize,
    /// How thick it is, relative to the thickest, 0 to 1.
    pub weight: f64,
    /// What stands at its end.
    pub label: String,
    /// What its tooltip says.
    pub about: String,
    /// Whether nothing was left out between the two.
    pub is_direct: bool,
}
