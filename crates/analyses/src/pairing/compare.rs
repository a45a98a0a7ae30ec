//! What became of each packet of one direction.

use super::clock::{Alignment, Transit};
use super::matching::{Lane, Matches, NONE};
use super::record::Record;
use super::report::{DirectionPair, OneWay, Quantiles, Queueing, Tally};
use crate::flow::SYN_TIMER;
use crate::lateness::is_before;
use crate::limits::thresholds::DELAYED_ACK_NS;
use slowpath_model::{End, Instant};
use std::collections::BTreeMap;
use std::time::Duration;

/// One direction, matched, and far's records of the other direction.
pub(super) struct Compared<'a, 'b> {
    pub from: End,
    pub lane: &'a Lane<'b>,
    pub matches: &'a Matches,
    pub transit: &'a Transit<'a>,
    pub answers: &'a [Record],
}

impl Compared<'_, '_> {
    pub fn direction(&self) -> DirectionPair {
        let progress = Progress::of(self.answers);
        let mut direction = self.fates(&progress);
        let delays = self.delays();
        (direction.overtaken, direction.overtaken_by) = self.overtaken();
        (direction.ignored, direction.ignored_stale) = self.ignored(&progress);
        direction.delay = delays;
        direction.answer = Quantiles::of(self.answer_times());
        if !self.is_beside_receiver(&direction) {
            direction.lost_beyond = std::mem::take(&mut direction.ignored);
            direction.ignored_stale = 0;
        }
        direction
    }

    /// A host answers its own tap at once, at least now and then, whatever the path adds on the other side.
    fn is_beside_receiver(&self, direction: &DirectionPair) -> bool {
        const AT_ONCE: i64 = 2_000_000;
        let between = self.transit.alignment.and_then(|alignment| alignment.stretches.first());
        let round_trip = between.map_or(0, |stretch| stretch.round_trip.as_nanos() as i64);
        direction
            .answer
            .is_some_and(|answer| answer.min_ns < AT_ONCE && answer.min_ns.saturating_mul(5) < round_trip)
    }

    /// Counts what arrived, what was lost, and what a recording missed.
    fn fates(&self, progress: &Progress) -> DirectionPair {
        let (lane, matches) = (self.lane, self.matches);
        let edges = self.edges();
        let [mut packets, mut data_packets, mut arrived, mut outside] = [0u64; 4];
        let [mut lost_data, mut lost_syns] = [0u64; 2];
        let (mut lost, mut missed_far) = (Vec::new(), Vec::new());
        for (index, record) in (0u32..).zip(lane.near.records) {
            if !matches.copies.is_empty() && matches.copies.binary_search(&index).is_ok() {
                continue;
            }
            let first = matches.first_packet[index as usize];
            for number in 0..matches.first_packet[index as usize + 1] - first {
                let place = if record.is_data() { lane.packet_start(record, number) } else { record.place() };
                let compared = if record.is_data() { lane.compared(place) } else { lane.compared_ack(place) };
                if !compared {
                    continue;
                }
                let here = matches.arrived.has(first + number);
                if !here && !edges.passes_far(lane.near.wall(index), self.transit) {
                    outside += 1;
                    continue;
                }
                packets += 1;
                data_packets += u64::from(record.is_data());
                arrived += u64::from(here);
                if here {
                    continue;
                }
                if record.is_data() && self.was_missed(index, place, progress) {
                    missed_far.push((record.at(), 1));
                } else {
                    lost.push((record.at(), 1));
                    lost_data += u64::from(record.is_data());
                    lost_syns += u64::from(record.is_syn());
                }
            }
        }
        let late_syns = self.late_syns();
        let mut missed_near = Vec::new();
        for (far, count) in &matches.only_far {
            let record = lane.far.record(*far);
            let compared = if record.is_data() {
                lane.compared(record.seq() - lane.shift)
            } else {
                lane.compared_ack(record.place() - lane.ack_shift)
            };
            if !compared {
                continue;
            }
            if edges.passed_near(lane.far.wall(*far), self.transit) {
                missed_near.push((record.at(), u64::from(*count)));
            } else {
                outside += u64::from(*count);
            }
        }
        let twice =
            matches.twice.iter().map(|(far, n)| (lane.far.record(*far).at(), u64::from(*n))).collect();
        DirectionPair {
            from: self.from,
            near: self.transit.near,
            packets,
            data_packets,
            arrived,
            lost: Tally::of(lost),
            lost_data,
            lost_syns,
            late_syns,
            missed_far: Tally::of(missed_far),
            missed_near: Tally::of(missed_near),
            twice: Tally::of(twice),
            copies_near: matches.copies.len() as u64,
            overtaken: Tally::default(),
            overtaken_by: Duration::ZERO,
            ignored: Tally::default(),
            ignored_stale: 0,
            lost_beyond: Tally::default(),
            outside,
            told_by_time: matches.by_time,
            delay: None,
            answer: None,
        }
    }

    /// SYNs that took far longer than other packets.
    fn late_syns(&self) -> u64 {
        let Some(shortest) = self.transits().map(|(_, taken)| taken).min() else { return 0 };
        let syns = self.transits().filter(|(far, _)| self.lane.far.record(*far).is_syn());
        syns.filter(|(_, taken)| taken.saturating_sub(shortest) > SYN_TIMER).count() as u64
    }

    /// The matched far records, and how long each was on its way, in far's order.
    fn transits(&self) -> impl DoubleEndedIterator<Item = (u32, i64)> {
        self.lane.transits(self.matches, self.transit)
    }

    fn edges(&self) -> Edges {
        const AROUND: usize = 64;
        let (near, far) = (self.lane.near.span, self.lane.far.span);
        let taken = || self.transits().map(|(_, taken)| taken);
        let unseen = if self.transit.is_known() { self.transit.shortest } else { 0 };
        Edges {
            near,
            far,
            at_first: taken().take(AROUND).max().unwrap_or(unseen),
            at_last: taken().rev().take(AROUND).max().unwrap_or(unseen),
        }
    }

    /// Whether the packet of near record `index` that starts at `place` arrived though far does not have it: its data
    /// was acknowledged before any that far has, and no later transmission can be the acknowledged one.
    fn was_missed(&self, index: u32, place: i64, progress: &Progress) -> bool {
        let lane = self.lane;
        let record = lane.near.record(index);
        let end = lane.size(record).map_or(record.end(), |mss| record.end().min(place + mss));
        let Some(acknowledged) = progress.reached(end + lane.shift) else { return false };
        let seen = lane.far.covering(place + lane.shift).map(|far| lane.far.record(far).at()).min();
        if seen.is_some_and(|seen| seen <= acknowledged) {
            return false;
        }
        let acknowledged = acknowledged.saturating_add(lane.far.epoch);
        let in_time = |near: u32| {
            self.transit.at_far(lane.near.wall(near)).saturating_add(self.transit.shortest) <= acknowledged
        };
        let later = lane.near.covering(place).filter(|other| *other > index);
        let later_did = later.into_iter().any(|other| {
            let first = self.matches.first_packet[other as usize];
            let number = first + lane.packet_at(lane.near.record(other), place);
            !self.matches.arrived.has(number)
                && self.matches.copies.binary_search(&other).is_err()
                && in_time(other)
        });
        in_time(index) && !later_did
    }

    /// Packets that arrived after one sent later.
    fn overtaken(&self) -> (Tally, Duration) {
        let (mut late, mut longest) = (Vec::new(), 0);
        // Each arrival that was sent later than all before it.
        let mut leaders: Vec<(u32, i64)> = Vec::new();
        let mut twice = self.matches.twice.iter().map(|(far, _)| *far).peekable();
        for (far, partner) in (0u32..).zip(&self.matches.partner) {
            while twice.next_if(|index| *index < far).is_some() {}
            if *partner == NONE || twice.peek() == Some(&far) {
                continue;
            }
            let at = self.lane.far.record(far).at();
            let behind = leaders.partition_point(|(leader, _)| leader <= partner);
            match leaders.get(behind) {
                Some((_, since)) => {
                    late.push((at, 1));
                    longest = longest.max(at - since);
                }
                None if leaders.last().is_none_or(|(leader, _)| leader < partner) => {
                    leaders.push((*partner, at));
                }
                None => {}
            }
        }
        (Tally::of(late), Duration::from_nanos(longest.max(0).unsigned_abs()))
    }

    /// Packets that came again though they had passed far before, while the receiver kept asking for them.
    fn ignored(&self, progress: &Progress) -> (Tally, u64) {
        /// An ACK on its way through the host when the packet passes does not cover it yet.
        const TAKEN_IN: i64 = 5_000_000;
        let far = &self.lane.far;
        let (mut ignored, mut stale) = (Vec::new(), 0);
        for pair in far.data.windows(2) {
            let (first, again) = (far.record(pair[0]), far.record(pair[1]));
            let partners = [0, 1].map(|n| self.matches.partner[pair[n] as usize]);
            if first.seq() != again.seq() || partners.contains(&NONE) || partners[0] == partners[1] {
                continue;
            }
            // No ACK since is a refusal, and so is an ACK soon after the packet that does not cover it.
            let asked = progress.before(again.at());
            if let Some((at, ack)) = asked
                && (first.seq()..first.end()).contains(&ack)
                && (at > first.at() + TAKEN_IN || again.at() > first.at() + DELAYED_ACK_NS)
            {
                ignored.push((first.at(), 1));
                stale += u64::from(self.is_stale(pair[0]));
            }
        }
        (Tally::of(ignored), stale)
    }

    /// Whether a packet with a later timestamp came before far record `index`, so that the receiver may take this one
    /// for a packet of an earlier connection (PAWS: RFC 7323, section 5).
    fn is_stale(&self, index: u32) -> bool {
        const BACK: usize = 256;
        let index = index as usize;
        let before = &self.lane.far.records[index.saturating_sub(BACK)..index];
        self.lane.far.records[index]
            .tsval()
            .is_some_and(|own| before.iter().filter_map(Record::tsval).any(|other| is_before(own, other)))
    }

    fn delays(&self) -> Option<OneWay> {
        const BINS: i64 = 512;
        let lane = self.lane;
        let delay_of = |(far, near)| {
            let taken = self.transit.delay(lane.near.wall(near), lane.far.wall(far))?;
            Some((near, taken))
        };
        let delays = || self.matches.pairs().filter_map(delay_of);
        let samples: Vec<i64> = delays().map(|(_, taken)| taken).collect();
        let delay = Quantiles::of(samples)?;
        let (first, last) = (lane.near.records.first()?.at(), lane.near.records.last()?.at());
        let width = (last - first).max(0) / BINS + 1;
        let mut bins: Vec<Option<(u64, i64, i64, i64)>> = vec![None; BINS as usize];
        for (near, taken) in delays() {
            let bin = ((lane.near.record(near).at() - first) / width).clamp(0, BINS - 1) as usize;
            let queued = taken.saturating_sub(delay.min_ns);
            let (count, min, sum, max) = bins[bin].unwrap_or((0, i64::MAX, 0, 0));
            bins[bin] = Some((count + 1, min.min(queued), sum.saturating_add(queued), max.max(queued)));
        }
        let nanos = |nanos: i64| Duration::from_nanos(nanos.max(0).unsigned_abs());
        let queueing = (0i64..).zip(bins).filter_map(|(n, bin)| {
            let (packets, min, sum, max) = bin?;
            Some(Queueing {
                from: Instant::from_nanos(first + n * width),
                packets,
                min: nanos(min),
                mean: nanos(sum / packets as i64),
                max: nanos(max),
            })
        });
        let queueing_p95 = nanos(delay.p95_ns - delay.min_ns);
        Some(OneWay {
            delay,
            uncertainty: self.transit.alignment.map(Alignment::uncertainty).unwrap_or_default(),
            queueing: queueing.collect(),
            queueing_step: nanos(width),
            queueing_p95,
        })
    }

    /// From the last arrival that an ACK covers to the ACK.
    fn answer_times(&self) -> Vec<i64> {
        let mut samples = Vec::new();
        // By end offset, when the data not acknowledged yet arrived.
        let mut arrivals: BTreeMap<i64, i64> = BTreeMap::new();
        let mut data = self.lane.far.records.iter().filter(|record| record.is_data()).peekable();
        let mut reached = i64::MIN;
        for answer in self.answers {
            let Some(ack) = answer.ack() else { continue };
            while let Some(record) = data.next_if(|record| record.at() <= answer.at()) {
                if record.end() > reached {
                    arrivals.entry(record.end()).or_insert(record.at());
                }
            }
            if ack <= reached {
                continue;
            }
            reached = ack;
            let mut latest = None;
            while let Some(first) = arrivals.first_entry().filter(|first| *first.key() <= ack) {
                latest = latest.max(Some(first.remove()));
            }
            samples.extend(latest.map(|at| answer.at() - at));
        }
        samples
    }
}

/// Where the recordings begin and end, on their wall clocks, and how long packets took there.
struct Edges {
    near: (i64, i64),
    far: (i64, i64),
    at_first: i64,
    at_last: i64,
}

impl Edges {
    /// Whether a packet that passed near at `near` would pass far while far was being recorded.
    fn passes_far(&self, near: i64, transit: &Transit<'_>) -> bool {
        let there = transit.at_far(near);
        there.saturating_add(transit.shortest) >= self.far.0
            && there.saturating_add(self.at_last) <= self.far.1
    }

    /// Whether a packet that passed far at `far` must have passed near while near was being recorded.
    fn passed_near(&self, far: i64, transit: &Transit<'_>) -> bool {
        far - self.at_first >= transit.at_far(self.near.0)
            && far - transit.shortest <= transit.at_far(self.near.1)
    }
}

/// How far the receiver had acknowledged, and when, by the recording next to it.
struct Progress {
    /// Every ACK: when, and the most acknowledged by then.
    steps: Vec<(i64, i64)>,
}

impl Progress {
    fn of(answers: &[Record]) -> Self {
        let mut reached = (i64::MIN, i64::MIN);
        let steps = answers.iter().filter_map(|record| {
            reached = (reached.0.max(record.at()), reached.1.max(record.ack()?));
            Some(reached)
        });
        Self { steps: steps.collect() }
    }

    /// When `place` was acknowledged.
    fn reached(&self, place: i64) -> Option<i64> {
        let behind = self.steps.partition_point(|(_, ack)| *ack < place);
        self.steps.get(behind).map(|(at, _)| *at)
    }

    /// The last ACK before `at`.
    fn before(&self, at: i64) -> Option<(i64, i64)> {
        let behind = self.steps.partition_point(|(when, _)| *when < at);
        behind.checked_sub(1).map(|last| self.steps[last])
    }
}
