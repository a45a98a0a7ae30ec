//! Where packets were lost, as far as this host knows.

use slowpath_live::Dropped;

/// Where a packet was dropped, or the segment that was retransmitted was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the queue in front of a device.
    Qdisc,
    /// In the card or its driver.
    Card,
    /// By a netfilter rule.
    Netfilter,
    /// By a BPF program or a socket's filter.
    Bpf,
    /// In a queue before TCP: the CPU's, or that of a socket that a process had locked.
    Backlog,
    /// By TCP, which had no room in the receive buffer or in `tcp_mem`.
    Receiver,
    /// By a listening socket, whose accept queue was full.
    AcceptQueue,
    /// For want of memory.
    Memory,
    /// By TCP, which had no use for it, such as a duplicate: not a loss.
    Unneeded,
    /// For another of the kernel's reasons, or one that it does not name.
    Other,
}

impl Place {
    /// All places.
    pub const ALL: [Self; 10] = [
        Self::Qdisc,
        Self::Card,
        Self::Netfilter,
        Self::Bpf,
        Self::Backlog,
        Self::Receiver,
        Self::AcceptQueue,
        Self::Memory,
        Self::Unneeded,
        Self::Other,
    ];

    /// Its name as a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qdisc => "qdisc",
            Self::Card => "card",
            Self::Netfilter => "netfilter",
            Self::Bpf => "bpf",
            Self::Backlog => "backlog",
            Self::Receiver => "receiver",
            Self::AcceptQueue => "accept-queue",
            Self::Memory => "memory",
            Self::Unneeded => "unneeded",
            Self::Other => "other",
        }
    }

    /// The place of a drop reason: the kernel's name without `SKB_DROP_REASON_` (include/net/dropreason-core.h).
    pub fn of(reason: &str) -> Self {
        match reason {
            "FQ_FLOW_LIMIT" | "FQ_BAND_LIMIT" | "FQ_HORIZON_LIMIT" | "CAKE_FLOOD" | "DUALPI2_STEP_DROP" => {
                Self::Qdisc
            }
            reason if reason.starts_with("QDISC_") => Self::Qdisc,
            "FULL_RING" | "DEV_READY" | "DEV_HDR" => Self::Card,
            "NETFILTER_DROP" => Self::Netfilter,
            "SOCKET_FILTER" | "TC_INGRESS" | "TC_EGRESS" | "XDP" | "BPF_CGROUP_EGRESS" => Self::Bpf,
            "SOCKET_BACKLOG" | "CPU_BACKLOG" => Self::Backlog,
            "PROTO_MEM" | "SOCKET_RCVBUFF" | "TCP_OFO_QUEUE_PRUNE" | "TCP_ZEROWINDOW" | "TCP_OVERWINDOW" => {
                Self::Receiver
            }
            "TCP_LISTEN_OVERFLOW" => Self::AcceptQueue,
            "NOMEM" | "PFMEMALLOC" => Self::Memory,
            "TCP_OLD_DATA" | "TCP_OFOMERGE" | "TCP_OFO_DROP" | "TCP_OLD_SEQUENCE" | "TCP_OLD_ACK"
            | "TCP_TOO_OLD_ACK" | "TCP_RESET" | "TCP_CLOSE" | "SOCKET_CLOSE" | "NO_SOCKET" => Self::Unneeded,
            _ => Self::Other,
        }
    }

    const fn is_loss(self) -> bool {
        !matches!(self, Self::Unneeded | Self::Other)
    }
}

/// Where retransmitted segments were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// On this host: it dropped packets of the connection there, at most [`PATIENCE`] intervals before.
    Here(Place),
    /// Not here, as far as the kernel reports: outside this host, or not lost at all.
    Elsewhere,
    /// Without the probe, nobody knows.
    Unknown,
}

impl Lost {
    /// Its name as a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Here(place) => place.name(),
            Self::Elsewhere => "outside-this-host",
            Self::Unknown => "unknown",
        }
    }
}

/// Intervals without drops or retransmissions after which a drop explains no further retransmission.
pub const PATIENCE: u8 = 5;

/// The drops of a connection on this host that may explain its retransmissions.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    /// How many there were at each place, at the last look.
    counts: [u64; Place::ALL.len()],
    last: Option<Place>,
    quiet: u8,
}

impl Drops {
    /// Where the segments were lost that were retransmitted in an interval; `dropped` is what this host dropped of the
    /// connection so far, `None` without the probe. A drop of one packet can cause many retransmissions: it may have
    /// been cut into segments later, and more may have been lost after it.
    pub fn look<'a>(
        &mut self,
        dropped: Option<impl IntoIterator<Item = &'a Dropped>>,
        retransmitted: u64,
    ) -> Lost {
        let Some(dropped) = dropped else { return Lost::Unknown };
        let mut counts = [0_u64; Place::ALL.len()];
        for one in dropped {
            let count = &mut counts[Place::of(&one.reason) as usize];
            *count = count.saturating_add(one.packets);
        }
        let grown = Place::ALL
            .map(|place| (counts[place as usize].saturating_sub(self.counts[place as usize]), place));
        self.counts = counts;
        let most = grown.into_iter().filter(|(grown, place)| *grown > 0 && place.is_loss()).max();
        if most.is_some() || retransmitted > 0 {
            self.quiet = 0;
        } else {
            self.quiet = self.quiet.saturating_add(1);
        }
        if let Some((_, place)) = most {
            self.last = Some(place);
        } else if self.quiet > PATIENCE {
            self.last = None;
        }
        self.last.map_or(Lost::Elsewhere, Lost::Here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(reason: &str, packets: u64) -> Dropped {
        Dropped { reason: reason.to_owned(), packets }
    }

    #[test]
    fn retransmissions_after_a_local_drop_were_lost_there() {
        let mut drops = Drops::default();
        let nothing = || Some([].iter());
        assert_eq!(drops.look(nothing(), 3), Lost::Elsewhere);
        let queue = [dropped("QDISC_DROP", 2)];
        assert_eq!(drops.look(Some(&queue), 0), Lost::Here(Place::Qdisc));
        assert_eq!(drops.look(Some(&queue), 40), Lost::Here(Place::Qdisc), "the timeout came later");
        for _ in 0..=PATIENCE {
            drops.look(Some(&queue), 0);
        }
        assert_eq!(drops.look(Some(&queue), 5), Lost::Elsewhere, "that drop was repaired long ago");
        assert_eq!(drops.look(None::<[&Dropped; 0]>, 5), Lost::Unknown);
    }

    #[test]
    fn drops_that_are_no_loss_explain_no_retransmission() {
        let mut drops = Drops::default();
        let old = [dropped("TCP_OLD_DATA", 9), dropped("NOT_SPECIFIED", 7)];
        assert_eq!(drops.look(Some(&old), 1), Lost::Elsewhere);
        let both = [dropped("TCP_OLD_DATA", 99), dropped("SOCKET_BACKLOG", 1)];
        assert_eq!(drops.look(Some(&both), 1), Lost::Here(Place::Backlog));
    }

    #[test]
    fn each_reason_that_advice_explains_has_a_place() {
        for reason in
            ["QDISC_DROP", "FULL_RING", "NETFILTER_DROP", "XDP", "CPU_BACKLOG", "PROTO_MEM", "NOMEM"]
        {
            assert!(Place::of(reason).is_loss(), "{reason}");
            assert!(slowpath_remedies::drop_meaning(reason).is_some(), "{reason}");
        }
    }
}
