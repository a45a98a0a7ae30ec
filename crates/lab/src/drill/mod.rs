//! Scripts in packetdrill's language on the kernel of this machine.
//!
//! A script has a network namespace of its own, with a TUN device whose other end is the network that the script plays.
//! The namespace has no name: it belongs to the threads that run the script, and vanishes with them, even if they are
//! killed. Calls are made on a second thread, since they may block.

mod addresses;
mod calls;
mod device;
mod files;
mod measures;
mod messages;
mod settings;
mod worker;

use crate::clock;
use crate::error::LabError;
use slowpath_drill::call::{Call, Fd};
use slowpath_drill::packet::Datagram;
use slowpath_drill::shell::Command;
use slowpath_drill::wire::{decode, encode};
use slowpath_drill::{
    Happening, Kernel, KernelError, Outcome, Progress, ReadFile, Script, ScriptReport, Understood,
};
use slowpath_model::Instant;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use addresses::Network;
use calls::Caller;
use device::Device;
use settings::Congestion;
use worker::Worker;

/// Above the lab's other threads; the thread that runs a script sleeps whenever it waits.
const PRIORITY: i32 = 50;
/// How long before an event the thread is woken; from then on it waits without sleeping.
const WAKE_EARLY: Duration = Duration::from_micros(60);
/// The longest packet that IP can carry.
const LONGEST_PACKET: usize = 65_536;

/// How often a script is run again if its timing could not be kept: a busy machine delays us, not the kernel.
const MOST_RUNS: u32 = 5;

/// Runs a script on this kernel, in a namespace of its own; again, if one of its lines was late.
///
/// # Errors
/// If the namespace, the device or its addresses cannot be created, which needs root.
pub fn run(script: &Script, read_file: ReadFile<'_>) -> Result<ScriptReport, LabError> {
    let late =
        |report: &ScriptReport| matches!(&report.outcome, Outcome::Failed(failure) if failure.runner_late);
    let mut report = run_once(script, read_file)?;
    for _ in 1..MOST_RUNS {
        if !late(&report) {
            break;
        }
        report = run_once(script, read_file)?;
    }
    Ok(report)
}

fn run_once(script: &Script, read_file: ReadFile<'_>) -> Result<ScriptReport, LabError> {
    let files = files::Requests::new();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| run_inside(script, &files));
        files.serve(read_file, || thread.is_finished());
        thread.join().unwrap_or(Err(LabError::Panicked { role: "runs a script" }))
    })
}

fn run_inside(script: &Script, files: &files::Requests) -> Result<ScriptReport, LabError> {
    // SAFETY: concerns the calling thread only, which is ours and ends with the script.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(LabError::last_os("make a network namespace"));
    }
    let network = Network::of(&script.config);
    let device = Device::create(&network, script.config.mtu)?;
    settings::pin()?;
    clock::make_thread_punctual(PRIORITY);
    let start = Start::default();
    let congestion = Congestion::default();
    let ports = (script.config.bind_port, script.config.connect_port);
    let worker =
        Worker::start(Caller::new(network.clone(), start.clone(), ports, congestion.clone()), start.clone())?;
    let mut kernel = Live { network, device, worker, start, congestion, buffer: vec![0; LONGEST_PACKET] };
    Ok(slowpath_drill::run(script, &mut kernel, &|path| files.ask(path)))
}

/// When a script began, for both of its threads.
#[derive(Clone, Debug)]
pub(crate) struct Start(Arc<Mutex<StartTimes>>);

/// The start by the clocks that events and the kernel's stamps are compared with.
#[derive(Clone, Copy, Debug)]
struct StartTimes {
    monotonic_ns: u64,
    realtime_us: i64,
}

impl StartTimes {
    fn at(monotonic_ns: u64) -> Self {
        Self { monotonic_ns, realtime_us: (clock::realtime_ns() / 1000) as i64 }
    }
}

impl Default for Start {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(StartTimes::at(clock::monotonic_ns()))))
    }
}

impl Start {
    fn times(&self) -> StartTimes {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts here, between two ticks.
    fn restart(&self) {
        let times = StartTimes::at(clock::start_between_ticks());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = times;
    }

    fn now(&self) -> Instant {
        let since = clock::monotonic_ns().saturating_sub(self.times().monotonic_ns);
        Instant::from_nanos(i64::try_from(since).unwrap_or(i64::MAX))
    }

    /// A time of the kernel's stamps, in microseconds since the start.
    pub(crate) fn micros_since(&self, realtime_us: i64) -> i64 {
        realtime_us - self.times().realtime_us
    }
}

/// The kernel of this machine, seen from a namespace.
struct Live {
    network: Network,
    device: Device,
    worker: Worker,
    start: Start,
    congestion: Congestion,
    buffer: Vec<u8>,
}

impl Live {
    /// A packet that waits to be read. Packets not for the network that the script plays are left out.
    fn receive(&mut self) -> Result<Option<Datagram>, KernelError> {
        loop {
            match self.device.file.read(&mut self.buffer) {
                Ok(length) => {
                    let packet = decode::datagram(&self.buffer[..length], self.network.addresses);
                    if packet.is_some() {
                        return Ok(packet);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(KernelError::new(format!("reading packets: {error}"))),
            }
        }
    }

    /// Sleeps until a packet comes, a call returns, or time has passed.
    fn sleep(&self, time: Duration) {
        let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [watch(self.device.file.as_raw_fd()), watch(self.worker.done_fd())];
        let timeout = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        // SAFETY: both point at live values for the duration of the call. An interruption is as good as its end: the
        // caller checks again.
        unsafe { libc::ppoll(fds.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
    }
}

impl Kernel for Live {
    fn now(&mut self) -> Instant {
        self.start.now()
    }

    fn begin(&mut self) {
        self.start.restart();
    }

    fn wait(&mut self, until: Instant) -> Result<Happening, KernelError> {
        loop {
            if let Some(packet) = self.receive()? {
                return Ok(Happening::Sent(self.start.now(), packet));
            }
            if let Some((at, returned)) = self.worker.take_returned() {
                return Ok(Happening::Returned(at, returned));
            }
            let Some(left) = until.since(self.start.now()).filter(|left| !left.is_zero()) else {
                return Ok(Happening::Nothing);
            };
            match left.checked_sub(WAKE_EARLY) {
                Some(time) => self.sleep(time),
                None => std::hint::spin_loop(),
            }
        }
    }

    fn call(&mut self, call: Call) -> Result<Progress, KernelError> {
        self.worker.call(call)
    }

    fn inject(&mut self, packet: &Datagram) -> Result<(), KernelError> {
        let bytes =
            encode::datagram(packet, self.network.addresses).map_err(|e| KernelError::new(e.to_string()))?;
        self.device
            .file
            .write_all(&bytes)
            .map_err(|error| KernelError::new(format!("the device refuses the packet: {error}")))
    }

    fn measures(&mut self, fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError> {
        measures::of(fd)
    }

    fn counters(&mut self, _asked: &[String]) -> Result<slowpath_live::Counters, KernelError> {
        slowpath_live::counters().map_err(|error| KernelError::new(error.to_string()))
    }

    fn command(&mut self, command: &Command) -> Result<Understood, KernelError> {
        settings::apply(command, &self.congestion)
    }
}
