//! `slowpath causes`: the causes that a verdict can name.

use crate::Outcome;
use crate::choice::named;
use crate::console::{self, Console};
use clap::Args;
use clap::builder::TypedValueParser;
use slowpath_analyses::Cause;
use slowpath_remedies::handbook_text;
use slowpath_views::{json, terminal};

/// Arguments of `causes`.
#[derive(Args)]
#[command(after_help = slowpath_views::help::CAUSES)]
pub struct Causes {
    /// The cause to explain, as `slowpath causes` lists it, with or without its limit; all are listed if it is not given
    #[arg(value_name = "CAUSE", value_parser = by_name(), hide_possible_values = true)]
    pub cause: Option<Cause>,
    /// Print JSON (schema slowpath/causes/1)
    #[arg(long)]
    pub json: bool,
}

/// Causes by their names, with or without the limit before them.
fn by_name() -> impl TypedValueParser<Value = Cause> {
    named(Cause::ALL.iter().map(|cause| {
        let name = cause.to_string();
        let short = name.split_once('/').map(|(_, short)| short.to_owned());
        (*cause, name, short)
    }))
}

pub fn run(args: &Causes, console: &Console) -> anyhow::Result<Outcome> {
    let asked = args.cause.map_or_else(|| Cause::ALL.to_vec(), |cause| vec![cause]);
    console::print_result(
        args.json,
        || json::Causes::of(&asked, handbook_text),
        |out| match args.cause {
            Some(cause) => terminal::cause_page(cause, handbook_text(cause), &console.look(), out),
            None => terminal::cause_catalogue(&console.look(), out),
        },
    )?;
    Ok(Outcome::Whole)
}
