//! `slowpath paths`: what is known of each path: measured, learned, served and asked.

use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::{Outcome, recording};
use clap::{Args, Subcommand, ValueHint};
use slowpath_model::Bytes;
use slowpath_paths::client::Place;
use slowpath_paths::store::{FILE, Spent};
use slowpath_paths::{PORT, SOCKET, TokenError};
use slowpath_runs::paths::{self as runs, BUDGET, Learning, Measuring, PathStore, ServingStore};
use slowpath_runs::values::{STREAMS, amount, lasting};
use slowpath_views::paths as view;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `paths`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Paths {
    #[command(subcommand)]
    what: What,
    /// The store
    #[arg(long, global = true, value_name = "FILE", default_value = FILE, value_hint = ValueHint::FilePath)]
    store: PathBuf,
    /// Print JSON (schema slowpath/paths-show/1, paths-history/1, paths-measure/1, paths-import/1, paths-forget/1) instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Show RTT, rate, loss and MTU to a host, how old they are, and the buffers they need; without HOST, of all paths
    Show {
        /// The host that receives, by name or address
        #[arg(value_name = "HOST", value_hint = ValueHint::Hostname)]
        host: Option<String>,
        /// The host that sends, if not any
        #[arg(long, value_name = "HOST", requires = "host", value_hint = ValueHint::Hostname)]
        from: Option<String>,
        /// Parallel connections
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(STREAMS))]
        streams: u32,
        /// Ask this server in place of the store: http://HOST:PORT, or the path of its Unix socket
        #[arg(long, value_name = "SERVER", requires = "host", conflicts_with = "store")]
        ask: Option<Place>,
        /// The file of the server's token
        #[arg(long, value_name = "FILE", requires = "ask", value_hint = ValueHint::FilePath)]
        token_file: Option<PathBuf>,
    },
    /// List every value that is kept of the paths to a host
    History(To),
    /// Measure the path to a host where `slowpath probe --serve` runs, within a daily budget
    Measure {
        /// The far end, by name or address
        #[arg(value_name = "HOST", value_hint = ValueHint::Hostname)]
        host: String,
        /// The far end's port
        #[arg(long, value_name = "PORT", default_value_t = slowpath_probe::real::PORT)]
        port: u16,
        /// Measure from the far end to this host
        #[arg(long)]
        reverse: bool,
        /// What measuring this path may send and receive in a day (UTC)
        #[arg(long, value_name = "AMOUNT", default_value_t = BUDGET.bytes, value_parser = amount)]
        bytes: Bytes,
        /// How long measuring this path may take in a day
        #[arg(long, value_name = "TIME", default_value = "5min", value_parser = lasting)]
        time: Duration,
    },
    /// Learn from the transfers of captures and recordings, or of this host while they run
    Import {
        /// The captures, files from `slowpath diagnose --live --raw`, or folders from `slowpath run --record`
        #[arg(required_unless_present = "live", value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Learn from this host's connections while they run; without CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, from TCP_INFO
        #[arg(long, conflicts_with = "files")]
        live: bool,
        /// With --live: for how long; without it, until Ctrl-C
        #[arg(long = "for", value_name = "TIME", requires = "live", value_parser = lasting)]
        lasting: Option<Duration>,
        /// With --live: how often to learn; what a connection does in this time is one transfer
        #[arg(long, value_name = "TIME", requires = "live", default_value = "10min", value_parser = lasting)]
        every: Duration,
    },
    /// Forget the paths to a host
    Forget(To),
    /// Answer programs over HTTP and a Unix socket, until Ctrl-C
    Serve {
        /// The address and port for HTTP; any but loopback needs --token-file
        #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
        listen: SocketAddr,
        /// The Unix socket
        #[arg(long, value_name = "FILE", default_value = SOCKET, value_hint = ValueHint::FilePath)]
        socket: PathBuf,
        /// The file of the token for clients from elsewhere, and for those that write over TCP
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: Option<PathBuf>,
        /// Also measure the path to this host, where `slowpath probe --serve` runs, within 512 MiB and 5 min a day; can be repeated
        #[arg(long, value_name = "HOST[:PORT]", value_hint = ValueHint::Hostname)]
        measure: Vec<String>,
        /// With --measure: how often
        #[arg(long, value_name = "TIME", requires = "measure", default_value = "1h", value_parser = lasting)]
        every: Duration,
    },
}

/// The path store that a command asks.
#[derive(Args)]
pub struct StoreArguments {
    /// The path store: http://HOST:PORT, or its Unix socket [default: the one of this host, if it is served]
    #[arg(long, value_name = "SERVER")]
    paths: Option<Place>,
    /// The token of the path store, in a file that nobody else may read
    #[arg(long, value_name = "FILE", requires = "paths", value_hint = ValueHint::FilePath)]
    paths_token_file: Option<PathBuf>,
}

impl StoreArguments {
    pub fn store(&self) -> Result<Option<PathStore>, TokenError> {
        PathStore::named_or_local(self.paths.as_ref(), self.paths_token_file.as_deref())
    }
}

/// The paths to a host.
#[derive(Args)]
struct To {
    /// The host that receives, by name or address
    #[arg(value_name = "HOST", value_hint = ValueHint::Hostname)]
    host: String,
    /// The host that sends, if not any
    #[arg(long, value_name = "HOST", value_hint = ValueHint::Hostname)]
    from: Option<String>,
}

pub fn run(Paths { what, store, json }: &Paths, console: &Console) -> anyhow::Result<Outcome> {
    let look = console.look();
    match what {
        What::Show { host, from, streams, ask, token_file } => {
            let (host, from) = (host.as_deref(), from.as_deref());
            let answers = match ask.as_ref().zip(host) {
                Some((at, host)) => vec![runs::ask_server(at, token_file.as_deref(), host, from, *streams)?],
                None => runs::answers(store, host, from, *streams)?,
            };
            let document = || view::ShowDocument::of(&answers);
            console::print_result(*json, document, |out| view::show(&answers, &look, out))?;
        }
        What::History(To { host, from }) => {
            let (paths, now) = runs::history(store, host, from.as_deref())?;
            let document = || view::HistoryDocument::of(&paths, now);
            let print = |out: &mut _| view::history(&paths, now, &console.table_look(), out);
            console::print_result(*json, document, print)?;
        }
        What::Measure { host, port, reverse, bytes, time } => {
            let budget = Spent { bytes: *bytes, time: *time };
            let asked = Measuring { host, port: *port, is_reversed: *reverse, budget };
            let interrupt = Interrupt::listen()?;
            let bar = console.working(&format!("measuring the path to {host}"));
            let measured = runs::measure(store, asked, &|| interrupt.has_come(), &mut |_| ())?;
            drop(bar);
            let document = || view::MeasureDocument::of(&measured);
            console::print_result(*json, document, |out| view::measured(&measured, &look, out))?;
            return Ok(if measured.ended_by.is_none() { Outcome::Whole } else { Outcome::Partial });
        }
        What::Import { files, live, lasting, every } => {
            let imported = if *live {
                let interrupt = Interrupt::listen()?;
                let asked = Learning { lasting: *lasting, every: *every, stop: interrupt.flag() };
                let begin = |has_probe| console.until_interrupted(&view::learning(has_probe));
                vec![runs::learn(store, &asked, begin)?]
            } else {
                runs::import(store, files, &|file| recording::progress(file, console))?
            };
            let document = || view::ImportDocument::of(&imported);
            console::print_result(*json, document, |out| view::imported(&imported, out))?;
        }
        What::Forget(To { host, from }) => {
            let gone = runs::forget(store, host, from.as_deref())?;
            let document = || view::ForgetDocument::of(&gone);
            console::print_result(*json, document, |out| view::forgotten(&gone, out))?;
        }
        What::Serve { listen, socket, token_file, measure: measured, every } => {
            anyhow::ensure!(!json, "--json: a server has no result");
            let interrupt = Interrupt::listen()?;
            let (listen, token, every) = (*listen, token_file.as_deref(), *every);
            let serving = ServingStore { store, listen, socket, token, measured, every };
            runs::serve_store(&serving, &|| interrupt.has_come(), &console::log)?;
        }
    }
    Ok(Outcome::Whole)
}
