//! What was counted and measured in one direction.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::report::{self, ScaleKnown};
use slowpath_model::nanos;
use slowpath_model::{Bytes, Instant, Rate};

/// What was counted and measured in one direction.
#[derive(Serialize, JsonSchema)]
pub struct Measures {
    /// Segments of any kind.
    packets: u64,
    /// Segments with payload.
    data_packets: u64,
    /// Segments with neither payload, SYN, FIN nor RST.
    pure_acks: u64,
    /// Segments longer than the MSS: TSO on the way out or GRO on the way in.
    super_packets: u64,
    /// Payload, all of it.
    payload_bytes: u64,
    /// Payload without what was seen before.
    unique_bytes: u64,
    /// Unique payload over the time from the first data segment to the last acknowledgment of data.
    goodput_bits_per_second: Option<u64>,
    /// All payload over the same time.
    throughput_bits_per_second: Option<u64>,
    /// The first segment with payload.
    first_data_ns: Option<i64>,
    /// The last segment with payload.
    last_data_ns: Option<i64>,
    /// The longest time without a data segment between these.
    idle_longest_ns: u64,
    /// Options of this end's SYN; `null` where it was not recorded.
    options: Option<SynOptions>,
    /// How this end's window field is scaled.
    window_scale: WindowScale,
    /// The TTL, or hop limit, that this end's packets start with, as far as the largest seen tells: 64, 128 or 255.
    initial_ttl: Option<u8>,
    /// The largest payload of a segment, not counting super-packets where the MSS is known.
    mss_seen_bytes: u32,
    /// What the segments with payload were.
    labels: Labels,
    /// Data segments that used up the advertised window.
    window_full: u64,
    /// Payload that was acknowledged, but not recorded.
    unseen_bytes: u64,
    /// The number of such gaps.
    unseen_gaps: u64,
    /// How often data was recorded beyond data that was missing there, whether or not that came later.
    holes: u64,
    /// Payload before the last byte recorded that was neither recorded nor acknowledged when the recording ended.
    missing_bytes: u64,
    /// Duplicate ACKs this end sent (RFC 5681, section 2).
    duplicate_acks: u64,
    /// SACK blocks this end sent.
    sack_blocks: u64,
    /// DSACK blocks this end sent (RFC 2883).
    dsack_blocks: u64,
    /// Of these, the ones for data that was not retransmitted: the network delivered it twice.
    dsack_copies: u64,
    /// How many more segments the retransmissions were on the wire, since super-packets are captured as one: an estimate.
    retransmitted_merged: u64,
    /// Data segments stamped before what was recorded before them, where they belong by their sequence numbers.
    written_late: u64,
    /// Those that do not belong there.
    stamped_early: u64,
    /// SACK blocks this end sent of data that the other end never sent: something on the path changed sequence numbers.
    sack_outside: u64,
    /// Payload that this end had sent, by the sequence number of its last ACK, and that never passed the place of recording.
    sent_unseen_bytes: u64,
    /// Whether any segment of this end was ECN-capable at the tap.
    ecn_capable: bool,
    /// Segments of this end with the congestion mark CE (RFC 3168, section 5).
    marked: u64,
    /// Segments of this end that report marks to the other (ECE), the SYN left out.
    mark_echoes: u64,
    /// Segments of this end that report a reduced congestion window (CWR).
    window_reductions: u64,
    /// ICMP errors about segments of this end.
    icmp_errors: u64,
    /// What the last of them says: `host-unreachable`, `packet-too-big` and so on; `null` where there was none.
    icmp_kind: Option<&'static str>,
    /// The window this end advertised.
    window: Window,
    /// RTTs from a data segment at the place of recording to its ACK there.
    rtt_by_ack: RoundTrips,
    /// RTTs by echoed timestamp.
    rtt_by_timestamp: RoundTrips,
    /// The retransmission timeout Linux would have at the end.
    rto_ns: Option<u64>,
    /// The most data in flight, without SACKed data.
    flight_max_bytes: u64,
    /// Data in flight, averaged over time.
    flight_mean_bytes: u64,
    /// Retransmission timeouts: the sender was silent until its timer expired.
    timeouts: u64,
    /// Episodes of loss recovery.
    recoveries: u64,
}

/// Options of a SYN or SYN-ACK.
#[derive(Serialize, JsonSchema)]
pub struct SynOptions {
    /// MSS; `null` where absent, which means 536.
    mss_bytes: Option<u16>,
    /// Window scale as sent; `null` where absent.
    window_scale: Option<u8>,
    /// SACK permitted.
    sack_permitted: bool,
    /// Timestamps.
    timestamps: bool,
}

/// How far the window field is shifted.
#[derive(Serialize, JsonSchema)]
pub struct WindowScale {
    /// The shift; `null` where nothing is known.
    shift: Option<u8>,
    /// `agreed` in the handshake; `fits`: segments end to the byte where windows of this scale end; `at-least` this, by
    /// what was outstanding; or `unknown`.
    known: &'static str,
}

/// How many data segments were what; they add up to `data_packets`.
#[derive(Serialize, JsonSchema)]
pub struct Labels {
    /// Data never seen before.
    new: u64,
    /// Retransmitted because it was lost, or presumed lost.
    retransmission: u64,
    /// Retransmitted although it had arrived.
    spurious_retransmission: u64,
    /// Reordered on the way.
    out_of_order: u64,
    /// A copy of a frame: recorded, or delivered, twice.
    duplicate_frame: u64,
    /// Keep-alives.
    keep_alive: u64,
    /// Window probes.
    window_probe: u64,
}

/// An advertised window over the life of a flow.
#[derive(Serialize, JsonSchema)]
pub struct Window {
    /// The smallest above zero.
    min_bytes: Option<u64>,
    /// The mean over segments.
    mean_bytes: Option<u64>,
    /// The largest.
    max_bytes: Option<u64>,
    /// How often it closed.
    zero_count: u64,
    /// How long it was closed.
    zero_ns: u64,
}

/// RTTs.
#[derive(Serialize, JsonSchema)]
pub struct RoundTrips {
    /// Samples.
    count: u64,
    /// The smallest.
    min_ns: Option<u64>,
    /// The mean.
    mean_ns: Option<u64>,
    /// The largest.
    max_ns: Option<u64>,
    /// The standard deviation.
    deviation_ns: Option<u64>,
}

impl SynOptions {
    pub(super) fn of(options: report::SynOptions) -> Self {
        Self {
            mss_bytes: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps,
        }
    }
}

impl Measures {
    pub(super) fn of(measures: &report::Measures) -> Self {
        let labels = &measures.labels;
        Self {
            packets: measures.packets,
            data_packets: measures.data_packets,
            pure_acks: measures.pure_acks,
            super_packets: measures.super_packets,
            payload_bytes: measures.bytes.get(),
            unique_bytes: measures.unique_bytes.get(),
            goodput_bits_per_second: measures.goodput.map(Rate::get),
            throughput_bits_per_second: measures.throughput.map(Rate::get),
            first_data_ns: measures.first_data.map(Instant::nanos),
            last_data_ns: measures.last_data.map(Instant::nanos),
            idle_longest_ns: nanos(measures.idle_longest),
            options: measures.options.map(SynOptions::of),
            window_scale: WindowScale::of(measures.window_scale),
            initial_ttl: measures.initial_ttl,
            mss_seen_bytes: measures.mss_seen,
            labels: Labels {
                new: labels.new,
                retransmission: labels.retransmission,
                spurious_retransmission: labels.spurious,
                out_of_order: labels.out_of_order,
                duplicate_frame: labels.duplicate,
                keep_alive: labels.keep_alive,
                window_probe: labels.window_probe,
            },
            window_full: measures.window_full,
            unseen_bytes: measures.unseen_bytes.get(),
            unseen_gaps: measures.unseen_gaps,
            holes: measures.holes,
            missing_bytes: measures.missing_bytes.get(),
            duplicate_acks: measures.duplicate_acks,
            sack_blocks: measures.sack_blocks,
            dsack_blocks: measures.dsack_blocks,
            dsack_copies: measures.unusual().dsack_copies,
            retransmitted_merged: measures.unusual().retransmitted_merged,
            written_late: measures.unusual().written_late,
            stamped_early: measures.unusual().stamped_early,
            sack_outside: measures.unusual().sack_outside,
            sent_unseen_bytes: measures.unusual().sent_unseen.get(),
            ecn_capable: measures.ecn_capable,
            marked: measures.unusual().marked,
            mark_echoes: measures.unusual().mark_echoes,
            window_reductions: measures.unusual().window_reductions,
            icmp_errors: measures.unusual().icmp_errors,
            icmp_kind: measures.unusual().icmp_kind.map(slowpath_model::IcmpKind::name),
            window: Window {
                min_bytes: measures.window.min.map(Bytes::get),
                mean_bytes: measures.window.mean.map(Bytes::get),
                max_bytes: measures.window.max.map(Bytes::get),
                zero_count: measures.window.zero_count,
                zero_ns: nanos(measures.window.zero_time),
            },
            rtt_by_ack: RoundTrips::of(&measures.rtt_by_ack),
            rtt_by_timestamp: RoundTrips::of(&measures.rtt_by_timestamp),
            rto_ns: measures.rto.map(nanos),
            flight_max_bytes: measures.flight_max.get(),
            flight_mean_bytes: measures.flight_mean.get(),
            timeouts: measures.timeouts,
            recoveries: measures.recoveries,
        }
    }
}

impl WindowScale {
    const fn of(scale: ScaleKnown) -> Self {
        match scale {
            ScaleKnown::Agreed(shift) => Self { shift: Some(shift), known: "agreed" },
            ScaleKnown::Fits(shift) => Self { shift: Some(shift), known: "fits" },
            ScaleKnown::AtLeast(shift) => Self { shift: Some(shift), known: "at-least" },
            ScaleKnown::Unknown => Self { shift: None, known: "unknown" },
        }
    }
}

impl RoundTrips {
    fn of(rtt: &report::RttMeasures) -> Self {
        Self {
            count: rtt.count,
            min_ns: rtt.min.map(nanos),
            mean_ns: rtt.mean.map(nanos),
            max_ns: rtt.max.map(nanos),
            deviation_ns: rtt.deviation.map(nanos),
        }
    }
}
