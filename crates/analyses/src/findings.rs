//! What the spells come to, with the numbers that show it.

use crate::cause::{Cause, Confidence, Limit};
use crate::report::{Finding, FlowReport, Measures, Opening, Overview, ScaleKnown, Spell};
use slowpath_model::units::duration_text as short;
use slowpath_model::{Bytes, End, Instant, Rate, Vantage};
use std::time::Duration;

/// Everything a sentence of evidence may draw on.
struct Material<'a> {
    spells: &'a [Spell],
    measures: &'a Measures,
    /// How the receiver's window is scaled.
    scale: ScaleKnown,
    opening: &'a Opening,
    overview: &'a Overview,
    vantage: Vantage,
}

/// Sums the spells of each direction up by cause, most time first; [`FlowReport::explain`] adds what shows it.
pub fn complete(report: &mut FlowReport) {
    for from in End::BOTH {
        idle_to_the_end(&mut report.directions[from.index()].spells, report.last);
        report.directions[from.index()].findings = findings(report, from);
    }
}

impl FlowReport {
    /// Adds to each finding its evidence and its instants, for a report of [`Analysis::finish_each`].
    ///
    /// [`Analysis::finish_each`]: crate::Analysis::finish_each
    pub fn explain(&mut self) {
        for from in End::BOTH {
            let mut findings = std::mem::take(&mut self.directions[from.index()].findings);
            let material = Material::of(self, from);
            for finding in &mut findings {
                finding.evidence = material.evidence(finding.cause);
                finding.instants = material.longest(finding.cause);
            }
            self.directions[from.index()].findings = findings;
        }
    }
}

/// What came after a flow was summed up was no more than an echo of its end.
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
            None => found.push(Finding {
                cause: spell.cause,
                lasted,
                share: 0.0,
                spells: 1,
                confidence: Confidence::Medium,
                evidence: Vec::new(),
                instants: Vec::new(),
            }),
        }
    }
    for finding in &mut found {
        if !life.is_zero() {
            finding.share = finding.lasted.as_secs_f64() / life.as_secs_f64();
        }
        finding.confidence = material.confidence(finding.cause);
    }
    found.sort_by(|a, b| b.lasted.cmp(&a.lasted).then(a.cause.cmp(&b.cause)));
    found
}

impl<'a> Material<'a> {
    fn of(report: &'a FlowReport, from: End) -> Self {
        let direction = &report.directions[from.index()];
        Self {
            spells: &direction.spells,
            measures: &direction.measures,
            scale: report.directions[(!from).index()].measures.window_scale,
            opening: &report.opening,
            overview: &direction.overview,
            vantage: report.vantage.vantage,
        }
    }

    /// Where the three longest spells of `cause` start.
    fn longest(&self, cause: Cause) -> Vec<Instant> {
        let mut longest: Vec<&Spell> = self.spells.iter().filter(|spell| spell.cause == cause).collect();
        longest.sort_by_key(|spell| std::cmp::Reverse(spell.lasted()));
        longest.iter().take(3).map(|spell| spell.from).collect()
    }

    fn confidence(&self, cause: Cause) -> Confidence {
        match cause.limit() {
            Limit::ReceiveWindow => match self.scale {
                ScaleKnown::Agreed(_) => Confidence::High,
                ScaleKnown::AtLeast(_) => Confidence::Medium,
                ScaleKnown::Unknown => Confidence::Low,
            },
            Limit::Connection => Confidence::High,
            Limit::LossRecovery if self.vantage == Vantage::Unknown => Confidence::Medium,
            Limit::LossRecovery => Confidence::High,
            Limit::Application if cause == Cause::SenderIdle || cause == Cause::ThinkTime => Confidence::High,
            Limit::Unknown => Confidence::Low,
            _ => Confidence::Medium,
        }
    }

    fn evidence(&self, cause: Cause) -> Vec<String> {
        let measures = self.measures;
        let mut told = Vec::new();
        match cause.limit() {
            Limit::Connection => told.extend(self.opening()),
            Limit::Application => told.push(format!(
                "nothing was sent for up to {}, while the receiver's window was open",
                short(measures.idle_longest)
            )),
            Limit::SendBuffer => told.push(format!(
                "the data outstanding never exceeded {}, and more came only when an ACK made room",
                measures.flight_max
            )),
            Limit::ReceiveWindow => self.window(cause, &mut told),
            Limit::ReceiverProcessing => {
                told.push("ACKs for several segments came more than 10 ms after them".into())
            }
            Limit::CongestionWindow => self.congestion(&mut told),
            Limit::LossRecovery => self.losses(&mut told),
            Limit::Path => self.path(cause, &mut told),
            Limit::Unknown => self.unknown(cause, &mut told),
        }
        told
    }

    fn opening(&self) -> Option<String> {
        let opening = self.opening;
        if opening.retransmitted > 0 {
            let times = count(opening.retransmitted.into(), "time");
            return Some(format!("SYN or SYN-ACK was sent again {times}"));
        }
        opening.round_trip.map(|took| format!("the handshake took {}", short(took)))
    }

    fn window(&self, cause: Cause, told: &mut Vec<String>) {
        let largest = Bytes::new(self.overview.window_max.into());
        let full = self.measures.window_full;
        told.push(format!(
            "{full} segments used up the receiver's window, which was {largest} at its largest"
        ));
        if let Some(base) = self.base_rtt()
            && let Some(most) = Rate::of(largest, base)
        {
            told.push(format!("over a round trip of {} such a window allows at most {most}", short(base)));
        }
        match cause {
            Cause::NoWindowScaling => told.push("the two SYNs did not both offer window scaling".into()),
            Cause::SlowReader | Cause::ReaderStopped => {
                told.push("the window closed while data was under way: it waited to be read".into());
            }
            _ => {}
        }
        if let ScaleKnown::AtLeast(shift) = self.scale {
            told.push(format!(
                "the handshake was not captured; a window scale of {shift} is the least that fits"
            ));
        }
    }

    fn congestion(&self, told: &mut Vec<String>) {
        told.push(format!(
            "up to {} were outstanding, with more to send and room to receive it",
            self.measures.flight_max
        ));
        if let Some(base) = self.base_rtt() {
            told.push(format!(
                "round trips were near their shortest, {}: no queue stood in the way",
                short(base)
            ));
        }
        self.count_losses(told);
    }

    fn losses(&self, told: &mut Vec<String>) {
        self.count_losses(told);
        let longest = Duration::from_nanos(self.overview.longest_recovery.max(0).unsigned_abs());
        told.push(format!("the longest recovery took {}", short(longest)));
    }

    fn count_losses(&self, told: &mut Vec<String>) {
        let labels = &self.measures.labels;
        let again = labels.retransmission + labels.spurious;
        if again == 0 {
            return;
        }
        let share = again as f64 * 100.0 / self.measures.data_packets.max(1) as f64;
        let were = if again == 1 { "was" } else { "were" };
        let mut text = format!("{} {were} sent again ({share:.2} %)", count(again, "segment"));
        if labels.spurious > 0 {
            text += &format!(", {} of them needlessly", labels.spurious);
        }
        text += &format!(", in {}", count(self.measures.recoveries, "episode"));
        if self.measures.timeouts > 0 {
            text += &format!(" with {}", count(self.measures.timeouts, "timeout"));
        }
        told.push(text);
    }

    fn path(&self, cause: Cause, told: &mut Vec<String>) {
        let peak = Rate::bits_per_second(self.overview.peak_rate as u64);
        if cause == Cause::DelaySpike {
            told.push("answers came far later than a round trip, and nothing was lost".into());
            return;
        }
        if let (Cause::Policer, Some(rate)) = (cause, self.overview.policed) {
            let rate = Rate::bits_per_second(rate as u64);
            told.push(format!(
                "losses came at about the same rate each time, {rate}, and without a longer round trip"
            ));
            self.count_losses(told);
            return;
        }
        told.push(format!("data was delivered at up to {peak}, round trip after round trip"));
        if let (Some(base), Some(mean)) = (self.base_rtt(), self.measures.rtt_by_ack.mean) {
            told.push(format!("the shortest round trip was {}, the mean {}", short(base), short(mean)));
        }
    }

    fn unknown(&self, cause: Cause, told: &mut Vec<String>) {
        match cause {
            Cause::OneDirection => {
                let silent = if self.measures.packets == 0 { "sender" } else { "receiver" };
                told.push(format!("no segment of the {silent} was captured"));
            }
            Cause::CaptureGap => told.push(format!(
                "{} were acknowledged that the capture does not hold",
                self.measures.unseen_bytes
            )),
            _ => told
                .push("no round trip could be measured, so a full path and a small window look alike".into()),
        }
    }

    fn base_rtt(&self) -> Option<Duration> {
        self.overview.base_rtt.map(|micros| Duration::from_micros(micros.into()))
    }
}

/// `1 segment`, `2 segments`.
fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
