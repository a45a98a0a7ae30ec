//! `xtask cures`: verdicts held against what a cure gives back.
//!
//! A verdict says what held a transfer. If that is so, taking it away makes the transfer faster, and taking anything else away
//! does not. In the simulator both can be done: each of many random transfers runs once as it is, and once with each limit
//! taken away. The causes of the cures that help most are right, whatever was meant to happen. No rule has seen a transfer
//! of a number that nobody has used before.
//!
//! `--lab` does it with this machine's kernel and real time, which has the delays of a real host; as root.

mod cure;
mod draw;
mod lab;

use anyhow::{Context, Result, ensure};
use clap::Args;
use cure::Cure;
use draw::{Fault, Transfer};
use serde::Serialize;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Confidence};
use slowpath_runs::parallel;
use slowpath_scenario::{HostId, Override, Scenario, check};
use slowpath_simulator::{Nobody, Observer, Occurrence, Sight, Simulation, Tap};
use slowpath_views::headline::main_finding;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

/// Hold verdicts against what takes the limit away, in random transfers of the simulator.
#[derive(Args)]
pub struct Cures {
    /// Number of the first transfer; the same number gives the same transfer
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// How many transfers
    #[arg(long, value_name = "N", default_value_t = 460)]
    transfers: u64,
    /// Print the keys of each transfer with a wrong verdict, for `slowpath run`
    #[arg(long)]
    keys: bool,
    /// Run them on this machine's kernel, as root: a minute each
    #[arg(long)]
    lab: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// No transfer of the draw takes longer, in simulated time.
const LONGEST: &str = "duration=60 s";

/// A transfer whose best cure saves less of its time is held by nothing that a cure takes away.
const LEAST_GAIN: f64 = 0.08;

/// A cure is right as well if it saves this part of what the best one saves, ...
const AS_GOOD: f64 = 0.5;

/// ... this much less of the transfer's time at most, ...
const NEARLY: f64 = 0.25;

/// ... and more of it than this.
const NOT_NOTHING: f64 = 0.05;

/// What was said of a transfer at one host.
#[derive(Clone, Debug, Serialize)]
struct Said {
    /// The cause of the headline; none if the capture has no data.
    cause: Option<String>,
    /// How sure.
    is_sure: bool,
    /// Whether it is one that a cure which helps makes right.
    is_right: bool,
}

/// A transfer that was judged.
#[derive(Debug, Serialize)]
struct Judged {
    seed: u64,
    faults: Vec<Fault>,
    /// How long it took, in seconds.
    took_s: f64,
    /// The share of that time that each cure saves, most first.
    gains: Vec<(Cure, f64)>,
    /// At the sender and at the receiver.
    said: [Said; 2],
}

const HOSTS: [&str; 2] = ["sender", "receiver"];

impl Cures {
    pub(crate) fn run(&self) -> Result<()> {
        let numbers = self.from..self.from + self.transfers;
        let all = if self.lab { lab::judged(numbers)? } else { judged(numbers)? };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&all)?);
        } else {
            print!("{}", self.text(&all));
        }
        Ok(())
    }

    fn text(&self, all: &[Judged]) -> String {
        let mut text = String::new();
        let mut by_fault: BTreeMap<Fault, [usize; 3]> = BTreeMap::new();
        let mut sure_and_wrong = [0; 2];
        for one in all {
            let counts = by_fault.entry(one.faults[0]).or_default();
            counts[0] += 1;
            for (place, said) in one.said.iter().enumerate() {
                counts[place + 1] += usize::from(said.is_right);
                sure_and_wrong[place] += usize::from(!said.is_right && said.is_sure);
            }
            if one.said.iter().all(|said| said.is_right) {
                continue;
            }
            let gains =
                one.gains.iter().take(3).map(|(cure, gain)| format!("{cure:?} {:.0} %", gain * 100.0));
            let _ = writeln!(text, "{} {:?}: {}", one.seed, one.faults, gains.collect::<Vec<_>>().join(", "));
            for (host, said) in HOSTS.iter().zip(&one.said).filter(|(_, said)| !said.is_right) {
                let sure = if said.is_sure { ", high" } else { "" };
                let _ = writeln!(text, "    {host}: {}{sure}", said.cause.as_deref().unwrap_or("nothing"));
            }
            if self.keys {
                Transfer::drawn(one.seed).keys.iter().for_each(|key| {
                    let _ = writeln!(text, "    {}", key.text);
                });
            }
        }
        let _ = writeln!(text, "\n{:<16} {:>9} {:>9} {:>9}", "fault", "transfers", "sender", "receiver");
        let mut sums = [0; 3];
        for (fault, counts) in &by_fault {
            let [number, sender, receiver] = counts;
            let _ = writeln!(text, "{:<16} {number:>9} {sender:>9} {receiver:>9}", format!("{fault:?}"));
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let share = |right: usize| 100.0 * right as f64 / sums[0].max(1) as f64;
        let (sender, receiver) = (share(sums[1]), share(sums[2]));
        let _ = writeln!(text, "{:<16} {:>9} {sender:>7.1} % {receiver:>7.1} %", "right", sums[0]);
        let [sender, receiver] = sure_and_wrong;
        let _ = writeln!(text, "{:<16} {:>9} {sender:>9} {receiver:>9}", "high and wrong", "");
        text
    }
}

/// The transfers of these numbers that some cure makes faster.
fn judged(numbers: std::ops::Range<u64>) -> Result<Vec<Judged>> {
    let numbers: Vec<u64> = numbers.collect();
    let stop = AtomicBool::new(false);
    let all = parallel::each(&numbers, None, &stop, &|| (), |seed| {
        judge(&Transfer::drawn(*seed), run).with_context(|| format!("transfer {seed}")).map(Some)
    })?;
    Ok(all.into_iter().flatten().flatten().collect())
}

/// How long a transfer took, in seconds, and what captures at the sender and at the receiver say of it, if that is wanted.
type Ran = (f64, [Option<FlowReport>; 2]);

/// What cures it, and what is said of it; `None` if nothing cures it. `run` makes a transfer.
fn judge(transfer: &Transfer, run: impl Fn(&Scenario, bool) -> Result<Ran>) -> Result<Option<Judged>> {
    let plain: Vec<String> = transfer.keys.iter().map(|key| key.text.clone()).collect();
    let (took, flows) = run(&scenario(&plain, transfer.seed)?, true)?;
    let mut gains = Vec::new();
    for cure in Cure::all(transfer) {
        let (with, _) = run(&scenario(&cure.of(transfer), transfer.seed)?, false)?;
        gains.push((cure, 1.0 - with / took));
    }
    gains.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = gains[0].1;
    if best < LEAST_GAIN {
        return Ok(None);
    }
    let helps = |gain: f64| gain >= best * AS_GOOD && gain > best - NEARLY && gain > NOT_NOTHING;
    let right: Vec<Cure> = gains.iter().filter(|(_, gain)| helps(*gain)).map(|(cure, _)| *cure).collect();
    let said = flows.map(|flow| {
        let found = flow.as_ref().and_then(main_finding);
        Said {
            cause: found.map(|finding| finding.cause.to_string()),
            is_sure: found.is_some_and(|finding| finding.confidence == Confidence::High),
            is_right: found.is_some_and(|finding| right.iter().any(|cure| cure.makes_right(finding.cause))),
        }
    });
    Ok(Some(Judged { seed: transfer.seed, faults: transfer.faults.clone(), took_s: took, gains, said }))
}

fn scenario(keys: &[String], seed: u64) -> Result<Scenario> {
    let keys = keys.iter().map(String::as_str).chain([LONGEST]);
    let overrides: Vec<Override> = keys
        .map(|text| text.parse().map_err(|error| anyhow::anyhow!("{text}: {error}")))
        .collect::<Result<_>>()?;
    let checked = check("cures", "", &overrides, Some(seed));
    Ok(checked.map_err(|error| anyhow::anyhow!("{error:?}"))?.scenario)
}

/// The taps at both hosts.
struct Taps([Tap<Analysis>; 2]);

impl Observer for Taps {
    fn packet(&mut self, sight: &Sight<'_>) {
        self.0.iter_mut().for_each(|tap| tap.packet(sight));
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        self.0.iter_mut().for_each(|tap| tap.happened(occurrence));
    }
}

/// Makes a transfer in the simulator.
fn run(scenario: &Scenario, is_judged: bool) -> Result<Ran> {
    let tap = |host: &str| -> Result<Tap<Analysis>> {
        let number = scenario.hosts.iter().position(|one| one.name == host).context("two hosts")?;
        Ok(Tap::new(HostId(number), Analysis::new(AnalysisOptions::default())))
    };
    let mut simulation = Simulation::new(scenario);
    let mut flows = [None, None];
    if is_judged {
        let mut taps = Taps([tap(HOSTS[0])?, tap(HOSTS[1])?]);
        simulation.run(&mut taps);
        flows = taps.0.map(|tap| tap.finish().finish().flows.into_iter().next());
    } else {
        simulation.run(&mut Nobody);
    }
    let span = simulation.total(0).span.context("no data")?;
    let took = span.1.nanos_since(span.0) as f64 / 1e9;
    ensure!(took > 0.0, "it took no time");
    Ok((took, flows))
}
