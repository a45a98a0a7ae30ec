//! The parts of a stretch that have causes of their own: repairs, waits of Nagle's algorithm, and what a full path explains.

use super::Classifier;
use crate::cause::Cause;
use crate::limits::context::Context;
use crate::limits::episodes::Episodes;
use crate::limits::queue;
use crate::limits::stretch::{Hold, Part, Stretch, rate};
use crate::limits::thresholds;
use crate::limits::unslowed::losses_slow_nothing;
use crate::report::Overview;
use slowpath_model::Instant;

impl Classifier<'_> {
    /// Adds the parts of the stretch at `at`: the time in which losses were repaired or Nagle's algorithm held the sender,
    /// and the rest.
    pub(super) fn add_parts(&self, at: usize, parts: &mut Vec<Part>) {
        let stretch = &self.stretches[at];
        let before = parts.last().map(|part| part.cause);
        let cause = |held| self.cause(at, held, before);
        let whole = Part {
            stretch: at,
            from: stretch.from,
            to: stretch.to,
            cause: cause(stretch.held),
            repairs: stretch.held_most() == Hold::Recovery,
        };
        let mut rest = stretch.held;
        rest[Hold::Recovery as usize] = 0;
        let is_mixed = rest.iter().any(|time| *time > 0)
            && self.finished.episodes.between(stretch.from, stretch.to).next().is_some();
        let is_seen = !matches!(whole.cause, Cause::CaptureGap | Cause::OneDirection);
        if !is_mixed || !is_seen || stretch.held_most() == Hold::Window {
            let nagled = if is_seen { self.nagled(stretch) } else { 0 };
            let until = stretch.to.plus_nanos(-nagled);
            if nagled == 0 {
                parts.push(whole);
                return;
            }
            if until > stretch.from {
                parts.push(Part { to: until, cause: cause(without(nagled, stretch.held)), ..whole });
            }
            parts.push(Part { from: until, cause: Cause::NagleDelayedAck, ..whole });
            return;
        }
        let rest = cause(rest);
        let mut from = stretch.from;
        let mut add = |to: Instant, cause: Cause, repairs: bool| {
            if to > from {
                parts.push(Part { stretch: at, from, to, cause, repairs });
                from = to;
            }
        };
        for (began, ended, episode) in self.finished.episodes.between(stretch.from, stretch.to) {
            add(began, rest, false);
            if !episode.costs_nothing() {
                add(ended, episode.cause(), true);
            } else if self.was_answered_late(episode) {
                add(ended, Cause::DelaySpike, false);
            }
        }
        add(stretch.to, rest, false);
    }

    /// How long Nagle's algorithm held the sender in `stretch`, in nanoseconds, if it did so for a good part of all time.
    fn nagled(&self, stretch: &Stretch) -> i64 {
        let is_often = self.overview.nagled >= self.overview.lasted / thresholds::NAGLED_PART;
        let is_free = is_often && stretch.held_most() != Hold::Window && !self.finished.nagle_is_off;
        if is_free { (i64::from(stretch.nagled) * 1000).min(stretch.lasted()) } else { 0 }
    }

    /// The mean rate of the stretches of `parts`, in bit/s, if they are several.
    fn mean_rate(&self, parts: &[Part]) -> Option<f64> {
        let [first, .., last] = parts else { return None };
        let stretches = &self.stretches[first.stretch..=last.stretch];
        rate(stretches).filter(|_| stretches.len() > 1)
    }

    /// Losses are how most congestion control learns that the path is full. Repairs at the path's full rate cost no
    /// time.
    pub(super) fn repaired_on_a_full_path(&self, parts: &mut [Part]) {
        let full = |cause: Cause| matches!(cause, Cause::BottleneckFull | Cause::StandingQueue);
        let of_repair = |cause: Cause| {
            matches!(
                cause,
                Cause::FastRecovery | Cause::LostRetransmission | Cause::Reordering | Cause::AfterLoss
            )
        };
        let is_full_rate = |rate: f64| {
            self.overview.is_at_peak(rate, thresholds::REPAIRED_AT_FULL_RATE) && self.may_fill_path(rate)
        };
        let is_unslowed = parts.iter().any(|part| of_repair(part.cause))
            && losses_slow_nothing(self.stretches, self.overview, self.context.mss);
        let is_kept = |stretch: &Stretch| {
            is_unslowed
                && stretch.rate().is_some_and(|rate| self.overview.is_at_peak(rate, thresholds::AT_PEAK))
        };
        // From one loss to the next the rate varies; a sender that losses do not slow down keeps it on average.
        let mut on_path: Option<(Cause, Option<f64>)> = None;
        for run in parts.chunk_by_mut(|a, b| of_repair(a.cause) == of_repair(b.cause)) {
            let is_slowed = run.iter().any(|part| part.cause == Cause::AfterLoss);
            let keeps_rate =
                !is_slowed && self.overview.queued > 0 && self.mean_rate(run).is_some_and(is_full_rate);
            for part in run {
                let stretch = &self.stretches[part.stretch];
                if part.repairs && of_repair(part.cause) && queue::is_long(self.overview, stretch) {
                    part.cause = self.queued(stretch);
                }
                // The path may have been faster before.
                let of_path = |rate: f64| {
                    let before = on_path.and_then(|(_, before)| before);
                    before.is_some_and(|before| rate >= thresholds::REPAIRED_AT_FULL_RATE * before)
                        && matches!(part.cause, Cause::FastRecovery | Cause::LostRetransmission)
                        && queue::is_longer(self.overview, stretch)
                };
                let at_rate =
                    keeps_rate || stretch.rate().is_some_and(|rate| is_full_rate(rate) || of_path(rate));
                match (part.cause, on_path) {
                    (cause, Some((path, _))) if of_repair(cause) && at_rate => part.cause = path,
                    (cause, None)
                        if of_repair(cause)
                            && (keeps_rate
                                || is_kept(stretch)
                                || stretch
                                    .rate()
                                    .is_some_and(|rate| self.paced_at_the_peak(stretch, rate))) =>
                    {
                        part.cause = Cause::BottleneckFull;
                    }
                    (now, _) if full(now) => on_path = Some((now, stretch.rate())),
                    (Cause::FastRecovery | Cause::LostRetransmission | Cause::Reordering, _) => {}
                    _ => on_path = None,
                }
            }
        }
    }
}

/// A queue that stood before the flow began, as another flow shows: each RTT took as long as that, however the window grew.
pub(super) fn of_queue_at_first(overview: &Overview, stretches: &[Stretch], parts: &mut [Part]) {
    let waits = |cause| matches!(cause, Cause::SlowStart | Cause::EarlyExit | Cause::Undetermined);
    let of_acks = queue::is_mostly_of_acks(overview, stretches);
    for part in parts.iter_mut().filter(|part| waits(part.cause)) {
        let stretch = &stretches[part.stretch];
        if stretch.rtt_min != u32::MAX
            && let Some(found) = queue::of_stretch(overview, stretch)
        {
            part.cause = if of_acks { Cause::AckPathQueue } else { found };
        }
    }
}

/// A queue that rises and falls has one name: by whether it was longer than the path itself on average.
pub(super) fn of_one_queue(overview: &Overview, stretches: &[Stretch], parts: &mut [Part]) {
    let Some(base) = overview.base_rtt else { return };
    let is_path = |part: &Part| matches!(part.cause, Cause::BottleneckFull | Cause::StandingQueue);
    let (mut queued, mut lasted) = (0.0, 0.0);
    for part in parts.iter().filter(|part| is_path(part)) {
        let rtt = stretches[part.stretch].rtt_min;
        if rtt != u32::MAX {
            queued += f64::from(rtt.saturating_sub(base)) * part.lasted() as f64;
            lasted += part.lasted() as f64;
        }
    }
    if lasted > 0.0 {
        let cause = queue::name((queued / lasted) as u32, base);
        parts.iter_mut().filter(|part| is_path(part)).for_each(|part| part.cause = cause);
    }
}

/// Names reordering where nothing was lost, and most of the time is that of windows reduced by it. Without SACK, no sender learns
/// that it reduced its window for nothing (`tcp_try_undo_dsack`, 6.18).
pub(super) fn of_reordering(context: &Context, episodes: &Episodes, parts: &mut [Part]) {
    let reduced = |part: &Part| part.cause == Cause::AfterLoss;
    let lasted: i64 = parts.iter().filter(|part| reduced(part)).map(Part::lasted).sum();
    let is_most = lasted * 2 > context.last.nanos_since(context.first);
    if is_most && !context.sacked && episodes.are_of_reordering() {
        parts.iter_mut().filter(|part| reduced(part)).for_each(|part| part.cause = Cause::Reordering);
    }
}

/// Pauses in a transfer whose segments are all full do not show that a program had nothing to send: its writes would have ended in
/// short segments. One that writes by the clock, in multiples of the MSS, does not lose packets. But a few pauses may be a program's: a
/// writer that had no CPU for a moment.
pub(super) fn of_no_program(overview: &Overview, stretches: &[Stretch], parts: &mut [Part]) {
    let has_data = |stretch: &Stretch| stretch.delivered > 0;
    let (Some(first), Some(last)) =
        (stretches.iter().position(has_data), stretches.iter().rposition(has_data))
    else {
        return;
    };
    let is_pause = |part: &Part| part.cause == Cause::SenderIdle && (first + 1..last).contains(&part.stretch);
    let paused: i64 = parts.iter().filter(|part| is_pause(part)).map(Part::lasted).sum();
    if paused >= overview.lasted / thresholds::NEVER_SHORT_PAUSED_PART {
        parts.iter_mut().filter(|part| is_pause(part)).for_each(|part| part.cause = Cause::Undetermined);
    }
}

/// The holds without `nagled` nanoseconds in which more was there to send, or seemed not to be.
fn without(nagled: i64, mut held: [i64; Hold::COUNT]) -> [i64; Hold::COUNT] {
    let of_open = nagled.min(held[Hold::Open as usize]);
    held[Hold::Open as usize] -= of_open;
    held[Hold::Dry as usize] -= (nagled - of_open).min(held[Hold::Dry as usize]);
    held
}
