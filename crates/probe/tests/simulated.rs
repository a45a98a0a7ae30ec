//! The procedures over emulated paths with known properties.

use slowpath_model::{Bytes, Rate};
use slowpath_path::cross::{CrossConfig, CrossPattern};
use slowpath_path::link::{LinkConfig, QueueLimit};
use slowpath_path::loss::LossConfig;
use slowpath_path::{PathConfig, ReorderConfig};
use slowpath_probe::measure::available::Verdict;
use slowpath_probe::measure::{
    Available, Bound, Capacity, Direction, Method, RoundTrip, Setting, Weakest, available, capacity, ramp,
    round_trip,
};
use slowpath_probe::simulated::{Ends, Simulated};
use std::time::Duration;

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;
const PACKET_BYTES: u32 = 1500;
/// A card's interrupt moderation, as drivers set it (ixgbe's dynamic moderation has tens of microseconds).
const JOINED_NS: u64 = 50_000;

/// A link with a queue of 1000 packets, other flows of this rate on it, and a delay.
fn path(rate: u64, cross: Option<(CrossPattern, u64)>, delay_ns: u64) -> PathConfig {
    let cross = cross.map(|(pattern, rate)| CrossConfig {
        pattern,
        rate: Rate::bits_per_second(rate),
        packet: Bytes::new(PACKET_BYTES.into()),
        from: Duration::ZERO,
        to: None,
    });
    PathConfig {
        link: Some(LinkConfig {
            rate: Rate::bits_per_second(rate),
            queue: QueueLimit::Packets(1000),
            stalls: vec![],
        }),
        cross: cross.into_iter().collect(),
        delay: Duration::from_nanos(delay_ns),
        ..PathConfig::default()
    }
}

fn channel(there: &PathConfig, card_bit_per_s: u64, joined_within_ns: u64) -> Simulated {
    let back = PathConfig { delay: there.delay, ..PathConfig::default() };
    Simulated::new(there, &back, [7, 8], Ends { card_bit_per_s: [card_bit_per_s; 2], joined_within_ns })
}

struct Found {
    round_trip: RoundTrip,
    capacity: Capacity,
    available: Available,
}

fn found(mut channel: Simulated) -> Found {
    let Ok(round_trip) = round_trip::measure(&mut channel, &mut |_| ());
    let setting = Setting {
        direction: Direction::There,
        packet_bytes: PACKET_BYTES,
        round_trip_ns: round_trip.min_ns.expect("echoes came back"),
    };
    let Ok(capacity) = capacity::measure(&mut channel, &setting, &mut |_| ());
    let guess = capacity.rate.expect("packets came");
    let Ok(available) = available::measure(&mut channel, &setting, guess, &mut |_| ());
    Found { round_trip, capacity, available }
}

/// Asserts that `found` is within this many thousandths of `truth`.
fn near(found: u64, truth: u64, permille: u64, what: &str) {
    assert!(found.abs_diff(truth) * 1000 <= truth * permille, "{what}: {found}, and it is {truth}");
}

#[test]
fn grid_of_rates_cross_traffic_and_delays_is_measured() {
    for rate in [10, 100, 300, 622, 940].map(|mbit| mbit * MBIT) {
        for share in [0, 30, 60] {
            for pattern in [CrossPattern::Constant, CrossPattern::Poisson] {
                for (delay_ns, joined_ns) in [(MS / 2, 0), (20 * MS, JOINED_NS)] {
                    let others = rate / 100 * share;
                    let cross = (share > 0).then_some((pattern, others));
                    let of =
                        format!("{rate} bit/s, {pattern:?} {share} %, {delay_ns} ns, joined {joined_ns} ns");
                    let found = found(channel(&path(rate, cross, delay_ns), 10_000 * MBIT, joined_ns));
                    let least = found.round_trip.min_ns.expect("echoes");
                    // On a busy link an echo waits for packets of other flows too.
                    assert!(least - 2 * delay_ns < 200_000 + 12 * 1_000_000_000_000 / rate, "{of}: {least}");
                    near(found.capacity.rate.expect("a capacity"), rate, 100, &format!("{of}: capacity"));
                    let estimate = found.available.estimate();
                    near(estimate, rate - others, 100, &format!("{of}: {:?}", found.available));
                    assert_eq!(found.available.bound, Bound::Path, "{of}");
                }
            }
        }
    }
}

#[test]
fn interrupt_coalescing_hides_pairs_but_not_trains() {
    let alone = found(channel(&path(940 * MBIT, None, MS), 10_000 * MBIT, 0)).capacity;
    assert_eq!((alone.method, alone.handed_over_together), (Method::Both, false));
    let joined = found(channel(&path(940 * MBIT, None, MS), 10_000 * MBIT, JOINED_NS)).capacity;
    assert_eq!((joined.method, joined.handed_over_together), (Method::Trains, true));
    near(joined.rate.expect("a rate"), 940 * MBIT, 20, "by trains");
}

#[test]
fn random_loss_does_not_lower_the_available_bandwidth() {
    // ubik, section V: pathload "looses lots of packets even in low-rate chains and falsely states" a tenth.
    let lossy = PathConfig {
        loss: vec![LossConfig::Random { probability_ppm: 80_000 }],
        ..path(300 * MBIT, Some((CrossPattern::Poisson, 100 * MBIT)), 5 * MS)
    };
    let found = found(channel(&lossy, 10_000 * MBIT, 0));
    assert!(found.available.lost_anyway_permille > 40, "{:?}", found.available);
    // 8 % of the sent packets never reach the link.
    near(found.available.estimate(), 217 * MBIT, 100, "with 8 % lost");
}

#[test]
fn sender_limit_is_reported() {
    let found = found(channel(&path(940 * MBIT, None, MS), 200 * MBIT, 0));
    near(found.available.high, 200 * MBIT, 50, "the card's rate");
    assert!(matches!(found.available.bound, Bound::Cap | Bound::Sender), "{:?}", found.available);
    assert!(found.available.fleets.iter().all(|fleet| fleet.verdict == Verdict::Below));
}

#[test]
fn ramp_finds_the_rate_where_loss_begins() {
    let mut channel =
        channel(&path(100 * MBIT, Some((CrossPattern::Constant, 40 * MBIT)), MS), 1000 * MBIT, 0);
    let setting = Setting { direction: Direction::There, packet_bytes: PACKET_BYTES, round_trip_ns: 2 * MS };
    let rates = ramp::Rates { from: 10 * MBIT, to: 200 * MBIT, steps: 20 };
    let Ok(ramp) = ramp::measure(&mut channel, &setting, rates, &mut |_| ());
    assert_eq!(ramp.steps.len(), 20);
    // 60 Mbit/s are left; the queue of 1000 packets is 120 ms of the link, which a step of 200 ms fills at 60 % too
    // much.
    let begins = ramp.loss_begins.expect("it does");
    assert!((110 * MBIT..=140 * MBIT).contains(&begins), "{ramp:?}");
    for step in &ramp.steps {
        let is_too_much = step.asked > 62 * MBIT;
        assert_eq!(step.weakest == Weakest::Path, is_too_much, "{step:?}");
        assert_eq!(step.overflowed, None, "unknown here");
    }
}

#[test]
fn reordered_packets_are_counted() {
    let reordering = PathConfig {
        reorder: Some(ReorderConfig { probability_ppm: 50_000, extra: Duration::from_nanos(5 * MS) }),
        ..path(100 * MBIT, None, MS)
    };
    let mut channel = channel(&reordering, 1000 * MBIT, 0);
    let setting = Setting { direction: Direction::There, packet_bytes: PACKET_BYTES, round_trip_ns: 2 * MS };
    let rates = ramp::Rates { from: 50 * MBIT, to: 50 * MBIT, steps: 1 };
    let Ok(ramp) = ramp::measure(&mut channel, &setting, rates, &mut |_| ());
    let [step] = &ramp.steps[..] else { panic!("{ramp:?}") };
    let share = f64::from(step.overtaken) / f64::from(step.packets);
    assert!((0.03..0.07).contains(&share), "{share}");
    assert_eq!(step.lost, 0);
}

#[test]
fn reverse_direction_has_its_own_capacity() {
    let there = path(100 * MBIT, None, MS);
    let back = path(20 * MBIT, None, MS);
    let ends = Ends { card_bit_per_s: [1000 * MBIT; 2], joined_within_ns: 0 };
    let mut channel = Simulated::new(&there, &back, [1, 2], ends);
    for (direction, rate) in [(Direction::There, 100 * MBIT), (Direction::Back, 20 * MBIT)] {
        let setting = Setting { direction, packet_bytes: PACKET_BYTES, round_trip_ns: 2 * MS };
        let Ok(capacity) = capacity::measure(&mut channel, &setting, &mut |_| ());
        near(capacity.rate.expect("a rate"), rate, 20, "its own capacity");
    }
}
