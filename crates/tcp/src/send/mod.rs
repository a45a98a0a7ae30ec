//! The sending half of a connection: from the application's write to segments, their acknowledgment and recovery.
//!
//! - `queue`, `skb`: buffers, unsent and unacknowledged.
//! - `opening`, `fast_open`: the SYN, and what goes with it.
//! - `write`: `sendmsg`, and how much a socket may hold.
//! - `output`: which segment may go now (Nagle, windows, super-packets), and how it is built.
//! - `ack`: what an acknowledgment does (`tcp_ack`).
//! - `sack`: SACK blocks, and how they find their buffers: `holes`, `hints`, `batch`; `shift`: sacked buffers become one.
//! - `recovery`: the congestion state machine (`tcp_fastretrans_alert`), `undo`, `reduction`, `rack`, `counting`.
//! - `rtt`: round trips and the retransmission timeout.
//! - `mtu_probe`: what the path takes, found by trying.
//! - `timer`: timeouts, tail loss probes, zero-window probes.
//! - `validation`: the window of a sender that does not use it.
//! - `rate`: delivery rate; `chrono`: what the sender waited for; `pacing`; `device`: small queues; `metrics`: the
//!   parameter cache.

mod ack;
mod batch;
mod chrono;
mod counting;
mod device;
mod fast_open;
mod forward;
mod hints;
mod holes;
mod info;
mod metrics;
mod mtu_probe;
mod opening;
mod output;
mod pacing;
pub(crate) mod queue;
mod rack;
mod rate;
mod recovery;
mod reduction;
mod retransmit;
mod rtt;
mod sack;
mod shift;
pub(crate) mod skb;
mod timer;
mod tso;
mod undo;
mod validation;
mod write;

pub(crate) use ack::AckResult;
pub use metrics::Metrics;
pub(crate) use rtt::micros;
pub(crate) use timer::MIN_TIMEOUT_TICKS;
pub use write::WriteFlags;

use crate::choices::{LossDetection, SackWalk};
use crate::congestion::{CaEvent, CaState, INFINITE_SSTHRESH, Moment, Window};
use crate::connection::{Connection, Settings};
use crate::packet::{Block, DEFAULT_MSS};
use crate::socket::options::SocketOptions;
use batch::Batch;
use chrono::Chrono;
use device::Device;
use hints::Hints;
use mtu_probe::MtuSearch;
use queue::{SkbId, WriteQueue};
use rack::Rack;
use rate::Rate;
use rtt::Rtt;
use slowpath_model::{Instant, StreamOffset};

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
    /// Retransmissions of the episode that no DSACK has yet shown to be needless; `None` before the first one.
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
    /// The oldest `snd_nxt` at which something was sent again that is still out (`lost_retrans_low`).
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
    /// The next connection to the same host may know what came of this one, and nobody has been told yet.
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

impl Connection {
    /// What a congestion control is told of the moment.
    pub(crate) fn moment(&self, now: Instant) -> Moment {
        Moment {
            now,
            state: self.snd.ca_state,
            mss: self.snd.mss,
            snd_una: self.snd.una,
            snd_nxt: self.snd.nxt,
            srtt: self.snd.rtt.smoothed(),
            pacing_rate: self.snd.pacing_rate,
            paced: self.is_paced(),
            last_sent: self.snd.last_sent,
            hz: self.settings.choices.clock.hz,
            in_flight: self.snd.in_flight(),
            delivered: self.snd.delivered,
            lost: self.snd.lost,
            delivered_at: self.snd.rate.delivered_at(),
            wire_at: self.snd.wire_at,
            app_limited: self.snd.rate.is_app_limited(),
            least_rtt_us: self.min_rtt_us(),
            most_pacing_rate: self.options.max_pacing_rate,
        }
    }

    /// `tcp_init_congestion_control`.
    pub(crate) fn begin_congestion_control(&mut self, now: Instant) {
        let moment = self.moment(now);
        self.congestion.init(&mut self.snd.window, &moment);
        self.follow_control();
    }

    /// `tcp_ca_event`.
    pub(crate) fn tell_control(&mut self, now: Instant, event: CaEvent) {
        let moment = self.moment(now);
        self.congestion.event(event, &mut self.snd.window, &moment);
        self.follow_control();
    }

    /// Takes over the rate of a control that paces.
    pub(crate) fn follow_control(&mut self) {
        if self.congestion.paces {
            self.snd.pacing_rate = self.congestion.pacing_rate().unwrap_or(0);
        }
    }

    /// Whether losses are found by time (`tcp_is_rack`): it needs SACK.
    pub(crate) fn uses_rack(&self) -> bool {
        self.negotiated.sack && self.settings.choices.loss_detection == LossDetection::Rack
    }

    /// Whether the connection has no SACK (`tcp_is_reno`).
    pub(crate) const fn is_reno(&self) -> bool {
        !self.negotiated.sack
    }

    pub(crate) fn set_ca_state(&mut self, now: Instant, state: CaState) {
        let moment = self.moment(now);
        self.congestion.set_state(state, &moment);
        self.snd.ca_state = state;
    }

    /// Whether the sender is recovering from loss.
    pub(crate) fn in_loss_or_recovery(&self) -> bool {
        self.snd.ca_state >= CaState::Recovery
    }
}
