//! The keys before the first heading, what is recorded, and the scenario as a whole.

use crate::estimate::Estimate;
use crate::file::{Place, Table};
use crate::host::Host;
use crate::id::HostId;
use crate::read::{flow, host, path, sweep};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::schema::{Context, Key, Origin, Reader, Section, Setting, Sub};
use std::time::Duration;

static TITLE: Key<String> = Key::new("title", "A title, in one line.").default("", "none");
static DURATION: Key<Duration> =
    Key::new("duration", "Duration of the run, in simulated time. The run ends earlier if all flows end.")
        .range("1 us", "24 h")
        .default("10 s", "long enough for a window to grow on a long path");
static SEED: Key<u64> = Key::new("seed", "Seed of all random numbers. The same seed gives the same run.")
    .default("1", "any number would do");
static HOSTS: Sub = Sub::table(
    "hosts",
    "The hosts, each a table under its name. The default is `sender` and `receiver`, also if only one of these is \
     written.",
);
static PATHS: Sub =
    Sub::tables("path", "The path between the two hosts; a list `[[path]]` with more than two hosts.");
static FLOWS: Sub = Sub::tables("flows", "What is transferred; a list `[[flows]]` for several flows.");
static RECORDS: Sub = Sub::table("record", "What to record.");

/// The keys before the first heading.
pub static RUN: Section = Section {
    heading: "",
    meaning: "Keys before the first heading.",
    keys: &[&TITLE, &DURATION, &SEED, &HOSTS, &PATHS, &FLOWS, &RECORDS, &sweep::VARIES, &sweep::TRIES],
    also: None,
};

static RECORD_HOSTS: Key<Vec<String>> =
    Key::new("hosts", "The hosts to record.").computed("all", "the two ends see different things");
static PACKETS: Key<bool> =
    Key::new("packets", "Every packet that passes the NIC, and every packet that the host drops.")
        .default("true", "diagnosis needs them");
static CALLS: Key<bool> = Key::new("calls", "Every write and read call.")
    .default("true", "distinguishes a slow application from a slow path");
static WAITS: Key<bool> =
    Key::new("waits", "Every wait of a packet or task: ring, backlog, queues, run queue.")
        .default("true", "distinguishes a slow host from a slow path");
static MARKS: Key<bool> = Key::new(
    "marks",
    "Every event of a socket: timeouts, congestion states, undos, zero windows, buffer growth.",
)
.default("true", "they are few, and show why something changed");
static SAMPLES: Key<Duration> =
    Key::new("samples", "Interval at which the state of every socket is recorded (cwnd, buffers, RTTs).")
        .range("1 us", "1 h")
        .absent("never");

/// What is recorded.
pub static RECORD: Section = Section {
    heading: "[record]",
    meaning: "What `slowpath run --record` records. `--pcap` writes the packets of the same hosts.",
    keys: &[&RECORD_HOSTS, &PACKETS, &CALLS, &WAITS, &MARKS, &SAMPLES],
    also: None,
};

/// Reads the scenario; `None` if too much is missing.
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
        meaning: "Seed of all random numbers. The same seed gives the same run.".to_owned(),
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
    let names = reader.or(&RECORD_HOSTS, all, "the two ends see different things");
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
