//! Call graphs below high-level functions, as in the paper's figures 14 to 19.

use super::{percent, spelt_in};
use crate::flame::Kind;
use crate::layers::{Box, Graph, Line, Picture, svg};
use crate::quantity::counted;
use slowpath_cost::subgraph::{Edge, Node};
use slowpath_cost::{Function, Image, Root, Roots, Subgraph};
use slowpath_profile::{LoadError, Loaded};

/// The limit of boxes in a graph, beyond which it is illegible.
const MOST_BOXES: usize = 40;
/// A call with less than this part of the threshold is not drawn, unless it is its callee's heaviest.
const LEAST_LINE: f64 = 0.25;

/// Draws the graphs of the given roots, or of TCP's.
///
/// # Errors
/// If the profile has no stacks.
pub fn picture(
    loaded: &Loaded,
    roots: &Roots,
    named: &[String],
    threshold: f64,
) -> Result<String, LoadError> {
    let (calls, event) = loaded.whole_calls()?;
    let all = loaded.weight() as f64;
    let least = (threshold * all).ceil() as u64;
    // By default TCP's roots: everything else is below interrupts and softirqs.
    let is_drawn = |root: &Root| !named.is_empty() || !["interrupt", "softirq"].contains(&roots.name(*root));
    let graphs = roots
        .iter()
        .filter(is_drawn)
        .map(|root| {
            let below = calls.below(event, roots, root, least.max(1), MOST_BOXES);
            let name = |function| (spelt_in(loaded, function), kind(loaded.functions().image(function)));
            graph(&Drawn { root: roots.name(root), all: loaded.weight(), least, below: &below, name: &name })
        })
        .collect();
    let mut remarks = vec![
        format!(
            "{}; first line: a function's share of all CPU time, callees included; the filled part belongs to the \
             operation on top; second line: its own cost",
            counted(loaded.samples(), "sample")
        ),
        "at a line: the cost of the calls along it; dashed where functions in between are too small to be shown"
            .to_owned(),
    ];
    let others: Vec<&str> =
        roots.iter().filter(|root| !is_drawn(root)).map(|root| roots.name(root)).collect();
    if !others.is_empty() {
        remarks.push(format!("the cost that belongs to {} is not shown", others.join(", ")));
    }
    let title = format!("{}: call graphs below the operations", loaded.name());
    Ok(svg(&Picture { title, remarks, graphs }))
}

const fn kind(image: &Image) -> Kind {
    match image {
        Image::Kernel(_) => Kind::Kernel,
        Image::User(_) => Kind::Program,
        Image::Unknown => Kind::Unknown,
    }
}

/// The input of a graph.
pub struct Drawn<'a> {
    /// The root's name.
    pub root: &'a str,
    /// All CPU time, in the unit of the nodes.
    pub all: u64,
    /// The weight below which functions were left out.
    pub least: u64,
    /// The functions below the root.
    pub below: &'a Subgraph,
    /// A function's name and kind.
    pub name: &'a dyn Fn(Function) -> (String, Kind),
}

/// The graph, with the root's name as its title.
pub fn graph(drawn: &Drawn<'_>) -> Graph {
    let below = drawn.below;
    let lines: Vec<&Edge> = below.edges.iter().filter(|edge| is_shown(edge, below, drawn.least)).collect();
    let heaviest = lines.iter().map(|edge| edge.weight).max().unwrap_or(1).max(1);
    let left_out = match below.left_out {
        0 => String::new(),
        functions => format!("; {} too small", counted(functions as u64, "function")),
    };
    let here = below.nodes.first().map_or(0, |root| root.here);
    Graph {
        title: format!("{}: {} of all CPU time{left_out}", drawn.root, drawn.of_all(here)),
        boxes: below.nodes.iter().map(|node| drawn.one(node)).collect(),
        lines: lines
            .iter()
            .map(|edge| Line {
                from: edge.from,
                to: edge.to,
                weight: edge.weight as f64 / heaviest as f64,
                label: drawn.of_all(edge.weight),
                about: drawn.about_line(edge),
                is_direct: edge.direct * 2 >= edge.weight,
            })
            .collect(),
    }
}

/// Whether a line is thick enough; the heaviest line to each box is always drawn.
fn is_shown(edge: &Edge, below: &Subgraph, least: u64) -> bool {
    // Edges are ordered by weight.
    let first = below.edges.iter().find(|other| other.to == edge.to);
    edge.weight as f64 >= LEAST_LINE * least as f64 || first == Some(edge)
}

fn part(of: u64, all: u64) -> f64 {
    of as f64 / (all as f64).max(1.0)
}

impl Drawn<'_> {
    fn of_all(&self, weight: u64) -> String {
        percent(part(weight, self.all))
    }

    fn named(&self, node: &Node) -> (String, Kind) {
        node.function.map_or_else(|| (self.root.to_owned(), Kind::All), self.name)
    }

    /// A node's box; the filled part is the share of its cost, with callees, that belongs to the root.
    fn one(&self, node: &Node) -> Box {
        let (name, kind) = self.named(node);
        let (with, of_all) = (part(node.here, node.all), |weight| self.of_all(weight));
        // A function without cost of its own appears only because of its callees.
        let itself = if node.own == 0 {
            "calls only".to_owned()
        } else {
            format!("itself {}, {} here", of_all(node.own), percent(part(node.own_here, node.own)))
        };
        Box {
            about: format!(
                "{name}: {} of all CPU time with callees, of which {} for {root}; {} itself, of which {} for {root}",
                of_all(node.all),
                percent(with),
                of_all(node.own),
                percent(part(node.own_here, node.own)),
                root = self.root
            ),
            name,
            lines: vec![format!("{}, {} here", of_all(node.all), percent(with)), itself],
            filled: with,
            kind,
        }
    }

    fn about_line(&self, edge: &Edge) -> String {
        let name = |at: usize| self.named(&self.below.nodes[at]).0;
        let direct = percent(part(edge.direct, edge.weight));
        format!(
            "{} to {}: {} of all CPU time; {direct} of it called directly",
            name(edge.from),
            name(edge.to),
            self.of_all(edge.weight)
        )
    }
}
