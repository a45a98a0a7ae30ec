use super::cross::CrossPattern;
use super::link::QueueLimit;
use super::*;

const MS: u64 = 1_000_000;

fn packet(length_bytes: u32) -> Packet {
    Packet { length_bytes, segment: None }
}

fn link(rate_bit_per_s: u64, packets: u32) -> Option<LinkConfig> {
    Some(LinkConfig { rate_bit_per_s, queue: QueueLimit::Packets(packets), stalls: vec![] })
}

fn due(verdict: Verdict) -> Option<u64> {
    match verdict {
        Verdict::Deliver { due_ns, .. } => Some(due_ns),
        Verdict::Drop(_) => None,
    }
}

#[test]
fn empty_path_delivers_at_once() {
    let mut path = Path::new(&PathConfig::default(), 1);
    assert_eq!(
        path.schedule(5, &packet(1500)),
        Verdict::Deliver { due_ns: 5, held_back_ns: 0, twice: false }
    );
}

#[test]
fn serialisation_and_delay_add_up() {
    let config = PathConfig { link: link(12_000_000, 10), delay_ns: 20 * MS, ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    assert_eq!(due(path.schedule(0, &packet(1500))), Some(21 * MS));
    assert_eq!(due(path.schedule(0, &packet(1500))), Some(22 * MS));
}

#[test]
fn burst_of_ten_into_a_queue_of_four_delivers_four() {
    let config = PathConfig { link: link(12_000_000, 4), ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    let delivered = (0..10).filter(|_| due(path.schedule(0, &packet(1500))).is_some()).count();
    assert_eq!(delivered, 4);
    assert_eq!(path.totals().dropped_packets, BTreeMap::from([(DropReason::Queue, 6)]));
    assert_eq!(path.totals().longest_queue_packets, 4);
    assert_eq!(path.totals().longest_queue_bytes, 6000);
}

#[test]
fn reordered_packet_is_overtaken_and_nothing_else_moves() {
    let config = PathConfig {
        delay_ns: 10 * MS,
        reorder: Some(ReorderConfig { probability_ppm: 200_000, extra_ns: 5 * MS }),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 42);
    let mut overtaken = 0;
    for n in 0..1000 {
        match path.schedule(n * MS, &packet(100)) {
            Verdict::Deliver { due_ns, held_back_ns: 0, .. } => assert_eq!(due_ns, n * MS + 10 * MS),
            Verdict::Deliver { due_ns, held_back_ns, .. } => {
                assert_eq!((due_ns, held_back_ns), (n * MS + 15 * MS, 5 * MS));
                overtaken += 1;
            }
            Verdict::Drop(reason) => panic!("{reason:?}"),
        }
    }
    assert!((160..240).contains(&overtaken), "{overtaken} of 1000 at 20 %");
    assert_eq!(path.totals().held_back_packets, overtaken);
}

#[test]
fn policer_comes_before_the_link_so_its_drops_take_no_service() {
    let config = PathConfig {
        policer: Some(PolicerConfig { rate_bit_per_s: 1_000_000, burst_bytes: 1500 }),
        link: link(12_000_000, 10),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    assert_eq!(due(path.schedule(0, &packet(1500))), Some(MS));
    assert_eq!(path.schedule(0, &packet(1500)), Verdict::Drop(DropReason::Policed));
    // 12 ms refill 1500 bytes at 1 Mbit/s.
    assert_eq!(due(path.schedule(12 * MS, &packet(1500))), Some(13 * MS));
}

#[test]
fn cross_traffic_takes_its_share_of_the_link_and_of_the_queue() {
    let others = |rate_bit_per_s| CrossConfig {
        pattern: CrossPattern::Constant,
        rate_bit_per_s,
        packet_bytes: 1500,
        from_ns: 0,
        to_ns: Some(50 * MS),
    };
    // Six packets a millisecond on a link that carries one: the queue of four is always full.
    let config =
        PathConfig { link: link(12_000_000, 4), cross: vec![others(72_000_000)], ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    path.begin(0);
    assert_eq!(path.schedule(10 * MS + MS / 2, &packet(1500)), Verdict::Drop(DropReason::Queue));
    assert_eq!((path.totals().cross_packets, path.totals().cross_dropped_packets), (63, 49));
    // When they have gone, the link is its own again.
    assert_eq!(due(path.schedule(100 * MS, &packet(1500))), Some(101 * MS));
    assert_eq!(path.totals().cross_packets, 300);
    // Half a link is left beside traffic that takes half of it.
    let config = PathConfig {
        link: link(12_000_000, 10_000),
        cross: vec![others(6_000_000)],
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    path.begin(0);
    let left: Vec<_> = (0..48).filter_map(|n| due(path.schedule(n * MS, &packet(1500)))).collect();
    assert_eq!(left.last(), Some(&(72 * MS)), "48 of ours and 24 of theirs");
}

#[test]
fn a_stall_counts_from_the_begin_that_was_set() {
    let stalls = vec![link::Stall { from_ns: 0, to_ns: 5 * MS }];
    let config = PathConfig {
        link: Some(LinkConfig { rate_bit_per_s: 12_000_000, queue: QueueLimit::Packets(10), stalls }),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    path.begin(0);
    assert_eq!(due(path.schedule(2 * MS, &packet(1500))), Some(6 * MS));
}

#[test]
fn same_seed_same_verdicts_and_other_seed_others() {
    let config = everything();
    let run = |seed| {
        let mut path = Path::new(&config, seed);
        (0..5000).map(|n| path.schedule(n * MS / 2, &packet(1500))).collect::<Vec<_>>()
    };
    assert_eq!(run(9), run(9));
    assert_ne!(run(9), run(10));
}

#[test]
fn nothing_is_made_or_lost_uncounted() {
    for seed in 0..50 {
        let mut path = Path::new(&everything(), seed);
        let mut arrivals = Draws::new(seed + 1000);
        let (mut pending, mut delivered, mut at) = (BTreeMap::new(), 0u64, 0);
        for order in 0..5000u64 {
            at += arrivals.bits() % MS;
            if let Verdict::Deliver { due_ns, twice, .. } = path.schedule(at, &packet(1500)) {
                assert!(due_ns >= at, "seed {seed}: delivered before it arrived");
                pending.insert((due_ns, order), 1 + u64::from(twice));
            }
            let later = pending.split_off(&(at, u64::MAX));
            delivered += pending.values().sum::<u64>();
            pending = later;
            let totals = path.totals();
            let queued: u64 = pending.values().sum();
            assert_eq!(
                delivered + totals.dropped() + queued,
                totals.offered_packets + totals.duplicated_packets,
                "seed {seed}, packet {order}"
            );
            assert!(totals.are_conserved(), "seed {seed}: {totals:?}");
        }
        assert_eq!(path.totals().dropped_packets.len(), 4, "seed {seed}: every element took its share");
    }
}

fn everything() -> PathConfig {
    PathConfig {
        policer: Some(PolicerConfig { rate_bit_per_s: 22_000_000, burst_bytes: 20_000 }),
        loss: vec![
            LossConfig::Random { probability_ppm: 10_000 },
            LossConfig::Bursts { good_to_bad_ppm: 5_000, bad_to_good_ppm: 200_000, bad_loss_ppm: 900_000 },
        ],
        link: link(20_000_000, 12),
        cross: vec![CrossConfig {
            pattern: CrossPattern::Poisson,
            rate_bit_per_s: 3_000_000,
            packet_bytes: 700,
            from_ns: 0,
            to_ns: None,
        }],
        delay_ns: 10 * MS,
        jitter: Some(JitterConfig { up_to_ns: MS, overtakes: true }),
        reorder: Some(ReorderConfig { probability_ppm: 20_000, extra_ns: 3 * MS }),
        duplicate_ppm: 10_000,
    }
}
