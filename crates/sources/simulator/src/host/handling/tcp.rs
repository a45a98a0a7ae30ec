//! The input of TCP (packets, timers, free room in the qdisc) and its output (packets, wake-ups).

use super::Handling;
use crate::host::Host;
use crate::host::nic::transmit::{Handed, Outgoing};
use crate::host::schedule::{TaskId, Waker};
use crate::host::socket::{SleepsFor, SocketId};
use crate::outside::Outside;
use crate::wire::{Frame, FrameKind};
use slowpath_kernels::SocketBacklogLimit;
use slowpath_model::{DropReason, Wait};
use slowpath_scenario::Cost;
use slowpath_tcp::choices::Prequeue;
use slowpath_tcp::socket::{Peer, Unreachable};
use slowpath_tcp::{Packet, State};

impl Host {
    /// Continues the context's work: returns the cost of its next piece, or `None` if it is done.
    pub(in crate::host) fn proceed(
        &mut self,
        handling: &mut Handling,
        waker: Waker,
        out: &mut Outside<'_>,
    ) -> Option<Cost> {
        if let Some(place) = handling.sending.take() {
            let packet = self.transmit.made.packets[place];
            self.transmit.made.free.push(place);
            self.hand_down(&packet, out);
        }
        let id = handling.socket?;
        if self.cpus.is_free {
            while let Some(packet) = self.next_output(id) {
                self.hand_down(&packet, out);
            }
        } else if let Some(packet) = self.next_output(id) {
            let cost = self.costs.send(&packet.frame.packet);
            handling.sending = Some(self.transmit.made.put(packet));
            return Some(cost);
        }
        handling.socket = None;
        if self.receive.spinning > 0 {
            self.end_spins();
        }
        self.settle(id, waker, out).filter(|cost| *cost != Cost::ZERO)
    }

    /// The next packet that a socket's TCP wants to send.
    fn next_output(&mut self, id: SocketId) -> Option<Outgoing> {
        if let Some(socket) = self.connections.sockets.get_mut(id) {
            let packet = socket.tcp.poll_transmit()?;
            let id_on_wire = socket.next_id;
            socket.next_id = socket.next_id.wrapping_add(packet.segments() as u16);
            let frame =
                Frame { connection: socket.connection, id: id_on_wire, kind: FrameKind::Segment, packet };
            return Some(Outgoing { socket: id, wire: socket.wire, frame });
        }
        if let Some(socket) = self.connections.sockets.datagrams_mut(id) {
            let (wire, frame) = socket.take_outgoing()?;
            return Some(Outgoing { socket: id, wire, frame });
        }
        let listening = self.connections.sockets.listener_mut(id)?;
        let (Peer(peer), packet) = listening.listener.poll_transmit()?;
        // A SYN-ACK has identification 0 (`ip_build_and_send_pkt`): it is never fragmented.
        let frame = Frame { connection: peer as u32, id: 0, kind: FrameKind::Segment, packet };
        Some(Outgoing { socket: id, wire: listening.wire, frame })
    }

    /// Passes a packet to the qdisc and the NIC.
    fn hand_down(&mut self, packet: &Outgoing, out: &mut Outside<'_>) {
        self.complete_sent(out);
        if self.transmit.transmitter.hand(packet, self.receive.ring.bus(), out) == Handed::Dropped {
            if let Some(socket) = self.connections.sockets.get_mut(packet.socket) {
                socket.counts.local_drops += 1;
                if self.transmit.reports_drops {
                    socket.tcp.handle_local_drop(out.now, &packet.frame.packet);
                }
                out.dropped(self.id, true, &packet.frame, DropReason::Qdisc);
            } else if packet.frame.is_datagram() {
                self.datagram_dropped(packet, out);
            }
        }
        self.transmit.watch(out);
    }

    /// Frees what the NIC has sent (`tcp_wfree`). All callers of a socket's TCP call this first, because TCP checks how
    /// much is still in qdisc and NIC.
    pub(in crate::host) fn complete_sent(&mut self, out: &mut Outside<'_>) {
        if self.receive.ring.bus().is_some() {
            // What has arrived before uses the bus first.
            self.receive.fill_ring(out.now, out);
        }
        while let Some(departed) = self.transmit.transmitter.complete(self.receive.ring.bus(), out) {
            let Some(socket) = self.connections.sockets.get_mut(departed.socket) else {
                self.datagram_departed(departed.socket, departed.memory, out);
                continue;
            };
            if socket.connection == departed.connection && socket.tcp.handle_departed(departed.memory) {
                self.transmit.throttled -= usize::from(std::mem::take(&mut socket.throttled));
                let at = self.cpus.softirqs_here();
                self.receive.softirqs[at].throttled.push_back(departed.socket);
                self.cpus.kicked |= 1 << self.receive.softirqs[at].cpu;
            }
        }
    }

    /// There is room for a socket in the qdisc: handled now, or by the process that owns the socket
    /// (`tcp_tsq_handler`).
    pub(in crate::host) fn make_use_of_room(
        &mut self,
        id: SocketId,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        let Some(socket) = self.connections.sockets.get_mut(id) else { return Cost::ZERO };
        if socket.is_locked() {
            socket.room_deferred = true;
            return Cost::ZERO;
        }
        socket.tcp.handle_room(out.now);
        handling.begin(id);
        self.work_of(id)
    }

    /// Wakes processes whose condition now holds, and sets the socket's timer.
    fn settle(&mut self, id: SocketId, waker: Waker, out: &mut Outside<'_>) -> Option<Cost> {
        let woken = match self.connections.sockets.get_mut(id) {
            Some(socket) => {
                if out.wants.marks {
                    let connection = socket.connection;
                    for mark in socket.take_marks() {
                        out.marked(self.id, connection, mark);
                    }
                }
                if socket.tcp.has_learned() {
                    self.connections.cached_metrics.learn(self.id, socket, &self.connections.settings, out);
                }
                let wakeups = socket.tcp.poll_wakeups();
                let due = socket.tcp.poll_timeout();
                socket.timer_due = due;
                if let Some(due) = due
                    && socket.timer_armed.is_none_or(|armed| due < armed)
                {
                    socket.timer_armed = Some(due);
                    out.agenda.set(socket.timer, Some(due));
                }
                if socket.tcp.waits_for_departure() && !std::mem::replace(&mut socket.throttled, true) {
                    self.transmit.throttled += 1;
                    out.agenda.set(self.transmit.sent_slot, self.transmit.transmitter.next_completion(true));
                }
                let woken = socket.sleeper.filter(|(_, wait)| match wait {
                    SleepsFor::Readable => wakeups.readable || wakeups.state,
                    SleepsFor::Writable => wakeups.writable || wakeups.state,
                    SleepsFor::Established => wakeups.state,
                });
                if woken.is_some() {
                    socket.sleeper = None;
                }
                woken.map(|(task, _)| task)
            }
            None => {
                let listening = self.connections.sockets.listener_mut(id)?;
                out.agenda.set(listening.timer, listening.listener.poll_timeout());
                if listening.listener.poll_wakeups() { listening.acceptor.take() } else { None }
            }
        };
        self.transmit.throttled -= usize::from(self.connections.reap(id, out));
        let task = woken?;
        self.cpus.wake(task, waker, out.now);
        Some(self.costs.wake_up)
    }

    /// IP passes a packet up (`tcp_v4_rcv`): processed here, or left to the process that owns the socket. Returns the
    /// cost besides IP's part.
    pub(in crate::host) fn receive_frame(
        &mut self,
        frame: &Frame,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        if frame.kind == FrameKind::Damaged {
            // Before any of it is trusted (`tcp_v4_rcv`, `TcpInCsumErrors`).
            return Cost::ZERO;
        }
        let Some(id) = self.connections.socket_for(frame, out) else { return Cost::ZERO };
        if frame.kind == FrameKind::TooBig {
            return self.too_big(id, frame, handling, out);
        }
        let Some(socket) = self.connections.sockets.get_mut(id) else {
            return self.receive_unconnected(id, frame, handling, out);
        };
        socket.counts.arrived += 1;
        let truesize = truesize(&frame.packet);
        if socket.is_locked() {
            let both = |sndbuf: u32| {
                let limit = u64::from(socket.tcp.receive_buffer()) + u64::from(sndbuf) + (64 << 10);
                limit.saturating_sub(socket.tcp.receive_memory().into())
            };
            let room = match self.receive.path.socket_backlog {
                SocketBacklogLimit::Unlimited => u64::MAX,
                SocketBacklogLimit::BothBuffers => both(socket.tcp.send_buffer()),
                SocketBacklogLimit::HalfSendBuffer => both(socket.tcp.send_buffer() / 2),
                // The send buffer's half is relatively small, and autotuning changes it.
                SocketBacklogLimit::TwiceReceiveBuffer => {
                    2 * u64::from(socket.tcp.receive_buffer()) + (64 << 10)
                }
            };
            if socket.backlog_bytes + truesize > room {
                socket.counts.backlog_dropped += 1;
                out.dropped(self.id, false, frame, DropReason::SocketBacklog);
                return Cost::ZERO;
            }
            socket.counts.backlogged += 1;
            socket.backlog_bytes += truesize;
            socket.backlog.push_back((out.now, frame.packet));
            socket.note_waiting();
            return Cost::ZERO;
        }
        if self.receive.prequeue == Prequeue::Yes
            && let Some((task, SleepsFor::Readable)) = socket.sleeper
        {
            return self.put_on_prequeue(id, task, frame, truesize, handling, out);
        }
        self.process(id, &frame.packet, handling, out)
    }

    /// A router reports that a segment was too big (`tcp_v4_err`): processed now, or when the process releases the
    /// socket.
    fn too_big(
        &mut self,
        id: SocketId,
        frame: &Frame,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        self.complete_sent(out);
        let Some(socket) = self.connections.sockets.get_mut(id) else { return Cost::ZERO };
        let (mtu, seq) = (u32::from(frame.packet.urgent), frame.packet.seq);
        if socket.is_locked() {
            socket.mtu_deferred = Some((mtu, seq));
            return Cost::ZERO;
        }
        socket.tcp.handle_icmp(out.now, Unreachable::TooBig(mtu), seq);
        handling.begin(id);
        self.work_of(id)
    }

    /// The reader sleeps and is to process the packet itself (`tcp_prequeue`, include/net/tcp.h, 2.6.14). Only the
    /// first of a batch wakes it; if its buffer fills up before it runs, all of them are processed here.
    fn put_on_prequeue(
        &mut self,
        id: SocketId,
        reader: TaskId,
        frame: &Frame,
        truesize: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        let Some(socket) = self.connections.sockets.get_mut(id) else { return Cost::ZERO };
        socket.counts.prequeued += 1;
        socket.prequeue.push_back((out.now, frame.packet));
        socket.prequeue_bytes += truesize;
        socket.note_waiting();
        if socket.prequeue_bytes > u64::from(socket.tcp.receive_buffer()) {
            let mut cost = Cost::ZERO;
            let next = |this: &mut Self| this.connections.sockets.get_mut(id)?.prequeue.pop_front();
            while let Some((came, packet)) = next(self) {
                let waited = [came, out.now];
                out.waited(self.id, frame.connection, Wait::Prequeue, waited, packet.len);
                cost = cost.plus(self.process(id, &packet, handling, out));
            }
            if let Some(socket) = self.connections.sockets.get_mut(id) {
                socket.prequeue_bytes = 0;
            }
            return cost;
        }
        if socket.prequeue.len() == 1 {
            self.cpus.wake(reader, Waker::Interrupt, out.now);
            return self.costs.wake_up;
        }
        Cost::ZERO
    }

    /// TCP processes a packet (`tcp_v4_do_rcv`).
    pub(in crate::host) fn process(
        &mut self,
        id: SocketId,
        packet: &Packet,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        self.complete_sent(out);
        let Some(socket) = self.connections.sockets.get_mut(id) else { return Cost::ZERO };
        socket.counts.processed += 1;
        if socket.tcp.state() == State::SynSent
            && let Some(settings) = self.connections.cached_metrics.recall(self.id, socket.connection, out)
        {
            socket.tcp.set_settings(settings);
        }
        let expected = socket.tcp.receive_queue().end;
        socket.tcp.handle_packet(out.now, packet);
        if out.wants.waits && packet.len > 0 {
            let fresh = socket.tcp.receive_queue().end.distance_from(expected);
            socket.arrivals.add(out.now, u32::try_from(fresh).unwrap_or(0));
        }
        handling.begin(id);
        if self.cpus.is_free { Cost::ZERO } else { self.costs.receive(packet).plus(self.work_of(id)) }
    }

    /// The cost of a socket's TCP work beyond the fast path.
    pub(in crate::host) fn work_of(&mut self, id: SocketId) -> Cost {
        self.connections
            .sockets
            .get_mut(id)
            .map_or(Cost::ZERO, |socket| self.costs.work(socket.tcp.take_work()))
    }

    /// A packet for a listening socket, or a datagram.
    fn receive_unconnected(
        &mut self,
        id: SocketId,
        frame: &Frame,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        let Some(listening) = self.connections.sockets.listener_mut(id) else {
            return self.queue_datagram(id, frame, out);
        };
        let known = self.connections.cached_metrics.recall(self.id, frame.connection, out);
        listening.listener.set_settings(known.as_ref().unwrap_or(&self.connections.settings));
        listening.listener.handle_packet(out.now, Peer(u64::from(frame.connection)), &frame.packet);
        handling.begin(id);
        self.costs.receive(&frame.packet)
    }

    /// A socket's timer has fired: handled now, or by the process that owns the socket (`tcp_write_timer`).
    pub(in crate::host) fn fire(
        &mut self,
        id: SocketId,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        self.complete_sent(out);
        let Some(socket) = self.connections.sockets.get_mut(id) else {
            if let Some(listening) = self.connections.sockets.listener_mut(id) {
                listening.listener.handle_timeout(out.now);
                handling.begin(id);
            }
            return Cost::ZERO;
        };
        if socket.is_locked() {
            socket.timer_deferred = true;
            return Cost::ZERO;
        }
        socket.tcp.handle_timeout(out.now);
        handling.begin(id);
        self.work_of(id)
    }
}

/// The memory charged for a queued packet: its buffer and the two structures that describe it.
fn truesize(packet: &Packet) -> u64 {
    const PER_SEGMENT: u64 = 768;
    u64::from(packet.len) + u64::from(packet.segments()) * PER_SEGMENT
}
