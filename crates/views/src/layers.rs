//! Call graphs in layers from top to bottom, callers above callees, as SVG: a self-contained file, or a part of a page.
//!
//! The layout follows K. Sugiyama, S. Tagawa and M. Toda (IEEE Trans. SMC 11(2), 1981): edges that close a cycle are
//! reversed, every function is one layer below the lowest of its callers, edges over several layers get a place in each
//! of them, and layers are ordered so that few edges cross. Names are never cut: boxes are as wide as their text.
//!
//! The layout is done here, without a library: `layout-rs` would replace `order.rs` and `place.rs`, 307 lines with
//! their tests, by a dependency, and the drawing would stay.

mod draw;
mod look;
mod order;
mod place;

pub use draw::{inline, svg};
pub use look::PAGE_STYLE;

/// A picture of several graphs, one below the other.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Its title.
    pub title: String,
    /// Remarks below the title.
    pub remarks: Vec<String>,
    /// The graphs.
    pub graphs: Vec<Graph>,
}

/// A graph; its first box is the root.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Its title.
    pub title: String,
    /// The boxes.
    pub boxes: Vec<Box>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A function's box.
#[derive(Clone, Debug)]
pub struct Box {
    /// Its name.
    pub name: String,
    /// The text below the name.
    pub lines: Vec<String>,
    /// Its tooltip.
    pub about: String,
    /// How much of the box is filled, 0 to 1.
    pub filled: f64,
    /// The kind of function.
    pub kind: crate::flame::Kind,
}

/// A call, drawn as a line.
#[derive(Clone, Debug)]
pub struct Line {
    /// The caller, as an index into the boxes.
    pub from: usize,
    /// The callee, as an index into the boxes.
    pub to: usize,
    /// How thick it is, relative to the thickest, 0 to 1.
    pub weight: f64,
    /// The label at its end.
    pub label: String,
    /// Its tooltip.
    pub about: String,
    /// Whether no function between the two was left out.
    pub is_direct: bool,
}
