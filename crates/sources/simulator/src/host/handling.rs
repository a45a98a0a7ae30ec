//! What a context does after TCP has processed a packet, a timer or a system call: pass on what TCP wants to send,
//! one packet after the other, and then wake who waits. Softirqs and processes do it alike.

mod tcp;

use super::nic::transmit::Outgoing;
use super::socket::SocketId;

/// The state of a context.
#[derive(Debug, Default)]
pub struct Handling {
    /// The socket it works on.
    socket: Option<SocketId>,
    /// The place of a packet that is made, and handed down when the time for that is over.
    sending: Option<usize>,
}

/// Packets that contexts have made and not handed down yet: a context itself is small, since it is moved at every step.
#[derive(Debug, Default)]
pub struct Made {
    packets: Vec<Outgoing>,
    /// Places whose packets are gone.
    free: Vec<usize>,
}

impl Made {
    fn put(&mut self, packet: Outgoing) -> usize {
        let Some(place) = self.free.pop() else {
            self.packets.push(packet);
            return self.packets.len() - 1;
        };
        self.packets[place] = packet;
        place
    }
}

impl Handling {
    /// It has called into a socket's TCP, whose output is to be seen to.
    pub fn begin(&mut self, socket: SocketId) {
        self.socket = Some(socket);
    }

    /// Whether it is a socket's that it works on.
    pub fn is_at(&self, socket: SocketId) -> bool {
        self.socket == Some(socket)
    }
}
