//! `[path]`.

use crate::file::{Place, Table};
use crate::host::Host;
use crate::id::HostId;
use crate::path::Path;
use crate::read::elements::{self, Ends};
use crate::read::host;
use crate::schema::{Key, Reader, Section, Sub};

static NAME: Key<String> =
    Key::new("name", "Name in results.").computed("`path`, or `path-1` and so on", "none");
static BETWEEN: Key<Vec<String>> =
    Key::new("between", "The two hosts that it connects, such as `[\"sender\", \"receiver\"]`.")
        .computed("the two hosts, if there are two", "none");
static FORWARD: Sub = Sub::table("forward", "Keys for the direction from the first host to the second.");
static REVERSE: Sub = Sub::table("reverse", "Keys for the direction from the second host to the first.");

/// A path.
pub static PATH: Section = Section {
    heading: "[path]",
    meaning: "A path between two hosts. These keys apply to both directions. `[path.forward]` and `[path.reverse]` have \
              the same keys for one direction, and override these.",
    keys: &[&NAME, &BETWEEN, &FORWARD, &REVERSE],
    also: Some(&elements::DIRECTION),
};

/// More paths than this are not a scenario of two ends and a path.
const MOST_PATHS: usize = 100;

/// Reads all paths; without any, there is one that only its hosts' NICs limit.
pub fn read_all(run: &Reader<'_>, key: &'static Sub, hosts: &[Host]) -> Vec<Path> {
    let start = Place::in_file(0..0);
    let tables = run.tables_up_to(key, MOST_PATHS);
    let mut paths: Vec<Path> = Vec::new();
    if tables.is_empty() && !run.has(key) {
        let reader = Reader::new(run.context(), &PATH, None, &start, "path.");
        paths.extend(read(&reader, None, hosts, "path".to_owned()));
    }
    for (number, (table, place)) in tables.iter().enumerate() {
        let (prefix, name) = match tables.len() {
            1 => ("path.".to_owned(), "path".to_owned()),
            _ => (format!("path.{number}."), format!("path-{}", number + 1)),
        };
        let reader = Reader::new(run.context(), &PATH, Some(table), place, &prefix);
        let Some(path) = read(&reader, Some(table), hosts, name) else { continue };
        refuse_double(&reader, &paths, &path);
        paths.push(path);
    }
    paths
}

fn refuse_double(reader: &Reader<'_>, paths: &[Path], path: &Path) {
    if paths.iter().any(|other| other.name == path.name) {
        reader.refuse(&NAME, format!("another path is called {} too", path.name), "give it another name");
    }
    let joins = |other: &Path| path.ends.iter().all(|end| other.ends.contains(end));
    if paths.iter().any(joins) {
        reader.refuse(
            &BETWEEN,
            "another path joins the same two hosts",
            "packets could not choose; keep one of them",
        );
    }
}

fn read(reader: &Reader<'_>, table: Option<&Table>, hosts: &[Host], name: String) -> Option<Path> {
    let name = reader.or(&NAME, name, "the only path, or its number");
    let ends = read_ends(reader, hosts);
    let start = Place::in_file(0..0);
    let direction = |key: &'static Sub| {
        let (own, place) = reader.table(key).map_or((None, &start), |(table, place)| (Some(table), place));
        (own, place, reader.prefix_of(key))
    };
    let (forward, forward_place, forward_prefix) = direction(&FORWARD);
    let (reverse, reverse_place, reverse_prefix) = direction(&REVERSE);
    let forward =
        Reader::new(reader.context(), &elements::DIRECTION, forward, forward_place, &forward_prefix)
            .with_behind(table);
    let reverse =
        Reader::new(reader.context(), &elements::DIRECTION, reverse, reverse_place, &reverse_prefix)
            .with_behind(table);
    let delays = elements::delay(&forward).saturating_add(elements::delay(&reverse));
    let mtu = ends.iter().flatten().map(|end| hosts[end.0].nic.mtu).max().unwrap_or_default();
    let bounds = Ends { round_trip: delays, mtu };
    let (forward, reverse) = (elements::read(&forward, bounds), elements::read(&reverse, bounds));
    Some(Path { name, ends: ends?, forward, reverse })
}

fn read_ends(reader: &Reader<'_>, hosts: &[Host]) -> Option<[HostId; 2]> {
    let two = hosts.iter().take(2).map(|host| host.name.clone()).collect();
    let names = reader.or(&BETWEEN, two, "the first two hosts");
    if !reader.has(&BETWEEN) && hosts.len() > 2 {
        let hint = "write between = [\"…\", \"…\"]";
        reader.refuse(&BETWEEN, "there are more than two hosts: which two does this path join?", hint);
        return None;
    }
    let [first, second] = names.as_slice() else {
        if reader.has(&BETWEEN) || hosts.len() >= 2 {
            reader.refuse(&BETWEEN, "a path joins two hosts", "name two, such as [\"sender\", \"receiver\"]");
        }
        return None;
    };
    let first = host::named(reader, &BETWEEN, hosts, first);
    let second = host::named(reader, &BETWEEN, hosts, second);
    let ends = [first?, second?];
    if ends[0] == ends[1] {
        reader.refuse(&BETWEEN, "a path joins two different hosts", "name another");
        return None;
    }
    Some(ends)
}
