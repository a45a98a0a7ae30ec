//! How losses are noticed and repaired.

use super::Examination;
use crate::finding::{Check, Finding, Severity, sysctl};
use slowpath_model::units::duration_text;
use std::time::Duration;

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    found.extend(sack(exam));
    found.extend(timestamps(exam));
    if exam.goal.role.sends() {
        found.extend(SWITCHES.iter().filter_map(|switch| switched_off(exam, switch)));
        found.extend(reordering(exam));
        found.extend(most_reordering(exam));
        found.extend(least_timeout(exam));
        found.extend(patience(exam));
    }
}

fn sack(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_sack";
    (exam.host.number(NAME)? == 0).then_some(())?;
    let window = exam.goal.window_of_each().get().div_ceil(u64::from(exam.mss()));
    // Without holes in it there is nothing to report.
    (window > 4).then_some(())?;
    Some(
        Finding::new(Check::Sack, Severity::Costs, "selective acknowledgments are off")
            .seen(format!("{NAME} = 0"))
            .because(
                format!(
                    "A sender learns of one loss a round trip ({}): a burst of losses in a window of {window} segments \
                     takes as many.",
                    duration_text(exam.goal.rtt)
                ),
                "RFC 2018; RFC 6582, section 1; ip-sysctl.rst, tcp_sack",
            )
            .fixed_by(sysctl(NAME, "1", "0")),
    )
}

/// A segment may live so long in the network (RFC 9293, section 3.4.2).
const SEGMENT_LIFETIME: Duration = Duration::from_secs(120);

fn timestamps(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_timestamps";
    (exam.host.number(NAME)? == 0).then_some(())?;
    let rate = exam.goal.rate_of_each();
    let wrap = rate.time_for(slowpath_model::Bytes::new(1 << 32))?;
    let (severity, wraps) = if wrap < SEGMENT_LIFETIME {
        let text = format!(
            " At {rate} sequence numbers come round in {}, sooner than an old segment dies (2 min).",
            duration_text(wrap)
        );
        (Severity::Costs, text)
    } else {
        (Severity::Hint, String::new())
    };
    Some(
        Finding::new(Check::Timestamps, severity, "timestamps are off")
            .seen(format!("{NAME} = 0"))
            .because(
                format!(
                    "Round trips are measured on what was sent once only, needless timeouts are not recognised by \
                     their echo, and a receiver guesses the round trip by which it lets its buffer grow.{wraps}"
                ),
                "RFC 7323, sections 4 and 5; tcp_rcv_rtt_measure_ts (6.18)",
            )
            .fixed_by(sysctl(NAME, "1", "0")),
    )
}

/// A setting that is off, and what is missing then.
struct Switch {
    setting: &'static str,
    check: Check,
    on: &'static str,
    severity: Severity,
    title: &'static str,
    why: &'static str,
    source: &'static str,
    /// The first kernel in which it does nothing.
    gone: Option<(u32, u32)>,
}

const SWITCHES: [Switch; 4] = [
    Switch {
        setting: "net.ipv4.tcp_recovery",
        check: Check::Rack,
        on: "1",
        severity: Severity::Costs,
        title: "losses are not detected by time (RACK)",
        why: "A retransmission that is lost again, and the tail of a burst, wait for a retransmission timeout.",
        source: "RFC 8985; ip-sysctl.rst, tcp_recovery",
        gone: Some((6, 17)),
    },
    Switch {
        setting: "net.ipv4.tcp_early_retrans",
        check: Check::TailLossProbe,
        on: "3",
        severity: Severity::Costs,
        title: "tail loss probes are off",
        why: "A loss at the end of a burst waits for a retransmission timeout, 200 ms at least, where a probe comes \
              after two round trips.",
        source: "RFC 8985, section 7; ip-sysctl.rst, tcp_early_retrans",
        gone: None,
    },
    Switch {
        setting: "net.ipv4.tcp_frto",
        check: Check::Frto,
        on: "2",
        severity: Severity::Costs,
        title: "needless timeouts are not recognised (F-RTO)",
        why: "After a timeout that only lateness caused, everything outstanding is retransmitted, and the window stays \
              cut.",
        source: "RFC 5682; ip-sysctl.rst, tcp_frto",
        gone: None,
    },
    Switch {
        setting: "net.ipv4.tcp_dsack",
        check: Check::Dsack,
        on: "1",
        severity: Severity::Hint,
        title: "duplicate SACKs are off",
        why: "The peer does not learn which of its retransmissions were needless, and keeps its window cut for them.",
        source: "RFC 2883; RFC 3708; ip-sysctl.rst, tcp_dsack",
        gone: None,
    },
];

fn switched_off(exam: &Examination<'_>, switch: &Switch) -> Option<Finding> {
    (exam.host.number(switch.setting)? == 0).then_some(())?;
    if switch.gone.is_some_and(|(major, minor)| exam.host.since(major, minor)) {
        return None;
    }
    Some(
        Finding::new(switch.check, switch.severity, switch.title)
            .seen(format!("{} = 0", switch.setting))
            .because(switch.why, switch.source)
            .fixed_by(sysctl(switch.setting, switch.on, "0")),
    )
}

fn reordering(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_reordering";
    let packets = exam.host.part(NAME, 0).filter(|packets| *packets > 10)?;
    Some(
        Finding::new(Check::Reordering, Severity::Costs, "losses are taken for reordering at first")
            .seen(format!("{NAME} = {packets}"))
            .because(
                format!(
                    "A connection begins with the belief that {packets} packets may overtake each other, and waits \
                     for as many before it sends again; it learns by itself where that is so."
                ),
                "RFC 8985, section 6.2; tcp_check_sack_reordering (6.18); ip-sysctl.rst, tcp_reordering",
            )
            .fixed_by(sysctl(NAME, "3", &packets.to_string())),
    )
}

fn most_reordering(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_max_reordering";
    let packets = exam.host.part(NAME, 0).filter(|packets| *packets < 100)?;
    Some(
        Finding::new(Check::MaxReordering, Severity::Hint, "reordering is learned up to a small bound")
            .seen(format!("{NAME} = {packets}"))
            .because(
                "On a path that spreads packets over several links more is usual, and is taken for loss then.",
                "tcp_check_sack_reordering (6.18); ip-sysctl.rst, tcp_max_reordering; leith, section 1.4",
            )
            .fixed_by(sysctl(NAME, "300", &packets.to_string())),
    )
}

fn least_timeout(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_rto_min_us";
    let least = Duration::from_micros(exam.host.part(NAME, 0)?);
    let (severity, why) = if least > Duration::from_secs(1) {
        (Severity::Costs, "In a timeout nothing is sent, and it takes this long at least.".to_owned())
    } else if least < Duration::from_millis(40) && exam.goal.rtt > least {
        let why = "Shorter than receivers may hold an ACK back (40 ms in Linux): timeouts come although nothing is \
                   lost."
            .to_owned();
        (Severity::Costs, why)
    } else {
        return None;
    };
    Some(
        Finding::new(Check::RtoMin, severity, format!("a timeout takes {} at least", duration_text(least)))
            .seen(format!("{NAME} = {}", least.as_micros()))
            .because(why, "RFC 6298, rule 2.4; tcp_rto_min (6.18); ip-sysctl.rst, tcp_rto_min_us")
            .fixed_by(sysctl(NAME, "200000", &least.as_micros().to_string())),
    )
}

fn patience(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_retries2";
    let retries = exam.host.part(NAME, 0).filter(|retries| *retries < 8)?;
    let least = Duration::from_millis(200).saturating_mul((1 << (retries + 1)) - 1);
    Some(
        Finding::new(Check::Retries, Severity::Hint, "connections give up early")
            .seen(format!("{NAME} = {retries}"))
            .because(
                format!(
                    "A transfer ends after {} without an answer; RFC 1122 asks for 100 s at least, which are 8.",
                    duration_text(least)
                ),
                "RFC 1122, section 4.2.3.5; ip-sysctl.rst, tcp_retries2",
            )
            .fixed_by(sysctl(NAME, "15", &retries.to_string())),
    )
}
