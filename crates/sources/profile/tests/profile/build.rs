//! Builds perf.data files in either byte order.

/// The byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn words(self, values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| self.u64(*value)).collect()
    }

    pub fn pair(self, a: u32, b: u32) -> Vec<u8> {
        [self.u32(a), self.u32(b)].concat()
    }
}

/// `IP | TID | TIME | CALLCHAIN | PERIOD`, as `perf record -g` asks for.
pub const FORMAT: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 8;
/// `SAMPLE_ID_ALL`, `FREQ`.
const FLAGS: u64 = 1 << 18 | 1 << 10;

pub const KERNEL: u64 = -128i64 as u64;
pub const USER: u64 = -512i64 as u64;

/// A recording under construction.
pub struct Recording {
    pub order: Order,
    pub records: Vec<u8>,
    pub format: u64,
}

pub fn text(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize((name.len() + 1).next_multiple_of(8), 0);
    bytes
}

impl Recording {
    pub fn new(order: Order) -> Self {
        Self { order, records: Vec::new(), format: FORMAT }
    }

    pub fn record(&mut self, kind: u32, misc: u16, body: &[u8]) -> &mut Self {
        let size = u16::try_from(body.len() + 8).unwrap();
        self.records.extend(self.order.u32(kind));
        self.records.extend([self.order.u16(misc), self.order.u16(size)].concat());
        self.records.extend(body);
        self
    }

    /// The fields at the end of records other than samples: task and time.
    fn trailer(&self, process: u32, time: u64) -> Vec<u8> {
        [self.order.pair(process, process), self.order.u64(time).to_vec()].concat()
    }

    pub fn comm(&mut self, time: u64, process: u32, name: &str, executes: bool) -> &mut Self {
        let body = [self.order.pair(process, process), text(name), self.trailer(process, time)].concat();
        self.record(3, u16::from(executes) << 13, &body)
    }

    pub fn map(
        &mut self,
        time: u64,
        process: u32,
        [start, length, offset]: [u64; 3],
        file: &str,
    ) -> &mut Self {
        let misc = if process == u32::MAX { 1 } else { 2 };
        let places = self.order.words(&[start, length, offset]);
        let body =
            [self.order.pair(process, process), places, text(file), self.trailer(process, time)].concat();
        self.record(1, misc, &body)
    }

    pub fn lost(&mut self, samples: u64) -> &mut Self {
        let body = [self.order.words(&[1, samples]), self.trailer(0, 0)].concat();
        self.record(2, 0, &body)
    }

    pub fn sample(&mut self, time: u64, process: u32, period: u64, chain: &[u64]) -> &mut Self {
        let ip = chain.get(1).copied().unwrap_or(0);
        let head = [self.order.u64(ip).to_vec(), self.order.pair(process, process)].concat();
        let rest = self.order.words(&[&[time, period, chain.len() as u64], chain].concat());
        let body = [head, rest].concat();
        self.record(9, 2, &body)
    }

    /// One event, `cpu-clock`.
    fn attr(&self) -> Vec<u8> {
        let flags = if self.order == Order::Little { FLAGS } else { FLAGS.reverse_bits() };
        let numbers = self.order.words(&[0, 999, self.format, 0, flags, 0, 0]);
        [self.order.pair(1, 64), numbers].concat()
    }

    /// The whole file, without the tables after the data.
    pub fn file(&self) -> Vec<u8> {
        let magic = if self.order == Order::Little { b"PERFILE2" } else { b"2ELIFREP" };
        let data = 104 + 80;
        let numbers = [104, 80, 104, 80, data, self.records.len() as u64, 0, 0, 0, 0, 0, 0];
        let attr = [self.attr(), self.order.words(&[0, 0])].concat();
        [magic.to_vec(), self.order.words(&numbers), attr, self.records.clone()].concat()
    }

    /// The recording in pipe format.
    pub fn pipe(&self) -> Vec<u8> {
        let magic = if self.order == Order::Little { b"PERFILE2" } else { b"2ELIFREP" };
        let mut attr = Self::new(self.order);
        attr.record(64, 0, &self.attr());
        [magic.to_vec(), self.order.words(&[16]), attr.records, self.records.clone()].concat()
    }
}
