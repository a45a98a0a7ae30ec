//! The control channel: ssh's standard input and output, or a TCP connection whose messages are encrypted.

use super::Stop;
use super::crypt::{Seal, Unseal};
use crate::error::CopyError;
use crate::protocol::block::TAG;
use crate::protocol::{Arrived, MOST_MESSAGE, Message, NotAMessage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use slowpath_model::shown;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// An end that says nothing for this long is gone: both report their progress several times a second.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How often an end that is busy says that it is there.
const ALIVE: Duration = Duration::from_secs(2);
/// How long to wait between checks whether to stop.
pub const LOOK: Duration = Duration::from_millis(50);
/// A pipe that poll(2) calls writable has room for this much (`PIPE_BUF`), so that write(2) does not wait.
const PIECE: usize = 4096;

/// A channel, and the received part of a message.
pub struct Control<'a> {
    input: File,
    output: File,
    keys: Option<(Seal, Unseal)>,
    stop: Stop<'a>,
    /// As it came.
    raw: Vec<u8>,
    /// Decrypted.
    read: Vec<u8>,
    heard: Instant,
    has_heard: bool,
    first_by: Option<Instant>,
}

impl<'a> Control<'a> {
    /// A channel that protects what it carries.
    pub fn plain(input: OwnedFd, output: OwnedFd, stop: Stop<'a>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            keys: None,
            stop,
            raw: Vec::new(),
            read: Vec::new(),
            heard: Instant::now(),
            has_heard: false,
            first_by: None,
        }
    }

    /// A connection whose messages are encrypted from now on.
    pub fn encrypted(input: OwnedFd, output: OwnedFd, keys: (Seal, Unseal), stop: Stop<'a>) -> Self {
        Self { keys: Some(keys), ..Self::plain(input, output, stop) }
    }

    /// Sends a message.
    pub fn say(&mut self, message: &Message) -> Result<(), CopyError> {
        let mut bytes = Vec::new();
        if self.keys.is_some() {
            bytes.extend([0; 4]);
        }
        message.write(&mut bytes);
        if let Some((seal, _)) = &mut self.keys {
            seal.seal(&mut bytes)?;
        }
        let mut until = Instant::now() + SILENCE;
        let mut left = &bytes[..];
        while !left.is_empty() {
            if (self.stop)() {
                return Err(CopyError::Stopped);
            }
            if Instant::now() > until {
                return Err(CopyError::Silent);
            }
            if !is_ready(&self.output, PollFlags::OUT, LOOK)? {
                continue;
            }
            match self.output.write(&left[..left.len().min(PIECE)]) {
                Ok(count) => {
                    left = &left[count..];
                    until = Instant::now() + SILENCE;
                }
                Err(error) if is_passing(&error) => {}
                Err(error) if is_end(&error) => return Err(self.closed()),
                Err(source) => return Err(CopyError::System { what: "write to the other end", source }),
            }
        }
        Ok(())
    }

    /// Tells the other end why this one cannot go on. It may be gone, or not listen; then nobody waits for it.
    pub fn last_word(&mut self, why: &CopyError) {
        let why = match why {
            CopyError::Far(_) | CopyError::Closed | CopyError::Silent => return,
            CopyError::Stopped => "stopped".to_owned(),
            why => why.to_string(),
        };
        // Also when a stop is why: one message, of which a pipe has room for all or nothing.
        let mut bytes = Vec::new();
        if self.keys.is_some() {
            bytes.extend([0; 4]);
        }
        Message::Failed(why).write(&mut bytes);
        if let Some((seal, _)) = &mut self.keys
            && seal.seal(&mut bytes).is_err()
        {
            return;
        }
        if bytes.len() <= PIECE && is_ready(&self.output, PollFlags::OUT, LOOK).unwrap_or(false) {
            let _ = self.output.write(&bytes);
        }
    }

    /// Why nothing more can be written: the other end may have said it.
    fn closed(&mut self) -> CopyError {
        loop {
            match self.next(LOOK) {
                Ok(Some(_)) => {}
                Ok(None) => return CopyError::Closed,
                Err(error) => return error,
            }
        }
    }

    /// The next message, if it arrives within this time, which is at most [`LOOK`].
    pub fn next(&mut self, most: Duration) -> Result<Option<Message>, CopyError> {
        if (self.stop)() {
            return Err(CopyError::Stopped);
        }
        loop {
            self.decrypt()?;
            match Message::read(&self.read) {
                Ok(Some((message, length))) => {
                    self.read.drain(..length);
                    self.heard = Instant::now();
                    self.has_heard = true;
                    return match message {
                        Message::Failed(why) => Err(CopyError::Far(why)),
                        message => Ok(Some(message)),
                    };
                }
                Ok(None) => {}
                Err(error) => return Err(self.no_message(error)),
            }
            if !is_ready(&self.input, PollFlags::IN, most.min(LOOK))? {
                let is_late = !self.has_heard && self.first_by.is_some_and(|by| Instant::now() > by);
                return if is_late || self.heard.elapsed() > SILENCE {
                    Err(CopyError::Silent)
                } else {
                    Ok(None)
                };
            }
            self.take()?;
        }
    }

    /// Waits for the next message.
    pub fn wait(&mut self) -> Result<Message, CopyError> {
        loop {
            if let Some(message) = self.next(LOOK)? {
                return Ok(message);
            }
        }
    }

    /// Does something that takes its time, and tells the other end meanwhile that this one is there.
    pub fn busy<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> Result<T, CopyError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(work);
            let mut told = Instant::now();
            while !thread.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
                if told.elapsed() > ALIVE {
                    told = Instant::now();
                    self.say(&Message::Arrived(Arrived::default()))?;
                }
            }
            self.excuse();
            thread.join().map_err(|_| CopyError::Incomplete)
        })
    }

    /// Time that this end took for itself is no silence of the other.
    pub fn excuse(&mut self) {
        self.heard = Instant::now();
    }

    /// The first message has to come by then: until it does, the other end has not shown that it has the token.
    pub fn expect_by(&mut self, until: Instant) {
        self.first_by = Some(until);
    }

    /// Whether a message has come.
    pub fn has_heard(&self) -> bool {
        self.has_heard
    }

    fn decrypt(&mut self) -> Result<(), CopyError> {
        let Some((_, unseal)) = &mut self.keys else {
            self.read.append(&mut self.raw);
            return Ok(());
        };
        while let Some((length, rest)) = self.raw.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if !(TAG..=MOST_MESSAGE + 4 + TAG).contains(&length) {
                return Err(NotAMessage::TooLong(length).into());
            }
            if rest.len() < length {
                break;
            }
            let mut record: Vec<u8> = self.raw.drain(..4 + length).collect();
            self.read.extend(unseal.unseal(&mut record[4..])?);
        }
        Ok(())
    }

    /// Reads from the kernel, no more than one message, which is then parsed.
    fn take(&mut self) -> Result<(), CopyError> {
        let mut piece = [0; PIECE];
        match self.input.read(&mut piece) {
            Ok(0) => Err(CopyError::Closed),
            Ok(count) => {
                self.raw.extend(&piece[..count]);
                Ok(())
            }
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) if is_end(&error) => Err(CopyError::Closed),
            Err(source) => Err(CopyError::System { what: "read from the other end", source }),
        }
    }

    /// What is no message at the beginning is what a shell prints.
    fn no_message(&self, error: NotAMessage) -> CopyError {
        if self.has_heard || self.keys.is_some() {
            return error.into();
        }
        let line = self.read.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
        match error {
            NotAMessage::Version(_) => error.into(),
            _ => NotAMessage::NotACopy(shown::line(&line).into_owned()).into(),
        }
    }
}

/// Waits until a descriptor is ready or at its end.
pub fn is_ready(descriptor: &impl AsFd, flags: PollFlags, most: Duration) -> Result<bool, CopyError> {
    let mut polled = [PollFd::new(descriptor, flags)];
    let nanos = i64::from(most.subsec_nanos());
    let time = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: nanos };
    match poll(&mut polled, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(CopyError::System { what: "wait for the other end", source: error.into() }),
    }
}

/// Whether a failed call may be retried.
pub fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Whether it failed because the other end is gone.
pub fn is_end(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}
