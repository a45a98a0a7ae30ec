//! The differences between two packets.

use crate::call::Difference;
use crate::packet::{Body, ClassSpec, Datagram, PacketSpec, Segment, TcpOption, ecn_name};
use slowpath_model::{Ecn, Flags};
use std::fmt::Display;

type Compared = Result<(), Difference>;

fn same<T: PartialEq + Display>(name: &str, expected: T, actual: T) -> Compared {
    if expected == actual {
        return Ok(());
    }
    Err(Difference::new(format!("{name} {expected}"), format!("{name} {actual}")))
}

/// Compares a packet with the expected one; timestamps are compared elsewhere.
pub fn compare_headers(expected: &PacketSpec, actual: &Datagram) -> Compared {
    match (&expected.body, &actual.body) {
        (Body::Tcp(script), Body::Tcp(live)) => compare_segments(expected, script, live)?,
        (Body::Udp { len }, Body::Udp { len: own }) => same("payload", *len, *own)?,
        (Body::Icmp(script), Body::Icmp(live)) => {
            same("type", script.kind, live.kind)?;
            same("code", script.code, live.code)?;
        }
        (script, live) => {
            return Err(Difference::new(protocol(script).to_owned(), protocol(live).to_owned()));
        }
    }
    compare_class(expected.ip.class, actual.class)?;
    match expected.ip.ttl {
        Some(ttl) => same("ttl", ttl, actual.ttl),
        None => Ok(()),
    }
}

fn protocol(body: &Body) -> &'static str {
    match body {
        Body::Tcp(_) => "a TCP segment",
        Body::Udp { .. } => "a UDP datagram",
        Body::Icmp(_) => "an ICMP message",
    }
}

fn compare_class(expected: ClassSpec, actual: u8) -> Compared {
    let ecn = Ecn::from_bits(actual);
    match expected {
        ClassSpec::Any => Ok(()),
        ClassSpec::Ecn(expected) => same("ecn", ecn_name(expected), ecn_name(ecn)),
        ClassSpec::Ect01 if matches!(ecn, Ecn::Ect0 | Ecn::Ect1) => Ok(()),
        ClassSpec::Ect01 => same("ecn", "ect01", ecn_name(ecn)),
        ClassSpec::Whole(byte) => same("tos", byte, actual),
    }
}

const ACE_FLAGS: u16 = Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0;

fn compare_segments(expected: &PacketSpec, script: &Segment, live: &Segment) -> Compared {
    same("seq", script.seq, live.seq)?;
    same("payload", script.len, live.len)?;
    if expected.any.ace {
        same("ace", script.ace(), live.ace())?;
        compare_flags(Flags(script.flags.0 & !ACE_FLAGS), Flags(live.flags.0 & !ACE_FLAGS))?;
    } else {
        compare_flags(script.flags, live.flags)?;
    }
    same("ack", script.ack, if live.has(Flags::ACK) { live.ack } else { script.ack })?;
    if !expected.any.window {
        same("win", script.window, live.window)?;
    }
    same("urg", script.urgent, live.urgent)?;
    if expected.any.options { Ok(()) } else { compare_options(&script.options, &live.options) }
}

fn compare_flags(script: Flags, live: Flags) -> Compared {
    let only = |flags| Segment { flags, ..Segment::default() };
    let letters = |flags: Flags| only(flags).to_string().split(' ').next().unwrap_or("-").to_owned();
    same("flags", letters(script), letters(live))
}

/// Compares options in order. The values of timestamps are compared elsewhere.
fn compare_options(script: &[TcpOption], live: &[TcpOption]) -> Compared {
    let show = |options: &[TcpOption]| {
        let names: Vec<String> = options.iter().map(ToString::to_string).collect();
        format!("options <{}>", names.join(","))
    };
    let fit = |(script, live): (&TcpOption, &TcpOption)| match (script, live) {
        (TcpOption::Timestamps(_), TcpOption::Timestamps(_)) => true,
        (script, live) => script == live,
    };
    if script.len() == live.len() && script.iter().zip(live).all(fit) {
        return Ok(());
    }
    Err(Difference::new(show(script), show(live)))
}

/// Compares a packet with the one before, as two parts of a segmented packet.
pub fn compare_parts(before: &Datagram, part: &Datagram) -> Compared {
    let (Some(before), Some(part)) = (before.segment(), part.segment()) else { return Ok(()) };
    // Only the last part has FIN and PSH, only the first CWR.
    let common = !(Flags::FIN.0 | Flags::PSH.0 | Flags::CWR.0);
    same("seq", before.seq.wrapping_add(before.len), part.seq)?;
    same("ack", before.ack, part.ack)?;
    same("win", before.window, part.window)?;
    compare_flags(Flags(before.flags.0 & common), Flags(part.flags.0 & common))
}
