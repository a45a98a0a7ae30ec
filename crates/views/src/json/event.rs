//! One event.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Label;
use slowpath_model::{
    CaState, Checksum, Ecn, End, Event, EventKind, FlowId, IcmpError, IcmpKind, Segment, SocketSample,
};
use std::collections::BTreeMap;

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
    /// What kind of event: `packet`, `icmp-error`, `dropped`, `written`, `read`, `waited`, `held`, `sampled`, `marked` or `missed`.
    kind: &'static str,
    /// The end on whose host it happened, `a` or `b`; `null` where the vantage says that.
    end: Option<&'static str>,
    /// The segment that passed or was dropped; `null` for other events.
    segment: Option<SegmentFacts>,
    /// The ICMP error that passed; `null` for other events.
    icmp: Option<IcmpFacts>,
    /// Why a segment was dropped, where a packet waited, what held the sender, or what turn a socket took; `null` for other events.
    what: Option<&'static str>,
    /// How much was written, read, or waited; the size of a buffer that changed; `null` for other events.
    amount_bytes: Option<u64>,
    /// How long it waited or was held; `null` for other events.
    lasted_ns: Option<u64>,
    /// How many packets waited so long, or times a process did; `null` for other events.
    times: Option<u64>,
    /// The state of a socket; `null` for other events.
    sample: Option<Sample>,
    /// The label of its data, as `slowpath show --label` prints it; `null` if not requested.
    label: Option<&'static str>,
    /// How many events of this flow the source lost here; `null` for other events.
    missed: Option<u64>,
    /// The event as text, as `slowpath show` prints it.
    text: String,
}

/// An ICMP or ICMPv6 error about a segment of the flow.
#[derive(Serialize, JsonSchema)]
struct IcmpFacts {
    /// What it says: `packet-too-big`, `network-unreachable`, `host-unreachable`, `protocol-unreachable`,
    /// `port-unreachable`, `administratively-prohibited`, `unreachable`, `time-exceeded`, `reassembly-time-exceeded` or
    /// `other`.
    what: &'static str,
    /// The MTU that a packet was too big for; `null` in other errors, and from routers older than RFC 1191.
    mtu_bytes: Option<u32>,
    /// The end that sent the segment: `a` or `b`.
    about: &'static str,
    /// The sequence number of the segment; `null` if it is nowhere near those of the flow.
    seq: Option<i64>,
    /// The address that the error came from.
    from: Option<String>,
    /// The frame's number in the recording, from 1.
    frame: u64,
}

/// The state of a socket. What the source could not see is `null`.
#[derive(Serialize, JsonSchema)]
struct Sample {
    /// The congestion machine's state: `open`, `disorder`, `cwr`, `recovery` or `loss`.
    ca_state: Option<&'static str>,
    /// The numbers, by the names, with the units and meanings of the table of samples in a recording (the handbook's
    /// page on recordings).
    #[serde(flatten)]
    numbers: BTreeMap<&'static str, Option<u32>>,
}

impl Sample {
    fn of(sample: &SocketSample) -> Self {
        let names = SocketSample::FIELDS.iter().map(|(name, ..)| *name);
        Self { ca_state: sample.ca_state.map(CaState::name), numbers: names.zip(sample.values()).collect() }
    }
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
    /// Its acknowledgment number.
    ack: Option<i64>,
    /// The window field as on the wire: unscaled.
    window_field: u16,
    /// MSS option.
    mss_bytes: Option<u16>,
    /// Window scale option.
    window_scale: Option<u8>,
    /// Whether it carried the SACK-permitted option.
    sack_permitted: bool,
    /// Whether it carried the Fast Open option, with a cookie or without.
    fast_open: bool,
    /// Whether the recording has only a part of its options: others may have been there.
    options_cut: bool,
    /// TSval.
    timestamp_value: Option<u32>,
    /// TSecr.
    timestamp_echo: Option<u32>,
    /// SACK blocks: first byte, and the one after the last.
    sack: Vec<[i64; 2]>,
    /// How many more SACK blocks lie nowhere near what was sent.
    sack_outside: u8,
    /// IPv4 identification; `null` for IPv6.
    ip_id: Option<u16>,
    /// TTL or hop limit.
    ttl: u8,
    /// ECN field: `not-ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str,
    /// Whether the TCP checksum is right; `null` where it was not verified.
    is_checksum_right: Option<bool>,
    /// The frame's number in the recording, from 1.
    frame: u64,
}

impl EventLine {
    /// An event of `flow`, with the label of its data if it is known.
    pub fn of(flow: FlowId, event: &Event, label: Option<Label>) -> Self {
        let kind = &event.kind;
        let mut line = Self {
            schema: "slowpath/event/1",
            flow: flow.0,
            at_ns: event.at.nanos(),
            kind: kind.name(),
            end: kind.end().map(End::letter),
            segment: kind.segment().map(SegmentFacts::of),
            icmp: None,
            what: None,
            amount_bytes: None,
            lasted_ns: None,
            times: None,
            sample: None,
            label: label.map(Label::slug),
            missed: None,
            text: event.to_string(),
        };
        match kind {
            EventKind::IcmpError(error) => line.icmp = Some(IcmpFacts::of(error)),
            EventKind::Dropped(_, why) => line.what = Some(why.name()),
            EventKind::Written { amount, .. } | EventKind::Read { amount, .. } => {
                line.amount_bytes = Some(amount.get());
            }
            EventKind::Waited { on, lasted, amount, times, .. } => {
                line.what = Some(on.name());
                line.lasted_ns = u64::try_from(lasted.as_nanos()).ok();
                line.amount_bytes = Some(amount.get());
                line.times = Some(*times);
            }
            EventKind::Held { by, lasted, .. } => {
                line.what = Some(by.name());
                line.lasted_ns = u64::try_from(lasted.as_nanos()).ok();
            }
            EventKind::Marked { mark, .. } => {
                line.what = Some(mark.name());
                line.amount_bytes = mark.size().map(slowpath_model::Bytes::get);
            }
            EventKind::Sampled(sample) => line.sample = Some(Sample::of(sample)),
            EventKind::Missed { events } => line.missed = Some(*events),
            _ => {}
        }
        line
    }
}

impl IcmpFacts {
    fn of(error: &IcmpError) -> Self {
        Self {
            what: error.kind.name(),
            mtu_bytes: if let IcmpKind::PacketTooBig { mtu } = error.kind { mtu } else { None },
            about: error.about.letter(),
            seq: error.seq.map(|seq| seq.0),
            from: error.from.map(|from| from.to_string()),
            frame: error.frame,
        }
    }
}

impl SegmentFacts {
    fn of(segment: &Segment) -> Self {
        Self {
            from: segment.from.letter(),
            flags: segment.flags.to_string(),
            seq: segment.seq.0,
            payload_bytes: segment.len,
            ack: segment.ack.map(|ack| ack.0),
            window_field: segment.window,
            mss_bytes: segment.mss,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            fast_open: segment.fast_open,
            options_cut: segment.options_cut,
            timestamp_value: segment.timestamps.map(|timestamps| timestamps.val),
            timestamp_echo: segment.timestamps.map(|timestamps| timestamps.ecr),
            sack: segment.sack.as_slice().iter().map(|block| [block.start.0, block.end.0]).collect(),
            sack_outside: segment.sack.outside(),
            ip_id: segment.ip.id,
            ttl: segment.ip.ttl,
            ecn: match segment.ip.ecn {
                Ecn::NotEct => "not-ect",
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                Ecn::Ce => "ce",
            },
            is_checksum_right: match segment.checksum {
                Checksum::Unknown => None,
                Checksum::Good => Some(true),
                Checksum::Wrong => Some(false),
            },
            frame: segment.frame,
        }
    }
}
