//! Transfers limited by the sending host: its own link, or a pacing rate set by the program.
//!
//! A host's tap is behind its queue, so packets pass it at the rate of the link or of the shaper, evenly, and nothing
//! queues behind it: the path is faster.

use super::{PACKETS, SUPER, bulk, mbit, ms, rows, suffix};
use crate::case::{Check, LabelledCase, Set};
use crate::settings::Offload;

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [paced(set), own_link(set)].concat()
}

fn paced(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(100, 40, 8, PACKETS), (200, 20, 16, SUPER)],
        &[(80, 60, 6, PACKETS)],
        &[(150, 30, 11, SUPER)],
    );
    let case = |(rate, rtt, paced, offload): (u64, u64, u64, Offload)| {
        LabelledCase::new(set, "paced", "sending-host/rate-limit", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{paced}mbit{}", suffix(offload)))
            .about("The sender sets SO_MAX_PACING_RATE far below the path's rate.")
            .with(|s| s.sender_socket.max_pacing_rate_bit_per_s = Some(mbit(paced)))
            .offload(offload)
            .check(Check::NothingDropped)
            .check(Check::LinkUsedAtMost(0.3))
    };
    rows.into_iter().map(case).collect()
}

fn own_link(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(100, 50, 10, PACKETS), (200, 30, 20, SUPER)],
        &[(90, 70, 8, PACKETS)],
        &[(120, 25, 12, SUPER)],
    );
    let case = |(rate, rtt, own, offload): (u64, u64, u64, Offload)| {
        LabelledCase::new(set, "own-link", "sending-host/rate-limit", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{own}mbit{}", suffix(offload)))
            .about("A token bucket filter on the sender's interface lets far less through than the path carries.")
            .with(|s| s.sender_card_bit_per_s = Some(mbit(own)))
            .offload(offload)
            // To the receiver, a queue in the sending host looks like one on the path.
            .or("path/bottleneck-full")
            .check(Check::LinkUsedAtMost(0.3))
    };
    rows.into_iter().map(case).collect()
}
