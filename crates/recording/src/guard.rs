//! Panics of the Parquet library over damaged files, as errors.
//!
//! The library checks much, but not all: a changed byte can still make it index out of bounds. Nothing of it is used
//! again after a panic, so that unwinding leaves nothing half done.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may panic; `None` if it did. Nothing is printed of such a panic.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            if !GUARDED.get() {
                usual(what);
            }
        }));
    });
    let before = GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.ok()
}
