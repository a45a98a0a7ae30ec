//! The probe in any kernel: what it reads, what it lacks, and that nothing of it stays.

use crate::hosts::{connect, in_own_namespace, netns, start};
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use slowpath_live::{Filter, Live, Own};
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, Sink, SocketSample};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::iter::zip;
use std::thread;
use std::time::Duration;

/// The last sample of each socket, by its own port.
#[derive(Default)]
struct Samples {
    keys: BTreeMap<FlowId, FlowKey>,
    last: BTreeMap<u16, SocketSample>,
}

impl Sink for Samples {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.keys.insert(flow, *key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        if let EventKind::Sampled(sample) = event.kind {
            self.last.insert(self.keys[&flow].endpoint(sample.end).port, sample);
        }
    }

    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

impl Samples {
    /// The numbers that both know and that differ.
    fn differences(&self, other: &Self) -> Vec<String> {
        assert_eq!(self.last.keys().collect::<Vec<_>>(), other.last.keys().collect::<Vec<_>>());
        let pairs = zip(&self.last, other.last.values());
        let of_socket = |((port, one), other): ((&u16, &SocketSample), &SocketSample)| {
            let values = zip(SocketSample::FIELDS, zip(one.values(), other.values()));
            let wrong = values.filter(|(_, (one, other))| one.is_some() && other.is_some() && one != other);
            wrong
                .map(|((name, ..), (one, other))| format!("{name} of port {port}: {one:?}, {other:?}"))
                .collect::<Vec<_>>()
        };
        pairs.flat_map(of_socket).collect()
    }

    /// How many numbers both know.
    fn known(&self, other: &Self) -> usize {
        let values = zip(self.last.values(), other.last.values());
        let both = values.flat_map(|(one, other)| zip(one.values(), other.values()));
        both.filter(|(one, other)| one.is_some() && other.is_some()).count()
    }
}

/// The probe finds its fields by name in the kernel's types. The values that it reads are those that the kernel itself
/// reports of the same socket (`struct tcp_info`, SK_MEMINFO).
#[test]
#[ignore = "needs root"]
fn socket_samples_match_inet_diag() {
    in_own_namespace(|| samples_match_inet_diag(start()));
}

/// As it reads them where the kernel refuses to iterate over sockets.
#[test]
#[ignore = "needs root"]
fn socket_samples_match_inet_diag_one_by_one() {
    if is_older_than((6, 2), "one by one") {
        return;
    }
    in_own_namespace(|| {
        let filter = Filter { one_by_one: true, ..Filter::of_netns(&[netns()]) };
        samples_match_inet_diag(Live::start(filter).expect("it starts"));
    });
}

fn samples_match_inet_diag(mut live: Live) {
    let mut own = Own::start(None).expect("it answers");
    let (mut client, mut server) = connect();
    for _ in 0..20 {
        client.write_all(&[7; 20_000]).expect("it is read");
        server.read_exact(&mut [0; 19_000]).expect("it is written");
        server.write_all(&[7; 500]).expect("it is taken");
    }
    let (mut probe, mut kernel) = (Samples::default(), Samples::default());
    // Until the last ACK has come and nothing changes any more.
    let differ = (0..40).map(|_| {
        thread::sleep(Duration::from_millis(50));
        live.tell(&mut probe).expect("it reports");
        own.tell(&mut kernel).expect("it answers");
        probe.differences(&kernel)
    });
    let last = differ.take_while(|found| !found.is_empty()).last();
    let differences = probe.differences(&kernel);
    assert!(differences.is_empty(), "the probe and the kernel differ in {differences:?}; before, {last:?}");
    assert_eq!(probe.last.len(), 2);
    assert!(probe.known(&kernel) > 40, "{probe:?} {kernel:?}", probe = probe.last, kernel = kernel.last);
    let unread = |port| kernel.last[&port].receive_queue;
    assert_eq!(unread(server.local_addr().expect("an address").port()), Some(20_000));
}

/// The major and the minor number.
fn kernel_version() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("proc(5)");
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>());
    let mut next = || numbers.next().and_then(Result::ok).expect("a version");
    (next(), next())
}

/// Whether this kernel is too old for `what`, which is then said.
fn is_older_than(least: (u32, u32), what: &str) -> bool {
    let version = kernel_version();
    if version < least {
        println!(
            "not judged: {what}: Linux {}.{} is older than {}.{}",
            version.0, version.1, least.0, least.1
        );
    }
    version < least
}

/// Features added after Linux 6.1.
struct Later {
    /// How its absence is reported.
    absence: &'static str,
    /// The newest kernel tested that lacks it.
    without: (u32, u32),
    /// The oldest kernel tested that has it.
    with: (u32, u32),
}

const LATER: [Later; 2] = [
    Later { absence: "packets that TCP dropped on receipt", without: (6, 1), with: (6, 12) },
    Later { absence: "when exactly receive buffers grew", without: (6, 12), with: (6, 18) },
];

/// What no kernel shows.
const ON_ALL: &str = "how long each packet lay in a card's ring";

/// Nothing that Linux 6.1 has is missing, and all other missing features of this kernel are reported.
#[test]
#[ignore = "needs root"]
fn missing_hooks_are_those_this_kernel_lacks() {
    if is_older_than((6, 1), "hooks") {
        return;
    }
    let version = kernel_version();
    in_own_namespace(move || {
        let live = start();
        println!("Linux {}.{} does not show: {:?}", version.0, version.1, live.unseen());
        let is_of_later = |text: &&str| LATER.iter().any(|later| text.starts_with(later.absence));
        let mut unseen = live.unseen().iter().filter(|text| !text.starts_with(ON_ALL));
        assert!(unseen.all(is_of_later));
        for Later { absence, without, with } in LATER {
            let is_missing = live.unseen().iter().any(|text| text.starts_with(absence));
            assert!(is_missing || version > without, "missing, but not reported: {absence}");
            assert!(!is_missing || version < with, "reported as missing: {absence}");
        }
    });
}

/// The kernel objects behind this process's descriptors: type and number, which is never reused.
fn held() -> BTreeSet<(String, u32)> {
    let files = std::fs::read_dir("/proc/self/fdinfo").expect("proc(5)").flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let fields = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    });
    fields.filter(|(name, _)| ["prog_id", "map_id", "link_id"].contains(&name.as_str())).collect()
}

/// All such objects in the kernel, of any process.
fn there() -> BTreeSet<(String, u32)> {
    let programs = ProgInfoIter::default().map(|program| ("prog_id", program.id));
    let maps = MapInfoIter::default().map(|map| ("map_id", map.id));
    let links = LinkInfoIter::default().map(|link| ("link_id", link.id));
    programs.chain(maps).chain(links).map(|(kind, id)| (kind.to_owned(), id)).collect()
}

/// Programs, maps and links go away with the probe, also without a call to finish.
#[test]
#[ignore = "needs root"]
fn no_bpf_objects_stay_after_the_probe() {
    in_own_namespace(|| {
        let before = held();
        let live = start();
        let (mut client, mut server) = connect();
        client.write_all(&[7; 100]).expect("it is read");
        server.read_exact(&mut [0; 100]).expect("it is written");
        let own: BTreeSet<_> = held().difference(&before).cloned().collect();
        for kind in ["prog_id", "map_id", "link_id"] {
            assert!(own.iter().filter(|(name, _)| name == kind).count() >= 4, "{own:?}");
        }
        assert!(own.is_subset(&there()), "they are there while it lives");
        drop(live);
        // The kernel frees them when no CPU can be inside any more. Links go first, and storage with its socket.
        drop((client, server));
        let left = || own.intersection(&there()).cloned().collect::<Vec<_>>();
        let gone = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(50));
            left().is_empty()
        });
        assert!(gone, "{:?} of {} in {} are left", left(), own.len(), netns());
    });
}
