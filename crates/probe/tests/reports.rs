//! The procedures, on whatever times a far end reports.

use proptest::prelude::*;
use slowpath_probe::findings::{Found, Wanted};
use slowpath_probe::measure::{Channel, Direction, Echo, Flight, Limits, Passed, Train};

/// The shortest and a usual `--max-duration`.
static SERVED_NS: [u64; 2] = [10_000_000, 10_000_000_000];

/// A channel whose times are these, over and over.
struct Reported {
    times: Vec<u64>,
    at: usize,
    trains: u32,
    limits: Limits,
}

impl Reported {
    fn next(&mut self) -> u64 {
        self.at = (self.at + 1) % self.times.len();
        self.times[self.at]
    }

    fn some(&mut self) -> Option<u64> {
        let time = self.next();
        (!time.is_multiple_of(7)).then_some(time)
    }
}

impl Channel for Reported {
    type Error = ();

    fn limits(&self) -> Limits {
        self.limits
    }

    fn pass(&mut self, train: &Train) -> Result<Passed, ()> {
        self.trains += 1;
        assert!(self.trains < 5000, "it does not end");
        // Two packets at a low rate take as long as they take.
        assert!(train.packets == 2 || train.duration_ns() <= self.limits.duration_ns, "{train:?}");
        let flights = (0..train.packets).map(|_| Flight { sent_ns: self.some(), arrived_ns: self.some() });
        Ok(Passed { flights: flights.collect(), overtaken: 1, overflowed: Some(self.next() as u32) })
    }

    fn echo(&mut self) -> Result<Option<Echo>, ()> {
        Ok(Some(Echo { away_ns: self.next() % 1_000_000_000, turned_ns: self.next() }))
    }

    fn rest(&mut self, _: u64) -> Result<(), ()> {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_reported_times_give_a_result(
        times in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..9, u64::MAX - 9..=u64::MAX], 1..60),
        back in any::<bool>(),
        duration_ns in prop::sample::select(&SERVED_NS),
    ) {
        let direction = if back { Direction::Back } else { Direction::There };
        let wanted = Wanted { direction, capacity: true, available: true, ramp: true, rates: None, steps: 3 };
        let mut found = Found::new(wanted, 1500);
        let limits = Limits { rate_bit_per_s: 1_000_000_000, packets: 1 << 16, burst: 1024, duration_ns };
        prop_assert_eq!(found.fill(&mut Reported { times, at: 0, trains: 0, limits }, &mut |_| ()), Ok(()));
    }
}
