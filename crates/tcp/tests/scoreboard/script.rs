//! A sender with a window of segments in flight, and a receiver that is only its SACK blocks: tests just the sender's
//! processing of each ACK.

use slowpath_kernels::Release;
use slowpath_model::{Flags, Instant, StreamOffset};
use slowpath_tcp::choices::SackWalk;
use slowpath_tcp::packet::{Block, Sack, SynOptions, TcpOptions};
use slowpath_tcp::socket::options::SocketOptions;
use slowpath_tcp::sysctl::BufferSizes;
use slowpath_tcp::{Choices, Connection, Packet, Settings, Sysctls, WriteFlags};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub const MSS: u32 = 1460;
/// The maximum time between two ACKs: 1500 bytes at 1 Gbit/s.
const APART: Duration = Duration::from_micros(12);
/// The RTT that the sender has measured.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// A kernel that searches its queue this way.
pub fn choices(walk: SackWalk) -> Choices {
    let kernel = if walk == SackWalk::Index { Release::Linux6_18.tcp() } else { Release::Linux2_4_17.tcp() };
    Choices { sack_walk: walk, super_packets: false, ..kernel }
}

/// Segments that have arrived, numbered from the first.
pub struct Receiver {
    /// The next expected segment.
    next: u32,
    /// Blocks beyond it, the newest first (RFC 2018, section 4).
    blocks: VecDeque<(u32, u32)>,
    /// The last arrival, if it was a duplicate (RFC 2883).
    duplicate: Option<u32>,
}

impl Receiver {
    /// A segment arrives. Only adjacent blocks change, so this takes at most as many steps as there are blocks.
    fn take(&mut self, segment: u32) {
        let (mut start, mut end) = (segment, segment + 1);
        let has =
            segment < self.next || self.blocks.iter().any(|&(from, to)| from <= segment && segment < to);
        self.duplicate = has.then_some(segment);
        if has {
            return;
        }
        if let Some(at) = self.blocks.iter().position(|&(_, end)| end == segment) {
            start = self.blocks.remove(at).expect("it was found").0;
        }
        if let Some(at) = self.blocks.iter().position(|&(start, _)| start == end) {
            end = self.blocks.remove(at).expect("it was found").1;
        }
        if start <= self.next {
            self.next = self.next.max(end);
        } else {
            self.blocks.push_front((start, end));
        }
    }
}

pub struct Script {
    pub sender: Connection,
    pub receiver: Receiver,
    pub now: Instant,
    /// Between two ACKs: a window arrives within its RTT, or the sender would time out in the middle of it.
    apart: Duration,
    /// Segments in flight, in order.
    pub wire: VecDeque<u32>,
}

fn seq(segment: u32) -> StreamOffset {
    StreamOffset(1 + i64::from(segment) * i64::from(MSS))
}

impl Script {
    /// A sender that has just sent a window of `window` segments.
    pub fn new(choices: Choices, window: u32) -> Self {
        let buffers = BufferSizes { min: 4096, default: 1 << 30, max: 1 << 30 };
        let mut sysctls = Sysctls { tcp_wmem: buffers, tcp_timestamps: 0, ..Release::Linux6_18.sysctls() };
        sysctls.tcp_slow_start_after_idle = false;
        let settings = Settings {
            choices,
            sysctls,
            mtu: 1500,
            ip_header: 20,
            gso_max: (65_535, 65_215),
            route: Default::default(),
        };
        let start = Instant::START;
        let mut script = Self {
            sender: Connection::connect(Arc::new(settings), SocketOptions::default(), start),
            receiver: Receiver { next: 0, blocks: VecDeque::new(), duplicate: None },
            now: start + ROUND_TRIP,
            apart: APART.min(ROUND_TRIP / window),
            wire: VecDeque::new(),
        };
        script.open();
        script.grow(window);
        script
    }

    fn open(&mut self) {
        self.sender.poll_transmit();
        let offer = SynOptions {
            mss: Some(MSS as u16),
            window_scale: Some(14),
            sack_permitted: true,
            fast_open: None,
        };
        let answer = Packet {
            ack: StreamOffset(1),
            window: 65_535,
            options: TcpOptions::Syn(offer),
            ..Packet::new(Flags::SYN.with(Flags::ACK), StreamOffset(0), 0)
        };
        self.sender.handle_packet(self.now, &answer);
    }

    /// The application writes `segments` segments.
    pub fn write(&mut self, segments: u32) {
        for _ in 0..segments {
            let wrote = self.sender.write(self.now, MSS, WriteFlags::default()).expect("there is room");
            assert_eq!(wrote, MSS);
        }
        self.collect();
    }

    /// Slow start until the window is open, and a full window of data that was sent once.
    fn grow(&mut self, window: u32) {
        let mut asked = 0;
        loop {
            let cwnd = self.sender.info(self.now).snd_cwnd;
            let goal = if cwnd >= window { window } else { cwnd };
            self.now = self.now + ROUND_TRIP;
            self.write(self.receiver.next + goal - asked);
            asked = self.receiver.next + goal;
            if cwnd >= window {
                return;
            }
            self.now = self.now + ROUND_TRIP;
            while let Some(segment) = self.wire.pop_front() {
                self.receiver.take(segment);
                let ack = self.ack(0);
                self.sender.handle_packet(self.now, &ack);
            }
            self.collect();
        }
    }

    /// Puts the segments sent since on the wire.
    pub fn collect(&mut self) {
        while let Some(packet) = self.sender.poll_transmit() {
            if packet.len > 0 {
                let segment = (packet.seq.0 - 1) / i64::from(MSS);
                self.wire.push_back(segment as u32);
            }
        }
    }

    /// The receiver's ACK, with at most `most` blocks.
    fn ack(&self, most: usize) -> Packet {
        let ack = seq(self.receiver.next);
        let mut sack = Sack::default();
        let duplicate = self.receiver.duplicate.map(|segment| (segment, segment + 1));
        for (start, end) in duplicate.into_iter().chain(self.receiver.blocks.iter().copied()).take(most) {
            sack.push(ack, Block { start: seq(start), end: seq(end) });
        }
        let options = if sack.is_empty() { TcpOptions::None } else { TcpOptions::Sack(sack) };
        Packet { ack, window: 65_535, options, ..Packet::new(Flags::ACK, StreamOffset(1), 0) }
    }

    /// The next segment on the wire arrives; the ACK for it.
    pub fn arrive(&mut self) -> Option<Packet> {
        let segment = self.wire.pop_front()?;
        self.now = self.now + self.apart;
        self.receiver.take(segment);
        Some(self.ack(3))
    }

    /// Up to `segments` segments arrive, and so do their ACKs.
    pub fn run(&mut self, segments: usize) {
        for _ in 0..segments {
            let Some(ack) = self.arrive() else { return };
            self.answer(&ack);
        }
    }

    /// An ACK reaches the sender.
    pub fn answer(&mut self, ack: &Packet) {
        self.sender.handle_packet(self.now, ack);
        self.collect();
    }

    /// The qdisc drops the segment that was sent last.
    pub fn drop_locally(&mut self) {
        let Some(last) = self.wire.pop_back() else { return };
        let packet = Packet::new(Flags::ACK, seq(last), MSS);
        self.sender.handle_local_drop(self.now, &packet);
        self.collect();
    }

    /// The first segment that the receiver has not received.
    pub const fn first_missing(&self) -> u32 {
        self.receiver.next
    }

    /// The receiver runs out of memory: everything beyond the first hole is dropped.
    pub fn renege(&mut self) {
        self.receiver.blocks.clear();
    }

    /// Whether everything sent has arrived.
    pub fn is_complete(&self, window: u32) -> bool {
        self.receiver.blocks.is_empty() && self.wire.is_empty() && self.receiver.next >= window
    }
}
