//! The windows that a peer advertised, as its sender saw them: a small buffer, one that grew late, or a slow reader?

use slowpath_model::SocketSample;
use std::time::Duration;

/// `TCP_INIT_CWND` (include/net/tcp.h; RFC 6928): before it has grown, the congestion window shows nothing.
const INIT_CWND: u32 = 10;

/// Windows that were seen while there was more to send than had been sent: later ones wait for nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Windows {
    most: u32,
    last: u32,
    /// Bytes by seconds while one held the sender, and these seconds.
    held: [f64; 2],
    /// One was less than half of one before.
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

    /// Whether those that held the sender were less than half of so many bytes, on average.
    fn were_half_of(&self, bytes: f64) -> bool {
        self.held[0] * 2.0 < bytes * self.held[1]
    }

    /// What is written is read too slowly: the window was larger before. Where it was not seen to be, the congestion window
    /// tells, which grows only while it is used, and in slow start to no more than twice of what was under way
    /// (`tcp_is_cwnd_limited`).
    pub(super) fn shrank(&self) -> bool {
        self.shrank || !self.grew() && self.were_half_of(self.congestion_window as f64 / 2.0)
    }

    /// Those that held the sender were too small in time only.
    pub(super) fn grew(&self) -> bool {
        !self.shrank && self.were_half_of(self.last.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::End;

    /// Whether windows, each with the congestion window at that time, are said to have shrunk, and to have grown. Each
    /// held the sender, but for those after the first zero.
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

    /// As the kernel said it of transfers whose cause was put there.
    #[test]
    fn windows_tell_what_they_wait_for() {
        let small_buffer = [(18_824, 26), (18_824, 26), (18_824, 26)];
        assert_eq!(said(&small_buffer), (false, false));
        let grew_late = [(80_896, 200), (240_640, 231), (394_240, 284), (720_896, 397), (5_533_696, 1456)];
        assert_eq!(said(&grew_late), (false, true));
        let reader_stopped = [(162_400, 50), (0, 50), (41_440, 53), (0, 30), (163_840, 30)];
        assert_eq!(said(&reader_stopped), (true, false));
        let slow_reader = [(10_240, 70), (13_312, 70), (12_288, 70), (13_312, 70)];
        assert_eq!(said(&slow_reader), (true, false));
        let small_from_the_first = [(10_240, 10), (10_240, 10)];
        assert_eq!(said(&small_from_the_first), (false, false));
    }
}
