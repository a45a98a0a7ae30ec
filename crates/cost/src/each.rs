//! The cost of a packet, a byte and an ACK: the time of a kind of work, divided by how often the host did it.
//!
//! A sample belongs to the innermost of the functions named here that called it, as in
//! [`attribution`](crate::attribution), so that no time is in two costs, and none in the cost of interrupted code
//! ([`calls`](crate::calls)). The kernel's counters say how often the work was done; work that they do not count has no
//! cost here. Costs have the names of simulated hosts' cost tables, and the divisors are what these charge a cost for.

use crate::calls::Calls;
use crate::functions::{Function, Functions};
use crate::names::plain;
use crate::own::Cost;
use crate::profile::Profile;
use crate::roots::Roots;
use crate::work::Work;

/// With fewer samples chance dominates: with this many, a cost has a standard error of a fifth.
pub const LEAST_SAMPLES: u64 = 25;
/// IP's and TCP's headers with timestamps, which are included in IP's octets and are not copied (RFC 791, RFC 9293, RFC
/// 7323).
const HEADER_BYTES: u64 = 20 + 32;

/// A kind of work that costs CPU time.
#[derive(Clone, Copy, Debug)]
pub struct WorkKind {
    /// Its name in a cost table.
    pub name: &'static str,
    /// The functions whose time it is, including callees.
    pub functions: &'static [&'static str],
    /// How often it was done.
    divisor: Divisor,
}

/// How often a kind of work was done.
#[derive(Clone, Copy, Debug)]
enum Divisor {
    /// The counters, in words.
    Counted(&'static str, fn(&Work) -> Option<u64>),
    /// No counter; the reason.
    Uncounted(&'static str),
}

const fn counted(
    name: &'static str,
    functions: &'static [&'static str],
    of: &'static str,
    count: fn(&Work) -> Option<u64>,
) -> WorkKind {
    WorkKind { name, functions, divisor: Divisor::Counted(of, count) }
}

const fn uncounted(name: &'static str, functions: &'static [&'static str], why: &'static str) -> WorkKind {
    WorkKind { name, functions, divisor: Divisor::Uncounted(why) }
}

/// All kinds, in the order in which a packet meets them.
pub const KINDS: &[WorkKind] = &[
    uncounted("interrupt", &[], "interrupts are not counted"),
    uncounted("softirq", &[], "runs of softirqs are not counted"),
    counted("driver-receive", &["__napi_poll", "napi_poll"], "packets that devices received", received),
    counted(
        "merge",
        &["napi_gro_receive", "gro_receive_skb", "napi_gro_frags", "gro_normal_list", "dev_gro_receive"],
        "packets that devices received",
        received,
    ),
    counted(
        "ip-receive",
        &["ip_rcv", "ip_list_rcv", "ip_local_deliver", "ip_protocol_deliver_rcu", "tcp_v4_rcv"],
        "Tcp.InSegs",
        |work| work.counter("Tcp.InSegs"),
    ),
    counted(
        "tcp-receive",
        &["tcp_v4_do_rcv", "tcp_rcv_established", "tcp_rcv_state_process", "tcp_data_queue"],
        "segments with data: Tcp.InSegs without ACKs, at least TcpExt.TCPHPHits",
        data_segments,
    ),
    counted("ack-receive", &["tcp_ack"], "TcpExt.TCPHPAcks and TCPPureAcks", acks),
    counted(
        "tcp-send",
        &[
            "tcp_sendmsg",
            "tcp_sendmsg_locked",
            "do_tcp_sendpages",
            "tcp_write_xmit",
            "__tcp_push_pending_frames",
            "tcp_push_one",
            "__tcp_retransmit_skb",
        ],
        "packets and super-packets with data: Ip.OutRequests without ACKs",
        |work| work.counter("Ip.OutRequests")?.checked_sub(acks_sent(work)?),
    ),
    counted(
        "ack-send",
        &["tcp_send_ack", "__tcp_send_ack", "tcp_v4_send_ack", "tcp_v6_send_ack", "tcp_v6_send_response"],
        "segments without data: Tcp.OutSegs without TcpExt.TCPOrigDataSent",
        acks_sent,
    ),
    counted(
        "ip-send",
        &[
            "ip_queue_xmit",
            "__ip_queue_xmit",
            "ip_local_out",
            "ip_output",
            "__dev_queue_xmit",
            "dev_queue_xmit",
        ],
        "Ip.OutRequests",
        |work| work.counter("Ip.OutRequests"),
    ),
    counted(
        "driver-send",
        &["dev_hard_start_xmit", "sch_direct_xmit", "xmit_one"],
        "Ip.OutRequests",
        |work| work.counter("Ip.OutRequests"),
    ),
    counted(
        "copy-byte",
        &[
            "skb_copy_datagram_iter",
            "_copy_to_iter",
            "_copy_from_iter",
            "copy_page_from_iter",
            "csum_and_copy_from_iter",
            "copy_user_generic_unrolled",
            "copy_user_enhanced_fast_string",
            "copy_user_generic_string",
            "rep_movs_alternative",
        ],
        "IpExt.InOctets and OutOctets without headers",
        bytes,
    ),
    counted(
        "context-switch",
        &["__schedule", "schedule", "finish_task_switch", "schedule_idle"],
        "context switches of the host",
        |work| work.counter("Stat.ctxt"),
    ),
    uncounted(
        "cut",
        &["skb_segment", "__skb_gso_segment", "skb_gso_segment"],
        "packets cut in software are not counted",
    ),
    uncounted(
        "checksum-byte",
        &["skb_checksum", "__skb_checksum", "csum_partial"],
        "bytes summed in software are not counted",
    ),
    uncounted(
        "wake-up",
        &["sock_def_readable", "sk_stream_write_space", "try_to_wake_up", "__wake_up_sync_key"],
        "wake-ups are not counted",
    ),
    uncounted("tick", &[], "ticks are not counted"),
    uncounted("system-call", &[], "system calls are not counted"),
    uncounted("tcp-slow-path", &[], "it is part of tcp-receive in a profile"),
    uncounted("sack-step", &[], "it is part of ack-receive in a profile"),
    uncounted("schedule-step", &[], "schedulers since 2.6 do not look at each task"),
];

/// Costs that are part of another cost in a profile, and so are zero.
pub const WITHIN: &[(&str, &str)] = &[("poll", "driver-receive"), ("clean", "ack-receive")];

/// Loopback receives what it sends; on a host with NICs it is not network traffic.
fn received(work: &Work) -> Option<u64> {
    let of = |is_lo: bool| {
        let devices = work.devices.iter().filter(|(name, _)| (name.as_str() == "lo") == is_lo);
        devices.fold(0, |sum: u64, (_, carried)| sum.saturating_add(carried.received_packets))
    };
    Some(of(false)).filter(|packets| *packets > 0).or_else(|| Some(of(true)))
}

/// ACKs that acknowledged something, predicted or not, and pure ACKs that did not (`tcp_ack`).
fn acks(work: &Work) -> Option<u64> {
    Some(work.counter("TcpExt.TCPHPAcks")?.saturating_add(work.counter("TcpExt.TCPPureAcks")?))
}

/// A predicted ACK may carry data, so there may be more data segments than those that are not ACKs.
fn data_segments(work: &Work) -> Option<u64> {
    let others = work.counter("Tcp.InSegs")?.saturating_sub(acks(work)?);
    Some(others.max(work.counter("TcpExt.TCPHPHits")?))
}

/// Wire segments sent for the first time without data (`__tcp_transmit_skb`, `tcp_event_new_data_sent`).
fn acks_sent(work: &Work) -> Option<u64> {
    work.counter("Tcp.OutSegs")?.checked_sub(work.counter("TcpExt.TCPOrigDataSent")?)
}

fn bytes(work: &Work) -> Option<u64> {
    let octets = work.counter("IpExt.InOctets")?.saturating_add(work.counter("IpExt.OutOctets")?);
    let packets = work.counter("Ip.InReceives")?.saturating_add(work.counter("Ip.OutRequests")?);
    octets.checked_sub(packets.saturating_mul(HEADER_BYTES))
}

/// The cost of one piece of a kind of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// Its name in a cost table.
    pub name: &'static str,
    /// How it was measured, or why it was not.
    pub found: Found,
}

/// How a cost was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// From samples and counters.
    Measured(MeasuredCost),
    /// Part of another cost.
    Within(&'static str),
    /// Unknown, with the reason.
    Unknown(String),
}

/// A cost that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCost {
    /// The cost of one piece, in ns.
    pub nanos: f64,
    /// Its relative standard error from the sample count.
    pub error: f64,
    /// The number of samples.
    pub samples: u64,
    /// How often the work was done.
    pub times: u64,
    /// The counter's name.
    pub of: &'static str,
    /// The functions of the profile whose time it is.
    pub functions: Vec<Function>,
}

/// The costs of pieces of work, and their share of the total.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// By kind of work.
    pub each: Vec<Each>,
    /// The share of the total in measured costs, 0 to 1.
    pub share: f64,
}

/// The costs of pieces of work in an event, if one unit of its weight takes `nanos`.
pub fn costs(calls: &Calls, event: u16, work: &Work, nanos: f64) -> Costs {
    let profile = calls.profile();
    let mut roots = Roots::new();
    let found: Vec<Vec<Function>> =
        KINDS.iter().map(|kind| in_kernel(&profile.functions, kind.functions)).collect();
    for (kind, functions) in KINDS.iter().zip(&found) {
        roots.add(kind.name, functions.iter().copied());
    }
    let sums = sums(profile, event, &roots);
    let all = profile
        .entries
        .iter()
        .filter(|entry| entry.event == event)
        .map(|entry| entry.weight as f64)
        .sum::<f64>();
    let mut each: Vec<Each> = Vec::new();
    let mut in_some = 0.0;
    for (at, (kind, functions)) in KINDS.iter().zip(&found).enumerate() {
        let found = measure(kind, sums[at], functions, work, nanos);
        if matches!(found, Found::Measured(_)) {
            in_some += sums[at].weight as f64;
        }
        each.push(Each { name: kind.name, found });
    }
    for (name, within) in WITHIN {
        let is_measured = |other: &Each| other.name == *within && matches!(other.found, Found::Measured(_));
        let found = if each.iter().any(is_measured) {
            Found::Within(within)
        } else {
            Found::Unknown(format!("it would be in {within}, which is not known"))
        };
        each.push(Each { name, found });
    }
    Costs { each, share: in_some / all.max(1.0) }
}

fn measure(kind: &WorkKind, seen: Cost, functions: &[Function], work: &Work, nanos: f64) -> Found {
    let (of, count) = match kind.divisor {
        Divisor::Counted(of, count) => (of, count),
        Divisor::Uncounted(why) => return Found::Unknown(why.to_owned()),
    };
    if seen.samples < LEAST_SAMPLES {
        return Found::Unknown(format!(
            "{} of the {LEAST_SAMPLES} samples that it takes were seen",
            seen.samples
        ));
    }
    match count(work) {
        None => Found::Unknown(format!("not known how often: {of}")),
        Some(0) => Found::Unknown(format!("not once: {of}")),
        Some(times) => Found::Measured(MeasuredCost {
            nanos: seen.weight as f64 * nanos / times as f64,
            error: 1.0 / (seen.samples as f64).sqrt(),
            samples: seen.samples,
            times,
            of,
            functions: functions.to_vec(),
        }),
    }
}

/// The kernel's functions with these names, in their order.
fn in_kernel(functions: &Functions, names: &[&str]) -> Vec<Function> {
    let place = |function: &Function| names.iter().position(|name| *name == plain(functions.name(*function)));
    let found = functions.iter().filter(|function| !functions.is_in_program(*function));
    let mut found: Vec<(usize, Function)> =
        found.filter_map(|function| Some((place(&function)?, function))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, function)| function).collect()
}

/// The cost that belongs to each root as the innermost.
fn sums(profile: &Profile, event: u16, roots: &Roots) -> Vec<Cost> {
    let mut sums = vec![Cost::default(); roots.len()];
    for entry in profile.entries.iter().filter(|entry| entry.event == event) {
        let frames = profile.stacks.frames(entry.stack);
        if let Some(root) = frames.iter().find_map(|frame| roots.of(frame.function)) {
            sums[usize::from(root.0)] += Cost { samples: entry.samples, weight: entry.weight };
        }
    }
    sums
}
