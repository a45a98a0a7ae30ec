//! Compares the result of a call with what a script expects.

use super::message::{ControlMessage, Statistic, TIMES};
use super::{EpollEvent, Output, Returned};
use crate::symbols;
use std::time::Duration;

/// The expected result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Its value; `None` for `...`.
    pub result: Option<i64>,
    /// The expected error.
    pub errno: Option<i32>,
    /// The expected output.
    pub output: ExpectedOutput,
}

/// The expected output of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedOutput {
    /// Nothing that is compared.
    Nothing,
    /// The value of an option, and its length.
    Option(Vec<u8>, i32),
    /// The value of a request.
    Value(i64),
    /// Events for each file.
    Polled(Vec<i16>),
    /// Events of epoll.
    Epoll(Vec<EpollEvent>),
    /// Flags and control messages.
    Message {
        /// `msg_flags`
        flags: i32,
        /// `msg_control`
        control: Vec<ControlMessage>,
    },
    /// The script's own numbers for both ends of a pipe.
    Pipe(i64, i64),
}

/// The expected and the actual value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The script's value.
    pub expected: String,
    /// The kernel's value.
    pub actual: String,
    /// If both are times: how far apart they may be.
    pub tolerance: Option<Duration>,
}

impl Difference {
    /// A difference of other values than times.
    pub fn new(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self { expected: expected.into(), actual: actual.into(), tolerance: None }
    }
}

fn differ<T>(expected: impl Into<String>, actual: impl Into<String>) -> Result<T, Difference> {
    Err(Difference::new(expected, actual))
}

fn same<T: PartialEq>(expected: T, actual: T, show: impl Fn(T) -> String) -> Result<(), Difference> {
    if expected == actual { Ok(()) } else { differ(show(expected), show(actual)) }
}

impl Expected {
    /// Compares a result. A call that opens a file may return any descriptor. Times are compared within `tolerance_us`.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, returned: &Returned, opens: bool, tolerance_us: u64) -> Result<(), Difference> {
        self.check_result(returned, opens)?;
        if returned.result.is_ok() { self.check_output(&returned.output, tolerance_us) } else { Ok(()) }
    }

    fn check_result(&self, returned: &Returned, opens: bool) -> Result<(), Difference> {
        let show = |value: i64, errno: Option<i32>| match errno {
            Some(errno) => format!("{value} {}", name(errno)),
            None => value.to_string(),
        };
        let (value, errno) = match returned.result {
            Ok(value) => (value, None),
            Err(errno) => (-1, Some(errno)),
        };
        if let Some(expected) = self.result {
            let fits = value == expected || (opens && value >= 0 && expected >= 0);
            if !fits {
                return differ(show(expected, self.errno), show(value, errno));
            }
        }
        if self.errno.is_some() && self.errno != errno {
            return differ(show(self.result.unwrap_or(-1), self.errno), show(value, errno));
        }
        Ok(())
    }

    fn check_output(&self, output: &Output, tolerance_us: u64) -> Result<(), Difference> {
        match (&self.output, output) {
            (ExpectedOutput::Option(value, len), Output::Option(actual)) => check_option(value, *len, actual),
            (ExpectedOutput::Value(value), Output::Value(actual)) => {
                same(*value, *actual, |value| format!("value [{value}]"))
            }
            (ExpectedOutput::Polled(events), Output::Polled(actual)) => {
                let show = |events: &Vec<i16>| {
                    let each: Vec<String> =
                        events.iter().map(|bits| poll_bits(*bits as u16 as u32)).collect();
                    format!("revents {}", each.join(", "))
                };
                same(events, actual, show)
            }
            (ExpectedOutput::Epoll(events), Output::Epoll(actual)) => check_epoll(events, actual),
            (ExpectedOutput::Message { flags, control }, Output::Message { flags: own, control: actual }) => {
                same(*flags, *own, |flags| format!("msg_flags {flags:#x}"))?;
                check_control(control, actual, tolerance_us)
            }
            _ => Ok(()),
        }
    }
}

fn name(errno: i32) -> String {
    symbols::errno_name(errno).map_or_else(|| format!("errno {errno}"), str::to_owned)
}

/// An option of four bytes is a number; shorter values are compared up to their length.
fn check_option(expected: &[u8], len: i32, actual: &[u8]) -> Result<(), Difference> {
    if len != actual.len() as i32 {
        return differ(format!("a value of {len} bytes"), format!("a value of {} bytes", actual.len()));
    }
    let common = expected.len().min(actual.len());
    if expected[..common] == actual[..common] {
        return Ok(());
    }
    differ(
        format!("value {}", show_option(&expected[..common])),
        format!("value {}", show_option(&actual[..common])),
    )
}

fn show_option(value: &[u8]) -> String {
    match value.try_into() {
        Ok(bytes) if !value.iter().all(u8::is_ascii_alphanumeric) => {
            format!("[{}]", i32::from_le_bytes(bytes))
        }
        _ => format!("{:?}", String::from_utf8_lossy(value)),
    }
}

fn poll_bits(bits: u32) -> String {
    const NAMES: &[(u32, &str)] = &[
        (0x1, "POLLIN"),
        (0x2, "POLLPRI"),
        (0x4, "POLLOUT"),
        (0x8, "POLLERR"),
        (0x10, "POLLHUP"),
        (0x20, "POLLNVAL"),
        (0x40, "POLLRDNORM"),
        (0x80, "POLLRDBAND"),
        (0x100, "POLLWRNORM"),
        (0x200, "POLLWRBAND"),
        (0x2000, "POLLRDHUP"),
    ];
    let names: Vec<&str> = NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    if names.is_empty() { "0".to_owned() } else { names.join("|") }
}

/// A script may state only the first of several events; if it states none, none may occur.
fn check_epoll(expected: &[EpollEvent], actual: &[EpollEvent]) -> Result<(), Difference> {
    let none = EpollEvent { events: 0, data: 0 };
    for (index, event) in expected.iter().enumerate() {
        let actual = actual.get(index).copied().unwrap_or(none);
        let expected_bits = event.events;
        same(expected_bits, actual.events, |bits| format!("events {}", poll_bits(bits)))?;
        if actual.events != 0 {
            same(event.data, actual.data, |data| format!("data {data}"))?;
        }
    }
    Ok(())
}

fn check_control(
    expected: &[ControlMessage],
    actual: &[ControlMessage],
    tolerance_us: u64,
) -> Result<(), Difference> {
    let count = |list: &[ControlMessage]| format!("{} control messages", list.len());
    if expected.len() != actual.len() {
        return differ(count(expected), format!("{}: {actual:?}", count(actual)));
    }
    for (expected, actual) in expected.iter().zip(actual) {
        let fits = match (expected, actual) {
            (ControlMessage::Stamp { micros: 0 }, ControlMessage::Stamp { .. }) => true,
            (ControlMessage::Stamp { micros }, ControlMessage::Stamp { micros: late })
                if micros.abs_diff(*late) > tolerance_us =>
            {
                return Err(Difference {
                    expected: format!("{expected:?}"),
                    actual: format!("{actual:?}"),
                    tolerance: Some(Duration::from_micros(tolerance_us)),
                });
            }
            (ControlMessage::Stamp { .. }, ControlMessage::Stamp { .. }) => true,
            (ControlMessage::Statistics(expected), ControlMessage::Statistics(actual)) => {
                return check_statistics(expected, actual, tolerance_us);
            }
            (expected, actual) => expected == actual,
        };
        if !fits {
            return differ(format!("{expected:?}"), format!("{actual:?}"));
        }
    }
    Ok(())
}

fn check_statistics(
    expected: &[Statistic],
    actual: &[Statistic],
    tolerance_us: u64,
) -> Result<(), Difference> {
    for (index, expected) in expected.iter().enumerate() {
        let Some(actual) = actual.get(index) else {
            return differ(format!("{} statistics", index + 1), format!("{index} statistics"));
        };
        same(expected.kind, actual.kind, |kind| format!("statistic {kind} at place {index}"))?;
        let (Some(value), Some(own)) = (expected.value, actual.value) else { continue };
        // Zero is exact: it means that there was no such time.
        let tolerance = if TIMES.contains(&expected.kind) && value != 0 { tolerance_us } else { 0 };
        if value.abs_diff(own) > tolerance {
            return differ(
                format!("statistic {} of {value}", expected.kind),
                format!("statistic {} of {own}", expected.kind),
            );
        }
    }
    Ok(())
}
