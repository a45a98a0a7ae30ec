//! `slowpath probe`: measures a path with its own packets, and is the far end that answers them.

use crate::Outcome;
use crate::choice::described;
use crate::console::{self, Console, warn};
use crate::interrupt::Interrupt;
use crate::scenario::Changes;
use anyhow::{bail, ensure};
use clap::{Args, ValueHint};
use slowpath_model::Rate;
use slowpath_probe::measure::Progress;
use slowpath_probe::measure::ramp::MOST_STEPS;
use slowpath_probe::real::{Caps, PORT};
use slowpath_runs::probe::{Asked, What};
use slowpath_runs::values::{addresses, highest, longest, rates};
use slowpath_views::{help, probe as view};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// Arguments of `probe`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Probe {
    /// The other host, by name or address, where `slowpath probe --serve` runs; or a scenario file
    #[arg(value_name = "HOST|FILE", required_unless_present = "serve", value_hint = ValueHint::Hostname)]
    target: Option<String>,
    /// Run the far end, until Ctrl-C
    #[arg(long, conflicts_with_all = ["target", "port", "measure", "reverse", "ramp", "steps", "tcp", "set", "seed", "json"])]
    serve: bool,
    /// With --serve: the address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", requires = "serve", default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
    listen: SocketAddr,
    /// With --serve: the highest rate of a packet train, in either direction
    #[arg(long, value_name = "RATE", requires = "serve", default_value = "1Gbit/s", value_parser = highest)]
    max_rate: Rate,
    /// With --serve: the longest packet train or transfer
    #[arg(long, value_name = "TIME", requires = "serve", default_value = "10s", value_parser = longest)]
    max_duration: Duration,
    #[arg(long, value_name = "PORT", help = format!("The far end's port [default: {PORT}]"))]
    port: Option<u16>,
    /// What to measure, separated by commas; default: everything
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = described(help::MEASUREMENTS))]
    measure: Vec<What>,
    /// Measure from the far end to this host
    #[arg(long)]
    reverse: bool,
    /// The lowest and highest rate of the ramp, such as 300Mbit/s..1Gbit/s; default: up to 1.1 times the capacity
    #[arg(long, value_name = "FROM..TO", value_parser = rates)]
    ramp: Option<(Rate, Rate)>,
    /// The number of rates in the ramp [default: 11]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_STEPS)))]
    steps: Option<u32>,
    /// The duration of each TCP transfer [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = longest)]
    tcp: Option<Duration>,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON (schema slowpath/probe/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Probe, console: &Console) -> anyhow::Result<Outcome> {
    let Some(target) = &args.target else {
        let (interrupt, caps) =
            (Interrupt::listen()?, Caps { rate: args.max_rate, duration: args.max_duration });
        slowpath_runs::probe::serve(args.listen, caps, &|| interrupt.has_come(), &console::log)?;
        return Ok(Outcome::Whole);
    };
    let asked = Asked {
        measure: &args.measure,
        is_reversed: args.reverse,
        ramp: args.ramp,
        steps: args.steps,
        tcp: args.tcp,
    };
    asked.check()?;
    let found = if Path::new(target).extension().is_some_and(|extension| extension == "toml") {
        ensure!(args.port.is_none(), "--port is for hosts; {target} is a scenario file");
        if args.tcp.is_some() || args.measure == [What::Tcp] {
            bail!("to simulate a TCP transfer on this path, use `slowpath run {target}`");
        }
        let scenario = args.changes.load(Path::new(target))?;
        slowpath_runs::probe::simulated(&scenario, asked.wanted(), args.reverse, &mut shown(console))?
    } else {
        ensure!(!args.changes.are_any(), "--set and --seed are for scenario files; {target} is a host");
        let interrupt = Interrupt::listen()?;
        let (addresses, stop) = (addresses(target, args.port.unwrap_or(PORT))?, || interrupt.has_come());
        slowpath_runs::probe::measured(
            &addresses,
            asked.wanted(),
            asked.transfers(),
            &stop,
            &mut shown(console),
            &warn,
        )?
    };
    let print = |out: &mut _| view::print(target, &found, &console.look(), out);
    console::print_result(args.json, || view::ProbeDocument::new(target, &found), print)?;
    Ok(if found.is_whole() { Outcome::Whole } else { Outcome::Partial })
}

/// Shows progress step by step.
fn shown(console: &Console) -> impl FnMut(Progress) {
    let mut shown = None;
    move |progress| {
        // The previous step is cleared first.
        drop(shown.take());
        shown = Some(console.working(&view::progress(progress)));
    }
}
