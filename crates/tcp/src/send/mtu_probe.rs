//! Packetization Layer Path MTU Discovery (RFC 4821; `tcp_mtu_probe`, `tcp_mtup_*`, tcp_output.c, and
//! `tcp_mtu_probing`, tcp_timer.c, 6.18): one large segment among others tests whether the path carries its size, and
//! consecutive timeouts indicate that the path carries less than it reports.

use super::sender::{MtuProbe, MtuSearch};
use super::skb::SkbId;
use crate::congestion::CaState;
use crate::connection::Connection;
use crate::packet::TCP_HEADER;
use slowpath_model::Instant;

/// The minimum cwnd: with less, a probe would stall the flow.
const LEAST_CWND: u32 = 11;

/// Whether a probe was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probing {
    /// No probe is needed: send as usual.
    No,
    /// A probe is pending until the windows allow it: send nothing until then.
    Waits,
    Went,
}

impl Connection {
    /// Header bytes of a segment, with the options of every segment.
    fn headers(&self) -> u32 {
        self.settings.ip_header + TCP_HEADER + if self.negotiated.timestamps { 12 } else { 0 }
    }

    /// The payload of a segment that fits into a packet (`tcp_mtu_to_mss`).
    pub(super) fn mss_of_mtu(&self, mtu: u32) -> u32 {
        let clamp = match self.options.max_seg {
            Some(user) => self.negotiated.mss.min(user),
            None => self.negotiated.mss,
        };
        let clamp = if self.negotiated.mss == 0 { crate::packet::DEFAULT_MSS } else { u32::from(clamp) };
        let bare = self.settings.ip_header + TCP_HEADER;
        let mss = mtu.saturating_sub(bare).min(clamp).max(self.settings.sysctls.tcp_min_snd_mss);
        mss.saturating_sub(self.headers() - bare).max(1)
    }

    /// `tcp_mss_to_mtu`.
    fn mtu_of_mss(&self, mss: u32) -> u32 {
        mss + self.headers()
    }

    /// The MSS of the largest MTU known to pass, if the search is on; the upper end is limited by the path MTU.
    pub(super) fn searched_mss(&mut self) -> Option<u32> {
        let search = &mut self.snd.mtu_search;
        search.high = search.high.min(self.snd.pmtu);
        let (enabled, low) = (search.enabled, search.low);
        enabled.then(|| self.mss_of_mtu(low))
    }

    /// A connection is established (`tcp_mtup_init`). Only the side that opened it uses the result immediately.
    pub(crate) fn begin_mtu_search(&mut self, now: Instant) {
        let sysctls = &self.settings.sysctls;
        let enabled = sysctls.tcp_mtu_probing > 1;
        self.snd.mtu_search = MtuSearch {
            enabled,
            low: self.mtu_of_mss(sysctls.tcp_base_mss),
            high: self.largest_mtu(),
            probe: None,
            since: enabled.then_some(now),
        };
    }

    /// The largest MTU that the peer's MSS allows.
    fn largest_mtu(&self) -> u32 {
        u32::from(self.negotiated.mss) + TCP_HEADER + self.settings.ip_header
    }

    /// Sends a probe if one is due (`tcp_mtu_probe`).
    pub(super) fn probe_mtu(&mut self, now: Instant) -> Probing {
        let search = self.snd.mtu_search;
        let busy = search.probe.is_some() || self.snd.ca_state != CaState::Open;
        // Our own SACK blocks would make the header longer than the search assumes.
        let answering = !self.rcv.sacks.as_slice().is_empty() || self.rcv.duplicate_sack.is_some();
        if !search.enabled || busy || self.snd.window.cwnd < LEAST_CWND || answering {
            return Probing::No;
        }
        let size = self.mss_of_mtu((search.high + search.low) >> 1);
        let range = i64::from(search.high) - i64::from(search.low);
        let threshold = i64::from(self.settings.sysctls.tcp_probe_threshold.max(1));
        if size > self.mss_of_mtu(search.high) || range < threshold {
            self.search_again(now);
            return Probing::No;
        }
        let needed = size + (self.snd.reordering + 1) * self.snd.mss;
        let unsent = self.snd.write_seq.distance_from(self.snd.nxt);
        if unsent < i64::from(needed) || self.snd.wnd < needed {
            return Probing::No;
        }
        if self.snd.nxt + needed > self.snd.wnd_end() {
            return Probing::Waits;
        }
        let in_flight = self.snd.in_flight();
        if in_flight + 2 > self.snd.window.cwnd {
            return if in_flight == 0 { Probing::No } else { Probing::Waits };
        }
        match self.gather(size) {
            Some(id) => {
                self.send_probe(now, id, size);
                Probing::Went
            }
            None => Probing::No,
        }
    }

    /// Makes the first unsent buffer exactly `size` bytes long, unless the end of a record prevents it
    /// (`tcp_can_coalesce_send_queue_head`).
    fn gather(&mut self, size: u32) -> Option<SkbId> {
        let id = self.snd.queue.send_head()?;
        let mss = self.current_mss();
        while self.snd.queue[id].len() < size {
            let missing = size - self.snd.queue[id].len();
            let before = self.snd.queue[id].end_seq;
            self.grow_head(missing);
            if self.snd.queue[id].end_seq == before {
                return None;
            }
        }
        if self.snd.queue[id].len() > size {
            self.fragment_unsent(id, size, mss);
        }
        Some(id)
    }

    fn send_probe(&mut self, now: Instant, id: SkbId, size: u32) {
        self.snd.queue[id].cut(size);
        self.send_head(now, id, size);
        // It counts as two segments.
        self.snd.window.cwnd -= 1;
        let skb = self.snd.queue[id];
        let mtu = self.mtu_of_mss(skb.len());
        self.snd.mtu_search.probe = Some(MtuProbe { mtu, start: skb.seq, end: skb.end_seq });
    }

    /// The search is complete; it restarts after a while (`tcp_mtu_check_reprobe`).
    fn search_again(&mut self, now: Instant) {
        let interval = self.settings.sysctls.tcp_probe_interval;
        let elapsed = self.snd.mtu_search.since.and_then(|since| now.since(since));
        if elapsed.is_some_and(|elapsed| elapsed >= interval) {
            let low = self.mtu_of_mss(self.current_mss());
            let high = self.largest_mtu();
            let search = &mut self.snd.mtu_search;
            (search.low, search.high, search.probe, search.since) = (low, high, None, Some(now));
        }
    }

    /// The probe may have been acknowledged (`tcp_mtup_probe_success`).
    pub(super) fn note_mtu_probe_arrived(&mut self, now: Instant) {
        let Some(probe) = self.snd.mtu_search.probe.filter(|probe| probe.end <= self.snd.una) else { return };
        self.snd.prior_ssthresh = self.snd.current_ssthresh();
        // cwnd stays the same in bytes.
        let bytes = u64::from(self.snd.window.cwnd) * u64::from(self.mtu_of_mss(self.snd.mss));
        self.snd.window.cwnd = u32::try_from(bytes / u64::from(probe.mtu.max(1))).unwrap_or(u32::MAX).max(1);
        self.snd.window.count = 0;
        self.snd.cwnd_stamp = now;
        self.snd.window.ssthresh = self.snd.current_ssthresh();
        self.snd.mtu_search.low = probe.mtu;
        self.snd.mtu_search.probe = None;
        self.sync_mss();
    }

    /// Whether the detected loss is only the MTU probe (`tcp_mtup_probe_failed`), which does not reduce cwnd.
    pub(super) fn mtu_probe_was_lost(&mut self, now: Instant) -> bool {
        let Some(probe) = self.snd.mtu_search.probe else { return false };
        if self.snd.ca_state >= CaState::Cwr || self.snd.una != probe.start {
            return false;
        }
        self.snd.mtu_search.high = probe.mtu - 1;
        self.snd.mtu_search.probe = None;
        self.snd.window.cwnd += 1;
        self.simple_retransmit(now);
        true
    }

    /// A retransmission makes the probe inconclusive.
    pub(super) fn forget_mtu_probe(&mut self) {
        self.snd.mtu_search.probe = None;
    }

    /// Consecutive timeouts: the path may drop packets of the MTU it reports (`tcp_mtu_probing`).
    pub(super) fn suspect_black_hole(&mut self, now: Instant) {
        let sysctls = &self.settings.sysctls;
        if sysctls.tcp_mtu_probing == 0 {
            return;
        }
        if self.snd.mtu_search.enabled {
            let half = self.mss_of_mtu(self.snd.mtu_search.low) >> 1;
            let mss =
                half.min(sysctls.tcp_base_mss).max(sysctls.tcp_mtu_probe_floor).max(sysctls.tcp_min_snd_mss);
            self.snd.mtu_search.low = self.mtu_of_mss(mss);
        } else {
            self.snd.mtu_search.enabled = true;
            self.snd.mtu_search.since = Some(now);
        }
        self.sync_mss();
    }
}
