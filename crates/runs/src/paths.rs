//! The path store's work: what is asked, measured within a budget, and learned from transfers.

mod learn;

pub use learn::{Imported, Learning, import, learn};

use crate::values::addresses;
use slowpath_model::Bytes;
use slowpath_model::shown::with_causes;
use slowpath_paths::answer::{Advisor, Answer};
use slowpath_paths::client::{AskError, Place, Report, ask, report};
use slowpath_paths::entry::{Entry, Pair};
use slowpath_paths::learned;
use slowpath_paths::store::{Question, Spent, Store, StoreError};
use slowpath_paths::{SOCKET, ServeError, Serving, Token, TokenError, serve};
use slowpath_probe::findings::Wanted;
use slowpath_probe::measure::{self, Direction};
use slowpath_probe::real::{Measured, ProbeError, Within, measure_within};
use slowpath_tune::{known, now};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What measuring one path may cost on a day, unless something else is asked for. Each rate that is tried for the available bandwidth
/// takes 30 MB at 1 Gbit/s (12 streams of 20 ms), and at most 16 are tried.
pub const BUDGET: Spent = Spent { bytes: Bytes::new(512 << 20), time: Duration::from_secs(300) };

/// Why the path store cannot do what is asked.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The server cannot be started.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A file is no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A name has no address, or a capture cannot be read.
    #[error(transparent)]
    Run(#[from] crate::Error),
    /// A path that is not known.
    #[error("nothing is known of a path to {0}; `slowpath paths measure` or `import` change that")]
    Unknown(String),
    /// A file has no date.
    #[error("{}: does not say when it was made, so its values have no date", .0.display())]
    NoDate(PathBuf),
    /// A scenario.
    #[error("{}: a scenario is no path of this host", .0.display())]
    Scenario(PathBuf),
    /// There is no route.
    #[error("{to}: no route")]
    NoRoute {
        /// The address.
        to: IpAddr,
        /// What the kernel reported.
        source: io::Error,
    },
    /// The budget is used up.
    #[error("{pair}: today's budget of {} and {} s is used up; it begins anew at 00:00 UTC", budget.bytes, budget.time.as_secs())]
    NoBudget {
        /// The path.
        pair: Pair,
        /// The budget of a day.
        budget: Spent,
    },
    /// The far end cannot be measured to.
    #[error("nothing was measured")]
    Probe(#[from] ProbeError),
}

/// Which path is asked about, by names or addresses of its hosts.
fn question(host: &str, from: Option<&str>, streams: u32) -> Result<Question, PathsError> {
    let all = |name| -> Result<Vec<IpAddr>, PathsError> {
        Ok(addresses(name, 0)?.iter().map(SocketAddr::ip).collect())
    };
    Ok(Question { to: all(host)?, from: from.map_or_else(|| Ok(Vec::new()), all)?, streams })
}

/// The answers of a store: of the path to a host, or of all paths.
///
/// # Errors
/// If there is no store, or nothing is known of that path.
pub fn answers(
    file: &Path,
    host: Option<&str>,
    from: Option<&str>,
    streams: u32,
) -> Result<Vec<Answer>, PathsError> {
    let (store, mut advisor, now) = (Store::open_existing(file)?, Advisor::new(known()), now());
    let pairs = match host {
        Some(host) => {
            let pairs = store.pairs(&question(host, from, streams)?)?;
            if pairs.is_empty() {
                return Err(PathsError::Unknown(host.to_owned()));
            }
            pairs
        }
        None => store.all()?,
    };
    let answer = |pair| Ok(Answer::of(pair, &store.entries(pair)?, streams, &mut advisor, now));
    pairs.into_iter().map(answer).collect()
}

/// A path store that a server answers for.
#[derive(Clone)]
pub struct PathStore {
    /// The server.
    pub at: Place,
    /// What it wants to see.
    pub token: Option<Token>,
    /// Whether the user named it: if it does not answer, that is worth a word.
    pub is_named: bool,
}

impl PathStore {
    /// The store of a server, with the token in a file.
    ///
    /// # Errors
    /// If the file has no token, or others may read or change it.
    pub fn at(at: &Place, token: Option<&Path>) -> Result<Self, TokenError> {
        Ok(Self { at: at.clone(), token: token.map(Token::read).transpose()?, is_named: true })
    }

    /// The store that was named, or else the one of this host, if it is served.
    ///
    /// # Errors
    /// If the file has no token, or others may read or change it.
    pub fn named_or_local(at: Option<&Place>, token: Option<&Path>) -> Result<Option<Self>, TokenError> {
        let local = || Self { at: Place::Unix(SOCKET.into()), token: None, is_named: false };
        match at {
            Some(at) => Self::at(at, token).map(Some),
            None => Ok(Path::new(SOCKET).exists().then(local)),
        }
    }

    /// What it knows of the path to one of these addresses, from one of those, or from any if there are none.
    ///
    /// # Errors
    /// If it cannot be asked, or is not believed.
    pub fn ask(&self, to: &[IpAddr], from: &[IpAddr], streams: u32) -> Result<Option<Answer>, PathsError> {
        let question = Question { to: to.to_vec(), from: from.to_vec(), streams };
        Ok(ask(&self.at, &question, self.token.as_ref())?)
    }

    /// Has it record values.
    ///
    /// # Errors
    /// If it does not answer, or does not take values from this user.
    pub fn record(&self, entries: Vec<Entry>) -> Result<(), PathsError> {
        report(&self.at, &Report { entries }, self.token.as_ref())?;
        Ok(())
    }
}

/// The answer of a server.
///
/// # Errors
/// If it cannot be asked, is not believed, or knows nothing of that path.
pub fn ask_server(
    at: &Place,
    token: Option<&Path>,
    host: &str,
    from: Option<&str>,
    streams: u32,
) -> Result<Answer, PathsError> {
    let Question { to, from, streams } = question(host, from, streams)?;
    let answer = PathStore::at(at, token)?.ask(&to, &from, streams)?;
    answer.ok_or_else(|| PathsError::Unknown(host.to_owned()))
}

/// A path and its values.
pub type PathHistory = (Pair, Vec<Entry>);

/// The values of the paths to a host, the path with the newest one first; and the time, in seconds since 1970.
///
/// # Errors
/// If there is no store, or nothing is known of that path.
pub fn history(file: &Path, host: &str, from: Option<&str>) -> Result<(Vec<PathHistory>, u64), PathsError> {
    let store = Store::open_existing(file)?;
    let pairs = store.pairs(&question(host, from, 1)?)?;
    if pairs.is_empty() {
        return Err(PathsError::Unknown(host.to_owned()));
    }
    let paths = pairs.into_iter().map(|pair| Ok((pair, store.entries(pair)?)));
    Ok((paths.collect::<Result<_, StoreError>>()?, now()))
}

/// Forgets the paths to a host, and returns them.
///
/// # Errors
/// If there is no store, or no such path.
pub fn forget(file: &Path, host: &str, from: Option<&str>) -> Result<Vec<Pair>, PathsError> {
    let mut store = Store::open_existing(file)?;
    let pairs = store.pairs(&question(host, from, 1)?)?;
    if store.forget(&pairs)? == 0 {
        return Err(PathsError::Unknown(host.to_owned()));
    }
    Ok(pairs)
}

/// A store that is served.
#[derive(Clone, Copy, Debug)]
pub struct ServingStore<'a> {
    /// Its file.
    pub store: &'a Path,
    /// The address for HTTP.
    pub listen: SocketAddr,
    /// The Unix socket.
    pub socket: &'a Path,
    /// The file of a token.
    pub token: Option<&'a Path>,
    /// The hosts to which paths are measured, `HOST` or `HOST:PORT`.
    pub measured: &'a [String],
    /// How often these are measured.
    pub every: Duration,
}

/// How often the server looks whether a path is to be measured.
const LOOK: Duration = Duration::from_millis(200);

/// Serves a store until `has_ended`, and measures paths again and again, one at a time and each within the day's budget; `say` gets
/// a line for each address and each measurement.
///
/// # Errors
/// If the store cannot be used, or it cannot listen there.
pub fn serve_store(
    asked: &ServingStore<'_>,
    has_ended: &(dyn Fn() -> bool + Sync),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), PathsError> {
    let token = asked.token.map(Token::read).transpose()?;
    let (listen, socket) = (Some(asked.listen), Some(asked.socket));
    let is_over = AtomicBool::new(false);
    let stop = || is_over.load(Ordering::Acquire) || has_ended();
    thread::scope(|scope| {
        if !asked.measured.is_empty() {
            scope.spawn(|| keep_measured(asked, &stop, say));
        }
        let serving = Serving { store: asked.store, listen, socket, token, known: known() };
        let served = serve(serving, has_ended, say);
        is_over.store(true, Ordering::Release);
        Ok(served?)
    })
}

/// Measures the paths to some hosts each time that one is due.
fn keep_measured(asked: &ServingStore<'_>, stop: &(dyn Fn() -> bool + Sync), say: &dyn Fn(&str)) {
    let mut due = vec![Instant::now(); asked.measured.len()];
    while !stop() {
        for (host, due) in asked.measured.iter().zip(&mut due) {
            if Instant::now() < *due || stop() {
                continue;
            }
            *due = Instant::now() + asked.every;
            let (host, port) = far_end(host);
            let measuring = Measuring { host, port, is_reversed: false, budget: BUDGET };
            match measure(asked.store, measuring, stop, &mut |_| ()) {
                Ok(MeasuredPath { ended_by: Some(why), .. }) => {
                    say(&format!("{host}: measured in part: {why}"))
                }
                Ok(MeasuredPath { cost, .. }) => {
                    say(&format!("{host}: measured, with {} of traffic", cost.bytes))
                }
                Err(_) if stop() => {}
                Err(why) => say(&format!("{host}: not measured: {}", with_causes(&why))),
            }
        }
        thread::sleep(LOOK);
    }
}

/// The host and the port of `HOST` or `HOST:PORT`; an IPv6 address with a port is in brackets.
fn far_end(text: &str) -> (&str, u16) {
    let bare = |host: &'_ str| !host.contains(':') || host.starts_with('[') && host.ends_with(']');
    let with_port = text.rsplit_once(':').filter(|(host, _)| bare(host));
    match with_port.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) => (host.trim_matches(['[', ']']), port),
        None => (text.trim_matches(['[', ']']), slowpath_probe::real::PORT),
    }
}

/// A path to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Measuring<'a> {
    /// The far end, by name or address.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// From the far end to this host.
    pub is_reversed: bool,
    /// What it may cost on a day.
    pub budget: Spent,
}

/// A path that was measured.
pub struct MeasuredPath {
    /// The values that were learned of it.
    pub entries: Vec<Entry>,
    /// What is known of it now.
    pub answer: Answer,
    /// What measuring cost.
    pub cost: Spent,
    /// What is left of the day's budget.
    pub left: Spent,
    /// Why it ended early; `None` if everything was measured.
    pub ended_by: Option<ProbeError>,
}

/// Measures the path to a host on which `slowpath probe --serve` runs, within the day's budget, and records it.
///
/// # Errors
/// If the store cannot be used, the budget is used up, or nothing is measured.
pub fn measure(
    file: &Path,
    asked: Measuring<'_>,
    stop: &(dyn Fn() -> bool + Sync),
    on_progress: &mut dyn FnMut(measure::Progress),
) -> Result<MeasuredPath, PathsError> {
    let mut store = Store::open(file)?;
    let mut last = ProbeError::NoAddress;
    for to in addresses(asked.host, asked.port)? {
        let here = own_address(to)?;
        match one(&mut store, asked, here, to, stop, on_progress) {
            // Another address of the host may be the one on which it listens.
            Err(PathsError::Probe(error @ ProbeError::NoServer { .. })) => last = error,
            result => return result,
        }
    }
    Err(last.into())
}

fn one(
    store: &mut Store,
    asked: Measuring<'_>,
    here: IpAddr,
    to: SocketAddr,
    stop: &(dyn Fn() -> bool + Sync),
    on_progress: &mut dyn FnMut(measure::Progress),
) -> Result<MeasuredPath, PathsError> {
    let (direction, pair) = match asked.is_reversed {
        false => (Direction::There, Pair::new(here, to.ip())),
        true => (Direction::Back, Pair::new(to.ip(), here)),
    };
    let (taken_at, begun) = (now(), Instant::now());
    let taken = store.take(pair, asked.budget, taken_at)?;
    if taken.bytes == Bytes::ZERO || taken.time == Duration::ZERO {
        store.give_back(pair, taken, taken_at)?;
        return Err(PathsError::NoBudget { pair, budget: asked.budget });
    }
    let wanted = Wanted { direction, capacity: true, available: true, ramp: false, rates: None, steps: 0 };
    let is_late = || begun.elapsed() >= taken.time;
    let Within { measured, bytes } =
        measure_within(to, wanted, taken.bytes, &|| stop() || is_late(), on_progress);
    let cost = Spent { bytes, time: begun.elapsed().min(taken.time) };
    let left = cost.left_of(taken);
    store.give_back(pair, left, taken_at)?;
    let Measured { found, ended_by } = measured?;
    let ended_by = ended_by.map(|error| match error {
        ProbeError::Stopped if is_late() && !stop() => ProbeError::Spent,
        error => error,
    });
    let now = now();
    let entries = learned::of_probe(&found, here, to.ip(), now);
    if entries.is_empty() {
        return Err(ended_by.unwrap_or(ProbeError::Silent).into());
    }
    store.record(&entries, now)?;
    let answer = Answer::of(pair, &store.entries(pair)?, 1, &mut Advisor::new(known()), now);
    Ok(MeasuredPath { entries, answer, cost, left, ended_by })
}

/// The address of this host from which packets to `to` leave. Sends nothing.
pub(crate) fn own_address(to: SocketAddr) -> Result<IpAddr, PathsError> {
    let any: IpAddr = if to.is_ipv4() { [0, 0, 0, 0].into() } else { [0_u16; 8].into() };
    let own = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(to)?;
        socket.local_addr()
    });
    Ok(own.map_err(|source| PathsError::NoRoute { to: to.ip(), source })?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_end_has_a_port_if_it_is_written() {
        let own = slowpath_probe::real::PORT;
        for (text, host, port) in [
            ("data.example.org", "data.example.org", own),
            ("data.example.org:99", "data.example.org", 99),
            ("192.0.2.1:99", "192.0.2.1", 99),
            ("2001:db8::1", "2001:db8::1", own),
            ("[2001:db8::1]", "2001:db8::1", own),
            ("[2001:db8::1]:99", "2001:db8::1", 99),
        ] {
            assert_eq!(far_end(text), (host, port), "{text}");
        }
    }
}
