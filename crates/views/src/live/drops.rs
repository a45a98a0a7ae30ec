//! Packets that the kernel dropped, and their effect on a transfer.

use crate::quantity::counted;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_live::Dropped;
use slowpath_remedies::drop_meaning;
use std::io::{self, Write};

/// Packets that the kernel dropped for a reason.
#[derive(Serialize, JsonSchema)]
pub struct DropResult<'a> {
    /// The kernel's name of it (`enum skb_drop_reason`), without `SKB_DROP_REASON_`.
    reason: &'a str,
    /// How many.
    packets: u64,
    /// What it means for a transfer; `null` where slowpath does not know.
    means: Option<&'static str>,
}

impl<'a> DropResult<'a> {
    pub fn all(dropped: &'a [Dropped]) -> Vec<Self> {
        let result = |one: &'a Dropped| Self {
            reason: &one.reason,
            packets: one.packets,
            means: drop_meaning(&one.reason),
        };
        dropped.iter().map(result).collect()
    }
}

/// Prints a line for each reason, starting with `before`.
pub fn print(before: &str, dropped: &[Dropped], out: &mut impl Write) -> io::Result<()> {
    for Dropped { reason, packets } in dropped {
        write!(out, "{before} {}, {reason}", counted(*packets, "packet"))?;
        match drop_meaning(reason) {
            Some(means) => writeln!(out, ": {means}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}
