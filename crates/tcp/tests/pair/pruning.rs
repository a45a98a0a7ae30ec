//! How a receiver makes room when data beyond a hole takes more memory than its buffer.

use crate::endpoints::{accepted, settings};
use slowpath_kernels::Release;
use slowpath_model::{Flags, Instant, StreamOffset};
use slowpath_tcp::choices::{Choices, Pruning};
use slowpath_tcp::socket::PacketMemory;
use slowpath_tcp::{Connection, Packet};

const SEGMENT: u32 = 1448;
/// `SO_RCVBUF`, which the kernel doubles. Half of that is window: 44 segments.
const BUFFER: i64 = 64_000;

/// A receiver of 2.2 with a NIC for jumbo frames: each packet takes 9212 bytes, and the buffer has room for 14.
fn receiver(pruning: Pruning) -> Connection {
    let choices = Choices { pruning, ..Release::Linux2_2_20.tcp() };
    let settings = settings(choices, Release::Linux2_2_20.sysctls());
    let mut connection = accepted(settings, 1460, Some(BUFFER));
    connection.set_packet_memory(PacketMemory::Frames(9036));
    connection
}

/// Segments that arrive beyond a hole of one segment, until the window ends; then the hole is filled. Returns how often
/// out-of-order data was dropped, and the segments received in order.
fn fill(pruning: Pruning) -> (u32, i64) {
    let mut connection = receiver(pruning);
    let now = Instant::from_nanos(20_000_000);
    for number in (1..40).chain([0]) {
        let seq = StreamOffset(1 + number * i64::from(SEGMENT));
        let segment = Packet { ack: StreamOffset(1), window: 500, ..Packet::new(Flags::ACK, seq, SEGMENT) };
        connection.handle_packet(now, &segment);
    }
    (connection.counters().ofo_pruned, (connection.receive_queue().end.0 - 1) / i64::from(SEGMENT))
}

/// 2.2 drops all of it each time the 15th packet finds the buffer full. Nothing but the filled hole is in order then.
#[test]
fn purge_drops_all_out_of_order_data_without_collapsing_it() {
    assert_eq!(fill(Pruning::Purge), (2, 1));
}

#[test]
fn collapsing_makes_room_before_out_of_order_data_is_dropped() {
    assert_eq!(fill(Pruning::CollapseAndPurge), (1, 1));
}

/// Since 4.9 only an eighth of the buffer is dropped, from the end: 26 segments next to the hole are kept.
#[test]
fn pruning_keeps_the_data_next_to_the_hole() {
    assert_eq!(fill(Pruning::CollapseAndPrune), (1, 27));
}
