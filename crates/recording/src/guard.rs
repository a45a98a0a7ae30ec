//! Turns panics of the Parquet library on damaged files into errors.
//!
//! The library validates much, but not everything: a changed byte can still make it index out of bounds. Its state is
//! not used after a panic, so unwinding leaves nothing inconsistent.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which may panic; `None` if it did. The panic is not printed.
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
