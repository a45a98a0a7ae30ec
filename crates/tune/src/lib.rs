//! Applies advice to this host, so that it is verified and can be taken back.
//!
//! - [`plan`]: which settings change, from which value to which, as a file for people.
//! - [`advice`]: the buffers that a transfer needs, by the kernel's arithmetic.
//! - [`journal`]: what was changed, on disk before it is changed.
//! - [`apply()`] makes the changes of a plan, all of them or none; [`revert()`] takes them back; [`status()`] shows what is in
//!   force.
//! - [`rehearsal`]: the changes of a plan that can be made on a host of the lab, before this one is touched.
//! - [`verify()`] applies a plan only if a command measures that it helps, by more than the noise ([`gain`]).
//!
//! # Decisions
//!
//! **The journal first.** Each change is on disk (fsync(2)) with the old and the new value before the kernel is asked for
//! it. Whenever a program is killed, the journal names at least everything that was changed.
//!
//! **Revert decides by what it sees**, not by what the journal says was completed: a setting with the new value gets the old
//! one, a setting with the old value is left, and any other value is somebody else's, which is kept. So it can be run at any
//! time, any number of times, also when the disk is full and it can no longer write to the journal.
//!
//! **A lock that outlives a kill.** The programs that change settings (`ip`, `tc`, `ethtool`) hold the lock of the journal
//! too, as their standard input: while one that was started before a kill is still at work, nobody else begins.
//!
//! **Measured in turn.** A plan that is verified is switched on and off many times under one entry of the journal, which names
//! every change before the first one. So a kill at any instant leaves what a revert takes back. The lock is held only while
//! settings are switched: a revert can come at any time, and the verification then ends. Until then it locks the entry's file,
//! by which others know that it is at work.
//!
//! **Settings of a boot and of a namespace.** The journal has the boot's id and the namespace's inode: after a reboot, or when
//! the namespace is gone, there is nothing to take back, and nothing is touched.

mod access;
pub mod advice;
mod apply;
mod clock;
mod error;
mod examine;
pub mod gain;
pub mod journal;
mod lock;
mod namespace;
mod persist;
pub mod plan;
pub mod rehearsal;
mod revert;
mod status;
mod timer;
mod verify;
mod who;

pub use access::Access;
pub use apply::{Applied, Asked, apply};
pub use clock::{now, utc_text};
pub use error::{AccessError, BadRun, Different, Error};
pub use examine::{ExamineError, examine, examine_advised, known};
pub use namespace::inside;
pub use plan::{Forecast, Plan};
pub use revert::{Fate, Reverted, Taken, When, revert};
pub use status::{Entry, Force, State, status};
pub use verify::{Ended, Reading, Run, Trial, Verified, gain_of, order, spread, unit_of, verify};
pub use who::{host_name, ignores_hangup};
