//! Transfers limited by the receive window.

use super::{PACKETS, SUPER, bulk, mbit, ms, rows, secs, suffix};
use crate::case::{Check, LabelledCase, Set, ShareBasis};
use crate::settings::Offload;
use crate::workload::{Reader, Stream, Workload, Writer};

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [
        small_rcvbuf(set),
        no_window_scaling(set),
        no_autotuning(set),
        small_tcp_rmem(set),
        autotuning_lag(set),
        scale_too_small(set),
        slow_reader(set),
        reader_stopped(set),
    ]
    .concat()
}

fn small_rcvbuf(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(20, 40, 16, PACKETS), (10, 100, 24, PACKETS), (50, 60, 48, SUPER), (20, 200, 64, PACKETS)],
        &[(30, 50, 20, PACKETS), (8, 150, 32, PACKETS), (80, 30, 40, SUPER)],
        &[(25, 70, 28, PACKETS), (60, 80, 56, SUPER)],
    );
    let case = |(rate, rtt, kib, offload): (u64, u64, u32, Offload)| {
        LabelledCase::new(
            set,
            "small-rcvbuf",
            "receive-window/buffer-too-small",
            mbit(rate),
            ms(rtt),
            bulk(4),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{kib}k{}", suffix(offload)))
        .about("The receiver sets SO_RCVBUF so small that its window is well below the path's BDP.")
        .with(|s| s.receiver_socket.so_rcvbuf_bytes = Some(kib * 1024))
        .offload(offload)
        .share_at_least(ShareBasis::RwndLimited, 0.75)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn no_window_scaling(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(20, 100, true, false), (40, 60, false, true), (20, 120, true, true)],
        &[(30, 90, true, false), (15, 140, false, true)],
        &[(25, 110, true, true)],
    );
    let case = |(rate, rtt, sender_off, receiver_off)| {
        let side = match (sender_off, receiver_off) {
            (true, true) => "both",
            (true, false) => "sender",
            (false, _) => "receiver",
        };
        let off = ("net.ipv4.tcp_window_scaling".to_owned(), "0".to_owned());
        LabelledCase::new(
            set,
            "no-window-scaling",
            "receive-window/no-window-scaling",
            mbit(rate),
            ms(rtt),
            bulk(4),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{side}"))
        .about("Window scaling is off at one host or both, so no window exceeds 64 KiB; the BDP does.")
        .with(|s| {
            if sender_off {
                s.sender_sysctls.push(off.clone());
            }
            if receiver_off {
                s.receiver_sysctls.push(off.clone());
            }
        })
        .share_at_least(ShareBasis::RwndLimited, 0.6)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn no_autotuning(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(20, 80), (50, 50)], &[(40, 70), (12, 160)], &[(30, 90)]);
    let case = |(rate, rtt)| {
        LabelledCase::new(
            set,
            "no-autotuning",
            "receive-window/buffer-too-small",
            mbit(rate),
            ms(rtt),
            bulk(4),
        )
        .variant(format!("{rate}mbit-{rtt}ms"))
        .about("tcp_moderate_rcvbuf is 0, so the receive buffer stays at its default of 128 KiB.")
        .with(|s| s.receiver_sysctls.push(("net.ipv4.tcp_moderate_rcvbuf".into(), "0".into())))
        .share_at_least(ShareBasis::RwndLimited, 0.6)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn small_tcp_rmem(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(20, 60, 64), (30, 80, 160)], &[(25, 90, 96), (45, 40, 128)], &[(35, 70, 112)]);
    let case = |(rate, rtt, kib): (u64, u64, u32)| {
        let bytes = kib * 1024;
        let rmem = format!("4096 {} {bytes}", bytes.min(131_072));
        LabelledCase::new(
            set,
            "small-tcp-rmem",
            "receive-window/buffer-too-small",
            mbit(rate),
            ms(rtt),
            bulk(4),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{kib}k"))
        .about("The receiver's tcp_rmem maximum keeps autotuning below the path's BDP.")
        .with(|s| s.receiver_sysctls.push(("net.ipv4.tcp_rmem".into(), rmem)))
        .share_at_least(ShareBasis::RwndLimited, 0.6)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

/// The sender starts with a large congestion window, as servers of large objects do, so that it has to wait for the
/// receiver's window.
fn autotuning_lag(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, KiB of first buffer, packets of initial window, bytes in all.
    let rows = rows(
        set,
        &[(100, 150, 128, 200, 6_000_000), (60, 200, 64, 150, 4_000_000)],
        &[(80, 180, 96, 180, 5_000_000), (120, 110, 48, 250, 5_000_000)],
        &[(90, 130, 80, 220, 5_500_000)],
    );
    let case = |(rate, rtt, kib, initial, bytes): (u64, u64, u32, u32, u64)| {
        let stream = Stream::one(Writer::Total { bytes });
        LabelledCase::new(
            set,
            "autotuning-lag",
            "receive-window/autotuning-lag",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-from-{kib}k-initcwnd-{initial}"))
        .about(
            "The receiver's buffer starts small and grows as it is used; the sender could send more at once.",
        )
        .queue(3000)
        .with(|s| {
            s.sender_route = Some(format!("initcwnd {initial}"));
            s.receiver_sysctls.push(("net.ipv4.tcp_rmem".into(), format!("4096 {} 33554432", kib * 1024)));
        })
        .share_at_least(ShareBasis::RwndLimited, 0.25)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn scale_too_small(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, KiB of window that the scale is chosen for.
    let rows = rows(set, &[(30, 80, 64), (40, 120, 128)], &[(50, 90, 128), (20, 150, 64)], &[(60, 110, 256)]);
    let case = |(rate, rtt, kib): (u64, u64, u32)| {
        LabelledCase::new(set, "scale-too-small", "receive-window/scale-too-small", mbit(rate), ms(rtt), bulk(5))
            .variant(format!("{rate}mbit-{rtt}ms-for-{kib}k"))
            .about("The listening socket bounds its window, so a small scale is agreed on; later there is more room.")
            .with(|s| s.receiver_socket.window_clamp_at_handshake_bytes = Some(kib * 1024))
            .share_at_least(ShareBasis::RwndLimited, 0.5)
            .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn slow_reader(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, KiB per read, ms between reads.
    let rows = rows(
        set,
        &[(20, 20, 4, 10, PACKETS), (20, 40, 64, 200, PACKETS), (50, 10, 16, 30, SUPER)],
        &[(30, 15, 6, 20, PACKETS), (15, 60, 100, 400, PACKETS)],
        &[(25, 30, 8, 15, PACKETS), (40, 12, 24, 40, SUPER)],
    );
    let case = |(rate, rtt, kib, every, offload): (u64, u64, u64, u64, Offload)| {
        let reader = Reader::Paced { bytes: kib * 1024, every_ns: ms(every) };
        let stream = Stream { reader, ..Stream::one(Writer::For { duration_ns: secs(5) }) };
        LabelledCase::new(
            set,
            "slow-reader",
            "receive-window/slow-reader",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{kib}k-every-{every}ms{}", suffix(offload)))
        .about("The receiving application reads a fixed amount at intervals, more slowly than the path delivers.")
        .offload(offload)
        .share_at_least(ShareBasis::RwndLimited, 0.6)
        .check(Check::LinkUsedAtMost(0.6))
    };
    rows.into_iter().map(case).collect()
}

fn reader_stopped(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, ms of reading, ms of pausing.
    let rows = rows(
        set,
        &[(10, 20, 300, 900, PACKETS), (8, 40, 500, 1500, PACKETS), (20, 30, 200, 1000, SUPER)],
        &[(12, 25, 250, 700, PACKETS), (6, 60, 400, 1800, PACKETS)],
        &[(15, 35, 350, 800, PACKETS)],
    );
    let case = |(rate, rtt, runs, stops, offload)| {
        let reader = Reader::Stopping { runs_ns: ms(runs), stops_ns: ms(stops) };
        let stream = Stream { reader, ..Stream::one(Writer::For { duration_ns: secs(6) }) };
        LabelledCase::new(
            set,
            "reader-stopped",
            "receive-window/reader-stopped",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{runs}ms-of-{}ms{}", runs + stops, suffix(offload)))
        .about("The receiving application stops again and again, as under SIGSTOP or off the CPU.")
        .with(|s| s.receiver_socket.so_rcvbuf_bytes = Some(128 * 1024))
        .offload(offload)
        .or("receive-window/slow-reader")
        .share_at_least(ShareBasis::RwndLimited, 0.4)
        .check(Check::ReceiverCounter("TcpExtTCPToZeroWindowAdv".into(), 2))
    };
    rows.into_iter().map(case).collect()
}
