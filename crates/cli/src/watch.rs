//! `slowpath watch`: what limits this host's transfers now.

use crate::Outcome;
use crate::choice::keys;
use crate::console::{self, Console};
use clap::{Args, ValueHint};
use slowpath_runs::interrupt::Interrupt;
use slowpath_runs::watch::Wanted;
use slowpath_views::services::By;
use slowpath_watch::metrics::{LABELS, Label, Labelling, Prefixes, SERIES};
use slowpath_watch::{Exporting, Theme, Wishes, export, run as show};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `watch`.
#[derive(Args)]
#[command(after_long_help = slowpath_views::help::WATCH)]
pub struct Watch {
    /// A row for each service, opened to its connections with Enter: service (the server's address and port), port,
    /// peer, server, client, hosts, process, cgroup or pod; without it, a row for each connection
    #[arg(long, value_name = "WHAT", hide_possible_values = true, value_parser = keys(By::OF_HOST, By::name))]
    by: Option<By>,
    /// Only connections with this port at either end
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Only connections of this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Only connections that were made in this control group or below it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "own")]
    cgroup: Option<PathBuf>,
    /// Only connections of this network namespace: its name, as `ip netns` has it, or its file; up to four
    #[arg(long, value_name = "NETNS", num_args = 1, conflicts_with = "own")]
    netns: Vec<PathBuf>,
    /// Ask the kernel ten times a second (TCP_INFO over inet_diag) instead of loading the probe, as without root
    #[arg(long)]
    own: bool,
    /// Serve OpenMetrics at http://ADDRESS:PORT/metrics instead of the screen; any but loopback needs --token-file
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "by")]
    metrics: Option<SocketAddr>,
    /// The file of the token for clients from elsewhere
    #[arg(long, value_name = "FILE", requires = "metrics", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Labels: service (the server's port), process, cgroup, pod (its UID), remote (the other host's network)
    #[arg(long, value_name = "WHAT", requires = "metrics", value_delimiter = ',', default_value = LABELS)]
    labels: Vec<Label>,
    /// The bits of an IPv4 and of an IPv6 address that are its network
    #[arg(long, value_name = "V4,V6", requires = "metrics", default_value_t = Prefixes::default())]
    remote_prefix: Prefixes,
    /// The most series that depend on labels; connections beyond are summed up under "other"
    #[arg(long, value_name = "N", requires = "metrics", default_value_t = SERIES)]
    series: usize,
}

pub fn run(args: &Watch, console: &Console) -> anyhow::Result<Outcome> {
    let (Watch { port, pid, netns, own, .. }, cgroup) = (args, args.cgroup.as_deref());
    let wanted = Wanted { port: *port, pid: *pid, cgroup, netns, without_probe: *own, ..Wanted::default() };
    let stop = Interrupt::listen_for_hangup()?;
    if let Some(listen) = args.metrics {
        let labelling = Labelling::new(&args.labels, args.remote_prefix, args.series);
        let exporting = Exporting { listen, token: args.token_file.as_deref(), labelling };
        export(&wanted, exporting, stop.flag(), &console::log)?;
    } else {
        let theme = Theme { colour: console.look().colour };
        show(&wanted, Wishes { by: args.by, theme }, stop.flag())?;
    }
    Ok(Outcome::Whole)
}
