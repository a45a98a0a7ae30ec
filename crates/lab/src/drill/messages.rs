//! Messages with control data: `sendmsg` and `recvmsg`.

use super::Start;
use slowpath_drill::call::{ControlMessage, ErrorReport, Statistic};

const SCM_TIMESTAMPING: i32 = 37;
const SCM_TIMESTAMPING_OPT_STATS: i32 = 54;
/// `CMSG_ALIGN`: to a word of the machine.
const WORD: usize = size_of::<usize>();
/// `struct cmsghdr`: a length, a level, a type.
const HEADER: usize = WORD + 8;

/// Control messages in the kernel's format.
pub fn encode(messages: &[ControlMessage]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        let (level, kind, data) = match message {
            ControlMessage::Integer { level, kind, value } => (*level, *kind, value.to_le_bytes().to_vec()),
            ControlMessage::Other { level, kind, data } => (*level, *kind, data.clone()),
            // Only the kernel makes these.
            ControlMessage::Stamp { .. } | ControlMessage::Error(_) | ControlMessage::Statistics(_) => {
                continue;
            }
        };
        bytes.extend((HEADER + data.len()).to_le_bytes());
        bytes.extend(level.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
    }
    bytes
}

/// Control messages that the kernel returned.
pub fn decode(bytes: &[u8], start: &Start) -> Vec<ControlMessage> {
    let mut messages = Vec::new();
    let mut rest = bytes;
    while let Some(header) = rest.get(..HEADER) {
        let length = word(header, 0) as usize;
        let Some(data) = rest.get(HEADER..length) else { break };
        messages.push(message(int(header, WORD), int(header, WORD + 4), data, start));
        rest = rest.get(length.next_multiple_of(WORD)..).unwrap_or(&[]);
    }
    messages
}

fn message(level: i32, kind: i32, data: &[u8], start: &Start) -> ControlMessage {
    let is_error = (level == libc::SOL_IP && kind == libc::IP_RECVERR)
        || (level == libc::SOL_IPV6 && kind == libc::IPV6_RECVERR);
    if level == libc::SOL_SOCKET && kind == SCM_TIMESTAMPING && data.len() >= 16 {
        let micros = (word(data, 0) as i64) * 1_000_000 + (word(data, 8) as i64) / 1000;
        return ControlMessage::Stamp { micros: if micros == 0 { 0 } else { start.micros_since(micros) } };
    }
    if level == libc::SOL_SOCKET && kind == SCM_TIMESTAMPING_OPT_STATS {
        return ControlMessage::Statistics(statistics(data));
    }
    if is_error && data.len() >= 16 {
        return ControlMessage::Error(ErrorReport {
            errno: int(data, 0) as u32,
            origin: data[4],
            kind: data[5],
            code: data[6],
            info: int(data, 8) as u32,
            data: int(data, 12) as u32,
        });
    }
    match data.len() {
        4 => ControlMessage::Integer { level, kind, value: int(data, 0) },
        _ => ControlMessage::Other { level, kind, data: data.to_vec() },
    }
}

/// Attributes of netlink: length and kind in two bytes each, aligned to four.
fn statistics(data: &[u8]) -> Vec<Statistic> {
    let mut statistics = Vec::new();
    let mut rest = data;
    while let [a, b, c, d, after @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*a, *b]));
        let kind = i32::from(u16::from_le_bytes([*c, *d]));
        let Some(value) = length.checked_sub(4).and_then(|length| after.get(..length)) else { break };
        let value = value.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        // Number 0 is padding.
        if kind != 0 {
            statistics.push(Statistic { kind, value: Some(value) });
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    statistics
}

fn int(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, i32::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_round_trip() {
        let start = Start::default();
        let messages = vec![
            ControlMessage::Integer { level: 6, kind: 36, value: -7 },
            ControlMessage::Other { level: 1, kind: 99, data: vec![1, 2, 3] },
        ];
        assert_eq!(decode(&encode(&messages), &start), messages);
        assert_eq!(decode(&[1; 20], &start), []);
    }
}
