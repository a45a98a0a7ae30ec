//! The arithmetic behind the numbers of the advice. Each estimate names what it assumes.

use slowpath_model::{Bytes, Rate};
use std::ops::Range;
use std::time::Duration;

/// The largest window field, before scaling (RFC 9293, section 3.1: 16 bits).
pub const LARGEST_FIELD: u64 = 65_535;

/// The largest shift (RFC 7323, section 2.3).
pub const LARGEST_SHIFT: u8 = 14;

/// Segments of the first flight (RFC 6928; Linux `TCP_INIT_CWND`, 6.18).
pub const INITIAL_SEGMENTS: u64 = 10;

/// The part of a receive buffer that Linux advertises before it has received data, as a divisor.
///
/// Since 6.6 each socket has a `scaling_ratio`, which starts at 128/256 and then follows `skb->len / skb->truesize`
/// (`tcp_scaling_ratio_init`, `tcp_measure_rcv_mss`, `tcp_win_from_space`, 6.18). Before, the part was 1 -
/// 1/2^`tcp_adv_win_scale`, whose default of 1 is a half as well (ubik IV-B). Drivers that fill pages well reach more,
/// so a buffer computed with this is rather too large than too small.
pub const BUFFER_PER_WINDOW: u64 = 2;

/// The third number of `tcp_rmem` that Linux 6.18 starts with where memory allows (`tcp_init`); 6 MiB
/// before.
pub const DEFAULT_RECEIVE_LIMIT: Bytes = Bytes::kib(32 << 10);

/// The default before 6.18.
pub const OLD_RECEIVE_LIMIT: Bytes = Bytes::kib(6 << 10);

/// The third number of `tcp_wmem` that Linux starts with where memory allows (`tcp_init`, 6.18), and the
/// `rmem_max` and `wmem_max` of 6.18.
pub const DEFAULT_SEND_LIMIT: Bytes = Bytes::kib(4 << 10);

/// The link rates from which a target is chosen.
const LINK_RATES: [u64; 9] = [
    10_000_000,
    100_000_000,
    1_000_000_000,
    2_500_000_000,
    10_000_000_000,
    25_000_000_000,
    40_000_000_000,
    100_000_000_000,
    400_000_000_000,
];

/// The largest rate that `window` outstanding bytes per `round_trip` allow; `None` for an RTT of zero.
pub fn largest_rate(window: Bytes, round_trip: Duration) -> Option<Rate> {
    Rate::of(window, round_trip)
}

/// The window that `rate` over `round_trip` needs: the bandwidth-delay product, rounded up to a byte.
pub fn window_for(rate: Rate, round_trip: Duration) -> Bytes {
    let bits = u128::from(rate.get()).saturating_mul(round_trip.as_nanos());
    Bytes::new(u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX))
}

/// The third number of `tcp_rmem` or `tcp_wmem` for a transfer that needs `window`: four times as much, rounded up to a MiB.
///
/// Received packets take about twice the memory of their payload, and data that arrives behind a loss stays for one more RTT;
/// autotuning itself aims at twice what was read in the last RTT (`tcp_rcvbuf_grow`, 6.18: "always one RTT late"). Not more:
/// ubik, table II, found the best rate at 4 MB on a path that holds 5 MB, and less at 8 and 16 MB.
///
/// Data that is sent stays until it is acknowledged. In front of a queue as long as the path, that is twice `window`, and
/// `tcp_sndbuf_expand` (6.18) provides for twice the congestion window. A send buffer that becomes full wakes its writer when
/// a third is free (`sk_stream_min_wspace`), and that third leaves as one burst: of a buffer of twice `window`, more than a
/// queue of half of it takes (docs/src/doctor.md has the rates).
pub fn buffer_for(window: Bytes) -> Bytes {
    up_to_mib(window.get().saturating_mul(2 * BUFFER_PER_WINDOW))
}

fn up_to_mib(bytes: u64) -> Bytes {
    const MIB: u64 = 1 << 20;
    Bytes::new(bytes.div_ceil(MIB).max(1).saturating_mul(MIB))
}

/// A target rate: the smallest common link rate of at least twice the rate reached.
///
/// An assumption, not a measurement: a capture of a limited flow does not show what the path carries.
pub fn target_for(reached: Rate) -> Rate {
    let wanted = reached.get().saturating_mul(2);
    Rate::bits_per_second(LINK_RATES.into_iter().find(|rate| *rate >= wanted).unwrap_or(wanted))
}

/// The smallest shift under which `window` can be advertised; `None` if not even 14 suffices.
pub fn shift_for(window: Bytes) -> Option<u8> {
    (0..=LARGEST_SHIFT).find(|shift| LARGEST_FIELD << shift >= window.get())
}

/// The largest window that `shift` can express.
pub fn largest_window(shift: u8) -> Bytes {
    Bytes::new(LARGEST_FIELD << shift.min(LARGEST_SHIFT))
}

/// The range of the larger of `tcp_rmem`'s third number and `rmem_max`, if Linux offered `shift`.
///
/// `tcp_select_initial_window` (6.18) offers `ilog2(space) - 15`, at least 0 and at most 14, where space is that larger
/// number, limited by the window clamp. With SO_RCVBUF set before the connection opens, the clamp is what that buffer
/// advertises (`tcp_connect_init`, `tcp_openreq_init_rwin`), so the range applies to the buffer's window. `None` for 0
/// and 14, which have an open end.
pub fn space_behind_shift(shift: u8) -> Option<Range<Bytes>> {
    (1..LARGEST_SHIFT).contains(&shift).then(|| Bytes::new(1 << (shift + 15))..Bytes::new(1 << (shift + 16)))
}

/// The smallest third number of `tcp_rmem` with which Linux offers at least `shift`.
pub fn space_for_shift(shift: u8) -> Bytes {
    Bytes::new(1 << (shift.min(LARGEST_SHIFT) + 15))
}

/// RTTs that slow start takes from ten segments to `window`, doubling each: rounded up.
pub fn slow_start_rounds(window: Bytes, mss: u32, initial: u64) -> u32 {
    let mut outstanding = u64::from(mss.max(1)).saturating_mul(initial.max(1));
    let mut rounds = 0;
    while outstanding < window.get() {
        outstanding = outstanding.saturating_mul(2);
        rounds += 1;
    }
    rounds
}

/// The rate that Reno averages at loss probability `loss` (wu eq. 8, after Mathis et al. 1997, with C =
/// √1.5).
pub fn reno_rate(loss: f64, mss: u32, round_trip: Duration) -> Option<Rate> {
    rate_of_window((1.5 / loss).sqrt(), loss, mss, round_trip)
}

/// The rate that CUBIC averages at loss probability `loss`: the larger of Reno's and that of the window
/// 1.054 (RTT / p)^(3/4) segments (RFC 9438, section 5.1, with RTT in seconds).
pub fn cubic_rate(loss: f64, mss: u32, round_trip: Duration) -> Option<Rate> {
    let window = 1.054 * (round_trip.as_secs_f64() / loss).powf(0.75);
    rate_of_window(window, loss, mss, round_trip)?.max(reno_rate(loss, mss, round_trip)?).into()
}

fn rate_of_window(segments: f64, loss: f64, mss: u32, round_trip: Duration) -> Option<Rate> {
    let possible = loss > 0.0 && loss <= 1.0 && mss > 0 && !round_trip.is_zero();
    possible
        .then(|| Rate::bits_per_second((segments * f64::from(mss) * 8.0 / round_trip.as_secs_f64()) as u64))
}

/// The loss probability at which CUBIC still averages `rate`: the inverse of [`cubic_rate`].
pub fn loss_for(rate: Rate, mss: u32, round_trip: Duration) -> Option<f64> {
    if mss == 0 || rate.get() == 0 || round_trip.is_zero() {
        return None;
    }
    let seconds = round_trip.as_secs_f64();
    let segments = rate.get() as f64 * seconds / 8.0 / f64::from(mss);
    let reno = 1.5 / (segments * segments);
    let cubic = seconds * (1.054 / segments).powf(4.0 / 3.0);
    Some(reno.max(cubic).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn window_and_rate_are_inverse() {
        // ubik V: 1000 Mb/s * 40 ms = 5 MB
        assert_eq!(window_for(Rate::mbit(1000), RTT), Bytes::new(5_000_000));
        assert_eq!(largest_rate(Bytes::new(5_000_000), RTT), Some(Rate::mbit(1000)));
        assert_eq!(largest_rate(Bytes::new(LARGEST_FIELD), RTT), Some(Rate::bits_per_second(13_107_000)));
        assert_eq!(largest_rate(Bytes::new(1), Duration::ZERO), None);
        assert_eq!(window_for(Rate::bits_per_second(1), Duration::from_nanos(1)), Bytes::new(1));
    }

    #[test]
    fn buffers_are_rounded_up_to_a_mebibyte() {
        assert_eq!(buffer_for(Bytes::new(5_000_000)), Bytes::kib(20 * 1024));
        assert_eq!(buffer_for(Bytes::new(1)), Bytes::kib(1024));
        assert_eq!(buffer_for(Bytes::ZERO), Bytes::kib(1024));
    }

    #[test]
    fn targets_are_at_least_twice_what_was_reached() {
        assert_eq!(target_for(Rate::mbit(300)), Rate::mbit(1000));
        assert_eq!(target_for(Rate::mbit(500)), Rate::mbit(1000));
        assert_eq!(target_for(Rate::mbit(501)), Rate::mbit(2500));
        assert_eq!(target_for(Rate::mbit(0)), Rate::mbit(10));
        assert_eq!(target_for(Rate::mbit(300_000)), Rate::mbit(600_000));
    }

    #[test]
    fn shifts_and_windows_match() {
        assert_eq!(shift_for(Bytes::new(65_535)), Some(0));
        assert_eq!(shift_for(Bytes::new(65_536)), Some(1));
        assert_eq!(shift_for(Bytes::new(5_000_000)), Some(7));
        assert_eq!(shift_for(Bytes::new(2 << 30)), None);
        assert_eq!(largest_window(7), Bytes::new(65_535 << 7));
        assert_eq!(largest_window(200), largest_window(14));
        // Linux's default of 6 MiB gave 7, and 32 MiB gives 10.
        assert!(space_behind_shift(7).is_some_and(|range| range.contains(&Bytes::kib(6 << 10))));
        assert!(space_behind_shift(10).is_some_and(|range| range.contains(&Bytes::kib(32 << 10))));
        assert_eq!(space_behind_shift(0), None);
        assert_eq!(space_behind_shift(14), None);
        assert_eq!(space_for_shift(7), Bytes::kib(4 << 10));
    }

    #[test]
    fn slow_start_doubles_each_rtt() {
        assert_eq!(slow_start_rounds(Bytes::new(14_480), 1448, 10), 0);
        assert_eq!(slow_start_rounds(Bytes::new(14_481), 1448, 10), 1);
        assert_eq!(slow_start_rounds(Bytes::new(5_000_000), 1448, 10), 9);
        assert_eq!(slow_start_rounds(Bytes::new(u64::MAX), 0, 0), 64);
    }

    #[test]
    fn loss_rate_bounds_the_cubic_rate() {
        // 1.054 * (0.1 / 1e-5)^0.75 = 1054 segments, where Reno has 387.
        let rate = cubic_rate(1e-5, 1500, Duration::from_millis(100)).map(Rate::get);
        let segments = rate.map(|rate| rate as f64 * 0.1 / 8.0 / 1500.0);
        assert!(segments.is_some_and(|segments| (1050.0..1060.0).contains(&segments)), "{segments:?}");
        assert_eq!(cubic_rate(0.0, 1500, RTT), None);
        assert_eq!(cubic_rate(0.1, 1500, Duration::ZERO), None);
        assert!(cubic_rate(0.01, 1448, RTT) >= reno_rate(0.01, 1448, RTT));
        for (rate, round_trip) in [(Rate::mbit(1), 5), (Rate::mbit(100), 40), (Rate::mbit(10_000), 150)] {
            let round_trip = Duration::from_millis(round_trip);
            let loss = loss_for(rate, 1448, round_trip).unwrap_or_default();
            let back = cubic_rate(loss, 1448, round_trip).map_or(0.0, |rate| rate.get() as f64);
            assert!((back / rate.get() as f64 - 1.0).abs() < 0.01 || loss == 1.0, "{rate} {loss} {back}");
        }
    }
}
