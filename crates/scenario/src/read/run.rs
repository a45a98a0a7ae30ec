//! What stands before the first heading, what is recorded, and the scenario as a whole.

use crate::estimate::Estimate;
use crate::file::{Place, Table};
use crate::host::Host;
use crate::id::HostId;
use crate::read::{flow, host, path, sweep};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::schema::{Context, Key, Origin, Reader, Section, Setting, Sub};
use std::time::Duration;

static TITLE: Key<String> = Key::new("title", "What the scenario is about, in one line.").default("", "none");
static DURATION: Key<Duration> =
    Key::new("duration", "How long it runs, in simulated time. It ends earlier if all of its flows do.")
        .range("1 us", "24 h")
        .default("10 s", "long enough for a window of a long path to grow");
static SEED: Key<u64> =
    Key::new("seed", "What all chance in it is drawn from; the same seed gives the same run.")
        .default("1", "any number would do");
static HOSTS: Sub = Sub::table(
    "hosts",
    "The hosts, each a table under its name. Without any, and beside one of these, there are `sender` and `receiver`.",
);
static PATHS: Sub =
    Sub::tables("path", "The path between two hosts; a list `[[path]]` if there are more hosts.");
static FLOWS: Sub = Sub::tables("flows", "What is transferred; a list `[[flows]]` if several things are.");
static RECORDS: Sub = Sub::table("record", "What is written down.");

/// What stands before the first heading.
pub static RUN: Section = Section {
    heading: "",
    meaning: "What stands before the first heading.",
    keys: &[&TITLE, &DURATION, &SEED, &HOSTS, &PATHS, &FLOWS, &RECORDS, &sweep::VARIES, &sweep::TRIES],
    also: None,
};

static RECORD_HOSTS: Key<Vec<String>> =
    Key::new("hosts", "The hosts at which it is.").computed("all", "each end sees something else");
static PACKETS: Key<bool> =
    Key::new("packets", "Every packet, as it passes the network card, and those that the host drops.")
        .default("true", "what diagnoses are made from");
static CALLS: Key<bool> = Key::new("calls", "Every call of write and read.")
    .default("true", "tells a slow application from a slow path");
static WAITS: Key<bool> =
    Key::new("waits", "Every wait of a packet or task: ring, backlog, queue, run queue.")
        .default("true", "tells a slow host from a slow path");
static MARKS: Key<bool> = Key::new(
    "marks",
    "Every turn of a socket: timeouts, states of congestion, undos, windows that close, buffers that grow.",
)
.default("true", "few, and each says why something changed");
static SAMPLES: Key<Duration> =
    Key::new("samples", "How often the state of every socket is (cwnd, buffers, round trips).")
        .range("1 us", "1 h")
        .absent("never");

/// What is written down.
pub static RECORD: Section = Section {
    heading: "[record]",
    meaning: "What of the run is written down, if `slowpath run --record` asks for it; `--pcap` writes the packets of these hosts.",
    keys: &[&RECORD_HOSTS, &PACKETS, &CALLS, &WAITS, &MARKS, &SAMPLES],
    also: None,
};

/// Reads the whole; `None` if so much is missing that there is no scenario.
pub fn read(context: &Context, table: &Table, seed: Option<u64>) -> Option<Scenario> {
    let start = Place::in_file(0..0);
    let reader = Reader::new(context, &RUN, Some(table), &start, "");
    let title = reader.get(&TITLE);
    let duration = reader.get(&DURATION);
    let seed = seed_of(&reader, seed);
    let hosts = host::read_all(&reader, &HOSTS);
    let paths = path::read_all(&reader, &PATHS, &hosts);
    let flows = flow::read_all(&reader, &FLOWS, &hosts, &paths, duration);
    let record = read_record(&reader, &hosts);
    let sweep = sweep::read(&reader);
    if context.has_errors() {
        return None;
    }
    let scenario = Scenario { title, duration, seed, hosts, paths, flows, record, sweep };
    if let Err(too_much) = Estimate::of(&scenario).is_sane() {
        context.refuse(reader.place(&DURATION), too_much.to_string(), "make it shorter, slower or smaller");
        return None;
    }
    Some(scenario)
}

/// The seed of the command line, or the file's.
fn seed_of(reader: &Reader<'_>, seed: Option<u64>) -> u64 {
    let Some(seed) = seed else { return reader.get(&SEED) };
    reader.context().note(Setting {
        key: "seed".to_owned(),
        value: Some(seed.to_string()),
        origin: Origin::Override,
        meaning: "What all chance in it is drawn from; the same seed gives the same run.".to_owned(),
        reason: String::new(),
    });
    seed
}

fn read_record(reader: &Reader<'_>, hosts: &[Host]) -> Record {
    let written = reader.table(&RECORDS);
    let start = Place::in_file(0..0);
    let (table, place) = written.map_or((None, &start), |(table, place)| (Some(table), place));
    let reader = Reader::new(reader.context(), &RECORD, table, place, "record.");
    let all = hosts.iter().map(|host| host.name.clone()).collect();
    let names = reader.or(&RECORD_HOSTS, all, "each end sees something else");
    let mut chosen: Vec<HostId> =
        names.iter().filter_map(|name| host::named(&reader, &RECORD_HOSTS, hosts, name)).collect();
    chosen.sort();
    chosen.dedup();
    if chosen.is_empty() {
        reader.refuse(&RECORD_HOSTS, "nothing would be recorded anywhere", "name a host, or leave this out");
    }
    Record {
        hosts: chosen,
        packets: reader.get(&PACKETS),
        calls: reader.get(&CALLS),
        waits: reader.get(&WAITS),
        marks: reader.get(&MARKS),
        samples: reader.optional(&SAMPLES),
    }
}
