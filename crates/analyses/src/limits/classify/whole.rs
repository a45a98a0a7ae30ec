//! What all the stretches of a direction show together, before its time is divided among causes.

use crate::limits::context::Context;
use crate::limits::jitter;
use crate::limits::pace;
use crate::limits::queue;
use crate::limits::stretch::{Hold, Marks, Stretch, rate};
use crate::limits::thresholds;
use crate::limits::track::Finished;
use crate::report::Overview;
use slowpath_model::statistics::{median, nearest_rank};

/// What the stretches show together.
pub(super) fn overview(context: &Context, finished: &Finished<'_>) -> Overview {
    let stretches = finished.log.as_slice();
    // Far from the sender, at a distance not known yet, an RTT is measured in part only.
    let measured = stretches.iter().map(|stretch| stretch.rtt_min).min().filter(|rtt| *rtt != u32::MAX);
    let base_rtt = context.base_rtt.or(measured);
    let shortest = i64::from(base_rtt.unwrap_or(0)) * 500;
    let is_rate = |stretch: &Stretch| {
        stretch.lasted() >= shortest.max(thresholds::LEAST_RATE_NS)
            && stretch.delivered > thresholds::LEAST_RATE_SEGMENTS * i64::from(context.mss)
    };
    let mut rates: Vec<(f64, i64)> = (0..stretches.len())
        .filter(|at| is_rate(&stretches[*at]))
        .filter_map(|at| Some((rate(around(stretches, at, &is_rate))?, stretches[at].lasted())))
        .collect();
    rates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let sending: i64 = rates.iter().map(|(_, lasted)| lasted).sum();
    let mut above = 0;
    let peak = rates.iter().find(|(_, lasted)| {
        above += lasted;
        above >= sending / thresholds::PEAK_TIME_PART
    });
    let peak_rate = peak.map_or(0.0, |(rate, _)| *rate);
    // Of few stretches, none is one of a few.
    let has_usual = context.at_sender && stretches.len() > thresholds::SELDOM_PART as usize;
    let least = if has_usual { usual_least(stretches) } else { measured };
    let longer = least.zip(base_rtt).map_or(0, |(least, base)| least.saturating_sub(base));
    let segment_time = longer.min((f64::from(context.mss) * 8e6 / peak_rate.max(1.0)) as u32);
    let mut overview = Overview {
        base_rtt,
        segment_time,
        peak_rate,
        queue_shows: context.queue_shows,
        at_receiver: context.at_receiver,
        unclocked: finished.from_afar.shows_no_clock(),
        ..Overview::default()
    };
    for stretch in stretches {
        overview.waits.clocked += u64::from(stretch.dry_clocked);
        overview.waits.one_at_a_time += u64::from(stretch.one_at_a_time);
        overview.reads.0 += u64::from(stretch.reads);
        overview.reads.1 += u64::from(stretch.read_after);
    }
    let sum = |of: &dyn Fn(&Stretch) -> i64| stretches.iter().map(of).sum::<i64>();
    // Both are counted where they fall, which may be in one RTT and the next.
    let ended =
        [sum(&|stretch| stretch.prompted.into()), sum(&|stretch| stretch.bursts_after_payload.into())];
    overview.waits.prompted = ended[0].max(ended[1]).unsigned_abs();
    let long_write = i64::from(thresholds::LONG_WRITE_SEGMENTS * context.mss);
    let ends_of_writes = sum(&|stretch| i64::from(stretch.emptied_short));
    overview.short_writes = ends_of_writes * long_write > sum(&|stretch| stretch.delivered);
    let many = thresholds::NEVER_SHORT_SEGMENTS * i64::from(context.mss);
    let retransmitted = stretches.iter().filter(|stretch| stretch.marks.has(Marks::RETRANSMITTED)).count();
    overview.never_short = ends_of_writes <= 1
        && sum(&|stretch| stretch.delivered) >= many
        && retransmitted >= thresholds::NEVER_SHORT_REPAIRS;
    let repairing = sum(&|stretch| stretch.under(Hold::Recovery));
    overview.nagled = sum(&|stretch| i64::from(stretch.nagled) * 1000);
    overview.lasted = sum(&Stretch::lasted);
    overview.seldom_repaired = repairing < overview.lasted / thresholds::SELDOM_PART;
    overview.never_full = stretches.iter().any(|stretch| pace::never_full(context, stretch));
    overview.unproven = stretches.iter().any(|stretch| stretch.marks.has(Marks::UNPROVEN));
    // A copy and the next segment may be in flight together for a moment.
    let sent = |stretch: &Stretch| i64::try_from(stretch.sent()).unwrap_or(i64::MAX);
    let several = |stretch: &Stretch| if stretch.flight_max > context.mss { sent(stretch) } else { 0 };
    overview.one_segment = sum(&several) <= sum(&sent) / thresholds::SELDOM_PART;
    overview.one_at_once =
        overview.one_segment && base_rtt.is_some_and(|base| one_at_once(context, stretches, base));
    let read = || stretches.iter().filter(|stretch| stretch.marks.has(Marks::READ));
    if read().map(Stretch::lasted).sum::<i64>() >= overview.lasted / thresholds::READ_PART {
        overview.read_rate = median(read().filter_map(Stretch::rate));
    }
    // Most flows are short, or their RTTs never were longer.
    if stretches.len() >= thresholds::LONGER_STRETCHES
        && stretches.iter().any(|stretch| queue::is_longer(&overview, stretch))
    {
        note_longer(&mut overview, context, stretches);
    }
    overview.queued =
        stretches.iter().filter(|s| queue::stood_throughout(&overview, s)).map(Stretch::lasted).sum();
    let steady = base_rtt.and_then(|base| {
        let disturbs = |s: &&Stretch| {
            queue::stood_throughout(&overview, s) && s.rtt_min - base > base / thresholds::DISTURBING_PART
        };
        let queued = stretches.iter().filter(disturbs).map(Stretch::lasted).sum();
        let sending = sum(&|stretch| stretch.under(Hold::Open));
        let times = pace::Times { sending, queued, repairing };
        // What was never lost teaches nothing about a policer.
        let lost = finished.episodes.all().any(|episode| !episode.is_spurious());
        Some((pace::steady(context, stretches, base, &times)?, lost && times.repaired_much()))
    });
    if let Some((steady, learnt_from_losses)) = steady {
        let above = |stretch: &Stretch| stretch.rate() > Some(thresholds::POLICER_ABOVE_RATE * steady.rate);
        if !learnt_from_losses {
            overview.rare_mut().steady = Some(steady);
        } else if stretches.iter().any(|stretch| is_rate(stretch) && above(stretch)) {
            overview.rare_mut().policed = Some(steady.rate);
        }
    }
    if let Some(pace) = pace::of_bunches(stretches, &overview) {
        overview.rare_mut().pace_of_bunches = Some(pace);
    }
    overview
}

/// The shortest RTT of a stretch, in microseconds, but for the few that are shorter: the end of a write takes less time to send than
/// a full segment.
fn usual_least(stretches: &[Stretch]) -> Option<u32> {
    let mut least: Vec<u32> = stretches.iter().map(|stretch| stretch.rtt_min).collect();
    least.retain(|rtt| *rtt != u32::MAX);
    nearest_rank(&mut least, 1000 / thresholds::SELDOM_PART as usize)
}

/// Why RTTs were longer than the path's.
fn note_longer(overview: &mut Overview, context: &Context, stretches: &[Stretch]) {
    if let Some(rtt) = queue::longer_rtt(overview, stretches, context.mss, context.at_receiver) {
        overview.rare_mut().longer_rtt = Some(rtt);
    }
    if !context.at_receiver
        && let Some(found) = queue::answered_at_once(overview, stretches, context.mss)
    {
        overview.rare_mut().answered_at_once = Some(found);
    }
    // Next to the receiver, its own delays look like jitter.
    if context.at_sender && jitter::is_one(stretches, overview, context.mss) {
        overview.rare_mut().jitter = true;
    }
}

/// Whether full segments, one at a time, took no longer than an RTT of `base` microseconds and a delay too short for
/// delayed ACKs.
fn one_at_once(context: &Context, stretches: &[Stretch], base: u32) -> bool {
    let open: i64 = stretches.iter().map(|stretch| stretch.under(Hold::Open)).sum();
    let delivered: i64 = stretches.iter().map(|stretch| stretch.delivered).sum();
    let each = open as f64 * f64::from(context.mss) / delivered.max(1) as f64;
    let full = stretches.iter().any(|stretch| stretch.flight_max == context.mss && stretch.emptied == 0);
    full && each < (f64::from(base) + f64::from(thresholds::DELAYED_ACKS_US)) * 1e3
}

/// The stretch at `at` with the next ones, then the previous ones, to [`thresholds::RATE_STRETCHES`], as far as `is_rate`
/// holds for them: ACKs come in bursts, and what they deliver in one RTT is not the rate of a path.
fn around<'a>(stretches: &'a [Stretch], at: usize, is_rate: &dyn Fn(&Stretch) -> bool) -> &'a [Stretch] {
    let goes_on = |at: usize| stretches.get(at).is_some_and(is_rate);
    let (mut from, mut to) = (at, at + 1);
    while to - from < thresholds::RATE_STRETCHES && goes_on(to) {
        to += 1;
    }
    while to - from < thresholds::RATE_STRETCHES && from > 0 && goes_on(from - 1) {
        from -= 1;
    }
    &stretches[from..to]
}
