//! Injected packets.

use super::sockets::{Socket, State};
use super::{Runner, Step, TraceLine};
use crate::packet::{Body, ClassSpec, Datagram, Echoed, PacketSpec};
use crate::script::Event;
use crate::wire;
use slowpath_model::Flags;

impl Runner<'_> {
    pub(super) fn inject(&mut self, event: &Event, packet: &PacketSpec) -> Step {
        if !packet.around.is_empty() {
            return Err(self.failure(event, "packets inside of other packets cannot be injected here"));
        }
        let listening = self.sockets.under_test().is_none_or(|socket| socket.state == State::Listening);
        if listening && !matches!(packet.body, Body::Icmp(_)) {
            self.sockets.passive(packet, self.script.config.bind_port);
        }
        let scaled = self.script.config.scaled_echoes;
        let Some(socket) = self.sockets.under_test_mut().filter(|socket| socket.speaks(&packet.body)) else {
            return Err(self.failure(event, "no socket of this script can receive this packet"));
        };
        advance(socket, packet);
        let live = match live(socket, packet, scaled) {
            Ok(live) => live,
            Err(what) => return Err(self.failure(event, what)),
        };
        let at = self.kernel.now();
        self.trace.push(TraceLine { at, text: format!("< {packet}") });
        self.kernel.inject(&live).map_err(|error| self.broken(event, &error))
    }
}

/// Updates the socket's state from an injected packet.
fn advance(socket: &mut Socket, packet: &PacketSpec) {
    let Body::Tcp(segment) = &packet.body else { return };
    let acknowledges = segment.has(Flags::ACK);
    if socket.state == State::SynAckSent && acknowledges {
        socket.state = State::SynAckAcked;
    } else if socket.state == State::SynSent && acknowledges && segment.has(Flags::SYN) {
        socket.state = State::SynAcked;
        socket.remote_isn = segment.seq;
    }
}

/// The packet with the run's numbers.
fn live(socket: &Socket, packet: &PacketSpec, scaled_echoes: bool) -> Result<Datagram, String> {
    let (local, remote) = (socket.local_port.unwrap_or(0), socket.remote_port.unwrap_or(0));
    let mut body = packet.body.clone();
    let mut ports = (remote, local);
    match &mut body {
        Body::Tcp(segment) => socket.to_live(segment, scaled_echoes)?,
        Body::Udp { .. } => {}
        Body::Icmp(message) => {
            // The ports of the quoted packet, which went in the other direction.
            ports = (local, remote);
            if let Echoed::Tcp { seq, .. } = &mut message.echoed {
                *seq = seq.wrapping_add(socket.live_isn);
            }
        }
    }
    if let Some((source, destination)) = packet.ports {
        ports = (source, destination);
    }
    Ok(Datagram {
        source_port: ports.0,
        destination_port: ports.1,
        class: match packet.ip.class {
            ClassSpec::Any | ClassSpec::Ect01 => 0,
            ClassSpec::Ecn(ecn) => ecn.bits(),
            ClassSpec::Whole(byte) => byte,
        },
        ttl: packet.ip.ttl.unwrap_or(wire::TTL),
        flow_label: packet.ip.flow_label.unwrap_or(0),
        body,
    })
}
