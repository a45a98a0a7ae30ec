//! The input: a file or a stream, decompressed, through one buffer of fixed size.

use crate::summary::{Compression, Stop};
use slowpath_files::{Bound, Packing, TooMuch, Unpacked};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The buffer. Half of it is enough for any record that is examined whole; all of it stays in a second-level cache,
/// which is why reading into it repeatedly is faster than mapping the file.
const BUFFER: usize = 512 * 1024;

/// The maximum size of a record that is examined whole. It is the largest snapshot length that libpcap and Wireshark
/// allow (`MAXIMUM_SNAPLEN` in libpcap's `pcap-int.h`); a longer record is examined up to this and the rest skipped.
pub(crate) const WHOLE: usize = 256 * 1024;

/// A record that claims to be longer than this is corrupt.
pub(crate) const LARGEST: u64 = 256 * 1024 * 1024;

/// The first read, to detect the format.
const HEAD: usize = 64 * 1024;

/// The decompressors read their input in pieces of this size.
const PACKED_BUFFER: usize = 128 * 1024;

/// How far a capture is unpacked: nothing of it is held, but reading it must end. Super-packets of 64 KiB with the same payload
/// pack 3,000 times with zstd; its smallest bombs 30,000 times.
const BYTES: Bound = Bound { free: 1 << 30, ratio: 8192, most: u64::MAX };

/// And how many records it has: each has a time of its own, which packs into a byte or more.
const RECORDS: Bound = Bound { free: 16 << 20, ratio: 64, most: u64::MAX };

/// Called with the bytes read so far, and with the total if that is known.
pub(crate) type Progress = Box<dyn FnMut(u64, Option<u64>) + Send>;

/// Why there are no more bytes.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// The proper end.
    Clean,
    /// Reading or decompressing failed.
    Failed(String),
}

/// A window onto the decompressed bytes.
pub(crate) struct Input {
    source: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// The offset of `buffer[0]` in the decompressed capture.
    base: u64,
    /// Records, or blocks, that were read.
    records: u64,
    compression: Compression,
    ending: Option<Ending>,
    raw: Arc<AtomicU64>,
    total: Option<u64>,
    progress: Option<Progress>,
}

/// The text of an error. zstd's own window limit, 128 MiB, is kept, since a file must not decide how much memory is
/// used; files compressed with more need `zstd`.
fn reason(error: &io::Error, compression: Compression) -> String {
    match error.to_string() {
        much if TooMuch::of(error).is_some() => format!("{much}{}", trusted(compression)),
        large if large.contains("too much memory") => {
            format!("{large}; unpack it first (`zstd -dc --long=31`)")
        }
        other => other,
    }
}

/// What to do about one that is more than a capture's.
fn trusted(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "; if you trust it, unpack it first (`gzip -dc`)",
        Compression::Zstd | Compression::None => "; if you trust it, unpack it first (`zstd -dc`)",
    }
}

/// Counts the bytes read from the file, compressed or not.
struct Counted {
    inner: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Input {
    /// Examines the first bytes and selects the decompressor.
    pub(crate) fn open(
        inner: Box<dyn Read + Send>,
        total: Option<u64>,
        progress: Option<Progress>,
    ) -> io::Result<(Self, Compression)> {
        let raw = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { inner, count: Arc::clone(&raw) };
        let mut head = vec![0; HEAD];
        let mut length = 0;
        // Four bytes distinguish all compressions.
        while length < 4 {
            match counted.read(&mut head[length..]) {
                Ok(0) => break,
                Ok(n) => length += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        head.truncate(length);
        let compression = Compression::of(&head);
        let mut buffer = vec![0; BUFFER].into_boxed_slice();
        let mut end = 0;
        let packing = match compression {
            Compression::None => None,
            Compression::Gzip => Some(Packing::Gzip),
            Compression::Zstd => Some(Packing::Zstd),
        };
        let source: Box<dyn Read + Send> = if let Some(packing) = packing {
            let packed = BufReader::with_capacity(PACKED_BUFFER, Cursor::new(head).chain(counted));
            Box::new(Unpacked::new(packing, packed, BYTES)?)
        } else {
            buffer[..length].copy_from_slice(&head);
            end = length;
            Box::new(counted)
        };
        let (start, base, records, ending) = (0, 0, 0, None);
        let input =
            Self { source, buffer, start, end, base, records, compression, ending, raw, total, progress };
        Ok((input, compression))
    }

    /// The bytes in the buffer that are not consumed.
    #[inline]
    pub(crate) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes the next `n` bytes, which are available and have so many records.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize, records: u64) {
        debug_assert!(n <= self.end - self.start);
        self.start += n;
        self.records += records;
    }

    /// The offset of the next byte in the decompressed capture.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Bytes read from the file so far, compressed or not.
    pub(crate) fn raw_bytes(&self) -> u64 {
        self.raw.load(Ordering::Relaxed)
    }

    /// Why there are no more bytes, at the end.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Makes at least `want` bytes (at most [`WHOLE`] and some headers) available; returns whether there are that many.
    pub(crate) fn fill(&mut self, want: usize) -> bool {
        debug_assert!(want <= BUFFER);
        if self.end - self.start >= want {
            return true;
        }
        let most = RECORDS.of(self.raw_bytes());
        if self.records > most && self.compression != Compression::None {
            let raw = self.raw_bytes();
            let what = format!("{raw} packed bytes have more than {most} records, more than a capture's");
            self.ending = Some(Ending::Failed(format!("{what}{}", trusted(self.compression))));
            return false;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < want && self.ending.is_none() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ending = Some(Ending::Clean),
                Ok(n) => {
                    self.end += n;
                    let read = self.raw.load(Ordering::Relaxed);
                    if let Some(progress) = &mut self.progress {
                        progress(read, self.total);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.ending = Some(Ending::Failed(reason(&error, self.compression))),
            }
        }
        self.end >= want
    }

    /// Skips the next `n` bytes, available or not; returns whether there are that many.
    pub(crate) fn skip(&mut self, mut n: u64) -> bool {
        loop {
            let here = ((self.end - self.start) as u64).min(n);
            self.start += here as usize;
            n -= here;
            if n == 0 {
                return true;
            }
            if !self.fill(1) {
                return false;
            }
        }
    }
}

impl Input {
    /// Where and why reading ends if the next `want` bytes, of `what`, are missing; `None` at the proper end.
    pub(crate) fn broken_off(&self, what: &str, want: usize) -> Option<Stop> {
        let here = self.available().len();
        match &self.ending {
            Some(Ending::Failed(_)) => Some(self.broken_off_inside(what, self.offset(), here, want)),
            _ if here == 0 => None,
            _ => Some(self.broken_off_inside(what, self.offset(), here, want)),
        }
    }

    /// Why the input ends `here` bytes into the `want` bytes of `what` at `offset`.
    pub(crate) fn broken_off_inside(&self, what: &str, offset: u64, here: usize, want: usize) -> Stop {
        let reason = match &self.ending {
            Some(Ending::Failed(reason)) => reason.clone(),
            _ => format!("the capture ends inside {what}, {here} bytes into {want}"),
        };
        Stop { offset, reason }
    }
}
