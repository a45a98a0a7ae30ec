//! The time–sequence picture in columns.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Label;
use slowpath_analyses::picture::{Answer, Picture, Stroke};
use slowpath_model::Instant;

/// The labels, new data first.
pub(super) const LABELS: [Label; 7] = [
    Label::New,
    Label::Retransmission,
    Label::Spurious,
    Label::OutOfOrder,
    Label::Duplicate,
    Label::KeepAlive,
    Label::WindowProbe,
];

/// The time–sequence picture of what the sender sent.
#[derive(Serialize, JsonSchema)]
pub struct PictureData {
    /// Data seen for the first time.
    pub fresh: Strokes,
    /// Data sent again, overtaken or doubled.
    pub again: Strokes,
    /// The receiver's ACKs and windows.
    pub answers: Answers,
    /// Selective acknowledgments.
    pub sacks: Sacks,
    /// Round trips from the place of recording to the receiver.
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

/// Round trips: a row is one, or several that were merged.
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
    /// Of `picture`, whose receiver shifts its window field by `shift`.
    pub(super) fn of(picture: &Picture, shift: u8, window_known: bool) -> Self {
        Self {
            fresh: Strokes::of(&picture.fresh),
            again: Strokes::of(&picture.again),
            answers: Answers::of(&picture.answers, shift),
            sacks: Sacks {
                from_ns_delta: deltas(picture.sacks.iter().map(|mark| mark.from.nanos())),
                lasted_ns: unless_all(0, picture.sacks.iter().map(|mark| lasted(mark.from, mark.to))),
                low_delta: deltas(picture.sacks.iter().map(|mark| mark.low.0)),
                length: picture.sacks.iter().map(|mark| mark.high.distance_from(mark.low)).collect(),
                twice: unless_all(0, picture.sacks.iter().map(|mark| u8::from(mark.twice))),
            },
            round_trips: RoundTrips {
                from_ns_delta: deltas(picture.round_trips.iter().map(|trip| trip.from.nanos())),
                min_ns: picture.round_trips.iter().map(|trip| crate::json::nanos(trip.min)).collect(),
                spread_ns: unless_all(
                    0,
                    picture
                        .round_trips
                        .iter()
                        .map(|trip| crate::json::nanos(trip.max.saturating_sub(trip.min))),
                ),
            },
            flights: Flights {
                from_ns_delta: deltas(picture.flights.iter().map(|flight| flight.from.nanos())),
                most: picture.flights.iter().map(|flight| flight.most).collect(),
            },
            merged: picture.merged,
            window_known,
        }
    }
}

impl Strokes {
    fn of(strokes: &[Stroke]) -> Self {
        let label = |stroke: &Stroke| LABELS.iter().position(|label| *label == stroke.label).unwrap_or(0);
        Self {
            from_ns_delta: deltas(strokes.iter().map(|stroke| stroke.from.nanos())),
            lasted_ns: unless_all(0, strokes.iter().map(|stroke| lasted(stroke.from, stroke.to))),
            low_delta: deltas(strokes.iter().map(|stroke| stroke.low.0)),
            length: strokes
                .iter()
                .map(|stroke| u64::try_from(stroke.high.distance_from(stroke.low)).unwrap_or(0))
                .collect(),
            count: unless_all(1, strokes.iter().map(|stroke| stroke.count)),
            label: unless_all(0, strokes.iter().map(label)),
        }
    }
}

impl Answers {
    fn of(answers: &[Answer], shift: u8) -> Self {
        let scaled = |answer: &Answer, window: u32| {
            i64::from(window) << if answer.unscaled { 0 } else { shift.min(14) }
        };
        let last = |answer: &Answer| scaled(answer, answer.window);
        Self {
            from_ns_delta: deltas(answers.iter().map(|answer| answer.from.nanos())),
            lasted_ns: unless_all(0, answers.iter().map(|answer| lasted(answer.from, answer.to))),
            ack_delta: deltas(answers.iter().map(|answer| answer.highest.0)),
            below: unless_all(0, answers.iter().map(|answer| answer.highest.distance_from(answer.first))),
            window_delta: deltas(answers.iter().map(last)),
            window_below: unless_all(
                0,
                answers.iter().map(|answer| last(answer) - scaled(answer, answer.window_min)),
            ),
            count: unless_all(1, answers.iter().map(|answer| answer.count)),
        }
    }
}

fn lasted(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.nanos_since(from)).unwrap_or(0)
}

/// Each value's difference to the one before.
fn deltas(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut before = 0;
    values
        .map(|value| {
            let delta = value.wrapping_sub(before);
            before = value;
            delta
        })
        .collect()
}

/// The column, or nothing where it says `usual` throughout.
fn unless_all<T: PartialEq + Copy>(usual: T, values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let column: Vec<T> = values.collect();
    column.iter().any(|value| *value != usual).then_some(column)
}
