//! libbpf's messages: by default it prints them to standard error.

use libbpf_rs::{PrintLevel, set_print};
use std::sync::Mutex;

/// Lines kept; the verifier's last ones say why.
const MOST_LINES: usize = 20;
/// What it prints below the verifier's log (`bpf_object_load_prog`, libbpf.c).
pub(crate) const OF_VERIFIER: &str = "END PROG LOAD LOG";

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps libbpf's messages from now on.
pub fn keep() {
    set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut lines) = LINES.lock() {
            lines.extend(text.lines().map(|line| format!("\n  {}", line.trim())));
            let surplus = lines.len().saturating_sub(MOST_LINES);
            lines.drain(..surplus);
        }
    })));
}

/// The messages since the last time.
pub(crate) fn take() -> String {
    LINES.lock().map(|mut lines| lines.drain(..).collect()).unwrap_or_default()
}
