//! Runs a script against a kernel.
//!
//! As in packetdrill: injected packets and system calls wait for their time; an expected packet is waited for and its
//! time compared; packets sent before they are expected are kept. One connection is under test at a time: the one
//! opened last.

mod calls;
mod code;
mod commands;
mod difference;
mod expect;
mod inject;
mod report;
mod sockets;
mod time;

pub use report::{Failure, Note, Outcome, ScriptReport, TraceLine};

use crate::call::{Prepared, Returned};
use crate::counters::Counters;
use crate::kernel::{Happening, Kernel, KernelError};
use crate::packet::Datagram;
use crate::python::Interpreter;
use crate::script::{Action, Event, Script, When};
use slowpath_model::Instant;
use sockets::Sockets;
use std::collections::VecDeque;
use std::time::Duration;
use time::Due;

/// Reads a file named by a script, such as a shell script next to it.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How long to wait for a call that should have returned before the next one (packetdrill: `await_idle_thread`).
const PATIENCE_FOR_CALLS: Duration = Duration::from_secs(1);
/// How long to wait for a late packet, so that a failure can report its time.
const PATIENCE_FOR_PACKETS: Duration = Duration::from_secs(1);
/// How long to wait for a packet that may be sent at any time.
const PATIENCE_FOR_ANY: Duration = Duration::from_secs(60);
/// The maximum number of unexpected packets; more end the script.
const MOST_UNEXPECTED: usize = 100_000;

/// Runs a script.
pub fn run(script: &Script, kernel: &mut dyn Kernel, read_file: ReadFile<'_>) -> ScriptReport {
    let mut runner = Runner {
        script,
        kernel,
        read_file,
        sockets: Sockets::default(),
        sent: VecDeque::new(),
        blocked: None,
        last: None,
        interpreter: code::interpreter(),
        notes: Vec::new(),
        counted: Counters::new(),
        included: 0,
        trace: Vec::new(),
    };
    let result = runner.events();
    let ended = runner.kernel.now();
    runner.note_leftovers();
    let outcome = match result {
        Ok(()) => Outcome::Passed,
        Err(failure) => Outcome::Failed(failure),
    };
    ScriptReport { outcome, notes: runner.notes, trace: runner.trace, ended }
}

/// A blocked call, and when it must return.
struct Blocked {
    prepared: Prepared,
    event: Event,
    started: Instant,
    returns: Instant,
}

/// The previous event.
#[derive(Clone, Copy)]
struct Last {
    /// Its time in the script.
    at: Instant,
    /// Whether the script states that time, instead of one since another event.
    absolute: bool,
    /// Whether it was an injected packet: later times are relative to its time, not to now.
    injected: bool,
}

struct Runner<'a> {
    script: &'a Script,
    kernel: &'a mut dyn Kernel,
    read_file: ReadFile<'a>,
    sockets: Sockets,
    /// Packets sent and not expected yet.
    sent: VecDeque<(Instant, Datagram)>,
    blocked: Option<Blocked>,
    last: Option<Last>,
    interpreter: Interpreter,
    /// The counters at the last query.
    counted: Counters,
    /// The number of included files.
    included: usize,
    notes: Vec<Note>,
    trace: Vec<TraceLine>,
}

type Step = Result<(), Box<Failure>>;

impl Runner<'_> {
    fn events(&mut self) -> Step {
        for path in &self.script.config.init_scripts {
            self.shell(path, 0)?;
        }
        for event in &self.script.events {
            self.event(event)?;
        }
        self.await_call()?;
        match &self.blocked {
            None => Ok(()),
            Some(blocked) => {
                Err(self.failure(&blocked.event, "a call still blocks at the end of the script"))
            }
        }
    }

    fn event(&mut self, event: &Event) -> Step {
        if event.when == When::Outside {
            let Action::Shell(command) = &event.action else { return Ok(()) };
            return self.shell(command, event.place.line);
        }
        if self.last.is_none() {
            self.kernel.begin();
        }
        let due = self.due(event);
        self.check_order(event, &due)?;
        match &event.action {
            Action::Inject(packet) => {
                self.wait_for(event, &due)?;
                self.inject(event, packet)?;
            }
            Action::Expect(packet) => self.expect(event, &due, packet)?,
            Action::Call(spec) => self.call(event, &due, spec)?,
            Action::Shell(command) => {
                self.wait_for(event, &due)?;
                self.shell(command, event.place.line)?;
            }
            Action::Code(code) => {
                self.wait_for(event, &due)?;
                self.code(event, code)?;
            }
        }
        self.last = Some(Last {
            at: due.from,
            absolute: event.when.is_absolute(),
            injected: matches!(event.action, Action::Inject(_)),
        });
        Ok(())
    }

    /// When an event is due, from the time it is relative to: now, or the time of the previous injected packet, so that
    /// packet processing times do not add up.
    fn due(&mut self, event: &Event) -> Due {
        let base = match self.last {
            Some(last) if last.injected && matches!(event.action, Action::Inject(_)) => last.at,
            _ => self.kernel.now(),
        };
        Due::of(event.when, base)
    }

    /// Two stated times must be in order. A stated time after a relative one may be over already, and is compared like
    /// any other (packetdrill: `get_next_event`).
    fn check_order(&self, event: &Event, due: &Due) -> Step {
        match self.last {
            Some(last) if last.absolute && event.when.is_absolute() && due.from < last.at => Err(self
                .failure(event, "this event is before the one above it")
                .between(format!("not before {}", seconds(last.at)), seconds(due.from))),
            _ => Ok(()),
        }
    }

    /// Waits until an event is due.
    fn wait_for(&mut self, event: &Event, due: &Due) -> Step {
        self.pass_until(event, due.from)?;
        // The first event defines the start; it cannot be late.
        let Some(last) = self.last else { return Ok(()) };
        let now = self.kernel.now();
        due.check(now, Some(last.at), &self.script.config)
            .map_err(|late| self.failure(event, "this could not happen in time").of_time(late).of_runner())
    }

    fn pass_until(&mut self, event: &Event, until: Instant) -> Step {
        while self.kernel.now() < until {
            let happening = self.kernel.wait(until).map_err(|error| self.broken(event, &error))?;
            if happening == Happening::Nothing {
                break;
            }
            self.take(event, happening)?;
        }
        Ok(())
    }

    /// Records what happened while time passed.
    fn take(&mut self, event: &Event, happening: Happening) -> Step {
        match happening {
            Happening::Nothing => Ok(()),
            Happening::Returned(at, returned) => self.unblock(at, &returned),
            Happening::Sent(at, packet) => {
                self.sent.push_back((at, packet));
                if self.sent.len() > MOST_UNEXPECTED {
                    return Err(self.failure(event, "the kernel sends packets without end"));
                }
                Ok(())
            }
        }
    }

    /// Waits briefly until no call blocks.
    fn await_call(&mut self) -> Step {
        let until = self.kernel.now() + PATIENCE_FOR_CALLS;
        while let Some(blocked) = &self.blocked {
            let event = blocked.event.clone();
            if self.kernel.now() >= until {
                return Ok(());
            }
            let happening = self.kernel.wait(until).map_err(|error| self.broken(&event, &error))?;
            self.take(&event, happening)?;
        }
        Ok(())
    }

    fn unblock(&mut self, at: Instant, returned: &Returned) -> Step {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        self.finish_call(&blocked.event, &blocked.prepared, at, returned)?;
        let due = Due { kind: time::TimeKind::Exact, from: blocked.returns, to: blocked.returns };
        due.check(at, Some(blocked.started), &self.script.config)
            .map_err(|late| self.failure(&blocked.event, "the call did not return in time").of_time(late))
    }

    /// A packet that no line expects is not a failure, as in packetdrill.
    fn note_leftovers(&mut self) {
        let now = self.kernel.now();
        // If the kernel cannot be observed any more, that was reported before.
        while let Ok(Happening::Sent(at, packet)) = self.kernel.wait(now) {
            self.sent.push_back((at, packet));
            if self.sent.len() > MOST_UNEXPECTED {
                break;
            }
        }
        let count = self.sent.len();
        if let Some((at, packet)) = self.sent.front() {
            let what = if count == 1 { "one packet was" } else { "packets were" };
            let number = if count == 1 { String::new() } else { format!("{count} ") };
            let text = format!("{number}{what} sent that no line expects: {} > {packet}", seconds(*at));
            self.notes.push(Note { line: 0, text });
        }
        // Sent packets are still reported, in the script's numbers if they belong to the connection under test.
        for (at, mut packet) in std::mem::take(&mut self.sent) {
            if let Some(socket) = self.sockets.under_test_mut()
                && socket.sent(&packet)
                && let Some(segment) = packet.segment_mut()
            {
                socket.to_script(segment);
            }
            self.trace.push(TraceLine { at, text: format!("> {packet}  // not expected") });
        }
        self.trace.sort_by_key(|line| line.at);
    }

    fn failure(&self, event: &Event, what: impl Into<String>) -> Box<Failure> {
        Failure::new(&self.script.source, event.place.line, what)
    }

    fn broken(&self, event: &Event, error: &KernelError) -> Box<Failure> {
        self.failure(event, error.to_string())
    }
}

/// A time as in scripts: seconds with six decimals.
fn seconds(at: Instant) -> String {
    format!("{:.6}", at.seconds())
}
