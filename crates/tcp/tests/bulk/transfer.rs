//! A bulk transfer over a link with a queue, a delay and losses.

use slowpath_kernels::Release;
use slowpath_model::{Ecn, Instant};
use slowpath_tcp::Route;
use slowpath_tcp::socket::options::SocketOptions;
use slowpath_tcp::socket::{Listener, Peer, ReadFlags};

use slowpath_tcp::{Choices, Connection, Packet, Settings, Sysctls, WriteFlags};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// One direction: a serial link with a drop-tail queue, then a delay.
pub struct Wire {
    nanos_per_byte: f64,
    queue_packets: usize,
    delay: Duration,
    free: i64,
    in_flight: VecDeque<(Instant, Packet)>,
    departures: VecDeque<i64>,
    /// Selects the lost packets, by their number from 0.
    pub loses: Box<dyn FnMut(u64) -> bool>,
    pub sent: u64,
    pub dropped: u32,
    /// The packets in the queue above which ECN-capable ones are marked.
    pub marks_above: Option<usize>,
    pub marked: u32,
    pub delivered: u32,
}

impl Wire {
    fn new(bits_per_second: f64, queue_packets: usize, delay: Duration) -> Self {
        Self {
            nanos_per_byte: 8e9 / bits_per_second,
            queue_packets,
            delay,
            free: 0,
            in_flight: VecDeque::new(),
            departures: VecDeque::new(),
            loses: Box::new(|_| false),
            sent: 0,
            dropped: 0,
            marks_above: None,
            marked: 0,
            delivered: 0,
        }
    }

    fn send(&mut self, now: Instant, packet: Packet) {
        for segment in packet.cut() {
            self.send_one(now, segment);
        }
    }

    fn send_one(&mut self, now: Instant, mut packet: Packet) {
        while self.departures.front().is_some_and(|&at| at <= now.nanos()) {
            self.departures.pop_front();
        }
        self.sent += 1;
        if self.departures.len() >= self.queue_packets || (self.loses)(self.sent - 1) {
            self.dropped += 1;
            return;
        }
        if packet.ecn != Ecn::NotEct && self.marks_above.is_some_and(|most| self.departures.len() > most) {
            packet.ecn = Ecn::Ce;
            self.marked += 1;
        }
        let bytes = f64::from(packet.len + 52);
        self.free = self.free.max(now.nanos()) + (bytes * self.nanos_per_byte) as i64;
        self.departures.push_back(self.free);
        self.in_flight.push_back((Instant::from_nanos(self.free) + self.delay, packet));
    }

    fn next(&self) -> Option<Instant> {
        self.in_flight.front().map(|&(at, _)| at)
    }
}

pub struct Bulk {
    pub now: Instant,
    pub sender: Connection,
    listener: Listener,
    pub receiver: Option<Connection>,
    pub to_server: Wire,
    pub to_client: Wire,
    pub read: u64,
}

fn settings(choices: Choices, sysctls: Sysctls, route: Route) -> Arc<Settings> {
    Arc::new(Settings { choices, sysctls, mtu: 1500, ip_header: 20, gso_max: (65535, 65_215), route })
}

impl Bulk {
    pub fn new(choices: Choices, sysctls: Sysctls, rate: f64, queue: usize, rtt: Duration) -> Self {
        Self::on_route(choices, sysctls, Route::default(), rate, queue, rtt)
    }

    pub fn on_route(
        choices: Choices,
        sysctls: Sysctls,
        route: Route,
        rate: f64,
        queue: usize,
        rtt: Duration,
    ) -> Self {
        let settings = settings(choices, sysctls, route);
        let now = Instant::START;
        Self {
            now,
            sender: Connection::connect(Arc::clone(&settings), SocketOptions::default(), now),
            listener: Listener::listen(settings, SocketOptions::default(), 10),
            receiver: None,
            to_server: Wire::new(rate, queue, rtt / 2),
            to_client: Wire::new(rate, 10_000, rtt / 2),
            read: 0,
        }
    }

    fn step(&mut self) {
        let times = [
            self.to_server.next(),
            self.to_client.next(),
            self.sender.poll_timeout(),
            self.receiver.as_ref().and_then(Connection::poll_timeout),
            self.listener.poll_timeout(),
        ];
        let next = times.into_iter().flatten().min().expect("a pending event");
        assert!(next >= self.now, "an event in the past");
        self.now = next;
        let now = self.now;
        if times[0] == Some(next) {
            let (_, packet) = self.to_server.in_flight.pop_front().unwrap();
            self.to_server.delivered += 1;
            match &mut self.receiver {
                Some(receiver) => receiver.handle_packet(now, &packet),
                None => self.listener.handle_packet(now, Peer(1), &packet),
            }
        } else if times[1] == Some(next) {
            let (_, packet) = self.to_client.in_flight.pop_front().unwrap();
            self.sender.handle_packet(now, &packet);
        } else {
            self.sender.handle_timeout(now);
            if let Some(receiver) = &mut self.receiver {
                receiver.handle_timeout(now);
            }
            self.listener.handle_timeout(now);
        }
        self.settle();
    }

    fn settle(&mut self) {
        let now = self.now;
        if self.receiver.is_none() {
            self.receiver = self.listener.accept().ok().map(|(_, connection)| connection);
        }
        if let Some(receiver) = &mut self.receiver {
            while let Ok(read @ 1..) = receiver.read(now, 1 << 20, ReadFlags::default()) {
                self.read += u64::from(read);
            }
            while let Some(packet) = receiver.poll_transmit() {
                self.to_client.send(now, packet);
            }
        }
        while let Some((_, packet)) = self.listener.poll_transmit() {
            self.to_client.send(now, packet);
        }
        while self.sender.write(now, 1 << 20, WriteFlags::default()).is_ok() {}
        while let Some(packet) = self.sender.poll_transmit() {
            self.to_server.send(now, packet);
        }
    }

    pub fn run(&mut self, until: Duration) {
        self.settle();
        while self.now < Instant::START + until {
            self.step();
        }
    }
}

pub fn big_buffers() -> Sysctls {
    let mut sysctls = Release::Linux6_18.sysctls();
    sysctls.tcp_wmem.max = 64 << 20;
    sysctls.tcp_rmem.max = 64 << 20;
    sysctls
}
