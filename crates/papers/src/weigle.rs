//! Weigle 2002, A Comparison of TCP Automatic Tuning Techniques for Distributed Computing: 128 messages of a megabyte
//! over a gigabit link, with three kernels that size their buffers in three ways.
//!
//! - `grid`: the experiments.
//! - `results`: their results, and the best sizes.
//! - `cited`: the factors that the paper cites from others.
//! - `claims`: the paper's claims, and whether they hold here.

mod cited;
mod claims;
mod grid;
mod results;

use crate::PaperCase;
use crate::figure::{Axis, Figure, Series};
use crate::measure::FlowMeasures;
use crate::report::{Cell, Judged, Report, Table};
use grid::{ALL_SIZES, AUTO, DELAYS, DRS, KERNELS, NONE, STREAMS, Tuned};
use results::Results;

/// The paper's experiments, and those of the factors that it cites.
pub fn cases() -> Vec<PaperCase> {
    grid::cases().chain(cited::cases()).collect()
}

/// The paper's tables, figures and claims next to the results of each case's runs.
pub fn report(runs: &[Vec<FlowMeasures>]) -> Report {
    let results = Results::new(runs);
    let beyond = runs.get(grid::points().len()..).unwrap_or_default();
    Report {
        tables: vec![cited::table(beyond), equations(&results), eight_processes(&results)],
        figures: figures(&results),
        claims: claims::of(&results),
        runs: grid::described(),
        ..Report::simulated(
            "weigle",
            "Weigle 2002, A Comparison of TCP Automatic Tuning Techniques for Distributed Computing",
            runs,
        )
    }
}

/// The coefficients of the three equations for untuned buffers, in kbit: the rate is processes times the coefficient
/// over the delay.
const COEFFICIENTS: [f64; 3] = [214.0, 467.0, 355.0];

fn equations(results: &Results) -> Table {
    let cells = KERNELS.iter().zip(COEFFICIENTS).enumerate().map(|(kernel, (named, published))| {
        // This coefficient was used to determine that half of a buffer is window.
        let judged = if kernel == DRS { Judged::Fitted } else { Judged::Share };
        Cell::new(
            named.name,
            "rate × delay / processes, kbit",
            published,
            results.coefficient(kernel),
            judged,
        )
    });
    let about = "the rate with buffers as they are, at 25 to 100 ms";
    Table { name: "Equations of section IV-C", about, cells: cells.collect() }
}

fn eight_processes(results: &Results) -> Table {
    let cells = [(50_000, 310.0, "50 ms"), (100_000, 180.0, "100 ms")].map(|(delay, published, row)| {
        let ours = results.rate(DRS, delay, 8, results.bound(delay));
        Cell::new(row, "throughput, Mbit/s", published, ours, Judged::Share)
    });
    let about = "eight processes with DRS, kernel-only tuning";
    Table { name: "Section IV-C", about, cells: cells.into() }
}

/// A figure over the number of processes: its name, subject, delay, tuning, and what the paper says.
type OverProcesses = (&'static str, &'static str, u32, Shown, &'static str);

/// The content of a figure over the number of processes.
#[derive(Clone, Copy)]
enum Shown {
    Untuned,
    Kernel,
    Ideal,
}

const OVER_PROCESSES: [OverProcesses; 8] = [
    (
        "Figure 2",
        "no tuning, 0.5 ms",
        DELAYS[0],
        Shown::Untuned,
        "2.4 is at least 100 Mbit/s faster than 2.2, DRS 30 to 50 faster than 2.4; processes side by side gain 55 to 70 %",
    ),
    (
        "Figure 3",
        "kernel-only tuning, 0.5 ms",
        DELAYS[0],
        Shown::Kernel,
        "2.4 gains 30 to 50 Mbit/s; DRS gains with one process and two, and loses with more",
    ),
    (
        "Figure 4",
        "user and kernel tuning, 0.5 ms",
        DELAYS[0],
        Shown::Ideal,
        "2.4 with and without DRS are alike, 2.2 is slower",
    ),
    (
        "Figure 6",
        "no tuning, 25 ms",
        DELAYS[1],
        Shown::Untuned,
        "less than 20 Mbit/s for one process, and as many times as much for more; 2.4 is ahead of DRS",
    ),
    (
        "Figure 7",
        "kernel-only tuning, 25 ms",
        DELAYS[1],
        Shown::Kernel,
        "DRS is far ahead, and falls with more processes; the others are as without tuning",
    ),
    (
        "Figure 8",
        "user and kernel tuning, 25 ms",
        DELAYS[1],
        Shown::Ideal,
        "all gain; DRS is 150 Mbit/s ahead of 2.4, and falls at two and four processes",
    ),
    (
        "Figure 9",
        "user and kernel tuning, 50 ms",
        DELAYS[2],
        Shown::Ideal,
        "2.4 with and without DRS are alike, 2.2 is slower",
    ),
    (
        "Figure 10",
        "user and kernel tuning, 100 ms",
        DELAYS[3],
        Shown::Ideal,
        "as at 50 ms, and they differ less",
    ),
];

const RATE: Axis = Axis::linear("throughput", "Mbit/s");

fn figures(results: &Results) -> Vec<Figure> {
    let over_processes = OVER_PROCESSES.into_iter().map(|(name, about, delay, shown, says)| {
        let rates = |kernel| {
            STREAMS.map(|streams| {
                let rate = match shown {
                    Shown::Untuned => results.rate(kernel, delay, streams, Tuned::Nothing),
                    Shown::Kernel => results.rate(kernel, delay, streams, results.bound_of(kernel, delay)),
                    Shown::Ideal => results.ideal(kernel, delay, streams).1,
                };
                (f64::from(streams), rate)
            })
        };
        let series = [NONE, AUTO, DRS].map(|kernel| Series::of_runs(KERNELS[kernel].name, rates(kernel)));
        let medians = |kernel: usize| {
            let rates = rates(kernel).map(|(_, [_, median, _])| format!("{median:.0}"));
            format!("{} {}", KERNELS[kernel].name, rates.join(", "))
        };
        let seen = format!("{}; {}; {} Mbit/s", medians(NONE), medians(AUTO), medians(DRS));
        let x = Axis::linear("processes", "");
        Figure { name, about, x, y: RATE, series: series.into(), says, seen }
    });
    let mut figures: Vec<Figure> = over_processes.collect();
    figures.insert(3, over_sizes(results));
    figures
}

fn over_sizes(results: &Results) -> Figure {
    let series = STREAMS.map(|streams| {
        let name = if streams == 1 { "1 process".to_owned() } else { format!("{streams} processes") };
        let points = ALL_SIZES.map(|size| {
            let rate = results.rate(AUTO, DELAYS[0], streams, Tuned::Both(size));
            (f64::from(size) / 1024.0, rate)
        });
        Series::of_runs(name, points)
    });
    let best = STREAMS.map(|streams| grid::size(results.ideal(AUTO, DELAYS[0], streams).0));
    Figure {
        name: "Figure 5",
        about: "buffers from 8 KB to 64 MB, 2.4.17-Auto, user and kernel tuning, 0.5 ms",
        x: Axis::logarithmic("buffers", "KiB"),
        y: RATE,
        series: series.into(),
        says: "the most is reached with more than the 64 KB that one would expect, on the order of 1 MB",
        seen: format!("the best for 1, 2, 4 and 8 processes: {}", best.join(", ")),
    }
}
