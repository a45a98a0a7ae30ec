//! Sentences about a flow in two recordings, one on either side of the path.

use crate::diagnosis::{Diagnosis, Paired};
use crate::quantity::{count, counted, duration, duration_nanos};
use slowpath_analyses::pairing::clock::{Alignment, Basis, Stretch};
use slowpath_analyses::pairing::identify::Identified;
use slowpath_analyses::pairing::report::{Quantiles, Rewritten, Tally};
use slowpath_analyses::pairing::{DirectionPair, FlowPair};
use slowpath_analyses::report::{FlowReport, SynOptions};
use slowpath_model::{Bytes, End};

/// The flow in both recordings; `None` if only one was given, or only one has it.
pub fn pair<'a>(diagnosis: &'a Diagnosis<'_>, flow: &FlowReport) -> Option<(&'a Paired, &'a FlowPair)> {
    let paired = diagnosis.paired.as_ref()?;
    Some((paired, paired.pairing.of(paired.base, flow.id)?))
}

/// What happened to the flow's packets on the path, in sentences; empty for a single recording.
pub fn on_the_way(diagnosis: &Diagnosis<'_>, flow: &FlowReport) -> Vec<String> {
    let Some((paired, pair)) = pair(diagnosis, flow) else { return Vec::new() };
    let mut sentences = Vec::new();
    let other = 1 - paired.base;
    if let Some(recording) = diagnosis.recordings.get(other) {
        let number = pair.flows[other];
        sentences.push(format!(
            "Recorded in {} as well, as flow {number}: {} ({} confidence).",
            recording.name,
            match pair.identified {
                Identified::ByAddresses => "the same addresses and the same packets",
                Identified::ByHandshake => "the same handshake and the same packets under other addresses",
                Identified::ByPackets => "the same packets under other addresses",
            },
            pair.identified.confidence().slug()
        ));
    }
    for end in End::BOTH {
        let rewritten = pair.rewritten[pair.named(end, paired.base).index()];
        let name = if end == flow.sender { "sender" } else { "receiver" };
        sentences.extend(rewritten.map(|rewritten| changed(name, &rewritten)));
    }
    let forth = direction(paired, pair, flow.sender);
    let back = direction(paired, pair, !flow.sender);
    sentences.push(became(forth, "from the sender"));
    sentences.extend(took(forth, "They"));
    sentences.push(became(back, "back from the receiver"));
    sentences.extend(took(back, "They"));
    if let Some(answer) = &forth.answer {
        let carried = flow.main().measures.unique_bytes > Bytes::ZERO;
        let did = if carried { "acknowledged data" } else { "answered" };
        sentences.push(format!("The receiver {did} after {}.", spread(answer, "")));
    }
    if pair.one_in > 1 {
        sentences.push(format!(
            "There were too many packets to compare all: one in {} stretches was.",
            pair.one_in
        ));
    }
    sentences
}

/// Options of a SYN that a device on the path changed.
fn changed(end: &str, Rewritten { sent, arrived }: &Rewritten) -> String {
    let number = |value: Option<u16>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    let offered = |is: bool| if is { "offered" } else { "not offered" }.to_owned();
    let scale = |options: &SynOptions| number(options.window_scale.map(u16::from));
    let parts: Vec<String> = [
        ("MSS", number(sent.mss), number(arrived.mss)),
        ("window scale", scale(sent), scale(arrived)),
        ("SACK", offered(sent.sack_permitted), offered(arrived.sack_permitted)),
        ("timestamps", offered(sent.timestamps), offered(arrived.timestamps)),
    ]
    .into_iter()
    .filter(|(_, sent, arrived)| sent != arrived)
    .map(|(name, sent, arrived)| format!("{name} {sent} became {arrived}"))
    .collect();
    format!("A device on the path changed the SYN of the {end}: {}.", parts.join(", "))
}

/// The offset between the clocks of the two recordings; `None` for a single recording.
pub fn clocks(diagnosis: &Diagnosis<'_>) -> Option<String> {
    let paired = diagnosis.paired.as_ref()?;
    let aligned = aligned(paired).and_then(|clocks| Some((clocks, clocks.stretches.first()?)));
    let Some((clocks, first)) = aligned else {
        let text = "The clocks of the two recordings cannot be aligned, so one-way delays are not known.";
        return Some(text.to_owned());
    };
    let off = duration(clocks.uncertainty());
    let mut text = match first.basis {
        Basis::EqualClocks => format!(
            "The clocks of the two recordings are assumed to show the same time: no packet contradicts it, and they \
             differ by {off} at most"
        ),
        Basis::EqualWays => apart(first, &off),
    };
    let steps = clocks.steps().count() as u64;
    if steps > 0 {
        let which = if first.basis == Basis::EqualClocks { "both were" } else { "one of the clocks was" };
        text += &format!("; {which} set {} meanwhile", super::times(steps));
    }
    Some(text + ".")
}

/// The offset of the second clock, assuming equal minimum delays in both directions.
fn apart(first: &Stretch, off: &str) -> String {
    let offset = duration_nanos(first.offset_ns.saturating_abs());
    let ahead = if first.offset_ns < 0 { "behind" } else { "ahead of" };
    let ppm = first.drift_ppm;
    let drift = if ppm.abs() < 0.05 || ppm.abs() < first.drift_uncertainty_ppm {
        String::new()
    } else {
        format!(" and runs {:.1} ppm {}", ppm.abs(), if ppm < 0.0 { "slower" } else { "faster" })
    };
    format!(
        "The second recording's clock is {offset} (± {off}) {ahead} the first's{drift}, assuming that the \
         shortest delay is the same in both directions"
    )
}

/// Whether the clocks were aligned.
pub const fn aligned(paired: &Paired) -> Option<&Alignment> {
    paired.pairing.clocks.as_ref()
}

/// The direction in which `end` of the reported flow sent.
pub fn direction<'a>(paired: &Paired, pair: &'a FlowPair, end: End) -> &'a DirectionPair {
    // A pair's ends are named as in the first recording.
    &pair.directions[pair.named(end, paired.base).index()]
}

fn became(direction: &DirectionPair, from: &str) -> String {
    let mut parts = Vec::new();
    let lost = direction.lost.count;
    parts.push(match lost {
        0 => "none was lost on the way".to_owned(),
        n => format!("{} ({:.2} %) lost on the way", count(n), direction.loss() * 100.0),
    });
    let mut more = |tally: &Tally, what: &str| {
        if tally.count > 0 {
            parts.push(format!("{} {what}", count(tally.count)));
        }
    };
    more(&direction.missed_far, "missed by the recording at the receiving end");
    more(&direction.missed_near, "missed by the recording at the sending end");
    more(&direction.twice, "doubled");
    let stale = match direction.ignored_stale {
        0 => String::new(),
        n => format!(" ({} with a timestamp older than one before: PAWS)", count(n)),
    };
    more(&direction.ignored, &format!("arrived and were not taken by the host{stale}"));
    more(&direction.lost_beyond, "arrived there and were lost further on");
    if direction.overtaken.count > 0 {
        let by = duration(direction.overtaken_by);
        parts.push(format!("{} reordered (by up to {by})", count(direction.overtaken.count)));
    }
    format!("Of {} {from}: {}.", counted(direction.packets, "packet"), parts.join(", "))
}

fn took(direction: &DirectionPair, who: &str) -> Option<String> {
    let way = direction.delay.as_ref()?;
    let queued = duration(way.queueing_p95);
    let off = format!(" ± {}", duration(way.uncertainty));
    Some(format!("{who} took {}; queues added {queued} at the 95th percentile.", spread(&way.delay, &off)))
}

/// Times of packets; `off` is their uncertainty.
fn spread(times: &Quantiles, off: &str) -> String {
    format!(
        "{}{off} (median; minimum {}, 95th percentile {}, maximum {})",
        duration_nanos(times.median_ns),
        duration_nanos(times.min_ns),
        duration_nanos(times.p95_ns),
        duration_nanos(times.max_ns)
    )
}
