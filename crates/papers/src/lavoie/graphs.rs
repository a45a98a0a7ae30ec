//! Figures 14 to 19: the functions below TCP receive and below sending, for each file size.
//!
//! A box is one of the paper's operations, or a function that belongs to none. Samples are attributed as in the tables.

use super::Runs;
use super::measured::{Owner, ServerSamples};
use crate::graph::{About, Graph};
use slowpath_cost::functions::{Function, Functions, Image};
use slowpath_cost::names::plain;
use slowpath_cost::operations::Operation;
use slowpath_cost::subgraph::{Place, Subgraph, Way};

/// Functions with less than this share of the CPU in them and below are omitted; and nobody reads more than that many
/// in one graph.
const LEAST: f64 = 0.005;
const MOST: usize = 40;

struct Below {
    kib: u32,
    owner: Owner,
    about: About,
}

const fn below(kib: u32, owner: Owner, name: &'static str, about: &'static str, says: &'static str) -> Below {
    let root = match owner {
        Owner::Message => "TCP send message",
        Owner::Pages => "TCP send pages",
        _ => "TCP receive",
    };
    Below { kib, owner, about: About { name, about, says, root } }
}

const BELOW: [Below; 6] = [
    below(
        1,
        Owner::Receive,
        "Figure 14",
        "what works below TCP receive, 1K files",
        "lock sock takes 3 % of the CPU, a tenth of which is TCP receive's; to free sk buffers is all its own",
    ),
    below(
        1,
        Owner::Message,
        "Figure 15",
        "what works below TCP send message, 1K files",
        "of TCP transmit sk buffer TCP send message has 50 %, and ACKs have 41 %",
    ),
    below(
        8,
        Owner::Receive,
        "Figure 16",
        "what works below TCP receive, 8K files",
        "what sending costs at the device is more TCP receive's than TCP send pages'",
    ),
    below(
        8,
        Owner::Pages,
        "Figure 17",
        "what works below TCP send pages, 8K files",
        "ACKs have 23 % of what sending costs; TCP send message has 16 % of sk buffer clone, 21 % of IP output and 14 % of sk \
         buffer allocation",
    ),
    below(
        64,
        Owner::Receive,
        "Figure 18",
        "what works below TCP receive, 64K files",
        "of TCP push pending frames TCP receive has 96 %: what waits is sent as ACKs come",
    ),
    below(
        64,
        Owner::Pages,
        "Figure 19",
        "what works below TCP send pages, 64K files",
        "allocation and locking move towards TCP send pages as files grow",
    ),
];

/// The graphs whose cases were run.
pub fn graphs(measured: &Runs) -> Vec<Graph> {
    let graph = |of: &Below| {
        let graph = graph(of, measured.plain(of.kib)?);
        (graph.nodes[0].here > 0).then_some(graph)
    };
    BELOW.iter().filter_map(graph).collect()
}

fn graph(of: &Below, measured: &ServerSamples) -> Graph {
    let functions = &measured.called;
    let mut names = Functions::default();
    let root = names.of(of.about.root, &Image::Kernel(None));
    let shown: Vec<Function> =
        functions.iter().map(|function| shown(functions, function, &mut names)).collect();
    let place = |(function, owner): &(Function, Owner)| {
        let shown = shown[function.0 as usize];
        Place { function: (shown != root).then_some(shown), is_here: *owner == of.owner }
    };
    let ways: Vec<Way> = measured
        .stacks
        .iter()
        .map(|stack| Way { places: stack.places.iter().map(place).collect(), weight: stack.samples })
        .collect();
    let least = ((measured.total as f64 * LEAST).ceil() as u64).max(1);
    let below = Subgraph::of(&ways, least, MOST);
    Graph::new(of.about, &below, &names, [measured.total, least])
}

/// The name that a function is shown under: an operation has several functions.
fn shown(functions: &Functions, function: Function, names: &mut Functions) -> Function {
    let (name, image) = (functions.name(function), functions.image(function));
    match image {
        Image::User(_) => names.of(name, image),
        _ => {
            let name = plain(name);
            let name = Operation::of_kernel(name).map_or(name, |operation| operation.name);
            names.of(name, &Image::Kernel(None))
        }
    }
}
