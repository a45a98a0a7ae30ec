//! `slowpath what-if`: a captured transfer with other settings.

use crate::console::{self, Console};
use crate::{Outcome, choice::places, output::Force, recording};
use clap::{Args, ValueHint};
use slowpath_analyses::{Analysis, VantageOverride};
use slowpath_kernels::Release;
use slowpath_model::FlowId;
use slowpath_runs::what_if::{Wanted, answer};
use slowpath_runs::{input::options, interrupt::Interrupt, values::flow_id};
use slowpath_views::what_if::{self as view, WhatIfDocument};
use slowpath_whatif::{Remedy, Traces};
use std::path::PathBuf;

/// Arguments of `what-if`.
#[derive(Args)]
#[command(after_long_help = view::HELP, visible_alias = "upgrade-check")]
pub struct WhatIf {
    /// The capture, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[arg(long = "try", value_name = "REMEDY", help = view::TRY)]
    tries: Vec<Remedy>,
    /// The kernel that both hosts ran, as `slowpath kernels` names it
    #[arg(long, value_name = "KERNEL", default_value = "6.18")]
    from: Release,
    #[arg(long, value_name = "KERNEL", conflicts_with = "tries", help = view::TO)]
    to: Option<Release>,
    /// The flow with this number, as `slowpath flows` prints it; by default the one with the most data
    #[arg(long, value_name = "N", value_parser = flow_id)]
    flow: Option<FlowId>,
    /// Where the capture was made, if slowpath should not infer it
    #[arg(long, value_name = "PLACE", value_parser = places())]
    vantage: Option<VantageOverride>,
    /// Write the fitted scenario to this file, with where each value is from
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print JSON (schema slowpath/what-if/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &WhatIf, console: &Console) -> anyhow::Result<Outcome> {
    args.force.check(args.scenario.as_deref(), std::slice::from_ref(&args.file), "--scenario")?;
    let fresh = || Analysis::with_labels(options(args.vantage, &args.file), Traces::new(args.flow));
    let (read, analysis) = recording::analyse(&args.file, None, console, fresh)?;
    recording::warn_of(&read.recording);
    let interrupt = Interrupt::listen()?;
    let bar = console.working("fitting");
    let at = |stage| bar.tell(&view::stage(stage));
    let wanted = Wanted { kernel: args.from, upgrade: args.to, tries: &args.tries };
    let answer = answer(analysis, args.flow, wanted, interrupt.flag(), &at);
    drop(bar);
    recording::require(args.flow.unwrap_or(FlowId(1)), answer.is_some(), &read)?;
    let Some(answer) = answer else { return Ok(Outcome::Partial) };
    if let (Some(file), Ok(found)) = (&args.scenario, &answer.result) {
        args.force.write(file, view::scenario(&answer, found, read.input.name()))?;
    }
    let print = |out: &mut _| view::print(&answer, &console.look(), out);
    console::print_result(args.json, || WhatIfDocument::new(&answer), print)?;
    Ok(if answer.result.is_ok() { recording::outcome(&[read.recording]) } else { Outcome::Partial })
}
