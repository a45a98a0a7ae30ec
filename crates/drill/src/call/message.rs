//! Control messages of `sendmsg` and `recvmsg`.

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlMessage {
    /// A number, such as `TCP_CM_INQ` or `SO_TXTIME`.
    Integer {
        /// `cmsg_level`
        level: i32,
        /// `cmsg_type`
        kind: i32,
        /// The number.
        value: i32,
    },
    /// Timestamps of a packet (`SCM_TIMESTAMPING`): the first of the three, in microseconds of the run.
    Stamp {
        /// Microseconds since the script's start; 0 is not compared.
        micros: i64,
    },
    /// A report of the error queue (`IP_RECVERR`, `IPV6_RECVERR`).
    Error(ErrorReport),
    /// Statistics of a connection (`SCM_TIMESTAMPING_OPT_STATS`), in their order.
    Statistics(Vec<Statistic>),
    /// Anything else, as bytes.
    Other {
        /// `cmsg_level`
        level: i32,
        /// `cmsg_type`
        kind: i32,
        /// `cmsg_data`
        data: Vec<u8>,
    },
}

/// `struct sock_extended_err` (include/uapi/linux/errqueue.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorReport {
    /// `ee_errno`
    pub errno: u32,
    /// `ee_origin`
    pub origin: u8,
    /// `ee_type`
    pub kind: u8,
    /// `ee_code`
    pub code: u8,
    /// `ee_info`
    pub info: u32,
    /// `ee_data`
    pub data: u32,
}

/// A statistic of a connection; without a value where a script has `...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Its number (`TCP_NLA_*`).
    pub kind: i32,
    /// Its value.
    pub value: Option<u64>,
}

/// Statistics that are times in microseconds, compared with a tolerance.
pub(super) const TIMES: &[i32] = &[1, 2, 3];
