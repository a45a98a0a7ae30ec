//! The state of the sending half (the fields of `struct tcp_sock` and `struct inet_connection_sock` that are about what is
//! sent).

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
use slowpath_model::{Instant, StreamOffset};
use std::time::Duration;

/// Recoveries without a DSACK after which the window shrinks back (`TCP_RACK_RECOVERY_THRESH`).
pub(super) const PERSIST: u8 = 16;

/// A tail loss probe that is out (RFC 8985, section 7).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// `snd_nxt` when it was sent (`tlp_high_seq`).
    pub high_seq: StreamOffset,
    /// Whether it was a retransmission rather than new data.
    pub retransmission: bool,
}

/// How to undo the last reduction (`undo_marker`, `undo_retrans`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// `snd_una` when the episode began.
    pub marker: StreamOffset,
    /// Retransmissions of the episode that no DSACK has yet shown to be spurious; `None` before the first one.
    pub retransmissions: Option<u32>,
}

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    pub queue: WriteQueue,
    /// The oldest unacknowledged sequence number.
    pub una: StreamOffset,
    /// The next to be sent for the first time.
    pub nxt: StreamOffset,
    /// The next that the application will write.
    pub write_seq: StreamOffset,
    /// The last pushed (`pushed_seq`).
    pub pushed_seq: StreamOffset,
    /// The end of the last small segment sent (`snd_sml`).
    pub small_end: StreamOffset,
    /// The urgent pointer (`snd_up`).
    pub urgent: StreamOffset,
    /// The window the peer advertised, in bytes; the segment it came with (`snd_wl1`); the largest seen.
    pub wnd: u32,
    pub wl1: StreamOffset,
    pub max_window: u32,
    /// The MSS in use without SACK blocks (`mss_cache`), and the path's MTU that it follows.
    pub mss: u32,
    pub pmtu: u32,
    pub mtu_search: MtuSearch,
    /// Segments of a super-packet that the size goal stands for (`gso_segs`).
    pub goal_segments: u32,

    pub window: Window,
    pub ca_state: CaState,
    /// Segments outstanding, and those of them retransmitted, sacked, lost.
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
    /// When the first retransmission of the episode left (`retrans_stamp`).
    pub retrans_stamp: Option<Instant>,
    pub prr_delivered: u32,
    pub prr_out: u32,
    /// Segments by which the path reorders (`tp->reordering`), and how often it was seen to.
    pub reordering: u32,
    pub reordering_seen: u32,
    /// Whether all that is missing below the highest segment sacked is taken for lost: until the path reorders (`IsFack`, 2.4 to 4.14).
    pub forward_ack: bool,
    pub rack: Rack,
    pub probe: Option<Probe>,
    /// F-RTO is looking (`tp->frto`).
    pub forward_rto: bool,
    /// The receiver has discarded what it had sacked (`is_sack_reneg`).
    pub reneging: bool,
    /// Where searches of the queue ended.
    pub hints: Hints,
    /// The oldest `snd_nxt` at which something was retransmitted that is still out (`lost_retrans_low`).
    pub resent_low: StreamOffset,
    /// The buffer after the highest one sacked (`highest_sack`); `None` at the end of what was sent. Without SACK it stays
    /// at the head.
    pub highest_sack: Option<SkbId>,
    /// SACK blocks of the last ACK (`recv_sack_cache`), and those that no walk was made for yet.
    pub sack_cache: [Block; 4],
    pub batch: Batch,
    /// Segments sent since the last ACK came.
    pub sent_for_ack: u32,

    pub rtt: Rtt,
    /// The next connection to the same host may know the metrics of this one, which are not saved yet.
    pub has_learned: bool,
    pub backoff: u8,
    /// Timeouts in a row (`icsk_retransmits`), and since the connection began.
    pub retransmits: u8,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    /// Milliseconds between first timeouts and the ACKs that ended their rows, and since when there is none
    /// (`total_rto_time`, `rto_stamp`).
    pub total_rto_ms: u32,
    pub rto_since: Option<Instant>,
    /// How often a timeout chose another path by the flow's hash (`timeout_rehash`).
    pub rehashes: u32,
    /// Window probes in a row (`icsk_probes_out`), and since when.
    pub probes_out: u8,
    pub probes_since: Option<Instant>,

    /// When data was sent last (`lsndtime`).
    pub last_sent: Instant,
    /// When an ACK came last (`rcv_tstamp`).
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
    /// The application met a full buffer and waits for room (`SOCK_NOSPACE`).
    pub no_space: bool,
    /// The send buffer's size in bytes of memory (`sk_sndbuf`), and what is in it (`sk_wmem_queued`).
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
    /// Reductions taken back.
    pub undos: u32,
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

    /// Segments that have left the network, by what is known (`tcp_left_out`).
    pub const fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// The first byte beyond the window (`tcp_wnd_end`).
    pub fn wnd_end(&self) -> StreamOffset {
        self.una + self.wnd
    }

    /// Whether the window is being reduced step by step (`tcp_in_cwnd_reduction`).
    pub const fn in_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// The threshold a new reduction would restore (`tcp_current_ssthresh`).
    pub fn current_ssthresh(&self) -> u32 {
        if self.in_reduction() { self.window.ssthresh } else { self.window.current_ssthresh() }
    }

    /// Where the highest sacked buffer ends (`tcp_highest_sack_seq`).
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

    /// Whether the threshold was ever set.
    pub const fn has_threshold(&self) -> bool {
        self.window.ssthresh < INFINITE_SSTHRESH
    }
}

/// A probe that is out (`tp->mtu_probe`).
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuProbe {
    /// The MTU that it asks for.
    pub(super) mtu: u32,
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
}

/// What is known of the path's MTU (`icsk_mtup`), in bytes of IP packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MtuSearch {
    /// Whether the path is searched (`tcp_mtu_probing` 2, or 1 and it swallowed segments).
    pub(super) enabled: bool,
    /// What is sure to pass, and what may.
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) probe: Option<MtuProbe>,
    /// When the search began (`probe_timestamp`).
    pub(super) since: Option<Instant>,
}

/// What RACK knows (`struct tcp_rack`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// When the latest sent of the delivered segments was sent, and where it ends.
    pub(super) sent_at: Option<Instant>,
    pub(super) end_seq: StreamOffset,
    /// Its RTT, in microseconds.
    pub(super) rtt_us: u32,
    /// The reordering window in quarters of the minimum RTT, and how many recoveries more it lasts.
    pub steps: u8,
    pub persist: u8,
    pub dsack_seen: bool,
    pub(super) last_delivered: u32,
    /// Something was delivered since the queue was last walked.
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
    /// A spurious recovery was undone: the wider window is kept for longer.
    pub fn persist_longer(&mut self) {
        self.persist = PERSIST.min(self.persist + 1);
    }
}

/// What waits in the queueing discipline and the device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Device {
    /// Whether the host says when a packet has left. Without it nothing is ever waiting.
    pub(super) tells: bool,
    /// Memory of the packets that wait (`sk_wmem_alloc`, which counts one byte more from the start).
    pub(super) waiting: u32,
    /// Something waits for them to leave (`TSQ_THROTTLED`).
    pub(super) throttled: bool,
    /// Segments with data made since the host last had all of them.
    pub(super) burst: u32,
}

/// What rate sampling keeps of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    /// When the current flight's first segment was sent, and when something was delivered last.
    pub(super) first_sent: Instant,
    pub(super) delivered_at: Instant,
    /// Until so much is delivered, samples are the application's and not the path's (`app_limited`).
    pub(super) app_limited: Option<u32>,
    /// The newest segment that the current ACK delivers.
    pub(super) newest: Option<NewestDelivered>,
    /// The last sample: segments, over how long, held by the application.
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

    /// When something was delivered last.
    pub const fn delivered_at(&self) -> Instant {
        self.delivered_at
    }

    /// Whether samples are the application's.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// What had been delivered when the newest segment of this ACK was sent.
    pub fn prior_delivered(&self) -> Option<u32> {
        self.newest.map(|sample| sample.record.delivered).filter(|&delivered| delivered > 0)
    }
}

/// The smoothed RTT and its variation, in the kernel's scaling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT in microseconds; 0 before the first sample (`srtt_us`).
    pub srtt_us: u32,
    /// Four times the mean deviation (`mdev_us`), its maximum in this RTT, and the variation that the timeout
    /// takes (`rttvar_us`).
    pub mdev_us: u32,
    pub(super) mdev_max_us: u32,
    pub rttvar_us: u32,
    pub(super) round_end: StreamOffset,
    /// The timeout in ticks (`icsk_rto`).
    pub rto: i64,
    pub minimum: MinFilter,
}

/// The least value of a window of time, in microseconds (`minmax_running_min`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinFilter(RunningMax);

impl MinFilter {
    /// `None` before the first.
    pub fn get(&self) -> Option<u32> {
        self.0.get().and_then(|value| u32::try_from(-value).ok())
    }

    pub fn update(&mut self, now: Instant, window: Duration, value: u32) {
        // In nanoseconds: a `Duration` is divided into seconds, several times for each ACK.
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

    /// No sample came from the handshake: the variation stands for a careful timeout.
    pub fn fall_back(&mut self, rto: Duration) {
        let rto = micros(rto);
        (self.rttvar_us, self.mdev_us, self.mdev_max_us) = (rto, rto, rto);
    }

    /// Goes on from an estimate that was made before, where it is the longer one (`tcp_init_metrics`, 2.6.14).
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

    /// Takes a sample. `floor` is the least variation (`tcp_rto_min_us`).
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
        // An RTT that got shorter is no sign of a varying one: take an eighth of the change.
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
    fn the_filter_keeps_the_least_of_its_window() {
        let mut filter = MinFilter::default();
        let at = |s: i64| Instant::from_nanos(s * 1_000_000_000);
        for (second, value) in [(0, 50), (1, 40), (2, 60), (9, 45), (12, 70)] {
            filter.update(at(second), Duration::from_secs(10), value);
        }
        assert_eq!(filter.get(), Some(45));
    }
}
