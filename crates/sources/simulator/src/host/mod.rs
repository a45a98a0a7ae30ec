//! A host: four parts, and what passes between them.
//!
//! - [`receive`]: [`nic`] rings and interrupts (`delivery`), [`softirq`] with backlogs and [`gro`], busy `polling`.
//! - [`transmit`]: outgoing packets, the qdisc, the NIC's queue.
//! - [`cpus`]: each [`cpu`], which task runs ([`schedule`]), the [`task`]s, `kernel_lock`.
//! - [`connections`]: the table of [`sockets`], `datagram_socket`, the cached metrics of other hosts (`metrics`).
//!
//! A part is changed alone by its own methods. Work that involves several parts is a method of [`Host`]: `cpu/work.rs`,
//! `softirq/step.rs`, `task/step.rs` with the system calls, `handling/tcp.rs` (TCP's input and output, in softirq and
//! in process context), `polling/rounds.rs`, `spinlock.rs`. [`costs`] has the cost of all of it.
//! `zero_cost`: a host without costs and without other load needs no CPU: packets go from its NIC straight to TCP, and
//! processes run as soon as they can.

pub mod connections;
pub mod costs;
pub mod cpu;
pub mod cpus;
pub mod datagram_socket;
mod delivery;
pub mod gro;
mod handling;
mod kernel_lock;
mod metrics;
pub mod nic;
mod polling;
pub mod receive;
pub mod schedule;
pub mod socket;
pub mod sockets;
pub mod softirq;
mod spinlock;
pub mod task;
pub mod transmit;
mod zero_cost;

use crate::agenda::Slot;
use crate::links::Links;
use crate::outside::{Observer, Occurrence, Outside, Source};
use crate::program::{Compile, Hog, Job, Program};
use crate::report::{HostReport, SocketInfo};
use connections::{Connections, Stream};
use costs::Costs;
use cpu::{Cpu, Interrupt};
use cpus::Cpus;
use delivery::Delivery;
use handling::{Handling, Made};
use kernel_lock::KernelLock;
use metrics::CachedMetrics;
use nic::receive::ReceiveRing;
use nic::transmit::Transmitter;
use receive::Receive;
use schedule::{Scheduler, TaskId};
use slowpath_kernels as kernels;
use slowpath_kernels::{LockedSocket, PacketIntake};
use slowpath_model::{EventKind, Instant};
use slowpath_path::chance::Draws;
use slowpath_scenario::{Host as Plan, HostId, LoadKind, Priority};
use slowpath_tcp::Settings;
use slowpath_tcp::socket::PacketMemory;
use socket::{SocketCounts, SocketId};
use sockets::Sockets;
use softirq::{Softirq, SoftirqCounts};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use task::Task;
use transmit::Transmit;

/// A host.
#[derive(Debug)]
pub struct Host {
    id: usize,
    costs: Costs,
    cpus: Cpus,
    receive: Receive,
    transmit: Transmit,
    connections: Connections,
}

/// The maximum number of CPUs, which are stored as bits.
pub const MOST_CPUS: u32 = 64;

impl Host {
    /// A host before its first instant, with its load but without the processes of flows.
    pub fn new(id: HostId, plan: &Plan, seed: u64, inputs: Vec<usize>, out: &mut Outside<'_>) -> Self {
        let kernel = &plan.kernel;
        let id_number = id.0;
        let costs = Costs::new(&plan.costs, &plan.nic);
        let mut cpus = (0..plan.cpus.clamp(1, MOST_CPUS) as usize)
            .map(|cpu| Cpu::new(out.add(Source::Cpu(id_number, cpu)), out.add(Source::Tick(id_number, cpu))))
            .collect::<Vec<_>>();
        let settings = settings(plan);
        let gro = kernel.receive.gro && plan.nic.gro;
        let is_free = costs.are_zero() && plan.load.is_empty();
        let delivery = Delivery::new(&plan.nic, if is_free { 1 } else { cpus.len() });
        let softirqs = delivery.softirqs(&mut cpus, kernel.receive.bottom_halves);
        let interrupt_slot = out.add(Source::Interrupt(id_number));
        let sent_slot = out.add(Source::Sent(id_number));
        let has_napi = kernel.receive.intake == PacketIntake::Napi;
        let receive = Receive {
            host: id_number,
            path: kernel.receive.clone(),
            prequeue: kernel.tcp.prequeue,
            gro,
            interrupt_slot,
            looks_ahead: inputs.len() == 1 && (is_free || has_napi) && plan.nic.bus.is_none(),
            inputs,
            ring: ReceiveRing::new(&plan.nic),
            softirqs,
            spinning: 0,
            poller: None,
            delivery,
        };
        let cpus = Cpus {
            is_free,
            preemption: kernel.preemption,
            tick_ns: kernel.tcp.clock.tick_nanos(),
            scheduler: Scheduler::new(kernel.scheduler, cpus.len() as u32, kernel.hz()),
            all: cpus,
            kicked: 0,
            tasks: Vec::new(),
            ready: VecDeque::new(),
            kernel_lock: (kernel.big_kernel_lock && !is_free).then(KernelLock::default),
            reborn: None,
            here: receive.delivery.cpu(),
        };
        let transmit = Transmit {
            sent_slot,
            transmitter: Transmitter::new(id_number, &plan.nic, &kernel.transmit),
            made: Made::default(),
            reports_drops: kernel.transmit.local_drop_notified,
            throttled: 0,
        };
        let can_poll = kernel.receive.busy_poll && has_napi && !is_free;
        let connections = Connections {
            host: id_number,
            packet_memory: PacketMemory::of_kernel(settings.choices.buffer_memory, settings.mtu, gro),
            copy_piece: if settings.choices.super_packets { 64 << 10 } else { 8 << 10 },
            locks: kernel.receive.locked_socket == LockedSocket::Backlog,
            busy_read: can_poll.then_some(kernel.receive.busy_read),
            settings: Arc::new(settings),
            sockets: Sockets::default(),
            past: SocketCounts::default(),
            listeners: BTreeMap::new(),
            streams: BTreeMap::new(),
            cached_metrics: CachedMetrics::default(),
            draws: Draws::new(seed),
        };
        let mut host = Self { id: id_number, costs, cpus, receive, transmit, connections };
        // Nice 19 until 2.6.3x, and 0 since (`ksoftirqd`, `set_user_nice`).
        let is_old = matches!(kernel.scheduler, kernels::Scheduler::Goodness | kernels::Scheduler::O1 { .. });
        let nice = if is_old { 19 } else { 0 };
        let priority = Priority::nice(nice);
        for at in 0..host.receive.softirqs.iter().count() {
            let cpu = Some(host.receive.softirqs[at].cpu);
            host.receive.softirqs[at].ksoftirqd =
                host.add_task(Program::Softirqs, priority, cpu, 0, None, out).0;
        }
        for load in &plan.load {
            host.add_load(load, out);
        }
        host
    }

    fn add_load(&mut self, load: &slowpath_scenario::Load, out: &mut Outside<'_>) {
        let stop = load.stop.map(|stop| Instant::START + stop);
        for _ in 0..load.kind.tasks() {
            let program = match load.kind {
                LoadKind::Hogs { .. } => Program::Hog(Hog::new(stop)),
                LoadKind::Make { job_time, burst, wait, tool_time: None, .. } => {
                    Program::Job(Job::new(stop, job_time, burst, wait))
                }
                LoadKind::Make { job_time, burst, wait, tool_time: Some(tool_time), .. } => {
                    Program::Compile(Compile::new(stop, [job_time, tool_time], burst, wait))
                }
            };
            let cpu = load.cpu.map(|cpu| cpu as usize);
            self.add_task(program, load.priority, cpu, 0, Some(Instant::START + load.start), out);
        }
    }

    /// Adds a task that starts at an instant; without one, it starts when woken. Returns the slot that wakes it, too.
    pub fn add_task(
        &mut self,
        program: Program,
        priority: Priority,
        cpu: Option<usize>,
        stream: usize,
        begins: Option<Instant>,
        out: &mut Outside<'_>,
    ) -> (TaskId, Slot) {
        let task = TaskId(self.cpus.tasks.len() as u32);
        let slot = out.add(Source::Wake(self.id, task.0));
        let bound_to = cpu.map(|cpu| cpu.min(self.cpus.all.len() - 1));
        self.cpus.tasks.push(Task::new(program, priority, bound_to, stream, slot));
        out.agenda.set(slot, begins);
        (task, slot)
    }

    /// Adds a stream of which the host is client or server.
    pub fn add_stream(&mut self, number: usize, stream: Stream, out: &mut Outside<'_>) {
        let serves = stream.hosts[1] == self.id;
        self.connections.streams.insert(number, stream);
        if serves && self.connections.streams[&number].is_of_datagrams {
            self.connections.bind(number, out);
        } else if serves {
            self.connections.listen(number, out);
        }
    }

    /// Forgets the cached metrics of all other hosts (`ip tcp_metrics flush`; until 3.5, flushing the route cache).
    pub fn flush_parameter_cache(&mut self) {
        self.connections.cached_metrics = CachedMetrics::default();
    }

    /// A packet has arrived on a watched wire.
    pub fn wire_arrival(&mut self, out: &mut Outside<'_>) {
        if self.cpus.is_free {
            self.arrival_zero_cost(out);
            return;
        }
        self.receive.fill_ring(out.now, out);
        self.receive.watch_wires(out);
    }

    /// The NIC raises its interrupt.
    pub fn card_interrupt(&mut self, out: &mut Outside<'_>) {
        if self.cpus.is_free {
            self.receive.fill_ring(out.now, out);
            self.poll_zero_cost(out);
            return;
        }
        out.agenda.set(self.receive.interrupt_slot, None);
        let Some(cpu) = self.receive.delivery.deliver() else { return };
        if self.receive.looks_ahead {
            // Until the handler returns, the NIC raises it again for anything that arrives.
            self.receive.fill_ring(out.now, out);
            self.receive.watch_arrival(1, out);
        }
        self.interrupt(cpu, Interrupt::Card, out);
    }

    /// The NIC has sent the first packet of its ring while more waits for that.
    pub fn card_sent(&mut self, out: &mut Outside<'_>) {
        self.cpus.here = self.receive.delivery.cpu();
        self.complete_sent(out);
        self.transmit.watch(out);
        if self.cpus.is_free {
            self.run_ready(out);
        } else if self.cpus.kicked != 0 || self.receive.softirqs[self.cpus.softirqs_here()].has_throttled() {
            self.run(self.cpus.here, out);
        }
    }

    /// A socket's timer is due.
    pub fn timer(&mut self, socket: SocketId, out: &mut Outside<'_>) {
        if !self.connections.sockets.timer_is_due(socket, out.now, out.agenda) {
            return;
        }
        if self.cpus.is_free {
            let mut handling = Handling::default();
            self.fire(socket, &mut handling, out);
            self.finish(&mut handling, out);
            self.run_ready(out);
            return;
        }
        // The clock interrupt goes where the NIC's do (2.4); later kernels run a timer where it was set.
        self.cpus.here = self.receive.delivery.cpu();
        let at = self.cpus.softirqs_here();
        self.receive.softirqs[at].timers.push_back(socket);
        self.run(self.cpus.here, out);
    }

    /// The `TCP_INFO` of a socket.
    pub fn socket_info(&self, socket: SocketId, now: Instant) -> Option<SocketInfo> {
        self.connections.sockets.get(socket).map(|socket| SocketInfo::of(&socket.tcp.info(now)))
    }

    /// Reports the state of each of its sockets.
    pub fn sample(&self, now: Instant, links: &Links, observer: &mut dyn Observer) {
        for socket in self.connections.sockets.iter() {
            let Some(link) = links.get(socket.connection) else { continue };
            let kind = EventKind::Sampled(socket.sample(link.end_at(self.id), now));
            let (host, connection) = (HostId(self.id), socket.connection);
            observer.happened(&Occurrence { at: now, host, connection, link, kind });
        }
    }

    /// The result.
    pub fn report(&self) -> HostReport {
        HostReport {
            cpus: self.cpus.all.iter().map(Cpu::busy).collect(),
            ring: self.receive.ring.counts(),
            transmit: self.transmit.transmitter.counts(),
            softirq: self
                .receive
                .softirqs
                .iter()
                .fold(SoftirqCounts::default(), |sum, one| sum.plus(one.counts())),
            spins: self.receive.softirqs.iter().map(Softirq::spins).sum(),
            sockets: self
                .connections
                .sockets
                .iter()
                .fold(self.connections.past, |sum, socket| sum.plus(socket.counts())),
        }
    }

    /// Its elements that do not conserve packets.
    pub fn not_conserved(&self) -> Vec<&'static str> {
        let elements = [
            ("receive ring", self.receive.ring.is_conserved()),
            ("softirq", self.receive.softirqs.iter().all(Softirq::is_conserved)),
            ("transmit queue", self.transmit.transmitter.is_conserved()),
            ("sockets", self.connections.sockets.iter().all(socket::Socket::is_conserved)),
            (
                "send memory",
                self.connections.sockets.iter().all(|socket| socket.tcp.accounts_for_send_memory()),
            ),
        ];
        elements.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect()
    }

    /// A task's sleep is over, or it starts.
    pub fn task_due(&mut self, task: u32, out: &mut Outside<'_>) {
        self.wake_task(task, out);
        if self.cpus.is_free {
            self.run_ready(out);
        } else {
            self.run(self.cpus.tasks[task as usize].cpu, out);
        }
    }
}

/// State shared by the host's sockets.
fn settings(plan: &Plan) -> Settings {
    let kernel = &plan.kernel;
    let mut choices = kernel.tcp.clone();
    // Super-packets need TSO or GSO.
    choices.super_packets &= plan.nic.tso || kernel.transmit.gso;
    Settings {
        choices,
        sysctls: kernel.sysctls.clone(),
        mtu: u32::try_from(plan.nic.mtu.get()).unwrap_or(u32::MAX),
        ip_header: 20,
        gso_max: (65_535, 65_536),
        route: Default::default(),
    }
}
