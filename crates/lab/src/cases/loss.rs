//! Transfers limited by losses and loss recovery.

use super::{PACKETS, SUPER, bulk, mbit, ms, rows, suffix};
use crate::case::{Check, LabelledCase, Set};
use crate::path::link::Stall;
use crate::path::loss::{LossConfig, Stretch};
use crate::path::{PathConfig, ReorderConfig};
use crate::settings::Offload;
use crate::workload::{Exchange, Stream, Workload, Writer};
use std::time::Duration;

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [
        random_loss(set),
        burst_loss(set),
        tail_loss(set),
        lost_retransmission(set),
        syn_loss(set),
        reordering(set),
        delay_spike(set),
        long_stall(set),
    ]
    .concat()
}

const MSS_BYTES: u64 = 1448;

/// TCP options that the hosts do not use; a variation of the loss cases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Without {
    Nothing,
    Sack,
    Timestamps,
    TailLossProbe,
    Rack,
    Frto,
}

impl Without {
    fn apply(self, case: LabelledCase) -> LabelledCase {
        match self {
            Self::Nothing => case,
            Self::Sack => case.sysctl("net.ipv4.tcp_sack", "0"),
            Self::Timestamps => case.sysctl("net.ipv4.tcp_timestamps", "0"),
            Self::TailLossProbe => case.sysctl("net.ipv4.tcp_early_retrans", "0"),
            Self::Rack => case.sysctl("net.ipv4.tcp_recovery", "0"),
            Self::Frto => case.sysctl("net.ipv4.tcp_frto", "0"),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Sack => "-nosack",
            Self::Timestamps => "-nots",
            Self::TailLossProbe => "-notlp",
            Self::Rack => "-norack",
            Self::Frto => "-nofrto",
        }
    }
}

fn random_loss(set: Set) -> Vec<LabelledCase> {
    #[derive(Clone, Copy)]
    struct Row(u64, u64, u32, u64, &'static str, Without, Offload);
    use Without::{Nothing, Sack, Timestamps};
    let rows = rows(
        set,
        &[
            Row(100, 80, 100, 4, "cubic", Nothing, SUPER),
            Row(30, 60, 1000, 4, "cubic", Nothing, PACKETS),
            Row(40, 40, 1000, 5, "reno", Nothing, SUPER),
            Row(20, 40, 10_000, 5, "cubic", Nothing, PACKETS),
            Row(20, 40, 10_000, 5, "cubic", Sack, PACKETS),
            Row(20, 40, 10_000, 5, "cubic", Timestamps, PACKETS),
            Row(10, 30, 30_000, 5, "cubic", Nothing, PACKETS),
            Row(10, 80, 30_000, 6, "reno", Nothing, PACKETS),
        ],
        &[
            Row(90, 70, 150, 4, "cubic", Nothing, SUPER),
            Row(45, 50, 1500, 4, "cubic", Nothing, PACKETS),
            Row(30, 30, 8000, 5, "reno", Nothing, PACKETS),
            Row(25, 55, 12_000, 5, "cubic", Sack, PACKETS),
            Row(15, 45, 25_000, 5, "cubic", Timestamps, PACKETS),
        ],
        &[
            Row(60, 65, 500, 5, "cubic", Nothing, PACKETS),
            Row(35, 35, 5000, 5, "reno", Nothing, SUPER),
            Row(12, 90, 20_000, 6, "cubic", Sack, PACKETS),
        ],
    );
    let case = |Row(rate, rtt, ppm, seconds, cc, without, offload)| {
        let packets = u64::from(ppm >= 1000) + 1;
        let case = LabelledCase::new(
            set,
            "random-loss",
            "congestion-window/after-loss",
            mbit(rate),
            ms(rtt),
            bulk(seconds),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm-{cc}{}{}", without.suffix(), suffix(offload)))
        .about("Packets are lost at random, independently of load, and keep the congestion window down.")
        .or("loss-recovery/fast-retransmit")
        .or("loss-recovery/rto")
        .congestion_control(cc)
        .offload(offload)
        .forward(|p| p.loss.push(LossConfig::Random { probability_ppm: ppm }))
        .check(Check::NoQueueDrops)
        .check(Check::Dropped(packets))
        .check(Check::Retransmitted(packets))
        .check(Check::LinkUsedAtMost(0.85));
        // Room for the overshoot of slow start, so that only random loss drops packets.
        without.apply(if ppm <= 2000 { case.queue(2000) } else { case })
    };
    rows.into_iter().map(case).collect()
}

fn burst_loss(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, mean packets between bursts, mean packets in a burst.
    let rows = rows(
        set,
        &[
            (20, 40, 400, 4, Without::Nothing),
            (10, 60, 300, 8, Without::Nothing),
            (20, 30, 300, 5, Without::Sack),
        ],
        &[(30, 50, 350, 6, Without::Nothing), (15, 25, 250, 5, Without::Sack)],
        &[(25, 45, 500, 7, Without::Nothing)],
    );
    let case = |(rate, rtt, between, inside, without): (u64, u64, u32, u32, Without)| {
        let loss = LossConfig::Bursts {
            good_to_bad_ppm: 1_000_000 / between,
            bad_to_good_ppm: 1_000_000 / inside,
            bad_loss_ppm: 1_000_000,
        };
        let case = LabelledCase::new(
            set,
            "burst-loss",
            "congestion-window/after-loss",
            mbit(rate),
            ms(rtt),
            bulk(5),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{inside}-every-{between}{}", without.suffix()))
        .about("Packets are lost in bursts (Gilbert's chain), independently of load.")
        .or("loss-recovery/fast-retransmit")
        .or("loss-recovery/rto")
        .or("loss-recovery/lost-retransmission")
        .forward(|p| p.loss.push(loss))
        .check(Check::NoQueueDrops)
        .check(Check::Dropped(6))
        .check(Check::Retransmitted(6))
        .check(Check::LinkUsedAtMost(0.8));
        without.apply(case)
    };
    rows.into_iter().map(case).collect()
}

/// The last segments of each response are lost once. Requests follow at once, so neither end is ever idle.
fn tail_loss(set: Set) -> Vec<LabelledCase> {
    use Without::{Nothing, Sack, TailLossProbe};
    let rows = rows(
        set,
        &[
            (20, 20, 30_000, 1, Nothing),
            (20, 40, 20_000, 3, Nothing),
            (10, 30, 12_000, 2, Sack),
            (20, 20, 20_000, 2, TailLossProbe),
        ],
        &[(30, 25, 40_000, 2, Nothing), (15, 50, 16_000, 1, Sack), (25, 15, 25_000, 4, TailLossProbe)],
        &[(40, 35, 35_000, 3, Nothing), (12, 45, 10_000, 2, TailLossProbe)],
    );
    let case = |(rate, rtt, response, lost, without): (u64, u64, u64, u64, Without)| {
        let rounds = 16_u64;
        let plan = Exchange { rounds_per_connection: rounds as u32, ..Exchange::one(200, response) };
        // Where the last `lost` segments of each response begin: it is cut at multiples of the MSS.
        let tail = ((response - 1) / MSS_BYTES + 1 - lost) * MSS_BYTES;
        let stretch =
            |n| Stretch { from_byte: n * response + tail.min(response - 1), to_byte: (n + 1) * response };
        let stretches = (0..rounds).map(stretch).collect();
        let case = LabelledCase::new(
            set,
            "tail-loss",
            "loss-recovery/tail-loss",
            mbit(rate),
            ms(rtt),
            Workload::Exchange(plan),
        )
        .variant(format!("{rate}mbit-{rtt}ms-last-{lost}-of-{response}b{}", without.suffix()))
        .about("The last segments of every response are lost, so no later data can reveal it.")
        .or("loss-recovery/rto")
        .forward(|p| p.loss.push(LossConfig::Stretches { stretches, times: 1 }))
        .check(Check::Dropped(rounds))
        .check(Check::Retransmitted(rounds));
        without.apply(case)
    };
    rows.into_iter().map(case).collect()
}

/// A segment and its retransmission are lost, at several places of a transfer.
fn lost_retransmission(set: Set) -> Vec<LabelledCase> {
    use Without::{Nothing, Rack};
    let rows = rows(
        set,
        &[(20, 60, 2, Nothing), (10, 100, 2, Rack), (10, 40, 3, Nothing)],
        &[(15, 80, 2, Nothing), (25, 50, 3, Rack)],
        &[(30, 70, 2, Nothing)],
    );
    let case = |(rate, rtt, times, without): (u64, u64, u32, Without)| {
        let at = |n: u64| Stretch { from_byte: n * 120_000, to_byte: n * 120_000 + 2 * MSS_BYTES };
        let stretches = (1..40).map(at).collect();
        let case = LabelledCase::new(
            set,
            "lost-retransmission",
            "loss-recovery/lost-retransmission",
            mbit(rate),
            ms(rtt),
            bulk(5),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{times}-times{}", without.suffix()))
        .about("Segments are lost together with their retransmissions.")
        .or("loss-recovery/rto")
        .or("loss-recovery/fast-retransmit")
        .or("congestion-window/after-loss")
        .forward(|p| p.loss.push(LossConfig::Stretches { stretches, times }))
        .check(Check::NoQueueDrops)
        .check(Check::Dropped(4))
        .check(Check::Retransmitted(4))
        .check(Check::LinkUsedAtMost(0.7));
        without.apply(case)
    };
    rows.into_iter().map(case).collect()
}

fn syn_loss(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, number of losses, whether it is the SYN-ACK.
    let rows = rows(
        set,
        &[(20, 40, 1, false), (20, 30, 1, true), (10, 60, 2, false)],
        &[(15, 50, 2, true), (30, 25, 1, false)],
        &[(25, 45, 2, false), (40, 35, 1, true)],
    );
    let case = |(rate, rtt, times, answer): (u64, u64, u32, bool)| {
        let loss = LossConfig::Syn { times };
        let which = if answer { "synack" } else { "syn" };
        let stream = Stream::one(Writer::Total { bytes: 60_000 });
        let case = LabelledCase::new(
            set,
            "syn-loss",
            "loss-recovery/handshake",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{times}-{which}"))
        .about(
            "The SYN or the SYN-ACK is lost, so most of the short transfer's time is a wait for its retransmission.",
        )
        .or("loss-recovery/rto")
        .check(Check::SynDropped(u64::from(times)));
        if answer { case.backward(|p| p.loss.push(loss)) } else { case.forward(|p| p.loss.push(loss)) }
    };
    rows.into_iter().map(case).collect()
}

/// Nothing is lost, but some packets are reordered by more than the sender tolerates.
fn reordering(set: Set) -> Vec<LabelledCase> {
    #[derive(Clone, Copy)]
    struct Row(u64, u64, u32, u64, u32, Without);
    use Without::{Nothing, Sack, Timestamps};
    let rows = rows(
        set,
        &[
            Row(50, 30, 10_000, 40, 0, Nothing),
            Row(30, 20, 20_000, 60, 0, Nothing),
            Row(20, 40, 20_000, 60, 0, Timestamps),
            Row(30, 40, 20_000, 70, 0, Sack),
            Row(30, 40, 10_000, 10, 5000, Nothing),
        ],
        &[
            Row(40, 25, 15_000, 50, 0, Nothing),
            Row(25, 30, 25_000, 45, 0, Timestamps),
            Row(25, 35, 15_000, 9, 7000, Nothing),
        ],
        &[Row(35, 50, 12_000, 80, 0, Nothing), Row(45, 22, 8000, 12, 4000, Nothing)],
    );
    let case = |Row(rate, rtt, ppm, extra, lost_ppm, without)| {
        let name = if lost_ppm > 0 { "reordering-and-loss" } else { "reordering" };
        let case = LabelledCase::new(set, name, "loss-recovery/reordering", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{ppm}ppm-by-{extra}ms{}", without.suffix()))
            .or("congestion-window/after-loss")
            .or("path/reordering")
            .queue(2000)
            .forward(|p| {
                p.reorder = Some(ReorderConfig { probability_ppm: ppm, extra: Duration::from_millis(extra) })
            })
            .check(Check::HeldBack(8))
            .check(Check::LinkUsedAtMost(0.8));
        let case = if lost_ppm > 0 {
            case.about("Packets are reordered, and others are lost; the sender has to distinguish them.")
                .or("loss-recovery/fast-retransmit")
                .forward(|p| p.loss.push(LossConfig::Random { probability_ppm: lost_ppm }))
                .check(Check::Dropped(2))
        } else {
            case.about("Packets are reordered; none is lost, but the sender believes so.")
                .check(Check::NothingDropped)
                .check(Check::Retransmitted(1))
        };
        without.apply(case)
    };
    rows.into_iter().map(case).collect()
}

/// Nothing is lost, but the link stalls again and again.
fn delay_spike(set: Set) -> Vec<LabelledCase> {
    use Without::{Frto, Nothing, Timestamps};
    // Link in Mbit/s, RTT in ms, ms of each stall, ms from one to the next.
    let rows = rows(
        set,
        &[(10, 40, 700, 1400, Nothing), (10, 60, 900, 1700, Frto), (5, 30, 600, 1300, Timestamps)],
        &[(8, 50, 800, 1500, Nothing), (12, 80, 1000, 1900, Frto)],
        &[(15, 70, 850, 1600, Nothing)],
    );
    let case = |(rate, rtt, stall, every, without): (u64, u64, u64, u64, Without)| {
        let stalls = (1..5).map(|n| standing_still(n * every - stall, n * every)).collect();
        let case =
            LabelledCase::new(set, "delay-spike", "loss-recovery/spurious-rto", mbit(rate), ms(rtt), bulk(6))
                .variant(format!("{rate}mbit-{rtt}ms-{stall}ms-of-{every}ms{}", without.suffix()))
                .about("The link stalls again and again; nothing is lost, but the sender's timer expires.")
                .or("path/delay-spike")
                .queue(3000)
                .forward(|p| stand_still(p, stalls))
                .check(Check::NothingDropped)
                .check(Check::SenderCounter("TcpExtTCPTimeouts".into(), 1))
                .check(Check::Retransmitted(1));
        without.apply(case)
    };
    rows.into_iter().map(case).collect()
}

/// The link stalls from one instant to another, in milliseconds.
fn standing_still(from: u64, to: u64) -> Stall {
    Stall { from: Duration::from_millis(from), to: Duration::from_millis(to) }
}

fn stand_still(path: &mut PathConfig, stalls: Vec<Stall>) {
    if let Some(link) = &mut path.link {
        link.stalls = stalls;
    }
}

/// Nothing is lost, but the link stalls once for longer than the retransmission timeout, and for longer than the next
/// ones too.
fn long_stall(set: Set) -> Vec<LabelledCase> {
    use Without::{Frto, Nothing, Timestamps};
    // Link in Mbit/s, RTT in ms, ms until the stall, ms of the stall.
    let rows = rows(
        set,
        &[(10, 40, 1000, 1500, Nothing), (10, 60, 800, 2000, Frto), (5, 30, 1000, 2200, Timestamps)],
        &[(8, 50, 900, 1800, Nothing), (12, 80, 1100, 2500, Frto)],
        &[(15, 45, 1000, 2100, Timestamps)],
    );
    let case = |(rate, rtt, at, stall, without): (u64, u64, u64, u64, Without)| {
        let stalls = vec![standing_still(at, at + stall)];
        let case =
            LabelledCase::new(set, "long-stall", "loss-recovery/spurious-rto", mbit(rate), ms(rtt), bulk(3))
                .variant(format!("{rate}mbit-{rtt}ms-{stall}ms-at-{at}ms{}", without.suffix()))
                .about("The link stalls for a while; nothing is lost, but the sender's timer expires.")
                .or("path/delay-spike")
                .queue(3000)
                .forward(|p| stand_still(p, stalls))
                .check(Check::NothingDropped)
                .check(Check::SenderCounter("TcpExtTCPTimeouts".into(), 2))
                .check(Check::Retransmitted(2));
        without.apply(case)
    };
    rows.into_iter().map(case).collect()
}
