//! The cost of an event: the agenda compared with a binary heap, a 4-ary heap and a hashed timing wheel.
//!
//! The workload is a simulation's: a source is due, does its work, and is due again a little later; each event also
//! moves a timer far ahead, as an ACK moves the RTO timer. Heaps and the wheel leave a moved timer's entry in place and
//! reinsert it when it comes up too early; the agenda overwrites the timer's slot.
//!
//! `cargo bench -p slowpath-simulator --bench agenda`

use slowpath_model::Instant;
use slowpath_simulator::agenda::{Agenda, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

const EVENTS: u64 = 4_000_000;
/// How far ahead a timer is set: the minimum RTO.
const TIMER_NS: i64 = 200_000_000;

/// A deterministic stream of numbers (Marsaglia's xorshift64).
struct Numbers(u64);

impl Numbers {
    /// Nanoseconds to a source's next event, 1 to 16 µs.
    fn gap(&mut self) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        1_000 + (self.0 % 15_000) as i64
    }
}

/// An event as a heap would hold it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due: i64,
    order: u64,
    source: u32,
}

/// The interface of the heaps and the wheel.
trait Queue {
    fn push(&mut self, entry: Entry);
    fn pop(&mut self) -> Option<Entry>;
}

impl Queue for BinaryHeap<Reverse<Entry>> {
    fn push(&mut self, entry: Entry) {
        BinaryHeap::push(self, Reverse(entry));
    }
    fn pop(&mut self) -> Option<Entry> {
        BinaryHeap::pop(self).map(|Reverse(entry)| entry)
    }
}

/// A heap whose nodes have four children: half as deep, with the four adjacent.
#[derive(Default)]
struct FourHeap(Vec<Entry>);

impl Queue for FourHeap {
    fn push(&mut self, entry: Entry) {
        let mut at = self.0.len();
        self.0.push(entry);
        while at > 0 && entry < self.0[(at - 1) / 4] {
            self.0[at] = self.0[(at - 1) / 4];
            at = (at - 1) / 4;
        }
        self.0[at] = entry;
    }

    fn pop(&mut self) -> Option<Entry> {
        let first = *self.0.first()?;
        let last = self.0.pop()?;
        let len = self.0.len();
        let mut at = 0;
        while 4 * at + 1 < len {
            let least = (4 * at + 1..(4 * at + 5).min(len)).min_by_key(|child| self.0[*child]).unwrap_or(at);
            if last <= self.0[least] {
                break;
            }
            self.0[at] = self.0[least];
            at = least;
        }
        if len > 0 {
            self.0[at] = last;
        }
        Some(first)
    }
}

/// A hashed timing wheel (Varghese and Lauck, 1987) of 4096 buckets of 1 µs; later events stay for more rounds.
struct Wheel {
    buckets: Vec<Vec<Entry>>,
    now: i64,
    held: usize,
}

const BUCKET_NS: i64 = 1_000;
const BUCKETS: i64 = 4096;

impl Wheel {
    fn new() -> Self {
        Self { buckets: vec![Vec::new(); BUCKETS as usize], now: 0, held: 0 }
    }
}

impl Queue for Wheel {
    fn push(&mut self, entry: Entry) {
        self.buckets[(entry.due / BUCKET_NS % BUCKETS) as usize].push(entry);
        self.held += 1;
    }

    fn pop(&mut self) -> Option<Entry> {
        if self.held == 0 {
            return None;
        }
        loop {
            let bucket = &mut self.buckets[(self.now % BUCKETS) as usize];
            let in_this_turn = |entry: &Entry| entry.due / BUCKET_NS == self.now;
            let least =
                (0..bucket.len()).filter(|at| in_this_turn(&bucket[*at])).min_by_key(|at| bucket[*at]);
            if let Some(at) = least {
                self.held -= 1;
                return Some(bucket.swap_remove(at));
            }
            self.now += 1;
        }
    }
}

/// CPU time of this process, in nanoseconds.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds per event with a queue: sources 0 to n - 1, and a timer for each at n and up.
fn with_queue(queue: &mut impl Queue, sources: u32) -> f64 {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut timers = vec![TIMER_NS; sources as usize];
    for source in 0..sources {
        queue.push(Entry { due: numbers.gap(), order: 0, source });
        queue.push(Entry { due: TIMER_NS, order: 0, source: source + sources });
    }
    let start = cpu_time();
    let (mut done, mut order) = (0, 0);
    while done < EVENTS {
        let Some(event) = queue.pop() else { break };
        order += 1;
        if event.source >= sources {
            // A timer that was moved since.
            queue.push(Entry { due: timers[(event.source - sources) as usize], order, ..event });
            continue;
        }
        done += 1;
        queue.push(Entry { due: event.due + numbers.gap(), order, ..event });
        timers[event.source as usize] = event.due + TIMER_NS;
    }
    (cpu_time() - start) as f64 / EVENTS as f64
}

fn with_agenda(sources: u32) -> f64 {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut agenda = Agenda::new();
    let slots: Vec<(Slot, Slot)> = (0..sources).map(|_| (agenda.add(), agenda.add())).collect();
    for (source, _) in &slots {
        agenda.set(*source, Some(Instant::from_nanos(numbers.gap())));
    }
    let start = cpu_time();
    for _ in 0..EVENTS {
        let Some((now, slot)) = agenda.first() else { break };
        let (source, timer) = slots[slot.index() / 2];
        agenda.set(source, Some(Instant::from_nanos(now.nanos() + numbers.gap())));
        agenda.set(timer, Some(Instant::from_nanos(now.nanos() + TIMER_NS)));
    }
    black_box(agenda.first());
    (cpu_time() - start) as f64 / EVENTS as f64
}

fn main() {
    println!("ns per event and moved timer, {EVENTS} events, best of three");
    println!("{:>8} {:>10} {:>12} {:>12} {:>10}", "sources", "agenda", "binary heap", "4-ary heap", "wheel");
    for sources in [4, 16, 64, 256, 1024] {
        let best = |run: &dyn Fn() -> f64| (0..3).map(|_| run()).fold(f64::MAX, f64::min);
        println!(
            "{sources:>8} {:>10.1} {:>12.1} {:>12.1} {:>10.1}",
            best(&|| with_agenda(sources)),
            best(&|| with_queue(&mut BinaryHeap::new(), sources)),
            best(&|| with_queue(&mut FourHeap::default(), sources)),
            best(&|| with_queue(&mut Wheel::new(), sources)),
        );
    }
}
