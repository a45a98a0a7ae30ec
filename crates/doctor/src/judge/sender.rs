//! The sender: congestion control, the parameter cache (ubik IV-E), and small queues.

use super::Examination;
use crate::finding::{Check, Finding, Severity, change, look, sysctl};
use crate::host::Metrics;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate};
use slowpath_remedies::arithmetic;
use std::time::Duration;

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    if !exam.goal.role.sends() {
        return;
    }
    found.extend(congestion_control(exam));
    found.extend(parameter_cache(exam));
    found.extend(small_output(exam));
    found.extend(small_lowat(exam));
    found.extend(after_idle(exam));
    found.extend(pacing(exam));
    found.extend(probing(exam));
    found.extend(sock_ops(exam));
}

/// A recovery longer than this is the congestion control's fault.
const LONG_RECOVERY: Duration = Duration::from_secs(10);
/// The maximum RTT for a data center congestion control.
const FAR: Duration = Duration::from_millis(5);

fn congestion_control(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_congestion_control";
    let of_route = exam.host.route.as_ref().and_then(|route| route.congestion_control.as_deref());
    let control = of_route.or_else(|| exam.host.word(NAME))?;
    let window = exam.goal.window_of_each().get().div_ceil(u64::from(exam.mss()));
    // Reno grows by a segment per RTT, from half its window (RFC 5681, section 3.1).
    let rounds = u32::try_from(window / 2).unwrap_or(u32::MAX);
    let recovery = exam.goal.rtt.saturating_mul(rounds);
    let why = match control {
        "reno" | "westwood" | "veno" if recovery > LONG_RECOVERY => format!(
            "It grows by one segment per RTT: after a loss, a window of {window} segments takes {rounds} RTTs to \
             recover, {}.",
            duration_text(recovery)
        ),
        "vegas" | "lp" | "nv" | "cdg" => {
            "It yields to other traffic as soon as a queue builds up.".to_owned()
        }
        "dctcp" if exam.goal.rtt > FAR => {
            "It needs switches that mark packets as DCTCP requires, which only data centers have; without marks \
             it grows like Reno."
                .to_owned()
        }
        _ => return None,
    };
    let (seen, fix) = if of_route.is_some() {
        (format!("congctl {control}, on the route"), super::route::without(exam, "congctl")?)
    } else {
        (format!("{NAME} = {control}"), sysctl(NAME, better(exam), control))
    };
    Some(
        Finding::new(Check::CongestionControl, Severity::Costs, format!("{control} does not suit this path"))
            .seen(seen)
            .because(why, "RFC 3649, section 1; RFC 9438; ubik II")
            .fixed_by(fix),
    )
}

/// A control of this host for long paths, preferably one that any namespace may set.
fn better(exam: &Examination<'_>) -> &'static str {
    let lists = ["net.ipv4.tcp_allowed_congestion_control", "net.ipv4.tcp_available_congestion_control"];
    let mut has = lists.into_iter().flat_map(|list| {
        let known = exam.host.word(list).unwrap_or_default();
        ["cubic", "bbr"].into_iter().filter(|name| known.split_whitespace().any(|one| one == *name))
    });
    has.next().unwrap_or("cubic")
}

fn parameter_cache(exam: &Examination<'_>) -> Option<Finding> {
    let window = exam.goal.window_of_each().get().div_ceil(u64::from(exam.mss()));
    let entries = exam.host.metrics.as_ref()?;
    let to = exam.host.route.as_ref().and_then(|route| route.to);
    exam.takes_ssthresh().then_some(())?;
    let low = |entry: &&Metrics| entry.ssthresh.is_some_and(|packets| u64::from(packets) < window / 2);
    let of = |entry: &&Metrics| to.is_none() || entry.to == to;
    let entry = entries.iter().filter(of).filter(low).min_by_key(|entry| entry.ssthresh)?;
    let address = entry.to.map_or_else(|| "ADDRESS".to_owned(), |to| to.to_string());
    let packets = entry.ssthresh?;
    // Without a destination the transfer may go elsewhere.
    let severity = if to.is_some() { Severity::Costs } else { Severity::Hint };
    Some(
        Finding::new(
            Check::ParameterCache,
            severity,
            format!("an earlier connection to {address} left an ssthresh of {packets} packets"),
        )
        .seen(format!("ip tcp_metrics show {address}: ssthresh {packets}"))
        .because(
            format!(
                "New connections to it begin with the ssthresh of the last one: slow start ends at {packets} \
                 packets, and growth to {window} is slow. Open connections are not affected."
            ),
            "ubik IV-E and V; tcp_init_metrics (6.18); ip-sysctl.rst, tcp_no_ssthresh_metrics_save",
        )
        .fixed_by(change(format!("ip tcp_metrics delete {address}")))
        .fixed_by(sysctl(
            "net.ipv4.tcp_no_ssthresh_metrics_save",
            "1",
            exam.host.word("net.ipv4.tcp_no_ssthresh_metrics_save").unwrap_or("0"),
        )),
    )
}

/// The maximum delay of a NIC's completion interrupt with drivers' defaults.
const COMPLETION: Duration = Duration::from_micros(100);
/// The kernel's default. With limits of 128 KiB to 1 MiB, BBR got 89 to 94 % of the rate at 1 Gbit/s and 20 ms, measured on
/// two cores.
const NO_LIMIT: u32 = u32::MAX;

fn small_output(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_limit_output_bytes";
    let limit = exam.host.part(NAME, 0)?;
    let needed = exam.goal.rate_of_each().amount_in(COMPLETION).get().max(2 * u64::from(exam.mtu()));
    (limit < needed).then_some(())?;
    Some(
        Finding::new(
            Check::OutputLimit,
            Severity::Costs,
            format!("a connection may have only {} in the qdisc and NIC at a time", Bytes::new(limit)),
        )
        .seen(format!("{NAME} = {limit}"))
        .because(
            format!(
                "It waits until the NIC reports these as sent, which takes up to {}; {} are sent in that time at \
                 the goal.",
                duration_text(COMPLETION),
                Bytes::new(needed)
            ),
            "tcp_small_queue_check (6.18); ip-sysctl.rst, tcp_limit_output_bytes",
        )
        .fixed_by(sysctl(NAME, "4194304", &limit.to_string())),
    )
}

/// The approximate wake-up latency of a writing process.
const WAKE_UP: Duration = Duration::from_micros(100);

fn small_lowat(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_notsent_lowat";
    let lowat = exam.host.part(NAME, 0)?;
    let needed = exam.goal.rate_of_each().amount_in(WAKE_UP).get();
    (lowat < needed).then_some(())?;
    let rate = Rate::of(Bytes::new(lowat), WAKE_UP)?;
    Some(
        Finding::new(Check::NotsentLowat, Severity::Costs, "little unsent data is allowed")
            .seen(format!("{NAME} = {lowat}"))
            .because(
                format!(
                    "A process may write only while less than this is unsent. At the goal that is sent before a \
                     process wakes up (about {}), so the rate is about {rate}.",
                    duration_text(WAKE_UP)
                ),
                "tcp_stream_memory_free (6.18); ip-sysctl.rst, tcp_notsent_lowat",
            )
            .fixed_by(sysctl(NAME, &NO_LIMIT.to_string(), &lowat.to_string())),
    )
}

fn after_idle(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_slow_start_after_idle";
    (exam.host.number(NAME)? == 1).then_some(())?;
    let rounds =
        arithmetic::slow_start_rounds(exam.goal.window_of_each(), exam.mss(), arithmetic::INITIAL_SEGMENTS);
    (rounds > 1).then_some(())?;
    Some(
        Finding::new(Check::SlowStartAfterIdle, Severity::Hint, "the congestion window is reset after idle")
            .seen(format!("{NAME} = 1"))
            .because(
                format!(
                    "After an idle RTO a connection restarts at {} segments, and needs {rounds} RTTs, {}, to the \
                     window of the goal. A transfer that never pauses is not affected.",
                    arithmetic::INITIAL_SEGMENTS,
                    duration_text(exam.goal.rtt.saturating_mul(rounds))
                ),
                "RFC 5681, section 4.1; tcp_cwnd_restart (6.18)",
            )
            .fixed_by(sysctl(NAME, "0", "1")),
    )
}

/// A pacing rate below what the window allows.
fn pacing(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_pacing_ca_ratio";
    let ratio = exam.host.part(NAME, 0)?;
    let queues = exam.host.interfaces.iter().filter_map(|interface| interface.queues.as_ref()).flatten();
    let paces = queues.into_iter().any(|queue| queue.kind == "fq");
    (ratio < 100 && paces).then_some(())?;
    Some(
        Finding::new(Check::PacingRatio, Severity::Costs, "fq paces below the window's rate")
            .seen(format!("{NAME} = {ratio}, qdisc fq"))
            .because(
                format!(
                    "A connection sends at {ratio} % of its window per RTT, whatever the path could carry."
                ),
                "tcp_update_pacing_rate (6.18); ip-sysctl.rst, tcp_pacing_ca_ratio",
            )
            .fixed_by(sysctl(NAME, "120", &ratio.to_string())),
    )
}

/// The MTU search starts from below.
fn probing(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_mtu_probing";
    let base = exam.host.part("net.ipv4.tcp_base_mss", 0)?;
    (exam.host.number(NAME)? == 2 && base < u64::from(exam.mss())).then_some(())?;
    Some(
        Finding::new(Check::MtuProbing, Severity::Hint, "connections begin with small segments")
            .seen(format!("{NAME} = 2, net.ipv4.tcp_base_mss = {base}"))
            .because(
                format!(
                    "Every connection starts probing for its packet size at segments of {base} bytes, where {} \
                     are allowed. With 1 it does so only after a black hole is detected.",
                    exam.mss()
                ),
                "RFC 4821, section 7; tcp_mtup_init (6.18); ip-sysctl.rst, tcp_mtu_probing",
            )
            .fixed_by(sysctl(NAME, "1", "2")),
    )
}

fn sock_ops(exam: &Examination<'_>) -> Option<Finding> {
    let programs = exam.host.sock_ops.filter(|programs| *programs > 0)?;
    Some(
        Finding::new(
            Check::SockOps,
            Severity::Hint,
            "BPF programs may set buffers, windows and congestion \
                                                      control of sockets",
        )
        .seen(format!("{programs} of BPF_CGROUP_SOCK_OPS at the root cgroup"))
        .because(
            "They override settings of this host per socket, so this report may not hold for sockets that \
                 they change.",
            "bpf(2), BPF_PROG_TYPE_SOCK_OPS; bpf_sock_ops_setsockopt (6.18)",
        )
        .fixed_by(look("bpftool cgroup tree")),
    )
}
