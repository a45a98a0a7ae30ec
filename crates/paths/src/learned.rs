//! What a measurement or a transfer shows of its path. Pure.
//!
//! A value is learned only where the source can see it: an RTT only of the whole path, a rate as the path's own only where the path
//! was the limit, loss only where there were enough packets to have some.

use crate::entry::{Entry, Measure, PARTS, Pair, Source};
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::Account;
use slowpath_analyses::report::FlowReport;
use slowpath_model::{Bytes, IcmpKind, Instant, Rate, Vantage, nanos};
use slowpath_probe::findings::Found;
use slowpath_probe::measure::{Bound, Direction};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

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

/// What a program saw of the path over which it moved data.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// The host that sent, and the one that received.
    pub pair: Pair,
    /// How much.
    pub amount: Bytes,
    /// How fast.
    pub rate: Rate,
    /// The smallest RTT, if this host measured one.
    pub min_rtt: Option<Duration>,
    /// The share of the time in which the path was the limit; `None` if that is not known.
    pub path_limited: Option<f64>,
}

/// What a program learned from moving data, which ended at a time in seconds since 1970.
pub fn of_moved(moved: &Moved, at: u64) -> Vec<Entry> {
    let mut learned = Learned { pair: moved.pair, at, source: Source::Live, entries: Vec::new() };
    learned.learn_both_ways(Measure::RttMin, moved.min_rtt.map(nanos));
    if moved.amount.get() >= LEAST_BYTES {
        let is_of_path = moved.path_limited.is_some_and(|share| share >= PATH_LIMITED);
        let measure = if is_of_path { Measure::Available } else { Measure::Delivered };
        learned.learn(measure, Some(moved.rate.get()));
    }
    learned.entries
}

/// What the flows of a recording show of their paths.
pub struct Transfers {
    /// The start of the recording, in seconds since 1970.
    epoch: u64,
    source: Source,
    entries: Vec<Entry>,
    /// The rates of large flows: those of one path share it while they overlap.
    rates: BTreeMap<Pair, Vec<FlowRate>>,
}

/// A flow's rate, and when it had it.
#[derive(Clone, Copy)]
struct FlowRate {
    first: Instant,
    last: Instant,
    rate: Rate,
    /// Whether the path was its limit.
    is_of_path: bool,
}

/// Of more flows of one path, those with the highest rates count.
const MOST_TOGETHER: usize = 256;

impl Transfers {
    /// None so far.
    pub fn new(epoch: u64, source: Source) -> Self {
        Self { epoch, source, entries: Vec::new(), rates: BTreeMap::new() }
    }

    /// Adds what a flow shows of the path from its sender to its receiver.
    pub fn add(&mut self, flow: &FlowReport) {
        let [from, to] = [flow.sender, !flow.sender].map(|end| flow.key.endpoint(end).address);
        let (pair, at) = (Pair::new(from, to), self.at(flow.last));
        let mut learned = Learned { pair, at, source: self.source, entries: Vec::new() };
        let (main, measures) = (flow.main(), &flow.main().measures);
        let has = |cause| main.findings.iter().any(|finding| finding.cause == cause);
        let both = flow.vantage.to_a.zip(flow.vantage.to_b).map(|(a, b)| a + b);
        learned.learn_both_ways(Measure::RttMin, both.map(nanos));
        // Next to the sender, from a segment to its ACK is the whole path.
        let is_at_sender = flow.vantage.vantage == Vantage::At(flow.sender);
        learned.learn_both_ways(Measure::Rtt, measures.rtt_by_ack.mean.filter(|_| is_at_sender).map(nanos));
        // What the capture missed may be what was lost, and reneging makes a sender retransmit data that had arrived.
        let is_seen = measures.unseen_gaps == 0 && !has(Cause::SackReneging);
        if measures.data_segments() >= LEAST_SEGMENTS && is_seen {
            let share = measures.lost_share().unwrap_or(0.0);
            learned.learn(Measure::Loss, Some((share * PARTS as f64).round() as u64));
        }
        learned.learn(Measure::Mtu, packet_bytes(flow).filter(|_| !has(Cause::MtuBlackHole)));
        self.entries.append(&mut learned.entries);
        if let Some(goodput) = measures.goodput.filter(|_| measures.unique_bytes.get() >= LEAST_BYTES) {
            let by_path = main.findings.iter().filter(|finding| PATH_RATES.contains(&finding.cause));
            let is_of_path = by_path.map(|finding| finding.share).sum::<f64>() >= PATH_LIMITED;
            self.add_rate(pair, FlowRate { first: flow.first, last: flow.last, rate: goodput, is_of_path });
        }
    }

    /// Adds what the hosts of a connection reported while they were watched. Only the sender's knows the RTT and what held it.
    pub fn add_account(&mut self, account: &Account) {
        let sender = account.sender();
        let [from, to] = [sender, !sender].map(|end| account.key.endpoint(end).address);
        let Some([first, last]) = account.told else { return };
        let pair = Pair::new(from, to);
        let mut learned = Learned { pair, at: self.at(last), source: self.source, entries: Vec::new() };
        let own = account.ends[sender.index()].as_ref();
        if let Some([_, sample]) = own.and_then(|own| own.samples) {
            let nanos = |micros: Option<u32>| micros.map(|micros| u64::from(micros) * 1000);
            learned.learn_both_ways(Measure::RttMin, nanos(sample.min_rtt));
            learned.learn_both_ways(Measure::Rtt, nanos(sample.srtt));
        }
        self.entries.append(&mut learned.entries);
        let carried = account.carried();
        if let Some(rate) = Rate::of(carried, account.lasted()).filter(|_| carried.get() >= LEAST_BYTES) {
            let bounds = account.bounds();
            let by_path = bounds.iter().filter(|bound| PATH_RATES.contains(&bound.cause));
            let is_of_path = by_path.map(|bound| bound.share).sum::<f64>() >= PATH_LIMITED;
            self.add_rate(pair, FlowRate { first, last, rate, is_of_path });
        }
    }

    fn add_rate(&mut self, pair: Pair, rate: FlowRate) {
        let rates = self.rates.entry(pair).or_default();
        rates.push(rate);
        if rates.len() >= 2 * MOST_TOGETHER {
            keep_fastest(rates);
        }
    }

    /// All that the flows show.
    pub fn finish(mut self) -> Vec<Entry> {
        for (pair, mut rates) in std::mem::take(&mut self.rates) {
            keep_fastest(&mut rates);
            let mut learned = Learned { pair, at: 0, source: self.source, entries: Vec::new() };
            for rate in &rates {
                learned.at = self.at(rate.last);
                if rate.is_of_path {
                    learned.learn(Measure::Available, together(rate, &rates));
                } else {
                    learned.learn(Measure::Delivered, Some(rate.rate.get()));
                }
            }
            // Of those that ended in one second, the one with the highest rate counts.
            learned.entries.sort_by_key(|entry| (entry.at, entry.value));
            self.entries.append(&mut learned.entries);
        }
        self.entries
    }

    /// Seconds since 1970.
    fn at(&self, last: Instant) -> u64 {
        self.epoch.saturating_add(u64::try_from(last.nanos()).unwrap_or_default() / 1_000_000_000)
    }
}

fn keep_fastest(rates: &mut Vec<FlowRate>) {
    rates.sort_by_key(|rate| (Reverse(rate.rate.get()), rate.first, rate.last));
    rates.truncate(MOST_TOGETHER);
}

/// What all flows of a path carried while this one lasted, if each had the same rate all the time.
fn together(of: &FlowRate, all: &[FlowRate]) -> Option<u64> {
    let lasted = of.last.since(of.first).map(nanos)?;
    let carried = all.iter().filter_map(|other| {
        let overlap = other.last.min(of.last).since(other.first.max(of.first)).map(nanos)?;
        Some(u128::from(other.rate.get()) * u128::from(overlap))
    });
    let rate = carried.sum::<u128>().checked_div(u128::from(lasted))?;
    u64::try_from(rate).ok()
}

/// The length of the flow's full packets, where they are known not to be super-packets.
fn packet_bytes(flow: &FlowReport) -> Option<u64> {
    let measures = &flow.main().measures;
    let [a, b] = [&flow.directions[0], &flow.directions[1]].map(|direction| direction.measures.options);
    let (a, b) = a.zip(b)?;
    let mss = a.mss?.min(b.mss?);
    let options = if a.timestamps && b.timestamps { 12 } else { 0 };
    // Shorter ones are those of an application that writes little at a time. Where a path takes less, what was sent at first did not
    // pass.
    let is_full = measures.mss_seen <= mss.into() && measures.mss_seen + options >= mss.into();
    let is_too_big = matches!(measures.unusual().icmp_kind, Some(IcmpKind::PacketTooBig { .. }));
    // IPv4 20 or IPv6 40, TCP 20, timestamps 12 (RFC 7323, appendix A).
    let ip = if flow.key.a.address.is_ipv4() { 20 } else { 40 };
    let is_known = is_full && !is_too_big && measures.data_packets >= LEAST_PACKETS;
    is_known.then(|| u64::from(measures.mss_seen + options + 20 + ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::hosts::Hosts;
    use slowpath_model::{End, Endpoint, Event, FlowId, FlowKey, Sink};

    const PAIR: Pair = Pair {
        from: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        to: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)),
    };

    fn rate(first: u64, last: u64, mbit: u64) -> FlowRate {
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        FlowRate { first: at(first), last: at(last), rate: Rate::mbit(mbit), is_of_path: true }
    }

    #[test]
    fn flows_of_a_path_add_up_while_they_overlap() {
        let flows = [rate(0, 10, 30), rate(5, 15, 50), rate(20, 30, 90)];
        let sums = flows.map(|flow| together(&flow, &flows).map(|rate| rate / 1_000_000));
        assert_eq!(sums, [Some(30 + 25), Some(50 + 15), Some(90)]);
        assert_eq!(together(&rate(3, 3, 10), &flows), None);
    }

    #[test]
    fn moved_data_shows_what_the_path_leaves_only_if_the_path_was_the_limit() {
        let moved = Moved {
            pair: PAIR,
            amount: Bytes::new(1 << 30),
            rate: Rate::mbit(900),
            min_rtt: Some(Duration::from_millis(20)),
            path_limited: Some(0.9),
        };
        let learned = |moved: &Moved| -> Vec<(Measure, u64)> {
            of_moved(moved, 7).iter().map(|entry| (entry.measure, entry.value)).collect()
        };
        let rtts = [(Measure::RttMin, 20_000_000); 2];
        assert_eq!(learned(&moved), [&rtts[..], &[(Measure::Available, 900_000_000)]].concat());
        let disk = Moved { path_limited: Some(0.2), ..moved };
        assert_eq!(learned(&disk), [&rtts[..], &[(Measure::Delivered, 900_000_000)]].concat());
        let received = Moved { min_rtt: None, path_limited: None, ..moved };
        assert_eq!(learned(&received), [(Measure::Delivered, 900_000_000)]);
        assert_eq!(learned(&Moved { amount: Bytes::new(1000), ..moved }), rtts);
    }

    #[test]
    fn watched_sender_shows_rtt_and_rate() {
        let mut hosts = Hosts::default();
        let end = |address, port| Endpoint { address, port };
        let key = FlowKey { a: end(PAIR.from, 40_000), b: end(PAIR.to, 443), occurrence: 0 };
        hosts.open(FlowId(1), &key);
        for line in ["0 A wrote 4000000", "2 A sampled srtt 20100 min_rtt 20000"] {
            hosts.accept(FlowId(1), &line.parse::<Event>().expect("an event"));
        }
        let (accounts, _) = hosts.finish();
        assert_eq!(accounts[0].sender(), End::A);
        let mut transfers = Transfers::new(1_000_000, Source::Live);
        accounts.iter().for_each(|account| transfers.add_account(account));
        let of = |pair, measure, value| Entry::new(pair, 1_000_002, Source::Live, measure, value);
        let back = Pair { from: PAIR.to, to: PAIR.from };
        let wanted = [
            of(PAIR, Measure::RttMin, 20_000_000),
            of(back, Measure::RttMin, 20_000_000),
            of(PAIR, Measure::Rtt, 20_100_000),
            of(back, Measure::Rtt, 20_100_000),
            of(PAIR, Measure::Delivered, 16_000_000),
        ];
        assert_eq!(transfers.finish(), wanted);
    }
}
