//! What libbpf says: it prints to standard error by default.

use libbpf_rs::{PrintLevel, set_print};
use std::sync::Mutex;

/// Lines kept; the verifier's last ones say why.
const MOST_LINES: usize = 20;
/// What it writes below the verifier's log (`bpf_object_load_prog`, libbpf.c).
pub const OF_VERIFIER: &str = "END PROG LOAD LOG";

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps from now on what libbpf says.
pub fn keep() {
    set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut said) = SAID.lock() {
            said.extend(text.lines().map(|line| format!("\n  {}", line.trim())));
            let surplus = said.len().saturating_sub(MOST_LINES);
            said.drain(..surplus);
        }
    })));
}

/// What it said since the last time.
pub fn take() -> String {
    SAID.lock().map(|mut said| said.drain(..).collect()).unwrap_or_default()
}
