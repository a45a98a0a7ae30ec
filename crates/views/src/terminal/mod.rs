//! Text for terminals, wrapped to their width and optionally coloured.

mod bar;
mod causes;
mod flow;
mod flows;
mod groups;
mod header;
mod look;
mod palette;

pub use causes::{cause_catalogue, cause_page};
pub use flows::{flow_long, flows_long, flows_table};
pub use look::Look;

use crate::diagnosis::Diagnosis;
use crate::quantity::counted;
use std::io;

/// Writes the whole diagnosis: the recordings, the flows in full, and the groups of the others.
///
/// # Errors
///
/// The errors of `out`.
pub fn diagnosis(diagnosis: &Diagnosis<'_>, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let ranking = &diagnosis.ranking;
    header::write(diagnosis, look, out)?;
    let mut advised = flow::Advised::new();
    for flow in &ranking.full {
        writeln!(out)?;
        flow::write(diagnosis, flow, &mut advised, look, out)?;
    }
    groups::write(ranking, look, out)?;
    if ranking.left_out > 0 {
        writeln!(out)?;
        let text = format!("{} not shown, as asked for.", counted(ranking.left_out, "flow"));
        look.paragraph(out, "", &text)?;
    }
    Ok(())
}
