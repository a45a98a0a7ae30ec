//! RTTs, and the retransmission timeout that Linux computes from them.

use crate::lateness::is_before;
use crate::options::VantageOverride;
use crate::report::RttMeasures;
use slowpath_model::{Instant, StreamOffset};
use std::time::Duration;

/// Nanoseconds in a millisecond.
const MS: i64 = 1_000_000;

/// Running minimum, mean, maximum and deviation of an RTT.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttStats {
    count: u32,
    min: u32,
    max: u32,
    sum: u64,
    square_sum: f64,
}

impl RttStats {
    /// Takes a sample, in nanoseconds. Kept in microseconds (71 minutes at most): a tenth of a kilobyte per flow
    /// matters where there are a hundred thousand.
    #[inline]
    pub fn sample(&mut self, nanos: i64) {
        let micros = u32::try_from(nanos.max(0) / 1000).unwrap_or(u32::MAX);
        if self.count == 0 || micros < self.min {
            self.min = micros;
        }
        self.max = self.max.max(micros);
        self.count = self.count.saturating_add(1);
        self.sum += u64::from(micros);
        self.square_sum += f64::from(micros) * f64::from(micros);
    }

    /// Whether there were no samples.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The longest, in nanoseconds.
    pub fn longest(&self) -> Option<i64> {
        (self.count > 0).then(|| i64::from(self.max) * 1000)
    }

    /// The samples summed up.
    pub fn measures(&self) -> RttMeasures {
        if self.count == 0 {
            return RttMeasures::default();
        }
        let count = f64::from(self.count);
        let mean = self.sum as f64 / count;
        let variance = (self.square_sum / count - mean * mean).max(0.0);
        let micros = |m: f64| Some(Duration::from_nanos((m * 1000.0) as u64));
        RttMeasures {
            count: u64::from(self.count),
            min: micros(f64::from(self.min)),
            mean: micros(mean),
            max: micros(f64::from(self.max)),
            deviation: micros(variance.sqrt()),
        }
    }
}

/// The retransmission timer of Linux: `tcp_rtt_estimator` and `tcp_set_rto` (net/ipv4/tcp_input.c, 6.18).
///
/// Differs from RFC 6298 in its lower bound, which applies to RTTVAR and not to the RTO, and in how RTTVAR falls: at
/// most once per RTT.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxRto {
    /// 8 × SRTT, in microseconds; zero before the first sample.
    srtt: i64,
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The stream offset that ends the current RTT.
    round_end: StreamOffset,
}

impl LinuxRto {
    /// `TCP_RTO_MIN` (HZ/5), in microseconds.
    const MIN: i64 = 200_000;
    /// `TCP_RTO_MAX` (120 s), in microseconds.
    const MAX: i64 = 120_000_000;
    /// `TCP_TIMEOUT_INIT` (1 s; RFC 6298, section 2.1), in microseconds.
    const INITIAL: i64 = 1_000_000;

    /// Takes a sample, in nanoseconds, when `una` is acknowledged and `nxt` is the next to send.
    #[inline]
    pub fn sample(&mut self, nanos: i64, una: StreamOffset, nxt: StreamOffset) {
        let sample = (nanos / 1000).clamp(1, Self::MAX);
        if self.srtt == 0 {
            self.srtt = sample << 3;
            self.mdev = sample << 1;
            self.rttvar = self.mdev.max(Self::MIN);
            self.mdev_max = self.rttvar;
            self.round_end = nxt;
            return;
        }
        let mut error = sample - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        if error < 0 {
            error = -error - (self.mdev >> 2);
            if error > 0 {
                error >>= 3;
            }
        } else {
            error -= self.mdev >> 2;
        }
        self.mdev += error;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev_max = Self::MIN;
        }
    }

    /// SRTT in nanoseconds; `None` before the first sample.
    pub fn srtt_nanos(&self) -> Option<i64> {
        (self.srtt != 0).then_some((self.srtt >> 3) * 1000)
    }

    /// The timeout in nanoseconds.
    pub fn rto_nanos(&self) -> i64 {
        let micros = if self.srtt == 0 { Self::INITIAL } else { (self.srtt >> 3) + self.rttvar };
        micros.min(Self::MAX) * 1000
    }

    /// The timeout, where there was a sample.
    pub fn measured(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos(self.rto_nanos().unsigned_abs()))
    }
}

/// Measures how far one end is from the tap: from a timestamp of the other end passing to its echo.
///
/// One timestamp is watched at a time, so the cost per segment is a comparison; that is about one sample per RTT.
#[derive(Clone, Copy, Debug, Default)]
pub struct EchoWatch {
    waiting: Option<Waiting>,
    newest: Option<u32>,
}

/// A timestamp whose echo is awaited.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    val: u32,
    since: Instant,
    /// When an ACK without data first had a newer one, if the ACK with this one had no data either. An end that received it
    /// echoes it, since pure ACKs are not acknowledged (RFC 7323, section 4.3).
    newer: Option<Instant>,
    is_pure: bool,
}

/// What an echo tells of the time to an end and back, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Since its timestamp passed: the RTT, or longer if the end paused.
    pub after: i64,
    /// A newer timestamp passed so long ago, and had not reached the end: the RTT is longer.
    pub more_than: i64,
}

impl EchoWatch {
    /// The other end sent timestamp `val`, in a segment that obliges this end to answer; without data if it `is_pure`.
    pub fn on_timestamp_sent(&mut self, val: u32, is_pure: bool, at: Instant) {
        // A value seen before could be echoed for its first appearance.
        if self.newest.is_none_or(|newest| is_before(newest, val)) {
            self.newest = Some(val);
            match &mut self.waiting {
                None => self.waiting = Some(Waiting { val, since: at, newer: None, is_pure }),
                Some(waiting) if waiting.is_pure && is_pure => {
                    waiting.newer.get_or_insert(at);
                }
                Some(_) => {}
            }
        }
    }

    /// Whether `val` is older than another timestamp that the other end sent before.
    pub fn is_stale(&self, val: u32) -> bool {
        self.newest.is_some_and(|newest| is_before(val, newest))
    }

    /// This end echoed `ecr`, if it was the timestamp watched, or a later one: then the watched one's echo was lost or merged,
    /// and `dated` says for how many nanoseconds `ecr` has been under way, if that is known.
    pub fn echoed(&mut self, ecr: u32, at: Instant, dated: impl FnOnce() -> Option<i64>) -> Option<Echo> {
        let Waiting { val, since, newer, .. } = self.waiting?;
        let ahead = ecr.wrapping_sub(val) as i32;
        if ahead < 0 {
            return None;
        }
        self.waiting = None;
        if ahead > 0 {
            return Some(Echo { after: dated()?, more_than: 0 });
        }
        let more_than = newer.map_or(0, |newer| at.nanos_since(newer));
        Some(Echo { after: at.nanos_since(since), more_than })
    }
}

/// An RTT in microseconds; more than 18 minutes count as 18 minutes.
pub fn micros(nanos: i64) -> u32 {
    (nanos.max(0).unsigned_abs() / 1000).min(u64::from(u32::MAX / 4)) as u32
}

/// An end's timestamp clock, read from outside: how fast it ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampClock {
    first: Option<(u32, Instant)>,
    last: Option<(u32, Instant)>,
    /// Nanoseconds per tick; zero until known.
    tick: u32,
}

impl TimestampClock {
    /// A segment with `val` passed at `at`. Returns by how much longer it was under way than the one before, in
    /// nanoseconds, to within a tick; `None` while the clock is unknown.
    pub fn saw(&mut self, val: u32, at: Instant) -> Option<i64> {
        let (first, since) = *self.first.get_or_insert((val, at));
        let (last, before) = self.last.replace((val, at)).unwrap_or((val, at));
        let elapsed = at.nanos_since(since);
        let ticks = val.wrapping_sub(first);
        // A segment that was late makes the tick seem longer, and none makes it shorter.
        let is_refuted = elapsed < i64::from(ticks as i32).saturating_mul(i64::from(self.tick)) / 5 * 4;
        if (self.tick == 0 || is_refuted) && elapsed > 200_000_000 {
            self.tick = Self::rate(ticks, elapsed);
        }
        (self.tick != 0)
            .then(|| at.nanos_since(before) - i64::from(val.wrapping_sub(last) as i32) * i64::from(self.tick))
    }

    /// The clock's tick: 1 ms (Linux since 4.13, most others), 1 µs, 4 ms or 10 ms; zero where it is none of them.
    pub fn rate(ticks: u32, elapsed: i64) -> u32 {
        if ticks == 0 {
            return 0;
        }
        let tick = elapsed as f64 / f64::from(ticks);
        let known = [1_000_000, 1_000, 4_000_000, 10_000_000u32];
        known.into_iter().find(|known| (tick / f64::from(*known) - 1.0).abs() < 0.2).unwrap_or(0)
    }
}

/// Whether one end of two is far nearer to the tap, by their distances in nanoseconds: a host answers its own tap within its
/// scheduling latency, whatever the path adds on the other side.
pub const fn is_far_nearer(near: i64, far: i64) -> bool {
    near * 5 < far
}

/// How far an end is from the tap and back, from whatever shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance {
    min: Option<i64>,
    /// The first sample, mostly of the handshake; how many were clearly shorter, and how many there were.
    first: i64,
    shorter: u32,
    count: u32,
    recent: i64,
    /// See [`Self::beyond`], and what the last echo alone shows of it.
    beyond: i64,
    beyond_by_last: i64,
    /// The shortest of the last samples, [`Self::SPAN`] to twice as many: in two parts, and how many the second has.
    lately: [i64; 2],
    of_lately: u8,
    /// The last samples, this many, all took longer than a host next to the tap.
    slow: u8,
    /// The other end is far nearer to the tap.
    is_farther: bool,
    /// How many of its segments were lost on the way to the tap.
    lost: u8,
    /// So near that only the other end, nearer still, shows that a path lies in between, since a queue stood on it; or what was
    /// lost on it.
    is_away: bool,
    /// Where the user says that the tap is: elsewhere then, however soon the end answers, or right here.
    given: Option<VantageOverride>,
    /// See [`Self::is_here`], which is asked several times for each segment.
    is_here: bool,
}

impl Distance {
    /// No distance at all.
    const HERE: Self = Self {
        min: Some(0),
        first: 0,
        shorter: 0,
        count: 0,
        recent: 0,
        beyond: 0,
        beyond_by_last: 0,
        lately: [0; 2],
        of_lately: 0,
        slow: 0,
        is_farther: false,
        lost: 0,
        is_away: false,
        given: None,
        is_here: true,
    };

    /// This many slow answers in a row mean a queue; fewer may be delayed ACKs, or a host that was busy.
    const A_QUEUE: u8 = 8;

    /// So many losses before the tap mean a path; fewer may be frames that the capture missed.
    const A_PATH: u8 = 3;

    /// See [`Self::lately`].
    const SPAN: u8 = 8;

    /// Clearly shorter than the first sample is what is shorter by this part of it; and if that is less than this part of all
    /// samples, it is chance.
    const CLEARLY_PART: i64 = 16;
    const CHANCE_PART: u32 = 32;

    /// A kernel with data waiting sends it sooner than this, in nanoseconds, after the ACK that lets it.
    const REACTION: i64 = 200_000;

    /// An hour: what takes longer is no answer.
    const FARTHEST: i64 = 3_600_000_000_000;

    /// An end of which nothing was seen; `given` is the user's location of the tap.
    pub fn new(given: Option<VantageOverride>) -> Self {
        Self { given, ..Self::default() }
    }

    /// How far the end is as a sender of data: as measured, except for what the user says.
    pub fn sending(&self) -> &Self {
        self.placed(VantageOverride::Sender)
    }

    /// How far the end is as a receiver that answers: as measured, unless the user says otherwise.
    pub fn answering(&self) -> &Self {
        self.placed(VantageOverride::Receiver)
    }

    #[inline]
    fn placed(&self, role: VantageOverride) -> &Self {
        if self.given.is_some() { self.given_for(role) } else { self }
    }

    #[cold]
    fn given_for(&self, role: VantageOverride) -> &Self {
        if self.given == Some(role) { &Self::HERE } else { self }
    }

    /// Takes a sample in nanoseconds.
    #[inline]
    pub fn sample(&mut self, nanos: i64) {
        let nanos = nanos.clamp(0, Self::FARTHEST);
        self.slow = if nanos < MS { 0 } else { self.slow.saturating_add(1) };
        let is_beyond = self.of_lately >= Self::SPAN && self.lately() >= Self::REACTION;
        self.is_away |= self.is_farther && (self.slow >= Self::A_QUEUE || is_beyond);
        match self.min {
            None => {
                (self.min, self.recent, self.lately) = (Some(nanos), nanos, [nanos; 2]);
                self.first = nanos;
            }
            Some(min) => {
                self.min = Some(nanos.min(min));
                self.shorter += u32::from(nanos < self.first - self.first / Self::CLEARLY_PART);
                self.count = self.count.saturating_add(1);
                self.recent += (nanos - self.recent) / 4;
            }
        }
        self.locate();
        self.of_lately += 1;
        if self.of_lately > Self::SPAN {
            (self.lately, self.of_lately) = ([self.lately[1], nanos], 1);
        }
        self.lately[1] = self.lately[1].min(nanos);
    }

    /// A segment of the end was lost on the way to the tap.
    #[cold]
    pub fn lost_before_tap(&mut self) {
        self.lost = self.lost.saturating_add(1);
        self.is_away |= self.lost >= Self::A_PATH;
        self.locate();
    }

    fn locate(&mut self) {
        let is_near = self.min.is_some_and(|min| min < MS);
        self.is_here = is_near && !self.is_away && self.given.is_none();
    }

    /// An echo shows that the end is farther than this, in nanoseconds. Two in a row show it: one packet may be late by itself.
    /// Where the path has become twice as long, smoothing would hide that for several RTTs.
    pub fn note_beyond(&mut self, nanos: i64) {
        let nanos = nanos.clamp(0, Self::FARTHEST);
        self.beyond = nanos.min(self.beyond_by_last);
        self.beyond_by_last = nanos;
        if self.min.is_some() && self.recent < self.beyond / 2 {
            self.recent = self.beyond;
        }
    }

    /// The end is farther than this, in nanoseconds, as the last two echoes show; zero if they do not.
    pub const fn beyond(&self) -> i64 {
        self.beyond
    }

    /// The shortest of the last samples, in nanoseconds: longer than [`Self::min`] once the path is.
    pub fn lately(&self) -> i64 {
        self.lately[0].min(self.lately[1])
    }

    /// The shortest, in nanoseconds.
    pub const fn min(&self) -> Option<i64> {
        self.min
    }

    /// The shortest, in nanoseconds, for a tap far from both ends: the first one, if hardly any was clearly shorter. Such a tap
    /// stamps a packet late now and then, and the end that answers it seems nearer.
    pub fn shortest_but_for_chance(&self) -> Option<i64> {
        let is_chance = self.shorter < self.count / Self::CHANCE_PART;
        if is_chance && self.shorter > 0 { Some(self.first) } else { self.min }
    }

    /// The recent samples, smoothed; zero before the first one.
    pub const fn recent(&self) -> i64 {
        self.recent
    }

    /// Whether the end is so near that what passes the tap and what it knows are the same: within 1 ms. In a local network both
    /// ends may be; then the farther one is not, once a queue has stood on its side, or if it takes longer than a kernel takes
    /// to react.
    pub const fn is_here(&self) -> bool {
        self.is_here
    }

    /// Whether the other end is far nearer to the tap.
    pub const fn is_farther(&self) -> bool {
        self.is_farther
    }

    /// Compares this end's distance with that of the other end, if that is known.
    pub fn compare(&mut self, other: &Self) {
        // The tap itself resolves no less, in nanoseconds.
        const FINEST: i64 = 1_000;
        let pair = self.min.zip(other.min);
        self.is_farther = pair.is_some_and(|(mine, others)| is_far_nearer(others.max(FINEST), mine));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_rto_min_bounds_rttvar_not_rto() {
        let mut rto = LinuxRto::default();
        assert_eq!(rto.rto_nanos(), 1_000_000_000);
        for round in 0..100 {
            rto.sample(50 * MS, StreamOffset(round * 100), StreamOffset(round * 100 + 99));
        }
        // SRTT 50 ms + RTTVAR 200 ms
        assert_eq!(rto.rto_nanos(), 250 * MS);
    }

    #[test]
    fn few_shorter_samples_are_chance_and_many_are_not() {
        let shortest = |nth: usize| {
            let mut distance = Distance::new(None);
            for n in 0..1000 {
                distance.sample(if n > 0 && n % nth == 0 { 14 * MS } else { 20 * MS });
            }
            distance.shortest_but_for_chance()
        };
        assert_eq!(shortest(100), Some(20 * MS));
        assert_eq!(shortest(20), Some(14 * MS), "a queue stood at first");
    }

    /// The tap is at one end of a local network; the other end takes so many microseconds.
    fn far_end_after(micros: i64) -> Distance {
        let [mut near, mut far] = [Distance::new(None); 2];
        for _ in 0..20 {
            near.sample(5_000);
            far.compare(&near);
            far.sample(micros * 1_000);
        }
        far
    }

    #[test]
    fn far_end_of_a_local_network_is_not_here() {
        assert!(!far_end_after(600).is_here());
        assert!(far_end_after(100).is_here(), "as soon as a kernel may answer");
        let mut alone = Distance::new(None);
        (0..20).for_each(|_| alone.sample(600_000));
        assert!(alone.is_here(), "a slow host, with no end that is nearer");
    }

    #[test]
    fn two_echoes_in_a_row_show_that_the_path_became_longer() {
        let mut end = Distance::new(None);
        end.note_beyond(50 * MS);
        assert_eq!((end.beyond(), end.recent()), (0, 0), "nothing before");
        end.sample(30 * MS);
        end.note_beyond(400 * MS);
        assert_eq!((end.beyond(), end.recent()), (50 * MS, 30 * MS), "one packet may be late");
        end.note_beyond(420 * MS);
        assert_eq!((end.beyond(), end.recent()), (400 * MS, 400 * MS));
        end.note_beyond(0);
        assert_eq!((end.beyond(), end.recent()), (0, 400 * MS), "a program that pauses echoes the newest");
    }

    #[test]
    fn tsecr_rtt_starts_at_first_segment_with_that_tsval() {
        let mut watch = EchoWatch::default();
        let at = |ms: i64| Instant::from_nanos(ms * MS);
        watch.on_timestamp_sent(100, true, at(0));
        watch.on_timestamp_sent(100, true, at(3));
        assert_eq!(watch.echoed(99, at(4), || None), None);
        assert_eq!(watch.echoed(100, at(10), || None), Some(Echo { after: 10 * MS, more_than: 0 }));
        watch.on_timestamp_sent(100, true, at(11));
        assert_eq!(watch.echoed(100, at(12), || None), None);
        watch.on_timestamp_sent(101, true, at(13));
        assert_eq!(watch.echoed(105, at(14), || None), None, "the echo of 101 was lost");
        watch.on_timestamp_sent(102, true, at(15));
        let dated = Echo { after: 4 * MS, more_than: 0 };
        assert_eq!(watch.echoed(105, at(19), || Some(4 * MS)), Some(dated), "it is known when 105 passed");
    }

    #[test]
    fn newer_timestamp_that_has_not_arrived_bounds_the_rtt() {
        let at = |ms: i64| Instant::from_nanos(ms * MS);
        for (pure, more_than) in [([true, true], 85), ([true, false], 0), ([false, true], 0)] {
            let mut watch = EchoWatch::default();
            watch.on_timestamp_sent(100, pure[0], at(0));
            watch.on_timestamp_sent(105, pure[1], at(5));
            let echo = Echo { after: 90 * MS, more_than: more_than * MS };
            assert_eq!(watch.echoed(100, at(90), || None), Some(echo), "{pure:?}");
        }
    }

    /// A delay spike of 340 ms in the first 400 ms makes a tick of 1 ms look like one of 10 ms.
    #[test]
    fn tick_that_later_segments_refute_is_measured_again() {
        let mut clock = TimestampClock::default();
        let mut saw = |sent: i64, late: i64| {
            clock.saw(1_000 + sent as u32, Instant::from_nanos((sent + late) * 1_000_000))
        };
        saw(0, 0);
        saw(44, 340);
        (1..60).for_each(|nth| {
            saw(44 + nth * 40, 0);
        });
        let late = saw(2_600, 340).map(|late| late / 1_000_000);
        assert_eq!(late, Some(340));
    }

    #[test]
    fn rtt_mean_and_deviation() {
        let mut stats = RttStats::default();
        for ms in [10, 20, 30, 40] {
            stats.sample(ms * MS);
        }
        let measures = stats.measures();
        assert_eq!(measures.mean, Some(Duration::from_millis(25)));
        assert_eq!(measures.deviation.unwrap().as_micros(), 11_180);
    }
}
