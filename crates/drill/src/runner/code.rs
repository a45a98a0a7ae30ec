//! Code in scripts, evaluated over a socket's `tcp_info`.

use super::{Note, Runner, Step};
use crate::python::{CodeError, Interpreter, Value};
use crate::script::Event;

/// Named numbers for code: states, congestion states and options of `tcp_info` (include/net/tcp_states.h,
/// include/uapi/linux/tcp.h).
const NAMES: &[(&str, i64)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// An interpreter with these names.
pub fn interpreter() -> Interpreter {
    let mut interpreter = Interpreter::default();
    for (name, value) in NAMES {
        interpreter.assign(name, Value::Integer(*value));
    }
    interpreter
}

impl Runner<'_> {
    pub(super) fn code(&mut self, event: &Event, code: &str) -> Step {
        let fd = self.sockets.under_test().and_then(|socket| socket.fd);
        let Some(fd) = fd else {
            return Err(self.failure(event, "code measures a socket, and none is open or accepted here"));
        };
        let measures = self.kernel.measures(fd).map_err(|error| self.broken(event, &error))?;
        for (name, value) in measures {
            self.interpreter.assign(name, Value::Integer(value));
        }
        // The first line is not indented by the space before it.
        let result = self.interpreter.run(code.trim_matches([' ', '\t']));
        for text in self.interpreter.take_printed() {
            self.notes.push(Note { line: event.place.line, text });
        }
        result.map_err(|error| match error {
            CodeError::Assertion { .. } => self.failure(event, format!("this does not hold: {error}")),
            error => self.failure(event, error.to_string()),
        })
    }
}
