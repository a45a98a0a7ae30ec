//! The TCP control connection.

use super::clock::{LOOK, readable};
use super::stream::{gives_up_after, is_passing};
use super::{ProbeError, Stop};
use crate::protocol::Message;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// An end that takes longer to accept or to finish a message is gone, for the kernel too.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A connection, and the received part of a message.
pub struct Control<'a> {
    stream: TcpStream,
    stop: Stop<'a>,
    /// The longest message that the other end may send.
    most: usize,
    read: Vec<u8>,
    /// Since when part of a message has been there.
    begun: Option<Instant>,
}

impl<'a> Control<'a> {
    pub fn new(stream: TcpStream, most: usize, stop: Stop<'a>) -> Result<Self, ProbeError> {
        // Messages are short and the other end waits for them.
        stream.set_nodelay(true).map_err(ProbeError::system("set TCP_NODELAY"))?;
        stream.set_nonblocking(false).map_err(ProbeError::system("wait for a connection"))?;
        stream.set_write_timeout(Some(LOOK)).map_err(ProbeError::system("set a time-out"))?;
        gives_up_after(&stream, PATIENCE)?;
        Ok(Self { stream, stop, most, read: Vec::new(), begun: None })
    }

    pub fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// The address of this end.
    pub fn local(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// The connection, and how many bytes were read of it after the last message: the other end may have started its
    /// transfer.
    pub fn into_stream(self) -> (TcpStream, u64) {
        (self.stream, self.read.len() as u64)
    }

    /// Sends a message.
    pub fn say(&mut self, message: &Message) -> Result<(), ProbeError> {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        let until = Instant::now() + PATIENCE;
        let mut left = &bytes[..];
        while !left.is_empty() {
            match self.stream.write(left) {
                Ok(count) => left = &left[count..],
                Err(error) if is_passing(&error) => {}
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                    return Err(ProbeError::Closed);
                }
                Err(source) => return Err(ProbeError::System { what: "write to the other end", source }),
            }
            // However little it accepts at a time.
            match () {
                () if left.is_empty() => {}
                () if (self.stop)() => return Err(ProbeError::Stopped),
                () if Instant::now() > until => return Err(ProbeError::Silent),
                () => {}
            }
        }
        Ok(())
    }

    /// Sends a message if the kernel takes it at once.
    pub fn last_word(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the buffer is live and has the stated length.
        unsafe { libc::send(self.descriptor(), bytes.as_ptr().cast(), bytes.len(), flags) };
    }

    /// Whether something was read that was not yet returned as a message.
    pub fn has_part(&self) -> bool {
        self.begun.is_some()
    }

    /// The next message, if it has arrived completely.
    pub fn heard(&mut self) -> Result<Option<Message>, ProbeError> {
        loop {
            if let Some((message, length)) = Message::read(&self.read, self.most)? {
                self.read.drain(..length);
                self.begun = (!self.read.is_empty()).then(Instant::now);
                return Ok(Some(message));
            }
            if !self.take()? {
                let is_slow = self.begun.is_some_and(|begun| begun.elapsed() > PATIENCE);
                return if is_slow { Err(ProbeError::Silent) } else { Ok(None) };
            }
            self.begun.get_or_insert_with(Instant::now);
        }
    }

    /// Reads from the kernel; returns whether there was anything. No more than a message, which is then parsed.
    fn take(&mut self) -> Result<bool, ProbeError> {
        let length = self.read.len();
        self.read.resize(self.most + 4, 0);
        let room = &mut self.read[length..];
        // SAFETY: the buffer is live and has the stated length.
        let count = unsafe {
            libc::recv(self.stream.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT)
        };
        let error = std::io::Error::last_os_error();
        self.read.truncate(length + usize::try_from(count).unwrap_or(0));
        match (count, error.kind()) {
            (0, _) => Err(ProbeError::Closed),
            (1.., _) => Ok(true),
            (_, ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            (_, ErrorKind::ConnectionReset) => Err(ProbeError::Closed),
            _ => Err(ProbeError::System { what: "read from the other end", source: error }),
        }
    }

    /// Waits for the next message.
    pub fn wait(&mut self, most: Duration) -> Result<Message, ProbeError> {
        let until = Instant::now() + most;
        loop {
            // First, for an end that never stops talking.
            if (self.stop)() {
                return Err(ProbeError::Stopped);
            }
            if let Some(message) = self.heard()? {
                return match message {
                    Message::Refused(why) => Err(ProbeError::Refused(why)),
                    message => Ok(message),
                };
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ProbeError::Silent);
            }
            readable([self.descriptor()], left)?;
        }
    }
}
