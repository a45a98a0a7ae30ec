//! What is applied, and whether it is still in force.

use crate::access::Access;
use crate::error::Error;
use crate::journal::{Changed, Journal, Written};
use crate::persist::keeps;
use crate::revert::{HOST_GONE, NAMESPACE_GONE, PROCESS_GONE};
use crate::{lock, namespace, timer, who};
use slowpath_remedies::Setting;

/// A plan of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its records.
    pub written: Written,
    /// Its state.
    pub state: State,
    /// Whether it should revert by itself, but what would do so is gone.
    pub has_lost_timer: bool,
    /// Its changes, in their order.
    pub changes: Vec<(Changed, Force)>,
}

/// The state of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All changes were made.
    Applied,
    /// Somebody is at it.
    Busy {
        /// Who.
        holder: String,
    },
    /// A command measures whether it helps, with the old and the new values in turn.
    Verifying {
        /// The command.
        command: String,
    },
    /// It was begun and not ended: the program was killed. A revert takes back what was changed.
    Interrupted,
    /// A change failed, and the others were undone.
    Undone,
    /// It was reverted.
    Reverted,
    /// The host was restarted, or the network namespace is gone.
    Gone,
}

/// Whether a change is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Force {
    /// It has the new value.
    InForce,
    /// It has the old value.
    Back,
    /// It has another value.
    Drifted {
        /// Its value.
        value: String,
    },
    /// It went with its process, or its network namespace.
    Gone(&'static str),
    /// It was reverted or undone; what has become of the setting since is not of interest.
    Closed,
    /// It cannot be said: the host was restarted, or the setting is elsewhere or not readable.
    Unknown {
        /// Why.
        why: String,
    },
}

/// All plans of a journal, the last one first.
///
/// # Errors
/// If the journal cannot be read.
pub fn status(journal: &Journal) -> Result<Vec<Result<Entry, Error>>, Error> {
    let holder = lock::held(journal.folder());
    let boot = who::boot()?;
    let mut all: Vec<Result<Entry, Error>> = Vec::new();
    for written in journal.all()?.into_iter().rev() {
        // Only the last one can be at work.
        let holder = holder.as_ref().filter(|_| all.is_empty());
        all.push(written.map(|written| entry(journal, written, holder, &boot)));
    }
    Ok(all)
}

fn entry(journal: &Journal, written: Written, holder: Option<&String>, boot: &str) -> Entry {
    let begun = &written.begun;
    let is_rebooted = begun.boot != boot;
    let has_lost_namespace =
        begun.netns.as_deref().is_some_and(|name| namespace::inode_of(name) != Some(begun.netns_inode));
    let goes_with_namespace =
        |change: &Changed| change.setting.parse::<Setting>().is_ok_and(|setting| setting.is_of_namespace());
    let is_kept = |change: &Changed| written.persisted().any(|(file, _)| keeps(file, &change.setting));
    let is_gone = is_rebooted && !written.changes().any(is_kept)
        || has_lost_namespace && written.changes().all(goes_with_namespace);
    let state = match holder {
        _ if written.reverted().is_some() => State::Reverted,
        _ if written.undone().is_some() => State::Undone,
        _ if is_gone => State::Gone,
        _ if journal.is_being_verified(&written) => {
            State::Verifying { command: written.verifier().unwrap_or_default().to_owned() }
        }
        Some(holder) if !written.is_applied() => State::Busy { holder: holder.clone() },
        _ if written.is_applied() => State::Applied,
        _ => State::Interrupted,
    };
    let unknown = |why: &str| Force::Unknown { why: why.to_owned() };
    let look = || {
        let is_here = begun.netns.is_some() || namespace::inode().is_ok_and(|here| here == begun.netns_inode);
        let look = |change: &Changed| match goes_with_namespace(change) {
            _ if is_rebooted && is_kept(change) => look(change),
            _ if is_rebooted => Force::Gone(HOST_GONE),
            true if has_lost_namespace => Force::Gone(NAMESPACE_GONE),
            true if !is_here => unknown("it is in another network namespace"),
            _ => look(change),
        };
        written.changes().map(|change| (change.clone(), look(change))).collect::<Vec<_>>()
    };
    let all = |force: Force| written.changes().map(|change| (change.clone(), force.clone())).collect();
    let changes = if written.is_closed() {
        all(Force::Closed)
    } else if is_gone {
        all(unknown("the host was restarted since, or the network namespace is gone"))
    } else {
        namespace::inside(begun.netns.as_deref().filter(|_| !has_lost_namespace), look)
            .unwrap_or_else(|error| all(unknown(&error.to_string())))
    };
    let is_open = matches!(state, State::Applied | State::Interrupted);
    let has_lost_timer = is_open && written.timer().is_some_and(|timer| !timer::is_armed(timer));
    Entry { state, has_lost_timer, changes, written }
}

fn look(change: &Changed) -> Force {
    let Ok(setting) = change.setting.parse::<Setting>() else {
        return Force::Unknown { why: "this slowpath does not know it".to_owned() };
    };
    let value = match Access::reading().read(&setting) {
        Ok(value) => value,
        Err(error) if error.is_gone() => return Force::Gone(PROCESS_GONE),
        Err(error) => return Force::Unknown { why: error.to_string() },
    };
    if setting.is(&value, &change.new) {
        Force::InForce
    } else if setting.is(&value, &change.old) {
        Force::Back
    } else {
        Force::Drifted { value: setting.brief(&value) }
    }
}
