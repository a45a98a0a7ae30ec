//! One event.

use super::end;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Label;
use slowpath_model::{Ecn, Event, EventKind, FlowId, Segment};

/// One line of what `slowpath show --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/event/1")]
pub struct EventLine {
    /// `slowpath/event/1`.
    schema: &'static str,
    /// The flow's number.
    flow: u32,
    /// When.
    at_ns: i64,
    /// The segment that passed; `null` for other events.
    segment: Option<SegmentFacts>,
    /// What its data was, as `slowpath show --label` tells; `null` where that was not asked.
    label: Option<&'static str>,
    /// How many events of this flow the source lost here; `null` for other events.
    missed: Option<u64>,
    /// The event as text, as `slowpath show` prints it.
    text: String,
}

/// A TCP segment. Sequence numbers are counted from the SYN of their direction and do not wrap.
#[derive(Serialize, JsonSchema)]
struct SegmentFacts {
    /// The end that sent it: `a` or `b`.
    from: &'static str,
    /// Its flags: S SYN, F FIN, R RST, P PSH, U URG, E ECE, W CWR, A AE, `.` ACK; `-` for none.
    flags: String,
    /// Its first sequence number.
    seq: i64,
    /// Its payload.
    payload_bytes: u32,
    /// Up to where the other direction is acknowledged.
    ack: Option<i64>,
    /// The window field as on the wire: unscaled.
    window_field: u16,
    /// MSS option.
    mss_bytes: Option<u16>,
    /// Window scale option.
    window_scale: Option<u8>,
    /// Whether it carried the SACK-permitted option.
    sack_permitted: bool,
    /// TSval.
    timestamp_value: Option<u32>,
    /// TSecr.
    timestamp_echo: Option<u32>,
    /// SACK blocks: first byte, and the one after the last.
    sack: Vec<[i64; 2]>,
    /// IPv4 identification; `null` for IPv6.
    ip_id: Option<u16>,
    /// TTL or hop limit.
    ttl: u8,
    /// ECN field: `not-ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str,
    /// The frame's number in the recording, from 1.
    frame: u64,
}

impl EventLine {
    /// An event of `flow`, and what its data was where that is known.
    pub fn of(flow: FlowId, event: &Event, label: Option<Label>) -> Self {
        let (segment, missed) = match &event.kind {
            EventKind::Seen(segment) => (Some(SegmentFacts::of(segment)), None),
            EventKind::Missed { events } => (None, Some(*events)),
            _ => (None, None),
        };
        Self {
            schema: "slowpath/event/1",
            flow: flow.0,
            at_ns: event.at.nanos(),
            segment,
            label: label.map(Label::slug),
            missed,
            text: event.to_string(),
        }
    }
}

impl SegmentFacts {
    fn of(segment: &Segment) -> Self {
        Self {
            from: end(segment.from),
            flags: segment.flags.to_string(),
            seq: segment.seq.0,
            payload_bytes: segment.len,
            ack: segment.ack.map(|ack| ack.0),
            window_field: segment.window,
            mss_bytes: segment.mss,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamp_value: segment.timestamps.map(|timestamps| timestamps.val),
            timestamp_echo: segment.timestamps.map(|timestamps| timestamps.ecr),
            sack: segment.sack.as_slice().iter().map(|block| [block.start.0, block.end.0]).collect(),
            ip_id: segment.ip.id,
            ttl: segment.ip.ttl,
            ecn: match segment.ip.ecn {
                Ecn::NotEct => "not-ect",
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                Ecn::Ce => "ce",
            },
            frame: segment.frame,
        }
    }
}
