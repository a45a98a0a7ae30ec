//! Files named in a script, read by the thread that has permission.

use slowpath_drill::ReadFile;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often to check whether anybody may still ask.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

type Question = (String, Sender<Option<String>>);

/// Requests from the namespace's thread to the one that may read files.
pub struct Requests {
    ask: Mutex<Sender<Question>>,
    asked: Mutex<Receiver<Question>>,
}

impl Requests {
    pub fn new() -> Self {
        let (ask, asked) = channel();
        Self { ask: Mutex::new(ask), asked: Mutex::new(asked) }
    }

    /// Asks for a file and waits for its contents.
    pub fn ask(&self, path: &str) -> Option<String> {
        let (answer, answered) = channel();
        let ask = self.ask.lock().unwrap_or_else(PoisonError::into_inner);
        ask.send((path.to_owned(), answer)).ok()?;
        answered.recv().ok()?
    }

    /// Answers until `finished`.
    pub fn serve(&self, read_file: ReadFile<'_>, finished: impl Fn() -> bool) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !finished() {
            match asked.recv_timeout(LOOK_AGAIN) {
                // A thread that asked and ended needs no answer.
                Ok((path, answer)) => drop(answer.send(read_file(&path))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
