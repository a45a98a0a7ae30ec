//! The header of a perf.data and the sections after its data: its events and the profiled host.
//!
//! `struct perf_file_header` and `enum perf_header_feature`, tools/perf/util/header.h; the kernel's tree describes the
//! format in tools/perf/Documentation/perf.data-file-format.txt.

use super::attr::{Attr, SMALLEST};
use super::fields::{Fields, Order, text};
use super::room::Room;
use crate::error::{At, Stop};
use crate::symbols::host::Recorded;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

/// The first bytes of a perf.data; reversed if the machine's byte order differs.
pub(crate) const MAGIC: [u8; 8] = *b"PERFILE2";
pub(crate) const MAGIC_SWAPPED: [u8; 8] = *b"2ELIFREP";

/// Magic, size, the size of an attr, three sections, 256 bits of features.
const FILE_HEADER: u64 = 104;
/// Data written to a pipe begins with magic and size only; the rest comes as records.
const PIPE_HEADER: u64 = 16;

/// Limit of events in a recording: as many as a [`slowpath_cost::Entry`] can name.
const MOST_ATTRS: usize = u16::MAX as usize;
/// Limit of event ids: the kernel assigns one for each event and CPU.
const MOST_IDS: usize = 4 * 1024 * 1024;
/// Limit of a section at the file's end. Build-ids take some hundred bytes each.
const LARGEST_SECTION: u64 = 64 * 1024 * 1024;

/// `HEADER_BUILD_ID` and so on.
const FEATURE_BUILD_ID: u64 = 2;
const FEATURE_HOSTNAME: u64 = 3;
const FEATURE_OSRELEASE: u64 = 4;
const FEATURE_EVENT_DESC: u64 = 12;
/// `PERF_RECORD_MISC_BUILD_ID_SIZE`: the byte after the build-id is its length.
const BUILD_ID_SIZE: u16 = 1 << 15;

/// A section of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    /// 0 if the recording was not completed.
    pub(crate) length: u64,
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) attr: Attr,
    pub(crate) name: String,
}

/// The metadata of the recording.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) order: Order,
    pub(crate) data: Section,
    pub(crate) is_pipe: bool,
    pub(crate) events: Vec<Counted>,
    /// The event of each id that the kernel assigned.
    by_id: HashMap<u64, u16>,
    /// Build-ids by file name, the kernel's among them.
    pub(crate) build_ids: HashMap<String, Vec<u8>>,
    /// What it says about the host.
    pub(crate) recorded: Recorded,
    /// The remaining budget for names and ids.
    pub(crate) room: Room,
    /// Sections after the data, by feature.
    features: Vec<(u64, Section)>,
}

fn stop(offset: u64, reason: impl Into<String>) -> Stop {
    Stop { at: At::Offset(offset), reason: reason.into() }
}

/// Reads a section, if it is not too large.
fn read_section(source: &mut (impl Read + Seek), section: Section, field: &str) -> Result<Vec<u8>, Stop> {
    let Section { offset, length } = section;
    if length > LARGEST_SECTION {
        return Err(stop(offset, format!("the field `{field}` is {length} bytes long, more than is read,")));
    }
    let mut bytes = Vec::new();
    let read = source
        .seek(SeekFrom::Start(offset))
        .and_then(|_| source.by_ref().take(length).read_to_end(&mut bytes))
        .map_err(|error| stop(offset, error.to_string()))?;
    if (read as u64) < length {
        let reason = format!("the file ends {read} bytes into `{field}`, which has {length}, that begins");
        return Err(stop(offset, reason));
    }
    Ok(bytes)
}

fn section(fields: &mut Fields<'_>) -> Option<Section> {
    Some(Section { offset: fields.u64()?, length: fields.u64()? })
}

impl About {
    /// Reads a file from its beginning.
    pub(crate) fn read(source: &mut (impl Read + Seek), room: Room) -> Result<Self, Stop> {
        let start = read_section(source, Section { offset: 0, length: PIPE_HEADER }, "header")?;
        let order = match start.first_chunk::<8>() {
            Some(&MAGIC) => Order::Little,
            Some(&MAGIC_SWAPPED) => Order::Big,
            _ => return Err(stop(0, "the magic is neither `PERFILE2` nor `2ELIFREP`")),
        };
        let size = order.word(&start, 1).unwrap_or(0);
        let mut about = Self {
            order,
            data: Section { offset: PIPE_HEADER, length: 0 },
            is_pipe: size == PIPE_HEADER,
            events: Vec::new(),
            by_id: HashMap::new(),
            build_ids: HashMap::new(),
            recorded: Recorded::default(),
            room,
            features: Vec::new(),
        };
        if about.is_pipe {
            return Ok(about);
        }
        if size < FILE_HEADER {
            return Err(stop(
                8,
                format!("the header's field `size` is {size}; it is {FILE_HEADER} at least,"),
            ));
        }
        about.read_file_header(source)?;
        Ok(about)
    }

    fn read_file_header(&mut self, source: &mut (impl Read + Seek)) -> Result<(), Stop> {
        let header = read_section(source, Section { offset: 0, length: FILE_HEADER }, "header")?;
        let mut fields = Fields::new(header.get(16..).unwrap_or_default(), self.order);
        let short = || stop(16, "the header is too short");
        let attr_size = fields.u64().ok_or_else(short)?;
        let attrs = section(&mut fields).ok_or_else(short)?;
        self.data = section(&mut fields).ok_or_else(short)?;
        section(&mut fields).ok_or_else(short)?;
        let mut bits = [0; 4];
        for word in &mut bits {
            *word = fields.u64().ok_or_else(short)?;
        }
        if self.data.offset < FILE_HEADER {
            let reason =
                format!("the header's field `data.offset` is {}, inside the header,", self.data.offset);
            return Err(stop(40, reason));
        }
        self.read_attrs(source, attr_size, attrs)?;
        // A table of the sections follows the data, in the order of the feature bits.
        let Some(mut at) = self.data.offset.checked_add(self.data.length) else { return Ok(()) };
        if self.data.length == 0 {
            return Ok(());
        }
        for feature in (0..256).filter(|bit| bits[bit / 64] >> (bit % 64) & 1 != 0) {
            let place = Section { offset: at, length: 16 };
            // The reader of the data before has reported that the file is truncated there.
            let Ok(entry) = read_section(source, place, "feature table") else { break };
            let mut fields = Fields::new(&entry, self.order);
            self.features.extend(section(&mut fields).map(|section| (feature as u64, section)));
            let Some(next) = at.checked_add(16) else { break };
            at = next;
        }
        Ok(())
    }

    /// Each entry is an attr and the section of its ids.
    fn read_attrs(&mut self, source: &mut (impl Read + Seek), each: u64, all: Section) -> Result<(), Stop> {
        if each < SMALLEST as u64 + 16 || each > 4096 {
            return Err(stop(16, format!("the header's field `attr_size` is {each}")));
        }
        let bytes = read_section(source, all, "attrs")?;
        for entry in bytes.chunks_exact(each as usize).take(MOST_ATTRS) {
            let (attr, ids) = entry.split_at(entry.len() - 16);
            let attr =
                Attr::parse(attr, self.order).ok_or_else(|| stop(all.offset, "an attr is too short"))?;
            let ids = section(&mut Fields::new(ids, self.order)).unwrap_or_default();
            // Several events may claim the same section of ids.
            let length = ids.length.min((MOST_IDS - self.by_id.len().min(MOST_IDS)) as u64 * 8);
            let ids = read_section(source, Section { length, ..ids }, "ids")?;
            self.add(attr, &ids);
        }
        if self.events.is_empty() {
            return Err(stop(24, "the header's field `attrs` has no event"));
        }
        Ok(())
    }

    /// Adds an event and its ids, in the file's encoding.
    fn add(&mut self, attr: Attr, ids: &[u8]) {
        let event = u16::try_from(self.events.len()).unwrap_or(u16::MAX);
        let left = MOST_IDS.saturating_sub(self.by_id.len()).min(self.room.things());
        let ids: Vec<u64> = self.words(ids).take(left).collect();
        self.room.take(ids.len());
        self.by_id.extend(ids.iter().map(|id| (*id, event)));
        self.events.push(Counted { name: attr.name(), attr });
    }

    /// The event of an id.
    pub(crate) fn event_of(&self, id: u64) -> Option<u16> {
        self.by_id.get(&id).copied()
    }

    fn words<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + use<'a> {
        let order = self.order;
        bytes.as_chunks::<8>().0.iter().map(move |word| order.u64(*word))
    }

    /// Reads the sections after the data: names and build-ids. If one cannot be read, returns the reason.
    pub(crate) fn read_features(&mut self, source: &mut (impl Read + Seek)) -> Result<(), Stop> {
        for (feature, section) in std::mem::take(&mut self.features) {
            let field = match feature {
                FEATURE_BUILD_ID => "build-ids",
                FEATURE_HOSTNAME => "host name",
                FEATURE_OSRELEASE => "kernel release",
                FEATURE_EVENT_DESC => "event descriptions",
                _ => continue,
            };
            let bytes = read_section(source, section, field)?;
            self.feature(feature, &bytes)
                .ok_or_else(|| stop(section.offset, format!("the section of {field} contradicts itself")))?;
        }
        Ok(())
    }

    /// `PERF_RECORD_HEADER_FEATURE` of a pipe, which a file has as a section at its end.
    pub(crate) fn feature_record(&mut self, body: &[u8]) -> Option<()> {
        let mut fields = Fields::new(body, self.order);
        let feature = fields.u64()?;
        self.feature(feature, fields.rest)
    }

    fn feature(&mut self, feature: u64, bytes: &[u8]) -> Option<()> {
        match feature {
            FEATURE_BUILD_ID => self.build_id_table(bytes),
            FEATURE_HOSTNAME => {
                Fields::new(bytes, self.order).string().map(|name| self.recorded.host = Some(name))
            }
            FEATURE_OSRELEASE => {
                Fields::new(bytes, self.order).string().map(|name| self.recorded.release = Some(name))
            }
            FEATURE_EVENT_DESC => self.event_descriptions(bytes),
            _ => Some(()),
        }
    }

    /// Records of build-ids, with their headers.
    fn build_id_table(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Fields::new(bytes, self.order);
        while !fields.rest.is_empty() {
            let (_kind, misc, size) = (fields.u32()?, fields.u16()?, fields.u16()?);
            let body = fields.take(usize::from(size).checked_sub(8)?)?;
            self.build_id_record(misc, body)?;
        }
        Some(())
    }

    /// `PERF_RECORD_HEADER_BUILD_ID`: a process, 20 bytes of build-id and their length, a file name.
    pub(crate) fn build_id_record(&mut self, misc: u16, body: &[u8]) -> Option<()> {
        let mut fields = Fields::new(body, self.order);
        fields.u32()?;
        let id = fields.take(24)?;
        let length = if misc & BUILD_ID_SIZE != 0 { usize::from(id[20]).min(20) } else { 20 };
        self.build_id(text(fields.rest), &id[..length]);
        Some(())
    }

    /// Stores a file's build-id, if there is room for it.
    pub(crate) fn build_id(&mut self, file: String, id: &[u8]) {
        if self.build_ids.contains_key(&file) || self.room.text(file.len()) {
            self.build_ids.insert(file, id.to_vec());
        }
    }

    /// Names of events, by id or by index (`write_event_desc`).
    fn event_descriptions(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Fields::new(bytes, self.order);
        let (number, attr_size) = (fields.u32()?, fields.u32()?);
        for at in 0..usize::try_from(number).ok()?.min(MOST_ATTRS) {
            fields.take(usize::try_from(attr_size).ok()?)?;
            let ids = fields.u32()?;
            let name = fields.string()?;
            let ids = fields.take(usize::try_from(ids).ok()?.checked_mul(8)?)?;
            let by_id = self.words(ids).next().and_then(|id| self.event_of(id)).map(usize::from);
            if let Some(event) = by_id.or(Some(at)).and_then(|at| self.events.get_mut(at)) {
                event.name = name;
            }
        }
        Some(())
    }

    /// `PERF_RECORD_HEADER_ATTR` of a pipe: an attr, which has its own length, and its ids.
    pub(crate) fn attr_record(&mut self, body: &[u8]) -> Option<()> {
        let size = self.order.u32(*body.get(4..)?.first_chunk()?);
        let (attr, ids) = body.split_at_checked(usize::try_from(size).ok()?.max(SMALLEST))?;
        let attr = Attr::parse(attr, self.order)?;
        if self.events.len() < MOST_ATTRS {
            self.add(attr, ids);
        }
        Some(())
    }

    /// `PERF_RECORD_EVENT_UPDATE` of a pipe; only names are read (`PERF_EVENT_UPDATE__NAME`).
    pub(crate) fn event_update(&mut self, body: &[u8]) -> Option<()> {
        let mut fields = Fields::new(body, self.order);
        let (what, id) = (fields.u64()?, fields.u64()?);
        if what == 2
            && let Some(event) = self.event_of(id).and_then(|at| self.events.get_mut(usize::from(at)))
        {
            event.name = text(fields.rest);
        }
        Some(())
    }
}
