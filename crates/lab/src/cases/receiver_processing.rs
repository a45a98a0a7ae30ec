//! Transfers whose receiver has the data and acknowledges it late.

use super::{mbit, ms, rows, secs};
use crate::case::{Check, LabelledCase, Set};
use crate::workload::{Reader, Stream, Workload, Writer};

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    acks_held_back(set)
}

/// The receiver waits for longer than an RTT, so everything that the sender may send has arrived and waits meanwhile. A
/// capture at the sender shows a longer RTT and nothing else.
fn acks_held_back(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, ms from one wait to the next, ms of waiting.
    let rows = rows(
        set,
        &[(20, 20, 160, 120), (30, 10, 230, 180), (10, 40, 300, 180)],
        &[(25, 15, 200, 160), (15, 30, 240, 150)],
        &[(35, 25, 210, 170)],
    );
    let case = |(rate, rtt, every, waits)| {
        let reader = Reader::Faulting { every_ns: ms(every), for_ns: ms(waits) };
        let stream = Stream { reader, ..Stream::one(Writer::For { duration_ns: secs(4) }) };
        LabelledCase::new(
            set,
            "acks-held-back",
            "receiver-processing/acks-held-back",
            mbit(rate),
            ms(rtt),
            Workload::Streams(vec![stream]),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{waits}ms-of-{every}ms"))
        .about("The reader waits for memory with its socket locked, so arriving data is not acknowledged meanwhile.")
        .or_at_sender("path/delay-spike")
        .or_at_sender("path/standing-queue")
        .or_at_sender("loss-recovery/spurious-rto")
        .queue(400)
        .check(Check::LinkUsedAtMost(0.8))
        .check(Check::NothingDropped)
        .check(Check::ReaderWaited(0.4))
    };
    rows.into_iter().map(case).collect()
}
