//! The qdisc (ubik V: txqueuelen), and what delays packets there.

use super::{Examination, together};
use crate::finding::{Check, Finding, Severity, change, look, set};
use crate::host::{Interface, Queue};
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate, shown};
use slowpath_remedies::setting::{DEFAULT_QDISC, LIMITED, LinkAttribute};
use slowpath_remedies::{Change, Fix, Host, Setting, Target, percent};
use std::time::Duration;

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    for interface in &exam.host.interfaces {
        found.extend(room(exam, interface));
        for queue in interface.queues.iter().flatten() {
            found.extend(shaper(exam, interface, queue));
            found.extend(flow_rate(exam, interface, queue));
            found.extend(emulator(interface, queue));
        }
        found.extend(drops(exam, interface));
    }
}

/// TCP small queues limit a socket to about a millisecond of its rate (`sk_pacing_shift` of 10,
/// `tcp_small_queue_check`, 6.18), which a qdisc must hold.
const BELOW_SOCKETS: u64 = 1 << 10;
/// The minimum assumed super-packet: it has up to 64 KiB, and less on slow connections (`tcp_tso_autosize`).
const SUPER_PACKET: u64 = 16 << 10;

/// The maximum that the sockets queue, in packets and in bytes; doubled for other senders.
fn needed(exam: &Examination<'_>, interface: &Interface) -> (u64, u64) {
    let bytes = exam.goal.rate.get() / 8 / BELOW_SOCKETS;
    let joined = interface.offload("tx-generic-segmentation").is_none_or(|offload| offload.on);
    let each = if joined { SUPER_PACKET } else { u64::from(exam.mtu().max(1)) };
    // Each connection may always queue two, whatever its rate.
    let streams = 2 * u64::from(exam.goal.streams);
    (2 * bytes.div_ceil(each).max(streams), 2 * bytes.max(streams * u64::from(exam.mtu())))
}

/// A qdisc that drops what the sockets may queue.
fn room(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    exam.goal.role.sends().then_some(())?;
    let (packets, bytes) = needed(exam, interface);
    let queues = interface.queues.as_ref()?;
    // Under a shaper the queue belongs to another qdisc, and the shaper's rate is reported.
    let under_rate = queues.iter().any(|queue| queue.rate.is_some());
    let queue = queues.iter().find(|queue| {
        let of_device = queue.kind == "pfifo_fast";
        let limit = if of_device { interface.queue_length.map(u64::from) } else { queue.limit_packets };
        limit.is_some_and(|limit| limit < packets)
            || (!under_rate && queue.limit_bytes.is_some_and(|limit| limit < bytes))
    })?;
    let name = shown::word(&interface.name);
    let (seen, fix) = match (queue.kind.as_str(), queue.limit_packets, queue.limit_bytes) {
        ("pfifo_fast", ..) => {
            let length = interface.queue_length.unwrap_or(0);
            let setting =
                Setting::Link { device: interface.name.clone(), attribute: LinkAttribute::QueueLength };
            (format!("txqueuelen {length} of {name}, qdisc pfifo_fast"), set(setting, 1000, length))
        }
        (kind, Some(limit), _) => {
            (format!("qdisc {kind} limit {limit}p on {name}"), limited(interface, queue, 1000, limit))
        }
        (kind, None, limit) => {
            let limit = limit.unwrap_or(0);
            (format!("qdisc {kind} limit {limit}b on {name}"), limited(interface, queue, 2 * bytes, limit))
        }
    };
    Some(
        Finding::new(Check::QueueLength, Severity::Costs, format!("the queue before {name} is short"))
            .seen(seen)
            .because(
                format!(
                    "Sockets put about a millisecond of their rate into this queue, at the goal {}, or {packets} \
                     packets as they are queued here (with the share of other senders). A packet that does not \
                     fit is dropped, and TCP reduces its congestion window as for a loss on the path.",
                    Bytes::new(bytes)
                ),
                "ubik V, tables I and II; tcp_small_queue_check, tcp_enter_cwr (6.18)",
            )
            .fixed_by(fix),
    )
}

/// A qdisc with another limit.
fn limited(interface: &Interface, queue: &Queue, then: u64, now: u64) -> Fix {
    let kind = queue.kind.clone();
    if LIMITED.iter().any(|(known, _)| *known == kind) {
        let (device, parent) = (interface.name.clone(), at(queue).strip_prefix("parent ").map(str::to_owned));
        return set(Setting::QueueLimit { device, parent, kind }, then, now);
    }
    // A change of another kind may reset its other options.
    let line = format!("tc qdisc change dev {} {} {kind} limit", shown::word(&interface.name), at(queue));
    change(format!("{line} {then}")).undone_by(format!("{line} {now}"))
}

/// The qdisc's place in a `tc` command.
fn at(queue: &Queue) -> String {
    let place = |number: u32| format!("{:x}:{:x}", number >> 16, number & 0xffff);
    if queue.parent == u32::MAX {
        "root".to_owned()
    } else {
        let parent = place(queue.parent);
        format!("parent {}", parent.trim_end_matches(":0"))
    }
}

fn shaper(exam: &Examination<'_>, interface: &Interface, queue: &Queue) -> Option<Finding> {
    exam.goal.role.sends().then_some(())?;
    let rate = Rate::bits_per_second(queue.rate?);
    let severity = exam.limits(rate)?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::Shaper, severity, format!("a shaper on {name} lets {rate} through"))
            .seen(format!("qdisc {} rate {rate} on {name}", queue.kind))
            .because(
                format!("It sends no faster, and the goal is {}.", exam.goal.rate),
                "tc-tbf(8), tc-htb(8), tc-cake(8), tc-netem(8)",
            )
            .fixed_by(default_root(interface)),
    )
}

/// fq's limit for a single connection.
fn flow_rate(exam: &Examination<'_>, interface: &Interface, queue: &Queue) -> Option<Finding> {
    exam.goal.role.sends().then_some(())?;
    let each = Rate::bits_per_second(queue.flow_rate?);
    let all = Rate::bits_per_second(each.get().saturating_mul(u64::from(exam.goal.streams.max(1))));
    let severity = exam.limits(all)?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(
            Check::FlowRate,
            severity,
            format!("{} on {name} lets a connection have {each}", queue.kind),
        )
        .seen(format!("qdisc {} maxrate {each} on {name}", queue.kind))
        .because(
            format!("The goal is {} on each of {} connections.", exam.goal.rate_of_each(), exam.goal.streams),
            "tc-fq(8), maxrate",
        )
        .fixed_by(removed(interface, queue)),
    )
}

/// Takes a qdisc away, so that the kernel puts its default in the place.
fn removed(interface: &Interface, queue: &Queue) -> Fix {
    match at(queue) {
        root if root == "root" => default_root(interface),
        other => change(format!("tc qdisc del dev {} {other}", shown::word(&interface.name))),
    }
}

fn default_root(interface: &Interface) -> Fix {
    let setting = Setting::RootQdisc { device: interface.name.clone() };
    let (then, target) = (DEFAULT_QDISC.to_owned(), Target::Exactly);
    Fix::of(Host::This, Change { setting, now: None, then, target })
}

/// A leftover path emulator.
fn emulator(interface: &Interface, queue: &Queue) -> Option<Finding> {
    (queue.kind == "netem").then_some(())?;
    let delay = queue.delay_ns.filter(|delay| *delay > 0).map(Duration::from_nanos);
    let delay = delay.map(|delay| format!("delays packets by {}", duration_text(delay)));
    let loss = queue.loss.filter(|loss| *loss > 0);
    let loss = loss.map(|loss| format!("loses {} of them", percent(f64::from(loss) / 4_294_967_296.0)));
    let does: Vec<String> = delay.into_iter().chain(loss).collect();
    let does = if does.is_empty() { "is there to impair a path".to_owned() } else { does.join(" and ") };
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::Emulator, Severity::Costs, format!("netem is active on {name}"))
            .seen(format!("qdisc netem on {name}"))
            .because(format!("It {does}: it emulates a path for tests."), "tc-netem(8)")
            .fixed_by(removed(interface, queue)),
    )
}

/// Drops so far.
fn drops(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    exam.goal.role.sends().then_some(())?;
    // A classful root's drops include its children's.
    let root = interface.queues.iter().flatten().find(|queue| queue.parent == u32::MAX)?;
    let share = exam.is_too_much(root.drops, together(&[root.packets, root.drops]))?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(
            Check::QueueDrops,
            Severity::Hint,
            format!("the queue before {name} has dropped packets"),
        )
        .seen(format!("qdisc {} on {name}: {} sent, {} dropped", root.kind, root.packets, root.drops))
        .because(
            format!(
                "{} since it was created, where CUBIC tolerates {} at the goal. The counter does not show \
                     when: look again after a transfer.",
                percent(share),
                percent(exam.bearable_loss().unwrap_or(0.0))
            ),
            "ubik V; tc(8), -s; RFC 9438, section 5.1",
        )
        .fixed_by(look(format!("tc -s qdisc show dev {name}"))),
    )
}
