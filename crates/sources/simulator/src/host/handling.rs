//! What a context does with a packet, a timer or a system call once TCP has had it: put out what TCP wants to send,
//! one packet after the other, and then wake who waits. The same in softirq and in process context.

use super::Host;
use super::nic::transmit::{Handed, Outgoing};
use super::schedule::Waker;
use super::socket::{SleepsFor, SocketId};
use crate::outside::Outside;
use crate::wire::Frame;
use slowpath_kernels::SocketBacklogLimit;
use slowpath_model::{DropReason, Wait};
use slowpath_scenario::Cost;
use slowpath_tcp::choices::Prequeue;
use slowpath_tcp::socket::Peer;
use slowpath_tcp::{Packet, State};

/// What a context is in the middle of.
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

impl Host {
    /// Goes on with what the context is in the middle of: what the next piece of it costs, or `None` when it is
    /// done.
    pub(super) fn proceed(
        &mut self,
        handling: &mut Handling,
        waker: Waker,
        out: &mut Outside<'_>,
    ) -> Option<Cost> {
        if let Some(place) = handling.sending.take() {
            let packet = self.made.packets[place];
            self.made.free.push(place);
            self.hand_down(&packet, out);
        }
        let id = handling.socket?;
        if self.is_free {
            while let Some(packet) = self.next_output(id) {
                self.hand_down(&packet, out);
            }
        } else if let Some(packet) = self.next_output(id) {
            let cost = self.costs.send(&packet.frame.packet);
            handling.sending = Some(self.made.put(packet));
            return Some(cost);
        }
        handling.socket = None;
        if self.spinning > 0 {
            self.end_spins();
        }
        self.settle(id, waker, out).filter(|cost| *cost != Cost::ZERO)
    }

    /// The next packet that a socket's TCP wants to send.
    fn next_output(&mut self, id: SocketId) -> Option<Outgoing> {
        if let Some(socket) = self.sockets.get_mut(id) {
            let packet = socket.tcp.poll_transmit()?;
            let id_on_wire = socket.next_id;
            socket.next_id = socket.next_id.wrapping_add(packet.segments() as u16);
            let frame = Frame { connection: socket.connection, id: id_on_wire, is_datagram: false, packet };
            return Some(Outgoing { socket: id, wire: socket.wire, frame });
        }
        if let Some(socket) = self.sockets.datagrams_mut(id) {
            let (wire, frame) = socket.take_outgoing()?;
            return Some(Outgoing { socket: id, wire, frame });
        }
        let door = self.sockets.door_mut(id)?;
        let (Peer(peer), packet) = door.listener.poll_transmit()?;
        // A SYN-ACK has identification 0 (`ip_build_and_send_pkt`): it is never part of a fragmented packet.
        let frame = Frame { connection: peer as u32, id: 0, is_datagram: false, packet };
        Some(Outgoing { socket: id, wire: door.wire, frame })
    }

    /// To the queue discipline and the card.
    fn hand_down(&mut self, packet: &Outgoing, out: &mut Outside<'_>) {
        self.complete_sent(out);
        if self.transmitter.hand(packet, out) == Handed::Dropped {
            if let Some(socket) = self.sockets.get_mut(packet.socket) {
                socket.counts.local_drops += 1;
                if self.tells_of_drops {
                    socket.tcp.handle_local_drop(out.now, &packet.frame.packet);
                }
                out.dropped(self.id, true, &packet.frame, DropReason::Qdisc);
            } else if packet.frame.is_datagram {
                self.datagram_dropped(packet, out);
            }
        }
        self.watch_card(out);
    }

    /// Frees what the card has sent (`tcp_wfree`). Whoever works with a socket's TCP calls this first, for TCP looks at
    /// how much of it is still down there.
    pub(super) fn complete_sent(&mut self, out: &mut Outside<'_>) {
        while let Some(departed) = self.transmitter.complete(out) {
            let Some(socket) = self.sockets.get_mut(departed.socket) else {
                self.datagram_departed(departed.socket, departed.memory, out);
                continue;
            };
            if socket.connection == departed.connection && socket.tcp.handle_departed(departed.memory) {
                self.throttled -= usize::from(std::mem::take(&mut socket.throttled));
                let at = self.softirqs_here();
                self.softirqs[at].throttled.push_back(departed.socket);
                self.kicked |= 1 << self.softirqs[at].cpu;
            }
        }
    }

    /// There is room for a socket below: handled now, or by the process that has it (`tcp_tsq_handler`).
    pub(super) fn make_use_of_room(
        &mut self,
        id: SocketId,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        let Some(socket) = self.sockets.get_mut(id) else { return Cost::ZERO };
        if socket.is_locked() {
            socket.room_deferred = true;
            return Cost::ZERO;
        }
        socket.tcp.handle_room(out.now);
        handling.begin(id);
        self.work_of(id)
    }

    /// Wakes who waits for what has come about, and sets the socket's timer.
    fn settle(&mut self, id: SocketId, waker: Waker, out: &mut Outside<'_>) -> Option<Cost> {
        let woken = match self.sockets.get_mut(id) {
            Some(socket) => {
                if out.wants.marks {
                    let connection = socket.connection;
                    for mark in socket.take_marks() {
                        out.marked(self.id, connection, mark);
                    }
                }
                if socket.tcp.has_learned() {
                    self.remembered.learn(self.id, socket, &self.settings, out);
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
                    self.throttled += 1;
                    out.agenda.set(self.sent_slot, self.transmitter.next_completion(true));
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
                let door = self.sockets.door_mut(id)?;
                out.agenda.set(door.timer, door.listener.poll_timeout());
                if door.listener.poll_wakeups() { door.acceptor.take() } else { None }
            }
        };
        self.reap(id, out);
        let task = woken?;
        self.wake(task, waker, out);
        Some(self.costs.wake_up)
    }

    /// IP hands a packet up (`tcp_v4_rcv`): processed here, or left to the process that has the socket. What that costs
    /// beside IP's part.
    pub(super) fn receive_frame(
        &mut self,
        frame: &Frame,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        let Some(id) = self.socket_for(frame, out) else { return Cost::ZERO };
        let Some(socket) = self.sockets.get_mut(id) else {
            return self.knock(id, frame, handling, out);
        };
        socket.counts.arrived += 1;
        let truesize = truesize(&frame.packet);
        if socket.is_locked() {
            let room = match self.receive_path.socket_backlog {
                SocketBacklogLimit::Unlimited => u64::MAX,
                // The send buffer's half is small beside the rest, and tuning moves it.
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
        if self.prequeue == Prequeue::Yes
            && let Some((task, SleepsFor::Readable)) = socket.sleeper
        {
            return self.put_on_prequeue(id, task, frame, truesize, handling, out);
        }
        self.process(id, &frame.packet, handling, out)
    }

    /// The reader sleeps and is to process the packet itself (`tcp_prequeue`, include/net/tcp.h, 2.6.14). Only the
    /// first of a batch wakes it; if it does not come before its buffer is full, all of them are processed here.
    fn put_on_prequeue(
        &mut self,
        id: SocketId,
        reader: super::schedule::TaskId,
        frame: &Frame,
        truesize: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        let Some(socket) = self.sockets.get_mut(id) else { return Cost::ZERO };
        socket.counts.prequeued += 1;
        socket.prequeue.push_back((out.now, frame.packet));
        socket.prequeue_bytes += truesize;
        socket.note_waiting();
        if socket.prequeue_bytes > u64::from(socket.tcp.receive_buffer()) {
            let mut cost = Cost::ZERO;
            let next = |this: &mut Self| this.sockets.get_mut(id)?.prequeue.pop_front();
            while let Some((came, packet)) = next(self) {
                let waited = [came, out.now];
                out.waited(self.id, frame.connection, Wait::Prequeue, waited, packet.len);
                cost = cost.plus(self.process(id, &packet, handling, out));
            }
            if let Some(socket) = self.sockets.get_mut(id) {
                socket.prequeue_bytes = 0;
            }
            return cost;
        }
        if socket.prequeue.len() == 1 {
            self.wake(reader, Waker::Interrupt, out);
            return self.costs.wake_up;
        }
        Cost::ZERO
    }

    /// TCP processes a packet (`tcp_v4_do_rcv`).
    pub(super) fn process(
        &mut self,
        id: SocketId,
        packet: &Packet,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        self.complete_sent(out);
        let Some(socket) = self.sockets.get_mut(id) else { return Cost::ZERO };
        socket.counts.processed += 1;
        if socket.tcp.state() == State::SynSent
            && let Some(settings) = self.remembered.recall(self.id, socket.connection, out)
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
        if self.is_free { Cost::ZERO } else { self.costs.receive(packet).plus(self.work_of(id)) }
    }

    /// What a socket's TCP did beside the plain path.
    pub(super) fn work_of(&mut self, id: SocketId) -> Cost {
        self.sockets.get_mut(id).map_or(Cost::ZERO, |socket| self.costs.work(socket.tcp.take_work()))
    }

    /// A packet for a socket that listens, or a datagram.
    fn knock(&mut self, id: SocketId, frame: &Frame, handling: &mut Handling, out: &mut Outside<'_>) -> Cost {
        let Some(door) = self.sockets.door_mut(id) else { return self.queue_datagram(id, frame, out) };
        let known = self.remembered.recall(self.id, frame.connection, out);
        door.listener.set_settings(known.as_ref().unwrap_or(&self.settings));
        door.listener.handle_packet(out.now, Peer(u64::from(frame.connection)), &frame.packet);
        handling.begin(id);
        self.costs.receive(&frame.packet)
    }

    /// A socket's timer has fired: handled now, or by the process that has the socket (`tcp_write_timer`).
    pub(super) fn fire(&mut self, id: SocketId, handling: &mut Handling, out: &mut Outside<'_>) -> Cost {
        self.complete_sent(out);
        let Some(socket) = self.sockets.get_mut(id) else {
            if let Some(door) = self.sockets.door_mut(id) {
                door.listener.handle_timeout(out.now);
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

/// Memory that a packet is charged with on a queue: its buffer and the two structures that describe it.
fn truesize(packet: &Packet) -> u64 {
    const PER_SEGMENT: u64 = 768;
    u64::from(packet.len) + u64::from(packet.segments()) * PER_SEGMENT
}
