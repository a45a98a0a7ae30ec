//! Link types, by their numbers in capture files.

/// A link-layer header type by its number in capture files (the Tcpdump group's `LINKTYPE_` values; a few old
/// files have a `DLT_` value instead).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: an address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP.
    pub const PPP: Self = Self(9);
    /// FDDI.
    pub const FDDI: Self = Self(10);
    /// PPP in HDLC-like framing.
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE without the Ethernet header.
    pub const PPP_ETHERNET: Self = Self(51);
    /// Cisco HDLC.
    pub const C_HDLC: Self = Self(104);
    /// IEEE 802.11.
    pub const IEEE802_11: Self = Self(105);
    /// Radiotap before IEEE 802.11.
    pub const RADIOTAP: Self = Self(127);
    /// Per-packet information before a frame of another link type.
    pub const PPI: Self = Self(192);
    /// What netfilter logs (`nflog` of `tcpdump -i`).
    pub const NFLOG: Self = Self(239);
    /// IP over InfiniBand.
    pub const IPOIB: Self = Self(242);
    /// Raw IP of either version.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: an address family in network order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
    /// Raw IP in the numbering of OpenBSD and some BSDs (`DLT_RAW`).
    pub const RAW_OPENBSD: Self = Self(14);
    /// Raw IP in the numbering of the other systems (`DLT_RAW`).
    pub const RAW_BSD: Self = Self(12);

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NULL => "BSD loopback",
            Self::ETHERNET => "Ethernet",
            Self::PPP => "PPP",
            Self::FDDI => "FDDI",
            Self::PPP_HDLC => "PPP (HDLC)",
            Self::PPP_ETHERNET => "PPPoE",
            Self::RAW | Self::RAW_OPENBSD | Self::RAW_BSD => "raw IP",
            Self::C_HDLC => "Cisco HDLC",
            Self::IEEE802_11 => "802.11",
            Self::RADIOTAP => "802.11 with radiotap",
            Self::PPI => "PPI",
            Self::NFLOG => "NFLOG",
            Self::IPOIB => "IP over InfiniBand",
            Self::LOOP => "OpenBSD loopback",
            Self::LINUX_SLL => "Linux cooked",
            Self::LINUX_SLL2 => "Linux cooked v2",
            Self::IPV4 => "raw IPv4",
            Self::IPV6 => "raw IPv6",
            _ => "not supported",
        }
    }
}
