//! Merges the reports of a connection's two recordings into one verdict.
//!
//! What bound a direction shows best next to its sender, what the receiver did next to the receiver, and what became of
//! a packet on the way in both. So the limits come from the sender's recording. Times that it cannot explain and in
//! which the receiver's shows late ACKs are the receiver's, and no others. A repair of losses in a time when nothing
//! was lost was no repair.

use super::report::{DirectionPair, FlowPair, Pairing, Queueing, Tally};
use crate::cause::{Cause, Confidence, Limit};
use crate::evidence::Evidence;
use crate::findings;
use crate::limits::{queue, thresholds};
use crate::report::{DirectionReport, FlowReport, Opening, Spell};
use crate::spells::{join_alike, overlay, overlay_all};
use slowpath_model::statistics::median;
use slowpath_model::{End, Instant};
use std::collections::HashMap;
use std::mem;
use std::time::Duration;

/// The flows of the recording that sees most of what the sender of the slowest flow in both does, each improved by the other
/// recording; and which recording that is. `flows` are the explained reports of both recordings.
pub fn merge_all(pairing: &Pairing, flows: [Vec<FlowReport>; 2]) -> (usize, Vec<FlowReport>) {
    let base = nearer_to_sender(pairing, &flows);
    let [mut of_base, mut others] = flows;
    if base == 1 {
        mem::swap(&mut of_base, &mut others);
    }
    others.iter_mut().for_each(FlowReport::without_awaited);
    let others: HashMap<_, _> = others.iter().map(|flow| (flow.id, flow)).collect();
    let improved = of_base.into_iter().map(|mut flow| {
        flow.without_awaited();
        let other = pairing.of(base, flow.id).and_then(|pair| others.get(&pair.flows[1 - base]).copied());
        merge(flow, other, pairing, base)
    });
    (base, improved.collect())
}

/// The recording next to the end that sent more payload on the slowest flow in both: some of it may not have reached the
/// other recording.
fn nearer_to_sender(pairing: &Pairing, flows: &[Vec<FlowReport>; 2]) -> usize {
    let second: HashMap<_, _> = flows[1].iter().map(|flow| (flow.id, flow)).collect();
    let in_both = flows[0].iter().filter_map(|flow| {
        let pair = pairing.of(0, flow.id)?;
        Some((flow, second.get(&pair.flows[1])?, pair))
    });
    let slowest = in_both.max_by_key(|(one, two, _)| one.time_lost().max(two.time_lost()));
    let sender = slowest.and_then(|(one, two, pair)| {
        let [sent_a, sent_b] = End::BOTH.map(|end| {
            let theirs = &two.directions[pair.named(end, 1).index()].measures;
            one.directions[end.index()].measures.unique_bytes.max(theirs.unique_bytes)
        });
        pair.beside(if sent_b > sent_a { End::B } else { End::A })
    });
    sender.unwrap_or(0)
}

/// Improves `report`, which is of recording `base` (0 or 1), by the other recording and its own report of the same
/// connection, where there is one.
#[must_use]
pub fn merge(
    mut report: FlowReport,
    other: Option<&FlowReport>,
    pairing: &Pairing,
    base: usize,
) -> FlowReport {
    let Some(pair) = pairing.of(base, report.id) else { return report };
    let view = View { pairing, pair, base };
    if let Some(other) = other {
        view.lengthen(&mut report, other);
    }
    let mut unaware = [Vec::new(), Vec::new()];
    for end in End::BOTH {
        let theirs = other.map(|other| &other.directions[view.others(end).index()]);
        let beside = pair.beside(view.pairs(end));
        if let Some(theirs) = theirs.filter(|theirs| !theirs.spells.is_empty()) {
            if beside == Some(1 - base) {
                let own = report.directions[end.index()].spells.clone();
                if view.take_over(&mut report, end, theirs) {
                    view.decide_late_acks(&mut report.directions[end.index()], &own);
                    unaware[end.index()] = view.unaware_of_window(&report.directions[end.index()], &own);
                }
            } else if beside == Some(base) {
                let at_receiver: Vec<_> = theirs.spells.iter().map(|spell| view.translated(spell)).collect();
                let direction = &mut report.directions[end.index()];
                view.decide_late_acks(direction, &at_receiver);
                unaware[end.index()] = view.unaware_of_window(direction, &at_receiver);
                let of_receiver = theirs.overview.rare().not_accepted;
                let takes_over = direction.spells.iter().any(|spell| spell.cause == Cause::NotAccepted);
                if let Some(not_accepted) = of_receiver.filter(|_| takes_over) {
                    direction.overview.rare_mut().not_accepted = Some(not_accepted);
                }
            }
        }
        let refused =
            |theirs: &DirectionReport| theirs.spells.iter().any(|spell| spell.cause == Cause::NotAccepted);
        let refuses = theirs.is_some_and(refused) || refused(&report.directions[end.index()]);
        view.correct_repairs(&mut report.directions[end.index()], refuses);
        view.decide_way_of_queues(&mut report.directions[end.index()]);
        if theirs.is_some_and(|theirs| view.clears_ecn(end, &report, theirs)) {
            report.directions[end.index()].overview.rare_mut().ecn_cleared = true;
        }
    }
    if other.is_some_and(|other| view.has_reached_the_responder(&report, other)) {
        for spell in report.directions.iter_mut().flat_map(|direction| &mut direction.spells) {
            if is_silent(spell) {
                spell.cause = Cause::NotAnswered;
            }
        }
    }
    if other.is_some_and(|other| view.has_lost_the_answers(&report, other)) {
        for spell in report.directions.iter_mut().flat_map(|direction| &mut direction.spells) {
            if is_silent(spell) {
                spell.cause = Cause::SynLost;
            }
        }
    }
    if view.has_opened_late() {
        for spell in report.directions.iter_mut().flat_map(|direction| &mut direction.spells) {
            if spell.cause == Cause::SynLost {
                spell.cause = Cause::DelaySpike;
                report.opening.came_late = true;
            }
        }
    }
    if let Some(opening) = other.and_then(|other| view.reached_the_initiator(&report, other)) {
        report.opening.unanswered_syn_acks = opening.unanswered_syn_acks;
        report.opening.damaged_syn_acks = opening.damaged_syn_acks;
        for spell in report.directions.iter_mut().flat_map(|direction| &mut direction.spells) {
            if spell.cause == Cause::SynLost {
                spell.cause = Cause::NotAnswered;
            }
        }
    }
    if other.is_some_and(|other| view.never_waited_for_accept(other)) {
        for direction in &mut report.directions {
            accepted_late_to_lost(direction);
        }
    }
    peer_gone_in_both_directions(&mut report);
    findings::complete(&mut report);
    report.explain();
    for end in End::BOTH {
        view.add_evidence(&mut report.directions[end.index()]);
        add_lost_updates(&mut report.directions[end.index()], &unaware[end.index()]);
    }
    report
}

/// A pair, seen from the recording that the report is of.
struct View<'a> {
    pairing: &'a Pairing,
    pair: &'a FlowPair,
    base: usize,
}

impl View<'_> {
    /// The pair's name for the report's `end`.
    fn pairs(&self, end: End) -> End {
        self.pair.named(end, self.base)
    }

    /// The other report's name for it.
    fn others(&self, end: End) -> End {
        self.pair.named(self.pairs(end), 1 - self.base)
    }

    fn direction(&self, end: End) -> &DirectionPair {
        &self.pair.directions[self.pairs(end).index()]
    }

    /// An instant of recording `of` on the report's clock; unchanged if that is unknown.
    fn here(&self, of: usize, at: Instant) -> Instant {
        if of == self.base { at } else { self.pairing.translate(of, at).unwrap_or(at) }
    }

    /// The instants of a tally that `of` has, on the report's clock.
    fn instants(&self, of: usize, tally: &Tally) -> Vec<Instant> {
        tally.instants.iter().map(|at| self.here(of, *at)).collect()
    }

    /// A spell of the other recording's report, on the report's clock.
    fn translated(&self, spell: &Spell) -> Spell {
        let [from, to] = [spell.from, spell.to].map(|at| self.here(1 - self.base, at));
        Spell { from, to, cause: spell.cause }
    }

    /// A connection lasts from its first packet in either recording to its last: SYNs and retransmissions that did not
    /// arrive are in one only. What the report does not reach is taken over from the other.
    fn lengthen(&self, report: &mut FlowReport, other: &FlowReport) {
        if self.pairing.clocks.is_none() {
            return;
        }
        let [first, last] = [other.first, other.last].map(|at| self.here(1 - self.base, at));
        let (from, to) = (report.first, report.last);
        let longer = thresholds::LONGER_LIFE.max(report.opening.round_trip.unwrap_or_default());
        let begins_earlier = from.since(first).is_some_and(|earlier| earlier > longer);
        let ends_later = last.since(to).is_some_and(|later| later > longer);
        for end in End::BOTH {
            let theirs = &other.directions[self.others(end).index()].spells;
            let within = |since: Instant, until: Instant| {
                let clipped = theirs.iter().map(move |spell| {
                    let spell = self.translated(spell);
                    Spell { from: spell.from.max(since), to: spell.to.min(until), ..spell }
                });
                clipped.filter(|spell| spell.from < spell.to)
            };
            let own = &mut report.directions[end.index()].spells;
            if begins_earlier {
                own.splice(..0, within(first, from));
            }
            match own.last_mut() {
                // Its sender was still trying.
                Some(trying) if ends_later && is_in_vain(trying.cause) => trying.to = last,
                _ if ends_later => own.extend(within(to, last)),
                _ => {}
            }
            join_alike(own);
        }
        if begins_earlier {
            report.first = first;
            if self.others(End::A) == End::A {
                report.opening = self.opening(&other.opening);
            }
        }
        if ends_later {
            report.last = last;
        }
    }

    /// The opening that the other recording shows, on the report's clock.
    fn opening(&self, theirs: &Opening) -> Opening {
        let mut opening = *theirs;
        let times = [&mut opening.syn, &mut opening.syn_ack, &mut opening.established, &mut opening.accepted];
        for at in times.into_iter().flatten() {
            *at = self.here(1 - self.base, *at);
        }
        opening
    }

    /// Takes over what bound this direction from the other report, if the sender's recording is the other one. Returns
    /// whether it could.
    fn take_over(&self, report: &mut FlowReport, end: End, theirs: &DirectionReport) -> bool {
        if self.pairing.clocks.is_none() || report.last < report.first {
            return false;
        }
        let (first, last) = (report.first, report.last);
        let here = |at: Instant| self.here(1 - self.base, at);
        let mut taken = DirectionReport { from: end, ..theirs.clone() };
        for spell in &mut taken.spells {
            (spell.from, spell.to) = (here(spell.from).clamp(first, last), here(spell.to).clamp(first, last));
        }
        if let [only] | [only, ..] = taken.spells.as_mut_slice() {
            only.from = first;
        }
        if let Some(end) = taken.spells.last_mut() {
            end.to = last;
        }
        for stall in &mut taken.stalls {
            stall.from = here(stall.from);
        }
        for at in [&mut taken.measures.first_data, &mut taken.measures.last_data].into_iter().flatten() {
            *at = here(*at);
        }
        report.directions[end.index()] = taken;
        true
    }

    /// Whether each SYN that stayed unanswered passed both recordings, so that none was lost between them: and the
    /// second of them is next to the responder, or nobody ever answered.
    fn has_reached_the_responder(&self, report: &FlowReport, other: &FlowReport) -> bool {
        let lost = report.opening.lost_syns();
        let is_beside = self.pair.beside(self.pairs(End::B)) == Some(1 - self.base);
        lost > 0 && lost == other.opening.lost_syns() && (is_beside || report.opening.syn_ack.is_none())
    }

    /// Whether nothing answered the SYN as far as the report shows, and `other` has SYN-ACKs, which were lost on the way.
    fn has_lost_the_answers(&self, report: &FlowReport, other: &FlowReport) -> bool {
        report.opening.syn_ack.is_none()
            && self.others(End::A) == End::A
            && other.opening.syn_ack.is_some()
            && self.direction(End::B).lost_syns > 0
    }

    /// The opening in the recording next to the initiator, if SYN-ACKs reached it and it repeated its SYN nevertheless: none was
    /// lost between the recordings.
    fn reached_the_initiator(&self, report: &FlowReport, other: &FlowReport) -> Option<Opening> {
        let beside = self.pair.beside(self.pairs(End::A))?;
        let opening = if beside == self.base { report.opening } else { other.opening };
        let none_lost = self.pair.one_in == 1 && self.pair.directions.iter().all(|way| way.lost_syns == 0);
        (none_lost && self.others(End::A) == End::A && opening.unanswered_syn_acks > 0).then_some(opening)
    }

    /// Whether SYNs were repeated because one or its answer was late: none was lost.
    fn has_opened_late(&self) -> bool {
        let ways = &self.pair.directions;
        self.pair.one_in == 1
            && ways.iter().all(|way| way.lost_syns == 0)
            && ways.iter().any(|way| way.late_syns > 0)
    }

    /// Whether `other`, the recording next to the responder, shows that no accept queue was full: once the handshake's
    /// last ACK had come, if it did, the responder did not repeat its SYN-ACK.
    fn never_waited_for_accept(&self, other: &FlowReport) -> bool {
        let opening = &other.opening;
        self.pair.beside(self.pairs(End::A)) == Some(self.base)
            && self.pair.one_in == 1
            && self.others(End::A) == End::A
            && opening.syn_ack.is_some()
            && opening.unaccepted == 0
    }

    /// Whether what `end` sends is ECN-capable in the sender's recording, and is not in the receiver's.
    fn clears_ecn(&self, end: End, report: &FlowReport, theirs: &DirectionReport) -> bool {
        let own = &report.directions[end.index()].measures;
        let [left, arrived] = match self.pair.beside(self.pairs(end)) {
            Some(nearer) if nearer == self.base => [own, &theirs.measures],
            Some(_) => [&theirs.measures, own],
            None => return false,
        };
        left.ecn_capable && !arrived.ecn_capable && arrived.labels.new >= thresholds::ECN_SEGMENTS
    }

    /// What became of the data that `from` sent.
    fn fates(&self, from: End) -> Fates {
        let forth = self.direction(from);
        let in_order = |of: usize, tally: &Tally| {
            let mut instants = self.instants(of, tally);
            instants.sort_unstable();
            instants
        };
        Fates { lost: in_order(forth.near, &forth.lost), ignored: in_order(1 - forth.near, &forth.ignored) }
    }

    /// The receiver's recording decides whether ACKs were late. To the sender, late ACKs look like a delay or a queue
    /// on the path, or like a window that is too small for it; and a queue on the path looks like late ACKs.
    fn decide_late_acks(&self, direction: &mut DirectionReport, at_receiver: &[Spell]) {
        // What the recordings show of each ACK goes before what one of them lets expect.
        let answer = self.direction(direction.from).answer;
        let in_time = answer.is_some_and(|answer| answer.max_ns < thresholds::LATE_ACK_NS);
        let of_receiver = |spell: &&Spell| spell.cause.limit() == Limit::ReceiverProcessing && !in_time;
        let fates = self.fates(direction.from);
        let spells = &mut direction.spells;
        for late in at_receiver {
            let in_vain = late.cause == Cause::NotAccepted && fates.are_in_vain(late.from, late.to);
            if !in_vain && !of_receiver(&late) {
                continue;
            }
            overlay(spells, *late, |cause| {
                in_vain && cause.limit() == Limit::LossRecovery
                    || matches!(cause.limit(), Limit::Unknown | Limit::Path | Limit::CongestionWindow)
                    || matches!(cause, Cause::DelaySpike | Cause::SpuriousTimeout)
            });
        }
        let held_back = spells.iter().filter(|spell| spell.cause == Cause::AcksHeldBack).copied();
        let mut in_time = Vec::new();
        for held_back in held_back.collect::<Vec<_>>() {
            let first = at_receiver.partition_point(|said| said.to <= held_back.from);
            for said in at_receiver[first..].iter().take_while(|said| said.from < held_back.to) {
                let (from, to) = (said.from.max(held_back.from), said.to.min(held_back.to));
                if !of_receiver(&said) && from < to {
                    in_time.push(Spell { from, to, cause: self.what_held_packets(direction.from, from, to) });
                }
            }
        }
        overlay_all(spells, &in_time, |cause| cause == Cause::AcksHeldBack);
    }

    /// Times in which the window was open next to the receiver, and closed as far as the sender knew, with the ACKs that
    /// were lost meanwhile.
    fn unaware_of_window(&self, direction: &DirectionReport, at_receiver: &[Spell]) -> Vec<(Spell, u64)> {
        let back = self.direction(!direction.from);
        let before = lookback(direction);
        let lost = self.instants(back.near, &back.lost);
        let mut found = Vec::new();
        for closed in direction.spells.iter().filter(|spell| is_closed_window(spell.cause)) {
            let said = at_receiver.iter().filter(|said| said.to > closed.from && said.from < closed.to);
            for said in said.filter(|said| is_open_window(said.cause)) {
                let (from, to) = (said.from.max(closed.from), said.to.min(closed.to));
                let lost = lost.iter().filter(|at| **at >= from - before && **at < to).count() as u64;
                if lost > 0 && to.since(from).is_some_and(|lasted| lasted > before * 2) {
                    found.push((Spell { from, to, cause: closed.cause }, lost));
                }
            }
        }
        found
    }

    /// On which way a queue stood does not show in RTTs, and in timestamps only now and then.
    fn decide_way_of_queues(&self, direction: &mut DirectionReport) {
        let (forth, back) = (self.direction(direction.from), self.direction(!direction.from));
        for spell in &mut direction.spells {
            let is_queue =
                matches!(spell.cause, Cause::BottleneckFull | Cause::StandingQueue | Cause::AckPathQueue);
            if !is_queue {
                continue;
            }
            let queued = |of: &DirectionPair| self.least_queued(of, spell.from, spell.to);
            let Some((data, acks)) = queued(forth).zip(queued(back)) else { continue };
            if self.cause_of(data + acks).is_none() {
                continue;
            }
            if queue::is_all_acks(acks, data + acks) {
                spell.cause = Cause::AckPathQueue;
            } else if spell.cause == Cause::AckPathQueue {
                spell.cause = self.cause_of(data).unwrap_or(Cause::Undetermined);
            }
        }
        join_alike(&mut direction.spells);
    }

    /// The cause of a `queue` between the recordings, if it is one.
    fn cause_of(&self, queue: Duration) -> Option<Cause> {
        let shortest = self.pairing.clocks.as_ref().and_then(|clocks| clocks.stretches.first());
        let shortest = shortest.map_or(Duration::ZERO, |stretch| stretch.round_trip);
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        queue::cause(micros(queue), micros(shortest))
    }

    /// How long packets of `direction` waited between the recordings in this time: the median of short times' least, so that a
    /// stall does not count as a queue.
    fn least_queued(&self, direction: &DirectionPair, since: Instant, until: Instant) -> Option<Duration> {
        let bins = &direction.delay.as_ref()?.queueing;
        let start = |bin: &Queueing| self.here(direction.near, bin.from);
        let first = bins.partition_point(|bin| start(bin) <= since).saturating_sub(1);
        let within = bins[first..].iter().take_while(|bin| start(bin) < until);
        median(within.map(|bin| bin.min.as_secs_f64())).map(Duration::from_secs_f64)
    }

    /// Where packets were late between the sender and the receiver's ACK, if not at the receiver: in a queue between
    /// the two recordings, or unknown.
    fn what_held_packets(&self, from: End, since: Instant, until: Instant) -> Cause {
        let queued = self.least_queued(self.direction(from), since, until);
        queued.and_then(|queue| self.cause_of(queue)).unwrap_or(Cause::Undetermined)
    }

    /// When data that the sender had to retransmit was lost, or the ACK for it: on the report's clock. `None` if not
    /// all of these instants are known.
    fn losses(&self, from: End) -> Option<Vec<Instant>> {
        let (forth, back) = (self.direction(from), self.direction(!from));
        let mut all = Vec::new();
        let tallies = [
            (forth.near, &forth.lost),
            (1 - forth.near, &forth.ignored),
            (1 - forth.near, &forth.lost_beyond),
            (back.near, &back.lost),
        ];
        for (of, tally) in tallies {
            if tally.count > tally.instants.len() as u64 {
                return None;
            }
            all.extend(self.instants(of, tally));
        }
        all.sort_unstable();
        Some(all)
    }

    /// Repairs of losses when nothing was lost: the packets were late, or reordered, or the receiver `refuses` them, as its
    /// recording shows.
    fn correct_repairs(&self, direction: &mut DirectionReport, refuses: bool) {
        let forth = self.direction(direction.from);
        // A packet that one of the recordings missed may have been the lost one.
        if self.pair.nearer.is_none() || forth.missed_near.count > 0 || self.pair.one_in > 1 {
            return;
        }
        let before = lookback(direction);
        if refuses {
            let fates = self.fates(direction.from);
            for spell in direction.spells.iter_mut().filter(|spell| is_repair(spell.cause)) {
                if fates.are_in_vain(spell.from - before, spell.to) {
                    spell.cause = Cause::NotAccepted;
                }
            }
        }
        let Some(losses) = self.losses(direction.from) else { return };
        let overtaken = self.instants(1 - forth.near, &forth.overtaken);
        for spell in &mut direction.spells {
            let within = |at: &Instant| *at >= spell.from - before && *at <= spell.to;
            if losses.iter().any(within) {
                continue;
            }
            spell.cause = match spell.cause {
                Cause::FastRecovery if overtaken.iter().any(within) => Cause::Reordering,
                Cause::Timeout | Cause::TailLoss | Cause::LostRetransmission => Cause::SpuriousTimeout,
                cause => cause,
            };
        }
        join_alike(&mut direction.spells);
    }

    /// Adds to each finding what both recordings together show.
    fn add_evidence(&self, direction: &mut DirectionReport) {
        let (forth, back) = (self.direction(direction.from), self.direction(!direction.from));
        let before = lookback(direction);
        let spells = &direction.spells;
        let lost = self.instants(forth.near, &forth.lost);
        let ignored = self.instants(1 - forth.near, &forth.ignored);
        for finding in &mut direction.findings {
            let own: Vec<_> = spells.iter().filter(|spell| spell.cause == finding.cause).collect();
            let of_own = |instants: &[Instant]| {
                let within = |at: &&Instant| own.iter().any(|s| **at >= s.from - before && **at <= s.to);
                instants.iter().filter(within).count() as u64
            };
            let lost = of_own(&lost);
            match finding.cause {
                Cause::FastRecovery
                | Cause::Timeout
                | Cause::TailLoss
                | Cause::LostRetransmission
                | Cause::NotAccepted => {
                    if finding.cause != Cause::NotAccepted {
                        finding.evidence.push(Evidence::LostBetween { packets: lost });
                    }
                    let packets = of_own(&ignored);
                    if packets > 0 {
                        finding.evidence.push(Evidence::NotAccepted { packets });
                    }
                    if packets > 0 && forth.ignored_stale > 0 {
                        finding.evidence.push(Evidence::StaleTimestamps {});
                    }
                }
                Cause::SynLost => {
                    let [syns, syn_acks] = End::BOTH.map(|end| self.direction(end).lost_syns);
                    finding.evidence.push(Evidence::SynLostBetween { syns, syn_acks });
                }
                Cause::Reordering | Cause::SpuriousTimeout => {
                    finding.evidence.push(Evidence::ReorderedBetween {
                        lost,
                        reordered: forth.overtaken.count,
                        latest: forth.overtaken_by,
                    });
                }
                cause if cause.limit() == Limit::ReceiverProcessing => {
                    let time = |nanos: i64| Duration::from_nanos(nanos.max(0).unsigned_abs());
                    finding.evidence.extend(forth.answer.map(|answer| Evidence::AckDelay {
                        p95: time(answer.p95_ns),
                        longest: time(answer.max_ns),
                    }));
                }
                cause if cause.limit() == Limit::Path => {
                    finding.evidence.extend(forth.delay.as_ref().zip(back.delay.as_ref()).map(
                        |(forward, backward)| Evidence::QueueingBetween {
                            forward_p95: forward.queueing_p95,
                            backward_p95: backward.queueing_p95,
                        },
                    ));
                }
                _ => {}
            }
        }
    }
}

/// When data was lost between the recordings, and when data arrived that the receiver did not accept: on the report's clock,
/// in order.
struct Fates {
    lost: Vec<Instant>,
    ignored: Vec<Instant>,
}

impl Fates {
    /// Whether more was not accepted in this time than was lost.
    fn are_in_vain(&self, from: Instant, to: Instant) -> bool {
        let within = |instants: &[Instant]| {
            instants.partition_point(|at| *at <= to).saturating_sub(instants.partition_point(|at| *at < from))
        };
        within(&self.ignored) > within(&self.lost)
    }
}

/// Whether the sender retransmits what it takes for lost.
const fn is_repair(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::FastRecovery
            | Cause::Timeout
            | Cause::TailLoss
            | Cause::LostRetransmission
            | Cause::SpuriousTimeout
    )
}

/// Whether the sender sent, or tried to, and nothing came of it yet.
const fn is_in_vain(cause: Cause) -> bool {
    matches!(cause.limit(), Limit::LossRecovery | Limit::Connection)
}

/// Whether the sender waited because the receiver had no room.
const fn is_closed_window(cause: Cause) -> bool {
    matches!(cause, Cause::ReaderStopped | Cause::SlowReader)
}

/// Whether the sender could have sent, as far as the receiver knew.
const fn is_open_window(cause: Cause) -> bool {
    matches!(cause, Cause::SenderIdle | Cause::Undetermined)
}

/// What the sender did not know of the window, because the ACKs that opened it were lost, is not the reader's.
fn add_lost_updates(direction: &mut DirectionReport, unaware: &[(Spell, u64)]) {
    for finding in &mut direction.findings {
        let own = unaware.iter().filter(|(spell, _)| spell.cause == finding.cause);
        let updates: u64 = own.clone().map(|(_, lost)| lost).sum();
        if updates > 0 {
            let waited = own.map(|(spell, _)| spell.lasted()).sum();
            finding.evidence.push(Evidence::WindowUpdateLost { updates, waited });
            finding.confidence = finding.confidence.min(Confidence::Medium);
        }
    }
}

/// What looked like a full accept queue was the loss of what the initiator sent.
fn accepted_late_to_lost(direction: &mut DirectionReport) {
    let labels = &direction.measures.labels;
    // A single one may still have been on its way.
    let lost_again = labels.retransmission + labels.spurious > 1;
    for spell in direction.spells.iter_mut().filter(|spell| spell.cause == Cause::AcceptQueueFull) {
        spell.cause = if lost_again { Cause::LostRetransmission } else { Cause::SynLost };
    }
    join_alike(&mut direction.spells);
}

/// While one end tries in vain to reach the other, the other has nothing to send: no direction moves.
fn peer_gone_in_both_directions(report: &mut FlowReport) {
    let spells = report.directions.iter().flat_map(|direction| &direction.spells);
    let gone: Vec<_> = spells.filter(|spell| spell.cause == Cause::PeerGone).copied().collect();
    for direction in &mut report.directions {
        for spell in &gone {
            overlay(&mut direction.spells, *spell, |cause| cause.limit() == Limit::Application);
        }
    }
}

/// Whether SYNs stayed unanswered in this time: they or their answers were lost, or there was no answer.
const fn is_silent(spell: &Spell) -> bool {
    matches!(spell.cause, Cause::NoAnswer | Cause::SynLost)
}

/// How long before a repair its loss may have been: the longest RTT.
fn lookback(direction: &DirectionReport) -> Duration {
    let rtt = &direction.measures.rtt_by_ack;
    let longest = rtt.max.unwrap_or(Duration::from_secs(1));
    longest.max(rtt.min.unwrap_or_default() * 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(from: i64, to: i64, cause: Cause) -> Spell {
        Spell { from: Instant::from_nanos(from), to: Instant::from_nanos(to), cause }
    }

    #[test]
    fn late_acks_replace_only_unknown_spells() {
        let mut spells = vec![
            spell(0, 10, Cause::SlowStart),
            spell(10, 50, Cause::Undetermined),
            spell(50, 60, Cause::SenderIdle),
        ];
        overlay(&mut spells, spell(5, 30, Cause::AcksHeldBack), |cause| cause.limit() == Limit::Unknown);
        let expected = vec![
            spell(0, 10, Cause::SlowStart),
            spell(10, 30, Cause::AcksHeldBack),
            spell(30, 50, Cause::Undetermined),
            spell(50, 60, Cause::SenderIdle),
        ];
        assert_eq!(spells, expected);
    }
}
