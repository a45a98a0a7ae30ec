//! `slowpath probe`: what a path gives to packets of one's own, and the far end that answers them.

mod serve;

use crate::Outcome;
use crate::console::{self, Console, warn};
use crate::interrupt::Interrupt;
use crate::scenario::Changes;
use crate::tunings::rate;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum, ValueHint};
use slowpath_model::units::duration_from_text;
use slowpath_model::{Rate, nanos};
use slowpath_probe::findings::{Found, Wanted};
use slowpath_probe::measure::ramp::{MOST_STEPS, Rates};
use slowpath_probe::measure::{Direction, Progress};
use slowpath_probe::real::{Client, Error, PORT};
use slowpath_probe::simulated::{Ends, Simulated};
use slowpath_views::probe as view;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

const HELP: &str = "\
Start the far end on the other host, measure, and end it again:
  rtt        Echoes by UDP: the path's delay without its queues, and with.
  capacity   Pairs and trains of packets: what the narrowest link carries
             when it carries nothing else.
  available  Streams that load the path for some milliseconds: what others
             leave of it. pathload's method.
  ramp       UDP at one rate after the other, as RUDE/CRUDE sends it: where
             loss begins, and which end or the path was the limit.
  tcp        A transfer by TCP, and what held its sender.
Rate times round trip is what a transfer's buffers have to hold; `slowpath doctor` then says whether this host's do. With a \
scenario in place of a host its path is probed, in no time.

The far end listens on loopback unless --listen says another address; it needs TCP and UDP from that port on, a UDP port for \
each of four sessions. It sends UDP only to whom it has shaken hands with by TCP and who has shown the session's token by UDP, \
no faster than --max-rate, and in a session no more than that for --max-duration.

Exit codes: 0 all that was asked was measured, 1 a part of it could not be or was stopped, 2 nothing was.

Examples:
  slowpath probe --serve
  slowpath probe 127.0.0.1 --only rtt,capacity,available
  slowpath probe localhost --only ramp --ramp 100Mbit/s..200Mbit/s --steps 3 --reverse
  slowpath probe localhost --only rtt,tcp --tcp 1s --json
  slowpath probe scenarios/bulk-wan.toml --set path.rate=622Mbit/s";

/// Arguments of `probe`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Probe {
    /// The other host, by name or address, where `slowpath probe --serve` runs; or a scenario file
    #[arg(value_name = "HOST|FILE", required_unless_present = "serve", value_hint = ValueHint::Hostname)]
    target: Option<String>,
    /// Be the far end, until Ctrl-C
    #[arg(long, conflicts_with_all = ["target", "only", "reverse", "ramp", "json"])]
    serve: bool,
    /// As the far end: where to listen
    #[arg(long, value_name = "ADDRESS:PORT", requires = "serve", default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
    listen: SocketAddr,
    /// As the far end: the highest rate of a train, here or from here
    #[arg(long, value_name = "RATE", requires = "serve", default_value = "1Gbit/s", value_parser = rate)]
    max_rate: Rate,
    /// As the far end: the longest train or transfer
    #[arg(long, value_name = "TIME", requires = "serve", default_value = "10s", value_parser = longest)]
    max_duration: Duration,
    /// The far end's port
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// What to measure, with commas between; without it, all
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    only: Vec<What>,
    /// Measure the way from the far end to here
    #[arg(long)]
    reverse: bool,
    /// The rates of the ramp, such as 300Mbit/s..1Gbit/s; without it, up to a tenth more than the capacity
    #[arg(long, value_name = "FROM..TO", value_parser = rates)]
    ramp: Option<(Rate, Rate)>,
    /// How many rates the ramp has
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_STEPS)))]
    steps: u32,
    /// How long each transfer by TCP lasts
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = longest)]
    tcp: Duration,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON (schema slowpath/probe/1) instead of text
    #[arg(long)]
    json: bool,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The round trip
    Rtt,
    /// What the narrowest link carries
    Capacity,
    /// What others leave of it
    Available,
    /// UDP at one rate after the other
    Ramp,
    /// A transfer by TCP each way
    Tcp,
}

fn longest(text: &str) -> Result<Duration, String> {
    let time = duration_from_text(text).map_err(|error| format!("{error}"))?;
    let known = Duration::from_millis(10)..=Duration::from_secs(60);
    if known.contains(&time) { Ok(time) } else { Err("write a time from 10ms to 60s".to_owned()) }
}

fn rates(text: &str) -> Result<(Rate, Rate), String> {
    let (from, to) = text.split_once("..").ok_or("write two rates, such as 300Mbit/s..1Gbit/s")?;
    let (from, to) = (rate(from)?, rate(to)?);
    if from < to { Ok((from, to)) } else { Err("the first rate is not below the second".to_owned()) }
}

impl Probe {
    fn wants(&self, what: What) -> bool {
        self.only.is_empty() || self.only.contains(&what)
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            direction: if self.reverse { Direction::Back } else { Direction::There },
            // Where the search for what is available begins, and the ramp ends.
            capacity: self.wants(What::Capacity)
                || self.wants(What::Available)
                || (self.wants(What::Ramp) && self.ramp.is_none()),
            available: self.wants(What::Available),
            ramp: self.wants(What::Ramp),
            rates: self.ramp.map(|(from, to)| Rates { from: from.get(), to: to.get(), steps: self.steps }),
            steps: self.steps,
        }
    }
}

pub fn run(args: &Probe, console: &Console) -> anyhow::Result<Outcome> {
    let Some(target) = &args.target else {
        return serve::run(args.listen, args.max_rate, args.max_duration);
    };
    let found = if Path::new(target).extension().is_some_and(|extension| extension == "toml") {
        simulated(args, Path::new(target), console)?
    } else {
        let answer = "--set and --seed are a scenario's, and this is a host";
        if args.changes.get().texts().is_empty() { real(args, target, console)? } else { bail!("{answer}") }
    };
    console::tell(
        args.json,
        || view::Document::new(target, &found),
        |out| view::print(target, &found, &console.look(), out),
    )?;
    Ok(if found.is_whole() { Outcome::Whole } else { Outcome::Partial })
}

/// The addresses of a name, the ones to try first at the front.
fn addresses(name: &str, port: u16) -> anyhow::Result<Vec<SocketAddr>> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let found = (bare, port).to_socket_addrs().with_context(|| format!("{name} has no address"))?;
    Ok(found.collect())
}

fn real(args: &Probe, target: &str, console: &Console) -> anyhow::Result<Found> {
    let interrupt = Interrupt::listen()?;
    let stop = || interrupt.has_come();
    let mut last = None;
    for to in addresses(target, args.port)? {
        match Client::connect(to, &stop) {
            Ok((mut client, connected)) => {
                let mut found = Found::new(args.wanted(), connected.packet_bytes);
                found.far_end = Some(connected.to);
                let result = found.fill(&mut client, &mut shown(console));
                let result = result.and_then(|()| transfers(args, &mut client, &mut found, console));
                let Err(error) = result else {
                    // Whatever becomes of the session, all has been measured.
                    let _ = client.close();
                    return Ok(found);
                };
                let Some(found) = found.or_nothing() else {
                    return Err(anyhow::Error::from(error).context("nothing was measured"));
                };
                if !matches!(error, Error::Stopped) {
                    warn(&format!("{error}; what was measured by then:"));
                }
                return Ok(found);
            }
            Err(error @ Error::NoServer { .. }) => last = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(last.map_or_else(|| anyhow::anyhow!("{target} has no address"), anyhow::Error::from))
}

/// A transfer by TCP each way, the way that is measured first.
fn transfers(
    args: &Probe,
    client: &mut Client<'_>,
    found: &mut Found,
    console: &Console,
) -> Result<(), Error> {
    if !args.wants(What::Tcp) {
        return Ok(());
    }
    let _working = console.working("TCP, there and back");
    for direction in [Direction::There, Direction::Back] {
        found.transfers.push(client.transfer(direction, args.tcp)?);
    }
    Ok(())
}

/// The path of a scenario's first flow, from its sender on.
fn simulated(args: &Probe, file: &Path, console: &Console) -> anyhow::Result<Found> {
    if args.only == [What::Tcp] {
        bail!("a transfer over a scenario's path is simulated by `slowpath run {}`", file.display());
    }
    let scenario = args.changes.load(file)?;
    let flow = &scenario.flows[0];
    let path = scenario.path(flow.path);
    let ends = [flow.sender_host(), flow.receiver_host()];
    let [there, back] = ends.map(|end| path.direction(end));
    let (there, back) = there.zip(back).context("a flow's path ends at its hosts")?;
    let mut draws = scenario.draws();
    let mut seeds = [draws.bits(), draws.bits()];
    if path.ends[0] != ends[0] {
        seeds.swap(0, 1);
    }
    let nics = ends.map(|end| &scenario.host(end).nic);
    let mut channel = Simulated::new(
        there,
        back,
        seeds,
        Ends {
            card_bit_per_s: nics.map(|nic| nic.rate.get()),
            joined_within_ns: nanos(nics[usize::from(!args.reverse)].interrupt_delay),
        },
    );
    let packet_bytes = u32::try_from(nics[0].mtu.min(nics[1].mtu).get()).unwrap_or(u32::MAX);
    let mut found = Found::new(args.wanted(), packet_bytes);
    let Ok(()) = found.fill(&mut channel, &mut shown(console));
    Ok(found)
}

/// Shows each step while it lasts.
fn shown(console: &Console) -> impl FnMut(Progress) {
    let mut shown = None;
    move |progress| {
        // The one before it is wiped away first.
        drop(shown.take());
        shown = Some(console.working(&says(progress)));
    }
}

fn says(progress: Progress) -> String {
    match progress {
        Progress::Echoes => "echoes".to_owned(),
        Progress::Trains => "trains of packets".to_owned(),
        Progress::Available(rate) => format!("is {} available", Rate::bits_per_second(rate)),
        Progress::Ramp(rate) => format!("UDP at {}", Rate::bits_per_second(rate)),
    }
}
