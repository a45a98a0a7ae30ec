//! `slowpath causes`: what a verdict can name.

use crate::Outcome;
use crate::args::Causes;
use crate::console::{self, Console};
use slowpath_analyses::Cause;
use slowpath_remedies::handbook_text;
use slowpath_views::{json, terminal};
use std::io::Write;

pub fn run(args: &Causes, console: &Console) -> anyhow::Result<Outcome> {
    let asked = args.cause.map_or_else(|| Cause::ALL.to_vec(), |cause| vec![cause]);
    let mut out = console::stdout();
    match args.cause {
        _ if args.json => {
            serde_json::to_writer_pretty(&mut out, &json::Causes::of(&asked, handbook_text))?;
            writeln!(out)?;
        }
        Some(cause) => terminal::cause_page(cause, handbook_text(cause), &console.look(), &mut out)?,
        None => terminal::cause_catalogue(&console.look(), &mut out)?,
    }
    out.flush()?;
    Ok(Outcome::Whole)
}
