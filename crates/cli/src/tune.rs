//! `slowpath tune`: from advice to a change that is applied, verified, and can be taken back.

use crate::Outcome;
use crate::console::{self, Console};
use crate::doctor::Transfer;
use crate::output::Force;
use anyhow::Context;
use clap::{Args, Subcommand, ValueHint};
use slowpath_model::units::duration_from_text;
use slowpath_runs::file;
use slowpath_runs::values::lasting;
use slowpath_tune::journal::{FOLDER, Journal};
use slowpath_tune::{Asked, Plan, When, apply, examine, revert, status};
use slowpath_views::tune as view;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
plan writes a file with each setting, its value now and then, why, the risk, and the line that undoes it. Read it, edit it, and \
apply it. apply first checks that every setting still has the value that the plan expects, writes the old and the new value to a \
journal on disk, changes one setting after the other, and reads each back. If one fails, those before it are undone. revert takes \
a plan back, also after `kill -9`, a full disk or a reboot: a setting that somebody else has changed meanwhile is named and left \
alone. What slowpath cannot take back exactly is in the plan under [[by-hand]] and is not applied.

Exit codes: 0 done; 1 partly: a setting was left alone, or is not as applied; 2 nothing was done, or what was done is undone.

Examples:
  slowpath tune plan --doctor --rate 10Gbit/s --rtt 80ms --out plan.toml
  sudo slowpath tune apply plan.toml --for 10min
  sudo slowpath tune status
  sudo slowpath tune revert";

/// Arguments of `tune`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Tune {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Write a plan: what to change on this host, from which value to which, and why; changes nothing
    Plan(Planning),
    /// Make the changes of a plan, all or none, and verify them; needs root (CAP_NET_ADMIN)
    Apply(Applying),
    /// Show which plans are applied, until when, and whether their changes are still in force
    Status(Written),
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
    /// Print JSON (schema slowpath/tune-apply/1, tune-status/1 or tune-revert/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Planning {
    /// Plan what `slowpath doctor` advises
    #[arg(long, required = true)]
    doctor: bool,
    #[command(flatten)]
    transfer: Transfer,
    /// Also plan what doctor calls hints, which may be harmless
    #[arg(long)]
    hints: bool,
    /// Examine this network namespace: its name, as `ip netns` has it, or its file; needs root (CAP_SYS_ADMIN)
    #[arg(long, value_name = "NETNS")]
    netns: Option<String>,
    /// The file to write; by default standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

#[derive(Args)]
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
    /// Also keep sysctls over a reboot, in a file of this folder that revert removes
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "/etc/sysctl.d", require_equals = true)]
    #[arg(conflicts_with = "lasting", value_hint = ValueHint::DirPath)]
    persist: Option<PathBuf>,
    #[command(flatten)]
    written: Written,
}

pub fn run(args: &Tune, console: &Console) -> anyhow::Result<Outcome> {
    let look = console.look();
    match &args.command {
        What::Plan(args) => {
            args.force.check(args.out.as_deref(), &[], "--out")?;
            let asked = args.transfer.asked()?;
            let plan = examine(args.netns.as_deref(), &asked, args.hints, |host| args.transfer.aim(host))?;
            let Some(out) = &args.out else { return console::print(plan.to_toml().as_bytes()) };
            args.force.write(out, plan.to_toml())?;
            let mut text = Vec::new();
            view::planned(&plan, &out.display().to_string(), &look, &mut text)?;
            console::print(&text)
        }
        What::Apply(args) => {
            let name = args.plan.display().to_string();
            let plan = Plan::from_toml(&name, &file::text(&args.plan)?)?;
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
            let applied = apply(asked)?;
            let document = || view::ApplyDocument::of(&applied);
            console::print_result(args.written.json, document, |out| view::applied(&applied, &look, out))?;
            Ok(Outcome::Whole)
        }
        What::Status(Written { journal, json }) => {
            let status = status(&Journal::at(journal))?;
            let document = || view::StatusDocument::of(&status);
            console::print_result(*json, document, |out| view::status(&status, &look, out))?;
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
