//! Packets: as scripts write them, and as exchanged between runner and kernel.

use slowpath_model::{Ecn, Flags, Timestamps};
use std::fmt;
use std::net::IpAddr;

/// The direction of a packet, seen from the kernel under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Injected.
    In,
    /// Expected.
    Out,
}

/// A packet as written in a script: its contents, and which of them are not compared.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketSpec {
    /// Encapsulating headers, outermost first.
    pub around: Vec<Encapsulation>,
    /// The IP header fields in the script.
    pub ip: IpSpec,
    /// Source and destination port, if the script states them.
    pub ports: Option<(u16, u16)>,
    /// The rest of it.
    pub body: Body,
    /// The parts of a segment that are not compared.
    pub any: AnyOf,
}

/// The parts of an expected segment that are not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyOf {
    /// The window: none is written.
    pub window: bool,
    /// The options: `<...>` is written.
    pub options: bool,
    /// ECE, CWR and AE are one counter, not three flags: a digit is written.
    pub ace: bool,
}

/// An encapsulating header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encapsulation {
    /// IP in IP.
    Ip {
        /// From.
        source: IpAddr,
        /// To.
        destination: IpAddr,
    },
    /// GRE (RFC 2784).
    Gre,
    /// A stack of MPLS labels.
    Mpls,
}

/// The IP header fields in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpSpec {
    /// The traffic class.
    pub class: ClassSpec,
    /// The flow label of IPv6.
    pub flow_label: Option<u32>,
    /// Time to live, or hop limit.
    pub ttl: Option<u8>,
}

/// The traffic class in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassSpec {
    /// Not stated: zero if injected, anything if expected.
    #[default]
    Any,
    /// The two bits of ECN.
    Ecn(Ecn),
    /// Either of the ECN-capable codes.
    Ect01,
    /// The whole byte.
    Whole(u8),
}

/// A packet to or from a kernel. The addresses are the run's.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram {
    /// The sender's port; 0 for ICMP.
    pub source_port: u16,
    /// The receiver's port; 0 for ICMP.
    pub destination_port: u16,
    /// The traffic class.
    pub class: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The flow label; 0 for IPv4.
    pub flow_label: u32,
    /// The rest of it.
    pub body: Body,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp {
        /// Bytes of payload.
        len: u32,
    },
    /// An ICMP message.
    Icmp(Icmp),
}

/// A TCP segment. Its payload is zeros: only the length matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Control bits.
    pub flags: Flags,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Window field, unscaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options in order, including padding.
    pub options: Vec<TcpOption>,
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpOption {
    /// End of the list.
    End,
    /// No operation.
    Nop,
    /// Maximum segment size, in bytes.
    Mss(u16),
    /// Window scale: the shift count.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks.
    Sack(Vec<(u32, u32)>),
    /// Timestamps.
    Timestamps(Timestamps),
    /// A Fast Open cookie (RFC 7413).
    FastOpen(Vec<u8>),
    /// A Fast Open cookie under the experimental number (RFC 6994).
    FastOpenExperimental(Vec<u8>),
    /// An MD5 digest (RFC 2385).
    Md5(Vec<u8>),
    /// Byte counters of Accurate ECN (RFC 9768, section 3.2.3), in the order of the kind.
    AccEcn {
        /// Whether the counter of ECT(1) comes first.
        ect1_first: bool,
        /// 24-bit counters, up to three.
        counters: Vec<u32>,
    },
    /// Anything else.
    Other {
        /// Its kind.
        kind: u8,
        /// The data after kind and length.
        data: Vec<u8>,
    },
}

/// An ICMP message. Type and code are those of the IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Its type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// The MTU that it reports.
    pub mtu: Option<u32>,
    /// The identifier of an echo.
    pub echo_id: u16,
    /// The quoted packet.
    pub echoed: Echoed,
}

/// The packet that an ICMP message quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echoed {
    /// A segment, by its sequence number.
    Tcp {
        /// The first sequence number.
        seq: u32,
        /// Bytes of payload.
        len: u32,
    },
    /// A UDP datagram.
    Udp {
        /// Bytes of payload.
        len: u32,
    },
    /// Unstructured bytes.
    Raw {
        /// Bytes.
        len: u32,
    },
}

impl Segment {
    /// The timestamps among its options.
    pub fn timestamps(&self) -> Option<Timestamps> {
        self.options.iter().find_map(|option| match option {
            TcpOption::Timestamps(timestamps) => Some(*timestamps),
            _ => None,
        })
    }

    /// The timestamps among its options, mutable.
    pub fn timestamps_mut(&mut self) -> Option<&mut Timestamps> {
        self.options.iter_mut().find_map(|option| match option {
            TcpOption::Timestamps(timestamps) => Some(timestamps),
            _ => None,
        })
    }

    /// Shifts the numbers of the acknowledged direction.
    pub fn shift_acknowledged(&mut self, by: u32) {
        if self.flags.has(Flags::ACK) {
            self.ack = self.ack.wrapping_add(by);
        }
        for option in &mut self.options {
            if let TcpOption::Sack(blocks) = option {
                for (start, end) in blocks {
                    *start = start.wrapping_add(by);
                    *end = end.wrapping_add(by);
                }
            }
        }
    }

    /// ECE, CWR and AE as the counter of Accurate ECN (RFC 9768, section 3.2.2).
    pub fn ace(&self) -> u8 {
        let bit = |flag| u8::from(self.flags.has(flag));
        bit(Flags::AE) << 2 | bit(Flags::CWR) << 1 | bit(Flags::ECE)
    }

    /// Whether all bits of `flag` are set.
    pub fn has(&self, flag: Flags) -> bool {
        self.flags.has(flag)
    }
}

impl Datagram {
    /// The segment in it.
    pub fn segment(&self) -> Option<&Segment> {
        match &self.body {
            Body::Tcp(segment) => Some(segment),
            _ => None,
        }
    }

    /// The segment in it, mutable.
    pub fn segment_mut(&mut self) -> Option<&mut Segment> {
        match &mut self.body {
            Body::Tcp(segment) => Some(segment),
            _ => None,
        }
    }
}

/// The letters of the flags, in the order of writing.
pub const FLAG_LETTERS: &[(char, Flags)] = &[
    ('F', Flags::FIN),
    ('S', Flags::SYN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
    ('.', Flags::ACK),
];

fn write_flags(f: &mut fmt::Formatter<'_>, flags: Flags) -> fmt::Result {
    if flags == Flags::default() {
        return f.write_str("-");
    }
    for (letter, _) in FLAG_LETTERS.iter().filter(|(_, flag)| flags.has(*flag)) {
        write!(f, "{letter}")?;
    }
    Ok(())
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_flags(f, self.flags)?;
        write!(f, " {}:{}({})", self.seq, self.seq.wrapping_add(self.len), self.len)?;
        if self.has(Flags::ACK) {
            write!(f, " ack {}", self.ack)?;
        }
        write!(f, " win {}", self.window)?;
        if self.has(Flags::URG) {
            write!(f, " urg {}", self.urgent)?;
        }
        write_options(f, &self.options)
    }
}

fn write_options(f: &mut fmt::Formatter<'_>, options: &[TcpOption]) -> fmt::Result {
    if options.is_empty() {
        return Ok(());
    }
    f.write_str(" <")?;
    for (index, option) in options.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        write!(f, "{separator}{option}")?;
    }
    f.write_str(">")
}

fn write_hex(f: &mut fmt::Formatter<'_>, name: &str, bytes: &[u8]) -> fmt::Result {
    f.write_str(name)?;
    for (index, byte) in bytes.iter().enumerate() {
        write!(f, "{}{byte:02x}", if index == 0 { " " } else { "" })?;
    }
    Ok(())
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("eol"),
            Self::Nop => f.write_str("nop"),
            Self::Mss(bytes) => write!(f, "mss {bytes}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            Self::Timestamps(Timestamps { val, ecr }) => write!(f, "TS val {val} ecr {ecr}"),
            Self::FastOpen(cookie) => write_hex(f, "FO", cookie),
            Self::FastOpenExperimental(cookie) => write_hex(f, "FOEXP", cookie),
            Self::Md5(digest) => write_hex(f, "md5", digest),
            Self::AccEcn { ect1_first, counters } => {
                f.write_str("ECN")?;
                let names = if *ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
                names.iter().zip(counters).try_for_each(|(name, count)| write!(f, " {name} {count}"))
            }
            Self::Other { kind, data } => {
                write!(f, "exp {kind}")?;
                write_hex(f, "", data)
            }
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(segment) => segment.fmt(f),
            Self::Udp { len } => write!(f, "udp ({len})"),
            Self::Icmp(icmp) => {
                write!(f, "icmp type_{} code_{}", icmp.kind, icmp.code)?;
                if let Some(mtu) = icmp.mtu {
                    write!(f, " mtu {mtu}")?;
                }
                match icmp.echoed {
                    Echoed::Tcp { seq, len } => write!(f, " [{seq}:{}({len})]", seq.wrapping_add(len)),
                    Echoed::Udp { len } => write!(f, " [udp ({len})]"),
                    Echoed::Raw { len } => write!(f, " [raw ({len})]"),
                }
            }
        }
    }
}

/// The name of an ECN codepoint in scripts.
pub const fn ecn_name(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "noecn",
        Ecn::Ect1 => "ect1",
        Ecn::Ect0 => "ect0",
        Ecn::Ce => "ce",
    }
}

impl fmt::Display for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ecn::from_bits(self.class) {
            Ecn::NotEct => {}
            ecn => write!(f, "[{}] ", ecn_name(ecn))?,
        }
        self.body.fmt(f)
    }
}

impl fmt::Display for PacketSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip.class {
            ClassSpec::Any => {}
            ClassSpec::Ecn(ecn) => write!(f, "[{}] ", ecn_name(ecn))?,
            ClassSpec::Ect01 => f.write_str("[ect01] ")?,
            ClassSpec::Whole(byte) => write!(f, "[tos {byte:#04x}] ")?,
        }
        let Body::Tcp(segment) = &self.body else { return self.body.fmt(f) };
        write_flags(f, segment.flags)?;
        write!(f, " {}:{}({})", segment.seq, segment.seq.wrapping_add(segment.len), segment.len)?;
        if segment.has(Flags::ACK) {
            write!(f, " ack {}", segment.ack)?;
        }
        if !self.any.window {
            write!(f, " win {}", segment.window)?;
        }
        if segment.has(Flags::URG) {
            write!(f, " urg {}", segment.urgent)?;
        }
        if self.any.options { f.write_str(" <...>") } else { write_options(f, &segment.options) }
    }
}
