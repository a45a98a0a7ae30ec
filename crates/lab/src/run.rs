//! One run of an experiment: set up, capture, transfer, check, write.

use crate::case::{LabelledCase, RunInput};
use crate::check;
use crate::clock;
use crate::cpus::{self, KeptAway};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::flush;
use crate::host::{DEVICE, Host};
use crate::load;
use crate::namespaces::{Namespaces, Place};
use crate::netem;
use crate::privilege::{self, Privilege};
use crate::probe::Probe;
use crate::recording::{self, Format};
use crate::relay::{Cost, DirectionReport, Relay, StopOnDrop};
use crate::samples::Sampler;
use crate::scratch::Scratch;
use crate::settings::Carrier;
use crate::testbed;
use crate::truth::{self, BothHosts, BothWays, Connection, Expected, KernelShares, OneWay, Truth};
use crate::watch::Watch;
use crate::workload::end::{CASE_TIME, EndRecord, Surroundings};
use crate::workload::programs::{self, ProgramRecord};
use crate::workload::stream::{self, Hosts};
use crate::workload::{Stream, Workload, Writer, exchange};
use slowpath_live::{Counters, counters, growth};
use slowpath_model::nanos;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const SAMPLER_PRIORITY: i32 = 4;
const SAMPLE_EVERY_NS: u64 = 10_000_000;

/// What is stored of a run besides its truth, its samples and its two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// How the files are compressed.
    pub packing: Packing,
    /// Whether to store the probe's records too.
    pub probe: bool,
}

/// How the files of a run are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As small as possible: they are kept for good.
    Small,
    /// As fast as possible: hundreds of megabytes a second.
    Quick,
}

impl Packing {
    fn level(self) -> i32 {
        match self {
            Self::Small => 19,
            Self::Quick => 1,
        }
    }
}

/// The files of a run, besides its two recordings.
pub const SAMPLES: &str = "samples.csv.zst";
/// See [`SAMPLES`].
pub const TRUTH: &str = "truth.json";
/// The probe's records, if it could watch: `slowpath_live` replays them.
pub const PROBE: &str = "probe.raw.zst";

/// The recording made at a host.
pub const fn recording_file(host: Host, format: Format) -> &'static str {
    match (host, format) {
        (Host::Sender, Format::Pcap) => "sender.pcap.zst",
        (Host::Receiver, Format::Pcap) => "receiver.pcap.zst",
        (Host::Sender, Format::Pcapng) => "sender.pcapng.zst",
        (Host::Receiver, Format::Pcapng) => "receiver.pcapng.zst",
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The truth; [`Truth::checks`] says whether the run counts.
    pub truth: Truth,
    /// Whether the files were written.
    pub written: bool,
    /// Bytes of the files.
    pub stored_bytes: u64,
    /// Why the requested probe did not watch.
    pub unwatched: Option<String>,
}

/// Runs an experiment and, if the path and the captures were complete, writes its files into `folder`; see
/// [`run_labelled`].
///
/// # Errors
/// If the testbed cannot be set up or the transfer itself fails.
pub fn run(experiment: &Experiment, folder: &Path, keep: Keep) -> Result<Outcome, LabError> {
    record(&RunInput::Unlabelled(experiment.clone()), folder, keep, &|_| Ok(()))
}

/// Changes the hosts before the transfer; an error says why that failed.
pub type Prepare<'a> = &'a dyn Fn(&Namespaces) -> Result<(), String>;

/// As [`run`], on hosts that `prepare` changes once they are set up.
///
/// # Errors
/// If `prepare` fails, the testbed cannot be set up or the transfer itself fails.
pub fn run_prepared(
    experiment: &Experiment,
    folder: &Path,
    keep: Keep,
    prepare: Prepare<'_>,
) -> Result<Outcome, LabError> {
    record(&RunInput::Unlabelled(experiment.clone()), folder, keep, prepare)
}

/// Runs a labelled case and, if every check holds, writes its files into `folder`. A run whose checks fail writes
/// nothing, and removes what an earlier run wrote there.
///
/// # Errors
/// If the testbed cannot be set up or the transfer itself fails.
pub fn run_labelled(case: &LabelledCase, folder: &Path, keep: Keep) -> Result<Outcome, LabError> {
    record(&RunInput::Labelled(case.clone()), folder, keep, &|_| Ok(()))
}

fn record(
    input: &RunInput,
    folder: &Path,
    Keep { packing, probe }: Keep,
    prepare: Prepare<'_>,
) -> Result<Outcome, LabError> {
    let experiment = input.experiment();
    let scratch = Scratch::create()?;
    let raw = [scratch.file("sender.pcap"), scratch.file("receiver.pcap")];
    let kept_away = KeptAway::from(experiment)?;
    let (namespaces, hosts) = testbed::build(&experiment.settings)?;
    cpus::steer(&namespaces, experiment)?;
    prepare(&namespaces).map_err(LabError::Unfit)?;
    let bench = Bench { input, experiment, namespaces: &namespaces, hosts: &hosts, seeds: input.seeds() };
    let told = scratch.file("probe.raw");
    let hosts = [namespaces.number(Place::Sender)?, namespaces.number(Place::Receiver)?];
    let probe = match privilege::held() {
        _ if !probe => None,
        Privilege::Root => Some(Probe::start(&hosts, Some(&told))?.map_err(|error| error.to_string())),
        Privilege::OwnNamespace => Some(Err("the kernel's probe needs root".to_owned())),
    };
    let (mut truth, samples) = bench.run(&raw)?;
    let finish = |probe: Probe| probe.finish().map_err(|error| error.to_string());
    let watched = probe.map(|probe| probe.and_then(finish));
    drop((namespaces, kept_away));
    let captured = |path: &Path| fs::read(path).map_err(LabError::file(path));
    let (sender, left_out_at_sender) = recording::make(&captured(&raw[0])?, &experiment.recording)?;
    let (receiver, left_out_at_receiver) = recording::make(&captured(&raw[1])?, &experiment.recording)?;
    truth.recordings = BothHosts { sender: left_out_at_sender, receiver: left_out_at_receiver };
    truth.checks = check::all(experiment, input.expectation(), &truth);
    let is_watched = matches!(watched, Some(Ok(())));
    let unwatched = watched.and_then(Result::err);
    let mut outcome = Outcome { truth, written: false, stored_bytes: 0, unwatched };
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(LabError::file(folder))?;
    }
    if outcome.truth.checks.iter().all(|c| c.holds) {
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        for (host, recording) in [(Host::Sender, sender), (Host::Receiver, receiver)] {
            let file = recording_file(host, experiment.recording.format);
            outcome.stored_bytes += store(&folder.join(file), &recording, packing)?;
        }
        outcome.stored_bytes += store(&folder.join(SAMPLES), samples.as_bytes(), packing)?;
        if is_watched {
            outcome.stored_bytes += store(&folder.join(PROBE), &captured(&told)?, packing)?;
        }
        let json = truth::to_json(&outcome.truth)?;
        let path = folder.join(TRUTH);
        fs::write(&path, &json).map_err(LabError::file(&path))?;
        outcome.stored_bytes += json.len() as u64;
        outcome.written = true;
    }
    Ok(outcome)
}

fn store(path: &Path, data: &[u8], packing: Packing) -> Result<u64, LabError> {
    let packed = zstd::encode_all(data, packing.level()).map_err(LabError::file(path))?;
    fs::write(path, &packed).map_err(LabError::file(path))?;
    Ok(packed.len() as u64)
}

/// The records of both ends of each connection, and those of programs that keep none.
type Transferred = (Vec<(EndRecord, EndRecord)>, Vec<ProgramRecord>);

struct Bench<'a> {
    input: &'a RunInput,
    experiment: &'a Experiment,
    namespaces: &'a Namespaces,
    hosts: &'a Hosts,
    seeds: [u64; 2],
}

impl Bench<'_> {
    fn run(&self, raw: &[std::path::PathBuf; 2]) -> Result<(Truth, String), LabError> {
        let configs = [&self.experiment.forward, &self.experiment.backward];
        let relay = if self.experiment.settings.carrier == Carrier::Netem {
            netem::install(self.namespaces, configs)?;
            None
        } else {
            let ways = testbed::ways(&self.experiment.settings, configs, self.seeds);
            Some(Relay::open(self.namespaces, ways)?)
        };
        let [relay_stop, sampler_stop, flush_stop] = [(); 3].map(|()| AtomicBool::new(false));
        let sampler = Sampler::default();
        std::thread::scope(|scope| {
            let stopper = StopOnDrop([&relay_stop, &sampler_stop, &flush_stop]);
            let relay = relay.map(|relay| scope.spawn(|| relay.run(&relay_stop)));
            if let Some(bytes) = self.experiment.warm_up_bytes {
                let around = self.surroundings(&sampler);
                stream::run(self.namespaces, self.hosts, &[Stream::one(Writer::Total { bytes })], around)?;
                self.let_it_settle();
            }
            let before = self.counters()?;
            let watches = [(Place::Sender, &raw[0]), (Place::Receiver, &raw[1])]
                .map(|(place, file)| Watch::start(self.namespaces, place, DEVICE, file));
            let [sender_watch, receiver_watch] = watches;
            let (sender_watch, receiver_watch) = (sender_watch?, receiver_watch?);
            let samples = scope.spawn(|| {
                clock::make_thread_punctual(SAMPLER_PRIORITY);
                sampler.run(SAMPLE_EVERY_NS, &sampler_stop)
            });
            let start_ns = clock::monotonic_ns();
            let deadline_ns = start_ns.saturating_add(nanos(CASE_TIME));
            let loads = load::Running::start(&self.experiment.loads, start_ns, deadline_ns, self.seeds[0])?;
            let flushes = &self.experiment.flushes;
            let until = &flush_stop;
            let flushing = scope.spawn(move || flush::at_times(self.namespaces, flushes, start_ns, until));
            let from_ns = clock::realtime_ns();
            let (connections, programs) = self.transfer(&sampler)?;
            let to_ns = clock::realtime_ns();
            let loads = loads.stop();
            self.let_it_settle();
            let captures = BothHosts { sender: sender_watch.stop()?, receiver: receiver_watch.stop()? };
            let after = self.counters()?;
            drop(stopper);
            flushing.join().unwrap_or(Err(LabError::Panicked { role: "flushes parameter caches" }))?;
            let carried = match relay {
                Some(relay) => {
                    let relay = relay.join().map_err(|_| LabError::Panicked { role: "relays packets" })?;
                    (relay.0, Some(relay.1))
                }
                None => (netem::reports(self.namespaces, configs)?, None),
            };
            let samples = samples.join().map_err(|_| LabError::Panicked { role: "samples sockets" })?;
            let counters = BothHosts {
                sender: growth(&before.sender, &after.sender),
                receiver: growth(&before.receiver, &after.receiver),
            };
            let mut truth = self.truth((from_ns, to_ns), connections, carried);
            truth.loads = loads;
            truth.programs = programs;
            truth.counters = counters;
            truth.captures = captures;
            Ok((truth, samples))
        })
    }

    fn surroundings<'a>(&self, sampler: &'a Sampler) -> Surroundings<'a> {
        let deadline_ns = clock::monotonic_ns().saturating_add(nanos(CASE_TIME));
        let ways = [&self.experiment.forward, &self.experiment.backward];
        let may_break = ways.into_iter().any(|way| !way.middleboxes.is_empty());
        Surroundings { sampler, deadline_ns, cut_ns: None, may_break }
    }

    fn transfer(&self, sampler: &Sampler) -> Result<Transferred, LabError> {
        let mut around = self.surroundings(sampler);
        let lasts_ns = self.experiment.cut_after_ns;
        around.cut_ns = lasts_ns.map(|ns| clock::monotonic_ns().saturating_add(ns));
        let (namespaces, hosts) = (self.namespaces, self.hosts);
        let connections = match &self.experiment.workload {
            Workload::Streams(streams) => stream::run(namespaces, hosts, streams, around)?,
            Workload::Exchange(plan) => exchange::run(namespaces, hosts, plan, around)?,
            Workload::Programs(plan) => {
                let records = programs::run(namespaces, hosts, plan, lasts_ns, around)?;
                return Ok((Vec::new(), records.into()));
            }
        };
        Ok((connections, Vec::new()))
    }

    /// Lets the last packets arrive and be captured.
    fn let_it_settle(&self) {
        let rtt = self.experiment.forward.delay + self.experiment.backward.delay;
        std::thread::sleep(2 * rtt + Duration::from_millis(250));
    }

    fn counters(&self) -> Result<BothHosts<Counters>, LabError> {
        let of = |place| {
            self.namespaces
                .inside(place, || counters().map_err(LabError::system("read the kernel's counters")))
        };
        Ok(BothHosts { sender: of(Place::Sender)?, receiver: of(Place::Receiver)? })
    }

    fn truth(
        &self,
        (from_ns, to_ns): (u64, u64),
        connections: Vec<(EndRecord, EndRecord)>,
        ([forward, backward], cost): ([DirectionReport; 2], Option<Cost>),
    ) -> Truth {
        let experiment = self.experiment;
        let mut connections: Vec<Connection> = connections
            .into_iter()
            .map(|(sender, receiver)| Connection {
                sender_shares: KernelShares::of(&sender),
                receiver_shares: KernelShares::of(&receiver),
                sender,
                receiver,
            })
            .collect();
        connections.sort_by_key(|c| c.sender.opened_ns.min(c.receiver.opened_ns));
        let expected = self.input.expectation().map(|expectation| Expected {
            label: expectation.expected.clone(),
            also: expectation.also.clone(),
            also_at_sender: expectation.also_at_sender.clone(),
            share_at_least: expectation.share.and_then(|basis| {
                truth::overall_share(&check::sending_ends(experiment, &connections), basis)
            }),
        });
        let way = |n: usize, config: &crate::path::PathConfig, report| OneWay {
            seed: self.seeds[n],
            config: config.clone(),
            report,
        };
        Truth {
            format: truth::FORMAT,
            expected,
            case: self.input.clone(),
            kernel: kernel_release(),
            from_ns,
            to_ns,
            connections,
            counters: BothHosts::default(),
            loads: Vec::new(),
            programs: Vec::new(),
            path: BothWays {
                forward: way(0, &experiment.forward, forward),
                backward: way(1, &experiment.backward, backward),
                cost,
            },
            captures: BothHosts::default(),
            recordings: BothHosts::default(),
            checks: Vec::new(),
        }
    }
}

/// The release of this machine's kernel, such as `6.18.44`.
pub fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}
