//! A transfer from A to B, over 40 ms unless stated otherwise, generated segment by segment: slow start, SACK, fast
//! retransmit and the timer on one side, delayed ACKs on the other, and a path that loses and marks as the test says.
//! Each packet is recorded as it passed a tap at A and one at B.
//!
//! It is a plain textbook TCP (RFC 5681, RFC 6298, RFC 6675 in part), not a kernel's: the tests check how faults are
//! read, not a model of Linux.

use crate::wire::Passed;
use slowpath_model::{Checksum, Ecn, End, Flags, Instant, SackBlock, Segment, StreamOffset, Timestamps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds in a millisecond.
pub const MS: i64 = 1_000_000;

/// The payload of a full segment: 1500 bytes less the headers with timestamps.
pub const MSS: u32 = 1448;

/// The one-way delay of the path, unless stated otherwise.
pub const ONE_WAY: i64 = 20 * MS;

/// A's timestamp clock at the start, in milliseconds.
pub const CLOCK_OF_A: u32 = 7_000_000;

/// B's timestamp clock at the start, in milliseconds.
pub const CLOCK_OF_B: u32 = 4_000_000;

/// The longest delay of a delayed ACK.
const DELACK: i64 = 40 * MS;

/// The retransmission timer beyond the RTT (`TCP_RTO_MIN`).
const RTO_MIN: i64 = 200 * MS;

/// What the path does to a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Lose,
    Mark,
    /// Its ECN field is cleared.
    Clear,
    /// It arrives, and B's host drops it.
    Refuse,
    /// It arrives with a wrong checksum, and B's host drops it.
    Damage,
}

/// When A's program fills its send buffer.
#[derive(Clone, Copy)]
pub enum Refills {
    /// With each ACK that makes room.
    AtOnce,
    /// When a third is free (`sk_stream_is_writeable`, 6.18), 0.1 ms after the ACK that makes it so: it waits in `poll`.
    WhenWritable,
    /// Every so many nanoseconds with what is free, in short segments too: it asks for that (`SIOCOUTQ`).
    Every(i64),
}

/// When a packet arrives, given when it would arrive.
pub type Arrival<'a> = dyn FnMut(&Segment, i64) -> i64 + 'a;

/// What is transferred, and over which path.
pub struct Setup<'a> {
    /// Bytes that A sends.
    pub amount: u32,
    /// Segments in one packet at most: more than 1 with offload.
    pub offload: u32,
    /// B's window in bytes, by the time and by the next byte that it expects.
    pub window: Box<dyn Fn(i64, u32) -> u32 + 'a>,
    /// When B's window changes without a packet from A, so that B sends an update.
    pub updates: Vec<i64>,
    /// B's window scale.
    pub scale: u8,
    /// Bytes that A may have unacknowledged: its send buffer.
    pub send_buffer: u32,
    /// When A's program fills the buffer.
    pub refills: Refills,
    /// Bytes that B's application lets A send ahead of its grants, each of so many bytes.
    pub credit: Option<u32>,
    /// The least time between two segments of A, in nanoseconds: a shaper on A's host.
    pub pace: i64,
    /// Whether A's program writes one segment at a time, so that each carries a push flag.
    pub pushes: bool,
    /// Whether B delays ACKs while its window does not open any further, as Linux does (`__tcp_ack_snd_check`, 6.18).
    pub delays_unread: bool,
    /// What is added to SACK blocks on their way to A.
    pub sack_shift: u32,
    /// Whether the ends agree on ECN.
    pub ecn: bool,
    /// The bottleneck, in bytes per millisecond.
    pub rate: i64,
    /// How long data of other flows keeps the bottleneck busy before data of A that arrives at a given time.
    pub others: fn(i64) -> i64,
    /// The one-way delay of the path.
    pub one_way: i64,
    /// When a packet arrives, given when it would arrive.
    pub arrives: Box<Arrival<'a>>,
    /// Whether A holds a short segment back while anything is unacknowledged (Nagle's algorithm).
    pub nagle: bool,
    /// What happens to each packet on the way, in both directions.
    pub fate: Box<dyn FnMut(&Segment) -> Fate + 'a>,
    /// When the capture ends.
    pub until: i64,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            amount: 2_000_000,
            offload: 1,
            window: Box::new(|_, _| 4 << 20),
            updates: Vec::new(),
            scale: 7,
            send_buffer: u32::MAX,
            refills: Refills::AtOnce,
            credit: None,
            pace: 0,
            pushes: false,
            delays_unread: false,
            sack_shift: 0,
            ecn: false,
            rate: 12_500,
            others: |_| 0,
            one_way: ONE_WAY,
            arrives: Box::new(|_, at| at),
            nagle: false,
            fate: Box::new(|_| Fate::Pass),
            until: 60_000 * MS,
        }
    }
}

/// What passed the taps at A and at B.
pub struct Taps {
    pub a: Vec<Passed>,
    pub b: Vec<Passed>,
}

/// What passes a tap `nanos` nearer to B, of what passes one at A: data that much later, and answers as long before A learns of
/// them.
pub fn nearer_to_b(passed: &[Passed], nanos: i64) -> Vec<Passed> {
    let shift = |(at, segment): &Passed| {
        let by = if segment.from == End::A { nanos } else { -nanos };
        (at.plus_nanos(by), *segment)
    };
    let mut passed: Vec<Passed> = passed.iter().map(shift).collect();
    passed.sort_by_key(|(at, _)| *at);
    passed
}

/// What would have passed behind the first routers of a path, 10 ms from A, where what A sent has not been lost yet.
pub fn in_between(passed: &[Passed]) -> Vec<Passed> {
    let mut passed = nearer_to_b(passed, 10 * MS);
    let of_a = passed.iter_mut().filter(|(_, segment)| segment.from == End::A);
    of_a.for_each(|(_, segment)| segment.ip.ttl -= 5);
    passed
}

/// What would have passed without the timestamps option: full segments are as large as the MSS then.
pub fn without_timestamps(passed: &[Passed]) -> Vec<Passed> {
    let mut passed = passed.to_vec();
    for (_, segment) in &mut passed {
        (segment.timestamps, segment.mss) = (None, segment.mss.map(|_| MSS as u16));
    }
    passed
}

/// A segment of the stream that A keeps until it is acknowledged.
#[derive(Clone, Copy)]
struct Kept {
    start: u32,
    end: u32,
    sacked: bool,
    lost: bool,
    again: bool,
}

enum Step {
    Arrive(Segment),
    /// It arrives, and is dropped behind the tap.
    Refuse(Segment),
    Timer(u64),
    Delack(u64),
    Window,
    Paced,
    Write,
}

struct Sender {
    kept: Vec<Kept>,
    una: u32,
    nxt: u32,
    allowed: u32,
    edge: u32,
    cwnd: f64,
    ssthresh: f64,
    recover: Option<u32>,
    cwr_until: u32,
    report_cwr: bool,
    backoff: u32,
    timer: u64,
    acks: u32,
    peer_val: u32,
    id: u16,
    /// The shaper sends nothing before this.
    held_until: i64,
    /// How far the program has written.
    written: u32,
}

struct Receiver {
    nxt: u32,
    seq: u32,
    held: Vec<(u32, u32)>,
    unacked: u32,
    delack: u64,
    granted: u32,
    echo: bool,
    peer_val: u32,
    id: u16,
    /// Where the window last ended.
    edge: u32,
}

struct Run<'a> {
    setup: Setup<'a>,
    now: i64,
    order: u64,
    steps: BinaryHeap<Reverse<(i64, u64)>>,
    what: Vec<Option<Step>>,
    busy: i64,
    sender: Sender,
    receiver: Receiver,
    taps: Taps,
}

/// Makes the transfer, its handshake included.
pub fn transfer(setup: Setup<'_>) -> Taps {
    let allowed = setup.credit.map_or(setup.amount, |credit| credit.min(setup.amount));
    let mut run = Run {
        now: 0,
        order: 0,
        steps: BinaryHeap::new(),
        what: Vec::new(),
        busy: 0,
        sender: Sender {
            kept: Vec::new(),
            una: 1,
            nxt: 1,
            allowed: 1 + allowed,
            edge: 1,
            cwnd: f64::from(10 * MSS),
            ssthresh: f64::MAX,
            recover: None,
            cwr_until: 0,
            report_cwr: false,
            backoff: 0,
            timer: 0,
            acks: 1,
            peer_val: 0,
            id: 100,
            held_until: 0,
            written: setup.send_buffer.saturating_add(1),
        },
        receiver: Receiver {
            nxt: 1,
            seq: 1,
            held: Vec::new(),
            unacked: 0,
            delack: 0,
            granted: allowed,
            echo: false,
            peer_val: 0,
            id: 500,
            edge: 0,
        },
        taps: Taps { a: Vec::new(), b: Vec::new() },
        setup,
    };
    run.handshake();
    run.steps();
    run.taps
}

impl Run<'_> {
    fn at(&mut self, when: i64, step: Step) {
        self.steps.push(Reverse((when, self.order)));
        self.what.push(Some(step));
        self.order += 1;
    }

    fn steps(&mut self) {
        while let Some(Reverse((when, order))) = self.steps.pop() {
            if when > self.setup.until {
                break;
            }
            self.now = when;
            match self.what[order as usize].take().expect("each step once") {
                Step::Refuse(segment) => self.taps.b.push((Instant::from_nanos(self.now), segment)),
                Step::Arrive(segment) if segment.from == End::A => self.arrives_at_b(&segment),
                Step::Arrive(segment) => self.arrives_at_a(&segment),
                Step::Timer(number) if number == self.sender.timer => self.times_out(),
                Step::Delack(number) if number == self.receiver.delack && self.receiver.unacked > 0 => {
                    self.acknowledge(0);
                }
                Step::Window => self.acknowledge(0),
                Step::Paced => self.send_more(),
                Step::Write => {
                    self.sender.written = self.sender.una.saturating_add(self.setup.send_buffer);
                    self.send_more();
                }
                Step::Timer(_) | Step::Delack(_) => {}
            }
        }
    }

    fn handshake(&mut self) {
        let ect = self.setup.ecn;
        let mut syn = Segment::new(End::A, Flags::SYN, StreamOffset(0), 0);
        syn.flags = if ect { Flags::SYN.with(Flags::ECE).with(Flags::CWR) } else { Flags::SYN };
        (syn.mss, syn.window_scale, syn.sack_permitted, syn.window) = (Some(1460), Some(7), true, 64_240);
        let mut answer = Segment::new(End::B, Flags::SYN.with(Flags::ACK), StreamOffset(0), 0);
        if ect {
            answer.flags = answer.flags.with(Flags::ECE);
        }
        answer.ack = Some(StreamOffset(1));
        (answer.mss, answer.window_scale, answer.sack_permitted) = (Some(1460), Some(self.setup.scale), true);
        answer.window = 65_160;
        for segment in [syn, answer] {
            self.send(segment, Ecn::NotEct);
            self.now += self.setup.one_way + 50_000;
        }
        self.steps.clear();
        self.sender.edge = 1 + 65_160;
        let ack = self.segment_of_a(Flags::ACK, 1, 0);
        self.send(ack, Ecn::NotEct);
        self.send_more();
        for at in std::mem::take(&mut self.setup.updates) {
            self.at(at, Step::Window);
        }
    }

    fn segment_of_a(&self, flags: Flags, seq: u32, len: u32) -> Segment {
        let mut segment = Segment::new(End::A, flags, StreamOffset(i64::from(seq)), len);
        segment.ack = Some(StreamOffset(i64::from(self.sender.acks)));
        segment.window = 502;
        segment
    }

    /// Puts a segment on the wire: past the near tap, through the path, past the far tap.
    fn send(&mut self, mut segment: Segment, ecn: Ecn) {
        let from_a = segment.from == End::A;
        let syn = segment.flags.has(Flags::SYN);
        let (own, peer) =
            if from_a { (CLOCK_OF_A, self.sender.peer_val) } else { (CLOCK_OF_B, self.receiver.peer_val) };
        let ecr = if syn && from_a { 0 } else { peer };
        let val = own + (self.now / MS) as u32;
        segment.timestamps = Some(Timestamps { val, ecr });
        let packets = segment.len.div_ceil(MSS).max(1) as u16;
        let id = if from_a { &mut self.sender.id } else { &mut self.receiver.id };
        segment.ip.id = Some(if syn && !from_a { 0 } else { *id });
        *id += packets;
        (segment.ip.ttl, segment.ip.ecn) = (64, ecn);
        let near = if from_a { &mut self.taps.a } else { &mut self.taps.b };
        near.push((Instant::from_nanos(self.now), segment));
        let fate = (self.setup.fate)(&segment);
        if fate == Fate::Lose {
            return;
        }
        match fate {
            Fate::Mark => segment.ip.ecn = Ecn::Ce,
            Fate::Clear => segment.ip.ecn = Ecn::NotEct,
            Fate::Damage => segment.checksum = Checksum::Wrong,
            _ => {}
        }
        segment.ip.ttl = 63;
        let mut leaves = self.now;
        if from_a {
            let size = i64::from(segment.len) + 66;
            let waits = (self.setup.others)(self.now);
            leaves = self.busy.max(self.now + waits) + size * MS / self.setup.rate;
            self.busy = leaves;
        }
        let arrives = if matches!(fate, Fate::Refuse | Fate::Damage) { Step::Refuse } else { Step::Arrive };
        let at = (self.setup.arrives)(&segment, leaves + self.setup.one_way);
        self.at(at, arrives(segment));
        if syn {
            // The handshake is not simulated step by step.
            let far = if from_a { &mut self.taps.b } else { &mut self.taps.a };
            far.push((Instant::from_nanos(leaves + self.setup.one_way), segment));
            if from_a {
                self.receiver.peer_val = val;
            } else {
                self.sender.peer_val = val;
            }
        }
    }

    fn arrives_at_b(&mut self, segment: &Segment) {
        self.taps.b.push((Instant::from_nanos(self.now), *segment));
        if segment.len == 0 {
            return;
        }
        let closed = (self.setup.window)(self.now, self.receiver.nxt) == 0;
        let receiver = &mut self.receiver;
        let (start, end) = (segment.seq.0 as u32, segment.seq.0 as u32 + segment.len);
        if segment.flags.has(Flags::CWR) {
            receiver.echo = false;
        }
        receiver.echo |= segment.ip.ecn == Ecn::Ce;
        if closed {
            self.acknowledge(0);
            return;
        }
        if start <= receiver.nxt {
            receiver.peer_val = segment.timestamps.map_or(0, |times| times.val);
        }
        let in_order = start <= receiver.nxt && receiver.held.is_empty();
        receiver.held.push((start, end));
        receiver.held.sort_unstable();
        while let Some(at) = receiver.held.iter().position(|held| held.0 <= receiver.nxt) {
            let held = receiver.held.remove(at);
            receiver.nxt = receiver.nxt.max(held.1);
        }
        receiver.unacked += segment.len;
        let edge = receiver.nxt + (self.setup.window)(self.now, receiver.nxt);
        let stays = self.setup.delays_unread && edge <= receiver.edge;
        if self.setup.credit.is_some()
            && receiver.nxt > receiver.granted
            && receiver.granted < self.setup.amount
        {
            // Everything granted has arrived: the application grants as much again, in 35 bytes.
            receiver.granted += self.setup.credit.unwrap_or(0);
            self.acknowledge(35);
        } else if !in_order || (receiver.unacked >= 2 * MSS && !stays) {
            self.acknowledge(0);
        } else if receiver.unacked == segment.len {
            receiver.delack += 1;
            let number = receiver.delack;
            self.at(self.now + DELACK, Step::Delack(number));
        }
    }

    fn acknowledge(&mut self, payload: u32) {
        let receiver = &mut self.receiver;
        let flags = if payload > 0 { Flags::PSH.with(Flags::ACK) } else { Flags::ACK };
        let mut ack = Segment::new(End::B, flags, StreamOffset(i64::from(receiver.seq)), payload);
        receiver.seq += payload;
        (receiver.unacked, receiver.delack) = (0, receiver.delack + 1);
        ack.ack = Some(StreamOffset(i64::from(receiver.nxt)));
        if receiver.echo {
            ack.flags = ack.flags.with(Flags::ECE);
        }
        let window = (self.setup.window)(self.now, receiver.nxt);
        receiver.edge = receiver.nxt + window;
        ack.window = (window >> self.setup.scale).min(0xffff) as u16;
        // Adjacent blocks are merged; three fit next to the timestamps.
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for held in &receiver.held {
            match blocks.last_mut() {
                Some(last) if held.0 <= last.1 => last.1 = last.1.max(held.1),
                _ => blocks.push(*held),
            }
        }
        for (start, end) in blocks.into_iter().rev().take(3) {
            let shifted = |edge: u32| StreamOffset(i64::from(edge) + i64::from(self.setup.sack_shift));
            let [start, end] = [start, end].map(shifted);
            ack.sack.push(SackBlock { start, end });
        }
        self.send(ack, Ecn::NotEct);
    }

    fn arrives_at_a(&mut self, segment: &Segment) {
        self.taps.a.push((Instant::from_nanos(self.now), *segment));
        let sender = &mut self.sender;
        sender.peer_val = segment.timestamps.map_or(0, |times| times.val);
        let ack = segment.ack.map_or(0, |ack| ack.0 as u32);
        if segment.len > 0 {
            sender.acks = segment.seq.0 as u32 + segment.len;
            let grant = self.setup.credit.unwrap_or(0);
            sender.allowed = (sender.allowed + grant).min(1 + self.setup.amount);
        }
        sender.edge = ack + (u32::from(segment.window) << self.setup.scale);
        for block in segment.sack.as_slice() {
            let (start, end) = (block.start.0 as u32, block.end.0 as u32);
            let inside = sender.kept.iter_mut().filter(|kept| start <= kept.start && kept.end <= end);
            inside.for_each(|kept| kept.sacked = true);
        }
        let newly = ack.saturating_sub(sender.una);
        sender.una = sender.una.max(ack);
        sender.kept.retain(|kept| kept.end > ack);
        sender.mark_lost();
        if sender.recover.is_some_and(|recover| sender.una >= recover) {
            sender.recover = None;
        }
        if segment.flags.has(Flags::ECE) && sender.una > sender.cwr_until {
            (sender.cwr_until, sender.report_cwr) = (sender.nxt, true);
            sender.reduce();
        } else if newly > 0 && (sender.recover.is_none() || sender.cwnd < sender.ssthresh) {
            let mss = f64::from(MSS);
            sender.cwnd += if sender.cwnd < sender.ssthresh {
                f64::from(newly)
            } else {
                f64::from(newly) * mss / sender.cwnd
            };
        }
        let is_writable = sender.written.saturating_sub(sender.una) <= self.setup.send_buffer / 3 * 2;
        match self.setup.refills {
            Refills::AtOnce => sender.written = sender.una.saturating_add(self.setup.send_buffer),
            Refills::WhenWritable if is_writable && newly > 0 => self.at(self.now + MS / 10, Step::Write),
            Refills::Every(nanos) if newly > 0 => {
                let next = self.now - self.now % nanos + nanos;
                self.at(next, Step::Write);
            }
            _ => {}
        }
        if newly > 0 {
            self.sender.backoff = 0;
            self.set_timer();
        }
        self.send_more();
    }

    fn set_timer(&mut self) {
        self.sender.timer += 1;
        let number = self.sender.timer;
        if !self.sender.kept.is_empty() {
            let rto = (RTO_MIN + 2 * self.setup.one_way) << self.sender.backoff.min(9);
            self.at(self.now + rto, Step::Timer(number));
        }
    }

    fn times_out(&mut self) {
        let sender = &mut self.sender;
        if sender.kept.is_empty() {
            return;
        }
        if sender.backoff == 0 {
            sender.ssthresh = (sender.cwnd / 2.0).max(f64::from(2 * MSS));
        }
        (sender.cwnd, sender.recover) = (f64::from(MSS), Some(sender.nxt));
        sender.backoff += 1;
        for kept in &mut sender.kept {
            (kept.lost, kept.again) = (!kept.sacked, false);
        }
        self.send_more();
        self.set_timer();
    }

    /// Sends what windows and buffer allow: first lost data, then new data.
    fn send_more(&mut self) {
        loop {
            let room = self.sender.cwnd - f64::from(self.sender.in_flight());
            if room < f64::from(MSS) || self.now < self.sender.held_until {
                break;
            }
            let most = self.setup.offload.min((room / f64::from(MSS)) as u32).max(1);
            let Some((start, end)) = self.sender.lost(most).or_else(|| self.new_data(most)) else { break };
            let last = end == self.sender.allowed;
            let mut segment = self.segment_of_a(
                if last || self.setup.pushes { Flags::PSH.with(Flags::ACK) } else { Flags::ACK },
                start,
                end - start,
            );
            if start >= self.sender.cwr_until && std::mem::take(&mut self.sender.report_cwr) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
            if self.setup.pace > 0 {
                self.sender.held_until = self.now + self.setup.pace * i64::from((end - start).div_ceil(MSS));
                self.at(self.sender.held_until, Step::Paced);
            }
            let idle = self.sender.kept.len() <= (end - start).div_ceil(MSS) as usize;
            self.send(segment, if self.setup.ecn { Ecn::Ect0 } else { Ecn::NotEct });
            // The timer restarts with the oldest segment (`tcp_rearm_rto`).
            if idle || start == self.sender.una {
                self.set_timer();
            }
        }
    }

    fn new_data(&mut self, most: u32) -> Option<(u32, u32)> {
        let sender = &mut self.sender;
        let start = sender.nxt;
        let end = sender.allowed.min(sender.edge).min(sender.written).min(start + most * MSS);
        // No short segment while more data is to come (RFC 9293, section 3.8.6.2.1).
        let whole = start + (end.saturating_sub(start)) / MSS * MSS;
        // Unless its program writes what is free, and that is it.
        let writes_rest = matches!(self.setup.refills, Refills::Every(_)) && end == sender.written;
        let may_be_short =
            (end == sender.allowed || writes_rest) && (!self.setup.nagle || sender.kept.is_empty());
        let end = if may_be_short { end } else { whole };
        if end <= start {
            return None;
        }
        let mut at = start;
        while at < end {
            let next = end.min(at + MSS);
            sender.kept.push(Kept { start: at, end: next, sacked: false, lost: false, again: false });
            at = next;
        }
        sender.nxt = end;
        Some((start, end))
    }
}

impl Sender {
    fn in_flight(&self) -> u32 {
        let flies = self.kept.iter().filter(|kept| !kept.sacked && (!kept.lost || kept.again));
        flies.map(|kept| kept.end - kept.start).sum()
    }

    fn reduce(&mut self) {
        self.ssthresh = (self.cwnd * 0.7).max(f64::from(2 * MSS));
        self.cwnd = self.ssthresh;
    }

    /// A segment with three segments SACKed above it is lost (RFC 6675, `IsLost`).
    fn mark_lost(&mut self) {
        let highest = self.kept.iter().filter(|kept| kept.sacked).map(|kept| kept.end).max().unwrap_or(0);
        let mut found = false;
        for kept in self.kept.iter_mut().filter(|kept| !kept.sacked && !kept.lost) {
            kept.lost = kept.end + 3 * MSS <= highest;
            found |= kept.lost;
        }
        if found && self.recover.is_none() {
            self.recover = Some(self.nxt);
            self.reduce();
        }
    }

    /// The first lost data and what follows it, up to so many segments.
    fn lost(&mut self, most: u32) -> Option<(u32, u32)> {
        let first = self.kept.iter().position(|kept| kept.lost && !kept.again && !kept.sacked)?;
        let (start, mut end) = (self.kept[first].start, self.kept[first].start);
        for kept in self.kept[first..].iter_mut().take(most as usize) {
            if !kept.lost || kept.again || kept.sacked || kept.start != end {
                break;
            }
            (kept.again, end) = (true, kept.end);
        }
        Some((start, end))
    }
}
