//! Records that perf compressed (`perf record -z`): one zstd stream over all of them, in which a record may begin in
//! one compressed record and end in the next (`zstd_decompress_stream`, tools/perf/util/zstd.c).

use slowpath_files::{Bound, TooMuch};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes decompressed at a time: several of the longest records. No more is held, however much a compressed record
/// expands to.
const BUFFER: usize = 512 * 1024;

/// Limit of all decompressed bytes. Records compress 3 to 30 times.
const BOUND: Bound = Bound { free: 64 << 20, ratio: 64, most: u64::MAX };

/// The decompressor and its pending output.
pub(crate) struct Unpacker {
    decoder: Decoder<'static>,
    packed: Vec<u8>,
    /// The consumed bytes of `packed`.
    taken: usize,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Compressed and decompressed bytes in total.
    total: [u64; 2],
}

impl Unpacker {
    pub(crate) fn new() -> Result<Self, String> {
        let decoder = Decoder::new().map_err(|error| error.to_string())?;
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Ok(Self { decoder, packed: Vec::new(), taken: 0, buffer, start: 0, end: 0, total: [0, 0] })
    }

    /// Sets the next input; all previous output must have been taken.
    pub(crate) fn give(&mut self, packed: &[u8]) {
        self.packed.clear();
        self.packed.extend_from_slice(packed);
        self.taken = 0;
    }

    /// Decompresses until `want` bytes are available, if there are as many; returns how many there are.
    pub(crate) fn fill(&mut self, want: usize) -> Result<usize, String> {
        if self.end - self.start >= want {
            return Ok(self.end - self.start);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < want {
            let mut from = InBuffer::around(&self.packed[self.taken..]);
            let mut to = OutBuffer::around(&mut self.buffer[self.end..]);
            self.decoder.run(&mut from, &mut to).map_err(|error| format!("zstd says: {error},"))?;
            let (taken, made) = (from.pos(), to.pos());
            self.taken += taken;
            self.end += made;
            self.total = [self.total[0] + taken as u64, self.total[1] + made as u64];
            let [packed, unpacked] = self.total;
            if unpacked > BOUND.of(packed) {
                return Err(format!("{},", TooMuch { packed, unpacked: BOUND.of(packed) }));
            }
            if taken == 0 && made == 0 {
                break;
            }
        }
        Ok(self.end)
    }

    /// Decompressed bytes that are not consumed.
    pub(crate) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes `length` bytes and returns their place; they stay there until the next `fill`.
    pub(crate) fn consume(&mut self, length: usize) -> usize {
        let start = self.start;
        self.start += length;
        start
    }

    /// The whole buffer, for places in it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }
}
