//! HighSpeed TCP (RFC 3649; net/ipv4/tcp_highspeed.c, 6.18): Floyd's AIMD, with an increase that grows and a decrease
//! that shrinks with the window.

use super::{Control, Moment, Window};

/// The largest window of each row, and its decrease in 256ths; each row adds one segment to the increase
/// (`hstcp_aimd_vals`; RFC 3649, appendix B).
#[rustfmt::skip]
const TABLE: &[(u32, u32)] = &[
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86),
    (1058, 83), (1284, 81), (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71),
    (3039, 69), (3399, 68), (3778, 66), (4177, 65), (4596, 64), (5036, 62), (5497, 61),
    (5979, 60), (6483, 59), (7009, 58), (7558, 57), (8130, 56), (8726, 55), (9346, 54),
    (9991, 53), (10661, 52), (11358, 52), (12082, 51), (12834, 50), (13614, 49), (14424, 48),
    (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45), (19965, 44), (21013, 43),
    (22101, 43), (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39), (29557, 39),
    (30975, 38), (32450, 38), (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35),
    (42707, 34), (44694, 33), (46776, 33), (48961, 32), (51258, 32), (53677, 31), (56230, 30),
    (58932, 30), (61799, 29), (64851, 28), (68113, 28), (71617, 27), (75401, 26), (79517, 26),
    (84035, 25), (89053, 24), (94717, 23),
];

/// One connection's HighSpeed TCP: the row of its window.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeed {
    row: usize,
}

impl HighSpeed {
    /// Finds the first row whose window is not smaller.
    fn look_up(&mut self, cwnd: u32) {
        while self.row < TABLE.len() - 1 && cwnd > TABLE[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= TABLE[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl Control for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        let less = (u64::from(window.cwnd) * u64::from(TABLE[self.row].1)) >> 8;
        (window.cwnd - less as u32).max(2)
    }

    fn cong_avoid(&mut self, window: &mut Window, _moment: &Moment, acked: u32) {
        if !window.is_limiting() {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        self.look_up(window.cwnd);
        if window.cwnd < window.clamp {
            // Per ACK, not per segment: a receiver that acknowledges every other segment halves it.
            window.count += self.row as u32 + 1;
            if window.count >= window.cwnd {
                window.count -= window.cwnd;
                window.cwnd += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649, section 5: `p(w) = 0.078 / w^1.2`, `b(w)` a line in log(w) from 0.5 at 38 segments to 0.1 at 83000,
    /// and `a(w) = w^2 p(w) 2 b(w) / (2 - b(w))`. The RFC computed its table from values of b with two digits.
    #[test]
    fn table_matches_the_response_function_of_rfc_3649() {
        for (row, (window, less)) in TABLE.iter().enumerate() {
            let w = f64::from(*window);
            let b = (0.1 - 0.5) * (w.ln() - 38f64.ln()) / (83000f64.ln() - 38f64.ln()) + 0.5;
            let a = w * w * 0.078 / w.powf(1.2) * 2.0 * b / (2.0 - b);
            let says = row as f64 + 1.0;
            let off = if row == 0 { 0.05 } else { 0.02 };
            assert!((a / says - 1.0).abs() < off, "{window}: {says} segments, by the formula {a:.2}");
            assert!(
                (f64::from(*less) / 256.0 - b).abs() < 0.006,
                "{window}: {less}/256, by the formula {b:.3}"
            );
        }
    }

    #[test]
    fn table_row_follows_the_window_up_and_down() {
        let mut control = HighSpeed::default();
        for (window, row) in [(38, 0), (39, 1), (118, 1), (1_000_000, TABLE.len() - 1), (119, 2), (1, 0)] {
            control.look_up(window);
            assert_eq!(control.row, row, "{window}");
        }
    }
}
