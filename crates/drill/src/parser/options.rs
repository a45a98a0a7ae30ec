//! TCP options of a segment.

use super::cursor::Cursor;
use crate::lexer::Kind;
use crate::packet::TcpOption;
use crate::source::ScriptError;
use crate::wire::options as wire;
use slowpath_model::Timestamps;

/// The maximum length of options in a header (RFC 9293, section 3.1).
pub const ROOM: usize = 40;

/// The length of options on the wire.
pub fn length(options: &[TcpOption]) -> usize {
    wire::encode(options).len()
}

/// The options in `<...>`; empty without brackets, `None` for `<...>` itself.
pub fn options(cursor: &mut Cursor<'_>) -> Result<Option<Vec<TcpOption>>, ScriptError> {
    // An event may begin with `<` too, but not directly after a packet: its time comes first.
    if !cursor.take_sign('<') {
        return Ok(Some(Vec::new()));
    }
    if cursor.peek() == Some(&Kind::Ellipsis) {
        cursor.advance();
        cursor.sign('>', "after ...")?;
        return Ok(None);
    }
    let mut options = Vec::new();
    loop {
        options.push(option(cursor)?);
        if cursor.take_sign('>') {
            return Ok(Some(options));
        }
        cursor.sign(',', "or >, after an option")?;
    }
}

fn option(cursor: &mut Cursor<'_>) -> Result<TcpOption, ScriptError> {
    let place = cursor.place();
    let name = cursor.word("an option of TCP")?;
    Ok(match name.as_str() {
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::End,
        "mss" => TcpOption::Mss(cursor.u16("a maximum segment size")?),
        "wscale" => TcpOption::WindowScale(cursor.u8("a shift count")?),
        "sackOK" => TcpOption::SackPermitted,
        "sack" => TcpOption::Sack(blocks(cursor)?),
        "TS" => timestamps(cursor)?,
        "FO" => TcpOption::FastOpen(hex(cursor)?),
        "FOEXP" => TcpOption::FastOpenExperimental(hex(cursor)?),
        "md5" => TcpOption::Md5(hex(cursor)?),
        "ECN" => accurate_ecn(cursor)?,
        "exp" => TcpOption::Other { kind: cursor.u8("the kind of an option")?, data: hex(cursor)? },
        _ => {
            let error = cursor.source().error(place, format!("{name} is not an option of TCP that is known"));
            return Err(
                error.hint("options are mss, wscale, sackOK, sack, TS, FO, FOEXP, md5, ECN, nop, eol, exp")
            );
        }
    })
}

fn blocks(cursor: &mut Cursor<'_>) -> Result<Vec<(u32, u32)>, ScriptError> {
    let mut blocks = Vec::new();
    while blocks.is_empty() || matches!(cursor.peek(), Some(Kind::Integer(_))) {
        let start = cursor.u32("the left edge of a SACK block")?;
        cursor.sign(':', "between two edges")?;
        blocks.push((start, cursor.u32("the right edge of a SACK block")?));
    }
    Ok(blocks)
}

fn timestamps(cursor: &mut Cursor<'_>) -> Result<TcpOption, ScriptError> {
    if !cursor.take_word("val") {
        return Err(cursor.expected("val").hint("write TS val N ecr N"));
    }
    let val = cursor.u32("a timestamp")?;
    if !cursor.take_word("ecr") {
        return Err(cursor.expected("ecr").hint("write TS val N ecr N"));
    }
    Ok(TcpOption::Timestamps(Timestamps { val, ecr: cursor.u32("an echoed timestamp")? }))
}

/// Counters by name; the first selects the order (RFC 9768, section 3.2.3).
fn accurate_ecn(cursor: &mut Cursor<'_>) -> Result<TcpOption, ScriptError> {
    let ect1_first = cursor.is_word("e1b");
    let order = if ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
    let mut counters = Vec::new();
    for name in order {
        if !cursor.take_word(name) {
            break;
        }
        let count = cursor.integer("a 24-bit counter", 0..=0xff_ffff)?;
        counters.push(u32::try_from(count).unwrap_or(0));
    }
    Ok(TcpOption::AccEcn { ect1_first, counters })
}

fn hex(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, ScriptError> {
    let place = cursor.place();
    let Some(digits) = cursor.hex_blob() else { return Ok(Vec::new()) };
    let odd = !digits.len().is_multiple_of(2);
    let bytes: Option<Vec<u8>> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect();
    match bytes {
        Some(bytes) if !odd => Ok(bytes),
        _ => {
            let error = cursor.source().error(place, format!("{digits} is not bytes in hexadecimal"));
            Err(error.hint("write two digits for each byte"))
        }
    }
}
