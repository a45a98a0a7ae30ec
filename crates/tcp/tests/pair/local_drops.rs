//! Local drops: `tcp_transmit_skb` returns an error.

use crate::endpoints::{Application, Pair, settings};
use crate::network::Fate;
use slowpath_kernels::Release;
use slowpath_tcp::choices::CongestionControl;
use slowpath_tcp::{Choices, Packet, Sysctls, WriteFlags};
use std::time::Duration;

/// `TCP_CA_CWR` (include/uapi/linux/tcp.h).
const CWR: u8 = 2;

/// A connection with some data sent and acknowledged.
fn established(choices: Choices, sysctls: Sysctls) -> Pair {
    let mut pair = Pair::new(&settings(choices, sysctls), Vec::new(), Vec::new());
    pair.client_app = Application { to_write: 14_480, shut: true, ..Application::default() };
    // Neither end closes.
    pair.server_app.shut = true;
    pair.drive(Duration::from_millis(200));
    assert_eq!(pair.client.info(pair.now).unacked, 0);
    pair
}

#[test]
fn segment_dropped_by_the_qdisc_counts_as_unsent() {
    for (choices, sysctls) in [
        (Release::Linux6_18.tcp(), Release::Linux6_18.sysctls()),
        (Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls()),
        (Release::Linux2_4_17.tcp(), Release::Linux2_4_17.sysctls()),
    ] {
        let choices =
            Choices { super_packets: false, congestion_control: CongestionControl::Reno, ..choices };
        let mut pair = established(choices, sysctls);
        let before = pair.client.info(pair.now);
        let written = pair.client.write(pair.now, 20 * 1448, WriteFlags::default()).expect("room");
        // Two are sent, the third is not; the rest of the loop is taken back.
        let mut sent = 0;
        while let Some(packet) = pair.client.poll_transmit() {
            if sent == 2 {
                pair.client.handle_local_drop(pair.now, &packet);
            } else {
                pair.to_server.send(pair.now, packet);
            }
            sent += 1;
        }
        assert_eq!(sent, 3);
        let after = pair.client.info(pair.now);
        assert_eq!((after.ca_state, after.unacked), (CWR, 2));
        assert_eq!(after.snd_ssthresh, before.snd_cwnd / 2);
        pair.drive(Duration::from_secs(5));
        let end = pair.client.info(pair.now);
        assert_eq!((end.total_retrans, end.unacked), (0, 0));
        assert_eq!(end.bytes_acked - before.bytes_acked, u64::from(written));
        assert_eq!(
            end.bytes_sent - before.bytes_sent,
            u64::from(written) + 1448,
            "the dropped retransmission was tried"
        );
    }
}

/// No ACK can trigger a retry with nothing in flight: the probe timer does (`tcp_check_probe_timer`).
#[test]
fn local_drop_with_nothing_in_flight_is_retried_by_the_probe_timer() {
    let mut pair = established(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls());
    let acked = pair.client.info(pair.now).bytes_acked;
    pair.client.write(pair.now, 100, WriteFlags::default()).expect("room");
    let packet = pair.client.poll_transmit().expect("the data");
    pair.client.handle_local_drop(pair.now, &packet);
    assert_eq!(pair.client.poll_transmit(), None);
    assert_eq!(pair.client.info(pair.now).unacked, 0);
    let due = pair.client.poll_timeout().expect("a timer").since(pair.now).expect("a timer ahead");
    assert!((Duration::from_millis(190)..Duration::from_millis(400)).contains(&due), "{due:?}");
    pair.drive(Duration::from_secs(5));
    assert_eq!(pair.client.info(pair.now).bytes_acked - acked, 100);
}

/// A retransmission dropped by the qdisc stays lost, and is retried with the next ACK: no timeout is needed.
#[test]
fn retransmission_dropped_by_the_qdisc_stays_marked_lost() {
    // The handshake's two packets and ten of data pass, then the first of the next flight is lost.
    let fates = (0..13).map(|n| if n == 12 { Fate::Drop } else { Fate::Deliver }).collect();
    let choices = Choices { super_packets: false, ..Release::Linux6_18.tcp() };
    let mut pair = Pair::new(&settings(choices, Release::Linux6_18.sysctls()), fates, Vec::new());
    pair.client_app = Application::writing(100_000);
    let lost = |packet: &Packet| packet.seq.0 == 1 + 10 * 1448 && packet.len > 0;
    pair.refuses = Some(|client, packet| {
        let info = client.info(slowpath_model::Instant::START);
        packet.seq.0 == 1 + 10 * 1448 && info.total_retrans == 1 && info.retrans == 1
    });
    pair.drive(Duration::from_secs(600));
    pair.assert_complete();
    let end = pair.client.info(pair.now);
    assert_eq!((end.total_retrans, end.total_rto), (2, 0), "one dropped, one sent");
    let times: Vec<_> =
        pair.to_server.record.iter().filter(|(_, packet)| lost(packet)).map(|(at, _)| at).collect();
    assert_eq!(times.len(), 2);
    assert!(times[1].since(*times[0]).expect("in order") < Duration::from_millis(80), "{times:?}");
}
