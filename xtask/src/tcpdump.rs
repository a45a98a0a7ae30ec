//! A capture of one host's interface, taken with tcpdump while a transfer runs.

use slowpath_lab::error::LabError;
use slowpath_lab::namespaces::{Namespaces, Place};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How to capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// Bytes kept of each packet; 0 keeps all.
    pub snap_bytes: u32,
    /// The kernel's buffer for the capture.
    pub buffer_kib: u32,
    /// Pass on each packet at once. Off for captures of many packets per second.
    pub immediate: bool,
    /// End after this many packets.
    pub packets: Option<u64>,
}

/// tcpdump's own counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchReport {
    /// Packets written.
    pub captured_packets: u64,
    /// Packets the capture lost, in the kernel or at the interface; should be 0.
    pub dropped_packets: u64,
}

/// A running capture.
pub struct Watch {
    child: Child,
    said: mpsc::Receiver<String>,
    line: String,
}

const PATIENCE: Duration = Duration::from_secs(10);

impl Watch {
    /// Starts a capture and waits until it listens. Call it on a thread that outlives the capture: the
    /// capture ends when that thread does.
    ///
    /// # Errors
    /// If tcpdump is missing, may not capture, or does not start to listen.
    pub fn start(
        namespaces: &Namespaces,
        place: Place,
        device: &str,
        file: &Path,
        options: WatchOptions,
    ) -> Result<Self, LabError> {
        let mut command = namespaces.command(place, "tcpdump");
        command.args(["-n", "-Z", "root", "-i", device]);
        command.args(["--time-stamp-precision=nano", "-s", &options.snap_bytes.to_string()]);
        command.args(["-B", &options.buffer_kib.to_string()]);
        if options.immediate {
            command.arg("--immediate-mode");
        }
        if let Some(packets) = options.packets {
            command.args(["-c", &packets.to_string()]);
        }
        command.arg("-w").arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // SAFETY: only async-signal-safe calls: they set this child's own signal mask, its death signal and
        // its scheduling class.
        unsafe {
            command.pre_exec(|| {
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                let parameter = libc::sched_param { sched_priority: 10 };
                libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter);
                Ok(())
            });
        }
        let line = format!("tcpdump -i {device} ({place:?})");
        let mut child =
            command.spawn().map_err(|source| LabError::Start { command: line.clone(), source })?;
        let (tell, said) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || {
                BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|l| tell.send(l))
            });
        }
        let mut watch = Self { child, said, line };
        let mut heard = String::new();
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            match watch.said.recv_timeout(PATIENCE) {
                Ok(line) if line.contains("listening on") => return Ok(watch),
                Ok(line) => heard.push_str(&line),
                Err(_) => break,
            }
        }
        let status = watch.child.kill().and_then(|()| watch.child.wait());
        match status {
            Ok(status) => Err(LabError::Command { command: watch.line.clone(), status, stderr: heard }),
            Err(source) => Err(LabError::Start { command: watch.line.clone(), source }),
        }
    }

    /// Ends the capture and reads its counts.
    ///
    /// # Errors
    /// If tcpdump does not end.
    pub fn stop(mut self) -> Result<WatchReport, LabError> {
        // SAFETY: the process is our child and has not been waited for, so the id is its own.
        unsafe { libc::kill(self.child.id().cast_signed(), libc::SIGINT) };
        let began = Instant::now();
        while self.child.try_wait().map_err(LabError::system("wait for tcpdump"))?.is_none() {
            if began.elapsed() > PATIENCE {
                let _ = self.child.kill();
                return Err(LabError::TimedOut {
                    what: format!("the end of {}", self.line),
                    waited: PATIENCE,
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut report = WatchReport::default();
        while let Ok(line) = self.said.recv_timeout(Duration::from_secs(1)) {
            let count = line.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            if line.contains("captured") {
                report.captured_packets = count;
            } else if line.contains("dropped by") {
                report.dropped_packets += count;
            }
        }
        Ok(report)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
