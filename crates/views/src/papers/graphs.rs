//! A paper's call graphs, on its page.

use crate::chart::escaped;
use crate::flame::Kind;
use crate::layers::inline;
use crate::profile::graph::{Drawn, graph};
use crate::quantity::count;
use slowpath_cost::Function;
use slowpath_papers::Graph;
use std::fmt::{self, Write};

const HOW_GRAPHS_ARE_READ: &str = "A box is one of the paper's operations, or a kernel function that belongs to \
                                   none. Its first line gives its share of all CPU time, callees included, and \
                                   the part of that share that belongs to the operation on top, which is the \
                                   filled part of the box. Its second line gives the same for its own cost, \
                                   without callees. The number at a line is the cost of the calls along it; the \
                                   line is dashed where functions in between are too small to be shown, or where \
                                   segments were handled when a process released the socket.";

/// Writes all graphs, one below the other.
pub fn write(graphs: &[Graph], out: &mut String) -> fmt::Result {
    if graphs.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h3 id=\"graphs\">Call graphs</h3>\n<p class=\"faint\">{}</p>\n<div class=\"graphs\">",
        escaped(HOW_GRAPHS_ARE_READ)
    )?;
    graphs.iter().try_for_each(|graph| write_graph(graph, out))?;
    writeln!(out, "</div>")
}

fn write_graph(of: &Graph, out: &mut String) -> fmt::Result {
    let below = of.below();
    let name = |function: Function| {
        (of.nodes.get(function.0 as usize).map_or_else(String::new, |node| node.name.clone()), Kind::Kernel)
    };
    let drawn = graph(&Drawn { root: of.root, all: of.samples, least: of.least, below: &below, name: &name });
    // Wide graphs scroll, also with the keyboard.
    writeln!(
        out,
        "<figure>\n<figcaption><b>{}</b> {}. {}, {} samples.</figcaption>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}: {}\">\n{}</div>\n\
         <p><span class=\"faint\">In the paper:</span> {}.</p>\n</figure>",
        escaped(of.name),
        escaped(of.about),
        escaped(&drawn.title),
        count(of.samples),
        escaped(of.name),
        escaped(of.about),
        inline(&drawn),
        escaped(of.says)
    )
}
