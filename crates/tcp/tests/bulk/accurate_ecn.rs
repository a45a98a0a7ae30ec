//! Accurate ECN between two endpoints (RFC 9768).

use crate::transfer::{Bulk, big_buffers};
use slowpath_kernels::Release;
use std::time::Duration;

/// A transfer at 100 Mbit/s that is marked above 50 packets in the queue.
fn marked_transfer(tcp_ecn: u8) -> Bulk {
    let mut sysctls = big_buffers();
    sysctls.tcp_ecn = tcp_ecn;
    let mut bulk = Bulk::new(Release::Linux6_18.tcp(), sysctls, 100e6, 2000, Duration::from_millis(20));
    bulk.to_server.marks_above = Some(50);
    bulk.run(Duration::from_secs(10));
    bulk
}

/// The counter of three bits follows each mark, across bursts of more than seven, and cwnd is reduced as by classic ECN.
#[test]
fn sender_counts_each_mark_and_keeps_the_queue_short() {
    let bulk = marked_transfer(3);
    let info = bulk.sender.info(bulk.now);
    assert!(info.options & 8 != 0, "TCPI_OPT_ECN");
    assert_eq!(bulk.to_server.dropped, 0);
    assert!(bulk.to_server.marked > 50, "{}", bulk.to_server.marked);
    let missing = bulk.to_server.marked.abs_diff(info.delivered_ce);
    // Those in flight.
    assert!(missing <= 16, "{} marked, {} counted", bulk.to_server.marked, info.delivered_ce);
    assert!(bulk.read as f64 * 8.0 / 10.0 > 90e6, "{} bytes", bulk.read);
}

/// Classic ECN repeats ECE until CWR comes: all that is delivered meanwhile counts as marked.
#[test]
fn classic_ecn_counts_more_than_was_marked() {
    let bulk = marked_transfer(1);
    let info = bulk.sender.info(bulk.now);
    assert!(info.delivered_ce > 2 * bulk.to_server.marked, "{} {}", info.delivered_ce, bulk.to_server.marked);
}

/// The byte counters of both ends agree, but for what is on the way, and every byte came with one ECN field or the other.
#[test]
fn byte_counters_follow_the_marks() {
    /// 1500 bytes without headers, timestamps and the option itself.
    const MSS: u32 = 1500 - 40 - 12 - 12;
    let bulk = marked_transfer(3);
    let sender = bulk.sender.info(bulk.now);
    let receiver = bulk.receiver.as_ref().expect("it was accepted").info(bulk.now);
    assert_eq!(receiver.rcv_mss, MSS);
    assert_eq!(receiver.received_ce_bytes, receiver.received_ce * MSS);
    assert_eq!(receiver.received_e1_bytes, 0);
    let behind = receiver.received_ce_bytes - sender.delivered_ce_bytes;
    assert!(behind <= 16 * MSS, "{behind}");
    let reported = u64::from(sender.delivered_ce_bytes) + u64::from(sender.delivered_e0_bytes);
    assert_eq!(reported, sender.bytes_acked - 1);
}
