//! The flows that are not shown in full, alike ones together.

use super::look::Look;
use crate::quantity::{counted, duration};
use crate::rank::{Group, Ranking};
use crate::words;
use slowpath_model::Bytes;
use std::io;

/// Groups shown; the others are summed up.
const MOST_GROUPS: usize = 15;

/// Writes a line or two per group.
pub(crate) fn write(ranking: &Ranking<'_>, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    if ranking.groups.is_empty() {
        return Ok(());
    }
    let others: u64 = ranking.groups.iter().map(|group| group.flows.len() as u64).sum();
    writeln!(out)?;
    writeln!(out, "{}", look.strong(&format!("{} more, alike ones together", counted(others, "flow"))))?;
    let (shown, rest) = ranking.groups.split_at(MOST_GROUPS.min(ranking.groups.len()));
    for group in shown {
        look.paragraph(out, "  • ", &sentence(group))?;
    }
    if !rest.is_empty() {
        let flows: u64 = rest.iter().map(|group| group.flows.len() as u64).sum();
        let bytes: Bytes = rest.iter().map(Group::bytes).sum();
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

fn sentence(group: &Group<'_>) -> String {
    if let [flow] = group.flows.as_slice() {
        let verdict = match group.cause {
            Some(_) => format!("{}.", words::verdict_in_short(flow)),
            None => words::verdict(flow),
        };
        return format!("flow {}: {} {}. {verdict}", flow.id, words::ends(flow), words::moved(flow));
    }
    let cause = match group.cause {
        Some(cause) => format!("mostly bound by {}", cause.title()),
        None => "without data".to_owned(),
    };
    let ids: Vec<_> = group.flows.iter().take(3).map(|flow| flow.id.to_string()).collect();
    format!(
        "{} to {}: {} in all, {} each (median), {cause} (flows {}{})",
        counted(group.flows.len() as u64, "flow"),
        group.server,
        group.bytes(),
        duration(group.median_lasted()),
        ids.join(", "),
        if group.flows.len() > ids.len() { ", …" } else { "" }
    )
}
