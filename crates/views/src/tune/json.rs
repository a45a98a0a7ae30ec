//! The JSON of `slowpath tune apply`, `status` and `revert`.

use super::gain::{Interval, unit_name};
use super::predicted::{Predicted, error};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_sockops::Running;
use slowpath_tune::journal::{Changed, Measured, Timer};
use slowpath_tune::{Applied, Entry, Error, Fate, Force, Reverted, State};
use std::path::PathBuf;

/// What was applied (schema slowpath/tune-apply/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-apply/1")]
pub struct ApplyDocument {
    /// `slowpath/tune-apply/1`.
    schema: &'static str,
    /// The plan's number in the journal.
    id: u32,
    /// The changes, each read back.
    changes: Vec<Change>,
    /// When it reverts by itself, in seconds since 1970; null if it does not.
    ends: Option<u64>,
    /// What reverts it by itself; null if nothing does.
    timer: Option<Watch>,
    /// The files that keep them over a reboot.
    persisted: Vec<String>,
    /// If they were to be kept, the settings that are not.
    not_persisted: Vec<String>,
}

/// A change of a setting.
#[derive(Serialize, JsonSchema)]
pub(super) struct Change {
    /// The setting, as in the plan: `sysctl net.ipv4.tcp_rmem`.
    setting: String,
    /// Its value before.
    old: String,
    /// Its value after.
    new: String,
}

/// What reverts a plan by itself.
#[derive(Serialize, JsonSchema)]
pub(super) struct Watch {
    /// `systemd` or `watcher`.
    kind: &'static str,
    /// The unit of systemd; null for a process of slowpath.
    unit: Option<String>,
    /// The id of the process; null for systemd.
    pid: Option<u32>,
}

/// What is applied (schema slowpath/tune-status/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-status/1")]
pub struct StatusDocument {
    /// `slowpath/tune-status/1`.
    schema: &'static str,
    /// The plans, the last one first.
    plans: Vec<PlanStatus>,
    /// Plans whose journal cannot be read, with the reason.
    unread: Vec<String>,
    /// Running commands of this host that tune connections one by one (`slowpath tune connections`).
    connections: Vec<TunedConnections>,
}

/// A command that tunes connections one by one.
#[derive(Serialize, JsonSchema)]
struct TunedConnections {
    /// Its process.
    pid: u32,
    /// The user's id.
    uid: u32,
    /// When it was started, in seconds since 1970; null if that cannot be read.
    since: Option<u64>,
    /// What it was started with, behind `tune connections`.
    arguments: Vec<String>,
    /// Whether its BPF program is attached; null if that cannot be read, without root.
    attached: Option<bool>,
}

/// What a command measured of a plan that is kept.
#[derive(Serialize, JsonSchema)]
struct MeasuredGain {
    /// What it measured: `time`, of which less is better, or `rate`, of which more is better.
    measure: &'static str,
    /// The unit of both medians: `s`, `bit/s`, or null for a number without a unit.
    unit: Option<&'static str>,
    /// Runs of each side.
    runs: u32,
    /// The median with the values from before.
    old: f64,
    /// The median with the values of the plan.
    new: f64,
    /// By how much the plan helped, as a share of the old value: of time saved, or of rate gained.
    gain: Interval,
}

/// A plan of the journal.
#[derive(Serialize, JsonSchema)]
struct PlanStatus {
    /// Its number.
    id: u32,
    /// The name of its file.
    plan: String,
    /// What it is for.
    goal: String,
    /// `applied`, `busy`, `verifying`, `interrupted`, `undone`, `reverted` or `gone` (with a boot or a network namespace).
    state: &'static str,
    /// Why a change failed, for `undone`; who is at it, for `busy`; the command that measures, for `verifying`; null otherwise.
    reason: Option<String>,
    /// When it was applied, in seconds since 1970.
    at: u64,
    /// When it reverts by itself, in seconds since 1970; null if it does not.
    ends: Option<u64>,
    /// What reverts it by itself; null if nothing does.
    timer: Option<Watch>,
    /// Whether what would revert it by itself is gone.
    has_lost_timer: bool,
    /// When it was reverted, in seconds since 1970; null if it was not.
    reverted_at: Option<u64>,
    /// The settings that a revert left, with the reason in its output.
    left: Vec<String>,
    /// The user's id.
    uid: u32,
    /// The user's name before `sudo`.
    sudo_user: Option<String>,
    /// The name of the network namespace; null for that of the program.
    netns: Option<String>,
    /// The inode of the network namespace.
    netns_inode: u64,
    /// The id of the boot.
    boot: String,
    /// The files that keep it over a reboot.
    persisted: Vec<String>,
    /// What was predicted of it; null for a plan without predictions.
    predicted: Option<Predicted>,
    /// What was measured of it; null if it was not verified, or not kept.
    measured: Option<MeasuredGain>,
    /// How far the estimate lies outside of the predicted gains, as a share of the nearer one's rate: 0 within them, negative
    /// below; null if nothing was predicted or measured.
    prediction_error: Option<f64>,
    /// The changes.
    changes: Vec<ChangeStatus>,
}

/// A change of a plan, as it is now.
#[derive(Serialize, JsonSchema)]
struct ChangeStatus {
    /// The setting, as in the plan.
    setting: String,
    /// Its value before.
    old: String,
    /// Its value after.
    new: String,
    /// `in-force`, `back`, `drifted`, `unknown`, `gone` (with a process or a network namespace), or `closed` for a plan that is
    /// reverted or undone.
    force: &'static str,
    /// Its value, for `drifted`; why it is not known, for `unknown`, or gone; null otherwise.
    detail: Option<String>,
    /// The finding that it fixes; null if the journal does not have it.
    finding: Option<String>,
}

/// What was reverted (schema slowpath/tune-revert/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-revert/1")]
pub struct RevertDocument {
    /// `slowpath/tune-revert/1`.
    schema: &'static str,
    /// The plan's number in the journal.
    id: u32,
    /// Whether everything is back.
    whole: bool,
    /// The settings, the last changed first.
    settings: Vec<Taken>,
    /// The files that kept them over a reboot.
    persisted: Vec<PersistedFile>,
    /// Why the journal does not have the revert; null if it has it.
    unwritten: Option<String>,
}

/// A setting that was taken back.
/// A file that kept settings over a reboot.
#[derive(Serialize, JsonSchema)]
struct PersistedFile {
    /// The file.
    file: String,
    /// Why it is still there; null if it is not.
    left: Option<String>,
}

impl PersistedFile {
    fn of((file, left): &(PathBuf, Option<String>)) -> Self {
        Self { file: file.display().to_string(), left: left.clone() }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Taken {
    /// The setting, as in the plan.
    setting: String,
    /// Its value before the plan.
    old: String,
    /// Its value by the plan.
    new: String,
    /// `restored`, `was-back`, `foreign` (changed by somebody else: left alone), `gone` or `failed`.
    fate: &'static str,
    /// The value of somebody else, or the reason; null otherwise.
    detail: Option<String>,
}

impl Change {
    pub(super) fn of(changed: &Changed) -> Self {
        let Changed { setting, old, new } = changed.clone();
        Self { setting, old, new }
    }
}

impl Watch {
    pub(super) fn of(timer: &Timer) -> Self {
        match timer {
            Timer::Systemd { unit } => Self { kind: "systemd", unit: Some(unit.clone()), pid: None },
            Timer::Watcher { pid } => Self { kind: "watcher", unit: None, pid: Some(*pid) },
        }
    }
}

impl ApplyDocument {
    /// The document of a plan that was applied.
    pub fn of(applied: &Applied) -> Self {
        Self {
            schema: "slowpath/tune-apply/1",
            id: applied.id,
            changes: applied.changes.iter().map(Change::of).collect(),
            ends: applied.ends,
            timer: applied.timer.as_ref().map(Watch::of),
            persisted: applied.persisted.iter().map(|file| file.display().to_string()).collect(),
            not_persisted: applied.not_persisted.clone(),
        }
    }
}

impl StatusDocument {
    /// The document of a journal.
    pub fn of(status: &[Result<Entry, Error>], tuned: &[Running]) -> Self {
        let connections = tuned.iter().map(|one| TunedConnections {
            pid: one.pid,
            uid: one.uid,
            since: one.since,
            arguments: one.arguments.clone(),
            attached: one.is_attached,
        });
        Self {
            schema: "slowpath/tune-status/1",
            plans: status.iter().flatten().map(PlanStatus::of).collect(),
            unread: status.iter().filter_map(|entry| entry.as_ref().err()).map(ToString::to_string).collect(),
            connections: connections.collect(),
        }
    }
}

impl MeasuredGain {
    fn of(measured: &Measured) -> Self {
        Self {
            measure: measured.measure.name(),
            unit: unit_name(measured.unit),
            runs: measured.runs,
            old: measured.old,
            new: measured.new,
            gain: Interval::of(&measured.gain),
        }
    }
}

impl PlanStatus {
    fn of(entry: &Entry) -> Self {
        let (written, begun) = (&entry.written, entry.written.begun.clone());
        let (predicted, measured) = (begun.predicted.as_ref(), written.measured());
        let (state, reason) = match &entry.state {
            State::Applied => ("applied", None),
            State::Busy { holder } => ("busy", Some(holder.clone())),
            State::Verifying { command } => ("verifying", Some(command.clone())),
            State::Interrupted => ("interrupted", None),
            State::Undone => ("undone", written.undone().map(str::to_owned)),
            State::Reverted => ("reverted", None),
            State::Gone => ("gone", None),
        };
        let changes = entry.changes.iter().map(|(changed, force)| {
            let (force, detail) = match force {
                Force::InForce => ("in-force", None),
                Force::Back => ("back", None),
                Force::Gone(why) => ("gone", Some((*why).to_owned())),
                Force::Closed => ("closed", None),
                Force::Drifted { value } => ("drifted", Some(value.clone())),
                Force::Unknown { why } => ("unknown", Some(why.clone())),
            };
            let Changed { setting, old, new } = changed.clone();
            let reason = begun.reasons.iter().find(|reason| reason.setting == setting);
            let finding = reason.map(|reason| reason.finding.clone());
            ChangeStatus { setting, old, new, force, detail, finding }
        });
        Self {
            id: written.id,
            plan: begun.plan,
            goal: begun.goal,
            state,
            reason,
            at: begun.at,
            ends: begun.ends,
            timer: written.timer().map(Watch::of),
            has_lost_timer: entry.has_lost_timer,
            reverted_at: written.reverted().map(|(at, _)| at),
            left: written.reverted().map_or_else(Vec::new, |(_, left)| left.to_vec()),
            uid: begun.uid,
            sudo_user: begun.sudo_user,
            netns: begun.netns,
            netns_inode: begun.netns_inode,
            boot: begun.boot,
            persisted: written.persisted().map(|(file, _)| file.display().to_string()).collect(),
            predicted: predicted.map(Predicted::of),
            measured: measured.map(MeasuredGain::of),
            prediction_error: measured.and_then(|one| error(predicted, one.measure, &one.gain)),
            changes: changes.collect(),
        }
    }
}

impl Taken {
    pub(super) fn of(taken: &slowpath_tune::Taken) -> Self {
        let (fate, detail) = match &taken.fate {
            Fate::Restored => ("restored", None),
            Fate::WasBack => ("was-back", None),
            Fate::Foreign { value } => ("foreign", Some(value.clone())),
            Fate::Gone(why) => ("gone", Some((*why).to_owned())),
            Fate::Failed { why } => ("failed", Some(why.clone())),
        };
        let Changed { setting, old, new } = taken.change.clone();
        Self { setting, old, new, fate, detail }
    }
}

impl RevertDocument {
    /// The document of a plan that was reverted.
    pub fn of(reverted: &Reverted) -> Self {
        Self {
            schema: "slowpath/tune-revert/1",
            id: reverted.id,
            whole: reverted.is_whole(),
            settings: reverted.taken.iter().map(Taken::of).collect(),
            persisted: reverted.files.iter().map(PersistedFile::of).collect(),
            unwritten: reverted.unwritten.clone(),
        }
    }
}
