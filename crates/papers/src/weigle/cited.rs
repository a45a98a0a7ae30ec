//! The factors of section II, which the paper cites from the techniques' own papers: how much faster than untuned each
//! is.
//!
//! The paper does not say on which path or machines they were measured, except for the delay of DRS FTP's. So each is
//! shown for all delays of the paper's own grid and judged for none: a factor grows with the path's bandwidth-delay
//! product over the untuned buffer.

use super::grid::DELAYS;
use crate::PaperCase;
use crate::measure::{FlowMeasures, spread};
use crate::report::{Cell, Judged, Table};
use crate::tunings::{Path, Technique};
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// A factor as the paper cites it.
struct Cited {
    row: &'static str,
    quantity: &'static str,
    /// The faster one, and the one that it is compared with.
    techniques: [Technique; 2],
    /// The range; both ends are the same for a single number.
    published: [f64; 2],
    /// The delay, where the paper gives it; otherwise it is unknown.
    delay: Option<u32>,
    /// Connections. PSC's factor is for "small numbers" of them.
    streams: u32,
}

const fn cited(
    [row, quantity]: [&'static str; 2],
    techniques: [Technique; 2],
    published: [f64; 2],
    (delay, streams): (Option<u32>, u32),
) -> Cited {
    Cited { row, quantity, techniques, published, delay, streams }
}

const CITED: [Cited; 6] = {
    use Technique::{DrsFtp, Enable, Linux24, Manual, None as Untuned, Psc};
    let at = Some(100_000);
    [
        cited(["PSC", "factor over untuned, 1 connection"], [Psc, Untuned], [10.0, 20.0], (None, 1)),
        cited(["PSC", "factor over untuned, 4 connections"], [Psc, Untuned], [10.0, 20.0], (None, 4)),
        cited(["Enable", "factor over untuned"], [Enable, Untuned], [10.0, 20.0], (None, 1)),
        cited(["Enable", "factor over Linux 2.4"], [Enable, Linux24], [2.0, 3.0], (None, 1)),
        cited(["DRS FTP", "factor over untuned"], [DrsFtp, Untuned], [6.0, 6.0], (at, 1)),
        cited(["optimally tuned", "factor over untuned"], [Manual, Untuned], [8.0, 8.0], (at, 1)),
    ]
};

/// A run: a technique, a delay and a number of connections.
type Run = (Technique, u32, u32);

/// The runs that the factors need, each once.
fn runs_needed() -> Vec<Run> {
    let mut needed: Vec<Run> = Vec::new();
    for of in &CITED {
        for delay in DELAYS {
            for technique in of.techniques {
                let run = (technique, delay, of.streams);
                if !needed.contains(&run) {
                    needed.push(run);
                }
            }
        }
    }
    needed
}

/// The path: the grid's gigabit, delay and amount.
fn path(delay: u32, streams: u32) -> Path {
    Path {
        rate: Rate::mbit(1000),
        delay: Duration::from_micros(delay.into()),
        streams,
        memory: None,
        amount: Bytes::new(128 << 20),
    }
}

/// The experiments.
pub fn cases() -> impl Iterator<Item = PaperCase> {
    runs_needed().into_iter().map(|(technique, delay, streams)| {
        let case = technique.case(&path(delay, streams));
        let milliseconds = f64::from(delay) / 1000.0;
        let connections = if streams == 1 { "connection" } else { "connections" };
        PaperCase {
            name: format!("section II, {}, {milliseconds} ms, {streams} {connections}", case.name),
            ..case
        }
    })
}

/// The factors, a row for each delay, from the runs of [`cases`].
pub fn table(runs: &[Vec<FlowMeasures>]) -> Table {
    let needed = runs_needed();
    let rates = |run: Run| {
        let at = needed.iter().position(|one| *one == run);
        at.and_then(|at| runs.get(at)).map_or([f64::NAN; 3], |runs| spread(runs, FlowMeasures::rate))
    };
    let cells = CITED.iter().flat_map(|of| {
        DELAYS.iter().map(move |&delay| {
            let [[least, ours, most], [slowest, other, fastest]] =
                of.techniques.map(|technique| rates((technique, delay, of.streams)));
            let [from, to] = of.published;
            // Where the delay is known, the number is that delay's.
            let published = of.delay.is_none_or(|known| known == delay).then_some(from);
            Cell {
                published_most: published.filter(|_| to > from).map(|_| to),
                ..Cell::new(
                    format!("{}, {} ms", of.row, f64::from(delay) / 1000.0),
                    of.quantity,
                    published,
                    [least / fastest, ours / other, most / slowest],
                    Judged::Shown,
                )
            }
        })
    });
    Table {
        name: "Section II",
        about: "factors cited from the techniques' papers, whose paths and machines are not known; ours: a gigabit, 128 MiB, \
                today's kernel with only the technique changed",
        cells: cells.collect(),
    }
}
