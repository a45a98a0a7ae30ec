//! Takes the changes of a plan back.

use crate::access::Access;
use crate::error::{Error, NotSet};
use crate::journal::{Changed, Journal, Record, Written};
use crate::lock::Lock;
use crate::persist::{keeps, remove};
use crate::{clock, namespace, timer, who};
use slowpath_remedies::Setting;
use std::path::PathBuf;
use std::time::Duration;

/// How long a timer waits for somebody who is at it when it ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is nothing to take back of a process.
pub(crate) const PROCESS_GONE: &str = "the process has ended, and its scheduling with it";
pub(crate) const HOST_GONE: &str = "the host was restarted since: it did not last";
pub(crate) const NAMESPACE_GONE: &str = "the network namespace is gone, and it with it";

/// When to revert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Now.
    Now,
    /// After a time, if nobody reverts it before.
    After(Duration),
}

/// What became of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has its old value again.
    Restored,
    /// It had its old value already.
    WasBack,
    /// Somebody else changed it since: it is left alone.
    Foreign {
        /// Its value.
        value: String,
    },
    /// It did not last: the host was restarted, or the network namespace or the process is gone.
    Gone(&'static str),
    /// It could not be restored.
    Failed {
        /// Why not.
        why: String,
    },
}

/// A setting of a plan that is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The change that was made.
    pub change: Changed,
    /// What became of it.
    pub fate: Fate,
}

/// What a revert did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// The plan's number in the journal.
    pub id: u32,
    /// The settings, the last changed first.
    pub taken: Vec<Taken>,
    /// The files that kept settings over a reboot, and why one is still there if it is.
    pub files: Vec<(PathBuf, Option<String>)>,
    /// Why the journal does not have it, such as a full disk.
    pub unwritten: Option<String>,
}

impl Fate {
    /// Whether the setting is neither restored nor gone.
    pub const fn is_left(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Failed { .. })
    }
}

impl Reverted {
    /// Whether everything is back.
    pub fn is_whole(&self) -> bool {
        self.left().is_empty()
    }

    /// The settings that are not back, and the files that are still there.
    pub(crate) fn left(&self) -> Vec<String> {
        let settings = self.taken.iter().filter(|taken| taken.fate.is_left());
        let files = self.files.iter().filter(|(_, kept)| kept.is_some());
        settings
            .map(|taken| taken.change.setting.clone())
            .chain(files.map(|(file, _)| file.display().to_string()))
            .collect()
    }
}

/// What to do about a setting with a value, given its change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Restore,
    Keep,
    LeaveAlone,
}

fn decide(setting: &Setting, changed: &Changed, current: &str) -> Decision {
    if setting.is(current, &changed.old) {
        Decision::Keep
    } else if setting.is_one_of(current, &[&changed.old, &changed.new]) {
        // A kill may have left the threads of a process with either.
        Decision::Restore
    } else {
        Decision::LeaveAlone
    }
}

/// Reverts a plan by its number, or the last one that is not reverted.
///
/// # Errors
/// If there is no such plan, its namespace is another one, or the journal cannot be read. What becomes of single settings is no
/// error.
pub fn revert(journal: &Journal, id: Option<u32>, when: When) -> Result<Option<Reverted>, Error> {
    who::need_capabilities(false)?;
    journal.need_trusted()?;
    let mut patience = Duration::ZERO;
    if let When::After(delay) = when {
        let id = id.ok_or_else(|| Error::NoneApplied(journal.folder().to_owned()))?;
        if !timer::wait(journal, id, delay)? {
            return Ok(None);
        }
        patience = PATIENCE;
    }
    let find = || match id {
        Some(id) => {
            journal.read(id)?.ok_or_else(|| Error::NoEntry { folder: journal.folder().to_owned(), id })
        }
        None => last_open(journal),
    };
    let netns = find()?.begun.netns;
    who::need_capabilities(netns.is_some())?;
    let lock = Lock::take(journal.folder(), "reverting a plan", patience)?;
    // Only now nobody adds to it.
    let written = find()?;
    revert_locked(journal, &written, &Access::writing(&lock)).map(Some)
}

fn last_open(journal: &Journal) -> Result<Written, Error> {
    for written in journal.all()?.into_iter().rev() {
        let written = written?;
        if !written.is_closed() {
            return Ok(written);
        }
    }
    Err(Error::NoneApplied(journal.folder().to_owned()))
}

pub(crate) fn revert_locked(
    journal: &Journal,
    written: &Written,
    access: &Access<'_>,
) -> Result<Reverted, Error> {
    let begun = &written.begun;
    let is_rebooted = who::boot()? != begun.boot;
    let is_persisted = |change: &Changed| written.persisted().any(|(file, _)| keeps(file, &change.setting));
    let has_lost_namespace =
        begun.netns.as_deref().is_some_and(|name| namespace::inode_of(name) != Some(begun.netns_inode));
    let is_of_namespace = |change: &Changed| {
        change.setting.parse::<Setting>().map_or(true, |setting| setting.is_of_namespace())
    };
    // Of a boot, nothing but what files keep is left; a process or an interrupt outlives a namespace.
    let gone = |change: &Changed| {
        if is_rebooted {
            (!is_persisted(change)).then_some(HOST_GONE)
        } else {
            (has_lost_namespace && is_of_namespace(change)).then_some(NAMESPACE_GONE)
        }
    };
    if begun.netns.is_none() && !is_rebooted && written.changes().any(is_of_namespace) {
        let here = namespace::inode()?;
        if here != begun.netns_inode {
            return Err(Error::Elsewhere { id: written.id, made: begun.netns_inode, here });
        }
    }
    let at = clock::now();
    let mut writer = journal.resume(written.id);
    let mut note = |record: &Record| {
        let done = writer
            .as_mut()
            .map_err(|error| error.to_string())
            .and_then(|writer| writer.write(record).map_err(|error| error.to_string()));
        done.err()
    };
    let mut unwritten = note(&Record::Reverting { at, uid: who::user()?.0 });
    // A link before the file to which it leads.
    let files =
        written.persisted().rev().map(|(file, text)| (file.to_owned(), remove(file, text).err())).collect();
    let changes: Vec<&Changed> = written.changes().rev().collect();
    let netns = begun.netns.as_deref().filter(|_| !is_rebooted && !has_lost_namespace);
    let fates = namespace::inside(netns, || {
        let fate = |change: &&Changed| gone(change).map_or_else(|| restore(access, change), Fate::Gone);
        changes.iter().map(fate).collect::<Vec<_>>()
    })?;
    let taken = changes.into_iter().zip(fates).map(|(change, fate)| Taken { change: change.clone(), fate });
    let mut reverted = Reverted { id: written.id, taken: taken.collect(), files, unwritten: None };
    let left = reverted.left();
    unwritten = unwritten.or(note(&Record::Reverted { at, left }));
    reverted.unwritten = unwritten;
    if let Some(timer) = written.timer() {
        timer::disarm(timer);
    }
    Ok(reverted)
}

/// Gives a setting its old value back, if it still has the new one.
fn restore(access: &Access<'_>, change: &Changed) -> Fate {
    let failed = |why: String| Fate::Failed { why };
    let setting: Setting = match change.setting.parse() {
        Ok(setting) => setting,
        Err(error) => return failed(format!("{error}")),
    };
    let current = match access.read(&setting) {
        Ok(current) => current,
        Err(error) if error.is_gone() => return Fate::Gone(PROCESS_GONE),
        Err(error) => return failed(format!("it cannot be read: {error}")),
    };
    match decide(&setting, change, &current) {
        Decision::Keep => Fate::WasBack,
        Decision::LeaveAlone => {
            let mut value = current;
            if matches!(setting, Setting::Process { .. }) {
                // The threads that nobody else has changed get their old values.
                let _ = access.set(&setting, &change.new, &change.old);
                value = access.read(&setting).unwrap_or(value);
            }
            Fate::Foreign { value: setting.brief(&value) }
        }
        Decision::Restore => match access.set(&setting, &change.new, &change.old) {
            Ok(()) => Fate::Restored,
            Err(NotSet::Refused { source, .. }) => failed(source.to_string()),
            Err(error) => failed(format!("it {error}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_new_value_is_replaced() {
        let setting: Setting = "sysctl net.ipv4.tcp_rmem".parse().expect("a setting");
        let changed = Changed {
            setting: setting.to_string(),
            old: "4096 131072 6291456".to_owned(),
            new: "4096 131072 20971520".to_owned(),
        };
        for (current, decision) in [
            ("4096\t131072\t20971520\n", Decision::Restore),
            ("4096\t131072\t6291456", Decision::Keep),
            ("4096 131072 20971521", Decision::LeaveAlone),
            ("", Decision::LeaveAlone),
        ] {
            assert_eq!(decide(&setting, &changed, current), decision, "{current}");
        }
    }
}
