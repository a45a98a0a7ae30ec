//! The window advertised to the peer (`tcp_select_window`, net/ipv4/tcp_output.c, 6.18).

use super::initial_window::{InitialReceiveWindow, MAX_SIGNED_WINDOW, MAX_WINDOW_SCALE};
use super::receiver::Receiver;
use crate::choices::{BufferArithmetic, ZeroWindow};
use crate::connection::Connection;
use crate::settings::Settings;

/// Payload times this over truesize is the scaling ratio (`TCP_RMEM_TO_WIN_SCALE`: 8 bits).
pub(super) const RATIO_SHIFT: u32 = 8;

impl Receiver {
    /// The window that `space` bytes of buffer allow (`tcp_win_from_space`).
    pub fn window_of(&self, settings: &Settings, space: i64) -> i64 {
        match settings.choices.buffer_arithmetic {
            BufferArithmetic::ScalingRatio => (space * i64::from(self.scaling_ratio)) >> RATIO_SHIFT,
            BufferArithmetic::AdvertisedScale(scale) if scale <= 0 => space >> scale.unsigned_abs().min(31),
            BufferArithmetic::AdvertisedScale(scale) => space - (space >> scale.min(31)),
        }
    }

    /// The buffer that a window needs (`tcp_space_from_win`; only where the ratio is measured).
    pub fn space_for(&self, window: u64) -> u64 {
        (window << RATIO_SHIFT) / u64::from(self.scaling_ratio.max(1))
    }

    /// The window of the whole buffer (`tcp_full_space`).
    pub fn full_space(&self, settings: &Settings) -> i64 {
        self.window_of(settings, i64::from(self.buffer))
    }

    /// The window of the free buffer (`tcp_space`); negative if the buffer is overrun.
    pub fn free_space(&self, settings: &Settings) -> i64 {
        self.window_of(settings, i64::from(self.buffer) - i64::from(self.rmem_alloc))
    }

    /// The unused part of the advertised window (`tcp_receive_window`).
    pub fn window_left(&self) -> u32 {
        let left = (self.wup + self.wnd).distance_from(self.nxt);
        u32::try_from(left.max(0)).unwrap_or(u32::MAX)
    }

    /// Sets the window clamp (`tcp_set_window_clamp`).
    pub fn set_window_clamp(&mut self, clamp: u32) {
        // SOCK_MIN_RCVBUF / 2 (include/net/sock.h).
        let new = clamp.max(crate::sysctl::MIN_RECEIVE_BUFFER / 2);
        if new < self.window_clamp {
            self.ssthresh = self.ssthresh.min(new);
        } else if new > self.window_clamp {
            self.ssthresh = self.ssthresh.max(self.wnd.min(new));
        }
        self.window_clamp = new;
    }

    /// Adopts the initial window of the handshake.
    pub fn set_initial_window(&mut self, chosen: InitialReceiveWindow) {
        self.wnd = chosen.window;
        self.ssthresh = chosen.window;
        self.window_clamp = chosen.clamp;
    }
}

impl Connection {
    /// Our shift count; 0 without window scaling.
    pub(crate) fn receive_scale(&self) -> u8 {
        self.negotiated.window_scale.map_or(0, |(_, ours)| ours)
    }

    /// The window field of the next segment (`tcp_select_window`).
    pub(crate) fn select_window(&mut self) -> u16 {
        let before = self.rcv.wnd;
        if self.rcv.ack.pending.nomem {
            // No memory for arriving data: the window is zero, even if that breaks the promise.
            self.rcv.fast_path = false;
            self.rcv.wnd = 0;
            self.rcv.wup = self.rcv.nxt;
            return 0;
        }
        let scale = self.receive_scale();
        let current = self.rcv.window_left();
        let mut new = self.window_to_offer();
        if new < current && (!self.settings.sysctls.tcp_shrink_window || scale == 0) {
            // An advertised window is kept (RFC 9293, section 3.8.6).
            new = align_up(current, scale);
        }
        self.rcv.wnd = new;
        self.rcv.wup = self.rcv.nxt;
        let most = if scale == 0 && self.settings.sysctls.tcp_workaround_signed_windows {
            MAX_SIGNED_WINDOW
        } else {
            65_535 << scale
        };
        let field = new.min(most) >> scale;
        if field == 0 {
            self.rcv.fast_path = false;
            self.rcv.counters.to_zero_window += u32::from(before != 0);
        } else {
            self.rcv.counters.from_zero_window += u32::from(before == 0);
        }
        // `most >> scale` fits.
        field as u16
    }

    /// The window field of a SYN or SYN-ACK, which is never scaled (RFC 7323, section 2.2).
    pub(crate) fn initial_window_field(&self) -> u16 {
        self.rcv.wnd.min(65_535) as u16
    }

    /// The window to advertise if no earlier one had to be kept (`__tcp_select_window`).
    pub(crate) fn window_to_offer(&mut self) -> u32 {
        let settings = &self.settings;
        let scale = self.receive_scale();
        let shrink = settings.sysctls.tcp_shrink_window && scale != 0;
        let allowed = self.rcv.full_space(settings);
        let full = allowed.min(i64::from(self.rcv.window_clamp));
        let mss = i64::from(self.rcv.ack.rcv_mss).min(full);
        if mss <= 0 {
            return 0;
        }
        let mut free = self.rcv.free_space(settings);
        let round_down = |space: i64| space >> scale << scale;
        if shrink {
            free = round_down(free);
        }
        if free < full >> 1 {
            self.rcv.ack.quick = 0;
            let closed_below = match settings.choices.zero_window {
                ZeroWindow::BelowSegment => mss,
                ZeroWindow::BelowSixteenth => {
                    free = round_down(free);
                    mss.max(allowed >> 4)
                }
            };
            if free < closed_below || (shrink && free < 1 << scale) {
                return 0;
            }
        }
        let ssthresh = i64::from(self.rcv.ssthresh);
        let limited = free > ssthresh;
        let free = u32::try_from(free.min(ssthresh).max(0)).unwrap_or(u32::MAX);
        if shrink {
            return if limited { align_up(free, scale) } else { free };
        }
        if scale != 0 { align_up(free, scale) } else { self.whole_segments(free, mss, full) }
    }

    /// An unscaled window in whole segments, unchanged while it is close enough (silly window avoidance, RFC 9293,
    /// section 3.8.6.2.2).
    fn whole_segments(&self, free: u32, mss: i64, full: i64) -> u32 {
        let current = i64::from(self.rcv.wnd);
        let space = i64::from(free);
        if current <= space - mss || current > space {
            free - free % u32::try_from(mss).unwrap_or(1).max(1)
        } else if mss == full && space > current + (full >> 1) {
            free
        } else {
            self.rcv.wnd
        }
    }
}

/// Rounds up to the scale's unit.
fn align_up(window: u32, scale: u8) -> u32 {
    let unit = 1_u32 << scale.min(MAX_WINDOW_SCALE);
    window.saturating_add(unit - 1) & !(unit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn align_up_saturates() {
        assert_eq!(align_up(u32::MAX, 14), 0xffff_c000);
        assert_eq!(align_up(1025, 10), 2048);
    }
}
