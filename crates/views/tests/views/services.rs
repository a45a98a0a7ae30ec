//! Services are the sums of their flows, in whichever order these come.

use proptest::prelude::*;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, End, Endpoint, FlowId, FlowKey, Instant};
use slowpath_views::services::{By, Listed, Member, Rows, Services};
use std::time::Duration;

/// A flow with what differs between flows.
#[derive(Clone, Debug)]
struct Flow {
    key: FlowKey,
    near: Option<End>,
    bytes: u64,
    first_ms: i64,
    lasted_ms: u64,
    causes: Vec<(Cause, u64)>,
}

fn end(host: u8, port: u16) -> Endpoint {
    Endpoint { address: [192, 0, 2, host].into(), port }
}

fn flow(client: u8, server: u8, port: u16) -> Flow {
    let key = FlowKey { a: end(client, 40_000), b: end(server, port), occurrence: 0 };
    Flow { key, near: None, bytes: 1000, first_ms: 0, lasted_ms: 1000, causes: Vec::new() }
}

fn member(flow: &Flow, file: usize, id: u32) -> Member<'_> {
    let first = Instant::from_nanos(flow.first_ms * 1_000_000);
    Member {
        file,
        id: FlowId(id),
        key: &flow.key,
        near: flow.near,
        process: None,
        bytes: Bytes::new(flow.bytes),
        first,
        last: first.plus_nanos(flow.lasted_ms as i64 * 1_000_000),
        causes: flow.causes.iter().map(|(cause, ms)| (*cause, Duration::from_millis(*ms))).collect(),
        main_cause: flow.causes.first().map(|(cause, _)| *cause),
    }
}

fn listed<'a>(by: By, flows: impl IntoIterator<Item = (usize, u32, &'a Flow)>) -> Listed {
    let mut services = Services::new(by);
    flows.into_iter().for_each(|(file, id, flow)| services.add(&member(flow, file, id)));
    services.listed()
}

fn names(listed: &Listed) -> Vec<String> {
    listed.services.iter().map(|(name, _)| name.text(&["a.pcap", "b.pcap"])).collect()
}

#[test]
fn peer_is_the_host_away_from_the_capture() {
    let near = |flow: Flow, end| Flow { near: Some(end), ..flow };
    // Host 1 is where the capture was made, as two of its flows show.
    let flows = [
        near(flow(1, 2, 80), End::A),
        flow(1, 2, 443),
        flow(3, 1, 22),
        near(flow(4, 1, 22), End::B),
        flow(5, 6, 80),
    ];
    let listed = listed(By::Peer, (1..).zip(&flows).map(|(id, flow)| (0, id, flow)));
    let mut found = names(&listed);
    found.sort();
    assert_eq!(found, ["192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.6"]);
    assert_eq!(listed.all.map(|all| all.flows), Some(5));
}

#[test]
fn time_between_files_counts_for_no_rate() {
    let day_later = Flow { first_ms: 86_400_000, ..flow(1, 2, 80) };
    let flows = [(0, 1, &flow(1, 2, 80)), (1, 1, &day_later)];
    // 8,000 bits in a second, twice.
    let rate = |listed: &Listed| listed.services[0].1.rate().map(slowpath_model::Rate::get);
    assert_eq!(rate(&listed(By::Service, flows)), Some(8000));
    assert_eq!(rate(&listed(By::File, flows)), Some(8000));
    assert_eq!(
        listed(By::File, flows).all.and_then(|all| all.rate()).map(slowpath_model::Rate::get),
        Some(8000)
    );
    assert_eq!(names(&listed(By::File, flows)), ["a.pcap", "b.pcap"]);
    // Of several services in several files, it is unknown which times overlap.
    let others =
        [(0, 1, &flow(1, 2, 80)), (1, 1, &day_later), (1, 2, &flow(1, 3, 80)), (1, 3, &flow(1, 4, 80))];
    let listed = listed(By::Service, others);
    let Rows { own, others } = listed.rows(1);
    let (number, joined) = others.expect("two are joined");
    assert_eq!((own.len(), number.as_str(), joined.flows), (1, "2", 2));
    assert!(joined.rate().is_some(), "both are of one file");
}

/// Limits are counted by their places.
#[test]
fn limits_are_in_the_order_of_their_declaration() {
    assert!(Limit::ALL.into_iter().enumerate().all(|(place, limit)| limit as usize == place));
}

#[test]
fn one_service_is_not_joined() {
    let flows: Vec<Flow> = (1..=4).map(|server| flow(9, server, 80)).collect();
    let listed = listed(By::Service, (1..).zip(&flows).map(|(id, flow)| (0, id, flow)));
    assert!(listed.rows(3).others.is_none() && listed.rows(3).own.len() == 4);
    assert_eq!(
        listed.rows(2).others.map(|(number, joined)| (number, joined.flows)),
        Some(("2".to_owned(), 2))
    );
    assert_eq!(listed.rows(0).own.len(), 0);
}

fn any_flow() -> impl Strategy<Value = Flow> {
    let causes =
        [Cause::SlowReader, Cause::SenderIdle, Cause::SlowStart, Cause::BottleneckFull, Cause::Timeout];
    let causes = proptest::collection::vec((proptest::sample::select(causes.to_vec()), 0..5000u64), 0..4);
    (0..3u8, 3..6u8, 1..4u16, 0..10_000u64, 0..10_000i64, 0..10_000u64, causes).prop_map(
        |(client, server, port, bytes, first_ms, lasted_ms, causes)| {
            let near = [None, Some(End::A), Some(End::B)][usize::from(client)];
            Flow { near, bytes, first_ms, lasted_ms, causes, ..flow(client, server, port) }
        },
    )
}

proptest! {
    #[test]
    fn order_of_flows_does_not_matter(
        flows in proptest::collection::vec(any_flow(), 1..40),
        by in proptest::sample::select(&By::ALL[..]),
        rows in 0..12usize,
    ) {
        let numbered: Vec<_> = (1..).zip(&flows).map(|(id, flow)| (0, id, flow)).collect();
        let (there, back) = (listed(by, numbered.iter().copied()), listed(by, numbered.iter().rev().copied()));
        prop_assert_eq!(format!("{:?}", there), format!("{:?}", back));
        let all = there.all.clone().expect("flows");
        prop_assert_eq!(all.flows, flows.len() as u64);
        prop_assert_eq!(all.bytes.get(), flows.iter().map(|flow| flow.bytes).sum::<u64>());
        let lost: u64 = flows.iter().flat_map(|flow| &flow.causes).filter(|(cause, _)| cause.is_loss()).map(|(_, ms)| ms).sum();
        prop_assert_eq!(all.lost, Duration::from_millis(lost));
        let spent: u64 = flows.iter().flat_map(|flow| &flow.causes).map(|(_, ms)| ms).sum();
        prop_assert_eq!(all.limits().iter().map(|(_, lasted, _)| *lasted).sum::<Duration>(), Duration::from_millis(spent));
        // The rows have all of it, and the worst flow of all is the worst of a row.
        let shown = there.rows(rows);
        prop_assert_eq!(shown.totals().map(|totals| totals.flows).sum::<u64>(), all.flows);
        prop_assert_eq!(shown.totals().map(|totals| totals.lost).sum::<Duration>(), all.lost);
        prop_assert!(shown.totals().any(|totals| totals.worst == all.worst));
        prop_assert!(shown.own.is_sorted_by(|(_, one), (_, next)| (one.lost, one.bytes) >= (next.lost, next.bytes)));
    }
}
