//! What a context does after TCP has processed a packet, a timer or a system call: sends TCP's output, packet by
//! packet, and then wakes waiters. Softirqs and processes do the same.

mod tcp;

use super::nic::transmit::Outgoing;
use super::socket::SocketId;

/// The state of a context.
#[derive(Debug, Default)]
pub struct Handling {
    /// The socket it works on.
    socket: Option<SocketId>,
    /// The place of a packet that is built, and passed to the qdisc when the time for that is over.
    sending: Option<usize>,
}

/// Packets that contexts have built and not passed to the qdisc yet. They are stored here so that a context, which is
/// moved at every step, stays small.
#[derive(Debug, Default)]
pub struct Made {
    packets: Vec<Outgoing>,
    /// Free places.
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
    /// It has called into a socket's TCP, whose output must be sent.
    pub fn begin(&mut self, socket: SocketId) {
        self.socket = Some(socket);
    }

    /// Whether it works on a socket.
    pub fn is_at(&self, socket: SocketId) -> bool {
        self.socket == Some(socket)
    }
}
