//! A host: its CPUs, scheduler, network card, softirqs, sockets and tasks.
//!
//! - [`cpu`]: what a CPU works on, and what interrupts it.
//! - [`schedule`]: which task runs.
//! - [`nic`]: the card, its rings, the queue discipline.
//! - [`softirq`], [`gro`]: from the ring to IP.
//! - `delivery`, `spinlock`: which CPU takes an interrupt, and two CPUs that want one socket.
//! - `polling`: a reader that takes packets off the ring itself.
//! - [`socket`], `handling`: what TCP is given and what it gives, in softirq and in process context.
//! - `kernel_lock`: one process at a time in the kernel.
//! - `metrics`: what a connection learned, for the next.
//! - `task`, `opening`: processes and their system calls.
//! - [`costs`]: what all of that costs.
//!
//! - `at_once`: a host whose work costs nothing and that has no other load needs no CPU: what its card hands up goes
//!   straight to TCP, and processes run as soon as they can.

mod at_once;
pub mod costs;
pub mod cpu;
mod delivery;
pub mod gro;
mod handling;
mod kernel_lock;
mod metrics;
pub mod nic;
mod opening;
mod polling;
pub mod schedule;
pub mod socket;
pub mod softirq;
mod spinlock;
pub mod task;

use crate::agenda::Slot;
use crate::links::Links;
use crate::outside::{Observer, Occurrence, Outside, Source};
use crate::program::{Compile, Hog, Job, Program};
use crate::report::{HostReport, Told};
use costs::Costs;
use cpu::{Cpu, Interrupt};
use delivery::{Delivery, Softirqs};
use handling::{Handling, Made};
use kernel_lock::KernelLock;
use metrics::Remembered;
use nic::receive::{Raise, ReceiveRing};
use nic::transmit::Transmitter;
use opening::Sockets;
use polling::Poller;
use schedule::{Scheduler, TaskId};
use slowpath_kernels as kernels;
use slowpath_kernels::{PacketIntake, Preemption, ReceivePath};
use slowpath_model::{DropReason, EventKind, Instant};
use slowpath_path::chance::Draws;
use slowpath_scenario::{Host as Plan, HostId, LoadKind, Priority};
use slowpath_tcp::Settings;
use slowpath_tcp::choices::Prequeue;
use slowpath_tcp::socket::{PacketMemory, SocketOptions};
use socket::{SocketCounts, SocketId};
use softirq::{Softirq, SoftirqCounts};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use task::Task;

/// A stream of a flow, as its hosts know it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The client's and the server's host.
    pub hosts: [usize; 2],
    /// The wires away from the client and away from the server.
    pub wires: [usize; 2],
    /// What the client and the server set on their sockets.
    pub options: [SocketOptions; 2],
    /// For how long they poll, where they say so (`SO_BUSY_POLL`).
    pub busy_poll: [Option<Duration>; 2],
    /// What goes over it is datagrams.
    pub is_of_datagrams: bool,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    id: usize,
    costs: Costs,
    /// Nothing costs anything, and nothing but the transfers wants the CPU.
    is_free: bool,
    receive_path: ReceivePath,
    preemption: Preemption,
    prequeue: Prequeue,
    gro: bool,
    packet_memory: PacketMemory,
    tick_ns: i64,
    /// What one piece of copying moves, in bytes.
    copy_piece: u64,
    settings: Arc<Settings>,
    cpus: Vec<Cpu>,
    /// CPUs to which something happened while another worked, by bit.
    kicked: u64,
    scheduler: Scheduler,
    tasks: Vec<Task>,
    /// Tasks that can run, on a host that is free.
    ready: VecDeque<TaskId>,
    /// Who is in a system call, where others then cannot be.
    kernel_lock: Option<KernelLock>,
    /// A task that is over and begins anew as another.
    reborn: Option<TaskId>,
    /// The CPU that works now, or worked last.
    here: usize,
    delivery: Delivery,
    interrupt_slot: Slot,
    sent_slot: Slot,
    /// The wires that end here.
    inputs: Vec<usize>,
    /// Nobody looks at what the card has before its interrupt, and it has one wire, of which it is known what comes.
    looks_ahead: bool,
    ring: ReceiveRing,
    transmitter: Transmitter,
    made: Made,
    /// TCP learns of packets that the queue drops.
    tells_of_drops: bool,
    /// Sockets that send more as soon as the card has sent something.
    throttled: usize,
    /// One, or one for each CPU where all take interrupts.
    softirqs: Softirqs,
    /// How many of them spin.
    spinning: u32,
    /// The process that has the card's NAPI.
    poller: Option<Poller>,
    sockets: Sockets,
    /// What happened to the sockets that are gone.
    past_sockets: SocketCounts,
    /// The socket that listens for each stream.
    doors: BTreeMap<usize, SocketId>,
    streams: BTreeMap<usize, Stream>,
    /// What connections learned of other hosts.
    remembered: Remembered,
    draws: Draws,
}

/// Most CPUs of a host, for they are counted in bits.
pub const MOST_CPUS: u32 = 64;

impl Host {
    /// A host before its first instant, with its load but without processes that transfer anything.
    pub fn new(id: HostId, plan: &Plan, seed: u64, inputs: Vec<usize>, out: &mut Outside<'_>) -> Self {
        let kernel = &plan.kernel;
        let id_number = id.0;
        let costs = Costs::new(&plan.costs, &plan.nic);
        let mut cpus = (0..plan.cpus.clamp(1, MOST_CPUS) as usize)
            .map(|cpu| Cpu::new(out.add(Source::Cpu(id_number, cpu)), out.add(Source::Tick(id_number, cpu))))
            .collect::<Vec<_>>();
        let settings = settings(plan);
        let super_packets = settings.choices.super_packets;
        let gro = kernel.receive.gro && plan.nic.gro;
        let is_free = costs.are_zero() && plan.load.is_empty();
        let delivery = Delivery::new(&plan.nic, if is_free { 1 } else { cpus.len() });
        let softirqs = delivery.softirqs(&mut cpus, kernel.receive.bottom_halves);
        let mut host = Self {
            id: id_number,
            is_free,
            looks_ahead: inputs.len() == 1 && (is_free || kernel.receive.intake == PacketIntake::Napi),
            costs,
            receive_path: kernel.receive.clone(),
            preemption: kernel.preemption,
            prequeue: kernel.tcp.prequeue,
            gro,
            packet_memory: PacketMemory::of_kernel(settings.choices.buffer_memory, settings.mtu, gro),
            tick_ns: kernel.tcp.clock.tick_nanos(),
            copy_piece: if super_packets { 64 << 10 } else { 8 << 10 },
            settings: Arc::new(settings),
            kicked: 0,
            scheduler: Scheduler::new(kernel.scheduler, cpus.len() as u32, kernel.hz()),
            here: delivery.cpu(),
            delivery,
            cpus,
            tasks: Vec::new(),
            ready: VecDeque::new(),
            kernel_lock: (kernel.big_kernel_lock && !is_free).then(KernelLock::default),
            reborn: None,
            interrupt_slot: out.add(Source::Interrupt(id_number)),
            sent_slot: out.add(Source::Sent(id_number)),
            inputs,
            ring: ReceiveRing::new(&plan.nic),
            transmitter: Transmitter::new(id_number, &plan.nic, &kernel.transmit),
            made: Made::default(),
            tells_of_drops: kernel.transmit.local_drop_notified,
            throttled: 0,
            softirqs,
            spinning: 0,
            poller: None,
            sockets: Sockets::default(),
            past_sockets: SocketCounts::default(),
            doors: BTreeMap::new(),
            streams: BTreeMap::new(),
            remembered: Remembered::default(),
            draws: Draws::new(seed),
        };
        // The kernel gave it the least favour until 2.6.3x, and none since (`ksoftirqd`, `set_user_nice`).
        let nice = if matches!(kernel.scheduler, kernels::Scheduler::Eevdf { .. }) { 0 } else { 19 };
        let priority = Priority::nice(nice);
        for at in 0..host.softirqs.iter().count() {
            let cpu = Some(host.softirqs[at].cpu);
            host.softirqs[at].ksoftirqd = host.add_task(Program::Softirqs, priority, cpu, 0, None, out);
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

    /// Adds a task that begins at an instant; one without begins when it is woken.
    pub fn add_task(
        &mut self,
        program: Program,
        priority: Priority,
        cpu: Option<usize>,
        stream: usize,
        begins: Option<Instant>,
        out: &mut Outside<'_>,
    ) -> TaskId {
        let task = TaskId(self.tasks.len() as u32);
        let slot = out.add(Source::Wake(self.id, task.0));
        let bound_to = cpu.map(|cpu| cpu.min(self.cpus.len() - 1));
        self.tasks.push(Task::new(program, priority, bound_to, stream, slot));
        out.agenda.set(slot, begins);
        task
    }

    /// Tells it of a stream of which it is the client or the server.
    pub fn add_stream(&mut self, number: usize, stream: Stream, out: &mut Outside<'_>) {
        let serves = stream.hosts[1] == self.id;
        self.streams.insert(number, stream);
        if serves && self.streams[&number].is_of_datagrams {
            self.bind(number, out);
        } else if serves {
            self.listen(number, out);
        }
    }

    /// A packet has arrived on a wire that it watches.
    pub fn wire_arrival(&mut self, out: &mut Outside<'_>) {
        if self.is_free {
            self.arrival_at_once(out);
            return;
        }
        self.fill_ring(out.now, out);
        self.watch_wires(out);
    }

    /// Puts on the ring what has arrived by `until`.
    fn fill_ring(&mut self, until: Instant, out: &mut Outside<'_>) {
        let (wires, mut teller) = out.teller();
        let drops = |frame: &crate::wire::Frame| teller.dropped(self.id, false, frame, DropReason::Ring);
        self.ring.fill(until, wires, &self.inputs, drops);
    }

    /// Has the agenda tell of arrivals, and when the card will raise its interrupt. Where it can look ahead no arrival
    /// matters for itself: when the first is due is known, which starts the card's clock, and which one will make enough
    /// of them.
    fn watch_wires(&mut self, out: &mut Outside<'_>) {
        let ahead = match self.inputs[..] {
            [only] if self.looks_ahead => out.wires[only].next_due(),
            _ => None,
        };
        let at = match self.ring.interrupt(out.now) {
            Raise::Now => Some(out.now),
            Raise::At(at) => Some(at),
            Raise::No => ahead.map(|due| (due + self.ring.delay()).max(out.now)),
        };
        let nth = if self.looks_ahead && at.is_some() { self.ring.missing() } else { 1 };
        self.watch_arrival(nth, out);
        out.agenda.set(self.interrupt_slot, at);
    }

    /// Has the agenda tell of an arrival, the next being 1, or of none: 0.
    fn watch_arrival(&mut self, nth: usize, out: &mut Outside<'_>) {
        for input in &self.inputs {
            out.wires[*input].watch(nth, out.agenda);
        }
    }

    /// The card raises its interrupt.
    pub fn card_interrupt(&mut self, out: &mut Outside<'_>) {
        if self.is_free {
            self.fill_ring(out.now, out);
            self.poll_at_once(out);
            return;
        }
        out.agenda.set(self.interrupt_slot, None);
        let Some(cpu) = self.delivery.deliver() else { return };
        if self.looks_ahead {
            // Until its handler is through, the card raises it again for whatever comes.
            self.fill_ring(out.now, out);
            self.watch_arrival(1, out);
        }
        self.interrupt(cpu, Interrupt::Card, out);
    }

    /// The card has sent the first of its ring while more waits for that.
    pub fn card_sent(&mut self, out: &mut Outside<'_>) {
        self.here = self.delivery.cpu();
        self.complete_sent(out);
        self.watch_card(out);
        if self.is_free {
            self.run_ready(out);
        } else if self.kicked != 0 || self.softirqs[self.softirqs_here()].has_throttled() {
            self.run(self.here, out);
        }
    }

    /// Has the agenda tell when the card has sent the first of its ring, if that matters to anyone.
    fn watch_card(&mut self, out: &mut Outside<'_>) {
        out.agenda.set(self.sent_slot, self.transmitter.next_completion(self.throttled > 0));
    }

    /// A socket's timer is due.
    pub fn timer(&mut self, socket: SocketId, out: &mut Outside<'_>) {
        if !self.sockets.timer_is_due(socket, out.now, out.agenda) {
            return;
        }
        if self.is_free {
            let mut handling = Handling::default();
            self.fire(socket, &mut handling, out);
            self.finish(&mut handling, out);
            self.run_ready(out);
            return;
        }
        // The clock's interrupt goes where the card's do (2.4); later kernels run a timer where it was set.
        self.here = self.delivery.cpu();
        let at = self.softirqs_here();
        self.softirqs[at].timers.push_back(socket);
        self.run(self.here, out);
    }

    /// What its kernel has to say of a socket's connection.
    pub fn told(&self, socket: SocketId, now: Instant) -> Option<Told> {
        self.sockets.get(socket).map(|socket| Told::of(&socket.tcp.info(now)))
    }

    /// Tells of the state of each of its sockets.
    pub fn sample(&self, now: Instant, links: &Links, observer: &mut dyn Observer) {
        for socket in self.sockets.iter() {
            let Some(link) = links.get(socket.connection) else { continue };
            let kind = EventKind::Sampled(socket.sample(link.end_at(self.id), now));
            let (host, connection) = (HostId(self.id), socket.connection);
            observer.happened(&Occurrence { at: now, host, connection, link, kind });
        }
    }

    /// What came of it.
    pub fn report(&self) -> HostReport {
        HostReport {
            cpus: self.cpus.iter().map(Cpu::busy).collect(),
            ring: self.ring.counts(),
            transmit: self.transmitter.counts(),
            softirq: self.softirqs.iter().fold(SoftirqCounts::default(), |sum, one| sum.plus(one.counts())),
            spins: self.softirqs.iter().map(Softirq::spins).sum(),
            sockets: self.sockets.iter().fold(self.past_sockets, |sum, socket| sum.plus(socket.counts())),
        }
    }

    /// Its elements at which a packet was made or lost without being counted.
    pub fn not_conserved(&self) -> Vec<&'static str> {
        let elements = [
            ("receive ring", self.ring.is_conserved()),
            ("softirq", self.softirqs.iter().all(Softirq::is_conserved)),
            ("transmit queue", self.transmitter.is_conserved()),
            ("sockets", self.sockets.iter().all(socket::Socket::is_conserved)),
            ("send memory", self.sockets.iter().all(|socket| socket.tcp.accounts_for_send_memory())),
        ];
        elements.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect()
    }

    /// A task's sleep is over, or it begins.
    pub fn task_due(&mut self, task: u32, out: &mut Outside<'_>) {
        self.wake_task(task, out);
        if self.is_free {
            self.run_ready(out);
        } else {
            self.run(self.tasks[task as usize].cpu, out);
        }
    }
}

/// What the host's sockets share.
fn settings(plan: &Plan) -> Settings {
    let kernel = &plan.kernel;
    let mut choices = kernel.tcp.clone();
    // Super-packets need someone who cuts them.
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
