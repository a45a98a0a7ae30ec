//! How much of one connection waits in the queues below it (TCP small queues: `tcp_small_queue_check`,
//! `tcp_should_autocork`; 6.18).
//!
//! Counted in bytes of payload, where the kernel counts memory: the difference is the heads of a few buffers.

use super::skb::Skb;
use crate::connection::Connection;
use slowpath_model::{Flags, Instant};

/// What waits in the queueing discipline and the device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Device {
    /// Whether the host says when a segment has left. Without it nothing is ever waiting.
    tells: bool,
    waiting: u32,
    throttled: bool,
}

/// A queue below holds about a millisecond of data (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;

impl Connection {
    /// The host will call [`handle_departed`](Self::handle_departed): segments that wait below hold back more.
    pub const fn expect_departures(&mut self) {
        self.snd.device.tells = true;
    }

    /// So many bytes of payload have left the device (`tcp_wfree`, `tcp_tsq_handler`).
    pub fn handle_departed(&mut self, now: Instant, payload: u32) {
        let device = &mut self.snd.device;
        device.waiting = device.waiting.saturating_sub(payload);
        if std::mem::take(&mut device.throttled) && self.may_still_send() {
            if self.snd.lost_out > self.snd.retrans_out && self.snd.window.cwnd > self.snd.in_flight() {
                self.retransmit_queue(now);
            }
            self.push_pending(now);
        }
    }

    /// A segment goes down to the device.
    pub(super) const fn hand_down(&mut self, payload: u32) {
        if self.snd.device.tells {
            self.snd.device.waiting += payload;
        }
    }

    /// `tcp_small_queue_check`: enough of this connection is waiting below. A retransmission may find twice as much.
    pub(super) fn is_throttled(&mut self, skb: &Skb, retransmission: bool) -> bool {
        let millisecond = u32::try_from(self.snd.pacing_rate >> PACING_SHIFT).unwrap_or(u32::MAX);
        let limit = millisecond.max(2 * skb.len()).min(self.settings.sysctls.tcp_limit_output_bytes);
        let limit = limit.saturating_mul(1 + u32::from(retransmission));
        // One buffer may always go: a late completion must not stop the connection.
        if self.snd.device.waiting <= limit || self.snd.queue.head() == self.snd.queue.tail() {
            return false;
        }
        self.snd.device.throttled = true;
        true
    }

    /// `tcp_should_autocork`: a small write waits while an earlier one is still below; it may grow by then.
    pub(super) fn should_cork(&mut self, skb: &Skb, goal: u32) -> bool {
        let corks = self.settings.choices.autocorking
            && self.settings.sysctls.tcp_autocorking
            && skb.len() < goal
            && !self.snd.queue.is_all_acknowledged()
            && self.snd.device.waiting > skb.len()
            && !skb.eor
            && !skb.flags.has(Flags::FIN);
        self.snd.device.throttled |= corks;
        corks
    }
}
