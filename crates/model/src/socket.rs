//! A socket's state and events, as reported by its host: states, samples, waits, marks, drops.
//!
//! Names and units are the kernel's, if it has them.

use crate::flow::End;
use crate::units::Bytes;
use std::fmt;
use std::str::FromStr;

/// Enumerations with one name per variant, in text and in recordings.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident: $what:literal { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $name {
            type Err = NoSuchName;
            fn from_str(text: &str) -> Result<Self, NoSuchName> {
                let found = Self::ALL.iter().find(|one| one.name() == text);
                found.copied().ok_or_else(|| NoSuchName { what: $what, text: text.to_owned() })
            }
        }
    };
}

/// A name that no variant has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {what}")]
pub struct NoSuchName {
    what: &'static str,
    text: String,
}

named! {
    /// States of the sender's congestion state machine (`enum tcp_ca_state`, include/uapi/linux/tcp.h).
    #[derive(Default)]
    CaState: "a congestion state" {
        /// Nothing unusual.
        #[default]
        Open = "open",
        /// Duplicate ACKs or SACKs, below the threshold.
        Disorder = "disorder",
        /// cwnd was reduced for ECN or a local drop.
        Cwr = "cwr",
        /// Fast retransmit.
        Recovery = "recovery",
        /// After a timeout.
        Loss = "loss",
    }
}

named! {
    /// Where packets or processes wait on a host, from the NIC to the process.
    Wait: "a place where one waits" {
        /// A packet in the NIC's receive ring, from its arrival until the driver takes it.
        Ring = "ring",
        /// A packet on the CPU's queue between interrupt and softirq (`softnet_data.input_pkt_queue`).
        CpuBacklog = "cpu-backlog",
        /// A packet on the prequeue, until the reader processes it (`tp->ucopy.prequeue`, until 4.14).
        Prequeue = "prequeue",
        /// A packet on the backlog of a socket that a process has locked (`sk_backlog`).
        SocketBacklog = "socket-backlog",
        /// A packet on such a backlog, if the process holding the lock was off the CPU when the packet arrived.
        HolderOffCpu = "holder-off-cpu",
        /// Data in order in the receive queue, until the process reads it (`sk_receive_queue`).
        ReceiveQueue = "receive-queue",
        /// The process, runnable and waiting for a CPU (`sched_info.run_delay`).
        RunQueue = "run-queue",
    }
}

named! {
    /// The limit of a sender, as seen on its own host.
    Hold: "what holds a sender" {
        /// Everything was acknowledged, and nothing was written.
        Idle = "idle",
        /// Everything written was in flight.
        Drained = "drained",
        /// Everything written was in flight, and the writer waited for room in the send buffer (`SOCK_NOSPACE`).
        SendBuffer = "send-buffer",
        /// The peer's window was used up (`tcp_snd_wnd_test`).
        ReceiveWindow = "receive-window",
        /// The congestion window was used up, below ssthresh.
        SlowStart = "slow-start",
        /// The congestion window was used up.
        CongestionWindow = "congestion-window",
        /// Fast retransmit (`TCP_CA_Recovery`).
        Recovery = "recovery",
        /// After a timeout, including the wait for it (`TCP_CA_Loss`).
        Loss = "loss",
        /// Both windows had room, and neither of the next two limits is known to apply: pacing, Nagle's algorithm.
        Local = "local",
        /// Both windows had room, but the pacing rate set by the application was reached (`SO_MAX_PACING_RATE`).
        Paced = "paced",
        /// Both windows had room, but the host's device queue held as much of this socket as TCP allows
        /// (`tcp_small_queue_check`).
        OutputQueue = "output-queue",
    }
}

named! {
    /// Why a host dropped a segment.
    DropReason: "a reason to drop" {
        /// No descriptor of the receive ring was free (`rx_missed_errors`).
        Ring = "ring",
        /// The CPU's queue was full or throttled (`SKB_DROP_REASON_CPU_BACKLOG`).
        CpuBacklog = "cpu-backlog",
        /// The socket's backlog was full (`SKB_DROP_REASON_SOCKET_BACKLOG`).
        SocketBacklog = "socket-backlog",
        /// The qdisc was full (`SKB_DROP_REASON_QDISC_DROP`).
        Qdisc = "qdisc",
    }
}

/// A mark: a state change of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The congestion state is now this (`tcp_set_ca_state`).
    State(CaState),
    /// The RTO expired (`tcp_retransmit_timer`; `TCPTimeouts`).
    Timeout,
    /// A reduction of cwnd was undone (`tcp_undo_cwnd_reduction`).
    Undo,
    /// A reduction by timeout was undone: the timeout was spurious (`tcp_try_undo_loss`; `TCPSpuriousRTOs`).
    SpuriousTimeout,
    /// The advertised window became zero (`TCPToZeroWindowAdv`).
    ZeroWindow,
    /// The advertised window reopened (`TCPFromZeroWindowAdv`).
    WindowOpened,
    /// The receive buffer now has this size (`sk_rcvbuf`).
    ReceiveBuffer(Bytes),
    /// The send buffer now has this size (`sk_sndbuf`).
    SendBuffer(Bytes),
    /// A packet of this flow throttled the CPU's queue, which accepts nothing until it is empty
    /// (`softnet_data.throttle`, until 2.6.10; `netdev_rx_stat.throttled`).
    Throttled,
}

impl Mark {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::State(CaState::Open) => "ca-open",
            Self::State(CaState::Disorder) => "ca-disorder",
            Self::State(CaState::Cwr) => "ca-cwr",
            Self::State(CaState::Recovery) => "ca-recovery",
            Self::State(CaState::Loss) => "ca-loss",
            Self::Timeout => "timeout",
            Self::Undo => "undo",
            Self::SpuriousTimeout => "spurious-timeout",
            Self::ZeroWindow => "zero-window",
            Self::WindowOpened => "window-opened",
            Self::ReceiveBuffer(_) => "rcvbuf",
            Self::SendBuffer(_) => "sndbuf",
            Self::Throttled => "throttled",
        }
    }

    /// Its size, if it has one.
    pub const fn size(self) -> Option<Bytes> {
        match self {
            Self::ReceiveBuffer(size) | Self::SendBuffer(size) => Some(size),
            _ => None,
        }
    }

    /// One of each, with sizes 0, in the order of writing for marks at one instant.
    pub fn all() -> impl Iterator<Item = Self> {
        let states = CaState::ALL.iter().copied().map(Self::State);
        let buffers = [Self::ReceiveBuffer(Bytes::ZERO), Self::SendBuffer(Bytes::ZERO)];
        let others = [
            Self::Timeout,
            Self::Undo,
            Self::SpuriousTimeout,
            Self::ZeroWindow,
            Self::WindowOpened,
            Self::Throttled,
        ];
        others.into_iter().chain(states).chain(buffers)
    }

    /// The mark with this name, and its size if it has one; `None` if the two do not fit.
    pub fn of(name: &str, size: Option<Bytes>) -> Option<Self> {
        let mark = Self::all().find(|mark| mark.name() == name)?;
        match (mark, size) {
            (Self::ReceiveBuffer(_), Some(size)) => Some(Self::ReceiveBuffer(size)),
            (Self::SendBuffer(_), Some(size)) => Some(Self::SendBuffer(size)),
            (mark, None) => mark.size().is_none().then_some(mark),
            _ => None,
        }
    }
}

/// A time from `struct tcp_info`, in microseconds: 0 and 2^32 - 1 mean not measured.
pub fn measured(micros: u32) -> Option<u32> {
    (micros != 0 && micros != u32::MAX).then_some(micros)
}

/// Declares the numbers of a sample once: the field, its unit and its meaning. All documentation of them is generated
/// from [`SocketSample::FIELDS`].
macro_rules! sample {
    ($($name:ident: $unit:literal, $meaning:literal;)+) => {
        /// A socket's state at an instant. `None` where the source cannot see it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct SocketSample {
            /// The process that owns the socket.
            pub end: End,
            /// The congestion state (`tcpi_ca_state`).
            pub ca_state: Option<CaState>,
            $(#[doc = concat!($meaning, "; in ", $unit, ".")] pub $name: Option<u32>,)+
        }

        impl SocketSample {
            /// The numbers: name, unit and meaning of each.
            pub const FIELDS: &[(&'static str, &'static str, &'static str)] =
                &[$((stringify!($name), $unit, $meaning)),+];

            /// A sample in which nothing is known.
            pub const fn unknown(end: End) -> Self {
                Self { end, ca_state: None, $($name: None),+ }
            }

            /// The numbers, in the order of [`FIELDS`](Self::FIELDS).
            pub fn values(&self) -> impl Iterator<Item = Option<u32>> + use<> {
                [$(self.$name),+].into_iter()
            }

            /// The numbers in the same order, mutable.
            pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Option<u32>> {
                [$(&mut self.$name),+].into_iter()
            }
        }
    };
}

sample! {
    snd_cwnd: "segments", "Congestion window (`tcpi_snd_cwnd`)";
    snd_ssthresh: "segments", "Slow start threshold, 2147483647 before it is first set (`tcpi_snd_ssthresh`)";
    srtt: "µs", "Smoothed RTT (`tcpi_rtt`)";
    rttvar: "µs", "RTT variation (`tcpi_rttvar`)";
    min_rtt: "µs", "Recent minimum RTT (`tcpi_min_rtt`)";
    rto: "µs", "Retransmission timeout (`tcpi_rto`)";
    snd_wnd: "bytes", "Window that the peer advertised (`tcpi_snd_wnd`)";
    rcv_wnd: "bytes", "Window advertised to the peer (`tcpi_rcv_wnd`)";
    packets_out: "segments", "Sent and not acknowledged (`tcpi_unacked`)";
    sacked_out: "segments", "Of these, SACKed (`tcpi_sacked`)";
    lost_out: "segments", "Of these, considered lost (`tcpi_lost`)";
    retrans_out: "segments", "Of these, retransmitted (`tcpi_retrans`)";
    notsent: "bytes", "Written and not yet sent (`tcpi_notsent_bytes`)";
    wmem_queued: "bytes of memory", "Write queue (`sk_wmem_queued`)";
    sndbuf: "bytes of memory", "Send buffer: limit of the write queue (`sk_sndbuf`)";
    receive_queue: "bytes", "Received in order and not read (`SIOCINQ`)";
    ofo_queue: "bytes", "Received out of order (`out_of_order_queue`)";
    rmem_alloc: "bytes of memory", "Both receive queues together (`sk_rmem_alloc`)";
    rcvbuf: "bytes of memory", "Receive buffer: their limit (`sk_rcvbuf`)";
    backlog: "bytes of memory", "Backlog, waiting for the process that holds the socket lock (`sk_backlog.len`)";
    prequeue: "bytes of memory", "Prequeue, waiting for the reader (`tp->ucopy.memory`, until 4.14)";
    snd_mss: "bytes", "Payload of a segment (`tcpi_snd_mss`)";
    rcv_rtt: "µs", "RTT as estimated by a receiver of data (`tcpi_rcv_rtt`)";
    total_retrans: "segments", "Retransmitted so far (`tcpi_total_retrans`)";
    data_segs_in: "segments", "Received with data so far (`tcpi_data_segs_in`)";
    wmem_alloc: "bytes of memory", "Handed to the device's queue, and not yet sent by the device (`sk_wmem_alloc`)";
    max_pacing_rate: "bytes/s", "Pacing rate that the application set as a limit (`sk_max_pacing_rate`)";
    qdisc_backlog: "bytes", "Waiting in the qdisc of the output device, of all flows (`qstats.backlog`)";
    qdisc_overlimits: "times", "Times so far that this qdisc held packets back to keep its rate (`qstats.overlimits`)";
    qdisc_rate: "bytes/s", "Rate to which this qdisc is set, where that is known: tbf";
    soft_error: "errno", "Error that an ICMP message left without ending the connection, 0 for none (`sk_err_soft`)";
    resent: "segments", "Retransmitted while the MSS had never been lowered, and before the last segment came";
    resent_smallest: "bytes", "Payload of the smallest segment retransmitted while the MSS had never been lowered";
    delivered_largest: "bytes", "Payload of the largest segment that can have arrived";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for mark in Mark::all() {
            assert_eq!(Mark::of(mark.name(), mark.size()), Some(mark));
        }
        assert_eq!(Mark::of("timeout", Some(Bytes::ZERO)), None);
        assert_eq!(Mark::of("rcvbuf", None), None);
        for wait in Wait::ALL {
            assert_eq!(wait.name().parse(), Ok(*wait));
        }
        let error = "ring-0".parse::<DropReason>().unwrap_err().to_string();
        assert_eq!(error, "\"ring-0\" is not a reason to drop");
    }
}
