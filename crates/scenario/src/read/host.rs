//! `[hosts.NAME]`.

use crate::file::{Entry, Place, Value};
use crate::host::Host;
use crate::id::HostId;
use crate::read::{costs, kernel, load, nic};
use crate::schema::nearest::nearest;
use crate::schema::{Describe, Key, Reader, Section, Sub};
use std::time::Duration;

static KERNEL: Sub = Sub::text_or_table(
    "kernel",
    "The kernel, by its name in `slowpath kernels`, or a custom kernel (below). Default `\"6.18\"`.",
);
static CPUS: Key<u32> = Key::new("cpus", "Number of CPUs.")
    .range("1", "64")
    .default("4", "a small server; the simulated stack rarely uses more");
static MACHINE: Key<String> = Key::new(
    "machine",
    "CPU costs of the kernel's work: `free`, `server-2020`, `pc-2002`, `wu-receiver` or `ubik-pc`.",
)
.default("server-2020", "crates/scenario/src/machines.rs");
static COSTS: Sub = Sub::table(
    "costs",
    "Costs that differ from the machine's, by the names listed below: times such as `\"120 ns\"` or `\"60 ps\"`.",
);
static NIC: Sub = Sub::table("nic", "The NIC.");
static SYSCTL: Sub = Sub::table(
    "sysctl",
    "Sysctls, by name, with or without `net.ipv4.` or `net.core.`. Each is a number or, for a triple, text such as \
     `\"4096 131072 33554432\"`. Defaults are the kernel's; `slowpath kernels --sysctls` lists them.",
);
static LOAD: Sub = Sub::tables("load", "Other load on its CPUs. Default: none.");
static FLUSH: Key<Vec<Duration>> = Key::new(
    "flush",
    "Times at which its parameter cache is flushed, as by `ip tcp_metrics flush`: the next connection to each host starts \
     without the ssthresh and RTT of earlier ones. See also `flush` in `[flows]`.",
)
.absent("never");

/// A host.
pub static HOST: Section = Section {
    heading: "[hosts.NAME]",
    meaning: "A host. Paths and flows use its name.",
    keys: &[&KERNEL, &CPUS, &MACHINE, &COSTS, &NIC, &SYSCTL, &LOAD, &FLUSH],
    also: None,
};

/// The default hosts.
const USUAL: [&str; 2] = ["sender", "receiver"];
/// More hosts than this are not a scenario of two ends and a path.
const MOST_HOSTS: usize = 64;

/// Reads all hosts.
pub fn read_all(run: &Reader<'_>, key: &'static Sub) -> Vec<Host> {
    let start = Place::in_file(0..0);
    let written: &[Entry] = run.table(key).map_or(&[], |(table, _)| &table.entries);
    if written.len() > MOST_HOSTS {
        let place = written[MOST_HOSTS].place.clone();
        run.context().refuse(place, format!("there are more than {MOST_HOSTS} hosts"), "leave some out");
        return Vec::new();
    }
    let missing = USUAL.iter().filter(|name| !written.iter().any(|entry| entry.key == **name));
    let usual = written.iter().all(|entry| USUAL.contains(&entry.key.as_str()));
    let mut hosts: Vec<Host> = Vec::new();
    if usual {
        // In their usual order, whichever of them is written.
        for name in USUAL {
            let entry = written.iter().find(|entry| entry.key == name);
            hosts.extend(read_entry(run, name, entry, &start));
        }
    } else {
        hosts.extend(written.iter().filter_map(|entry| read_entry(run, &entry.key, Some(entry), &start)));
        if written.len() < 2 {
            let hint = format!(
                "add another, or call this one {}",
                missing.copied().collect::<Vec<_>>().join(" or ")
            );
            run.context().refuse(written[0].place.clone(), "there is only one host", hint);
        }
    }
    hosts
}

fn read_entry(run: &Reader<'_>, name: &str, entry: Option<&Entry>, start: &Place) -> Option<Host> {
    let prefix = format!("hosts.{name}.");
    let (table, place) = match entry {
        None => (None, start),
        Some(Entry { node, place, .. }) => match &node.value {
            Value::Table(table) => (Some(table), place),
            other => {
                let message = format!("a host is a table, not {}", other.kind());
                run.context().refuse(node.place.clone(), message, format!("write it under [hosts.{name}]"));
                return None;
            }
        },
    };
    if name.is_empty() || name.len() > 100 {
        run.context().refuse(place.clone(), "a host's name has 1 to 100 bytes", "give it another name");
        return None;
    }
    Some(read(name, &Reader::new(run.context(), &HOST, table, place, &prefix)))
}

fn read(name: &str, reader: &Reader<'_>) -> Host {
    let kernel = kernel::read(reader, &KERNEL, &SYSCTL);
    let cpus = reader.get(&CPUS);
    let costs = costs::read(reader, &MACHINE, &COSTS);
    let nic = nic::read(reader, &NIC, &kernel, cpus);
    let load = load::read_all(reader, &LOAD, &kernel, cpus);
    let flush = read_flushes(reader);
    Host { name: name.to_owned(), kernel, cpus, costs, nic, load, flush }
}

/// More flushes than this are not a scenario of a few transfers.
const MOST_FLUSHES: usize = 1000;

fn read_flushes(reader: &Reader<'_>) -> Vec<Duration> {
    let mut flushes = reader.optional(&FLUSH).unwrap_or_default();
    if flushes.len() > MOST_FLUSHES {
        let message = format!("there are more than {MOST_FLUSHES} times");
        reader.refuse(&FLUSH, message, "write flush = true in [flows] to flush before each run of a flow");
        flushes.clear();
    }
    flushes.sort_unstable();
    flushes
}

/// The host with this name; `None`, and an error at `key`, if there is none.
pub fn named(reader: &Reader<'_>, key: &dyn Describe, hosts: &[Host], name: &str) -> Option<HostId> {
    let found = hosts.iter().position(|host| host.name == name).map(HostId);
    if found.is_none() {
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", names.join(", ")),
        };
        reader.refuse(key, "there is no such host", hint);
    }
    found
}
