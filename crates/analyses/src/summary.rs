//! From a watched flow to its report.

use crate::cause::{Cause, Limit};
use crate::end::{EndState, WindowStats};
use crate::flow::{FlowState, LATEST};
use crate::label::Label;
use crate::limits::classify;
use crate::limits::context::Context;
use crate::limits::thresholds;
use crate::loss_pattern::LossPattern;
use crate::nearest::Known;
use crate::options::VantageOverride;
use crate::overview::NotAccepted;
use crate::report::{
    Closing, DirectionReport, FlowReport, Measures, ScaleKnown, Spell, Unheard, Unusual, WindowMeasures,
};
use crate::rtt::{Distance, is_far_nearer, micros};
use crate::spells::overlay;
use crate::token_bucket::Tap;
use crate::vantage;
use slowpath_model::{Bytes, End, FlowEnd, FlowId, Instant, Rate, Segment};
use std::time::Duration;

/// The report of a finished flow without its findings ([`crate::findings::complete`]): what is not needed while other
/// flows go on is left out.
pub fn report(
    id: FlowId,
    flow: &mut FlowState,
    ended: FlowEnd,
    given: Option<VantageOverride>,
    known: Known,
) -> FlowReport {
    // What was not captured shows in the acknowledgments.
    let sent = |end: &EndState| end.unique_bytes + u64::from(end.sent_unseen) + end.unseen_bytes;
    let sender = if sent(&flow.ends[1]) > sent(&flow.ends[0]) { End::B } else { End::A };
    let vantage = vantage::infer(flow, given.map(|given| given.resolve(sender)));
    flow.settle_opening();
    let mut directions = End::BOTH.map(|from| direction(flow, from, known));
    // Nothing holds a connection up that was reset. What passes later was under way.
    let last = flow.closing.cut_at().unwrap_or(flow.last);
    for direction in &mut directions {
        end_at(&mut direction.spells, last);
    }
    FlowReport {
        id,
        key: flow.key,
        first: flow.first,
        last,
        ended,
        vantage,
        opening: flow.opening,
        closing: Closing {
            fin_unanswered: flow
                .fins
                .map(|fin| fin?.unanswered(flow.last).zip(fin))
                .map(|found| found.map(|(unanswered, fin)| (fin.tries, unanswered.lasted()))),
            ..flow.closing.clone()
        },
        sender,
        directions,
    }
}

fn direction(flow: &mut FlowState, from: End, known: Known) -> DirectionReport {
    let mut context = context(flow, from, known);
    let last = flow.last;
    let gone = gone(flow);
    let untranslated = untranslated(&flow.ends[(!from).index()]);
    let unseen = (flow.ends[from.index()].sent_unseen > 0).then(|| never_came(flow, from));
    let answering = *flow.ends[(!from).index()].distance.answering();
    let acks = flow.ends[(!from).index()].lateness.punctual();
    let at_receiver = answering.is_here();
    let end = &mut flow.ends[from.index()];
    let near = *end.distance.sending();
    let is_nearer = near.min().zip(answering.min()).is_some_and(|(near, far)| is_far_nearer(near, far));
    let (stalls, stall_count) = end.stalls.take();
    end.window.close(last);
    let mut measures = measures(end);
    let (mut spells, mut overview) = Default::default();
    let first_data = end.first_data;
    let acked = end.last_acked.max(end.last_data);
    // Next to the receiver, what passes has arrived. In between, what is lost behind the tap has passed it.
    let losses = (near.is_here() || !at_receiver).then(|| end.outstanding.loss_pattern());
    let losses = losses.filter(|loss| loss.lost > 0 || loss.never_passed > 0);
    // Only next to the sender is each transmission seen.
    let loss = losses.filter(|_| near.is_here());
    let not_accepted = context.at_receiver.then(|| not_accepted(end, flow.first)).flatten();
    let before_tap = loss.filter(|loss| is_nearer && is_lost_before_tap(end, loss));
    let is_narrower = end.full_size() < end.full_size_at_first();
    let rule_of_all = losses.and_then(|loss| loss.rule(end.full_size_at_first()));
    // Where nothing of the other end's arrives either, size is not the reason.
    let is_cut = gone.is_some_and(|gone| gone.unaware >= thresholds::LEAST_TRIES);
    let rule_of_all = rule_of_all.filter(|rule| *rule != Cause::MtuBlackHole || !is_cut);
    context.ruled_until =
        losses.filter(|_| is_narrower && rule_of_all.is_none()).and_then(|loss| loss.narrowed());
    let rule = rule_of_all
        .or(context.ruled_until.map(|_| Cause::MtuBlackHole))
        .or(before_tap.map(|_| Cause::LocalQueue))
        .or(untranslated)
        .or(not_accepted.map(|_| Cause::NotAccepted));
    if let Some(seen) = not_accepted.filter(|_| rule == Some(Cause::NotAccepted)) {
        context.ruled_since = seen.since;
    }
    // What a receiver discards was not lost on the path.
    let discards = end.not_accepted.as_ref().is_some_and(|seen| seen.reneged);
    if !discards {
        let tap = drops(&context, end, losses);
        context.bucket = tap.and_then(|tap| end.outstanding.token_bucket(end.full_size(), tap));
    }
    if let Some(track) = &mut end.track {
        // Elsewhere, data may still have waited behind the tap.
        let data = end.lateness.punctual().filter(|_| context.at_receiver);
        let finished = track.finish(last, &near, &end.rto, acks, data);
        (spells, overview) = classify::spells(&context, &finished, rule);
        measures.flight_max = finished.flight_max;
        let until = acked.max(finished.in_flight_until);
        measures.flight_mean = mean_flight(first_data.zip(until), finished.flight_area);
        measures.timeouts = u64::from(finished.episodes.timeouts());
        measures.recoveries = u64::from(finished.episodes.count());
    } else if end.packets == 0 && end.unseen_bytes > 0 && flow.first < flow.last {
        spells.push(Spell { from: flow.first, to: flow.last, cause: Cause::OneDirection });
    }
    let has_rule = rule_of_all.is_some() || context.ruled_until.is_some();
    if let Some(loss) = losses.filter(|_| near.is_here() || has_rule) {
        overview.rare_mut().loss = Some(loss);
    }
    if let Some(not_accepted) = not_accepted {
        overview.rare_mut().not_accepted = Some(not_accepted);
    }
    let captured_late = *end.outstanding.captured_late();
    if captured_late.segments > 0 {
        overview.rare_mut().captured_late = captured_late;
    }
    let opening = context.opening;
    // For the responder, the connection opened when it accepted it, or when a lost last ACK came again.
    let never_accepted = (opening == Cause::AcceptQueueFull).then_some(last);
    if let Some(accepted) = flow.opening.accepted.or(never_accepted) {
        begin_with(&mut spells, flow.first, accepted, opening);
    }
    let was_never_open = opening.is_failed_opening()
        || opening == Cause::AcceptQueueFull && flow.opening.accepted.is_none()
        || flow.opening.has_no_end() && flow.closing.rst == [false; 2];
    if from == End::A && spells.is_empty() && was_never_open && flow.first < last {
        spells.push(Spell { from: flow.first, to: last, cause: opening });
    }
    if let Some(cause) = unseen {
        let since = first_data.and(end.last_data).or(flow.opening.established).unwrap_or(flow.first);
        if spells.is_empty() && flow.first < since {
            spells.push(Spell { from: flow.first, to: since, cause: opening });
        }
        end_with(&mut spells, flow.first, since, last, cause);
    } else if let Some(gone) = gone.filter(|_| !spells.is_empty())
        && !matches!(rule_of_all, Some(Cause::MtuBlackHole | Cause::BeyondUnscaledWindow))
    {
        end_with(&mut spells, flow.first, gone.since, last, Cause::PeerGone);
    } else if end.answered_in_vain().is_some() && !at_receiver {
        let since = end.last_acked.or(end.first_data).unwrap_or(flow.first);
        end_with(&mut spells, flow.first, since, last, Cause::NotAccepted);
    }
    let (awaited, findings) = Default::default();
    if let Some(unanswered) = flow.fins[from.index()].and_then(|fin| fin.unanswered(last)) {
        overlay(&mut spells, unanswered, |cause| cause == Cause::SenderIdle);
    }
    DirectionReport { from, measures, spells, awaited, findings, stalls, stall_count, overview }
}

/// An end that tried in vain to reach the other, up to the end of the flow.
fn gone(flow: &FlowState) -> Option<Unheard> {
    // If only one direction was captured, the other end may well have answered.
    let both = flow.ends.iter().all(|end| end.packets > 0);
    flow.ends.iter().filter(|_| both).find_map(|end| {
        let unheard = end.unheard().filter(|unheard| unheard.tries >= thresholds::LEAST_TRIES)?;
        let lasted = flow.last.nanos_since(unheard.since);
        (lasted >= 2 * end.rto.rto_nanos()).then_some(unheard)
    })
}

/// Whether most of the SACK blocks that `receiver` sent are of data that was never sent: something on the path changed
/// sequence numbers, but not the blocks.
fn untranslated(receiver: &EndState) -> Option<Cause> {
    let outside = receiver.unusual.as_ref().map_or(0, |unusual| unusual.sack_outside);
    let is_rule = outside >= thresholds::RULE_LOSSES.into() && outside > receiver.sack_blocks;
    is_rule.then_some(Cause::SackUntranslated)
}

/// Whether an end on the tap's own host repaired what had been lost before it, in a queue of that host. A capture that misses
/// packets misses those that arrived, too.
fn is_lost_before_tap(end: &EndState, loss: &LossPattern) -> bool {
    let is_on_its_host = end.distance.sending().min().is_some_and(|near| near <= thresholds::OWN_TAP_NS);
    is_on_its_host
        && loss.is_before_tap()
        && end.unseen_gaps * u64::from(thresholds::RULE_SPURIOUS) <= loss.never_passed.into()
}

/// Data that arrived next to the tap, was not acknowledged, and came again: the host had it and its TCP did not accept
/// it. Only if that is the reason for nearly all retransmissions, or for nearly all since the first such one, and the
/// window had room for them.
fn not_accepted(end: &EndState, first: Instant) -> Option<NotAccepted> {
    let seen = **end.not_accepted.as_ref()?;
    let lost = end.outstanding.loss_pattern().lost;
    let retransmitted = end.labels.retransmission + end.labels.spurious;
    let (part, of) = thresholds::NOT_ACCEPTED_PART;
    let of_all = (first, lost, retransmitted);
    let of_later =
        (seen.since, lost.saturating_sub(seen.before.1), retransmitted.saturating_sub(seen.before.0));
    [of_all, of_later].into_iter().find_map(|(since, lost, retransmitted)| {
        // A late ACK causes retransmissions too, as turns out later.
        let segments = seen.segments.min(lost);
        let mostly = u64::from(segments) * of >= retransmitted * part;
        let is_rule =
            segments >= thresholds::RULE_LOSSES && mostly && seen.outside * 2 < segments && !seen.reneged;
        is_rule.then_some(NotAccepted { segments, since, ..seen })
    })
}

/// Where the tap is, seen from what drops packets of `end`: behind it if most of what was lost never passed.
fn drops(context: &Context, end: &EndState, losses: Option<LossPattern>) -> Option<Tap> {
    let is_before = losses.is_some_and(|loss| context.at_sender || loss.lost >= loss.never_passed);
    if is_before {
        return Some(Tap::Before);
    }
    let has_stamps = end.lateness.punctual().is_some();
    context.base_rtt.filter(|_| has_stamps).map(|rtt| Tap::Behind { rtt })
}

/// Why the last data of an end never came to the tap, though the end itself goes on.
fn never_came(flow: &FlowState, from: End) -> Cause {
    let end = &flow.ends[from.index()];
    let full = end.full_size();
    // Small segments of it came, full ones never did; or none came at all, and none that is missing was small.
    let shortest = end.sent_unseen % full.max(1);
    let has_short = shortest > 0 && shortest < thresholds::DEFAULT_MSS;
    if end.mss_seen < full && end.super_packets == 0 && end.sent_unseen >= full && !has_short {
        return Cause::MtuBlackHole;
    }
    let round_trip = flow.opening.round_trip.map_or(0, |rtt| i64::try_from(rtt.as_nanos()).unwrap_or(0));
    let since = end.last_data.unwrap_or(flow.last);
    let timeout = end.rto.rto_nanos().saturating_add(round_trip);
    if flow.last.nanos_since(since) < timeout.saturating_mul(thresholds::TIMEOUTS_UNTIL_THIRD) {
        return Cause::TailLoss;
    }
    let first = end.first_data.unwrap_or(since);
    let is_first_flight = since.nanos_since(first) < round_trip;
    match field_too_small(end, &flow.ends[(!from).index()]) {
        Some(_) if is_first_flight => Cause::BeyondUnscaledWindow,
        _ => Cause::LostRetransmission,
    }
}

/// The largest window field of the receiver as it is on the wire, if it has no room for a segment unless it is scaled.
fn field_too_small(end: &EndState, receiver: &EndState) -> Option<u32> {
    let ScaleKnown::Agreed(shift) = receiver.scale else { return None };
    let field = receiver.window.max >> shift;
    (shift > 0 && field > 0 && field < end.mss_seen).then_some(field)
}

/// Makes the time from `first` to `until` one of `cause`, whatever the spells say.
fn begin_with(spells: &mut Vec<Spell>, first: Instant, until: Instant, cause: Cause) {
    if first >= until || spells.is_empty() {
        return;
    }
    spells.retain_mut(|spell| {
        spell.from = spell.from.max(until);
        spell.from < spell.to
    });
    spells.insert(0, Spell { from: first, to: until, cause });
}

/// Makes the time from `since` to `last` one of `cause`, whatever the spells say, except for the opening.
fn end_with(spells: &mut Vec<Spell>, first: Instant, since: Instant, last: Instant, cause: Cause) {
    let is_opening = |spell: &Spell| spell.from == first && spell.cause.limit() == Limit::Connection;
    spells.retain(|spell| spell.from < since || is_opening(spell));
    if let Some(spell) = spells.last_mut().filter(|spell| !is_opening(spell)) {
        spell.to = spell.to.min(since);
    }
    let from = spells.last().map_or(first, |spell| spell.to);
    if from >= last {
        return;
    }
    match spells.last_mut().filter(|spell| spell.cause == cause) {
        Some(spell) => spell.to = last,
        None => spells.push(Spell { from, to: last, cause }),
    }
}

/// Leaves out what is after `last`.
fn end_at(spells: &mut Vec<Spell>, last: Instant) {
    spells.retain_mut(|spell| {
        spell.to = spell.to.min(last);
        spell.from < spell.to
    });
}

impl FlowReport {
    /// Counts a segment that comes after the report was made: the flow closed, and this is an echo of that. If the report was
    /// taken ([`Labels::take`](crate::Labels::take)), [`Self::settle`] is to follow the last of them.
    pub fn echo(&mut self, at: Instant, segment: &Segment) -> Option<Label> {
        if self.closing.cut_at().is_none() {
            self.last = self.last.max(at.min(LATEST));
        }
        let direction = &mut self.directions[segment.from.index()];
        direction.measures.packets += 1;
        if segment.sequence_len() == 0 {
            direction.measures.pure_acks += 1;
        }
        if segment.len == 0 {
            return None;
        }
        // Everything was acknowledged before the report was made.
        direction.measures.data_packets += 1;
        direction.measures.bytes += Bytes::new(segment.len.into());
        direction.measures.labels.spurious += 1;
        Some(Label::Spurious)
    }
}

fn context(flow: &FlowState, from: End, known: Known) -> Context {
    let (me, peer) = (&flow.ends[from.index()], &flow.ends[(!from).index()]);
    let both = me.options.zip(peer.options);
    let (near, far) = (me.distance.sending(), peer.distance.answering());
    let shortest =
        if near.is_here() || far.is_here() { Distance::min } else { Distance::shortest_but_for_chance };
    let own = [shortest(near), shortest(far)];
    let corrected = [known.corrected(from, near, own[0]), known.corrected(!from, far, own[1])];
    let [own, distance] = [own, corrected].map(|[a, b]| a.zip(b).map(|(a, b)| a.saturating_add(b)));
    Context {
        first: flow.first,
        last: flow.last,
        established: flow.opening.established,
        opening: flow.opening_cause(),
        ruled_since: flow.first,
        ruled_until: None,
        scale: peer.scale,
        unscaled_window: (peer.scale == ScaleKnown::Unknown).then_some(peer.window.max),
        scaling: both.map(|(a, b)| a.window_scale.is_some() && b.window_scale.is_some()),
        mss: me.full_size(),
        answered: peer.packets > 0,
        base_rtt: distance.map(micros),
        queued_at_first: own.zip(distance).is_some_and(|(own, distance)| {
            own - distance > distance.max(i64::from(thresholds::STANDING_LEAST_US) * 1000)
        }),
        at_sender: near.is_here(),
        at_receiver: far.is_here() && !near.is_here(),
        queue_shows: near.is_here() || !peer.rtt_by_timestamp.is_empty(),
        scale_changed: peer.scale_changed,
        sacked: peer.sack_blocks > 0,
        bucket: None,
    }
}

fn measures(end: &EndState) -> Measures {
    let busy = busy(end);
    let rate = |bytes: u64| busy.and_then(|busy| Rate::of(Bytes::new(bytes), busy));
    Measures {
        packets: end.packets,
        data_packets: end.data_packets,
        pure_acks: end.pure_acks,
        bytes: Bytes::new(end.bytes),
        unique_bytes: Bytes::new(end.unique_bytes),
        goodput: rate(end.unique_bytes + end.unseen_bytes),
        throughput: rate(end.bytes + end.unseen_bytes),
        first_data: end.first_data,
        last_data: end.last_data,
        options: end.options,
        window_scale: end.scale,
        initial_ttl: end.initial_ttl(),
        mss_seen: end.largest(),
        super_packets: end.super_packets,
        labels: end.labels,
        window_full: end.window_full,
        unseen_bytes: Bytes::new(end.unseen_bytes),
        unseen_gaps: end.unseen_gaps,
        holes: end.holes,
        missing_bytes: Bytes::new(end.outstanding.never_passed()),
        duplicate_acks: end.duplicate_acks,
        sack_blocks: end.sack_blocks,
        dsack_blocks: end.dsack_blocks,
        window: windows(&end.window),
        rtt_by_ack: end.rtt_by_ack.measures(),
        rtt_by_timestamp: end.rtt_by_timestamp.measures(),
        rto: end.rto.measured(),
        ecn_capable: end.ecn_capable,
        unusual: unusual(end),
        flight_max: Bytes::ZERO,
        flight_mean: Bytes::ZERO,
        idle_longest: Duration::from_nanos(end.idle_longest.max(0).unsigned_abs()),
        timeouts: 0,
        recoveries: 0,
    }
}

/// What few ends have anything of.
fn unusual(end: &EndState) -> Option<Box<Unusual>> {
    let mut unusual = end.unusual.clone();
    let in_vain = end.answered_in_vain();
    if end.sent_unseen > 0 || end.unheard.is_some() || in_vain.is_some() {
        let unusual = unusual.get_or_insert_default();
        unusual.answered_in_vain = in_vain.unwrap_or(0);
        unusual.sent_unseen = Bytes::new(end.sent_unseen.into());
        unusual.unheard = end.unheard();
    }
    unusual
}

/// From the first data to the last acknowledgment of data.
fn busy(end: &EndState) -> Option<Duration> {
    let first = end.first_data?;
    let until = end.last_acked.max(end.last_data).unwrap_or(first);
    Some(Duration::from_nanos(until.nanos_since(first).max(0).unsigned_abs()))
}

/// Data in flight, averaged from the first data to its last acknowledgment, or to the end where it had none.
fn mean_flight(during: Option<(Instant, Instant)>, area: f64) -> Bytes {
    let nanos = during.map_or(0, |(from, to)| to.nanos_since(from));
    Bytes::new(if nanos > 0 { (area / nanos as f64) as u64 } else { 0 })
}

fn windows(stats: &WindowStats) -> WindowMeasures {
    let seen = stats.count > 0;
    WindowMeasures {
        min: stats.min.map(|min| Bytes::new(min.into())),
        max: seen.then(|| Bytes::new(stats.max.into())),
        mean: seen.then(|| Bytes::new(stats.sum / stats.count)),
        zero_count: stats.zero_count,
        zero_time: Duration::from_nanos(stats.zero_time.max(0).unsigned_abs()),
    }
}
