//! Metrics over HTTP instead of the screen.

use crate::cgroups::{Cgroups, own_end};
use crate::error::WatchError;
use crate::metrics::{Connection, Exported, Format, HostTotals, Labelling, Totals, tcp_bytes, tcp_limits};
use crate::reports;
use crate::source::{Pace, start};
use slowpath_http::axum::extract::State;
use slowpath_http::axum::http::header::{ACCEPT, CONTENT_TYPE};
use slowpath_http::axum::http::{HeaderMap, StatusCode};
use slowpath_http::axum::response::{IntoResponse, Response};
use slowpath_http::axum::{Router, routing::get};
use slowpath_http::{Failure, HttpError, Places, Server, Token};
use slowpath_live::{counters, listeners, page_bytes};
use slowpath_model::End;
use slowpath_runs::watch::{Seen, Wanted, Watching};
use slowpath_uapi::proc::CpuTime;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// How often the end is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long an interval is at most: a scrape each 15 s has a new one.
const LONGEST: Duration = Duration::from_secs(10);
/// Where the metrics are.
const PATH: &str = "/metrics";

/// Where metrics are served, and which.
#[derive(Clone, Debug)]
pub struct Exporting<'a> {
    /// The address.
    pub listen: SocketAddr,
    /// The file of the token that a client from elsewhere has to present.
    pub token: Option<&'a Path>,
    /// Their labels.
    pub labelling: Labelling,
}

/// Serves metrics until `stop`. If this process may not load the probe, the kernel is asked instead. `say` gets a line
/// for the address, once it listens there, and one for each thing that is not seen.
///
/// # Errors
///
/// If it cannot listen, the token's file is none, or the kernel returns an error.
pub fn export(
    wanted: &Wanted<'_>,
    exporting: Exporting<'_>,
    stop: &AtomicBool,
    say: &dyn Fn(&str),
) -> Result<(), WatchError> {
    let Exporting { listen, token, labelling } = exporting;
    let token = token.map(Token::read).transpose()?;
    // Before the probe is loaded: an address that is taken costs nothing.
    let server = Server::open(Places { listen: Some(listen), socket: None, token })?;
    let (mut watching, unseen) = start(wanted)?;
    let source = if watching.has_probe() { "probe" } else { "tcp-info" };
    let exported = Arc::new(Exported::new(Totals::new(labelling, source)));
    for name in server.names() {
        say(&format!("Metrics on {name}{PATH}. Ctrl-C stops it."));
    }
    unseen.iter().for_each(|what| say(&format!("Not seen: {what}")));
    let router = Router::new()
        .route(PATH, get(metrics))
        .fallback(|| async { Failure(StatusCode::NOT_FOUND, format!("see {PATH}")) })
        .with_state(Arc::clone(&exported));
    let over = AtomicBool::new(false);
    let has_ended = || stop.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(router, &has_ended));
        let watched = count(&mut watching, &exported, &|| has_ended() || serving.is_finished());
        over.store(true, Ordering::Relaxed);
        // Only a panic ends it early.
        serving.join().map_err(|_| HttpError::Ended)?;
        watched
    })
}

async fn metrics(State(exported): State<Arc<Exported>>, headers: HeaderMap) -> Result<Response, Failure> {
    let format = Format::accepted(headers.get(ACCEPT).and_then(|value| value.to_str().ok()));
    let failed = |_| Failure(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written".to_owned());
    Ok(([(CONTENT_TYPE, format.content_type())], exported.text(format).map_err(failed)?).into_response())
}

/// Counts what is seen, until `has_ended`.
fn count(
    watching: &mut Watching,
    exported: &Exported,
    has_ended: &dyn Fn() -> bool,
) -> Result<(), WatchError> {
    let (began, mut pace, mut cgroups) = (Instant::now(), Pace::new(LONGEST), Cgroups::default());
    while !has_ended() {
        pace.look(watching)?;
        let Some(lasted) = pace.interval() else {
            thread::sleep(LOOK.min(pace.left()));
            continue;
        };
        watching.seek_owners();
        let host = host(watching)?;
        let listening: HashSet<u16> = host.listeners.iter().map(|one| one.at.port).collect();
        cgroups.seek(watching.seen(), &listening);
        let connections = watching.seen().map(|seen| connection(seen, watching, &cgroups, &listening));
        exported.totals().take(began.elapsed(), lasted, connections, watching.not_kept(), host);
        watching.next_interval();
    }
    Ok(())
}

fn connection<'a>(
    seen: Seen<'a>,
    watching: &Watching,
    cgroups: &'a Cgroups,
    listening: &HashSet<u16>,
) -> Connection<'a> {
    let own = own_end(&seen, listening);
    let Seen { account, processes, pending } = seen;
    let process = processes[own.index()];
    let dropped = End::BOTH.map(|end| watching.dropped(account.id, end));
    Connection {
        process,
        cgroup: cgroups.of(process).map(|cgroup| &**cgroup),
        dropped: dropped.into_iter().collect::<Option<Vec<_>>>().map(|both| both.concat()),
        pending: reports::pending(account, pending),
        ..Connection::of(account, own)
    }
}

/// What the kernel counts of the host now.
fn host(watching: &mut Watching) -> Result<HostTotals, WatchError> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let page = page_bytes();
    Ok(HostTotals {
        softirqs: CpuTime::of_each(&read("/proc/stat")).map(|(cpu, time)| (cpu, time.softirqs)).collect(),
        counters: counters().unwrap_or_default(),
        // That of this thread's namespace, as the counters.
        tcp_bytes: tcp_bytes(&read("/proc/thread-self/net/sockstat"), page),
        tcp_limits: tcp_limits(&read("/proc/sys/net/ipv4/tcp_mem"), page),
        listeners: listeners().unwrap_or_default(),
        probe: watching.host()?,
    })
}
