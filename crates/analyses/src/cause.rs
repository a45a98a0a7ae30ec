//! What can bind a transfer: the limits, and the causes within each.
//!
//! [`catalogue!`](crate::catalogue) is the one list of causes, for every source: captures, the live kernel and `doctor`. A new
//! cause is one entry there. The compiler then asks for its advice (`remedies::advise`) and its page (`docs/src`), and
//! tests ask that each source listed can report it.

use std::fmt;

/// What bound a flow for a while. Every instant of a flow belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Opening the connection, before any data can flow, or an end of it that is gone.
    Connection,
    /// The application gave the sender nothing to send.
    Application,
    /// The sender's socket buffer was full, so the application could not hand over more.
    SendBuffer,
    /// The sending host itself was the bottleneck: its queue, its shaper or its CPU.
    SendingHost,
    /// The receiver's advertised window was used up.
    ReceiveWindow,
    /// The receiver had the data and was late to answer.
    ReceiverProcessing,
    /// The congestion window was used up and the path was not full.
    CongestionWindow,
    /// Loss, or what was taken for it, was being repaired.
    LossRecovery,
    /// The path carried what it can: the good case, unless it queues or polices.
    Path,
    /// This place of observation cannot tell.
    Unknown,
}

impl Limit {
    /// All limits, in the order of the tables.
    pub const ALL: [Self; 10] = [
        Self::Connection,
        Self::Application,
        Self::SendBuffer,
        Self::SendingHost,
        Self::ReceiveWindow,
        Self::ReceiverProcessing,
        Self::CongestionWindow,
        Self::LossRecovery,
        Self::Path,
        Self::Unknown,
    ];

    /// The name in JSON and in the handbook's addresses: `receive-window`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Application => "application",
            Self::SendBuffer => "send-buffer",
            Self::SendingHost => "sending-host",
            Self::ReceiveWindow => "receive-window",
            Self::ReceiverProcessing => "receiver-processing",
            Self::CongestionWindow => "congestion-window",
            Self::LossRecovery => "loss-recovery",
            Self::Path => "path",
            Self::Unknown => "unknown",
        }
    }

    /// The name for people: `receive window`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Application => "application",
            Self::SendBuffer => "send buffer",
            Self::SendingHost => "sending host",
            Self::ReceiveWindow => "receive window",
            Self::ReceiverProcessing => "receiver processing",
            Self::CongestionWindow => "congestion window",
            Self::LossRecovery => "loss recovery",
            Self::Path => "path",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

/// Which part of slowpath can report a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportedBy {
    /// `slowpath diagnose`, from packets.
    Capture,
    /// `slowpath diagnose --live`, from what the kernel of an end shows.
    Live,
    /// `slowpath doctor`, from the settings and counters of a host, before a transfer.
    Doctor,
}

impl ReportedBy {
    /// `capture`, `live`, `doctor`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Live => "live",
            Self::Doctor => "doctor",
        }
    }
}

/// Passes the catalogue of causes to the macro `$then`, in the order of the limits. Each entry has its documentation,
/// name, limit, slug, title, page below `docs/src`, and what can report it.
#[macro_export]
macro_rules! catalogue {
    ($then:ident) => {
        $then! {
            /// The RTT of SYN and SYN-ACK.
            Handshake = Connection / "handshake": "TCP handshake",
                "connection/handshake.md", [Capture];
            /// A SYN or SYN-ACK was lost and its timer had to expire (RFC 6298, section 2: 1 s).
            SynLost = Connection / "syn-lost": "lost SYN or SYN-ACK",
                "connection/syn-lost.md", [Capture];
            /// A SYN met an old connection of the same addresses and ports, which answered with a challenge ACK (RFC 5961,
            /// section 4).
            OldConnection = Connection / "old-connection": "the SYN met an old connection",
                "connection/old-connection.md", [Capture];
            /// SYNs with data (TCP Fast Open) were lost, the ones without got through.
            FastOpenLost = Connection / "fast-open-lost": "Fast Open SYN lost",
                "connection/fast-open-lost.md", [Capture];
            /// SYNs reached the host of the other end, or SYN-ACKs that of the client, and its TCP did not answer.
            NotAnswered = Connection / "not-answered": "SYN or SYN-ACK arrived and was not answered",
                "connection/not-answered.md", [Capture];
            /// Nothing answered the SYN, as far as the capture shows.
            NoAnswer = Connection / "no-answer": "nothing answered the SYN",
                "connection/no-answer.md", [Capture];
            /// A RST answered the SYN (RFC 9293, section 3.10.7.1): nobody listens on the port, or a firewall rejects it.
            Refused = Connection / "refused": "connection refused",
                "connection/refused.md", [Capture];
            /// An ICMP error answered the SYN.
            Unreachable = Connection / "unreachable": "an ICMP error answered the SYN",
                "connection/unreachable.md", [Capture];
            /// The handshake was over, and the server kept sending its SYN-ACK: its accept queue had no room for the connection.
            AcceptQueueFull = Connection / "accept-queue-full": "accept queue of the server full",
                "connection/accept-queue-full.md", [Capture];
            /// From some moment on nothing came back from the other end any more, however often data was retransmitted.
            PeerGone = Connection / "peer-gone": "the other end no longer answers",
                "connection/peer-gone.md", [Capture];
            /// A RST says that its sender has no such connection (RFC 9293, section 3.10.7.1), though it had not closed it.
            ResetUnknown = Connection / "reset-unknown": "reset, the connection is not known any more",
                "connection/reset-unknown.md", [Capture];
            /// A RST answered data that came after its sender had closed the connection.
            ResetClosed = Connection / "reset-closed": "reset, data came after the other end had closed",
                "connection/reset-closed.md", [Capture];
            /// An end aborted the connection while data was in flight (RFC 9293, section 3.10.5).
            ResetAborted = Connection / "reset-aborted": "reset, an end aborted the connection",
                "connection/reset-aborted.md", [Capture];
            /// A RST came from another place than the end whose address it bears.
            ResetOnPath = Connection / "reset-on-path": "reset by a device on the path",
                "connection/reset-on-path.md", [Capture];

            /// All data was acknowledged, or all that was written was sent, and the application wrote no more.
            SenderIdle = Application / "sender-idle": "the sending application had nothing to send",
                "application/sender-idle.md", [Capture, Live];
            /// One end waited for the other's request or response.
            ThinkTime = Application / "think-time": "request/response turns",
                "application/think-time.md", [Capture];
            /// A small write waited for the ACK that the receiver delayed (RFC 896 against RFC 1122, 4.2.3.2).
            NagleDelayedAck = Application / "nagle-delayed-ack": "Nagle's algorithm waiting for a delayed ACK",
                "application/nagle-delayed-ack.md", [Capture];
            /// Data in flight was limited by what the receiving application asked for or allowed: a window of HTTP/2 or SSH,
            /// credits, a bounded number of requests.
            ProtocolWindow = Application / "protocol-window": "flow control of the application protocol",
                "application/protocol-window.md", [Capture];

            /// Each ACK let the application write as much as it freed: the data outstanding stays at the buffer's size.
            SendBufferFull = SendBuffer / "full": "send buffer full",
                "send-buffer/full.md", [Capture, Live, Doctor];

            /// The queue in front of the network card dropped packets, or holds too few.
            LocalQueue = SendingHost / "queue": "queue of the sending host's interface too short",
                "sending-host/queue.md", [Capture, Doctor];
            /// A shaper, a pacing limit or a limit on queued bytes holds the sender below the path's rate.
            LocalRateLimit = SendingHost / "rate-limit": "shaper or pacing limit on the sending host",
                "sending-host/rate-limit.md", [Capture, Live, Doctor];
            /// Offloads that are off make the CPU handle each packet by itself.
            SenderBusy = SendingHost / "sender-cpu": "CPU of the sending host busy with packets",
                "sending-host/sender-cpu.md", [Doctor];

            /// The window stayed at its maximum and was used up every RTT.
            ReceiveBufferTooSmall = ReceiveWindow / "buffer-too-small": "receive buffer smaller than the bandwidth-delay product",
                "receive-window/buffer-too-small.md", [Capture, Live, Doctor];
            /// No window scaling was negotiated, so no window exceeds 65,535 bytes (RFC 7323, section 2.2).
            NoWindowScaling = ReceiveWindow / "no-window-scaling": "no window scaling: at most 65,535 bytes in flight",
                "receive-window/no-window-scaling.md", [Capture, Doctor];
            /// The window field stood at its maximum under the negotiated scale.
            WindowScaleTooSmall = ReceiveWindow / "scale-too-small": "window scale too small for the path",
                "receive-window/scale-too-small.md", [Capture];
            /// The window was used up while it grew.
            AutotuningLag = ReceiveWindow / "autotuning-lag": "receive buffer autotuning lagged behind",
                "receive-window/autotuning-lag.md", [Capture, Live, Doctor];
            /// The window shrank because the application read more slowly than data arrived.
            SlowReader = ReceiveWindow / "slow-reader": "the receiving application read too slowly",
                "receive-window/slow-reader.md", [Capture, Live, Doctor];
            /// Unread data closed the window while the reader was runnable and waited for a CPU (`wu`, section 3).
            ReaderOffCpu = ReceiveWindow / "reader-off-cpu": "the receiving application waited for a CPU",
                "receive-window/reader-off-cpu.md", [Live];
            /// The window stayed at zero: the application did not read at all.
            ReaderStopped = ReceiveWindow / "reader-stopped": "the receiving application stopped reading",
                "receive-window/reader-stopped.md", [Capture];
            /// The receiver moved its window's edge back, so that data in flight did not fit any more (RFC 9293, section 3.8.6).
            WindowTakenBack = ReceiveWindow / "taken-back": "the receiver took back window it had offered",
                "receive-window/taken-back.md", [Capture];

            /// ACKs for data that had arrived came far later than a delayed ACK may.
            AcksHeldBack = ReceiverProcessing / "acks-held-back": "late ACKs from the receiver",
                "receiver-processing/acks-held-back.md", [Capture, Live];
            /// Data reached the receiving host, and its TCP did not accept it: a wrong checksum, an old timestamp, a firewall.
            NotAccepted = ReceiverProcessing / "not-accepted": "data that arrived was not accepted",
                "receiver-processing/not-accepted.md", [Capture];
            /// The process that had locked the socket was off the CPU, so packets waited in the backlog (`wu`, section 3).
            LockHolderOffCpu = ReceiverProcessing / "lock-holder-off-cpu": "the process holding the socket lock was off the CPU",
                "receiver-processing/lock-holder-off-cpu.md", [Live];
            /// The receiving host dropped packets: in the ring, a CPU's backlog, or at the socket.
            ReceiverDrops = ReceiverProcessing / "drops": "packets dropped inside the receiving host",
                "receiver-processing/drops.md", [Doctor];
            /// One CPU takes all interrupts, GRO is off, or the softirq budget runs out.
            ReceiverBusy = ReceiverProcessing / "receiver-cpu": "CPU of the receiving host busy with packets",
                "receiver-processing/receiver-cpu.md", [Doctor];

            /// The window doubled each RTT and had not reached the path's rate.
            SlowStart = CongestionWindow / "slow-start": "slow start",
                "congestion-window/slow-start.md", [Capture, Live, Doctor];
            /// The window grew from where a loss had put it.
            AfterLoss = CongestionWindow / "after-loss": "congestion window reduced after loss",
                "congestion-window/after-loss.md", [Capture, Live, Doctor];
            /// Slow start ended with neither loss nor queue, as a cached ssthresh or a clamp makes it.
            EarlyExit = CongestionWindow / "early-exit": "congestion window stuck below the path rate",
                "congestion-window/early-exit.md", [Capture, Live, Doctor];
            /// The receiver reported congestion marks (ECN, RFC 3168), and the sender reduced its window without loss.
            EcnMarks = CongestionWindow / "ecn-marks": "congestion window reduced by ECN marks",
                "congestion-window/ecn-marks.md", [Capture];

            /// Losses repaired from duplicate ACKs or SACK within about an RTT.
            FastRecovery = LossRecovery / "fast-recovery": "loss repaired by fast retransmit",
                "loss-recovery/fast-recovery.md", [Capture, Live, Doctor];
            /// Losses that waited for the retransmission timer.
            Timeout = LossRecovery / "rto": "retransmission timeouts",
                "loss-recovery/rto.md", [Capture, Live, Doctor];
            /// The timer expired though nothing was lost.
            SpuriousTimeout = LossRecovery / "spurious-rto": "spurious timeouts or tail loss probes",
                "loss-recovery/spurious-rto.md", [Capture, Live, Doctor];
            /// The last segments were lost, with nothing behind them to cause duplicate ACKs.
            TailLoss = LossRecovery / "tail-loss": "tail loss",
                "loss-recovery/tail-loss.md", [Capture, Live, Doctor];
            /// A retransmission was lost too.
            LostRetransmission = LossRecovery / "lost-retransmission": "lost retransmissions",
                "loss-recovery/lost-retransmission.md", [Capture, Doctor];
            /// The receiver discarded data that it had selectively acknowledged (RFC 2018, section 8).
            SackReneging = LossRecovery / "sack-reneging": "SACK reneging by the receiver",
                "loss-recovery/sack-reneging.md", [Capture];
            /// Segments were reordered and the sender took that for loss.
            Reordering = LossRecovery / "reordering": "reordering mistaken for loss",
                "loss-recovery/reordering.md", [Capture, Doctor];
            /// Every segment above some size was lost each time, and none below it: the path's MTU is smaller, and the ICMP
            /// errors that would say so do not come (RFC 2923, section 2.1).
            MtuBlackHole = LossRecovery / "mtu-black-hole": "path MTU black hole",
                "loss-recovery/mtu-black-hole.md", [Capture, Live];
            /// Every segment longer than one MSS was lost, and none of one MSS.
            SuperPacketsDropped = LossRecovery / "super-packets-dropped": "super-packets dropped on the way",
                "loss-recovery/super-packets-dropped.md", [Capture];
            /// Something on the path changes sequence numbers and leaves SACK blocks as they are, so that the sender cannot use
            /// them (RFC 2018, section 4).
            SackUntranslated = LossRecovery / "sack-untranslated": "SACK blocks left untranslated on the path",
                "loss-recovery/sack-untranslated.md", [Capture];
            /// Every segment was lost that reached beyond the window field as it is without scaling, and none within it.
            BeyondUnscaledWindow = LossRecovery / "beyond-unscaled-window": "a firewall unaware of window scaling",
                "loss-recovery/beyond-unscaled-window.md", [Capture];

            /// The bottleneck was busy and its queue moderate: the path gave what it has.
            BottleneckFull = Path / "bottleneck-full": "bottleneck link fully used",
                "path/bottleneck-full.md", [Capture, Live, Doctor];
            /// The bottleneck was busy behind a queue longer than the path itself.
            StandingQueue = Path / "standing-queue": "bottleneck fully used, behind a standing queue",
                "path/standing-queue.md", [Capture];
            /// ACKs waited in a queue on their way back, so that every RTT was long, whatever the way of the data could carry.
            AckPathQueue = Path / "ack-path-queue": "ACKs held up by a queue on their way back",
                "path/ack-path-queue.md", [Capture];
            /// Data or its ACKs were in flight for far longer than usual, and arrived.
            DelaySpike = Path / "delay-spike": "delay spike on the path",
                "path/delay-spike.md", [Capture, Live];
            /// Losses without queueing whenever a fixed rate was exceeded.
            Policer = Path / "policer": "policer dropping above its rate",
                "path/policer.md", [Capture];
            /// Both ends agreed on ECN, and no data arrives ECN-capable: something clears the field (RFC 3168, section 5).
            EcnCleared = Path / "ecn-cleared": "ECN field cleared on the path",
                "path/ecn-cleared.md", [Capture];
            /// A link that is down, half duplex, or damages frames.
            FaultyLink = Path / "faulty-link": "faulty link",
                "path/faulty-link.md", [Doctor];
            /// Packets are smaller than the links carry, so there are more of them.
            SmallPackets = Path / "small-packets": "packets smaller than the path can carry",
                "path/small-packets.md", [Doctor];

            /// The capture itself missed packets here.
            CaptureGap = Unknown / "capture-gap": "packets missing from the capture",
                "unknown/capture-gap.md", [Capture];
            /// Only one direction was captured.
            OneDirection = Unknown / "one-direction": "only one direction was captured",
                "unknown/one-direction.md", [Capture];
            /// Several limits fit what was seen.
            Undetermined = Unknown / "undetermined": "not determined from this capture",
                "unknown/undetermined.md", [Capture, Live, Doctor];
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $name:ident = $limit:ident / $slug:literal: $title:literal,
        $page:literal, [$($by:ident),*];)*) => {
        /// Why a limit bound: what a verdict names, and what the handbook has a page for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause {
            $($(#[$doc])* $name,)*
        }

        impl Cause {
            /// All causes, in the order of the limits.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The cause of this name: `receive-window/slow-reader`.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|cause| cause.to_string() == name)
            }

            /// The limit it belongs to.
            pub const fn limit(self) -> Limit {
                match self { $(Self::$name => Limit::$limit,)* }
            }

            /// Its name below the limit's in JSON and in the handbook's addresses: `slow-reader`.
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// One line for people: `the receiving application read too slowly`.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// The handbook's page, below `docs/src`: `receive-window/slow-reader.md`.
            pub const fn page(self) -> &'static str {
                match self { $(Self::$name => $page,)* }
            }

            /// What can report it.
            pub const fn reported_by(self) -> &'static [ReportedBy] {
                match self { $(Self::$name => &[$(ReportedBy::$by),*],)* }
            }
        }
    };
}

catalogue!(define);

impl Cause {
    /// Whether it ended the connection, at one instant.
    pub const fn is_reset(self) -> bool {
        matches!(self, Self::ResetUnknown | Self::ResetClosed | Self::ResetAborted | Self::ResetOnPath)
    }

    /// Whether it kept the connection from opening.
    pub const fn is_failed_opening(self) -> bool {
        matches!(self, Self::NotAnswered | Self::NoAnswer | Self::Refused | Self::Unreachable)
    }

    /// Whether the transport could regain the time under it. Not so if the application had nothing to send, if the path
    /// gave its full rate, or if nothing is known.
    pub fn is_loss(self) -> bool {
        !matches!(self.limit(), Limit::Application | Limit::Unknown) && self != Self::BottleneckFull
    }

    /// Whether `by` can report it.
    pub fn is_reported_by(self, by: ReportedBy) -> bool {
        self.reported_by().contains(&by)
    }
}

impl fmt::Display for Cause {
    /// `receive-window/slow-reader`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.limit().slug(), self.slug())
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It fits, and so do other causes.
    Low,
    /// The usual explanation of what was seen.
    Medium,
    /// What was seen leaves no other explanation.
    High,
}

impl Confidence {
    /// `low`, `medium`, `high`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cause_slugs_are_unique_and_ordered_by_limit() {
        let names: BTreeSet<_> = Cause::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        let slugs: BTreeSet<_> = Cause::ALL.iter().map(|cause| cause.slug()).collect();
        assert_eq!(slugs.len(), Cause::ALL.len(), "slugs are unique without their limit");
        assert!(Cause::ALL.is_sorted_by_key(|cause| cause.limit()));
        assert!(Limit::ALL.is_sorted());
        assert!(Cause::ALL.iter().all(|cause| cause.page() == format!("{cause}.md")));
        assert!(Cause::ALL.iter().all(|cause| !cause.reported_by().is_empty()));
    }
}
