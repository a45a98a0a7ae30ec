//! The relay between two real hosts: data arrives byte for byte, and every packet is accounted for.

mod transfer;

use slowpath_lab::path::PathConfig;
use slowpath_lab::path::link::{LinkConfig, QueueLimit};
use slowpath_lab::path::loss::LossConfig;
use slowpath_lab::path::{LossReason, ReorderConfig};
use slowpath_lab::relay::{DirectionReport, Fate, Relay};
use slowpath_lab::settings::{Carrier, Family, Offload, Settings};
use slowpath_lab::testbed;
use slowpath_model::Rate;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use transfer::transfer;

const BYTES: usize = 3_000_000;

/// A path with all the effects on packets that a path can have.
fn config() -> PathConfig {
    PathConfig {
        loss: vec![LossConfig::Random { probability_ppm: 5_000 }],
        link: Some(LinkConfig { rate: Rate::mbit(200), queue: QueueLimit::Packets(200), stalls: Vec::new() }),
        delay: Duration::from_millis(2),
        reorder: Some(ReorderConfig { probability_ppm: 5_000, extra: Duration::from_micros(500) }),
        duplicate_ppm: 5_000,
        ..PathConfig::default()
    }
}

/// Bytes that differ wherever packets could be mixed up; a checksum left to the card protects none of them. Made once:
/// an emulated CPU takes seconds for them (`tools/kernels`).
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = vec![0; BYTES];
    for word in bytes.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_ne_bytes());
    }
    bytes
});

fn carried(settings: &Settings, config: &PathConfig) -> (Vec<u8>, [DirectionReport; 2]) {
    let (namespaces, hosts) = testbed::build(settings).unwrap();
    let relay = Relay::open(&namespaces, testbed::ways(settings, [config, config], [7, 8])).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let relay = scope.spawn(|| relay.run(&stop));
        let (bytes, _) = transfer(&namespaces, hosts.receiver, &PATTERN);
        // The last ACKs are in flight.
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        (bytes, relay.join().unwrap().0)
    })
}

/// Two hosts that need different work from the relay.
struct Pair {
    sender: Offload,
    receiver: Offload,
    family: Family,
    card_bit_per_s: Option<u64>,
}

const RELAYS: [Carrier; 2] = [Carrier::Veth, Carrier::Tap];
const GBIT: u64 = 1_000_000_000;

#[test]
#[ignore = "needs root"]
fn every_byte_arrives_and_every_packet_is_accounted_for() {
    use Offload::{PerPacket, SuperPackets};
    let pairs = [
        Pair { sender: PerPacket, receiver: PerPacket, family: Family::V4, card_bit_per_s: None },
        Pair { sender: SuperPackets, receiver: SuperPackets, family: Family::V4, card_bit_per_s: Some(GBIT) },
        Pair { sender: SuperPackets, receiver: SuperPackets, family: Family::V6, card_bit_per_s: None },
        Pair { sender: SuperPackets, receiver: PerPacket, family: Family::V6, card_bit_per_s: None },
    ];
    are_carried(&pairs, None);
}

/// Hosts add tags with programs that kernels before 6.6 do not attach.
#[test]
#[ignore = "needs root"]
fn every_tagged_packet_is_accounted_for() {
    use Offload::{PerPacket, SuperPackets};
    let pairs = [
        Pair { sender: PerPacket, receiver: PerPacket, family: Family::V6, card_bit_per_s: Some(GBIT) },
        Pair { sender: SuperPackets, receiver: SuperPackets, family: Family::V4, card_bit_per_s: None },
    ];
    are_carried(&pairs, Some(7));
}

fn are_carried(pairs: &[Pair], vlan: Option<u16>) {
    for (&Pair { sender, receiver, family, card_bit_per_s }, carrier) in
        pairs.iter().flat_map(|pair| RELAYS.map(|carrier| (pair, carrier)))
    {
        let settings = Settings {
            carrier,
            offload: sender,
            receiver_offload: Some(receiver),
            family,
            vlan,
            sender_card_bit_per_s: card_bit_per_s,
            ..Settings::plain()
        };
        let (bytes, reports) = carried(&settings, &config());
        assert!(bytes == *PATTERN, "{settings:?}: {} bytes, or others", bytes.len());
        for report in &reports {
            let of = |fate| report.faults.iter().filter(|fault| fault.fate == fate).count() as u64;
            let is_dropped = |fate| matches!(fate, Fate::Dropped(_));
            let dropped = report.faults.iter().filter(|fault| is_dropped(fault.fate)).count() as u64;
            assert!(report.is_conserved(), "{report:?}");
            assert_eq!((report.missed_packets, report.refused_packets), (0, 0), "{settings:?}");
            assert_eq!(dropped, report.totals.dropped());
            assert_eq!(of(Fate::Duplicated), report.totals.duplicated_packets);
            // A packet that is duplicated and held back counts as duplicated.
            assert!(of(Fate::HeldBack) <= report.totals.held_back_packets);
            assert!(report.faults.iter().all(|fault| fault.length_bytes <= 1500));
        }
        let [forward, _] = &reports;
        assert!(forward.totals.dropped_packets.contains_key(&LossReason::Random));
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

/// Without a card of its own, the sender passes everything that its window allows to the path at once. With one, data
/// that the card cannot have sent yet waits in the host, so that no more is on the path than the card fills it with.
#[test]
#[ignore = "needs root"]
fn sender_card_limits_packets_on_the_path() {
    const CARD_BIT_PER_S: u64 = 100_000_000;
    let config = PathConfig { delay: Duration::from_millis(5), ..PathConfig::default() };
    let hosts = [Offload::PerPacket, Offload::SuperPackets].into_iter();
    for (offload, carrier) in hosts.flat_map(|offload| RELAYS.map(|carrier| (offload, carrier))) {
        let most_packets = |card| {
            let settings = Settings { carrier, offload, sender_card_bit_per_s: card, ..Settings::plain() };
            let began = Instant::now();
            let (bytes, [forward, _]) = carried(&settings, &config);
            assert!(bytes == *PATTERN);
            (forward.fullest.unwrap().packets, began.elapsed())
        };
        let way = Rate::bits_per_second(CARD_BIT_PER_S).amount_in(config.delay).get() / 1500;
        // On a busy machine, even a host without a card may send slowly.
        let unheld = (0..6).map(|_| most_packets(None)).find(|(packets, _)| *packets > 6 * way);
        // Besides the data in flight, the token bucket's burst; a late relay or bucket has more.
        let held = (0..6).map(|_| most_packets(Some(CARD_BIT_PER_S))).find(|(packets, took)| {
            let bits = BYTES as f64 * 8.0;
            assert!(took.as_secs_f64() > bits / CARD_BIT_PER_S as f64, "faster than the card: {took:?}");
            *packets <= 4 * way
        });
        assert!(
            held.is_some() && unheld.is_some(),
            "{offload:?}, {carrier:?}: {held:?}, without a card {unheld:?}, way {way}"
        );
    }
}
