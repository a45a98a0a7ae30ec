//! Loss detection and recovery.

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
    // In a window this small there is hardly a hole to report.
    (window > 4).then_some(())?;
    Some(
        Finding::new(Check::Sack, Severity::Costs, "selective acknowledgments are off")
            .seen(format!("{NAME} = 0"))
            .because(
                format!(
                    "A sender detects one loss per RTT ({}): recovering from a burst of losses in a window of \
                     {window} segments takes as many RTTs as there are losses.",
                    duration_text(exam.goal.rtt)
                ),
                "RFC 2018; RFC 6582, section 1; ip-sysctl.rst, tcp_sack",
            )
            .fixed_by(sysctl(NAME, "1", "0")),
    )
}

/// The maximum segment lifetime (RFC 9293, section 3.4.2).
const SEGMENT_LIFETIME: Duration = Duration::from_secs(120);

fn timestamps(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_timestamps";
    (exam.host.number(NAME)? == 0).then_some(())?;
    let rate = exam.goal.rate_of_each();
    let wrap = rate.time_for(slowpath_model::Bytes::new(1 << 32))?;
    let (severity, wraps) = if wrap < SEGMENT_LIFETIME {
        let text = format!(
            " At {rate} sequence numbers wrap within {}, sooner than the maximum segment lifetime (2 min).",
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
                    "RTTs cannot be measured on retransmissions, spurious timeouts are not detected by timestamps \
                     (Eifel), and the receiver has to estimate the RTT by which it grows its buffer.{wraps}"
                ),
                "RFC 7323, sections 4 and 5; tcp_rcv_rtt_measure_ts (6.18)",
            )
            .fixed_by(sysctl(NAME, "1", "0")),
    )
}

/// A setting that is off, and its effect.
struct Switch {
    setting: &'static str,
    check: Check,
    on: &'static str,
    severity: Severity,
    title: &'static str,
    why: &'static str,
    source: &'static str,
    /// The first kernel in which it has no effect.
    gone: Option<(u32, u32)>,
}

const SWITCHES: [Switch; 4] = [
    Switch {
        setting: "net.ipv4.tcp_recovery",
        check: Check::Rack,
        on: "1",
        severity: Severity::Costs,
        title: "losses are not detected by time (RACK)",
        why: "A lost retransmission, and a loss at the tail of a burst, wait for a retransmission timeout.",
        source: "RFC 8985; ip-sysctl.rst, tcp_recovery",
        gone: Some((6, 17)),
    },
    Switch {
        setting: "net.ipv4.tcp_early_retrans",
        check: Check::TailLossProbe,
        on: "3",
        severity: Severity::Costs,
        title: "tail loss probes are off",
        why: "A loss at the tail of a burst waits for a retransmission timeout, at least 200 ms, instead of a \
              probe after two RTTs.",
        source: "RFC 8985, section 7; ip-sysctl.rst, tcp_early_retrans",
        gone: None,
    },
    Switch {
        setting: "net.ipv4.tcp_frto",
        check: Check::Frto,
        on: "2",
        severity: Severity::Costs,
        title: "spurious timeouts are not detected (F-RTO)",
        why: "After a spurious timeout, everything in flight is retransmitted, and the congestion window stays \
              reduced.",
        source: "RFC 5682; ip-sysctl.rst, tcp_frto",
        gone: None,
    },
    Switch {
        setting: "net.ipv4.tcp_dsack",
        check: Check::Dsack,
        on: "1",
        severity: Severity::Hint,
        title: "duplicate SACKs are off",
        why: "The peer does not learn which of its retransmissions were spurious, and keeps its congestion window \
              reduced.",
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
                    "A connection initially assumes reordering by up to {packets} packets, and waits for that \
                     many duplicate ACKs before it retransmits. It learns by itself where packets are reordered."
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
        Finding::new(Check::MaxReordering, Severity::Hint, "reordering is learned only up to a small bound")
            .seen(format!("{NAME} = {packets}"))
            .because(
                "A path that spreads packets over several links reorders them by more, which is then taken for loss.",
                "tcp_check_sack_reordering (6.18); ip-sysctl.rst, tcp_max_reordering; leith, section 1.4",
            )
            .fixed_by(sysctl(NAME, "300", &packets.to_string())),
    )
}

fn least_timeout(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_rto_min_us";
    let least = Duration::from_micros(exam.host.part(NAME, 0)?);
    let (severity, why) = if least > Duration::from_secs(1) {
        (Severity::Costs, "Nothing is sent during a timeout, and it takes at least this long.".to_owned())
    } else if least < Duration::from_millis(40) && exam.goal.rtt > least {
        let why =
            "This is shorter than receivers may delay an ACK (40 ms in Linux), so timeouts expire although \
                   nothing is lost."
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
                    "A transfer ends after {} without an answer; RFC 1122 requires at least 100 s, which is a \
                     value of 8.",
                    duration_text(least)
                ),
                "RFC 1122, section 4.2.3.5; ip-sysctl.rst, tcp_retries2",
            )
            .fixed_by(sysctl(NAME, "15", &retries.to_string())),
    )
}
