//! Mapping between the script's numbers and the run's: file descriptors, ports, sequence numbers, timestamps.

use crate::call::Fd;
use crate::packet::{Body, Datagram, PacketSpec, Segment};
use slowpath_model::{Flags, Timestamps};
use std::collections::BTreeMap;

/// The state of a connection, from the script's actions and observations (packetdrill: `enum socket_state_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    New,
    Listening,
    /// A first packet was injected.
    PacketReceived,
    SynAckSent,
    SynAckAcked,
    Connecting,
    SynSent,
    SynAcked,
}

/// The protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
    Icmp,
}

/// A socket, or a connection not accepted yet.
#[derive(Clone, Debug)]
pub struct Socket {
    pub state: State,
    pub protocol: Protocol,
    pub fd: Option<Fd>,
    pub local_port: Option<u16>,
    pub remote_port: Option<u16>,
    /// Initial sequence numbers, the script's and the run's. The remote one is the script's.
    pub script_isn: u32,
    pub live_isn: u32,
    pub remote_isn: u32,
    timestamps: BTreeMap<u32, u32>,
    first_timestamps: Option<(u32, u32)>,
    flow_label: Option<(u32, u32)>,
}

/// The first remote port; each connection has its own, so that none meets another's leftovers.
const FIRST_REMOTE_PORT: u16 = 40_001;

/// All sockets of a run, and the one under test.
#[derive(Debug, Default)]
pub struct Sockets {
    files: BTreeMap<i64, Fd>,
    all: Vec<Socket>,
    under_test: Option<usize>,
    connections: u16,
}

impl Sockets {
    /// The kernel's file descriptor for the script's.
    pub fn live(&self, script: i64) -> Option<Fd> {
        self.files.get(&script).copied()
    }

    /// Stores a file descriptor; returns whether the script's number was free.
    pub fn open(&mut self, script: i64, live: Fd) -> bool {
        self.files.insert(script, live).is_none()
    }

    pub fn close(&mut self, live: Fd) {
        self.files.retain(|_, fd| *fd != live);
    }

    /// Adds a socket, which becomes the one under test.
    pub fn add(&mut self, protocol: Protocol, fd: Option<Fd>) -> &mut Socket {
        self.under_test = Some(self.all.len());
        self.all.push(Socket {
            state: State::New,
            protocol,
            fd,
            local_port: None,
            remote_port: None,
            script_isn: 0,
            live_isn: 0,
            remote_isn: 0,
            timestamps: BTreeMap::new(),
            first_timestamps: None,
            flow_label: None,
        });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    pub fn under_test(&self) -> Option<&Socket> {
        self.under_test.and_then(|index| self.all.get(index))
    }

    pub fn under_test_mut(&mut self) -> Option<&mut Socket> {
        self.under_test.and_then(|index| self.all.get_mut(index))
    }

    /// The socket of a file descriptor.
    pub fn of_fd(&mut self, fd: Fd) -> Option<&mut Socket> {
        self.all.iter_mut().rev().find(|socket| socket.fd == Some(fd))
    }

    /// The connection returned by `accept`: the last one that is ready. The socket under test does not change.
    pub fn accepted(&mut self, fd: Fd) {
        let ready = |socket: &&mut Socket| {
            matches!(socket.state, State::SynAckSent | State::SynAckAcked) && socket.fd.is_none()
        };
        if let Some(socket) = self.all.iter_mut().rev().find(ready) {
            socket.fd = Some(fd);
        }
    }

    /// A connection for a packet to a listener, or to no socket.
    pub fn passive(&mut self, packet: &PacketSpec, bind_port: u16) {
        let port = FIRST_REMOTE_PORT.wrapping_add(self.connections);
        self.connections = self.connections.wrapping_add(1);
        let protocol = protocol_of(&packet.body);
        let socket = self.add(protocol, None);
        socket.state = State::PacketReceived;
        socket.local_port = Some(bind_port);
        socket.remote_port = Some(port);
        if let Body::Tcp(segment) = &packet.body {
            socket.remote_isn = segment.seq;
        }
    }
}

pub fn protocol_of(body: &Body) -> Protocol {
    match body {
        Body::Tcp(_) => Protocol::Tcp,
        Body::Udp { .. } => Protocol::Udp,
        Body::Icmp(_) => Protocol::Icmp,
    }
}

impl Socket {
    /// Whether a script's packet can belong to it.
    pub fn speaks(&self, body: &Body) -> bool {
        match body {
            Body::Icmp(_) => true,
            body => protocol_of(body) == self.protocol,
        }
    }

    /// Whether the kernel sent a packet from it. The local port of an active open is known from its SYN.
    pub fn sent(&mut self, packet: &Datagram) -> bool {
        if matches!(packet.body, Body::Icmp(_)) {
            return true;
        }
        if protocol_of(&packet.body) != self.protocol || self.remote_port != Some(packet.destination_port) {
            return false;
        }
        if self.local_port == Some(packet.source_port) {
            return true;
        }
        let opens = match &packet.body {
            Body::Tcp(segment) => {
                self.state == State::SynSent && segment.has(Flags::SYN) && !segment.has(Flags::ACK)
            }
            Body::Udp { .. } | Body::Icmp(_) => self.state == State::Connecting,
        };
        if opens {
            self.local_port = Some(packet.source_port);
            if let Body::Tcp(segment) = &packet.body {
                self.live_isn = segment.seq;
            }
        }
        opens
    }

    /// Replaces the run's numbers with the script's. A SYN's numbers are absolute in a script, all others relative to
    /// it.
    pub fn to_script(&self, segment: &mut Segment) {
        let syn = segment.has(Flags::SYN);
        let base = if syn { self.script_isn } else { 0 };
        segment.seq = segment.seq.wrapping_sub(self.live_isn).wrapping_add(base);
        let base = if syn { 0 } else { self.remote_isn };
        segment.shift_acknowledged(0u32.wrapping_sub(base));
    }

    /// Replaces the script's numbers with the run's.
    ///
    /// # Errors
    /// If it echoes a timestamp that was never sent.
    pub fn to_live(&self, segment: &mut Segment, scaled_echoes: bool) -> Result<(), String> {
        let syn = segment.has(Flags::SYN);
        if !syn {
            segment.seq = segment.seq.wrapping_add(self.remote_isn);
        }
        let base = if syn { self.live_isn.wrapping_sub(self.script_isn) } else { self.live_isn };
        segment.shift_acknowledged(base);
        if !segment.has(Flags::ACK) {
            return Ok(());
        }
        let Some(timestamps) = segment.timestamps_mut() else { return Ok(()) };
        timestamps.ecr = match (self.timestamps.get(&timestamps.ecr), self.first_timestamps) {
            (Some(live), _) => *live,
            (None, Some((script, live))) if scaled_echoes => {
                timestamps.ecr.wrapping_sub(script).wrapping_add(live)
            }
            _ => {
                return Err(format!(
                    "ecr {} echoes a timestamp that no expected packet had so far",
                    timestamps.ecr
                ));
            }
        };
        Ok(())
    }

    /// Maps a script's timestamp to the run's; returns the run's value in the script's terms.
    pub fn learn_timestamps(&mut self, script: Timestamps, live: Timestamps) -> u32 {
        self.timestamps.insert(script.val, live.val);
        let (first_script, first_live) = *self.first_timestamps.get_or_insert((script.val, live.val));
        live.val.wrapping_sub(first_live).wrapping_add(first_script)
    }

    /// Whether a flow label changed, or stayed, as the script's labels do.
    pub fn flow_label_fits(&mut self, script: u32, live: u32) -> bool {
        let fits = match self.flow_label {
            None => live != 0,
            Some((known, label)) => (known == script) == (label == live),
        };
        self.flow_label = Some((script, live));
        fits
    }
}
