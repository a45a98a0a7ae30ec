//! Steering of packets: that of the namespace, not that of the machine.

use super::*;
use slowpath_tune::Access;
use std::fs;

/// A file of the namespace's own sysfs.
fn queue(bench: &Bench, file: &str) -> String {
    let path = format!("/sys/class/net/{file}");
    let text = bench.testbed.0.output(Place::Sender, &["cat", &path]).expect("a queue");
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn says(error: &Error) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

#[test]
#[ignore = "needs root"]
fn steering_is_that_of_the_namespace() {
    let bench = Bench::new();
    bench.testbed.shell("ip link add multi0 numrxqueues 2 numtxqueues 2 type veth peer name multi1");
    // Each namespace has an interface of this name and number.
    let machines = || fs::read_to_string("/sys/class/net/lo/queues/rx-0/rps_cpus").expect("a queue");
    let before = machines();
    let changes = [
        ("rps lo rx-0", "none", "0-1"),
        ("rps multi0 rx-1", "none", "1"),
        ("rfs multi0 rx-1", "0", "4096"),
        ("xps multi0 tx-1", "none", "0"),
    ];
    bench.apply(&bench.written(&changes)).expect("applied");
    let files = ["lo/queues/rx-0/rps_cpus", "multi0/queues/rx-1/rps_cpus", "multi0/queues/rx-1/rps_flow_cnt"];
    assert_eq!(files.map(|file| queue(&bench, file)), ["3", "2", "4096"]);
    assert_eq!(queue(&bench, "multi0/queues/tx-1/xps_cpus"), "1");
    assert_eq!(machines(), before);
    // Another list of the CPUs is the same value.
    let error = bench.apply(&bench.written(&[("rps lo rx-0", "0,1", "1"), ("rfs multi0 rx-0", "2", "0")]));
    let error = error.expect_err("it has no table");
    assert!(error.to_string().contains("make a new plan: rfs multi0 rx-0 is \"0\", not \"2\""), "{error}");
    assert!(bench.revert().is_whole());
    assert_eq!(files.map(|file| queue(&bench, file)), ["0", "0", "0"]);
    assert_eq!((queue(&bench, "multi0/queues/tx-1/xps_cpus"), machines()), ("0".to_owned(), before));
}

#[test]
#[ignore = "needs root"]
fn what_cannot_be_steered_is_refused_before_anything_is_changed() {
    let bench = Bench::new();
    for (setting, now, then, why) in [
        ("rps eth0 rx-7", "none", "0", "eth0 has no queue rx-7; it has rx-0"),
        ("rps eth9 rx-0", "none", "0", "there is no interface eth9"),
        ("xps lo tx-0", "none", "0", "lo has one transmit queue, and XPS chooses among several"),
        ("rps eth0 rx-0", "none", "0,8191", "of the CPUs 0,8191, not online are 8191; online are 0"),
        ("irq 4000000 affinity", "0", "1", "there is no interrupt 4000000 whose CPUs can be chosen"),
    ] {
        let error = bench.apply(&bench.written(&[(setting, now, then)])).expect_err(setting);
        let text = says(&error);
        assert!(text.contains(why) && text.starts_with("nothing was changed"), "{text}");
    }
    assert!(status(&bench.journal()).expect("a journal").is_empty());
}

/// The machine's interrupts are only read.
#[test]
fn interrupts_of_the_machine_can_be_read() {
    let numbers = fs::read_dir("/proc/irq").into_iter().flatten().flatten();
    let numbers: Vec<u32> = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in &numbers {
        let file = format!("/proc/irq/{number}/smp_affinity_list");
        let Ok(text) = fs::read_to_string(file) else { continue };
        let read = Access::reading().read(&format!("irq {number} affinity").parse().expect("a setting"));
        assert_eq!(read.expect("CPUs"), text.trim());
    }
}
