//! `slowpath`: where a TCP transfer loses its time, and how to recover it.
//!
//! Arguments and wiring only; what is known is in the crates behind.

mod anonymize;
mod args;
mod causes;
mod choice;
mod connections;
mod console;
mod cookbook;
mod copy;
mod diagnose;
mod diff;
mod doctor;
mod drill;
mod explain;
mod flows;
mod ftp;
mod kernels;
mod lab;
mod live;
mod man;
mod output;
mod papers;
mod paths;
mod probe;
mod profile;
mod recording;
mod run;
mod scenario;
mod show;
mod sweep;
mod tune;
mod tunings;
mod watch;
mod what_if;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use console::Console;
use slowpath_runs::interrupt;
use std::io;
use std::process::ExitCode;

/// How it went, where something came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of the input was used, or all that matters.
    Whole,
    /// The input was damaged, or a part that matters was skipped.
    Partial,
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| args::refuse(&error));
    let console = Console::new(&cli.output);
    match run(cli.command, &console) {
        Ok(Outcome::Whole) => ExitCode::SUCCESS,
        Ok(Outcome::Partial) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            console::fail(&error);
            ExitCode::from(2)
        }
    }
}

fn run(command: Command, console: &Console) -> anyhow::Result<Outcome> {
    match command {
        Command::Diagnose(args) => diagnose::run(&args, console),
        Command::Diff(args) => diff::run(&args, console),
        Command::Watch(args) => watch::run(&args, console),
        Command::Show(args) => show::run(&args, console),
        Command::Flows(args) => flows::run(&args, console),
        Command::Anonymize(args) => anonymize::run(&args, console),
        Command::Cookbook(args) => cookbook::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Causes(args) => causes::run(&args, console),
        Command::Run(args) => run::run(&args, console),
        Command::Sweep(args) => sweep::run(&args, console),
        Command::Lab(args) => lab::run(&args, console),
        Command::Papers(args) => papers::run(&args, console),
        Command::CompareTunings(args) => tunings::run(&args, console),
        Command::WhatIf(args) => what_if::run(&args, console),
        Command::Doctor(args) => doctor::run(&args, console),
        Command::Tune(args) => tune::run(&args, console),
        Command::Paths(args) => paths::run(&args, console),
        Command::Probe(args) => probe::run(&args, console),
        Command::Copy(args) => copy::run(&args, console),
        Command::Ftp(args) => ftp::run(&args, console),
        Command::Profile(args) => profile::run(&args, console),
        Command::Drill(args) => drill::run(&args),
        Command::Scenario(args) => scenario::run(&args),
        Command::Kernels(args) => kernels::run(&args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "slowpath", &mut text);
            console::print(&text)
        }
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

/// Whether the reader of the output went away, as `head` does: no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_io = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(is_io)
}
