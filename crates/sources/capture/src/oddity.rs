//! Oddities of frames and blocks.

/// An oddity of a frame or block. Some keep a frame from becoming an event ([`Oddity::skips`]), the others are only
/// noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Oddity {
    /// Skipped: neither IPv4 nor IPv6; [`CaptureSummary::other_protocols`](crate::CaptureSummary::other_protocols) has
    /// the protocol.
    NotIp,
    /// Skipped: IP, but not TCP; the protocols are listed there too.
    NotTcp,
    /// Skipped: a fragment of a TCP segment other than its first.
    LaterFragment,
    /// Skipped: the first fragment of a TCP segment whose other fragments are missing, in a capture that has those of
    /// other segments between the same hosts.
    MissingFragments,
    /// Skipped: the snapshot length cut a header off.
    TruncatedHeader,
    /// Skipped: a header contradicts itself, such as a TCP data offset below 5.
    MalformedHeader,
    /// Skipped: an unsupported link type.
    UnsupportedLink,
    /// Skipped: too many nested headers.
    TooDeep,
    /// Skipped: captured on an interface that the capture does not describe.
    UnknownInterface,
    /// Skipped: a packet block that contradicts itself.
    MalformedBlock,
    /// Skipped: a pcapng block that is not a packet (a journal entry, a system call, a custom block), but that
    /// Wireshark numbers as a frame.
    NotAPacket,
    /// Skipped: flow numbers ran out.
    TooManyFlows,
    /// Noted: the first fragment of a TCP segment. Its length is the fragment's; the rest is not seen.
    FirstFragment,
    /// Noted: the snapshot length cut TCP options off; those before the cut are kept.
    OptionsCut,
    /// Noted: a TCP option contradicts itself; those before it are kept.
    MalformedOptions,
    /// Noted: an IP length of 0 (segmentation offload, jumbograms); the frame's length is used.
    LengthFromFrame,
    /// Noted: the IP header states more bytes than the frame had.
    LengthBeyondFrame,
    /// Noted: a record's captured length exceeds its length on the wire.
    CapturedBeyondWire,
    /// Noted: a record too large to examine whole; its headers were read.
    LargeRecord,
    /// Noted: a pcapng block of an unknown type.
    UnknownBlock,
    /// Noted: more interfaces than are stored; frames on the rest are skipped.
    TooManyInterfaces,
}

impl Oddity {
    /// The number of kinds.
    pub const COUNT: usize = Self::TooManyInterfaces as usize + 1;

    /// All of them, in their order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NotIp,
        Self::NotTcp,
        Self::LaterFragment,
        Self::MissingFragments,
        Self::TruncatedHeader,
        Self::MalformedHeader,
        Self::UnsupportedLink,
        Self::TooDeep,
        Self::UnknownInterface,
        Self::MalformedBlock,
        Self::NotAPacket,
        Self::TooManyFlows,
        Self::FirstFragment,
        Self::OptionsCut,
        Self::MalformedOptions,
        Self::LengthFromFrame,
        Self::LengthBeyondFrame,
        Self::CapturedBeyondWire,
        Self::LargeRecord,
        Self::UnknownBlock,
        Self::TooManyInterfaces,
    ];

    /// Whether it keeps a frame from becoming an event.
    pub const fn skips(self) -> bool {
        (self as u8) < Self::FirstFragment as u8
    }

    /// Its name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIp => "not-ip",
            Self::NotTcp => "not-tcp",
            Self::LaterFragment => "later-fragment",
            Self::MissingFragments => "missing-fragments",
            Self::TruncatedHeader => "truncated-header",
            Self::MalformedHeader => "malformed-header",
            Self::UnsupportedLink => "unsupported-link",
            Self::TooDeep => "too-deep",
            Self::UnknownInterface => "unknown-interface",
            Self::MalformedBlock => "malformed-block",
            Self::NotAPacket => "not-a-packet",
            Self::TooManyFlows => "too-many-flows",
            Self::FirstFragment => "first-fragment",
            Self::OptionsCut => "options-cut",
            Self::MalformedOptions => "malformed-options",
            Self::LengthFromFrame => "length-from-frame",
            Self::LengthBeyondFrame => "length-beyond-frame",
            Self::CapturedBeyondWire => "captured-beyond-wire",
            Self::LargeRecord => "large-record",
            Self::UnknownBlock => "unknown-block",
            Self::TooManyInterfaces => "too-many-interfaces",
        }
    }

    /// In words, after a number of frames: "12 frames: the snapshot length cut a header off".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NotIp => "neither IPv4 nor IPv6",
            Self::NotTcp => "IP, but not TCP",
            Self::LaterFragment => "a fragment of a TCP segment other than its first",
            Self::MissingFragments => {
                "the first fragment of a TCP segment whose other fragments did not arrive"
            }
            Self::TruncatedHeader => "the snapshot length cut a header off",
            Self::MalformedHeader => "a header contradicts itself",
            Self::UnsupportedLink => "the link type is not known to slowpath",
            Self::TooDeep => "more headers inside each other than slowpath follows",
            Self::UnknownInterface => "captured on an interface that the capture does not describe",
            Self::MalformedBlock => "a packet block that contradicts itself",
            Self::NotAPacket => "a pcapng block with something else than a packet",
            Self::TooManyFlows => "flow numbers ran out",
            Self::FirstFragment => "the first fragment of a TCP segment; the rest of it is not seen",
            Self::OptionsCut => "the snapshot length cut TCP options off",
            Self::MalformedOptions => "a TCP option contradicts itself",
            Self::LengthFromFrame => "an IP length of 0; the frame's length was taken",
            Self::LengthBeyondFrame => "the IP header claims more bytes than the frame had",
            Self::CapturedBeyondWire => "more bytes captured than there were on the wire",
            Self::LargeRecord => "a record too large to look at whole; its headers were read",
            Self::UnknownBlock => "a pcapng block of a type not known to slowpath",
            Self::TooManyInterfaces => "more interfaces than slowpath keeps; frames on the rest are skipped",
        }
    }
}

/// A set of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities(u32);

impl Oddities {
    /// None.
    pub(crate) const NONE: Self = Self(0);

    /// Whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set contains `oddity`.
    pub const fn has(self, oddity: Oddity) -> bool {
        self.0 & (1 << oddity as u32) != 0
    }

    pub(crate) const fn add(&mut self, oddity: Oddity) {
        self.0 |= 1 << oddity as u32;
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Oddity> {
        Oddity::ALL.into_iter().filter(move |oddity| self.has(*oddity))
    }
}
