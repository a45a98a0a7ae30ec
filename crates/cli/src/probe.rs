//! `slowpath probe`: measures a path with its own packets, and is the far end that answers them.

use crate::Outcome;
use crate::console::{self, Console, warn};
use crate::interrupt::Interrupt;
use crate::scenario::Changes;
use anyhow::{bail, ensure};
use clap::{Args, ValueEnum, ValueHint};
use slowpath_model::Rate;
use slowpath_probe::findings::Wanted;
use slowpath_probe::measure::ramp::{MOST_STEPS, Rates};
use slowpath_probe::measure::{Direction, Progress};
use slowpath_probe::real::{Caps, PORT};
use slowpath_runs::values::{addresses, highest, longest, rates};
use slowpath_views::probe as view;
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
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
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

/// Rates in a ramp, unless --steps is given.
const STEPS: u32 = 11;
/// Duration of a TCP transfer, unless --tcp is given.
const TRANSFER: Duration = Duration::from_secs(3);

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The RTT
    Rtt,
    /// The rate of the bottleneck link
    Capacity,
    /// The rate that other traffic leaves
    Available,
    /// Loss at increasing rates of UDP
    Ramp,
    /// A TCP transfer each way
    Tcp,
}

impl Probe {
    fn wants(&self, what: What) -> bool {
        self.measure.is_empty() || self.measure.contains(&what)
    }

    /// Refuses options for a measurement that is not made.
    fn check(&self) -> anyhow::Result<()> {
        for (is_given, option, what, name) in [
            (self.ramp.is_some(), "--ramp", What::Ramp, "ramp"),
            (self.steps.is_some(), "--steps", What::Ramp, "ramp"),
            (self.tcp.is_some(), "--tcp", What::Tcp, "tcp"),
        ] {
            ensure!(!is_given || self.wants(what), "{option} needs {name} in --measure");
        }
        Ok(())
    }

    fn wanted(&self) -> Wanted {
        let steps = self.steps.unwrap_or(STEPS);
        Wanted {
            direction: if self.reverse { Direction::Back } else { Direction::There },
            // The search for the available rate starts from the capacity, and the default ramp ends above it.
            capacity: self.wants(What::Capacity)
                || self.wants(What::Available)
                || (self.wants(What::Ramp) && self.ramp.is_none()),
            available: self.wants(What::Available),
            ramp: self.wants(What::Ramp),
            rates: self.ramp.map(|(from, to)| Rates { from: from.get(), to: to.get(), steps }),
            steps,
        }
    }
}

pub fn run(args: &Probe, console: &Console) -> anyhow::Result<Outcome> {
    let Some(target) = &args.target else {
        let (interrupt, caps) =
            (Interrupt::listen()?, Caps { rate: args.max_rate, duration: args.max_duration });
        slowpath_runs::probe::serve(args.listen, caps, &|| interrupt.has_come(), &console::log)?;
        return Ok(Outcome::Whole);
    };
    args.check()?;
    let found = if Path::new(target).extension().is_some_and(|extension| extension == "toml") {
        ensure!(args.port.is_none(), "--port is for hosts; {target} is a scenario file");
        if args.tcp.is_some() || args.measure == [What::Tcp] {
            bail!("to simulate a TCP transfer on this path, use `slowpath run {target}`");
        }
        let scenario = args.changes.load(Path::new(target))?;
        slowpath_runs::probe::simulated(&scenario, args.wanted(), args.reverse, &mut shown(console))?
    } else {
        ensure!(!args.changes.are_any(), "--set and --seed are for scenario files; {target} is a host");
        let interrupt = Interrupt::listen()?;
        let transfers = args.wants(What::Tcp).then(|| args.tcp.unwrap_or(TRANSFER));
        let (addresses, stop) = (addresses(target, args.port.unwrap_or(PORT))?, || interrupt.has_come());
        slowpath_runs::probe::measured(
            &addresses,
            args.wanted(),
            transfers,
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
