//! What a measurement or a transfer shows of its path. Pure.
//!
//! A value is learned only where the source can see it: an RTT only of the whole path, a rate as the path's own only where the path
//! was the limit, loss only where there were enough packets to have some.

use crate::entry::{Entry, Measure, PARTS, Pair, Source};
use slowpath_analyses::Cause;
use slowpath_analyses::report::FlowReport;
use slowpath_model::{Rate, Vantage, nanos};
use slowpath_probe::findings::Found;
use slowpath_probe::measure::{Bound, Direction};
use std::net::IpAddr;

/// The part of a flow's life that the path has to be its limit for its rate to be what the path leaves.
const PATH_LIMITED: f64 = 0.8;
/// A rate is learned from this much data or more: less has not left slow start on a fast path.
const LEAST_BYTES: u64 = 1 << 20;
/// Loss is learned from this many data segments or more.
const LEAST_SEGMENTS: u64 = 1000;
/// A packet length is learned from this many data segments or more.
const LEAST_PACKETS: u64 = 10;

/// The causes with which the path itself set the rate.
const PATH_RATES: [Cause; 3] = [Cause::BottleneckFull, Cause::StandingQueue, Cause::Policer];

/// Collects the values of one source that are in the range of a path.
struct Learned {
    pair: Pair,
    at: u64,
    source: Source,
    entries: Vec<Entry>,
}

impl Learned {
    fn learn(&mut self, measure: Measure, value: Option<u64>) {
        self.put(self.pair, measure, value);
    }

    /// An RTT is that of both directions.
    fn learn_both_ways(&mut self, measure: Measure, value: Option<u64>) {
        self.put(self.pair, measure, value);
        self.put(Pair { from: self.pair.to, to: self.pair.from }, measure, value);
    }

    fn put(&mut self, pair: Pair, measure: Measure, value: Option<u64>) {
        if let Some(value) = value.filter(|value| measure.range().contains(value)) {
            self.entries.push(Entry::new(pair, self.at, self.source, measure, value));
        }
    }
}

/// What `slowpath probe`'s procedures found between this host and a far end, at a time in seconds since 1970.
pub fn of_probe(found: &Found, here: IpAddr, there: IpAddr, at: u64) -> Vec<Entry> {
    let (from, to) = match found.wanted.direction {
        Direction::There => (here, there),
        Direction::Back => (there, here),
    };
    let mut learned = Learned { pair: Pair::new(from, to), at, source: Source::Probe, entries: Vec::new() };
    let round_trip = found.round_trip.as_ref();
    learned.learn_both_ways(Measure::RttMin, round_trip.and_then(|echoes| echoes.min_ns));
    learned.learn_both_ways(Measure::Rtt, round_trip.and_then(|echoes| echoes.median_ns));
    let capacity = found.capacity.as_ref().and_then(|capacity| capacity.rate);
    let is_seen = found.available.as_ref().is_none_or(|available| available.bound == Bound::Path);
    if is_seen && !found.is_capped() {
        learned.learn(Measure::Capacity, capacity);
        let available = found.available.as_ref().and(found.rate());
        learned.learn(Measure::Available, available.map(Rate::get));
    } else {
        // An end was the limit, not the path: it gives at least this.
        learned
            .learn(Measure::Delivered, found.available.as_ref().map(|available| available.low).or(capacity));
    }
    // Trains of this length came through.
    learned.learn(Measure::Mtu, capacity.map(|_| found.packet_bytes.into()));
    learned.entries
}

/// What a flow shows of the path from its sender to its receiver. `epoch` is the start of the recording, in seconds since 1970.
pub fn of_flow(flow: &FlowReport, epoch: u64, source: Source) -> Vec<Entry> {
    let [from, to] = [flow.sender, !flow.sender].map(|end| flow.key.endpoint(end).address);
    let after = u64::try_from(flow.last.nanos()).unwrap_or_default() / 1_000_000_000;
    let at = epoch.saturating_add(after);
    let mut learned = Learned { pair: Pair::new(from, to), at, source, entries: Vec::new() };
    let (main, measures) = (flow.main(), &flow.main().measures);
    let both = flow.vantage.to_a.zip(flow.vantage.to_b).map(|(a, b)| a + b);
    learned.learn_both_ways(Measure::RttMin, both.map(nanos));
    // Next to the sender, from a segment to its ACK is the whole path.
    let is_at_sender = flow.vantage.vantage == Vantage::At(flow.sender);
    learned.learn_both_ways(Measure::Rtt, measures.rtt_by_ack.mean.filter(|_| is_at_sender).map(nanos));
    if measures.unique_bytes.get() >= LEAST_BYTES {
        let by_path = main.findings.iter().filter(|finding| PATH_RATES.contains(&finding.cause));
        let share: f64 = by_path.map(|finding| finding.share).sum();
        let measure = if share >= PATH_LIMITED { Measure::Available } else { Measure::Delivered };
        learned.learn(measure, measures.goodput.map(Rate::get));
    }
    // What the capture missed may be what was lost.
    if measures.data_segments() >= LEAST_SEGMENTS && measures.unseen_gaps == 0 {
        let share = measures.lost_share().unwrap_or(0.0);
        learned.learn(Measure::Loss, Some((share * PARTS as f64).round() as u64));
    }
    learned.learn(Measure::Mtu, packet_bytes(flow));
    learned.entries
}

/// The length of the flow's full packets, where they are known not to be super-packets.
fn packet_bytes(flow: &FlowReport) -> Option<u64> {
    let measures = &flow.main().measures;
    let [a, b] = [&flow.directions[0], &flow.directions[1]].map(|direction| direction.measures.options);
    let (a, b) = a.zip(b)?;
    let mss = a.mss?.min(b.mss?);
    let is_known = measures.data_packets >= LEAST_PACKETS && measures.mss_seen <= mss.into();
    // IPv4 20 or IPv6 40, TCP 20, timestamps 12 (RFC 7323, appendix A).
    let ip = if flow.key.a.address.is_ipv4() { 20 } else { 40 };
    let headers = ip + 20 + if a.timestamps && b.timestamps { 12 } else { 0 };
    is_known.then(|| u64::from(measures.mss_seen) + headers)
}
