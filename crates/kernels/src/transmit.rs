//! How packets come from TCP to the device.

/// The queue before the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueDiscipline {
    /// First in, first out, in three bands, of `txqueuelen` packets (`pfifo_fast`).
    PfifoFast,
    /// A queue for every flow, each paced as its socket asks (`fq`).
    Fq,
}

/// How packets come from TCP to the device. Whether TCP makes super-packets is [`slowpath_tcp::Choices`]' matter.
#[derive(Clone, Debug, PartialEq)]
pub struct TransmitPath {
    /// The queue before the device (`net.core.default_qdisc`).
    pub qdisc: QueueDiscipline,
    /// Most packets in it (`ifconfig txqueuelen`, `ether_setup`).
    pub txqueuelen: u32,
    /// Whether the kernel cuts super-packets itself where the device does not (`dev_gso_segment`, since 2.6.18).
    pub gso: bool,
    /// Whether TCP learns of a packet that the local queue drops, and answers as to congestion (`NET_XMIT_CN` and
    /// `tcp_enter_cwr`).
    pub local_drop_notified: bool,
}
