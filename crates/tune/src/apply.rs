//! Makes the changes of a plan: all of them, or none.

use crate::access::Access;
use crate::error::{Different, Error};
use crate::journal::{Begun, Changed, Journal, Reason, Record, Timer, VERSION, Writer};
use crate::lock::Lock;
use crate::persist::Kept;
use crate::plan::{Plan, Planned};
use crate::{clock, namespace, persist, timer, who};
use slowpath_model::shown::with_causes;
use slowpath_remedies::Setting;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is applied, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The name of its file.
    pub name: &'a str,
    /// The journal.
    pub journal: &'a Journal,
    /// The network namespace, by its name or file; that of the calling thread if not given.
    pub netns: Option<&'a str>,
    /// Reverts by itself after this time, in whole seconds.
    pub lasting: Option<Duration>,
    /// The folder below which files keep the changes over a reboot: `/etc`.
    pub persist: Option<&'a Path>,
    /// This program, which the timer runs as `PROGRAM tune revert ID`.
    pub program: &'a Path,
}

/// What was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The plan's number in the journal.
    pub id: u32,
    /// The changes, verified.
    pub changes: Vec<Changed>,
    /// When it reverts by itself, in seconds since 1970.
    pub ends: Option<u64>,
    /// What reverts it by itself.
    pub timer: Option<Timer>,
    /// The files that keep them over a reboot.
    pub persisted: Vec<PathBuf>,
    /// If they were to be kept, the settings that are not.
    pub not_persisted: Vec<String>,
}

/// Applies a plan.
///
/// # Errors
/// If a setting has another value than the plan expects, the kernel refuses one or makes something else of it, or the
/// journal cannot be written. Then nothing is changed, or what was changed is undone, or the error names what is not.
pub fn apply(asked: Asked<'_>) -> Result<Applied, Error> {
    need_possible(asked)?;
    let lock = Lock::take(asked.journal.folder(), "applying a plan", Duration::ZERO)?;
    asked.journal.need_nothing_verified()?;
    namespace::inside(asked.netns, || {
        let access = Access::writing(&lock);
        let plan = named(asked.plan, &access)?;
        let asked = Asked { plan: &plan, ..asked };
        need_expected(asked.plan, &access)?;
        let (begun, mut work) = Work::begin(asked)?;
        let made = work.make(asked, begun, &access);
        match made.and_then(|()| work.keep(asked, begun)) {
            Ok(()) => Ok(work.applied(asked, begun)),
            Err(why) => Err(work.undo(why, &access)),
        }
    })?
}

/// Refuses what could not be applied in any state of the host.
pub(crate) fn need_possible(asked: Asked<'_>) -> Result<(), Error> {
    if asked.plan.changes.is_empty() {
        return Err(Error::NothingPlanned);
    }
    if asked.persist.is_some() && asked.netns.is_some() {
        return Err(Error::PersistInNamespace);
    }
    who::need_capabilities(asked.netns.is_some())?;
    if asked.plan.changes.iter().any(|planned| matches!(planned.setting, Setting::Process { .. })) {
        who::need_nice()?;
    }
    asked.journal.prepare()
}

/// The plan with the start of each process, by which the journal knows it.
pub(crate) fn named(plan: &Plan, access: &Access<'_>) -> Result<Plan, Error> {
    let mut plan = plan.clone();
    let mut seen = HashSet::new();
    for planned in &mut plan.changes {
        planned.setting = access
            .named(&planned.setting)
            .map_err(|source| Error::Unreadable { setting: planned.setting.to_string(), source })?;
        if !seen.insert(planned.setting.clone()) {
            return Err(Error::Twice(planned.setting.to_string()));
        }
    }
    Ok(plan)
}

/// Refuses if a setting has another value than the plan expects.
pub(crate) fn need_expected(plan: &Plan, access: &Access<'_>) -> Result<(), Error> {
    let mut different = Vec::new();
    for planned in &plan.changes {
        let setting = &planned.setting;
        let found = access.read(setting).map_err(|source| {
            let setting = setting.to_string();
            Error::Unreadable { setting, source }
        })?;
        different.extend(differs(planned, &found));
    }
    if !different.is_empty() {
        return Err(Error::Differs(different));
    }
    plan.changes.iter().try_for_each(|Planned { setting, then, .. }| {
        let (name, to) = (setting.to_string(), then.clone());
        access.need_possible(setting, then).map_err(|source| Error::Impossible { setting: name, to, source })
    })
}

fn differs(planned: &Planned, found: &str) -> Option<Different> {
    let setting = &planned.setting;
    (!setting.is(found, &planned.now)).then(|| Different {
        setting: setting.to_string(),
        expected: planned.now.clone(),
        found: setting.brief(found),
    })
}

fn not_persisted(asked: Asked<'_>) -> Vec<String> {
    let Some(etc) = asked.persist else { return Vec::new() };
    let others = asked.plan.changes.iter().filter(|planned| !persist::can_keep(etc, &planned.setting));
    others.map(|planned| planned.setting.to_string()).collect()
}

/// The beginning of a plan that is being applied.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    /// Its number in the journal.
    pub(crate) id: u32,
    /// When it reverts by itself, in seconds since 1970.
    ends: Option<u64>,
}

/// A plan that is being applied.
pub(crate) struct Work {
    pub(crate) writer: Writer,
    pub(crate) made: Vec<(Setting, Changed)>,
    files: Vec<PathBuf>,
    timer: Option<Timer>,
}

impl Work {
    /// Begins the plan's file in the journal. Nothing is changed yet.
    pub(crate) fn begin(asked: Asked<'_>) -> Result<(Start, Self), Error> {
        let (uid, sudo_user) = who::user()?;
        let at = clock::now();
        let ends = asked.lasting.map(|lasting| at + lasting.as_secs());
        let begun = Begun {
            version: VERSION,
            plan: asked.name.to_owned(),
            goal: asked.plan.made.goal.clone(),
            at,
            ends,
            uid,
            sudo_user,
            boot: who::boot()?,
            netns: asked.netns.map(namespace::lasting_name),
            netns_inode: namespace::inode()?,
            reasons: Reason::all(asked.plan),
            predicted: asked.plan.predicted(),
        };
        let (id, writer) = asked.journal.begin(begun)?;
        Ok((Start { id, ends }, Self { writer, made: Vec::new(), files: Vec::new(), timer: None }))
    }

    /// Makes all changes; an error says why one failed.
    pub(crate) fn make(&mut self, asked: Asked<'_>, start: Start, access: &Access<'_>) -> Result<(), String> {
        if let Some(delay) = asked.lasting {
            // Before the first change: from here on it reverts even if this program is killed.
            let folder = fs::canonicalize(asked.journal.folder()).map_err(|error| error.to_string())?;
            let timer = timer::arm(asked.program, &folder, start.id, delay);
            let timer =
                timer.map_err(|error| format!("nothing could be started that reverts it later: {error}"))?;
            self.timer = Some(timer.clone());
            self.journal(&Record::Timer(timer))?;
        }
        for planned in &asked.plan.changes {
            self.change(planned, access)?;
        }
        Ok(())
    }

    /// Ends it with all changes made.
    pub(crate) fn keep(&mut self, asked: Asked<'_>, start: Start) -> Result<(), String> {
        if let Some(etc) = asked.persist {
            persist::files(etc, start.id, &self.made).into_iter().try_for_each(|kept| self.persist(kept))?;
        }
        self.journal(&Record::Applied)
    }

    /// What was applied.
    pub(crate) fn applied(self, asked: Asked<'_>, start: Start) -> Applied {
        Applied {
            id: start.id,
            changes: self.made.into_iter().map(|(_, changed)| changed).collect(),
            ends: start.ends,
            timer: self.timer,
            not_persisted: not_persisted(asked),
            persisted: self.files,
        }
    }

    fn journal(&mut self, record: &Record) -> Result<(), String> {
        self.writer.write(record).map_err(|error| with_causes(&error))
    }

    /// Announces a change, makes it and verifies it.
    fn change(&mut self, planned: &Planned, access: &Access<'_>) -> Result<(), String> {
        let setting = &planned.setting;
        let old = access.read(setting).map_err(|error| format!("{setting} cannot be read: {error}"))?;
        if let Some(different) = differs(planned, &old) {
            return Err(format!("{setting} was changed to \"{}\" meanwhile", different.found));
        }
        let changed = Changed { setting: setting.to_string(), old: old.clone(), new: planned.then.clone() };
        self.journal(&Record::Change(changed.clone()))?;
        // A failed write may have changed a part.
        self.made.push((setting.clone(), changed));
        let set = access.set(setting, &old, &planned.then);
        set.map_err(|error| format!("{setting} {error}"))?;
        match setting {
            Setting::RootQdisc { .. } => self.complete(access),
            _ => Ok(()),
        }
    }

    /// Journals the new value of the last change with what the plan did not name: what somebody else changes of that is theirs.
    fn complete(&mut self, access: &Access<'_>) -> Result<(), String> {
        let Some((setting, changed)) = self.made.last_mut() else { return Ok(()) };
        let became =
            access.read(setting).map_err(|error| format!("{setting} cannot be read back: {error}"))?;
        changed.new = became;
        let record = Record::Change(changed.clone());
        self.journal(&record)
    }

    /// Announces a file that keeps settings over a reboot, and writes it.
    fn persist(&mut self, kept: Kept) -> Result<(), String> {
        self.journal(&Record::Persist { file: kept.file.clone(), text: kept.text.clone() })?;
        let written =
            kept.write().map_err(|error| (error.kind(), format!("{}: {error}", kept.file.display())));
        // What exists is somebody else's.
        if !written.as_ref().is_err_and(|(kind, _)| *kind == io::ErrorKind::AlreadyExists) {
            self.files.push(kept.file);
        }
        written.map_err(|(_, why)| why)
    }

    /// Undoes what was made; the error says why, and what could not be undone.
    pub(crate) fn undo(mut self, why: String, access: &Access<'_>) -> Error {
        let mut left = Vec::new();
        for (setting, changed) in self.made.iter().rev() {
            let is_old = match access.read(setting) {
                Ok(current) => setting.is(&current, &changed.old),
                Err(error) => error.is_gone(),
            };
            if !is_old && access.set(setting, &changed.new, &changed.old).is_err() {
                left.push(format!("{setting} (was \"{}\")", changed.old));
            }
        }
        for file in self.files.iter().rev() {
            if fs::remove_file(file).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
                left.push(file.display().to_string());
            }
        }
        if let Some(timer) = &self.timer {
            timer::disarm(timer);
        }
        if left.is_empty() {
            // On a full disk the next revert finds the old values, and closes the file.
            let _ = self.writer.write(&Record::Undone { why: why.clone() });
        }
        Error::Failed { why, left }
    }
}
