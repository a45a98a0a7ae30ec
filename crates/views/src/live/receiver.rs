//! What limited a transfer at its receiver, and how to fix it.

use crate::json::Advice;
use crate::quantity::share;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::hosts::EndAccount;
use slowpath_remedies::advise_on_host;
use std::io::{self, Write};

/// What limited a transfer at its receiver.
#[derive(Serialize, JsonSchema)]
pub struct ReceiverResult {
    /// The cause, as `slowpath causes` has it.
    cause: String,
    /// For how long, in seconds.
    seconds: f64,
    /// As a share, from 0 to 1, of the time in which data arrived or waited.
    share: f64,
    /// The fix; `null` if no advice is known.
    advice: Option<Advice>,
}

impl ReceiverResult {
    pub fn all(account: &EndAccount) -> Vec<Self> {
        let bounds = account.receiving.bounds().into_iter();
        let result = bounds.map(|bound| Self {
            cause: bound.cause.to_string(),
            seconds: bound.lasted.as_secs_f64(),
            share: bound.share,
            advice: advise_on_host(bound.cause).map(Advice::of),
        });
        result.collect()
    }
}

/// Prints a line for each significant cause, and its fix.
pub fn print(endpoint: &str, account: &EndAccount, least: f64, out: &mut impl Write) -> io::Result<()> {
    let bounds = account.receiving.bounds();
    let worth: Vec<_> = bounds.into_iter().filter(|bound| bound.share >= least).collect();
    if !worth.is_empty() {
        writeln!(out, "   delayed at {endpoint}, of the time in which data arrived or was waiting:")?;
    }
    for bound in worth {
        writeln!(out, "{:>10}  {}: {}", share(bound.share), bound.cause, bound.cause.title())?;
        let Some(advice) = advise_on_host(bound.cause) else { continue };
        writeln!(out, "            {}", advice.text)?;
        for fix in &advice.fixes {
            writeln!(out, "              {}", fix.command)?;
            if let Some(undo) = &fix.undo {
                writeln!(out, "                # undo: {undo}")?;
            }
        }
    }
    Ok(())
}
