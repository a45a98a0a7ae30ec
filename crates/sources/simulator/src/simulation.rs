//! A run: hosts, wires and an agenda, from a scenario.

mod results;

use crate::agenda::{Agenda, Slot};
use crate::host::Host;
use crate::host::connections::Stream;
use crate::links::Links;
use crate::outside::{Nobody, Observer, Outside, Source, Wants};
use crate::program::{Client, Counter, Generator, Program, Receiver, Sender, Server};
use crate::sequence::Sequence;
use crate::wire::Wire;
use slowpath_model::Instant;
use slowpath_scenario::{Flow, HostId, Process, Scenario, Start, Workload};
use slowpath_tcp::socket::SocketOptions;
use std::time::Duration;

/// A run of a scenario.
#[derive(Debug)]
pub struct Simulation {
    now: Instant,
    end: Instant,
    agenda: Agenda,
    sources: Vec<Source>,
    wires: Vec<Wire>,
    /// The host at the end of each wire.
    destinations: Vec<usize>,
    hosts: Vec<Host>,
    links: Links,
    sequence: Sequence,
    events: u64,
    /// When sockets are sampled next, if an observer wants samples.
    next_sample: Instant,
}

/// The minimum sampling interval, so that time advances.
const LEAST_INTERVAL: Duration = Duration::from_nanos(1);

/// Whether there is more to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is.
    Running,
    /// The scenario's duration is over, or all of its flows have ended.
    Finished,
}

impl Simulation {
    /// A run before its first instant.
    pub fn new(scenario: &Scenario) -> Self {
        let mut this = Self {
            now: Instant::START,
            end: Instant::START + scenario.duration,
            agenda: Agenda::new(),
            sources: Vec::new(),
            wires: Vec::new(),
            destinations: Vec::new(),
            hosts: Vec::new(),
            links: Links::default(),
            sequence: Sequence::new(scenario.flows.len()),
            events: 0,
            next_sample: Instant::START,
        };
        let mut seeds = scenario.draws();
        for path in &scenario.paths {
            for (config, to) in [(&path.forward, path.ends[1]), (&path.reverse, path.ends[0])] {
                let slot = this.agenda.add();
                this.sources.push(Source::Wire(this.wires.len()));
                this.wires.push(Wire::new(config, seeds.bits(), slot));
                this.destinations.push(to.0);
            }
        }
        this.with_outside(&mut Nobody, |hosts, out, destinations| {
            for (number, plan) in scenario.hosts.iter().enumerate() {
                let inputs = (0..destinations.len()).filter(|wire| destinations[*wire] == number).collect();
                let id = HostId(number);
                hosts.push(Host::new(id, plan, seeds.bits(), inputs, out));
                for time in &plan.flush {
                    let slot = out.add(Source::Flush(number));
                    out.agenda.set(slot, Some(Instant::START + *time));
                }
            }
        });
        for (index, flow) in scenario.flows.iter().enumerate() {
            this.with_outside(&mut Nobody, |hosts, out, _| {
                if flow.flush {
                    for host in [flow.client.0, flow.server.0] {
                        // Armed for the instant of the first connection; a slot that was added first comes first.
                        let slot = out.add(Source::Flush(host));
                        begin(out, flow.start, Duration::ZERO, slot);
                    }
                }
                for stream in 0..flow.streams {
                    add_stream(scenario, index, flow.stagger * stream, hosts, out);
                }
            });
        }
        this
    }

    fn with_outside<R>(
        &mut self,
        observer: &mut dyn Observer,
        act: impl FnOnce(&mut Vec<Host>, &mut Outside<'_>, &[usize]) -> R,
    ) -> R {
        let mut out = Outside {
            now: self.now,
            agenda: &mut self.agenda,
            sources: &mut self.sources,
            wires: &mut self.wires,
            links: &mut self.links,
            sequence: &mut self.sequence,
            observer,
            wants: Wants::default(),
        };
        act(&mut self.hosts, &mut out, &self.destinations)
    }

    /// Runs until `until`, or to the end if that is earlier.
    pub fn run_until(&mut self, until: Instant, observer: &mut dyn Observer) -> Progress {
        let until = until.min(self.end);
        let wants = observer.wants();
        if let Some(interval) = wants.samples {
            let interval = interval.max(LEAST_INTERVAL);
            while self.next_sample <= until {
                if self.advance(self.next_sample, wants, observer) == Progress::Finished {
                    return Progress::Finished;
                }
                for host in &self.hosts {
                    host.sample(self.now, &self.links, observer);
                }
                self.next_sample = self.now + interval;
            }
        }
        self.advance(until, wants, observer)
    }

    /// Runs until `until`, which is not after the end, without samples.
    fn advance(&mut self, until: Instant, wants: Wants, observer: &mut dyn Observer) -> Progress {
        let mut out = Outside {
            now: self.now,
            agenda: &mut self.agenda,
            sources: &mut self.sources,
            wires: &mut self.wires,
            links: &mut self.links,
            sequence: &mut self.sequence,
            observer,
            wants,
        };
        let mut more = false;
        while let Some((at, slot)) = out.agenda.first() {
            if out.sequence.is_over() {
                break;
            }
            if at > until {
                more = true;
                break;
            }
            // A timer that is late when it is set, like TCP's after a long time on a backlog, is due immediately.
            out.now = at.max(out.now);
            self.events += 1;
            match out.sources[slot.index()] {
                Source::Wire(wire) => self.hosts[self.destinations[wire]].wire_arrival(&mut out),
                Source::Interrupt(host) => self.hosts[host].card_interrupt(&mut out),
                Source::Sent(host) => self.hosts[host].card_sent(&mut out),
                Source::Cpu(host, cpu) => self.hosts[host].cpu_is_done(cpu, &mut out),
                Source::Tick(host, cpu) => self.hosts[host].tick(cpu, &mut out),
                Source::Timer(host, socket) => self.hosts[host].timer(socket, &mut out),
                Source::Wake(host, task) => self.hosts[host].task_due(task, &mut out),
                Source::Flush(host) => {
                    out.agenda.set(slot, None);
                    self.hosts[host].flush_parameter_cache();
                }
            }
        }
        self.now = if more { until } else { out.now.max(self.now) };
        if more && until < self.end { Progress::Running } else { Progress::Finished }
    }

    /// Runs to the end.
    pub fn run(&mut self, observer: &mut dyn Observer) {
        self.run_until(self.end, observer);
    }

    /// The simulated time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When it ends at the latest.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The hosts, in the order of the scenario.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The wires: for each path of the scenario, forward and then reverse.
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// The number of streams of all flows.
    pub fn streams(&self) -> usize {
        self.sequence.streams()
    }

    /// The scenario's flow that a stream belongs to, by its index.
    pub fn flow_of(&self, stream: usize) -> usize {
        self.sequence.flow_of(stream)
    }

    /// The connections.
    pub fn links(&self) -> &Links {
        &self.links
    }
}

/// Arms a slot for the start of a flow, and some time after it.
fn begin(out: &mut Outside<'_>, start: Start, later: Duration, slot: Slot) {
    match start {
        Start::At(time) => out.agenda.set(slot, Some(Instant::START + time + later)),
        Start::After { flow, pause } => out.sequence.follow(flow, slot, pause + later),
    }
}

/// Adds the two processes of a stream of a flow, which begins some time after the flow.
fn add_stream(scenario: &Scenario, index: usize, later: Duration, hosts: &mut [Host], out: &mut Outside<'_>) {
    let flow: &Flow = &scenario.flows[index];
    let forward = scenario.path(flow.path).ends[0] == flow.client;
    let wires =
        if forward { [2 * flow.path.0, 2 * flow.path.0 + 1] } else { [2 * flow.path.0 + 1, 2 * flow.path.0] };
    let (client, server): ((Program, &Process), (Program, &Process)) = match &flow.workload {
        Workload::Bulk(bulk) => (
            (Program::Sender(Sender::bulk(&flow.sender, *bulk)), &flow.sender),
            (Program::Receiver(Receiver::new(&flow.receiver)), &flow.receiver),
        ),
        Workload::Messages(messages) => (
            (Program::Sender(Sender::messages(&flow.sender, *messages)), &flow.sender),
            (Program::Receiver(Receiver::new(&flow.receiver)), &flow.receiver),
        ),
        Workload::RequestResponse(plan) => (
            (Program::Client(Client::new(&flow.receiver, plan)), &flow.receiver),
            (Program::Server(Server::new(&flow.sender, plan)), &flow.sender),
        ),
        Workload::Datagrams(plan) => (
            (Program::Generator(Generator::new(&flow.sender, plan)), &flow.sender),
            (Program::Counter(Counter::new(&flow.receiver)), &flow.receiver),
        ),
    };
    let is_of_datagrams = matches!(flow.workload, Workload::Datagrams(_));
    let stream = Stream {
        hosts: [flow.client.0, flow.server.0],
        wires,
        options: [socket_options(client.1), socket_options(server.1)],
        busy_poll: [client.1.socket.busy_poll, server.1.socket.busy_poll],
        is_of_datagrams,
    };
    // A program that counts datagrams never ends by itself.
    let number = out.sequence.add_stream(index, if is_of_datagrams { 1 } else { 2 });
    hosts[flow.client.0].add_stream(number, stream.clone(), out);
    hosts[flow.server.0].add_stream(number, stream, out);
    let cpu = |process: &Process| process.cpu.map(|cpu| cpu as usize);
    // The server listens before any client can connect.
    let listens = Some(Instant::START);
    hosts[flow.server.0].add_task(server.0, server.1.priority, cpu(server.1), number, listens, out);
    let (_, slot) =
        hosts[flow.client.0].add_task(client.0, client.1.priority, cpu(client.1), number, None, out);
    begin(out, flow.start, later, slot);
}

/// A process's socket options in TCP's terms. The kernel doubles `SO_SNDBUF` and `SO_RCVBUF`.
fn socket_options(process: &Process) -> SocketOptions {
    let plan = &process.socket;
    let bytes = |amount: slowpath_model::Bytes| u32::try_from(amount.get()).unwrap_or(u32::MAX);
    SocketOptions {
        nodelay: plan.no_delay,
        cork: plan.cork,
        send_buffer: plan.send_buffer.map(|amount| bytes(amount).saturating_mul(2)),
        receive_buffer: plan.receive_buffer.map(|amount| bytes(amount).saturating_mul(2)),
        congestion: plan.congestion_control,
        max_seg: plan.max_segment.map(|amount| u16::try_from(amount.get()).unwrap_or(u16::MAX)),
        window_clamp: plan.window_clamp.map_or(0, bytes),
        notsent_lowat: plan.not_sent_low_water.map(bytes),
        max_pacing_rate: plan.max_pacing_rate.map_or(u64::MAX, |rate| rate.get() / 8),
        ..SocketOptions::default()
    }
}
