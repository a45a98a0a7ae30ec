//! Transfers limited by the path.

use super::{PACKETS, SUPER, bulk, mbit, ms, rows, suffix};
use crate::case::{Check, LabelledCase, Set};
use crate::path::ReorderConfig;
use crate::path::link::{LinkConfig, QueueLimit};
use crate::path::policer::PolicerConfig;
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [
        full_link(set),
        short_queue(set),
        bufferbloat(set),
        ack_path_queue(set),
        policer(set),
        duplicates(set),
        reordering_harmless(set),
    ]
    .concat()
}

fn full_link(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[
            (10, 40, 5, "cubic", PACKETS),
            (5, 80, 6, "cubic", PACKETS),
            (20, 20, 4, "reno", SUPER),
            (10, 50, 5, "bbr", PACKETS),
        ],
        &[(12, 30, 5, "cubic", PACKETS), (7, 60, 6, "reno", PACKETS), (30, 25, 4, "cubic", SUPER)],
        &[(15, 70, 5, "cubic", PACKETS), (25, 35, 4, "reno", SUPER), (9, 45, 5, "bbr", PACKETS)],
    );
    let case = |(rate, rtt, seconds, cc, offload)| {
        LabelledCase::new(set, "full-link", "path/bottleneck-full", mbit(rate), ms(rtt), bulk(seconds))
            .variant(format!("{rate}mbit-{rtt}ms-{cc}{}", suffix(offload)))
            .about("A bulk transfer fills a link with a drop-tail queue of one BDP: the good case.")
            .or("path/standing-queue")
            .congestion_control(cc)
            .offload(offload)
            .check(Check::LinkUsed(0.8))
    };
    rows.into_iter().map(case).collect()
}

fn short_queue(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, packets of queue (a tenth of the BDP or less), and what its losses do to this sender.
    let full = "path/bottleneck-full";
    let reduced = "congestion-window/after-loss";
    let rows = rows(
        set,
        &[(12, 40, 4, "bbr", full), (10, 60, 4, "reno", reduced)],
        &[(15, 50, 5, "bbr", full)],
        &[(8, 70, 4, "reno", reduced)],
    );
    let case = |(rate, rtt, packets, cc, cause)| {
        LabelledCase::new(set, "short-queue", cause, mbit(rate), ms(rtt), bulk(12))
            .variant(format!("{rate}mbit-{rtt}ms-{packets}packets-{cc}"))
            .about("A link drops packets as soon as a few wait: no RTT shows its queue, and no burst passes faster.")
            .or(full)
            .or(reduced)
            .or("loss-recovery/fast-recovery")
            .queue(packets)
            .congestion_control(cc)
            .check(Check::LinkUsed(0.6))
            .check(Check::Dropped(10))
    };
    rows.into_iter().map(case).collect()
}

fn bufferbloat(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, packets of queue (10 BDP and more).
    let rows = rows(
        set,
        &[(5, 20, 150, PACKETS), (10, 20, 300, PACKETS), (8, 10, 200, SUPER)],
        &[(6, 15, 180, PACKETS), (12, 25, 350, PACKETS)],
        &[(7, 30, 250, PACKETS)],
    );
    let case = |(rate, rtt, packets, offload)| {
        LabelledCase::new(set, "bufferbloat", "path/standing-queue", mbit(rate), ms(rtt), bulk(6))
            .variant(format!("{rate}mbit-{rtt}ms-{packets}packets{}", suffix(offload)))
            .about("A bulk transfer fills a link whose queue holds many times the BDP.")
            .or("path/bottleneck-full")
            .queue(packets)
            .offload(offload)
            .check(Check::LinkUsed(0.8))
            .check(Check::QueueReached(5.0 * rtt as f64))
    };
    rows.into_iter().map(case).collect()
}

fn ack_path_queue(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, link of the ACKs in kbit/s, packets of its queue.
    let rows = rows(
        set,
        &[(40, 40, 250, 200, "cubic", PACKETS), (30, 20, 280, 1000, "reno", SUPER)],
        &[(35, 50, 300, 150, "cubic", PACKETS)],
        &[(45, 60, 320, 200, "cubic", SUPER)],
    );
    let case = |(rate, rtt, back, packets, cc, offload): (u64, u64, u64, _, _, _)| {
        LabelledCase::new(set, "ack-path-queue", "path/ack-path-queue", mbit(rate), ms(rtt), bulk(5))
            .variant(format!("{rate}mbit-{rtt}ms-back-{back}kbit-{packets}packets-{cc}{}", suffix(offload)))
            .about("The link of the ACKs is so slow that they fill it, and wait in its queue.")
            .congestion_control(cc)
            .offload(offload)
            .backward(|p| {
                p.link = Some(LinkConfig {
                    rate: Rate::bits_per_second(1000 * back),
                    queue: QueueLimit::Packets(packets),
                    stalls: Vec::new(),
                });
            })
            .check(Check::LinkUsedAtMost(0.6))
    };
    rows.into_iter().map(case).collect()
}

fn policer(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, policed rate in Mbit/s, KiB of burst.
    let rows = rows(
        set,
        &[(100, 40, 8, 32, "cubic"), (50, 20, 10, 100, "cubic"), (60, 30, 20, 80, "bbr")],
        &[(80, 30, 6, 64, "cubic"), (60, 50, 12, 48, "cubic")],
        &[(70, 35, 9, 80, "cubic"), (90, 25, 7, 40, "cubic"), (75, 45, 15, 90, "bbr")],
    );
    let case = |(rate, rtt, policed, kib, cc): (u64, u64, u64, u64, _)| {
        let with = if cc == "cubic" { String::new() } else { format!("-{cc}") };
        LabelledCase::new(set, "policer", "path/policer", mbit(rate), ms(rtt), bulk(5))
            .variant(format!("{rate}mbit-{rtt}ms-policed-{policed}mbit-{kib}k{with}"))
            .congestion_control(cc)
            .about("A policer drops whatever exceeds its rate; no queue builds up.")
            .or("congestion-window/after-loss")
            .or("loss-recovery/fast-recovery")
            .forward(|p| {
                p.policer = Some(PolicerConfig { rate: Rate::mbit(policed), burst: Bytes::kib(kib) });
            })
            .check(Check::Dropped(10))
            .check(Check::Retransmitted(10))
    };
    rows.into_iter().map(case).collect()
}

/// Reordering that the sender learns to wait for (RACK's window and the reordering degree, RFC 8985): the
/// link stays full.
fn reordering_harmless(set: Set) -> Vec<LabelledCase> {
    let rows =
        rows(set, &[(8, 40, 20_000, 10), (6, 60, 10_000, 8)], &[(9, 50, 15_000, 12)], &[(10, 45, 12_000, 9)]);
    let case = |(rate, rtt, ppm, extra)| {
        LabelledCase::new(set, "reordering-harmless", "path/bottleneck-full", mbit(rate), ms(rtt), bulk(5))
            .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm-by-{extra}ms"))
            .about("Some packets are reordered, but the sender copes with it; the link is the limit.")
            .or("path/standing-queue")
            .queue(300)
            .forward(|p| {
                p.reorder = Some(ReorderConfig { probability_ppm: ppm, extra: Duration::from_millis(extra) })
            })
            .check(Check::HeldBack(8))
            .check(Check::LinkUsed(0.8))
    };
    rows.into_iter().map(case).collect()
}

fn duplicates(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(10, 30, 20_000), (8, 60, 5000)], &[(12, 45, 10_000)], &[(9, 40, 15_000)]);
    let case = |(rate, rtt, ppm)| {
        LabelledCase::new(set, "duplicates", "path/bottleneck-full", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm"))
            .about("Some packets are duplicated, which does no harm; the link is the limit.")
            .or("path/standing-queue")
            .forward(|p| p.duplicate_ppm = ppm)
            .check(Check::Duplicated(5))
            .check(Check::LinkUsed(0.7))
    };
    rows.into_iter().map(case).collect()
}
