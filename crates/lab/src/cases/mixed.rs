//! Other shapes of traffic: many connections, both directions, IPv6 and VLAN.

use super::{PACKETS, SUPER, mbit, ms, rows, secs, suffix};
use crate::case::{Check, LabelledCase, Set, ShareBasis};
use crate::path::loss::LossConfig;
use crate::settings::Family;
use crate::workload::{Exchange, Stream, Workload, Writer};

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [short_connections(set), parallel(set), both_ways(set), ipv6(set), vlan(set)].concat()
}

fn bulk(seconds: u64) -> Stream {
    Stream::one(Writer::For { duration_ns: secs(seconds) })
}

fn short_connections(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(50, 40, 30_000, 4, 15), (20, 80, 15_000, 3, 10)],
        &[(40, 60, 25_000, 5, 9)],
        &[(30, 50, 20_000, 4, 8)],
    );
    let case = |(rate, rtt, response, clients, connections)| {
        let plan = Exchange { clients, connections_per_client: connections, ..Exchange::one(150, response) };
        LabelledCase::new(
            set,
            "short-connections",
            "congestion-window/slow-start",
            mbit(rate),
            ms(rtt),
            Workload::Exchange(plan),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{response}b-{clients}x{connections}"))
        .about("Many short connections, each over before slow start has opened the window.")
        .or("application/think-time")
        .check(Check::NothingDropped)
        .check(Check::LinkUsedAtMost(0.7))
    };
    rows.into_iter().map(case).collect()
}

fn parallel(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(10, 30, 4), (12, 50, 4)], &[(9, 40, 3)], &[(14, 60, 3)]);
    let case = |(rate, rtt, count)| {
        let stream = Stream { count, ..bulk(5) };
        LabelledCase::new(
            set,
            "parallel",
            "path/bottleneck-full",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{count}streams"))
        .about("Several bulk transfers at once share one bottleneck, as iperf3 -P does.")
        .or("path/standing-queue")
        .or("congestion-window/after-loss")
        .or("loss-recovery/fast-retransmit")
        .check(Check::LinkUsed(0.8))
    };
    rows.into_iter().map(case).collect()
}

fn both_ways(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(8, 30)], &[(6, 50)], &[(10, 40)]);
    let case = |(rate, rtt)| {
        let stream = Stream { answer: Some(Writer::For { duration_ns: secs(5) }), ..bulk(5) };
        let mut case = LabelledCase::new(
            set,
            "both-ways",
            "path/bottleneck-full",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms"))
        .about("Both ends send in bulk over the same connection at the same time.")
        .or("path/standing-queue")
        .check(Check::LinkUsed(0.6));
        case.experiment.backward.link.clone_from(&case.experiment.forward.link);
        case
    };
    rows.into_iter().map(case).collect()
}

fn v6(case: LabelledCase) -> LabelledCase {
    case.with(|s| s.family = Family::V6)
}

fn ipv6(set: Set) -> Vec<LabelledCase> {
    let small = rows(
        set,
        &[(20, 50, 20, PACKETS), (30, 40, 32, SUPER)],
        &[(25, 60, 28, PACKETS)],
        &[(35, 70, 36, PACKETS)],
    );
    let lossy = rows(set, &[(20, 30, 10_000)], &[(15, 40, 15_000)], &[(25, 50, 8000)]);
    let small = small.into_iter().map(|(rate, rtt, kib, offload)| {
        v6(LabelledCase::new(
            set,
            "ipv6-small-rcvbuf",
            "receive-window/buffer-too-small",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![bulk(4)]),
        ))
        .variant(format!("{rate}mbit-{rtt}ms-{kib}k{}", suffix(offload)))
        .about("As small-rcvbuf, over IPv6.")
        .with(|s| s.receiver_socket.so_rcvbuf_bytes = Some(kib * 1024))
        .offload(offload)
        .share_at_least(ShareBasis::RwndLimited, 0.7)
        .check(Check::NothingDropped)
    });
    let lossy = lossy.into_iter().map(|(rate, rtt, ppm)| {
        v6(LabelledCase::new(
            set,
            "ipv6-random-loss",
            "congestion-window/after-loss",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![bulk(4)]),
        ))
        .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm"))
        .about("As random-loss, over IPv6.")
        .or("loss-recovery/fast-retransmit")
        .or("loss-recovery/rto")
        .check(Check::NoQueueDrops)
        .forward(|p| p.loss.push(LossConfig::Random { probability_ppm: ppm }))
        .check(Check::Dropped(4))
        .check(Check::Retransmitted(4))
        .check(Check::LinkUsedAtMost(0.8))
    });
    small.chain(lossy).collect()
}

fn vlan(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(10, 35, 100, PACKETS), (20, 25, 7, SUPER)],
        &[(8, 45, 4000, PACKETS)],
        &[(15, 55, 300, PACKETS)],
    );
    let case = |(rate, rtt, id, offload)| {
        LabelledCase::new(
            set,
            "vlan-full-link",
            "path/bottleneck-full",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![bulk(4)]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-vlan{id}{}", suffix(offload)))
        .about("As full-link, with 802.1Q tags on both interfaces, which the captures show.")
        .or("path/standing-queue")
        .with(|s| s.vlan = Some(id))
        .offload(offload)
        .check(Check::LinkUsed(0.8))
    };
    rows.into_iter().map(case).collect()
}
