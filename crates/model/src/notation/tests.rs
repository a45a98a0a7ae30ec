//! Tests that written events are parsed back.

use crate::event::{Event, EventKind};
use crate::flow::End;
use crate::icmp::{IcmpError, IcmpKind};
use crate::segment::{Checksum, Ecn, Flags, SackBlock, Segment, Timestamps};
use crate::sequence::StreamOffset;
use crate::socket::{CaState, DropReason, Hold, Mark, SocketSample, Wait};
use crate::time::Instant;
use crate::units::Bytes;
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn event_lines_round_trip() {
    for line in [
        "0.000000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 100 ecr 0,wscale 7> // frame 1 id 4660 ttl 64",
        "0.020113004 < S. 0:0(0) ack 1 win 65160 <mss 1460> // frame 2 id 0 ttl 63 ect0",
        "-0.000000001 > FP. 1:1449(1448) ack 1 win 502 // frame 3 ttl 64 ce",
        "2.000000000 < . 1:1(0) ack 1449 win 0 <TS val 1 ecr 2,sack 2897:4345 5793:7241> // frame 9 ttl 1",
        "3.000000000 > - 1:1(0) win 0 // frame 10 ttl 1",
        "0.000000000 > S 0:10(10) win 64240 <mss 1460,FO> // frame 1 ttl 64 ect0 checksum good",
        "0.000000000 > . 1:10(9) ack 1 win 64240 // frame 1 ttl 64 checksum wrong",
        "2.000000000 < . 1:1(0) ack 1 win 0 <sack 3:4,sack-outside 2> // frame 9 ttl 1",
        "0.270000000 icmp packet-too-big mtu 1400 about > 1449 from 192.0.2.254 // frame 4",
        "0.270000000 icmp other type 12 code 0 about < from 2001:db8::1 // frame 4",
        "0.270000000 icmp port-unreachable about < -1 // frame 4",
        "1.500000000 missed 12",
        "0.020141009 A wrote 131072",
        "0.040310400 B waited receive-queue 0.000170288 1448",
        "0.100000000 B waited socket-backlog 0.000170288 0 times 12",
        "0.100000000 A held receive-window 0.031250000",
        "0.040310400 B read 0",
        "0.250000000 A marked spurious-timeout",
        "0.250000000 B marked rcvbuf 262144",
        "0.260000000 dropped qdisc > . 1449:2897(1448) ack 1 win 502 // frame 0 ttl 64",
        "0.300000000 B sampled",
        "0.300000000 B sampled ca_state loss snd_cwnd 1 rto 200000 prequeue 0",
    ] {
        assert_eq!(line.parse::<Event>().expect(line).to_string(), line);
    }
}

#[test]
fn script_lines_need_no_remarks() {
    let event: Event = "1 < . 1:1(0) ack 1001 win 257 <nop,nop,sack 2001:3001>".parse().unwrap();
    let EventKind::Seen(segment) = event.kind else { panic!("a segment") };
    assert_eq!(segment.ack, Some(StreamOffset(1001)));
    assert_eq!(segment.sack.as_slice().len(), 1);
}

#[test]
fn notation_error_names_the_field_and_the_text() {
    let error = |line: &str| line.parse::<Event>().unwrap_err().to_string();
    assert_eq!(error("soon > . 1:1(0)"), "cannot read the time in seconds at \"soon\"");
    assert_eq!(error("1 > Q 1:1(0)"), "cannot read the flags at \"Q\"");
    assert_eq!(error("1 > . 1:5(3)"), "cannot read a range whose length agrees with its edges at \"1:5(3)\"");
    assert_eq!(error("1 > . 1:1(0) ack x"), "cannot read the acknowledgment at \"x\"");
    assert_eq!(error("1 > . 1:1(0) <mss 1460"), "cannot read the end of the options at \"mss 1460\"");
}

proptest! {
    #[test]
    fn any_segment_round_trips(
        at: i64, a: bool, bits in 0u16..512, seq in -(1i64 << 40)..(1 << 40), len: u32,
        ack: Option<u32>, window: u16, mss: Option<u16>, window_scale: Option<u8>, sack_permitted: bool,
        stamps: Option<(u32, u32)>, edges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4),
        id: Option<u16>, ttl: u8, ecn in 0u8..4, frame: u64,
    ) {
        let from = if a { End::A } else { End::B };
        let mut segment = Segment::new(from, Flags(bits), StreamOffset(seq), len);
        segment.ack = ack.map(|ack| StreamOffset(ack.into()));
        (segment.window, segment.mss, segment.window_scale) = (window, mss, window_scale);
        segment.sack_permitted = sack_permitted;
        segment.timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
        for (start, end) in edges {
            segment.sack.push(SackBlock { start: StreamOffset(start.into()), end: StreamOffset(end.into()) });
        }
        (segment.ip.id, segment.ip.ttl, segment.ip.ecn) = (id, ttl, Ecn::from_bits(ecn));
        segment.frame = frame;
        segment.fast_open = a && ttl > 64;
        segment.options_cut = ttl % 3 == 0;
        segment.checksum = [Checksum::Unknown, Checksum::Good, Checksum::Wrong][usize::from(ttl) % 3];
        let event = Event { at: Instant::from_nanos(at), kind: EventKind::Seen(segment) };
        prop_assert_eq!(event.to_string().parse::<Event>(), Ok(event));
    }

    #[test]
    fn any_icmp_error_round_trips(
        v6: bool, kind: u8, code: u8, word: u32, seq: Option<i64>, from: Option<std::net::IpAddr>, frame: u64,
    ) {
        let read = if v6 { IcmpKind::of_v6 } else { IcmpKind::of_v4 };
        if let Some(kind) = read(kind % 16, code % 16, word) {
            let (about, seq) = (if v6 { End::A } else { End::B }, seq.map(StreamOffset));
            let kind = EventKind::IcmpError(IcmpError { about, seq, kind, from, frame });
            let event = Event { at: Instant::START, kind };
            prop_assert_eq!(event.to_string().parse::<Event>(), Ok(event));
        }
    }

    #[test]
    fn any_host_event_round_trips(
        at: i64, b: bool, amount: u64, nanos in 0..=i64::MAX as u64, mark in 0..Mark::all().count(),
        wait in prop::sample::select(Wait::ALL), ca_state in prop::option::of(prop::sample::select(CaState::ALL)),
        numbers in prop::collection::vec(any::<Option<u32>>(), SocketSample::FIELDS.len()),
        why in prop::sample::select(DropReason::ALL), times: u64, by in prop::sample::select(Hold::ALL),
    ) {
        let end = if b { End::B } else { End::A };
        let amount = Bytes::new(amount);
        let mut sample = SocketSample { ca_state, ..SocketSample::unknown(end) };
        sample.values_mut().zip(numbers).for_each(|(field, number)| *field = number);
        let mark = Mark::all().nth(mark).expect("in range");
        let mark = Mark::of(mark.name(), mark.size().map(|_| amount)).expect("its own name");
        for kind in [
            EventKind::Written { end, amount },
            EventKind::Read { end, amount },
            EventKind::Waited { end, on: wait, lasted: Duration::from_nanos(nanos), amount, times },
            EventKind::Held { end, by, lasted: Duration::from_nanos(nanos) },
            EventKind::Marked { end, mark },
            EventKind::Sampled(sample),
            EventKind::Dropped(Segment::new(end, Flags::ACK, StreamOffset(1), 1), why),
        ] {
            let event = Event { at: Instant::from_nanos(at), kind };
            prop_assert_eq!(event.to_string().parse::<Event>(), Ok(event));
        }
    }

    #[test]
    fn parsing_any_line_does_not_panic(line in "\\PC*") {
        let _ = line.parse::<Event>();
    }
}
