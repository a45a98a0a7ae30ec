//! Three network namespaces: the sender's host, the path, and the receiver's host.
//!
//! ```text
//! sender: eth0 ---- left : path : right ---- eth0 : receiver
//! ```
//!
//! Their names carry the process that made them, so that the next start can remove what a killed run left.

use crate::error::LabError;
use crate::host::Host;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "slowpath";
const DIRECTORY: &str = "/run/netns";

/// One of the three namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Where the sender's host is.
    Sender,
    /// Where the relay is.
    Path,
    /// Where the receiver's host is.
    Receiver,
}

impl Place {
    const ALL: [Self; 3] = [Self::Sender, Self::Path, Self::Receiver];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Path => "path",
            Self::Receiver => "receiver",
        }
    }
}

impl From<Host> for Place {
    fn from(host: Host) -> Self {
        match host {
            Host::Sender => Self::Sender,
            Host::Receiver => Self::Receiver,
        }
    }
}

/// Everything this process has made and not yet removed, so that a signal can remove it.
static MADE: Mutex<Vec<String>> = Mutex::new(Vec::new());
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Three namespaces, removed when this value is dropped.
#[derive(Debug)]
pub struct Namespaces {
    base: String,
    kept: Vec<OwnedFd>,
    taps: Vec<(Place, File)>,
}

impl Namespaces {
    /// Removes what dead runs left, then makes three new namespaces with the loopback device up.
    ///
    /// # Errors
    /// If `ip netns` fails, which it does without root.
    pub fn create() -> Result<Self, LabError> {
        remove_leftovers()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespaces =
            Self { base: format!("{}{count}", own_prefix()), kept: Vec::new(), taps: Vec::new() };
        for place in Place::ALL {
            let name = namespaces.name(place);
            if let Ok(mut made) = MADE.lock() {
                made.push(name.clone());
            }
            run(&["ip", "netns", "add", &name])?;
            run(&["ip", "-n", &name, "link", "set", "lo", "up"])?;
        }
        Ok(namespaces)
    }

    /// The name that `ip netns` knows the namespace by.
    pub fn name(&self, place: Place) -> String {
        format!("{}-{}", self.base, place.name())
    }

    /// The number of a namespace: that of `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// If the namespace is gone.
    pub fn number(&self, place: Place) -> Result<u32, LabError> {
        let path = Path::new(DIRECTORY).join(self.name(place));
        let about = std::fs::metadata(&path).map_err(LabError::file(&path))?;
        // The kernel counts them in 32 bits (ns_common.inum).
        Ok(about.ino() as u32)
    }

    /// Keeps something open for as long as the namespaces exist.
    pub fn keep(&mut self, descriptors: impl IntoIterator<Item = OwnedFd>) {
        self.kept.extend(descriptors);
    }

    /// Keeps the TAP device of a host open for as long as the namespaces exist.
    pub fn keep_tap(&mut self, place: Place, file: File) {
        self.taps.push((place, file));
    }

    /// The TAP device of a host, if it has one.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn tap(&self, place: Place) -> Result<Option<File>, LabError> {
        let own = self.taps.iter().find(|(of, _)| *of == place);
        own.map(|(_, file)| file.try_clone()).transpose().map_err(LabError::system("duplicate a TAP device"))
    }

    /// Moves the calling thread into a namespace, for good.
    ///
    /// # Errors
    /// If the namespace is gone or the thread may not enter it.
    pub fn enter(&self, place: Place) -> Result<(), LabError> {
        let path = Path::new(DIRECTORY).join(self.name(place));
        let file = File::open(&path).map_err(LabError::file(&path))?;
        // SAFETY: the descriptor is open for the duration of the call.
        if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
            return Err(LabError::last_os(format!("enter {}", path.display())));
        }
        Ok(())
    }

    /// Runs a closure on a thread inside a namespace and gives back its result.
    ///
    /// # Errors
    /// If the namespace cannot be entered or the closure fails or panics.
    pub fn inside<T: Send>(
        &self,
        place: Place,
        work: impl FnOnce() -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter(place)?;
                work()
            });
            thread.join().unwrap_or(Err(LabError::Panicked { role: "works inside a namespace" }))
        })
    }

    /// Runs `ip` with a namespace and arguments that are separated by single spaces.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn ip(&self, place: Place, arguments: &str) -> Result<(), LabError> {
        let name = self.name(place);
        let mut command = vec!["ip", "-n", &name];
        command.extend(arguments.split(' '));
        run(&command)
    }

    /// Runs any command inside a namespace, its arguments separated by single spaces.
    ///
    /// # Errors
    /// If the command fails.
    pub fn execute(&self, place: Place, command_line: &str) -> Result<(), LabError> {
        let name = self.name(place);
        let mut command = vec!["ip", "netns", "exec", &name];
        command.extend(command_line.split(' '));
        run(&command)
    }

    /// Writes a file of a namespace's own /sys, which only `ip netns exec` shows.
    ///
    /// # Errors
    /// If the kernel has no such file or refuses the value.
    pub fn write_sys(&self, place: Place, path: &str, value: &str) -> Result<(), LabError> {
        let script = format!("echo {value} >{path}");
        run(&["ip", "netns", "exec", &self.name(place), "sh", "-c", &script])
    }

    /// Sets a per-namespace sysctl, by its dotted name.
    ///
    /// # Errors
    /// If the kernel has no such setting or refuses the value.
    pub fn sysctl(&self, place: Place, name: &str, value: &str) -> Result<(), LabError> {
        let path = PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")));
        self.inside(place, || std::fs::write(&path, value).map_err(LabError::file(&path)))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for place in Place::ALL {
            remove(&self.name(place));
        }
    }
}

/// What the names of everything begin with that this process makes: its id and when it was started.
pub(crate) fn own_prefix() -> String {
    let pid = std::process::id();
    format!("{PREFIX}-{pid}-{}-", born_ticks(pid).unwrap_or(0))
}

fn remove(name: &str) {
    // What cannot be removed now is found by the next start.
    let _ = run(&["ip", "netns", "delete", name]);
    if let Ok(mut made) = MADE.lock() {
        made.retain(|m| m != name);
    }
}

/// Removes every namespace that this process has made; for the thread that waits for signals.
pub fn remove_all() {
    let made = MADE.lock().map(|made| made.clone()).unwrap_or_default();
    for name in made {
        remove(&name);
    }
}

/// The namespaces whose makers are gone.
pub fn leftovers() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(DIRECTORY) else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().into_string().ok()).filter(|name| is_left(name)).collect()
}

/// Removes the namespaces whose makers are gone.
///
/// # Errors
/// If one of them cannot be removed.
pub fn remove_leftovers() -> Result<(), LabError> {
    leftovers().iter().try_for_each(|name| run(&["ip", "netns", "delete", name]))
}

/// Whether something is ours and the process that made it no longer runs. A process id may be in use
/// again, so the time at which the process started has to agree too.
pub(crate) fn is_left(name: &str) -> bool {
    let mut parts = name.split('-');
    if parts.next() != Some(PREFIX) {
        return false;
    }
    let mut number = || parts.next().and_then(|p| p.parse::<u64>().ok());
    let (Some(pid), Some(born)) = (number(), number()) else { return false };
    u32::try_from(pid).ok().and_then(born_ticks) != Some(born)
}

/// When a process started, in clock ticks since boot: field 22 of /proc/PID/stat (proc(5)).
fn born_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Runs a command to its end.
///
/// # Errors
/// If it does not start or fails; what it said on standard error is in the error.
pub fn run(command: &[&str]) -> Result<(), LabError> {
    output(command).map(drop)
}

/// Runs a command to its end, and returns what it wrote to standard output.
///
/// # Errors
/// Likewise.
pub fn output(command: &[&str]) -> Result<Vec<u8>, LabError> {
    let line = command.join(" ");
    let Some((program, arguments)) = command.split_first() else { return Ok(Vec::new()) };
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|source| LabError::Start { command: line.clone(), source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Command { command: line, status: output.status, stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_alive_and_names_of_others_are_left_alone() {
        let pid = std::process::id();
        let born = born_ticks(pid).unwrap();
        assert!(!is_left(&format!("slowpath-{pid}-{born}-0-sender")));
        assert!(is_left(&format!("slowpath-{pid}-{}-0-sender", born + 1)), "process id in use again");
        assert!(!is_left("slowpath"));
        assert!(!is_left("slowpath-lab-5"));
        assert!(!is_left("blue"));
    }
}
