//! Transfers impaired by a middlebox on the path.

use super::{PACKETS, SUPER, bulk, mbit, ms, rows, secs, suffix};
use crate::case::{Check, LabelledCase, Set};
use crate::path::action::Replacement;
use crate::path::ecn::EcnConfig;
use crate::path::forget::ForgetConfig;
use crate::path::identification::IdentificationConfig;
use crate::path::middlebox::MiddleboxConfig;
use crate::path::mtu::MtuConfig;
use crate::path::sack_shift::SackShiftConfig;
use crate::path::window_scale::WindowScaleConfig;
use crate::workload::{Stream, Workload, Writer};
use slowpath_model::Bytes;
use std::time::Duration;

/// The causes of the faults in the catalogue; for a rewritten scale, the resulting cause.
mod cause {
    pub const MTU_BLACK_HOLE: &str = "loss-recovery/mtu-black-hole";
    pub const SUPER_PACKETS_DROPPED: &str = "loss-recovery/super-packets-dropped";
    pub const BEYOND_UNSCALED_WINDOW: &str = "loss-recovery/beyond-unscaled-window";
    pub const WINDOW_SCALE_REWRITTEN: &str = "receive-window/scale-too-small";
    pub const WINDOW_SCALE_REMOVED: &str = "receive-window/no-window-scaling";
    pub const ECN_MARKS: &str = "congestion-window/ecn-marks";
    pub const PEER_GONE: &str = "connection/peer-gone";
    pub const FAST_OPEN_DROPPED: &str = "connection/fast-open-lost";
    pub const SACK_SHIFTED: &str = "loss-recovery/sack-untranslated";
}

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [
        mtu_black_hole(set),
        mtu_told(set),
        super_packets_dropped(set),
        beyond_unscaled_window(set),
        window_scale_changed(set),
        ecn_marks(set),
        peer_gone(set),
        fast_open_dropped(set),
        sack_shifted(set),
        other_identifications(set),
    ]
    .concat()
}

/// Not all data may arrive: the connections are closed as they are.
fn cut_after(mut case: LabelledCase, seconds: u64) -> LabelledCase {
    case.experiment.cut_after_ns = Some(secs(seconds));
    case
}

fn there(case: LabelledCase, middlebox: MiddleboxConfig) -> LabelledCase {
    case.forward(|path| path.middleboxes.push(middlebox))
}

fn back(case: LabelledCase, middlebox: MiddleboxConfig) -> LabelledCase {
    case.backward(|path| path.middleboxes.push(middlebox))
}

fn mtu_black_hole(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, MTU, whether the sender probes for it (RFC 4821).
    let rows = rows(
        set,
        &[(20, 40, 1400, false, PACKETS), (50, 30, 1280, false, SUPER), (10, 60, 1420, true, PACKETS)],
        &[(30, 50, 1380, false, PACKETS), (40, 20, 1450, true, SUPER)],
        &[(25, 35, 1360, false, SUPER), (15, 45, 1430, true, PACKETS)],
    );
    let case = |(rate, rtt, mtu, probes, offload)| {
        let case = LabelledCase::new(
            set,
            "mtu-black-hole",
            cause::MTU_BLACK_HOLE,
            mbit(rate),
            ms(rtt),
            bulk(5),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{mtu}{}{}", if probes { "-plpmtud" } else { "" }, suffix(offload)))
        .about("A link drops every packet above its MTU without an ICMP error: the handshake passes, full segments never do.")
        .offload(offload)
        .sysctl("net.ipv4.tcp_mtu_probing", if probes { "1" } else { "0" })
        .check(Check::Dropped(5));
        cut_after(there(case, MiddleboxConfig::Mtu(MtuConfig { mtu: Bytes::new(mtu), icmp: false })), 7)
    };
    rows.into_iter().map(case).collect()
}

/// Not a black hole: the sender gets an ICMP error, and continues with smaller segments.
fn mtu_told(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(20, 30, 1400, PACKETS)], &[(15, 40, 1300, SUPER)], &[(10, 50, 1340, PACKETS)]);
    let case = |(rate, rtt, mtu, offload)| {
        let case =
            LabelledCase::new(set, "mtu-told", "path/bottleneck-full", mbit(rate), ms(rtt), bulk(4))
                .variant(format!("{rate}mbit-{rtt}ms-{mtu}{}", suffix(offload)))
                .about("A link has a smaller MTU and sends ICMP errors: a few packets are lost, and the link is the limit.")
                .or("path/standing-queue")
                .offload(offload)
                .check(Check::Dropped(1))
                .check(Check::LinkUsed(0.7));
        there(case, MiddleboxConfig::Mtu(MtuConfig { mtu: Bytes::new(mtu), icmp: true }))
    };
    rows.into_iter().map(case).collect()
}

fn super_packets_dropped(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(50, 30), (100, 20)], &[(60, 40)], &[(80, 25)]);
    let case = |(rate, rtt)| {
        let case = LabelledCase::new(
            set,
            "super-packets-dropped",
            cause::SUPER_PACKETS_DROPPED,
            mbit(rate),
            ms(rtt),
            bulk(5),
        )
        .variant(format!("{rate}mbit-{rtt}ms-tso"))
        .about("A middlebox drops super-packets, longer than one MSS; single segments pass.")
        .or("congestion-window/after-loss")
        .or("loss-recovery/fast-retransmit")
        .offload(SUPER)
        .check(Check::Dropped(20))
        .check(Check::NoQueueDrops);
        cut_after(there(case, MiddleboxConfig::SuperPackets), 7)
    };
    rows.into_iter().map(case).collect()
}

fn beyond_unscaled_window(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, the maximum of the receive buffer, which determines the scale.
    let rows = rows(
        set,
        &[(20, 40, 250_000, PACKETS), (50, 30, 400_000, SUPER)],
        &[(30, 50, 300_000, PACKETS)],
        &[(40, 60, 350_000, PACKETS)],
    );
    let case = |(rate, rtt, most, offload)| {
        let case = LabelledCase::new(
            set,
            "beyond-unscaled-window",
            cause::BEYOND_UNSCALED_WINDOW,
            mbit(rate),
            ms(rtt),
            bulk(5),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{}k{}", most / 1000, suffix(offload)))
        .about("A firewall that does not know window scaling drops all data beyond the last ACK plus the window field.")
        .or("congestion-window/after-loss")
        .or("loss-recovery/fast-retransmit")
        .offload(offload)
        .with(|s| s.receiver_sysctls.push(("net.ipv4.tcp_rmem".into(), format!("4096 131072 {most}"))))
        .check(Check::Dropped(20))
        .check(Check::NoQueueDrops);
        cut_after(there(case, MiddleboxConfig::UnscaledWindow), 7)
    };
    rows.into_iter().map(case).collect()
}

fn window_scale_changed(set: Set) -> Vec<LabelledCase> {
    use Replacement::{Removed, Shift};
    // Link in Mbit/s, RTT in ms, the new value of the option in the SYN-ACK.
    let rows = rows(
        set,
        &[(20, 40, Shift(2)), (50, 60, Removed)],
        &[(30, 50, Shift(3)), (40, 70, Removed)],
        &[(25, 45, Shift(4)), (60, 35, Removed)],
    );
    let case = |(rate, rtt, becomes)| {
        let (label, what) = match becomes {
            Shift(shift) => (cause::WINDOW_SCALE_REWRITTEN, format!("shift-{shift}")),
            Removed => (cause::WINDOW_SCALE_REMOVED, "removed".to_owned()),
        };
        let case = LabelledCase::new(set, "window-scale-changed", label, mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{what}"))
            .about("A middlebox changes the window scale of the SYN-ACK, so that windows look smaller to the sender.")
            .or("receive-window/buffer-too-small")
            .check(Check::LinkUsedAtMost(0.7));
        cut_after(back(case, MiddleboxConfig::WindowScale(WindowScaleConfig { becomes })), 8)
    };
    rows.into_iter().map(case).collect()
}

fn ecn_marks(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, marks in a million.
    let rows = rows(
        set,
        &[(50, 40, 3000, PACKETS), (30, 60, 5000, SUPER)],
        &[(40, 50, 4000, PACKETS)],
        &[(60, 45, 3500, PACKETS)],
    );
    let case = |(rate, rtt, ppm, offload)| {
        let case =
            LabelledCase::new(set, "ecn-marks", cause::ECN_MARKS, mbit(rate), ms(rtt), bulk(5))
                .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm{}", suffix(offload)))
                .about("A router marks packets CE at random: nothing is lost, and the marks keep the congestion window down.")
                .queue(2000)
                .offload(offload)
                .with(|s| s.sender_sysctls.push(("net.ipv4.tcp_ecn".into(), "1".into())))
                .check(Check::NothingDropped)
                .check(Check::LinkUsedAtMost(0.8));
        there(case, MiddleboxConfig::Ecn(EcnConfig::MarkByChance { probability_ppm: ppm }))
    };
    rows.into_iter().map(case).collect()
}

fn peer_gone(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, ms of idleness after which the connection is forgotten, whether with a RST.
    let rows = rows(
        set,
        &[(20, 40, 1000, false), (10, 20, 1500, true)],
        &[(30, 60, 1200, false), (15, 30, 800, true)],
        &[(25, 50, 900, false), (40, 35, 1100, true)],
    );
    let case = |(rate, rtt, idle, reset)| {
        let pause = 2 * idle;
        let messages = Writer::Messages { bytes: 200_000, every_ns: ms(pause), count: 2 };
        let workload = Workload::Streams(vec![Stream::one(messages)]);
        let case = LabelledCase::new(set, "peer-gone", cause::PEER_GONE, mbit(rate), ms(rtt), workload)
            .variant(format!("{rate}mbit-{rtt}ms-{idle}ms{}", if reset { "-rst" } else { "" }))
            .about("A NAT forgets the idle connection: data sent after the pause gets no answer, or a RST.")
            .or("application/sender-idle")
            .check(Check::Dropped(1));
        let idle = Duration::from_millis(idle);
        let forgets = |reset| MiddleboxConfig::Forget(ForgetConfig { idle, reset });
        cut_after(back(there(case, forgets(reset)), forgets(false)), 8)
    };
    rows.into_iter().map(case).collect()
}

fn fast_open_dropped(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(20, 40, 60_000), (10, 80, 40_000)], &[(15, 50, 50_000)], &[(25, 60, 70_000)]);
    let case = |(rate, rtt, bytes)| {
        let workload = Workload::Streams(vec![Stream::one(Writer::Total { bytes })]);
        let mut case = LabelledCase::new(
            set,
            "fast-open-dropped",
            cause::FAST_OPEN_DROPPED,
            mbit(rate),
            ms(rtt),
            workload,
        )
        .variant(format!("{rate}mbit-{rtt}ms-{bytes}b"))
        .about("A firewall drops the SYN that carries data (TCP Fast Open); the one without, a second later, passes.")
        // Client, server, and every listener.
        .sysctl("net.ipv4.tcp_fastopen", "1027")
        .with(|s| s.sender_socket.fast_open = true)
        .check(Check::Dropped(1));
        // The cookie comes with an earlier connection.
        case.experiment.warm_up_bytes = Some(3000);
        there(case, MiddleboxConfig::SynData)
    };
    rows.into_iter().map(case).collect()
}

fn sack_shifted(set: Set) -> Vec<LabelledCase> {
    use crate::path::loss::LossConfig;
    // Link in Mbit/s, RTT in ms, losses in a million.
    let rows = rows(set, &[(20, 40, 5000)], &[(30, 50, 4000)], &[(25, 35, 6000)]);
    let case = |(rate, rtt, ppm)| {
        let case = LabelledCase::new(set, "sack-shifted", cause::SACK_SHIFTED, mbit(rate), ms(rtt), bulk(5))
            .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm"))
            .about("A firewall changes sequence numbers but not SACK blocks, so that the sender cannot use them for its losses.")
            .or("loss-recovery/fast-retransmit")
            .or("loss-recovery/rto")
            .queue(2000)
            .forward(|p| p.loss.push(LossConfig::Random { probability_ppm: ppm }))
            .check(Check::Retransmitted(5))
            .check(Check::SenderCounter("TcpExtTCPSACKDiscard".into(), 1));
        cut_after(back(case, MiddleboxConfig::SackShift(SackShiftConfig { shift: 0x4000_0000 })), 7)
    };
    rows.into_iter().map(case).collect()
}

/// Not loss before the tap: the gaps are only in the identifications.
fn other_identifications(set: Set) -> Vec<LabelledCase> {
    use IdentificationConfig::{ByteSwapped, PerHost, Random, Zero};
    let rows = rows(
        set,
        &[(20, 40, PerHost { others: 10 }), (10, 30, Random), (8, 50, ByteSwapped)],
        &[(15, 60, PerHost { others: 300 }), (12, 45, Zero)],
        &[(25, 35, PerHost { others: 40 }), (9, 55, Random), (30, 25, ByteSwapped)],
    );
    let case = |(rate, rtt, policy)| {
        let what = match policy {
            PerHost { others } => format!("per-host-{others}"),
            Random => "random".to_owned(),
            Zero => "zero".to_owned(),
            ByteSwapped => "byte-swapped".to_owned(),
        };
        let case =
            LabelledCase::new(set, "other-identifications", "path/bottleneck-full", mbit(rate), ms(rtt), bulk(4))
                .variant(format!("{rate}mbit-{rtt}ms-{what}"))
                .about("A bulk transfer fills a link; its IPv4 identifications, behind the path, are those of another kind of host.")
                .or("path/standing-queue")
                .check(Check::LinkUsed(0.8));
        there(case, MiddleboxConfig::Identification(policy))
    };
    rows.into_iter().map(case).collect()
}
