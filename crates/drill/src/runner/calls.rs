//! System calls.

use super::sockets::{Protocol, State};
use super::time::Due;
use super::{Blocked, Note, Runner, Step, TraceLine};
use crate::call::{Call, ExpectedOutput, Fd, Output, Peer, Prepared, Returned, prepare};
use crate::kernel::Progress;
use crate::script::{CallSpec, Event, When};
use slowpath_model::Instant;
use std::time::Duration;

/// The maximum time of a call that is not expected to block.
const PATIENCE: Duration = Duration::from_secs(10);

/// `SOCK_TYPE_MASK` (include/linux/net.h), and the two types distinguished here.
const SOCKET_TYPES: i32 = 0xf;
const DATAGRAM: i32 = 2;
const ICMP_PROTOCOLS: [i32; 2] = [1, 58];

impl Runner<'_> {
    pub(super) fn call(&mut self, event: &Event, due: &Due, spec: &CallSpec) -> Step {
        self.await_call()?;
        if self.blocked.is_some() && spec.returns.is_some() {
            return Err(self.failure(event, "a call blocks here while another still does"));
        }
        self.wait_for(event, due)?;
        let prepared = {
            let sockets = &self.sockets;
            prepare(spec, &|fd| sockets.live(fd))
        };
        let prepared = prepared.map_err(|fault| self.failure(event, fault))?;
        self.before(&prepared.call);
        let started = self.kernel.now();
        let progress = self.kernel.call(prepared.call.clone()).map_err(|error| self.broken(event, &error))?;
        match (progress, spec.returns) {
            (Progress::Returned(returned), None) => self.finish_call(event, &prepared, started, &returned),
            (Progress::Returned(returned), Some(returns)) => {
                self.block(event, due, prepared, returns);
                let at = self.kernel.now();
                self.unblock(at, &returned)
            }
            (Progress::Blocked, Some(returns)) => {
                self.block(event, due, prepared, returns);
                Ok(())
            }
            (Progress::Blocked, None) => self.await_return(event, prepared),
        }
    }

    fn block(&mut self, event: &Event, due: &Due, prepared: Prepared, returns: Duration) {
        // The return time is relative if the time of the call is.
        let returns = match event.when {
            When::After(after) => due.from - after + returns,
            _ => Instant::START + returns,
        };
        self.blocked = Some(Blocked { prepared, event: event.clone(), started: due.from, returns });
    }

    /// A call that blocks unexpectedly: waits for its return up to the limit.
    fn await_return(&mut self, event: &Event, prepared: Prepared) -> Step {
        let started = self.kernel.now();
        let until = started + PATIENCE;
        self.blocked = Some(Blocked { prepared, event: event.clone(), started, returns: started });
        while self.kernel.now() < until {
            let happening = self.kernel.wait(until).map_err(|error| self.broken(event, &error))?;
            if let crate::kernel::Happening::Returned(at, returned) = happening {
                return match self.blocked.take() {
                    Some(blocked) => self.finish_call(event, &blocked.prepared, at, &returned),
                    None => Ok(()),
                };
            }
            self.take(event, happening)?;
        }
        Err(self.failure(event, "the call blocks, though no time is written at which it returns"))
    }

    /// State changes before a call is made: packets may be sent before it returns.
    fn before(&mut self, call: &Call) {
        let (fd, to) = match call {
            Call::Connect { fd, to } => (*fd, *to),
            Call::Send { fd, to: Some(to), .. } => (*fd, *to),
            _ => return,
        };
        let remote_port = self.script.config.connect_port;
        let Some(socket) = self.sockets.of_fd(fd) else { return };
        match to {
            Peer::Family(0) => socket.state = State::New,
            _ if socket.state == State::New => {
                socket.state = State::Connecting;
                socket.local_port = None;
                socket.remote_port = Some(remote_port);
            }
            _ => {}
        }
    }

    /// Compares the result of a call, and updates the state.
    pub(super) fn finish_call(
        &mut self,
        event: &Event,
        prepared: &Prepared,
        at: Instant,
        returned: &Returned,
    ) -> Step {
        let text = self.script.source.line(event.place.line).trim();
        let result = match returned.result {
            Ok(value) => value.to_string(),
            Err(errno) => format!("-1 {}", crate::symbols::errno_name(errno).unwrap_or("unknown")),
        };
        self.trace.push(TraceLine { at, text: format!("{text}  // = {result}") });
        let opens = matches!(
            prepared.call,
            Call::Socket { .. } | Call::Accept { .. } | Call::EpollCreate { .. } | Call::Open { .. }
        );
        let tolerance = u64::try_from(self.script.config.tolerance.as_micros()).unwrap_or(u64::MAX);
        let checked = prepared.expected.check(returned, opens, tolerance);
        if let Ok(value) = returned.result {
            self.after(event, prepared, value, &returned.output)?;
        }
        match checked {
            Ok(()) => Ok(()),
            Err(difference) if self.script.config.calls_may_fail => {
                let text = format!("the call gave {}, not {}", difference.actual, difference.expected);
                self.notes.push(Note { line: event.place.line, text });
                Ok(())
            }
            Err(difference) => {
                let what = format!("the call gave {}, not {}", difference.actual, difference.expected);
                Err(self.failure(event, what).of_difference(difference))
            }
        }
    }

    /// State changes by a successful call: files, and the socket under test.
    fn after(&mut self, event: &Event, prepared: &Prepared, value: i64, output: &Output) -> Step {
        match prepared.call {
            Call::Socket { kind, protocol, .. } => {
                let protocol = if kind & SOCKET_TYPES != DATAGRAM {
                    Protocol::Tcp
                } else if ICMP_PROTOCOLS.contains(&protocol) {
                    Protocol::Icmp
                } else {
                    Protocol::Udp
                };
                let fd = self.open(event, prepared, value)?;
                self.sockets.add(protocol, Some(fd));
            }
            Call::Accept { .. } => {
                let fd = Fd::try_from(value).unwrap_or(-1);
                // As in packetdrill, the number may be that of a connection left open, which is then out of reach.
                self.sockets.open(prepared.expected.result.unwrap_or(value), fd);
                self.sockets.accepted(fd);
            }
            Call::EpollCreate { .. } | Call::Open { .. } => {
                self.open(event, prepared, value)?;
            }
            Call::Pipe { .. } => {
                if let (ExpectedOutput::Pipe(from, to), Output::Pipe(live_from, live_to)) =
                    (&prepared.expected.output, output)
                {
                    self.sockets.open(*from, *live_from);
                    self.sockets.open(*to, *live_to);
                }
            }
            Call::Listen { fd, .. } => {
                if let Some(socket) = self.sockets.of_fd(fd) {
                    socket.state = State::Listening;
                }
            }
            Call::Close { fd } => self.sockets.close(fd),
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, event: &Event, prepared: &Prepared, value: i64) -> Result<Fd, Box<super::Failure>> {
        let fd = Fd::try_from(value).unwrap_or(-1);
        let script = prepared.expected.result.unwrap_or(value);
        if script >= 0 && !self.sockets.open(script, fd) {
            let what = format!("the script has opened file descriptor {script} before and not closed it");
            return Err(self.failure(event, what));
        }
        Ok(fd)
    }
}
