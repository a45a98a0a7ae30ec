use super::cross::CrossPattern;
use super::link::QueueLimit;
use super::*;
use slowpath_model::{Ecn, Flags, Rate, StreamOffset};

const MS: i64 = 1_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn at(nanos: i64) -> Instant {
    Instant::from_nanos(nanos)
}

fn packet(bytes: u64) -> Packet {
    Packet { length: Bytes::new(bytes), ..Packet::default() }
}

/// IP, TCP and timestamps.
const HEADERS_BYTES: u32 = 52;

fn packet_of(part: StreamPart) -> Packet {
    Packet { part: Some(part), ..packet(u64::from(HEADERS_BYTES + part.len)) }
}

/// A data segment.
pub fn segment(start: i64, len: u32) -> Packet {
    packet_of(StreamPart::new(1, Flags::ACK, StreamOffset(start), len))
}

/// A pure ACK.
pub fn ack(ack: i64, window: u16) -> Packet {
    let part = StreamPart::new(1, Flags::ACK, StreamOffset(1), 0);
    packet_of(StreamPart { ack: Some(StreamOffset(ack)), window, ..part })
}

/// A SYN.
pub fn syn(window_scale: Option<u8>, len: u32) -> Packet {
    packet_of(StreamPart { window_scale, ..StreamPart::new(1, Flags::SYN, StreamOffset(0), len) })
}

fn dropped(reason: LossReason) -> Verdict {
    Verdict::Drop { reason, answer: None }
}

fn link(mbit: u64, packets: u32) -> Option<LinkConfig> {
    Some(LinkConfig { rate: Rate::mbit(mbit), queue: QueueLimit::Packets(packets), stalls: vec![] })
}

fn due(verdict: Verdict) -> Option<i64> {
    match verdict {
        Verdict::Deliver { due, .. } => Some(due.nanos()),
        Verdict::Drop { .. } => None,
    }
}

#[test]
fn empty_path_delivers_at_once() {
    let mut path = Path::new(&PathConfig::default(), 1);
    assert_eq!(
        path.schedule(at(5), &packet(1500)),
        Verdict::Deliver { due: at(5), held_back: Duration::ZERO, twice: false, changes: Changes::NONE }
    );
}

#[test]
fn serialisation_and_delay_add_up() {
    let config = PathConfig { link: link(12, 10), delay: ms(20), ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    assert_eq!(due(path.schedule(at(0), &packet(1500))), Some(21 * MS));
    assert_eq!(due(path.schedule(at(0), &packet(1500))), Some(22 * MS));
}

#[test]
fn queue_of_four_delivers_four_of_a_burst_of_ten() {
    let config = PathConfig { link: link(12, 4), ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    let delivered = (0..10).filter(|_| due(path.schedule(at(0), &packet(1500))).is_some()).count();
    assert_eq!(delivered, 4);
    assert_eq!(path.totals().dropped_packets, BTreeMap::from([(LossReason::Queue, 6)]));
    assert_eq!(path.totals().longest_queue_packets, 4);
    assert_eq!(path.totals().longest_queue_bytes, 6000);
}

#[test]
fn reordering_delays_only_the_reordered_packet() {
    let config = PathConfig {
        delay: ms(10),
        reorder: Some(ReorderConfig { probability_ppm: 200_000, extra: ms(5) }),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 42);
    let mut overtaken = 0;
    for n in 0..1000 {
        match path.schedule(at(n * MS), &packet(100)) {
            Verdict::Deliver { due, held_back: Duration::ZERO, .. } => assert_eq!(due, at(n * MS + 10 * MS)),
            Verdict::Deliver { due, held_back, .. } => {
                assert_eq!((due, held_back), (at(n * MS + 15 * MS), ms(5)));
                overtaken += 1;
            }
            Verdict::Drop { reason, .. } => panic!("{reason:?}"),
        }
    }
    assert!((160..240).contains(&overtaken), "{overtaken} of 1000 at 20 %");
    assert_eq!(path.totals().held_back_packets, overtaken);
}

#[test]
fn policed_packets_take_no_link_time() {
    let config = PathConfig {
        policer: Some(PolicerConfig { rate: Rate::mbit(1), burst: Bytes::new(1500) }),
        link: link(12, 10),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    assert_eq!(due(path.schedule(at(0), &packet(1500))), Some(MS));
    assert_eq!(path.schedule(at(0), &packet(1500)), dropped(LossReason::Policed));
    // 12 ms refill 1500 bytes at 1 Mbit/s.
    assert_eq!(due(path.schedule(at(12 * MS), &packet(1500))), Some(13 * MS));
}

#[test]
fn cross_traffic_shares_the_link_and_the_queue() {
    let others = |mbit| CrossConfig {
        pattern: CrossPattern::Constant,
        rate: Rate::mbit(mbit),
        packet: Bytes::new(1500),
        from: Duration::ZERO,
        to: Some(ms(50)),
    };
    // Six packets per millisecond on a link that serves one: the queue of four is always full.
    let config = PathConfig { link: link(12, 4), cross: vec![others(72)], ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    path.begin(at(0));
    assert_eq!(path.schedule(at(10 * MS + MS / 2), &packet(1500)), dropped(LossReason::Queue));
    assert_eq!((path.totals().cross_packets, path.totals().cross_dropped_packets), (63, 49));
    // After the cross traffic ends, the whole link is free.
    assert_eq!(due(path.schedule(at(100 * MS), &packet(1500))), Some(101 * MS));
    assert_eq!(path.totals().cross_packets, 300);
    // Cross traffic at half the link rate leaves half the link.
    let config = PathConfig { link: link(12, 10_000), cross: vec![others(6)], ..PathConfig::default() };
    let mut path = Path::new(&config, 1);
    path.begin(at(0));
    let left: Vec<_> = (0..48).filter_map(|n| due(path.schedule(at(n * MS), &packet(1500)))).collect();
    assert_eq!(left.last(), Some(&(72 * MS)), "48 of ours and 24 of theirs");
}

#[test]
fn stalls_are_relative_to_the_configured_begin() {
    let stalls = vec![link::Stall { from: Duration::ZERO, to: ms(5) }];
    let config = PathConfig {
        link: Some(LinkConfig { rate: Rate::mbit(12), queue: QueueLimit::Packets(10), stalls }),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    path.begin(at(0));
    assert_eq!(due(path.schedule(at(2 * MS), &packet(1500))), Some(6 * MS));
}

#[test]
fn same_seed_gives_the_same_verdicts_and_another_seed_others() {
    let config = everything();
    let run = |seed| {
        let mut path = Path::new(&config, seed);
        (0..5000).map(|n| path.schedule(at(n * MS / 2), &packet(1500))).collect::<Vec<_>>()
    };
    assert_eq!(run(9), run(9));
    assert_ne!(run(9), run(10));
}

#[test]
fn packets_are_conserved() {
    for seed in 0..50 {
        let mut path = Path::new(&everything(), seed);
        let mut arrivals = Draws::new(seed + 1000);
        let (mut pending, mut delivered, mut now) = (BTreeMap::new(), 0u64, 0i64);
        for order in 0..5000u64 {
            now += arrivals.below(1_000_000).cast_signed();
            if let Verdict::Deliver { due, twice, .. } = path.schedule(at(now), &packet(1500)) {
                assert!(due >= at(now), "seed {seed}: delivered before its arrival");
                pending.insert((due, order), 1 + u64::from(twice));
            }
            let later = pending.split_off(&(at(now), u64::MAX));
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
        assert_eq!(path.totals().dropped_packets.len(), 4, "seed {seed}: every element dropped packets");
    }
}

/// Each kind of middlebox, with parameters.
fn middleboxes() -> Vec<MiddleboxConfig> {
    vec![
        MiddleboxConfig::Mtu(mtu::MtuConfig { mtu: Bytes::new(1500), icmp: true }),
        MiddleboxConfig::SuperPackets,
        MiddleboxConfig::SynData,
        MiddleboxConfig::UnscaledWindow,
        MiddleboxConfig::Forget(forget::ForgetConfig { idle: ms(5000), reset: true }),
        MiddleboxConfig::WindowScale(window_scale::WindowScaleConfig {
            becomes: action::Replacement::Shift(3),
        }),
        MiddleboxConfig::SackShift(sack_shift::SackShiftConfig { shift: 1000 }),
        MiddleboxConfig::Ecn(ecn::EcnConfig::MarkEvery { packets: 10 }),
        MiddleboxConfig::Identification(identification::IdentificationConfig::PerHost { others: 9 }),
        MiddleboxConfig::Reset(resets::ResetConfig { at_byte: 5000, beyond: 1 }),
        MiddleboxConfig::Damage(damage::DamageConfig { probability_ppm: 1000 }),
    ]
}

#[test]
fn middlebox_sees_the_changes_of_the_one_before_it() {
    let marks = MiddleboxConfig::Ecn(ecn::EcnConfig::MarkEvery { packets: 1 });
    let bleaches = MiddleboxConfig::Ecn(ecn::EcnConfig::Bleach);
    let capable = Packet { ecn: Ecn::Ect0, ..segment(1, 100) };
    for (boxes, becomes) in [([marks, bleaches], Ecn::NotEct), ([bleaches, marks], Ecn::NotEct)] {
        let config = PathConfig { middleboxes: boxes.to_vec(), ..PathConfig::default() };
        let verdict = Path::new(&config, 1).schedule(at(0), &capable);
        let Verdict::Deliver { changes, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(changes.ecn, Some(becomes));
    }
}

#[test]
fn middlebox_drops_before_the_policer_spends_tokens() {
    let config = PathConfig {
        middleboxes: vec![MiddleboxConfig::Mtu(mtu::MtuConfig { mtu: Bytes::new(1400), icmp: true })],
        policer: Some(PolicerConfig { rate: Rate::mbit(1), burst: Bytes::new(1400) }),
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    let answer = Some(Answer::TooBig { mtu: Bytes::new(1400) });
    assert_eq!(path.schedule(at(0), &segment(1, 1448)), Verdict::Drop { reason: LossReason::Mtu, answer });
    assert_eq!(due(path.schedule(at(0), &segment(1, 1348))), Some(0));
    assert_eq!(path.totals().dropped_packets, BTreeMap::from([(LossReason::Mtu, 1)]));
}

#[test]
fn middlebox_rst_counts_as_made() {
    let config = PathConfig {
        middleboxes: vec![MiddleboxConfig::Reset(resets::ResetConfig { at_byte: 0, beyond: 0 })],
        ..PathConfig::default()
    };
    let mut path = Path::new(&config, 1);
    path.schedule(at(0), &segment(1, 100));
    path.schedule(at(1), &segment(101, 100));
    let totals = path.totals();
    assert_eq!((totals.made_packets, totals.changed_packets, totals.scheduled_packets), (1, 0, 3));
    assert!(totals.are_conserved());
}

/// The random numbers of other elements do not depend on middleboxes.
#[test]
fn middleboxes_do_not_change_other_elements_random_numbers() {
    let run = |middleboxes| {
        let mut path = Path::new(&PathConfig { middleboxes, ..everything() }, 9);
        (0..5000).map(|n| due(path.schedule(at(n * MS / 2), &packet(1500)))).collect::<Vec<_>>()
    };
    assert_eq!(run(Vec::new()), run(middleboxes()));
}

fn everything() -> PathConfig {
    PathConfig {
        middleboxes: middleboxes(),
        policer: Some(PolicerConfig { rate: Rate::mbit(22), burst: Bytes::new(20_000) }),
        loss: vec![
            LossConfig::Random { probability_ppm: 10_000 },
            LossConfig::Bursts { good_to_bad_ppm: 5_000, bad_to_good_ppm: 200_000, bad_loss_ppm: 900_000 },
        ],
        link: link(20, 12),
        cross: vec![CrossConfig {
            pattern: CrossPattern::Poisson,
            rate: Rate::mbit(3),
            packet: Bytes::new(700),
            from: Duration::ZERO,
            to: None,
        }],
        delay: ms(10),
        jitter: Some(JitterConfig { up_to: ms(1), overtakes: true }),
        reorder: Some(ReorderConfig { probability_ppm: 20_000, extra: ms(3) }),
        duplicate_ppm: 10_000,
    }
}

#[test]
fn configuration_round_trips_with_units_in_its_keys() {
    let spells = CrossConfig {
        pattern: CrossPattern::OnOff { on: ms(1), off: ms(2) },
        to: Some(ms(9)),
        ..everything().cross[0]
    };
    let config = PathConfig {
        link: Some(LinkConfig {
            rate: Rate::mbit(1),
            queue: QueueLimit::Bytes(Bytes::new(9000)),
            stalls: vec![link::Stall { from: ms(1), to: ms(2) }],
        }),
        cross: vec![spells],
        ..everything()
    };
    let text = serde_json::to_string(&config).unwrap();
    for written in [
        "{\"kind\":\"mtu\",\"mtu_bytes\":1500,\"icmp\":true},{\"kind\":\"super-packets\"}",
        "{\"kind\":\"forget\",\"idle_ns\":5000000000,\"reset\":true}",
        "{\"kind\":\"window-scale\",\"becomes\":{\"shift\":3}}",
        "{\"kind\":\"ecn\",\"does\":\"mark-every\",\"packets\":10}",
        "\"policer\":{\"rate_bit_per_s\":22000000,\"burst_bytes\":20000}",
        "\"queue\":{\"bytes\":9000},\"stalls\":[{\"from_ns\":1000000,\"to_ns\":2000000}]",
        "\"on_ns\":1000000,\"off_ns\":2000000,\"rate_bit_per_s\":3000000,\"packet_bytes\":700,\"from_ns\":0,\"to_ns\":9000000",
        "\"delay_ns\":10000000,\"jitter\":{\"up_to_ns\":1000000,",
        "\"extra_ns\":3000000",
    ] {
        assert!(text.contains(written), "{written} in {text}");
    }
    assert_eq!(serde_json::from_str::<PathConfig>(&text).unwrap(), config);
    assert_eq!(
        serde_json::from_str::<PathConfig>("{\"delay_ns\":5}").unwrap().delay,
        Duration::from_nanos(5)
    );
}
