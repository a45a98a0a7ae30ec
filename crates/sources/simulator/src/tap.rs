//! What is seen at a host as the model's events: what a capture there would have in it, and what a probe of its kernel
//! would tell.

use crate::links::Link;
use crate::outside::{Observer, Occurrence, Sight, Wants};
use crate::wire::{Frame, Kind};
use slowpath_model::{
    End, Endpoint, Event, EventKind, FlowEnd, FlowId, FlowKey, IpFacts, SackBlock, SackBlocks, Segment, Sink,
};
use slowpath_scenario::HostId;
use slowpath_tcp::packet::Options;
use std::net::{IpAddr, Ipv4Addr};

/// Ephemeral ports (`net.ipv4.ip_local_port_range`).
const FIRST_PORT: u32 = 32_768;
const PORTS: u32 = 28_232;
/// The port of every server: iperf3's.
const SERVER_PORT: u16 = 5201;
/// The TTL that Linux sends with (`IPDEFTTL`), and that of what comes over the one router of a path.
const SENT_TTL: u8 = 64;

/// Pushes what passes one host's card into a sink, and what else of that host it is asked for. Segments are told one by
/// one: super-packets as their segments.
#[derive(Debug)]
pub struct Tap<S> {
    sink: S,
    host: HostId,
    /// The flow of each connection that was seen here.
    flows: Vec<Option<FlowId>>,
    opened: u32,
    frames: u64,
    /// Packets are told.
    packets: bool,
    wants: Wants,
}

impl<S: Sink> Tap<S> {
    /// A tap at a host, on packets alone.
    pub fn new(host: HostId, sink: S) -> Self {
        Self { sink, host, flows: Vec::new(), opened: 0, frames: 0, packets: true, wants: Wants::default() }
    }

    /// Makes it report what is wanted, with packets or without. With packets, a flow begins with its first.
    pub fn telling(self, packets: bool, wants: Wants) -> Self {
        Self { packets, wants, ..self }
    }

    /// The run is over: closes all flows and gives the sink back.
    pub fn finish(mut self) -> S {
        for flow in self.flows.iter().flatten() {
            self.sink.close(*flow, FlowEnd::EndOfRecording);
        }
        self.sink
    }

    /// The sink, while the run goes on.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Packets seen.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The flow of a connection, opened if it is new.
    fn flow(&mut self, number: u32, link: &Link) -> FlowId {
        let index = number as usize;
        if self.flows.len() <= index {
            self.flows.resize(index + 1, None);
        }
        if let Some(flow) = self.flows[index] {
            return flow;
        }
        self.opened += 1;
        let flow = FlowId(self.opened);
        self.flows[index] = Some(flow);
        self.sink.open(flow, &key(number, link));
        flow
    }
}

impl<S: Sink> Observer for Tap<S> {
    fn packet(&mut self, sight: &Sight<'_>) {
        // Only TCP is told.
        let is_segment = matches!(sight.frame.kind, Kind::Segment | Kind::Damaged);
        if sight.host != self.host || !self.packets || !is_segment {
            return;
        }
        self.frames += 1;
        let flow = self.flow(sight.frame.connection, sight.link);
        let mut seen = segment(sight.frame, sight.from, sight.sent);
        seen.frame = self.frames;
        self.sink.accept(flow, &Event { at: sight.at, kind: EventKind::Seen(seen) });
    }

    fn wants(&self) -> Wants {
        self.wants
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let Occurrence { at, host, connection, link, kind } = *occurrence;
        let is_open = self.flows.get(connection as usize).is_some_and(Option::is_some);
        if host == self.host && self.wants.has(&kind) && (is_open || !self.packets) {
            let flow = self.flow(connection, link);
            self.sink.accept(flow, &Event { at, kind });
        }
    }
}

/// The address of a host: 10.0.0.1 for the first.
pub fn address(host: usize) -> Ipv4Addr {
    let [.., high, low] = (host as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, 0, high, low)
}

/// The client's port of a connection.
pub fn client_port(connection: u32) -> u16 {
    (FIRST_PORT + connection % PORTS) as u16
}

/// The addresses and ports of a connection.
pub fn key(connection: u32, link: &Link) -> FlowKey {
    let endpoint = |host: usize, port| Endpoint { address: IpAddr::V4(address(host)), port };
    FlowKey {
        a: endpoint(link.hosts[0], client_port(connection)),
        b: endpoint(link.hosts[1], SERVER_PORT),
        occurrence: connection / PORTS,
    }
}

/// The TTL of a packet as it is seen.
pub fn ttl(sent: bool) -> u8 {
    if sent { SENT_TTL } else { SENT_TTL - 1 }
}

/// The port of an end of a connection.
pub fn port(connection: u32, end: End) -> u16 {
    match end {
        End::A => client_port(connection),
        End::B => SERVER_PORT,
    }
}

/// A packet as it is seen, without its number.
pub fn segment(frame: &Frame, from: End, sent: bool) -> Segment {
    let packet = &frame.packet;
    let mut segment = Segment::new(from, packet.flags, packet.seq, packet.len);
    segment.ack = packet.acknowledges();
    segment.window = packet.window;
    segment.timestamps = packet.timestamps;
    segment.ip = IpFacts { id: Some(frame.id), ttl: ttl(sent), ecn: packet.ecn };
    match packet.options {
        Options::None => {}
        Options::Sack(sack) => {
            let mut blocks = SackBlocks::NONE;
            for block in sack.blocks(packet.ack) {
                blocks.push(SackBlock { start: block.start, end: block.end });
            }
            segment.sack = blocks;
        }
        Options::Syn(syn) => {
            segment.mss = syn.mss;
            segment.window_scale = syn.window_scale;
            segment.sack_permitted = syn.sack_permitted;
        }
    }
    segment
}
