//! Workloads, servers and event methods compared by layer.

use crate::{PLAIN, of_size, of_sizes, profile, report, verdict};
use slowpath_cost::Profile;
use slowpath_papers::lavoie::{self, Events, Server, ServerCase, Workload};

/// Stacks whose innermost functions are of TCP, IP, socket buffers, memory, drivers and the program.
fn layers([tcp, ip, buffers, memory, driver, program]: [u64; 6]) -> Profile {
    profile(&[
        (tcp, "nginx", "handle_softirqs;tcp_ack"),
        (ip, "nginx", "handle_softirqs;ip_rcv"),
        (buffers, "nginx", "handle_softirqs;__alloc_skb"),
        (memory, "nginx", "handle_softirqs;kfree"),
        (driver, "nginx", "handle_softirqs;veth_xmit"),
        (program, "nginx", "[main]"),
    ])
}

#[test]
fn mixed_workload_is_compared_with_single_files_by_layer() {
    let with = |mixed: [u64; 6]| {
        let mut profiles =
            [1, 8, 64].map(|kib| (of_size(kib), layers([2000, 1000, 1000, 200, 1000, 4800]))).to_vec();
        profiles.push((ServerCase { workload: Workload::Mixed, ..PLAIN }, layers(mixed)));
        report(&profiles)
    };
    let (cpu, layers) = ("the CPU is divided among the layers", "invariant between workloads");
    let alike = with([2100, 1000, 1000, 900, 1000, 4000]);
    // Memory is too small with single files to be judged.
    assert_eq!((verdict(&alike, cpu).0, verdict(&alike, layers).0), (Some(true), Some(true)));
    assert!(
        verdict(&alike, cpu).1.contains("TCP 21.0 % compared with 20.0 to 20.0 %"),
        "{}",
        verdict(&alike, cpu).1
    );
    assert!(verdict(&alike, cpu).1.contains("(largest ratio 1.05)"));
    // Half as much of the CPU, divided in the same way.
    let less = with([1000, 500, 500, 100, 500, 7400]);
    assert_eq!((verdict(&less, cpu).0, verdict(&less, layers).0), (Some(false), Some(true)));
    let other = with([3600, 500, 500, 100, 500, 4800]);
    assert_eq!((verdict(&other, cpu).0, verdict(&other, layers).0), (Some(false), Some(false)));
    let cell = |name| {
        let table = other.tables.iter().find(|table| table.name == name).expect("a table");
        let is = |cell: &&slowpath_papers::Cell| cell.row.starts_with("mixed") && cell.quantity == "IP";
        table.cells.iter().find(is).expect("a cell")
    };
    assert_eq!(cell("Section 6").ours, 5.0);
    assert_eq!(cell("Section 6, TCP/IP").ours.round(), 10.0);
    assert!(verdict(&report(&of_sizes(true)), layers).1.contains("was not run"));
}

#[test]
fn servers_and_event_methods_are_compared_by_layer() {
    let usual = [2000, 1000, 1000, 200, 1000, 4800];
    let with = |apache: [u64; 6], select: [u64; 6]| {
        let mut profiles = Vec::new();
        for case in lavoie::cases().into_iter().filter(|case| case.requests == 1 && !case.tso) {
            let costs = match case.server {
                Server::Apache => apache,
                Server::Haproxy(Events::Select) => select,
                _ => usual,
            };
            profiles.push((case, layers(costs)));
        }
        report(&profiles)
    };
    let (cpu, layers) = ("with Apache the CPU is divided", "invariant between servers");
    let (events_cpu, events) = ("with each event method the CPU", "invariant between event methods");
    // Apache works more itself, and select in the kernel too; TCP/IP does the same.
    let report = with([1000, 500, 500, 100, 500, 7400], [2000, 1000, 1000, 200, 1000, 5000]);
    assert_eq!((verdict(&report, cpu).0, verdict(&report, layers).0), (Some(false), Some(true)));
    assert_eq!((verdict(&report, events_cpu).0, verdict(&report, events).0), (Some(true), Some(true)));
    assert!(verdict(&report, layers).1.contains("mixed, of TCP/IP: TCP 38.5 % compared with 38.5 %"));
    let report = with(usual, [3600, 500, 500, 100, 500, 4800]);
    assert_eq!((verdict(&report, layers).0, verdict(&report, events).0), (Some(true), Some(false)));
    let table = report.tables.iter().find(|table| table.name == "Section 6").expect("a table");
    assert_eq!(table.cells.len(), (4 + 4 + 3) * 5);
}
