//! Names a cause for every stretch of a direction's time.

mod parts;
mod receiver;
mod whole;

use super::alternatives::Tally;
use super::context::Context;
use super::credit::{self, Turns};
use super::episodes::Episode;
use super::growth;
use super::pace;
use super::policer::{self, OneRate};
use super::queue;
use super::send_buffer;
use super::stretch::{self, Hold, Marks, Part, Prompt, Stretch, most};
use super::thresholds;
use super::ticks::Clock;
use super::track::Finished;
use super::window;
use super::written;
use crate::cause::Cause;
use crate::overview::{ScaleChanged, Steady};
use crate::report::{Overview, ScaleKnown, Spell};
use slowpath_model::Instant;

/// Splits a direction's time into spells of one cause each. `rule` is the cause that all its losses have in common, if
/// there is one ([`LossPattern::rule`](crate::loss_pattern::LossPattern::rule)).
pub fn spells(context: &Context, finished: &Finished<'_>, rule: Option<Cause>) -> (Vec<Spell>, Overview) {
    let mut overview = whole::overview(context, finished);
    overview.near_known =
        !finished.is_unplaced(context.first.plus_nanos(context.last.nanos_since(context.first) / 2));
    if finished.taken_back.times > 0 {
        overview.rare_mut().taken_back = finished.taken_back;
    }
    let scale = if let ScaleKnown::Agreed(scale) = context.scale { scale } else { 0 };
    if let Some(found) = finished.scaled_otherwise.filter(|found| found.less <= scale) {
        overview.rare_mut().scale_changed = Some(ScaleChanged::Filled(found));
    } else if context.scale_changed.is_some() {
        overview.rare_mut().scale_changed = context.scale_changed;
    }
    if finished.clock.is_some() {
        overview.rare_mut().clock = finished.clock;
    }
    if finished.read_times.is_some() {
        overview.rare_mut().read_times = finished.read_times;
    }
    let refilled = |at: usize| send_buffer::is_refilled(finished.log.as_slice(), at, context.at_sender);
    overview.like_refills = !context.at_sender && (0..finished.log.as_slice().len()).any(refilled);
    if overview.rare().steady.is_some() && !context.at_sender && finished.trains.are_pushed() {
        // Seen from afar, a program that writes segments sends as evenly as a clock of its host.
        overview.rare_mut().steady = None;
    }
    overview.longest_recovery = finished.episodes.all().map(Episode::lasted).max().unwrap_or(0);
    let stretches = finished.log.as_slice();
    let begin = stretches.first().map_or(context.last, |stretch| stretch.from);
    let mut spells = Spells::default();
    let begin = begin.max(context.established.unwrap_or(begin));
    spells.add(context.first, begin, context.opening);
    let full_at = queue::least_flight_at_peak(stretches, overview.base_rtt.unwrap_or(0), overview.peak_rate);
    let capacity = finished.trains.capacity().filter(|_| !context.at_sender && !context.queue_shows);
    let is_larger = window::is_larger(context.scale, stretches, finished.rescaled, overview.base_rtt);
    let rescaled = if is_larger { Some(context.last) } else { finished.rescaled };
    let classifier =
        Classifier { context, overview: &overview, stretches, finished, full_at, capacity, rescaled };
    let mut parts: Vec<Part> = Vec::with_capacity(stretches.len());
    for at in 0..stretches.len() {
        classifier.add_parts(at, &mut parts);
    }
    classifier.repaired_on_a_full_path(&mut parts);
    parts::of_reordering(context, finished.episodes, &mut parts);
    growth::full_without_a_queue(stretches, &overview, context.mss, &mut parts);
    growth::without_growth(stretches, &overview, context.mss, &mut parts);
    send_buffer::between_full(stretches.len(), &mut parts);
    // A queue overflows when much is in flight, which is also beyond the unscaled window field.
    let life = context.last.nanos_since(context.first);
    let crowded = overview.queued > life / thresholds::POLICER_QUEUED_PART;
    if let Some(rule) = rule.filter(|rule| *rule != Cause::BeyondUnscaledWindow || !crowded) {
        // A sender that has made its segments smaller still has to repair what it sent before.
        let until = context.ruled_until.unwrap_or(context.last);
        let mut repairing = true;
        for part in &mut parts {
            repairing &= part.from <= until || is_of_loss(part.cause) && part.cause != Cause::AfterLoss;
            // Blocks that fit nothing look like data that was discarded.
            let is_misread = rule == Cause::SackUntranslated && part.cause == Cause::SackReneging;
            if (is_of_loss(part.cause) || is_misread) && part.to >= context.ruled_since && repairing {
                part.cause = rule;
            }
        }
    }
    // A full queue that does not show in the RTTs drops packets as a policer does.
    let one_rate = policer::one_rate(stretches, finished.episodes, &overview).filter(|_| context.queue_shows);
    let fitting = context.bucket.filter(|_| rule.is_none());
    let one_rate = one_rate.filter(|found| !found.is_refuted(fitting));
    let bucket = fitting.filter(|bucket| bucket.is_policer);
    let by_burst = bucket.map(|bucket| OneRate::Policer(bucket.rate()));
    if bucket.is_some() {
        overview.rare_mut().bucket = bucket;
    }
    let is_policer = |found: &OneRate| matches!(found, OneRate::Policer(_));
    let learnt = overview.rare().policed.map(OneRate::Policer);
    match one_rate.filter(is_policer).or(by_burst).or(one_rate).or(learnt) {
        Some(OneRate::Policer(policed)) => {
            overview.rare_mut().policed = Some(policed);
            policer::take_over(policed, stretches, &overview, &mut parts);
        }
        Some(OneRate::Link(_)) => {
            overview.rare_mut().policed = None;
            let lost = parts.iter_mut().filter(|part| policer::may_be_one(part.cause));
            lost.for_each(|part| part.cause = Cause::BottleneckFull);
        }
        None => {}
    }
    if overview.never_short {
        parts::of_no_program(&overview, stretches, &mut parts);
    }
    credit::take_over(stretches, &overview, context, &mut parts);
    written::take_over(stretches, &overview, context, &mut parts);
    send_buffer::take_over_from_afar(stretches, &overview, context, finished, &mut parts);
    if context.queued_at_first {
        parts::of_queue_at_first(&overview, stretches, &mut parts);
        overview.rare_mut().queued_at_first = true;
    }
    parts::of_one_queue(&overview, stretches, &mut parts);
    let of = parts.iter().map(|part| (&stretches[part.stretch], part));
    overview.tallies = Tally::of(of, |stretch| queue::stood_throughout(&overview, stretch));
    overview.waits.answering = answering(stretches, &parts, finished.sent);
    let with_ack_queue = parts.iter().filter(|part| part.cause == Cause::AckPathQueue);
    if let Some(found) = queue::of_acks(&overview, with_ack_queue.map(|part| &stretches[part.stretch])) {
        overview.rare_mut().ack_queue = Some(found);
    }
    for part in &parts {
        spells.add(part.from.max(begin), part.to, part.cause);
    }
    spells.add(spells.end().unwrap_or(context.first), context.last, Cause::SenderIdle);
    (spells.done, overview)
}

/// How long the sender took, in nanoseconds, until it answered, in the parts that are turns. After it sent data for the
/// last time, it answered nothing.
fn answering(stretches: &[Stretch], parts: &[Part], sent: Instant) -> i64 {
    let answered =
        parts.chunk_by(|a, b| a.stretch == b.stretch).filter(|parts| stretches[parts[0].stretch].from < sent);
    let turns = answered.map(|parts| {
        let turns = parts.iter().filter(|part| part.cause == Cause::ThinkTime).map(Part::lasted);
        turns.sum::<i64>().min(i64::from(stretches[parts[0].stretch].answering) * 1000)
    });
    turns.sum()
}

#[derive(Default)]
struct Spells {
    done: Vec<Spell>,
}

impl Spells {
    fn add(&mut self, from: Instant, to: Instant, cause: Cause) {
        if to <= from {
            return;
        }
        match self.done.last_mut() {
            Some(last) if last.cause == cause => last.to = to,
            _ => self.done.push(Spell { from, to, cause }),
        }
    }

    fn end(&self) -> Option<Instant> {
        self.done.last().map(|spell| spell.to)
    }
}

/// What is known of a direction whose time is divided among causes.
struct Classifier<'a> {
    context: &'a Context,
    overview: &'a Overview,
    stretches: &'a [Stretch],
    finished: &'a Finished<'a>,
    /// The least data in flight, in bytes, with which the path delivered its peak rate.
    full_at: Option<u32>,
    /// The path's capacity in bit/s, as trains show it where no RTT shows a queue.
    capacity: Option<f64>,
    /// Until when the scale that was inferred is too small, and with it the window.
    rescaled: Option<Instant>,
}

impl Classifier<'_> {
    /// The cause of the stretch at `at`, given the times of its holds.
    fn cause(&self, at: usize, mut held: [i64; Hold::COUNT], before: Option<Cause>) -> Cause {
        let stretch = &self.stretches[at];
        if !self.context.answered {
            return Cause::OneDirection;
        }
        // What was used up was not the window, but a part of it.
        if self.rescaled.is_some_and(|rescaled| stretch.from < rescaled) {
            held[Hold::Open as usize] += std::mem::take(&mut held[Hold::Window as usize]);
        }
        // While a window is used up now and then, Linux saves data for a larger segment in between
        // (tcp_tso_should_defer, 6.18): the window holds that back.
        if held[Hold::Window as usize] >= stretch.lasted() / 10 {
            held[Hold::Window as usize] += std::mem::take(&mut held[Hold::Open as usize]);
        }
        let mut most = most(&held);
        if let Some(probed) = self.repair(stretch).filter(|one| most == Hold::Recovery && one.costs_nothing())
        {
            most = if self.was_answered_late(probed) { Hold::Delayed } else { Hold::Dry };
        }
        match most {
            // The sender did send meanwhile; the capture does not show what and when.
            _ if stretch.marks.has(Marks::MISSED) => Cause::CaptureGap,
            Hold::Idle | Hold::Dry | Hold::Delayed if stretch.marks.has(Marks::GAP) => Cause::CaptureGap,
            // A hole was SACKed over, and nothing that would fill it ever came.
            Hold::Idle | Hold::Dry | Hold::Delayed
                if self.finished.missing_since.is_some_and(|since| since < stretch.middle()) =>
            {
                Cause::LostRetransmission
            }
            Hold::Idle | Hold::Dry | Hold::Open
                if matches!(self.overview.rare().scale_changed,
                    Some(ScaleChanged::Filled(found)) if stretch.from >= found.since) =>
            {
                self.changed_scale()
            }
            Hold::Idle | Hold::Dry if self.waits_for_a_tick(stretch) => Cause::SenderIdle,
            Hold::Dry | Hold::Open if window::fills_unscaled(self.context, stretch) => {
                Cause::ReceiveBufferTooSmall
            }
            Hold::Idle | Hold::Dry | Hold::Open if self.is_paced(stretch, most) => Cause::LocalRateLimit,
            Hold::Dry | Hold::Open
                if self.context.at_sender && queue::outlasts_pauses(self.overview, stretch) =>
            {
                self.queued(stretch)
            }
            Hold::Idle | Hold::Dry | Hold::Open if self.arrives_at_capacity(at) => Cause::BottleneckFull,
            Hold::Dry | Hold::Delayed | Hold::Open
                if self.unread(at) || self.answers_when_read(at) || self.waits_for_reads(at) =>
            {
                Cause::SlowReader
            }
            Hold::Dry | Hold::Open if self.follows_the_window(at) => self.window(at),
            Hold::Dry | Hold::Open if self.grants_keep_a_ceiling(at) => Cause::ProtocolWindow,
            // If the sender's distance is unknown, so is what reached it, and when.
            Hold::Idle | Hold::Dry | Hold::Open if self.finished.is_unplaced(stretch.from) => {
                Cause::Undetermined
            }
            Hold::Open | Hold::Dry | Hold::Delayed if stretch.marks.has(Marks::HELD_BACK) => {
                // Linux delays ACKs that would offer less than those before, since data waits to be read.
                let before = window::largest(&self.stretches[..at]);
                if self.shrunk(at, before) { Cause::SlowReader } else { Cause::AcksHeldBack }
            }
            Hold::Idle if stretch.marks.has(Marks::PEER_SPOKE) => self.turns(at),
            Hold::Idle | Hold::Dry if stretch.marks.has(Marks::UNPROVEN) => Cause::Undetermined,
            Hold::Idle => Cause::SenderIdle,
            Hold::Window => self.window(at),
            Hold::Recovery => self.repair(stretch).map_or(Cause::FastRecovery, Episode::cause),
            Hold::Delayed if self.keeps_arriving(stretch) => Cause::BottleneckFull,
            // If the timer expires meanwhile, the wait was for the timer.
            Hold::Delayed => match self.stretches.get(at + 1) {
                Some(next) if next.under(Hold::Recovery) * 2 > next.lasted() => {
                    let cause = self.repair(next).map(Episode::cause);
                    // ACKs triggered the other repairs.
                    cause
                        .filter(|cause| !matches!(cause, Cause::FastRecovery | Cause::Reordering))
                        .unwrap_or(Cause::DelaySpike)
                }
                _ => Cause::DelaySpike,
            },
            Hold::Dry => self.dry(at, before),
            Hold::Open => self.open(at),
        }
    }

    /// Whether the answer that a probe was sent for was late ([`Episode::was_answered_late`]).
    fn was_answered_late(&self, episode: &Episode) -> bool {
        self.overview.base_rtt.is_some_and(|base| episode.was_answered_late(base))
    }

    /// The loss recovery in the middle of `stretch`.
    fn repair(&self, stretch: &Stretch) -> Option<&Episode> {
        self.finished.episodes.around(stretch.middle())
    }

    /// Whether pacing or a shaper of the sending host let data out.
    fn is_paced(&self, stretch: &Stretch, hold: Hold) -> bool {
        let below_peak = thresholds::PACE_BELOW_PEAK * self.overview.peak_rate;
        let base = self.overview.base_rtt.unwrap_or(0);
        let least = (base / thresholds::CLOCK_QUEUE_PART).max(thresholds::QUEUE_LEAST_US);
        let is_queued =
            stretch.rtt_min != u32::MAX && stretch.rtt_min > base + self.overview.segment_time + least;
        pace::is_clocked(stretch, self.overview) && !is_queued
            || pace::is_of_bunches(stretch, self.overview)
                && (hold != Hold::Open || stretch.departure_rate().is_some_and(|rate| rate < below_peak))
    }

    /// Whether a few bytes of the other end came before burst after burst, and what was in flight had a ceiling to the byte: a
    /// program writes what it is granted in pieces.
    fn grants_keep_a_ceiling(&self, at: usize) -> bool {
        let stretch = &self.stretches[at];
        stretch.flight_max >= thresholds::CREDIT_SEGMENTS * self.context.mss
            && pace::has_grants(stretch, thresholds::GRANTS)
            && send_buffer::has_ceiling(self.context, self.stretches, at)
    }

    /// The cause of a stretch in which a queue stood throughout.
    fn queued(&self, stretch: &Stretch) -> Cause {
        queue::of_stretch(self.overview, stretch).unwrap_or(Cause::BottleneckFull)
    }

    /// The sender's queue was empty after its last segment.
    fn dry(&self, at: usize, before: Option<Cause>) -> Cause {
        let stretch = &self.stretches[at];
        let waits = stretch.dry_clocked.saturating_add(stretch.dry_free).saturating_add(stretch.prompted);
        let prompted = f64::from(stretch.prompted) >= thresholds::CLOCKED_BY_ACKS * f64::from(waits);
        if (stretch.prompted > 0 && prompted) || pace::by_payload(stretch) {
            return self.turns(at);
        }
        let by_nagle = !self.overview.unclocked && !self.finished.nagle_is_off;
        if by_nagle && stretch.one_at_a_time > 0 && stretch.one_at_a_time * 2 >= waits {
            return Cause::NagleDelayedAck;
        }
        if pace::never_full(self.context, stretch) {
            return Cause::Undetermined;
        }
        if waits == 0 {
            return match before {
                Some(Cause::NagleDelayedAck) if self.program_ends_wait(at) => Cause::SenderIdle,
                Some(
                    cause @ (Cause::SendBufferFull
                    | Cause::ThinkTime
                    | Cause::NagleDelayedAck
                    | Cause::ProtocolWindow),
                ) => cause,
                _ => Cause::SenderIdle,
            };
        }
        let is_early = !self.context.at_sender && stretch.marks.has(Marks::BEFORE_LOSS);
        if is_early && stretch.dry_clocked == waits && growth::doubles(self.stretches, at) {
            return Cause::SlowStart;
        }
        // A full buffer holds the same amount each time.
        let clocked = f64::from(stretch.dry_clocked) >= thresholds::CLOCKED_BY_ACKS * f64::from(waits);
        let own = self.overview.unclocked || !self.context.at_sender && pace::often_emptied(stretch);
        let least = thresholds::LEAST_BUFFERED_SEGMENTS * self.context.mss;
        let is_left = send_buffer::left_after_wait(self.stretches, at) >= least;
        if clocked && is_left && !own && send_buffer::may_be_full(self.stretches, at) {
            return self.full_buffer(stretch);
        }
        if let Some(cause) = self.refilled(at).filter(|_| is_left || !self.context.at_sender) {
            return cause;
        }
        if stretch.marks.has(Marks::PEER_SPOKE) {
            Cause::ThinkTime
        } else if send_buffer::waits_at_ceiling(self.context, self.stretches, at) {
            self.full_buffer(stretch)
        } else if self.context.at_sender && clocked && stretch.emptied_short * 2 < waits {
            // ACKs made it go on, and no segment shows the end of a write.
            Cause::Undetermined
        } else {
            Cause::SenderIdle
        }
    }

    /// Whether no ACK and no payload ended the wait in which the stretch at `at` ends, but a program that wrote.
    fn program_ends_wait(&self, at: usize) -> bool {
        let ended = |stretch: &&Stretch| stretch.dry_clocked + stretch.dry_free + stretch.prompted > 0;
        self.stretches[at + 1..].iter().find(ended).is_some_and(|stretch| stretch.dry_free > 0)
    }

    /// The sender waited for payload of the other end. A few bytes that let much data out are credit, not a request.
    fn turns(&self, at: usize) -> Cause {
        let rtt = self.overview.base_rtt.unwrap_or(0);
        let on_credit = Turns::around(self.stretches, at).are_on_credit(self.context.mss, rtt);
        if on_credit { Cause::ProtocolWindow } else { Cause::ThinkTime }
    }

    /// More data was waiting, and the receiver's window was open: the congestion window or the path held the sender.
    fn open(&self, at: usize) -> Cause {
        let stretch = &self.stretches[at];
        // Without an RTT, a full path and a small window look the same.
        let Some(base) = self.overview.base_rtt else { return Cause::Undetermined };
        let rate = stretch.rate().unwrap_or(0.0);
        // Neither an ACK nor the window made the sender send when it did. If its queue ran empty in between, its
        // application did.
        let begins_by_acks = pace::begins_by_acks(self.stretches, at);
        let by_itself = if self.context.at_sender {
            !begins_by_acks && pace::by_itself(self.context, stretch, self.overview.rare().steady.is_some())
        } else {
            stretch.open_free > stretch.open_clocked.saturating_mul(2)
        };
        if self.context.at_sender && pace::by_grants(self.stretches, at) {
            return self.turns(at);
        }
        if stretch.marks.has(Marks::BEFORE_LOSS) && self.is_all_there_was(at) {
            return Cause::SenderIdle;
        }
        let emptied = pace::ran_dry(stretch) || self.context.at_sender && stretch.emptied > 0;
        if let Some(cause) = self.refilled(at).filter(|_| send_buffer::waited(self.stretches, at, by_itself))
        {
            return cause;
        }
        let wakes = || self.context.at_sender && send_buffer::wakes_rtt_after_rtt(self.stretches, at);
        if send_buffer::waits_at_ceiling(self.context, self.stretches, at) || wakes() {
            return self.full_buffer(stretch);
        }
        // Behind a queue, a paced sender with few segments in flight sends such bursts, too.
        let is_queued = queue::stood_throughout(self.overview, stretch);
        let by_program = emptied || self.context.at_sender && !is_queued && self.equal_bursts(at);
        if by_itself && by_program && !pace::has_one(stretch) {
            return Cause::SenderIdle;
        }
        let is_steady = |steady: &Steady| pace::is_steady(self.context, stretch, steady, base);
        if self.overview.rare().steady.as_ref().is_some_and(is_steady) {
            return Cause::LocalRateLimit;
        }
        // A stack that keeps one segment in flight is held by each ACK and its delay. Without a delay, it is held by
        // its buffer. What makes the RTT longer is that segment itself, or the delay.
        if self.overview.one_segment && self.stretches[0].marks.has(Marks::BEFORE_LOSS) {
            return if self.overview.one_at_once { Cause::SendBufferFull } else { Cause::NagleDelayedAck };
        }
        if is_queued {
            return self.queued(stretch);
        }
        if self.overview.rare().answered_at_once.is_some() && queue::is_longer(self.overview, stretch) {
            return Cause::Undetermined;
        }
        // A burst that payload triggered and an ACK continued belongs to the congestion window. The end of a write that
        // Nagle's algorithm held back is no more than a segment.
        let goes_on = |next: &Stretch| pace::waited_for_acks(next) && !pace::by_payload(next);
        if pace::by_payload(stretch) && !self.stretches.get(at + 1).is_some_and(goes_on) {
            return self.turns(at);
        }
        let in_bursts = begins_by_acks && self.leaves_in_bursts(stretch);
        if !by_itself && send_buffer::is_ceiling(self.context, self.stretches, at, in_bursts) {
            return Cause::SendBufferFull;
        }
        // From afar it does not show what triggered a segment, only that everything was sent each time.
        if !self.context.at_sender
            && (pace::often_emptied(stretch) || self.overview.unclocked && stretch.emptied > 0)
        {
            return Cause::SenderIdle;
        }
        // Bursts that no ACK triggered: most likely a program's.
        if !self.context.at_sender && self.overview.unclocked && self.equal_bursts(at) {
            return Cause::Undetermined;
        }
        if stretch.marks.has(Marks::AFTER_ECN) {
            return if self.paced_at_the_peak(stretch, rate) {
                Cause::BottleneckFull
            } else {
                Cause::EcnMarks
            };
        }
        if stretch.marks.has(Marks::BEFORE_LOSS) {
            let grows = |earlier: &Stretch, later: &Stretch| {
                let (more, than) = thresholds::GROWS;
                later.flight_max / more >= earlier.flight_max / than
            };
            let earlier = at.checked_sub(1).map(|at| &self.stretches[at]);
            let later = self.stretches.get(at + 1);
            let growing =
                earlier.is_none_or(|s| grows(s, stretch)) || later.is_some_and(|s| grows(stretch, s));
            if growing {
                return Cause::SlowStart;
            }
            if self.paced_at_the_peak(stretch, rate) {
                return Cause::BottleneckFull;
            }
            // Fewer than the initial window, without growth from RTT to RTT, is all there was, or all that the sender's
            // buffer holds. In the latter case, each ACK lets out what it made room for.
            return if stretch.flight_max < thresholds::INITIAL_WINDOW_SEGMENTS * self.context.mss {
                let by_ack = stretch.part_sent_after(&Prompt::ACKS) >= thresholds::CLOCKED_BY_ACKS;
                let is_alike = send_buffer::is_alike_beside(self.stretches, at);
                let is_full = self.context.at_sender && by_ack && stretch.emptied == 0 && is_alike;
                if is_full {
                    Cause::SendBufferFull
                } else if !self.context.at_sender && stretch.emptied == 0 && is_alike {
                    // From afar, a window that a device on the path wrote looks the same.
                    Cause::Undetermined
                } else {
                    Cause::SenderIdle
                }
            } else if at < thresholds::STUCK_AFTER {
                Cause::SlowStart
            } else if self.context.scale.is_known()
                && self.queue_shows(stretch)
                && !self.had_more_in_flight(at)
                && (self.context.at_sender
                    || !send_buffer::is_no_congestion_window(self.stretches, at, self.context.mss))
            {
                // A window of unknown scale may be the limit.
                Cause::EarlyExit
            } else {
                Cause::Undetermined
            };
        }
        if self.paced_at_the_peak(stretch, rate) {
            Cause::BottleneckFull
        } else if !self.queue_shows(stretch)
            && self.overview.seldom_repaired
            && self.is_at_the_peak(stretch, rate)
        {
            // A full path looks the same.
            Cause::Undetermined
        } else {
            Cause::AfterLoss
        }
    }

    /// Whether the program writes by the clock, and the wait is no longer than that explains.
    fn waits_for_a_tick(&self, stretch: &Stretch) -> bool {
        let silent = |clock: Clock| thresholds::TICKS_SILENT.saturating_mul(clock.every.as_nanos() as i64);
        stretch.marks.has(Marks::TICKING)
            && self.overview.rare().clock.is_some_and(|clock| stretch.lasted() <= silent(clock))
    }

    /// Whether fewer segments than an initial window left between two times in which the sender was idle: their ACKs let nothing
    /// out.
    fn is_all_there_was(&self, at: usize) -> bool {
        let is_idle = |stretch: &Stretch| stretch.under(Hold::Idle) * thresholds::DRY_PART > stretch.lasted();
        let after = self.stretches[at + 1..].iter().take_while(|stretch| stretch.sent() == 0);
        let ends_idle = is_idle(&self.stretches[at]) || after.take(2).any(is_idle);
        self.context.at_sender
            && self.stretches[at].flight_max < thresholds::INITIAL_WINDOW_SEGMENTS * self.context.mss
            && at > 0
            && is_idle(&self.stretches[at - 1])
            && ends_idle
    }

    /// The cause, if ACKs let out bursts as a full buffer does; from afar, they may only seem to.
    fn refilled(&self, at: usize) -> Option<Cause> {
        let is_sure = self.context.at_sender || self.finished.from_afar.shows_clock();
        send_buffer::is_refilled(self.stretches, at, self.context.at_sender)
            .then(|| if is_sure { self.full_buffer(&self.stretches[at]) } else { Cause::Undetermined })
    }

    /// The cause, if the send buffer was full. Where it holds enough to keep the path full, the path is the limit.
    fn full_buffer(&self, stretch: &Stretch) -> Cause {
        let is_full =
            queue::stood_throughout(self.overview, stretch) && pace::is_even(stretch, stretch.rtt_min);
        if is_full { self.queued(stretch) } else { Cause::SendBufferFull }
    }

    /// Whether a queue in `stretch` would show.
    const fn queue_shows(&self, stretch: &Stretch) -> bool {
        self.context.queue_shows || stretch.rtt_min != u32::MAX
    }

    /// Whether far more was in flight before the stretch at `at`: without a loss, no congestion window shrinks.
    fn had_more_in_flight(&self, at: usize) -> bool {
        let flight = self.stretches[at].flight_max;
        self.stretches[..at].iter().any(|stretch| stretch.flight_max / 2 > flight)
    }

    /// Whether data that no ACK triggers leaves in equal bursts, one each RTT: a program writes it. A clock of the
    /// host sends evenly, and a congestion window grows or shrinks.
    fn equal_bursts(&self, at: usize) -> bool {
        let stretch = &self.stretches[at];
        let alike = |other: &Stretch| {
            let (more, less) =
                (other.flight_max.max(stretch.flight_max), other.flight_max.min(stretch.flight_max));
            let (part, of) = thresholds::EQUAL_BURSTS_PART;
            less >= more / of * part
        };
        at >= thresholds::STUCK_AFTER
            && !growth::climbs(self.stretches, at, self.context.mss)
            && self.overview.rare().steady.is_none()
            && self.leaves_in_bursts(stretch)
            && stretch::around(self.stretches, at, 1).iter().all(alike)
    }

    /// Whether the sender paused between bursts, for a good part of the RTT there was; far from it, whether they arrive so.
    fn leaves_in_bursts(&self, stretch: &Stretch) -> bool {
        let base = self.overview.base_rtt.unwrap_or(0);
        if !self.context.at_sender {
            return !pace::is_even(stretch, base);
        }
        let rtt = if stretch.rtt_min == u32::MAX { base } else { stretch.rtt_min.max(base) };
        stretch.send_gap_max >= rtt / thresholds::EVEN_GAP_PART
    }

    /// Whether data arrives without a pause at the rate of the slowest link, as trains show that: far from the sender,
    /// where no RTT shows a queue. For one RTT only, it may be a train itself.
    fn arrives_at_capacity(&self, at: usize) -> bool {
        let Some(capacity) = self.capacity else { return false };
        let (least, most) = thresholds::AT_CAPACITY;
        // Two segments for each ACK, and as many late.
        let pause = (4.0 * f64::from(self.context.mss) * 8e6 / capacity) as u32;
        let pause = pause.max(self.overview.base_rtt.unwrap_or(0) / thresholds::EVEN_GAP_PART);
        let fills = |stretch: &Stretch| {
            let rate = stretch.rate().unwrap_or(0.0);
            // Writes end now and then while the link is busy; a program that keeps to a rate ends each after a few segments.
            let long = i64::from(thresholds::LONG_WRITE_SEGMENTS * self.context.mss);
            i64::from(stretch.emptied_short) * long <= stretch.delivered
                && stretch.send_gap_max < pause
                && (least * capacity..most * capacity).contains(&rate)
        };
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        fills(&self.stretches[at]) && beside.filter_map(|at| self.stretches.get(at)).any(fills)
    }

    /// Whether data arrived one segment after the other at the rate of the slowest link, though answers seemed overdue: RTTs grow
    /// that fast behind a slow link. What stands still delivers nothing.
    fn keeps_arriving(&self, stretch: &Stretch) -> bool {
        let capacity = self.finished.trains.capacity().filter(|_| self.context.at_receiver);
        capacity.is_some_and(|capacity| pace::arrives_at(stretch, capacity, self.context.mss))
    }

    /// Delivery at the highest rate the flow ever had, evenly over the RTT: a bottleneck kept just busy, as BBR
    /// intends.
    fn paced_at_the_peak(&self, stretch: &Stretch, rate: f64) -> bool {
        self.is_at_the_peak(stretch, rate) && self.overview.queued > 0 && self.may_fill_path(rate)
    }

    /// Whether trains do not show that the path carries far more than `rate`.
    pub(super) fn may_fill_path(&self, rate: f64) -> bool {
        self.capacity.is_none_or(|capacity| rate >= thresholds::AT_CAPACITY.0 * capacity)
    }

    /// Delivery at the highest rate the flow ever had, evenly.
    fn is_at_the_peak(&self, stretch: &Stretch, rate: f64) -> bool {
        pace::is_even(stretch, self.overview.base_rtt.unwrap_or(0))
            && self.overview.is_at_peak(rate, thresholds::AT_PEAK)
    }
}

/// Whether a rule behind the losses explains the time.
const fn is_of_loss(cause: Cause) -> bool {
    policer::may_be_one(cause) || matches!(cause, Cause::TailLoss)
}
