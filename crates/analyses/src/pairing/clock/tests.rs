//! Known offsets, drifts and steps.

use super::*;
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;

/// Pseudo-random numbers, the same each time.
struct Chance(u64);

impl Chance {
    fn up_to(&mut self, most: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most.max(1).unsigned_abs()) as i64
    }
}

/// Transit times of 10 ms and more, with queues now and then, under a given θ, and with some more time on the way
/// forward.
fn seen_with(seconds: i64, theta: impl Fn(i64) -> i64, more: impl Fn(i64) -> i64) -> Envelopes {
    let mut envelopes = Envelopes::over((0, seconds * 1_000_000_000));
    let mut chance = Chance(7);
    for n in 0..seconds * 500 {
        let at = n * 2_000_000;
        let queue = if n % 700 < 400 { 20_000_000 } else { 0 };
        envelopes.saw(0, at, 10_000_000 + queue + chance.up_to(3_000_000) + more(at) + theta(at));
        envelopes.saw(1, at, 10_000_000 + chance.up_to(200_000) - theta(at));
    }
    envelopes
}

fn seen(seconds: i64, theta: impl Fn(i64) -> i64) -> Envelopes {
    seen_with(seconds, theta, |_| 0)
}

#[test]
fn clock_offset_and_drift_are_recovered() {
    let theta = |at: i64| 3_700_000_000 - at / 12_500;
    let alignment = seen(20, theta).align(None).unwrap();
    let [stretch] = alignment.stretches.as_slice() else { panic!("{alignment:?}") };
    assert!((stretch.drift_ppm + 80.0).abs() < 3.0, "{stretch:?}");
    assert!(stretch.drift_uncertainty_ppm < 20.0, "{stretch:?}");
    assert!((alignment.ahead(10_000_000_000).unwrap() - theta(10_000_000_000)).abs() < 100_000);
    assert!(stretch.round_trip.abs_diff(Duration::from_millis(20)) < Duration::from_micros(100));
}

#[test]
fn clock_step_splits_the_alignment() {
    let theta = |at: i64| if at < 12_300_000_000 { 0 } else { -50_000_000 };
    let alignment = seen(20, theta).align(None).unwrap();
    let steps: Vec<_> = alignment.steps().collect();
    let [(from, to, by)] = steps.as_slice() else { panic!("{alignment:?}") };
    assert!((*from..=*to).contains(&Instant::from_nanos(12_300_000_000)), "{from} {to}");
    assert!((by + 50_000_000).abs() < 200_000, "{by}");
    assert_eq!(alignment.ahead(from.nanos().midpoint(to.nanos())), None);
}

#[test]
fn longer_route_is_not_a_clock_step() {
    let envelopes = seen_with(20, |_| 3_000_000_000, |at| if at > 9_000_000_000 { 15_000_000 } else { 0 });
    assert_eq!(envelopes.align(None).unwrap().stretches.len(), 1);
}

#[test]
fn short_recording_gives_offset_without_drift() {
    let mut envelopes = Envelopes::over((0, 30_000_000));
    envelopes.saw(0, 0, 5_010_000_000);
    envelopes.saw(1, 20_000_000, -4_990_000_000);
    let alignment = envelopes.align(None).unwrap();
    assert_eq!(alignment.stretches[0].drift_ppm, 0.0);
    assert_eq!(alignment.ahead(0), Some(5_000_000_000));
    let mut one_way = Envelopes::over((0, 1));
    one_way.saw(0, 0, 1);
    assert_eq!(one_way.align(None), None);
}

/// A queue that is full from the first packets after the handshake to the end, as a bulk transfer makes it.
fn filled(theta: i64, [forth, back]: [i64; 2], queue: i64) -> Alignment {
    let mut envelopes = Envelopes::over((0, 10_000_000_000));
    envelopes.saw(0, 0, forth + theta);
    envelopes.saw(1, forth, back - theta);
    for n in 1..5000 {
        let at = forth + back + n * 2_000_000;
        envelopes.saw(0, at, forth + queue.min(n * 1_000_000) + n % 7 * 1000 + theta);
        envelopes.saw(1, at + 900_000, back + n % 3 * 1000 - theta);
    }
    envelopes.align(None).unwrap()
}

#[test]
fn handshake_rtt_bounds_offset_despite_standing_queue() {
    let alignment = filled(0, [10_000_000, 10_500_000], 300_000_000);
    let [stretch] = alignment.stretches.as_slice() else { panic!("{alignment:?}") };
    assert_eq!((stretch.basis, stretch.offset_ns, stretch.drift_ppm), (Basis::EqualClocks, 0, 0.0));
    assert!(stretch.uncertainty < Duration::from_micros(11_600), "{stretch:?}");
    // Also if the clocks are far apart.
    let alignment = filled(5_000_000_000, [10_000_000, 10_500_000], 300_000_000);
    let [stretch] = alignment.stretches.as_slice() else { panic!("{alignment:?}") };
    assert_eq!(stretch.basis, Basis::EqualWays);
    assert!((stretch.offset_ns - 5_000_000_000).abs() < 300_000, "{stretch:?}");
    assert!(stretch.round_trip < Duration::from_millis(21), "{stretch:?}");
}

#[test]
fn lan_offset_is_known_within_its_rtt_despite_queue() {
    for theta in [0, -7_000_000] {
        let alignment = filled(theta, [20_000, 30_000], 40_000_000);
        let [stretch] = alignment.stretches.as_slice() else { panic!("{alignment:?}") };
        assert!((stretch.offset_ns - theta).abs() <= 25_000, "{stretch:?}");
        let [least, most] = stretch.offset_bounds_ns;
        assert!((least..=most).contains(&theta) && most - least < 60_000, "{stretch:?}");
        // Crystals that differ by 100 ppm diverge by 1 ms in 10 s, and the queue hides that.
        assert!(stretch.uncertainty < Duration::from_micros(1060), "{stretch:?}");
    }
}

#[test]
fn equal_clocks_are_not_assumed_if_a_packet_contradicts() {
    // 0 would let packets back arrive 40 ms before they were sent.
    let alignment = filled(50_000_000, [10_000_000, 10_000_000], 0);
    assert_eq!(alignment.stretches[0].basis, Basis::EqualWays);
    assert!((alignment.stretches[0].offset_ns - 50_000_000).abs() < 100_000);
    // Nor if the clocks drift apart, though their offset is less than the RTT.
    let alignment = seen(100, |at| at / 20_000).align(None).unwrap();
    assert_eq!(alignment.stretches[0].basis, Basis::EqualWays);
    assert!((alignment.stretches[0].drift_ppm - 50.0).abs() < 3.0, "{alignment:?}");
}

#[test]
fn single_clock_that_steps_stays_equal_clocks() {
    let set = |at: i64| if at < 7 * SECOND { 0 } else { -400_000_000 };
    let mut envelopes = Envelopes::over((0, 12 * SECOND));
    for n in 0..5000 {
        let sent = n * 2_400_000;
        for way in 0..2 {
            let arrived = sent + 20_000_000 + n % 40 * 1_000_000;
            let [sent_stamp, arrived_stamp] = [sent, arrived].map(|at| at + set(at));
            let at = if way == 0 { sent_stamp } else { arrived_stamp };
            envelopes.saw(way, at, arrived_stamp - sent_stamp);
        }
    }
    let alignment = envelopes.align(None).unwrap();
    let [before, after] = alignment.stretches.as_slice() else { panic!("{alignment:?}") };
    assert_eq!([before.basis, after.basis], [Basis::EqualClocks; 2]);
    assert_eq!([before.offset_ns, after.offset_ns], [0, 0]);
}

/// What one flow meets: base delays, when it is active, and what queues hold at most in each direction.
#[derive(Clone, Debug)]
struct Flow {
    base: [i64; 2],
    active: [i64; 2],
    queue: [i64; 2],
    period: i64,
}

fn flow() -> impl Strategy<Value = Flow> {
    let queue = prop_oneof![Just(0i64), 0..300_000_000i64];
    let base = prop_oneof![1_000..200_000i64, 1_000_000..100_000_000i64];
    ((base.clone(), base), (0..8 * SECOND, SECOND / 5..10 * SECOND), (queue.clone(), queue), 1..5000i64)
        .prop_map(|((forth, back), (from, lasts), (one, other), period)| Flow {
            base: [forth, back],
            active: [from, (from + lasts).min(10 * SECOND)],
            queue: [one, other],
            period,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn one_way_delays_are_within_uncertainty_and_not_negative(
        flows in prop::collection::vec(flow(), 1..4),
        offset in prop_oneof![Just(0i64), -20_000_000..20_000_000i64, -5 * SECOND..5 * SECOND],
        ppm in prop_oneof![Just(0i64), -90..90i64],
        seed: u64,
    ) {
        let theta = |at: i64| offset + at * ppm / 1_000_000;
        let mut chance = Chance(seed);
        let mut envelopes = Envelopes::over((0, 10 * SECOND));
        let mut packets = Vec::new();
        for flow in &flows {
            for n in 0..(flow.active[1] - flow.active[0]) / 5_000_000 {
                let at = flow.active[0] + n * 5_000_000;
                for way in 0..2 {
                    // Queues fill and drain, each in its own time; the first packets find them empty.
                    let phase = (n % flow.period * (way + 2) % flow.period) * flow.queue[way as usize] / flow.period;
                    let transit = flow.base[way as usize] + phase + chance.up_to(50_000);
                    let stamped = transit + if way == 0 { theta(at) } else { -theta(at) };
                    envelopes.saw(way as usize, at, stamped);
                    packets.push((way as usize, at, transit, stamped));
                }
            }
        }
        let alignment = envelopes.align(None).unwrap();
        let one_way = flows.iter().all(|flow| flow.queue[0] == 0) || flows.iter().all(|flow| flow.queue[1] == 0);
        if one_way && flows.len() == 1 {
            prop_assert_eq!(alignment.stretches.len(), 1);
        }
        // A bin is 2.4 ms long, in which a clock drifts by less than a microsecond.
        let within = alignment.uncertainty().as_nanos() as i64 + 1_000;
        for (way, at, transit, stamped) in packets {
            let seen = Transit { alignment: Some(&alignment), near: way, epoch: 0, shortest: 0 };
            let (near, far) = if way == 0 { (at, at + stamped) } else { (at - stamped, at) };
            if let Some(delay) = seen.delay(near, far) {
                prop_assert!(delay >= 0);
                prop_assert!((delay - transit).abs() <= within, "{} {} {:?}", delay, transit, alignment);
            } else {
                prop_assert!(alignment.stretches.len() > 1);
            }
        }
    }
}
