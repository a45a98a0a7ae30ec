//! The share of each operation in a profile of a server's CPU, and the high-level operation that each cost belongs to.
//!
//! The owner of a cost is determined as everywhere ([`slowpath_cost::exact`]), by whole call stacks. Here functions are
//! counted by operations, which may have several functions on one stack, and samples that are not the server's are
//! excluded, based on the stacks as recorded.

use slowpath_cost::categories::Category;
use slowpath_cost::functions::{Function, Functions, Image};
use slowpath_cost::names::plain;
use slowpath_cost::operations::{OPERATIONS, Operation};
use slowpath_cost::{Calls, Frame, Profile, Root, Roots, Share, Stack};
use std::collections::{BTreeMap, HashMap};

/// The high-level function of the paper that a cost belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// TCP receive.
    Receive,
    /// TCP send message.
    Message,
    /// TCP send pages.
    Pages,
    /// An interrupt or softirq, before TCP receive.
    Interrupt,
    /// None of them: other system calls, programs.
    Nobody,
    /// The stack was cut off in the kernel.
    CannotTell,
}

impl Owner {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Receive, Self::Message, Self::Pages, Self::Interrupt, Self::Nobody, Self::CannotTell];
}

/// Samples that are not the server's, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excluded {
    /// The CPU had nothing to do.
    pub idle: u64,
    /// Other programs and kernel threads.
    pub others: u64,
    /// The cost of the client's buffers here: both hosts are on one machine. Buffers freed by its reads return to the
    /// CPU that allocated them (`skb_attempt_defer_free`, 5.19), and buffers that its sockets sent are uncharged where
    /// they are received (`skb_orphan` in `ip_rcv_core`).
    pub clients: u64,
}

/// The cost of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    own: u64,
    owned: [u64; Owner::ALL.len()],
}

/// A call stack of the server, innermost first, and the owner of that function and all its callees.
#[derive(Clone, Debug)]
pub(super) struct Called {
    pub places: Vec<(Function, Owner)>,
    pub samples: u64,
}

/// The evaluated samples of a server.
#[derive(Clone, Debug, Default)]
pub struct ServerSamples {
    /// The server's samples.
    pub total: u64,
    /// The part of these for steering, which a NIC does not need: interrupts between CPUs, sent and taken.
    pub steering: u64,
    /// Samples that are not the server's.
    pub excluded: Excluded,
    /// The server's samples that the clock attributed to a function enabling interrupts.
    pub irqs_on_again: u64,
    owned: [u64; Owner::ALL.len()],
    operations: HashMap<&'static str, Cost>,
    categories: BTreeMap<Category, u64>,
    /// The stacks.
    pub(super) stacks: Vec<Called>,
    /// The functions on the stacks: those of the profile, followed by those put back on stacks.
    pub(super) called: Functions,
    /// Functions by their own cost, in descending order; equal ones by name.
    pub functions: Vec<(String, u64)>,
    /// The samples below TCP transmit sk buffer, and the part of these for ACKs.
    acks: Share,
    /// The samples below IP output, and the part of these for ACKs, including those of connections in TIME_WAIT.
    acks_of_output: Share,
    /// The samples of the event that counts cache misses, if there are any.
    pub misses: Option<Box<ServerSamples>>,
}

/// perf's name of the event that counts cache misses.
const CACHE_MISSES: &str = "cache-misses";

/// Innermost functions of an idle CPU.
const IDLE: &[&str] = &[
    "acpi_idle_do_entry",
    "acpi_safe_halt",
    "cpu_idle_poll",
    "default_idle",
    "intel_idle",
    "intel_idle_irq",
    "mwait_idle",
    "mwait_idle_with_hints",
    "native_safe_halt",
    "poll_idle",
    "pv_native_safe_halt",
];

/// Properties of a function, computed once.
struct Known {
    function: Function,
    name: String,
    operation: Option<&'static str>,
    is_user: bool,
}

impl Known {
    fn of(functions: &Functions, function: Function) -> Self {
        let is_user = matches!(functions.image(function), Image::User(_));
        let name = match functions.image(function) {
            Image::User(image) => format!("{} ({image})", functions.name(function)),
            _ => plain(functions.name(function)).to_owned(),
        };
        let operation = (!is_user).then(|| Operation::of_kernel(&name)).flatten();
        Self { function, name, operation: operation.map(|operation| operation.name), is_user }
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        !self.is_user && names.contains(&self.name.as_str())
    }

    fn is_softirq(&self) -> bool {
        self.operation == Some("softirq")
    }
}

/// A stack as recorded, with the properties of its functions, innermost first.
struct Chain<'a> {
    known: Vec<&'a Known>,
}

impl Chain<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.known.iter().any(|known| known.is_one_of(names))
    }

    /// The cost of the client's buffers on the server's CPU.
    fn is_clients(&self) -> bool {
        let orphaned =
            self.known.iter().position(|known| known.is_one_of(&["tcp_wfree", "__sock_wfree", "sock_wfree"]));
        self.has(&["skb_defer_free_flush"])
            || orphaned.is_some_and(|at| {
                self.known[at + 1..]
                    .iter()
                    .take(2)
                    .any(|known| known.is_one_of(&["ip_rcv", "ip_rcv_core", "skb_orphan"]))
            })
    }

    fn is_idle(&self) -> bool {
        self.known.first().is_some_and(|known| known.is_one_of(IDLE))
    }

    /// An interrupt to or from the other CPU. The clock's own interrupt waits while one is entered, and is taken where
    /// the softirq enables interrupts.
    fn is_steering(&self) -> bool {
        let innermost = self.known.first().is_some_and(|known| known.is_softirq());
        self.has(&["net_rps_send_ipi"])
            || innermost && self.has(&["sysvec_call_function_single", "asm_sysvec_call_function_single"])
    }

    fn turns_interrupts_on(&self) -> bool {
        let names =
            ["_raw_spin_unlock_irqrestore", "_raw_spin_unlock_irq", "handle_softirqs", "finish_task_switch"];
        self.known.first().is_some_and(|known| known.is_one_of(&names))
    }
}

/// The call stack, innermost first, with owners.
struct Owned<'a> {
    known: Vec<&'a Known>,
    on: Vec<(usize, Owner)>,
    /// The owner if it belongs to none of those.
    without: Owner,
}

impl Owned<'_> {
    /// The owner of the function at that place, and of all its callees.
    fn owner(&self, from: usize) -> Owner {
        self.on.iter().find(|(at, _)| *at >= from).map_or(self.without, |(_, owner)| *owner)
    }

    fn has(&self, operation: &str) -> bool {
        self.known.iter().any(|known| known.operation == Some(operation))
    }
}

/// A profile, with the properties of each of its functions and roots.
struct Read<'a> {
    seen: &'a Profile,
    calls: Calls,
    roots: Roots,
    known: Vec<Known>,
}

impl<'a> Read<'a> {
    fn of(seen: &'a Profile) -> Self {
        let calls = seen.calls();
        let functions = &calls.profile().functions;
        let known = functions.iter().map(|function| Known::of(functions, function)).collect();
        Self { seen, roots: Roots::high_level(functions), known, calls }
    }

    fn known(&self, frames: &[Frame]) -> Vec<&Known> {
        frames.iter().map(|frame| &self.known[frame.function.0 as usize]).collect()
    }

    fn seen(&self, stack: Stack) -> Chain<'_> {
        Chain { known: self.known(self.seen.stacks.frames(stack)) }
    }

    fn called(&self, stack: Stack) -> Owned<'_> {
        let frames = self.calls.profile().stacks.frames(stack);
        let mut on = Vec::new();
        self.roots.on(frames, &mut on);
        Owned {
            known: self.known(frames),
            on: on.into_iter().map(|(at, root)| (at, self.owner(root))).collect(),
            without: if self.calls.hides_kernel(stack) { Owner::CannotTell } else { Owner::Nobody },
        }
    }

    fn owner(&self, root: Root) -> Owner {
        match self.roots.name(root) {
            "TCP receive" => Owner::Receive,
            "TCP send message" => Owner::Message,
            "TCP send pages" => Owner::Pages,
            _ => Owner::Interrupt,
        }
    }
}

impl ServerSamples {
    /// Evaluates a profile of only the server's CPU, where the server's processes have this name. The first of several
    /// events counts time; cache misses may be another.
    pub fn of(profile: &Profile, server: &str) -> Self {
        let misses = profile.events.iter().position(|event| event.name == CACHE_MISSES);
        let misses = misses.filter(|at| *at > 0).and_then(|at| u16::try_from(at).ok());
        let misses = misses.map(|event| Box::new(Self::of_event(profile, server, event)));
        let misses = misses.filter(|misses| misses.total > 0);
        Self { misses, ..Self::of_event(profile, server, 0) }
    }

    fn of_event(profile: &Profile, server: &str, event: u16) -> Self {
        let read = Read::of(profile);
        let categories: Vec<Option<Category>> =
            profile.functions.iter().map(|function| Category::of(&profile.functions, function)).collect();
        let is_server: Vec<bool> = profile.tasks.iter().map(|task| task == server).collect();
        let mut measured = Self { called: read.calls.profile().functions.clone(), ..Self::default() };
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in profile.entries.iter().filter(|entry| entry.event == event) {
            let Some(innermost) = profile.stacks.frames(entry.stack).first() else { continue };
            let innermost = innermost.function.0 as usize;
            let chain = read.seen(entry.stack);
            let is_servers = is_server.get(entry.task as usize).copied().unwrap_or(false);
            if !measured.exclude(&chain, is_servers, entry.samples) {
                measured.add(&chain, &read.called(entry.stack), entry.samples);
                *functions.entry(&read.known[innermost].name).or_default() += entry.samples;
                if let Some(category) = categories[innermost] {
                    *measured.categories.entry(category).or_default() += entry.samples;
                }
            }
        }
        measured.functions =
            functions.into_iter().map(|(name, samples)| (name.to_owned(), samples)).collect();
        measured.functions.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        measured
    }

    /// Whether these are not the server's.
    fn exclude(&mut self, chain: &Chain<'_>, is_servers: bool, samples: u64) -> bool {
        // Softirqs interrupt anything, and everything received here is the server's.
        let is_ours = is_servers || chain.known.iter().any(|known| known.is_softirq());
        let kind = if chain.is_idle() {
            &mut self.excluded.idle
        } else if !is_ours {
            &mut self.excluded.others
        } else if chain.is_clients() {
            &mut self.excluded.clients
        } else {
            return false;
        };
        *kind += samples;
        true
    }

    fn add(&mut self, chain: &Chain<'_>, called: &Owned<'_>, samples: u64) {
        self.total += samples;
        if chain.is_steering() {
            self.steering += samples;
        }
        if chain.turns_interrupts_on() {
            self.irqs_on_again += samples;
        }
        self.owned[called.owner(0) as usize] += samples;
        let place = |(at, known): (usize, &&Known)| (known.function, called.owner(at));
        self.stacks.push(Called { places: called.known.iter().enumerate().map(place).collect(), samples });
        let mut seen: Vec<&'static str> = Vec::new();
        for (at, known) in called.known.iter().enumerate() {
            let Some(name) = known.operation.filter(|name| !seen.contains(name)) else { continue };
            seen.push(name);
            let cost = self.operations.entry(name).or_default();
            cost.own += if at == 0 { samples } else { 0 };
            cost.owned[called.owner(at) as usize] += samples;
        }
        let is_ack = called.has("TCP send ACK");
        let count = |acks: &mut Share, operation| {
            if called.has(operation) {
                acks.of += samples;
                acks.part += if is_ack { samples } else { 0 };
            }
        };
        count(&mut self.acks, "TCP transmit sk buffer");
        count(&mut self.acks_of_output, "IP output");
    }

    /// The server's samples without steering.
    pub fn bare(&self) -> u64 {
        self.total - self.steering
    }

    /// An owner's share of the CPU.
    pub fn owned(&self, owner: Owner) -> Share {
        Share { part: self.owned[owner as usize], of: self.total }
    }

    fn cost(&self, operation: &str) -> Cost {
        debug_assert!(OPERATIONS.iter().any(|known| known.name == operation), "{operation}");
        self.operations.get(operation).copied().unwrap_or_default()
    }

    /// An operation's own share of the CPU.
    pub fn own(&self, operation: &str) -> Share {
        Share { part: self.cost(operation).own, of: self.total }
    }

    /// An operation's share of the CPU, including callees.
    pub fn with_callees(&self, operation: &str) -> Share {
        Share { part: self.cost(operation).owned.iter().sum(), of: self.total }
    }

    /// The owner's part of that.
    pub fn attributed(&self, operation: &str, owner: Owner) -> Share {
        let cost = self.cost(operation);
        Share { part: cost.owned[owner as usize], of: cost.owned.iter().sum() }
    }

    /// The part of TCP transmit sk buffer, including callees, that is for ACKs.
    pub fn acks(&self) -> Share {
        self.acks
    }

    /// The part of IP output that is for ACKs, including those of connections in TIME_WAIT.
    pub fn acks_of_output(&self) -> Share {
        self.acks_of_output
    }

    /// All samples of the CPU, the server's and others.
    pub fn sampled(&self) -> u64 {
        self.total + self.excluded.idle + self.excluded.others + self.excluded.clients
    }

    /// A category's share of the CPU.
    pub fn category(&self, category: Category) -> Share {
        Share { part: self.categories.get(&category).copied().unwrap_or(0), of: self.total }
    }

    /// The rank by cost of the first function of an operation, from 1. `None` if none of them cost anything.
    pub fn rank(&self, operation: &str) -> Option<usize> {
        let is = |(name, _): &(String, u64)| {
            Operation::of_kernel(name).is_some_and(|found| found.name == operation)
        };
        Some(self.functions.iter().position(is)? + 1)
    }
}
