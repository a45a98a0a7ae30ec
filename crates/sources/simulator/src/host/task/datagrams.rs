//! System calls on datagram sockets, and receiving datagrams: `udp_sendmsg`, `udp_queue_rcv_skb` and `udp_recvmsg`.

use super::{Call, Mode, Next};
use crate::host::Host;
use crate::host::datagram_socket::Waiting;
use crate::host::handling::Handling;
use crate::host::nic::transmit::Outgoing;
use crate::host::schedule::{TaskId, Waker};
use crate::host::socket::{SleepsFor, SocketId};
use crate::outside::Outside;
use crate::program::Done;
use crate::wire::{Frame, FrameKind};
use slowpath_model::{Flags, StreamOffset};
use slowpath_scenario::{Cost, DATAGRAM_HEADERS};
use slowpath_tcp::Packet;

impl Host {
    /// `udp_sendmsg`: copies the datagram and passes it down.
    pub(super) fn send_datagram(
        &mut self,
        task: TaskId,
        id: SocketId,
        length: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let index = task.index();
        self.complete_sent(out);
        let Some(socket) = self.connections.sockets.datagrams_mut(id) else { return self.fail(task) };
        let Some(connection) = socket.connection else { return self.fail(task) };
        if socket.unsent >= socket.send_buffer {
            socket.sleeper = Some((task, SleepsFor::Writable));
            self.transmit.throttled += 1;
            out.agenda.set(self.transmit.sent_slot, self.transmit.transmitter.next_completion(true));
            return Some(self.sleep(task));
        }
        let packet =
            Packet::new(Flags::default(), StreamOffset(1), u32::try_from(length).unwrap_or(u32::MAX));
        socket.unsent += packet.send_memory();
        socket.outgoing = Some(Frame { connection, id: socket.next_id, kind: FrameKind::Datagram, packet });
        socket.next_id = socket.next_id.wrapping_add(1);
        if let Some(counts) = out.links.datagrams_mut(connection) {
            counts.sent += 1;
        }
        handling.begin(id);
        let this = &mut self.cpus.tasks[index];
        (this.mode, this.call) = (Mode::Kernel, Call::Returned(Done::Wrote(length)));
        Some(Next::Work(self.costs.copy(length)))
    }

    /// `udp_recvmsg`: one datagram, up to the requested length.
    pub(super) fn receive_datagram(
        &mut self,
        task: TaskId,
        id: SocketId,
        wanted: u64,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let Some(socket) = self.connections.sockets.datagrams_mut(id) else { return self.fail(task) };
        let Some(Waiting { connection, length, memory }) = socket.queue.pop_front() else {
            socket.sleeper = Some((task, SleepsFor::Readable));
            return Some(self.sleep(task));
        };
        socket.received = socket.received.saturating_sub(memory);
        let amount = u64::from(length).min(wanted);
        if let Some(link) = out.links.get_mut(connection) {
            let (read, last) = &mut link.read[link.end_at(self.id).index()];
            (*read, *last) = (*read + amount, out.now);
            if let Some(counts) = &mut link.datagrams {
                counts.read += 1;
            }
        }
        let this = &mut self.cpus.tasks[task.index()];
        (this.mode, this.call) = (Mode::Kernel, Call::Returned(Done::Read(amount)));
        Some(Next::Work(self.costs.copy(amount)))
    }

    /// `udp_queue_rcv_skb`: returns a datagram's cost besides IP's part.
    pub(in crate::host) fn queue_datagram(
        &mut self,
        id: SocketId,
        frame: &Frame,
        out: &mut Outside<'_>,
    ) -> Cost {
        let memory = self.connections.packet_memory.of_segment(frame.packet.len, DATAGRAM_HEADERS as u32);
        let Some(socket) = self.connections.sockets.datagrams_mut(id) else { return Cost::ZERO };
        let has_room = socket.received.saturating_add(memory) < socket.receive_buffer;
        if let Some(counts) = out.links.datagrams_mut(frame.connection) {
            counts.arrived += 1;
            counts.dropped_above += u64::from(!has_room);
        }
        let cost = self.costs.receive(&frame.packet);
        if !has_room {
            return cost;
        }
        socket.received += memory;
        let (connection, length) = (frame.connection, frame.packet.len);
        socket.queue.push_back(Waiting { connection, length, memory });
        let Some((task, SleepsFor::Readable)) = socket.sleeper else { return cost };
        socket.sleeper = None;
        self.cpus.wake(task, Waker::Interrupt, out.now);
        cost.plus(self.costs.wake_up)
    }

    /// The qdisc dropped a datagram. Its sender gets no error, unless it set `IP_RECVERR`.
    pub(in crate::host) fn datagram_dropped(&mut self, packet: &Outgoing, out: &mut Outside<'_>) {
        if let Some(counts) = out.links.datagrams_mut(packet.frame.connection) {
            counts.dropped_below += 1;
        }
        self.datagram_departed(packet.socket, packet.frame.packet.send_memory(), out);
    }

    /// The memory of a datagram is freed: the NIC has sent it, or the qdisc dropped it.
    pub(in crate::host) fn datagram_departed(&mut self, id: SocketId, memory: u32, out: &mut Outside<'_>) {
        let Some(task) =
            self.connections.sockets.datagrams_mut(id).and_then(|socket| socket.departed(memory))
        else {
            return;
        };
        self.transmit.throttled -= 1;
        self.cpus.wake(task, Waker::Interrupt, out.now);
    }
}
