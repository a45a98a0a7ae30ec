//! Packets that no honest peer sends: no panic, and bounded memory.

use crate::endpoints::{PEER, settings};
use proptest::prelude::*;
use slowpath_kernels::Release;
use slowpath_model::{Ecn, Flags, Instant, StreamOffset, Timestamps};
use slowpath_tcp::packet::{Block, Cookie, Sack, SynOptions, TcpOptions};
use slowpath_tcp::socket::{Listener, ReadFlags, Shutdown, SocketOption, SocketOptions, Unreachable};
use slowpath_tcp::{Connection, Packet, Settings, Sysctls, WriteFlags};
use std::sync::Arc;
use std::time::Duration;

/// Near the beginning, near the edges of a window, or anywhere.
fn offset() -> impl Strategy<Value = StreamOffset> {
    prop_oneof![
        4 => 0..5_000_i64,
        2 => 60_000..70_000_i64,
        1 => -5_000_000_000..5_000_000_000_i64,
    ]
    .prop_map(StreamOffset)
}

fn options() -> impl Strategy<Value = TcpOptions> {
    let syn = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<[u8; 8]>>()).prop_map(
        |(mss, window_scale, sack_permitted, cookie)| {
            TcpOptions::Syn(SynOptions {
                mss,
                window_scale,
                sack_permitted,
                fast_open: cookie.and_then(|cookie| Cookie::new(&cookie)),
            })
        },
    );
    let sack = (offset(), prop::collection::vec((offset(), offset()), 0..5)).prop_map(|(ack, edges)| {
        let mut sack = Sack::default();
        for (start, end) in edges {
            sack.push(ack, Block { start, end });
        }
        TcpOptions::Sack(sack)
    });
    prop_oneof![Just(TcpOptions::None), syn, sack]
}

prop_compose! {
    fn packet()(
        seq in offset(),
        ack in offset(),
        len in prop_oneof![5 => Just(0_u32), 5 => 1..3000_u32, 2 => 3000..524_288_u32, 1 => any::<u32>()],
        window: u16,
        urgent: u16,
        gso_size in prop_oneof![Just(0_u16), Just(1448), any::<u16>()],
        flags in 0..512_u16,
        usual: bool,
        ecn in 0..4_u8,
        stamps in any::<Option<(u32, u32)>>(),
        options in options(),
    ) -> Packet {
        let flags = if usual { Flags::ACK } else { Flags(flags) };
        Packet {
            seq, ack, len, window, urgent, gso_size, flags,
            accurate_ecn: false,
            ecn_bytes: None,
            ecn: Ecn::from_bits(ecn),
            timestamps: stamps.map(|(val, ecr)| Timestamps { val, ecr }),
            options,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Packet(Packet),
    Wait(u32),
    Timers,
    Read(u32, bool),
    Write(u32),
    Shutdown(u8),
    Close,
    Option(usize, i64),
    Icmp(u32, StreamOffset),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => packet().prop_map(Step::Packet),
        3 => (0..100_000_u32).prop_map(Step::Wait),
        3 => Just(Step::Timers),
        2 => (any::<u32>(), any::<bool>()).prop_map(|(max, peek)| Step::Read(max, peek)),
        2 => (0..100_000_u32).prop_map(Step::Write),
        1 => (0..3_u8).prop_map(Step::Shutdown),
        1 => Just(Step::Close),
        1 => (any::<usize>(), any::<i64>()).prop_map(|(which, value)| Step::Option(which, value)),
        1 => (any::<u32>(), offset()).prop_map(|(mtu, seq)| Step::Icmp(mtu, seq)),
    ]
}

fn perform(connection: &mut Connection, now: &mut Instant, step: &Step) {
    match step {
        Step::Packet(packet) => connection.handle_packet(*now, packet),
        Step::Wait(millis) => *now = *now + Duration::from_millis(u64::from(*millis)),
        Step::Timers => connection.handle_timeout(*now),
        Step::Read(max, peek) => {
            let _ = connection.read(*now, *max, ReadFlags { peek: *peek, ..ReadFlags::default() });
        }
        Step::Write(len) => {
            let _ = connection.write(*now, *len, WriteFlags::default());
        }
        Step::Shutdown(how) => {
            let how = [Shutdown::Read, Shutdown::Write, Shutdown::Both][usize::from(*how)];
            let _ = connection.shutdown(*now, how);
        }
        Step::Close => connection.close(*now),
        Step::Option(which, value) => {
            let option = SocketOption::ALL[which % SocketOption::ALL.len()];
            let _ = connection.setsockopt(*now, option, *value);
            let _ = connection.getsockopt(option);
        }
        Step::Icmp(mtu, seq) => connection.handle_icmp(*now, Unreachable::TooBig(*mtu), *seq),
    }
    while connection.poll_transmit().is_some() {}
    let _ = (connection.poll_events(), connection.inq(), connection.outq(), connection.outq_nsd());
    let _ = connection.info(*now);
}

fn modern() -> Arc<Settings> {
    settings(
        Release::Linux6_18.tcp(),
        Sysctls { tcp_fastopen: 0x403, tcp_ecn: 1, ..Release::Linux6_18.sysctls() },
    )
}

/// A connection just opened by a peer.
fn opened(now: Instant) -> Connection {
    let mut listener = Listener::listen(modern(), SocketOptions::default(), 4);
    let syn = Packet {
        window: 60_000,
        options: TcpOptions::Syn(SynOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            fast_open: None,
        }),
        ..Packet::new(Flags::SYN, StreamOffset(0), 0)
    };
    listener.handle_packet(now, PEER, &syn);
    let ack = Packet { ack: StreamOffset(1), window: 500, ..Packet::new(Flags::ACK, StreamOffset(1), 0) };
    listener.handle_packet(now, PEER, &ack);
    listener.accept().expect("opened").1
}

/// Payload of the largest possible packet (`GRO_MAX_SIZE`).
const LARGEST: u32 = 8 * 65_536;
/// The maximum memory per byte, in one-byte segments.
const OVERHEAD: u64 = 1000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn established_connection_survives_any_packets(steps in prop::collection::vec(step(), 0..120)) {
        let mut now = Instant::START;
        let mut connection = opened(now);
        for step in &steps {
            if let Step::Packet(packet) = step
                && packet.len > LARGEST
            {
                continue;
            }
            perform(&mut connection, &mut now, step);
            let most = u64::from(connection.receive_buffer()) + u64::from(LARGEST) * OVERHEAD;
            prop_assert!(u64::from(connection.receive_memory()) <= most);
        }
    }

    #[test]
    fn syn_sent_connection_survives_any_packets(steps in prop::collection::vec(step(), 0..60)) {
        let mut now = Instant::START;
        let mut connection = Connection::connect(modern(), SocketOptions::default(), now);
        for step in &steps {
            perform(&mut connection, &mut now, step);
        }
    }

    #[test]
    fn listener_survives_any_packets(packets in prop::collection::vec((0..6_u64, packet(), 0..50_000_u32), 0..80)) {
        let mut now = Instant::START;
        let options = SocketOptions { fast_open_queue: 2, ..SocketOptions::default() };
        let mut listener = Listener::listen(modern(), options, 2);
        for (peer, packet, wait) in packets {
            listener.handle_packet(now, slowpath_tcp::socket::Peer(peer), &packet);
            now = now + Duration::from_millis(u64::from(wait));
            listener.handle_timeout(now);
            while listener.poll_transmit().is_some() {}
        }
        listener.close(now);
    }
}
