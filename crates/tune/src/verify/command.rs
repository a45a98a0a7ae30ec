//! The command that measures: run by a shell, with its time, its output and an end.
//!
//! It has no open file of this program, thus not the lock of the journal, and is in a process group of its own, so that it can
//! be ended with all that it has started.

use crate::error::BadRun;
use crate::gain::{Measure, ReadingUnit};
use slowpath_model::Rate;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a running command is looked after.
const LOOK: Duration = Duration::from_millis(100);
/// What a command that is ended has to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// What is kept of the end of each output.
const TAIL: usize = 4096;
/// Reads that empty a pipe (pipe(7): 64 KiB, or 1 MiB by `F_SETPIPE_SZ`), whatever goes on being written to it.
const READS: usize = (1 << 20) / TAIL;

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Seconds, bit/s, or the number that was printed.
    pub value: f64,
    /// What it is.
    pub unit: ReadingUnit,
}

/// The end of an output.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(TAIL);
        self.is_cut |= excess > 0;
        self.bytes.drain(..excess);
    }

    /// The last line that is not empty, marked where its beginning is cut off; `None` if there is none.
    fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let (at, line) = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).last()?;
        let mark = if at == 0 && self.is_cut { "…" } else { "" };
        Some(format!("{mark}{}", line.trim()))
    }
}

/// One run of `command`, for at most `most`, or until `stop` is set.
pub(super) fn measure(
    command: &str,
    measure: Measure,
    most: Duration,
    stop: &AtomicBool,
) -> Result<Reading, BadRun> {
    if stop.load(Ordering::Relaxed) {
        return Err(BadRun::Interrupted);
    }
    let begun = Instant::now();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(shell.spawn().map_err(BadRun::NoShell)?);
    let [mut out, mut err] = [Tail::default(), Tail::default()];
    let took = running.watch(begun, most, stop, &mut out, &mut err)?;
    let status = running.0.wait().map_err(BadRun::NoShell)?;
    if !status.success() {
        return Err(BadRun::Failed { how: ended(status), says: err.last_line().or_else(|| out.last_line()) });
    }
    match measure {
        Measure::Time => Ok(Reading { value: took.as_secs_f64(), unit: ReadingUnit::Seconds }),
        Measure::Rate => {
            let line = out.last_line();
            line.as_deref().and_then(number).ok_or(BadRun::NoNumber { line })
        }
    }
}

/// The number of a line: `941.5`, `9.4e8` or `941 Mbit/s`.
fn number(line: &str) -> Option<Reading> {
    let (value, unit) = match (line.parse::<f64>(), line.parse::<Rate>()) {
        (Ok(value), _) => (value, ReadingUnit::Plain),
        (Err(_), Ok(rate)) => (rate.get() as f64, ReadingUnit::BitsPerSecond),
        (Err(_), Err(_)) => return None,
    };
    // A ratio needs both.
    (value.is_normal() && value > 0.0).then_some(Reading { value, unit })
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// A running command, which is ended if nobody waits for its end.
struct Running(Child);

impl Running {
    /// Waits for the end of the command and collects what it prints. Returns how long it took.
    fn watch(
        &mut self,
        begun: Instant,
        most: Duration,
        stop: &AtomicBool,
        out: &mut Tail,
        err: &mut Tail,
    ) -> Result<Duration, BadRun> {
        let process = pidfd(&self.0).map_err(BadRun::NoShell)?;
        let mut pipes: [(Option<File>, &mut Tail); 2] = [
            (self.0.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe))), out),
            (self.0.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe))), err),
        ];
        loop {
            let files = [
                Some(process.as_raw_fd()),
                pipes[0].0.as_ref().map(AsRawFd::as_raw_fd),
                pipes[1].0.as_ref().map(AsRawFd::as_raw_fd),
            ];
            let [has_ended, printed @ ..] = ready(files, LOOK).map_err(BadRun::NoShell)?;
            let now = begun.elapsed();
            for ((pipe, tail), printed) in pipes.iter_mut().zip(printed) {
                if printed {
                    read(pipe, tail);
                }
            }
            if has_ended {
                // What it had printed before; a process that it left may print on, which nobody reads.
                for (pipe, tail) in &mut pipes {
                    for _ in 0..READS {
                        let Some(file) = &*pipe else { break };
                        if !ready([Some(file.as_raw_fd())], Duration::ZERO).is_ok_and(|[printed]| printed) {
                            break;
                        }
                        read(pipe, tail);
                    }
                }
                return Ok(now);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(BadRun::Interrupted);
            }
            if now >= most {
                return Err(BadRun::TooLong(most));
            }
        }
    }

    fn signal(&self, signal: libc::c_int) {
        let Ok(group) = i32::try_from(self.0.id()) else { return };
        // SAFETY: plain values; the group's first process was not waited for, so its number is not another's.
        unsafe { libc::kill(-group, signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        self.signal(libc::SIGTERM);
        if let Ok(process) = pidfd(&self.0) {
            let _ = ready([Some(process.as_raw_fd())], GRACE);
        }
        // Also what is left of its group.
        self.signal(libc::SIGKILL);
        let _ = self.0.wait();
    }
}

/// Reads what is there; at the end, the pipe is closed.
fn read(pipe: &mut Option<File>, tail: &mut Tail) {
    let mut bytes = [0; TAIL];
    match pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut bytes)) {
        Ok(0) => *pipe = None,
        Ok(read) => tail.add(&bytes[..read]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(_) => *pipe = None,
    }
}

/// A file that is readable when the process has ended (`pidfd_open(2)`, Linux 5.3).
fn pidfd(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: plain values.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    let opened = RawFd::try_from(opened).map_err(io::Error::other)?;
    // SAFETY: the kernel has just opened it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Waits until one of the files can be read without waiting, and says which can.
fn ready<const N: usize>(files: [Option<RawFd>; N], most: Duration) -> io::Result<[bool; N]> {
    // A negative number is passed over (poll(2)).
    let mut polled =
        files.map(|file| libc::pollfd { fd: file.unwrap_or(-1), events: libc::POLLIN, revents: 0 });
    let most = i32::try_from(most.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the array has N entries, and lives as long as the call.
    if unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, most) } < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok([false; N]) } else { Err(error) };
    }
    Ok(polled.map(|one| one.revents != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, what: Measure) -> Result<Reading, BadRun> {
        measure(command, what, Duration::from_secs(20), &AtomicBool::new(false))
    }

    fn says(command: &str, what: Measure) -> String {
        run(command, what).expect_err(command).to_string()
    }

    #[test]
    fn the_last_line_is_the_rate() {
        for (command, value, unit) in [
            ("echo 5; echo 941.5", 941.5, ReadingUnit::Plain),
            ("printf '9.4e8\\n\\n \\n'", 9.4e8, ReadingUnit::Plain),
            ("printf ' 2 Gbit/s'", 2e9, ReadingUnit::BitsPerSecond),
            // Much output before it, and a process that keeps the pipe open.
            ("sleep 5 & yes | head -c 3000000; echo 7", 7.0, ReadingUnit::Plain),
            ("yes & sleep 0.1; kill $!; wait $!; echo; echo 7", 7.0, ReadingUnit::Plain),
        ] {
            let begun = Instant::now();
            assert_eq!(run(command, Measure::Rate).expect(command), Reading { value, unit }, "{command}");
            assert!(begun.elapsed() < Duration::from_secs(4), "{command}");
        }
    }

    #[test]
    fn what_is_no_rate_is_named() {
        for (command, text) in [
            ("echo fast", "its last line is \"fast\""),
            ("true", "it printed nothing"),
            ("echo 0", "\"0\""),
            ("echo -3", "\"-3\""),
            ("echo nan", "\"nan\""),
            ("echo inf", "\"inf\""),
            ("echo 5 apples", "\"5 apples\""),
            ("printf '%05000d\\n' 7", "\"…000"),
            ("exit 3", "exit code 3"),
            ("echo no route >&2; exit 1", "exit code 1: no route"),
            ("kill -9 $$", "signal 9"),
            ("nonesuch-command", "exit code 127"),
        ] {
            let text_of = says(command, Measure::Rate);
            assert!(text_of.contains(text), "{command}: {text_of}");
        }
    }

    #[test]
    fn time_is_from_start_to_end() {
        let reading = run("sleep 0.3; echo text", Measure::Time).expect("it ends");
        assert_eq!(reading.unit, ReadingUnit::Seconds);
        assert!((0.3..1.5).contains(&reading.value), "{reading:?}");
        // Standard input has an end at once.
        let reading = run("cat", Measure::Time).expect("it ends");
        assert!(reading.value < 2.0, "{reading:?}");
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pids");
        let command =
            format!("trap '' TERM; sleep 60 & echo $! >{0}; echo $$ >>{0}; sleep 60", file.display());
        let begun = Instant::now();
        let most = Duration::from_millis(300);
        let error = measure(&command, Measure::Time, most, &AtomicBool::new(false)).expect_err("it sleeps");
        assert!(error.to_string().contains("longer than 300 ms"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10));
        let pids = std::fs::read_to_string(file).expect("it had begun");
        assert_eq!(pids.lines().count(), 2);
        for pid in pids.lines() {
            let is_over = |pid: &str| {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.map_or(true, |stat| {
                    stat.contains(") Z ") || !stat.contains("sleep") && !stat.contains("(sh)")
                })
            };
            let begun = Instant::now();
            while !is_over(pid) {
                assert!(begun.elapsed() < Duration::from_secs(10), "{pid} runs on");
                std::thread::sleep(LOOK);
            }
        }
    }

    #[test]
    fn an_interrupt_ends_it() {
        let stop = AtomicBool::new(false);
        let begun = Instant::now();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(LOOK * 2);
                stop.store(true, Ordering::Relaxed);
            });
            measure("sleep 60", Measure::Time, Duration::from_secs(60), &stop).expect_err("stopped")
        });
        assert!(matches!(error, BadRun::Interrupted) && begun.elapsed() < Duration::from_secs(5), "{error}");
    }
}
