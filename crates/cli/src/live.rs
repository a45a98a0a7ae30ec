//! `slowpath diagnose --live`: this host's connections, as its kernel reports them.

use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::Diagnose;
use crate::interrupt::Interrupt;
use clap::{Args, ValueHint};
use slowpath_live::NETNSES;
use slowpath_model::units::duration_from_text;
use slowpath_runs::watch::{self, Wanted, Watched};
use slowpath_views::live::{self as view, LiveDocument};
use slowpath_views::{json, summary::Summary};
use std::path::PathBuf;
use std::time::Duration;

/// Which connections of this host, and for how long.
#[derive(Args)]
#[group(skip)]
pub struct Asked {
    /// Watch the connections of this host instead of reading a recording; needs root (CAP_BPF, CAP_PERFMON,
    /// CAP_NET_ADMIN)
    #[arg(long, conflicts_with_all = ["files", "html", "vantage"])]
    pub live: bool,
    /// With --live: for how long, such as 20s; without it, until Ctrl-C
    #[arg(long = "for", value_name = "TIME", requires = "live", value_parser = duration_from_text)]
    lasting: Option<Duration>,
    /// With --live: only connections with this port at either end
    #[arg(long, value_name = "PORT", requires = "live", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// With --live: only connections of this process
    #[arg(long, value_name = "PID", requires = "live")]
    pid: Option<u32>,
    /// With --live: only connections that were made in this control group or below it, such as
    /// /sys/fs/cgroup/system.slice
    #[arg(long, value_name = "DIR", requires = "live", value_hint = ValueHint::DirPath)]
    cgroup: Option<PathBuf>,
    /// With --live: only connections of this network namespace: its name, as `ip netns` has it, or its file; up to four
    #[arg(long, value_name = "NETNS", requires = "live")]
    netns: Vec<PathBuf>,
    /// With --live: without privilege, by asking the kernel ten times a second (TCP_INFO over inet_diag); says what
    /// cannot be seen this way
    #[arg(long, requires = "live", conflicts_with_all = ["cgroup", "netns"])]
    own: bool,
    /// With --live: also write the probe's records to this file as they arrive; `slowpath diagnose FILE` reads it again,
    /// without root
    #[arg(long, value_name = "FILE", requires = "live", conflicts_with = "own", value_hint = ValueHint::FilePath)]
    pub raw: Option<PathBuf>,
}

pub fn run(args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let asked = &args.live;
    anyhow::ensure!(asked.netns.len() <= NETNSES, "--netns: {NETNSES} network namespaces at most");
    let interrupt = Interrupt::listen()?;
    let wanted = Wanted {
        lasting: asked.lasting,
        port: asked.port,
        pid: asked.pid,
        cgroup: asked.cgroup.as_deref(),
        netns: &asked.netns,
        without_probe: asked.own,
        raw: asked.raw.as_deref(),
        existing: args.force.existing(),
    };
    let begin = || console.until_interrupted("watching this host's connections");
    present(watch::watch(&wanted, interrupt.flag(), begin)?, args, console)
}

/// Prints what was seen of the connections that were asked for.
pub fn present(mut watched: Watched, args: &Diagnose, console: &Console) -> anyhow::Result<Outcome> {
    let (choice, look) = (&args.choice, console.look());
    watched.choose(choice.flow, choice.min_bytes, choice.filter.as_ref());
    if args.summary {
        let summary = Summary::of_watched(&watched, choice.selection(None, args.by));
        let text = |out: &mut _| view::print_summary(&watched, &summary, args.top, &look, out);
        console::print_result(args.json, || json::Summary::of(&summary), text)?;
    } else {
        let text = |out: &mut _| view::print(&watched, args.by, args.top, &look, out);
        console::print_result(args.json, || LiveDocument::of(&watched), text)?;
    }
    Ok(if watched.is_whole() { Outcome::Whole } else { Outcome::Partial })
}
