//! Events and the layout of their samples (`struct perf_event_attr`, `include/uapi/linux/perf_event.h`).

use super::fields::{Fields, Order};

/// `enum perf_event_sample_format`: a bit for each field of a sample.
mod sample {
    pub(super) const IP: u64 = 1 << 0;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const STACK_USER: u64 = 1 << 13;
    pub(super) const IDENTIFIER: u64 = 1 << 16;
}

/// `enum perf_event_read_format`.
mod read {
    pub(super) const TOTAL_TIME_ENABLED: u64 = 1 << 0;
    pub(super) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub(super) const ID: u64 = 1 << 2;
    pub(super) const GROUP: u64 = 1 << 3;
    pub(super) const LOST: u64 = 1 << 4;
}

/// `perf_event_attr`'s flags.
const FREQ: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;

/// Size of the first `perf_event_attr` (`PERF_ATTR_SIZE_VER0`).
pub(crate) const SMALLEST: usize = 64;

/// Default of `sysctl kernel.perf_event_max_stack` (`PERF_MAX_STACK_DEPTH`), used for an event that says 0.
const DEFAULT_MAX_STACK: u16 = 127;

/// One event that was counted.
#[derive(Clone, Debug)]
pub(crate) struct Attr {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    /// The period of samples whose record has none.
    pub(crate) period: u64,
    pub(crate) layout: Layout,
    pub(crate) trailer: Trailer,
    /// The kernel's limit of addresses per stack.
    pub(crate) max_stack: u16,
    /// Whether user stacks are memory dumps.
    pub(crate) dumps_stacks: bool,
}

impl Attr {
    /// Parses a `perf_event_attr`, which may be shorter or longer than this version's.
    pub(crate) fn parse(bytes: &[u8], order: Order) -> Option<Self> {
        if bytes.len() < SMALLEST {
            return None;
        }
        let mut fields = Fields::new(bytes, order);
        let (kind, _size, config) = (fields.u32()?, fields.u32()?, fields.u64()?);
        let (period, format, read_format) = (fields.u64()?, fields.u64()?, fields.u64()?);
        // Compilers allocate bit fields from the least significant bit on little-endian machines and from the most
        // significant on big-endian ones.
        let flags = match order {
            Order::Little => fields.u64()?,
            Order::Big => fields.u64()?.reverse_bits(),
        };
        // `sample_max_stack` exists since 4.8 (`PERF_ATTR_SIZE_VER5`).
        let max_stack = bytes.get(108..110).and_then(|two| Some(order.u16(*two.first_chunk()?)));
        Some(Self {
            kind,
            config,
            period: if flags & FREQ == 0 { period.max(1) } else { 1 },
            layout: Layout::new(format, read_format),
            trailer: if flags & SAMPLE_ID_ALL == 0 { Trailer::default() } else { Trailer::new(format) },
            max_stack: max_stack.filter(|max| *max != 0).unwrap_or(DEFAULT_MAX_STACK),
            dumps_stacks: format & sample::STACK_USER != 0,
        })
    }

    /// The name that perf gives the event if the file has none (`event_symbols_hw`, `event_symbols_sw`).
    pub(crate) fn name(&self) -> String {
        let names: &[&str] = match self.kind {
            0 => &[
                "cycles",
                "instructions",
                "cache-references",
                "cache-misses",
                "branches",
                "branch-misses",
                "bus-cycles",
                "stalled-cycles-frontend",
                "stalled-cycles-backend",
                "ref-cycles",
            ],
            1 => &[
                "cpu-clock",
                "task-clock",
                "page-faults",
                "context-switches",
                "cpu-migrations",
                "minor-faults",
                "major-faults",
                "alignment-faults",
                "emulation-faults",
                "dummy",
                "bpf-output",
                "cgroup-switches",
            ],
            _ => &[],
        };
        let named = usize::try_from(self.event()).ok().and_then(|at| names.get(at));
        named.map_or_else(
            || format!("type {} config {:#x}", self.kind, self.config),
            |name| (*name).to_owned(),
        )
    }

    /// The unit of its periods.
    pub(crate) fn unit(&self) -> &'static str {
        match (self.kind, self.event()) {
            (0, 0) => "cycles",
            (0, 1) => "instructions",
            // These count time (`perf_swevent_init_hrtimer`).
            (1, 0 | 1) => "ns",
            (0 | 1, _) => "events",
            // The period of a tracepoint is 1 per hit.
            _ => "samples",
        }
    }

    /// `config` without the number of the PMU of a hybrid machine (`PERF_PMU_TYPE_SHIFT`).
    fn event(&self) -> u64 {
        self.config & 0xffff_ffff
    }
}

/// The places of a sample's fields, in 8-byte words from its start (`perf_output_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) ip: Option<usize>,
    pub(crate) tid: Option<usize>,
    pub(crate) time: Option<usize>,
    /// The event's id: `IDENTIFIER`, or else `ID`.
    pub(crate) id: Option<usize>,
    pub(crate) period: Option<usize>,
    /// The read format of the values that follow, whose length varies.
    pub(crate) values: Option<u64>,
    pub(crate) callchain: bool,
    /// Words before the first field of variable length.
    pub(crate) fixed: usize,
}

impl Layout {
    fn new(format: u64, read_format: u64) -> Self {
        let mut fixed = 0;
        let mut word = |bit: u64| {
            let at = fixed;
            (format & bit != 0).then(|| {
                fixed += 1;
                at
            })
        };
        let identifier = word(sample::IDENTIFIER);
        let (ip, tid, time) = (word(sample::IP), word(sample::TID), word(sample::TIME));
        word(sample::ADDR);
        let id = word(sample::ID);
        word(sample::STREAM_ID);
        word(sample::CPU);
        let period = word(sample::PERIOD);
        Self {
            ip,
            tid,
            time,
            id: identifier.or(id),
            period,
            values: (format & sample::READ != 0).then_some(read_format),
            callchain: format & sample::CALLCHAIN != 0,
            fixed,
        }
    }

    /// The word at which the call chain begins, starting with its length.
    pub(crate) fn chain_at(&self, sample: &[u8], order: Order) -> Option<usize> {
        let Some(format) = self.values else { return Some(self.fixed) };
        let has = |bit| usize::from(format & bit != 0);
        let times = has(read::TOTAL_TIME_ENABLED) + has(read::TOTAL_TIME_RUNNING);
        let each = 1 + has(read::ID) + has(read::LOST);
        let values = match format & read::GROUP {
            0 => each + times,
            _ => {
                let members = usize::try_from(order.word(sample, self.fixed)?).ok()?;
                members.checked_mul(each)?.checked_add(1 + times)?
            }
        };
        self.fixed.checked_add(values)
    }
}

/// The fields at the end of records other than samples, in words from the record's end
/// (`perf_event__output_id_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) words: usize,
    pub(crate) time: Option<usize>,
}

impl Trailer {
    fn new(format: u64) -> Self {
        use sample::{CPU, ID, IDENTIFIER, STREAM_ID, TID, TIME};
        let after = |bits: &[u64]| bits.iter().filter(|bit| format & **bit != 0).count();
        Self {
            words: after(&[TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER]),
            time: (format & TIME != 0).then(|| after(&[ID, STREAM_ID, CPU, IDENTIFIER]) + 1),
        }
    }

    /// The time of the record's event.
    pub(crate) fn time_of(&self, record: &[u8], order: Order) -> Option<u64> {
        let before_end = self.time?.checked_mul(8)?;
        order.word(record.get(record.len().checked_sub(before_end)?..)?, 0)
    }
}
