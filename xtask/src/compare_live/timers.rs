//! When timers fire: of the SYN, of data, and of delayed ACKs.

use super::rows::{Row, Tolerance, least, median};
use super::seen::{Connection, Seen};
use anyhow::{Result, ensure};
use slowpath_model::{End, Flags, Instant, StreamOffset};
use slowpath_scenario::Scenario;
use std::collections::BTreeMap;

const MS: f64 = 1e6;

/// How far the kernel may be from the model with a timer of so many milliseconds. The timer fires on an edge of the
/// timer wheel, whose levels are each eight times as coarse as the one below (`calc_wheel_index`, kernel/time/timer.c);
/// which edge depends on when it was set. Two more ticks are allowed for a busy machine.
fn tolerance(scenario: &Scenario, timer_ms: f64) -> Tolerance {
    let tick = 1000.0 / f64::from(scenario.hosts[0].kernel.tcp.clock.hz);
    let (mut edge, mut most) = (tick, 63.0 * tick);
    while timer_ms > most {
        (edge, most) = (8.0 * edge, 8.0 * most);
    }
    Tolerance::Late { early: edge, late: edge + 2.0 * tick }
}

/// A series of times for each of many connections: a row for each place in the series, with the medians.
fn series(
    scenario: &Scenario,
    what: &dyn Fn(usize) -> String,
    model: &[Vec<f64>],
    kernel: &[Vec<f64>],
) -> Result<Vec<Row>> {
    let length = model.iter().map(Vec::len).min().unwrap_or(0);
    ensure!(length > 0, "the model did not do what the scenario is about");
    let at = |all: &[Vec<f64>], n: usize| {
        all.iter().filter_map(|series| series.get(n).copied()).collect::<Vec<_>>()
    };
    let row = |n: usize| {
        let model = median(at(model, n));
        Row {
            what: what(n),
            unit: "ms",
            model,
            live: median(at(kernel, n)),
            tolerance: tolerance(scenario, model),
        }
    };
    Ok((0..length).map(row).collect())
}

fn gaps(times: &[Instant]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1].nanos_since(pair[0]) as f64 / MS).collect()
}

fn connections(runs: &[Seen], of: impl Fn(&Connection) -> Vec<f64>) -> Vec<Vec<f64>> {
    runs.iter().flat_map(|seen| &seen.sender).map(of).collect()
}

/// From each SYN to the next.
pub fn syn(scenario: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    let of = |connection: &Connection| {
        let syns = connection.of(End::A).filter(|(_, segment)| segment.flags.has(Flags::SYN));
        gaps(&syns.map(|(at, _)| at).collect::<Vec<_>>())
    };
    let what = |n: usize| format!("SYN {} to SYN {}", n + 1, n + 2);
    series(scenario, &what, &connections(std::slice::from_ref(model), of), &connections(kernel, of))
}

/// From each transmission of the lost message to the next.
pub fn data(scenario: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    let of = |connection: &Connection| {
        let mut sent: BTreeMap<StreamOffset, Vec<Instant>> = BTreeMap::new();
        for (at, segment) in connection.data() {
            sent.entry(segment.seq).or_default().push(at);
        }
        gaps(&sent.into_values().max_by_key(Vec::len).unwrap_or_default())
    };
    let what = |n: usize| match n {
        0 => "sent to loss probe".to_owned(),
        1 => "loss probe to timeout 1".to_owned(),
        n => format!("timeout {} to timeout {n}", n - 1),
    };
    series(scenario, &what, &connections(std::slice::from_ref(model), of), &connections(kernel, of))
}

/// Shorter delays count as none.
const AT_ONCE_MS: f64 = 8.0;

/// How many messages are acknowledged at once before the first delayed one, and how long the ACKs of the others wait.
pub fn delayed_acks(scenario: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    let of = |seen: &Seen| seen.receiver.iter().map(delays).collect::<Vec<_>>();
    let (model, kernel) = (of(model), kernel.iter().flat_map(of).collect::<Vec<_>>());
    let quick = |all: &[Vec<f64>]| {
        let quick = |one: &Vec<f64>| one.iter().take_while(|ms| **ms <= AT_ONCE_MS).count() as f64;
        median(all.iter().map(quick).collect())
    };
    let held =
        |all: &[Vec<f64>]| all.iter().flatten().copied().filter(|ms| *ms > AT_ONCE_MS).collect::<Vec<_>>();
    ensure!(!held(&model).is_empty(), "the model did not do what the scenario is about");
    let row = |what: &str, unit, [model, live]: [f64; 2], tolerance| Row {
        what: what.to_owned(),
        unit,
        model,
        live,
        tolerance,
    };
    let timer = |of: fn(Vec<f64>) -> f64| [of(held(&model)), of(held(&kernel))];
    let (least, middle) = (timer(least), timer(median));
    Ok(vec![
        row(
            "quick acks before the first that waits",
            "ACKs",
            [quick(&model), quick(&kernel)],
            Tolerance::Within(0.0),
        ),
        row("delay, least", "ms", least, tolerance(scenario, least[0])),
        row("delay, median", "ms", middle, tolerance(scenario, middle[0])),
    ])
}

/// How many messages are acknowledged, and how many of them at once.
pub fn quick_acks(_: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    let of = |seen: &Seen| seen.receiver.iter().map(delays).collect::<Vec<_>>();
    let row = |what: &str, of: &dyn Fn(&Seen) -> f64| Row {
        what: what.to_owned(),
        unit: "ACKs",
        model: of(model),
        live: median(kernel.iter().map(of).collect()),
        tolerance: Tolerance::Share(0.05),
    };
    Ok(vec![
        row("ACKs of 400 messages", &|seen| of(seen).iter().map(Vec::len).sum::<usize>() as f64),
        row("of these at once", &|seen| {
            of(seen).iter().flatten().filter(|ms| **ms <= AT_ONCE_MS).count() as f64
        }),
    ])
}

/// The delays of the ACKs for the opening end's data, in milliseconds from the oldest message that each acknowledges,
/// as seen by the host that sends the ACKs.
pub fn delays(connection: &Connection) -> Vec<f64> {
    let mut waiting: Vec<(i64, Instant)> = Vec::new();
    let mut delays = Vec::new();
    for (at, segment) in &connection.segments {
        let ack = match segment.from {
            End::A if segment.len > 0 => {
                waiting.push((segment.seq.0 + i64::from(segment.len), *at));
                continue;
            }
            End::A => continue,
            End::B => segment.ack.map_or(0, |ack| ack.0),
        };
        delays.extend(
            waiting
                .first()
                .filter(|(end, _)| *end <= ack)
                .map(|(_, since)| at.nanos_since(*since) as f64 / MS),
        );
        waiting.retain(|(end, _)| *end > ack);
    }
    delays
}
