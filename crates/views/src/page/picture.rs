//! The time–sequence picture in columns.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Label;
use slowpath_analyses::picture::{Answer, Data, Mark, Packet, Picture};
use slowpath_model::Flags;

/// The time–sequence picture of what the sender sent.
#[derive(Serialize, JsonSchema)]
pub struct PictureData {
    /// Data seen for the first time.
    pub fresh: Strokes,
    /// Data retransmitted, reordered or duplicated.
    pub again: Strokes,
    /// The receiver's ACKs and windows.
    pub answers: Answers,
    /// Selective acknowledgments.
    pub sacks: Sacks,
    /// RTTs from the place of recording to the receiver.
    pub round_trips: RoundTrips,
    /// What was in flight, at each ACK that acknowledged something new.
    pub flights: Flights,
    /// How many marks stand for several packets.
    pub merged: u64,
    /// Whether the scale of the window is known; where not, windows may be larger than shown.
    pub window_known: bool,
}

/// Data: a row is a segment, or several that were merged.
#[derive(Serialize, JsonSchema)]
pub struct Strokes {
    /// The first segment's time.
    pub from_ns_delta: Vec<i64>,
    /// From the first segment to the last.
    pub lasted_ns: Option<Vec<u64>>,
    /// The lowest byte.
    pub low_delta: Vec<i64>,
    /// From there to the byte after the highest.
    pub length: Vec<u64>,
    /// How many segments.
    pub count: Option<Vec<u32>>,
    /// Places in `labels`.
    pub label: Option<Vec<usize>>,
    /// Their packets; `null` if most rows are of several.
    pub packets: Option<Packets>,
}

/// What the header of a row's packet says, besides its sequence numbers: of several packets, that of the first.
#[derive(Serialize, JsonSchema)]
pub struct Packets {
    /// The frame's number in the recording, from 1; 0 if it is not known which it was.
    pub frame_delta: Vec<i64>,
    /// The control bits as on the wire; `null` if each has the ACK bit alone.
    pub flags: Option<Vec<u16>>,
    /// The acknowledgment number, relative to the first byte of its direction; that of the row before without the ACK
    /// bit.
    pub ack_delta: Vec<i64>,
    /// The window in bytes.
    pub window_delta: Vec<i64>,
}

/// The receiver's ACKs and windows: a row is an ACK that says something new, or several that were merged.
#[derive(Serialize, JsonSchema)]
pub struct Answers {
    /// The first ACK's time.
    pub from_ns_delta: Vec<i64>,
    /// From the first ACK to the last.
    pub lasted_ns: Option<Vec<u64>>,
    /// The highest acknowledgment.
    pub ack_delta: Vec<i64>,
    /// How far below it the first one was.
    pub below: Option<Vec<i64>>,
    /// The last window's difference to the one in the row before, in bytes.
    pub window_delta: Vec<i64>,
    /// How far below the last window the smallest was.
    pub window_below: Option<Vec<i64>>,
    /// How many ACKs.
    pub count: Option<Vec<u32>>,
    /// The number of the first one's frame, from 1; `null` if most rows are of several.
    pub frame_delta: Option<Vec<i64>>,
    /// Its control bits as on the wire; `null` if each has the ACK bit alone.
    pub flags: Option<Vec<u16>>,
}

/// Selective acknowledgments: a row is a block, or several that were merged.
#[derive(Serialize, JsonSchema)]
pub struct Sacks {
    /// The first one's time.
    pub from_ns_delta: Vec<i64>,
    /// From the first to the last.
    pub lasted_ns: Option<Vec<u64>>,
    /// The lowest byte.
    pub low_delta: Vec<i64>,
    /// From there to the byte after the highest.
    pub length: Vec<i64>,
    /// Whether it says that data came twice: 1, otherwise 0.
    pub twice: Option<Vec<u8>>,
}

/// RTTs: a row is one, or several that were merged.
#[derive(Serialize, JsonSchema)]
pub struct RoundTrips {
    /// When the first was complete.
    pub from_ns_delta: Vec<i64>,
    /// The shortest.
    pub min_ns: Vec<u64>,
    /// How much longer the longest was.
    pub spread_ns: Option<Vec<u64>>,
}

/// What was sent and not acknowledged: a row is an ACK, just before it, or several that were merged.
#[derive(Serialize, JsonSchema)]
pub struct Flights {
    /// The first ACK's time.
    pub from_ns_delta: Vec<i64>,
    /// The most in flight, in bytes.
    pub most: Vec<u64>,
}

impl PictureData {
    /// The columns of `picture`, whose sender and receiver shift their window fields by `shifts`.
    pub(super) fn of(picture: &Picture, shifts: [u8; 2], window_known: bool) -> Self {
        Self {
            fresh: Strokes::of(&picture.fresh, shifts[0]),
            again: Strokes::of(&picture.again, shifts[0]),
            answers: Answers::of(&picture.answers, shifts[1]),
            sacks: Sacks {
                from_ns_delta: deltas(picture.sacks.iter().map(|mark| mark.from.nanos())),
                lasted_ns: unless_all(0, picture.sacks.iter().map(lasted)),
                low_delta: deltas(picture.sacks.iter().map(|mark| mark.shows.low.0)),
                length: picture
                    .sacks
                    .iter()
                    .map(|mark| mark.shows.high.distance_from(mark.shows.low))
                    .collect(),
                twice: unless_all(0, picture.sacks.iter().map(|mark| u8::from(mark.shows.twice))),
            },
            round_trips: RoundTrips {
                from_ns_delta: deltas(picture.round_trips.iter().map(|mark| mark.from.nanos())),
                min_ns: picture
                    .round_trips
                    .iter()
                    .map(|mark| slowpath_model::nanos(mark.shows.min))
                    .collect(),
                spread_ns: unless_all(
                    0,
                    picture
                        .round_trips
                        .iter()
                        .map(|mark| slowpath_model::nanos(mark.shows.max.saturating_sub(mark.shows.min))),
                ),
            },
            flights: Flights {
                from_ns_delta: deltas(picture.flights.iter().map(|mark| mark.from.nanos())),
                most: picture.flights.iter().map(|mark| mark.shows.most).collect(),
            },
            merged: picture.merged() as u64,
            window_known,
        }
    }
}

impl Packets {
    fn of(data: &[Mark<Data>], shift: u8) -> Self {
        let packets = || data.iter().map(|mark| mark.shows.packet);
        let scaled = |packet: Packet| {
            i64::from(packet.window) << if packet.flags.has(Flags::SYN) { 0 } else { shift.min(14) }
        };
        let mut ack = 0;
        Self {
            frame_delta: deltas(
                packets().map(|packet| packet.map_or(0, |packet| packet.frame.cast_signed())),
            ),
            flags: unless_all(ACK, packets().map(|packet| packet.map_or(ACK, |packet| packet.flags.0))),
            ack_delta: deltas(packets().map(|packet| {
                ack = packet.and_then(|packet| packet.ack).map_or(ack, |ack| ack.0);
                ack
            })),
            window_delta: deltas(packets().map(|packet| packet.map_or(0, scaled))),
        }
    }
}

/// The control bits that nearly every segment has alone.
const ACK: u16 = Flags::ACK.0;

/// Whether most marks are of one packet, so that it is worth saying which.
fn are_single<S>(marks: &[Mark<S>]) -> bool {
    marks.iter().filter(|mark| mark.count == 1).count() * 2 > marks.len()
}

impl Strokes {
    fn of(data: &[Mark<Data>], shift: u8) -> Self {
        let label =
            |mark: &Mark<Data>| Label::ALL.iter().position(|label| *label == mark.shows.label).unwrap_or(0);
        let length =
            |mark: &Mark<Data>| u64::try_from(mark.shows.high.distance_from(mark.shows.low)).unwrap_or(0);
        Self {
            from_ns_delta: deltas(data.iter().map(|mark| mark.from.nanos())),
            lasted_ns: unless_all(0, data.iter().map(lasted)),
            low_delta: deltas(data.iter().map(|mark| mark.shows.low.0)),
            length: data.iter().map(length).collect(),
            count: unless_all(1, data.iter().map(|mark| mark.count)),
            label: unless_all(0, data.iter().map(label)),
            packets: are_single(data).then(|| Packets::of(data, shift)),
        }
    }
}

impl Answers {
    fn of(answers: &[Mark<Answer>], shift: u8) -> Self {
        let scaled = |answer: &Answer, window: u32| {
            i64::from(window) << if answer.unscaled { 0 } else { shift.min(14) }
        };
        let last = |mark: &Mark<Answer>| scaled(&mark.shows, mark.shows.window);
        let below = |mark: &Mark<Answer>| mark.shows.highest.distance_from(mark.shows.first);
        let window_below = |mark: &Mark<Answer>| last(mark) - scaled(&mark.shows, mark.shows.window_min);
        Self {
            from_ns_delta: deltas(answers.iter().map(|mark| mark.from.nanos())),
            lasted_ns: unless_all(0, answers.iter().map(lasted)),
            ack_delta: deltas(answers.iter().map(|mark| mark.shows.highest.0)),
            below: unless_all(0, answers.iter().map(below)),
            window_delta: deltas(answers.iter().map(last)),
            window_below: unless_all(0, answers.iter().map(window_below)),
            count: unless_all(1, answers.iter().map(|mark| mark.count)),
            frame_delta: are_single(answers)
                .then(|| deltas(answers.iter().map(|mark| mark.shows.frame.cast_signed()))),
            flags: unless_all(ACK, answers.iter().map(|mark| mark.shows.flags.0)),
        }
    }
}

fn lasted<S>(mark: &Mark<S>) -> u64 {
    u64::try_from(mark.to.nanos_since(mark.from)).unwrap_or(0)
}

/// The difference of each value to the one before.
pub(super) fn deltas(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut before = 0;
    values
        .map(|value| {
            let delta = value.wrapping_sub(before);
            before = value;
            delta
        })
        .collect()
}

/// The column, or `None` if every value is `usual`.
fn unless_all<T: PartialEq + Copy>(usual: T, values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let column: Vec<T> = values.collect();
    column.iter().any(|value| *value != usual).then_some(column)
}
