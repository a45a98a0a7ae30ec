//! What reverts a plan by itself: a transient timer of systemd (systemd-run(1)), or a process of our own.

use crate::clock;
use crate::error::Error;
use crate::journal::{Journal, Timer};
use crate::namespace;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// How often a waiting process looks whether the plan was reverted by hand.
const LOOK: Duration = Duration::from_secs(2);

/// Starts what runs `program tune revert ID` after `delay`.
pub(crate) fn arm(program: &Path, journal: &Path, id: u32, delay: Duration) -> io::Result<Timer> {
    let revert = ["tune", "revert", &id.to_string(), "--journal"].map(str::to_owned);
    // A service runs in the first namespace, where a plan of a namespace without a name cannot be reverted.
    if Path::new("/run/systemd/system").is_dir() && namespace::is_first() {
        let unit = format!("slowpath-tune-{id}");
        let mut run = Command::new("systemd-run");
        run.args(["--quiet", "--collect", "--unit", &unit, "--timer-property=AccuracySec=1s"]);
        run.arg(format!("--on-active={}s", delay.as_secs())).arg(program).args(&revert).arg(journal);
        // Then it waits for somebody who is at it.
        run.args(["--after", "0s"]);
        let quiet = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if quiet.status().is_ok_and(|status| status.success()) {
            return Ok(Timer::Systemd { unit });
        }
    }
    let mut watch = Command::new(program);
    watch.args(&revert).arg(journal).arg("--after").arg(format!("{}s", delay.as_secs())).current_dir("/");
    watch.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: setsid(2) is async-signal-safe. A session of its own outlives the terminal.
    unsafe {
        watch.pre_exec(|| match libc::setsid() {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    // It is never waited for: it outlives this program.
    Ok(Timer::Watcher { pid: watch.spawn()?.id() })
}

/// Waits until a plan is to be reverted. Returns whether it still has to be.
pub(crate) fn wait(journal: &Journal, id: u32, delay: Duration) -> Result<bool, Error> {
    // The clock of the day may be set meanwhile, and Instant stands still while the host is suspended.
    let elapsed = || clock::since_boot().unwrap_or(Duration::MAX);
    let end = elapsed().saturating_add(delay);
    loop {
        if journal.read(id)?.is_some_and(|written| written.is_closed()) {
            return Ok(false);
        }
        match end.checked_sub(elapsed()).filter(|rest| !rest.is_zero()) {
            Some(rest) => thread::sleep(rest.min(LOOK)),
            None => return Ok(true),
        }
    }
}

/// Whether a timer still runs.
pub(crate) fn is_armed(timer: &Timer) -> bool {
    match timer {
        Timer::Systemd { unit } => {
            let mut ask = Command::new("systemctl");
            ask.args(["is-active", "--quiet", &format!("{unit}.timer")]).stdin(Stdio::null());
            ask.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        }
        Timer::Watcher { pid } => {
            // Another process may have its number.
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == b"--after")
        }
    }
}

/// Stops what would revert a plan that was reverted. A process of our own sees that by itself.
pub(crate) fn disarm(timer: &Timer) {
    if let Timer::Systemd { unit } = timer {
        let mut stop = Command::new("systemctl");
        stop.args(["stop", &format!("{unit}.timer")]).stdin(Stdio::null());
        // If it fails, the timer finds nothing to revert.
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
