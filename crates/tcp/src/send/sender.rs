//! The state of the sending half (the send fields of `struct tcp_sock` and `struct inet_connection_sock`).

use super::batch::Batch;
use super::chrono::Chrono;
use super::hints::Hints;
use super::queue::WriteQueue;
use super::skb::{SentRecord, SkbId};
use crate::choices::SackWalk;
use crate::congestion::{CaState, INFINITE_SSTHRESH, Window};
use crate::filter::RunningMax;
use crate::packet::{Block, DEFAULT_MSS};
use crate::settings::Settings;
use crate::socket::options::SocketOptions;
use crate::timers::Pending;
use slowpath_model::{Instant, StreamOffset};
use std::time::Duration;

/// Recoveries without a DSACK after which RACK's window is reset (`TCP_RACK_RECOVERY_THRESH`).
pub(super) const PERSIST: u8 = 16;

/// A tail loss probe in flight (RFC 8985, section 7).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// `snd_nxt` when it was sent (`tlp_high_seq`).
    pub high_seq: StreamOffset,
    /// Whether it was a retransmission rather than new data.
    pub retransmission: bool,
    /// Whether the sender was application-limited when it sent the original (`tlp_orig_data_app_limited` of the v3
    /// branch).
    pub app_limited: bool,
}

/// The state for undoing the last reduction (`undo_marker`, `undo_retrans`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// `snd_una` when the episode began.
    pub marker: StreamOffset,
    /// Retransmissions of the episode not yet shown spurious by a DSACK; `None` before the first one.
    pub retransmissions: Option<u32>,
}

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    pub queue: WriteQueue,
    /// The oldest unacknowledged sequence number.
    pub una: StreamOffset,
    /// The next sequence number to send for the first time.
    pub nxt: StreamOffset,
    /// The next sequence number that the application will write.
    pub write_seq: StreamOffset,
    /// The last pushed sequence number (`pushed_seq`).
    pub pushed_seq: StreamOffset,
    /// The end of the last small segment sent (`snd_sml`).
    pub small_end: StreamOffset,
    /// The urgent pointer (`snd_up`).
    pub urgent: StreamOffset,
    /// The window advertised by the peer, in bytes; the segment that carried it (`snd_wl1`); the largest seen.
    pub wnd: u32,
    pub wl1: StreamOffset,
    pub max_window: u32,
    /// The MSS in use, without SACK blocks (`mss_cache`), and the path MTU it is based on.
    pub mss: u32,
    pub pmtu: u32,
    /// The MTU of a route that has changed, until a packet is sent, and from then until the next is built.
    pub changed_mtu: Option<u32>,
    pub new_mtu: Option<u32>,
    pub mtu_search: MtuSearch,
    /// Segments per super-packet in the size goal (`gso_segs`).
    pub goal_segments: u32,

    pub window: Window,
    pub ca_state: CaState,
    /// Segments outstanding, and those of them retransmitted, SACKed, lost.
    pub packets_out: u32,
    pub retrans_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    /// Segments delivered and lost since the connection began, and those delivered with a CE mark.
    pub delivered: u32,
    pub delivered_ce: u32,
    pub lost: u32,
    /// `snd_nxt` when the current episode began.
    pub high_seq: StreamOffset,
    pub prior_ssthresh: u32,
    pub undo: Option<Undo>,
    /// When the first retransmission of the episode was sent (`retrans_stamp`).
    pub retrans_stamp: Option<Instant>,
    pub prr_delivered: u32,
    pub prr_out: u32,
    /// The path's reordering in segments (`tp->reordering`), and how often it was seen.
    pub reordering: u32,
    pub reordering_seen: u32,
    /// Whether everything missing below the highest SACKed segment counts as lost: until reordering is seen (`IsFack`,
    /// 2.4 to 4.14).
    pub forward_ack: bool,
    pub rack: Rack,
    pub probe: Option<Probe>,
    /// F-RTO is active (`tp->frto`).
    pub forward_rto: bool,
    /// The receiver has discarded SACKed data (`is_sack_reneg`).
    pub reneging: bool,
    /// Where searches of the queue ended.
    pub hints: Hints,
    /// The oldest `snd_nxt` of a retransmission still in flight (`lost_retrans_low`).
    pub resent_low: StreamOffset,
    /// The buffer after the highest SACKed one (`highest_sack`); `None` at the end of the sent buffers. Without SACK it
    /// stays at the head.
    pub highest_sack: Option<SkbId>,
    /// SACK blocks of the last ACK (`recv_sack_cache`), and the batched ones.
    pub sack_cache: [Block; 4],
    pub batch: Batch,
    /// Segments sent since the last ACK arrived.
    pub sent_for_ack: u32,

    pub rtt: Rtt,
    /// This connection's metrics are ready to be saved for the next one to the same host.
    pub has_learned: bool,
    pub backoff: u8,
    /// Consecutive timeouts (`icsk_retransmits`), and timeouts since the connection began.
    pub retransmits: u8,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    /// Milliseconds from first timeouts to the ACKs that ended them, and when the current timeouts began
    /// (`total_rto_time`, `rto_stamp`).
    pub total_rto_ms: u32,
    pub rto_since: Option<Instant>,
    /// How often a timeout changed the flow's hash, and so its path (`timeout_rehash`).
    pub rehashes: u32,
    /// Consecutive window probes (`icsk_probes_out`), and since when.
    pub probes_out: u8,
    pub probes_since: Option<Instant>,

    /// When data was last sent (`lsndtime`).
    pub last_sent: Instant,
    /// When an ACK last arrived (`rcv_tstamp`).
    pub last_ack: Instant,
    /// When the next segment may leave (`tcp_wstamp_ns`).
    pub wire_at: Instant,
    /// Window validation: `snd_cwnd_stamp`, `snd_cwnd_used`, `cwnd_usage_seq`.
    pub cwnd_stamp: Instant,
    pub cwnd_used: u32,
    pub cwnd_usage_seq: StreamOffset,
    pub pacing_rate: u64,
    pub rate: Rate,
    pub chrono: Chrono,
    pub device: Device,
    /// The application found the buffer full and waits for room (`SOCK_NOSPACE`).
    pub no_space: bool,
    /// A write waits for the connection to be established (`sk_write_pending`).
    pub write_pending: bool,
    /// The send buffer size in bytes of memory (`sk_sndbuf`), and the memory in use (`sk_wmem_queued`).
    pub sndbuf: u32,
    pub wmem_queued: u32,
    /// An ECN-Echo is answered with the next new segment (`TCP_ECN_QUEUE_CWR`).
    pub queue_cwr: bool,

    pub totals: Totals,
}

/// What was sent since the connection began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub retransmissions: u32,
    pub bytes_sent: u64,
    pub bytes_retransmitted: u64,
    pub bytes_acked: u64,
    pub segments_out: u32,
    pub data_segments_out: u32,
    pub dsack_duplicates: u32,
    /// Reductions undone.
    pub undos: u32,
    /// How often the head of the queue was SACKed and not acknowledged (`TCPSACKReneging`).
    pub renegings: u32,
}

impl Sender {
    pub fn new(settings: &Settings, options: &SocketOptions) -> Self {
        let start = StreamOffset(0);
        let mut queue = WriteQueue::default();
        if settings.choices.sack_walk == SackWalk::Holes {
            queue.list_holes();
        }
        Self {
            queue,
            una: start,
            nxt: start,
            write_seq: start,
            pushed_seq: start,
            small_end: start,
            urgent: start,
            wnd: 0,
            wl1: start,
            max_window: 0,
            mss: DEFAULT_MSS,
            pmtu: settings.mtu,
            changed_mtu: None,
            new_mtu: None,
            mtu_search: MtuSearch::default(),
            goal_segments: 0,
            window: Window::new(10),
            ca_state: CaState::Open,
            packets_out: 0,
            retrans_out: 0,
            sacked_out: 0,
            lost_out: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            high_seq: start,
            prior_ssthresh: 0,
            undo: None,
            retrans_stamp: None,
            prr_delivered: 0,
            prr_out: 0,
            reordering: settings.sysctls.tcp_reordering,
            reordering_seen: 0,
            forward_ack: true,
            rack: Rack::default(),
            probe: None,
            forward_rto: false,
            reneging: false,
            hints: Hints::default(),
            resent_low: start,
            highest_sack: None,
            sack_cache: [Block::default(); 4],
            batch: Batch::default(),
            sent_for_ack: 0,
            rtt: Rtt::new(settings),
            has_learned: false,
            backoff: 0,
            retransmits: 0,
            total_rto: 0,
            total_rto_recoveries: 0,
            total_rto_ms: 0,
            rto_since: None,
            rehashes: 0,
            probes_out: 0,
            probes_since: None,
            last_sent: Instant::START,
            last_ack: Instant::START,
            wire_at: Instant::START,
            cwnd_stamp: Instant::START,
            cwnd_used: 0,
            cwnd_usage_seq: start,
            pacing_rate: 0,
            rate: Rate::default(),
            chrono: Chrono::default(),
            device: Device::default(),
            no_space: false,
            write_pending: false,
            sndbuf: options.send_buffer.unwrap_or(settings.sysctls.tcp_wmem.default),
            wmem_queued: 0,
            queue_cwr: false,
            totals: Totals::default(),
        }
    }

    /// Segments believed to be in the network (`tcp_packets_in_flight`).
    pub const fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// Segments that have left the network, as far as known (`tcp_left_out`).
    pub const fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// The first byte beyond the window (`tcp_wnd_end`).
    pub fn wnd_end(&self) -> StreamOffset {
        self.una + self.wnd
    }

    /// Whether cwnd is being reduced step by step (`tcp_in_cwnd_reduction`).
    pub const fn in_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// The ssthresh that a new reduction would restore (`tcp_current_ssthresh`).
    pub fn current_ssthresh(&self) -> u32 {
        if self.in_reduction() { self.window.ssthresh } else { self.window.current_ssthresh() }
    }

    /// The end of the highest SACKed buffer (`tcp_highest_sack_seq`).
    pub fn highest_sack_seq(&self) -> StreamOffset {
        if self.sacked_out == 0 {
            return self.una;
        }
        self.highest_sack.map_or(self.nxt, |id| self.queue[id].seq)
    }

    /// `tcp_urg_mode`.
    pub fn is_urgent(&self) -> bool {
        self.urgent > self.una
    }

    /// Whether nothing is queued or outstanding (`tcp_rtx_and_write_queues_empty`).
    pub fn is_idle(&self) -> bool {
        self.queue.is_all_acknowledged() && self.queue.is_all_sent()
    }

    /// Whether ssthresh was ever set.
    pub const fn has_threshold(&self) -> bool {
        self.window.ssthresh < INFINITE_SSTHRESH
    }
}

/// An MTU probe in flight (`tp->mtu_probe`).
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuProbe {
    /// The MTU that it tests.
    pub(super) mtu: u32,
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
}

/// The state of the path MTU search (`icsk_mtup`), in bytes of IP packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MtuSearch {
    /// Whether the search is on (`tcp_mtu_probing` 2, or 1 after a suspected black hole).
    pub(super) enabled: bool,
    /// The largest MTU known to pass, and the largest that may.
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) probe: Option<MtuProbe>,
    /// When the search began (`probe_timestamp`).
    pub(super) since: Option<Instant>,
}

/// RACK's state (`struct tcp_rack`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// Send time and end of the delivered segment that was sent last.
    pub(super) sent_at: Option<Instant>,
    pub(super) end_seq: StreamOffset,
    /// Its RTT, in microseconds.
    pub(super) rtt_us: u32,
    /// The reordering window in quarters of the minimum RTT, and how many more recoveries it lasts.
    pub steps: u8,
    pub persist: u8,
    pub dsack_seen: bool,
    pub(super) last_delivered: u32,
    /// A segment was delivered since the last walk.
    pub advanced: bool,
    /// The timestamp that the current ACK echoes.
    pub echoed: Option<u32>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: None,
            end_seq: StreamOffset(0),
            rtt_us: 0,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            last_delivered: 0,
            advanced: false,
            echoed: None,
        }
    }
}

impl Rack {
    /// A spurious recovery was undone: the wider window lasts longer.
    pub fn persist_longer(&mut self) {
        self.persist = PERSIST.min(self.persist + 1);
    }
}

/// The connection's data in qdisc and device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Device {
    /// Whether the host reports when a packet has left. Without that, nothing counts as waiting.
    pub(super) tells: bool,
    /// Memory of the waiting packets (`sk_wmem_alloc`, which starts one byte higher).
    pub(super) waiting: u32,
    /// Sending waits for them to leave (`TSQ_THROTTLED`).
    pub(super) throttled: bool,
    /// Data segments made since the host last fetched all of them.
    pub(super) burst: u32,
    /// The timer before the first of them.
    pub(super) timer_before: Option<(Pending, Instant)>,
    /// The last segment is a window probe: the counts before it.
    pub(super) probe: Option<ProbeCount>,
}

/// Window probes sent, backoff, and when the first was sent (`icsk_probes_out`, `icsk_backoff`, `icsk_probes_tstamp`).
pub(super) type ProbeCount = (u8, u8, Option<Instant>);

/// A connection's rate sampling state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    /// When the current flight's first segment was sent, and when a segment was last delivered.
    pub(super) first_sent: Instant,
    pub(super) delivered_at: Instant,
    /// Samples are application-limited until this many segments are delivered (`app_limited`).
    pub(super) app_limited: Option<u32>,
    /// The newest segment delivered by the current ACK.
    pub(super) newest: Option<NewestDelivered>,
    /// The last sample: segments, interval, and whether it was application-limited.
    pub(super) delivered: u32,
    pub(super) interval: Duration,
    pub(super) sample_app_limited: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NewestDelivered {
    pub(super) record: SentRecord,
    pub(super) sent_at: Instant,
}

impl Rate {
    /// An ACK begins.
    pub fn begin_ack(&mut self) {
        self.newest = None;
    }

    /// When a segment was last delivered.
    pub const fn delivered_at(&self) -> Instant {
        self.delivered_at
    }

    /// Whether samples are application-limited.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// Segments delivered when the newest segment of this ACK was sent.
    pub fn prior_delivered(&self) -> Option<u32> {
        self.newest.map(|sample| sample.record.delivered).filter(|&delivered| delivered > 0)
    }
}

/// The smoothed RTT and its variation, in the kernel's scaling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT in microseconds; 0 before the first sample (`srtt_us`).
    pub srtt_us: u32,
    /// Four times the mean deviation (`mdev_us`), its maximum in this RTT, and the variation used for the RTO
    /// (`rttvar_us`).
    pub mdev_us: u32,
    pub(super) mdev_max_us: u32,
    pub rttvar_us: u32,
    pub(super) round_end: StreamOffset,
    /// The RTO in ticks (`icsk_rto`).
    pub rto: i64,
    pub minimum: MinFilter,
}

/// The minimum over a time window, in microseconds (`minmax_running_min`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinFilter(RunningMax);

impl MinFilter {
    /// The minimum; `None` before the first sample.
    pub fn get(&self) -> Option<u32> {
        self.0.get().and_then(|value| u32::try_from(-value).ok())
    }

    pub fn update(&mut self, now: Instant, window: Duration, value: u32) {
        // In nanoseconds: a `Duration` would be divided into seconds, several times per ACK.
        let window = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        self.0.update(now.nanos(), window, -i64::from(value));
    }
}

impl Rtt {
    pub fn new(settings: &Settings) -> Self {
        Self {
            srtt_us: 0,
            // `tcp_init_sock`: mdev_us = TCP_TIMEOUT_INIT.
            mdev_us: micros(settings.choices.initial_rto),
            mdev_max_us: 0,
            rttvar_us: 0,
            round_end: StreamOffset(0),
            rto: settings.choices.clock.ticks(settings.choices.initial_rto),
            minimum: MinFilter::default(),
        }
    }

    /// The smoothed RTT; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        (self.srtt_us != 0).then(|| Duration::from_micros(u64::from(self.srtt_us >> 3)))
    }

    /// The handshake gave no sample: the variation is set for a conservative RTO.
    pub fn fall_back(&mut self, rto: Duration) {
        let rto = micros(rto);
        (self.rttvar_us, self.mdev_us, self.mdev_max_us) = (rto, rto, rto);
    }

    /// Continues from a cached estimate, if it is longer (`tcp_init_metrics`, 2.6.14).
    pub fn go_on_from(&mut self, srtt_us: u32, mdev_us: u32, floor: u32, round_end: StreamOffset) {
        if srtt_us > self.srtt_us {
            self.srtt_us = srtt_us;
            self.round_end = round_end;
        }
        if mdev_us > self.mdev_us {
            self.mdev_us = mdev_us;
            self.rttvar_us = mdev_us.max(floor);
            self.mdev_max_us = self.rttvar_us;
        }
    }

    /// Takes an RTT sample. `floor` is the minimum variation (`tcp_rto_min_us`).
    pub(super) fn sample(&mut self, rtt_us: u32, floor: u32, snd_una: StreamOffset, snd_nxt: StreamOffset) {
        if self.srtt_us == 0 {
            self.srtt_us = (rtt_us << 3).max(1);
            self.mdev_us = rtt_us << 1;
            self.rttvar_us = self.mdev_us.max(floor);
            self.mdev_max_us = self.rttvar_us;
            self.round_end = snd_nxt;
            return;
        }
        let error = i64::from(rtt_us) - i64::from(self.srtt_us >> 3);
        self.srtt_us = u32::try_from(i64::from(self.srtt_us) + error).unwrap_or(1).max(1);
        let mut change = error.abs() - i64::from(self.mdev_us >> 2);
        // A shorter RTT does not indicate variation: only an eighth of the change counts.
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_us = u32::try_from(i64::from(self.mdev_us) + change).unwrap_or(0);
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if snd_una > self.round_end {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.round_end = snd_nxt;
            self.mdev_max_us = floor;
        }
    }
}

pub(crate) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_filter_returns_the_minimum_of_its_window() {
        let mut filter = MinFilter::default();
        let at = |s: i64| Instant::from_nanos(s * 1_000_000_000);
        for (second, value) in [(0, 50), (1, 40), (2, 60), (9, 45), (12, 70)] {
            filter.update(at(second), Duration::from_secs(10), value);
        }
        assert_eq!(filter.get(), Some(45));
    }
}
