//! `slowpath profile record`: records a profile with perf.

use crate::Outcome;
use crate::choice::keys;
use crate::console::{self, Console, warn};
use crate::interrupt::Interrupt;
use anyhow::bail;
use clap::{Args, ValueHint};
use slowpath_files::{Existing, check_output};
use slowpath_model::units::duration_from_text;
use slowpath_profile::{Recorder, Unwinding, What};
use slowpath_runs::work::{conclude, is_whole};
use slowpath_views::profile::{help, record as view};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `profile record`.
#[derive(Args)]
#[command(after_long_help = help::RECORD)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["system", "pid", "command"])))]
pub struct Record {
    /// Sample the whole host for this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    system: Option<Duration>,
    /// With --system: sample only these CPUs, such as 2,3
    #[arg(long, value_name = "CPU", value_delimiter = ',', requires = "system", conflicts_with_all = ["pid", "command"])]
    cpus: Vec<u32>,
    /// Sample this process, until it ends
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// Stop after this time, and end the command
    #[arg(long, value_name = "TIME", value_parser = duration_from_text, default_value = "1h", conflicts_with = "system")]
    longest: Duration,
    /// The file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "perf.data")]
    out: PathBuf,
    /// The event to sample, as perf names it; default: cycles if they can be counted, else cpu-clock
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
    /// Samples per second and CPU
    #[arg(long, value_name = "N", default_value_t = slowpath_profile::record::FREQUENCY, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    frequency: u32,
    /// How perf finds callers: fp, by frame pointers, or dwarf, from stack dumps, which only `perf script` can read
    #[arg(long, value_name = "HOW", default_value = "fp", value_parser = keys(Unwinding::ALL, Unwinding::name))]
    call_graph: Unwinding,
    /// Print JSON (schema slowpath/profile-record/1) instead of text; what the command prints goes to standard error
    #[arg(long)]
    json: bool,
    /// The command to run and sample, after --
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

pub fn run(args: &Record, console: &Console) -> anyhow::Result<Outcome> {
    if args.out.as_os_str() == "-" {
        bail!("--out -: samples cannot go to standard output; give the name of a file");
    }
    // perf moves an older one aside.
    check_output(&args.out, Existing::Replace, &[])?;
    let interrupt = Interrupt::listen()?;
    let starting = console.working("getting ready");
    let mut recording = recorder(args).start()?;
    drop(starting);
    for warning in recording.warnings() {
        warn(warning);
    }
    // A command draws on the terminal itself.
    let bar = args.system.map(|time| console.lasting("recording", time));
    let is_early = recording.wait(&|| interrupt.has_come(), &|over| {
        if let Some(bar) = &bar {
            bar.at_time(over);
        }
    });
    drop(bar);
    let finishing = console.working("writing the profile");
    let recorded = recording.stop()?;
    drop(finishing);
    let (work_file, counted) = conclude(&recorded, &warn);
    let is_early = is_early || recorded.cut_short;
    let document = view::document(&recorded, work_file.as_deref(), counted.as_ref(), is_early);
    if args.json {
        console::print_result(true, || &document, |_| Ok(()))?;
    } else {
        let mut text = Vec::new();
        view::print(&recorded, &document, &mut text)?;
        if args.command.is_empty() {
            console::print(&text)?;
        } else {
            // Standard output is the command's. Where standard error is gone, there is nobody to tell.
            let _ = console::stderr().write_all(&text);
        }
    }
    let is_whole = is_whole(&recorded, counted.as_ref(), is_early, &warn);
    Ok(if is_whole { Outcome::Whole } else { Outcome::Partial })
}

fn recorder(args: &Record) -> Recorder {
    let what = match (args.system, args.pid) {
        (Some(_), _) => What::System { cpus: (!args.cpus.is_empty()).then(|| args.cpus.clone()) },
        (None, Some(pid)) => What::Process(pid),
        (None, None) => What::Command(args.command.clone()),
    };
    Recorder {
        event: args.event.clone(),
        frequency: args.frequency,
        unwinding: args.call_graph,
        longest: args.system.unwrap_or(args.longest),
        output_to_stderr: args.json,
        ..Recorder::new(what, &args.out)
    }
}
