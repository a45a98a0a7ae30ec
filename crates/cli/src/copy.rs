//! `slowpath copy`: copies files between two hosts, and is the far end that serves or that ssh starts.

use crate::Outcome;
use crate::console::{self, Console, warn};
use crate::interrupt::Interrupt;
use crate::paths::StoreArguments;
use clap::{Args, ValueHint};
use slowpath_copy::place::{PORT, place};
use slowpath_copy::protocol::Tuning;
use slowpath_copy::real::near::{self, Wanted};
use slowpath_copy::real::{Progress, far};
use slowpath_runs::copy;
use slowpath_views::copy as view;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Arguments of `copy`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Copy {
    /// The file or folder to copy
    #[arg(value_name = "SRC", required_unless_present_any = ["serve", "far_end"], value_hint = ValueHint::AnyPath)]
    source: Option<OsString>,
    /// Where it goes
    #[arg(value_name = "DST", required_unless_present_any = ["serve", "far_end"], value_hint = ValueHint::AnyPath)]
    destination: Option<OsString>,
    /// Replace DST if it is a file that exists
    #[arg(long)]
    force: bool,
    /// The number of data connections; default: 4, and more while that helps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Option<u16>,
    /// Who sizes the socket buffers: kernel, within tcp_rmem and tcp_wmem, or drs, from what arrives in an RTT
    #[arg(long, value_name = "WHO", default_value = "kernel", value_parser = copy::tuning)]
    tuning: Tuning,
    /// Give both buffers of each data connection this size, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = copy::buffer, conflicts_with = "tuning")]
    buffer: Option<u32>,
    /// The congestion control of the data connections, such as bbr; default: the sending host's own
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    congestion: String,
    /// The far end's port for data connections; default: any free one
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// The command that reaches the other host, its words separated by spaces
    #[arg(long, value_name = "COMMAND", default_value = "ssh")]
    ssh: String,
    /// slowpath on the other host
    #[arg(long, value_name = "PATH", default_value = "slowpath")]
    far_program: String,
    /// The token of a far end that serves, in a file that nobody else may read; with --serve, its token [default: a new one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArguments,
    /// Serve a folder to clients that have the token, until Ctrl-C
    #[arg(long, conflicts_with_all = ["source", "json", "far_end"])]
    serve: bool,
    /// With --serve: the address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", requires = "serve", default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
    listen: SocketAddr,
    /// With --serve: the folder
    #[arg(long, value_name = "DIR", requires = "serve", default_value = ".", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Be the far end of one copy, on standard input and output, as ssh starts it
    #[arg(long, hide = true, conflicts_with_all = ["source", "json"])]
    far_end: bool,
    /// Print JSON (schema slowpath/copy/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Copy, console: &Console) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let stop = || interrupt.has_come();
    let token = args.token_file.as_deref().map(copy::token).transpose()?;
    let (Some(source), Some(destination)) = (&args.source, &args.destination) else {
        if args.far_end {
            // The near end gets the reason, and prints it.
            return Ok(far::over_ssh(&stop).map_or(Outcome::Partial, |()| Outcome::Whole));
        }
        copy::serve(args.listen, &args.folder, token, &stop, &console::log)?;
        return Ok(Outcome::Whole);
    };
    let (from, to) = (place(source)?, place(destination)?);
    let store = args.store.store()?;
    let wanted = Wanted {
        hints: copy::hints(store.as_ref(), &from, &to, &warn),
        source: from,
        destination: to,
        force: args.force,
        tuning: args.buffer.map_or(args.tuning, |bytes| Tuning::Fixed(bytes.into())),
        congestion: args.congestion.clone(),
        streams: args.streams,
        port: args.port,
        ssh: args.ssh.clone(),
        far_program: args.far_program.clone(),
        token: token.unwrap_or_default(),
    };
    let bar = console.reading(Path::new(source));
    let mut watch = |progress: Progress| bar.now(&view::progress(&progress), progress.done, progress.total);
    let report = near::copy(&wanted, &stop, &mut watch, &warn);
    drop(bar);
    let report = report?;
    copy::learn(store.as_ref(), &report, &warn);
    let print = |out: &mut _| view::print(&report, &console.look(), out);
    console::print_result(args.json, || view::CopyDocument::new(&report), print)?;
    Ok(if report.is_whole() { Outcome::Whole } else { Outcome::Partial })
}
