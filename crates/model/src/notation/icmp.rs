//! An ICMP error, and the segment that it quotes.

use super::{NotationError, Words, error};
use crate::flow::End;
use crate::icmp::{IcmpError, IcmpKind};
use crate::sequence::StreamOffset;
use std::fmt;

/// Kinds without parameters.
const NAMED: [IcmpKind; 7] = [
    IcmpKind::NetworkUnreachable,
    IcmpKind::HostUnreachable,
    IcmpKind::ProtocolUnreachable,
    IcmpKind::PortUnreachable,
    IcmpKind::AdministrativelyProhibited,
    IcmpKind::TimeExceeded,
    IcmpKind::ReassemblyTimeExceeded,
];

impl fmt::Display for IcmpKind {
    /// `packet-too-big mtu 1400`, `port-unreachable`, `unreachable code 5`, `other type 12 code 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::PacketTooBig { mtu: Some(mtu) } => write!(f, " mtu {mtu}"),
            Self::Unreachable { code } => write!(f, " code {code}"),
            Self::Other { kind, code } => write!(f, " type {kind} code {code}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for IcmpError {
    /// `icmp packet-too-big mtu 1400 about > 1449 from 192.0.2.254 // frame 12`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.about {
            End::A => '>',
            End::B => '<',
        };
        write!(f, "icmp {} about {arrow}", self.kind)?;
        if let Some(seq) = self.seq {
            write!(f, " {seq}")?;
        }
        if let Some(from) = self.from {
            write!(f, " from {from}")?;
        }
        write!(f, " // frame {}", self.frame)
    }
}

/// Parses one, after `icmp`, to the end of the line.
pub(super) fn read(words: &mut Words<'_>) -> Result<IcmpError, NotationError> {
    let kind = kind(words)?;
    if !words.keyword("about") {
        return Err(error("\"about\"", words.0));
    }
    let about = super::segment::sender(words)?;
    let is_placed = words.0.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let seq = if is_placed { Some(StreamOffset(words.number("the sequence number")?)) } else { None };
    let from = if words.keyword("from") { Some(words.number("an address")?) } else { None };
    let mut frame = 0;
    if words.keyword("//") && words.keyword("frame") {
        frame = words.number("the frame")?;
    }
    Ok(IcmpError { about, seq, kind, from, frame })
}

fn kind(words: &mut Words<'_>) -> Result<IcmpKind, NotationError> {
    let name = words.word();
    if let Some(kind) = NAMED.into_iter().find(|kind| kind.name() == name) {
        return Ok(kind);
    }
    let mut field = |name: &str| -> Result<u8, NotationError> {
        if words.keyword(name) {
            words.number("a number below 256")
        } else {
            Err(error("type or code", words.0))
        }
    };
    match name {
        "packet-too-big" => {
            let mtu = if words.keyword("mtu") { Some(words.number("the MTU")?) } else { None };
            Ok(IcmpKind::PacketTooBig { mtu })
        }
        "unreachable" => Ok(IcmpKind::Unreachable { code: field("code")? }),
        "other" => Ok(IcmpKind::Other { kind: field("type")?, code: field("code")? }),
        _ => Err(error("an ICMP error", name)),
    }
}
