//! A finding: the failed check, the observation, why it matters and what fixes it.

use slowpath_analyses::Cause;
use slowpath_model::Rate;
use slowpath_remedies::{self as remedies, Change, Fix, Setting, Target};

/// A check that this host failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// Its severity.
    pub severity: Severity,
    /// In one line: `tcp_rmem lets a receive buffer grow to 512 KiB`.
    pub title: String,
    /// The observation, with its source: `net.ipv4.tcp_rmem = 4096 131072 524288`.
    pub seen: String,
    /// Why it matters to this transfer, with the arithmetic.
    pub why: String,
    /// What fixes it, the usual fix first.
    pub fixes: Vec<Fix>,
    /// The source of the rule: a kernel document or function, or a section of an RFC or paper.
    pub source: &'static str,
}

/// Declares the checks: variant, name, and the cause that a failed check leads to.
macro_rules! checks {
    ($($variant:ident $name:literal => $cause:ident,)*) => {
        /// A rule for hosts; the handbook states what each checks (`docs/src/doctor.md`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Check {
            $(#[doc = $name] $variant,)*
        }

        impl Check {
            /// All checks, grouped by cause.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name: `receive-buffer`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The cause that a verdict would name for a transfer while this check fails.
            pub const fn cause(self) -> Cause {
                match self {
                    $(Self::$variant => Cause::$cause,)*
                }
            }
        }
    };
}

checks! {
    ReceiveBuffer "receive-buffer" => ReceiveBufferTooSmall,
    AdvertisedPart "advertised-part" => ReceiveBufferTooSmall,
    FixedReceiveBuffer "fixed-receive-buffer" => ReceiveBufferTooSmall,
    BuffersByProgram "buffers-by-program" => ReceiveBufferTooSmall,
    TcpMemory "tcp-memory" => ReceiveBufferTooSmall,
    MemoryPressure "memory-pressure" => ReceiveBufferTooSmall,
    Pruned "pruned" => ReceiveBufferTooSmall,
    Collapsed "collapsed" => ReceiveBufferTooSmall,
    RouteWindow "route-window" => ReceiveBufferTooSmall,
    WindowScaling "window-scaling" => NoWindowScaling,
    SendBuffer "send-buffer" => SendBufferFull,
    NotsentLowat "notsent-lowat" => SendBufferFull,
    QueueLength "queue-length" => LocalQueue,
    QueueDrops "queue-drops" => LocalQueue,
    RetransmitsRefused "retransmits-refused" => LocalQueue,
    Shaper "shaper" => LocalRateLimit,
    FlowRate "flow-rate" => LocalRateLimit,
    Emulator "emulator" => LocalRateLimit,
    OutputLimit "output-limit" => LocalRateLimit,
    PacingRatio "pacing-ratio" => LocalRateLimit,
    Tso "tso" => SenderBusy,
    Gso "gso" => SenderBusy,
    TransmitChecksums "transmit-checksums" => SenderBusy,
    ScatterGather "scatter-gather" => SenderBusy,
    SuperPackets "super-packets" => SenderBusy,
    Gro "gro" => ReceiverBusy,
    OneQueue "one-queue" => ReceiverBusy,
    OneCpu "one-cpu" => ReceiverBusy,
    Budget "budget" => ReceiverBusy,
    CpuClock "cpu-clock" => ReceiverBusy,
    RingOverflow "ring-overflow" => ReceiverDrops,
    BacklogDrops "backlog-drops" => ReceiverDrops,
    BacklogFull "backlog-full" => ReceiverDrops,
    ReceiveQueueDrops "receive-queue-drops" => ReceiverDrops,
    ZeroWindowDrops "zero-window-drops" => SlowReader,
    RouteInitrwnd "route-initrwnd" => AutotuningLag,
    ParameterCache "parameter-cache" => EarlyExit,
    RouteSsthresh "route-ssthresh" => EarlyExit,
    RouteCwnd "route-cwnd" => EarlyExit,
    RouteInitcwnd "route-initcwnd" => SlowStart,
    SlowStartAfterIdle "slow-start-after-idle" => SlowStart,
    CongestionControl "congestion-control" => AfterLoss,
    Sack "sack" => FastRecovery,
    Rack "rack" => LostRetransmission,
    TailLossProbe "tail-loss-probe" => TailLoss,
    Frto "frto" => SpuriousTimeout,
    Timestamps "timestamps" => SpuriousTimeout,
    SpuriousTimeouts "spurious-timeouts" => SpuriousTimeout,
    RtoMin "rto-min" => Timeout,
    RouteRtoMin "route-rto-min" => Timeout,
    Timeouts "timeouts" => Timeout,
    Retries "retries" => Timeout,
    Dsack "dsack" => Reordering,
    Reordering "reordering" => Reordering,
    MaxReordering "max-reordering" => Reordering,
    LinkDown "link-down" => FaultyLink,
    HalfDuplex "half-duplex" => FaultyLink,
    BadFrames "bad-frames" => FaultyLink,
    LinkRate "link-rate" => BottleneckFull,
    Mtu "mtu" => SmallPackets,
    RouteMtu "route-mtu" => SmallPackets,
    RouteAdvmss "route-advmss" => SmallPackets,
    MtuProbing "mtu-probing" => SmallPackets,
    SockOps "sock-ops" => Undetermined,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The transfer gets at most about this rate, whatever the path does. Limits from a buffer's memory are estimates,
    /// as the finding says; other limits are exact.
    Limits(
        /// The rate of all connections together.
        Rate,
    ),
    /// It costs time or CPU, or makes a loss more expensive; how much depends on the path.
    Costs,
    /// A fact to know or to check, possibly harmless.
    Hint,
}

impl Severity {
    /// The maximum rate, if it is a limit.
    pub const fn limit(self) -> Option<Rate> {
        match self {
            Self::Limits(rate) => Some(rate),
            Self::Costs | Self::Hint => None,
        }
    }

    /// The display order of findings: the lowest limit first.
    pub(crate) const fn rank(self) -> (u8, u64) {
        match self {
            Self::Limits(rate) => (0, rate.get()),
            Self::Costs => (1, 0),
            Self::Hint => (2, 0),
        }
    }
}

impl Finding {
    /// The check's name: `receive-buffer`.
    pub const fn name(&self) -> &'static str {
        self.check.name()
    }

    /// Whether it is more than a hint.
    pub const fn is_fault(&self) -> bool {
        !matches!(self.severity, Severity::Hint)
    }

    /// A finding without a fix yet.
    pub(crate) fn new(check: Check, severity: Severity, title: impl Into<String>) -> Self {
        Self {
            check,
            severity,
            title: title.into(),
            seen: String::new(),
            why: String::new(),
            fixes: Vec::new(),
            source: "",
        }
    }

    pub(crate) fn seen(mut self, seen: impl Into<String>) -> Self {
        self.seen = seen.into();
        self
    }

    pub(crate) fn because(mut self, why: impl Into<String>, source: &'static str) -> Self {
        (self.why, self.source) = (why.into(), source);
        self
    }

    pub(crate) fn fixed_by(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }
}

/// A command that changes this host, as root.
pub(crate) fn change(line: impl Into<String>) -> Fix {
    Fix::change(remedies::Host::This, line, "")
}

/// A command that changes nothing on this host.
pub(crate) fn look(line: impl Into<String>) -> Fix {
    Fix::look(remedies::Host::This, line, "")
}

/// A sysctl of this host, and its current value.
pub(crate) fn sysctl(name: &str, value: &str, before: &str) -> Fix {
    Fix::sysctl_known(remedies::Host::This, name, value, before)
}

/// A setting of this host with a new value, and its current one.
pub(crate) fn set(setting: Setting, then: impl ToString, now: impl ToString) -> Fix {
    let (now, then) = (Some(now.to_string()), then.to_string());
    Fix::of(remedies::Host::This, Change { setting, now, then, target: Target::Exactly })
}
