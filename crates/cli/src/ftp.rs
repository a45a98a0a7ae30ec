//! `slowpath ftp`: transfers a file from or to an FTP server, with buffers that fit the path.

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::output::Force;
use clap::{Args, Subcommand, ValueHint};
use slowpath_ftp::Tuning;
use slowpath_ftp::real::transfer;
use slowpath_ftp::report::Direction;
use slowpath_runs::ftp::{Asked, buffer, known, tuning, wanted};
use slowpath_views::ftp as view;
use std::path::{Path, PathBuf};

/// Arguments of `ftp`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Ftp {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Transfer a file from a server
    #[command(after_long_help = view::HELP)]
    Get {
        /// The file at the server
        #[arg(value_name = "URL", value_hint = ValueHint::Url)]
        url: String,
        /// Where it goes; default: the URL's name, in the current folder
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        #[command(flatten)]
        how: How,
    },
    /// Transfer a file to a server
    #[command(after_long_help = view::HELP)]
    Put {
        /// The file here
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The file at the server
        #[arg(value_name = "URL", value_hint = ValueHint::Url)]
        url: String,
        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
struct How {
    /// Who sizes the buffers: kernel, auto, drs or paths
    #[arg(long, value_name = "WHO", default_value = "kernel", value_parser = tuning)]
    tuning: Tuning,
    /// Give both buffers this size, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = buffer, conflicts_with = "tuning")]
    buffer: Option<Tuning>,
    /// With --tuning paths: the store
    #[arg(long, value_name = "FILE", default_value = slowpath_paths::store::FILE, value_hint = ValueHint::FilePath)]
    store: PathBuf,
    /// Have the server open the data connection
    #[arg(long)]
    active: bool,
    /// The file with passwords [default: $NETRC, or ~/.netrc]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    netrc: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print JSON (schema slowpath/ftp/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Ftp, console: &Console) -> anyhow::Result<Outcome> {
    let (direction, url, file, how) = match &args.what {
        What::Get { url, file, how } => (Direction::Get, url, file.as_deref(), how),
        What::Put { file, url, how } => (Direction::Put, url, Some(file.as_path()), how),
    };
    let (existing, tuning) = (how.force.existing(), how.buffer.unwrap_or(how.tuning));
    let netrc = how.netrc.as_deref();
    let store = known(&how.store);
    let wanted =
        wanted(&Asked { direction, url, file, existing, tuning, active: how.active, netrc }, &store)?;
    let interrupt = Interrupt::listen()?;
    let bar = console.reading(file.unwrap_or(Path::new(wanted.place.name())));
    let report = transfer(&wanted, &|| interrupt.has_come(), &mut |progress| {
        let (text, done, total) = view::progress(&progress);
        bar.now(&text, done, total);
    });
    drop(bar);
    let report = report?;
    let print = |out: &mut _| view::print(&report, &console.look(), out);
    console::print_result(how.json, || view::FtpDocument::new(&report), print)?;
    Ok(Outcome::Whole)
}
