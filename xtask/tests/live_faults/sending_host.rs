//! Hosts that limit their own senders, and hosts that do not.

use crate::net::{BULK, Sender, routed, share, transfer};
use slowpath_analyses::{Cause, Evidence};
use slowpath_lab::namespaces::Place;
use std::time::Duration;

/// The least share of time with the right cause. Slow start takes 0.3 s of the 3 s.
const MOST: f64 = 0.75;

/// The shapers that this kernel has. On a short path, the shaper's queue is all there is to wait for.
#[test]
#[ignore = "needs root"]
fn shaper_on_the_senders_device_is_reported_with_its_queue() {
    let hosts = routed();
    let shapers: [&[&str]; 2] = [
        &["tc qdisc add dev eth0 root tbf rate 20mbit burst 10kb limit 200kb"],
        &[
            "tc qdisc replace dev eth0 root handle 1: htb default 10",
            "tc class add dev eth0 parent 1: classid 1:10 htb rate 20mbit quantum 1514",
        ],
    ];
    for commands in shapers {
        for command in commands {
            hosts.execute(Place::Sender, command).expect("this kernel has it");
        }
        let account = transfer(&hosts, BULK);
        assert!(share(&account, Cause::LocalRateLimit) >= MOST, "{commands:?}");
        let evidence = account.evidence(Cause::LocalRateLimit);
        let has_waited =
            |one: &Evidence| matches!(one, Evidence::OwnQueue { backlog, .. } if backlog.get() > 1500);
        assert!(evidence.iter().any(has_waited), "{evidence:?}");
        assert!(!evidence.iter().any(|one| matches!(one, Evidence::PacingLimit { .. })), "{evidence:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn so_max_pacing_rate_is_reported_with_its_rate() {
    let account = transfer(&routed(), Sender { paced_to: Some(2_500_000), ..BULK });
    assert!(share(&account, Cause::LocalRateLimit) >= MOST);
    let evidence = account.evidence(Cause::LocalRateLimit);
    let is_it = matches!(evidence[..], [Evidence::PacingLimit { rate }] if rate.get() == 20_000_000);
    assert!(is_it, "{evidence:?}");
}

/// Shapers on the path, with a higher rate than the path's, and on a device that has less to send; and a higher pacing
/// limit.
#[test]
#[ignore = "needs root"]
fn path_shapers_and_unreached_limits_are_not_the_sending_hosts() {
    const TBF: &str = "root tbf rate 20mbit burst 10kb limit 100kb";
    let hosts = routed();
    let nothing = share(&transfer(&hosts, BULK), Cause::LocalRateLimit);
    assert!(nothing < 0.01, "no shaper at all: {nothing}");
    hosts.execute(Place::Path, &format!("tc qdisc add dev right {TBF}")).expect("this kernel has it");
    let on_path = transfer(&hosts, BULK);
    assert!(share(&on_path, Cause::LocalRateLimit) < 0.01, "on the path");
    let above = transfer(&hosts, Sender { paced_to: Some(125_000_000), ..BULK });
    assert!(share(&above, Cause::LocalRateLimit) < 0.01, "paced to more than the path carries");
    // More than the path carries.
    hosts
        .execute(Place::Sender, "tc qdisc add dev eth0 root tbf rate 200mbit burst 64kb limit 1mb")
        .expect("this kernel has it");
    let faster = share(&transfer(&hosts, BULK), Cause::LocalRateLimit);
    assert!(faster < 0.1, "a shaper that lets ten times as much through: {faster}");
    hosts.execute(Place::Path, "tc qdisc del dev right root").expect("it is there");
    let idle = Sender { writes: (10_000, Duration::from_millis(20)), ..BULK };
    let idle = share(&transfer(&hosts, idle), Cause::LocalRateLimit);
    assert!(idle < 0.05, "an application that writes less: {idle}");
}
