//! The choices of TCP. Their types are in [`slowpath_tcp::choices`], next to the code that acts on them.

use crate::choice::Subject;
use crate::declare::Part;
use slowpath_tcp::choices::{
    BbrVersion, BufferArithmetic, BufferMemory, BurstModeration, Choices, CongestionControl, FirstWindow,
    ForwardAlloc, ForwardRto, Hystart, InitialWindow, LeastReceiveBuffer, LossDetection, LossTimerFloor,
    MetricsCache, PartialUndo, Pingpong, Prequeue, PriorThreshold, Pruning, ReceiveTuning, Reneging,
    RoundTrips, SackWalk, SendTuning, TimestampClock, WindowGrowth, WindowIncrease, WindowReduction,
    WindowScale, ZeroWindow,
};
use slowpath_tcp::clock::{Clock, TimerWheel};
use std::time::Duration;

declare! {
    foreign Clock of release;
    parts {}
    choices {
        hz: u32 = {
            name: "hz", subject: Subject::Tasks,
            range: 10..=10_000,
            meaning: "ticks per second",
            source: "include/asm-i386/param.h: 100 in 2.4; kernel/Kconfig.hz: 250 since 2.6.13; Debian and Ubuntu until 24.04 build \
                     with 250, Red Hat, Fedora and newer Ubuntu with 1000",
            kernels: [
                100, Linux2_6_14 => 250, Linux4_18El8 => 1000, Linux5_14El9 => 1000, Linux6_18 => 1000,
            ],
        };
        wheel: TimerWheel = {
            name: "timer-wheel", subject: Subject::Tasks,
            values: { "exact" => Exact, "levels" => Levels },
            meaning: "precision of timers",
            source: "kernel/time/timer.c: cascading until 4.7, levels of decreasing precision since 4.8",
            kernels: [TimerWheel::Exact, Linux4_18 => TimerWheel::Levels],
        };
    }
    sysctls {}
}

declare! {
    foreign Choices of release;
    parts {
        clock: Clock = Part::of_release(release);
    }
    choices {
        prequeue: Prequeue = {
            name: "prequeue", subject: Subject::ReceivePath,
            values: { "yes" => Yes, "no" => No },
            meaning: "whether packets for a sleeping reader wait in a prequeue (wu, section 2)",
            source: "include/net/tcp.h: tcp_prequeue, 2.4 to 4.13",
            kernels: [Prequeue::No, Linux2_4_17 => Prequeue::Yes, Linux4_18 => Prequeue::No],
        };
        super_packets: bool = {
            name: "super-packets", subject: Subject::TransmitPath,
            meaning: "whether TCP makes super-packets",
            source: "net/ipv4/tcp_output.c: tcp_tso_should_defer and tcp_write_xmit; TSO since 2.5.33",
            kernels: [false, Linux2_6_14 => true],
        };
        grown_super_packets: bool = {
            name: "grown-super-packets", subject: Subject::TransmitPath,
            meaning: "whether a super-packet that may be larger takes data from the buffer behind it",
            source: "net/ipv4/tcp_output.c: tcp_grow_skb, since 6.10",
            kernels: [false, Linux6_12 => true],
        };
        push_super_packets: bool = {
            name: "push-super-packets", subject: Subject::TransmitPath,
            meaning: "whether every super-packet carries PSH",
            source: "net/ipv4/tcp_output.c: __tcp_transmit_skb, since 5.4",
            kernels: [false, Linux5_14 => true],
        };
        small_queues: bool = {
            name: "small-queues", subject: Subject::TransmitPath,
            meaning: "whether a connection has at most a millisecond of data in qdisc and device (TSQ)",
            source: "net/ipv4/tcp_output.c: tcp_small_queue_check, since 3.6",
            kernels: [false, Linux4_18 => true],
        };
        paced_output_limit: bool = {
            name: "paced-output-limit", subject: Subject::TransmitPath,
            meaning: "whether tcp_limit_output_bytes also limits paced connections",
            source: "net/ipv4/tcp_output.c: tcp_small_queue_check, not in 5.0 to 6.15",
            kernels: [true, Linux5_14 => false, Linux6_18 => true],
        };
        small_send_heads: bool = {
            name: "small-send-heads", subject: Subject::TransmitPath,
            meaning: "whether the head of a buffer to send counts 832 bytes instead of 1280",
            source: "net/core/skbuff.c: kmalloc_reserve, skb_small_head_cache, since 6.3",
            kernels: [false, Linux6_6 => true],
        };
        congestion_control: CongestionControl = {
            name: "congestion-control", subject: Subject::Sender,
            meaning: "the congestion control of new sockets",
            source: "net/ipv4/Kconfig: Reno in 2.4, BIC in 2.6.8 to 2.6.18, CUBIC since 2.6.19; BBR in XanMod",
            sysctl: value "net.ipv4.tcp_congestion_control",
            kernels: [
                CongestionControl::Reno, Linux2_4_23Leith => CongestionControl::Htcp,
                Linux2_6_14 => CongestionControl::Bic, Linux4_18 => CongestionControl::Cubic,
                Linux6_12Xanmod => CongestionControl::Bbr,
            ],
        };
        hystart: Hystart = {
            name: "hystart", subject: Subject::Sender,
            values: { "milliseconds" => Milliseconds, "microseconds" => Microseconds },
            meaning: "how CUBIC finds that slow start has filled the path: clocks of milliseconds, or of microseconds, aware of pacing",
            source: "net/ipv4/tcp_cubic.c: hystart_update, bictcp_clock until 5.4, bictcp_clock_us since 5.6; the minimum of all \
                     samples of a round since 5.8",
            kernels: [Hystart::Milliseconds, Linux5_14 => Hystart::Microseconds],
        };
        accurate_ecn: bool = {
            name: "accurate-ecn", subject: Subject::Sender,
            meaning: "whether it has Accurate ECN; `tcp_ecn` of 6.18 itself takes no value that asks for it",
            source: "include/net/tcp_ecn.h, since 6.18: tcp_ecn_rcv_synack, tcp_accecn_set_ace",
            kernels: [false, Linux6_18 => true],
        };
        bbr_version: BbrVersion = {
            name: "bbr-version", subject: Subject::Sender,
            values: { "1" => V1, "3" => V3 },
            meaning: "the version of BBR that `bbr` names; `bbr3` names version 3 on every kernel",
            source: "net/ipv4/tcp_bbr.c: BBR_VERSION of github.com/google/bbr, branch v3, which no release of Linux has",
            kernels: [BbrVersion::V1, Linux6_12Xanmod => BbrVersion::V3],
        };
        bbr_ack_aggregation: bool = {
            name: "bbr-ack-aggregation", subject: Subject::Sender,
            meaning: "whether BBR, version 1, makes room for ACKs that come in lumps",
            source: "net/ipv4/tcp_bbr.c: bbr_update_ack_aggregation, since 5.1",
            kernels: [false, Linux5_14 => true],
        };
        initial_window: InitialWindow = {
            name: "initial-window", subject: Subject::Sender,
            meaning: "segments sent before the first ACK",
            source: "net/ipv4/tcp_input.c: tcp_init_cwnd, RFC 3390 until 2.6.38; TCP_INIT_CWND, 10 (RFC 6928), since 2.6.39",
            kernels: [InitialWindow::Rfc3390, Linux4_18 => InitialWindow::Segments(10)],
        };
        loss_detection: LossDetection = {
            name: "loss-detection", subject: Subject::Sender,
            values: { "forward-ack" => ForwardAck, "rack" => Rack },
            meaning: "how losses are detected",
            source: "net/ipv4/tcp_input.c: tcp_update_scoreboard until 4.17; net/ipv4/tcp_recovery.c: tcp_rack_detect_loss since 4.18",
            kernels: [LossDetection::ForwardAck, Linux4_18 => LossDetection::Rack],
        };
        sack_walk: SackWalk = {
            name: "sack-walk", subject: Subject::Sender,
            values: { "from-head" => FromHead, "repeats" => Repeats, "holes" => Holes, "index" => Index },
            meaning: "how SACKed, lost and retransmittable segments are found",
            source: "net/ipv4/tcp_input.c: tcp_sacktag_write_queue, from the head of the queue for each block until 2.6.15; \
                fastpath_skb_hint (Kelly) since 2.6.16, tcp_sacktag_bsearch since 4.15; leith 1.1 walks holes",
            kernels: [SackWalk::FromHead, Linux2_4_23Leith => SackWalk::Holes, Linux4_18 => SackWalk::Index],
        };
        sack_merging: bool = {
            name: "sack-merging", subject: Subject::Sender,
            meaning: "whether adjacent SACKed buffers are merged",
            source: "net/ipv4/tcp_input.c: tcp_shift_skb_data, since 2.6.29",
            kernels: [false, Linux4_18 => true],
        };
        window_reduction: WindowReduction = {
            name: "window-reduction", subject: Subject::Sender,
            values: {
                "rate-halving" => RateHalving, "proportional-for-repairs" => ProportionalForRepairs,
                "proportional-for-advances" => ProportionalForAdvances, "proportional" => Proportional,
            },
            meaning: "how cwnd is reduced to ssthresh, and which ACKs may raise it again meanwhile",
            source: "net/ipv4/tcp_input.c: tcp_cwnd_down until 3.1; tcp_cwnd_reduction (RFC 6937) since 3.2: slow start for repairs \
                     until 5.10, for ACKs that advance since 5.11, catching up always since 5.19",
            kernels: [
                WindowReduction::RateHalving, Linux4_18 => WindowReduction::ProportionalForRepairs,
                Linux5_14 => WindowReduction::ProportionalForAdvances, Linux6_1 => WindowReduction::Proportional,
            ],
        };
        forward_rto: ForwardRto = {
            name: "forward-rto", subject: Subject::Sender,
            values: { "no" => No, "rfc4138" => Rfc4138, "rfc5682" => Rfc5682 },
            meaning: "how spurious timeouts are detected",
            source: "net/ipv4/tcp_input.c: tcp_enter_frto in 2.4.21 to 3.9, off at first; tcp_process_loss since 3.10",
            kernels: [ForwardRto::No, Linux4_18 => ForwardRto::Rfc5682],
        };
        tail_loss_probe: bool = {
            name: "tail-loss-probe", subject: Subject::Sender,
            meaning: "whether tail loss probes are sent",
            source: "net/ipv4/tcp_output.c: tcp_schedule_loss_probe (RFC 8985), since 3.10",
            kernels: [false, Linux4_18 => true],
        };
        loss_timer_floor: LossTimerFloor = {
            name: "loss-timer-floor", subject: Subject::Sender,
            values: { "two-ticks" => TwoTicks, "two-milliseconds" => TwoMilliseconds },
            meaning: "what a tail loss probe and RACK's reordering timer wait in addition",
            source: "include/net/tcp.h: TCP_TIMEOUT_MIN until 6.5, TCP_TIMEOUT_MIN_US since 6.6",
            kernels: [LossTimerFloor::TwoTicks, Linux6_6 => LossTimerFloor::TwoMilliseconds],
        };
        burst_moderation: BurstModeration = {
            name: "burst-moderation", subject: Subject::Sender,
            values: { "no" => No, "in-flight" => InFlight, "by-ack" => ByAck },
            meaning: "what prevents a burst after an ACK of many segments",
            source: "net/ipv4/tcp_input.c: tcp_moderate_cwnd, cwnd at most three more than what is in flight, in 2.4 \
                     and 2.6; leith 1.5 limits what is sent per ACK instead (tcp_htcp_moderation)",
            kernels: [
                BurstModeration::InFlight, Linux2_4_23Leith => BurstModeration::ByAck,
                Linux4_18 => BurstModeration::No,
            ],
        };
        reduction_cap: bool = {
            name: "reduction-cap", subject: Subject::Sender,
            meaning: "whether rate halving limits cwnd to one more than what is in flight",
            source: "net/ipv4/tcp_input.c: tcp_cwnd_down until 3.1; leith 1.5 removes it (tcp_htcp_cap)",
            kernels: [true, Linux2_4_23Leith => false, Linux4_18 => false],
        };
        prior_threshold: PriorThreshold = {
            name: "prior-threshold", subject: Subject::Sender,
            values: { "three-quarters" => ThreeQuarters, "exact" => Exact },
            meaning: "the ssthresh that an undo restores",
            source: "include/net/tcp.h: tcp_current_ssthresh, three quarters of cwnd; leith 1.4 keeps cwnd itself (tcp_htcp_undo)",
            kernels: [PriorThreshold::ThreeQuarters, Linux2_4_23Leith => PriorThreshold::Exact],
        };
        partial_undo: PartialUndo = {
            name: "partial-undo", subject: Subject::Sender,
            values: { "window" => Window, "all" => All },
            meaning: "what is undone when a late original fills one hole while others are open",
            source: "net/ipv4/tcp_input.c: tcp_try_undo_partial, cwnd alone until 3.11, all since 3.12",
            kernels: [PartialUndo::Window, Linux4_18 => PartialUndo::All],
        };
        undo_again: bool = {
            name: "undo-again", subject: Subject::Sender,
            meaning: "whether a recovery that begins during a reduction can be undone",
            source: "net/ipv4/tcp_input.c: tcp_fastretrans_alert, tcp_enter_recovery set prior_ssthresh to 0; leith 1.4 does not",
            kernels: [false, Linux2_4_23Leith => true],
        };
        reneging: Reneging = {
            name: "reneging", subject: Subject::Sender,
            values: { "as-timeout" => AsTimeout, "forget" => Forget, "wait" => Wait },
            meaning: "the reaction to SACK reneging",
            source: "net/ipv4/tcp_input.c: tcp_check_sack_reneging, tcp_enter_loss until 3.16, a timer since 3.17; leith 1.3 leaves cwnd alone",
            kernels: [Reneging::AsTimeout, Linux2_4_23Leith => Reneging::Forget, Linux4_18 => Reneging::Wait],
        };
        window_increase: WindowIncrease = {
            name: "window-increase", subject: Subject::Sender,
            values: { "by-ack" => ByAck, "by-segment" => BySegment },
            meaning: "whether cwnd grows by ACKs or by acknowledged segments",
            source: "net/ipv4/tcp_cong.c: tcp_slow_start by segments since 3.13, tcp_cong_avoid_ai since 4.0",
            kernels: [WindowIncrease::ByAck, Linux4_18 => WindowIncrease::BySegment],
        };
        window_validation: bool = {
            name: "window-validation", subject: Subject::Sender,
            meaning: "whether cwnd stops growing while the application does not use it",
            source: "net/ipv4/tcp_output.c: tcp_cwnd_validate, is_cwnd_limited, since 3.16",
            kernels: [false, Linux4_18 => true],
        };
        initial_rto: Duration = {
            name: "initial-rto", subject: Subject::Sender,
            meaning: "the RTO before the first RTT sample",
            source: "include/net/tcp.h: TCP_TIMEOUT_INIT, 3 s until 3.0, 1 s since 3.1",
            kernels: [Duration::from_secs(3), Linux4_18 => Duration::from_secs(1)],
        };
        min_rto: Duration = {
            name: "min-rto", subject: Subject::Sender,
            meaning: "the minimum RTO",
            source: "include/net/tcp.h: TCP_RTO_MIN, HZ/5",
            kernels: [Duration::from_millis(200)],
        };
        rttvar_floor: bool = {
            name: "rttvar-floor", subject: Subject::Sender,
            meaning: "whether that minimum applies to RTTVAR instead of the RTO",
            source: "net/ipv4/tcp_input.c: tcp_rtt_estimator, since 2.4",
            kernels: [true],
        };
        microsecond_rtt: bool = {
            name: "microsecond-rtt", subject: Subject::Sender,
            meaning: "whether RTTs are measured in microseconds instead of ticks",
            source: "net/ipv4/tcp_input.c: tcp_rtt_estimator, since 3.15",
            kernels: [false, Linux4_18 => true],
        };
        round_trips: RoundTrips = {
            name: "round-trips", subject: Subject::Sender,
            values: { "echoed" => Echoed, "sent" => Sent },
            meaning: "where RTT samples come from: echoed timestamps, or send times",
            source: "net/ipv4/tcp_input.c: tcp_ack_update_rtt, echoes until 3.11, send times since 3.12",
            kernels: [RoundTrips::Echoed, Linux4_18 => RoundTrips::Sent],
        };
        send_tuning: SendTuning = {
            name: "send-tuning", subject: Subject::Sender,
            meaning: "what send buffer autotuning aims at",
            source: "net/ipv4/tcp_input.c: tcp_new_space in 2.6; tcp_sndbuf_expand since 3.13",
            kernels: [SendTuning::Fixed, Linux2_4_17 => SendTuning::Windows(2)],
        };
        autocorking: bool = {
            name: "autocorking", subject: Subject::Sender,
            meaning: "whether small writes wait for the device's queue",
            source: "net/ipv4/tcp.c: tcp_should_autocork, since 3.14",
            kernels: [false, Linux4_18 => true],
        };
        metrics: MetricsCache = {
            name: "metrics", subject: Subject::Sender,
            values: { "no" => No, "routes" => Routes, "destinations" => Destinations },
            meaning: "where ssthresh and RTTs are cached for the next connection (ubik IV-E)",
            source: "net/ipv4/tcp_input.c: tcp_update_metrics, in the route cache until 3.5; net/ipv4/tcp_metrics.c since 3.6",
            kernels: [MetricsCache::Routes, Linux4_18 => MetricsCache::Destinations],
        };
        timestamp_clock: TimestampClock = {
            name: "timestamp-clock", subject: Subject::Receiver,
            values: { "jiffies" => Jiffies, "milliseconds" => Milliseconds },
            meaning: "unit of TCP timestamps",
            source: "include/net/tcp.h: tcp_time_stamp, ticks until 4.12, milliseconds since 4.13",
            kernels: [TimestampClock::Jiffies, Linux4_18 => TimestampClock::Milliseconds],
        };
        buffer_arithmetic: BufferArithmetic = {
            name: "buffer-arithmetic", subject: Subject::Receiver,
            meaning: "the window that a receive buffer allows (ubik III)",
            source: "include/net/tcp.h: tcp_win_from_space, tcp_adv_win_scale until 6.5; scaling_ratio since 6.6",
            kernels: [
                BufferArithmetic::AdvertisedScale(1), Linux2_4_17 => BufferArithmetic::AdvertisedScale(2),
                Linux2_4_17Drs => BufferArithmetic::AdvertisedScale(1),
                Linux4_18 => BufferArithmetic::AdvertisedScale(1), Linux6_6 => BufferArithmetic::ScalingRatio,
            ],
        };
        first_scaling_ratio: u8 = {
            name: "first-scaling-ratio", subject: Subject::Receiver,
            range: 1..=255,
            meaning: "with scaling-ratio: the share of memory that is payload until a segment is measured, in 256ths",
            source: "include/net/tcp.h: TCP_DEFAULT_SCALING_RATIO, 1200 of SKB_TRUESIZE(4096) in 6.6 to 6.9; half since 6.10, and in \
                     stable 6.6",
            kernels: [128, Linux6_6 => 65, Linux6_12 => 128],
        };
        clamp_follows_ratio: bool = {
            name: "clamp-follows-ratio", subject: Subject::Receiver,
            meaning: "with scaling-ratio: whether a buffer set by SO_RCVBUF gets the window of the measured share, instead of that of \
                      the first",
            source: "net/ipv4/tcp_input.c: tcp_measure_rcv_mss, since 6.11, and in stable 6.6",
            kernels: [true, Linux6_6 => false, Linux6_12 => true],
        };
        least_receive_buffer: LeastReceiveBuffer = {
            name: "least-receive-buffer", subject: Subject::Receiver,
            values: {
                "four-segments" => FourSegments, "twenty-segments" => TwentySegments, "unchanged" => Unchanged,
            },
            meaning: "the receive buffer that an established connection has at least",
            source: "net/ipv4/tcp_input.c: tcp_fixup_rcvbuf, four segments until 2.6.37; twenty, times eight, in 3.13 to 4.19; not since \
                     4.20",
            kernels: [
                LeastReceiveBuffer::FourSegments, Linux4_18 => LeastReceiveBuffer::TwentySegments,
                Linux5_14 => LeastReceiveBuffer::Unchanged,
            ],
        };
        early_tuning: bool = {
            name: "early-tuning", subject: Subject::Receiver,
            meaning: "whether tuning starts at ten segments read in an RTT, instead of the first window",
            source: "net/ipv4/tcp_input.c: tcp_init_buffer_space, rcvq_space.space, since 4.20, ten segments since 5.10",
            kernels: [false, Linux5_14 => true],
        };
        receive_tuning: ReceiveTuning = {
            name: "receive-tuning", subject: Subject::Receiver,
            values: {
                "fixed" => Fixed, "memory" => Memory, "sender-window" => SenderWindow, "largest" => Largest,
                "right-sizing" => RightSizing, "right-sizing-ahead" => RightSizingAhead, "growing" => Growing,
             },
            meaning: "how the receive buffer is sized (weigle)",
            source: "net/ipv4/tcp_input.c: by memory in tcp_clamp_window, since 2.4; tcp_rcv_space_adjust, since 2.6.7, ahead of \
                a sender in slow start since 3.13; tcp_rcvbuf_grow since 6.16; for the sender's window in LANL's patch; the largest by Semke, Mahdavi and Mathis 1998",
            kernels: [
                ReceiveTuning::Fixed, Linux2_4_17 => ReceiveTuning::Memory,
                Linux2_4_17Drs => ReceiveTuning::SenderWindow, Linux2_6_14 => ReceiveTuning::RightSizing,
                Linux4_18 => ReceiveTuning::RightSizingAhead, Linux6_18 => ReceiveTuning::Growing,
            ],
        };
        buffer_memory: BufferMemory = {
            name: "buffer-memory", subject: Subject::Receiver,
            values: { "as-asked" => AsAsked, "as-allocated" => AsAllocated },
            meaning: "how a packet's memory is counted",
            source: "net/core/skbuff.c: alloc_skb, what was asked for until 3.2; SKB_TRUESIZE, what was allocated, since then",
            kernels: [BufferMemory::AsAsked, Linux4_18 => BufferMemory::AsAllocated],
        };
        pruning: Pruning = {
            name: "pruning", subject: Subject::Receiver,
            values: {
                "purge" => Purge, "collapse-and-purge" => CollapseAndPurge, "collapse-and-prune" => CollapseAndPrune,
            },
            meaning: "how a full receive buffer makes room: whether buffers are collapsed, and how much out-of-order data is dropped \
                although it was SACKed",
            source: "net/ipv4/tcp_input.c: prune_queue in 2.2; tcp_prune_queue, which drops the whole out-of-order queue until 4.8; \
                tcp_prune_ofo_queue since 4.9",
            kernels: [
                Pruning::Purge, Linux2_4_17 => Pruning::CollapseAndPurge, Linux4_18 => Pruning::CollapseAndPrune,
            ],
        };
        forward_alloc: ForwardAlloc = {
            name: "forward-alloc", subject: Subject::Receiver,
            values: { "kept" => Kept, "returned" => Returned },
            meaning: "whether a socket keeps freed packet memory reserved; the fast path needs reserved memory",
            source: "include/net/sock.h: sk_stream_rfree, sk_mem_uncharge, kept until 5.19; sk_mem_reclaim, whole pages returned since 6.0",
            kernels: [ForwardAlloc::Kept, Linux6_1 => ForwardAlloc::Returned],
        };
        window_scale: WindowScale = {
            name: "window-scale", subject: Subject::Receiver,
            values: { "first-buffer" => FirstBuffer, "largest-buffer" => LargestBuffer },
            meaning: "the buffer size that determines the window scale (weigle, section IV-B)",
            source: "net/ipv4/tcp_output.c: tcp_select_initial_window, the first until 2.6.7; tcp_rmem's and rmem_max's most since 2.6.8",
            kernels: [
                WindowScale::FirstBuffer, Linux2_4_17Drs => WindowScale::LargestBuffer,
                Linux2_6_14 => WindowScale::LargestBuffer,
            ],
        };
        first_window: FirstWindow = {
            name: "first-window", subject: Subject::Receiver,
            values: {
                "signed" => Signed, "rfc2414" => Rfc2414, "twenty-segments" => TwentySegments, "field" => Field,
                "whole" => Whole,
            },
            meaning: "the initial receive window",
            source: "net/ipv4/tcp_output.c: tcp_select_initial_window, up to MAX_TCP_WINDOW in 2.2; RFC 2414 in 2.4 to 2.6.32; \
                twenty segments in 3.13 to 4.19; up to 65535 bytes since 4.20, all of it since 6.10",
            kernels: [
                FirstWindow::Signed, Linux2_4_17 => FirstWindow::Rfc2414, Linux4_18 => FirstWindow::TwentySegments,
                Linux5_14 => FirstWindow::Field, Linux6_12 => FirstWindow::Whole,
            ],
        };
        zero_window: ZeroWindow = {
            name: "zero-window", subject: Subject::Receiver,
            values: { "segment" => BelowSegment, "sixteenth" => BelowSixteenth },
            meaning: "the free space below which the window closes",
            source: "net/ipv4/tcp_output.c: __tcp_select_window, a segment until 3.14; a sixteenth of the buffer since 3.15",
            kernels: [ZeroWindow::BelowSegment, Linux4_18 => ZeroWindow::BelowSixteenth],
        };
        window_growth: WindowGrowth = {
            name: "window-growth", subject: Subject::Receiver,
            values: { "at-once" => AtOnce, "with-arrivals" => WithArrivals, "twice-received" => TwiceReceived },
            meaning: "how the window grows from its initial value to the size that the buffer allows",
            source: "net/ipv4/tcp_input.c: tcp_grow_window, since 2.4; twice what was received in LANL's patch (Fisk and Feng 2001)",
            kernels: [
                WindowGrowth::AtOnce, Linux2_4_17 => WindowGrowth::WithArrivals,
                Linux2_4_17Drs => WindowGrowth::TwiceReceived,
            ],
        };
        window_growth_beyond_holes: bool = {
            name: "window-growth-beyond-holes", subject: Subject::Receiver,
            meaning: "whether the window also grows with out-of-order data, on connections with SACK",
            source: "net/ipv4/tcp_input.c: tcp_data_queue_ofo, since 3.12",
            kernels: [false, Linux4_18 => true],
        };
        ack_repairs_at_once: bool = {
            name: "ack-repairs-at-once", subject: Subject::Receiver,
            meaning: "whether the ACK of a filled hole is sent immediately",
            source: "net/ipv4/tcp_input.c: tcp_data_queue, ICSK_ACK_NOW, since 4.19",
            kernels: [false, Linux5_14 => true],
        };
        challenges: bool = {
            name: "challenges", subject: Subject::Receiver,
            meaning: "whether an unexpected RST, SYN or ACK triggers a challenge ACK",
            source: "net/ipv4/tcp_input.c: tcp_send_challenge_ack, since 3.6 (RFC 5961)",
            kernels: [false, Linux4_18 => true],
        };
        handshake_challenges: bool = {
            name: "handshake-challenges", subject: Subject::Receiver,
            meaning: "whether a RST in the window of a handshake, not at its start, triggers a challenge ACK instead of ending it",
            source: "net/ipv4/tcp_input.c: tcp_reqsk_send_challenge_ack, in 7.2 and in 6.18.44 (RFC 9293)",
            kernels: [false, Linux6_18 => true],
        };
        data_beyond_window: bool = {
            name: "data-beyond-window", subject: Subject::Receiver,
            meaning: "whether a segment that reaches beyond the window is accepted whole",
            source: "net/ipv4/tcp_input.c: tcp_sequence, until 6.16",
            kernels: [true, Linux6_18 => false],
        };
        compressed_acks: bool = {
            name: "compressed-acks", subject: Subject::Receiver,
            meaning: "whether duplicate ACKs of out-of-order data are compressed",
            source: "net/ipv4/tcp_input.c: __tcp_ack_snd_check, tcp_comp_sack_*, since 4.18",
            kernels: [false, Linux4_18 => true],
        };
        uncompressed_acks: u8 = {
            name: "uncompressed-acks", subject: Subject::Receiver,
            range: 0..=100,
            meaning: "duplicate ACKs that are sent before others are compressed",
            source: "net/ipv4/tcp_input.c: __tcp_ack_snd_check, TCP_FASTRETRANS_THRESH, since 4.20",
            kernels: [0, Linux5_14 => 3],
        };
        pingpong: Pingpong = {
            name: "pingpong", subject: Subject::Receiver,
            values: { "replies" => Replies, "three-turns" => ThreeTurns },
            meaning: "what makes ACKs wait to be piggybacked: replies (tcp_pingpong_thresh), or three turns of a dialogue",
            source: "net/ipv4/tcp_output.c: tcp_event_data_sent, a reply until 5.0, TCP_PINGPONG_THRESH 3 in 5.1 to 5.19, a reply since \
                     6.0, tcp_pingpong_thresh since 6.7",
            kernels: [Pingpong::Replies, Linux5_14 => Pingpong::ThreeTurns, Linux6_1 => Pingpong::Replies],
        };
    }
    sysctls {}
}
