//! Sums up flows that have something in common, such as the server and its port: services.

use crate::headline::main_finding;
use crate::quantity::count;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, End, Endpoint, FlowId, FlowKey, Instant, Rate, Vantage, nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// The most services kept. Flows of further ones are summed up together.
const MOST_SERVICES: usize = 100_000;

/// What the flows of a service have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The address and port of the end that accepted the connections.
    #[default]
    Service,
    /// That port alone.
    Port,
    /// The host at the other side, seen from where the capture was made.
    Peer,
    /// The address of the end that accepted the connections.
    Server,
    /// The address of the end that opened them.
    Client,
    /// Both of these.
    Hosts,
    /// The name of the process that has the socket open on this host.
    Process,
    /// The control group of that process.
    Cgroup,
    /// The Kubernetes pod of that process.
    Pod,
    /// The file that has the flows.
    File,
}

impl By {
    /// Those that flows of files can have in common, in the order of the help.
    pub const ALL: [Self; 8] = [
        Self::Service,
        Self::Port,
        Self::Peer,
        Self::Server,
        Self::Client,
        Self::Hosts,
        Self::Process,
        Self::File,
    ];

    /// Those that connections of this host can have in common.
    pub const OF_HOST: [Self; 9] = [
        Self::Service,
        Self::Port,
        Self::Peer,
        Self::Server,
        Self::Client,
        Self::Hosts,
        Self::Process,
        Self::Cgroup,
        Self::Pod,
    ];

    /// Its name as an argument, in JSON, and above the column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Port => "port",
            Self::Peer => "peer",
            Self::Server => "server",
            Self::Client => "client",
            Self::Hosts => "hosts",
            Self::Process => "process",
            Self::Cgroup => "cgroup",
            Self::Pod => "pod",
            Self::File => "file",
        }
    }
}

/// The name of a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// An address and a port.
    Endpoint(Endpoint),
    /// A port.
    Port(u16),
    /// An address.
    Host(IpAddr),
    /// The addresses of a client and its server.
    Hosts(IpAddr, IpAddr),
    /// The name of a process; `None` if unknown.
    Process(Option<Box<str>>),
    /// The path of a control group or the UID of a pod; `None` if unknown.
    Group(Option<Box<str>>),
    /// A file, by its place among those read.
    File(usize),
}

/// One flow, as far as it counts for its service.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The file that it is of, by its place among those read.
    pub file: usize,
    /// Its number in there.
    pub id: FlowId,
    /// Its ends.
    pub key: &'a FlowKey,
    /// The end next to the capture, if known.
    pub near: Option<End>,
    /// The process on this host.
    pub process: Option<&'a str>,
    /// Unique payload of the direction that carried more.
    pub bytes: Bytes,
    /// Its first packet.
    pub first: Instant,
    /// Its last packet.
    pub last: Instant,
    /// The time under each cause.
    pub causes: Vec<(Cause, Duration)>,
    /// What limited it for the most part.
    pub main_cause: Option<Cause>,
}

impl<'a> Member<'a> {
    /// A flow of a recording whose instants are moved by `shift_ns`, so that those of several recordings can be
    /// compared.
    pub fn of(flow: &'a FlowReport, file: usize, shift_ns: i64) -> Self {
        let near = match flow.vantage.vantage {
            Vantage::At(end) => Some(end),
            Vantage::Between | Vantage::Unknown => None,
        };
        let findings = flow.main().findings.iter();
        Self {
            file,
            id: flow.id,
            key: &flow.key,
            near,
            process: None,
            bytes: flow.main().measures.moved(),
            first: flow.first.plus_nanos(shift_ns),
            last: flow.last.max(flow.first).plus_nanos(shift_ns),
            causes: findings.map(|finding| (finding.cause, finding.lasted)).collect(),
            main_cause: main_finding(flow).map(|finding| finding.cause),
        }
    }

    fn lost(&self) -> Duration {
        self.causes.iter().filter(|(cause, _)| cause.is_loss()).map(|(_, lasted)| *lasted).sum()
    }
}

/// The flow of a service that lost most time; of those that lost as much, the one with the most data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// The file that it is of, by its place among those read.
    pub file: usize,
    /// Its number in there.
    pub flow: FlowId,
    /// The time that it lost.
    pub lost: Duration,
    /// Its data.
    pub bytes: Bytes,
    /// What limited it for the most part; `None` if it carried no data.
    pub cause: Option<Cause>,
}

impl Worst {
    fn rank(&self) -> impl Ord + use<> {
        (self.lost, self.bytes, Reverse((self.file, self.flow)))
    }
}

/// The flows of a service, summed up.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The number of flows.
    pub flows: u64,
    /// Unique payload of the direction of each flow that carried more.
    pub bytes: Bytes,
    /// The first packet of the first flow.
    pub first: Instant,
    /// The last packet of the last flow.
    pub last: Instant,
    /// From the first packet of the first flow to the last packet of the last, file by file.
    span: Span,
    /// The time lost, of all flows together.
    pub lost: Duration,
    /// The time under each limit, of all flows together, in nanoseconds and the order of [`Limit::ALL`].
    limits_ns: [u64; Limit::ALL.len()],
    /// The flow that lost most.
    pub worst: Worst,
}

/// The time from the first packet of a file's flows to the last, summed over files.
#[derive(Clone, Copy, Debug)]
enum Span {
    /// That of files before this one; and this one, by its place, with its first and last packet.
    Known(Duration, usize, [Instant; 2]),
    /// The times of services in several files overlap in a way that is not kept.
    Unknown,
}

impl Span {
    /// With another time in the same file, or in a later one if `is_next`.
    fn with(self, other: Self, is_next: bool) -> Self {
        match (self, other) {
            (Self::Known(before, file, [first, last]), Self::Known(Duration::ZERO, other, [from, to]))
                if file == other =>
            {
                Self::Known(before, file, [first.min(from), last.max(to)])
            }
            (Self::Known(..), Self::Known(_, other, span)) if is_next => {
                self.lasted().map_or(Self::Unknown, |before| Self::Known(before, other, span))
            }
            _ => Self::Unknown,
        }
    }

    fn lasted(self) -> Option<Duration> {
        match self {
            Self::Known(before, _, [first, last]) => Some(before + last.since(first).unwrap_or_default()),
            Self::Unknown => None,
        }
    }
}

impl Totals {
    fn of(member: &Member<'_>) -> Self {
        let (bytes, lost, cause) = (member.bytes, member.lost(), member.main_cause);
        let mut limits_ns = [0u64; Limit::ALL.len()];
        for (cause, lasted) in &member.causes {
            let limit = &mut limits_ns[cause.limit() as usize];
            *limit = limit.saturating_add(nanos(*lasted));
        }
        let worst = Worst { file: member.file, flow: member.id, lost, bytes, cause };
        let span = Span::Known(Duration::ZERO, member.file, [member.first, member.last]);
        Self { flows: 1, bytes, first: member.first, last: member.last, span, lost, limits_ns, worst }
    }

    /// Adds a flow, or those of another service: files come one after the other for flows only.
    fn add(&mut self, other: &Self, is_flow: bool) {
        self.span = self.span.with(other.span, is_flow);
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.lost = self.lost.saturating_add(other.lost);
        for (own, more) in self.limits_ns.iter_mut().zip(other.limits_ns) {
            *own = own.saturating_add(more);
        }
        if other.worst.rank() > self.worst.rank() {
            self.worst = other.worst;
        }
    }

    /// Its data over the time from the first packet of its first flow to the last packet of its last, summed over files;
    /// `None` without data or time, and for services together that have several files.
    pub fn rate(&self) -> Option<Rate> {
        Rate::of(self.bytes, self.span.lasted()?).filter(|rate| rate.get() > 0)
    }

    /// The limits with their time, and its share of the time under all limits; the longest first.
    pub fn limits(&self) -> Vec<(Limit, Duration, f64)> {
        let all: f64 = self.limits_ns.iter().map(|time| *time as f64).sum();
        let mut limits: Vec<_> =
            Limit::ALL.into_iter().zip(self.limits_ns).filter(|(_, time)| *time > 0).collect();
        limits.sort_by_key(|(limit, time)| (Reverse(*time), *limit));
        limits
            .into_iter()
            .map(|(limit, time)| (limit, Duration::from_nanos(time), time as f64 / all))
            .collect()
    }
}

/// Flows summed up by what they have in common.
#[derive(Clone, Debug, Default)]
pub struct Services {
    by: By,
    all: Option<Totals>,
    sums: BTreeMap<Name, Totals>,
    /// Flows of services beyond the most that are kept.
    beyond: Option<Totals>,
    /// Addresses at which a capture was made.
    near: BTreeSet<IpAddr>,
}

/// Services in the order in which they are shown.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What their flows have in common.
    pub by: By,
    /// Those that lost most time first.
    pub services: Vec<(Name, Totals)>,
    /// Flows of further services, of which there were too many to be kept.
    pub beyond: Option<Totals>,
    /// All flows together; `None` without flows.
    pub all: Option<Totals>,
}

/// The rows of a table.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// The services with a row of their own.
    pub own: &'a [(Name, Totals)],
    /// The number of the others, and what they are together.
    pub others: Option<(String, Totals)>,
}

impl Rows<'_> {
    /// What is in each row.
    pub fn totals(&self) -> impl Iterator<Item = &Totals> {
        let others = self.others.as_ref().map(|(_, totals)| totals);
        self.own.iter().map(|(_, totals)| totals).chain(others)
    }
}

impl Services {
    /// No flows yet.
    pub fn new(by: By) -> Self {
        Self { by, ..Self::default() }
    }

    /// Adds a flow.
    pub fn add(&mut self, member: &Member<'_>) {
        if let Some(end) = member.near.filter(|_| self.by == By::Peer) {
            self.near.insert(member.key.endpoint(end).address);
        }
        let name = Name::of(self.by, member.key, member.process, member.file);
        let sum = Totals::of(member);
        add(&mut self.all, &sum, true);
        if self.sums.len() < MOST_SERVICES || self.sums.contains_key(&name) {
            put(&mut self.sums, name, sum, true);
        } else {
            add(&mut self.beyond, &sum, true);
        }
    }

    /// The services, those that lost most time first.
    pub fn listed(&self) -> Listed {
        let Self { by, all, sums, beyond, near } = self;
        let mut services: Vec<_> = if *by == By::Peer {
            by_peer(sums, near).into_iter().collect()
        } else {
            sums.iter().map(|(name, sum)| (name.clone(), sum.clone())).collect()
        };
        // Services that lost and carried the same stay in the order of their names.
        services.sort_by_key(|(_, sum)| Reverse((sum.lost, sum.bytes)));
        Listed { by: *by, services, beyond: beyond.clone(), all: all.clone() }
    }
}

fn put(sums: &mut BTreeMap<Name, Totals>, name: Name, sum: Totals, is_flow: bool) {
    sums.entry(name).and_modify(|known| known.add(&sum, is_flow)).or_insert(sum);
}

fn add(so_far: &mut Option<Totals>, sum: &Totals, is_flow: bool) {
    match so_far {
        Some(so_far) => so_far.add(sum, is_flow),
        None => *so_far = Some(sum.clone()),
    }
}

/// Clients and servers, by the one that is away from the capture; the server if it is not known which.
fn by_peer(sums: &BTreeMap<Name, Totals>, near: &BTreeSet<IpAddr>) -> BTreeMap<Name, Totals> {
    let mut peers = BTreeMap::new();
    for (name, sum) in sums {
        let name = match name {
            Name::Hosts(client, server) if near.contains(server) && !near.contains(client) => {
                Name::Host(*client)
            }
            Name::Hosts(_, server) => Name::Host(*server),
            other => other.clone(),
        };
        put(&mut peers, name, sum.clone(), false);
    }
    peers
}

impl Listed {
    /// The services with a row of their own if there are `rows`, and the others together with their number; one is
    /// not worth joining.
    pub fn rows(&self, rows: usize) -> Rows<'_> {
        let least_joined = usize::from(self.beyond.is_none());
        let own = if self.services.len() <= rows + least_joined { self.services.len() } else { rows };
        let (own, joined) = self.services.split_at(own);
        let number = match &self.beyond {
            None => count(joined.len() as u64),
            Some(_) => format!("more than {}", count(joined.len() as u64)),
        };
        let others = total_of(joined.iter().map(|(_, sum)| sum).chain(&self.beyond));
        Rows { own, others: others.map(|others| (number, others)) }
    }
}

fn total_of<'a>(sums: impl Iterator<Item = &'a Totals>) -> Option<Totals> {
    sums.fold(None, |mut all, sum| {
        add(&mut all, sum, false);
        all
    })
}

impl Name {
    /// What a flow has in common with others. That of [`By::Peer`] are both hosts: which of them is the peer is known
    /// when all flows are. Control groups are known to the watch of a host only, which names them itself.
    pub fn of(by: By, key: &FlowKey, process: Option<&str>, file: usize) -> Self {
        match by {
            By::Service => Self::Endpoint(key.b),
            By::Port => Self::Port(key.b.port),
            By::Server => Self::Host(key.b.address),
            By::Client => Self::Host(key.a.address),
            By::Peer | By::Hosts => Self::Hosts(key.a.address, key.b.address),
            By::Process => Self::Process(process.map(Box::from)),
            By::Cgroup | By::Pod => Self::Group(None),
            By::File => Self::File(file),
        }
    }

    /// Its text; `files` are the names of the files.
    pub fn text(&self, files: &[&str]) -> String {
        match self {
            Self::Endpoint(endpoint) => endpoint.to_string(),
            Self::Port(port) => port.to_string(),
            Self::Host(address) => address.to_string(),
            Self::Hosts(client, server) => format!("{client} → {server}"),
            Self::Process(Some(name)) => name.to_string(),
            Self::Process(None) => "unknown process".to_owned(),
            Self::Group(Some(name)) => name.to_string(),
            Self::Group(None) => "no known group".to_owned(),
            Self::File(place) => files.get(*place).copied().unwrap_or("file").to_owned(),
        }
    }
}
