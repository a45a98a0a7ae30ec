//! Intervals of connections, without a host.

use super::*;
use slowpath_model::Endpoint;

const SECOND: Duration = Duration::from_secs(1);

fn at(last: u8, port: u16) -> Endpoint {
    Endpoint { address: [192, 0, 2, last].into(), port }
}

/// A connection from a server on this host to a client, with what it did in a second.
fn flow(id: u32, causes: &[(Cause, u64)]) -> FlowNow<'static> {
    let mut figures = Figures { bytes: 1000, retransmitted: Some(1), causes: Vec::new() };
    causes.iter().for_each(|(cause, ms)| figures.held(*cause, Duration::from_millis(*ms)));
    let port = 10_000 + (id % 50_000) as u16;
    FlowNow {
        id: FlowId(id),
        key: FlowKey { a: at((id % 5) as u8, port), b: at(200, 443), occurrence: 0 },
        sender: End::B,
        near: Some(End::B),
        process: None,
        cgroup: None,
        figures,
        pending: None,
        numbers: Numbers::default(),
    }
}

fn second(flows: &mut Flows, seconds: u64, reports: Vec<FlowNow<'_>>) {
    let (at, host) = (SECOND * seconds as u32, HostNow::default());
    flows.take(Interval { at, lasted: SECOND, flows: reports, not_kept: 0, host }, &Focus::default(), false);
}

fn lost(flows: &Flows) -> Vec<(Key, u64)> {
    let rows = &flows.back(0).expect("a moment").rows;
    rows.iter().map(|row| (row.key.clone(), row.figures.lost().as_millis() as u64)).collect()
}

const SLOW: Cause = Cause::SlowReader;
const IDLE: Cause = Cause::SenderIdle;

/// The order is that of the last three seconds: what was lost before does not count.
#[test]
fn rows_are_of_the_last_seconds() {
    let mut flows = Flows::new(None);
    second(&mut flows, 1, vec![flow(1, &[(SLOW, 1000)]), flow(2, &[(IDLE, 1000)])]);
    assert_eq!(lost(&flows), [(Key::Flow(FlowId(1)), 1000), (Key::Flow(FlowId(2)), 0)]);
    for seconds in 2..=4 {
        second(&mut flows, seconds, vec![flow(1, &[(IDLE, 1000)]), flow(2, &[(SLOW, 200)])]);
    }
    assert_eq!(lost(&flows), [(Key::Flow(FlowId(2)), 600), (Key::Flow(FlowId(1)), 0)]);
    let moment = flows.back(0).expect("a moment");
    assert_eq!((moment.window, moment.all.bytes, moment.all.retransmitted), (SECOND * 3, 6000, Some(6)));
}

/// A sender that waits without a segment has no reports: the time is shown while it passes, and once.
#[test]
fn waiting_time_is_shown_before_it_is_reported() {
    let mut flows = Flows::new(None);
    let waiting = |ms: u64| FlowNow { pending: Some((SLOW, Duration::from_millis(ms))), ..flow(1, &[]) };
    let step = |flows: &Flows| {
        let causes = &flows.flows[&FlowId(1)].steps.back().expect("a step").causes;
        causes.iter().map(|(cause, lasted)| (*cause, lasted.as_millis() as u64)).collect::<Vec<_>>()
    };
    second(&mut flows, 1, vec![waiting(600)]);
    assert_eq!(step(&flows), [(SLOW, 600)]);
    second(&mut flows, 2, vec![waiting(1600)]);
    assert_eq!(step(&flows), [(SLOW, 1000)]);
    // The segment came: its record has all of it, and what came then.
    second(&mut flows, 3, vec![flow(1, &[(SLOW, 1900), (IDLE, 700)])]);
    assert_eq!(step(&flows), [(SLOW, 300), (IDLE, 700)]);
    second(&mut flows, 4, vec![waiting(400)]);
    assert_eq!(step(&flows), [(SLOW, 400)]);
    // The record has another cause: the sum of the time counts.
    second(&mut flows, 5, vec![flow(1, &[(IDLE, 1400)])]);
    assert_eq!(step(&flows), [(IDLE, 1000)]);
    // It waited long before the watch began: no more than a second of it is of the last second.
    second(&mut flows, 6, vec![waiting(60_000)]);
    assert_eq!(step(&flows), [(SLOW, 1000)]);
}

#[test]
fn ended_connections_leave_after_the_last_seconds() {
    let mut flows = Flows::new(None);
    second(&mut flows, 1, vec![flow(1, &[(SLOW, 1000)])]);
    for (seconds, rows) in [(2, 1), (3, 1), (4, 0)] {
        second(&mut flows, seconds, Vec::new());
        assert_eq!(flows.back(0).expect("a moment").rows.len(), rows, "after {seconds} s");
    }
    assert!(flows.flows.is_empty(), "nothing is kept of it but rows of earlier seconds");
    assert_eq!(flows.back(3).expect("it is kept").rows.len(), 1);
}

#[test]
fn services_sum_up_their_connections() {
    let mut flows = Flows::new(Some(By::Client));
    let reports = (0..10).map(|id| flow(id, &[(SLOW, u64::from(id % 5) * 100)])).collect();
    second(&mut flows, 1, reports);
    let services = &flows.back(0).expect("a moment").services;
    let found: Vec<_> = services
        .iter()
        .map(|row| {
            let Key::Service(name) = &row.key else { panic!("{row:?}") };
            (name.text(&[]), row.flows, row.figures.lost().as_millis(), row.figures.bytes)
        })
        .collect();
    let row = |name: &str, lost| (name.to_owned(), 2, lost, 2000);
    let expected = [row("192.0.2.4", 800), row("192.0.2.3", 600), row("192.0.2.2", 400)];
    assert_eq!(found[..3], expected);
    // One service open: its connections have the rows.
    let service = Some(Name::Host(at(3, 0).address));
    flows.look_at(&Focus { service, ..Focus::default() });
    let moment = flows.back(0).expect("a moment");
    let ids: Vec<_> = moment.rows.iter().map(|row| row.key.clone()).collect();
    assert_eq!(ids, [Key::Flow(FlowId(3)), Key::Flow(FlowId(8))]);
    assert_eq!((moment.services.len(), moment.flows), (5, 10), "the services stay");
}

#[test]
fn a_filter_leaves_connections_out() {
    let mut flows = Flows::new(None);
    second(&mut flows, 1, (0..10).map(|id| flow(id, &[(SLOW, 100)])).collect());
    let filter = Some("host 192.0.2.3".parse().expect("a filter"));
    flows.look_at(&Focus { filter, ..Focus::default() });
    let moment = flows.back(0).expect("a moment");
    assert_eq!((moment.flows, moment.left_out, moment.rows.len(), moment.all.bytes), (2, 8, 2, 2000));
}

/// However many connections there are and however long: rows are bounded, all are counted, and an open one has its row.
#[test]
fn ten_thousand_connections_have_bounded_rows() {
    const MANY: u32 = 10_000;
    let mut flows = Flows::new(Some(By::Port));
    for seconds in 1..=5 {
        second(&mut flows, seconds, (0..MANY).map(|id| flow(id, &[(SLOW, u64::from(id) / 10)])).collect());
    }
    let last = flows.back(0).expect("a moment");
    assert_eq!((last.rows.len(), last.more), (MOST_ROWS, MANY as usize - MOST_ROWS));
    assert_eq!((last.flows, last.services.len(), last.services[0].flows), (MANY.into(), 1, MANY.into()));
    assert_eq!(last.all.bytes, u64::from(MANY) * 3000, "each counts, with a row or without");
    assert_eq!(last.rows[0].key, Key::Flow(FlowId(9990)));
    let before = flows.back(1).expect("a moment");
    assert_eq!((before.rows.len(), before.more), (ROWS_KEPT, MANY as usize - ROWS_KEPT));
    flows.look_at(&Focus { flow: Some(FlowId(0)), ..Focus::default() });
    let last = flows.back(0).expect("a moment");
    assert_eq!((last.rows.len(), &last.rows[MOST_ROWS - 1].key), (MOST_ROWS, &Key::Flow(FlowId(0))));
}

/// New connections every second for an hour: what is kept does not grow.
#[test]
fn an_hour_keeps_ten_minutes() {
    let mut flows = Flows::new(None);
    for seconds in 1..=3600 {
        let new = (0..40).map(|n| flow(seconds as u32 * 40 + n, &[(SLOW, 10)])).collect();
        second(&mut flows, seconds, new);
        assert!(flows.flows.len() <= 40 * WINDOW && flows.moments() <= MOST_MOMENTS);
    }
    assert_eq!(flows.moments(), MOST_MOMENTS);
    let first = flows.back(MOST_MOMENTS - 1).expect("the first one kept");
    assert_eq!(first.at, SECOND * 3001);
    assert!(flows.back(MOST_MOMENTS).is_none());
}

#[test]
fn rates_are_shares_of_the_highest() {
    let mut rates = [0; RATES];
    assert_eq!(eighths(&rates), [0; RATES]);
    (rates[0], rates[1], rates[2]) = (u64::MAX, u64::MAX / 2, 1);
    assert_eq!(eighths(&rates)[..4], [8, 4, 1, 0]);
}

/// Processes of a pod share a row, whatever containers they are in; those of none have one too.
#[test]
fn pods_and_control_groups_have_rows() {
    const UID: &str = "0f2c1d3e-1111-2222-3333-444455556666";
    let group = |path: &str| Rc::new(Cgroup::read(&format!("0::{path}\n")).expect("a group"));
    let pod = ["first", "second"].map(|container| group(&format!("/kubepods/pod{UID}/{container}")));
    let system = group("/system.slice/nginx.service");
    let groups = [Some(&pod[0]), Some(&pod[1]), Some(&system), None];
    for (by, expected) in [
        (By::Pod, vec![(None, 2), (Some(UID.to_owned()), 2)]),
        (
            By::Cgroup,
            vec![(None, 1), (Some(format!("/kubepods/pod{UID}")), 2), (Some(system.path.clone()), 1)],
        ),
    ] {
        let mut flows = Flows::new(Some(by));
        let each = groups.iter().zip(1..).map(|(cgroup, id)| FlowNow { cgroup: *cgroup, ..flow(id, &[]) });
        second(&mut flows, 1, each.collect());
        let services = &flows.back(0).expect("a moment").services;
        let mut rows: Vec<_> = services.iter().map(|row| (row.key.clone(), row.flows)).collect();
        rows.sort();
        let expected = expected
            .into_iter()
            .map(|(name, flows)| (Key::Service(Name::Group(name.map(|name| name.as_str().into()))), flows));
        assert_eq!(rows, expected.collect::<Vec<_>>(), "{by:?}");
    }
}
