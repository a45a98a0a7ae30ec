//! The differences between kernels' TCP, as choices.
//!
//! The types are here because this crate acts on them and depends on no crate of kernels. `slowpath-kernels` declares
//! which kernel has which value, since which version, and where in its source.

use crate::clock::Clock;
use std::time::Duration;

/// How a sender detects losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By counting: segments more than `reordering` below the highest SACKed one are lost (forward acknowledgment,
    /// Mathis and Mahdavi 1996; `tcp_update_scoreboard` with `IsFack`); without SACK, three duplicate ACKs (RFC 5681).
    ForwardAck,
    /// By time: segments sent more than a reordering window before a delivered one are lost (RFC 8985;
    /// `tcp_rack_detect_loss`).
    Rack,
}

/// How the queue is searched: for the buffers of a SACK block, for those that are lost, and for what to retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackWalk {
    /// From the head of the write queue, for every block, and each time (`for_retrans_queue`).
    FromHead,
    /// If only the end of the first block changed since the last ACK: from where that block's last walk ended.
    /// Otherwise from the head, once for all blocks. The searches for losses and retransmissions start where the last
    /// ones ended (Kelly 2003; `fastpath_skb_hint`, `lost_skb_hint`, `retransmit_skb_hint`).
    Repeats,
    /// Once for all blocks, over a list of what is not SACKed. Once that list is long, blocks of several ACKs are
    /// batched. The searches for losses and retransmissions use that list, and start where the last ones ended (leith,
    /// section 1.1).
    Holes,
    /// By an index, for what the last ACK did not report already; the search for retransmissions starts where the last
    /// one ended (`tcp_sacktag_bsearch`).
    Index,
}

/// How cwnd is reduced to ssthresh in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowReduction {
    /// By one for every second ACK, down to a minimum set by the congestion control: half of ssthresh for Reno (rate
    /// halving; `tcp_cwnd_down`).
    RateHalving,
    /// In proportion to the data delivered, and one more segment only for ACKs of repaired data that report no lost
    /// retransmission (RFC 6937; `tcp_cwnd_reduction`, 4.3 to 5.10).
    ProportionalForRepairs,
    /// In proportion to the data delivered, and one more segment for ACKs that advance and report no loss; other ACKs
    /// send no more than they deliver (`tcp_cwnd_reduction`, 5.11 to 5.18).
    ProportionalForAdvances,
    /// In proportion to the data delivered (RFC 6937, RFC 9937; `tcp_cwnd_reduction`).
    Proportional,
}

impl WindowReduction {
    /// Whether cwnd follows what is delivered (proportional rate reduction).
    pub const fn is_proportional(self) -> bool {
        !matches!(self, Self::RateHalving)
    }
}

/// What prevents a burst after an ACK that acknowledges or SACKs much data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstModeration {
    /// Nothing but pacing, if the sender paces.
    No,
    /// cwnd is cut to three segments more than the segments in flight, on every ACK that reports trouble outside fast
    /// recovery, and after an undo (`tcp_moderate_cwnd`; leith, section 1.5).
    InFlight,
    /// An ACK in recovery sends three segments, and cwnd is not cut (leith, section 1.5: `tcp_htcp_moderation`).
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
    /// From the echoed timestamp, if the ACK acknowledges something. Without timestamps, from the send time of what was
    /// sent only once (`tcp_ack_update_rtt`).
    Echoed,
    /// From the send time of what is acknowledged or SACKed and was sent only once; otherwise from the echo
    /// (`tcp_ack_update_rtt`). A SACK restarts the timeout if its segment was sent before the head was last sent.
    Sent,
}

/// What is undone when a late original fills one hole while others are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialUndo {
    /// Only the window: the recovery goes on, and ends with the ssthresh that an undo restores (`tcp_try_undo_partial`
    /// with `tcp_undo_cwr(tp, 0)`).
    Window,
    /// Everything: the recovery ends once no retransmitted segment is in flight (`tcp_try_undo_partial`).
    All,
}

/// The sender's reaction to SACK reneging (RFC 2018, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reneging {
    /// It counts as a timeout immediately: all SACK marks are cleared, and cwnd is one segment
    /// (`tcp_check_sack_reneging`).
    AsTimeout,
    /// All SACK marks are cleared, and everything is retransmitted in the Loss state, but cwnd and ssthresh stay
    /// (leith, section 1.3).
    Forget,
    /// It waits for half an RTT. If no ACK comes, it counts as a timeout (`tcp_check_sack_reneging`).
    Wait,
}

/// How a receiver makes room when its packets take more memory than `SO_RCVBUF` (`tcp_prune_queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// It drops all out-of-order data, and takes packets until there is twice the buffer (`prune_queue`, 2.2).
    Purge,
    /// It copies queued data to full buffers first, and then drops all out-of-order data (`tcp_prune_queue` until 4.8).
    CollapseAndPurge,
    /// It drops the out-of-order data with the highest sequence numbers, an eighth of the buffer at a time
    /// (`tcp_prune_ofo_queue` since 4.9).
    CollapseAndPrune,
}

/// What happens to freed packet memory (`sk_forward_alloc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardAlloc {
    /// The socket keeps it for the next packets until its delayed ACK timer runs (`tcp_rfree` of 2.4,
    /// `sk_stream_rfree`, `sk_mem_uncharge` until 5.19, which returned what was beyond 2 MiB).
    Kept,
    /// Whole pages are returned immediately (`sk_mem_uncharge` with `sk_mem_reclaim`).
    Returned,
}

/// How spurious timeouts are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardRto {
    /// Not by the order of ACKs: only by timestamps and DSACK.
    No,
    /// F-RTO (RFC 4138; `tcp_enter_frto`).
    Rfc4138,
    /// F-RTO with SACK (RFC 5682; `tcp_process_loss`).
    Rfc5682,
}

/// The number of segments sent before the first ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// Two to four, by the MSS (RFC 3390; `tcp_init_cwnd`). With metrics by routes, two until the path's RTT is known
    /// (`tcp_init_metrics` of 2.4 and 2.6.14).
    Rfc3390,
    /// This many (RFC 6928: ten; `TCP_INIT_CWND`).
    Segments(u32),
}

/// How much window a buffer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferArithmetic {
    /// A fixed share is kept for overhead: `tcp_adv_win_scale` (`tcp_win_from_space`).
    AdvertisedScale(i32),
    /// The share is measured: payload over truesize of what arrives (`scaling_ratio`).
    ScalingRatio,
}

/// The receive buffer that a connection has at least when it is established (`tcp_fixup_rcvbuf`, until 4.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastReceiveBuffer {
    /// Room for four segments (until 2.6.37).
    FourSegments,
    /// Twice the memory of twenty segments, and four times that if the buffer is tuned: tuning takes two to three RTTs
    /// (3.13 to 4.19).
    TwentySegments,
    /// As it is (since 4.20, whose first buffer is large enough).
    Unchanged,
}

/// What makes a connection piggyback its ACKs (`inet_csk_enter_pingpong_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pingpong {
    /// Segments sent soon after data arrived, as many as `net.ipv4.tcp_pingpong_thresh` (`tcp_event_data_sent`).
    Replies,
    /// Three turns: data sent soon after data arrived that came after the last data sent (5.1 to 5.19).
    ThreeTurns,
}

/// How CUBIC's slow start finds that the path is full (`hystart_update`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hystart {
    /// With clocks of a millisecond. Trains of paced ACKs count as others do, and delays are compared with the minimum
    /// of the first eight samples of a round (until 5.4).
    Milliseconds,
    /// With clocks of a microsecond. A paced train must last twice as long, and delays are compared with the minimum of
    /// all samples of a round (since 5.6).
    Microseconds,
}

/// `struct sk_buff` of 2.4 and 2.6.14, as `tcp_fixup_rcvbuf` has it.
pub(crate) const OLD_SK_BUFF: u32 = 176;
/// `MAX_TCP_HEADER` of 2.4 and 2.6.14.
const OLD_MAX_TCP_HEADER: u32 = 128 + 32 + 48;

/// Which part of a packet's buffer counts as its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferMemory {
    /// The bytes that its driver requested (room for a whole frame), and `struct sk_buff` (`alloc_skb`).
    AsAsked,
    /// What was allocated for them, `struct skb_shared_info` included (`SKB_TRUESIZE`, `ksize`).
    AsAllocated,
}

impl BufferMemory {
    /// The minimum receive and send buffers of `setsockopt` (`SOCK_MIN_RCVBUF`, `SOCK_MIN_SNDBUF`; include/net/sock.h):
    /// 256 and 2048 bytes until 3.11; one and two of the smallest buffers as allocated since 3.12.
    pub const fn least_buffers(self) -> [u32; 2] {
        match self {
            Self::AsAsked => [256, 2048],
            Self::AsAllocated => [crate::sysctl::MIN_RECEIVE_BUFFER, crate::sysctl::MIN_SEND_BUFFER],
        }
    }

    /// The memory of a buffer to send, besides its payload; `small` is [`Choices::small_send_heads`].
    ///
    /// Until 3.2: `MAX_TCP_HEADER` (128 bytes, a link's header of 32, and 48 for one of IPv6, which distributions
    /// built) and `struct sk_buff`, as `alloc_skb` counts them, rounded up to a whole cache line after an Ethernet
    /// segment. Buffers were sized for a whole segment then, so a partly filled one takes more than this and its
    /// payload. Since then: what `kmalloc` gives for the headers and `struct skb_shared_info`, 1024 bytes, and
    /// `struct sk_buff`, 256 with its clone's share; since 6.3, a head from the cache of small heads (`SKB_TRUESIZE`), as
    /// `SK_MEMINFO_WMEM_QUEUED` shows it on x86-64, 6.18.
    pub const fn send_head(self, small: bool) -> u32 {
        match (self, small) {
            (Self::AsAsked, _) => OLD_MAX_TCP_HEADER + 8 + OLD_SK_BUFF,
            (Self::AsAllocated, false) => 1024 + 256,
            (Self::AsAllocated, true) => 832,
        }
    }

    /// The memory that `tcp_sndbuf_expand` (`tcp_new_space` in 2.4) assumes for a segment with this payload.
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
    /// The buffer when the SYN is sent, though tuning may enlarge it (`tcp_select_initial_window`; weigle, section
    /// IV-B).
    FirstBuffer,
    /// The largest size that tuning or `setsockopt` may give it (LANL's patch for 2.4).
    LargestBuffer,
}

/// The initial receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWindow {
    /// The window of the whole buffer.
    Whole,
    /// The window of the whole buffer, up to the largest value of a signed field (`MAX_TCP_WINDOW`).
    Signed,
    /// At most the largest value of a signed field, and at most two to four segments, by the MSS (RFC 2414).
    Rfc2414,
    /// Twenty segments of 1460 bytes, or as much in larger ones (`tcp_default_init_rwnd`, 3.13 to 4.19).
    TwentySegments,
    /// The window of the whole buffer, up to the largest value of the field (4.20 to 6.9).
    Field,
}

/// When a small window is advertised as zero, so that the sender waits for a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroWindow {
    /// When less than a segment is free (`__tcp_select_window`).
    BelowSegment,
    /// Also when less than a sixteenth of the buffer is free, before memory runs out with the window open
    /// (`__tcp_select_window`).
    BelowSixteenth,
}

/// How the window grows from its initial value to the size that the buffer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowGrowth {
    /// Completely, with the first ACK (`tcp_select_window` of 2.2).
    AtOnce,
    /// By up to two segments for each arriving segment that is worth its memory (`tcp_grow_window`).
    WithArrivals,
    /// To twice what arrived in the RTT that brought the most (Dynamic Right-Sizing, Fisk and Feng 2001).
    TwiceReceived,
}

/// How the receive buffer is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveTuning {
    /// Not tuned: its size is fixed.
    Fixed,
    /// By memory alone: when more arrives than it has room for, some of it beyond a hole, the buffer grows to the
    /// memory in use (`tcp_clamp_window` of 2.4).
    Memory,
    /// For the sender's window as the receiver sees it: twice what arrived in an RTT, and the same again for overhead
    /// (Dynamic Right-Sizing, LANL's patch for 2.4; up to `net.core.rmem_max`).
    SenderWindow,
    /// It starts at its maximum, so that the sender's buffer decides (PSC's tuning, Semke, Mahdavi and Mathis 1998).
    Largest,
    /// Dynamic right-sizing: twice what the application read in an RTT (`tcp_rcv_space_adjust`).
    RightSizing,
    /// Right-sizing with room for a sender in slow start: the growth from one RTT to the next is expected twice more
    /// (`tcp_rcv_space_adjust`, 3.13 to 6.15).
    RightSizingAhead,
    /// Right-sizing that grows by what the next RTT may bring (`tcp_rcvbuf_grow`).
    Growing,
}

/// How the send buffer is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTuning {
    /// Not tuned: `SO_SNDBUF` or `tcp_wmem[1]`.
    Fixed,
    /// Room for this many congestion windows (`tcp_new_space` in 2.4 and 2.6, `tcp_sndbuf_expand` today: 2).
    Windows(u32),
}

/// The clock of the timestamps option (`tcp_time_stamp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampClock {
    /// One tick.
    Jiffies,
    /// One millisecond.
    Milliseconds,
}

/// Where segments are processed for a process that waits in `recv`.
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
    /// Not cached.
    No,
    /// With the route (`struct rtable`): the next connection starts with a known RTT.
    Routes,
    /// By destination (`struct tcp_metrics_block`): it only lengthens the first timeout.
    Destinations,
}

impl MetricsCache {
    /// How long an entry lasts. With routes: until all routes are flushed (`ip_rt_secret_interval`, 2.6.14), whether
    /// used or not. By destination: since it was last updated (`TCP_METRICS_TIMEOUT`, 6.18).
    pub const fn lifetime(self) -> Duration {
        match self {
            Self::No => Duration::ZERO,
            Self::Routes => Duration::from_secs(600),
            Self::Destinations => Duration::from_secs(3600),
        }
    }
}

/// What cwnd growth counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowIncrease {
    /// ACKs, however much they acknowledge: a receiver that acknowledges every other segment halves the growth.
    ByAck,
    /// The segments acknowledged (`tcp_slow_start`, `tcp_cong_avoid_ai`).
    BySegment,
}

/// A congestion control of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CongestionControl {
    /// NewReno (RFC 5681, RFC 6582).
    Reno,
    /// CUBIC (RFC 9438) with HyStart, as `tcp_cubic.c` has it.
    Cubic,
    /// BBR, in the version that the kernel has (Cardwell and others 2016; see [`BbrVersion`]).
    Bbr,
    /// BBR, version 3, beside the kernel's.
    Bbr3,
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

/// What is added to the time after which a loss is probed or detected, for ACKs that are a little late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossTimerFloor {
    /// Two ticks (`TCP_TIMEOUT_MIN`).
    TwoTicks,
    /// 2 ms (`TCP_TIMEOUT_MIN_US`).
    TwoMilliseconds,
}

/// The version of `bbr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BbrVersion {
    /// Version 1, that of mainline Linux since 4.9.
    V1,
    /// Version 3, that of Google's branch v3 and of kernels with its patches (draft-ietf-ccwg-bbr).
    V3,
}

impl CongestionControl {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Reno,
        Self::Cubic,
        Self::Bbr,
        Self::Bbr3,
        Self::Bic,
        Self::HighSpeed,
        Self::Htcp,
        Self::Scalable,
        Self::Vegas,
        Self::Westwood,
    ];

    /// The name for `TCP_CONGESTION`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Bic => "bic",
            Self::HighSpeed => "highspeed",
            Self::Htcp => "htcp",
            Self::Scalable => "scalable",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
        }
    }

    /// The congestion control with this name.
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
    /// Whether adjacent SACKed buffers are merged (`tcp_shift_skb_data`).
    pub sack_merging: bool,
    /// How cwnd is reduced in recovery.
    pub window_reduction: WindowReduction,
    /// How spurious timeouts are detected.
    pub forward_rto: ForwardRto,
    /// Whether the tail of a flight is probed before the timeout (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// What is added to the time of a tail loss probe and of RACK's reordering timer.
    pub loss_timer_floor: LossTimerFloor,
    /// Segments before the first ACK.
    pub initial_window: InitialWindow,
    /// The RTO before the first RTT measurement (`TCP_TIMEOUT_INIT`): 1 s by RFC 6298, 3 s by RFC 1122.
    pub initial_rto: Duration,
    /// The minimum RTO (`TCP_RTO_MIN`).
    pub min_rto: Duration,
    /// Whether `min_rto` is the floor of the variation rather than of the whole RTO (`tcp_rtt_estimator`: rttvar is at
    /// least `tcp_rto_min`).
    pub rttvar_floor: bool,
    /// Whether RTTs are measured in microseconds instead of ticks.
    pub microsecond_rtt: bool,
    /// Where RTT samples come from.
    pub round_trips: RoundTrips,
    /// The clock of the timestamps option.
    pub timestamp_clock: TimestampClock,
    /// How much window a buffer allows.
    pub buffer_arithmetic: BufferArithmetic,
    /// The measured share before the first segment, in 256ths (`TCP_DEFAULT_SCALING_RATIO`).
    pub first_scaling_ratio: u8,
    /// Whether the window clamp follows the measured share (`tcp_measure_rcv_mss`). Otherwise only tuning changes the
    /// clamp, and a buffer set by `SO_RCVBUF` keeps the clamp of its first share.
    pub clamp_follows_ratio: bool,
    /// The buffer of an established connection.
    pub least_receive_buffer: LeastReceiveBuffer,
    /// Whether tuning starts when the application reads more than ten segments in an RTT, rather than more than the
    /// first window (`rcvq_space.space`).
    pub early_tuning: bool,
    /// How the receive buffer is sized.
    pub receive_tuning: ReceiveTuning,
    /// How the send buffer is sized.
    pub send_tuning: SendTuning,
    /// Which part of a packet's buffer counts as its memory.
    pub buffer_memory: BufferMemory,
    /// How a receiver makes room for arriving packets.
    pub pruning: Pruning,
    /// What happens to freed packet memory.
    pub forward_alloc: ForwardAlloc,
    /// The buffer size that determines the window scale.
    pub window_scale: WindowScale,
    /// The initial receive window.
    pub first_window: FirstWindow,
    /// When the window is closed.
    pub zero_window: ZeroWindow,
    /// How the window grows from there.
    pub window_growth: WindowGrowth,
    /// Whether it also grows with data beyond a hole (`tcp_data_queue_ofo`). To an old sender, an ACK with a changed
    /// window is not a duplicate.
    pub window_growth_beyond_holes: bool,
    /// What prevents bursts.
    pub burst_moderation: BurstModeration,
    /// Whether cwnd is limited to one segment more than the segments in flight during rate halving (`tcp_cwnd_down`;
    /// leith, section 1.5: `tcp_htcp_cap` removes the limit).
    pub reduction_cap: bool,
    /// The ssthresh that an undo restores.
    pub prior_threshold: PriorThreshold,
    /// What is undone when a late original fills a hole.
    pub partial_undo: PartialUndo,
    /// Whether a recovery that begins during another window reduction can be undone (in `tcp_enter_recovery` of no
    /// kernel; leith, section 1.4).
    pub undo_again: bool,
    /// The reaction to SACK reneging.
    pub reneging: Reneging,
    /// Whether super-packets are sent (TSO or GSO).
    pub super_packets: bool,
    /// Whether a super-packet is filled from the buffer behind it (`tcp_grow_skb`).
    pub grown_super_packets: bool,
    /// Whether the PSH flag is on every super-packet (`__tcp_transmit_skb`).
    pub push_super_packets: bool,
    /// Whether a connection limits its data in the qdisc and device queues to about a millisecond
    /// (`tcp_small_queue_check`).
    pub small_queues: bool,
    /// Whether `tcp_limit_output_bytes` also limits connections that are paced.
    pub paced_output_limit: bool,
    /// Whether the heads of buffers to send come from a cache of small heads, and count less.
    pub small_send_heads: bool,
    /// Whether small writes wait for more data while a segment of the socket is still in the device's queue
    /// (`tcp_autocorking`).
    pub autocorking: bool,
    /// Whether ACKs for data beyond a hole are thinned by time (`tcp_comp_sack_*`).
    pub compressed_acks: bool,
    /// ACKs for data beyond a hole that are sent at once before others are thinned.
    pub uncompressed_acks: u8,
    /// What makes a connection piggyback its ACKs.
    pub pingpong: Pingpong,
    /// Whether the ACK for the last filled hole is sent immediately (`ICSK_ACK_NOW` in `tcp_data_queue`).
    pub ack_repairs_at_once: bool,
    /// Whether RSTs, SYNs and ACKs that may be forged are answered with a challenge ACK (RFC 5961). Without it, any RST
    /// or SYN in the window ends the connection.
    pub challenges: bool,
    /// Whether a RST in the window of a handshake, but not at its start, is answered with a challenge ACK (RFC 9293,
    /// section 3.10.7.4). Without it, such a RST ends the handshake.
    pub handshake_challenges: bool,
    /// Whether a segment that extends beyond the window is accepted whole (`tcp_sequence`).
    pub data_beyond_window: bool,
    /// What cwnd growth counts.
    pub window_increase: WindowIncrease,
    /// Whether cwnd stays while the application does not fill it (`tcp_is_cwnd_limited` with `max_packets_out`; RFC
    /// 7661).
    pub window_validation: bool,
    /// Whether waiting readers process segments themselves.
    pub prequeue: Prequeue,
    /// Where metrics of a connection are kept for the next one to the same host, unless `tcp_no_metrics_save` is set.
    pub metrics: MetricsCache,
    /// The congestion control of new sockets.
    pub congestion_control: CongestionControl,
    /// How CUBIC leaves slow start.
    pub hystart: Hystart,
    /// Whether it has Accurate ECN (RFC 9768).
    pub accurate_ecn: bool,
    /// The version of `bbr`.
    pub bbr_version: BbrVersion,
    /// Whether BBR, version 1, makes room for ACKs that come in lumps (`bbr_update_ack_aggregation`).
    pub bbr_ack_aggregation: bool,
}

impl Choices {
    /// The memory of a buffer to send, besides its payload.
    pub const fn send_head(&self) -> u32 {
        self.buffer_memory.send_head(self.small_send_heads)
    }
}
