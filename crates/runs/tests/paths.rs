//! What the path store learns from the labelled captures, next to the path that the lab made.

use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_paths::entry::{Measure, PARTS, Source};
use slowpath_paths::learned::Transfers;
use slowpath_runs::input::analyse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The path of a case, by its name: the lowest rate that it names, such as that of a policer, and that of the link, in Mbit/s;
/// the RTT in ms, which comes first; and the loss of packets at random, in parts per billion.
fn truth(name: &str) -> Option<([u64; 2], u64, Option<u64>)> {
    let numbers = |unit: &'static str| {
        name.split('-').filter_map(move |part| part.strip_suffix(unit)?.parse::<u64>().ok())
    };
    let loss = numbers("ppm")
        .next()
        .filter(|_| name.contains("random-loss"))
        .map(|parts| parts * (PARTS / 1_000_000));
    Some(([numbers("mbit").min()?, numbers("mbit").max()?], numbers("ms").next()?, loss))
}

fn learned(file: &Path) -> Vec<(Measure, u64)> {
    let read = analyse(file, None, &|| Box::new(|_, _| ()), || Analysis::new(AnalysisOptions::default()));
    let (_, _, analysis) = read.expect("a capture");
    let mut transfers = Transfers::new(1, Source::Capture);
    let mut senders = BTreeSet::new();
    analysis.finish_each(|flow| {
        senders.insert(flow.key.endpoint(flow.sender).address);
        transfers.add(&flow);
    });
    let entries = transfers.finish().into_iter().filter(|entry| senders.contains(&entry.from));
    entries.map(|entry| (entry.measure, entry.value)).collect()
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/shipped")
}

#[test]
fn values_of_labelled_captures_are_those_of_their_paths() {
    let (mut wrong, mut seen) = (Vec::new(), [0; Measure::ALL.len()]);
    let mut cases: Vec<_> =
        shipped().read_dir().expect("captures").map(|case| case.expect("a case").path()).collect();
    cases.sort_unstable();
    for case in cases {
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(([lowest, mbit], ms, loss)) = truth(&name) else { continue };
        for end in ["sender", "receiver"] {
            let file = ["pcap.zst", "pcapng.zst"].map(|kind| case.join(format!("{end}.{kind}")));
            let Some(file) = file.into_iter().find(|file| file.exists()) else { continue };
            for (measure, value) in learned(&file) {
                seen[measure as usize] += 1;
                let is_right = match measure {
                    Measure::RttMin => value.abs_diff(ms * 1_000_000) <= ms * 100_000 + 1_000_000,
                    Measure::Rtt => value + 1_000_000 >= ms * 1_000_000,
                    // Payload is 95 % of the packets; nothing is faster than the link.
                    Measure::Available => (lowest * 650_000..=mbit * 1_000_000).contains(&value),
                    Measure::Delivered => value <= mbit * 1_000_000,
                    // By chance, and with losses of full queues.
                    Measure::Loss => {
                        loss.map_or(value < PARTS / 10, |loss| (loss / 3..=loss * 5 / 2).contains(&value))
                    }
                    Measure::Mtu => [576, 1280, 1400, 1420, 1500, 9000].contains(&value),
                    Measure::Capacity => false,
                };
                if !is_right {
                    wrong.push(format!("{name}, {end}: {} {value}", measure.slug()));
                }
            }
        }
    }
    println!("{seen:?} values");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen[Measure::RttMin as usize] > 50 && seen[Measure::Available as usize] > 5, "{seen:?}");
}
