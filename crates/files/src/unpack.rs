//! Unpacking up to a bound.

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How something is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip (RFC 1952), of one part or several.
    Gzip,
    /// zlib (RFC 1950).
    Zlib,
    /// zstd (RFC 8878), of one frame or several, with a window of up to 128 MiB.
    Zstd,
}

/// How far something may be unpacked: so many bytes, and so many more for each packed byte.
///
/// deflate packs up to 1,032 bytes into one, zstd more than 30,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Bytes that are unpacked in any case.
    pub free: u64,
    /// Bytes that are unpacked besides, for each packed one.
    pub ratio: u64,
    /// No more are unpacked, however many there are.
    pub most: u64,
}

impl Bound {
    /// How many bytes may come of so many packed ones.
    pub fn of(self, packed: u64) -> u64 {
        self.free.saturating_add(self.ratio.saturating_mul(packed)).min(self.most)
    }
}

/// More was packed than may be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the first {packed} packed bytes unpack to more than {unpacked}, the most that slowpath reads of them"
)]
pub struct TooMuch {
    /// Packed bytes so far.
    pub packed: u64,
    /// The bytes that may come of them.
    pub unpacked: u64,
}

impl TooMuch {
    /// Whether that is why reading failed.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref()).copied()
    }
}

/// Reads what something unpacks to, and fails with [`TooMuch`] where its bound is passed.
pub struct Unpacked<'a> {
    decoder: Box<dyn Read + Send + 'a>,
    packed: Arc<AtomicU64>,
    unpacked: u64,
    bound: Bound,
}

impl<'a> Unpacked<'a> {
    /// Of packed bytes.
    ///
    /// # Errors
    ///
    /// If there is no memory for the decoder.
    pub fn new(packing: Packing, packed: impl BufRead + Send + 'a, bound: Bound) -> io::Result<Self> {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: packed, count: Arc::clone(&count) };
        let decoder: Box<dyn Read + Send + 'a> = match packing {
            Packing::Gzip => Box::new(MultiGzDecoder::new(counted)),
            Packing::Zlib => Box::new(ZlibDecoder::new(counted)),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(counted)?),
        };
        Ok(Self { decoder, packed: count, unpacked: 0, bound })
    }

    /// The packed bytes that were taken so far.
    pub fn packed(&self) -> u64 {
        self.packed.load(Ordering::Relaxed)
    }

    /// From here on another bound holds, for all that was and will be unpacked: it is known now what it is.
    pub fn set_bound(&mut self, bound: Bound) {
        self.bound = bound;
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(into)?;
        self.unpacked += count as u64;
        let packed = self.packed();
        let most = self.bound.of(packed);
        if self.unpacked > most {
            return Err(io::Error::other(TooMuch { packed, unpacked: most }));
        }
        Ok(count)
    }
}

/// Counts the bytes that the decoder takes: a decoder reads ahead of what it has unpacked by one block at most.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count.fetch_add(amount as u64, Ordering::Relaxed);
        self.inner.consume(amount);
    }
}
