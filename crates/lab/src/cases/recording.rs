//! Transfers whose recordings are incomplete or in another format.
//!
//! The transfer itself has a cause too. If a recording still shows it, naming it is right.

use super::{bulk, mbit, ms, rows};
use crate::case::{Check, LabelledCase, Set, ShareBasis};
use crate::host::Host;
use crate::path::loss::LossConfig;
use crate::recording::{Format, Omission};
use crate::workload::{Exchange, Workload};

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [
        capture_gap(set),
        one_direction(set),
        cut_short(set),
        pcapng_small_rcvbuf(set),
        pcapng_random_loss(set),
        pcapng_request_response(set),
    ]
    .concat()
}

/// Every recorded frame is missing for a while, several times, as when the capture's buffer overflows.
fn capture_gap(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, KiB of buffer, ms of each gap, ms from one to the next.
    let rows = rows(
        set,
        &[(20, 40, 24, 300, 900), (50, 20, 32, 150, 500)],
        &[(30, 60, 40, 400, 1100), (15, 30, 20, 250, 700)],
        &[(25, 50, 28, 350, 1000)],
    );
    let case = |(rate, rtt, kib, gap, every): (u64, u64, u32, u64, u64)| {
        let between = |n: u64| Omission::Between { from_ns: ms(n * every), to_ns: ms(n * every + gap) };
        let case = LabelledCase::new(set, "capture-gap", "unknown/capture-gap", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{gap}ms-of-{every}ms"))
            .about(
                "A small receive buffer binds, and all frames are missing from the recordings for a while.",
            )
            .or("receive-window/buffer-too-small")
            .with(|s| s.receiver_socket.so_rcvbuf_bytes = Some(kib * 1024))
            .check(Check::Share(ShareBasis::RwndLimited, 0.7))
            .check(Check::NothingDropped)
            .check(Check::LeftOut(100));
        (1..=3000 / every).map(between).fold(case, LabelledCase::without)
    };
    rows.into_iter().map(case).collect()
}

fn one_direction(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(10, 40, Host::Receiver), (20, 30, Host::Sender)],
        &[(15, 50, Host::Receiver), (8, 60, Host::Sender)],
        &[(12, 45, Host::Receiver), (25, 35, Host::Sender)],
    );
    let case = |(rate, rtt, missing)| {
        let of = match missing {
            Host::Sender => "answers",
            Host::Receiver => "data",
        };
        LabelledCase::new(set, "one-direction", "unknown/one-direction", mbit(rate), ms(rtt), bulk(3))
            .variant(format!("{rate}mbit-{rtt}ms-{of}-only"))
            .about("The recordings hold only one host's packets.")
            .without(Omission::SentBy { host: missing })
            .check(Check::LinkUsed(0.7))
            .check(Check::LeftOut(100))
    };
    rows.into_iter().map(case).collect()
}

/// The recording started in the middle and ended before the first answer to anything it had seen.
fn cut_short(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, ms until the recording started, ms of its duration.
    let rows = rows(
        set,
        &[(20, 200, 1500, 120), (10, 300, 2000, 200)],
        &[(15, 250, 1800, 150), (30, 150, 1200, 90)],
        &[(25, 180, 1600, 110)],
    );
    let case = |(rate, rtt, from, lasts): (u64, u64, u64, u64)| {
        LabelledCase::new(set, "cut-short", "unknown/undetermined", mbit(rate), ms(rtt), bulk(3))
            .variant(format!("{rate}mbit-{rtt}ms-{lasts}ms-at-{from}ms"))
            .about("The recordings hold less than an RTT from the middle of a transfer.")
            .or("path/bottleneck-full")
            .or("path/standing-queue")
            .without(Omission::Between { from_ns: 0, to_ns: ms(from) })
            .without(Omission::After { from_ns: ms(from + lasts) })
            .check(Check::LeftOut(100))
    };
    rows.into_iter().map(case).collect()
}

fn as_pcapng(mut case: LabelledCase) -> LabelledCase {
    case.experiment.recording.format = Format::Pcapng;
    case
}

fn pcapng_small_rcvbuf(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(20, 50, 20)], &[(40, 30, 32)], &[(30, 60, 24)]);
    let case = |(rate, rtt, kib): (u64, u64, u32)| {
        as_pcapng(LabelledCase::new(
            set,
            "pcapng-small-rcvbuf",
            "receive-window/buffer-too-small",
            mbit(rate),
            ms(rtt),
            bulk(3),
        ))
        .variant(format!("{rate}mbit-{rtt}ms-{kib}k"))
        .about("As small-rcvbuf, recorded as pcapng with two interfaces.")
        .with(|s| s.receiver_socket.so_rcvbuf_bytes = Some(kib * 1024))
        .share_at_least(ShareBasis::RwndLimited, 0.7)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn pcapng_random_loss(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(20, 35, 15_000)], &[(30, 45, 12_000)], &[(25, 55, 18_000)]);
    let case = |(rate, rtt, ppm)| {
        as_pcapng(LabelledCase::new(
            set,
            "pcapng-random-loss",
            "congestion-window/after-loss",
            mbit(rate),
            ms(rtt),
            bulk(4),
        ))
        .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm"))
        .about("As random-loss, recorded as pcapng with two interfaces.")
        .or("loss-recovery/fast-retransmit")
        .or("loss-recovery/rto")
        .forward(|p| p.loss.push(LossConfig::Random { probability_ppm: ppm }))
        .check(Check::NoQueueDrops)
        .check(Check::Dropped(4))
        .check(Check::LinkUsedAtMost(0.8))
    };
    rows.into_iter().map(case).collect()
}

fn pcapng_request_response(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(15, 30, 25_000, 220)], &[(25, 40, 35_000, 260)], &[(20, 50, 30_000, 280)]);
    let case = |(rate, rtt, response, think)| {
        let plan =
            Exchange { rounds_per_connection: 10, think_ns: ms(think), ..Exchange::one(200, response) };
        as_pcapng(LabelledCase::new(
            set,
            "pcapng-request-response",
            "application/think-time",
            mbit(rate),
            ms(rtt),
            Workload::Exchange(plan),
        ))
        .variant(format!("{rate}mbit-{rtt}ms-{response}b-think-{think}ms"))
        .about("As request-response, recorded as pcapng with two interfaces.")
        .queue(200)
        .share_at_least(ShareBasis::Idle, 0.5)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}
