//! The precision of `slowpath probe` on this machine: the table of the handbook's page. Needs root.
//!
//! `cargo run --release -p slowpath-probe --example precision -- [RATE IN MBIT/S]...`

#[path = "../tests/precision/mod.rs"]
mod precision;

use precision::Cell;
use slowpath_lab::error::LabError;
use slowpath_lab::signals;

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;

fn main() -> Result<(), LabError> {
    signals::clean_up_when_ended()?;
    let only: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    println!("| path | others | RTT | found | capacity found | available | found |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for mbit in [100, 300, 622, 940] {
        if !only.is_empty() && !only.contains(&mbit) {
            continue;
        }
        for others in [0, mbit * 2 / 5] {
            for round_trip_ms in [1, 20] {
                let cell =
                    Cell { rate: mbit * MBIT, others: others * MBIT, round_trip_ns: round_trip_ms * MS };
                row(&cell)?;
            }
        }
    }
    Ok(())
}

fn row(cell: &Cell) -> Result<(), LabError> {
    let found = cell.measure()?;
    let mbit = |rate: u64| rate as f64 / MBIT as f64;
    let off = |found: u64, truth: u64| (found as f64 / truth as f64 - 1.0) * 100.0;
    let (capacity, available) = (found.capacity.rate.unwrap_or(0), &found.available);
    println!(
        "| {:.0} Mbit/s | {:.0} Mbit/s | {:.0} ms | {:.3} ms | {:.0} Mbit/s ({:+.1} %) | {:.0} Mbit/s | {:.0} to {:.0} Mbit/s ({:+.1} %) |",
        mbit(cell.rate),
        mbit(cell.others),
        cell.round_trip_ns as f64 / MS as f64,
        found.round_trip.min_ns.unwrap_or(0) as f64 / MS as f64,
        mbit(capacity),
        off(capacity, cell.rate),
        mbit(cell.available()),
        mbit(available.low),
        mbit(available.high),
        off(available.estimate(), cell.available()),
    );
    if std::env::var_os("SLOWPATH_FLEETS").is_some() {
        eprintln!("{:?}\n{:#?}", found.capacity, available);
    }
    Ok(())
}
