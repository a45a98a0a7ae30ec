//! A clean path, where everything is predictable.

use crate::endpoints::{Application, PEER, Pair, settings};
use crate::network::Fate;
use slowpath_kernels::Release;
use slowpath_model::{Flags, Instant};
use slowpath_tcp::packet::{Cookie, TcpOptions};
use slowpath_tcp::socket::SocketOptions;
use slowpath_tcp::socket::cookie::{CookieCache, Known};
use slowpath_tcp::{Connection, Errno, State, Sysctls};
use std::time::Duration;

const MINUTES: Duration = Duration::from_secs(600);

#[test]
fn request_and_response_complete() {
    let mut pair = Pair::modern();
    pair.client_app = Application::writing(100);
    pair.server_app = Application::writing(50_000);
    pair.drive(MINUTES);
    pair.assert_complete();
}

#[test]
fn handshake_is_syn_syn_ack_ack() {
    let mut pair = Pair::modern();
    pair.client_app = Application::writing(1);
    pair.drive(Duration::from_millis(100));
    let (_, syn) = pair.to_server.record[0];
    assert_eq!((syn.flags, syn.window), (Flags::SYN, 64_240));
    let TcpOptions::Syn(offer) = syn.options else { panic!("no options") };
    assert_eq!((offer.mss, offer.window_scale, offer.sack_permitted), (Some(1460), Some(10), true));
    let (_, syn_ack) = pair.to_client.record[0];
    assert_eq!((syn_ack.flags, syn_ack.window), (Flags::SYN.with(Flags::ACK), 65_160));
    let (_, ack) = pair.to_server.record[1];
    assert_eq!((ack.flags, ack.window), (Flags::ACK, 63));
    assert_eq!(ack.timestamps.map(|stamps| stamps.ecr), syn_ack.timestamps.map(|stamps| stamps.val));
}

#[test]
fn bulk_transfer_completes_in_every_kernel() {
    for (choices, sysctls) in [
        (Release::Linux6_18.tcp(), Release::Linux6_18.sysctls()),
        (Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls()),
        (Release::Linux2_4_17.tcp(), Release::Linux2_4_17.sysctls()),
    ] {
        let mut pair = Pair::new(&settings(choices, sysctls), Vec::new(), Vec::new());
        pair.client_app = Application::writing(3_000_000);
        pair.drive(MINUTES);
        pair.assert_complete();
        assert_eq!(pair.client.info(pair.now).total_retrans, 0);
    }
}

#[test]
fn zero_window_reopens() {
    let mut pair = Pair::modern();
    pair.client_app = Application::writing(2_000_000);
    pair.server_app.reads_from = Some(Instant::START + Duration::from_secs(20));
    pair.drive(Duration::from_secs(19));
    assert!(pair.to_client.record.iter().any(|(_, packet)| packet.window == 0));
    let server = pair.server.as_ref().map(|server| (server.receive_memory(), server.receive_buffer()));
    let (used, buffer) = server.expect("accepted");
    // The kernel only checks that the limit is not exceeded yet: one more segment fits.
    assert!(used <= buffer + 2304, "{used} of {buffer}");
    pair.drive(MINUTES);
    pair.assert_complete();
}

#[test]
fn receive_buffer_grows_with_the_data_read() {
    let mut pair = Pair::modern();
    pair.client_app = Application::writing(20_000_000);
    pair.drive(Duration::from_secs(3));
    let buffer = pair.server.as_ref().map_or(0, |server| server.receive_buffer());
    assert!(buffer > 1_000_000, "{buffer}");
    pair.drive(MINUTES);
    pair.assert_complete();
}

#[test]
fn first_closer_stays_in_time_wait_for_60_s() {
    let mut pair = Pair::modern();
    // The server's FIN has long arrived when the client has read everything.
    pair.client_app = Application::writing(2_000_000);
    pair.drive(Duration::from_secs(30));
    let server = pair.server.as_ref().map(|server| server.state());
    assert_eq!((pair.client.state(), server), (State::Closed, Some(State::TimeWait)));
    pair.drive(Duration::from_secs(90));
    pair.assert_complete();
}

/// Client and server allow data in SYNs, the server without the socket option.
fn fast() -> std::sync::Arc<slowpath_tcp::Settings> {
    settings(Release::Linux6_18.tcp(), Sysctls { tcp_fastopen: 0x403, ..Release::Linux6_18.sysctls() })
}

#[test]
fn fast_open_cookie_allows_data_in_the_next_syn() {
    let mut cache = CookieCache::default();
    for (round, taken) in [Err(Errno::EINPROGRESS), Ok(300)].into_iter().enumerate() {
        let mut pair = Pair::new(&fast(), Vec::new(), Vec::new());
        let known = cache.get(PEER, pair.now, Duration::ZERO);
        let (client, outcome) =
            Connection::connect_fast(fast(), SocketOptions::default(), pair.now, known, 300);
        assert_eq!(outcome, taken, "round {round}");
        pair.client = client;
        pair.client_app = Application { written: outcome.unwrap_or(0), ..Application::writing(300) };
        pair.drive(Duration::from_millis(15));
        // The server has the data before the handshake is complete, or not.
        assert_eq!(pair.server_app.read, u64::from(outcome.unwrap_or(0)));
        pair.drive(MINUTES);
        pair.assert_complete();
        if let Some(learned) = pair.client.poll_cookie() {
            cache.learn(PEER, learned);
        }
    }
}

#[test]
fn data_of_a_lost_fast_open_syn_is_retransmitted_after_the_handshake() {
    let known = Known::of(Cookie::new(&[7; 8]).unwrap_or_default(), 1460);
    let lost = vec![Fate::Drop];
    for to_server in [lost, Vec::new()] {
        // The cookie is wrong, so the server does not accept data either way.
        let mut pair = Pair::new(&fast(), to_server, Vec::new());
        let (client, outcome) =
            Connection::connect_fast(fast(), SocketOptions::default(), pair.now, known, 5000);
        pair.client = client;
        pair.client_app = Application { written: outcome.unwrap_or(0), ..Application::writing(5000) };
        pair.drive(MINUTES);
        pair.assert_complete();
    }
}
