//! Socket buffers compared with the bandwidth-delay product (ubik IV-A, IV-B; V).

use super::Examination;
use crate::finding::{Check, Finding, Severity, sysctl};
use slowpath_model::Bytes;
use slowpath_remedies::{Fix, arithmetic};

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    found.extend(window_scaling(exam));
    if exam.goal.role.receives() {
        found.extend(receive_buffer(exam));
        found.extend(advertised_part(exam));
        found.extend(fixed_buffers(exam));
    }
    if exam.goal.role.sends() {
        found.extend(send_buffer(exam));
    }
    found.extend(memory(exam));
    found.extend(own_buffers(exam));
}

/// The window that a buffer allows.
///
/// Before 6.6 `tcp_adv_win_scale` determines it (`tcp_win_from_space`, 6.5): 1 - 1/2^n for positive values, otherwise
/// 1/2^-n. Since 6.6 it depends on the packets' memory, of which only the initial value is known
/// ([`arithmetic::BUFFER_PER_WINDOW`]).
fn window_of(exam: &Examination<'_>, buffer: u64) -> Bytes {
    let scale = exam.host.number(ADV_WIN_SCALE).filter(|_| !exam.host.since(6, 6));
    let window = match scale {
        Some(scale @ 1..=31) => buffer - (buffer >> scale),
        Some(scale @ -31..=0) => buffer >> -scale,
        _ => buffer / arithmetic::BUFFER_PER_WINDOW,
    };
    Bytes::new(window)
}

const ADV_WIN_SCALE: &str = "net.ipv4.tcp_adv_win_scale";
const RMEM: &str = "net.ipv4.tcp_rmem";
const WMEM: &str = "net.ipv4.tcp_wmem";

fn window_scaling(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_window_scaling";
    (exam.host.number(NAME)? == 0).then_some(())?;
    let largest = Bytes::new(arithmetic::LARGEST_FIELD);
    let severity = exam.limits(exam.goal.rate_with(largest)?)?;
    Some(
        Finding::new(Check::WindowScaling, severity, "window scaling is off")
            .seen(format!("{NAME} = 0"))
            .because(
                format!(
                    "Without it, a window is at most 65,535 bytes in either direction; the transfer needs {}.",
                    exam.product()
                ),
                "RFC 7323, section 2.3; ip-sysctl.rst, tcp_window_scaling; ubik V",
            )
            .fixed_by(sysctl(NAME, "1", "0")),
    )
}

fn receive_buffer(exam: &Examination<'_>) -> Option<Finding> {
    let most = exam.host.part(RMEM, 2)?;
    let severity = exam.limits(exam.goal.rate_with(window_of(exam, most))?)?;
    // A limit by the advertised part is reported there.
    if advertised_part(exam).is_some() {
        return None;
    }
    let needed = arithmetic::buffer_for(exam.goal.window_of_each());
    Some(
        Finding::new(
            Check::ReceiveBuffer,
            severity,
            format!("tcp_rmem limits receive buffers to {}", Bytes::new(most)),
        )
        .seen(seen(exam, RMEM))
        .because(
            format!(
                "About {1} of {0} can be advertised as window; the transfer needs {2}. Four times that leaves \
                 room for data that waits behind a loss, and for the memory overhead of packets. Do not set much \
                 more: a larger window only fills the queues on the path.",
                Bytes::new(most),
                window_of(exam, most),
                exam.product()
            ),
            "ubik IV-B and V; tcp_win_from_space, tcp_rcvbuf_grow (6.18); ip-sysctl.rst, tcp_rmem",
        )
        .fixed_by(third(exam, RMEM, needed)?),
    )
}

/// `tcp_adv_win_scale` reserves more than half of a sufficient buffer.
fn advertised_part(exam: &Examination<'_>) -> Option<Finding> {
    let most = exam.host.part(RMEM, 2)?;
    let half = Bytes::new(most / arithmetic::BUFFER_PER_WINDOW);
    let window = window_of(exam, most);
    let severity = exam.limits(exam.goal.rate_with(window)?)?;
    (half >= exam.goal.window_of_each() && window < half).then_some(())?;
    let scale = exam.host.word(ADV_WIN_SCALE)?;
    Some(
        Finding::new(
            Check::AdvertisedPart,
            severity,
            "tcp_adv_win_scale keeps most of a receive buffer out of the window",
        )
        .seen(seen(exam, ADV_WIN_SCALE))
        .because(
            format!(
                "Only {window} of a {} buffer can be advertised; the transfer needs {}.",
                Bytes::new(most),
                exam.product()
            ),
            "ubik IV-B; tcp_win_from_space (before 6.6); ip-sysctl.rst, tcp_adv_win_scale",
        )
        .fixed_by(sysctl(ADV_WIN_SCALE, "1", scale)),
    )
}

/// Buffers keep their initial size.
fn fixed_buffers(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_moderate_rcvbuf";
    (exam.host.number(NAME)? == 0).then_some(())?;
    let first = exam.host.part(RMEM, 1)?;
    let severity = exam.limits(exam.goal.rate_with(window_of(exam, first))?)?;
    Some(
        Finding::new(Check::FixedReceiveBuffer, severity, "receive buffers do not grow")
            .seen(format!("{}, {}", seen(exam, NAME), seen(exam, RMEM)))
            .because(
                format!(
                    "Buffers stay at the second number of tcp_rmem, about {} of which can be advertised; the \
                     transfer needs {}.",
                    window_of(exam, first),
                    exam.product()
                ),
                "tcp_rcv_space_adjust (6.18); ip-sysctl.rst, tcp_moderate_rcvbuf; weigle, section III",
            )
            .fixed_by(sysctl(NAME, "1", "0")),
    )
}

/// Outstanding quarters of a send buffer, an estimate: between two thirds, where the writer is woken
/// (`sk_stream_min_wspace`, 6.18), and all. Measured: 0.64 to 0.72 (docs/src/doctor.md).
const SENT_QUARTERS: u64 = 3;
/// A send buffer of fewer windows becomes full: the kernel provides for twice the congestion window (`tcp_sndbuf_expand`,
/// 6.18), which in front of a queue of half the product is one and a half times the product.
const NEVER_FULL: u64 = 3;

fn send_buffer(exam: &Examination<'_>) -> Option<Finding> {
    let most = exam.host.part(WMEM, 2)?;
    let sent = Bytes::new((most / 4).saturating_mul(SENT_QUARTERS));
    let window = exam.goal.window_of_each();
    let needed = arithmetic::buffer_for(window);
    let fills = most < window.get().saturating_mul(NEVER_FULL);
    let severity = exam.limits(exam.goal.rate_with(sent)?).or(fills.then_some(Severity::Costs))?;
    Some(
        Finding::new(
            Check::SendBuffer,
            severity,
            format!("tcp_wmem limits send buffers to {}", Bytes::new(most)),
        )
        .seen(seen(exam, WMEM))
        .because(
            format!(
                "Data stays in the buffer until it is acknowledged, and the writer is woken when a third is free: \
                 about {sent} of {} can be in flight, and the transfer needs {}. Where a buffer becomes full, that \
                 third leaves as one burst, and a short queue on the path drops a part of it. Four times that is \
                 room for a queue as long as the path, and for as much again.",
                Bytes::new(most),
                exam.product()
            ),
            "ubik IV-A and V; tcp_sndbuf_expand, sk_stream_min_wspace (6.18); ip-sysctl.rst, tcp_wmem",
        )
        .fixed_by(third(exam, WMEM, needed)?),
    )
}

/// All connections together.
fn memory(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.ipv4.tcp_mem";
    let page = exam.host.page?;
    let pages = exam.host.part(NAME, 1)?;
    let pressure = pages.saturating_mul(page);
    let window = Bytes::new(pressure / arithmetic::BUFFER_PER_WINDOW);
    let severity = exam.limits(arithmetic::largest_rate(window, exam.goal.rtt)?)?;
    let needed = arithmetic::buffer_for(exam.goal.window()).get().div_ceil(page);
    let value = format!("{} {needed} {}", needed - needed / 4, needed + needed / 2);
    Some(
        Finding::new(
            Check::TcpMemory,
            severity,
            format!("tcp_mem puts TCP under memory pressure at {} in total", Bytes::new(pressure)),
        )
        .seen(format!("{} (pages of {page} B)", seen(exam, NAME)))
        .because(
            format!(
                "Above the second number of tcp_mem, no buffer grows and windows shrink; packets take about twice \
                 the memory of their payload, and the transfer needs {}.",
                exam.product()
            ),
            "tcp_under_memory_pressure, __tcp_grow_window (6.18); ip-sysctl.rst, tcp_mem",
        )
        .fixed_by(sysctl(NAME, &value, exam.host.word(NAME)?)),
    )
}

/// A limit for `setsockopt` that is too low for the goal.
struct Low {
    setting: &'static str,
    option: &'static str,
    most: u64,
    /// The data outstanding with it.
    window: Bytes,
}

/// The limits for programs that set their buffers themselves.
fn own_buffers(exam: &Examination<'_>) -> Option<Finding> {
    // The kernel doubles the request; half of that is window, or three quarters are outstanding.
    const BOUNDS: [(&str, &str, u64); 2] =
        [("net.core.rmem_max", "SO_RCVBUF", 2), ("net.core.wmem_max", "SO_SNDBUF", SENT_QUARTERS)];
    let counts = [exam.goal.role.receives(), exam.goal.role.sends()];
    let needed = exam.goal.window_of_each();
    let bounds = BOUNDS.into_iter().zip(counts).filter(|(_, counts)| *counts);
    let low = bounds.filter_map(|((setting, option, halves), _)| {
        let most = exam.host.part(setting, 0)?;
        let window = Bytes::new((most / 2).saturating_mul(halves));
        (window < needed).then_some(Low { setting, option, most, window })
    });
    let low: Vec<Low> = low.collect();
    let rate = exam.goal.rate_with(low.iter().map(|low| low.window).min()?)?;
    let named = |text: fn(&Low) -> String| low.iter().map(text).collect::<Vec<_>>().join(", ");
    let options = named(|low| low.option.to_owned());
    let title = format!("a program that sets {options} itself gets about {rate}");
    let mut finding = Finding::new(Check::BuffersByProgram, Severity::Hint, title)
        .seen(named(|low| format!("{} = {}", low.setting, low.most)))
        .because(
            format!(
                "The kernel caps the requested size at this value, and doubles it; such a buffer no longer grows. \
                 Programs that do not set buffer sizes are not affected. The transfer needs {}.",
                exam.product()
            ),
            "ubik IV-A; sk_setsockopt, SO_RCVBUF (6.18); sysctl/net.rst, rmem_max",
        );
    for Low { setting, most, .. } in &low {
        // Of which the kernel makes twice as much.
        let value = (arithmetic::buffer_for(needed).get() / 2).to_string();
        finding = finding.fixed_by(sysctl(setting, &value, &most.to_string()));
    }
    Some(finding)
}

fn seen(exam: &Examination<'_>, name: &str) -> String {
    let words: Vec<&str> = exam.host.word(name).unwrap_or_default().split_whitespace().collect();
    format!("{name} = {}", words.join(" "))
}

/// A setting of three numbers with a new third.
fn third(exam: &Examination<'_>, name: &str, value: Bytes) -> Option<Fix> {
    let (first, second) = (exam.host.part(name, 0)?, exam.host.part(name, 1)?);
    // The kernel accepts at most a C `int`.
    let value = value.get().min(i32::MAX as u64);
    Some(sysctl(name, &format!("{first} {second} {value}"), exam.host.word(name)?))
}
