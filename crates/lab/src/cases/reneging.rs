//! Transfers with SACK reneging.

use super::{mbit, ms, rows, secs};
use crate::case::{Check, LabelledCase, Set};
use crate::path::loss::{LossConfig, Stretch};
use crate::workload::{Reader, Stream, Workload, Writer};

const MSS_BYTES: u64 = 1448;

/// A segment is lost at regular intervals, and the receiver has no memory left for the data behind it.
pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, bytes from one loss to the next.
    let rows = rows(
        set,
        &[(20, 60, 200_000), (10, 100, 150_000)],
        &[(15, 80, 180_000), (30, 50, 250_000)],
        &[(25, 70, 220_000)],
    );
    let case = |(rate, rtt, every): (u64, u64, u64)| {
        let at = |n: u64| Stretch { from_byte: n * every, to_byte: n * every + MSS_BYTES };
        let stretches = (1..60).map(at).collect();
        let stream =
            Stream { reader: Reader::Squeezing, ..Stream::one(Writer::For { duration_ns: secs(6) }) };
        LabelledCase::new(
            set,
            "sack-reneging",
            "loss-recovery/sack-reneging",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-every-{every}b"))
        .about("The receiver runs out of memory while it holds data behind a hole, and discards that data.")
        .or("loss-recovery/rto")
        .or("loss-recovery/fast-retransmit")
        .or("congestion-window/after-loss")
        .forward(|p| p.loss.push(LossConfig::Stretches { stretches, times: 1 }))
        .check(Check::NoQueueDrops)
        .check(Check::ReceiverCounter("TcpExtOfoPruned".into(), 3))
        .check(Check::SenderCounter("TcpExtTCPSACKReneging".into(), 3))
        .check(Check::LinkUsedAtMost(0.7))
    };
    rows.into_iter().map(case).collect()
}
