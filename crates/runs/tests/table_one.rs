//! weigle's table I on this machine's kernel, in the lab.

use slowpath_model::{Bytes, Rate};
use slowpath_papers::tunings::{Path, Technique};
use slowpath_runs::papers::table_one::{Measured, measure, median};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn path(rate: Rate, rtt_ms: u64, amount: Bytes) -> Path {
    Path { rate, delay: Duration::from_millis(rtt_ms), streams: 1, memory: None, amount }
}

fn over_untuned(measured: &Measured, technique: Technique) -> f64 {
    let rate = |wanted| {
        let (_, runs) =
            measured.iter().find(|(technique, _)| *technique == wanted).expect("it is in the table");
        median(runs.as_ref().expect("it runs here")).expect("a run").get() as f64
    };
    rate(technique) / rate(Technique::None)
}

/// A path with a tenth of the paper's rate, so that a machine that does other work carries it too. Untuned, 64 KiB move in an
/// RTT of 100 ms: 5 Mbit/s, and the path would carry 19 times as much.
#[test]
#[ignore = "needs root, waits"]
fn programs_that_size_their_buffers_are_several_times_as_fast_as_untuned() {
    let path = path(Rate::mbit(100), 100, Bytes::new(24 << 20));
    let measured = measure(&Technique::ALL, &path, 1, &AtomicBool::new(false), &|| ()).expect("as root");
    for (technique, floor) in [
        (Technique::Enable, 6.0),
        (Technique::AutoNcFtp, 4.0),
        (Technique::DrsFtp, 4.0),
        (Technique::Manual, 6.0),
    ] {
        let factor = over_untuned(&measured, technique);
        assert!(factor > floor, "{}: {factor:.1} times untuned, and {floor} are expected", technique.name());
    }
    let measures = measured.iter().filter(|(_, runs)| runs.is_some()).count();
    assert_eq!(measures, 7, "all but Linux 2.4 and its DRS patch");
}
