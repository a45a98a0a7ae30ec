//! A copy over the lab's emulated path, on this machine's kernel, compared with iperf3, scp and rsync on that path.

mod emulated_path;

use emulated_path::{Cell, Program};
use slowpath_model::statistics::median;
use std::time::Duration;

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[test]
#[ignore = "needs root, waits"]
fn copy_fills_an_emulated_path() {
    let cell = Cell { rate_mbit: 100, rtt: ms(40), loss_ppm: 0, amount: 64 << 20 };
    let rates = cell.rates(&[Program::Copy, Program::Iperf3], 1).expect("as root");
    let (copy, iperf3) = (rates[0][0], rates[1][0]);
    assert!(copy > 0.85 * iperf3, "copy {copy:.1} Mbit/s, iperf3 {iperf3:.1} Mbit/s");
}

/// The table of the handbook's page. `SLOWPATH_COPIES` is the number of runs of each; without it, nothing is run.
/// `SLOWPATH_COPY_PROGRAMS` names some of the programs, separated by semicolons.
#[test]
#[ignore = "needs root, waits"]
fn table_of_copies() {
    let Some(runs) = std::env::var("SLOWPATH_COPIES").ok().and_then(|text| text.parse().ok()) else { return };
    let programs = [
        Program::Copy,
        Program::CopyDrs,
        Program::CopyHints,
        Program::CopyHintsFixed,
        Program::CopyOne,
        Program::Iperf3,
        Program::Iperf3Many,
        Program::Scp,
        Program::Rsync,
    ];
    let only = std::env::var("SLOWPATH_COPY_PROGRAMS").unwrap_or_default();
    let programs: Vec<Program> = programs
        .into_iter()
        .filter(|program| only.is_empty() || only.split(';').any(|name| name == program.to_string()))
        .collect();
    let place = |program| programs.iter().position(|one| *one == program);
    let names: Vec<String> = programs.iter().map(ToString::to_string).collect();
    println!("| path | {} | copy / iperf3 |", names.join(" | "));
    println!("| --- | {}--- |", "--- | ".repeat(names.len()));
    for loss_ppm in [0, 100] {
        for rtt in [10, 50, 100] {
            let cell = Cell { rate_mbit: 1000, rtt: ms(rtt), loss_ppm, amount: 1 << 30 };
            let rates = cell.rates(&programs, runs).expect("as root");
            let medians: Vec<f64> = rates.into_iter().map(|rates| median(rates).expect("runs")).collect();
            let shown: Vec<String> = medians.iter().map(|rate| format!("{rate:.0}")).collect();
            let ratio = place(Program::Copy)
                .zip(place(Program::Iperf3))
                .map(|(copy, iperf3)| medians[copy] / medians[iperf3]);
            let ratio = ratio.map_or_else(String::new, |ratio| format!("{:.0} %", ratio * 100.0));
            println!("| {cell} | {} | {ratio} |", shown.join(" | "));
        }
    }
}
