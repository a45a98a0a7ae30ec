//! Which flows of one capture are compared with which of the other.

use super::seen::Seen;
use super::side::Side;
use slowpath_analyses::report::FlowReport;
use slowpath_model::{Bytes, Endpoint};
use std::collections::{BTreeMap, BTreeSet};

/// The flows of one capture: by service, and the largest one.
#[derive(Debug, Default)]
pub struct Collected {
    /// Flows whose opening was captured, by their server.
    opened: BTreeMap<Endpoint, Side>,
    /// The others, by both ends: which of them is the server, another flow may show.
    unopened: BTreeMap<[Endpoint; 2], Side>,
    /// The flow with the most data.
    largest: Option<Seen>,
    /// All data.
    bytes: Bytes,
    /// All flows, those without data too.
    flows: u64,
}

/// What two sides were paired by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairedBy {
    /// The user chose both flows.
    Choice,
    /// The server's address and port.
    Service,
    /// The server's port: the addresses differ, and no other service of that port is left on either side.
    Port,
    /// Each is its capture's one flow with data, or its largest by far; nothing else says that they belong together.
    Largest,
}

/// Flows of both captures that are compared.
#[derive(Debug)]
pub struct Sides {
    /// The servers.
    pub servers: [Endpoint; 2],
    /// What they were paired by.
    pub by: PairedBy,
    /// The flows.
    pub sides: [Side; 2],
}

/// All flows of both captures.
#[derive(Debug, Default)]
pub struct Paired {
    /// Those that are compared.
    pub pairs: Vec<Sides>,
    /// Services that only one capture has.
    pub only: [Vec<(Endpoint, Side)>; 2],
    /// Flows next to the one that is compared, and their data.
    pub left_out: [(u64, Bytes); 2],
}

/// A flow with at least this part of its capture's data is the one that the capture was made for.
const NEARLY_ALL: f64 = 0.9;

impl Collected {
    /// Adds a flow.
    pub fn add(&mut self, flow: &FlowReport) {
        let seen = Seen::of(flow);
        let cause = flow.main().findings.first().map(|finding| finding.cause);
        self.flows += 1;
        self.bytes += seen.bytes;
        let (a, b) = (seen.key.a, seen.key.b);
        let side = if seen.is_opening_seen {
            self.opened.entry(b).or_default()
        } else {
            self.unopened.entry([a, b]).or_default()
        };
        side.join(Side::of(&seen, cause));
        if seen.bytes > self.largest.as_ref().map_or(Bytes::ZERO, |largest| largest.bytes) {
            self.largest = Some(seen);
        }
    }

    /// All flows.
    pub const fn flows(&self) -> u64 {
        self.flows
    }

    /// Flows with data.
    fn with_data(&self) -> u64 {
        self.opened.values().chain(self.unopened.values()).map(|side| side.flows).sum()
    }

    /// The flow with nearly all data, if there is one.
    fn main(&self) -> Option<&Seen> {
        let largest = self.largest.as_ref()?;
        let part = largest.bytes.get() as f64 / self.bytes.get() as f64;
        (self.with_data() == 1 || part >= NEARLY_ALL).then_some(largest)
    }

    /// The flows by service. `servers` are those whose opening was captured on either side.
    fn services(self, servers: &BTreeSet<Endpoint>) -> BTreeMap<Endpoint, Side> {
        let mut services = self.opened;
        for ([a, b], side) in self.unopened {
            let server = if servers.contains(&a) && !servers.contains(&b) { a } else { b };
            services.entry(server).or_default().join(side);
        }
        services
    }
}

/// Pairs the flows of two captures. `chosen` if the user chose them.
pub fn pair(collected: [Collected; 2], is_chosen: bool) -> Paired {
    let servers: BTreeSet<Endpoint> = collected.iter().flat_map(|one| one.opened.keys().copied()).collect();
    if let [Some(a), Some(b)] = collected.each_ref().map(Collected::main) {
        let mains = [a, b];
        let servers = mains.map(|seen| server_of(seen, &servers));
        let by = match servers {
            _ if is_chosen => Some(PairedBy::Choice),
            [a, b] if a == b => Some(PairedBy::Service),
            [a, b] if a.port == b.port => Some(PairedBy::Port),
            _ => collected.iter().all(|one| one.with_data() == 1).then_some(PairedBy::Largest),
        };
        if let Some(by) = by {
            let sides = mains.map(|seen| Side::of(seen, None));
            let left_out =
                [0, 1].map(|side| (collected[side].flows - 1, collected[side].bytes - mains[side].bytes));
            return Paired { pairs: vec![Sides { servers, by, sides }], left_out, ..Paired::default() };
        }
    }
    let [mut one, mut other] = collected.map(|one| one.services(&servers));
    let mut pairs = Vec::new();
    let mut join = |server: [Endpoint; 2], by, one: &mut BTreeMap<_, _>, other: &mut BTreeMap<_, _>| {
        if let (Some(a), Some(b)) = (one.remove(&server[0]), other.remove(&server[1])) {
            pairs.push(Sides { servers: server, by, sides: [a, b] });
        }
    };
    let same: Vec<Endpoint> = one.keys().filter(|server| other.contains_key(server)).copied().collect();
    same.into_iter().for_each(|server| join([server; 2], PairedBy::Service, &mut one, &mut other));
    let alone = |services: &BTreeMap<Endpoint, Side>| {
        let mut ports: BTreeMap<u16, Vec<Endpoint>> = BTreeMap::new();
        services.keys().for_each(|server| ports.entry(server.port).or_default().push(*server));
        ports
    };
    let (ports, others) = (alone(&one), alone(&other));
    for (port, servers) in ports {
        if let ([a], Some([b])) = (servers.as_slice(), others.get(&port).map(Vec::as_slice)) {
            join([*a, *b], PairedBy::Port, &mut one, &mut other);
        }
    }
    Paired { pairs, only: [one, other].map(|services| services.into_iter().collect()), ..Paired::default() }
}

fn server_of(seen: &Seen, servers: &BTreeSet<Endpoint>) -> Endpoint {
    let (a, b) = (seen.key.a, seen.key.b);
    if !seen.is_opening_seen && servers.contains(&a) && !servers.contains(&b) { a } else { b }
}
