//! Text for terminals, wrapped to their width and optionally coloured.

mod bar;
mod causes;
mod flow;
mod flows;
mod header;
mod look;
mod palette;
mod services;
mod summary;

pub use bar::parts;
pub use causes::{cause_catalogue, cause_page};
pub use flows::{flow_long, flows_long, flows_table};
pub(crate) use header::{WARNING, one as recording};
pub use look::Look;
pub(crate) use palette::colour;
pub use palette::{colour_index, letter};
pub use services::{ROWS, services};
pub use summary::summary;

use crate::diagnosis::Diagnosis;
use crate::quantity::counted;
use crate::words;
use slowpath_analyses::report::FlowReport;
use std::io;

/// Writes the whole diagnosis: the recordings, the services if there are several flows, and flows in full.
///
/// # Errors
///
/// The errors of `out`.
pub fn diagnosis(diagnosis: &Diagnosis<'_>, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let ranking = &diagnosis.ranking;
    header::write(diagnosis, look, out)?;
    let (in_full, named) = ranking.shown();
    if (in_full.len() as u64) < ranking.taken() {
        writeln!(out)?;
        services(&ranking.services(), &[], ROWS, look, out)?;
        slowest(named, look, out)?;
        writeln!(out)?;
        let how = if named.is_empty() { MORE_IN_FULL } else { ONE_IN_FULL };
        look.paragraph(out, "", &format!("{how} {COLUMNS}"))?;
    }
    let mut advised = flow::Advised::new();
    for flow in in_full {
        writeln!(out)?;
        flow::write(diagnosis, flow, &mut advised, look, out)?;
    }
    left_out(ranking.left_out, look, out)
}

/// How to see more of `diagnose`.
const ONE_IN_FULL: &str = "One flow in full: --flow N. The N slowest in full: --top N. Other rows: --by peer, for \
                           example. A line a flow: slowpath flows.";
/// How to see more where flows are already shown in full: also of commands that do not choose flows.
const MORE_IN_FULL: &str = "More of them in full: --top N. A line a flow: slowpath flows.";
/// Where the columns are defined.
const COLUMNS: &str = "What the columns mean: diagnose --help, and in the handbook the page Measures.";

/// Names the slowest flows, with their verdicts.
fn slowest(flows: &[FlowReport], look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    if flows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", look.strong("Slowest flows"))?;
    flows.iter().try_for_each(|flow| look.paragraph(out, "  • ", &words::in_a_line(flow)))
}

fn left_out(flows: u64, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    if flows == 0 {
        return Ok(());
    }
    writeln!(out)?;
    look.paragraph(out, "", &format!("{} not shown, as asked for.", counted(flows, "flow")))
}
