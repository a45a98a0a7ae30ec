//! A copy between two hosts: its options as text, and the far end that serves.

use crate::lines::{Log, listening};
use crate::paths::{PathStore, PathsError, own_address};
use crate::values::{addresses, size};
use slowpath_analyses::Limit;
use slowpath_copy::CopyError;
use slowpath_copy::account::Bound;
use slowpath_copy::hints::Hints;
use slowpath_copy::place::Place;
use slowpath_copy::protocol::{Direction, Tuning};
use slowpath_copy::real::far::Server;
use slowpath_copy::report::Report;
use slowpath_files::{SecretError, open_secret};
use slowpath_model::Rate;
use slowpath_paths::client::AskError;
use slowpath_paths::entry::Pair;
use slowpath_paths::learned::{Moved, of_moved};
use slowpath_tune::advice::{Numbers, Transfer};
use slowpath_tune::{known, now};
use std::fs;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest token file: what is longer is some other file.
const MOST_TOKEN: u64 = 4096;

/// Why a file is no token of a copy.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// Its file holds no secret.
    #[error(transparent)]
    File(#[from] SecretError),
    /// It is empty.
    #[error("{}: it has no token in its first line", .0.display())]
    Empty(PathBuf),
}

/// Reads a token: the first line of a file that only its owner, this user or root, may read.
///
/// # Errors
/// If it cannot be read, others may read or change it, or it has no token.
pub fn token(file: &Path) -> Result<Vec<u8>, TokenFileError> {
    let failed = |source| SecretError::File { path: file.to_owned(), source };
    let mut text = Vec::new();
    open_secret(file)?.take(MOST_TOKEN).read_to_end(&mut text).map_err(failed)?;
    match text.split(|byte| *byte == b'\n').next() {
        Some(line) if !line.is_empty() => Ok(line.to_vec()),
        _ => Err(TokenFileError::Empty(file.to_owned())),
    }
}

/// What the path store knows of the path of a copy: the RTT and the rate, and the window that this host's limits allow. Nothing
/// if there is no store, it does not answer, or it does not know the path; `say` gets why a store that was named does not answer.
pub fn hints(store: Option<&PathStore>, source: &Place, destination: &Place, say: &dyn Fn(&str)) -> Hints {
    let (host, is_from_here) = match (source, destination) {
        (_, Place::Ssh { host, .. } | Place::Served { host, .. }) => (host, true),
        (Place::Ssh { host, .. } | Place::Served { host, .. }, _) => (host, false),
        _ => return Hints::default(),
    };
    let name = host.rsplit('@').next().unwrap_or(host);
    // A name may be an alias of ssh's configuration, without an address.
    let there = addresses(name, 0).unwrap_or_default().iter().map(SocketAddr::ip).collect::<Vec<_>>();
    let asked = store.filter(|_| !there.is_empty()).map(|store| match is_from_here {
        true => store.ask(&there, &[], 1),
        false => there.first().map_or(Ok(None), |from| store.ask(&own(*from), &[*from], 1)),
    });
    let answer = match asked {
        Some(Ok(Some(answer))) => answer,
        Some(Err(error)) if store.is_some_and(|store| store.is_named) => {
            say(&format!("the path store is not used: {error}"));
            return Hints::default();
        }
        _ => return Hints::default(),
    };
    let rate = answer.rate.map(|rate| Rate::bits_per_second(rate.bit_per_s));
    let rtt = answer.rtt_ns.map(Duration::from_nanos);
    let numbers = rate
        .zip(rtt)
        .and_then(|(rate, rtt)| Numbers::of(Transfer { rate, rtt, streams: 1, memory: None }, &known()).ok());
    let buffer = numbers.map(|numbers| if is_from_here { numbers.send } else { numbers.receive });
    Hints { rtt, rate, window: buffer.and_then(|buffer| buffer.allows_now) }
}

/// Has the path store learn what a copy showed of its path. Of one that this host received, only the rate at which data arrived:
/// the rest is what the far end says. `say` gets why a store that was named does not take it; that one does not answer, [`hints`]
/// has said.
pub fn learn(store: Option<&PathStore>, report: &Report, say: &dyn Fn(&str)) {
    let (Some(store), Some([here, there]), Some(rate)) = (store, report.between, report.rate) else { return };
    let path = report.bound.iter().find(|(bound, _)| *bound == Bound::Limit(Limit::Path));
    let path_limited = path.map_or(0.0, |(_, permille)| f64::from(*permille) / 1000.0);
    let (pair, is_own) = match report.direction {
        Direction::Put => (Pair::new(here, there), true),
        Direction::Get => (Pair::new(there, here), false),
    };
    let moved = Moved {
        pair,
        amount: report.moved,
        rate,
        min_rtt: report.min_rtt.filter(|_| is_own),
        path_limited: is_own.then_some(path_limited),
    };
    let entries = of_moved(&moved, now());
    if entries.is_empty() {
        return;
    }
    let is_silent = |error: &PathsError| {
        matches!(error, PathsError::Ask(AskError::Connect { .. } | AskError::Silent { .. }))
    };
    match store.record(entries) {
        Err(error) if store.is_named && !is_silent(&error) => {
            say(&format!("the path store does not take what this copy showed: {error}"));
        }
        _ => {}
    }
}

/// The address of this host on the path from another one.
fn own(from: IpAddr) -> Vec<IpAddr> {
    own_address(SocketAddr::new(from, 9)).into_iter().collect()
}

/// Who sizes the buffers.
///
/// # Errors
/// What to write instead.
pub fn tuning(text: &str) -> Result<Tuning, String> {
    match text {
        "kernel" => Ok(Tuning::Kernel),
        "drs" => Ok(Tuning::Drs),
        _ => Err("write kernel or drs".to_owned()),
    }
}

/// The size of both buffers.
///
/// # Errors
/// What to write instead.
pub fn buffer(text: &str) -> Result<u32, String> {
    match size(text)? {
        0 => Err("write a size of at least 1B".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Serves a folder until a stop is requested; `say` gets a line about each copy, as far as there are not too many. Without
/// a token, a new one is made and said.
///
/// # Errors
/// If it cannot listen there, or the folder cannot be opened.
pub fn serve(
    listen: SocketAddr,
    folder: &Path,
    token: Option<Vec<u8>>,
    has_ended: &(dyn Fn() -> bool + Sync),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), CopyError> {
    let (token, is_new) = match token {
        Some(token) => (token, false),
        None => (Server::new_token()?.into_bytes(), true),
    };
    let server = Server::bind(listen, folder, &token)?;
    let at = server.address()?;
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let at = listening(at);
    say(&format!("Serving {} on {at}, to clients that have the token. Ctrl-C stops it.", folder.display()));
    if is_new {
        say(&format!("Token: {}", String::from_utf8_lossy(&token)));
    }
    let log = Log::new(say);
    server.run(has_ended, &|client, why| {
        log.line(|| why.map_or_else(|| format!("{client}: copied"), |why| format!("{client}: {why}")));
    });
    log.end();
    Ok(())
}
