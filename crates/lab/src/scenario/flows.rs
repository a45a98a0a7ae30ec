//! A scenario's flows in the lab: writers, readers, and their socket options.

use super::hosts::Placed;
use crate::workload::{Calls, Exchange, Follows, Reader, SocketOptions, Stream, Writer};
use slowpath_model::nanos;
use slowpath_model::{Bytes, Rate};
use slowpath_scenario::{
    Bulk, Flow, Host, Messages, Pause, Process, RequestResponse, Scenario, Start, Workload,
};
use std::time::Duration;

/// A process's socket options; the congestion control is the host's if it sets none.
pub(super) fn options(process: &Process, host: &Host) -> SocketOptions {
    let asked = &process.socket;
    let control = asked.congestion_control.unwrap_or(host.kernel.tcp.congestion_control);
    let bytes = |amount: Option<Bytes>| amount.map(|bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX));
    SocketOptions {
        so_sndbuf_bytes: bytes(asked.send_buffer),
        so_rcvbuf_bytes: bytes(asked.receive_buffer),
        window_clamp_bytes: bytes(asked.window_clamp),
        window_clamp_at_handshake_bytes: None,
        congestion_control: Some(control.name().to_owned()),
        nodelay: asked.no_delay,
        cork: asked.cork,
        quickack: asked.quick_ack,
        maxseg_bytes: bytes(asked.max_segment),
        notsent_lowat_bytes: bytes(asked.not_sent_low_water),
        max_pacing_rate_bit_per_s: asked.max_pacing_rate.map(Rate::get),
        busy_poll_us: busy_poll(process, host),
        fast_open: false,
    }
}

/// How long its reader polls, if it does: the hosts' default is set on each socket, since `net.core.busy_read` is the
/// whole machine's.
pub(super) fn busy_poll(process: &Process, host: &Host) -> Option<u32> {
    let inherited = Some(host.kernel.receive.busy_read).filter(|time| !time.is_zero());
    let time = process.socket.busy_poll.or(inherited)?;
    // The kernel has them in an int.
    Some(u32::try_from(time.as_micros()).unwrap_or(u32::MAX).min(i32::MAX as u32))
}

/// A flow in one direction, as streams of the lab.
pub(super) fn streams(
    scenario: &Scenario,
    flow: &Flow,
    placed: [Placed<'_>; 2],
    refused: &mut Vec<String>,
) -> Vec<Stream> {
    let key = format!("flows.{}", flow.name);
    let reversed = flow.client != scenario.flows[0].sender_host();
    let places = if reversed { [placed[1], placed[0]] } else { placed };
    let left = scenario.duration.saturating_sub(flow.start.earliest());
    let Some(writer) = writer(flow, left, &key, refused) else { return Vec::new() };
    if !flow.sender.pauses.is_empty() {
        refused.push(format!("{key}.sender.pauses: the lab's writers make none"));
    }
    let stream = |n: u32| Stream {
        after_ns: nanos(flow.start.earliest() + flow.stagger * n),
        follows: follows(scenario, flow.start),
        flush: flow.flush && n == 0,
        reversed,
        calls: Calls { write_bytes: flow.sender.call_size.get(), read_bytes: flow.receiver.call_size.get() },
        opener_socket: Some(options(&flow.sender, places[0].host)),
        acceptor_socket: Some(options(&flow.receiver, places[1].host)),
        reader: reader(&flow.receiver, scenario.duration),
        opener: places[0].scheduling(&flow.sender),
        acceptor: places[1].scheduling(&flow.receiver),
        ..Stream::one(writer)
    };
    (0..flow.streams).map(stream).collect()
}

/// The streams of the flow that must end before another starts.
fn follows(scenario: &Scenario, start: Start) -> Option<Follows> {
    let Start::After { flow, .. } = start else { return None };
    let streams = |flow: &Flow| flow.streams as usize;
    let first = scenario.flows[..flow].iter().map(streams).sum();
    Some(Follows { first, count: streams(&scenario.flows[flow]) })
}

fn writer(flow: &Flow, left: Duration, key: &str, refused: &mut Vec<String>) -> Option<Writer> {
    match (&flow.workload, flow.sender.rate) {
        (Workload::Bulk(bulk), None) => Some(match *bulk {
            Bulk::Amount(amount) => Writer::Total { bytes: amount.get() },
            Bulk::Time(time) => Writer::For { duration_ns: nanos(time) },
            Bulk::Endless => Writer::For { duration_ns: nanos(left) },
        }),
        (Workload::Bulk(bulk), Some(rate)) => {
            let (bytes, every_ns) = paced(&flow.sender, rate);
            let within = |time: Duration| nanos(time) / every_ns.max(1);
            let count = match *bulk {
                Bulk::Amount(amount) => amount.get().div_ceil(bytes.max(1)),
                Bulk::Time(time) => within(time),
                Bulk::Endless => within(left),
            };
            Some(Writer::Messages { bytes, every_ns, count: u32::try_from(count).unwrap_or(u32::MAX) })
        }
        (Workload::Messages(plan), None) => messages(plan, left, key, refused),
        (Workload::Messages(_), Some(_)) => {
            refused.push(format!("{key}.sender.rate: messages have their own times in the lab"));
            None
        }
        (Workload::Datagrams(_), _) => {
            refused.push(format!("{key}.datagrams: the lab sends none"));
            None
        }
        (Workload::RequestResponse(_), _) => {
            refused.push(format!("{key}: requests and responses are the lab's only flow, or are not"));
            None
        }
    }
}

fn messages(plan: &Messages, left: Duration, key: &str, refused: &mut Vec<String>) -> Option<Writer> {
    let every_ns = nanos(plan.interval);
    let count = plan.count.or_else(|| nanos(left).checked_div(every_ns));
    let Some(count) = count.and_then(|count| u32::try_from(count).ok()) else {
        refused.push(format!("{key}.messages.count: without a pause between them messages need a number"));
        return None;
    };
    Some(Writer::Messages { bytes: plan.size.get(), every_ns, count })
}

fn reader(process: &Process, run: Duration) -> Reader {
    let pause = |pause: &Pause| (nanos(pause.at), nanos(pause.lasts.unwrap_or(run)));
    match (process.rate, process.pauses.as_slice()) {
        (None, []) => Reader::Greedy,
        (rate, pauses) => Reader::Process {
            rate_bit_per_s: rate.map(Rate::get),
            pauses: pauses.iter().map(pause).collect(),
        },
    }
}

/// The size of a call, and its duration at a rate.
fn paced(process: &Process, rate: Rate) -> (u64, u64) {
    let bytes = process.call_size.get();
    let every = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.get().max(1));
    (bytes, u64::try_from(every).unwrap_or(u64::MAX))
}

/// A flow of requests and responses.
pub(super) fn exchange(
    flow: &Flow,
    plan: &RequestResponse,
    [server, client]: [Placed<'_>; 2],
    refused: &mut Vec<String>,
) -> Option<Exchange> {
    let count = |count: u64| {
        let count = u32::try_from(count).ok();
        if count.is_none() {
            refused.push(format!("flows.{}.requests.count: the lab makes {} at most", flow.name, u32::MAX));
        }
        count
    };
    // Without a count they end with the run.
    let count = plan.count.map_or(Some(u32::MAX), count)?;
    let (connections_per_client, rounds_per_connection) =
        if plan.connection_each { (count, 1) } else { (1, count) };
    let (first, further) = plan.responses.split_first()?;
    Some(Exchange {
        clients: flow.streams,
        connections_per_client,
        rounds_per_connection,
        further_response_bytes: further.iter().map(|bytes| bytes.get()).collect(),
        after_ns: nanos(flow.start.earliest()),
        stagger_ns: nanos(flow.stagger),
        think_ns: nanos(plan.client_time),
        server_ns: nanos(plan.server_time),
        hastens: true,
        client: client.scheduling(&flow.receiver),
        server: server.scheduling(&flow.sender),
        ..Exchange::one(plan.request.get(), first.get())
    })
}
