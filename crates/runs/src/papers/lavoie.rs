//! LaVoie, Nahum and Flynn 2006: loads and profiles a web server on this host, case by case.

use super::Error;
use super::kept::{self, Done, file_of, read};
use slowpath_lab::scratch::Scratch;
use slowpath_lab::web::{self, Bench, Requested, Times, tools};
use slowpath_lab::{privilege, signals};
use slowpath_papers::Report;
use slowpath_papers::lavoie::{
    self, Counters, Events, Run, Server, ServerCase, Side, Workload, add_comparison,
};
use slowpath_profile::{Recorder, What};
use std::fs;
use std::path::Path;
use std::time::Duration;

const WARM_UP: Duration = Duration::from_secs(1);
/// Samples per second: not a divisor of any kernel's tick rate. Each takes some microseconds of the server's CPU.
const FREQUENCY: u32 = 1999;
/// A recording that is not stopped ends this long after its planned time.
const SPARE: Duration = Duration::from_secs(10);

/// The requested cases, their duration, and the files to keep.
pub struct Asked<'a> {
    /// Words in the names of the cases; empty for all cases.
    pub only: &'a [String],
    /// Seconds for which each is profiled.
    pub seconds: u64,
    /// The folder that stores profiles and counters.
    pub keep: Option<&'a Path>,
    /// A folder of stored profiles and counters, used instead of runs.
    pub from: Option<&'a Path>,
    /// A folder of stored profiles and counters to compare with.
    pub compare: Option<&'a Path>,
}

/// Runs the cases one after another, or reads stored ones. `begin` is called with the number of runs, and the function
/// it returns after each run.
///
/// # Errors
///
/// If no case matches the words, a program or root is missing, a run fails, or stored cases cannot be read or compared.
pub fn report<D: FnMut()>(asked: &Asked<'_>, begin: impl FnOnce(usize) -> D) -> Result<Report, Error> {
    let cases = chosen(asked.only)?;
    let comparable = match (asked.compare, asked.from) {
        (Some(before), Some(after)) => kept::in_both(&cases, before, after)?,
        _ => Vec::new(),
    };
    let done = match asked.from {
        Some(folder) => kept::read_all(&cases, folder)?,
        None => run_all(cases, asked, begin)?,
    };
    let runs: Vec<Run<'_>> = done.iter().map(as_run).collect();
    let seconds = done.first().map_or(asked.seconds, |done| done.seconds);
    let mut report = lavoie::report(&runs, measured_on(&done), |case| {
        format!("slowpath papers lavoie --seconds {seconds} --only '{case}'")
    });
    if let Some(folder) = asked.compare {
        let before = kept::read_all(&comparable, folder)?;
        let before_runs: Vec<Run<'_>> = before.iter().map(as_run).collect();
        add_comparison(&mut report, side(&before, &before_runs), side(&done, &runs));
    }
    Ok(report)
}

fn side<'a>(done: &'a [Done], runs: &'a [Run<'a>]) -> Side<'a> {
    let first = done.first();
    Side {
        runs,
        release: first.map_or("", |done| &done.release),
        machine: first.and_then(|done| done.machine.as_deref()),
    }
}

fn run_all<D: FnMut()>(
    cases: Vec<ServerCase>,
    asked: &Asked<'_>,
    begin: impl FnOnce(usize) -> D,
) -> Result<Vec<Done>, Error> {
    all_is_there(&cases)?;
    if let Some(folder) = asked.keep.filter(|folder| folder.exists()) {
        return Err(Error::Exists(folder.to_owned()));
    }
    signals::clean_up_when_ended()?;
    let scratch = Scratch::create()?;
    let bench = Bench::build(&requested(&cases))?;
    if let Some(folder) = asked.keep {
        fs::create_dir_all(folder).map_err(Error::file(folder, "cannot be made"))?;
    }
    let times = Times { warm_up: WARM_UP, observed: Duration::from_secs(asked.seconds) };
    let mut done_one = begin(cases.len());
    let mut done = Vec::new();
    for case in cases {
        let file =
            asked.keep.map_or_else(|| scratch.file(&file_of(case)), |folder| folder.join(file_of(case)));
        let last = run(&bench, case, times, &file)
            .map_err(|source| Error::Case { name: case.to_string(), source: Box::new(source) })?;
        if let Some(folder) = asked.keep {
            last.keep(folder)?;
        }
        done.push(last);
        done_one();
    }
    if let Some(folder) = asked.keep {
        // Last, because the runs load modules.
        kept::keep_symbols(folder)?;
    }
    Ok(done)
}

const NEEDS_ROOT: &str = "it creates network namespaces, steers packets to CPUs, and samples a CPU";

/// Reports everything that is missing, before anything is created.
fn all_is_there(cases: &[ServerCase]) -> Result<(), Error> {
    let servers: Vec<web::Server> = cases.iter().map(|case| as_server(case.server)).collect();
    let missing = tools::missing(&servers);
    if !missing.is_empty() {
        return Err(Error::NoPrograms(missing));
    }
    if privilege::is_root() { Ok(()) } else { Err(Error::NotRoot("lavoie", NEEDS_ROOT)) }
}

fn chosen(only: &[String]) -> Result<Vec<ServerCase>, Error> {
    let all = lavoie::cases();
    if let Some(words) = only.iter().find(|words| !all.iter().any(|case| case.is_named(words))) {
        return Err(Error::NoSuchCase { words: words.clone(), like: all[0].to_string() });
    }
    let wanted = |case: &ServerCase| only.is_empty() || only.iter().any(|words| case.is_named(words));
    Ok(all.into_iter().filter(wanted).collect())
}

/// What the cases request, each once.
fn requested(cases: &[ServerCase]) -> Vec<Requested> {
    let mut all = Vec::new();
    for requested in cases.iter().map(|case| as_requested(case.workload)) {
        if !all.contains(&requested) {
            all.push(requested);
        }
    }
    all
}

fn as_requested(workload: Workload) -> Requested {
    match workload {
        Workload::File(kib) => Requested::FileKib(kib),
        Workload::Mixed => Requested::Mixed,
    }
}

fn as_server(server: Server) -> web::Server {
    match server {
        Server::Nginx => web::Server::Nginx,
        Server::Apache => web::Server::Apache,
        Server::Haproxy(events) => web::Server::Haproxy(match events {
            Events::Epoll => web::Events::Epoll,
            Events::Poll => web::Events::Poll,
            Events::Select => web::Events::Select,
        }),
    }
}

fn run(bench: &Bench, case: ServerCase, times: Times, file: &Path) -> Result<Done, Error> {
    let ServerCase { workload, requests, sendfile, tso, server } = case;
    let recorder = |cpu| Recorder {
        frequency: FREQUENCY,
        cache_misses: true,
        longest: times.observed + SPARE,
        ..Recorder::new(What::System { cpus: Some(vec![cpu]) }, file)
    };
    let (requested, server) = (as_requested(workload), as_server(server));
    let web_case = web::WebCase { requested, requests, sendfile, tso, server };
    let (ran, recorded) = bench.run(
        web_case,
        times,
        |cpu| Ok::<_, Error>(recorder(cpu).start()?),
        |recording| Ok(recording.stop()?),
    )?;
    let (event, release) = (recorded.event.to_string(), slowpath_lab::run::kernel_release());
    let cache_misses = Some(recorded.cache_misses.to_string());
    let (profile, seconds) = (read(file, None)?, times.observed.as_secs());
    Ok(Done { case, ran, profile, event, cache_misses, release, machine: kept::machine(), seconds })
}

fn as_run(done: &Done) -> Run<'_> {
    let counted = &done.ran.counted;
    Run {
        case: done.case,
        counters: Counters {
            seconds: counted.seconds,
            requests: counted.requests,
            connections: counted.connections,
            errors: done.ran.load.errors,
            segments_in: counted.segments_in,
            segments_out: counted.segments_out,
            pure_acks_in: counted.pure_acks_in + counted.predicted_acks_in,
            idle: counted.server.idle_share(),
            stolen: counted.server.share(counted.server.steal),
        },
        profile: &done.profile,
        server: as_server(done.case.server).program(),
    }
}

/// The servers by name, each once.
fn servers(done: &[Done]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in done.iter().map(|done| as_server(done.case.server).program()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// The machine, and disturbances during the runs.
fn measured_on(done: &[Done]) -> Vec<String> {
    let Some(first) = done.first() else { return Vec::new() };
    let mut lines = vec![
        format!(
            "measured on Linux {}: {} with one process on CPU {}, wrk on another, {} s each",
            first.release,
            servers(done),
            first.ran.server_cpu,
            first.seconds
        ),
        first.event.clone(),
    ];
    lines.extend(first.cache_misses.clone());
    let full = done.iter().filter(|done| done.ran.is_saturated()).count();
    let idle = |done: &Done| done.ran.counted.server.idle_share();
    if let Some(least) = done.iter().max_by(|a, b| idle(a).total_cmp(&idle(b))) {
        let rest = if full == done.len() {
            String::new()
        } else {
            format!("; least busy: {}, idle for {:.1} %", least.case, idle(least) * 100.0)
        };
        lines.push(format!(
            "the server's CPU was 100 % busy (idle for less than 1 %) in {full} of {} cases{rest}",
            done.len()
        ));
    }
    let at_home = done.iter().filter_map(|done| done.ran.received_at_home()).fold(f64::INFINITY, f64::min);
    if at_home.is_finite() {
        lines.push(format!(
            "of the packets to the server its own CPU received {:.1} % at least",
            at_home.min(1.0) * 100.0
        ));
    }
    let lost: u64 = done.iter().map(|done| done.profile.lost.samples).sum();
    if lost > 0 {
        lines.push(format!("perf lost {lost} samples"));
    }
    lines
}
