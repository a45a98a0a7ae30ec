//! Responses of Linux 6.18, recorded on a tun device: windows and memory match to the byte.

use crate::endpoints::{accepted, settings};
use slowpath_kernels::Release;
use slowpath_model::{Flags, Instant, StreamOffset};
use slowpath_tcp::socket::ReadFlags;
use slowpath_tcp::{Connection, Packet};

struct Receiver {
    connection: Connection,
    millis: i64,
    seq: i64,
}

impl Receiver {
    /// A connection accepted 12 ms after its SYN, which offered SACK and scaling but no timestamps.
    fn accepted(mss: u16, receive_buffer: Option<i64>) -> Self {
        let settings = settings(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls());
        let connection = accepted(settings, mss, receive_buffer);
        Self { connection, millis: 12, seq: 1 }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.millis * 1_000_000)
    }

    fn windows(&mut self) -> Vec<u16> {
        std::iter::from_fn(|| self.connection.poll_transmit()).map(|packet| packet.window).collect()
    }

    /// Receives `count` segments at once; returns the windows of their ACKs.
    fn segments(&mut self, after: i64, len: u32, count: u32) -> Vec<u16> {
        self.millis += after;
        for _ in 0..count {
            let segment = Packet {
                ack: StreamOffset(1),
                window: 500,
                ..Packet::new(Flags::ACK, StreamOffset(self.seq), len)
            };
            self.connection.handle_packet(self.now(), &segment);
            self.seq += i64::from(len);
        }
        self.windows()
    }

    fn read(&mut self, after: i64, max: u32) -> Vec<u16> {
        self.millis += after;
        let now = self.now();
        assert!(self.connection.read(now, max, ReadFlags::default()).is_ok());
        self.windows()
    }

    fn memory(&self) -> (u32, u32) {
        (self.connection.receive_memory(), self.connection.receive_buffer())
    }
}

#[test]
fn late_reader_matches_linux_6_18() {
    let mut end = Receiver::accepted(1460, None);
    let first = [66, 69, 72, 75, 74, 73, 72, 71, 70, 69, 68, 67, 66, 65, 64, 63, 62, 61, 60, 59];
    assert_eq!(end.segments(10, 1460, 20), first);
    assert_eq!(end.memory(), (46_080, 131_072));
    end.segments(11, 1460, 24);
    end.segments(21, 1460, 5);
    assert_eq!(end.memory(), (112_896, 131_072));
    assert_eq!(end.read(10, 10_000), [19]);
    assert_eq!(end.memory(), (99_072, 131_072));
    assert_eq!(end.read(10, 20_000), [39]);
    end.read(5, 100_000);
    assert_eq!(end.memory(), (0, 131_072));
    assert_eq!(end.segments(25, 1460, 10), [77, 79]);
    assert_eq!(end.read(1, 100_000), [79]);
    assert_eq!(end.segments(20, 1460, 4), [82, 84, 87, 90]);
}

#[test]
fn fixed_8000_byte_buffer_matches_linux_6_18() {
    let mut end = Receiver::accepted(1000, Some(4000));
    assert_eq!(end.segments(11, 1000, 1), [2000]);
    assert_eq!((end.segments(10, 1000, 1), end.segments(10, 1000, 1)), (vec![], vec![]));
    end.millis += 10;
    end.connection.handle_timeout(end.now());
    // The third fills it; the fourth finds the window closed.
    assert_eq!(end.segments(0, 1000, 1).last(), Some(&0));
    assert_eq!(end.memory(), (6912, 8000));
    assert_eq!(end.read(31, 1000), [1000]);
    assert_eq!(end.read(10, 10_000), [2000]);
    assert_eq!(end.memory(), (0, 8000));
}

#[test]
fn unread_small_segments_match_linux_6_18() {
    let mut end = Receiver::accepted(1460, None);
    end.segments(10, 100, 400);
    // Each is charged 832 bytes; the buffer grows page by page, since it is checked only then.
    assert_eq!(end.memory(), (332_800, 331_136));
}
