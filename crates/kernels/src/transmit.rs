//! The transmit path: from TCP to the device.

use crate::choice::Subject;

/// The queue before the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueDiscipline {
    /// First in, first out, in three bands, of `txqueuelen` packets (`pfifo_fast`).
    PfifoFast,
    /// A queue for every flow, each paced as its socket requires (`fq`).
    Fq,
}

declare! {
    /// How packets get from TCP to the device. [`slowpath_tcp::Choices`] decides whether TCP makes super-packets.
    own TransmitPath of release;
    parts {}
    choices {
        qdisc: QueueDiscipline = {
            name: "qdisc", subject: Subject::TransmitPath,
            values: { "pfifo-fast" => PfifoFast, "fq" => Fq },
            meaning: "the queue before the device",
            source: "net/sched/sch_generic.c: pfifo_fast, unless net.core.default_qdisc says otherwise",
            sysctl: value "net.core.default_qdisc",
            kernels: [QueueDiscipline::PfifoFast],
        };
        txqueuelen: u32 = {
            name: "txqueuelen", subject: Subject::TransmitPath,
            range: 1..=10_000_000,
            meaning: "limit of packets in that queue (ubik, section V)",
            source: "drivers/net/net_init.c: ether_setup, 100 in 2.4; net/ethernet/eth.c, DEFAULT_TX_QUEUE_LEN, 1000 since 2.6",
            kernels: [100, Linux2_6_14 => 1000],
        };
        gso: bool = {
            name: "gso", subject: Subject::TransmitPath,
            meaning: "whether the kernel splits super-packets for a device without TSO",
            source: "net/core/dev.c: dev_gso_segment, since 2.6.18",
            kernels: [false, Linux4_18 => true],
        };
        local_drop_notified: bool = {
            name: "local-drop-notified", subject: Subject::TransmitPath,
            meaning: "whether a drop in the local queue counts as congestion",
            source: "net/ipv4/tcp_output.c: tcp_transmit_skb, tcp_enter_cwr, since 2.4",
            kernels: [false, Linux2_4_17 => true],
        };
    }
    sysctls {}
}
