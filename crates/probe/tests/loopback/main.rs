//! Both ends of a real measurement, on loopback: their protocol, and what the far end refuses.

mod far_end;
mod hostile;

use far_end::{ByHand, FarEnd, SECOND};
use slowpath_model::Rate;
use slowpath_probe::measure::{Channel, Direction, Train, round_trip};
use slowpath_probe::protocol::{CLIENT_BYTES, Datagram, Message, VERSION};
use slowpath_probe::real::{Caps, Client, ProbeError};
use std::io::Write;
use std::net::{Ipv6Addr, UdpSocket};
use std::time::{Duration, Instant};

fn train(direction: Direction, packets: u32, rate: Rate) -> Train {
    Train::stream(direction, packets, 1500, rate.get())
}

/// Whether nothing arrives at a socket for a while.
fn is_silent(socket: &UdpSocket) -> bool {
    socket.set_read_timeout(Some(Duration::from_millis(400))).expect("a time-out");
    socket.recv_from(&mut [0; 100]).is_err()
}

#[test]
fn trains_in_both_directions_and_echoes() {
    let far = FarEnd::usual();
    let mut client = far.client();
    for direction in [Direction::There, Direction::Back] {
        let train = train(direction, 500, Rate::mbit(50));
        let passed = client.pass(&train).expect("it passes");
        assert_eq!((passed.flights.len(), passed.refused(), passed.overtaken), (500, 0, 0), "{direction:?}");
        assert!(
            passed.lost() == passed.overflowed.expect("Linux reports it"),
            "loopback loses no packets: {passed:?}"
        );
        // A busy machine is sometimes late, never early.
        let rate = passed.sent_rate(1500).expect("time passed");
        assert!(rate <= 51_000_000, "{direction:?}: {rate}");
        let delays = passed.flights.iter().filter_map(slowpath_probe::measure::Flight::delay_ns);
        assert!(
            delays.clone().count() > 400 && delays.min() >= Some(0),
            "one clock, and timestamped before it is read"
        );
    }
    let found = round_trip::measure(&mut client, &mut |_| ()).expect("echoes");
    assert!(found.min_ns.is_some_and(|min| min < 2_000_000) && found.lost < 4, "{found:?}");
    client.close().expect("it is still there");
}

#[test]
fn trains_and_echoes_over_ipv6() {
    let far = FarEnd::at(Ipv6Addr::LOCALHOST.into(), Caps { rate: Rate::mbit(100), duration: SECOND });
    let passed = far.client().pass(&train(Direction::Back, 50, Rate::mbit(10))).expect("it passes");
    assert_eq!(passed.lost(), 0);
}

#[test]
fn bulk_transfers_in_both_directions_with_tcp_info() {
    let far = FarEnd::usual();
    let mut client = far.client();
    for direction in [Direction::There, Direction::Back] {
        let transfer = client.transfer(direction, Duration::from_millis(300)).expect("a transfer");
        assert!(transfer.bytes > 100_000 && transfer.rate.is_some(), "{transfer:?}");
        assert!(transfer.busy_ns > 0 && transfer.min_rtt_ns > 0, "{transfer:?}");
        assert!(transfer.lasted_ns < 3_000_000_000, "{transfer:?}");
    }
}

#[test]
fn udp_without_a_session_gets_no_answer() {
    let far = FarEnd::usual();
    let mut hand = ByHand::connect(far.address);
    let (token, udp) = hand.hello();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let stranger = UdpSocket::bind("127.0.0.2:0").expect("another address");
    // Guessed tokens, echoes before the session is open, and the right token from an address without a session.
    let mut wrong = token;
    wrong[15] ^= 1;
    for (from, datagram) in [
        (&socket, Datagram::Open.write(&wrong)),
        (&socket, Datagram::Echo { number: 1 }.write(&token)),
        (&stranger, Datagram::Open.write(&token)),
        (&stranger, Datagram::Echo { number: 1 }.write(&token)),
    ] {
        from.send_to(&datagram, udp).expect("sent");
    }
    socket.send_to(b"version", udp).expect("sent");
    assert!(is_silent(&socket) && is_silent(&stranger));
    // Opened by the right address, it answers that one, with as many bytes as requested, and still no other.
    socket.send_to(&Datagram::Open.write(&token), udp).expect("sent");
    assert_eq!(hand.hear(), Some(Message::Opened));
    let question = Datagram::Echo { number: 7 }.write(&token);
    stranger.send_to(&question, udp).expect("sent");
    assert!(is_silent(&stranger));
    socket.send_to(&Datagram::Echo { number: 7 }.write(&wrong), udp).expect("sent");
    assert!(is_silent(&socket));
    socket.send_to(&question, udp).expect("sent");
    let mut answer = [0; 2000];
    let (length, _) = socket.recv_from(&mut answer).expect("an answer");
    assert_eq!(length, question.len());
    assert!(matches!(Datagram::read(&answer[..length], &token), Some(Datagram::Reply { number: 7, .. })));
    // When the connection is gone, nothing more is sent.
    drop(hand);
    assert!(far.expect_end().is_some(), "it broke");
    socket.send_to(&question, udp).expect("sent");
    assert!(is_silent(&socket));
}

#[test]
fn trains_above_the_cap_are_refused() {
    let far = FarEnd::with(Caps { rate: Rate::mbit(10), duration: SECOND });
    let mut client = far.client();
    let refused = |client: &mut Client<'_>, train: &Train, part: &str| match client.pass(train) {
        Err(ProbeError::Refused(why)) => assert!(why.contains(part), "{part}: {why}"),
        other => panic!("{part}: {other:?}"),
    };
    let back = |packets, rate| train(Direction::Back, packets, rate);
    refused(&mut client, &back(100, Rate::mbit(11)), "a higher rate");
    let all_at_once = Train { packets: 16, burst: 16, ..back(0, Rate::mbit(10)) };
    assert!(client.pass(&all_at_once).is_ok(), "20 ms of the cap");
    assert!(matches!(
        client.pass(&Train { packets: 200, burst: 200, ..all_at_once }),
        Err(ProbeError::TooMuch { .. })
    ));
    refused(&mut client, &Train { bytes: 9001, ..back(2, Rate::mbit(1)) }, "a length that is not served");
    assert!(
        matches!(client.pass(&back(1000, Rate::mbit(1))), Err(ProbeError::TooMuch { .. })),
        "longer than the cap"
    );
    // Of a session's budget of 1.25 MB, the burst was 24 kB; each of these is 0.6 MB.
    assert!(client.pass(&back(400, Rate::mbit(10))).is_ok());
    assert!(client.pass(&back(400, Rate::mbit(10))).is_ok());
    refused(&mut client, &back(400, Rate::mbit(10)), "has used its budget of UDP bytes");
    drop(client);
    assert!(far.expect_end().is_some(), "it broke");
    // A new session of the same address does not have a new budget.
    let mut client = far.client();
    refused(&mut client, &back(400, Rate::mbit(10)), "has used its budget of UDP bytes");
    drop(client);
    assert!(far.expect_end().is_some(), "it broke");
    let mut hand = ByHand::connect(far.address);
    let (token, _) = hand.hello();
    let mut other = ByHand::connect(far.address);
    other.say(&Message::Transfer { token, direction: Direction::Back, duration_ns: 2_000_000_000 });
    other.expect_refused("longer transfer");
    let mut other = ByHand::connect(far.address);
    other.say(&Message::Transfer { token: [0; 16], direction: Direction::Back, duration_ns: 1 });
    other.expect_refused("no such session");
}

#[test]
fn train_stops_when_the_control_connection_closes() {
    let far = FarEnd::usual();
    let mut hand = ByHand::connect(far.address);
    let (token, udp) = hand.hello();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&Datagram::Open.write(&token), udp).expect("sent");
    assert_eq!(hand.hear(), Some(Message::Opened));
    // 1.8 s of packets, one every millisecond.
    let train = Train { direction: Direction::Back, packets: 1800, bytes: 200, burst: 1, gap_ns: 1_000_000 };
    hand.say(&Message::Train { number: 1, train, wait_ns: 0 });
    socket.set_read_timeout(Some(SECOND)).expect("a time-out");
    socket.recv_from(&mut [0; 300]).expect("it begins");
    drop(hand);
    // Until nothing has arrived for a while.
    socket.set_read_timeout(Some(Duration::from_millis(400))).expect("a time-out");
    let more = std::iter::from_fn(|| socket.recv_from(&mut [0; 300]).ok()).count();
    assert!(more < 900, "still sending: {more} of 1800 packets after the end");
    assert!(far.expect_end().is_some(), "it broke");
}

#[test]
fn sessions_are_limited_per_address_and_in_total() {
    let far = FarEnd::usual();
    let first = far.client();
    let Err(error) = Client::connect(far.address, &|| false) else { panic!("a second session") };
    assert!(error.to_string().contains("has a session already"), "{error}");
    first.close().expect("there");
    assert_eq!(far.expect_end(), None);
    drop(far.client());
}

#[test]
fn hostile_input_is_an_error_and_times_out() {
    let far = FarEnd::usual();
    let cases: [(&[u8], &str); 5] = [
        (b"GET / HTTP/1.1\r\n\r\n", "not a slowpath probe"),
        (&[0xff; 4], "more than there can be"),
        (&[0, 0, 0, 1, 200], "which is none"),
        (&[0, 0, 0, 11, 1, b's', b'l', b'o', b'w', b'p', b'a', b't', b'h', 0, 99], "version 99"),
        (&[0, 0, 0, 1, 13], "what was not asked"),
    ];
    for (bytes, part) in cases {
        let mut hand = ByHand::connect(far.address);
        hand.stream.write_all(bytes).expect("it listens");
        hand.expect_refused(part);
        assert_eq!(hand.hear(), None, "{part}: it is closed");
        let why = far.expect_end();
        assert!(why.as_ref().is_some_and(|why| why.contains(part)), "{part}: {why:?}");
    }
    assert_ne!(VERSION, 99);
    // A part of a message and then nothing, and nothing at all.
    for bytes in [&[0, 0, 0, 11, 1, b's'][..], &[]] {
        let began = Instant::now();
        let mut hand = ByHand::connect(far.address);
        hand.stream.write_all(bytes).expect("it listens");
        hand.expect_refused("in time");
        assert!(began.elapsed() < 8 * SECOND);
    }
    // It still serves, and an unexpected message ends a session.
    let mut hand = ByHand::connect(far.address);
    let (token, udp) = hand.hello();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&Datagram::Open.write(&token), udp).expect("sent");
    assert_eq!(hand.hear(), Some(Message::Opened));
    hand.stream.write_all(&[0; CLIENT_BYTES * 4]).expect("it listens");
    hand.expect_refused("which is none");
}
