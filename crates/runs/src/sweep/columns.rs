//! Converts runs to rows of the data set, and back. A row holds everything known about a run: its flows, waits and
//! causes, from which its numbers are computed.

use super::keys::Key;
use super::numbers::NUMBERS;
use super::plan::{Job, Plan};
use crate::measured::{Measured, Shares};
use crate::waits::Waited;
use slowpath_analyses::Cause;
use slowpath_analyses::waits::{CLASSES, Spread};
use slowpath_model::{Bytes, End, Instant, Rate, Wait, nanos};
use slowpath_recording::results::{Cell, Column, Field, Holds, Value};
use slowpath_simulator::report::Total;
use std::time::Duration;

/// The run's identity, and whether it counts.
const RUN: [(&str, Holds); 9] = [
    ("run", Holds::Count),
    ("case", Holds::Count),
    ("name", Holds::Text),
    ("repeat", Holds::Count),
    ("seed", Holds::Count),
    ("simulated", Holds::Switch),
    ("kernel_release", Holds::Text),
    ("counts", Holds::Switch),
    ("why_not", Holds::Text),
];
const BOUND: [(&str, Holds); 2] = [("bound_by", Holds::Text), ("bound_share", Holds::Number)];

const FLOWS: (&str, [(&str, Holds); 10]) = (
    "flows",
    [
        ("flow", Holds::Text),
        ("connections", Holds::Count),
        ("bytes", Holds::Count),
        ("begin_ns", Holds::Count),
        ("end_ns", Holds::Count),
        ("rate_bit_per_s", Holds::Count),
        ("retransmits", Holds::Count),
        ("timeouts", Holds::Count),
        ("rtt_ns", Holds::Count),
        ("least_rtt_ns", Holds::Count),
    ],
);
const WAITS: (&str, [(&str, Holds); 13]) = (
    "waits",
    [
        ("flow", Holds::Text),
        ("host", Holds::Text),
        ("place", Holds::Text),
        ("count", Holds::Count),
        ("median_ns", Holds::Count),
        ("p99_ns", Holds::Count),
        ("longest_ns", Holds::Count),
        ("under_1_ms", Holds::Count),
        ("under_10_ms", Holds::Count),
        ("under_100_ms", Holds::Count),
        ("under_200_ms", Holds::Count),
        ("under_1_s", Holds::Count),
        ("longer", Holds::Count),
    ],
);
const CAUSES: (&str, [(&str, Holds); 2]) = ("causes", [("cause", Holds::Text), ("share", Holds::Number)]);

/// Limit of plausible values, in bytes or nanoseconds.
const MOST: u64 = 1 << 53;

fn fields(of: &[(&str, Holds)]) -> Vec<Field> {
    of.iter().map(|(name, holds)| Field::new(*name, *holds)).collect()
}

/// The columns of a sweep over these keys.
pub fn columns(keys: &[Key]) -> Vec<Column> {
    let measured = || NUMBERS.iter().map(|number| Field::new(number.column, number.holds()));
    let own: Vec<Field> = fields(&RUN).into_iter().chain(measured()).chain(fields(&BOUND)).collect();
    let lists = [(FLOWS.0, fields(&FLOWS.1)), (WAITS.0, fields(&WAITS.1)), (CAUSES.0, fields(&CAUSES.1))];
    let taken = |name: &str| {
        own.iter().any(|field| field.name == name) || lists.iter().any(|(list, _)| *list == name)
    };
    let keys = keys.iter().map(|key| key.field(taken));
    let plain = own[..RUN.len()].iter().cloned().chain(keys).chain(own[RUN.len()..].iter().cloned());
    let plain: Vec<Column> = plain.map(Column::Plain).collect();
    plain.into_iter().chain(lists.map(|(name, fields)| Column::Rows(name.to_owned(), fields))).collect()
}

fn text(text: impl Into<String>) -> Option<Value> {
    Some(Value::Text(text.into()))
}

fn count(count: impl Into<u64>) -> Option<Value> {
    Some(Value::Count(count.into()))
}

fn time(time: Option<Duration>) -> Option<Value> {
    time.map(|time| Value::Count(nanos(time)))
}

/// Converts a run to a row.
pub fn row(plan: &Plan, job: &Job, run: &Measured) -> Vec<Cell> {
    let planned = &plan.cases[job.case];
    let case = &planned.case;
    let most = run.shares.most();
    let mut plain = vec![
        count(job.number as u64),
        count(job.case as u64 + 1),
        case.name.as_deref().and_then(text),
        count(job.repeat as u64 + 1),
        count(run.seed),
        Some(Value::Switch(run.release.is_none())),
        run.release.as_deref().and_then(text),
        Some(Value::Switch(run.invalid.is_empty())),
        if run.invalid.is_empty() { None } else { text(run.invalid.join("\n")) },
    ];
    plain.extend(plan.keys.iter().map(|key| key.value(case)));
    plain.extend(NUMBERS.iter().map(|number| number.value(run)));
    plain.extend([
        most.and_then(|(cause, _)| text(cause.to_string())),
        most.map(|(_, share)| Value::Number(share)),
    ]);
    let scenario = &planned.scenarios[job.repeat];
    let flows = scenario.flows.iter().zip(&run.totals).map(|(flow, total)| flow_row(&flow.name, total));
    let waits = run.waits.iter().filter_map(|waited| {
        let flow = scenario.flows.get(waited.flow)?;
        let host = scenario.host(if waited.end == End::A { flow.client } else { flow.server });
        Some(wait_row(text(&flow.name), text(&host.name), &waited.spread))
    });
    let all = run.at_receivers.iter().map(|spread| wait_row(None, None, spread));
    let causes =
        run.shares.each().map(|(cause, share)| vec![text(cause.to_string()), Some(Value::Number(share))]);
    let lists = [flows.collect(), waits.chain(all).collect(), causes.collect()];
    plain.into_iter().map(Cell::Plain).chain(lists.map(Cell::Rows)).collect()
}

fn flow_row(name: &str, total: &Total) -> Vec<Option<Value>> {
    let at = |at: Instant| Value::Count(at.nanos().cast_unsigned());
    vec![
        text(name),
        count(total.connections),
        count(total.bytes.get()),
        total.span.map(|(begin, _)| at(begin)),
        total.span.map(|(_, end)| at(end)),
        total.rate().map(|rate: Rate| Value::Count(rate.get())),
        count(total.retransmits),
        count(total.timeouts),
        time(total.smoothed_rtt),
        time(total.least_rtt),
    ]
}

fn wait_row(flow: Option<Value>, host: Option<Value>, spread: &Spread) -> Vec<Option<Value>> {
    let times = [spread.median, spread.p99, spread.longest].map(|of| time(Some(of)));
    let before = [flow, host, text(spread.on.name()), count(spread.count)];
    before.into_iter().chain(times).chain(spread.classes.map(count)).collect()
}

/// Converts a row to a run; `None` if it is not a run of this job.
pub fn run(plan: &Plan, job: &Job, row: &[Cell]) -> Option<Measured> {
    let numbers = plan.keys.len() + NUMBERS.len() + BOUND.len();
    let (plain, rest) = row.split_at_checked(RUN.len())?;
    let [Cell::Rows(flows), Cell::Rows(waits), Cell::Rows(causes)] = rest.get(numbers..)? else {
        return None;
    };
    let plain = |place: usize| match plain.get(place) {
        Some(Cell::Plain(value)) => value.as_ref(),
        _ => None,
    };
    let scenario = &plan.cases[job.case].scenarios[job.repeat];
    let seed = as_count(plain(4))?;
    if as_count(plain(0))? != job.number as u64
        || seed != scenario.seed
        || flows.len() != scenario.flows.len()
    {
        return None;
    }
    let release = as_text(plain(6)).map(str::to_owned);
    if release.is_some() != job.is_real {
        return None;
    }
    let waits = waits
        .iter()
        .map(|row| Some((as_text(row.first()?.as_ref()), as_text(row.get(1)?.as_ref()), spread(row)?)));
    let waits = waits.collect::<Option<Vec<_>>>()?;
    let waited = |(flow, host, spread): &(Option<&str>, Option<&str>, Spread)| {
        let flow = scenario.flows.iter().position(|one| Some(one.name.as_str()) == *flow)?;
        let at_client = Some(scenario.host(scenario.flows[flow].client).name.as_str()) == *host;
        Some(Waited { flow, end: if at_client { End::A } else { End::B }, spread: *spread })
    };
    Some(Measured {
        totals: flows.iter().map(|row| total(row)).collect::<Option<_>>()?,
        waits: waits.iter().filter(|(flow, ..)| flow.is_some()).map(waited).collect::<Option<_>>()?,
        at_receivers: waits.iter().filter(|(flow, ..)| flow.is_none()).map(|(.., spread)| *spread).collect(),
        shares: Shares::of_each(causes.iter().map(|row| share(row)).collect::<Option<Vec<_>>>()?),
        seed,
        // Only runs on the kernel count these.
        undone: release.is_some().then(|| undone(plan, rest)).flatten(),
        release,
        invalid: as_text(plain(8)).map_or_else(Vec::new, |why| why.lines().map(str::to_owned).collect()),
    })
}

/// Undone timeouts, which no other column contains.
fn undone(plan: &Plan, rest: &[Cell]) -> Option<u64> {
    let place = NUMBERS.iter().position(|number| number.column == "timeouts_undone")?;
    match rest.get(plan.keys.len() + place)? {
        Cell::Plain(value) => as_measured(value.as_ref()),
        Cell::Rows(_) => None,
    }
}

fn as_count(value: Option<&Value>) -> Option<u64> {
    if let Some(Value::Count(count)) = value { Some(*count) } else { None }
}

/// A measured number within the limit, so that sums cannot overflow.
fn as_measured(value: Option<&Value>) -> Option<u64> {
    as_count(value).filter(|count| *count <= MOST)
}

fn as_text(value: Option<&Value>) -> Option<&str> {
    if let Some(Value::Text(text)) = value { Some(text) } else { None }
}

fn total(row: &[Option<Value>]) -> Option<Total> {
    let number = |place: usize| as_measured(row.get(place)?.as_ref());
    let at = |place| number(place).map(|nanos| Instant::from_nanos(nanos.cast_signed()));
    let time = |place| number(place).map(Duration::from_nanos);
    Some(Total {
        connections: number(1)?,
        bytes: Bytes::new(number(2)?),
        span: at(3).zip(at(4)),
        retransmits: number(6)?,
        timeouts: number(7)?,
        smoothed_rtt: time(8),
        least_rtt: time(9),
        datagrams: None,
    })
    .filter(|_| row.iter().flatten().all(|value| !matches!(value, Value::Count(count) if *count > MOST)))
}

fn spread(row: &[Option<Value>]) -> Option<Spread> {
    let number = |place: usize| as_measured(row.get(place)?.as_ref());
    let time = |place| number(place).map(Duration::from_nanos);
    let place = as_text(row.get(2)?.as_ref())?;
    let mut classes = [0; CLASSES.len() + 1];
    for (class, place) in classes.iter_mut().zip(7..) {
        *class = number(place)?;
    }
    Some(Spread {
        on: *Wait::ALL.iter().find(|on| on.name() == place)?,
        count: number(3)?,
        median: time(4)?,
        p99: time(5)?,
        longest: time(6)?,
        classes,
    })
}

fn share(row: &[Option<Value>]) -> Option<(Cause, f64)> {
    let [Some(Value::Text(cause)), Some(Value::Number(share))] = row else { return None };
    let share = Some(*share).filter(|share| (0.0..1.01).contains(share))?;
    Some((*Cause::ALL.iter().find(|one| one.to_string() == *cause)?, share))
}
