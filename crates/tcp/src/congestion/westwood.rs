//! TCP Westwood+ (Mascolo and others, MOBICOM 2001; Grieco and Mascolo, CCR 34(2), 2004; net/ipv4/tcp_westwood.c,
//! 6.18): Reno, but a loss sets the window to the measured delivery rate times the minimum RTT.

use super::{AckSample, CaEvent, Control, Moment, Window, reno};
use slowpath_model::StreamOffset;

/// The minimum interval of a rate sample, besides an RTT: 50 ms (`TCP_WESTWOOD_RTT_MIN`).
const LEAST_MS: u32 = 50;
/// The initial RTT (`TCP_WESTWOOD_INIT_RTT`).
const FIRST_RTT_S: u32 = 20;

/// One connection's Westwood (`struct westwood`). Times are in ticks, rates in bytes per tick.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    /// The rate, filtered once and twice.
    rate_once: u32,
    rate: u32,
    window_began: i64,
    /// Bytes delivered since then.
    delivered: u32,
    una: Option<StreamOffset>,
    /// Bytes counted for duplicate ACKs and not yet cumulatively acknowledged.
    accounted: u32,
    rtt: u32,
    least_rtt: u32,
    resets_least_rtt: bool,
}

impl Westwood {
    /// `westwood_update_window`.
    fn update_window(&mut self, moment: &Moment) {
        let now = moment.jiffies();
        let since = u32::try_from(now - self.window_began).unwrap_or(0);
        if self.rtt > 0 && since > self.rtt.max(LEAST_MS * moment.hz / 1000) {
            let sample = self.delivered / since;
            if self.rate_once == 0 && self.rate == 0 {
                (self.rate_once, self.rate) = (sample, sample);
            } else {
                self.rate_once = filtered(self.rate_once, sample);
                self.rate = filtered(self.rate, self.rate_once);
            }
            self.delivered = 0;
            self.window_began = now;
        }
    }

    /// `westwood_acked_count`: the bytes that an ACK delivered; a duplicate ACK counts as one segment.
    fn acked_bytes(&mut self, advanced: u32, mss: u32) -> u32 {
        if advanced == 0 {
            self.accounted += mss;
            return mss;
        }
        if advanced <= mss {
            return advanced;
        }
        if self.accounted >= advanced {
            self.accounted -= advanced;
            mss
        } else {
            advanced - std::mem::take(&mut self.accounted)
        }
    }

    fn update_least_rtt(&mut self) {
        let is_reset = std::mem::take(&mut self.resets_least_rtt);
        self.least_rtt = if is_reset { self.rtt } else { self.rtt.min(self.least_rtt) };
    }

    /// `tcp_westwood_bw_rttmin`.
    fn pipe(&self, moment: &Moment) -> u32 {
        let bytes = u64::from(self.rate) * u64::from(self.least_rtt);
        u32::try_from(bytes / u64::from(moment.mss.max(1))).unwrap_or(u32::MAX).max(2)
    }
}

/// `westwood_do_filter`.
const fn filtered(old: u32, new: u32) -> u32 {
    ((7 * old as u64 + new as u64) >> 3) as u32
}

impl Control for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn init(&mut self, _window: &mut Window, moment: &Moment) {
        let rtt = FIRST_RTT_S * moment.hz;
        *self = Self {
            window_began: moment.jiffies(),
            rtt,
            least_rtt: rtt,
            resets_least_rtt: true,
            ..Self::default()
        };
    }

    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        reno::half(window)
    }

    fn cong_avoid(&mut self, window: &mut Window, _moment: &Moment, acked: u32) {
        reno::cong_avoid(window, acked);
    }

    fn event(&mut self, event: CaEvent, window: &mut Window, moment: &Moment) {
        match event {
            CaEvent::CompleteCwr => {
                window.ssthresh = self.pipe(moment);
                window.cwnd = window.ssthresh;
            }
            CaEvent::Loss => {
                window.ssthresh = self.pipe(moment);
                self.resets_least_rtt = true;
            }
            CaEvent::TransmitStart | CaEvent::WindowRestart | CaEvent::ProbeRepairedLoss { .. } => {}
        }
    }

    fn ack(&mut self, slow: bool, moment: &Moment) {
        let una = *self.una.get_or_insert(moment.snd_una);
        self.update_window(moment);
        let advanced = u32::try_from(moment.snd_una.distance_from(una)).unwrap_or(0);
        self.delivered += if slow { self.acked_bytes(advanced, moment.mss) } else { advanced };
        self.una = Some(moment.snd_una);
        self.update_least_rtt();
    }

    fn acked(&mut self, _window: &mut Window, moment: &Moment, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.rtt = moment.ticks_of(rtt);
        }
    }
}
