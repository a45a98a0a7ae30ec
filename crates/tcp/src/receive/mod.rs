//! From segments to the application's read: what arrives is checked, queued, acknowledged and charged.
//!
//! - [`incoming`]: what happens to a segment, state by state (`tcp_v4_do_rcv`); `syn_sent`, `closing` and
//!   `time_wait` hold the states that are a subject of their own.
//! - [`validate`]: whether it belongs to this connection (PAWS, windows, resets; RFC 5961, RFC 7323).
//! - [`data`], [`ofo`], [`sack`], [`urgent`]: where its payload goes, and what is said about it.
//! - [`memory`]: what it costs, and what is dropped when that is too much.
//! - [`window`], [`tuning`]: how much the peer may send, and how the buffer finds its size.
//! - [`acks`]: when an acknowledgment goes out.

mod acks;
mod closing;
mod data;
mod incoming;
mod memory;
mod ofo;
mod sack;
mod syn_sent;
#[cfg(test)]
mod tests;
mod time_wait;
mod tuning;
mod urgent;
mod validate;
mod window;

pub(crate) use closing::{TIME_WAIT, reset_for};
pub(crate) use memory::OLD_SK_BUFF;
pub use memory::PacketMemory;
pub(crate) use urgent::UrgentByte;
pub(crate) use window::{InitialWindow, MAX_WINDOW_SCALE, initial_window, scaled_for};

use crate::choices::ReceiveTuning;
use crate::connection::Settings;
use crate::packet::{Block, TCP_HEADER};
use crate::socket::SynAck;
use crate::socket::fast_open::Attempt;
use crate::socket::options::SocketOptions;
use acks::AckState;
use memory::ReceiveQueue;
use ofo::OutOfOrder;
use sack::SackBlocks;
use slowpath_model::{Instant, StreamOffset};
use tuning::{QueueSpace, RoundTrip};
use urgent::Urgent;

/// `TCP_MIN_MSS`: the least segment a guess about the peer's may be.
const MSS_MIN: u32 = 88;

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// What is expected next (`rcv_nxt`).
    pub nxt: StreamOffset,
    /// `nxt` at the last window that was told (`rcv_wup`).
    pub wup: StreamOffset,
    /// The window that was told last, in bytes from `wup` (`rcv_wnd`).
    pub wnd: u32,
    /// What the application reads next (`copied_seq`).
    pub copied: StreamOffset,
    /// The most the window may be (`window_clamp`); 0 before anything was said about it.
    pub window_clamp: u32,
    /// What the window may be for now, growing as what arrives proves to be worth its memory (`rcv_ssthresh`).
    pub ssthresh: u32,
    /// Payload for 256 bytes of memory (`scaling_ratio`).
    pub scaling_ratio: u8,
    /// The MSS this end tells the peer (`advmss`), options not taken off.
    pub advmss: u32,
    /// The buffer's size (`sk_rcvbuf`), and whether `SO_RCVBUF` has fixed it (`SOCK_RCVBUF_LOCK`).
    pub buffer: u32,
    pub buffer_locked: bool,
    /// Received in order and not read yet (`sk_receive_queue`).
    pub queue: ReceiveQueue,
    /// Received beyond a hole (`out_of_order_queue`).
    pub ofo: OutOfOrder,
    /// Memory of both queues, by true size (`sk_rmem_alloc`).
    pub rmem_alloc: u32,
    /// Memory that is reserved for what arrives, beyond that (`sk_forward_alloc`).
    pub reserved: u32,
    /// How drivers lay out what arrives.
    pub packet_memory: PacketMemory,
    /// The blocks of the SACK option (`selective_acks`), the latest first.
    pub sacks: SackBlocks,
    /// What came twice, until the next ACK has said so (`duplicate_sack`).
    pub duplicate_sack: Option<Block>,
    /// When acknowledgments go out (`icsk_ack`).
    pub ack: AckState,
    /// The timestamp that is echoed, and when it was noted (`ts_recent`, `ts_recent_stamp`).
    pub ts_recent: u32,
    pub ts_recent_stamp: Option<Instant>,
    /// The TSecr of the last round-trip measurement (`rcv_rtt_last_tsecr`).
    pub last_tsecr: u32,
    /// The round trip as a receiver sees it (`rcv_rtt_est`).
    pub rtt: RoundTrip,
    /// What the application reads in a round trip (`rcvq_space`).
    pub space: QueueSpace,
    /// What arrived in the round trip that brought the most, and since when the next is counted.
    pub arrivals: QueueSpace,
    /// When an ACK was last sent about something out of the window (`last_oow_ack_time`).
    pub last_oow_ack: Option<Instant>,
    /// Header prediction is on (`pred_flags` is not 0).
    pub fast_path: bool,
    /// The urgent byte (`urg_data`, `urg_seq`).
    pub urgent: Urgent,
    /// ECE is to be set until the peer says CWR (`TCP_ECN_DEMAND_CWR`).
    pub ecn_demand_cwr: bool,
    /// A segment with ECT has been seen (`TCP_ECN_SEEN`).
    pub ecn_seen: bool,
    /// The FIN has arrived (`SOCK_DONE`).
    pub fin: bool,
    /// The shift count that our SYN offers.
    pub offered_scale: u8,
    /// An orphan in FIN-WAIT-2 that is no full socket any more (`tw_substate`).
    pub waiting_quietly: bool,
    /// The child of a SYN with data, while its SYN-ACK is not acknowledged (`fastopen_rsk`).
    pub fast_open: Option<SynAck>,
    /// It began as one (`syn_fastopen_child`).
    pub fast_open_child: bool,
    /// What our SYN was about, if it was a Fast Open.
    pub attempt: Attempt,
    /// The SYN's data was taken (`syn_data_acked`).
    pub syn_data: bool,
    /// What `TCP_INFO` counts.
    pub counters: Counters,
}

/// What the receiving side counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments received (`segs_in`), and those of them with payload (`data_segs_in`).
    pub segs_in: u32,
    /// See [`segs_in`](Self::segs_in).
    pub data_segs_in: u32,
    /// Bytes received in order (`bytes_received`).
    pub bytes_received: u64,
    /// Segments that came beyond a hole (`rcv_ooopack`).
    pub ofo_segments: u32,
    /// Segments that took the fast path.
    pub fast_path: u64,
    /// Of these, with data (`TCPHPHits`), and, wherever new data was acknowledged, their ACKs (`TCPHPAcks`).
    pub predicted_data: u32,
    /// See [`predicted_data`](Self::predicted_data).
    pub predicted_acks: u32,
    /// Segments that took the slow path.
    pub slow_path: u64,
    /// How often the window closed (`TCPToZeroWindowAdv`) and opened again (`TCPFromZeroWindowAdv`).
    pub to_zero_window: u32,
    /// See [`to_zero_window`](Self::to_zero_window).
    pub from_zero_window: u32,
    /// Segments dropped for want of memory (`TCPRcvQDrop`, `TCPOFODrop`).
    pub memory_drops: u32,
    /// How often the queue was pruned (`PruneCalled`), and data beyond a hole thrown away (`OfoPruned`).
    pub prune_called: u32,
    /// See [`prune_called`](Self::prune_called).
    pub ofo_pruned: u32,
    /// ACKs that compression spared (`TCPAckCompressed`).
    pub acks_compressed: u32,
    /// ACKs sent by the timer (`DelayedACKs`).
    pub delayed_acks: u32,
    /// Challenge ACKs sent (`TCPChallengeACK`).
    pub challenge_acks: u32,
    /// Segments refused by PAWS (`PAWSEstab`).
    pub paws_rejected: u32,
}

impl Receiver {
    /// The receiver of a socket just made (`tcp_init_sock`).
    pub fn new(settings: &Settings, options: &SocketOptions) -> Self {
        Self {
            nxt: StreamOffset(0),
            wup: StreamOffset(0),
            wnd: 0,
            copied: StreamOffset(0),
            window_clamp: options.window_clamp,
            ssthresh: 0,
            scaling_ratio: tuning::DEFAULT_SCALING_RATIO,
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
            ecn_seen: false,
            fin: false,
            offered_scale: 0,
            waiting_quietly: false,
            fast_open: None,
            fast_open_child: false,
            attempt: Attempt::default(),
            syn_data: false,
            counters: Counters::default(),
        }
    }
}

/// The buffer of a socket that has not set its own.
fn first_buffer(settings: &Settings) -> u32 {
    let sizes = settings.sysctls.tcp_rmem;
    if settings.choices.receive_tuning == ReceiveTuning::Largest { sizes.max } else { sizes.default }
}

impl Settings {
    /// The MSS that a socket tells its peer: what the route carries, or less by `TCP_MAXSEG`
    /// (`dst_metric_advmss`, `tcp_mss_clamp`).
    pub(crate) fn advmss(&self, options: &SocketOptions) -> u32 {
        // IPV4_MAX_PMTU less headers, and ip_rt_min_advmss.
        let fits = self.mtu.saturating_sub(self.ip_header + TCP_HEADER).clamp(256, 65_495);
        let route = self.route.advmss.unwrap_or(fits);
        options.max_seg.map_or(route, |user| route.min(u32::from(user)))
    }
}
