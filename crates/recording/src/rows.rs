//! Events as rows of the tables, and back. The cells of a row are in the order of [`schema`](crate::schema)'s columns.

use crate::column::BadCell;
use crate::schema::Table;
use crate::table::{Cells, Row};
use slowpath_model::{
    Bytes, CaState, DropReason, Ecn, End, Endpoint, Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, Hold,
    Instant, IpFacts, Mark, SackBlock, SackBlocks, Segment, SocketSample, StreamOffset, Timestamps, Wait,
    nanos,
};
use std::net::IpAddr;
use std::time::Duration;

/// Limit of an instant's distance from the start: 36 years, as in captures.
const MOST_NANOS: i64 = 1 << 60;
/// Limit of a stream offset.
const MOST_OFFSET: i64 = 1 << 60;

const MISSED: &str = "missed";
const ENDS: [(FlowEnd, &str); 4] = [
    (FlowEnd::EndOfRecording, "end-of-recording"),
    (FlowEnd::Replaced, "replaced"),
    (FlowEnd::Gone, "gone"),
    (FlowEnd::Evicted, "evicted"),
];

/// The table of an event. `None` for ICMP errors, which are not recorded; neither are checksums and Fast Open. Only
/// captures have these, and a recording is made where there is no capture.
pub fn table(kind: &EventKind) -> Option<Table> {
    match kind {
        EventKind::Seen(_) | EventKind::Dropped(..) => Some(Table::Packets),
        EventKind::Written { .. } | EventKind::Read { .. } => Some(Table::Calls),
        EventKind::Waited { .. } => Some(Table::Waits),
        EventKind::Held { .. } => Some(Table::Holds),
        EventKind::Marked { .. } | EventKind::Missed { .. } => Some(Table::Marks),
        EventKind::Sampled(_) => Some(Table::Samples),
        _ => None,
    }
}

fn end(letter: &str) -> Option<End> {
    End::BOTH.into_iter().find(|end| end.letter() == letter)
}

/// Writes a new flow.
pub fn write_open(row: &mut Row<'_>, nr: u64, flow: FlowId, key: &FlowKey) {
    row.number(nr).number(flow.0).name("opened");
    for end in [key.a, key.b] {
        row.maybe_text(Some(end.address.to_string())).maybe(Some(end.port));
    }
    row.maybe(Some(key.occurrence)).maybe_name(None);
}

/// Writes the end of a flow.
pub fn write_close(row: &mut Row<'_>, nr: u64, flow: FlowId, end: FlowEnd) {
    let why = ENDS.iter().find(|(one, _)| *one == end).map(|(_, name)| *name);
    row.number(nr).number(flow.0).name("closed");
    for _ in End::BOTH {
        row.maybe_text(None).maybe(None::<u16>);
    }
    row.maybe(None::<u32>).maybe_name(why);
}

/// Writes an event.
pub fn write_event(row: &mut Row<'_>, nr: u64, flow: FlowId, event: &Event) {
    row.number(nr).signed(event.at.nanos()).number(flow.0);
    match &event.kind {
        EventKind::Seen(segment) => write_segment(row, segment, None),
        EventKind::Dropped(segment, why) => write_segment(row, segment, Some(*why)),
        EventKind::Written { end, amount } => {
            row.name(end.letter()).name("write").number(amount.get());
        }
        EventKind::Read { end, amount } => {
            row.name(end.letter()).name("read").number(amount.get());
        }
        EventKind::Waited { end, on, lasted, amount, times } => {
            row.name(end.letter()).name(on.name()).number(nanos(*lasted)).number(amount.get()).number(*times);
        }
        EventKind::Held { end, by, lasted } => {
            row.name(end.letter()).name(by.name()).number(nanos(*lasted));
        }
        EventKind::Sampled(sample) => {
            row.name(sample.end.letter()).maybe_name(sample.ca_state.map(CaState::name));
            for value in sample.values() {
                row.maybe(value);
            }
        }
        EventKind::Marked { end, mark } => {
            row.maybe_name(Some(end.letter())).name(mark.name()).maybe(mark.size().map(Bytes::get));
        }
        EventKind::Missed { events } => {
            row.maybe_name(None).name(MISSED).maybe(Some(*events));
        }
        _ => {}
    }
}

fn write_segment(row: &mut Row<'_>, segment: &Segment, dropped: Option<DropReason>) {
    let sack = segment.sack.as_slice().iter().flat_map(|block| [block.start.0, block.end.0]);
    row.name(segment.from.letter())
        .number(segment.frame)
        .number(segment.flags.0)
        .signed(segment.seq.0)
        .number(segment.len)
        .maybe_signed(segment.ack.map(|ack| ack.0))
        .number(segment.window)
        .maybe(segment.mss)
        .maybe(segment.window_scale)
        .number(u8::from(segment.sack_permitted))
        .maybe(segment.timestamps.map(|stamps| stamps.val))
        .maybe(segment.timestamps.map(|stamps| stamps.ecr))
        .list(sack)
        .maybe(segment.ip.id)
        .number(segment.ip.ttl)
        .number(segment.ip.ecn.bits())
        .maybe_name(dropped.map(DropReason::name));
}

/// The content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are events")]
pub enum RowEvent {
    Open(FlowId, FlowKey),
    Event(FlowId, Event),
    Close(FlowId, FlowEnd),
}

/// Reads a row of a table.
pub fn read(table: Table, row: &mut Cells<'_>) -> Result<RowEvent, BadCell> {
    let _nr: u64 = row.number()?;
    if table == Table::Flows {
        return read_flow(row);
    }
    let at = Instant::from_nanos(row.signed(MOST_NANOS)?);
    let flow = FlowId(row.number()?);
    let kind = match table {
        Table::Flows | Table::Packets => read_segment(row)?,
        Table::Calls => {
            let end = row.name(end)?;
            let writes = row.name(|name| match name {
                "write" => Some(true),
                "read" => Some(false),
                _ => None,
            })?;
            let amount = Bytes::new(row.number()?);
            if writes { EventKind::Written { end, amount } } else { EventKind::Read { end, amount } }
        }
        Table::Waits => {
            let (end, on) = (row.name(end)?, row.name(|name| name.parse::<Wait>().ok())?);
            let lasted = Duration::from_nanos(row.number()?);
            let amount = Bytes::new(row.number()?);
            EventKind::Waited { end, on, lasted, amount, times: row.number()? }
        }
        Table::Holds => {
            let (end, by) = (row.name(end)?, row.name(|name| name.parse::<Hold>().ok())?);
            EventKind::Held { end, by, lasted: Duration::from_nanos(row.number()?) }
        }
        Table::Marks => read_mark(row)?,
        Table::Samples => {
            let mut sample = SocketSample::unknown(row.name(end)?);
            sample.ca_state = row.maybe_name(|name| name.parse().ok())?;
            for value in sample.values_mut() {
                *value = row.maybe()?;
            }
            EventKind::Sampled(sample)
        }
    };
    Ok(RowEvent::Event(flow, Event { at, kind }))
}

fn read_mark(row: &mut Cells<'_>) -> Result<EventKind, BadCell> {
    let bad = |column: &str, what| BadCell { column: column.to_owned(), what };
    let end = row.maybe_name(end)?;
    let name = row.name(|name| Some(name.to_owned()))?;
    let value: Option<u64> = row.maybe()?;
    match (end, value) {
        (None, Some(events)) if name == MISSED => Ok(EventKind::Missed { events }),
        (Some(end), value) => {
            let mark = Mark::of(&name, value.map(Bytes::new));
            let mark =
                mark.ok_or_else(|| bad("mark", "a name that is not known, or not with such a value"))?;
            Ok(EventKind::Marked { end, mark })
        }
        (None, _) => Err(bad("end", "absent where there must be one")),
    }
}

fn read_flow(row: &mut Cells<'_>) -> Result<RowEvent, BadCell> {
    let flow = FlowId(row.number()?);
    let opens = row.name(|name| match name {
        "opened" => Some(true),
        "closed" => Some(false),
        _ => None,
    })?;
    let mut endpoint = || -> Result<Option<Endpoint>, BadCell> {
        let address = row.maybe_name(|text| text.parse::<IpAddr>().ok())?;
        let port = row.maybe()?;
        Ok(address.zip(port).map(|(address, port)| Endpoint { address, port }))
    };
    let (a, b) = (endpoint()?, endpoint()?);
    let occurrence = row.maybe()?;
    let why = row.maybe_name(|name| ENDS.iter().find(|(_, text)| *text == name).map(|(end, _)| *end))?;
    match (opens, a, b, occurrence, why) {
        (true, Some(a), Some(b), Some(occurrence), None) => {
            Ok(RowEvent::Open(flow, FlowKey { a, b, occurrence }))
        }
        (false, None, None, None, Some(why)) => Ok(RowEvent::Close(flow, why)),
        _ => Err(BadCell { column: "event".to_owned(), what: "not with these other columns" }),
    }
}

fn read_segment(row: &mut Cells<'_>) -> Result<EventKind, BadCell> {
    let from = row.name(end)?;
    let frame = row.number()?;
    let flags = Flags(row.number()?);
    let mut segment = Segment::new(from, flags, StreamOffset(row.signed(MOST_OFFSET)?), row.number()?);
    segment.frame = frame;
    segment.ack = row.maybe_signed(MOST_OFFSET)?.map(StreamOffset);
    segment.window = row.number()?;
    segment.mss = row.maybe()?;
    segment.window_scale = row.maybe()?;
    segment.sack_permitted = row.number::<u8>()? != 0;
    let (val, ecr) = (row.maybe()?, row.maybe()?);
    segment.timestamps = val.zip(ecr).map(|(val, ecr)| Timestamps { val, ecr });
    segment.sack = read_sack(row)?;
    segment.ip = IpFacts { id: row.maybe()?, ttl: row.number()?, ecn: Ecn::from_bits(row.number()?) };
    let dropped: Option<DropReason> = row.maybe_name(|name| name.parse().ok())?;
    Ok(dropped.map_or(EventKind::Seen(segment), |why| EventKind::Dropped(segment, why)))
}

fn read_sack(row: &mut Cells<'_>) -> Result<SackBlocks, BadCell> {
    let mut sack = SackBlocks::NONE;
    let mut start = None;
    let mut fits = true;
    row.list(MOST_OFFSET, |edge| match start.take() {
        None => start = Some(edge),
        Some(first) => {
            fits &= sack.push(SackBlock { start: StreamOffset(first), end: StreamOffset(edge) });
        }
    })?;
    let whole = fits && start.is_none();
    if whole { Ok(sack) } else { Err(BadCell { column: "sack".to_owned(), what: "not at most four blocks" }) }
}
