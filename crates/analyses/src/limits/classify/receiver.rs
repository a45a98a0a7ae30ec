//! Causes of the time in which the receiver's window held the sender.

use super::Classifier;
use crate::cause::Cause;
use crate::limits::stretch::{Hold, Marks, Stretch, around, rate};
use crate::limits::{pace, queue, thresholds, window};
use crate::overview::ScaleChanged;
use crate::report::ScaleKnown;

impl Classifier<'_> {
    /// The cause, if a device on the path changed the window scale.
    pub(super) fn changed_scale(&self) -> Cause {
        let is_none = match self.overview.rare().scale_changed {
            Some(ScaleChanged::Filled(found)) => self.context.scale == ScaleKnown::Agreed(found.less),
            _ => self.context.scaling == Some(false),
        };
        if is_none { Cause::NoWindowScaling } else { Cause::WindowScaleTooSmall }
    }

    /// Whether the receiver delayed its ACKs because its application did not read: it acknowledges at once only if it
    /// can open the window again (`__tcp_ack_snd_check`, 6.18). The window's edge then stays where it was, whatever is
    /// acknowledged.
    pub(super) fn unread(&self, at: usize) -> bool {
        // A window of unknown scale does not show whether it opens.
        if !self.context.scale.is_known() {
            return false;
        }
        let no_more = |stretch: &Stretch| {
            // At the rate of a reader that reads, nothing waited.
            let rate = stretch.rate().unwrap_or(0.0);
            let is_slow = |read_at: f64| rate < thresholds::AS_IF_READ * read_at;
            self.overview.read_rate.is_none_or(is_slow)
                && !stretch.marks.has(Marks::READ)
                && stretch.delivered > thresholds::LATE_ACK_SEGMENTS * i64::from(self.context.mss)
                && stretch.gap_max > thresholds::DELAYED_ACKS_US
        };
        // The sender waits until that ACK comes.
        let next = (self.stretches[at].delivered == 0).then(|| self.stretches.get(at + 1)).flatten();
        no_more(next.unwrap_or(&self.stretches[at]))
    }

    /// Whether windows are acknowledged by an ACK or two, RTT after RTT, long after they arrived: such a receiver answers when
    /// its application reads, which opens the window again. A queue or a longer path would bring an ACK of every few segments.
    pub(super) fn answers_when_read(&self, at: usize) -> bool {
        let Some(base) = self.overview.base_rtt else { return false };
        let long = base.saturating_mul(thresholds::READ_LATE_RTTS).max(thresholds::READ_LATE_LEAST_US);
        let is_whole = |stretch: &Stretch| {
            let by_ack = thresholds::READ_LATE_SEGMENTS * i64::from(self.context.mss);
            stretch.delivered >= i64::from(stretch.window_max) / 4 * 3
                && stretch.delivered >= by_ack * i64::from(stretch.acks)
                && stretch.gap_max >= long
                && i64::from(stretch.gap_max) * 2000 >= stretch.lasted()
        };
        let next = self.stretches.get(at + 1).unwrap_or(&self.stretches[at]);
        (is_whole(&self.stretches[at]) || is_whole(next)) && window::mostly(self.stretches, at, is_whole)
    }

    /// Whether all that was in flight had arrived and waited until the program read, for a good part of the time: next to the
    /// receiver, its ACKs leave then, not when data arrives. Elsewhere, the times between them may show it (`limits/reads.rs`).
    pub(super) fn waits_for_reads(&self, at: usize) -> bool {
        let waits = |stretch: &Stretch| {
            i64::from(stretch.read_after) * 1000 * thresholds::READ_AFTER_PART >= stretch.lasted()
        };
        let by_ack = thresholds::READ_SEGMENTS * i64::from(self.context.mss);
        let is_read = |stretch: &Stretch| stretch.delivered >= by_ack * i64::from(stretch.acks);
        self.overview.reads.0 >= thresholds::READS_TELL && window::mostly(self.stretches, at, waits)
            || self.overview.rare().read_times.is_some() && window::mostly(self.stretches, at, is_read)
    }

    /// Whether the window was nearly used up, RTT after RTT. Far from the sender, a used-up window shows no better: when an
    /// ACK reaches the sender is known to a segment or two.
    pub(super) fn follows_the_window(&self, at: usize) -> bool {
        let is_used_up = if self.context.at_sender {
            window::is_used_up_but_for_a_rest
        } else {
            window::is_nearly_used_up
        };
        matches!(self.context.scale, ScaleKnown::Agreed(_))
            && is_used_up(self.stretches, at, self.context.mss)
    }

    /// The receiver's window was used up.
    pub(super) fn window(&self, at: usize) -> Cause {
        let stretch = &self.stretches[at];
        let zero = stretch.marks.has(Marks::ZERO_WINDOW);
        if self.overview.rare().scale_changed.is_some() && !zero {
            return self.changed_scale();
        }
        if stretch.marks.has(Marks::TAKEN_BACK) && !zero {
            return Cause::WindowTakenBack;
        }
        let closed =
            stretch.under(Hold::Window) as f64 >= thresholds::STOPPED_SHARE * stretch.lasted() as f64;
        let before = window::largest(&self.stretches[..at]);
        // No sender sends into less than a segment, unless the window is always that small.
        let mss = self.context.mss;
        let shut = zero || stretch.window_max < mss && before / 2 > mss;
        if shut && stretch.lasted() >= thresholds::STOPPED_NS && closed {
            return Cause::ReaderStopped;
        }
        let part = |window: u32, of: f64| (f64::from(window) * of) as u32;
        let shrunk = self.shrunk(at, before);
        let outgrown =
            stretch.window_max < part(window::largest_used(&self.stretches[at..]), thresholds::SHRUNK);
        // What a reader that stopped once takes in afterwards did not wait for it.
        let (opened, until) = self.finished.unread;
        let unread = !outgrown && opened >= stretch.window_max && stretch.from < until;
        // A window of two segments or less closes with each of them, read or not.
        let tiny = before <= thresholds::LEAST_BUFFERED_SEGMENTS * mss;
        // The receiver answers when its reader makes room, not when the data comes. (While the window still grows, a
        // first burst's own queue looks the same. If the window is always the same, all is read each time, and the
        // queue belongs to other flows.)
        let held = !outgrown
            && stretch.window_min < stretch.window_max
            && queue::stood_throughout(self.overview, stretch)
            && stretch.rate().is_some_and(|rate| rate < thresholds::BELOW_PEAK * self.overview.peak_rate);
        let young = before < part(stretch.window_max, thresholds::YOUNG);
        let earliest = if young { at + 1 } else { at.saturating_sub(2) };
        let around = self.stretches.get(earliest..(at + 3).min(self.stretches.len())).unwrap_or_default();
        let closing = around.iter().any(|s| {
            s.under(Hold::Window) > 0 && s.window_min < part(stretch.window_max, thresholds::CLOSING)
        });
        if zero
            || (shrunk || held || closing || unread || self.answers_when_read(at) || self.waits_for_reads(at))
                && !tiny
            || self.closes_until_read(at, before)
        {
            return Cause::SlowReader;
        }
        if let Some(path) = self.window_beyond_a_full_path(stretch) {
            return path;
        }
        if (self.context.scaling == Some(false) || self.context.scale == ScaleKnown::Fits(0))
            && stretch.window_max > thresholds::LARGE_UNSCALED
            && stretch.marks.has(Marks::FIELD_FULL)
        {
            return Cause::NoWindowScaling;
        }
        if stretch.marks.has(Marks::FIELD_FULL) && self.context.scale.is_known() {
            return Cause::WindowScaleTooSmall;
        }
        if outgrown {
            Cause::AutotuningLag
        } else if self.is_acknowledged_late(at) {
            Cause::AcksHeldBack
        } else {
            Cause::ReceiveBufferTooSmall
        }
    }

    /// Whether the receiver, next to the tap, acknowledged what filled its window later than any delayed ACK, and then opened all
    /// of it: the window would have sufficed for far more.
    fn is_acknowledged_late(&self, at: usize) -> bool {
        let stretch = &self.stretches[at];
        let next = self.stretches.get(at + 1).unwrap_or(stretch);
        stretch.marks.has(Marks::HELD_BACK)
            && stretch.gap_max.max(next.gap_max) > thresholds::DELAYED_ACKS_US
            && rate(around(self.stretches, at, thresholds::SAME_WINDOW_REACH))
                .zip(window::allowed(stretch.window_max, self.overview.base_rtt))
                .is_some_and(|(rate, allowed)| rate < thresholds::FAR_BELOW_WINDOW * allowed)
    }

    /// Whether the window, which was `before` at most, closes again and again around the stretch at `at`, and far less than it lets
    /// through in each RTT is delivered: what fills it waits for the reader, however small it is.
    fn closes_until_read(&self, at: usize, before: u32) -> bool {
        let around = around(self.stretches, at, thresholds::SAME_WINDOW_REACH);
        let closed = around.iter().filter(|stretch| stretch.window_min == 0).count();
        closed >= around.len() / thresholds::CLOSED_PART
            && closed >= thresholds::CLOSED_TIMES
            && rate(around)
                .zip(window::allowed(before, self.overview.base_rtt))
                .is_some_and(|(rate, allowed)| rate < thresholds::FAR_BELOW_WINDOW * allowed)
    }

    /// Whether the window of the stretch at `at` shrank from `before`, since data waited to be read.
    pub(super) fn shrunk(&self, at: usize, before: u32) -> bool {
        window::shrunk(self.stretches, at, before, self.overview.base_rtt, self.context.mss)
    }

    /// The cause, if the window was used up and the path was full before it was: as much was delivered with far less in
    /// flight, and the rest stood in a queue; or it arrived without a pause, and a queue stood that the window itself
    /// made, as it is more than what is delivered in the shortest RTT.
    fn window_beyond_a_full_path(&self, stretch: &Stretch) -> Option<Cause> {
        let (more, than) = thresholds::BEYOND_FULL_PART;
        let is_beyond = self.full_at.is_some_and(|flight| stretch.flight_max / more >= flight / than);
        let at_peak = self.overview.is_at_peak(stretch.rate()?, thresholds::AT_PEAK);
        let base = self.overview.base_rtt.filter(|base| *base > 0)?;
        let fills = pace::is_even(stretch, base)
            && stretch.flight_max / more >= (stretch.rate()? * f64::from(base) / 8e6) as u32 / than;
        let is_full = (is_beyond || fills) && at_peak && queue::stood_throughout(self.overview, stretch);
        if is_full { queue::cause(stretch.rtt_min - base, base) } else { None }
    }
}
