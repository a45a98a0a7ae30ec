//! `slowpath tune`: from advice to a change that is applied, verified, and can be taken back.

use crate::choice::{ends, keys};
use crate::connections::{self, Connections};
use crate::console::{self, Console};
use crate::doctor::Transfer;
use crate::interrupt::Interrupt;
use crate::output::Force;
use crate::{Outcome, recording};
use anyhow::{Context, ensure};
use clap::{ArgGroup, Args, Subcommand, ValueHint};
use slowpath_lab::{host::Host, privilege};
use slowpath_model::units::duration_from_text;
use slowpath_model::{Bytes, Rate};
use slowpath_runs::file::{self, Changes};
use slowpath_runs::in_lab::{self, try_plan};
use slowpath_runs::planning::{advised, foretell};
use slowpath_runs::values::{PAIRS, STREAMS, amount, gain, lasting, rate, rtt};
use slowpath_sockops::running;
use slowpath_tune::advice::{self, Numbers};
use slowpath_tune::gain::Measure;
use slowpath_tune::journal::{FOLDER, Journal};
use slowpath_tune::plan::Here;
use slowpath_tune::{
    Asked, Plan, Trial, When, apply, examine, examine_advised, host_name, ignores_hangup, known, revert,
    status, verify,
};
use slowpath_views::{Recording, tune as view};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `tune`.
#[derive(Args)]
#[command(after_long_help = view::HELP)]
pub struct Tune {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Show the buffers that a transfer needs, by this kernel's arithmetic, what they cost, and when they do harm
    Advise(Advising),
    /// Write a plan: what to change on this host, from which value to which, and why; changes nothing
    Plan(Planning),
    /// Make the changes of a plan, all or none, and verify them; needs root (CAP_NET_ADMIN)
    Apply(Applying),
    /// Set buffers of connections by their destination while it runs, without the programs; needs root (CAP_BPF, CAP_PERFMON,
    /// CAP_NET_ADMIN)
    Connections(Connections),
    /// Show which plans are applied, since when, by whom and until when, what they were predicted and measured to give, whether
    /// their changes are still in force, and who tunes connections
    Status {
        /// Print Markdown for a ticket: what was changed, from which finding, predicted, measured, and how to undo it
        #[arg(long, conflicts_with = "json")]
        report: bool,
        #[command(flatten)]
        written: Written,
    },
    /// Take a plan back, the last one unless a number is given; needs root (CAP_NET_ADMIN)
    Revert {
        /// The number of the plan, as `status` shows it
        #[arg(value_name = "ID")]
        id: Option<u32>,
        /// Wait this long first, unless somebody else reverts it
        #[arg(long, value_name = "TIME", value_parser = duration_from_text, requires = "id", hide = true)]
        after: Option<Duration>,
        #[command(flatten)]
        written: Written,
    },
}

/// Where the journal is, and how the result is printed.
#[derive(Args)]
struct Written {
    /// The journal
    #[arg(long, value_name = "DIR", default_value = FOLDER, value_hint = ValueHint::DirPath)]
    journal: PathBuf,
    /// Print JSON (schema slowpath/tune-apply/1, tune-verify/1, tune-lab/1, tune-status/1 or tune-revert/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Advising {
    /// The rate wanted from all connections together, such as 10Gbit/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Rate,
    /// RTT of the path, such as 80ms
    #[arg(long, value_name = "TIME", value_parser = rtt)]
    rtt: Duration,
    /// Parallel connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(STREAMS))]
    streams: u32,
    /// The memory of the host, such as 16GiB, if it is not this one
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    memory: Option<Bytes>,
    /// Print JSON (schema slowpath/tune-advise/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Planning {
    /// The capture to diagnose, or what `slowpath diagnose --json` has printed (- for standard input); with --doctor, the other end
    /// of the transfer
    #[arg(value_name = "FILE|HOST", required_unless_present = "doctor", value_hint = ValueHint::FilePath)]
    host: Option<String>,
    /// Plan what `slowpath doctor` advises
    #[arg(long)]
    doctor: bool,
    /// The address that this host has in the capture, in place of --as
    #[arg(long = "host", value_name = "ADDRESS", conflicts_with_all = ["doctor", "role"])]
    address: Option<IpAddr>,
    /// The process of this host that owns the sockets of the capture, for advice about its scheduling
    #[arg(long, value_name = "PID", conflicts_with = "doctor")]
    pid: Option<u32>,
    #[command(flatten)]
    transfer: Transfer,
    /// Also plan what may be harmless: doctor's hints; cures of minor and uncertain findings, and alternatives
    #[arg(long)]
    hints: bool,
    /// Examine this network namespace: its name, as `ip netns` has it, or its file; needs root (CAP_SYS_ADMIN)
    #[arg(long, value_name = "NETNS")]
    netns: Option<String>,
    /// Do not predict what each change would give, which fits a simulation to the capture and takes some seconds
    #[arg(long, conflicts_with = "doctor")]
    no_predict: bool,
    /// The file to write; by default standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print JSON (schema slowpath/tune-plan/1) instead of text or the plan
    #[arg(long)]
    json: bool,
}

impl Planning {
    fn plan(&self, console: &Console) -> anyhow::Result<Plan> {
        let (netns, file) = (self.netns.as_deref(), self.host.as_deref());
        let Some(file) = file.filter(|_| !self.doctor) else {
            let asked = self.transfer.asked(file)?;
            return Ok(examine(netns, &asked, self.hints, |host| self.transfer.aim(host))?);
        };
        ensure!(!self.transfer.is_given(), "--rate, --rtt, --streams and --interface go with --doctor");
        let here = Here::of(self.address, self.transfer.role).with_context(|| {
            format!("{file}: does not say which of its hosts this is: write --as or --host")
        })?;
        let path = Path::new(file);
        let mut found = advised(path, !self.no_predict, &|| recording::progress(path, console))?;
        found.read.iter().for_each(|(input, stamps)| recording::warn_of(&Recording::of(input, stamps)));
        let mut plan = examine_advised(netns, file, &found.flows, here, self.pid, self.hints)?;
        if !self.no_predict {
            let bar = console.working(view::PREDICTING);
            let at = |stage| bar.tell(&view::predicting(stage));
            plan.predictions = view::predictions(&plan, &foretell(&plan, &mut found, here, netns, &at));
        }
        Ok(plan)
    }
}

#[derive(Args)]
#[command(group(ArgGroup::new("measured").args(["verify", "in_lab"])))]
struct Applying {
    /// The plan, or - for standard input
    #[arg(value_name = "PLAN", value_hint = ValueHint::FilePath)]
    plan: PathBuf,
    /// Revert by itself after this time, such as 10min, even if slowpath is killed
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasting: Option<Duration>,
    /// Apply it in this network namespace: its name, as `ip netns` has it, or its file; needs CAP_SYS_ADMIN too
    #[arg(long, value_name = "NETNS")]
    netns: Option<String>,
    /// Also keep it over a reboot, in files below this folder that revert removes: sysctls in sysctl.d, the rest as a unit of systemd
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "/etc", require_equals = true)]
    #[arg(conflicts_with = "lasting", value_hint = ValueHint::DirPath)]
    persist: Option<PathBuf>,
    /// Change nothing here: try it in the lab, where this scenario runs on this machine's kernel with the old and the new values
    #[arg(long, value_name = "SCENARIO", requires = "end", conflicts_with_all = ["lasting", "netns", "persist"])]
    #[arg(value_hint = ValueHint::FilePath)]
    in_lab: Option<PathBuf>,
    /// The host of the scenario that the plan is for
    #[arg(long = "as", value_name = "ROLE", requires = "in_lab", value_parser = ends())]
    end: Option<Host>,
    #[command(flatten)]
    trial: TrialArguments,
    #[command(flatten)]
    written: Written,
}

/// How a plan is verified by measuring.
#[derive(Args)]
struct TrialArguments {
    /// Keep the plan only if this shell command, run with the old and the new values in turn, shows that it helps by more than
    /// the noise; otherwise take it back
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    verify: Option<String>,
    /// What CMD measures: the time that it takes, or a rate that it prints as its last line, such as 941.5 or "941 Mbit/s"
    #[arg(long, value_name = "WHAT", requires = "verify", default_value = "time", value_parser = keys(Measure::ALL, Measure::name))]
    measure: Measure,
    /// The smallest gain that is worth keeping: time saved, or rate gained
    #[arg(long, value_name = "'>=SHARE'", requires = "measured", default_value = ">=0%", value_parser = gain)]
    keep_if: f64,
    /// Runs with the old values, and as many with the new ones; fewer than 6 cannot decide
    #[arg(long, value_name = "N", requires = "measured", default_value_t = 8, value_parser = clap::value_parser!(u32).range(PAIRS))]
    runs: u32,
    /// The longest time of a run; what takes longer has failed
    #[arg(long, value_name = "TIME", requires = "verify", default_value = "10min", value_parser = lasting)]
    timeout: Duration,
}

/// Applies a plan if a command shows that it helps.
fn verified(asked: Asked<'_>, command: &str, args: &Applying, console: &Console) -> anyhow::Result<Outcome> {
    let TrialArguments { measure, keep_if: wanted, runs, timeout, .. } = args.trial;
    let interrupt = if ignores_hangup() { Interrupt::listen() } else { Interrupt::listen_for_hangup() }?;
    let bar = console.steps("run", runs as usize * 2 + 1, 0);
    let trial = Trial { command, measure, wanted, runs, timeout, stop: interrupt.flag() };
    let verified = verify(asked, &trial, &mut || bar.step())?;
    drop(bar);
    let print = |out: &mut _| view::verified(&verified, &console.look(), out);
    console::print_result(args.written.json, || view::VerifyDocument::of(&verified), print)?;
    Ok(if verified.is_kept() { Outcome::Whole } else { Outcome::Partial })
}

/// Tries a plan in the lab.
fn tried(
    plan: &Plan,
    file: &Path,
    host: Host,
    args: &Applying,
    console: &Console,
) -> anyhow::Result<Outcome> {
    // While there is one thread only.
    privilege::obtain()?;
    let scenario = file::load(file, &Changes::default())?;
    let TrialArguments { keep_if: wanted, runs, .. } = args.trial;
    let bar = console.steps("run", runs as usize * 2, 0);
    let tried = try_plan(&scenario, &in_lab::Trial { plan, host, runs, wanted }, &mut || bar.step())?;
    drop(bar);
    let print = |out: &mut _| view::tried(&tried, &console.look(), out);
    console::print_result(args.written.json, || view::TuneLabDocument::of(&tried), print)?;
    Ok(if view::has_helped(&tried) { Outcome::Whole } else { Outcome::Partial })
}

pub fn run(args: &Tune, console: &Console) -> anyhow::Result<Outcome> {
    let look = console.look();
    match &args.command {
        What::Advise(Advising { rate, rtt, streams, memory, json }) => {
            let transfer = advice::Transfer { rate: *rate, rtt: *rtt, streams: *streams, memory: *memory };
            let numbers = Numbers::of(transfer, &known())?;
            let document = || view::AdviseDocument::of(&numbers);
            console::print_result(*json, document, |out| view::advice(&numbers, &look, out))?;
            Ok(Outcome::Whole)
        }
        What::Plan(args) => {
            args.force.check(args.out.as_deref(), &[], "--out")?;
            let plan = args.plan(console)?;
            let file = args.out.as_ref().map(|out| out.display().to_string());
            args.out.iter().try_for_each(|out| args.force.write(out, plan.to_toml()))?;
            let print = |out: &mut _| view::planned(&plan, file.as_deref(), &look, out);
            console::print_result(args.json, || view::PlanDocument::of(&plan), print)?;
            Ok(Outcome::Whole)
        }
        What::Apply(args) => {
            let name = args.plan.display().to_string();
            let plan = Plan::from_toml(&name, &file::text(&args.plan)?)?;
            if let (Some(scenario), Some(host)) = (&args.in_lab, args.end) {
                return tried(&plan, scenario, host, args, console);
            }
            let program = std::env::current_exe().context("this program's file")?;
            let asked = Asked {
                plan: &plan,
                name: &name,
                journal: &Journal::at(&args.written.journal),
                netns: args.netns.as_deref(),
                lasting: args.lasting,
                persist: args.persist.as_deref(),
                program: &program,
            };
            if let Some(command) = &args.trial.verify {
                return verified(asked, command, args, console);
            }
            let applied = apply(asked)?;
            let document = || view::ApplyDocument::of(&applied);
            console::print_result(args.written.json, document, |out| view::applied(&applied, &look, out))?;
            Ok(Outcome::Whole)
        }
        What::Connections(args) => connections::run(args, console),
        What::Status { report, written: Written { journal, json } } => {
            let (status, tuned) = (status(&Journal::at(journal))?, running());
            let document = || view::StatusDocument::of(&status, &tuned);
            console::print_result(*json, document, |out| match report {
                true => view::report(&status, &tuned, &host_name().0, out),
                false => view::status(&status, &tuned, &look, out),
            })?;
            Ok(if view::is_in_order(&status) { Outcome::Whole } else { Outcome::Partial })
        }
        What::Revert { id, after, written: Written { journal, json } } => {
            let when = after.map_or(When::Now, When::After);
            let Some(reverted) = revert(&Journal::at(journal), *id, when)? else { return Ok(Outcome::Whole) };
            let document = || view::RevertDocument::of(&reverted);
            console::print_result(*json, document, |out| view::reverted(&reverted, &look, out))?;
            Ok(if reverted.is_whole() { Outcome::Whole } else { Outcome::Partial })
        }
    }
}
