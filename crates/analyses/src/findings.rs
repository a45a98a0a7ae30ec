//! Sums spells up into findings, with the evidence for each cause.

mod connection;

use crate::cause::{Cause, Confidence, Limit};
use crate::evidence::Evidence;
use crate::limits::alternatives::{Alternative, Known};
use crate::limits::ticks::Clock;
use crate::limits::{queue, thresholds};
use crate::overview::{AnsweredAtOnce, ScaleChanged};
use crate::report::{
    Closing, EcnAnswer, Finding, FlowReport, Measures, Opening, Overview, ScaleKnown, Spell,
};
use slowpath_model::{Bytes, End, IcmpKind, Instant, Rate, Vantage};
use std::time::Duration;

/// What evidence is drawn from.
struct Material<'a> {
    from: End,
    first: Instant,
    last: Instant,
    spells: &'a [Spell],
    /// Of the sender.
    sent: &'a Measures,
    /// Of the receiver.
    answered: &'a Measures,
    opening: &'a Opening,
    closing: &'a Closing,
    overview: &'a Overview,
    vantage: Vantage,
    /// Whether the vantage is only a guess.
    is_vantage_guessed: bool,
}

/// Sums the spells of each direction up by cause, most time first, and adds the reset to those of the main direction;
/// [`FlowReport::explain`] adds the evidence.
pub fn complete(report: &mut FlowReport) {
    report.with_awaited();
    sum_up(report);
}

fn sum_up(report: &mut FlowReport) {
    for from in End::BOTH {
        idle_to_the_end(&mut report.directions[from.index()].spells, report.last);
        report.directions[from.index()].findings = findings(report, from);
    }
}

impl FlowReport {
    /// Sums a report up again that was taken, if echoes of the flow's close came later.
    pub fn settle(&mut self) {
        let last = self.last;
        let ends_before = |spells: &[Spell]| spells.last().is_some_and(|spell| spell.to < last);
        if self.directions.iter().any(|direction| ends_before(&direction.spells)) {
            sum_up(self);
        }
    }

    /// Adds to each finding its evidence and its instants, for a report of [`Analysis::finish_each`].
    ///
    /// [`Analysis::finish_each`]: crate::Analysis::finish_each
    pub fn explain(&mut self) {
        for from in End::BOTH {
            let mut findings = std::mem::take(&mut self.directions[from.index()].findings);
            let own = Material::of(self, from);
            for finding in &mut findings {
                let material = Material::of(self, finding.from);
                finding.evidence = material.evidence(finding.cause);
                if finding.from != from {
                    finding.evidence.insert(0, Evidence::AwaitedData {});
                }
                finding.alternatives = material.alternatives(finding.cause).collect();
                finding.instants = own.longest(finding.cause);
                // With JSON output, a hundred thousand flows may be explained before the first is printed.
                finding.evidence.shrink_to_fit();
                finding.alternatives.shrink_to_fit();
            }
            self.directions[from.index()].findings = findings;
        }
    }
}

/// Segments after a flow was summed up were only an echo of its end.
fn idle_to_the_end(spells: &mut Vec<Spell>, end: Instant) {
    let Some(last) = spells.last_mut().filter(|last| last.to < end) else { return };
    if last.cause == Cause::SenderIdle {
        last.to = end;
    } else {
        let from = last.to;
        spells.push(Spell { from, to: end, cause: Cause::SenderIdle });
    }
}

fn findings(report: &FlowReport, from: End) -> Vec<Finding> {
    let material = Material::of(report, from);
    let life = report.lasted();
    let mut found: Vec<Finding> = Vec::new();
    for spell in material.spells {
        let lasted = spell.lasted();
        match found.iter_mut().find(|finding| finding.cause == spell.cause) {
            Some(finding) => {
                finding.lasted += lasted;
                finding.spells += 1;
            }
            None => found.push(Finding { lasted, spells: 1, ..Finding::without_time(from, spell.cause) }),
        }
    }
    let reset = report.closing.cause().filter(|_| from == report.sender);
    let cleared = material.is_ecn_cleared().then_some(Cause::EcnCleared);
    // Of a SYN alone there is no time that could be of its cause.
    let opening = &report.opening;
    let is_alone = found.is_empty() && from == report.sender && opening.unanswered > 0;
    let unanswered = (is_alone && opening.syn_ack.is_none() && !opening.refused).then_some(Cause::NoAnswer);
    let without_time = reset.into_iter().chain(cleared).chain(unanswered);
    found.extend(without_time.map(|cause| Finding::without_time(from, cause)));
    for finding in &mut found {
        if !life.is_zero() {
            finding.share = finding.lasted.as_secs_f64() / life.as_secs_f64();
        }
        let awaited = report.directions[from.index()].awaited.iter();
        let awaited: Duration = awaited.filter(|spell| spell.cause == finding.cause).map(Spell::lasted).sum();
        if awaited * 2 > finding.lasted {
            finding.from = !from;
        }
        finding.confidence = Material::of(report, finding.from).confidence(finding.cause);
    }
    found.sort_by(|a, b| b.lasted.cmp(&a.lasted).then(a.cause.cmp(&b.cause)));
    found
}

impl Finding {
    /// A finding without time of its own, or not summed up yet.
    const fn without_time(from: End, cause: Cause) -> Self {
        Self {
            from,
            cause,
            lasted: Duration::ZERO,
            share: 0.0,
            spells: 0,
            confidence: Confidence::Medium,
            evidence: Vec::new(),
            alternatives: Vec::new(),
            instants: Vec::new(),
        }
    }
}

impl<'a> Material<'a> {
    fn of(report: &'a FlowReport, from: End) -> Self {
        let direction = &report.directions[from.index()];
        Self {
            from,
            first: report.first,
            last: report.last,
            spells: &direction.spells,
            sent: &direction.measures,
            answered: &report.directions[(!from).index()].measures,
            opening: &report.opening,
            closing: &report.closing,
            overview: &direction.overview,
            vantage: report.vantage.vantage,
            is_vantage_guessed: report.vantage.confidence == Confidence::Low,
        }
    }

    /// Where the three longest spells of `cause` start.
    fn longest(&self, cause: Cause) -> Vec<Instant> {
        if cause.is_reset() {
            return self.closing.reset.iter().map(|reset| reset.at).collect();
        }
        let mut longest: Vec<&Spell> = self.spells_of(cause).collect();
        longest.sort_by_key(|spell| std::cmp::Reverse(spell.lasted()));
        longest.iter().take(3).map(|spell| spell.from).collect()
    }

    /// How sure `cause` is. High means that no alternative is left: facts of the headers, and what was seen next to the
    /// end concerned, unless the capture missed much of it.
    fn confidence(&self, cause: Cause) -> Confidence {
        let misses_much = self.sent.unseen_share() >= thresholds::MISSES_MUCH;
        let is_of_few = cause.limit() == Limit::Connection || cause.is_reset();
        let most = if misses_much && !is_of_few { Confidence::Medium } else { Confidence::High };
        self.confidence_of_seen(cause).min(most)
    }

    /// How sure `cause` is by what the capture has.
    fn confidence_of_seen(&self, cause: Cause) -> Confidence {
        let at_sender = self.vantage == Vantage::At(self.from) && !self.is_vantage_guessed;
        let high_if = |sure: bool| if sure { Confidence::High } else { Confidence::Medium };
        match cause {
            // The answers may not have passed the tap.
            Cause::NoAnswer => Confidence::Medium,
            // From afar, a lost ACK looks the same; and losses do if no SYN-ACK comes again.
            Cause::AcceptQueueFull => {
                match (self.vantage == Vantage::At(End::B), self.opening.unaccepted > 0) {
                    (true, true) => Confidence::High,
                    (false, false) => Confidence::Low,
                    _ => Confidence::Medium,
                }
            }
            // The other end may be gone, or the capture may lack its last ACK.
            Cause::SynLost if self.opening.has_no_end() => Confidence::Medium,
            // Some hosts send RSTs with a TTL of their own.
            Cause::ResetOnPath => high_if(
                self.closing.reset.as_ref().is_some_and(|reset| reset.went_on || reset.acknowledged_more),
            ),
            Cause::ResetUnknown => high_if(self.closing.reset.as_ref().is_none_or(|reset| !reset.knew)),
            // It was certainly dropped behind the tap; the reason is not certain.
            Cause::NotAccepted => {
                high_if(self.overview.rare().not_accepted.is_some_and(|seen| seen.damaged + seen.stale > 0))
            }
            // A path whose MTU has become smaller passes nothing that is large.
            Cause::PeerGone => high_if(self.unheard().is_none_or(|unheard| !unheard.is_only_large())),
            Cause::EcnCleared => Confidence::High,
            // It passed both recordings; the tap next to the responder shows that it reached the host.
            Cause::NotAnswered => {
                let reached = if self.opening.unanswered_syn_acks > 0 { End::A } else { End::B };
                high_if(self.vantage == Vantage::At(reached))
            }
            // A single such flow may be chance.
            Cause::FastOpenLost => Confidence::Medium,
            // Chance and a queue were excluded, but not every device; next to the receiver, what was lost is not seen.
            Cause::BeyondUnscaledWindow if self.overview.rare().loss.is_none() => Confidence::Low,
            Cause::BeyondUnscaledWindow => Confidence::Medium,
            // Where nothing smaller arrived, or what was lost is not seen, the reason may be another one than the size. SYN and
            // FIN take a byte of the sequence numbers.
            Cause::MtuBlackHole => {
                let is_about_size = |kind| matches!(kind, IcmpKind::PacketTooBig { .. });
                let told = self.sent.unusual().icmp_kind.is_some_and(is_about_size);
                let loss = self.overview.rare().loss;
                high_if(loss.is_some_and(|loss| told || loss.delivered_largest > 1))
            }
            Cause::SlowReader => self.window_confidence().min(high_if(self.answered.window.zero_count > 0)),
            Cause::SenderIdle if self.silent_to_the_end(cause).is_some() => Confidence::Low,
            Cause::SenderIdle => {
                high_if(at_sender && self.alternatives(cause).all(|other| other.excluded_by.is_some()))
            }
            // From afar, it does not show that no ACK triggered the sender.
            Cause::LocalRateLimit | Cause::EarlyExit if !at_sender => Confidence::Low,
            Cause::ThinkTime => Confidence::High,
            // The window took far longer than the path's RTT to be let through: what held it may also be a reader, or others' queue.
            Cause::ReceiveBufferTooSmall if self.overview.rtt_under(cause).is_some() => {
                self.window_confidence().min(Confidence::Medium)
            }
            _ => match cause.limit() {
                Limit::ReceiveWindow => self.window_confidence(),
                Limit::Connection => Confidence::High,
                Limit::LossRecovery => high_if(at_sender),
                Limit::Unknown => Confidence::Low,
                _ => Confidence::Medium,
            },
        }
    }

    /// What else could have held the sender.
    fn alternatives(&self, cause: Cause) -> impl Iterator<Item = Alternative> {
        let known = Known { at_sender: self.vantage == Vantage::At(self.from), no_queue: self.no_queue() };
        let tally = self.overview.tallies.iter().find(move |tally| tally.cause == cause);
        tally.into_iter().flat_map(move |tally| tally.alternatives(known))
    }

    /// How sure the window is.
    const fn window_confidence(&self) -> Confidence {
        match self.answered.window_scale {
            ScaleKnown::Agreed(_) => Confidence::High,
            ScaleKnown::Fits(_) | ScaleKnown::AtLeast(_) => Confidence::Medium,
            ScaleKnown::Unknown => Confidence::Low,
        }
    }

    fn evidence(&self, cause: Cause) -> Vec<Evidence> {
        let mut found = Vec::new();
        match cause.limit() {
            Limit::Connection => self.connection(cause, &mut found),
            Limit::Application => self.application(cause, &mut found),
            Limit::SendBuffer => {
                found.extend(self.flight().map(|flight_max| Evidence::FlightPlateau { flight_max }))
            }
            Limit::ReceiveWindow => self.window(cause, &mut found),
            Limit::ReceiverProcessing if cause == Cause::NotAccepted => self.not_accepted(&mut found),
            Limit::ReceiverProcessing => {
                found.push(Evidence::LateAcks {
                    beyond: Duration::from_nanos(thresholds::LATE_ACK_NS as u64),
                });
            }
            Limit::CongestionWindow => self.congestion(cause, &mut found),
            Limit::LossRecovery => self.losses(cause, &mut found),
            Limit::Path => self.path(cause, &mut found),
            Limit::Unknown => self.unknown(cause, &mut found),
            Limit::SendingHost if cause == Cause::LocalQueue => self.losses(cause, &mut found),
            Limit::SendingHost => self.sending_host(&mut found),
        }
        found
    }

    fn sending_host(&self, found: &mut Vec<Evidence>) {
        let rare = self.overview.rare();
        let to_rate = |rate: f64| Rate::bits_per_second(rate as u64);
        if let Some(steady) = rare.steady {
            let flight = Bytes::new(steady.flight as u64);
            found.push(Evidence::SteadyRate { rate: to_rate(steady.rate), flight });
            found.extend(steady.unprompted.map(|share| Evidence::UnpromptedSends { share }));
        }
        found.extend(rare.pace_of_bunches.map(|rate| Evidence::PacedBunches { rate: to_rate(rate) }));
        found.extend(self.reported_no_queue());
    }

    fn application(&self, cause: Cause, found: &mut Vec<Evidence>) {
        let waits = &self.overview.waits;
        if cause == Cause::ProtocolWindow {
            if waits.prompted > 0 {
                found.push(Evidence::FollowsPayload { waits: waits.prompted, by_ack: waits.clocked });
            }
            found.extend(self.flight().map(|flight_max| Evidence::FlightBound { flight_max }));
            return;
        }
        if cause == Cause::NagleDelayedAck && waits.one_at_a_time > 0 {
            found.push(Evidence::OneAtATime { waits: waits.one_at_a_time });
        }
        if cause == Cause::NagleDelayedAck && self.overview.nagled > 0 {
            found.push(Evidence::ShortAfterShort {
                total: Duration::from_nanos(self.overview.nagled.unsigned_abs()),
            });
        }
        found.extend(self.silence(cause));
        if cause == Cause::SenderIdle
            && let Some(Clock { every, within, writes }) = self.overview.rare().clock
        {
            found.push(Evidence::WrittenByClock { writes, every, within });
        }
        if cause == Cause::ThinkTime {
            let all = self.time_of(cause);
            let sender = Duration::from_nanos(waits.answering.unsigned_abs()).min(all);
            found.push(Evidence::TurnsTook { sender, receiver: all - sender });
        }
        found.extend(self.silent_to_the_end(cause));
    }

    /// Evidence that most of the time of `cause` is a silence at the end, which only a later segment could show to be
    /// idleness: far from the sender, its segments may no longer arrive.
    fn silent_to_the_end(&self, cause: Cause) -> Option<Evidence> {
        let closed = self.closing.fin[self.from.index()] || self.closing.rst != [false; 2];
        if closed || self.vantage == Vantage::At(self.from) {
            return None;
        }
        let last = self.spells.last().filter(|spell| spell.cause == cause && spell.to == self.last)?;
        let lasted = last.lasted().min(self.last.since(self.sent.last_data?)?);
        let all = self.time_of(cause);
        (lasted >= thresholds::CUT_OFF_SILENCE && lasted > all / 2)
            .then_some(Evidence::SilentToTheEnd { lasted })
    }

    /// The longest time without data within a spell of `cause`: between two segments with data, before the first, or after the
    /// last.
    fn silence(&self, cause: Cause) -> Option<Evidence> {
        let since = |from: Option<Instant>, to: Option<Instant>| to?.since(from?);
        let before = since(Some(self.first), self.sent.first_data);
        let after = since(self.sent.last_data, Some(self.last));
        let silent = [Some(self.sent.idle_longest), before, after].into_iter().flatten().max()?;
        let longest = silent.min(self.longest_spell(cause));
        (longest >= thresholds::SHORTEST_SILENCE).then_some(Evidence::Silence { longest })
    }

    fn spells_of(&self, cause: Cause) -> impl Iterator<Item = &Spell> {
        self.spells.iter().filter(move |spell| spell.cause == cause)
    }

    fn time_of(&self, cause: Cause) -> Duration {
        self.spells_of(cause).map(Spell::lasted).sum()
    }

    fn longest_spell(&self, cause: Cause) -> Duration {
        self.spells_of(cause).map(Spell::lasted).max().unwrap_or_default()
    }

    fn window(&self, cause: Cause, found: &mut Vec<Evidence>) {
        let largest = self.answered.window.max.unwrap_or_default();
        let segments = self.sent.window_full;
        // How large a window is does not matter to a reader that does not open it.
        if segments > 0 && cause != Cause::ReaderStopped {
            found.push(Evidence::WindowFilled { segments, largest });
            found.extend(self.window_allows(cause, largest).filter(|_| cause != Cause::SlowReader));
        }
        let (reads, waited) = self.overview.reads;
        if cause == Cause::SlowReader && reads >= thresholds::READS_TELL {
            let after = Duration::from_micros(waited / reads);
            found.push(Evidence::AnswersWhenRead { acks: reads, after });
        }
        if let Some(times) = self.overview.rare().read_times.filter(|_| cause == Cause::SlowReader) {
            found.push(Evidence::AcksFollowReads { times: times.into() });
        }
        let window = &self.answered.window;
        match cause {
            Cause::WindowTakenBack => {
                let taken = self.overview.rare().taken_back;
                let largest = Bytes::new(taken.largest.max(0).unsigned_abs());
                found.push(Evidence::EdgeMovedBack { times: taken.times, largest });
            }
            Cause::NoWindowScaling | Cause::WindowScaleTooSmall => found.extend(self.scale(cause)),
            Cause::SlowReader | Cause::ReaderStopped if window.zero_count > 0 => {
                found.push(Evidence::WindowClosed { times: window.zero_count, total: window.zero_time });
            }
            Cause::SlowReader | Cause::ReaderStopped => {
                let range = window.max.zip(window.min).filter(|(largest, smallest)| smallest < largest);
                found.extend(range.map(|(largest, smallest)| Evidence::WindowShrank { largest, smallest }));
            }
            _ => {}
        }
        match self.answered.window_scale {
            ScaleKnown::AtLeast(shift) => found.push(Evidence::ScaleInferred { shift: shift.into() }),
            ScaleKnown::Fits(shift) => found.push(Evidence::ScaleFits { shift: shift.into() }),
            ScaleKnown::Agreed(_) | ScaleKnown::Unknown => {}
        }
    }

    /// What is wrong with the window scale.
    fn scale(&self, cause: Cause) -> Option<Evidence> {
        let shown = self.answered.window_scale.shift();
        match self.overview.rare().scale_changed {
            Some(ScaleChanged::Filled(found)) => Some(Evidence::ScaledOtherwise {
                segments: found.segments.into(),
                sender: shown.saturating_sub(found.less).into(),
                receiver: shown.into(),
            }),
            Some(ScaleChanged::FirstWindow { opened, next }) => Some(Evidence::FirstWindow {
                opened: Bytes::new(opened.into()),
                next: Bytes::new(next.into()),
                scale: shown.into(),
            }),
            None => (cause == Cause::NoWindowScaling && self.answered.window_scale == ScaleKnown::Agreed(0))
                .then_some(Evidence::ScalingNotOffered {}),
        }
    }

    /// What the window allows, if that is close enough to the rate reached to explain it; or else, if it held the sender nearly
    /// all the time, how long each window took.
    fn window_allows(&self, cause: Cause, largest: Bytes) -> Option<Evidence> {
        let rtt = self.overview.rtt_under(cause).or_else(|| self.base_rtt())?;
        let rate = Rate::of(largest, rtt)?;
        let goodput = self.sent.goodput?;
        let reached = self.overview.peak_rate.max(goodput.get() as f64);
        if rate.get() as f64 <= thresholds::EXPLAINS_WITHIN * reached {
            return Some(Evidence::WindowAllows { rtt, rate });
        }
        let all = self.last.since(self.first)?.as_secs_f64();
        let is_all = self.time_of(cause).as_secs_f64() >= thresholds::NEARLY_ALL_TIME * all;
        let took = goodput.time_for(largest)?;
        (cause == Cause::ReceiveBufferTooSmall && is_all).then_some(Evidence::WindowTook { took, rtt })
    }

    fn not_accepted(&self, found: &mut Vec<Evidence>) {
        let in_vain = self.sent.unusual().answered_in_vain;
        if in_vain > 0 {
            found.push(Evidence::AnsweredInVain { retransmissions: in_vain.into() });
        }
        let Some(seen) = self.overview.rare().not_accepted else { return };
        found.push(Evidence::NotAccepted { packets: seen.segments.into() });
        if seen.damaged > 0 {
            found.push(Evidence::DamagedOnArrival { segments: seen.damaged.into() });
        }
        if seen.stale > 0 {
            found.push(Evidence::StaleTimestamps {});
        }
        found.extend(self.retransmitted());
    }

    fn congestion(&self, cause: Cause, found: &mut Vec<Evidence>) {
        if cause == Cause::EcnMarks {
            found.push(Evidence::EcnMarked {
                marked: self.sent.unusual().marked,
                echoes: self.answered.unusual().mark_echoes,
                reductions: self.sent.unusual().window_reductions,
            });
        }
        found.extend(self.flight().map(|flight_max| Evidence::FlightBound { flight_max }));
        if self.overview.queue_shows {
            found.extend(self.reported_no_queue());
        }
        // Both end with the first loss.
        if !matches!(cause, Cause::SlowStart | Cause::EarlyExit) {
            found.extend(self.retransmitted());
        }
    }

    /// The most data in flight. If the capture lost ACKs, it can seem to be above the window; then it is unknown.
    fn flight(&self) -> Option<Bytes> {
        let flight = self.sent.flight_max;
        self.answered.window.max.is_none_or(|window| flight <= window).then_some(flight)
    }

    fn losses(&self, cause: Cause, found: &mut Vec<Evidence>) {
        let unusual = self.sent.unusual();
        if unusual.sent_unseen > Bytes::ZERO {
            found.push(Evidence::SentUnseen { data: unusual.sent_unseen });
        }
        if let Some(loss) = self.overview.rare().loss {
            found.extend(loss.evidence(cause));
        } else if cause == Cause::BeyondUnscaledWindow {
            found.extend(self.window_field());
        }
        if cause == Cause::SackUntranslated {
            let blocks = self.answered.unusual().sack_outside;
            found.push(Evidence::SackOutside { blocks, all: blocks + self.answered.sack_blocks });
        }
        if unusual.icmp_errors > 0 {
            found.extend(self.icmp_errors());
        }
        found.extend(self.retransmitted());
        let lasted = Duration::from_nanos(self.overview.longest_recovery.max(0).unsigned_abs());
        if !lasted.is_zero() {
            found.push(Evidence::LongestRecovery { lasted });
        }
    }

    /// The largest window field, as it is on the wire.
    fn window_field(&self) -> Option<Evidence> {
        let shift = self.answered.window_scale.shift();
        let field = Bytes::new(self.answered.window.max?.get() >> shift);
        Some(Evidence::WindowFieldTooSmall { field, segment: Bytes::new(self.sent.mss_seen.into()) })
    }

    fn retransmitted(&self) -> Option<Evidence> {
        let segments = self.sent.retransmitted();
        (segments > 0).then(|| Evidence::Retransmitted {
            segments,
            spurious: self.sent.labels.spurious,
            lost_share: self.sent.lost_share().unwrap_or_default(),
            recoveries: self.sent.recoveries,
            timeouts: self.sent.timeouts,
        })
    }

    /// Whether both ends agreed on ECN, and none of this direction's data is ECN-capable at the tap. An end sends all
    /// new data as ECN-capable (RFC 3168, section 6.1.2).
    fn is_ecn_cleared(&self) -> bool {
        let never_seen = !self.sent.ecn_capable && self.sent.labels.new >= thresholds::ECN_SEGMENTS;
        self.opening.ecn == Some(EcnAnswer::Accepted) && (never_seen || self.overview.rare().ecn_cleared)
    }

    fn path(&self, cause: Cause, found: &mut Vec<Evidence>) {
        match (cause, self.overview.rare().policed) {
            (Cause::EcnCleared, _) => {
                found.push(Evidence::EcnNotCapable { segments: self.sent.data_packets });
            }
            (Cause::DelaySpike, _) => {
                let opening = self.opening;
                let opened = opening.syn.filter(|_| opening.came_late).zip(opening.established);
                if let Some(after) = opened.and_then(|(syn, end)| end.since(syn)) {
                    found.push(Evidence::HandshakeLate { after });
                }
                let later = |spell: &&Spell| opened.is_none_or(|(_, end)| spell.from >= end);
                let longest = self.spells_of(cause).filter(later).map(Spell::lasted).max();
                found.extend(longest.map(|longest| Evidence::LateButNotLost { longest }));
            }
            (Cause::AckPathQueue, _) => self.ack_queue(found),
            (Cause::Policer, Some(rate)) => {
                let rate = Rate::bits_per_second(rate as u64);
                match self.overview.rare().bucket {
                    Some(bucket) => found.extend(bucket.evidence()),
                    None if rate.get() > 0 => found.push(Evidence::SameRateAtLoss { rate }),
                    None => {}
                }
                found.extend(self.retransmitted());
            }
            _ => {
                let peak = Rate::bits_per_second(self.overview.peak_rate as u64);
                if peak.get() > 0 {
                    found.push(Evidence::DeliveryRate { peak });
                }
                found.extend(self.rtt_spread());
            }
        }
    }

    fn ack_queue(&self, found: &mut Vec<Evidence>) {
        let Some(seen) = self.overview.rare().ack_queue else { return };
        let time = |micros: u32| Duration::from_micros(micros.into());
        let all = time(seen.queue);
        let acks = seen.acks.filter(|acks| queue::is_all_acks(*acks, seen.queue));
        found.extend(acks.map(|acks| Evidence::AcksLate { acks: time(acks), queue: all }));
        let data = seen.data.filter(|data| queue::is_no_data(*data, seen.queue));
        found.extend(data.map(|data| Evidence::DataPunctual { data: time(data), queue: all }));
    }

    /// Only next to the sender does the time from data to ACK span the whole path.
    fn rtt_spread(&self) -> Option<Evidence> {
        let (shortest, mean) = self.base_rtt().zip(self.sent.rtt_by_ack.mean)?;
        (self.vantage == Vantage::At(self.from) && mean >= shortest)
            .then_some(Evidence::RttSpread { shortest, mean })
    }

    fn unknown(&self, cause: Cause, found: &mut Vec<Evidence>) {
        match cause {
            Cause::OneDirection if self.sent.packets == 0 => found.push(Evidence::SenderNotCaptured {}),
            Cause::OneDirection => found.push(Evidence::ReceiverNotCaptured {}),
            Cause::CaptureGap => {
                let data = self.sent.unseen_bytes;
                found.extend((data > Bytes::ZERO).then_some(Evidence::DataNotCaptured { data }));
            }
            _ => self.undetermined(found),
        }
    }

    /// Why this capture does not determine the cause.
    fn undetermined(&self, found: &mut Vec<Evidence>) {
        if self.overview.unproven {
            found.push(Evidence::SilentAfterFullSegment {});
        }
        if self.overview.never_short {
            found.push(Evidence::AlwaysMoreToSend {});
        }
        if !self.overview.near_known {
            found.push(Evidence::SenderDistanceUnknown {});
        } else if self.overview.base_rtt.is_none() || !self.overview.queue_shows {
            found.push(Evidence::NoRtt {});
        } else if let Some(AnsweredAtOnce { data, late }) = self.overview.rare().answered_at_once {
            let (data, late) = (Bytes::new(data.into()), Duration::from_micros(late.into()));
            found.push(Evidence::AnsweredAtOnce { data, late });
        } else if self.overview.like_refills {
            found.push(Evidence::BurstsAfterAcks {});
        } else if self.overview.never_full {
            found.push(Evidence::NearlyFullSegments {});
        } else if !self.overview.unproven {
            found.push(Evidence::SeveralLimitsFit {});
        }
    }

    /// Evidence that no queue held this flow, by its RTTs.
    fn no_queue(&self) -> Option<Evidence> {
        let shortest = self.base_rtt().filter(|_| !self.overview.rare().queued_at_first)?;
        Some(match self.overview.rare().longer_rtt {
            _ if self.overview.rare().jitter => Evidence::Jitter { shortest },
            Some(longer) => {
                Evidence::LongerPath { shortest, longer: Duration::from_micros(longer.rtt.into()) }
            }
            None => Evidence::NoQueue { shortest },
        })
    }

    /// [`Self::no_queue`], where it is reported: in a capture that began later than the connection, a queue may have stood all
    /// the time.
    fn reported_no_queue(&self) -> Option<Evidence> {
        let began_later = self.opening.syn.is_none();
        self.no_queue().filter(|evidence| !(began_later && matches!(evidence, Evidence::NoQueue { .. })))
    }

    /// The shortest RTT, in whole microseconds; below one, it is unknown.
    fn base_rtt(&self) -> Option<Duration> {
        self.overview.base_rtt.filter(|micros| *micros > 0).map(|micros| Duration::from_micros(micros.into()))
    }
}
