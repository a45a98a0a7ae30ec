//! Ubik and Cimbal 2003: copies over ssh by real programs, on this host.

use super::Error;
use crate::kernel::{self, How};
use slowpath_analyses::Cause;
use slowpath_capture::Capture;
use slowpath_lab::host::Host;
use slowpath_lab::recording::Format;
use slowpath_lab::run::{kernel_release, recording_file};
use slowpath_lab::scenario::Instead;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::Carrier;
use slowpath_lab::ssh::{self, Client, Copy, Server, Setup};
use slowpath_model::{Bytes, Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Rate, Sink};
use slowpath_papers::Report;
use slowpath_papers::ubik::copies::{self, Copied};
use slowpath_scenario::{Scenario, check};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const FILE: &str = "scenarios/ubik/scp.toml";
const TEXT: &str = include_str!("../../../../scenarios/ubik/scp.toml");

/// The copies: each is to last some seconds.
fn all() -> [Copy; 7] {
    let copy = |client, server, kilobytes: u64| Copy { client, server, amount: Bytes::new(kilobytes * 1000) };
    let dropbear = |kib: u64| Server::Dropbear { window: Bytes::new(kib << 10) };
    [
        // Dropbear's default, OpenSSH's of the paper's time, OpenSSH's of today, and one for long paths.
        copy(Client::Scp, dropbear(24), 600),
        copy(Client::Scp, dropbear(128), 3_000),
        copy(Client::Scp, Server::OpenSsh, 30_000),
        copy(Client::Scp, dropbear(8 << 10), 60_000),
        copy(Client::Rsync, dropbear(128), 3_000),
        copy(Client::Rsync, Server::OpenSsh, 30_000),
        copy(Client::Rsync, dropbear(8 << 10), 60_000),
    ]
}

fn name(copy: Copy) -> String {
    format!("{} to {}, {}", copy.client, copy.server, copy.server.window())
}

/// Makes the copies whose names have these words (all without words), one after another, and keeps the captures in a
/// folder if one is given. `begin` is called with the number of copies, and the function it returns after each.
///
/// # Errors
///
/// If no copy matches the words, a program or root is missing, or a copy fails.
pub fn copies<D: FnMut()>(
    only: &[String],
    keep: Option<&Path>,
    begin: impl FnOnce(usize) -> D,
) -> Result<Report, Error> {
    let chosen = chosen(only)?;
    let missing = ssh::missing();
    if !missing.is_empty() {
        return Err(Error::NoPrograms(missing));
    }
    if !ssh::is_permitted() {
        return Err(Error::NotRoot(
            "papers ubik --lab",
            "it runs an ssh server for root in network namespaces",
        ));
    }
    if let Some(folder) = keep {
        if folder.exists() {
            return Err(Error::Exists(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(Error::file(folder, "cannot be made"))?;
    }
    slowpath_lab::signals::clean_up_when_ended()?;
    let scratch = Scratch::create()?;
    let setup = Setup::create(&scratch)?;
    let scenario = check(FILE, TEXT, &[], None).map_err(|error| Error::transfer(error.into()))?.scenario;
    let mut done_one = begin(chosen.len());
    let mut copied = Vec::new();
    for copy in chosen {
        let folder =
            keep.unwrap_or(&scratch.file("runs")).join(name(copy).replace(", ", "-").replace(' ', "-"));
        let one = run(&scenario, &setup, copy, &folder);
        copied.push(one.map_err(|source| Error::Case { name: name(copy), source: Box::new(source) })?);
        done_one();
    }
    let path = scenario.paths[0].forward.link.as_ref().map_or(Rate::mbit(0), |link| link.rate);
    let measured_on = vec![format!(
        "measured on Linux {} over {path} and {} ms, one copy each; the path was the lab's",
        kernel_release(),
        copied.first().map_or(0, |one| one.rtt.as_millis())
    )];
    Ok(copies::report(&copied, path, measured_on))
}

fn chosen(only: &[String]) -> Result<Vec<Copy>, Error> {
    let has = |copy: Copy, words: &str| {
        let name = name(copy).replace(',', "");
        words.split_whitespace().all(|word| name.split(' ').any(|part| part.eq_ignore_ascii_case(word)))
    };
    if let Some(words) = only.iter().find(|words| !all().iter().any(|copy| has(*copy, words))) {
        return Err(Error::NoSuchCase { words: words.clone(), like: name(all()[0]) });
    }
    let wanted = |copy: &Copy| only.is_empty() || only.iter().any(|words| has(*copy, words));
    Ok(all().into_iter().filter(wanted).collect())
}

fn run(scenario: &Scenario, setup: &Setup, copy: Copy, folder: &Path) -> Result<Copied, Error> {
    let instead = setup.programs(copy)?;
    let scenario = Instead::of(scenario);
    let how = How { instead: Some(&instead), carrier: Carrier::Veth, keep: Some(folder) };
    let mut flows = Vec::new();
    let live = kernel::run(&scenario, how, |flow| flows.push(flow)).map_err(Error::transfer)?;
    if let Some(failed) = live.truth.programs.iter().find(|program| program.has_failed()) {
        return Err(failed.failure("while it copied").into());
    }
    if setup.copied() != Some(copy.amount) {
        return Err(Error::Incomplete { copied: setup.copied().unwrap_or_default(), of: copy.amount });
    }
    let sent = |flow: &slowpath_analyses::report::FlowReport| flow.main().measures.unique_bytes;
    let Some(flow) = flows.iter().max_by_key(|flow| sent(flow)) else {
        return Err(Error::Incomplete { copied: Bytes::ZERO, of: copy.amount });
    };
    let findings = &flow.main().findings;
    let of_window = findings.iter().filter(|finding| finding.cause == Cause::ProtocolWindow);
    let mut progress = Progress::default();
    let capture = Capture::open(folder.join(recording_file(Host::Sender, Format::Pcap)));
    let opened = capture.and_then(|capture| capture.run(&mut progress));
    opened.map_err(|error| Error::transfer(error.into()))?;
    Ok(Copied {
        name: name(copy),
        command: format!("sudo slowpath papers ubik --lab --only '{}'", name(copy).replace(',', "")),
        window: copy.server.window(),
        rtt: scenario.paths[0].forward.delay + scenario.paths[0].reverse.delay,
        middle: progress.middle().unwrap_or(Rate::mbit(0)),
        whole: Rate::of(sent(flow), flow.lasted()).unwrap_or(Rate::mbit(0)),
        diagnosed: of_window.map(|finding| finding.share).sum(),
    })
}

/// When how much was sent on the flow with most data; a point for every piece of it.
#[derive(Default)]
struct Progress(BTreeMap<FlowId, Vec<(Instant, u64)>>);

/// The resolution of a copy's progress.
const PIECE_BYTES: u64 = 16 << 10;

impl Progress {
    /// The rate while the middle half was sent.
    fn middle(&self) -> Option<Rate> {
        let points = self.0.values().max_by_key(|points| points.last().map(|(_, bytes)| *bytes))?;
        let (_, all) = *points.last()?;
        let at = |share: u64| points.iter().find(|(_, bytes)| *bytes >= all / 4 * share).copied();
        let ((from, first), (to, last)) = (at(1)?, at(3)?);
        Rate::of(Bytes::new(last - first), to.since(from)?)
    }
}

impl Sink for Progress {
    fn open(&mut self, flow: FlowId, _key: &FlowKey) {
        self.0.insert(flow, Vec::new());
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let EventKind::Seen(segment) = event.kind else { return };
        let Some(points) = self.0.get_mut(&flow) else { return };
        // The direction with less data adds little: keys and window adjustments.
        let sent = points.last().map_or(0, |(_, bytes)| *bytes);
        let end = u64::try_from(segment.seq.0).unwrap_or(0) + u64::from(segment.len);
        if segment.len > 0 && end >= sent + PIECE_BYTES {
            points.push((event.at, end));
        }
    }

    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}
