//! `slowpath tune connections`: connections of this host, tuned by their destination.

use crate::Outcome;
use crate::console::{self, Console, warn};
use crate::interrupt::Interrupt;
use crate::paths::StoreArguments;
use clap::{Args, ValueHint};
use slowpath_model::Bytes;
use slowpath_runs::connections::{self as runs, Asked};
use slowpath_runs::values::{amount, lasting};
use slowpath_sockops::Wanted;
use slowpath_views::tune as view;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
#[command(after_long_help = view::CONNECTIONS_HELP)]
pub struct Connections {
    /// The control group of version 2 whose connections are tuned
    #[arg(long, value_name = "DIR", default_value = "/sys/fs/cgroup", value_hint = ValueHint::DirPath)]
    cgroup: PathBuf,
    /// What connections to a prefix get, such as 192.0.2.0/24,rate=1Gbit/s,rtt=80ms; see --help
    #[arg(long, value_name = "PREFIX,KEY=VALUE")]
    to: Vec<Wanted>,
    #[command(flatten)]
    store: StoreArguments,
    /// How often the path store is asked
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = lasting)]
    every: Duration,
    /// Buffers that all connections together may be granted; default: a quarter of what TCP may use (tcp_mem)
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    memory: Option<Bytes>,
    /// Connections that may be tuned at a time
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    connections: u32,
    /// Prefixes there is room for
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    prefixes: u32,
    /// For how long, such as 1h; without it, until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasting: Option<Duration>,
    /// Print JSON (schema slowpath/tune-connections/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Connections, console: &Console) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let store = args.store.store()?;
    let asked = Asked {
        group: &args.cgroup,
        to: &args.to,
        store: store.as_ref(),
        every: args.every,
        memory: args.memory,
        connections: args.connections,
        prefixes: args.prefixes,
        lasting: args.lasting,
    };
    let bar = std::cell::OnceCell::new();
    let mut began = || drop(bar.set(console.until_interrupted("tuning connections")));
    let mut show = |progress| bar.get().into_iter().for_each(|bar| bar.tell(&view::progress(&progress)));
    let tuned = runs::tune(&asked, &|| interrupt.has_come(), &mut began, &mut show, &warn)?;
    drop(bar);
    let document = || view::ConnectionsDocument::of(&tuned);
    console::print_result(args.json, document, |out| view::connections(&tuned, &console.look(), out))?;
    Ok(Outcome::Whole)
}
