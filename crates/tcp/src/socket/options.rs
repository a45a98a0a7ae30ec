//! A socket's options.

use crate::choices::CongestionControl;
use std::time::Duration;

/// The options of one socket; `None` and 0 mean the kernel's default.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the kernel's switches")]
pub struct SocketOptions {
    /// Small segments do not wait (`TCP_NODELAY`).
    pub nodelay: bool,
    /// Only full segments are sent (`TCP_CORK`).
    pub cork: bool,
    /// How long data may stay unacknowledged (`TCP_USER_TIMEOUT`).
    pub user_timeout: Option<Duration>,
    /// The maximum MSS (`TCP_MAXSEG`).
    pub max_seg: Option<u16>,
    /// The congestion control (`TCP_CONGESTION`).
    pub congestion: Option<CongestionControl>,
    /// The unsent bytes above which the socket is not writable (`TCP_NOTSENT_LOWAT`).
    pub notsent_lowat: Option<u32>,
    /// The send buffer fixed by `SO_SNDBUF`: twice the requested size.
    pub send_buffer: Option<u32>,
    /// The receive buffer fixed by `SO_RCVBUF`: twice the requested size.
    pub receive_buffer: Option<u32>,
    /// Bytes that make the socket readable (`SO_RCVLOWAT`).
    pub receive_lowat: u32,
    /// Whether idle connections are probed (`SO_KEEPALIVE`).
    pub keepalive: bool,
    /// How long a connection is idle before the first probe (`TCP_KEEPIDLE`).
    pub keepalive_time: Option<Duration>,
    /// The interval between probes (`TCP_KEEPINTVL`).
    pub keepalive_interval: Option<Duration>,
    /// Probes before giving up (`TCP_KEEPCNT`).
    pub keepalive_probes: Option<u8>,
    /// SYN retransmissions (`TCP_SYNCNT`).
    pub syn_count: Option<u8>,
    /// How long an orphan stays in FIN-WAIT-2 (`TCP_LINGER2`).
    pub linger2: Linger2,
    /// What `close` does with unsent data (`SO_LINGER`): `Some(0)` resets.
    pub linger: Option<Duration>,
    /// A listener's children wait for data (`TCP_DEFER_ACCEPT`), in SYN-ACKs sent (`rskq_defer_accept`).
    pub defer_accept: u8,
    /// Whether the address may be reused (`SO_REUSEADDR`).
    pub reuse_address: bool,
    /// Whether several sockets may listen on it (`SO_REUSEPORT`).
    pub reuse_port: bool,
    /// The maximum pacing rate, in bytes per second (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: u64,
    /// The maximum window (`TCP_WINDOW_CLAMP`); 0 for none.
    pub window_clamp: u32,
    /// `recvmsg` reports how many bytes are left (`TCP_INQ`).
    pub inq: bool,
    /// Urgent data stays in the stream (`SO_OOBINLINE`).
    pub oob_inline: bool,
    /// The maximum number of pending Fast Open children (`TCP_FASTOPEN`); 0 for none.
    pub fast_open_queue: u32,
    /// `connect` returns immediately and the SYN carries the first data (`TCP_FASTOPEN_CONNECT`).
    pub fast_open_connect: bool,
    /// Fast Open requires no cookie (`TCP_FASTOPEN_NO_COOKIE`).
    pub fast_open_no_cookie: bool,
    /// The maximum RTO (`TCP_RTO_MAX_MS`).
    pub rto_max: Option<Duration>,
    /// The minimum RTO (`TCP_RTO_MIN_US`).
    pub rto_min: Option<Duration>,
    /// The maximum ACK delay (`TCP_DELACK_MAX_US`).
    pub delack_max: Option<Duration>,
    /// Timeouts of thin streams do not back off (`TCP_THIN_LINEAR_TIMEOUTS`).
    pub thin_linear_timeouts: bool,
    /// ICMP errors of an established connection are reported immediately (`IP_RECVERR`, `IPV6_RECVERR`).
    pub receive_errors: bool,
    /// The SYN of this connection is kept for the application (`TCP_SAVE_SYN`).
    pub save_syn: bool,
}

/// The setting of `TCP_LINGER2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linger2 {
    /// `tcp_fin_timeout` applies.
    #[default]
    Default,
    /// No wait: a negative value.
    Never,
    /// This long.
    For(Duration),
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            nodelay: false,
            cork: false,
            user_timeout: None,
            max_seg: None,
            congestion: None,
            notsent_lowat: None,
            send_buffer: None,
            receive_buffer: None,
            receive_lowat: 1,
            keepalive: false,
            keepalive_time: None,
            keepalive_interval: None,
            keepalive_probes: None,
            syn_count: None,
            linger2: Linger2::Default,
            linger: None,
            defer_accept: 0,
            reuse_address: false,
            reuse_port: false,
            max_pacing_rate: u64::MAX,
            window_clamp: 0,
            inq: false,
            oob_inline: false,
            fast_open_queue: 0,
            fast_open_connect: false,
            fast_open_no_cookie: false,
            rto_max: None,
            rto_min: None,
            delack_max: None,
            thin_linear_timeouts: false,
            receive_errors: false,
            save_syn: false,
        }
    }
}

macro_rules! socket_options {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// An option with a numeric value. Times and amounts are in the units of the system call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SocketOption {
            $($(#[$doc])* #[doc = concat!("(`", $name, "`)")] $variant,)*
        }

        impl SocketOption {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its C name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The option with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|option| option.name() == name)
            }
        }
    };
}

socket_options! {
    /// The pending error; reading clears it.
    Error = "SO_ERROR",
    /// Requested bytes; the buffer is twice that.
    SendBuffer = "SO_SNDBUF",
    /// Requested bytes; the buffer is twice that.
    ReceiveBuffer = "SO_RCVBUF",
    /// Bytes that make the socket readable.
    ReceiveLowAt = "SO_RCVLOWAT",
    /// Whether idle connections are probed.
    KeepAlive = "SO_KEEPALIVE",
    /// Seconds; negative for off.
    Linger = "SO_LINGER",
    /// Whether the address may be reused.
    ReuseAddress = "SO_REUSEADDR",
    /// Whether several sockets may listen on it.
    ReusePort = "SO_REUSEPORT",
    /// Whether urgent data stays in the stream.
    OobInline = "SO_OOBINLINE",
    /// Whether ICMP errors are reported immediately.
    ReceiveErrors = "IP_RECVERR",
    /// Bytes per second.
    MaxPacingRate = "SO_MAX_PACING_RATE",
    /// Whether small segments are sent immediately.
    NoDelay = "TCP_NODELAY",
    /// Whether only full segments are sent.
    Cork = "TCP_CORK",
    /// Bytes.
    MaxSeg = "TCP_MAXSEG",
    /// Seconds.
    KeepIdle = "TCP_KEEPIDLE",
    /// Seconds.
    KeepInterval = "TCP_KEEPINTVL",
    /// Probes.
    KeepCount = "TCP_KEEPCNT",
    /// SYNs.
    SynCount = "TCP_SYNCNT",
    /// Seconds; negative for no wait at all.
    Linger2 = "TCP_LINGER2",
    /// Seconds.
    DeferAccept = "TCP_DEFER_ACCEPT",
    /// Bytes; 0 for no limit, while there is no connection.
    WindowClamp = "TCP_WINDOW_CLAMP",
    /// 0 delays ACKs, 1 does not, an even number applies only once.
    QuickAck = "TCP_QUICKACK",
    /// Milliseconds.
    UserTimeout = "TCP_USER_TIMEOUT",
    /// Bytes.
    NotSentLowAt = "TCP_NOTSENT_LOWAT",
    /// Whether reads report how many bytes are left.
    Inq = "TCP_INQ",
    /// Whether timeouts of thin streams do not back off.
    ThinLinearTimeouts = "TCP_THIN_LINEAR_TIMEOUTS",
    /// The maximum number of pending Fast Open children.
    FastOpen = "TCP_FASTOPEN",
    /// Whether the SYN waits for the first data.
    FastOpenConnect = "TCP_FASTOPEN_CONNECT",
    /// Whether no cookie is required.
    FastOpenNoCookie = "TCP_FASTOPEN_NO_COOKIE",
    /// Whether the SYN is kept for the application.
    SaveSyn = "TCP_SAVE_SYN",
    /// Milliseconds.
    RtoMaxMs = "TCP_RTO_MAX_MS",
    /// Microseconds.
    RtoMinUs = "TCP_RTO_MIN_US",
    /// Microseconds.
    DelackMaxUs = "TCP_DELACK_MAX_US",
}
