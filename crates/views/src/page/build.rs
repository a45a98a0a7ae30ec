//! Converts a diagnosis to the page's data.

use super::names::{causes, limits, place};
use super::picture::PictureData;
use super::queueing::QueueingData;
use super::{FindingData, FlowData, FlowLines, OtherEnd, Page, RecordingText, SCHEMA, Spells, StallData};
use crate::diagnosis::Diagnosis;
use crate::json::Advice;
use crate::quantity::{count, counted, duration, duration_or_dash};
use crate::recording::Recording;
use crate::wall_clock::Utc;
use crate::words;
use slowpath_analyses::Label;
use slowpath_analyses::picture::Picture;
use slowpath_analyses::report::{Finding, FlowReport, Spell, Stall};
use slowpath_model::{Bytes, Instant, shown};

/// The source of the time–sequence plots.
pub struct Pictures<'a> {
    /// The plot of what the sender of a flow sent, if it was kept.
    pub of: &'a dyn Fn(&FlowReport) -> Option<Picture>,
    /// Flows whose plot was dropped to save memory.
    pub dropped: u64,
}

/// The page's data, with at most `most_marks` marks of each kind per plot and spells per flow.
pub fn page(diagnosis: &Diagnosis<'_>, pictures: &Pictures<'_>, most_marks: usize) -> Page {
    let ranking = &diagnosis.ranking;
    let mut thinned = 0;
    let mut flows = Vec::with_capacity(ranking.full.len());
    for flow in &ranking.full {
        let picture = (pictures.of)(flow).map(|picture| {
            let fewer = picture.thinned(most_marks);
            thinned += u64::from(fewer.marks() < picture.marks());
            fewer
        });
        flows.push(flow_data(diagnosis, flow, picture.as_ref(), most_marks));
    }
    let mut remarks = Vec::new();
    let mut remark = |number: u64, text: &str| {
        if number > 0 {
            remarks.push(format!("{} {text}", counted(number, "flow")));
        }
    };
    remark(ranking.left_out, "not shown, as asked for.");
    remark(ranking.taken() - ranking.lines.len() as u64, "not in the list, to keep this page small.");
    remark(diagnosis.flows_not_kept, "seen and not kept, to save memory.");
    remark(pictures.dropped, "without a picture, to save memory: those whose data spans the shortest time.");
    remark(thinned, "drawn with less detail, to keep this page small: --flow N draws one in full.");
    remarks.extend(words::clocks(diagnosis));
    Page {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        title: title(diagnosis),
        command: words::diagnose_command(diagnosis),
        recordings: diagnosis.recordings.iter().map(recording).collect(),
        limits: limits(),
        causes: causes(|cause| {
            let has = |flow: &FlowReport| flow.main().findings.iter().any(|finding| finding.cause == cause);
            ranking.full.iter().any(has)
        }),
        labels: Label::ALL.iter().map(|label| label.slug()).collect(),
        flow_count: ranking.flows,
        flows,
        lines: FlowLines::of(&ranking.lines),
        remarks,
    }
}

fn recording(recording: &Recording) -> RecordingText {
    let (warnings, notes) = words::skipped(recording);
    // The page's text is for people, so names are escaped, unlike in other JSON.
    let shown = |text: &String| shown::line(text).into_owned();
    let [warnings, notes] = [warnings, notes].map(|all| all.iter().map(shown).collect());
    let name = shown::line(words::recording_name(recording)).into_owned();
    let start = recording.epoch_ns.zip(recording.span);
    let began = start.map(|(epoch_ns, (first, _))| format!("{} UTC", Utc::of(epoch_ns, first).text()));
    RecordingText { name, began, facts: words::recording_facts(recording), warnings, notes }
}

/// The recordings' names without their folders; with them where the names alone would not tell them apart.
pub(super) fn title(diagnosis: &Diagnosis<'_>) -> String {
    let names: Vec<_> = diagnosis.recordings.iter().map(words::recording_name).collect();
    let short =
        |name: &&str| name.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(name).to_owned();
    let mut shown: Vec<_> = names.iter().map(short).collect();
    shown.dedup();
    if shown.len() < names.len() {
        shown = names.iter().map(|name| (*name).to_owned()).collect();
    }
    shown::line(&shown.join(" and ")).into_owned()
}

fn flow_data(
    diagnosis: &Diagnosis<'_>,
    flow: &FlowReport,
    picture: Option<&Picture>,
    most_marks: usize,
) -> FlowData {
    let (sender, receiver) = (&flow.main().measures, &flow.directions[(!flow.sender).index()].measures);
    let shifts = [sender.window_scale.shift(), receiver.window_scale.shift()];
    let known = receiver.window_scale.is_known();
    FlowData {
        flow: flow.id.0,
        ends: words::ends(flow),
        moved: words::moved(flow),
        verdict: words::verdict(flow),
        verdict_in_short: words::verdict_in_short(flow),
        ending: words::ending(flow),
        first_ns: flow.first.nanos(),
        last_ns: flow.last.nanos(),
        lost_ns: slowpath_model::nanos(flow.time_lost()),
        spells: spells(flow, most_marks),
        findings: flow.main().findings.iter().map(|finding| finding_data(diagnosis, finding, flow)).collect(),
        repetition: words::repetition(flow),
        vantage: words::vantage_sentence(flow),
        on_the_way: words::on_the_way(diagnosis, flow),
        blind_spots: words::blind_spots(flow, words::pair(diagnosis, flow).is_some()),
        measures: measures(flow),
        show: words::show_command(diagnosis, flow),
        show_other: words::show_other_command(diagnosis, flow),
        other_end: other_end(diagnosis, flow),
        stalls: flow.main().stalls.iter().map(stall).collect(),
        picture: picture.map(|picture| PictureData::of(picture, shifts, known)),
        queueing: words::pair(diagnosis, flow)
            .and_then(|(paired, pair)| QueueingData::of(paired, words::direction(paired, pair, flow.sender))),
    }
}

fn other_end(diagnosis: &Diagnosis<'_>, flow: &FlowReport) -> Option<OtherEnd> {
    let (paired, pair) = words::pair(diagnosis, flow)?;
    let other = 1 - paired.base;
    let alone = paired.alone[other].get(&pair.flows[other])?;
    let here = |at: &Instant| paired.pairing.translate(other, *at).map(Instant::nanos);
    let findings = alone.findings.iter().map(|finding| FindingData {
        instants_ns: finding.instants.iter().filter_map(here).collect(),
        ..plain_finding(finding)
    });
    let name = words::recording_name(diagnosis.recordings.get(other)?);
    Some(OtherEnd {
        recording: shown::line(name).into_owned(),
        vantage: alone.vantage,
        verdict: alone.verdict.clone(),
        findings: findings.collect(),
    })
}

fn stall(stall: &Stall) -> StallData {
    let lasted_ns = slowpath_model::nanos(stall.lasted);
    StallData { from_ns: stall.from.nanos(), lasted_ns, cause: stall.cause.slug(), frame: stall.frame }
}

fn finding_data(diagnosis: &Diagnosis<'_>, finding: &Finding, flow: &FlowReport) -> FindingData {
    let advice = (diagnosis.advise)(finding, flow).into_iter().map(Advice::of).collect();
    FindingData { advice, ..plain_finding(finding) }
}

/// A finding without advice.
fn plain_finding(finding: &Finding) -> FindingData {
    FindingData {
        cause: place(finding.cause),
        share: finding.share,
        amount: words::amount(finding),
        confidence: finding.confidence.slug(),
        evidence: finding.evidence.iter().map(|one| words::sentence(&words::evidence(one))).collect(),
        instants_ns: finding.instants.iter().map(|at| at.nanos()).collect(),
        advice: Vec::new(),
    }
}

/// The spells. If there are too many, the time is divided into equal parts, each with its longest cause.
fn spells(flow: &FlowReport, most: usize) -> Spells {
    let all = &flow.main().spells;
    let merged = all.len() > most;
    let shown = if merged { merge(all, flow.first, flow.last, most) } else { all.clone() };
    Spells {
        lasted_ns: shown.iter().map(|spell| slowpath_model::nanos(spell.lasted())).collect(),
        cause: shown.iter().map(|spell| place(spell.cause)).collect(),
        merged,
    }
}

fn merge(spells: &[Spell], first: Instant, last: Instant, parts: usize) -> Vec<Spell> {
    let whole = i128::from(last.nanos_since(first));
    let edge =
        |number: usize| Instant::from_nanos((whole * number as i128 / parts as i128) as i64 + first.nanos());
    let mut merged: Vec<Spell> = Vec::new();
    let mut start = 0;
    for number in 0..parts {
        let (from, to) = (edge(number), edge(number + 1));
        while spells.get(start).is_some_and(|spell| spell.to <= from) {
            start += 1;
        }
        let overlap = |spell: &Spell| spell.to.min(to).nanos_since(spell.from.max(from));
        let inside = spells[start..].iter().take_while(|spell| spell.from < to);
        let Some(longest) = inside.max_by_key(|spell| overlap(spell)) else { continue };
        match merged.last_mut() {
            Some(before) if before.cause == longest.cause => before.to = to,
            _ => merged.push(Spell { from, to, cause: longest.cause }),
        }
    }
    merged
}

fn measures(flow: &FlowReport) -> Vec<(String, String)> {
    let sent = &flow.main().measures;
    let answered = &flow.directions[(!flow.sender).index()].measures;
    let known = |bytes: Option<Bytes>| bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    let rtt = if sent.rtt_by_ack.count > 0 { sent.rtt_by_ack } else { sent.rtt_by_timestamp };
    let mut labels = sent.labels;
    let measures = [
        ("data", sent.moved().to_string()),
        ("goodput", sent.goodput.map_or_else(|| "-".to_owned(), |rate| rate.to_string())),
        ("data segments", count(sent.data_packets)),
        ("retransmitted", count(*labels.of(Label::Retransmission) + *labels.of(Label::Spurious))),
        ("minimum RTT", duration_or_dash(rtt.min)),
        ("mean RTT", duration_or_dash(rtt.mean)),
        ("maximum RTT", duration_or_dash(rtt.max)),
        ("most in flight", sent.flight_max.to_string()),
        ("largest window", known(answered.window.max)),
        ("window closed for", duration(answered.window.zero_time)),
        ("retransmission timeouts", count(sent.timeouts)),
    ];
    measures.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::Cause;

    #[test]
    fn merged_spells_keep_the_longest_cause_of_each_part() {
        let spells: Vec<_> = (0..1000)
            .map(|number| Spell {
                from: Instant::from_nanos(number * 10),
                to: Instant::from_nanos(number * 10 + 10),
                cause: if number % 10 == 0 || number >= 500 { Cause::Timeout } else { Cause::SlowStart },
            })
            .collect();
        let merged = merge(&spells, Instant::START, Instant::from_nanos(10_000), 50);
        assert_eq!(
            merged.iter().map(|spell| spell.cause).collect::<Vec<_>>(),
            [Cause::SlowStart, Cause::Timeout]
        );
        assert_eq!(merged[0].to, merged[1].from);
    }
}
