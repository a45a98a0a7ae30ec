//! `slowpath diagnose --live`: this host's connections, as its kernel reports them.

use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::output::Force;
use clap::{Args, ValueHint};
use slowpath_live::NETNSES;
use slowpath_model::units::duration_from_text;
use slowpath_runs::watch::{self, Wanted, Watched};
use std::path::PathBuf;
use std::time::Duration;

/// Which connections of this host, and for how long.
#[derive(Args)]
#[group(skip)]
pub struct Asked {
    /// Watch the connections of this host instead of reading a recording; needs root (CAP_BPF, CAP_PERFMON,
    /// CAP_NET_ADMIN)
    #[arg(long, conflicts_with_all = ["files", "vantage"])]
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

/// Watches the connections that were asked for.
pub fn watch(asked: &Asked, force: Force, console: &Console) -> anyhow::Result<Watched> {
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
        existing: force.existing(),
    };
    let begin = || console.until_interrupted("watching this host's connections");
    Ok(watch::watch(&wanted, interrupt.flag(), begin)?)
}
