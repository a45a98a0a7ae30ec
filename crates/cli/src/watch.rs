//! `slowpath watch`: what limits this host's transfers now.

use crate::Outcome;
use crate::choice::keys;
use crate::console::Console;
use clap::{Args, ValueHint};
use slowpath_runs::interrupt::Interrupt;
use slowpath_runs::watch::Wanted;
use slowpath_views::services::By;
use slowpath_watch::{Theme, Wishes, run as show};
use std::path::PathBuf;

/// Arguments of `watch`.
#[derive(Args)]
#[command(after_long_help = slowpath_views::help::WATCH)]
pub struct Watch {
    /// A row for each service, opened to its connections with Enter: service (the server's address and port), port,
    /// peer, server, client, hosts or process; without it, a row for each connection
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
}

pub fn run(args: &Watch, console: &Console) -> anyhow::Result<Outcome> {
    let wanted = Wanted {
        port: args.port,
        pid: args.pid,
        cgroup: args.cgroup.as_deref(),
        netns: &args.netns,
        without_probe: args.own,
        ..Wanted::default()
    };
    let wishes = Wishes { by: args.by, theme: Theme { colour: console.look().colour } };
    show(&wanted, wishes, Interrupt::listen_for_hangup()?.flag())?;
    Ok(Outcome::Whole)
}
