//! The state of the receiving half (the receive fields of `struct tcp_sock` and `struct inet_connection_sock`).

use super::ecn_field::AccurateEcn;
use super::memory::{PacketMemory, ReceiveQueue};
use super::ofo::OutOfOrder;
use super::sack_blocks::SackBlocks;
use crate::choices::ReceiveTuning;
use crate::clock::Jiffies;
use crate::packet::{Block, Cookie};
use crate::settings::Settings;
use crate::socket::cookie::{Learned, Omen};
use crate::socket::options::SocketOptions;
use crate::socket::request::SynAck;
use slowpath_model::{Instant, StreamOffset};

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// The next expected sequence number (`rcv_nxt`).
    pub nxt: StreamOffset,
    /// `nxt` when the window was last advertised (`rcv_wup`).
    pub wup: StreamOffset,
    /// The last advertised window, in bytes from `wup` (`rcv_wnd`).
    pub wnd: u32,
    /// The next byte that the application reads (`copied_seq`).
    pub copied: StreamOffset,
    /// The upper limit of the window (`window_clamp`); 0 until set.
    pub window_clamp: u32,
    /// The current limit of the window, which grows as arriving segments prove worth their memory (`rcv_ssthresh`).
    pub ssthresh: u32,
    /// Payload per 256 bytes of memory (`scaling_ratio`).
    pub scaling_ratio: u8,
    /// The MSS that this end advertises (`advmss`), options not subtracted.
    pub advmss: u32,
    /// The buffer size (`sk_rcvbuf`), and whether `SO_RCVBUF` has fixed it (`SOCK_RCVBUF_LOCK`).
    pub buffer: u32,
    pub buffer_locked: bool,
    /// Received in order and not read yet (`sk_receive_queue`).
    pub queue: ReceiveQueue,
    /// Received out of order (`out_of_order_queue`).
    pub ofo: OutOfOrder,
    /// Memory of both queues, by truesize (`sk_rmem_alloc`).
    pub rmem_alloc: u32,
    /// Further memory reserved for arriving packets (`sk_forward_alloc`).
    pub reserved: u32,
    /// The memory layout of received packets, by driver.
    pub packet_memory: PacketMemory,
    /// The blocks of the SACK option (`selective_acks`), the latest first.
    pub sacks: SackBlocks,
    /// The pending DSACK range (`duplicate_sack`).
    pub duplicate_sack: Option<Block>,
    /// When ACKs are sent (`icsk_ack`).
    pub ack: AckState,
    /// The timestamp to echo, and when it was stored (`ts_recent`, `ts_recent_stamp`).
    pub ts_recent: u32,
    pub ts_recent_stamp: Option<Instant>,
    /// The TSecr of the last RTT measurement (`rcv_rtt_last_tsecr`).
    pub last_tsecr: u32,
    /// The receiver's RTT estimate (`rcv_rtt_est`).
    pub rtt: RoundTrip,
    /// What the application reads per RTT (`rcvq_space`).
    pub space: QueueSpace,
    /// The most that arrived in one RTT, and the start of the current one.
    pub arrivals: QueueSpace,
    /// When an ACK was last sent for an out-of-window segment (`last_oow_ack_time`).
    pub last_oow_ack: Option<Instant>,
    /// Header prediction is on (`pred_flags` is not 0).
    pub fast_path: bool,
    /// The urgent byte (`urg_data`, `urg_seq`).
    pub urgent: Urgent,
    /// ECE is set until the peer sends CWR (`TCP_ECN_DEMAND_CWR`).
    pub ecn_demand_cwr: bool,
    pub accurate: AccurateEcn,
    /// A segment with ECT has been seen (`TCP_ECN_SEEN`).
    pub ecn_seen: bool,
    /// The FIN has arrived (`SOCK_DONE`).
    pub fin: bool,
    /// The shift count that our SYN offers.
    pub offered_scale: u8,
    /// An orphan in FIN-WAIT-2 that no longer needs a full socket (`tw_substate`).
    pub waiting_quietly: bool,
    /// When TIME-WAIT began (`tw_entry_stamp`).
    pub time_wait_since: Instant,
    /// The child of a SYN with data, while its SYN-ACK is not acknowledged (`fastopen_rsk`).
    pub fast_open: Option<SynAck>,
    /// It was created by a Fast Open SYN (`syn_fastopen_child`).
    pub fast_open_child: bool,
    /// The state of our Fast Open SYN, if we sent one.
    pub attempt: Attempt,
    /// The SYN's data was accepted (`syn_data_acked`).
    pub syn_data: bool,
    /// Counters for `TCP_INFO`.
    pub counters: Counters,
}

/// Counters of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments received (`segs_in`), and those with payload (`data_segs_in`).
    pub segs_in: u32,
    /// See [`segs_in`](Self::segs_in).
    pub data_segs_in: u32,
    /// Bytes received in order (`bytes_received`).
    pub bytes_received: u64,
    /// Segments received out of order (`rcv_ooopack`).
    pub ofo_segments: u32,
    /// Segments that took the fast path.
    pub fast_path: u64,
    /// Of these, segments with data (`TCPHPHits`) and pure ACKs (`TCPHPAcks`, which also counts slow-path ACKs of new
    /// data).
    pub predicted_data: u32,
    /// See [`predicted_data`](Self::predicted_data).
    pub predicted_acks: u32,
    /// Segments that took the slow path.
    pub slow_path: u64,
    /// How often the window closed (`TCPToZeroWindowAdv`) and reopened (`TCPFromZeroWindowAdv`).
    pub to_zero_window: u32,
    /// See [`to_zero_window`](Self::to_zero_window).
    pub from_zero_window: u32,
    /// ICMP errors about segments that were not outstanding (`OutOfWindowIcmps`).
    pub icmp_out_of_window: u32,
    /// Segments dropped for lack of memory (`TCPRcvQDrop`, `TCPOFODrop`).
    pub memory_drops: u32,
    /// How often the queue was pruned (`PruneCalled`), and out-of-order data dropped (`OfoPruned`).
    pub prune_called: u32,
    /// See [`prune_called`](Self::prune_called).
    pub ofo_pruned: u32,
    /// ACKs saved by compression (`TCPAckCompressed`).
    pub acks_compressed: u32,
    /// ACKs sent by the delayed ACK timer (`DelayedACKs`).
    pub delayed_acks: u32,
    /// Challenge ACKs sent (`TCPChallengeACK`).
    pub challenge_acks: u32,
    /// Segments rejected by PAWS (`PAWSEstab`).
    pub paws_rejected: u32,
}

impl Receiver {
    /// The receiver of a new socket (`tcp_init_sock`).
    pub fn new(settings: &Settings, options: &SocketOptions) -> Self {
        Self {
            nxt: StreamOffset(0),
            wup: StreamOffset(0),
            wnd: 0,
            copied: StreamOffset(0),
            window_clamp: options.window_clamp,
            ssthresh: 0,
            scaling_ratio: settings.choices.first_scaling_ratio,
            advmss: settings.advmss(options),
            buffer: options.receive_buffer.unwrap_or(first_buffer(settings)),
            buffer_locked: options.receive_buffer.is_some(),
            queue: ReceiveQueue::default(),
            ofo: OutOfOrder::default(),
            rmem_alloc: 0,
            reserved: 0,
            packet_memory: PacketMemory::default(),
            sacks: SackBlocks::default(),
            duplicate_sack: None,
            ack: AckState::default(),
            ts_recent: 0,
            ts_recent_stamp: None,
            last_tsecr: 0,
            rtt: RoundTrip::default(),
            space: QueueSpace::default(),
            arrivals: QueueSpace::default(),
            last_oow_ack: None,
            fast_path: false,
            urgent: Urgent::default(),
            ecn_demand_cwr: false,
            accurate: AccurateEcn::default(),
            ecn_seen: false,
            fin: false,
            offered_scale: 0,
            waiting_quietly: false,
            time_wait_since: Instant::START,
            fast_open: None,
            fast_open_child: false,
            attempt: Attempt::default(),
            syn_data: false,
            counters: Counters::default(),
        }
    }
}

/// The initial buffer of a socket without `SO_RCVBUF`.
fn first_buffer(settings: &Settings) -> u32 {
    let sizes = settings.sysctls.tcp_rmem;
    if settings.choices.receive_tuning == ReceiveTuning::Largest { sizes.max } else { sizes.default }
}

/// Why an ACK is pending (`enum inet_csk_ack_state_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the bits of icsk_ack.pending")]
pub(crate) struct Pending {
    /// An ACK is pending (`ICSK_ACK_SCHED`).
    pub scheduled: bool,
    /// The timer will send it (`ICSK_ACK_TIMER`).
    pub timer: bool,
    /// A small segment has arrived, and a second one (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    pub pushed: bool,
    pub pushed2: bool,
    /// Immediately (`ICSK_ACK_NOW`).
    pub now: bool,
    /// With a zero window, since there was no memory (`ICSK_ACK_NOMEM`).
    pub nomem: bool,
}

/// When ACKs are sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckState {
    pub pending: Pending,
    /// ACKs still to be sent immediately (`quick`).
    pub quick: u8,
    /// Answers sent soon after data arrived: from one on, ACKs wait to be piggybacked (`pingpong`).
    pub pingpong: u8,
    /// How long an ACK is delayed, in ticks; 0 before the first data (`ato`).
    pub ato: i64,
    /// When the timer was due (`icsk_delack_timeout`).
    pub(super) timeout: Jiffies,
    /// When data last arrived (`lrcvtime`).
    pub last_data: Jiffies,
    /// The size of the last segment, if it was a small one (`last_seg_size`).
    pub last_seg_size: u32,
    /// The estimated payload of the peer's segments (`rcv_mss`).
    pub rcv_mss: u32,
    /// ACKs held back by compression, and the hole they report (`compressed_ack`, `compressed_ack_rcv_nxt`,
    /// `dup_ack_counter`).
    pub(super) compressed: u32,
    pub(super) hole: Option<StreamOffset>,
    pub(super) duplicates: u8,
    /// A process holds the socket: the ACK waits for the end of its backlog (`TCP_ACK_DEFERRED`).
    pub(super) held: bool,
    pub(super) deferred: bool,
    /// When an ACK was last sent, for `TCP_INFO`.
    pub last_sent: Option<Instant>,
}

/// The receiver's RTT estimate (`rcv_rtt_est`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    /// Eight times the RTT, in microseconds; 0 before the first measurement.
    pub rtt_us: u32,
    /// A window measured without timestamps: its end, and when it began.
    pub(super) measuring: Option<(StreamOffset, Instant)>,
}

/// What the application reads per RTT (`rcvq_space`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueSpace {
    /// Bytes.
    pub space: u32,
    /// Where and when the current RTT began.
    pub(super) seq: StreamOffset,
    pub(super) since: Instant,
}

/// The state of the urgent byte (`urg_data`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UrgentByte {
    /// There is none.
    #[default]
    None,
    /// Announced and not received yet (`TCP_URG_NOTYET`).
    Announced,
    /// Received (`TCP_URG_VALID`).
    Here,
    /// Read out of band (`TCP_URG_READ`).
    Read,
}

/// The urgent byte and its place (`urg_data`, `urg_seq`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Urgent {
    pub byte: UrgentByte,
    pub seq: StreamOffset,
}

/// What a client's SYN carried (`syn_fastopen`, `syn_data`), and the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The SYN is not sent yet: it waits for data (`DEFER_CONNECT`).
    pub(crate) deferred: bool,
    /// The cookie that it carried; an empty one requested a cookie.
    pub(crate) option: Option<Cookie>,
    /// It carried data.
    pub(crate) data: bool,
    /// What the SYN-ACK taught.
    pub(crate) learned: Option<Learned>,
    /// Fast Open had been paused before, and is tried again (`syn_fastopen_ch`).
    pub(crate) on_trial: bool,
    /// What it says of the path.
    pub(crate) omen: Option<Omen>,
}
