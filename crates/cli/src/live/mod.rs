//! `slowpath diagnose --live`: this host's connections, as its kernel tells of them.

mod replay;
mod source;

pub use replay::replay;

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use anyhow::Context;
use clap::{Args, ValueHint};
use slowpath_analyses::hosts::Hosts;
use slowpath_analyses::waits::Waits;
use slowpath_live::{Check, EVERY, Filter, LiveError, NETNSES, Owners, Rest, cgroups_below};
use slowpath_model::units::duration_from_text;
use slowpath_model::{Bytes, FlowId, Wait};
use slowpath_views::live::{self as view, Document, Watched};
use source::Source;
use std::cmp::Reverse;
use std::fs::File;
use std::io::BufWriter;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Which connections of this host, and for how long.
#[derive(Args)]
#[group(skip)]
pub struct Asked {
    /// Watch the connections of this host instead of reading a recording; needs root (CAP_BPF, CAP_PERFMON,
    /// CAP_NET_ADMIN)
    #[arg(long, conflicts_with_all = ["files", "html", "vantage"])]
    pub live: bool,
    /// With --live: for how long, such as 20s; without it, until Ctrl-C
    #[arg(long = "for", value_name = "TIME", requires = "live", value_parser = time)]
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
    /// With --live: write what the probe tells to this file as well, as it comes; `slowpath diagnose FILE` reads it again,
    /// without root
    #[arg(long, value_name = "FILE", requires = "live", conflicts_with = "own", value_hint = ValueHint::FilePath)]
    raw: Option<PathBuf>,
}

/// Where `ip netns` keeps the namespaces.
const NAMESPACES: &str = "/run/netns";

pub fn run(
    asked: &Asked,
    only: (Option<FlowId>, Bytes),
    shown: (usize, bool),
    console: &Console,
) -> anyhow::Result<Outcome> {
    anyhow::ensure!(asked.netns.len() <= NETNSES, "--netns: {NETNSES} network namespaces at most");
    let netns = asked.netns.iter().map(|name| namespace(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let no_group =
        |group: &Path| format!("{}: is no control group; they are below /sys/fs/cgroup", group.display());
    let below = |group: &Path| cgroups_below(group).with_context(|| no_group(group));
    let groups = asked.cgroup.as_deref().map(below).transpose()?;
    if let Some(pid) = asked.pid {
        anyhow::ensure!(Path::new(&format!("/proc/{pid}")).exists(), "there is no process {pid}");
    }
    let interrupt = Interrupt::listen()?;
    let mut source =
        Source::start(Filter { port: asked.port, ..Filter::of_netns(&netns) }, asked.own).map_err(or_own)?;
    if let Some(path) = &asked.raw {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        source.record(Box::new(BufWriter::new(file)))?;
    }
    let mut hosts = Hosts::default();
    let mut owners = Owners::default();
    let began = Instant::now();
    let working = console.until_interrupted("watching this host's connections");
    let is_over = || asked.lasting.is_some_and(|time| began.elapsed() >= time);
    while !is_over() && !interrupt.has_come() {
        let left = asked.lasting.map_or(EVERY, |time| time.saturating_sub(began.elapsed()));
        thread::sleep(EVERY.min(left));
        source.tell(&mut hosts, &mut owners)?;
    }
    let lasted = began.elapsed();
    let unseen = source.unseen();
    let rest = source.finish(&mut hosts)?;
    drop(working);
    let (mut accounts, not_kept) = hosts.finish();
    accounts.retain(|account| {
        let of_process = asked.pid.is_none_or(|pid| owners.has_process(account.id, pid));
        let of_group = groups.as_ref().is_none_or(|groups| owners.is_in(account.id, groups));
        of_process && of_group
    });
    let check = rest.as_ref().map(|rest| rest.check);
    let Rest { drops, softirqs, devices, .. } = rest.unwrap_or_default();
    let softirqs = ring(&softirqs);
    let processes = owners.processes();
    let watched = Watched {
        lasted,
        accounts,
        not_kept,
        processes,
        devices,
        check,
        drops,
        softirqs,
        unseen,
        incomplete: None,
    };
    present(watched, only, shown)
}

/// A softirq that waits to run has packets wait in a ring.
fn ring(softirqs: &[(Duration, u32)]) -> Waits {
    let mut waits = Waits::default();
    for (lasted, times) in softirqs {
        waits.add(Wait::Ring, *lasted, Bytes::ZERO, (*times).into());
    }
    waits
}

/// Prints what was seen of the flows that were asked for.
fn present(
    mut watched: Watched,
    (flow, least): (Option<FlowId>, Bytes),
    (top, json): (usize, bool),
) -> anyhow::Result<Outcome> {
    watched
        .accounts
        .retain(|account| flow.is_none_or(|flow| account.id == flow) && account.carried() >= least);
    watched.accounts.sort_by_key(|account| Reverse(account.carried()));
    console::tell(json, || Document::of(&watched), |out| view::print(&watched, top, out))?;
    let Check { untold, unwatched, .. } = watched.check.unwrap_or_default();
    let is_whole = [untold, unwatched, watched.not_kept] == [0; 3] && watched.incomplete.is_none();
    Ok(if is_whole { Outcome::Whole } else { Outcome::Partial })
}

/// Who has no privilege is told what goes without.
fn or_own(error: LiveError) -> anyhow::Error {
    let hint = if matches!(error, LiveError::NotAllowed { .. }) {
        "; --own needs none of these, and sees less"
    } else {
        ""
    };
    anyhow::anyhow!("{error}{hint}")
}

/// The number of a network namespace.
fn namespace(name: &Path) -> anyhow::Result<u32> {
    let file = if name.components().count() > 1 { name.to_owned() } else { Path::new(NAMESPACES).join(name) };
    let about = std::fs::metadata(&file)
        .with_context(|| format!("{}: no such network namespace; `ip netns` lists them", file.display()))?;
    u32::try_from(about.st_ino()).with_context(|| format!("{}: is no network namespace", file.display()))
}

/// As scenarios have it, and without the space.
fn time(text: &str) -> Result<Duration, String> {
    duration_from_text(text).map_err(|error| error.to_string())
}
