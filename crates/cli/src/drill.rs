//! `slowpath drill`: scripts in packetdrill's language, on the model or on the kernel of this machine.

use crate::Outcome;
use crate::console;
use anyhow::bail;
use clap::{Args, ValueHint};
use slowpath_model::units::duration_from_text;
use slowpath_runs::drill;
use slowpath_views::{drill as view, json};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `drill`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Drill {
    /// Scripts, or folders: all *.pkt below them
    #[arg(required = true, value_name = "SCRIPT", value_hint = ValueHint::AnyPath)]
    scripts: Vec<PathBuf>,
    /// How far from its time an event may be, such as 10ms; scripts may set their own
    #[arg(long, value_name = "DURATION", value_parser = duration_from_text)]
    tolerance: Option<Duration>,
    /// The kernel to model, by its name in `slowpath kernels`
    #[arg(long, value_name = "KERNEL", default_value = "linux-6.18", conflicts_with = "lab")]
    kernel: String,
    /// HZ of the kernel to model, instead of its usual value
    #[arg(long, value_name = "HZ", conflicts_with = "lab", value_parser = clap::value_parser!(u32).range(24..=1000))]
    hz: Option<u32>,
    /// Run on the kernel of this machine, in a network namespace of its own (as root)
    #[arg(long)]
    lab: bool,
    /// A packetdrill option for every script, such as define=NAME=VALUE or ip_version=ipv6
    #[arg(long = "option", value_name = "NAME[=VALUE]")]
    options: Vec<String>,
    /// Also print what happened, as lines of a script
    #[arg(long, short)]
    verbose: bool,
    /// Print JSON (schema slowpath/drill/1), one object a script
    #[arg(long, conflicts_with = "verbose")]
    json: bool,
}

pub fn run(args: &Drill) -> anyhow::Result<Outcome> {
    let config = drill::config(args.tolerance, &args.options)?;
    let kernel = if args.lab { None } else { Some(drill::kernel(&args.kernel, args.hz)?) };
    let scripts = drill::scripts(&args.scripts)?;
    if scripts.is_empty() {
        bail!("there are no scripts (*.pkt) in these folders");
    }
    let (mut out, mut passed) = (console::stdout(), 0);
    for path in &scripts {
        let report = drill::run(path, &config, kernel.as_ref())?;
        passed += usize::from(report.passed());
        let name = path.display().to_string();
        if args.json {
            json::write_line(&view::DrillDocument::new(&name, &report), &mut out)?;
        } else {
            view::print(&name, &report, args.verbose, &mut out)?;
        }
        out.flush()?;
    }
    if !args.json {
        writeln!(out, "{passed} of {} passed", scripts.len())?;
        out.flush()?;
    }
    Ok(if passed == scripts.len() { Outcome::Whole } else { Outcome::Partial })
}
