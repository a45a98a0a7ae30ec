//! `slowpath doctor`: what of this host would limit a transfer.

mod document;
mod text;

use crate::Outcome;
use crate::console::{self, Console};
use crate::tunings::{delay, rate};
use anyhow::Context;
use clap::{Args, ValueEnum};
pub use document::Document;
use slowpath_doctor::{Asked, Files, Goal, Host, Role, Taken, judge, read};
use slowpath_model::Rate;
use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

const HELP: &str = "\
It reads this host's settings and counters and changes nothing: buffers and TCP's settings against rate times round trip, \
the parameter cache, the route, the queue before the card, the card with its rings and offloads, the CPUs' clocks and \
softirqs, and what TCP has counted since boot. Each finding says what was seen, what the transfer needs, the command that \
mends it and the one that undoes that. Run it on both hosts: what limits is at either end, or at neither.

A finding limits (the transfer gets about this much at most), costs (time, CPU, or dearer losses), or is a hint (to know, or to look \
at again after a transfer). No root is needed; what only root sees is named at the end.

Exit codes: 0 nothing limits or costs, 1 something does, 2 there was nothing to look at.

Examples:
  slowpath doctor --rate 1Gbit/s --rtt 40ms
  slowpath doctor 192.0.2.9 --rate 10Gbit/s --rtt 12ms --streams 4 --as sender
  slowpath doctor --interface eth0 --json";

/// Arguments of `doctor`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Doctor {
    /// The other end, by name or address; without it, what lies by the default route
    #[arg(value_name = "HOST")]
    host: Option<String>,
    /// The rate that is wanted of all connections together, such as 1Gbit/s; without it, that of this host's link
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,
    /// The path's round trip, such as 40ms; without it, what the kernel remembers of HOST, or else 40ms
    #[arg(long, value_name = "TIME", value_parser = delay)]
    rtt: Option<Duration>,
    /// Connections side by side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    streams: u32,
    /// The interface to look at, in place of the one that leads to HOST
    #[arg(long, value_name = "INTERFACE", conflicts_with = "host")]
    interface: Option<String>,
    /// What this host does in the transfer
    #[arg(long = "as", value_name = "ROLE", default_value = "both")]
    role: As,
    /// Print JSON (schema slowpath/doctor/1) with all that was seen, instead of text
    #[arg(long)]
    json: bool,
}

/// What this host does in a transfer.
#[derive(Clone, Copy, ValueEnum)]
enum As {
    /// It sends the data
    Sender,
    /// It receives the data
    Receiver,
    /// Either
    Both,
}

/// A rate where nobody says one and the link's is not known.
const USUAL_RATE: Rate = Rate::mbit(1000);
/// A round trip where nobody says one: that of ubik's path.
const USUAL_ROUND_TRIP: Duration = Duration::from_millis(40);

/// A goal, and where its numbers are from.
pub struct Aim {
    goal: Goal,
    rate_from: Taken,
    rtt_from: Taken,
}

pub fn run(args: &Doctor, console: &Console) -> anyhow::Result<Outcome> {
    let asked = match (&args.host, &args.interface) {
        (Some(name), _) => Asked::To(resolve(name)?),
        (None, Some(interface)) => Asked::By(interface.clone()),
        (None, None) => Asked::Default,
    };
    let host = read(&Files::default(), &asked)?;
    let aim = aim(args, &host);
    let findings = judge(&host, &aim.goal);
    console::tell(
        args.json,
        || Document::new(&host, &aim, &findings),
        |out| text::print(&host, &aim, &findings, &console.look(), out),
    )?;
    let is_well = !findings.iter().any(slowpath_doctor::Finding::is_fault);
    Ok(if is_well { Outcome::Whole } else { Outcome::Partial })
}

fn resolve(name: &str) -> anyhow::Result<IpAddr> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let addresses = (name, 0).to_socket_addrs().with_context(|| format!("{name} has no address"))?;
    addresses.map(|address| address.ip()).next().with_context(|| format!("{name} has no address"))
}

/// What is asked for, and for the rest what the host suggests.
fn aim(args: &Doctor, host: &Host) -> Aim {
    let link = host.link().and_then(|interface| interface.speed);
    let (rate, rate_from) = match (args.rate, link) {
        (Some(rate), _) => (rate, Taken::Given),
        (None, Some(link)) => (Rate::bits_per_second(link), Taken::FromLink),
        (None, None) => (USUAL_RATE, Taken::Assumed),
    };
    let (rtt, rtt_from) = match (args.rtt, remembered(host)) {
        (Some(rtt), _) => (rtt, Taken::Given),
        (None, Some(rtt)) => (rtt, Taken::FromMetrics),
        (None, None) => (USUAL_ROUND_TRIP, Taken::Assumed),
    };
    let role = match args.role {
        As::Sender => Role::Sender,
        As::Receiver => Role::Receiver,
        As::Both => Role::Both,
    };
    Aim { goal: Goal { rate, rtt, streams: args.streams, role }, rate_from, rtt_from }
}

/// The round trip that the kernel remembers of the destination.
fn remembered(host: &Host) -> Option<Duration> {
    let to = host.route.as_ref()?.to?;
    let entry = host.metrics.as_ref()?.iter().find(|entry| entry.to == Some(to))?;
    entry.rtt_us.filter(|rtt| *rtt > 0).map(|rtt| Duration::from_micros(rtt.into()))
}
