//! A plan tried in the lab: a scenario runs on this machine's kernel with the values that the plan expects and with its new
//! ones, in turn. Nothing on this host is changed.

use crate::Error;
use crate::kernel::{invalid, totals};
use slowpath_kernels::sysctls;
use slowpath_lab::experiment::Experiment;
use slowpath_lab::host::{DEVICE, Host};
use slowpath_lab::namespaces::Namespaces;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::Family;
use slowpath_lab::{run, scenario, signals, task, testbed};
use slowpath_scenario::{HostId, Scenario};
use slowpath_simulator::report::Total;
use slowpath_tune::gain::{Gain, Measure, ReadingUnit, Verdict};
use slowpath_tune::journal::Side;
use slowpath_tune::rehearsal::{Rehearsal, fit};
use slowpath_tune::{Forecast, Plan, Reading, Run, gain_of, inside, order};
use std::path::Path;
use std::time::Duration;

/// Attempts at a run, of which those do not count that the machine was too busy for.
const ATTEMPTS: u32 = 3;

/// How a plan is tried.
pub struct Trial<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The host of the lab that it is for.
    pub host: Host,
    /// Runs of each side.
    pub runs: u32,
    /// The gain that is asked for, as a share.
    pub wanted: f64,
}

/// A plan that was tried.
pub struct Tried {
    /// Which changes were tried, and which not.
    pub rehearsal: Rehearsal,
    /// The rate of all flows together in each run. Two runs in a row are a pair.
    pub runs: Vec<Run>,
    /// How long each run's flows took, in the order of the runs.
    pub times: Vec<Duration>,
    /// By how much the plan helped.
    pub gain: Gain,
    /// The gain that was asked for, as a share.
    pub wanted: f64,
    /// What that means.
    pub verdict: Verdict,
    /// What was predicted of the plan, or why nothing was; `None` for a plan without predictions, or if not all of it was tried.
    pub predicted: Option<Result<Forecast, String>>,
}

/// Why a plan was not tried.
#[derive(Debug, thiserror::Error)]
pub enum NotTried {
    /// None of its changes can be made there.
    #[error("nothing of this plan can be tried in the lab: {}",
        .0.iter().map(|(setting, why)| format!("{setting}: {why}")).collect::<Vec<_>>().join("; "))]
    Nothing(Vec<(String, String)>),
    /// The lab cannot run the scenario.
    #[error(transparent)]
    Run(#[from] Error),
    /// A flow of a run moved no data.
    #[error("no data arrived in run {0}: the scenario is too short, or its path loses everything")]
    NoData(usize),
    /// There are no random numbers.
    #[error("/dev/urandom")]
    NoChance(#[source] std::io::Error),
}

/// Runs a scenario with the old and the new values of a plan in turn, in an order by chance. `each` is called after each run. The
/// process must have the privilege for it.
///
/// # Errors
/// If the lab cannot run the scenario, or cannot have any change of the plan.
pub fn try_plan(base: &Scenario, trial: &Trial<'_>, each: &mut dyn FnMut()) -> Result<Tried, NotTried> {
    let mut rehearsal = fit(trial.plan, DEVICE, testbed::address(Family::V4, trial.host.other()));
    let experiments = both(base, trial.host, &mut rehearsal)?;
    if rehearsal.tried.is_empty() {
        return Err(NotTried::Nothing(rehearsal.not_tried));
    }
    signals::clean_up_when_ended().map_err(Error::from)?;
    let scratch = Scratch::create().map_err(Error::from)?;
    let (mut runs, mut times) = (Vec::new(), Vec::new());
    for side in order(trial.runs).map_err(NotTried::NoChance)? {
        let experiment = &experiments[side as usize];
        let total = one(base, experiment, &scratch.file("run"), trial.host, &rehearsal, side)?;
        let rate = total.rate().ok_or(NotTried::NoData(runs.len() + 1))?;
        let value = rate.get() as f64;
        runs.push(Run { side, reading: Reading { value, unit: ReadingUnit::BitsPerSecond } });
        times.push(total.lasted());
        each();
    }
    let gain = gain_of(Measure::Rate, &runs).ok_or(NotTried::NoData(0))?;
    let verdict = gain.verdict(trial.wanted);
    let predicted = trial.plan.predicted().filter(|_| rehearsal.not_tried.is_empty());
    Ok(Tried { predicted, rehearsal, runs, times, gain, wanted: trial.wanted, verdict })
}

/// The scenario with the old and with the new congestion control, which is chosen with the sockets.
fn both(base: &Scenario, host: Host, rehearsal: &mut Rehearsal) -> Result<[Experiment; 2], Error> {
    let machine = task::own_cpus();
    let place = match host {
        Host::Sender => base.flows[0].sender_host(),
        Host::Receiver => base.flows[0].receiver_host(),
    };
    let of = |control: Option<&String>| match control {
        Some(control) => with_control(base, place, control),
        None => Ok(base.clone()),
    };
    let control = rehearsal.control.clone();
    let scenarios = [0, 1].map(|side| of(control.as_ref().map(|both| &both[side])));
    let scenarios = match scenarios {
        [Ok(old), Ok(new)] => [old, new],
        [Err(why), _] | [_, Err(why)] => {
            rehearsal.leave_control(&why);
            [base.clone(), base.clone()]
        }
    };
    let [old, new] = scenarios.map(|scenario| scenario::experiment(&scenario, &machine));
    Ok([old?, new?])
}

/// The scenario with another congestion control of a host's sockets; an error says that there is none of that name.
fn with_control(base: &Scenario, host: HostId, control: &str) -> Result<Scenario, String> {
    let mut scenario = base.clone();
    let sysctl = sysctls().find(|sysctl| sysctl.name == "net.ipv4.tcp_congestion_control");
    let sysctl = sysctl.ok_or_else(|| "the scenario's kernel has none".to_owned())?;
    let put = sysctl.put(&mut scenario.hosts[host.0].kernel, control);
    put.map_err(|_| format!("scenarios have no congestion control {control}"))?;
    Ok(scenario)
}

/// One run that counts.
fn one(
    base: &Scenario,
    experiment: &Experiment,
    folder: &Path,
    host: Host,
    rehearsal: &Rehearsal,
    side: Side,
) -> Result<Total, Error> {
    let keep = run::Keep { packing: run::Packing::Quick, probe: false };
    let prepare = |namespaces: &Namespaces| {
        let name = namespaces.path(host.into());
        inside(Some(&name), || rehearsal.put(side)).map_err(|error| error.to_string())?
    };
    let mut why = Vec::new();
    for _ in 0..ATTEMPTS {
        let outcome = run::run_prepared(experiment, folder, keep, &prepare)?;
        why = if outcome.written {
            invalid(&outcome.truth)
        } else {
            let failed = outcome.truth.checks.iter().filter(|check| !check.holds);
            failed.map(|check| format!("{check:?}")).collect()
        };
        if why.is_empty() {
            let mut all = Total::default();
            totals(base, &outcome.truth).iter().for_each(|total| all.join(total));
            return Ok(all);
        }
    }
    Err(Error::TooBusy(format!("{ATTEMPTS} runs in a row do not count: {}", why.join("; "))))
}
