//! Transfers limited by the congestion window, without loss.

use super::{PACKETS, SUPER, mbit, ms, rows, suffix};
use crate::case::{Check, LabelledCase, Set};
use crate::workload::{Stream, Workload, Writer};

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [slow_start(set), cached_ssthresh(set), clamped(set)].concat()
}

fn total(bytes: u64) -> Workload {
    Workload::Streams(vec![Stream::one(Writer::Total { bytes })])
}

fn slow_start(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(100, 150, 300_000, PACKETS), (50, 100, 150_000, PACKETS), (100, 200, 500_000, SUPER)],
        &[(80, 120, 200_000, PACKETS), (60, 180, 400_000, SUPER)],
        &[(70, 140, 250_000, PACKETS), (120, 90, 350_000, SUPER)],
    );
    let case = |(rate, rtt, bytes, offload)| {
        LabelledCase::new(
            set,
            "slow-start",
            "congestion-window/slow-start",
            mbit(rate),
            ms(rtt),
            total(bytes),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{bytes}b{}", suffix(offload)))
        .about("A transfer over a long RTT that ends before slow start has opened the window.")
        .offload(offload)
        .check(Check::NothingDropped)
        .check(Check::LinkUsedAtMost(0.4))
    };
    rows.into_iter().map(case).collect()
}

/// The metrics cache is filled by a transfer before the observed one, from locked attributes of the route.
fn from_cache(case: LabelledCase, route: &str) -> LabelledCase {
    let mut case = case
        .with(|s| {
            s.sender_route = Some(route.to_owned());
            s.sender_sysctls.push(("net.ipv4.tcp_no_metrics_save".into(), "0".into()));
            s.sender_sysctls.push(("net.ipv4.tcp_no_ssthresh_metrics_save".into(), "0".into()));
        })
        .check(Check::NothingDropped)
        .check(Check::LinkUsedAtMost(0.7));
    case.experiment.warm_up_bytes = Some(3000);
    case
}

fn cached_ssthresh(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(50, 100, 8, 900_000, "reno"), (40, 80, 12, 1_500_000, "cubic")],
        &[(60, 90, 6, 1_000_000, "reno"), (30, 120, 10, 1_200_000, "cubic")],
        &[(45, 110, 7, 800_000, "cubic")],
    );
    let case = |(rate, rtt, packets, bytes, cc): (u64, u64, u32, u64, &str)| {
        let case = LabelledCase::new(
            set,
            "cached-ssthresh",
            "congestion-window/cached-ssthresh",
            mbit(rate),
            ms(rtt),
            total(bytes),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{packets}packets-{cc}"))
        .about("The metrics cache gives the connection a small ssthresh, so slow start ends at once.")
        .or("congestion-window/congestion-avoidance")
        .congestion_control(cc)
        .check(Check::SsthreshAtMost(packets));
        from_cache(case, &format!("ssthresh lock {packets}"))
    };
    rows.into_iter().map(case).collect()
}

fn clamped(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(20, 60, 20, 1_500_000), (50, 40, 30, 3_000_000)],
        &[(30, 70, 25, 1_800_000)],
        &[(40, 50, 22, 2_000_000)],
    );
    let case = |(rate, rtt, packets, bytes)| {
        let case = LabelledCase::new(
            set,
            "cwnd-clamped",
            "congestion-window/clamped",
            mbit(rate),
            ms(rtt),
            total(bytes),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{packets}packets"))
        .about("The route's locked cwnd keeps the congestion window below the path's BDP.")
        .or("congestion-window/cached-ssthresh")
        .check(Check::CwndAtMost(packets));
        from_cache(case, &format!("cwnd lock {packets}"))
    };
    rows.into_iter().map(case).collect()
}
