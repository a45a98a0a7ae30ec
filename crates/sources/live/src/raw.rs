//! The probe's records in a file, as they arrived, so that the analysis can be repeated without root, on another
//! machine, by another version.
//!
//! A file is a [`Header`] followed by frames: type and length, both 32 bits, then the contents. Numbers are in the byte
//! order of the machine that wrote them; a machine with another byte order refuses the file.

use crate::drops::Reasons;
use crate::record::{Account, Totals, Turn, Waits, of_version_2};
use crate::table::Process;
use bytemuck::{Pod, Zeroable};
use slowpath_files::{Bound, Packing, Unpacked, open_regular};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// How a file begins.
const MAGIC: [u8; 16] = *b"slowpath-probe\n\0";
/// How a zstd frame begins (RFC 8878, section 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How far a file is unpacked. A host whose flows are idle repeats itself, and packs some hundred times.
const BOUND: Bound = Bound { free: 256 << 20, ratio: 1024, most: u64::MAX };
/// How long a frame may be, which is held, for the bytes of its file: it has an account for each flow that lives, which packs 20 to 50
/// times.
const FRAME: Bound = Bound { free: 32 << 20, ratio: 64, most: u32::MAX as u64 };
/// Incremented with every change of the records' layout.
const VERSION: u32 = 3;
/// The previous version, which is read as well: its accounts are the beginning of the current ones.
const BEFORE: u32 = 2;
const BYTE_ORDER: u32 = 0x0102_0304;
/// Reasons that are counted for the host: `REASONS`, bpf/drops.h.
pub(crate) const REASONS: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 16],
    byte_order: u32,
    version: u32,
    account_bytes: u32,
    turn_bytes: u32,
    closing_bytes: u32,
    /// The network namespace whose counters are compared; 0 is none.
    home: u32,
}

const HEADER: Header = Header {
    magic: MAGIC,
    byte_order: BYTE_ORDER,
    version: VERSION,
    account_bytes: size_of::<Account>() as u32,
    turn_bytes: size_of::<Turn>() as u32,
    closing_bytes: size_of::<Closing>() as u32,
    home: 0,
};

const HEADER_BEFORE: Header = Header { version: BEFORE, account_bytes: Account::BYTES_OF_2 as u32, ..HEADER };

/// What is read when watching ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Closing {
    /// What the probe counted of the whole host.
    pub totals: Totals,
    /// Program runs that the kernel skipped because the program was already running on that CPU.
    pub skipped: u64,
    /// How long it was watched.
    pub lasted_ns: u64,
    /// Whether the kernel's counters are known; they follow.
    pub is_counted: u64,
    /// The growth of `TCPLossUndo`.
    pub undone: u64,
    /// The growth of `TCPToZeroWindowAdv`.
    pub zero_windows: u64,
    /// Drops that belong to no watched socket, by the number of the reason.
    pub dropped: [u64; REASONS],
}

/// A sample of the probe: records, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Its records since the last one.
    pub records: Vec<u8>,
    /// The live flows.
    pub flows: Vec<u8>,
}

const RECORDS: u32 = 1;
/// The last frame of a sample.
const FLOWS: u32 = 2;
const NAMES: u32 = 3;
const UNSEEN: u32 = 4;
const CLOSING: u32 = 5;
/// Comes before the closing frame.
const SOFTIRQS: u32 = 6;
/// The processes of sockets that an earlier sample reported: lines of the socket's inode, the process's number, and its
/// name.
const PROCESSES: u32 = 7;

/// Writes the probe's records.
pub struct RawWriter<'w> {
    out: Box<dyn Write + 'w>,
}

impl<'w> RawWriter<'w> {
    pub(crate) fn begin(
        mut out: Box<dyn Write + 'w>,
        home: Option<u32>,
        reasons: &Reasons,
        unseen: &[&str],
    ) -> io::Result<Self> {
        out.write_all(bytemuck::bytes_of(&Header { home: home.unwrap_or(0), ..HEADER }))?;
        let mut writer = Self { out };
        let names: String = reasons.0.iter().map(|(number, name)| format!("{number} {name}\n")).collect();
        writer.frame(NAMES, names.as_bytes())?;
        writer.frame(UNSEEN, unseen.join("\n").as_bytes())?;
        Ok(writer)
    }

    pub(crate) fn look(&mut self, look: &Look) -> io::Result<()> {
        self.frame(RECORDS, &look.records)?;
        self.frame(FLOWS, &look.flows)
    }

    pub(crate) fn processes(&mut self, found: &[(u64, Process)]) -> io::Result<()> {
        let line = |(inode, process): &(u64, Process)| {
            format!("{inode} {} {}\n", process.pid, process.name.replace('\n', " "))
        };
        self.frame(PROCESSES, found.iter().map(line).collect::<String>().as_bytes())
    }

    pub(crate) fn end(&mut self, closing: &Closing, softirqs: &Waits) -> io::Result<()> {
        self.frame(SOFTIRQS, bytemuck::bytes_of(softirqs))?;
        self.frame(CLOSING, bytemuck::bytes_of(closing))?;
        self.out.flush()
    }

    fn frame(&mut self, kind: u32, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length.to_ne_bytes())?;
        self.out.write_all(bytes)
    }
}

/// Why a file cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawError {
    /// It is another file.
    #[error("these are no records of the probe")]
    OtherFile,
    /// It was written on a machine with another byte order.
    #[error("these records are of a machine with another byte order")]
    ByteOrder,
    /// It was written by another version.
    #[error(
        "these records are of version {version}, with accounts of {bytes} bytes; this slowpath reads version {VERSION}, \
         with accounts of {} bytes", size_of::<Account>()
    )]
    OtherVersion {
        /// The file's.
        version: u32,
        /// The size of its accounts.
        bytes: u32,
    },
    /// It is truncated.
    #[error("the file ends at byte {at}, within a frame or before the closing one")]
    Truncated {
        /// Where.
        at: u64,
    },
    /// An unknown frame, or one that is not allowed at its place.
    #[error("byte {at}: a frame of kind {kind} with {bytes} bytes makes no sense there")]
    BadFrame {
        /// Where it begins.
        at: u64,
        /// Its type.
        kind: u32,
        /// Its length.
        bytes: u32,
    },
    /// A frame that is longer than one of its file can be.
    #[error(
        "byte {at}: a frame of {bytes} bytes; in a file of its size they have {most} at most; unpack it first (`zstd -dc`)"
    )]
    FrameTooLong {
        /// Where it begins.
        at: u64,
        /// How long it says it is.
        bytes: u32,
        /// How long it may be.
        most: u64,
    },
    /// The contents of a frame are not a record.
    #[error("before byte {at}: {source}")]
    NoRecord {
        /// Where the frame ends.
        at: u64,
        /// The reason.
        source: crate::record::NoRecord,
    },
    /// The file cannot be read.
    #[error("byte {at}: {source}")]
    Io {
        /// Where.
        at: u64,
        /// What came back.
        source: io::Error,
    },
}

/// The bytes of a file of these records.
pub struct Raw<'a> {
    from: Box<dyn Read + 'a>,
    /// How long a frame of it may be.
    most: u64,
}

impl<'a> From<&'a [u8]> for Raw<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { from: Box::new(bytes), most: FRAME.most }
    }
}

/// A file of these records, plain or compressed with zstd; `None` if it is another file, or one that must not be
/// consumed, such as a pipe.
///
/// # Errors
/// If it is there and cannot be read.
pub fn open(path: &Path) -> io::Result<Option<Raw<'static>>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let mut begins = Vec::new();
    open_regular(path)?.take(4).read_to_end(&mut begins)?;
    let is_packed = begins == ZSTD;
    let from = || -> io::Result<Raw<'static>> {
        let file: File = open_regular(path)?;
        // Of a plain file no more is held than it has.
        let most = if is_packed { FRAME.of(file.metadata()?.len()) } else { FRAME.most };
        let plain = BufReader::new(file);
        let from: Box<dyn Read> =
            if is_packed { Box::new(Unpacked::new(Packing::Zstd, plain, BOUND)?) } else { Box::new(plain) };
        Ok(Raw { from, most })
    };
    let mut magic = [0; MAGIC.len()];
    // Without a whole header it is not known to be one of these files.
    let is_it = from()?.from.read_exact(&mut magic).is_ok() && magic == MAGIC;
    is_it.then(from).transpose()
}

/// A piece of a file.
#[derive(Debug)]
pub enum Piece {
    /// A sample.
    Look(Look),
    /// Which processes have sockets open, by the sockets' numbers.
    Processes(Vec<(u64, Process)>),
    /// The end.
    End(Box<Closing>),
}

/// Reads what a [`RawWriter`] wrote.
pub struct RawReader<'a> {
    from: Box<dyn Read + 'a>,
    /// How long a frame may be.
    most: u64,
    at: u64,
    /// The network namespace whose counters are compared.
    pub home: Option<u32>,
    /// Whether its records are of the previous version.
    is_before: bool,
    /// The reasons' names.
    pub reasons: Reasons,
    /// What could not be seen where it was written.
    pub unseen: Vec<String>,
    /// How long the host's receive softirqs waited to run.
    pub softirqs: Waits,
}

impl<'a> RawReader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is another file, or of another version.
    pub fn new(Raw { from, most }: Raw<'a>) -> Result<Self, RawError> {
        let (reasons, unseen) = (Reasons::default(), Vec::new());
        let softirqs = Waits::zeroed();
        let mut reader = Self { from, most, at: 0, home: None, is_before: false, reasons, unseen, softirqs };
        let bytes = reader.bytes(size_of::<Header>() as u64)?;
        let header: Header = match bytes.get(..size_of::<Header>()) {
            Some(whole) => bytemuck::pod_read_unaligned(whole),
            None if bytes.starts_with(&MAGIC) => return Err(RawError::Truncated { at: reader.at }),
            None => return Err(RawError::OtherFile),
        };
        let Header { version, account_bytes, home, .. } = header;
        match header {
            Header { magic, .. } if magic != MAGIC => Err(RawError::OtherFile),
            Header { byte_order, .. } if byte_order != BYTE_ORDER => Err(RawError::ByteOrder),
            _ if header == (Header { home, ..HEADER_BEFORE }) => {
                Ok(Self { home: (home != 0).then_some(home), is_before: true, ..reader })
            }
            _ if header != (Header { home, ..HEADER }) => {
                Err(RawError::OtherVersion { version, bytes: account_bytes })
            }
            _ => Ok(Self { home: (home != 0).then_some(home), ..reader }),
        }
    }

    /// The current position, in bytes.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The next sample, or the end.
    ///
    /// # Errors
    /// If the file ends early, or is invalid. Pieces read until then are valid.
    pub fn piece(&mut self) -> Result<Piece, RawError> {
        let mut records = Vec::new();
        loop {
            let at = self.at;
            let (kind, bytes) = self.frame()?;
            match kind {
                RECORDS => records.extend(self.records(bytes)),
                FLOWS => return Ok(Piece::Look(Look { records, flows: self.records(bytes) })),
                PROCESSES => return Ok(Piece::Processes(processes(&bytes))),
                NAMES => self.reasons = names(&bytes),
                UNSEEN => self.unseen = lines(&bytes),
                SOFTIRQS if bytes.len() == size_of::<Waits>() => {
                    self.softirqs = bytemuck::pod_read_unaligned(&bytes);
                }
                CLOSING if bytes.len() == size_of::<Closing>() => {
                    return Ok(Piece::End(Box::new(bytemuck::pod_read_unaligned(&bytes))));
                }
                _ => return Err(RawError::BadFrame { at, kind, bytes: bytes.len() as u32 }),
            }
        }
    }

    /// Records converted to this version.
    fn records(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.is_before { of_version_2(&bytes) } else { bytes }
    }

    fn frame(&mut self) -> Result<(u32, Vec<u8>), RawError> {
        let head = self.bytes(8)?;
        let truncated = |at| RawError::Truncated { at };
        let (Some(kind), Some(length)) = (head.first_chunk(), head.last_chunk().filter(|_| head.len() == 8))
        else {
            return Err(truncated(self.at));
        };
        let (kind, length) = (u32::from_ne_bytes(*kind), u32::from_ne_bytes(*length));
        if u64::from(length) > self.most {
            return Err(RawError::FrameTooLong { at: self.at - 8, bytes: length, most: self.most });
        }
        let bytes = self.bytes(length.into())?;
        if bytes.len() < length as usize { Err(truncated(self.at)) } else { Ok((kind, bytes)) }
    }

    /// This many bytes, or all that there are: memory is only allocated for what is there.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, RawError> {
        let mut bytes = Vec::new();
        let read = self.from.by_ref().take(count).read_to_end(&mut bytes);
        self.at += bytes.len() as u64;
        read.map_err(|source| RawError::Io { at: self.at, source })?;
        Ok(bytes)
    }
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

fn processes(bytes: &[u8]) -> Vec<(u64, Process)> {
    let process = |line: String| {
        let mut words = line.splitn(3, ' ');
        let (inode, pid) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some((inode, Process { pid, name: words.next()?.to_owned() }))
    };
    lines(bytes).into_iter().filter_map(process).collect()
}

fn names(bytes: &[u8]) -> Reasons {
    let lines = lines(bytes);
    let named = lines.iter().filter_map(|line| {
        let (number, name) = line.split_once(' ')?;
        Some((number.parse().ok()?, name.to_owned()))
    });
    Reasons(named.collect::<BTreeMap<u32, String>>())
}
