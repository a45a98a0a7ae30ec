//! A path of the kernel's own: netem (tc-netem(8)) and a token bucket (tc-tbf(8)) on the path's devices, which a bridge
//! joins.
//!
//! It serves to check the relay, and for those who trust nothing else. Netem selects packets by chance only, draws
//! other random numbers, and reports nothing but counts: not how late it was, and not which packet met what. It takes a
//! super-packet for one packet, so the hosts have no offloads.

use crate::error::LabError;
use crate::host::PATH_DEVICES;
use crate::namespaces::{Namespaces, Place, run};
use crate::path::link::{LinkConfig, QueueLimit};
use crate::path::loss::LossConfig;
use crate::path::{LossReason, PathConfig, Totals};
use crate::relay::DirectionReport;
use crate::settings::MTU_BYTES;
use crate::wire;
use serde::Deserialize;
use slowpath_model::nanos;
use std::time::Duration;

/// More packets than any path holds: what has no room in the link's queue is dropped there.
const NO_LIMIT: u32 = 1_000_000;
/// An Ethernet header counts at a device.
const ETHERNET_BYTES: u64 = 14;
const FRAME_BYTES: u64 = MTU_BYTES + ETHERNET_BYTES;
/// What the bucket lets through at once, in fractions of a second of its rate: timers are no finer on a busy machine.
const BURSTS_PER_S: u64 = 1000;

/// The parts of a direction that netem cannot emulate, each a sentence that begins with the key below the path's.
pub fn refused(config: &PathConfig) -> Vec<String> {
    let by_chance =
        |loss: &&LossConfig| matches!(loss, LossConfig::Random { .. } | LossConfig::Bursts { .. });
    let scripted = config.loss.iter().any(|loss| !by_chance(&loss));
    let stalls = config.link.as_ref().is_some_and(|link| !link.stalls.is_empty());
    let jitter = config.jitter.is_some_and(|jitter| !jitter.overtakes || config.link.is_some());
    let all = [
        (scripted, "lose: netem knows no packet by its number or its bytes"),
        (config.loss.len() > 1, "loss: netem has one process of loss"),
        (!config.middleboxes.is_empty(), "middleboxes: netem looks into no packet"),
        (config.policer.is_some(), "policer: netem has none"),
        (!config.cross.is_empty(), "cross: netem carries no packets of others"),
        (stalls, "stalls: netem's links have none"),
        (jitter, "jitter: netem reorders packets, and it varies the delay before the link"),
        (config.reorder.is_some(), "reorder: netem sends what is reordered at once, and makes the rest wait"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, why)| why.to_owned()).collect()
}

/// Bridges the path's devices and configures the direction to the receiver, and the direction back.
///
/// # Errors
/// If the kernel has no bridge, no netem or no token bucket.
pub fn install(namespaces: &Namespaces, ways: [&PathConfig; 2]) -> Result<(), LabError> {
    wire::bridge(namespaces)?;
    for (device, config) in devices().into_iter().zip(ways) {
        let tc = |line: String| namespaces.execute(Place::Path, &format!("tc qdisc add dev {device} {line}"));
        tc(format!("root handle 1: netem {}", netem(config)))?;
        if let Some(link) = &config.link {
            // A constant delay before a queue or behind it is the same.
            let rate = link.rate.get().saturating_mul(FRAME_BYTES) / MTU_BYTES;
            let burst = (rate / 8 / BURSTS_PER_S).max(2 * FRAME_BYTES);
            tc(format!("parent 1: handle 2: tbf rate {rate}bit burst {burst} limit {burst}"))?;
            tc(format!("parent 2: handle 3: {}", queue(link)))?;
        }
    }
    // A new bridge needs a moment until its ports forward.
    std::thread::sleep(Duration::from_millis(500));
    Ok(())
}

/// The devices through which packets leave the path: to the receiver, and back.
fn devices() -> [&'static str; 2] {
    let (left, right) = PATH_DEVICES;
    [right, left]
}

fn netem(config: &PathConfig) -> String {
    let percent = |ppm: u32| format!("{}.{:04}%", ppm / 10_000, ppm % 10_000);
    let micros = |ns: u64| format!("{}.{:03}us", ns / 1000, ns % 1000);
    let spread_ns = config.jitter.map_or(0, |jitter| nanos(jitter.up_to) / 2);
    let mut text = format!("limit {NO_LIMIT} delay {}", micros(nanos(config.delay) + spread_ns));
    if spread_ns > 0 {
        text += &format!(" {}", micros(spread_ns));
    }
    match config.loss.first() {
        Some(LossConfig::Random { probability_ppm }) => {
            text += &format!(" loss random {}", percent(*probability_ppm));
        }
        Some(LossConfig::Bursts { good_to_bad_ppm, bad_to_good_ppm, bad_loss_ppm }) => {
            // The chances of a bad spell's begin and end, and of a loss in it; none outside.
            let [begin, end, loss] = [*good_to_bad_ppm, *bad_to_good_ppm, *bad_loss_ppm].map(percent);
            text += &format!(" loss gemodel {begin} {end} {loss} 0%");
        }
        _ => {}
    }
    if config.duplicate_ppm > 0 {
        text += &format!(" duplicate {}", percent(config.duplicate_ppm));
    }
    text
}

fn queue(link: &LinkConfig) -> String {
    match link.queue {
        QueueLimit::Packets(packets) => format!("pfifo limit {packets}"),
        QueueLimit::Bytes(bytes) => {
            format!("bfifo limit {}", bytes.get().saturating_mul(FRAME_BYTES) / MTU_BYTES)
        }
    }
}

/// What `tc -s -j qdisc` says of a queueing discipline.
#[derive(Debug, Deserialize)]
struct Counted {
    handle: String,
    bytes: u64,
    packets: u64,
    drops: u64,
    qlen: u64,
}

/// What was counted since [`install`], to the receiver and back: a copy counts as one more packet that was offered, and
/// how late a packet was is not known.
///
/// # Errors
/// If `tc` fails or says something else.
pub fn reports(namespaces: &Namespaces, ways: [&PathConfig; 2]) -> Result<[DirectionReport; 2], LabError> {
    let [forward, backward] = devices();
    Ok([report(namespaces, forward, ways[0])?, report(namespaces, backward, ways[1])?])
}

fn report(namespaces: &Namespaces, device: &str, config: &PathConfig) -> Result<DirectionReport, LabError> {
    let said = namespaces.output(Place::Path, &["tc", "-s", "-j", "qdisc", "show", "dev", device])?;
    let all: Vec<Counted> = serde_json::from_slice(&said)?;
    let of = |handle: &str| all.iter().find(|one| one.handle == handle);
    let Some(netem) = of("1:") else { return Ok(DirectionReport::default()) };
    // What has no room below counts as dropped above too (`netem_dequeue`).
    let by_queue = of("2:").map_or(0, |link| link.drops);
    let by_chance = match config.loss.first() {
        Some(LossConfig::Bursts { .. }) => LossReason::Burst,
        _ => LossReason::Random,
    };
    let dropped = [(LossReason::Queue, by_queue), (by_chance, netem.drops.saturating_sub(by_queue))];
    let dropped_packets = dropped.into_iter().filter(|(_, packets)| *packets > 0).collect();
    let totals = Totals {
        offered_packets: netem.packets + netem.qlen + netem.drops.max(by_queue),
        offered_bytes: netem.bytes.saturating_sub(netem.packets * ETHERNET_BYTES),
        scheduled_packets: netem.packets + netem.qlen,
        dropped_packets,
        ..Totals::default()
    };
    Ok(DirectionReport {
        totals,
        delivered_packets: netem.packets,
        left_packets: netem.qlen,
        ..Default::default()
    })
}

/// Whether the kernel has it: tried in a network namespace that is gone afterwards.
///
/// # Errors
/// If it has not, or `tc` is missing.
pub fn is_there() -> Result<(), LabError> {
    let trial = || {
        // SAFETY: it concerns the calling thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(LabError::last_os("unshare(CLONE_NEWNET)"));
        }
        run(&["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"])
    };
    std::thread::spawn(trial).join().unwrap_or(Err(LabError::Panicked { role: "tries netem" }))
}
