//! Applies advice to this host, so that it is verified and can be taken back.
//!
//! - [`plan`]: which settings change, from which value to which, as a file for people.
//! - [`journal`]: what was changed, on disk before it is changed.
//! - [`apply()`] makes the changes of a plan, all of them or none; [`revert()`] takes them back; [`status()`] shows what is in
//!   force.
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
//! **Settings of a boot and of a namespace.** The journal has the boot's id and the namespace's inode: after a reboot, or when
//! the namespace is gone, there is nothing to take back, and nothing is touched.

mod access;
mod apply;
mod clock;
mod error;
mod examine;
pub mod journal;
mod lock;
mod namespace;
pub mod plan;
mod revert;
mod status;
mod timer;
mod who;

pub use access::Access;
pub use apply::{Applied, Asked, apply};
pub use clock::utc_text;
pub use error::{AccessError, Different, Error};
pub use examine::{ExamineError, examine};
pub use namespace::inside;
pub use plan::Plan;
pub use revert::{Fate, Reverted, Taken, When, revert};
pub use status::{Entry, Force, State, status};
pub use who::host_name;
