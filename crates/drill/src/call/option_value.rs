//! Values of socket options, as scripts write them and as the kernel stores them.

use super::arguments::{Fault, Fields, as_int, kind, number};
use crate::script::Expr;

/// The bytes of an option's value, on a 64-bit little-endian machine.
pub fn bytes(expr: &Expr) -> Result<Vec<u8>, Fault> {
    match expr {
        Expr::Text(text) => Ok(text.clone()),
        Expr::List(items) => match &items[..] {
            [Expr::Struct(_)] => bytes(&items[0]),
            items => items.iter().map(int).collect::<Result<Vec<_>, _>>().map(|parts| parts.concat()),
        },
        Expr::Struct(_) => structure(&Fields::of(expr)?),
        Expr::Apply(name, arguments, None) if name == "inet6_addr" => match &arguments[..] {
            [Expr::Text(text)] => {
                let address: Option<std::net::Ipv6Addr> =
                    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                let address = address.ok_or_else(|| "inet6_addr takes an IPv6 address".to_owned())?;
                Ok(address.octets().to_vec())
            }
            _ => Err("inet6_addr takes an address in quotes".to_owned()),
        },
        other => Err(format!("a value in brackets, a string or a struct is expected, not {}", kind(other))),
    }
}

fn int(expr: &Expr) -> Result<Vec<u8>, Fault> {
    let value = number(expr)?;
    // Wider values are for 64-bit options, such as SO_MAX_PACING_RATE.
    Ok(as_int(value).map_or_else(|| value.to_le_bytes().to_vec(), |value| value.to_le_bytes().to_vec()))
}

fn structure(fields: &Fields<'_>) -> Result<Vec<u8>, Fault> {
    if fields.find("onoff").is_some() {
        return Ok([fields.int("onoff")?.to_le_bytes(), fields.int("linger")?.to_le_bytes()].concat());
    }
    if fields.find("tv_sec").is_some() {
        return Ok([fields.number("tv_sec")?.to_le_bytes(), fields.number("tv_usec")?.to_le_bytes()].concat());
    }
    let numbers = fields.all().iter().map(|field| match field {
        Expr::Assign(_, value) => int(value),
        other => int(other),
    });
    numbers.collect::<Result<Vec<_>, _>>().map(|parts| parts.concat())
}
