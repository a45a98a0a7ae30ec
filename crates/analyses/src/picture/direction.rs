//! What one end sent, and the answers to it.

use super::thinned::Thinned;
use super::{Answer, Data, Flight, Mark, Packet, Picture, RoundTrip, Sacked};
use crate::label::Label;
use crate::outstanding::SpuriousRetransmission;
use slowpath_model::{Flags, Instant, Segment, StreamOffset};
use std::collections::VecDeque;
use std::time::Duration;

/// Segments whose ACK is awaited, to measure RTTs; those beyond are not measured.
const MOST_AWAITED: usize = 4096;

/// The marks of one direction.
#[derive(Debug, Default)]
pub(super) struct Direction {
    fresh: Thinned<Data>,
    again: Thinned<Data>,
    answers: Thinned<Answer>,
    sacks: Thinned<Sacked>,
    round_trips: Thinned<RoundTrip>,
    flights: Thinned<Flight>,
    /// First and last data.
    data: Option<(Instant, Instant)>,
    /// The latest time seen: a clock that steps back does not take the picture with it.
    last: Option<Instant>,
    /// Ends of new segments and when they were sent. Cleared at each retransmission (Karn's algorithm).
    awaited: VecDeque<(StreamOffset, Instant)>,
    acknowledged: Option<StreamOffset>,
    /// The first byte of data seen, and the one after the highest.
    reached: Option<(StreamOffset, StreamOffset)>,
}

impl Direction {
    /// How long its data spans.
    pub fn span(&self) -> Duration {
        self.data.and_then(|(first, last)| last.since(first)).unwrap_or_default()
    }

    /// The marks so far.
    pub fn picture(&self) -> Picture {
        Picture {
            fresh: self.fresh.marks().to_vec(),
            again: self.again.marks().to_vec(),
            answers: self.answers.marks().to_vec(),
            sacks: self.sacks.marks().to_vec(),
            round_trips: self.round_trips.marks().to_vec(),
            flights: self.flights.marks().to_vec(),
        }
    }

    fn forward(&mut self, at: Instant) -> Instant {
        let at = self.last.map_or(at, |last| last.max(at));
        self.last = Some(at);
        at
    }

    /// This end sent data.
    pub fn on_data_segment(&mut self, at: Instant, segment: &Segment, label: Label, most: usize) {
        let at = self.forward(at);
        // The SYN takes a sequence number before the data it may carry (RFC 7413).
        let low = segment.seq + u32::from(segment.flags.has(Flags::SYN));
        let high = low + segment.len;
        let mark = Mark::at(at, Data { low, high, label, packet: Some(Packet::of(segment)) });
        self.data = Some((self.data.map_or(at, |(first, _)| first), at));
        let (first, highest) = self.reached.unwrap_or((low, high));
        self.reached = Some((first, highest.max(high)));
        if label == Label::New {
            self.fresh.push(mark, most);
            if self.awaited.len() < MOST_AWAITED {
                self.awaited.push_back((high, at));
            }
        } else {
            self.again.push(mark, most);
            self.awaited.clear();
        }
    }

    /// A retransmission of this end was spurious.
    pub fn found_spurious(&mut self, spurious: &SpuriousRetransmission, most: usize) {
        let SpuriousRetransmission { at, low, high, .. } = *spurious;
        let was = |data: &Data| data.label == Label::Retransmission && data.low < high && low < data.high;
        let now = |alone: Option<&Data>| Data {
            low,
            high,
            label: Label::Spurious,
            packet: alone.and_then(|data| data.packet),
        };
        self.again.correct(at, was, now, most);
    }

    /// The other end sent a segment, which may acknowledge.
    pub fn answered(&mut self, at: Instant, segment: &Segment, most: usize) {
        let Some(ack) = segment.ack else { return };
        if segment.flags.has(Flags::RST) {
            return;
        }
        let at = self.forward(at);
        let window = u32::from(segment.window);
        let answer = Answer {
            first: ack,
            highest: ack,
            window,
            window_min: window,
            window_max: window,
            unscaled: segment.flags.has(Flags::SYN),
            frame: segment.frame,
            flags: segment.flags,
        };
        // An answer without news would only take the place of one with news.
        let news = self.answers.marks().last().is_none_or(|last| {
            let last = last.shows;
            last.highest != ack || last.window != window || last.unscaled != answer.unscaled
        });
        if news {
            self.answers.push(Mark::at(at, answer), most);
        }
        if let Some(block) = segment.sack.as_slice().first() {
            // The first block reports what came last, or came twice (RFC 2018, section 4; RFC 2883, section 4).
            let inside = segment.sack.as_slice().get(1);
            let twice = block.end <= ack
                || inside.is_some_and(|outer| outer.start <= block.start && block.end <= outer.end);
            let sacked = Sacked { low: block.start, high: block.end, twice };
            self.sacks.push(Mark::at(at, sacked), most);
        }
        self.measure(at, ack, most);
    }

    fn measure(&mut self, at: Instant, ack: StreamOffset, limit: usize) {
        if self.acknowledged.is_some_and(|before| ack <= before) {
            return;
        }
        if let Some((first, highest)) = self.reached {
            let floor = self.acknowledged.map_or(first, |before| before.max(first));
            let most = u64::try_from(highest.distance_from(floor)).unwrap_or(0);
            self.flights.push(Mark::at(at, Flight { most }), limit);
        }
        self.acknowledged = Some(ack);
        let mut newest = None;
        while let Some((end, sent)) = self.awaited.front().copied().filter(|(end, _)| *end <= ack) {
            self.awaited.pop_front();
            newest = Some((end, sent));
        }
        // Only the segment that triggered the ACK: those before it may have waited for a delayed ACK.
        let Some((_, sent)) = newest.filter(|(end, _)| *end == ack) else { return };
        if let Some(time) = at.since(sent) {
            self.round_trips.push(Mark::at(at, RoundTrip { min: time, max: time }), limit);
        }
    }
}
