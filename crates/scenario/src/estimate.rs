//! The needs of a run, before it starts: upper bounds from rates, amounts and times.

use crate::flow::{Bulk, Flow, Workload};
use crate::host::LoadKind;
use crate::id::HostId;
use crate::path::Path;
use crate::scenario::Scenario;
use slowpath_model::{Bytes, Rate};
use slowpath_path::PathConfig;
use slowpath_path::link::QueueLimit;
use std::fmt;
use std::time::Duration;

/// Upper bounds of a run's needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Data packets, and cross traffic packets.
    pub packets: u64,
    /// Events that the simulator handles for these packets and for tasks.
    pub events: u64,
    /// Memory for packets in flight and connections, in bytes.
    pub memory_bytes: u64,
}

/// Events per data packet: link, two NICs, two softirqs, its share of an ACK and of two system calls.
const EVENTS_PER_PACKET: u64 = 10;
/// Events per burst of a task: wake-up, start, end.
const EVENTS_PER_BURST: u64 = 3;
/// Memory per packet on the path or in a queue, at both ends and in flight.
const BYTES_PER_PACKET: u64 = 512;
/// Memory for a connection's two sockets and two tasks.
const BYTES_PER_STREAM: u64 = 16 * 1024;

/// A run with this many events takes a day, at a million per second.
const MOST_EVENTS: u64 = 100_000_000_000;
/// Not every machine has more than this.
const MOST_MEMORY_BYTES: u64 = 8 << 30;

/// A run that needs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// Its needs.
    pub estimate: Estimate,
}

impl Estimate {
    /// The estimate of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let mut packets: u64 = 0;
        let mut in_flight: u64 = 0;
        for path in &scenario.paths {
            for from in path.ends {
                let Some(direction) = path.direction(from) else { continue };
                let rate = rate(scenario, path, direction);
                let mtu =
                    path.ends.iter().map(|end| scenario.host(*end).nic.mtu.get()).min().unwrap_or(1).max(1);
                let carried = carried(scenario, path, from, rate);
                packets = packets.saturating_add(carried.get() / mtu + 1);
                packets = packets.saturating_add(others(direction, scenario.duration));
                let delays = path.forward.delay.saturating_add(path.reverse.delay);
                let room = rate.amount_in(delays).get().saturating_add(queued(direction, mtu));
                in_flight = in_flight.saturating_add(room.min(carried.get()) / mtu);
            }
        }
        let streams: u64 = scenario.flows.iter().map(|flow| u64::from(flow.streams)).sum();
        let events = packets.saturating_mul(EVENTS_PER_PACKET).saturating_add(task_events(scenario));
        let for_packets = in_flight.saturating_mul(BYTES_PER_PACKET);
        let memory_bytes = for_packets.saturating_add(streams.saturating_mul(BYTES_PER_STREAM));
        Self { packets, events, memory_bytes }
    }

    /// Whether today's machines can do this in a day.
    ///
    /// # Errors
    ///
    /// The estimate, if they cannot.
    pub fn is_sane(self) -> Result<(), TooMuch> {
        let sane = self.events <= MOST_EVENTS && self.memory_bytes <= MOST_MEMORY_BYTES;
        if sane { Ok(()) } else { Err(TooMuch { estimate: self }) }
    }
}

/// The maximum rate of a direction.
fn rate(scenario: &Scenario, path: &Path, direction: &PathConfig) -> Rate {
    let cards = path.ends.iter().map(|end| scenario.host(*end).nic.rate.get()).min().unwrap_or(0);
    Rate::bits_per_second(direction.link.as_ref().map_or(cards, |link| link.rate.get().min(cards)))
}

/// The data that all flows together can send from one end of a path.
fn carried(scenario: &Scenario, path: &Path, from: HostId, rate: Rate) -> Bytes {
    let of_path = |flow: &&Flow| scenario.path(flow.path).name == path.name && flow.sender_host() == from;
    let wanted = scenario.flows.iter().filter(of_path).map(wanted).fold(0, u64::saturating_add);
    Bytes::new(wanted.min(rate.amount_in(scenario.duration).get()))
}

/// The data that a flow wants to send; unlimited without a limit.
fn wanted(flow: &Flow) -> u64 {
    let each = match &flow.workload {
        Workload::Bulk(Bulk::Amount(amount)) => amount.get(),
        Workload::Bulk(Bulk::Time(_) | Bulk::Endless) => u64::MAX,
        Workload::Messages(messages) => {
            messages.count.map_or(u64::MAX, |count| count.saturating_mul(messages.size.get()))
        }
        Workload::RequestResponse(requests) => {
            let longest = requests.responses.iter().max().map_or(0, |size| size.get());
            requests.count.map_or(u64::MAX, |count| count.saturating_mul(longest))
        }
        Workload::Datagrams(datagrams) => {
            datagrams.lasts.map_or(u64::MAX, |time| datagrams.rate.amount_in(time).get())
        }
    };
    each.saturating_mul(u64::from(flow.streams))
}

/// Cross traffic packets in a direction.
fn others(direction: &PathConfig, duration: Duration) -> u64 {
    let packets =
        direction.cross.iter().map(|cross| cross.rate.amount_in(duration).get() / cross.packet.get().max(1));
    packets.fold(0, u64::saturating_add)
}

/// The data that the queue of a direction holds.
fn queued(direction: &PathConfig, mtu: u64) -> u64 {
    match direction.link.as_ref().map(|link| link.queue) {
        None => 0,
        Some(QueueLimit::Packets(packets)) => u64::from(packets).saturating_mul(mtu),
        Some(QueueLimit::Bytes(bytes)) => bytes.get(),
    }
}

/// Events of background loads: each CPU switches at most once per shortest burst of its tasks, and a hog runs for a
/// scheduler's slice.
fn task_events(scenario: &Scenario) -> u64 {
    const SLICE: Duration = Duration::from_micros(700);
    let bursts = scenario.hosts.iter().flat_map(|host| &host.load).map(|load| {
        let (burst, tasks) = match load.kind {
            LoadKind::Hogs { count } => (SLICE, count),
            LoadKind::Make { jobs, burst, tool_time, .. } => {
                (burst.min(tool_time.unwrap_or(burst)).min(SLICE), jobs)
            }
        };
        let turns = scenario.duration.as_nanos() / burst.as_nanos().max(1);
        u64::try_from(turns).unwrap_or(u64::MAX).saturating_mul(u64::from(tasks.min(64)))
    });
    bursts.fold(0, u64::saturating_add).saturating_mul(EVENTS_PER_BURST)
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = Bytes::new(self.memory_bytes);
        write!(f, "at most {} packets, {} events and {memory}", grouped(self.packets), grouped(self.events))
    }
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = Bytes::new(MOST_MEMORY_BYTES);
        write!(
            f,
            "this run would need {}; more than {} events or {most} is more than is sane",
            self.estimate,
            grouped(MOST_EVENTS)
        )
    }
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::check;

    fn estimate(text: &str) -> Estimate {
        Estimate::of(&check("x.toml", text, &[], None).unwrap().scenario)
    }

    #[test]
    fn estimate_of_unlimited_data_is_the_link_rate() {
        let text = "duration = \"60 s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"20 ms\"\n";
        let estimate = estimate(text);
        // 7.5 GB in packets of 1500 bytes, and a bandwidth-delay product on the path and one in the queue.
        assert_eq!(estimate.packets, 5_000_002);
        assert!((3..5).contains(&(estimate.memory_bytes >> 20)), "{estimate}");
        assert!(estimate.to_string().starts_with("at most 5,000,002 packets, 50,000,020 events"));
    }

    #[test]
    fn estimate_is_limited_by_the_amount() {
        let estimate = estimate("[flows]\namount = \"15 kB\"\nstreams = 4\n");
        assert_eq!(estimate.packets, 42);
    }

    #[test]
    fn runs_longer_than_a_day_are_refused_with_the_estimate() {
        let text = "duration = \"24 h\"\n[hosts.sender.nic]\nrate = \"1 Tbit/s\"\n\
                    [hosts.receiver.nic]\nrate = \"1 Tbit/s\"\n";
        let error = check("x.toml", text, &[], None).unwrap_err().to_string();
        assert!(error.contains("more than is sane"), "{error}");
        assert!(error.contains("7,200,000,000,00"), "{error}");
    }

    #[test]
    fn queue_larger_than_memory_is_refused() {
        let text = "[path]\nrate = \"1 Tbit/s\"\nqueue = \"1000 bdp\"\ndelay = \"100 s\"\n\
                    [hosts.sender.nic]\nrate = \"1 Tbit/s\"\n[hosts.receiver.nic]\nrate = \"1 Tbit/s\"\n";
        let error = check("x.toml", text, &[], None).unwrap_err().to_string();
        assert!(error.contains("GiB"), "{error}");
    }
}
