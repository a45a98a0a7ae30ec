//! perf.data, as `perf record` writes it.
//!
//! The file is read twice, each time through one buffer. The first pass learns mappings and thread names, which may
//! come in any order. The second pass counts samples by their addresses and allocates only for new stacks. At the end,
//! each distinct address is resolved to its function.
//!
//! `header` and `attr`: events; `records`, `unpack` and `fields`: records; `spaces`: mappings and thread names over
//! time; `chains`: stacks of addresses; `names`: their functions; `room`: limits of all these.
//!
//! In a group whose leader alone samples (`{cycles,instructions}:S`), a sample counts for the leader, with the leader's
//! period. The counts of its members are skipped.
//!
//! The crate `linux-perf-data` (0.13) reads the format too. It allocates as much memory as a file's length fields ask
//! for, returns nothing for a recording that was not completed, and sorts all records, samples too, which costs more
//! than counting them.
//!
//! Mappings of other CPUs may come after their samples in the file; two passes need no special case for that.
//! Inlined functions are looked up in DWARF once per distinct address, and only on request (`symbols/inlined.rs`).

mod attr;
mod chains;
mod fields;
pub(crate) mod header;
mod names;
mod records;
mod room;
mod spaces;
mod stacks;
mod unpack;

use crate::error::{At, ProfileError, Stop};
use crate::gather::Gather;
use crate::notes::{Notes, Oddity};
use crate::origin::Origin;
use crate::{Format, Input, SymbolSources};
use attr::Attr;
use chains::{Chains, Key};
use fields::{Fields, Order, text};
use header::About;
use names::{KernelMap, KernelPart};
use records::{Record, Records, kind};
use room::Room;
use slowpath_cost::Lost;
use spaces::Spaces;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

/// `PERF_RECORD_MISC_CPUMODE_MASK` and its values.
const CPUMODE_MASK: u16 = 7;
const CPUMODE_KERNEL: u16 = 1;
const CPUMODE_USER: u16 = 2;
/// `PERF_RECORD_MISC_COMM_EXEC`: a program was executed. In a mapping (`MMAP_DATA`): it is a data mapping.
const MISC_EXEC_OR_DATA: u16 = 1 << 13;
/// `PERF_RECORD_MISC_MMAP_BUILD_ID`: the mapping has the file's build-id instead of its device and inode.
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
/// `PROT_EXEC`.
const PROT_EXEC: u32 = 4;
/// `PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER`.
const KSYMBOL_GONE: u16 = 1;

/// Limit of unknown record types that are counted separately.
const MOST_UNKNOWN: usize = 32;

/// Context markers in call chains: values up to `PERF_CONTEXT_MAX` say what the following addresses are (`enum
/// perf_callchain_context`).
mod context {
    pub(super) const MAX: u64 = (-4095i64) as u64;
    pub(super) const KERNEL: u64 = (-128i64) as u64;
    pub(super) const USER: u64 = (-512i64) as u64;
}

/// The state of reading a file, through both passes.
struct Reading<'a> {
    about: About,
    spaces: Spaces,
    kernel: KernelMap,
    chains: Chains,
    lost: Lost,
    notes: Notes,
    /// Unknown record types: how many records, and where the first was.
    unknown: BTreeMap<u32, (u64, At)>,
    /// The time of the last record.
    last: u64,
    origin: Origin,
    options: &'a SymbolSources,
    /// The addresses of the current sample.
    addresses: Vec<u64>,
}

/// Reads a perf.data.
pub(crate) fn read(
    name: &str,
    source: &mut (impl Read + Seek),
    origin: Origin,
    options: &SymbolSources,
) -> Result<Input, ProfileError> {
    let room = Room::of(origin.bytes);
    let about = About::read(source, room).map_err(|stop| ProfileError::damaged(name, stop))?;
    let mut reading = Reading {
        about,
        spaces: Spaces::of(origin.bytes),
        kernel: KernelMap::default(),
        chains: Chains::of(room),
        lost: Lost::default(),
        notes: Notes::default(),
        unknown: BTreeMap::new(),
        last: 0,
        origin,
        options,
        addresses: Vec::new(),
    };
    if !reading.about.is_pipe && reading.about.data.length == 0 {
        reading.notes.at(Oddity::Unfinished, "data", At::Offset(48));
    }
    let unread = reading.about.read_features(source).err();
    let stopped = reading.pass(source, Reading::learn)?;
    reading.learned();
    reading.pass(source, Reading::count)?;
    if let (Some(stop), true) = (&stopped, reading.chains.is_empty()) {
        return Err(ProfileError::damaged(name, stop.clone()));
    }
    Ok(reading.finish(name, stopped.or(unread)))
}

impl Reading<'_> {
    /// Passes each record to `take`; returns where and why reading stopped before the end.
    fn pass(
        &mut self,
        source: &mut (impl Read + Seek),
        take: impl Fn(&mut Self, Record<'_>) -> Option<()>,
    ) -> Result<Option<Stop>, ProfileError> {
        let data = self.about.data;
        if let Err(error) = source.seek(SeekFrom::Start(data.offset)) {
            return Ok(Some(Stop { at: At::Offset(data.offset), reason: error.to_string() }));
        }
        let length = (data.length > 0).then_some(data.length);
        let mut records = Records::new(source, self.about.order, data.offset, length);
        while let Some(record) = match records.next() {
            Ok(record) => record,
            Err(stop) => return Ok(Some(stop)),
        } {
            if take(self, record).is_none() {
                self.lost.unreadable += 1;
                self.notes.at(Oddity::Malformed, kind_name(record.kind), At::Offset(record.offset));
            }
        }
        if records.missing() > 0 {
            let reason = format!("the file ends {} bytes before its data does", records.missing());
            let end = data.offset.saturating_add(data.length - records.missing());
            return Ok(Some(Stop { at: At::Offset(end), reason }));
        }
        Ok(records.ends_packed())
    }

    /// The first pass: all records except samples. `None` if a record contradicts itself.
    fn learn(&mut self, record: Record<'_>) -> Option<()> {
        let Record { kind, misc, body, .. } = record;
        let order = self.about.order;
        let mut fields = Fields::new(body, order);
        let time = self.time(record);
        self.last = self.last.max(time.unwrap_or(0));
        let time = time.unwrap_or(0);
        let room = &mut self.about.room;
        let has_room = match kind {
            kind::MMAP | kind::MMAP2 => self.mapped(record, time)?,
            kind::COMM => {
                let (process, thread) = (fields.u32()?, fields.u32()?);
                let name = text(fields.rest);
                self.spaces.name(room, time, process, thread, name, misc & MISC_EXEC_OR_DATA != 0)
            }
            kind::FORK => {
                let (process, parent) = (fields.u32()?, fields.u32()?);
                let (thread, parent_thread, time) = (fields.u32()?, fields.u32()?, fields.u64()?);
                // perf reports processes that exist when it starts as forks at time 0 (`perf_event__synthesize_fork`).
                self.spaces.fork(room, time, [process, thread], [parent, parent_thread])
            }
            kind::KSYMBOL => {
                let (start, length, _kind, flags) =
                    (fields.u64()?, fields.u32()?, fields.u16()?, fields.u16()?);
                let part = KernelPart {
                    start,
                    end: start.saturating_add(length.into()),
                    name: text(fields.rest),
                    is_symbol: true,
                };
                flags & KSYMBOL_GONE != 0 || self.kernel.part(room, part)
            }
            kind::HEADER_ATTR => self.about.attr_record(body).map(|()| true)?,
            kind::BUILD_ID => self.about.build_id_record(misc, body).map(|()| true)?,
            kind::EVENT_UPDATE => self.about.event_update(body).map(|()| true)?,
            kind::HEADER_FEATURE => self.about.feature_record(body).map(|()| true)?,
            1..=kind::KERNEL_LAST | kind::HEADER_ATTR..=kind::COMPRESSED2 => true,
            _ => {
                if self.unknown.len() < MOST_UNKNOWN || self.unknown.contains_key(&kind) {
                    self.unknown.entry(kind).or_insert((0, At::Offset(record.offset))).0 += 1;
                }
                true
            }
        };
        if !has_room {
            self.notes.at(Oddity::TooMany, kind_name(kind), At::Offset(record.offset));
        }
        Some(())
    }

    /// The kernel's timestamp of a record other than a sample. All events of a recording have the same trailer
    /// (`evlist__sample_id_all`).
    fn time(&self, Record { kind, body, .. }: Record<'_>) -> Option<u64> {
        let is_kernels = kind != kind::SAMPLE && kind <= kind::KERNEL_LAST;
        let first = self.about.events.first().filter(|_| is_kernels)?;
        first.attr.trailer.time_of(body, self.about.order)
    }

    fn mapped(&mut self, record: Record<'_>, time: u64) -> Option<bool> {
        let Record { kind, misc, body, .. } = record;
        let mut fields = Fields::new(body, self.about.order);
        let (process, _thread) = (fields.u32()?, fields.u32()?);
        let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let mut build_id = None;
        let is_code = if kind == kind::MMAP2 {
            // The file's device and inode, or its build-id: length, three bytes of padding, and 20 bytes.
            let file = fields.take(24)?;
            build_id = (misc & MISC_MMAP_BUILD_ID != 0).then(|| &file[4..][..usize::from(file[0]).min(20)]);
            let (protection, _flags) = (fields.u32()?, fields.u32()?);
            protection & PROT_EXEC != 0
        } else {
            misc & MISC_EXEC_OR_DATA == 0
        };
        let place = [start, start.saturating_add(length), offset];
        let file = text(fields.rest);
        if misc & CPUMODE_MASK == CPUMODE_KERNEL {
            return Some(self.kernel.mapped(&mut self.about.room, &file, place));
        }
        if let Some(id) = build_id {
            self.about.build_id(file.clone(), id);
        }
        Some(!is_code || self.spaces.map(&mut self.about.room, time, process, file, place))
    }

    /// Runs between the passes.
    fn learned(&mut self) {
        self.spaces.order();
        if self.spaces.dropped > 0 {
            self.notes.of(Oddity::TooMany, "mappings of a process", self.spaces.dropped);
        }
        for (kind, (count, first)) in &self.unknown {
            self.notes.add(Oddity::UnknownRecord, &format!("type {kind}"), *count, Some(*first));
        }
        for counted in &self.about.events {
            if counted.attr.dumps_stacks {
                self.notes.of(Oddity::MemoryDumps, &counted.name, 1);
            }
        }
    }

    /// The second pass: samples, and lost records.
    fn count(&mut self, record: Record<'_>) -> Option<()> {
        let order = self.about.order;
        match record.kind {
            kind::SAMPLE => self.sample(record)?,
            kind::LOST => self.lost.samples = self.lost.samples.saturating_add(order.word(record.body, 1)?),
            kind::LOST_SAMPLES => {
                self.lost.samples = self.lost.samples.saturating_add(order.word(record.body, 0)?);
            }
            _ => {}
        }
        Some(())
    }

    /// The event of a sample, by its id, which is at the same place for all events (`evlist__event2evsel`).
    fn event_of(&self, body: &[u8]) -> Option<u16> {
        let [first, others @ ..] = &self.about.events[..] else { return None };
        let id = first.attr.layout.id;
        if others.is_empty() || id.is_none() {
            return Some(0);
        }
        self.about.event_of(self.about.order.word(body, id?)?)
    }

    fn sample(&mut self, record: Record<'_>) -> Option<()> {
        let Record { misc, body, offset, .. } = record;
        let order = self.about.order;
        let Some(event) = self.event_of(body) else {
            self.notes.at(Oddity::UnknownEvent, "", At::Offset(offset));
            self.lost.unreadable += 1;
            return Some(());
        };
        let attr = &self.about.events[usize::from(event)].attr;
        let layout = attr.layout;
        let (process, thread) = layout.tid.map_or(Some((u32::MAX, u32::MAX)), |at| order.pair(body, at))?;
        let time = layout.time.map_or(Some(u64::MAX), |at| order.word(body, at))?;
        let period = layout.period.map_or(Some(attr.period), |at| order.word(body, at))?;
        let ip = layout.ip.map_or(Some(0), |at| order.word(body, at))?;
        let has_stack = chain(attr, body, order, &mut self.addresses)?;
        if !has_stack {
            self.lost.without_stack += 1;
            let mode = if misc & CPUMODE_MASK == CPUMODE_USER { context::USER } else { context::KERNEL };
            self.addresses.clear();
            self.addresses.extend([mode, ip]);
        }
        if layout.time.is_some() {
            self.last = self.last.max(time);
        }
        let thread_name = self.spaces.name_at(thread, time).unwrap_or(u32::MAX);
        let key = Key { space: self.spaces.space_at(process, time), event, thread_name, has_stack };
        if !self.chains.add(key, &self.addresses, period) {
            // The location matters more than the task.
            self.notes.at(Oddity::TooMany, "stacks", At::Offset(offset));
            self.addresses.truncate(2);
            if !self.chains.add(Key { has_stack: false, ..key }, &self.addresses, period) {
                self.lost.unreadable += 1;
            }
        }
        Some(())
    }

    fn finish(mut self, name: &str, stopped: Option<Stop>) -> Input {
        let mut gather = Gather::of(self.origin.bytes);
        gather.profile.lost = self.lost;
        self.about.recorded.last = (self.last > 0).then(|| Duration::from_nanos(self.last));
        self.about.recorded.written = self.origin.written;
        stacks::name(
            &self.about,
            &self.spaces,
            self.kernel,
            &self.chains,
            self.options,
            &mut gather,
            &mut self.notes,
        );
        Input {
            name: name.to_owned(),
            format: Format::PerfData,
            contents: gather.finish(&mut self.notes),
            notes: self.notes.into_vec(),
            stopped,
        }
    }
}

/// Reads a sample's call chain; false if it has none.
fn chain(attr: &Attr, body: &[u8], order: Order, addresses: &mut Vec<u64>) -> Option<bool> {
    addresses.clear();
    if !attr.layout.callchain {
        return Some(false);
    }
    let at = attr.layout.chain_at(body, order)?;
    let length = usize::try_from(order.word(body, at)?).ok()?;
    let words = body.get((at + 1) * 8..)?.get(..length.checked_mul(8)?)?.as_chunks::<8>().0;
    match order {
        Order::Little => addresses.extend(words.iter().map(|word| u64::from_le_bytes(*word))),
        Order::Big => addresses.extend(words.iter().map(|word| u64::from_be_bytes(*word))),
    }
    Some(addresses.iter().any(|address| *address < context::MAX))
}

/// The name of a record type in messages.
fn kind_name(kind: u32) -> &'static str {
    match kind {
        kind::MMAP | kind::MMAP2 => "mappings",
        kind::COMM => "names of threads",
        kind::FORK => "forks",
        kind::SAMPLE => "samples",
        kind::LOST | kind::LOST_SAMPLES => "counts of lost samples",
        kind::KSYMBOL => "symbols of the kernel",
        kind::HEADER_ATTR | kind::EVENT_UPDATE => "descriptions of events",
        kind::BUILD_ID => "build-ids",
        kind::HEADER_FEATURE => "features",
        _ => "records",
    }
}
