//! The windows that a peer advertised, as its sender saw them: a small buffer, one that grew late, or a slow reader?

use slowpath_model::SocketSample;
use std::time::Duration;

/// `TCP_INIT_CWND` (include/net/tcp.h; RFC 6928): before it has grown, the congestion window shows nothing.
const INIT_CWND: u32 = 10;

/// Windows seen while there was more to send than had been sent: later ones hold nobody up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Windows {
    most: u32,
    last: u32,
    /// Bytes times seconds while a window held the sender, and these seconds.
    held: [f64; 2],
    /// A window was less than half of an earlier one.
    shrank: bool,
    /// The largest congestion window, in bytes, once it had grown.
    congestion_window: u64,
}

impl Windows {
    pub(super) fn add(&mut self, sample: &SocketSample, held: Duration) {
        let Some(window) = sample.snd_wnd.filter(|_| sample.notsent != Some(0)) else { return };
        self.most = self.most.max(window);
        self.shrank |= window < self.most / 2;
        self.last = window;
        if let Some((cwnd, mss)) = sample.snd_cwnd.zip(sample.snd_mss).filter(|(cwnd, _)| *cwnd > INIT_CWND) {
            self.congestion_window = self.congestion_window.max(u64::from(cwnd) * u64::from(mss));
        }
        if held > Duration::ZERO {
            let seconds = held.as_secs_f64();
            self.held[0] += seconds * f64::from(window);
            self.held[1] += seconds;
        }
    }

    /// Whether the windows that held the sender were on average less than half of this many bytes.
    fn were_half_of(&self, bytes: f64) -> bool {
        self.held[0] * 2.0 < bytes * self.held[1]
    }

    /// Data is read too slowly: the window was larger before, or was closed all the while. If neither was seen, the
    /// congestion window shows it: it grows only while it is used, and in slow start to no more than twice the data
    /// under way (`tcp_is_cwnd_limited`).
    pub(super) fn shrank(&self) -> bool {
        let was_closed = self.held[0] == 0.0 && self.held[1] > 0.0;
        self.shrank || was_closed || !self.grew() && self.were_half_of(self.congestion_window as f64 / 2.0)
    }

    /// The windows that held the sender were only temporarily too small.
    pub(super) fn grew(&self) -> bool {
        !self.shrank && self.were_half_of(self.last.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::End;

    /// Whether windows, each with the congestion window at that time, count as shrunk, and as grown. Each held the
    /// sender, except those after the first zero.
    fn said(windows: &[(u32, u32)]) -> (bool, bool) {
        let mut seen = Windows::default();
        for (snd_wnd, snd_cwnd) in windows {
            let sample = SocketSample {
                snd_wnd: Some(*snd_wnd),
                snd_cwnd: Some(*snd_cwnd),
                snd_mss: Some(1448),
                ..SocketSample::unknown(End::A)
            };
            let held = if *snd_wnd < 700_000 { Duration::from_millis(100) } else { Duration::ZERO };
            seen.add(&sample, held);
        }
        (seen.shrank(), seen.grew())
    }

    /// As the kernel reported them of transfers with a known cause.
    #[test]
    fn windows_distinguish_slow_reader_from_autotuning() {
        let small_buffer = [(18_824, 26), (18_824, 26), (18_824, 26)];
        assert_eq!(said(&small_buffer), (false, false));
        let grew_late = [(80_896, 200), (240_640, 231), (394_240, 284), (720_896, 397), (5_533_696, 1456)];
        assert_eq!(said(&grew_late), (false, true));
        let reader_stopped = [(162_400, 50), (0, 50), (41_440, 53), (0, 30), (163_840, 30)];
        assert_eq!(said(&reader_stopped), (true, false));
        let slow_reader = [(10_240, 70), (13_312, 70), (12_288, 70), (13_312, 70)];
        assert_eq!(said(&slow_reader), (true, false));
        let stopped_before = [(0, 50), (0, 50)];
        assert_eq!(said(&stopped_before), (true, false));
        let small_from_the_first = [(10_240, 10), (10_240, 10)];
        assert_eq!(said(&small_from_the_first), (false, false));
    }
}
