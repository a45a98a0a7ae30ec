//! A limiting window: data in flight, rate, and verdict.

use super::rows::{Row, Tolerance, median};
use super::seen::{Connection, Seen};
use anyhow::Result;
use slowpath_model::{End, Segment};
use slowpath_scenario::Scenario;

/// Slow start and the end are left out: this part of the time of the data counts.
const MIDDLE: (f64, f64) = (0.25, 0.75);

/// Rate, flight, window, RTT and verdict.
pub fn rows(_: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    let row = |what: &str, unit, of: fn(&Seen) -> f64, tolerance| Row {
        what: what.to_owned(),
        unit,
        model: of(model),
        live: median(kernel.iter().map(of).collect()),
        tolerance,
    };
    let told = |seen: &Seen| seen.verdict.main().findings[0].cause;
    let cause = told(model);
    Ok(vec![
        row(
            "window announced, largest",
            "KiB",
            |s| Flight::of(&s.sender[0]).window / 1024.0,
            Tolerance::Share(0.02),
        ),
        row("in flight, median", "KiB", |s| Flight::of(&s.sender[0]).amount / 1024.0, Tolerance::Share(0.02)),
        row("RTT, median", "ms", |s| Flight::of(&s.sender[0]).round_trip * 1e3, Tolerance::Share(0.03)),
        row("rate", "Mbit/s", |s| Flight::of(&s.sender[0]).rate / 1e6, Tolerance::Share(0.02)),
        Row {
            what: format!("share of {cause}"),
            unit: "%",
            model: share(model, cause),
            live: median(kernel.iter().map(|seen| share(seen, cause)).collect()),
            tolerance: Tolerance::Within(5.0),
        },
    ])
}

fn share(seen: &Seen, cause: slowpath_analyses::Cause) -> f64 {
    let findings = &seen.verdict.main().findings;
    findings.iter().filter(|finding| finding.cause == cause).map(|finding| finding.share * 100.0).sum()
}

/// The data in flight in the middle of a transfer, as its sender sees it.
struct Flight {
    window: f64,
    amount: f64,
    round_trip: f64,
    rate: f64,
}

impl Flight {
    fn of(connection: &Connection) -> Self {
        let (first, last) = bounds(connection);
        let inside = |at: i64| (first..=last).contains(&at);
        let scale = connection.scale(End::B);
        let (mut sent, mut acked) = (0, 0);
        let (mut window, mut flights, mut trips) = (0.0_f64, Vec::new(), Vec::new());
        let mut waiting: Vec<(i64, i64)> = Vec::new();
        let (mut begin, mut end) = (None, 0);
        for (at, segment) in &connection.segments {
            let at = at.nanos();
            if segment.from == End::A && segment.len > 0 {
                sent = sent.max(end_of(segment));
                waiting.push((end_of(segment), at));
            }
            let Some(ack) = segment.ack.filter(|_| segment.from == End::B) else { continue };
            let before = acked;
            acked = acked.max(ack.0);
            // The newest of the acknowledged segments was not held back by the receiver.
            let newest = waiting.iter().rev().find(|(end, _)| *end <= ack.0).map(|(_, at)| *at);
            waiting.retain(|(end, _)| *end > ack.0);
            if inside(at) {
                window = window.max(f64::from(u32::from(segment.window) << scale));
                flights.push((sent - before) as f64);
                trips.extend(newest.map(|sent_at| (at - sent_at) as f64 / 1e9));
                begin.get_or_insert((at, acked));
                end = at;
            }
        }
        let (begin_at, begin_acked) = begin.unwrap_or((0, 0));
        let acked_by_end =
            connection.of(End::B).filter(|(at, _)| at.nanos() <= end).filter_map(|(_, s)| s.ack).max();
        let acked = acked_by_end.map_or(0, |ack| ack.0) - begin_acked;
        Self {
            window,
            amount: median(flights),
            round_trip: median(trips),
            rate: acked as f64 * 8.0 / ((end - begin_at) as f64 / 1e9),
        }
    }
}

fn end_of(segment: &Segment) -> i64 {
    segment.seq.0 + i64::from(segment.len)
}

fn bounds(connection: &Connection) -> (i64, i64) {
    let times: Vec<i64> = connection.data().map(|(at, _)| at.nanos()).collect();
    let (first, last) = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
    let at = |share: f64| first + ((last - first) as f64 * share) as i64;
    (at(MIDDLE.0), at(MIDDLE.1))
}
