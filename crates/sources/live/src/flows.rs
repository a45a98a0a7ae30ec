//! How the live flows are read: all at once by the kernel's iterator over socket storage, or one by one where the kernel
//! refuses to load such a program (`bpf/list.h`).

use crate::error::LiveError;
use crate::ring::Ring;
use libbpf_rs::{Iter, Link, MapCore, MapFlags, Object, ProgramInput, ProgramMut};
use slowpath_bpf::{map, program};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// How often clocks are compared at the start: a single comparison may be late.
const CLOCK_LOOKS: usize = 5;
/// Flows whose cookies are asked for at once.
const COOKIES: u32 = 1024;

/// A way to read the live flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The kernel iterates over them.
    Iterator,
    /// The probe lists them, and each is read by its cookie.
    List,
}

impl Way {
    /// The program that reads the flows.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Iterator => "slowpath_flows",
            Self::List => "slowpath_flow",
        }
    }
}

/// Reads the live flows of a loaded probe.
pub(crate) enum Flows {
    Iterator(Link),
    List(Ring),
}

impl Flows {
    /// Of a probe that was loaded for this way.
    pub(crate) fn of(object: &Object, way: Way) -> Result<Self, LiveError> {
        Ok(match way {
            Way::Iterator => {
                let attached = program(object, way.program())?.attach_iter(map(object, "flows")?.as_fd());
                Self::Iterator(attached.map_err(LiveError::bpf("attach the probe's iterator"))?)
            }
            Way::List => Self::List(Ring::of(object, "alive")?),
        })
    }

    /// Adds the record of each live flow.
    pub(crate) fn read(&self, object: &Object, into: &mut Vec<u8>) -> Result<(), LiveError> {
        match self {
            Self::Iterator(iterator) => read_all(iterator, into),
            Self::List(alive) => {
                let program = program(object, Way::List.program())?;
                let list = map(object, "list")?;
                let listed = list.lookup_batch(COOKIES, MapFlags::ANY, MapFlags::ANY);
                for (mut cookie, _) in listed.map_err(LiveError::bpf("read the list of flows"))? {
                    ask(&program, &mut cookie)?;
                    alive.take(into)?;
                }
                // There are no more: no socket has the cookie 0.
                ask(&program, &mut [0; 8])
            }
        }
    }

    /// Makes the probe compare the kernel's clocks before it needs them, as each reading does: the comparison is best
    /// in a process that was just woken (`bpf/clocks.h`).
    pub(crate) fn set_clocks(&self, object: &Object) -> Result<(), LiveError> {
        for _ in 0..CLOCK_LOOKS {
            std::thread::sleep(Duration::from_millis(1));
            self.read(object, &mut Vec::new())?;
        }
        Ok(())
    }
}

/// Runs the program that reads one flow.
fn ask(program: &ProgramMut<'_>, cookie: &mut [u8]) -> Result<(), LiveError> {
    let input = ProgramInput { context_in: Some(cookie), ..ProgramInput::default() };
    program.test_run(input).map(drop).map_err(LiveError::bpf("read a flow"))
}

fn read_all(iterator: &Link, into: &mut Vec<u8>) -> Result<(), LiveError> {
    let mut iterator = Iter::new(iterator).map_err(LiveError::bpf("read the probe"))?;
    loop {
        match iterator.read_to_end(into) {
            Ok(_) => return Ok(()),
            // The kernel retries for a while if the table changes.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(LiveError::system("read the probe")(error)),
        }
    }
}
