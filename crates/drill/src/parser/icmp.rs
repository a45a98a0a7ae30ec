//! ICMP messages of both versions.

use super::cursor::Cursor;
use super::tcp;
use crate::config::{Config, IpVersion};
use crate::lexer::Kind;
use crate::packet::{Echoed, Icmp};
use crate::source::ScriptError;

/// A type, its number, and the names of its codes.
struct Type {
    name: &'static str,
    number: u8,
    codes: &'static [(&'static str, u8)],
}

const fn bare(name: &'static str, number: u8) -> Type {
    Type { name, number, codes: &[] }
}

/// RFC 792 and RFC 1122.
const V4: &[Type] = &[
    bare("echo_reply", 0),
    Type {
        name: "unreachable",
        number: 3,
        codes: &[
            ("net_unreachable", 0),
            ("host_unreachable", 1),
            ("protocol_unreachable", 2),
            ("port_unreachable", 3),
            ("frag_needed", 4),
            ("source_route_failed", 5),
            ("net_unknown", 6),
            ("host_unknown", 7),
            ("source_host_isolated", 8),
            ("net_prohibited", 9),
            ("host_prohibited", 10),
            ("net_unreachable_for_tos", 11),
            ("host_unreachable_for_tos", 12),
            ("packet_filtered", 13),
            ("precedence_violation", 14),
            ("precedence_cutoff", 15),
        ],
    },
    bare("source_quench", 4),
    bare("redirect", 5),
    bare("echo_request", 8),
    bare("time_exceeded", 11),
    bare("parameter_problem", 12),
    bare("timestamp_request", 13),
    bare("timestamp_reply", 14),
    bare("information_request", 15),
    bare("information_reply", 16),
    bare("address_mask_request", 17),
    bare("address_mask_reply", 18),
];

/// RFC 4443.
const V6: &[Type] = &[
    Type {
        name: "unreachable",
        number: 1,
        codes: &[
            ("net_unreachable", 0),
            ("no_route", 0),
            ("admin_prohibited", 1),
            ("not_neighbour", 2),
            ("address_unreachable", 3),
            ("port_unreachable", 4),
        ],
    },
    bare("packet_too_big", 2),
    Type { name: "time_exceeded", number: 3, codes: &[("exceeded_hop_limit", 0), ("exceeded_frag_time", 1)] },
    Type {
        name: "parameter_problem",
        number: 4,
        codes: &[("header_field", 0), ("unknown_next_header", 1), ("unknown_option", 2)],
    },
    bare("echo_request", 128),
    bare("echo_reply", 129),
];

/// The message, after `icmp`.
pub fn message(cursor: &mut Cursor<'_>, config: &Config) -> Result<Icmp, ScriptError> {
    let types = if config.ip_version == IpVersion::V6 { V6 } else { V4 };
    let place = cursor.place();
    let name = cursor.word("the type of an ICMP message")?;
    let known = types.iter().find(|known| known.name == name);
    let Some(kind) = known.map(|known| known.number).or_else(|| numbered(&name, "type_")) else {
        let names: Vec<&str> = types.iter().map(|known| known.name).collect();
        let error = cursor.source().error(place, format!("{name} is not a type of ICMP message"));
        return Err(error.hint(format!("types are {}", names.join(", "))));
    };
    let code = code(cursor, known)?;
    let mtu = match cursor.take_word("mtu") {
        true => Some(cursor.u32("an MTU")?),
        false => None,
    };
    let echo_id = if cursor.take_word("id") { cursor.u16("the identifier of an echo")? } else { 0 };
    Ok(Icmp { kind, code, mtu, echo_id, echoed: echoed(cursor)? })
}

fn numbered(name: &str, prefix: &str) -> Option<u8> {
    name.strip_prefix(prefix)?.parse().ok()
}

fn code(cursor: &mut Cursor<'_>, known: Option<&Type>) -> Result<u8, ScriptError> {
    let place = cursor.place();
    let name = match cursor.peek() {
        Some(Kind::Word(word)) if word != "mtu" && word != "id" => word.clone(),
        _ => return Ok(0),
    };
    let codes = known.map_or(&[][..], |known| known.codes);
    let code = codes.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
    let Some(code) = code.or_else(|| numbered(&name, "code_")) else {
        let names: Vec<&str> = codes.iter().map(|(name, _)| *name).collect();
        let error = cursor.source().error(place, format!("{name} is not a code of this type"));
        return Err(error.hint(format!("codes are {}", names.join(", "))));
    };
    cursor.advance();
    Ok(code)
}

fn echoed(cursor: &mut Cursor<'_>) -> Result<Echoed, ScriptError> {
    if !cursor.take_sign('[') {
        return Ok(Echoed::Tcp { seq: 0, len: 0 });
    }
    let echoed = if cursor.take_word("udp") {
        Echoed::Udp { len: parenthesised(cursor)? }
    } else if cursor.take_word("raw") {
        Echoed::Raw { len: parenthesised(cursor)? }
    } else {
        let (seq, len) = tcp::sequence(cursor)?;
        Echoed::Tcp { seq, len }
    };
    cursor.sign(']', "after the packet that the message is about")?;
    Ok(echoed)
}

fn parenthesised(cursor: &mut Cursor<'_>) -> Result<u32, ScriptError> {
    cursor.sign('(', "bytes")?;
    let len = u32::from(cursor.u16("bytes")?);
    cursor.sign(')', "after bytes")?;
    Ok(len)
}
