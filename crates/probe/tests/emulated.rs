//! Two cells of the grid that `cargo run -p slowpath-probe --example precision` measures in full.

mod precision;

use precision::Cell;

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;

/// The required precision of the results: the RTT in nanoseconds, rates in thousandths.
const ROUND_TRIP_NS: u64 = 200_000;
const PERMILLE: u64 = 100;

/// Other work on this machine makes a measurement worse: one of this many has to be precise.
const ATTEMPTS: usize = 3;

fn check(cell: &Cell) {
    let far: Vec<String> = (0..ATTEMPTS).map_while(|_| error(cell)).collect();
    assert!(far.len() < ATTEMPTS, "{cell:?}: {far:#?}");
}

/// The first result that is too far off, if there is one.
fn error(cell: &Cell) -> Option<String> {
    let found = cell.measure().expect("as root");
    let least = found.round_trip.min_ns.expect("echoes came back");
    if least.abs_diff(cell.round_trip_ns) > ROUND_TRIP_NS {
        return Some(format!("{:?}", found.round_trip));
    }
    let rates = [
        ("capacity", found.capacity.rate.expect("a capacity"), cell.rate),
        ("available", found.available.estimate(), cell.available()),
    ];
    let far = rates.into_iter().find(|(_, found, truth)| found.abs_diff(*truth) * 1000 > truth * PERMILLE);
    far.map(|(what, found, _)| format!("{what} {found}"))
}

#[test]
#[ignore = "needs root, waits"]
fn empty_path_is_measured_within_tolerance() {
    check(&Cell { rate: 100 * MBIT, others: 0, round_trip_ns: MS });
}

#[test]
#[ignore = "needs root, waits"]
fn path_with_cross_traffic_is_measured_within_tolerance() {
    check(&Cell { rate: 100 * MBIT, others: 40 * MBIT, round_trip_ns: 20 * MS });
}
