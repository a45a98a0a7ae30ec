//! A listening socket, driven by hand-written packets.

use crate::endpoints::settings;
use slowpath_kernels::Release;
use slowpath_model::{Flags, Instant, StreamOffset, Timestamps};
use slowpath_tcp::packet::{SynOptions, TcpOptions};
use slowpath_tcp::socket::{Listener, Peer, ReadFlags, SocketOption, SocketOptions};
use slowpath_tcp::{Connection, Errno, Packet, State, Sysctls, WriteFlags};

fn listening(sysctls: Sysctls, backlog: u32) -> Listener {
    Listener::listen(settings(Release::Linux6_18.tcp(), sysctls), SocketOptions::default(), backlog)
}

fn at(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn syn(flags: Flags) -> Packet {
    let offer =
        SynOptions { mss: Some(1000), window_scale: Some(7), sack_permitted: true, ..SynOptions::default() };
    Packet { window: 60_000, options: TcpOptions::Syn(offer), ..Packet::new(flags, StreamOffset(0), 0) }
}

fn ack(seq: i64, len: u32) -> Packet {
    Packet { ack: StreamOffset(1), window: 500, ..Packet::new(Flags::ACK, StreamOffset(seq), len) }
}

fn sent(listener: &mut Listener) -> Vec<Packet> {
    std::iter::from_fn(|| listener.poll_transmit()).map(|(_, packet)| packet).collect()
}

fn flags(packets: &[Packet]) -> Vec<Flags> {
    packets.iter().map(|packet| packet.flags).collect()
}

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

/// Opens a connection from a peer.
fn open(listener: &mut Listener, peer: u64) {
    listener.handle_packet(at(0), Peer(peer), &syn(Flags::SYN));
    listener.handle_packet(at(10), Peer(peer), &ack(1, 0));
}

#[test]
fn syn_ack_is_retransmitted_until_synack_retries() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    listener.handle_packet(at(0), Peer(1), &syn(Flags::SYN));
    assert_eq!(flags(&sent(&mut listener)), [SYN_ACK]);
    let mut times = Vec::new();
    while let Some(due) = listener.poll_timeout() {
        listener.handle_timeout(due);
        times.extend(sent(&mut listener).iter().map(|_| due.seconds() as u64));
    }
    assert_eq!(times, [1, 3, 7, 15, 31]);
    assert_eq!(listener.counters().failed, 1);
}

#[test]
fn accept_queue_holds_backlog_plus_one() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 1);
    for peer in 0..3 {
        open(&mut listener, peer);
    }
    assert_eq!(listener.queue(), (2, 1));
    // The third has no room; its peer will retransmit.
    assert_eq!(listener.counters().overflows, 1);
    assert!(listener.accept().is_ok() && listener.accept().is_ok());
    assert_eq!(listener.accept().err(), Some(Errno::EAGAIN));
}

#[test]
fn tcp_abort_on_overflow_resets() {
    let sysctls = Sysctls { tcp_abort_on_overflow: true, ..Release::Linux6_18.sysctls() };
    let mut listener = listening(sysctls, 0);
    // Both SYNs arrive while there is room.
    for peer in 0..2 {
        listener.handle_packet(at(0), Peer(peer), &syn(Flags::SYN));
    }
    for peer in 0..2 {
        listener.handle_packet(at(10), Peer(peer), &ack(1, 0));
    }
    assert_eq!(flags(&sent(&mut listener)), [SYN_ACK, SYN_ACK, Flags::RST]);
}

#[test]
fn full_syn_queue_sends_syn_cookies_or_drops() {
    for (mode, answers, scaled) in [(0, 2, 2), (1, 5, 2), (2, 5, 0)] {
        let mut listener = listening(Sysctls { tcp_syncookies: mode, ..Release::Linux6_18.sysctls() }, 1);
        for peer in 0..5 {
            listener.handle_packet(at(0), Peer(peer), &syn(Flags::SYN));
        }
        let sent = sent(&mut listener);
        let with_scale = sent.iter().filter(|packet| packet.syn_options().window_scale.is_some()).count();
        assert_eq!((sent.len(), with_scale), (answers, scaled), "tcp_syncookies = {mode}");
    }
}

#[test]
fn segment_without_a_connection_gets_a_rst() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    listener.handle_packet(at(0), Peer(1), &ack(77, 10));
    let answer = sent(&mut listener);
    assert_eq!((answer[0].flags, answer[0].seq), (Flags::RST, StreamOffset(1)));
    listener.handle_packet(at(0), Peer(1), &Packet::new(Flags::RST, StreamOffset(77), 0));
    listener.handle_packet(at(0), Peer(1), &Packet::new(Flags::FIN, StreamOffset(77), 0));
    assert!(sent(&mut listener).is_empty());
}

#[test]
fn rst_ends_a_handshake() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    listener.handle_packet(at(0), Peer(1), &syn(Flags::SYN));
    listener.handle_packet(at(5), Peer(1), &Packet::new(Flags::RST, StreamOffset(1), 0));
    assert_eq!(listener.poll_timeout(), None);
    assert_eq!(listener.counters().failed, 1);
}

#[test]
fn ecn_is_negotiated_on_request_and_accecn_falls_back_to_it() {
    let plain = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
    for (asked, mode, answer) in [
        (plain, 2, SYN_ACK.with(Flags::ECE)),
        (plain.with(Flags::AE), 2, SYN_ACK.with(Flags::ECE)),
        (Flags::SYN, 1, SYN_ACK),
        (plain, 0, SYN_ACK),
    ] {
        let mut listener = listening(Sysctls { tcp_ecn: mode, ..Release::Linux6_18.sysctls() }, 8);
        listener.handle_packet(at(0), Peer(1), &syn(asked));
        assert_eq!(flags(&sent(&mut listener)), [answer]);
    }
}

#[test]
fn defer_accept_waits_for_data() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    assert_eq!(listener.setsockopt(SocketOption::DeferAccept, 5), Ok(()));
    assert_eq!(listener.getsockopt(SocketOption::DeferAccept), 7);
    open(&mut listener, 1);
    assert!(listener.accept().is_err());
    listener.handle_packet(at(20), Peer(1), &ack(1, 100));
    let (_, mut connection) = listener.accept().expect("data has arrived");
    assert_eq!(connection.read(at(21), 1000, ReadFlags::default()), Ok(100));
}

#[test]
fn closing_a_listener_resets_unaccepted_connections() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    open(&mut listener, 1);
    sent(&mut listener);
    listener.close(at(20));
    assert_eq!(flags(&sent(&mut listener)), [Flags::RST.with(Flags::ACK)]);
}

/// A connection in TIME-WAIT whose peer has sent `len` bytes.
fn in_time_wait(now: Instant, len: u32) -> Connection {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    let stamped = |packet: Packet| Packet { timestamps: Some(Timestamps { val: 100, ecr: 0 }), ..packet };
    listener.handle_packet(now, Peer(1), &stamped(syn(Flags::SYN)));
    listener.handle_packet(now, Peer(1), &stamped(ack(1, len)));
    let (_, mut connection) = listener.accept().expect("opened");
    let read = connection.read(now, u32::MAX, ReadFlags::default());
    assert_eq!(read, Ok(len));
    connection.close(now);
    let fin =
        Packet { flags: Flags::ACK.with(Flags::FIN), ack: StreamOffset(2), ..ack(1 + i64::from(len), 0) };
    connection.handle_packet(now, &stamped(fin));
    assert_eq!(connection.state(), State::TimeWait);
    connection
}

#[test]
fn new_syn_may_replace_time_wait() {
    let connection = in_time_wait(at(0), 500);
    let again = |seq: i64, val: u32| Packet {
        seq: StreamOffset(seq),
        timestamps: Some(Timestamps { val, ecr: 0 }),
        ..syn(Flags::SYN)
    };
    // A newer timestamp or a higher sequence number is accepted; an old duplicate is not.
    assert!(connection.accepts_reopening(at(1000), &again(7, 101)));
    assert!(connection.accepts_reopening(at(1000), &again(5000, 100)));
    assert!(!connection.accepts_reopening(at(1000), &again(7, 100)));
    assert!(!connection.accepts_reopening(at(1000), &again(5000, 99)));
    assert!(!connection.accepts_reopening(at(1000), &ack(5000, 0)));
}

#[test]
fn data_after_close_gets_a_rst() {
    let mut listener = listening(Release::Linux6_18.sysctls(), 8);
    open(&mut listener, 1);
    let (_, mut connection) = listener.accept().expect("opened");
    connection.close(at(20));
    connection.handle_packet(at(30), &Packet { ack: StreamOffset(2), ..ack(1, 0) });
    assert_eq!(connection.state(), State::FinWait2);
    while connection.poll_transmit().is_some() {}
    connection.handle_packet(at(40), &Packet { ack: StreamOffset(2), ..ack(1, 10) });
    assert_eq!(connection.state(), State::Closed);
    assert_eq!(connection.poll_transmit().map(|packet| packet.flags), Some(Flags::RST));
}

#[test]
fn socket_option_ranges_match_the_kernel() {
    let now = at(0);
    let mut socket = Connection::new(
        settings(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls()),
        SocketOptions::default(),
    );
    for (option, value, outcome) in [
        (SocketOption::MaxSeg, 87, Err(Errno::EINVAL)),
        (SocketOption::MaxSeg, 500, Ok(500)),
        (SocketOption::KeepIdle, 0, Err(Errno::EINVAL)),
        (SocketOption::KeepCount, 128, Err(Errno::EINVAL)),
        (SocketOption::SynCount, 3, Ok(3)),
        (SocketOption::ReceiveBuffer, 1, Ok(2304)),
        (SocketOption::ReceiveBuffer, 10_000, Ok(20_000)),
        (SocketOption::ReceiveBuffer, -1, Ok(8_388_608)),
        (SocketOption::SendBuffer, 1, Ok(4608)),
        (SocketOption::WindowClamp, 10, Ok(1152)),
        (SocketOption::WindowClamp, 0, Ok(0)),
        (SocketOption::Linger2, -5, Ok(-1)),
        (SocketOption::Linger2, 1000, Ok(120)),
        (SocketOption::UserTimeout, -1, Err(Errno::EINVAL)),
        (SocketOption::RtoMaxMs, 999, Err(Errno::EINVAL)),
        (SocketOption::DelackMaxUs, 250_000, Err(Errno::EINVAL)),
        (SocketOption::Error, 1, Err(Errno::ENOPROTOOPT)),
        (SocketOption::FastOpenConnect, 1, Ok(1)),
    ] {
        let set = socket.setsockopt(now, option, value).map(|()| socket.getsockopt(option));
        assert_eq!(set, outcome, "{} = {value}", option.name());
    }
    assert_eq!(socket.write(now, 10, WriteFlags::default()), Err(Errno::EPIPE));
    assert_eq!(socket.read(now, 10, ReadFlags::default()), Err(Errno::ENOTCONN));
}
