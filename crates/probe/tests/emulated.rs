//! Two cells of the grid that `cargo run -p slowpath-probe --example precision` measures whole.

mod precision;

use precision::Cell;

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;

/// What is found is to be this close: the round trip in nanoseconds, rates in thousandths.
const ROUND_TRIP_NS: u64 = 200_000;
const PERMILLE: u64 = 100;

fn check(cell: &Cell) {
    let found = cell.measure().expect("as root");
    let least = found.round_trip.min_ns.expect("echoes came back");
    assert!(least.abs_diff(cell.round_trip_ns) <= ROUND_TRIP_NS, "{cell:?}: {:?}", found.round_trip);
    for (what, found, truth) in [
        ("capacity", found.capacity.rate.expect("a capacity"), cell.rate),
        ("available", found.available.estimate(), cell.available()),
    ] {
        assert!(found.abs_diff(truth) * 1000 <= truth * PERMILLE, "{cell:?}: {what} {found}");
    }
}

#[test]
#[ignore = "needs root"]
fn an_empty_path() {
    check(&Cell { rate: 100 * MBIT, others: 0, round_trip_ns: MS });
}

#[test]
#[ignore = "needs root"]
fn a_path_with_others_on_it() {
    check(&Cell { rate: 100 * MBIT, others: 40 * MBIT, round_trip_ns: 20 * MS });
}
