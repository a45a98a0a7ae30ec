//! The flows not shown in full, in groups.

use super::look::Look;
use crate::quantity::counted;
use crate::rank::Ranking;
use slowpath_model::Bytes;
use std::io;

/// The most groups shown; the others are summed up.
const MOST_GROUPS: usize = 15;

/// Writes a line or two per group.
pub(crate) fn write(ranking: &Ranking, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    if ranking.groups.is_empty() {
        return Ok(());
    }
    let others: u64 = ranking.groups.iter().map(|group| group.flows).sum();
    writeln!(out)?;
    writeln!(out, "{}", look.strong(&format!("{} more, alike ones together", counted(others, "flow"))))?;
    let (shown, rest) = ranking.groups.split_at(MOST_GROUPS.min(ranking.groups.len()));
    for group in shown {
        look.paragraph(out, "  • ", &group.in_a_line())?;
    }
    if !rest.is_empty() {
        let flows: u64 = rest.iter().map(|group| group.flows).sum();
        let bytes: Bytes = rest.iter().map(|group| group.bytes).sum();
        let text = format!(
            "and {} in {}, {bytes} in all",
            counted(flows, "flow"),
            counted(rest.len() as u64, "group")
        );
        look.paragraph(out, "  ", &text)?;
    }
    look.paragraph(
        out,
        "  ",
        "One of them in full: --flow N. More of them in full: --top N. A line each: slowpath flows.",
    )
}
