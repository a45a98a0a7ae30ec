//! `slowpath lab run`.

use super::AskedOfRun;
use super::hosts::HostResult;
use super::programs::ProgramResult;
use crate::console::{self, Console};
use crate::on_kernel::{self, How, Live};
use crate::transfers::{self, FlowResult};
use crate::waits::WaitResult;
use crate::{Outcome, recording};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::report::FlowReport;
use slowpath_lab::case::Carrier;
use slowpath_lab::privilege;
use slowpath_lab::relay::Cost;
use slowpath_lab::scenario::Instead;
use slowpath_lab::truth::OneWay;
use slowpath_model::Bytes;
use slowpath_model::units::duration_text;
use slowpath_path::Totals;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use slowpath_views::columns::align;
use slowpath_views::quantity::{count, counted, duration};
use slowpath_views::rank::{Ranker, Selection};
use slowpath_views::{Diagnosis, json, terminal};
use std::io::{self, Write};
use std::time::Duration;

/// What came of a run on a real kernel.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/lab-run/1")]
pub struct Document<'a> {
    /// `slowpath/lab-run/1`.
    schema: &'static str,
    /// The scenario's title.
    title: &'a str,
    /// The seed of all that was left to chance on the path.
    seed: u64,
    /// The release of the kernel.
    kernel: &'a str,
    /// How long it took, in seconds.
    seconds: f64,
    /// Why the run does not count; empty if it does.
    invalid: &'a [String],
    /// The scenario's flows; where programs ran instead, one that stands for all of their connections, by the capture at
    /// the host that sent more.
    flows: Vec<FlowResult<'a>>,
    /// The programs that ran instead of the scenario's flows.
    programs: Vec<ProgramResult<'a>>,
    /// Both hosts, the sender's first.
    hosts: Vec<HostResult<'a>>,
    /// Where packets, data and processes waited, at each end of each flow.
    waits: Vec<WaitResult<'a>>,
    /// Why nothing is known of that; `null` if it is.
    unwatched: Option<&'a str>,
    /// What the run had to do without, as it was made without root; empty if it was root's.
    lost: &'static [&'static str],
    /// What carried the packets. With `tap` a packet came to the path when it was read, so that what was read late is late
    /// beyond the times that are given. Of `netem` nothing is known but how many packets came, were dropped and were
    /// delivered.
    carrier: Carrier,
    /// The path to the receiver, and back.
    path: Vec<Way>,
    /// CPUs that carrying the packets kept busy, on average.
    path_cores: Option<f64>,
    /// What `slowpath diagnose --json` says of the capture at the sending host; of programs, at the one that sent more.
    diagnosis: json::Diagnosis<'a>,
}

/// One direction of the path.
#[derive(Serialize, JsonSchema)]
struct Way {
    /// What became of the packets that came to it.
    totals: Totals,
    /// Half of the packets were delivered no later than this, in nanoseconds; `null` if that is not known.
    late_p50_ns: Option<u64>,
    /// 99 of 100.
    late_p99_ns: Option<u64>,
    /// 999 of 1000.
    late_p99_9_ns: Option<u64>,
    /// All of them.
    late_max_ns: Option<u64>,
    /// For how long a packet may have waited for the next ones of its super-packet, to be delivered with them; 0 if each was
    /// delivered alone.
    joined_within_ns: u64,
    /// Frames in which the packets were delivered.
    delivered_frames: Option<u64>,
    /// Frames that the path missed, since it was too busy; a run that has any does not count.
    missed_frames: u64,
    /// Most frames that had come before the path took them.
    most_waiting_frames: Option<u64>,
    /// Most packets that were on their way at once.
    most_packets: Option<u64>,
}

impl Way {
    fn of(way: &OneWay, carrier: Carrier) -> Self {
        let late = (carrier != Carrier::Netem).then_some(way.report.lateness);
        Self {
            totals: way.report.totals.clone(),
            late_p50_ns: late.map(|late| late.p50_ns),
            late_p99_ns: late.map(|late| late.p99_ns),
            late_p99_9_ns: late.and_then(|late| late.p99_9_ns),
            late_max_ns: late.map(|late| late.max_ns),
            joined_within_ns: way.report.joined_within_ns,
            delivered_frames: way.report.delivered_frames,
            missed_frames: way.report.missed_packets,
            most_waiting_frames: way.report.fullest.map(|fullest| fullest.ring_frames),
            most_packets: way.report.fullest.map(|fullest| fullest.packets),
        }
    }
}

pub fn run(AskedOfRun { asked, programs }: &AskedOfRun, console: &Console) -> anyhow::Result<Outcome> {
    let instead = programs.instead();
    let mut scenario = asked.scenario()?;
    if instead.is_some() {
        scenario = Instead::of(&scenario);
    }
    let top = if asked.json { usize::MAX } else { asked.top };
    let mut ranker = Ranker::new(Selection { flow: None, min_bytes: Bytes::ZERO, top });
    let live =
        on_kernel::run(&scenario, How { instead: instead.as_ref(), ..asked.how() }, console, |flow| {
            ranker.add(flow)
        })?;
    let mut ranking = ranker.finish();
    ranking.full.iter_mut().for_each(FlowReport::explain);
    let recordings = vec![live.recording.clone()];
    let outcome = if live.invalid.is_empty() { recording::outcome(&recordings) } else { Outcome::Partial };
    let advise = &slowpath_remedies::advise;
    let diagnosis = Diagnosis { recordings, ranking, flows_not_kept: live.not_kept, paired: None, advise };
    let mut out = console::stdout();
    if asked.json {
        let document = document(&scenario, &live, &diagnosis);
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        print(&scenario, &live, &mut out)?;
        terminal::diagnosis(&diagnosis, &console.look(), &mut out)?;
        if asked.keep.is_none() {
            writeln!(out, "\nThe captures were not kept: with --keep DIR one can look at their packets.")?;
        }
    }
    out.flush()?;
    Ok(outcome)
}

fn named<'a>(scenario: &'a Scenario, totals: &[Total]) -> Vec<(&'a str, Total)> {
    scenario.flows.iter().zip(totals).map(|(flow, total)| (flow.name.as_str(), *total)).collect()
}

fn document<'a>(scenario: &'a Scenario, live: &'a Live, diagnosis: &'a Diagnosis<'a>) -> Document<'a> {
    let flows = named(scenario, &live.totals);
    let carrier = live.truth.case.experiment().settings.carrier;
    Document {
        schema: "slowpath/lab-run/1",
        title: &scenario.title,
        seed: scenario.seed,
        kernel: &live.truth.kernel,
        seconds: lasted(live).as_secs_f64(),
        invalid: &live.invalid,
        flows: flows.iter().map(|(name, total)| FlowResult::of(name, total)).collect(),
        programs: ProgramResult::all(scenario, &live.truth),
        hosts: HostResult::both(scenario, &live.truth),
        waits: live.waiting.results(scenario),
        unwatched: live.unwatched.as_deref(),
        lost: privilege::lost(),
        carrier,
        path: on_kernel::ways(&live.truth).map(|(_, way)| Way::of(way, carrier)).into(),
        path_cores: live.truth.path.cost.map(Cost::cores),
        diagnosis: json::Diagnosis::of(diagnosis),
    }
}

fn lasted(live: &Live) -> Duration {
    Duration::from_nanos(live.truth.to_ns.saturating_sub(live.truth.from_ns))
}

fn print(scenario: &Scenario, live: &Live, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", scenario.heading())?;
    let took = duration_text(lasted(live));
    writeln!(out, "{took} on Linux {}, seed {}", live.truth.kernel, scenario.seed)?;
    writeln!(out)?;
    transfers::print(&named(scenario, &live.totals), out)?;
    writeln!(out)?;
    let waits = live.waiting.table(scenario);
    if !waits.is_empty() {
        align(&waits, out)?;
        writeln!(out)?;
    }
    if let Some(why) = &live.unwatched {
        writeln!(out, "where packets waited on the hosts is not known: {why}")?;
    }
    for program in ProgramResult::all(scenario, &live.truth) {
        program.print(out)?;
    }
    for host in HostResult::both(scenario, &live.truth) {
        host.print(out)?;
    }
    print_path(live, out)?;
    let lost = privilege::lost();
    if !lost.is_empty() {
        writeln!(out, "without root: {}", lost.join(";\n  "))?;
    }
    for why in &live.invalid {
        writeln!(out, "this run does not count: {why}")?;
    }
    writeln!(out)
}

fn print_path(live: &Live, out: &mut impl Write) -> io::Result<()> {
    let carrier = live.truth.case.experiment().settings.carrier;
    for (name, way) in on_kernel::ways(&live.truth) {
        let totals = &way.report.totals;
        let late = |ns| duration(Duration::from_nanos(ns));
        let dropped = count(totals.dropped());
        write!(out, "path {name}: {}, {dropped} dropped", counted(totals.offered_packets, "packet"))?;
        if carrier == Carrier::Netem {
            writeln!(out)?;
            continue;
        }
        writeln!(
            out,
            ", longest queue {}; 99 of 100 at most {} late, the latest {}",
            counted(totals.longest_queue_packets, "packet"),
            late(way.report.lateness.p99_ns),
            late(way.report.lateness.max_ns),
        )?;
    }
    match carrier {
        Carrier::Veth => Ok(()),
        Carrier::Tap => {
            writeln!(
                out,
                "with TAP devices a packet came when it was read: what was read late is late beyond that"
            )
        }
        Carrier::Netem => {
            writeln!(out, "netem carried them, with the hosts' offloads off: how late they were is not known")
        }
    }
}
