//! The sentences of the verdict, which all views share.

mod evidence;
mod recording;
mod way;

pub use evidence::{evidence, vantage_evidence};
pub use recording::{
    diagnose_command, no_such_flow, recording_facts, recording_name, show_command, show_other_command,
    skipped, warnings, without_tcp,
};
pub use way::{aligned, clocks, direction, on_the_way, pair};

use crate::headline::{longest_finding, main_finding};
use crate::quantity::{count, counted, duration, share};
use slowpath_analyses::report::{Finding, FlowReport, ScaleKnown};
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, End, FlowEnd, FlowKey, Rate, Vantage};
use slowpath_remedies::{long_queue, much_lost, percent};

/// A second cause with a smaller share of the time is not mentioned.
pub(crate) const WORTH_A_SENTENCE: f64 = 0.1;

/// TCP options take this much of a segment at most (RFC 9293, section 3.1).
const MOST_OPTIONS: u32 = 40;

/// Source and destination, the end that sent more first: `192.0.2.1:40000 → 198.51.100.7:443`.
pub fn ends(flow: &FlowReport) -> String {
    ends_of(&flow.key, flow.sender)
}

/// Source and destination of a flow in which `sender` sent more.
pub fn ends_of(key: &FlowKey, sender: End) -> String {
    let (from, to) = (key.endpoint(sender), key.endpoint(!sender));
    let again = match key.occurrence {
        0 => String::new(),
        n => format!(" (connection {} of these ports)", n + 1),
    };
    format!("{from} → {to}{again}")
}

/// The data transferred, and the time: `moved 46 MiB in 12.3 s (31.4 Mbit/s)`. Where the connection was idle for most of it before or
/// after: `moved 46 MiB in 12.3 s (31.4 Mbit/s), all within 2.1 s`.
pub fn moved(flow: &FlowReport) -> String {
    let (measures, lasted) = (&flow.main().measures, flow.lasted());
    let moved = measures.moved();
    let time = if lasted.is_zero() { String::new() } else { format!(" in {}", duration(lasted)) };
    let with_data = measures.first_data.zip(measures.last_data).and_then(|(first, last)| last.since(first));
    let within = with_data
        .filter(|within| flow.idle_outside() * 2 > lasted && *within * 2 < lasted && !within.is_zero())
        .map_or_else(String::new, |within| format!(", all within {}", duration(within)));
    if moved == Bytes::ZERO {
        return format!("carried no data{time}");
    }
    if measures.unique_bytes == Bytes::ZERO {
        return format!("moved {moved}{time}, of which the capture has only the ACKs");
    }
    match Rate::of(moved, lasted) {
        Some(rate) if rate.get() > 0 => format!("moved {moved}{time} ({rate}){within}"),
        _ => format!("moved {moved}{time}{within}"),
    }
}

/// The verdict, in a few sentences.
pub fn verdict(flow: &FlowReport) -> String {
    let main = main_finding(flow).filter(|finding| finding.cause.is_reset());
    let ended = main.map(|finding| reset(flow, finding.cause));
    let Some(longest) = longest_finding(flow).filter(|finding| !finding.cause.is_reset()) else {
        return ended.unwrap_or_else(|| nothing_found(flow));
    };
    let bound = if longest.cause.is_failed_opening() && flow.opening.syn_ack.is_none() {
        not_opened(flow, longest.cause)
    } else if longest.cause == Cause::SynLost && never_opened(flow) {
        format!("Not opened: {}.", longest.cause.title())
    } else {
        bound(flow, longest)
    };
    ended.into_iter().chain([bound]).collect::<Vec<_>>().join(" ")
}

/// The longest cause, and the second one.
fn bound(flow: &FlowReport, first: &Finding) -> String {
    let others = flow.main().findings.iter().filter(|finding| finding.cause != first.cause);
    let second = others.max_by_key(|finding| finding.lasted);
    let (of_limit, what) = limit_or_cause(flow, first, second);
    let mut text = format!("{} of that time: {what}.", capital_share(of_limit));
    if first.cause == Cause::BottleneckFull {
        text.push_str(&match (much_lost(&flow.main().measures), long_queue(flow, flow.sender)) {
            (Some(lost), _) => {
                format!(" The path was used, but {} of the segments were lost.", percent(lost))
            }
            (None, Some((shortest, usual))) => format!(
                " The path was used, with a queue: RTTs of usually {}, {} at the shortest.",
                duration(usual),
                duration(shortest)
            ),
            (None, None) => " This is the good case: the path was used.".to_owned(),
        });
    }
    if let Some(second) = second.filter(|finding| finding.share >= WORTH_A_SENTENCE) {
        let idle = second.cause == Cause::SenderIdle && flow.idle_outside() * 2 > second.lasted;
        let when = if idle { ", most of it before or after the transfer" } else { "" };
        text.push_str(&format!(" Another {}{when}: {}.", share(second.share), named(second.cause)));
    }
    text
}

/// The share that the headline begins with, and what it refers to. `first` is the largest cause of the largest limit.
/// If another limit has a larger single cause, `second`, the share is that of the limit: `48 % of that time: congestion window
/// (37 % slow start).`
fn limit_or_cause(flow: &FlowReport, first: &Finding, second: Option<&Finding>) -> (f64, String) {
    let of_limit = flow.main().findings.iter().filter(|finding| finding.cause.limit() == first.cause.limit());
    let of_limit: f64 = of_limit.map(|finding| finding.share).sum();
    let is_larger = second.is_some_and(|second| (first.share..of_limit).contains(&second.share));
    if !is_larger {
        return (first.share, named(first.cause));
    }
    let (limit, title) = (first.cause.limit().title(), first.cause.title());
    let what = title.strip_prefix(limit).map_or(title, str::trim_start);
    (of_limit, format!("{limit} ({} {what})", share(first.share)))
}

/// How a connection was reset: `Reset by the receiver after 12 s: the connection is not known any more.`
fn reset(flow: &FlowReport, cause: Cause) -> String {
    let title = cause.title();
    let why = title.split_once(", ").map_or(String::new(), |(_, why)| format!(": {why}"));
    let Some(reset) = &flow.closing.reset else { return format!("Reset{why}.") };
    let by = match cause {
        Cause::ResetOnPath => format!("by a device on the path, in the name of {},", role(flow, reset.by)),
        _ => format!("by {}", role(flow, reset.by)),
    };
    let after = reset.at.since(flow.first).unwrap_or_default();
    format!("Reset {by} after {}{why}.", duration(after))
}

/// A connection that never opened: `Not opened: nothing answered the SYN, which was sent 6 times in 31.4 s.`
fn not_opened(flow: &FlowReport, cause: Cause) -> String {
    let tries = match flow.opening.unanswered {
        0 | 1 => String::new(),
        n => {
            let one = if cause == Cause::NotAnswered { "; it" } else { ", which" };
            format!("{one} was sent {} in {}", times(n.into()), duration(flow.lasted()))
        }
    };
    format!("Not opened: {}{tries}.", cause.title())
}

/// Whether the handshake began and did not end.
fn never_opened(flow: &FlowReport) -> bool {
    let carried = flow.directions.iter().any(|direction| direction.measures.data_packets > 0);
    flow.opening.syn.is_some() && flow.opening.established.is_none() && !carried
}

/// The sender or the receiver.
fn role(flow: &FlowReport, end: End) -> &'static str {
    if end == flow.sender { "the sender" } else { "the receiver" }
}

/// A cause after its limit, unless the cause names the limit: `receive window, the receiving application read too
/// slowly`.
pub fn named(cause: Cause) -> String {
    let (limit, title) = (cause.limit().title(), cause.title());
    let says_so =
        matches!(cause.limit(), Limit::Connection | Limit::Application | Limit::Path | Limit::Unknown);
    if says_so || title.contains(limit) { title.to_owned() } else { format!("{limit}, {title}") }
}

/// The time that a cause took: `17 %, 3.08 s`; or, if it happened at one instant, that it took none.
pub fn amount(finding: &Finding) -> String {
    if finding.spells == 0 {
        return "at one instant".to_owned();
    }
    format!("{}, {}", share(finding.share), duration(finding.lasted))
}

/// The verdict in few words, for a list.
pub fn verdict_in_short(flow: &FlowReport) -> String {
    match main_finding(flow) {
        Some(finding) if finding.spells == 0 => finding.cause.title().to_owned(),
        Some(finding) => format!("{} {}", share(finding.share), finding.cause.title()),
        None => "no data".to_owned(),
    }
}

/// A share at the start of a sentence.
pub(crate) fn capital_share(part: f64) -> String {
    let text = share(part);
    match text.strip_prefix("< ") {
        Some(rest) => format!("Less than {rest}"),
        None => match text.strip_prefix("> ") {
            Some(rest) => format!("More than {rest}"),
            None => text,
        },
    }
}

fn nothing_found(flow: &FlowReport) -> String {
    let opening = &flow.opening;
    if opening.refused {
        "The other end refused the connection.".to_owned()
    } else if opening.syn.is_some() && opening.syn_ack.is_none() {
        format!("No answer: the SYN was sent {}.", times(u64::from(opening.retransmitted) + 1))
    } else {
        "It carried no data that could be slow.".to_owned()
    }
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", count(n)),
    }
}

/// How the connection ended, if that matters and the verdict does not say it, what never came, and what the capture missed.
pub fn ending(flow: &FlowReport) -> Option<String> {
    let sentences: Vec<String> = [end_of(flow), missing(flow), unseen(flow)].into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// How much the capture missed, if that is enough to make counts wrong.
fn unseen(flow: &FlowReport) -> Option<String> {
    const LEAST: f64 = 0.01;
    let share = flow.main().measures.unseen_share();
    let text = format!(
        "{} of what it moved is not in the capture: counts of segments and losses are of the rest.",
        percent(share)
    );
    (share >= LEAST).then_some(text)
}

/// What never came past a tap that is not next to the sender.
fn missing(flow: &FlowReport) -> Option<String> {
    let sent = &flow.main().measures;
    let missing = sent.missing_bytes;
    if missing == Bytes::ZERO || flow.vantage.vantage == Vantage::At(flow.sender) {
        return None;
    }
    let text = format!("{missing} before the last data never came past this tap.");
    let full = flow.directions[(!flow.sender).index()].measures.options.and_then(|options| options.mss);
    let only_short = full.is_some_and(|full| sent.mss_seen + MOST_OPTIONS < full.into());
    let hint = " No segment of full size came either: if all of those are lost, the path has a smaller MTU than the ends assume.";
    Some(if only_short { text + hint } else { text })
}

/// How the connection ended, if that matters and the verdict does not say it.
fn end_of(flow: &FlowReport) -> Option<String> {
    let main = main_finding(flow).map(|finding| finding.cause);
    if main.is_some_and(|cause| cause.is_reset() || cause.is_failed_opening()) {
        return None;
    }
    if let Some(cause) = flow.closing.cause() {
        return Some(reset(flow, cause));
    }
    let by: Vec<_> = End::BOTH
        .into_iter()
        .filter(|end| flow.closing.rst[end.index()])
        .map(|end| role(flow, end))
        .collect();
    if !by.is_empty() {
        return Some(format!("It was reset by {}.", by.join(" and ")));
    }
    match flow.ended {
        FlowEnd::EndOfRecording if flow.closing.fin == [true; 2] || never_opened(flow) => None,
        FlowEnd::EndOfRecording => Some("It was still open when the recording ended.".to_owned()),
        FlowEnd::Replaced | FlowEnd::Gone => None,
        FlowEnd::Evicted => Some(
            "It was idle for long and dropped to save memory; later packets count as another flow."
                .to_owned(),
        ),
    }
}

/// The vantage point: `at the sender`.
pub fn vantage(flow: &FlowReport) -> &'static str {
    match flow.vantage.vantage {
        Vantage::At(end) if end == flow.sender => "at the sender",
        Vantage::At(_) => "at the receiver",
        Vantage::Between => "between the two ends",
        Vantage::Unknown => "at an unknown place",
    }
}

/// The vantage point, its confidence and its evidence.
pub fn vantage_sentence(flow: &FlowReport) -> String {
    let evidence = sentence(&vantage_evidence(&flow.vantage.evidence));
    let text =
        format!("Recorded {} ({} confidence). {evidence}", vantage(flow), flow.vantage.confidence.slug());
    text.trim_end().to_owned()
}

/// `text` with a capital at its start and a full stop at its end.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    // Text that starts with a name or a unit keeps its case: only a lower-case word is capitalised.
    let word = text.split(' ').next().unwrap_or_default();
    if word.chars().all(|c| c.is_ascii_lowercase() || ",:'-".contains(c)) {
        format!("{}{}{stop}", first.to_uppercase(), letters.as_str())
    } else {
        format!("{text}{stop}")
    }
}

/// A flow in one line: ends, data and verdict.
pub fn in_a_line(flow: &FlowReport) -> String {
    let verdict = match main_finding(flow) {
        Some(finding) if !finding.cause.is_failed_opening() => format!("{}.", verdict_in_short(flow)),
        _ => verdict(flow),
    };
    format!("flow {}: {} {}. {verdict}", flow.id, ends(flow), moved(flow))
}

/// What is unknown about the flow, and what to record to find out. With recordings at both ends, one shows what the
/// other cannot.
pub fn blind_spots(flow: &FlowReport, both_ends: bool) -> Vec<String> {
    let mut spots = Vec::new();
    let main = flow.main();
    match flow.vantage.vantage {
        _ if both_ends => {}
        Vantage::At(end) if end == flow.sender => spots.push(
            "What happened inside the receiver, and where packets were lost: capture at the receiver at the same time \
             and give both files."
                .to_owned(),
        ),
        Vantage::At(_) => spots.push(
            "Why the sender paused: its application, its send buffer and its congestion window can look alike from the \
             receiver. Capture at the sender at the same time and give both files."
                .to_owned(),
        ),
        Vantage::Between => spots.push(
            "Which of the two ends was late, where a wait is shorter than the RTT to that end: capture at both ends and \
             give both files."
                .to_owned(),
        ),
        Vantage::Unknown => spots.push(
            "Which end is near. If you know where this was captured, add --vantage sender, receiver or between."
                .to_owned(),
        ),
    }
    match flow.directions[(!flow.sender).index()].measures.window_scale {
        ScaleKnown::Agreed(_) | ScaleKnown::Fits(_) => {}
        // A connection that was not opened has no window.
        _ if flow.opening.syn.is_some() && flow.opening.syn_ack.is_none() => {}
        _ if flow.opening.syn.is_some() => spots.push(
            "The receive window: the options of the handshake were not captured, so its scale is unknown. Capture with \
             a longer snap length (-s 128)."
                .to_owned(),
        ),
        ScaleKnown::AtLeast(shift) => spots.push(format!(
            "The exact receive window: the handshake was not captured, and its scale is at least {shift}. Start the \
             capture before the transfer."
        )),
        ScaleKnown::Unknown => spots.push(
            "The receive window: the handshake was not captured, so its scale is unknown. Start the capture before \
             the transfer."
                .to_owned(),
        ),
    }
    if main.measures.unseen_gaps > 0 {
        spots.push(format!(
            "{} that arrived and are not in the capture ({}): the capture itself missed packets. Give tcpdump a \
             larger buffer (-B 65536) and a shorter snap length (-s 128).",
            main.measures.unseen_bytes,
            counted(main.measures.unseen_gaps, "gap")
        ));
    }
    spots
}

/// How many segments were captured twice, and how many arrived twice though they were sent once. The receiver's TCP reports
/// these, though not each: an ACK has room for one.
fn twice(flow: &FlowReport) -> [u64; 2] {
    let measures = &flow.main().measures;
    let answered = &flow.directions[(!flow.sender).index()].measures;
    let copies = measures.labels.duplicate;
    // If the capture misses data, it may miss what was retransmitted.
    let is_complete = measures.unseen_gaps == 0;
    let reported = if is_complete { answered.unusual().dsack_copies } else { 0 };
    if reported * 2 > copies { [0, reported.max(copies)] } else { [copies - reported, reported] }
}

/// Retransmitted, reordered and probe segments, in one line; `None` if there were none.
pub fn repetition(flow: &FlowReport) -> Option<String> {
    let measures = &flow.main().measures;
    let labels = &measures.labels;
    let [captured, delivered] = twice(flow);
    let parts: Vec<_> = [
        (measures.retransmitted(), "retransmitted"),
        (labels.spurious, "of them spurious"),
        (labels.out_of_order, "out of order"),
        (captured, "captured twice"),
    ]
    .into_iter()
    .map(|(number, what)| (number, format!("{} {what}", count(number))))
    .chain([
        (
            delivered,
            format!(
                "{} delivered twice by the network, by the receiver's DSACKs",
                counted(delivered, "segment")
            ),
        ),
        (labels.window_probe, counted(labels.window_probe, "window probe")),
        (labels.keep_alive, counted(labels.keep_alive, "keep-alive")),
    ])
    .filter(|(number, _)| *number > 0)
    .map(|(_, text)| text)
    .collect();
    let is_merged = measures.unusual().retransmitted_merged > 0;
    let all = if is_merged { measures.data_segments() } else { measures.data_packets };
    (!parts.is_empty()).then(|| format!("{}: {}", counted(all, "data segment"), parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn kernel_names_are_not_capitalized() {
        assert_eq!(sentence("tcp_rmem lets a buffer"), "tcp_rmem lets a buffer.");
        assert_eq!(sentence("window scaling is off"), "Window scaling is off.");
        assert_eq!(sentence("super-packets are small"), "Super-packets are small.");
        assert_eq!(sentence(""), "");
    }
}
