use super::super::labels::LABELS;
use super::super::{Exported, FAMILIES, Format, Kind, sample_names};
use super::*;
use slowpath_analyses::hosts::Hosts;
use slowpath_live::{HostSoFar, Listener};
use slowpath_model::{Endpoint, FlowEnd, Sink};
use std::fmt::Write;

const SECOND: Duration = Duration::from_secs(1);

fn labelling(labels: &str, series: usize) -> Labelling {
    let labels: Vec<Label> = labels.split(',').map(|label| label.parse().expect("a label")).collect();
    Labelling::new(&labels, Prefixes::default(), series)
}

/// A connection from a client's port to port 443 of this host.
fn key(client: u16) -> FlowKey {
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    FlowKey { a: end(1, client), b: end(2, 443), occurrence: 0 }
}

fn connection(id: u32, process: Option<&Process>) -> Connection<'_> {
    Connection {
        id: FlowId(id),
        key: key(40_000 + id as u16),
        own: End::B,
        process,
        cgroup: None,
        carried: [1000, 10],
        segments: 2,
        dropped: None,
        figures: Figures {
            retransmitted: Some(3),
            causes: vec![(Cause::SlowReader, SECOND / 4), (Cause::SenderIdle, SECOND / 2)],
            ..Figures::default()
        },
        pending: None,
        age: SECOND,
        waits: [None; 2],
    }
}

/// The lines of samples, each with its number.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut found = BTreeMap::new();
    for line in lines {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
        let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(found.insert(series.to_owned(), value).is_none(), "twice: {series}");
    }
    found
}

fn text(exported: &Exported) -> String {
    exported.text(Format::OpenMetrics).expect("it can be written")
}

#[test]
fn counters_stay_when_connections_end() {
    let nginx = Process { pid: 7, name: "nginx".to_owned() };
    let exported = Exported::new(Totals::new(labelling(LABELS, 1000), "probe"));
    let interval = |second: u32, ids: &[u32]| {
        let seen: Vec<_> = ids.iter().map(|id| connection(*id, Some(&nginx))).collect();
        exported.totals().take(SECOND * second, SECOND, seen.into_iter(), 0, HostTotals::default());
        samples(&text(&exported))
    };
    let mut before = interval(1, &[1, 2]);
    for (second, ids) in [(2, &[1, 2, 3][..]), (3, &[3]), (4, &[]), (5, &[4])] {
        let after = interval(second, ids);
        for (series, value) in before.iter().filter(|(series, _)| series.contains("_total")) {
            assert!(after.get(series).is_some_and(|now| now >= value), "{series} in second {second}");
        }
        before = after;
    }
    let labels = r#"{service="443",process="nginx",cgroup="unknown",pod=""}"#;
    // Four connections, whose bytes count once each, in six intervals of connections and seconds.
    assert_eq!(before[&format!("slowpath_sent_bytes_total{labels}")], 4000.0);
    assert_eq!(before[&format!("slowpath_connection_watched_seconds_total{labels}")], 7.0);
    assert_eq!(before[&format!("slowpath_connections{labels}")], 1.0);
    let of_cause = labels.replace('}', r#",limit="receive-window",cause="slow-reader"}"#);
    assert_eq!(before[&format!("slowpath_connection_limited_seconds_total{of_cause}")], 7.0 / 4.0);
    let lost = labels.replace('}', r#",lost="unknown"}"#);
    assert_eq!(before[&format!("slowpath_retransmitted_segments_total{lost}")], 21.0);
    assert_eq!(before["slowpath_accounted_ratio"], 0.75);
}

/// A hold that goes on is counted each second, and not again when its report comes.
#[test]
fn pending_time_is_counted_once() {
    let mut totals = Totals::new(labelling("service", 1000), "probe");
    for second in 1..=4_u32 {
        let figures = Figures {
            causes: if second == 4 { vec![(Cause::AutotuningLag, SECOND * 4)] } else { Vec::new() },
            ..Figures::default()
        };
        let pending = (second < 4).then(|| (Cause::SlowReader, SECOND * second));
        let stopped = Connection { figures, pending, ..connection(1, None) };
        totals.take(SECOND * second, SECOND, [stopped].into_iter(), 0, HostTotals::default());
        let limited: Duration = totals.groups().flat_map(|group| group.limited.values()).sum();
        assert_eq!(limited, SECOND * second);
    }
}

/// Hostile names neither break the text nor add series.
#[test]
fn hostile_names_keep_the_bound_and_the_format() {
    let exported = Exported::new(Totals::new(labelling("process,cgroup,remote", 60), "probe"));
    let names = ["a\"b", "a\\", "a\nb", "} 5\nslowpath_x 1 #", "\x1b[2J", "other", "", "é\u{202e}"];
    let mut text_of_last = String::new();
    for second in 1..=20_u32 {
        let processes: Vec<Process> = (0..8_u32)
            .map(|n| Process { pid: second * 8 + n, name: format!("{}{}", names[n as usize], second / 2) })
            .collect();
        let cgroups: Vec<Cgroup> = names
            .iter()
            .map(|name| Cgroup { path: format!("/{name}/{}", "x".repeat(4000)), pod: None })
            .collect();
        let seen: Vec<_> = (0..8)
            .map(|n| Connection {
                cgroup: Some(&cgroups[n]),
                ..connection(second * 8 + n as u32, Some(&processes[n]))
            })
            .collect();
        exported.totals().take(SECOND * second, SECOND, seen.into_iter(), 0, HostTotals::default());
        text_of_last = text(&exported);
        let found = samples(&text_of_last);
        let labelled = found
            .keys()
            .filter(|series| series.contains("process=") && !series.contains("process=\"other\","));
        assert!(labelled.count() <= 60);
    }
    let found = samples(&text_of_last);
    let names = sample_names();
    for series in found.keys() {
        let name = series.split('{').next().unwrap_or_default();
        assert!(names.iter().any(|known| known == name), "{series}");
    }
    assert!(
        found["slowpath_other_connections_total"] > 50.0,
        "{}",
        found["slowpath_other_connections_total"]
    );
    assert!(found["slowpath_labelled_series"] <= 60.0);
    assert!(!text_of_last.contains(['\x1b', '\u{202e}']) && text_of_last.ends_with("# EOF\n"));
    assert!(text_of_last.contains(r#"process="a\"b0""#) && text_of_last.contains(r#"process="a\\0""#));
    assert!(!text_of_last.contains("port=") && !text_of_last.contains("40009"), "no client's port");
    // Whatever has no series of its own is in `other`: nothing is lost.
    let sent = found.iter().filter(|(series, _)| series.starts_with("slowpath_sent_bytes_total"));
    assert_eq!(sent.map(|(_, value)| value).sum::<f64>(), 160_000.0);
}

/// A state in which every metric has a value.
fn everything() -> Exported {
    let mut totals = Totals::new(labelling("service,process,cgroup,pod,remote", 1000), "probe");
    let mut waits = Waits::default();
    waits.add(Wait::ReceiveQueue, SECOND / 8, Bytes::new(1448), 1);
    let at = Endpoint { address: [0; 4].into(), port: 443 };
    let names = [
        "TcpExtListenOverflows",
        "TcpExtListenDrops",
        "TcpExtTCPMemoryPressures",
        "TcpExtTCPMemoryPressuresChrono",
        "TcpExtTCPRcvCollapsed",
        "TcpExtRcvPruned",
        "TcpExtOfoPruned",
        "TcpInSegs",
        "TcpOutSegs",
        "TcpRetransSegs",
        "TcpCurrEstab",
    ];
    let host = HostTotals {
        softirqs: vec![(0, 250)],
        counters: names.iter().map(|name| ((*name).to_owned(), 2500)).collect(),
        tcp_bytes: Some(4096),
        tcp_limits: Some([1, 2, 3]),
        listeners: vec![Listener { at, length: 1, limit: 128 }],
        probe: Some(HostSoFar {
            dropped: vec![Dropped { reason: "QDISC_DROP".to_owned(), packets: 9 }],
            softirqs: vec![(Duration::from_micros(5), 2)],
            ..HostSoFar::default()
        }),
    };
    let seen = Connection { waits: [Some(&waits), None], ..connection(1, None) };
    totals.take(SECOND, SECOND, [seen].into_iter(), 0, host);
    Exported::new(totals)
}

/// Every metric of the table is exported, with the labels that the table has, and no other.
#[test]
fn exported_samples_are_those_of_the_table() {
    let text = text(&everything());
    let found: BTreeMap<String, f64> = samples(&text);
    let exported: HashSet<&str> = found.keys().filter_map(|series| series.split('{').next()).collect();
    for family in FAMILIES {
        for name in family.samples() {
            assert!(exported.contains(&*name), "{name} is in the table and not exported");
            let of = |series: &&String| series.split('{').next() == Some(&name);
            for series in found.keys().filter(of) {
                for label in family.labels {
                    assert!(series.contains(&format!("{label}=\"")), "{series} lacks {label}");
                }
                assert_eq!(series.contains("process=\""), family.is_labelled, "{series}");
            }
        }
    }
    let names = sample_names();
    assert!(exported.iter().all(|name| names.iter().any(|known| known == name)), "{exported:?}");
    assert_eq!(found["slowpath_softirq_seconds_total{cpu=\"0\"}"], 2.5);
    assert_eq!(found["slowpath_tcp_memory_pressure_seconds_total"], 2.5);
    assert_eq!(found["slowpath_watched_sockets"], 1.0);
    assert_eq!(found["slowpath_wait_seconds_bucket{le=\"0.1\",wait=\"receive-queue\"}"], 0.0);
    assert_eq!(found["slowpath_wait_seconds_bucket{le=\"0.2\",wait=\"receive-queue\"}"], 1448.0);
    assert_eq!(found["slowpath_wait_seconds_sum{wait=\"receive-queue\"}"], 181.0);
}

/// OpenMetrics 1.0, section 4.4: names end in their unit, counters in `_total`, and each family is written once.
#[test]
fn names_follow_openmetrics() {
    for family in FAMILIES {
        assert!(!family.help.contains('\n') && !family.help.ends_with('.'), "{}", family.name);
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(family.name.bytes().all(is_word), "{}", family.name);
        assert!(!family.name.ends_with("_total"), "{}: the encoder adds it", family.name);
        let samples = family.samples();
        assert_eq!(samples[0].ends_with("_total"), family.kind == Kind::Counter, "{samples:?}");
    }
    let text = text(&everything());
    let mut headers: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    let all = headers.len();
    headers.sort_unstable();
    headers.dedup();
    assert_eq!((headers.len(), all), (FAMILIES.len(), FAMILIES.len()));
}

/// The page of the handbook has a row for each metric, with its labels.
#[test]
fn the_handbook_lists_every_metric() {
    let page = include_str!("../../../../../docs/src/metrics.md");
    let mut missing = String::new();
    for family in FAMILIES {
        let samples = family.samples();
        let name = samples[0].strip_suffix("_bucket").unwrap_or(&samples[0]);
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}")));
        let is_there =
            row.is_some_and(|row| family.labels.iter().all(|label| row.contains(&format!("`{label}`"))));
        if !is_there {
            let _ = writeln!(missing, "{name} {:?}", family.labels);
        }
    }
    assert!(missing.is_empty(), "docs/src/metrics.md lacks rows of:\n{missing}");
}

/// Of a new connection, no more time is watched than it reports.
#[test]
fn accounts_become_connections() {
    let mut hosts = Hosts::default();
    hosts.open(FlowId(1), &key(40_001));
    for line in [
        "1 B wrote 5000",
        "1 B sampled srtt 100 total_retrans 7 data_segs_in 3",
        "1.25 B held receive-window 0.250000",
        "1.25 B sampled srtt 100 total_retrans 9 data_segs_in 8 snd_wnd 65536",
        "1.25 B waited receive-queue 0.000050 65536",
    ] {
        hosts.accept(FlowId(1), &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
    }
    hosts.close(FlowId(1), FlowEnd::Gone);
    let account = hosts.flow(FlowId(1)).expect("it is known");
    let connection = Connection::of(account, End::B);
    assert_eq!((connection.carried, connection.segments), ([5000, 0], 5));
    assert_eq!(connection.figures.retransmitted, Some(2));
    let mut totals = Totals::new(labelling("service", 1000), "probe");
    totals.take(SECOND, SECOND, [connection].into_iter(), 0, HostTotals::default());
    let group = totals.groups().next().expect("a group");
    let limited: Duration = group.limited.values().sum();
    assert_eq!((group.watched, limited, &*group.labels[0]), (SECOND / 4, SECOND / 4, "443"));
    assert_eq!(totals.accounted(), Some(1.0));
}
