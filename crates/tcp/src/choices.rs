//! The differences between kernels' TCP, as choices.
//!
//! The types are here, since this crate acts on them and depends on no crate of kernels. Which kernel has which value, since
//! which version and where in its source, is declared in `slowpath-kernels`.

use crate::clock::Clock;
use std::time::Duration;

/// How a sender detects losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By counting: segments more than `reordering` below the highest SACKed one are lost (forward acknowledgment,
    /// Mathis and Mahdavi 1996; `tcp_update_scoreboard` with `IsFack`); without SACK, three duplicate
    /// ACKs (RFC 5681).
    ForwardAck,
    /// By time: segments sent more than a reordering window before a delivered one are lost (RFC 8985;
    /// `tcp_rack_detect_loss`).
    Rack,
}

/// How a SACK block finds the buffers that it is about, a count those that are lost, and a retransmission what to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackWalk {
    /// From the head of the write queue, for every block, and each time (`for_retrans_queue`).
    FromHead,
    /// Where only the end of the first block differs from the last ACK's, from where that block's last walk ended; else
    /// from the head, once for all blocks. The searches for losses and retransmissions start where the last ones ended
    /// (Kelly 2003; `fastpath_skb_hint`, `lost_skb_hint`, `retransmit_skb_hint`).
    Repeats,
    /// Once for all blocks, over a list of what is not sacked. Where that has become long, blocks of several ACKs are put
    /// together first. The searches for losses and retransmissions use that list, and start where the last ones ended
    /// (leith, section 1.1).
    Holes,
    /// By an index, for what the last ACK did not report already; the search for retransmissions starts where the last one
    /// ended (`tcp_sacktag_bsearch`).
    Index,
}

/// How cwnd is reduced to ssthresh in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowReduction {
    /// By one for every second ACK, to a least that is the congestion control's: half of ssthresh for Reno (rate halving;
    /// `tcp_cwnd_down`).
    RateHalving,
    /// In proportion to what is delivered (RFC 6937, RFC 9937; `tcp_cwnd_reduction`).
    Proportional,
}

/// What prevents a burst after an ACK that acknowledges or SACKs much data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstModeration {
    /// Nothing but pacing, if there is any.
    No,
    /// cwnd is cut to three segments beyond what is in flight, whenever an ACK says more than that all goes well, outside
    /// fast recovery, and after an undo (`tcp_moderate_cwnd`; leith, section 1.5).
    InFlight,
    /// Three segments are sent for an ACK in recovery, and cwnd stays (leith, section 1.5: `tcp_htcp_moderation`).
    ByAck,
}

/// The ssthresh that is stored in case a reduction turns out to be spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorThreshold {
    /// Three quarters of the window, or ssthresh if that is more (`tcp_current_ssthresh`).
    ThreeQuarters,
    /// The whole window, or ssthresh if that is more (leith, section 1.4: `tcp_htcp_undo`).
    Exact,
}

/// Where RTT samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundTrips {
    /// What its timestamp echoes, if it acknowledges something; without timestamps when that was sent, if once only
    /// (`tcp_ack_update_rtt`).
    Echoed,
    /// When what it acknowledges or sacks was sent, if once only; the echo where nothing was (`tcp_ack_update_rtt`). What
    /// is sacked starts the timeout anew if it had been sent before the head was last.
    Sent,
}

/// What is undone when a late original fills one hole while others are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialUndo {
    /// The window, for the time being: the recovery goes on, and comes to its end with the threshold that an undo restores
    /// (`tcp_try_undo_partial` with `tcp_undo_cwr(tp, 0)`).
    Window,
    /// All, and the recovery is over, once nothing that was retransmitted is out (`tcp_try_undo_partial`).
    All,
}

/// The sender's reaction to SACK reneging (RFC 2018, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reneging {
    /// It counts as a timeout at once: nothing is sacked any more, and cwnd is one segment (`tcp_check_sack_reneging`).
    AsTimeout,
    /// Nothing is sacked any more, and everything is retransmitted in the Loss state, but cwnd and ssthresh stay (leith, section
    /// 1.3).
    Forget,
    /// It waits for half an RTT, and if no ACK comes takes it for a timeout (`tcp_check_sack_reneging`).
    Wait,
}

/// What happens to freed packet memory (`sk_forward_alloc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardAlloc {
    /// The socket keeps it for the next ones, until its timer for delayed ACKs runs (`tcp_rfree` of 2.4, `sk_stream_rfree`,
    /// `sk_mem_uncharge` until 5.19, which returned what was beyond 2 MiB).
    Kept,
    /// Whole pages of it are returned at once (`sk_mem_uncharge` with `sk_mem_reclaim`).
    Returned,
}

/// How spurious timeouts are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardRto {
    /// Not by the order of ACKs; only by timestamps and DSACK.
    No,
    /// F-RTO (RFC 4138; `tcp_enter_frto`).
    Rfc4138,
    /// F-RTO with SACK (RFC 5682; `tcp_process_loss`).
    Rfc5682,
}

/// The number of segments sent before the first ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// Two to four, by the MSS (RFC 3390; `tcp_init_cwnd`). With metrics by routes it is two until
    /// the RTT of the path is known (`tcp_init_metrics` of 2.4 and 2.6.14).
    Rfc3390,
    /// So many (RFC 6928: ten; `TCP_INIT_CWND`).
    Segments(u32),
}

/// How much window a buffer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferArithmetic {
    /// A fixed share is kept for overhead: `tcp_adv_win_scale` (`tcp_win_from_space`).
    AdvertisedScale(i32),
    /// The share is measured: payload over true size of what arrives (`scaling_ratio`).
    ScalingRatio,
}

/// `struct sk_buff` of 2.4 and 2.6.14, as `tcp_fixup_rcvbuf` has it.
pub(crate) const OLD_SK_BUFF: u32 = 176;
/// `MAX_TCP_HEADER` of 2.4 and 2.6.14.
const OLD_MAX_TCP_HEADER: u32 = 128 + 32 + 48;

/// Which part of a packet's buffer counts as its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferMemory {
    /// The bytes that its driver asked for, room for a whole frame, and `struct sk_buff` (`alloc_skb`).
    AsAsked,
    /// What was allocated for them, `struct skb_shared_info` included (`SKB_TRUESIZE`, `ksize`).
    AsAllocated,
}

impl BufferMemory {
    /// The least receive and send buffers that `setsockopt` makes (`SOCK_MIN_RCVBUF`, `SOCK_MIN_SNDBUF`; include/net/sock.h):
    /// 256 and 2048 bytes until 3.11; one and two of the smallest buffers as they are allocated since 3.12.
    pub const fn least_buffers(self) -> [u32; 2] {
        match self {
            Self::AsAsked => [256, 2048],
            Self::AsAllocated => [crate::sysctl::MIN_RECEIVE_BUFFER, crate::sysctl::MIN_SEND_BUFFER],
        }
    }

    /// The memory of a buffer that is to be sent, besides its payload.
    ///
    /// Until 3.2 it is `MAX_TCP_HEADER` (128 bytes, a link's header of 32, and 48 for one of IPv6, which distributions built) and
    /// `struct sk_buff`, as `alloc_skb` counts them, and what is missing to a whole cache line behind an Ethernet's segment. A buffer
    /// was taken for a whole segment then, so that one that is not filled takes more than this and its payload. Since then it is what a head of the cache for small ones takes (`SKB_TRUESIZE`: `struct sk_buff`, room for the headers and
    /// `struct skb_shared_info`), as `SK_MEMINFO_WMEM_QUEUED` shows it on x86-64, 6.18.
    pub const fn send_head(self) -> u32 {
        match self {
            Self::AsAsked => OLD_MAX_TCP_HEADER + 8 + OLD_SK_BUFF,
            Self::AsAllocated => 832,
        }
    }

    /// What `tcp_sndbuf_expand` (`tcp_new_space` in 2.4) takes for a segment with so much payload.
    pub(crate) const fn expected_segment(self, payload: u32) -> u32 {
        match self {
            Self::AsAsked => payload + OLD_MAX_TCP_HEADER + 16 + OLD_SK_BUFF,
            Self::AsAllocated => (payload + 320 + 320 + 256).next_power_of_two() + 256,
        }
    }
}

/// The buffer size that determines the window scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowScale {
    /// The one that the socket has when its SYN goes out, though tuning may make it larger (`tcp_select_initial_window`;
    /// weigle, section IV-B).
    FirstBuffer,
    /// The largest that tuning or `setsockopt` may make of it (LANL's patch for 2.4).
    LargestBuffer,
}

/// The initial receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWindow {
    /// All that the buffer stands for.
    Whole,
    /// All that the buffer stands for, up to what a field holds that the peer takes for signed (`MAX_TCP_WINDOW`).
    Signed,
    /// At most what a signed field holds, and at most two to four segments, by the MSS (RFC 2414).
    Rfc2414,
}

/// When a small window is closed instead, so that the sender waits for a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroWindow {
    /// When less than a segment is free (`__tcp_select_window`).
    BelowSegment,
    /// Also when less than a sixteenth of the buffer is, before memory runs out with the window open
    /// (`__tcp_select_window`).
    BelowSixteenth,
}

/// How the window grows from its initial value to the size that the buffer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowGrowth {
    /// With the first ACK (`tcp_select_window` of 2.2).
    AtOnce,
    /// By up to two segments for each one that arrives, if it is worth its memory (`tcp_grow_window`).
    WithArrivals,
    /// It is twice what arrived in the RTT that brought the most (Dynamic Right-Sizing, Fisk and Feng 2001).
    TwiceReceived,
}

/// How the receive buffer is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveTuning {
    /// It stays.
    Fixed,
    /// By memory alone: when more arrives than it has room for, and part of that is beyond a hole, it is made as large as
    /// what is there (`tcp_clamp_window` of 2.4).
    Memory,
    /// For the sender's window as the receiver sees it: twice what arrived in an RTT, and as much again for overhead
    /// (Dynamic Right-Sizing, LANL's patch for 2.4; up to `net.core.rmem_max`).
    SenderWindow,
    /// It is as large as it may be from the start, so that the sender's buffer decides (PSC's tuning, Semke, Mahdavi and
    /// Mathis 1998).
    Largest,
    /// Dynamic right-sizing: twice what the application read in an RTT (`tcp_rcv_space_adjust`).
    RightSizing,
    /// Right-sizing that grows by what the next RTT may bring (`tcp_rcvbuf_grow`).
    Growing,
}

/// How the send buffer is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTuning {
    /// Nothing: what `SO_SNDBUF` or `tcp_wmem[1]` say.
    Fixed,
    /// Room for this many congestion windows (`tcp_new_space` in 2.4 and 2.6, `tcp_sndbuf_expand` today: 2).
    Windows(u32),
}

/// Which clock stamps segments (`tcp_time_stamp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampClock {
    /// One tick.
    Jiffies,
    /// One millisecond.
    Milliseconds,
}

/// Where segments for a process that waits in `recv` are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prequeue {
    /// Segments for a sleeping reader wait until it runs and processes them itself.
    Yes,
    /// Every segment is processed as it arrives.
    No,
}

/// Where the metrics of a destination are cached for the next connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetricsCache {
    /// Nowhere.
    No,
    /// With the route (`struct rtable`): a known RTT is where the next connection begins to measure.
    Routes,
    /// By destination (`struct tcp_metrics_block`): it only makes the first timeout longer.
    Destinations,
}

impl MetricsCache {
    /// How long an entry lasts: with the route, until that is forgotten with all others
    /// (`ip_rt_secret_interval`, 2.6.14), whatever happens to it; or since it was last added to
    /// (`TCP_METRICS_TIMEOUT`, 6.18).
    pub const fn lifetime(self) -> Duration {
        match self {
            Self::No => Duration::ZERO,
            Self::Routes => Duration::from_secs(600),
            Self::Destinations => Duration::from_secs(3600),
        }
    }
}

/// What makes cwnd grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowIncrease {
    /// ACKs, however much they acknowledge: a receiver that acknowledges every other segment halves it.
    ByAck,
    /// The segments that are acknowledged (`tcp_slow_start`, `tcp_cong_avoid_ai`).
    BySegment,
}

/// A congestion control that this crate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CongestionControl {
    /// NewReno (RFC 5681, RFC 6582).
    Reno,
    /// CUBIC (RFC 9438) with HyStart, as `tcp_cubic.c` has it.
    Cubic,
    /// BBR, version 1 (Cardwell and others 2016).
    Bbr,
    /// BIC (Xu and others 2004).
    Bic,
    /// HighSpeed TCP (RFC 3649).
    HighSpeed,
    /// H-TCP (Leith and Shorten 2004).
    Htcp,
    /// Scalable TCP (Kelly 2003).
    Scalable,
    /// Vegas (Brakmo and Peterson 1995).
    Vegas,
    /// Westwood+ (Grieco and Mascolo 2004).
    Westwood,
}

impl CongestionControl {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Reno,
        Self::Cubic,
        Self::Bbr,
        Self::Bic,
        Self::HighSpeed,
        Self::Htcp,
        Self::Scalable,
        Self::Vegas,
        Self::Westwood,
    ];

    /// The name that `TCP_CONGESTION` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Bic => "bic",
            Self::HighSpeed => "highspeed",
            Self::Htcp => "htcp",
            Self::Scalable => "scalable",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|control| control.name() == name)
    }
}

/// One kernel's TCP. `slowpath-kernels` declares the values of each kernel, field by field.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// Ticks and timers.
    pub clock: Clock,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// How SACK walks the queue of what was sent.
    pub sack_walk: SackWalk,
    /// Whether sacked buffers that lie side by side become one (`tcp_shift_skb_data`).
    pub sack_merging: bool,
    /// How cwnd is reduced in recovery.
    pub window_reduction: WindowReduction,
    /// How spurious timeouts are detected.
    pub forward_rto: ForwardRto,
    /// Whether the end of a flight is probed before the timeout (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Segments before the first ACK.
    pub initial_window: InitialWindow,
    /// The retransmission timeout before the first measurement (`TCP_TIMEOUT_INIT`): 1 s by RFC 6298, 3 s
    /// by RFC 1122.
    pub initial_rto: Duration,
    /// The minimum RTO (`TCP_RTO_MIN`).
    pub min_rto: Duration,
    /// Whether the variation's floor is `min_rto` itself rather than the whole timeout (`tcp_rtt_estimator`:
    /// rttvar is at least `tcp_rto_min`).
    pub rttvar_floor: bool,
    /// Whether RTTs are measured in microseconds instead of ticks.
    pub microsecond_rtt: bool,
    /// Where RTT samples come from.
    pub round_trips: RoundTrips,
    /// Which clock stamps segments.
    pub timestamp_clock: TimestampClock,
    /// How much window a buffer stands for.
    pub buffer_arithmetic: BufferArithmetic,
    /// How the receive buffer is sized.
    pub receive_tuning: ReceiveTuning,
    /// How the send buffer is sized.
    pub send_tuning: SendTuning,
    /// Which part of a packet's buffer counts as its memory.
    pub buffer_memory: BufferMemory,
    /// What happens to freed packet memory.
    pub forward_alloc: ForwardAlloc,
    /// The buffer size that determines the window scale.
    pub window_scale: WindowScale,
    /// The initial receive window.
    pub first_window: FirstWindow,
    /// When the window is closed.
    pub zero_window: ZeroWindow,
    /// How it grows from there.
    pub window_growth: WindowGrowth,
    /// Whether it grows with data beyond a hole too (`tcp_data_queue_ofo`). To an old sender an ACK with
    /// another window is no duplicate.
    pub window_growth_beyond_holes: bool,
    /// What prevents bursts.
    pub burst_moderation: BurstModeration,
    /// Whether cwnd is held to one segment beyond what is in flight while it is halved with the rate
    /// (`tcp_cwnd_down`; leith, section 1.5: `tcp_htcp_cap` takes it away).
    pub reduction_cap: bool,
    /// The threshold that an undo restores.
    pub prior_threshold: PriorThreshold,
    /// What is undone when a late original fills a hole.
    pub partial_undo: PartialUndo,
    /// Whether a recovery that begins while the window is being reduced already can be undone like another
    /// (`tcp_enter_recovery` of no kernel; leith, section 1.4).
    pub undo_again: bool,
    /// The reaction to SACK reneging.
    pub reneging: Reneging,
    /// Whether super-packets are sent (TSO or GSO).
    pub super_packets: bool,
    /// Whether the PSH flag is on every super-packet (`__tcp_transmit_skb`).
    pub push_super_packets: bool,
    /// Whether a connection keeps no more than about a millisecond of data in the queues below it
    /// (`tcp_small_queue_check`).
    pub small_queues: bool,
    /// Whether segments wait for more while one of the same socket is still in the queue of the device
    /// (`tcp_autocorking`).
    pub autocorking: bool,
    /// Whether ACKs for data beyond a hole are thinned by time (`tcp_comp_sack_*`).
    pub compressed_acks: bool,
    /// Whether the ACK that reports the last hole filled is sent immediately (`ICSK_ACK_NOW` in `tcp_data_queue`).
    pub ack_repairs_at_once: bool,
    /// Whether resets, SYNs and ACKs that may be forged are answered with a challenge (RFC 5961). Without,
    /// any reset or SYN in the window ends the connection.
    pub challenges: bool,
    /// Whether a segment that reaches beyond the window is taken whole (`tcp_sequence`).
    pub data_beyond_window: bool,
    /// What makes cwnd grow.
    pub window_increase: WindowIncrease,
    /// Whether the congestion window is left alone while the application does not fill it
    /// (`tcp_is_cwnd_limited` with `max_packets_out`; RFC 7661).
    pub window_validation: bool,
    /// Whether waiting readers process segments themselves.
    pub prequeue: Prequeue,
    /// Where what one connection learned is kept for the next to the same host, unless `tcp_no_metrics_save` says not.
    pub metrics: MetricsCache,
    /// What new sockets start with.
    pub congestion_control: CongestionControl,
}
