//! Formats the numbers of a sweep.

use crate::quantity::{count, duration, share};
use slowpath_model::{Bytes, Rate};
use slowpath_runs::Measured;
use slowpath_runs::sweep::{Kind, Number, Unit};
use std::time::Duration;

/// Formats a number for a table.
pub fn write(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::Rate => rate,
        Unit::Count => whole,
        Unit::Data => data,
        Unit::Share => share,
        Unit::Time => time,
    }
}

/// Formats a number for an axis, where it may lie between those of runs.
pub fn write_on_axis(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::Count => count_on_axis,
        Unit::Share => percent,
        Unit::Rate | Unit::Data | Unit::Time => write(unit),
    }
}

/// Formats a key's value for an axis.
pub fn write_key(kind: Kind) -> fn(f64) -> String {
    match kind {
        Kind::Time => time,
        Kind::Rate => rate,
        Kind::Data => data,
        Kind::Chance => percent,
        Kind::Packets | Kind::Products | Kind::Whole | Kind::Plain | Kind::Switch | Kind::Text => rounded,
    }
}

/// The median of some runs; `-` if it is unknown.
pub fn median(number: &Number, runs: &[Measured]) -> String {
    number.median(runs).map_or_else(|| "-".to_owned(), write(number.unit))
}

/// Formats a rate in bit/s.
fn rate(rate: f64) -> String {
    Rate::bits_per_second(rate.round() as u64).to_string()
}

/// Formats a time in seconds.
fn time(seconds: f64) -> String {
    duration(Duration::from_secs_f64(seconds.max(0.0)))
}

/// Formats an amount of data in bytes.
fn data(bytes: f64) -> String {
    Bytes::new(bytes.round() as u64).to_string()
}

/// Formats a share in percent, to a millionth.
fn percent(part: f64) -> String {
    format!("{} %", (part * 1e6).round() / 1e4)
}

/// Drops the last digits, which are rounding errors.
fn rounded(number: f64) -> String {
    format!("{}", (number * 1e9).round() / 1e9)
}

fn count_on_axis(number: f64) -> String {
    if number.fract() == 0.0 { whole(number) } else { rounded(number) }
}

fn whole(number: f64) -> String {
    count(number as u64)
}
