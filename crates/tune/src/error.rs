//! Why nothing was done, or not all.

use slowpath_doctor::ReadError;
use slowpath_model::units::duration_text;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a setting cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The kernel has no such file.
    #[error("this kernel, or this network namespace, has no {0}")]
    NoSysctl(String),
    /// The kernel refuses a value, or to say it.
    #[error("the kernel refuses it ({0})")]
    Kernel(io::Error),
    /// A program cannot be started.
    #[error("{program} cannot be run ({source})")]
    NoProgram {
        /// The program.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// A program failed.
    #[error("`{line}` failed: {says}")]
    Program {
        /// The shell line.
        line: String,
        /// What it printed.
        says: String,
    },
    /// The interface cannot be examined.
    #[error(transparent)]
    Interface(#[from] ReadError),
    /// The interface has no such thing, or the kernel refuses it for a reason that is known.
    #[error("{0}")]
    Absent(String),
    /// There is no such process, or it has ended.
    #[error("there is no process {0}: it has ended, and its scheduling with it")]
    NoProcess(u32),
    /// Another process has the number by now.
    #[error("process {0} is another one now: the one that is meant has ended, and its scheduling with it")]
    OtherProcess(u32),
}

impl AccessError {
    /// Whether the setting is gone for good.
    pub(crate) const fn is_gone(&self) -> bool {
        matches!(self, Self::NoProcess(_) | Self::OtherProcess(_))
    }
}

/// Why a setting does not have the value that it was given, as what follows its name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSet {
    /// It was refused.
    #[error("cannot be set to \"{to}\": {source}")]
    Refused {
        /// The value.
        to: String,
        /// The reason.
        source: AccessError,
    },
    /// Its value is not known.
    #[error("cannot be read back: {0}")]
    Unread(AccessError),
    /// The kernel chose another value.
    #[error("was set to \"{to}\", of which the kernel made \"{became}\"")]
    Became {
        /// The value.
        to: String,
        /// What it has instead.
        became: String,
    },
}

/// A setting that does not have the value that a plan expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Different {
    /// The setting.
    pub setting: String,
    /// The value that the plan expects.
    pub expected: String,
    /// Its value.
    pub found: String,
}

/// Why a command that measures gave no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BadRun {
    /// The shell cannot be run or watched.
    #[error("the shell (sh) cannot be run: {0}")]
    NoShell(io::Error),
    /// It failed.
    #[error("the command ended with {how}{}", says.as_ref().map_or(String::new(), |says| format!(": {}", shortened(says))))]
    Failed {
        /// `exit code 3`.
        how: String,
        /// The last line that it printed.
        says: Option<String>,
    },
    /// It did not end.
    #[error("the command took longer than {}, and was ended; --timeout gives it longer", duration_text(*.0))]
    TooLong(Duration),
    /// It printed no rate.
    #[error("{}; with --measure rate, print a number above zero as the last line, such as 941.5 or 941 Mbit/s",
        line.as_ref().map_or("it printed nothing".to_owned(), |line| format!("its last line is \"{}\"", shortened(line))))]
    NoNumber {
        /// Its last line.
        line: Option<String>,
    },
    /// It printed another unit than before.
    #[error("it printed a number with a unit in some runs and without one in others")]
    OtherUnit,
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// What a program printed, not longer than a line of an error.
fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

/// Why nothing was done, or not all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command that measures does not work.
    #[error("nothing was changed, because the command cannot measure: {0}")]
    CannotMeasure(BadRun),
    /// Another plan is being verified.
    #[error(
        "plan {id} is being verified, and another change would disturb that; wait for its end, or end it with \
             `slowpath tune revert {id}`"
    )]
    BeingVerified {
        /// Its number in the journal.
        id: u32,
    },
    /// Somebody else reverted the plan that is being verified.
    #[error("plan {id} was reverted by somebody else while it was verified; nothing of it is left in force")]
    TakenBack {
        /// Its number in the journal.
        id: u32,
    },
    /// What was changed for a measurement could not be taken back.
    #[error("{why}; plan {id} is not taken back: {source}; try `slowpath tune revert {id}`")]
    NotTakenBack {
        /// Its number in the journal.
        id: u32,
        /// Why it was to be taken back.
        why: String,
        /// Why it was not.
        source: Box<Error>,
    },
    /// Changing the network needs a capability.
    #[error("this needs {0}; run it as root (sudo)")]
    NoCapability(&'static str),
    /// Somebody else is at it.
    #[error("the journal {} is in use: {holder}; try again when that has ended", folder.display())]
    Busy {
        /// The journal.
        folder: PathBuf,
        /// Who.
        holder: String,
    },
    /// The journal cannot be read or written.
    #[error("{}: the journal cannot be {doing}{}", path.display(),
        if source.kind() == io::ErrorKind::PermissionDenied { " without root (sudo)" } else { "" })]
    Journal {
        /// The file or folder.
        path: PathBuf,
        /// `written`.
        doing: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Others could write a journal that root obeys.
    #[error("{}: others than its user may write to this journal; name a folder of your own (chmod go-w)", .0.display())]
    Writable(PathBuf),
    /// A journal's file has something else in it.
    #[error("{}:{line}: is not a record of a journal: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why not.
        why: String,
    },
    /// The plan was made for another state.
    #[error("nothing was changed, because not all settings have the values that the plan expects; make a new plan: {}",
        .0.iter().map(|one| format!("{} is \"{}\", not \"{}\"", one.setting, one.found, one.expected))
            .collect::<Vec<_>>().join("; "))]
    Differs(Vec<Different>),
    /// A setting cannot be read.
    #[error("nothing was changed, because {setting} cannot be read")]
    Unreadable {
        /// The setting.
        setting: String,
        /// The reason.
        source: AccessError,
    },
    /// Two names of one process.
    #[error("nothing was changed, because the plan changes {0} twice; keep one of the two")]
    Twice(String),
    /// A value that this host cannot have.
    #[error("nothing was changed, because {setting} cannot be set to \"{to}\": {source}")]
    Impossible {
        /// The setting.
        setting: String,
        /// The value.
        to: String,
        /// The reason.
        #[source]
        source: AccessError,
    },
    /// A change failed.
    #[error("{why}; {}", if left.is_empty() { "what was changed before it is undone".to_owned() } else {
        format!("these are not undone: {}; try `slowpath tune revert`", left.join(", ")) })]
    Failed {
        /// Which, and why.
        why: String,
        /// Changes that could not be undone.
        left: Vec<String>,
    },
    /// The plan has no change.
    #[error("the plan has no [[change]]: there is nothing to apply")]
    NothingPlanned,
    /// The namespace cannot be entered.
    #[error("the network namespace {name} cannot be entered (`ip netns` lists them)")]
    Namespace {
        /// Its name or file.
        name: String,
        /// The reason.
        source: io::Error,
    },
    /// The changes were made in a namespace without a name, which is not this one.
    #[error(
        "plan {id} was applied in another network namespace (inode {made}, here it is {here}); run it there"
    )]
    Elsewhere {
        /// The plan's number.
        id: u32,
        /// The inode of the namespace in which it was applied.
        made: u64,
        /// That of this namespace.
        here: u64,
    },
    /// There is no such plan.
    #[error("the journal {} has no plan {id} (`slowpath tune status` lists them)", folder.display())]
    NoEntry {
        /// The journal.
        folder: PathBuf,
        /// The number.
        id: u32,
    },
    /// Everything is reverted, or nothing was applied.
    #[error("the journal {} has no plan that is applied", .0.display())]
    NoneApplied(PathBuf),
    /// `sysctl.d` is the host's.
    #[error("--persist is for the host; a network namespace does not last over a reboot")]
    PersistInNamespace,
    /// The process lacks what every process has.
    #[error("{what} cannot be read; mount /proc (mount -t proc proc /proc)")]
    NoProc {
        /// The file.
        what: &'static str,
        /// The reason.
        source: io::Error,
    },
}
