//! The protocol between the two ends. Pure: bytes in, values out.
//!
//! On the control channel, messages: four bytes of length (big-endian, as all numbers here), one byte of type, and fields.
//! Invalid bytes are an error at the first byte that cannot be part of a message. Memory is allocated only up to the
//! length that arrived, and no message is longer than [`MOST_MESSAGE`].
//!
//! ```text
//! near end                      far end
//! Hello ───────────────────────▶
//!       ◀─────────────────────── Welcome
//! Request ─────────────────────▶
//!       ◀─────────────────────── Ready          then the data connections are opened
//!
//! source                        destination
//! Root, Entry…, Skipped…, Listed ▶
//!       ◀─────────────────────── Have…, Go      digests of the blocks that an interrupted copy left
//! (blocks) ════════════════════▶                on the data connections: see `block`
//! Sent… ───────────────────────▶
//!       ◀─────────────────────── Arrived…, Window…
//! Done ────────────────────────▶
//!       ◀─────────────────────── Finished       after fsync and rename
//! ```
//!
//! - [`block`]: what a data connection carries.
//! - [`names`]: which names are accepted.
//! - `fields`: numbers and texts of a message.

pub mod block;
mod fields;
pub mod names;

use fields::{Fields, long_text, put_text};
use std::net::{IpAddr, Ipv6Addr};

/// The version of both. An end with another version is refused.
pub const VERSION: u16 = 1;
/// The start of `Hello` and `Welcome`, so that what a shell prints is not mistaken for an end.
pub const MAGIC: [u8; 8] = *b"slowcopy";
/// The longest message: a full [`Message::Have`] or the longest path.
pub const MOST_MESSAGE: usize = 48 * 1024;
/// Digests in one message.
pub const MOST_DIGESTS: usize = 1024;
/// Bytes of a reason.
pub const MOST_REASON: usize = 400;
/// Data connections of one copy.
pub const MOST_STREAMS: u16 = 64;
/// Files and folders of one copy. Each costs the destination about 200 bytes.
pub const MOST_ENTRIES: usize = 1 << 20;
/// The largest file: 1 PiB, for which the destination keeps 128 MiB of bits.
pub const MOST_FILE_BYTES: u64 = 1 << 50;

/// A BLAKE3 digest of a block.
pub type Digest = [u8; 32];

/// The direction of a copy, as the near end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the near end to the far end.
    Put,
    /// From the far end to the near end.
    Get,
}

/// Who sizes the socket buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tuning {
    /// The kernels of both hosts (`tcp_rmem`, `tcp_wmem`).
    #[default]
    Kernel,
    /// The two ends: the receiver measures what arrives in an RTT ([`crate::drs`]).
    Drs,
    /// The user: both buffers have this size from the start, in bytes.
    Fixed(u64),
}

/// What the near end asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The direction.
    pub direction: Direction,
    /// The path at the far end.
    pub path: Vec<u8>,
    /// For [`Direction::Put`]: the name of the source, for a destination that is a folder.
    pub name: Vec<u8>,
    /// Whether an existing file is replaced.
    pub force: bool,
    /// Who sizes the buffers.
    pub tuning: Tuning,
    /// The congestion control of the data connections; empty for the host's own.
    pub congestion: String,
    /// The port that the far end listens on; 0 for any.
    pub port: u16,
    /// Names the session on its data connections.
    pub session: [u8; 16],
    /// The key that the keys of the data connections are derived from.
    pub key: [u8; 32],
}

/// A file or a folder of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path below the root, its names separated by `/`; empty for the root itself.
    pub path: Vec<u8>,
    /// The size of a file; `None` for a folder.
    pub size: Option<u64>,
    /// Permission bits.
    pub mode: u32,
    /// Time of the last change: seconds since 1970.
    pub modified_s: i64,
    /// And its nanoseconds.
    pub modified_ns: u32,
}

/// What the source has spent and sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes of blocks sent.
    pub bytes: u64,
    /// Bytes of blocks that the destination had already.
    pub kept_bytes: u64,
    /// Time of all data connections' threads in read(2) of the source's files, in ns.
    pub read_ns: u64,
    /// In digests and encryption, in ns.
    pub cpu_ns: u64,
    /// In write(2) to their sockets, in ns.
    pub socket_ns: u64,
    /// Segments retransmitted (`tcpi_total_retrans`).
    pub retransmitted: u64,
    /// The smallest `tcpi_min_rtt`, in microseconds; 0 before the first measurement.
    pub min_rtt_us: u64,
    /// The number of data connections.
    pub streams: u64,
    /// The largest `SO_SNDBUF`, as the kernel counts it.
    pub buffer_bytes: u64,
    /// Time of the data connections by what bound them, in ns, in the order of [`crate::account::Bound::ALL`].
    pub bound_ns: [u64; 9],
    /// What bound most of the last interval: an index of that list, or any other number for nothing.
    pub now: u8,
}

/// What the destination has spent and received so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes of blocks that were verified and written.
    pub bytes: u64,
    /// Bytes of blocks that it had already.
    pub kept_bytes: u64,
    /// Time of all data connections' threads in read(2) of their sockets, in ns.
    pub socket_ns: u64,
    /// In digests and decryption, in ns.
    pub cpu_ns: u64,
    /// In write(2) to the files, in ns.
    pub write_ns: u64,
    /// In fsync(2) at the end, in ns.
    pub sync_ns: u64,
    /// The largest `SO_RCVBUF`, as the kernel counts it.
    pub buffer_bytes: u64,
    /// Bytes that an interrupted copy had left and whose digests were computed.
    pub examined_bytes: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the near end, first.
    Hello,
    /// The answer.
    Welcome,
    /// From the near end: what to copy.
    Request(Request),
    /// The far end listens for data connections.
    Ready {
        /// On this port.
        port: u16,
        /// The far end's address, if it knows at which one it was reached.
        address: Option<IpAddr>,
    },
    /// The sender of this message cannot go on.
    Failed(String),
    /// The source's root follows: its name.
    Root(Vec<u8>),
    /// A file or folder of the source.
    Entry(Entry),
    /// Something of the source that is not copied, and why.
    Skipped {
        /// Path below the root.
        path: Vec<u8>,
        /// The reason.
        why: String,
    },
    /// All entries were sent.
    Listed,
    /// Digests of blocks of a file that an interrupted copy left.
    Have {
        /// The number of the file among all entries.
        file: u32,
        /// The first block.
        first: u64,
        /// One for each block, at most [`MOST_DIGESTS`].
        digests: Vec<Digest>,
    },
    /// The destination is ready for blocks.
    Go,
    /// The source's progress.
    Sent(Sent),
    /// The destination's progress.
    Arrived(Arrived),
    /// From the destination: a data connection needs this send buffer.
    Window {
        /// The connection.
        stream: u16,
        /// Its buffer.
        bytes: u64,
    },
    /// All blocks were sent; the source's last word on them.
    Done(Sent),
    /// From the source, before `Done`: this file changed while it was read.
    Changed(u32),
    /// The copy has its name, and the disk has all of it.
    Finished(Arrived),
}

/// Bytes that are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// Its stated length exceeds what an end reads.
    #[error("a message of {0} bytes, which is more than there can be")]
    TooLong(usize),
    /// The type is unknown, or has another length.
    #[error("message {kind} of {bytes} bytes, which is none")]
    Unknown {
        /// Its type.
        kind: u8,
        /// Its length.
        bytes: usize,
    },
    /// Not the start of an end's first message.
    #[error("not `slowpath copy`: it says {0:?}")]
    NotACopy(String),
    /// Another version.
    #[error("version {0} of the protocol; this end has {VERSION}")]
    Version(u16),
    /// A field has an impossible value.
    #[error("a field of message {0} has an impossible value")]
    Field(u8),
    /// A name that no end accepts.
    #[error("the name {name:?}: {why}")]
    Name {
        /// The name, escaped.
        name: String,
        /// The reason.
        why: names::BadName,
    },
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Welcome => 2,
            Self::Request(_) => 3,
            Self::Ready { .. } => 4,
            Self::Failed(_) => 5,
            Self::Root(_) => 6,
            Self::Entry(_) => 7,
            Self::Skipped { .. } => 8,
            Self::Listed => 9,
            Self::Have { .. } => 10,
            Self::Go => 11,
            Self::Sent(_) => 12,
            Self::Arrived(_) => 13,
            Self::Window { .. } => 14,
            Self::Done(_) => 15,
            Self::Changed(_) => 16,
            Self::Finished(_) => 17,
        }
    }

    /// Appends its bytes.
    pub fn write(&self, to: &mut Vec<u8>) {
        let begin = to.len();
        to.extend([0; 4]);
        to.push(self.kind());
        match self {
            Self::Listed | Self::Go => {}
            Self::Hello | Self::Welcome => {
                to.extend(MAGIC);
                to.extend(VERSION.to_be_bytes());
            }
            Self::Request(request) => request.write(to),
            Self::Ready { port, address } => {
                to.extend(port.to_be_bytes());
                let address = address.map(|address| match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                });
                to.extend(address.unwrap_or(Ipv6Addr::UNSPECIFIED).octets());
            }
            Self::Failed(why) => to.extend(long_text(why).as_bytes()),
            Self::Root(name) => to.extend(name),
            Self::Entry(entry) => entry.write(to),
            Self::Skipped { path, why } => {
                put_text(to, path);
                to.extend(long_text(why).as_bytes());
            }
            Self::Have { file, first, digests } => {
                to.extend(file.to_be_bytes());
                to.extend(first.to_be_bytes());
                digests.iter().take(MOST_DIGESTS).for_each(|digest| to.extend(digest));
            }
            Self::Sent(sent) | Self::Done(sent) => sent.write(to),
            Self::Arrived(arrived) | Self::Finished(arrived) => arrived.write(to),
            Self::Window { stream, bytes } => {
                to.extend(stream.to_be_bytes());
                to.extend(bytes.to_be_bytes());
            }
            Self::Changed(file) => to.extend(file.to_be_bytes()),
        }
        let length = (to.len() - begin - 4) as u32;
        to[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Reads the message at the start of `bytes` and returns its length; `None` if only a part of it is there.
    ///
    /// # Errors
    /// If no message can start like this.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, NotAMessage> {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MOST_MESSAGE {
            return Err(NotAMessage::TooLong(length));
        }
        if length == 0 {
            return Err(NotAMessage::Unknown { kind: 0, bytes: 0 });
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let mut fields = Fields::new(body[0], &body[1..]);
        let message = Self::of(&mut fields)?;
        fields.end()?;
        Ok(Some((message, length + 4)))
    }

    fn of(fields: &mut Fields<'_>) -> Result<Self, NotAMessage> {
        Ok(match fields.kind() {
            1 => fields.greeting(Self::Hello)?,
            2 => fields.greeting(Self::Welcome)?,
            3 => Self::Request(Request::of(fields)?),
            4 => {
                let port = u16::from_be_bytes(fields.take()?);
                let address = Ipv6Addr::from(fields.take::<16>()?);
                let address = (!address.is_unspecified()).then(|| IpAddr::V6(address).to_canonical());
                Self::Ready { port, address }
            }
            5 => Self::Failed(fields.reason()?),
            6 => Self::Root(names::name(fields.rest())?.to_vec()),
            7 => Self::Entry(Entry::of(fields)?),
            8 => Self::Skipped { path: names::path(fields.text()?)?.to_vec(), why: fields.reason()? },
            9 => Self::Listed,
            10 => {
                let (file, first) = (fields.number()?, fields.long()?);
                Self::Have { file, first, digests: fields.digests()? }
            }
            11 => Self::Go,
            12 => Self::Sent(Sent::of(fields)?),
            13 => Self::Arrived(Arrived::of(fields)?),
            14 => Self::Window { stream: u16::from_be_bytes(fields.take()?), bytes: fields.long()? },
            15 => Self::Done(Sent::of(fields)?),
            16 => Self::Changed(fields.number()?),
            17 => Self::Finished(Arrived::of(fields)?),
            _ => return Err(fields.unknown()),
        })
    }
}

impl Request {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(self.direction as u8);
        to.push(u8::from(self.force));
        let (kind, bytes) = match self.tuning {
            Tuning::Kernel => (0, 0),
            Tuning::Drs => (1, 0),
            Tuning::Fixed(bytes) => (2, bytes),
        };
        to.push(kind);
        to.extend(bytes.to_be_bytes());
        to.extend(self.port.to_be_bytes());
        to.extend(self.session);
        to.extend(self.key);
        put_text(to, &self.path);
        put_text(to, &self.name);
        put_text(to, self.congestion.as_bytes());
    }

    fn of(fields: &mut Fields<'_>) -> Result<Self, NotAMessage> {
        let direction = match fields.take()? {
            [0] => Direction::Put,
            [1] => Direction::Get,
            _ => return Err(fields.impossible()),
        };
        let force = match fields.take()? {
            [0] => false,
            [1] => true,
            _ => return Err(fields.impossible()),
        };
        let tuning = match (fields.take()?, fields.long()?) {
            ([0], 0) => Tuning::Kernel,
            ([1], 0) => Tuning::Drs,
            ([2], bytes @ 1..) if bytes < 1 << 31 => Tuning::Fixed(bytes),
            _ => return Err(fields.impossible()),
        };
        let port = u16::from_be_bytes(fields.take()?);
        let (session, key) = (fields.take()?, fields.take()?);
        let path = fields.text()?.to_vec();
        if path.contains(&0) {
            return Err(fields.impossible());
        }
        let name = match fields.text()? {
            [] => Vec::new(),
            given => names::name(given)?.to_vec(),
        };
        let congestion = fields.text()?;
        // TCP_CA_NAME_MAX, include/net/tcp.h.
        let is_name = congestion.len() < 16 && congestion.iter().all(|byte| byte.is_ascii_graphic());
        if !is_name {
            return Err(fields.impossible());
        }
        let congestion = String::from_utf8_lossy(congestion).into_owned();
        Ok(Self { direction, path, name, force, tuning, congestion, port, session, key })
    }
}

impl Entry {
    fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.size.unwrap_or(u64::MAX).to_be_bytes());
        to.extend(self.mode.to_be_bytes());
        to.extend(self.modified_s.to_be_bytes());
        to.extend(self.modified_ns.to_be_bytes());
        put_text(to, &self.path);
    }

    fn of(fields: &mut Fields<'_>) -> Result<Self, NotAMessage> {
        let size = match fields.long()? {
            u64::MAX => None,
            size if size <= MOST_FILE_BYTES => Some(size),
            _ => return Err(fields.impossible()),
        };
        // Without the set-user-ID, set-group-ID and sticky bits: a source does not grant rights at the destination.
        let mode = fields.number()? & 0o777;
        let modified_s = fields.long()? as i64;
        let modified_ns = fields.number()?;
        if modified_ns >= 1_000_000_000 {
            return Err(fields.impossible());
        }
        let path = names::path(fields.text()?)?.to_vec();
        Ok(Self { path, size, mode, modified_s, modified_ns })
    }
}

impl Sent {
    fn write(&self, to: &mut Vec<u8>) {
        let Self { bytes, kept_bytes, read_ns, cpu_ns, socket_ns, retransmitted, .. } = *self;
        let Self { min_rtt_us, streams, buffer_bytes, .. } = *self;
        for number in
            [bytes, kept_bytes, read_ns, cpu_ns, socket_ns, retransmitted, min_rtt_us, streams, buffer_bytes]
        {
            to.extend(number.to_be_bytes());
        }
        self.bound_ns.iter().for_each(|number| to.extend(number.to_be_bytes()));
        to.push(self.now);
    }

    fn of(fields: &mut Fields<'_>) -> Result<Self, NotAMessage> {
        let mut sent = Self {
            bytes: fields.long()?,
            kept_bytes: fields.long()?,
            read_ns: fields.long()?,
            cpu_ns: fields.long()?,
            socket_ns: fields.long()?,
            retransmitted: fields.long()?,
            min_rtt_us: fields.long()?,
            streams: fields.long()?,
            buffer_bytes: fields.long()?,
            ..Self::default()
        };
        for bound in &mut sent.bound_ns {
            *bound = fields.long()?;
        }
        [sent.now] = fields.take()?;
        Ok(sent)
    }
}

impl Arrived {
    /// Bytes that the destination has. A peer may say anything.
    pub const fn done(&self) -> u64 {
        self.bytes.saturating_add(self.kept_bytes)
    }

    fn write(&self, to: &mut Vec<u8>) {
        let Self { bytes, kept_bytes, socket_ns, cpu_ns, write_ns, sync_ns, buffer_bytes, examined_bytes } =
            *self;
        for number in [bytes, kept_bytes, socket_ns, cpu_ns, write_ns, sync_ns, buffer_bytes, examined_bytes]
        {
            to.extend(number.to_be_bytes());
        }
    }

    fn of(fields: &mut Fields<'_>) -> Result<Self, NotAMessage> {
        Ok(Self {
            bytes: fields.long()?,
            kept_bytes: fields.long()?,
            socket_ns: fields.long()?,
            cpu_ns: fields.long()?,
            write_ns: fields.long()?,
            sync_ns: fields.long()?,
            buffer_bytes: fields.long()?,
            examined_bytes: fields.long()?,
        })
    }
}
