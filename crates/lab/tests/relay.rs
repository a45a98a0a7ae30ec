//! The relay between two real hosts: what one writes the other reads, byte for byte, and every packet is accounted for.

use slowpath_lab::case::{Family, Offload, Settings};
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_lab::path::PathConfig;
use slowpath_lab::path::link::{LinkConfig, QueueLimit};
use slowpath_lab::path::loss::LossConfig;
use slowpath_lab::path::{DropReason, ReorderConfig};
use slowpath_lab::relay::{DirectionReport, Fate, Relay};
use slowpath_lab::testbed::{self, PATH_DEVICES};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const BYTES: usize = 6_000_000;

/// A path that does to packets all that a path can.
fn config() -> PathConfig {
    PathConfig {
        loss: vec![LossConfig::Random { probability_ppm: 5_000 }],
        link: Some(LinkConfig {
            rate_bit_per_s: 200_000_000,
            queue: QueueLimit::Packets(200),
            stalls: Vec::new(),
        }),
        delay_ns: 2_000_000,
        reorder: Some(ReorderConfig { probability_ppm: 5_000, extra_ns: 500_000 }),
        duplicate_ppm: 5_000,
        ..PathConfig::default()
    }
}

/// Bytes that differ wherever packets could be mixed up; a checksum that is left to the card guards none of them.
fn pattern() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_ne_bytes()
    };
    (0..BYTES / 8).flat_map(|_| next()).collect()
}

/// Sends the pattern from the sender's host to the receiver's, and gives what arrived.
fn transfer(namespaces: &Namespaces, to: IpAddr) -> Vec<u8> {
    // The socket's namespace is that of the thread that makes it.
    let listener = namespaces.inside(Place::Receiver, || Ok(TcpListener::bind((to, 5001)).unwrap())).unwrap();
    thread::scope(|scope| {
        let received = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let connect = || Ok(TcpStream::connect((to, 5001)).unwrap());
        let mut stream = namespaces.inside(Place::Sender, connect).unwrap();
        stream.write_all(&pattern()).unwrap();
        drop(stream);
        received.join().unwrap()
    })
}

fn carried(settings: &Settings, config: &PathConfig) -> (Vec<u8>, [DirectionReport; 2]) {
    let (namespaces, hosts) = testbed::build(settings).unwrap();
    let [forward, backward] = testbed::ways(settings, [config, config], [7, 8]);
    let (left, right) = PATH_DEVICES;
    let relay = namespaces.inside(Place::Path, || Relay::open(left, right, forward, backward)).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let relay = scope.spawn(|| relay.run(&stop));
        let bytes = transfer(&namespaces, hosts.receiver);
        // The last ACKs are on their way.
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        (bytes, relay.join().unwrap().0)
    })
}

#[test]
#[ignore = "needs root"]
fn every_byte_arrives_and_every_packet_is_accounted_for() {
    for (sender, receiver, family, vlan, card) in [
        (Offload::PerPacket, Offload::PerPacket, Family::V4, None, None),
        (Offload::PerPacket, Offload::PerPacket, Family::V6, Some(7), Some(1_000_000_000)),
        (Offload::SuperPackets, Offload::SuperPackets, Family::V4, None, Some(1_000_000_000)),
        (Offload::SuperPackets, Offload::SuperPackets, Family::V6, None, None),
        (Offload::SuperPackets, Offload::SuperPackets, Family::V4, Some(7), None),
        (Offload::SuperPackets, Offload::PerPacket, Family::V6, None, None),
    ] {
        let settings = Settings {
            offload: sender,
            receiver_offload: Some(receiver),
            family,
            vlan,
            sender_card_bit_per_s: card,
            ..Settings::plain()
        };
        let (bytes, reports) = carried(&settings, &config());
        assert!(bytes == pattern(), "{settings:?}: {} bytes, or others", bytes.len());
        for report in &reports {
            let of = |fate| report.faults.iter().filter(|fault| fault.fate == fate).count() as u64;
            let is_dropped = |fate| matches!(fate, Fate::Dropped(_));
            let dropped = report.faults.iter().filter(|fault| is_dropped(fault.fate)).count() as u64;
            assert!(report.is_conserved(), "{report:?}");
            assert_eq!((report.missed_packets, report.refused_packets), (0, 0), "{settings:?}");
            assert_eq!(dropped, report.totals.dropped());
            assert_eq!(of(Fate::Duplicated), report.totals.duplicated_packets);
            // One that comes twice and late counts as coming twice.
            assert!(of(Fate::HeldBack) <= report.totals.held_back_packets);
            assert!(report.faults.iter().all(|fault| fault.length_bytes <= 1500));
        }
        let [forward, _] = &reports;
        assert!(forward.totals.dropped_packets.contains_key(&DropReason::Random));
        let (frames, packets) = (forward.delivered_frames.unwrap(), forward.delivered_packets);
        let cut = forward.cut_super_packets;
        assert_eq!(cut > 50, sender == Offload::SuperPackets, "{cut} super-packets");
        assert_eq!(
            frames < packets,
            receiver == Offload::SuperPackets,
            "{frames} frames of {packets} packets"
        );
    }
}

/// Without a card of its own the sender hands all that its window allows to the path at once. With one, what the card
/// cannot have sent yet waits in the host, so that no more is on the path than the card fills it with.
#[test]
#[ignore = "needs root"]
fn a_card_holds_back_what_it_could_not_have_sent() {
    const CARD_BIT_PER_S: u64 = 100_000_000;
    let config = PathConfig { delay_ns: 5_000_000, ..PathConfig::default() };
    for offload in [Offload::PerPacket, Offload::SuperPackets] {
        let most_packets = |card| {
            let settings = Settings { offload, sender_card_bit_per_s: card, ..Settings::plain() };
            let began = Instant::now();
            let (bytes, [forward, _]) = carried(&settings, &config);
            assert!(bytes == pattern());
            (forward.fullest.unwrap().packets, began.elapsed())
        };
        let (unheld, _) = most_packets(None);
        let way = CARD_BIT_PER_S * config.delay_ns / 8 / 1_000_000_000 / 1500;
        // Beside what is on the way, what the token bucket lets through at once; a relay or a bucket that is late has more.
        let held = (0..6).map(|_| most_packets(Some(CARD_BIT_PER_S))).find(|(packets, took)| {
            let bits = BYTES as f64 * 8.0;
            assert!(took.as_secs_f64() > bits / CARD_BIT_PER_S as f64, "faster than the card: {took:?}");
            *packets <= 4 * way
        });
        assert!(
            held.is_some() && unheld > 6 * way,
            "{offload:?}: {held:?}, without a card {unheld}, way {way}"
        );
    }
}
