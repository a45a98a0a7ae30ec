//! The time of one direction, cut into stretches of about an RTT, each with what happened in it.

use crate::cause::Cause;
use crate::lateness::{self, Mean, Punctual};
use slowpath_model::Instant;

/// What held the sender back between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nothing outstanding and a window to send into.
    Idle,
    /// The receiver's window is used up.
    Window,
    /// A loss, or what was taken for one, is being repaired.
    Recovery,
    /// The last segment sent emptied the sender's queue: it ended in a push or was short.
    Dry,
    /// More was there to send, and the receiver's window was open.
    Open,
    /// A segment, or its ACK, was under way for much longer than an RTT, and arrived.
    Delayed,
}

impl Hold {
    /// The number of variants.
    pub const COUNT: usize = 6;
    /// All of them, in the order of the array in [`Stretch`].
    pub const ALL: [Self; Self::COUNT] =
        [Self::Idle, Self::Window, Self::Recovery, Self::Dry, Self::Open, Self::Delayed];
}

/// What the sender learnt right before it sent new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prompt {
    /// A pure ACK, as for a sender that has more to send than it may.
    Ack,
    /// Payload of the other end.
    Payload,
    /// Nothing: a timer or the application triggered it.
    #[default]
    Nothing,
    /// A pure ACK some time before, within a quarter of the time between ACKs. If the sender usually takes that long, it
    /// is an ACK; a clock of its host may also keep that distance. Otherwise it is [`Self::Nothing`], once the
    /// direction's time is over.
    Soon,
}

impl Prompt {
    /// An ACK, at once or after the time that the sender takes.
    pub const ACKS: [Self; 2] = [Self::Ack, Self::Soon];
    /// The number of variants.
    pub const COUNT: usize = 4;
    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [Self::Ack, Self::Payload, Self::Nothing, Self::Soon];
}

/// Events within a stretch, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u16);

impl Marks {
    /// The other end sent payload: the ends take turns.
    pub const PEER_SPOKE: Self = Self(1);
    /// A segment was retransmitted.
    pub const RETRANSMITTED: Self = Self(2);
    /// The window closed to zero.
    pub const ZERO_WINDOW: Self = Self(4);
    /// The window field stood at its maximum, 65,535, but for a segment.
    pub const FIELD_FULL: Self = Self(8);
    /// The capture missed something.
    pub const GAP: Self = Self(16);
    /// Its data was written by the clock of a program.
    pub const TICKING: Self = Self(32);
    /// The receiver answered late though the tap is next to it.
    pub const HELD_BACK: Self = Self(64);
    /// Nothing was retransmitted before it.
    pub const BEFORE_LOSS: Self = Self(128);
    /// All of it is one silence in which data passed unseen.
    pub const MISSED: Self = Self(256);
    /// The receiver has reported congestion marks since anything was last retransmitted.
    pub const AFTER_ECN: Self = Self(512);
    /// The receiver moved the window's edge back, and data in flight lies beyond it.
    pub const TAKEN_BACK: Self = Self(1024);

    /// The receiver's window reached farther than before: its application had read, or could not because of a hole.
    pub const READ: Self = Self(2048);
    /// Far from the sender: a silence after a full segment, in which what was sent may have been lost.
    pub const UNPROVEN: Self = Self(4096);
    /// Next to the sender: bunches at one pace, which no ACK and no write explains.
    pub const PACED: Self = Self(8192);
    /// Next to the sender: nearly all of many bunches keep one pace, or their rate is exact, and no ACK explains them. A clock of
    /// the host sends.
    pub const CLOCKED: Self = Self(16384);

    /// Adds `other`.
    pub const fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether `other` is there.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// How late data segments were on their way to the tap, in a stretch and those before it that a smoothed RTT remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLate {
    /// The largest mean of a stretch, at most, in microseconds.
    pub late: u32,
    /// The longest pause between two new segments, in microseconds.
    pub pause: u32,
}

impl DataLate {
    fn or_worse(self, other: Self) -> Self {
        Self { late: self.late.max(other.late), pause: self.pause.max(other.pause) }
    }
}

/// A stretch of time.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Its start.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
    /// Nanoseconds under each [`Hold`].
    pub held: [i64; Hold::COUNT],
    /// Bytes delivered: acknowledged, selectively or not.
    pub delivered: i64,
    /// ACKs that delivered anything.
    pub acks: u32,
    /// Largest amount outstanding.
    pub flight_max: u32,
    /// Largest advertised window.
    pub window_max: u32,
    /// Smallest advertised window.
    pub window_min: u32,
    /// Shortest RTT in microseconds; `u32::MAX` if none was measured.
    pub rtt_min: u32,
    /// The RTT was longer than this, in microseconds, far from a sender that echoed a timestamp though a newer one had passed
    /// so long before; zero if that did not show.
    pub rtt_beyond: u32,
    /// How late the most punctual ACK was on its way to the tap, at least, in microseconds: see [`Log::date`].
    pub acks_late: Option<u32>,
    /// How late data segments were on their way to the tap.
    pub data: Mean,
    /// How late once their zero is known: see [`Log::date`].
    pub data_late: Option<DataLate>,
    /// Waits while dry that an ACK ended: as if a full buffer let the writer continue.
    pub dry_clocked: u32,
    /// Those of them behind a full segment, in which several ACKs let nothing out: what waited was a program that polls.
    pub let_in: u32,
    /// Waits while dry that no ACK ended: the application wrote.
    pub dry_free: u32,
    /// Waits that payload of the other end ended, and how much payload it sent.
    pub prompted: u32,
    /// See [`Self::prompted`]; in bytes.
    pub prompts: u32,
    /// The time, in microseconds, in which the sender had data of the other end to answer and sent nothing.
    pub answering: u32,
    /// Waits that ended with the ACK of the one segment in flight.
    pub one_at_a_time: u32,
    /// The time, in microseconds, until a short segment followed the ACK of an earlier one: Nagle's algorithm.
    pub nagled: u32,
    /// Waits with more to send that an ACK ended.
    pub open_clocked: u32,
    /// Waits with more to send that ended by themselves.
    pub open_free: u32,
    /// New data in bytes, by what it followed: see [`Prompt`].
    pub sent_after: [u32; Prompt::COUNT],
    /// The time until new data was sent, in microseconds, by what it followed.
    pub waited_for: [u32; Prompt::COUNT],
    /// Segments of new data that emptied the sender's queue.
    pub emptied: u32,
    /// Those of them that were short.
    pub emptied_short: u32,
    /// Bursts of new data that payload of the other end triggered.
    pub bursts_after_payload: u32,
    /// Bursts of new data after a pause of half an RTT, next to the sender: those that began with a burst of ACKs, at most an
    /// eighth of an RTT after its first, and those that began at another time.
    pub begun_by_acks: u32,
    /// See [`Self::begun_by_acks`].
    pub begun_alone: u32,
    /// Pauses between ACKs of twice the usual length, next to the sender: those in which it sent no more than an answer to the
    /// last ACK, and the others.
    pub still: u16,
    /// See [`Self::still`].
    pub not_still: u16,
    /// The largest amount outstanding right after a wait while dry ended.
    pub peak_max: u32,
    /// The longest time between two deliveries, in microseconds.
    pub gap_max: u32,
    /// ACKs that the receiver, next to the tap, sent when its program read, and how long after the last arrival, in microseconds.
    pub reads: u16,
    /// See [`Self::reads`].
    pub read_after: u32,
    /// The longest time between two new data segments, in microseconds.
    pub send_gap_max: u32,
    /// What happened.
    pub marks: Marks,
}

impl Stretch {
    /// An ACK came so many microseconds after the last arrival since a program read; zero: for another reason.
    #[inline]
    pub fn note_read(&mut self, after: u32) {
        self.reads = self.reads.saturating_add(u16::from(after > 0));
        self.read_after = self.read_after.saturating_add(after);
    }

    /// An empty stretch at `from`.
    pub const fn at(from: Instant) -> Self {
        Self {
            from,
            to: from,
            held: [0; Hold::COUNT],
            delivered: 0,
            acks: 0,
            flight_max: 0,
            window_max: 0,
            window_min: u32::MAX,
            rtt_min: u32::MAX,
            rtt_beyond: 0,
            acks_late: None,
            data: Mean::NONE,
            data_late: None,
            dry_clocked: 0,
            let_in: 0,
            dry_free: 0,
            prompted: 0,
            prompts: 0,
            answering: 0,
            one_at_a_time: 0,
            nagled: 0,
            open_clocked: 0,
            open_free: 0,
            sent_after: [0; Prompt::COUNT],
            waited_for: [0; Prompt::COUNT],
            emptied: 0,
            emptied_short: 0,
            bursts_after_payload: 0,
            begun_by_acks: 0,
            begun_alone: 0,
            still: 0,
            not_still: 0,
            peak_max: 0,
            gap_max: 0,
            reads: 0,
            read_after: 0,
            send_gap_max: 0,
            marks: Marks(0),
        }
    }

    /// How long it is, in nanoseconds.
    pub const fn lasted(&self) -> i64 {
        self.to.nanos_since(self.from)
    }

    /// The instant half-way through it.
    pub const fn middle(&self) -> Instant {
        self.from.plus_nanos(self.lasted() / 2)
    }

    /// Nanoseconds under `hold`.
    pub const fn under(&self, hold: Hold) -> i64 {
        self.held[hold as usize]
    }

    /// The [`Hold`] with the most time.
    pub fn held_most(&self) -> Hold {
        most(&self.held)
    }

    /// Adds time under `hold`, up to `to`.
    pub const fn extend(&mut self, to: Instant, hold: Hold) {
        self.held[hold as usize] += to.nanos_since(self.to);
        self.to = to;
    }

    /// New data in bytes.
    pub fn sent(&self) -> u64 {
        self.sent_after.into_iter().map(u64::from).sum()
    }

    /// The part of the new data that was sent after one of `prompts`; zero where none was sent.
    pub fn part_sent_after(&self, prompts: &[Prompt]) -> f64 {
        part(self.sent_after, prompts)
    }

    /// The part of the time until new data was sent that one of `prompts` ended.
    pub fn part_waited_for(&self, prompts: &[Prompt]) -> f64 {
        part(self.waited_for, prompts)
    }

    /// An ACK passed, `late` by [`unplaced`](crate::lateness::unplaced).
    #[inline]
    pub fn note_ack(&mut self, late: u32) {
        note(&mut self.acks_late, late);
    }

    /// A data segment passed, `late` by [`unplaced`](crate::lateness::unplaced).
    #[inline]
    pub fn note_data(&mut self, late: u32) {
        self.data.take(late);
    }

    /// Delivered bits per second; `None` for an empty stretch.
    pub fn rate(&self) -> Option<f64> {
        rate([self])
    }

    /// Bits per second at which new data left the sender; `None` where none did.
    pub fn departure_rate(&self) -> Option<f64> {
        let micros: f64 = self.waited_for.into_iter().map(f64::from).sum();
        (micros > 0.0).then(|| self.sent() as f64 * 8e6 / micros)
    }

    /// Merges the following stretch into this one.
    fn absorb(&mut self, next: &Self) {
        self.to = next.to;
        for (mine, theirs) in self.held.iter_mut().zip(next.held) {
            *mine += theirs;
        }
        self.delivered += next.delivered;
        self.acks += next.acks;
        self.flight_max = self.flight_max.max(next.flight_max);
        self.window_max = self.window_max.max(next.window_max);
        self.window_min = self.window_min.min(next.window_min);
        self.rtt_min = self.rtt_min.min(next.rtt_min);
        self.rtt_beyond = self.rtt_beyond.max(next.rtt_beyond);
        next.acks_late.into_iter().for_each(|late| note(&mut self.acks_late, late));
        self.data.absorb(next.data);
        self.dry_clocked += next.dry_clocked;
        self.let_in += next.let_in;
        self.dry_free += next.dry_free;
        self.prompted += next.prompted;
        self.prompts = self.prompts.saturating_add(next.prompts);
        self.answering = self.answering.saturating_add(next.answering);
        self.one_at_a_time += next.one_at_a_time;
        self.nagled = self.nagled.saturating_add(next.nagled);
        self.open_clocked += next.open_clocked;
        self.open_free += next.open_free;
        for (mine, theirs) in self.sent_after.iter_mut().zip(next.sent_after) {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in self.waited_for.iter_mut().zip(next.waited_for) {
            *mine = mine.saturating_add(theirs);
        }
        self.emptied += next.emptied;
        self.emptied_short += next.emptied_short;
        self.bursts_after_payload += next.bursts_after_payload;
        self.begun_by_acks += next.begun_by_acks;
        self.begun_alone += next.begun_alone;
        self.still = self.still.saturating_add(next.still);
        self.not_still = self.not_still.saturating_add(next.not_still);
        self.peak_max = self.peak_max.max(next.peak_max);
        self.gap_max = self.gap_max.max(next.gap_max);
        self.reads = self.reads.saturating_add(next.reads);
        self.read_after = self.read_after.saturating_add(next.read_after);
        self.send_gap_max = self.send_gap_max.max(next.send_gap_max);
        let before_loss = self.marks.0 & next.marks.0 & Marks::BEFORE_LOSS.0;
        self.marks.0 = (self.marks.0 | next.marks.0) & !Marks::BEFORE_LOSS.0 | before_loss;
    }
}

/// Keeps the earlier of two.
#[inline]
fn note(kept: &mut Option<u32>, late: u32) {
    *kept = Some(kept.map_or(late, |kept| lateness::earlier(kept, late)));
}

/// Delivered bits per second over all of `stretches`; `None` where they take no time.
pub fn rate<'a>(stretches: impl IntoIterator<Item = &'a Stretch>) -> Option<f64> {
    let (delivered, lasted) = stretches.into_iter().fold((0, 0), |(delivered, lasted), stretch| {
        (delivered + stretch.delivered, lasted + stretch.lasted())
    });
    (lasted > 0).then(|| delivered as f64 * 8e9 / lasted as f64)
}

/// Of RTTs, each with how long it held, the one that half of the time had no more than.
pub fn usual(mut rtts: Vec<(u32, i64)>) -> Option<u32> {
    rtts.sort_unstable();
    let half = rtts.iter().map(|(_, lasted)| lasted).sum::<i64>() / 2;
    let mut so_far = 0;
    let usual = rtts.iter().find(|(_, lasted)| {
        so_far += lasted;
        so_far >= half
    });
    usual.map(|(rtt, _)| *rtt)
}

/// The stretches no farther than `reach` from the one at `at`.
pub fn around(stretches: &[Stretch], at: usize, reach: usize) -> &[Stretch] {
    &stretches[at.saturating_sub(reach)..(at + reach + 1).min(stretches.len())]
}

/// The [`Hold`] with the most time; the last of several.
pub fn most(held: &[i64; Hold::COUNT]) -> Hold {
    Hold::ALL.into_iter().max_by_key(|hold| held[*hold as usize]).unwrap_or(Hold::Open)
}

fn part(of: [u32; Prompt::COUNT], prompts: &[Prompt]) -> f64 {
    let all: f64 = of.into_iter().map(f64::from).sum();
    let some: f64 = prompts.iter().map(|prompt| f64::from(of[*prompt as usize])).sum();
    if all > 0.0 { some / all } else { 0.0 }
}

/// Time with one cause: a stretch, or a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its stretch, by number.
    pub stretch: usize,
    /// Its start.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
    /// Its cause.
    pub cause: Cause,
    /// Losses were repaired in it.
    pub repairs: bool,
}

impl Part {
    /// How long it is, in nanoseconds.
    pub const fn lasted(&self) -> i64 {
        self.to.nanos_since(self.from)
    }
}

/// The stretches of one direction, in order, contiguous; at most [`Log::MOST`] of them.
#[derive(Clone, Debug, Default)]
pub struct Log {
    stretches: Vec<Stretch>,
}

impl Log {
    /// Where there would be more, neighbours are joined until half are left, so that the resolution of a long
    /// flow is a two-thousandth of its life or better.
    pub const MOST: usize = 4096;

    /// Stretches that the smoothed RTT of a tap far from the sender remembers: of each sample, it takes a quarter.
    const REMEMBERED: usize = 8;

    /// Appends the stretch that follows the last.
    pub fn push(&mut self, stretch: Stretch) {
        if stretch.to <= stretch.from && stretch.delivered == 0 {
            return;
        }
        if self.stretches.len() == Self::MOST {
            self.thin();
        }
        self.stretches.push(stretch);
    }

    /// Joins neighbours that are together shorter than four times an even share: then no two neighbours left are
    /// that short, and so at most half as many are left as the log holds.
    fn thin(&mut self) {
        let (Some(first), Some(last)) = (self.stretches.first(), self.stretches.last()) else { return };
        let short = 4 * last.to.nanos_since(first.from) / Self::MOST as i64;
        self.stretches.dedup_by(|next, last| {
            let joins = last.lasted() + next.lasted() <= short;
            if joins {
                last.absorb(next);
            }
            joins
        });
    }

    /// Marks all stretches between two recent instants.
    pub fn mark(&mut self, from: Instant, to: Instant, marks: Marks) {
        let since = self.stretches.iter_mut().rev().take_while(|stretch| stretch.from >= from);
        since.filter(|stretch| stretch.to <= to).for_each(|stretch| stretch.marks.set(marks));
    }

    /// No window so far was larger than `window`.
    pub fn cap_windows(&mut self, window: u32) {
        self.stretches.iter_mut().for_each(|stretch| stretch.window_max = stretch.window_max.min(window));
    }

    /// What was sent some time after an ACK was not triggered by it.
    pub fn soon_is_chance(&mut self) {
        for stretch in &mut self.stretches {
            for of in [&mut stretch.sent_after, &mut stretch.waited_for] {
                let soon = std::mem::take(&mut of[Prompt::Soon as usize]);
                of[Prompt::Nothing as usize] = of[Prompt::Nothing as usize].saturating_add(soon);
            }
        }
    }

    /// Once the direction's time is over: how late ACKs and data were, compared with the most punctual packet of the end that
    /// sent them. Before, their zero is not known.
    pub fn date(&mut self, acks: Option<Punctual>, data: Option<Punctual>) {
        for stretch in &mut self.stretches {
            let at = stretch.middle();
            let bounds = |late: Option<u32>, than: Option<Punctual>| Some(than?.bounds(late?, at));
            stretch.acks_late = bounds(stretch.acks_late, acks).map(|(least, _)| least);
            let late = bounds(stretch.data.get(), data).map(|(_, most)| most);
            // While a newer ACK had not reached the sender, it did not pause: it waited.
            let waited = stretch.rtt_beyond >= stretch.send_gap_max / 2;
            let pause = if waited { 0 } else { stretch.send_gap_max };
            stretch.data_late = late.map(|late| DataLate { late, pause });
        }
        for at in (0..self.stretches.len()).rev() {
            let lately = &self.stretches[at.saturating_sub(Self::REMEMBERED)..=at];
            let lately = lately.iter().filter_map(|stretch| stretch.data_late);
            self.stretches[at].data_late = lately.reduce(DataLate::or_worse);
        }
    }

    /// The last complete stretch.
    pub fn last_mut(&mut self) -> Option<&mut Stretch> {
        self.stretches.last_mut()
    }

    /// The stretches.
    pub fn as_slice(&self) -> &[Stretch] {
        &self.stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_is_bounded_and_keeps_all_time() {
        let mut log = Log::default();
        for n in 0..100_000i64 {
            let from = Instant::from_nanos(n * 10);
            let mut stretch = Stretch::at(from);
            stretch.extend(from.plus_nanos(10), if n % 7 == 0 { Hold::Window } else { Hold::Open });
            stretch.delivered = 1;
            log.push(stretch);
        }
        let stretches = log.as_slice();
        assert!(stretches.len() <= Log::MOST);
        assert!(stretches.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(stretches.iter().map(|s| s.held.iter().sum::<i64>()).sum::<i64>(), 1_000_000);
        assert_eq!(stretches.iter().map(|s| s.delivered).sum::<i64>(), 100_000);
    }
}
