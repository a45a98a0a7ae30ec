//! Packets: encapsulating headers, the IP header, and the body.

use super::cursor::Cursor;
use super::{icmp, tcp};
use crate::config::Config;
use crate::lexer::Kind;
use crate::packet::{AnyOf, Body, ClassSpec, Direction, Encapsulation, IpSpec, PacketSpec};
use crate::source::ScriptError;
use slowpath_model::Ecn;
use std::net::IpAddr;

/// A packet, after its direction.
pub fn packet(
    cursor: &mut Cursor<'_>,
    config: &Config,
    direction: Direction,
) -> Result<PacketSpec, ScriptError> {
    let around = encapsulations(cursor)?;
    let place = cursor.place();
    let ip = ip_spec(cursor)?;
    if ip.class == ClassSpec::Ect01 && direction == Direction::In {
        let error = cursor.source().error(place, "[ect01] is for packets that are expected");
        return Err(error.hint("write [ect0] or [ect1]"));
    }
    if cursor.take_word("icmp") {
        let body = Body::Icmp(icmp::message(cursor, config)?);
        return Ok(PacketSpec { around, ip, ports: None, body, any: AnyOf::default() });
    }
    if cursor.take_word("udp") {
        let ports = ports(cursor)?;
        cursor.sign('(', "the payload of a UDP datagram")?;
        let len = u32::from(cursor.u16("bytes of payload")?);
        cursor.sign(')', "after bytes of payload")?;
        return Ok(PacketSpec { around, ip, ports, body: Body::Udp { len }, any: AnyOf::default() });
    }
    let ports = ports(cursor)?;
    let (segment, any) = tcp::segment(cursor, direction)?;
    Ok(PacketSpec { around, ip, ports, body: Body::Tcp(segment), any })
}

fn encapsulations(cursor: &mut Cursor<'_>) -> Result<Vec<Encapsulation>, ScriptError> {
    let mut around = Vec::new();
    loop {
        if cursor.take_word("ipv4") || cursor.take_word("ipv6") {
            ip_spec(cursor)?;
            let source = address(cursor)?;
            cursor.sign('>', "between two addresses")?;
            let destination = address(cursor)?;
            cursor.sign(':', "after a header")?;
            around.push(Encapsulation::Ip { source, destination });
        } else if cursor.take_word("gre") || cursor.take_word("GREv0") {
            skip_header(cursor)?;
            around.push(Encapsulation::Gre);
        } else if cursor.take_word("mpls") {
            skip_header(cursor)?;
            around.push(Encapsulation::Mpls);
        } else {
            return Ok(around);
        }
    }
}

/// The fields of a tunnel's header, which no endpoint here inspects.
fn skip_header(cursor: &mut Cursor<'_>) -> Result<(), ScriptError> {
    while !cursor.take_sign(':') {
        cursor.any("a colon after the header")?;
    }
    Ok(())
}

fn address(cursor: &mut Cursor<'_>) -> Result<IpAddr, ScriptError> {
    let address = match cursor.peek() {
        Some(Kind::Ipv4(address)) => IpAddr::V4(*address),
        Some(Kind::Ipv6(address)) => IpAddr::V6(*address),
        _ => return Err(cursor.expected("an address")),
    };
    cursor.advance();
    Ok(address)
}

/// IP header fields in brackets or parentheses.
fn ip_spec(cursor: &mut Cursor<'_>) -> Result<IpSpec, ScriptError> {
    let mut ip = IpSpec::default();
    let close = match cursor.peek() {
        Some(Kind::Sign('[')) => ']',
        Some(Kind::Sign('(')) => ')',
        _ => return Ok(ip),
    };
    cursor.advance();
    loop {
        ip_item(cursor, &mut ip)?;
        if cursor.take_sign(close) {
            return Ok(ip);
        }
        cursor.sign(',', &format!("or {close}"))?;
    }
}

fn ip_item(cursor: &mut Cursor<'_>, ip: &mut IpSpec) -> Result<(), ScriptError> {
    let place = cursor.place();
    let word = cursor.word("a field of the IP header")?;
    match word.as_str() {
        "noecn" => ip.class = ClassSpec::Ecn(Ecn::NotEct),
        "ect0" => ip.class = ClassSpec::Ecn(Ecn::Ect0),
        "ect1" => ip.class = ClassSpec::Ecn(Ecn::Ect1),
        "ce" => ip.class = ClassSpec::Ecn(Ecn::Ce),
        "ect01" => ip.class = ClassSpec::Ect01,
        "tos" => ip.class = ClassSpec::Whole(cursor.u8("a traffic class")?),
        "flowlabel" => {
            let label = cursor.integer("a flow label", 0..=0xf_ffff)?;
            ip.flow_label = u32::try_from(label).ok();
        }
        "ttl" => ip.ttl = Some(cursor.u8("a time to live")?),
        _ => {
            let error = cursor.source().error(place, format!("{word} is not a field of the IP header"));
            return Err(error.hint("write noecn, ect0, ect1, ce, ect01, tos 0x.., flowlabel 0x.. or ttl N"));
        }
    }
    Ok(())
}

fn ports(cursor: &mut Cursor<'_>) -> Result<Option<(u16, u16)>, ScriptError> {
    let named =
        matches!(cursor.peek(), Some(Kind::Integer(_))) && cursor.peek_after(1) == Some(&Kind::Sign('>'));
    if !named {
        return Ok(None);
    }
    let source = cursor.u16("a port")?;
    cursor.advance();
    Ok(Some((source, cursor.u16("a port")?)))
}
