//! `[flows]`.

use crate::file::Place;
use crate::flow::{DATAGRAM_HEADERS, Datagrams, Flow, Process, Workload};
use crate::host::Host;
use crate::id::{HostId, PathId};
use crate::path::Path;
use crate::read::sequence::{self, Flows, MOST_FLOWS};
use crate::read::{host, process, workload};
use crate::schema::{Describe, Key, Reader, Section, Sub};
use std::time::Duration;

static NAME: Key<String> = Key::new("name", "Name in results.").computed("`flow-1` and so on", "none");
static FROM: Key<String> =
    Key::new("from", "The host that opens its connections.").computed("the path's first host", "none");
static TO: Key<String> =
    Key::new("to", "The host that accepts its connections.").computed("the path's other host", "none");
static STREAMS: Key<u32> = Key::new("streams", "Number of parallel connections.")
    .range("1", "100000")
    .default("1", "one connection");
static STAGGER: Key<Duration> =
    Key::new("stagger", "Time between the opening of one connection and the next.")
        .range("0 s", "1 h")
        .default("0 s", "all at once");
static SENDER: Sub = Sub::table("sender", "The process that sends the data.");
static RECEIVER: Sub = Sub::table("receiver", "The process that receives the data.");

/// A flow.
pub static FLOW: Section = Section {
    heading: "[flows]",
    meaning: "What is transferred: bulk data of an `amount` or for as long as it `lasts`, `messages`, `requests`, or \
              `datagrams`. Without any of these: bulk data until the run ends. Without `[flows]`: one such flow.",
    keys: &[
        &NAME,
        &FROM,
        &TO,
        &sequence::START,
        &sequence::AFTER,
        &sequence::RUNS,
        &sequence::PAUSE,
        &sequence::FLUSH,
        &STREAMS,
        &STAGGER,
        &workload::AMOUNT,
        &workload::LASTS,
        &workload::MESSAGES_OF,
        &workload::REQUESTS_OF,
        &workload::DATAGRAMS_OF,
        &SENDER,
        &RECEIVER,
    ],
    also: None,
};

/// Reads all flows; without any, there is one default flow.
pub fn read_all(
    run: &Reader<'_>,
    key: &'static Sub,
    hosts: &[Host],
    paths: &[Path],
    duration: Duration,
) -> Vec<Flow> {
    let start = Place::in_file(0..0);
    let tables = run.tables_up_to(key, MOST_FLOWS);
    let mut flows = Flows::default();
    if tables.is_empty() {
        if run.entry(key).is_some() {
            run.refuse(key, "nothing is transferred", "write a flow, or leave this out");
        }
        let reader = Reader::new(run.context(), &FLOW, None, &start, "flows.");
        if let Some(flow) = read(&reader, hosts, paths, duration, 0) {
            flows.add(&reader, flow);
        }
    }
    for (number, (table, place)) in tables.iter().enumerate() {
        let prefix = if tables.len() == 1 { "flows.".to_owned() } else { format!("flows.{number}.") };
        let reader = Reader::new(run.context(), &FLOW, Some(table), place, &prefix);
        let Some(flow) = read(&reader, hosts, paths, duration, number) else { continue };
        if let Some(name) = flows.add(&reader, flow) {
            reader.refuse(&NAME, format!("another flow is called {name} too"), "give it another name");
        }
    }
    flows.runs
}

/// A flow, before its place in a sequence is known.
fn read(
    reader: &Reader<'_>,
    hosts: &[Host],
    paths: &[Path],
    duration: Duration,
    number: usize,
) -> Option<Flow> {
    let name = reader.or(&NAME, format!("flow-{}", number + 1), "its number");
    let ends = read_ends(reader, hosts, paths);
    let start = sequence::start(reader, duration);
    let streams = reader.get(&STREAMS);
    let stagger = reader.get(&STAGGER);
    let workload = workload::read(reader);
    let asks = matches!(workload, Workload::RequestResponse(_));
    let host_of =
        |sends: bool| ends.map(|(client, server, _)| &hosts[if sends == asks { server } else { client }.0]);
    let sender = process::read(reader, &SENDER, host_of(true));
    let receiver = process::read(reader, &RECEIVER, host_of(false));
    let (client, server, path) = ends?;
    if let Workload::Datagrams(datagrams) = &workload {
        refuse_datagrams(reader, datagrams, [&hosts[client.0], &hosts[server.0]], &sender);
    }
    let flush = false;
    Some(Flow { name, client, server, path, start, flush, streams, stagger, workload, sender, receiver })
}

/// Refuses datagrams longer than a packet, or sent by a process with its own rate.
fn refuse_datagrams(reader: &Reader<'_>, datagrams: &Datagrams, hosts: [&Host; 2], sender: &Process) {
    let most =
        hosts.map(|host| host.nic.mtu.get()).into_iter().min().unwrap_or(0).saturating_sub(DATAGRAM_HEADERS);
    if datagrams.size.get() > most {
        let message = format!("a datagram of {} does not fit into one packet", datagrams.size);
        reader.refuse(
            &workload::DATAGRAMS_OF,
            message,
            format!("make its size {most} B at most, or the cards' mtu larger"),
        );
    }
    if sender.rate.is_some() {
        reader.refuse(
            &SENDER,
            "the sender of datagrams has their rate",
            "write the rate in [flows.datagrams] alone",
        );
    }
}

/// Client, server and the path between them.
fn read_ends(reader: &Reader<'_>, hosts: &[Host], paths: &[Path]) -> Option<(HostId, HostId, PathId)> {
    let first = paths.first()?;
    let client = chosen(reader, &FROM, hosts, first.ends[0], "the path's first host");
    let other = client.and_then(|client| {
        let path = paths.iter().find(|path| path.ends.contains(&client))?;
        path.ends.into_iter().find(|end| *end != client)
    });
    let server = chosen(reader, &TO, hosts, other.unwrap_or(first.ends[1]), "the path's other host");
    let (client, server) = (client?, server?);
    if client == server {
        reader.refuse(&TO, "this flow has both of its ends on one host", "name another host");
        return None;
    }
    let joins = |path: &Path| path.ends.contains(&client) && path.ends.contains(&server);
    let path = paths.iter().position(joins).map(PathId);
    if path.is_none() {
        let message = format!("no path joins {} and {}", hosts[client.0].name, hosts[server.0].name);
        reader.refuse(&TO, message, "name other hosts, or write a path between these");
    }
    Some((client, server, path?))
}

fn chosen(
    reader: &Reader<'_>,
    key: &'static Key<String>,
    hosts: &[Host],
    usual: HostId,
    why: &str,
) -> Option<HostId> {
    let name = reader.or(key, hosts[usual.0].name.clone(), why);
    host::named(reader, key as &dyn Describe, hosts, &name)
}
