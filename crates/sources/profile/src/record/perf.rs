//! The perf process: starting and ending it.

use super::child::{PATIENCE, end, find};
use super::error::RecordError;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long perf may take until it samples: it first reads all of /proc.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Bytes of its output that are kept.
const KEPT_BYTES: u64 = 16 << 10;

/// A running `perf record`.
#[derive(Debug)]
pub(super) struct Perf {
    child: Child,
    /// The pipe for commands to perf.
    control: PipeWriter,
    /// The pipe for perf's acknowledgements.
    acknowledged: PipeReader,
    said: Option<JoinHandle<String>>,
}

impl Perf {
    /// Starts perf; it does not sample yet.
    pub fn start(program: &Path, arguments: &[OsString], longest: Duration) -> Result<Self, RecordError> {
        let pipe = || io::pipe().map_err(RecordError::system("make a pipe"));
        let ((reads, control), (acknowledged, writes)) = (pipe()?, pipe()?);
        let (reads_at, writes_at) = (reads.as_raw_fd(), writes.as_raw_fd());
        // perf inherits our ends as well: when the last writer closes, perf 6.1 ends without completing its file, and
        // we may end first.
        let inherited = [reads_at, writes_at, control.as_raw_fd(), acknowledged.as_raw_fd()];
        let mut command = Command::new(program);
        command.args(arguments).arg(format!("--control=fd:{reads_at},{writes_at}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C in a terminal reaches the whole process group: we stop perf ourselves.
        command.process_group(0);
        let seconds = (longest + 2 * PATIENCE).as_secs();
        let seconds = libc::c_uint::try_from(seconds).unwrap_or(libc::c_uint::MAX);
        // SAFETY: `prepare` is async-signal-safe (signal-safety(7)), as it must be after a fork of a process with
        // several threads.
        unsafe { command.pre_exec(move || prepare(&inherited, seconds)) };
        let failed = |source| RecordError::Command { program: program.display().to_string(), source };
        let mut child = command.spawn().map_err(failed)?;
        let said = child.stderr.take().map(|from| thread::spawn(move || keep(from)));
        Ok(Self { child, control, acknowledged, said })
    }

    /// Starts sampling. Sampling has begun when this returns.
    pub fn enable(&mut self) -> Result<(), RecordError> {
        if self.does("enable", READY_WITHIN) {
            return Ok(());
        }
        let how = match end(&mut self.child, libc::SIGINT, PATIENCE) {
            Ok((status, false)) => format!("does not start ({status})"),
            _ => "does not become ready".to_owned(),
        };
        Err(RecordError::Perf { how, said: self.said() })
    }

    /// Stops sampling before perf ends, since writing the rest may take long. [`Perf::end`] reports whether perf is
    /// still there.
    pub fn disable(&mut self) {
        self.does("disable", PATIENCE);
    }

    /// Sends perf a command and waits for its acknowledgement.
    fn does(&mut self, command: &str, within: Duration) -> bool {
        let sent = self.control.write_all(format!("{command}\n").as_bytes());
        let mut answer = [0; 16];
        sent.is_ok() && self.answers(within) && self.acknowledged.read(&mut answer).is_ok_and(|read| read > 0)
    }

    /// Waits for an acknowledgement; false if perf has ended or is too slow.
    fn answers(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let wait_ms = libc::c_int::try_from(left.as_millis()).unwrap_or(libc::c_int::MAX);
            let mut polled =
                libc::pollfd { fd: self.acknowledged.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one live pollfd is passed.
            match unsafe { libc::poll(&raw mut polled, 1, wait_ms) } {
                // poll(2) is not restarted after a signal.
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                count => return count == 1,
            }
        }
    }

    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// Ends perf, which completes its file.
    pub fn end(&mut self) -> Result<(), RecordError> {
        let ended = end(&mut self.child, libc::SIGINT, PATIENCE);
        let (status, was_forced) = ended.map_err(RecordError::system("wait for perf"))?;
        let said = self.said();
        if was_forced {
            return Err(RecordError::Perf { how: "did not end and was killed".to_owned(), said });
        }
        if is_in_order(status) {
            return Ok(());
        }
        Err(RecordError::Perf { how: format!("failed ({status})"), said })
    }

    fn said(&mut self) -> String {
        self.said.take().and_then(|said| said.join().ok()).unwrap_or_default()
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        // If it cannot be ended, there is nobody to report that to.
        let _ = end(&mut self.child, libc::SIGINT, PATIENCE);
    }
}

/// perf completes its file when interrupted, and then still dies of the same signal (`record__sig_exit`).
fn is_in_order(status: ExitStatus) -> bool {
    status.success() || matches!(status.signal(), Some(libc::SIGINT | libc::SIGTERM))
}

/// Reads perf's output to its end; only the beginning is kept.
fn keep(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    // Output that cannot be read counts as absent.
    let _ = from.by_ref().take(KEPT_BYTES).read_to_end(&mut kept);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// Runs in the process that is to become perf: keeps the pipes' ends open, and makes it end with the thread that
/// started it and after a time limit.
fn prepare(inherited: &[RawFd], seconds: libc::c_uint) -> io::Result<()> {
    // SAFETY: async-signal-safe calls with values that live as long as the call.
    unsafe {
        for fd in inherited {
            if libc::fcntl(*fd, libc::F_SETFD, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGINT, 0, 0, 0);
        // perf does not handle SIGALRM in this mode, so the signal ends it.
        libc::alarm(seconds);
        // The parent may block signals in all of its threads.
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
    Ok(())
}

/// Finds perf.
pub fn program() -> Result<PathBuf, RecordError> {
    find(OsStr::new("perf")).ok_or_else(|| RecordError::NoPerf {
        package: package(&read("/etc/os-release"), &read("/proc/sys/kernel/osrelease")),
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The package that contains perf, by distribution (os-release(5)) and running kernel.
fn package(os_release: &str, kernel: &str) -> String {
    let field = |name: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    let ids = format!("{} {}", field("ID"), field("ID_LIKE"));
    // Ubuntu is Debian-like, but its package differs.
    for id in ids.split_whitespace() {
        match id {
            "ubuntu" => return format!("linux-tools-{}", kernel.trim()),
            "debian" => return "linux-perf".to_owned(),
            "fedora" | "rhel" | "centos" | "suse" | "arch" | "alpine" => return "perf".to_owned(),
            _ => {}
        }
    }
    "perf, linux-perf or linux-tools, by the distribution".to_owned()
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn package_with_perf_is_named_per_distribution() {
        let kernel = "6.8.0-45-generic\n";
        assert_eq!(
            package("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", kernel),
            "linux-tools-6.8.0-45-generic"
        );
        assert_eq!(
            package("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", kernel),
            "linux-tools-6.8.0-45-generic"
        );
        assert_eq!(package("ID=debian\n", kernel), "linux-perf");
        assert_eq!(package("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", kernel), "perf");
        assert_eq!(package("", kernel), "perf, linux-perf or linux-tools, by the distribution");
    }
}
