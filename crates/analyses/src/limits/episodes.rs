//! Episodes of loss recovery: from the first retransmission until all that was outstanding then has arrived.

use crate::cause::Cause;
use crate::label::Label;
use crate::limits::thresholds;
use crate::outstanding::{Placed, SpuriousRetransmission};
use slowpath_model::{Instant, Segment, StreamOffset};

/// How much of a direction's data had arrived at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// When the sender learnt of it.
    pub at: Instant,
    /// In bytes, from the start of the sequence space.
    pub bytes: i64,
}

/// What its sender knew of a loss when it first repaired it.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Since when it knew.
    pub since: Instant,
    /// What had arrived before the first segment that was lost, if that is known.
    pub after: Option<Arrived>,
    /// The timer expired.
    pub timeout: bool,
    /// A timer expired, which is taken for that of a tail loss probe.
    pub probes: bool,
    /// The sender had nothing else to send.
    pub dry: bool,
    /// See [`Episode::needless`].
    pub needless: bool,
}

/// One episode.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// When the sender fell silent before it.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
    /// When the last of its retransmissions was sent.
    last_sent: Instant,
    /// How long it waited before what is taken for a tail loss probe, in nanoseconds; 0 if the first retransmission was none.
    probe_waited: i64,
    /// What had arrived before the first segment that was lost, if that is known.
    pub after: Option<Arrived>,
    /// Segments retransmitted.
    pub retransmitted: u32,
    /// How many of them were spurious.
    pub spurious: u32,
    /// What the retransmission timer retransmitted first, if it expired.
    timer: Option<StreamOffset>,
    /// That had arrived.
    timer_spurious: bool,
    /// The sender was told of nothing missing, by a receiver that would have: what it retransmits stops nothing.
    pub needless: bool,
    /// Some data was sent a third time.
    pub repeated: bool,
    /// The first retransmission was of the last data outstanding.
    pub tail: bool,
    /// The sender had nothing else to send then.
    dry: bool,
    /// The receiver reneged on data it had SACKed.
    pub reneged: bool,
    /// The receiver took back a part of its window, with data in flight beyond it.
    pub taken_back: bool,
    /// Other data that was outstanding then was lost: the next episode repaired it.
    lost_more: bool,
    /// Its first retransmission was of data that was outstanding in the last episode.
    follows: bool,
}

impl Episode {
    /// How long it took, in nanoseconds.
    pub const fn lasted(&self) -> i64 {
        self.to.nanos_since(self.from)
    }

    /// Whether half of its retransmissions or more were spurious.
    pub const fn is_spurious(&self) -> bool {
        self.spurious * 2 >= self.retransmitted
    }

    /// Whether the retransmission timer expired.
    pub const fn is_timeout(&self) -> bool {
        self.timer.is_some()
    }

    const fn timer_was_spurious(&self) -> bool {
        self.timer_spurious || self.spurious >= self.retransmitted
    }

    /// Whether it took no time from the transfer: nothing was missing, or a probe timer was too early, and the sender had
    /// nothing else to send.
    pub const fn costs_nothing(&self) -> bool {
        self.needless || self.spurious >= self.retransmitted && self.tail && self.dry && !self.is_timeout()
    }

    /// Whether a probe cost nothing, but the answer was late that it was sent for: it came far later than an RTT of `base`
    /// microseconds and a delayed ACK. One that comes an RTT after the probe may be the probe's own; then an ACK was lost.
    pub fn was_answered_late(&self, base: u32) -> bool {
        let base = i64::from(base) * 1000;
        let (part, of) = thresholds::TOO_SOON;
        let after_probe = self.to.nanos_since(self.last_sent);
        let is_probes_own =
            (base / of * part..=base / 2 * 3 + thresholds::LATE_ACK_NS).contains(&after_probe);
        self.costs_nothing()
            && !self.needless
            && base > 0
            && self.lasted() > 2 * base + thresholds::LATEST_DELAYED_ACK_NS
            && !is_probes_own
    }

    /// Its cause.
    pub const fn cause(&self) -> Cause {
        if self.taken_back {
            Cause::WindowTakenBack
        } else if self.reneged {
            Cause::SackReneging
        } else if self.is_timeout() && self.lost_more {
            Cause::Timeout
        } else if self.is_timeout() && self.is_spurious() && self.timer_was_spurious() {
            // Real losses may have been repaired in the same episode. After a timeout that was not spurious, a sender that
            // does not use SACK retransmits all that was outstanding.
            Cause::SpuriousTimeout
        } else if self.spurious >= self.retransmitted && self.tail {
            // No segment above it could have been reordered before it: a probe timer was too early (RFC 8985, section
            // 7).
            Cause::SpuriousTimeout
        } else if self.spurious >= self.retransmitted {
            Cause::Reordering
        } else if self.repeated && self.spurious == 0 {
            Cause::LostRetransmission
        } else if self.tail && self.retransmitted <= thresholds::TAIL_SEGMENTS {
            Cause::TailLoss
        } else if self.is_timeout() {
            Cause::Timeout
        } else {
            Cause::FastRecovery
        }
    }
}

/// The episodes of one direction, in order.
#[derive(Clone, Debug, Default)]
pub struct Episodes {
    done: Vec<Episode>,
    /// The current one, and the offset that ends it.
    open: Option<(Episode, StreamOffset)>,
    /// The highest offset that ended one.
    last_point: StreamOffset,
    count: u32,
    timeouts: u32,
    /// Neighbours were joined, so an episode may include time in which nothing was repaired.
    joined: bool,
}

/// Episodes kept; beyond that, neighbours are joined.
const MOST: usize = 4096;

impl Episodes {
    /// Whether a recovery is going on.
    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a recovery is going on in which something may be missing.
    pub fn is_repairing(&self) -> bool {
        self.open.as_ref().is_some_and(|(episode, _)| !episode.needless)
    }

    /// The receiver reports something missing.
    #[inline]
    pub fn note_missing(&mut self) {
        if let Some((episode, _)) = &mut self.open {
            episode.needless = false;
        }
    }

    /// How many there were.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How often the timer expired.
    pub const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The episodes, including the current one.
    pub fn all(&self) -> impl Iterator<Item = &Episode> {
        self.done.iter().chain(self.open.as_ref().map(|(episode, _)| episode))
    }

    /// Whether nothing was lost, or hardly anything: early segments passed late ones, and the sender took these for lost.
    pub fn are_of_reordering(&self) -> bool {
        let sum = |of: fn(&Episode) -> u32| self.all().map(of).sum::<u32>();
        let (retransmitted, spurious) = (sum(|one| one.retransmitted), sum(|one| one.spurious));
        retransmitted >= thresholds::RULE_LOSSES
            && f64::from(spurious) >= thresholds::EXCLUDES * f64::from(retransmitted)
            && !self.all().any(Episode::is_timeout)
    }

    /// The first episode that ends after `at`.
    pub fn around(&self, at: Instant) -> Option<&Episode> {
        let next = self.done.partition_point(|episode| episode.to <= at);
        self.done.get(next).or(self.open.as_ref().map(|(episode, _)| episode))
    }

    /// The episodes between two instants, each with its part of that time; none if neighbours were joined, since it is
    /// then unknown when one of them ended.
    pub fn between(&self, from: Instant, to: Instant) -> impl Iterator<Item = (Instant, Instant, &Episode)> {
        let next = self.done.partition_point(|episode| episode.to <= from);
        let done = self.done[next..].iter().map(|episode| (episode, episode.to));
        // The current one goes on.
        let all = done.chain(self.open.as_ref().map(|(episode, _)| (episode, to)));
        let are_exact = !self.joined;
        all.take_while(move |(episode, _)| are_exact && episode.from < to)
            .map(move |(episode, end)| (episode.from.max(from), end.min(to), episode))
            .filter(|(from, to, _)| from < to)
    }

    /// `segment` was retransmitted at `at`, because of `loss`; `nxt` is the highest offset sent.
    pub fn on_retransmission(
        &mut self,
        at: Instant,
        segment: &Segment,
        placed: &Placed,
        loss: &Loss,
        nxt: StreamOffset,
    ) {
        let Loss { since, after, timeout, probes, dry, needless } = *loss;
        self.timeouts += u32::from(timeout);
        let (episode, point) = self.open.get_or_insert_with(|| {
            self.count += 1;
            let last = self.done.last();
            let follows = |last: &Episode| {
                // Of a flight lost as a whole, a tap behind the loss saw nothing: a hole begins there.
                let begins_there = last.is_spurious() && segment.seq <= self.last_point;
                at.nanos_since(last.to) <= last.lasted() && (segment.end() <= self.last_point || begins_there)
            };
            let episode = Episode {
                from: last.map_or(since, |last| since.max(last.to)),
                to: at,
                last_sent: at,
                probe_waited: if probes { at.nanos_since(since) } else { 0 },
                after,
                retransmitted: 0,
                spurious: 0,
                timer: None,
                timer_spurious: false,
                needless: true,
                repeated: false,
                tail: placed.tail,
                dry,
                reneged: false,
                taken_back: false,
                lost_more: false,
                follows: last.is_some_and(follows),
            };
            (episode, nxt)
        });
        let (part, of) = thresholds::BACKED_OFF;
        if timeout
            && episode.retransmitted == 1
            && episode.probe_waited > 0
            && at.nanos_since(episode.last_sent) / part >= episode.probe_waited / of
        {
            // A probe does not back the timer off: the first was no probe.
            self.timeouts += 1;
        }
        (episode.to, episode.last_sent) = (at, at);
        episode.retransmitted += 1;
        // It had arrived already.
        episode.spurious += u32::from(placed.label == Label::Spurious);
        if timeout && episode.timer.is_none() {
            episode.timer = Some(segment.seq);
            episode.timer_spurious = placed.label == Label::Spurious;
        }
        episode.needless &= needless;
        episode.repeated |= placed.repeated;
        *point = (*point).max(segment.end());
    }

    /// The sender knows that all below `una` has arrived.
    #[inline]
    pub fn reached(&mut self, at: Instant, una: StreamOffset) {
        if self.is_open() {
            self.close(at, una);
        }
    }

    #[inline(never)]
    fn close(&mut self, at: Instant, una: StreamOffset) {
        // A sender that learns that all its retransmissions were spurious undoes the recovery (`tcp_may_undo`, 6.18).
        if let Some((episode, point)) = &mut self.open
            && (una >= *point || episode.spurious >= episode.retransmitted)
        {
            episode.to = at;
            let (episode, point) = (*episode, *point);
            self.open = None;
            self.last_point = self.last_point.max(point);
            // The timer's own retransmission may have been spurious: only the ACK of that segment was lost.
            let is_outage = episode.follows && !episode.is_spurious();
            if let Some(last) = self.done.last_mut().filter(|_| is_outage) {
                last.lost_more = true;
            }
            if self.done.len() == MOST {
                self.join();
            }
            self.done.push(episode);
        }
    }

    /// These retransmissions of the current or last episode were spurious.
    pub fn on_spurious(&mut self, found: &[SpuriousRetransmission]) {
        let latest = self.open.as_mut().map(|(episode, _)| episode).or(self.done.last_mut());
        if let Some(episode) = latest {
            let has = |at: StreamOffset| found.iter().any(|found| found.low <= at && at < found.high);
            episode.timer_spurious |= episode.timer.is_some_and(has);
            episode.spurious =
                episode.spurious.saturating_add(found.len() as u32).min(episode.retransmitted.max(1));
        }
    }

    /// The receiver reneged on data it had SACKed.
    pub const fn reneged(&mut self) {
        if let Some((episode, _)) = &mut self.open {
            episode.reneged = true;
        }
    }

    /// The receiver took back part of its window.
    pub const fn taken_back(&mut self) {
        if let Some((episode, _)) = &mut self.open {
            episode.taken_back = true;
        }
    }

    /// Joins each pair of neighbours into one, of the kind of the longer one.
    fn join(&mut self) {
        let joined = self.done.chunks(2).map(|pair| {
            let (first, last) = (pair[0], pair[pair.len() - 1]);
            let longer = if first.lasted() >= last.lasted() { first } else { last };
            Episode { from: first.from, to: last.to, after: first.after, ..longer }
        });
        self.done = joined.collect();
        self.joined = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{End, Flags};

    /// The segment that is `nth` turns out to have been retransmitted spuriously.
    fn found(nth: i64) -> SpuriousRetransmission {
        let [low, high] = [nth, nth + 1].map(|nth| StreamOffset(nth * 1_000));
        SpuriousRetransmission { at: Instant::START, frame: 0, low, high }
    }

    /// Of a hundred segments, of which the tap saw as many as `seen`, the timer retransmits the first, which had arrived; then
    /// so many others are retransmitted, from the one that is `next`.
    fn after_a_timeout(seen: i64, next: i64, others: i64) -> Episodes {
        const MS: i64 = 1_000_000;
        let at = |millis: i64| Instant::from_nanos(millis * MS);
        let nxt = StreamOffset(seen * 1_000);
        let mut episodes = Episodes::default();
        let retransmit = |episodes: &mut Episodes, millis, since, nth: i64, timeout| {
            let segment = Segment::new(End::A, Flags::ACK, StreamOffset(nth * 1_000), 1_000);
            let placed =
                Placed { label: Label::Retransmission, tail: false, ..Placed::next(0, segment.end()) };
            let loss =
                Loss { since: at(since), after: None, timeout, probes: false, dry: false, needless: false };
            episodes.on_retransmission(at(millis), &segment, &placed, &loss, nxt);
        };
        retransmit(&mut episodes, 1_000, 600, 0, true);
        episodes.on_spurious(&[found(0)]);
        episodes.reached(at(1_040), StreamOffset(1_000));
        (next..next + others).for_each(|nth| retransmit(&mut episodes, 1_042, 1_040, nth, false));
        episodes.reached(at(1_100), StreamOffset(100_000));
        episodes
    }

    /// The only segment in flight is retransmitted, by the timer or a probe, though it had arrived.
    #[test]
    fn early_probe_with_nothing_else_to_send_costs_nothing() {
        let costs = |timeout, dry| {
            let segment = Segment::new(End::A, Flags::ACK, StreamOffset(0), 1_000);
            let placed = Placed { label: Label::Spurious, tail: true, ..Placed::next(0, segment.end()) };
            let mut episodes = Episodes::default();
            let [since, at] = [0, 50].map(|millis| Instant::from_nanos(millis * 1_000_000));
            let loss = Loss { since, after: None, timeout, probes: false, dry, needless: false };
            episodes.on_retransmission(at, &segment, &placed, &loss, segment.end());
            !episodes.all().next().expect("an episode").costs_nothing()
        };
        assert!(!costs(false, true));
        assert!(costs(false, false), "more was waiting");
        assert!(costs(true, true), "a timer that expires reduces cwnd");
    }

    /// A spurious probe after 290 ms, with an RTT of 40 ms is answered after so many milliseconds in all.
    #[test]
    fn answer_far_later_than_its_probe_was_late_and_one_rtt_later_may_be_the_probes() {
        let is_late = |answered: i64| {
            let segment = Segment::new(End::A, Flags::ACK, StreamOffset(0), 1_000);
            let placed = Placed { label: Label::Spurious, tail: true, ..Placed::next(0, segment.end()) };
            let mut episodes = Episodes::default();
            let [since, at, to] = [0, 290, answered].map(|millis| Instant::from_nanos(millis * 1_000_000));
            let loss = Loss { since, after: None, timeout: false, probes: false, dry: true, needless: false };
            episodes.on_retransmission(at, &segment, &placed, &loss, segment.end());
            episodes.reached(to, segment.end());
            episodes.all().next().expect("an episode").was_answered_late(40_000)
        };
        assert!(is_late(375));
        assert!(is_late(300), "the original's");
        assert!(!is_late(330), "the probe's");
    }

    /// A probe of the last segment is the first retransmission; so many follow.
    #[test]
    fn tail_loss_is_of_few_segments() {
        let cause = |retransmitted: u32| {
            let mut episodes = Episodes::default();
            let [since, at] = [0, 50].map(|millis| Instant::from_nanos(millis * 1_000_000));
            let nxt = StreamOffset(1_000_000);
            for nth in 0..retransmitted {
                let segment =
                    Segment::new(End::A, Flags::ACK, StreamOffset(999_000 - i64::from(nth) * 1_000), 1_000);
                let label = Label::Retransmission;
                let placed = Placed { label, tail: nth == 0, ..Placed::next(0, segment.end()) };
                let loss =
                    Loss { since, after: None, timeout: false, probes: false, dry: false, needless: false };
                episodes.on_retransmission(at, &segment, &placed, &loss, nxt);
            }
            episodes.all().next().expect("an episode").cause()
        };
        assert_eq!(cause(1), Cause::TailLoss);
        assert_eq!(cause(thresholds::TAIL_SEGMENTS), Cause::TailLoss);
        assert_eq!(cause(thresholds::TAIL_SEGMENTS + 1), Cause::FastRecovery, "most of a flight");
    }

    /// The timer retransmits the first of ten segments, and the sender then all others.
    #[test]
    fn timeout_is_real_if_only_what_followed_was_spurious() {
        let cause = |spurious: std::ops::Range<i64>| {
            let mut episodes = Episodes::default();
            for nth in 0..10 {
                let at = Instant::from_nanos(600_000_000 + nth * 1_000_000);
                let segment = Segment::new(End::A, Flags::ACK, StreamOffset(nth * 1_000), 1_000);
                let placed =
                    Placed { label: Label::Retransmission, tail: false, ..Placed::next(0, segment.end()) };
                let since = Instant::START;
                let loss = Loss {
                    since,
                    after: None,
                    timeout: nth == 0,
                    probes: false,
                    dry: false,
                    needless: false,
                };
                episodes.on_retransmission(at, &segment, &placed, &loss, StreamOffset(10_000));
            }
            spurious.for_each(|nth| episodes.on_spurious(&[found(nth)]));
            episodes.all().next().expect("an episode").cause()
        };
        assert_eq!(cause(1..10), Cause::Timeout, "held above the first, which filled the hole");
        assert_eq!(cause(0..5), Cause::SpuriousTimeout);
        assert_eq!(cause(0..3), Cause::Timeout, "most were needed");
    }

    #[test]
    fn timeout_is_not_spurious_if_the_rest_of_the_flight_was_lost() {
        let cause = |episodes: &Episodes| episodes.all().next().expect("an episode").cause();
        assert_eq!(cause(&after_a_timeout(100, 1, 0)), Cause::SpuriousTimeout);
        assert_eq!(cause(&after_a_timeout(100, 1, 40)), Cause::Timeout);
        assert_eq!(cause(&after_a_timeout(1, 1, 40)), Cause::Timeout, "behind the loss");
        assert_eq!(cause(&after_a_timeout(1, 20, 40)), Cause::SpuriousTimeout, "a later loss");
    }
}
