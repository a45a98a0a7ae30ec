//! Numbers and texts of a message.

use super::{Digest, MAGIC, MOST_DIGESTS, MOST_REASON, Message, NotAMessage, VERSION};
use slowpath_model::shown;

/// The rest of a message.
pub struct Fields<'a> {
    kind: u8,
    left: &'a [u8],
    /// The length of the whole message.
    bytes: usize,
}

impl<'a> Fields<'a> {
    pub fn new(kind: u8, left: &'a [u8]) -> Self {
        Self { kind, left, bytes: left.len() + 1 }
    }

    pub fn kind(&self) -> u8 {
        self.kind
    }

    pub fn unknown(&self) -> NotAMessage {
        NotAMessage::Unknown { kind: self.kind, bytes: self.bytes }
    }

    pub fn impossible(&self) -> NotAMessage {
        NotAMessage::Field(self.kind)
    }

    /// Refuses what is left.
    pub fn end(&self) -> Result<(), NotAMessage> {
        if self.left.is_empty() { Ok(()) } else { Err(self.unknown()) }
    }

    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], NotAMessage> {
        let (taken, left) = self.left.split_first_chunk().ok_or_else(|| self.unknown())?;
        self.left = left;
        Ok(*taken)
    }

    pub fn number(&mut self) -> Result<u32, NotAMessage> {
        self.take().map(u32::from_be_bytes)
    }

    pub fn long(&mut self) -> Result<u64, NotAMessage> {
        self.take().map(u64::from_be_bytes)
    }

    /// Bytes with their length in front of them.
    pub fn text(&mut self) -> Result<&'a [u8], NotAMessage> {
        let length = usize::from(u16::from_be_bytes(self.take()?));
        let (taken, left) = self.left.split_at_checked(length).ok_or_else(|| self.unknown())?;
        self.left = left;
        Ok(taken)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.left)
    }

    /// All that is left, as a line to show.
    pub fn reason(&mut self) -> Result<String, NotAMessage> {
        let why = self.rest();
        if why.len() > MOST_REASON {
            return Err(self.unknown());
        }
        Ok(shown::line(&String::from_utf8_lossy(why)).into_owned())
    }

    pub fn greeting(&mut self, message: Message) -> Result<Message, NotAMessage> {
        if self.take()? != MAGIC {
            return Err(self.impossible());
        }
        match u16::from_be_bytes(self.take()?) {
            VERSION => Ok(message),
            other => Err(NotAMessage::Version(other)),
        }
    }

    pub fn digests(&mut self) -> Result<Vec<Digest>, NotAMessage> {
        let (digests, rest) = self.left.as_chunks();
        if !rest.is_empty() || digests.len() > MOST_DIGESTS || digests.is_empty() {
            return Err(self.unknown());
        }
        self.left = rest;
        Ok(digests.to_vec())
    }
}

/// Appends bytes with their length in front of them; the rest of what is longer than any name is cut off.
pub fn put_text(to: &mut Vec<u8>, text: &[u8]) {
    let length = text.len().min(usize::from(u16::MAX));
    to.extend((length as u16).to_be_bytes());
    to.extend(&text[..length]);
}

/// As much of a reason as a message has room for.
pub fn long_text(why: &str) -> &str {
    let end = (0..=why.len().min(MOST_REASON)).rev().find(|end| why.is_char_boundary(*end));
    &why[..end.unwrap_or(0)]
}
