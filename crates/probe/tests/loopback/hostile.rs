//! Both ends against hostile other ends: half-open, slow, pipelined, gone, silent, endless, absurd.

use crate::far_end::{ByHand, FarEnd, SECOND};
use slowpath_model::Rate;
use slowpath_probe::measure::{Channel, Direction, Train};
use slowpath_probe::protocol::{Datagram, Message, Stamp};
use slowpath_probe::real::{Caps, Client, ProbeError};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

const LONG: Caps = Caps { rate: Rate::mbit(10), duration: Duration::from_secs(10) };

/// Two packets, ten seconds apart.
const SLOW: Train =
    Train { direction: Direction::Back, packets: 2, bytes: 100, burst: 1, gap_ns: 10_000_000_000 };

/// Two packets at once.
const TWO_BACK: Train = Train { direction: Direction::Back, packets: 2, bytes: 100, burst: 2, gap_ns: 0 };

/// A TCP connection from an address of this host's loopback network.
fn from(address: Ipv4Addr, to: SocketAddr) -> TcpStream {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: no memory is passed; the descriptor is new.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0)) };
    let name = |at: Ipv4Addr, port: u16| libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(at.octets()) },
        sin_zero: [0; 8],
    };
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let raw = std::os::fd::AsRawFd::as_raw_fd(&fd);
    let (own, peer) = (name(address, 0), name(Ipv4Addr::LOCALHOST, to.port()));
    // SAFETY: the addresses are live and have the stated length.
    let result = unsafe {
        [
            libc::bind(raw, (&raw const own).cast(), length),
            libc::connect(raw, (&raw const peer).cast(), length),
        ]
    };
    assert_eq!(result, [0, 0], "{}", std::io::Error::last_os_error());
    let stream = TcpStream::from(fd);
    stream.set_read_timeout(Some(15 * SECOND)).expect("a time-out");
    stream
}

fn hand_from(address: [u8; 4], to: SocketAddr) -> ByHand {
    ByHand::of(from(address.into(), to))
}

#[test]
fn client_gone_in_a_train_frees_its_session_and_stop_ends_one() {
    let far = FarEnd::with(LONG);
    let mut hand = ByHand::connect(far.address);
    let _udp = hand.open();
    hand.say(&Message::Train { number: 1, train: SLOW, wait_ns: 0 });
    std::thread::sleep(SECOND / 10);
    let began = Instant::now();
    drop(hand);
    assert!(far.expect_end().is_some(), "it broke");
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    let mut hand = ByHand::connect(far.address);
    let _udp = hand.open();
    hand.say(&Message::Train { number: 1, train: SLOW, wait_ns: 0 });
    std::thread::sleep(SECOND / 10);
    let began = Instant::now();
    drop(far);
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
}

#[test]
fn client_that_does_not_read_delays_no_stop() {
    let far = FarEnd::with(LONG);
    let mut hand = ByHand::connect(far.address);
    let _udp = hand.open();
    let mut bytes = Vec::new();
    for number in 0..200_000 {
        Message::Gone(number).write(&mut bytes);
        let train = Train { burst: 3, packets: 0, ..SLOW };
        Message::Train { number, train, wait_ns: 0 }.write(&mut bytes);
    }
    hand.stream.set_write_timeout(Some(SECOND)).expect("a time-out");
    // Until neither end accepts any more.
    let _ = hand.stream.write_all(&bytes);
    let began = Instant::now();
    drop(far);
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
}

#[test]
fn pipelined_pairs_stay_within_rate_and_budget_of_the_address() {
    let caps = Caps { rate: Rate::mbit(10), duration: SECOND };
    let far = FarEnd::with(caps);
    let began = Instant::now();
    let mut bytes = 0;
    let mut buffer = [0; 10_000];
    // Sessions one after the other, each with as many pairs as the budget has.
    while began.elapsed() < 3 * SECOND {
        let mut hand = ByHand::connect(far.address);
        let udp = hand.open();
        udp.set_read_timeout(Some(SECOND / 5)).expect("a time-out");
        let mut all = Vec::new();
        for number in 0..80 {
            let train = Train { direction: Direction::Back, packets: 2, bytes: 9000, burst: 2, gap_ns: 0 };
            Message::Train { number, train, wait_ns: 0 }.write(&mut all);
        }
        hand.stream.write_all(&all).expect("it listens");
        while let Ok(length) = udp.recv(&mut buffer) {
            bytes += length + 28;
            let at_rate = caps.rate.amount_in(began.elapsed()).get() as usize;
            assert!(bytes <= at_rate + 50_000 + 18_000, "{bytes} after {:?}", began.elapsed());
        }
        drop(hand);
        assert!(far.expect_end().is_some(), "it broke");
    }
    // A full budget, and a quarter of the rate since.
    let budget = 1_250_000 + (began.elapsed().as_secs_f64() * 312_500.0) as usize;
    assert!((1_000_000..=budget).contains(&bytes), "{bytes} of {budget}");
}

#[test]
fn slow_and_silent_clients_keep_no_honest_one_waiting() {
    let far = FarEnd::usual();
    let mut held = Vec::new();
    for n in 0..400_u16 {
        let stream = from(Ipv4Addr::new(127, 0, 1, (n % 200) as u8 + 1), far.address);
        let mut hand = ByHand::of(stream);
        match n % 3 {
            0 => {}
            1 => hand.stream.write_all(&[0, 0]).expect("it listens"),
            _ => hand.say(&Message::Hello),
        }
        held.push(hand);
    }
    let began = Instant::now();
    far.client().close().expect("there");
    assert!(began.elapsed() < 2 * SECOND, "{:?}", began.elapsed());
}

#[test]
fn part_of_a_message_in_a_session_is_overdue_after_5_s() {
    let far = FarEnd::usual();
    let mut hand = ByHand::connect(far.address);
    let _udp = hand.open();
    let began = Instant::now();
    hand.stream.write_all(&[0, 0, 0]).expect("it listens");
    hand.expect_refused("in time");
    assert!(began.elapsed() < 8 * SECOND, "{:?}", began.elapsed());
}

#[test]
fn idle_sessions_of_other_addresses_give_way() {
    let far = FarEnd::usual();
    let mut idle: Vec<(ByHand, UdpSocket)> = Vec::new();
    for n in 1..=4 {
        let mut hand = hand_from([127, 0, 2, n], far.address);
        let udp = hand.open();
        hand.say(&Message::Train { number: 1, train: TWO_BACK, wait_ns: 0 });
        idle.push((hand, udp));
    }
    let waited = honest(&far);
    assert!(waited < 2 * SECOND, "{waited:?}");
    let ends = [far.expect_end(), far.expect_end()];
    assert!(ends.iter().flatten().any(|why| why.contains("gave way")), "{ends:?}");
}

/// An honest client measures something; how long that takes.
fn honest(far: &FarEnd) -> Duration {
    let began = Instant::now();
    let mut client = far.client();
    assert!(client.echo().expect("it is there").is_some());
    client.pass(&TWO_BACK).expect("a train");
    client.close().expect("there");
    began.elapsed()
}

/// A client that is welcome and has sent its first datagram, and does not wait for the answer.
/// `None` if it had to go for others.
fn proven(address: [u8; 4], to: SocketAddr) -> Option<(ByHand, UdpSocket)> {
    let mut hand = hand_from(address, to);
    hand.say(&Message::Hello);
    let Some(Message::Welcome { token, udp_port, .. }) = hand.hear() else { return None };
    let socket = UdpSocket::bind((Ipv4Addr::from(address), 0)).expect("a socket");
    let open = Datagram::Open.write(&token);
    socket.send_to(&open, (Ipv4Addr::LOCALHOST, udp_port)).expect("sent");
    Some((hand, socket))
}

#[test]
fn stalled_sessions_of_many_addresses_keep_no_honest_client_waiting() {
    let far = FarEnd::usual();
    let _held: Vec<_> = (1..=200).map(|n| proven([127, 0, 3, n], far.address)).collect();
    let waited = honest(&far);
    assert!(waited < 2 * SECOND, "{waited:?}");
}

/// Ends a flood when a test has ended, however it did.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn sessions_begun_again_and_again_keep_no_honest_client_waiting() {
    let far = FarEnd::usual();
    let (is_over, begun) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let _ends = Ends(&is_over);
        for thread in 0..2_u8 {
            let (is_over, begun, to) = (&is_over, &begun, far.address);
            scope.spawn(move || {
                let mut held = VecDeque::new();
                for n in (1..=200).cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    held.push_back(proven([127, 0, 4 + thread, n], to));
                    begun.fetch_add(1, Ordering::Relaxed);
                    // No two sessions of one address at a time.
                    if held.len() > 100 {
                        held.pop_front();
                    }
                }
            });
        }
        std::thread::sleep(SECOND);
        for _ in 0..3 {
            let waited = honest(&far);
            assert!(waited < 2 * SECOND, "{waited:?}");
        }
    });
    let begun = begun.into_inner();
    assert!(begun > 200, "only {begun} sessions are no flood");
}

#[test]
fn addresses_that_ask_and_stall_again_and_again_come_after_one_that_did_not() {
    let far = FarEnd::usual();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&is_over);
        for n in 1..=12 {
            let (is_over, to) = (&is_over, far.address);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let Some((mut hand, _udp)) = proven([127, 0, 6, n], to) else { continue };
                    // It opens, and then it keeps its place for as long as it may.
                    hand.say(&Message::Train { number: 1, train: TWO_BACK, wait_ns: 0 });
                    hand.stream.set_read_timeout(Some(SECOND / 10)).expect("a time-out");
                    while !is_over.load(Ordering::Relaxed) && hand.is_open() {}
                }
            });
        }
        // All of them have had a place.
        std::thread::sleep(5 * SECOND);
        let waited = honest(&far);
        assert!(waited < 2 * SECOND, "{waited:?}");
    });
}

/// Whether the kernel still has the far end's socket of this connection (proc_pid_net(5), `/proc/net/tcp`).
fn is_kept(far: SocketAddr, client: SocketAddr) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
    let ports = [far, client].map(|end| format!(":{:04X}", end.port()));
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        ports.iter().all(|port| fields.next().is_some_and(|end| end.ends_with(port)))
    })
}

#[test]
fn client_whose_window_stays_shut_is_given_up_by_the_far_end_and_its_kernel() {
    let far = FarEnd::usual();
    // Refusals until the connection has no more room for them.
    let mut hand = ByHand::connect(far.address);
    let _udp = hand.open();
    let mut bytes = Vec::new();
    Message::Train { number: 1, train: Train { packets: 0, ..SLOW }, wait_ns: 0 }.write(&mut bytes);
    hand.stream.set_write_timeout(Some(SECOND)).expect("a time-out");
    let began = Instant::now();
    while hand.stream.write_all(&bytes.repeat(10_000)).is_ok() && began.elapsed() < 10 * SECOND {}
    assert_eq!(far.expect_end().as_deref(), Some("the other end did not answer in time"));
    assert!(began.elapsed() < 20 * SECOND, "{:?}", began.elapsed());
    // A transfer that is not read, and leaves a full send buffer.
    let mut hand = ByHand::connect(far.address);
    let (token, udp) = hand.hello();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&Datagram::Open.write(&token), udp).expect("sent");
    assert_eq!(hand.hear(), Some(Message::Opened));
    let mut transfer = ByHand::connect(far.address);
    let own = transfer.stream.local_addr().expect("an address");
    transfer.say(&Message::Transfer { token, direction: Direction::Back, duration_ns: 100_000_000 });
    let began = Instant::now();
    while is_kept(far.address, own) {
        assert!(began.elapsed() < 8 * SECOND, "the kernel keeps it");
        std::thread::sleep(SECOND / 10);
    }
}

/// A far end written by hand, which does this with the connection after the client's first message.
fn hostile(does: impl FnOnce(TcpStream, UdpSocket) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.read_exact(&mut [0; 15]).expect("a first message");
        does(stream, UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    });
    at
}

fn said(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    bytes
}

fn welcome(udp: &UdpSocket, rate_bit_per_s: u64, duration_ns: u64) -> Vec<u8> {
    let udp_port = udp.local_addr().expect("an address").port();
    said(&Message::Welcome { token: [7; 16], udp_port, rate_bit_per_s, duration_ns })
}

#[test]
fn absurd_announcements_are_refused_at_once() {
    for (rate, duration_ns) in [(1, u64::MAX / 2), (0, 1), (u64::MAX, u64::MAX), (1_000_000, 0)] {
        let far = hostile(move |mut stream, udp| {
            let _ = stream.write_all(&welcome(&udp, rate, duration_ns));
            let _ = stream.read(&mut [0]);
        });
        let result = Client::connect(far, &|| false).map(|_| ());
        assert!(matches!(result, Err(ProbeError::Absurd { .. })), "{rate} {duration_ns}: {result:?}");
    }
}

#[test]
fn silent_and_slow_far_ends_time_out() {
    let slow = hostile(|mut stream, udp| {
        // One byte at a time, each within any time-out of its own.
        for byte in welcome(&udp, 1_000_000, 1_000_000_000) {
            std::thread::sleep(SECOND / 2);
            if stream.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    let began = Instant::now();
    let result = Client::connect(slow, &|| false).map(|_| ());
    assert!(matches!(result, Err(ProbeError::Silent)), "{result:?}");
    assert!(began.elapsed() < 8 * SECOND, "{:?}", began.elapsed());
}

#[test]
fn endless_empty_reports_end_a_train_and_a_stop_ends_them() {
    for direction in [Direction::There, Direction::Back] {
        let far = hostile(|mut stream, udp| {
            let _ = stream.write_all(&welcome(&udp, 1_000_000_000, 10_000_000));
            let _ = stream.write_all(&[said(&Message::Opened), said(&Message::Ready(1))].concat());
            let empty = said(&Message::Stamps { number: 1, stamps: Vec::new() }).repeat(100);
            while stream.write_all(&empty).is_ok() {}
        });
        let began = Instant::now();
        let stop = move || began.elapsed() > 2 * SECOND;
        let (mut client, _) = Client::connect(far, &stop).expect("a session");
        let train = Train { direction, packets: 10, bytes: 100, burst: 10, gap_ns: 0 };
        assert!(client.pass(&train).is_err(), "{direction:?}");
        assert!(began.elapsed() < 3 * SECOND, "{direction:?}: {:?}", began.elapsed());
    }
}

#[test]
fn reports_of_packets_that_there_were_not_are_refused() {
    let far = hostile(|mut stream, udp| {
        let _ = stream.write_all(&welcome(&udp, 1_000_000_000, 10_000_000));
        let stamps = vec![Stamp { packet: u32::MAX, at_ns: u64::MAX }; 30];
        let all = [Message::Opened, Message::Ready(1), Message::Stamps { number: 1, stamps }];
        let _ = stream.write_all(&all.iter().flat_map(said).collect::<Vec<u8>>());
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.read(&mut [0; 100]);
    });
    let (mut client, _) = Client::connect(far, &|| false).expect("a session");
    let train = Train { direction: Direction::There, packets: 10, bytes: 100, burst: 10, gap_ns: 0 };
    assert!(client.pass(&train).is_err());
}
