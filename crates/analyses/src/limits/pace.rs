//! What triggered the sender, and whether a clock of its own did.
//!
//! A sender held by a congestion window sends when an ACK comes, and as much as it acknowledges. A sender held by a
//! shaper, by pacing or by its link sends by a clock of the sending host: evenly, at a constant rate, and without a
//! queue on the path.

use super::context::Context;
use super::stretch::{Hold, Marks, Prompt, Stretch, around, rate};
use super::thresholds;
use crate::overview::{Overview, Steady};
use slowpath_model::statistics::median;

/// How often a sender far from the tap sent more data soon after an ACK had reached it, and how often that is chance
/// because ACKs are frequent.
#[derive(Clone, Copy, Debug, Default)]
pub struct FromAfar {
    waits: u32,
    clocked: u32,
    by_chance: f64,
}

impl FromAfar {
    /// A wait ended, soon after an ACK or not; `chance` is the probability of that.
    pub fn note(&mut self, clocked: bool, chance: f64) {
        // If some ACK is always near, nothing shows.
        if chance < thresholds::TELLING_CHANCE {
            self.waits += 1;
            self.clocked += u32::from(clocked);
            self.by_chance += chance;
        }
    }

    /// Whether ACKs did not trigger this sender: hardly more often than by chance.
    pub fn shows_no_clock(&self) -> bool {
        self.clocked_part().is_some_and(|part| part < thresholds::NO_CLOCK)
    }

    /// Whether ACKs triggered this sender nearly always.
    pub fn shows_clock(&self) -> bool {
        self.clocked_part().is_some_and(|part| part >= thresholds::CLOCKED_FROM_AFAR)
    }

    /// Whether ACKs triggered this sender more often than any program that was measured.
    pub fn mostly_shows_clock(&self) -> bool {
        self.clocked_part().is_some_and(|part| part >= thresholds::MOSTLY_CLOCKED_FROM_AFAR)
    }

    /// The part of the waits that ACKs ended beyond chance, if it tells anything.
    fn clocked_part(&self) -> Option<f64> {
        let more = f64::from(self.clocked) - self.by_chance;
        let at_most = f64::from(self.waits) - self.by_chance;
        (self.waits >= thresholds::TELLING_WAITS).then(|| more / at_most)
    }
}

/// How soon after an ACK the sender next to the tap sends. A kernel with data waiting does so in the ACK's softirq; a
/// stack in a process, or on a slow CPU, takes longer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reactions {
    all: u64,
    soon: u64,
}

impl Reactions {
    /// New data followed an ACK within a quarter of the time between ACKs, directly or in a burst, or it did not.
    pub fn note(&mut self, soon: bool) {
        self.all += 1;
        self.soon += u64::from(soon);
    }

    /// Whether ACKs trigger the sender, however long it takes.
    pub fn are_to_acks(&self) -> bool {
        self.all >= u64::from(thresholds::TELLING_WAITS)
            && self.soon as f64 >= thresholds::REACTS * self.all as f64
    }
}

/// Whether nothing that the sender learnt triggered most of its data, or ended most of its waiting. This shows only
/// next to the sender. A clock of its host (`has_clock`) also keeps its distance from the ACKs.
pub fn by_itself(context: &Context, stretch: &Stretch, has_clock: bool) -> bool {
    let prompts = if has_clock { &[Prompt::Nothing, Prompt::Soon][..] } else { &[Prompt::Nothing] };
    context.at_sender
        && stretch.part_sent_after(prompts) >= thresholds::SET_OFF
        && stretch.part_waited_for(prompts) >= thresholds::SET_OFF
}

/// Whether the bursts of full segments around the stretch at `at` began with the first ACKs of a burst: pacing spreads what
/// these let out, so that no ACK comes right before most of it. A program's writes begin at other times, and end in short
/// segments.
pub fn begins_by_acks(stretches: &[Stretch], at: usize) -> bool {
    let around = around(stretches, at, thresholds::REFILL_REACH);
    let sum = |of: fn(&Stretch) -> u32| around.iter().map(of).sum::<u32>();
    let bursts = sum(|stretch| stretch.begun_by_acks);
    let others = sum(|stretch| stretch.begun_alone + stretch.emptied_short);
    bursts >= thresholds::TELLING_BURSTS && bursts >= others * thresholds::BEGUN_BY_ACKS_TIMES
}

/// Whether payload of the other end triggered most of the data, and no ACK did. If both ends send much, payload takes
/// the place of ACKs.
pub fn by_payload(stretch: &Stretch) -> bool {
    let mostly = stretch.part_sent_after(&[Prompt::Payload]) >= thresholds::SET_OFF_BY_PAYLOAD;
    let answers = stretch.prompts.saturating_mul(thresholds::ANSWERED_PART);
    mostly && answers <= stretch.sent_after[Prompt::Payload as usize]
}

/// Whether a few bytes of the other end came before so many bursts or more.
pub const fn has_grants(stretch: &Stretch, bursts: u32) -> bool {
    stretch.bursts_after_payload >= bursts
        && stretch.prompts <= stretch.bursts_after_payload.saturating_mul(thresholds::CREDIT_BYTES)
}

/// Whether a few bytes of the other end let out the bursts of the stretch at `at`, though a paced sender sends most of each burst
/// later by itself: they were waited for, and ACKs were not. Either several bursts in an RTT, or one in nearly each RTT, with
/// data in flight: a request comes when all has arrived.
pub fn by_grants(stretches: &[Stretch], at: usize) -> bool {
    let waited = |stretch: &Stretch, part: f64| {
        stretch.part_waited_for(&[Prompt::Payload]) >= part
            && stretch.part_waited_for(&[Prompt::Ack]) < thresholds::GRANTED_TIME / 4.0
    };
    let in_each = |stretch: &Stretch| {
        has_grants(stretch, 1)
            && waited(stretch, thresholds::GRANTED_MOST)
            && stretch.under(Hold::Open) as f64 >= thresholds::EXCLUDES * stretch.lasted() as f64
    };
    let around = around(stretches, at, thresholds::REFILL_REACH);
    let nearly_all = || around.iter().filter(|stretch| in_each(stretch)).count() * 4 > 3 * around.len();
    has_grants(&stretches[at], thresholds::GRANTS) && waited(&stretches[at], thresholds::GRANTED_TIME)
        || in_each(&stretches[at]) && nearly_all()
}

/// Whether ACKs ended most of the time until new data was sent.
pub fn waited_for_acks(stretch: &Stretch) -> bool {
    stretch.part_waited_for(&Prompt::ACKS) > 0.5
}

/// Whether the sender's queue ran empty again and again: each time, its application wrote what was sent.
pub fn often_emptied(stretch: &Stretch) -> bool {
    stretch.emptied >= thresholds::OFTEN_EMPTIED
}

/// Whether the sender's queue was empty for a good part of the time. Where a writer that polls was let in, its buffer was full.
pub fn ran_dry(stretch: &Stretch) -> bool {
    let dry = stretch.under(Hold::Dry) + stretch.under(Hold::Idle);
    stretch.dry_clocked + stretch.dry_free > stretch.let_in && dry >= stretch.lasted() / thresholds::DRY_PART
}

/// Whether data came or went evenly through the RTT of `base` microseconds.
pub fn is_even(stretch: &Stretch, base: u32) -> bool {
    stretch.gap_max < base / thresholds::EVEN_GAP_PART
}

/// Whether data left evenly, as far as the tap shows that: not in bursts with gaps between them; or in bursts of full
/// segments, several in an RTT, as a shaper lets them out. A program's bursts end in short segments.
pub fn leaves_evenly(context: &Context, stretch: &Stretch, base: u32) -> bool {
    let (part, of) = thresholds::STEP_PART;
    let in_steps = context.at_sender
        && stretch.emptied == 0
        && stretch.send_gap_max.max(stretch.gap_max) < base / of * part;
    let is_even = if context.at_sender {
        // ACKs may come in bursts.
        stretch.send_gap_max < base / thresholds::EVEN_GAP_PART
    } else {
        is_even(stretch, base)
    };
    is_even || in_steps || goes_one_by_one(context, stretch)
}

/// Whether full segments left one by one, none much later than the rate has it: of few in an RTT, even those leave gaps that
/// are a good part of it.
fn goes_one_by_one(context: &Context, stretch: &Stretch) -> bool {
    let each = stretch.rate().map_or(0.0, |rate| f64::from(context.mss) * 8e6 / rate);
    context.at_sender
        && stretch.emptied == 0
        && f64::from(stretch.send_gap_max) <= thresholds::LATEST_GAP * each
}

/// Whether every segment was a little too short, again and again. Far from the sender that may be a path with a smaller
/// MTU, whose ICMP error did not pass the tap, or an application that writes that much at a time.
pub fn never_full(context: &Context, stretch: &Stretch) -> bool {
    let sent = stretch.sent();
    let full = u64::from(stretch.emptied) * u64::from(context.mss);
    let nearly_full = (sent as f64) >= thresholds::NEARLY_FULL * full as f64 && sent < full;
    !context.at_sender && often_emptied(stretch) && nearly_full
}

/// Whether data arrived at the rate of `capacity`, one segment of `mss` bytes after the other.
pub fn arrives_at(stretch: &Stretch, capacity: f64, mss: u32) -> bool {
    let arrived = stretch.sent() as f64 * 8e9 / stretch.lasted().max(1) as f64;
    let each = f64::from(mss) * 8e6 / capacity;
    arrived >= thresholds::AT_CAPACITY.0 * capacity
        && f64::from(stretch.send_gap_max) <= thresholds::LATEST_GAP * each
}

/// How long a direction had more to send, and for how long a queue stood or losses were repaired, in nanoseconds.
pub struct Times {
    /// With more to send.
    pub sending: i64,
    /// With a queue that lengthened RTTs.
    pub queued: i64,
    /// In loss recovery.
    pub repairing: i64,
}

impl Times {
    /// Whether so much was repaired that the sender learnt its rate from losses.
    pub const fn repaired_much(&self) -> bool {
        self.repairing > self.sending / thresholds::STEADY_REPAIRED_PART
    }
}

/// The sending pattern of a sender with a clock of its own, if it has one: nearly all that it sends with more to send
/// goes out evenly, at one rate. Next to the sender, ACKs trigger less than half of it; where they are frequent, some are
/// always near. Far from it, the same amount is in flight all the time. No congestion control does that for long. A full
/// path shows a queue.
pub fn steady(context: &Context, stretches: &[Stretch], base: u32, times: &Times) -> Option<Steady> {
    let (sending, repaired) = (times.sending, times.repaired_much());
    // A clock of the host waits for no ACK, unlike a writer whose buffer is full.
    let waited = stretches.iter().filter(|stretch| stretch.dry_clocked > 0);
    let waited: i64 = waited.map(|stretch| stretch.under(Hold::Dry)).sum();
    if times.queued > sending / thresholds::STEADY_QUEUED_PART
        || waited > sending / thresholds::STEADY_WAITED_PART
        || !context.queue_shows
    {
        return None;
    }
    let is_clocked = |stretch: &&Stretch| {
        let open = stretch.under(Hold::Open) * 2 > stretch.lasted();
        // While ACKs are held back, more seems to be in flight.
        let disturbs = [Marks::RETRANSMITTED, Marks::HELD_BACK];
        let undisturbed = stretch.emptied == 0 && !disturbs.iter().any(|mark| stretch.marks.has(*mark));
        let has_learnt = !(repaired && stretch.marks.has(Marks::BEFORE_LOSS));
        open && has_learnt && leaves_evenly(context, stretch, base) && undisturbed
    };
    let clocked: Vec<&Stretch> = stretches.iter().filter(is_clocked).collect();
    let lasted: i64 = clocked.iter().map(|stretch| stretch.lasted()).sum();
    let least = (thresholds::STEADY_ROUND_TRIPS * i64::from(base) * 1000).max(thresholds::STEADY_LEAST_NS);
    if lasted < least || lasted * 2 < sending {
        return None;
    }
    let rate_of = |stretch: &Stretch| rate_shown(context, stretch);
    let rate = median(clocked.iter().map(|stretch| rate_of(stretch)))?;
    let flight = median(clocked.iter().map(|stretch| f64::from(stretch.flight_max)))?;
    if rate <= 0.0 || flight < f64::from(context.mss) {
        return None;
    }
    let is_alike = |stretch: &&&Stretch| {
        if context.at_sender {
            near(rate_of(stretch), rate, thresholds::STEADY_DEPARTURES)
        } else {
            near(rate_of(stretch), rate, thresholds::STEADY_SPREAD)
                && near(f64::from(stretch.flight_max), flight, thresholds::STEADY_SPREAD)
        }
    };
    let alike: i64 = clocked.iter().filter(is_alike).map(|stretch| stretch.lasted()).sum();
    let own = |of: fn(&Stretch) -> [u32; Prompt::COUNT]| {
        let sum = |prompts: &[Prompt]| -> f64 {
            let of = clocked.iter().map(|stretch| of(stretch));
            of.flat_map(|by| prompts.iter().map(move |prompt| f64::from(by[*prompt as usize]))).sum()
        };
        sum(&[Prompt::Nothing, Prompt::Soon]) / sum(&Prompt::ALL).max(1.0)
    };
    let unprompted = context.at_sender.then(|| own(|stretch| stretch.sent_after));
    let waited_by_itself = !context.at_sender || own(|stretch| stretch.waited_for) >= thresholds::SET_OFF;
    let is_steady = alike as f64 >= thresholds::STEADY_SHARE * lasted as f64
        && unprompted.is_none_or(|part| part >= thresholds::SET_OFF)
        && waited_by_itself;
    is_steady.then_some(Steady { rate, flight, unprompted })
}

/// Whether a value differs from another by no more than this part of it.
pub fn near(value: f64, of: f64, spread: f64) -> bool {
    (value - of).abs() <= spread * of
}

/// Whether bunches left at one pace in `stretch` that the sender did not learn from losses, as BBR does from a policer's.
pub fn is_of_bunches(stretch: &Stretch, overview: &Overview) -> bool {
    stretch.marks.has(Marks::PACED) && is_not_learnt(stretch, overview)
}

/// Whether full segments left at one pace in `stretch`: a congestion control or a clock of the host paced them, and not the
/// writes of a program.
pub const fn has_one(stretch: &Stretch) -> bool {
    (stretch.marks.has(Marks::PACED) || stretch.marks.has(Marks::CLOCKED)) && stretch.emptied == 0
}

/// Whether a clock of the host sent `stretch`, at a rate that the sender did not learn from losses.
pub fn is_clocked(stretch: &Stretch, overview: &Overview) -> bool {
    stretch.marks.has(Marks::CLOCKED) && stretch.emptied == 0 && is_not_learnt(stretch, overview)
}

const fn is_not_learnt(stretch: &Stretch, overview: &Overview) -> bool {
    overview.seldom_repaired || stretch.marks.has(Marks::BEFORE_LOSS)
}

/// The pace in bit/s of the bunches that left at one (see [`bunches`](super::bunches)), if there were such.
pub fn of_bunches(stretches: &[Stretch], overview: &Overview) -> Option<f64> {
    let paced =
        stretches.iter().filter(|stretch| is_of_bunches(stretch, overview) || is_clocked(stretch, overview));
    rate(paced).filter(|rate| *rate >= 1.0)
}

/// Whether `stretch` is sent by the clock that `steady` describes.
pub fn is_steady(context: &Context, stretch: &Stretch, steady: &Steady, base: u32) -> bool {
    leaves_evenly(context, stretch, base)
        && rate_shown(context, stretch) >= (1.0 - thresholds::STEADY_SPREAD) * steady.rate
}

/// The rate in bit/s that shows a clock of the sender: next to it, that at which data left, whatever ACKs did meanwhile;
/// far from it, that of delivery.
fn rate_shown(context: &Context, stretch: &Stretch) -> f64 {
    let shown = if context.at_sender { stretch.departure_rate() } else { stretch.rate() };
    shown.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    /// A segment of 524 bytes each 74 ms: 57 kbit/s.
    #[test]
    fn one_segment_after_the_other_keeps_arriving() {
        let with = |sent: u32, send_gap_max| {
            let mut stretch =
                Stretch { sent_after: [sent, 0, 0, 0], send_gap_max, ..Stretch::at(Instant::START) };
            stretch.extend(Instant::from_nanos(1_332_000_000), Hold::Delayed);
            arrives_at(&stretch, 57_000.0, 524)
        };
        assert!(with(18 * 524, 77_000));
        assert!(!with(6 * 524, 888_000), "it stood still");
        assert!(!with(18 * 524, 888_000), "and what had waited came then");
    }

    #[test]
    fn grants_let_out_bursts_again_and_again_and_requests_do_not() {
        let with = |payload, ack, bursts_after_payload, prompts| {
            let mut waited_for = [0; Prompt::COUNT];
            waited_for[Prompt::Payload as usize] = payload;
            waited_for[Prompt::Ack as usize] = ack;
            waited_for[Prompt::Nothing as usize] = 40_000;
            Stretch { waited_for, prompts, bursts_after_payload, ..Stretch::at(Instant::START) }
        };
        assert!(by_grants(&[with(140_000, 0, 3, 3 * 13)], 0));
        assert!(!by_grants(&[with(140_000, 0, 3, 30_000)], 0), "data both ways");
        assert!(!by_grants(&[with(140_000, 60_000, 3, 3 * 13)], 0), "a congestion window");
        let one = with(140_000, 0, 1, 13);
        let in_flight = |hold| {
            let mut stretch = one;
            stretch.extend(Instant::from_nanos(180_000_000), hold);
            stretch
        };
        assert!(by_grants(&[in_flight(Hold::Open); 9], 4));
        assert!(!by_grants(&[in_flight(Hold::Idle); 9], 4), "requests");
        let mut once = [Stretch::at(Instant::START); 9];
        once[4] = in_flight(Hold::Open);
        assert!(!by_grants(&once, 4), "once");
    }
}
