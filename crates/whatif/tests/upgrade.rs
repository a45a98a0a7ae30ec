//! What another kernel makes of a simulated transfer is what its simulation with that kernel gives, and the change that does it
//! is named.

use slowpath_kernels::Release;
use slowpath_scenario::check;
use slowpath_whatif::predict::{jobs, predictions};
use slowpath_whatif::reproduce::{together, with_control};
use slowpath_whatif::upgrade::{differences, tries};
use slowpath_whatif::{Control, Fitted, Predicted, Remedy, Seen, fit, readings, simulate};
use std::sync::atomic::AtomicBool;

static GO: AtomicBool = AtomicBool::new(false);

/// A long path, with room for the send buffer.
const PATH: &str = "duration = \"30 s\"\nflows = { amount = \"60 MB\" }\n[path]\nrate = \"500 Mbit/s\"\ndelay = \"50 ms\"\n\
                    queue = \"6000 packets\"\n[hosts.sender]\nmachine = \"free\"\nnic = { tso = false, gro = false }\n\
                    sysctl = { tcp_wmem = \"4096 16384 67108864\" }\n\
                    [hosts.receiver]\nmachine = \"free\"\nnic = { tso = false, gro = false }\n";

fn seen(kernel: &str, changes: &[&str]) -> Seen {
    let kernels = ["sender", "receiver"].map(|host| format!("hosts.{host}.kernel.base={kernel}"));
    let changes = changes.iter().map(ToString::to_string).chain(kernels);
    let changes: Vec<_> = changes.map(|change| change.parse().expect("a key and a value")).collect();
    simulate(&check("upgrade", PATH, &changes, None).expect("a scenario").scenario, &GO).expect("data")
}

/// The transfer as it is, and with each change from one kernel to the other, the whole kernel first.
fn upgraded(seen: &Seen, from: Release, to: Release) -> (Predicted, Vec<Predicted>) {
    let fitted = Fitted { kernel: from, ..fit(seen, 0).expect("a fit") };
    let tried = readings(seen, &fitted).into_iter().flat_map(|fitted| {
        Control::ALL.map(|control| with_control(seen, &fitted, control, &GO).expect("a run"))
    });
    let found = together(tried.collect()).expect("it is reproduced");
    let trials: Vec<_> =
        std::iter::once(Vec::new()).chain(tries(from, to).into_iter().map(|one| vec![one])).collect();
    let jobs = jobs(seen, &found, &trials, trials.len());
    let runs: Vec<Option<Seen>> = jobs.iter().map(|job| job.run(&GO)).collect();
    let mut all = predictions(&found, &trials, &jobs, &runs);
    let unchanged = all.iter().position(|one| one.remedies.is_empty()).expect("the transfer as it is");
    let unchanged = all.remove(unchanged);
    let kernel = all.iter().position(|one| one.remedies == [Remedy::Kernel(to)]).expect("the kernel");
    all.swap(0, kernel);
    (unchanged, all)
}

/// The changes that alone make more than a tenth of a difference.
fn decisive(unchanged: &Predicted, tried: &[Predicted]) -> Vec<&'static str> {
    let base = unchanged.rates[1].get() as f64;
    let matters = |one: &&Predicted| (one.rates[1].get() as f64 / base - 1.0).abs() > 0.1;
    tried[1..].iter().filter(matters).map(|one| one.remedies[0].name()).collect()
}

/// 6.16 raised the default limit of receive buffers, and 6.6 measures how much of one is payload.
#[test]
fn larger_default_buffers_of_a_newer_kernel_are_predicted_and_named() {
    let before = seen("5.15", &[]);
    let (unchanged, tried) = upgraded(&before, Release::Linux5_15, Release::Linux6_18);
    let after = seen("6.18", &[]);
    let [low, _, high] = tried[0].rates;
    assert!(after.rate.get() > before.rate.get() * 5 / 4, "{} and {}", before.rate, after.rate);
    assert!(low <= after.rate && after.rate <= high, "{low} to {high}, {}", after.rate);
    let named = decisive(&unchanged, &tried);
    assert!(named.contains(&"net.ipv4.tcp_rmem"), "{named:?}");
    // A host that had another limit keeps it.
    let set = ["hosts.receiver.sysctl.tcp_rmem=4096 131072 1000000"];
    let (unchanged, tried) = upgraded(&seen("5.15", &set), Release::Linux5_15, Release::Linux6_18);
    assert!(!decisive(&unchanged, &tried).contains(&"net.ipv4.tcp_rmem"));
}

/// Before 6.6, a window does not show how much memory packets take, on which it depends since: both are in the range.
#[test]
fn memory_that_a_window_does_not_show_is_in_the_range() {
    let merging = "hosts.receiver.nic.gro=true";
    let before = seen("5.15", &[merging]);
    let (unchanged, tried) = upgraded(&before, Release::Linux5_15, Release::Linux6_6);
    let (after, otherwise) = (seen("6.6", &[merging]), seen("6.6", &[]));
    assert!(after.rate < before.rate && before.rate < otherwise.rate, "{} {}", after.rate, otherwise.rate);
    let [low, _, high] = tried[0].rates;
    assert!(low <= after.rate && otherwise.rate <= high, "{low} to {high}");
    assert!(low < unchanged.rates[0] && unchanged.rates[2] < high, "either way");
    assert_eq!(tried[0].remedies, [Remedy::Kernel(Release::Linux6_6)]);
}

#[test]
fn nothing_differs_between_a_kernel_and_itself() {
    assert!(differences(Release::Linux6_8, Release::Linux6_8).is_empty());
    for changed in differences(Release::Linux5_15, Release::Linux6_8) {
        let [was, is] = changed.values();
        assert!(was != is && !changed.changes().is_empty(), "{}: {was} and {is}", changed.name);
    }
}
