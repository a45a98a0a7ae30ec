//! Transfers limited by the send buffer.
//!
//! They set TCP_NODELAY. Without it, Nagle's algorithm usually leaves a short segment unsent, and Linux appends to such
//! a segment without checking the buffer's limit (`tcp_sendmsg_locked`, up to 6.18 at least), so a busy writer gets far
//! beyond SO_SNDBUF and the buffer is no limit.

use super::{PACKETS, SUPER, bulk, mbit, ms, rows, suffix};
use crate::case::{Check, LabelledCase, Set, ShareBasis};
use crate::settings::Offload;

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [small_sndbuf(set), small_tcp_wmem(set)].concat()
}

fn small_sndbuf(set: Set) -> Vec<LabelledCase> {
    let rows = rows(
        set,
        &[(50, 80, 16, PACKETS), (30, 150, 32, PACKETS), (100, 60, 48, SUPER)],
        &[(40, 100, 24, PACKETS), (60, 70, 12, PACKETS), (80, 90, 64, SUPER)],
        &[(45, 110, 20, PACKETS), (70, 50, 40, SUPER)],
    );
    let case = |(rate, rtt, kib, offload): (u64, u64, u32, Offload)| {
        LabelledCase::new(set, "small-sndbuf", "send-buffer/fixed", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{kib}k{}", suffix(offload)))
            .about("The sender sets SO_SNDBUF so small that it holds far less than the path's BDP.")
            .with(|s| {
                s.sender_socket.so_sndbuf_bytes = Some(kib * 1024);
                s.sender_socket.nodelay = true;
            })
            .offload(offload)
            .share_at_least(ShareBasis::WriterStarved, 0.5)
            .check(Check::NothingDropped)
            .check(Check::LinkUsedAtMost(0.7))
    };
    rows.into_iter().map(case).collect()
}

fn small_tcp_wmem(set: Set) -> Vec<LabelledCase> {
    let rows = rows(set, &[(40, 80, 48), (60, 60, 64)], &[(50, 90, 40), (30, 140, 80)], &[(35, 120, 56)]);
    let case = |(rate, rtt, kib)| {
        let wmem = format!("4096 16384 {}", kib * 1024);
        LabelledCase::new(set, "small-tcp-wmem", "send-buffer/tcp-wmem", mbit(rate), ms(rtt), bulk(4))
            .variant(format!("{rate}mbit-{rtt}ms-{kib}k"))
            .about("The sender's tcp_wmem maximum keeps its buffer below the path's BDP.")
            .with(|s| {
                s.sender_sysctls.push(("net.ipv4.tcp_wmem".into(), wmem));
                s.sender_socket.nodelay = true;
            })
            .share_at_least(ShareBasis::WriterStarved, 0.5)
            .check(Check::NothingDropped)
            .check(Check::LinkUsedAtMost(0.7))
    };
    rows.into_iter().map(case).collect()
}
