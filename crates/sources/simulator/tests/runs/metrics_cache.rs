//! Metrics that a host caches from a connection, for the next one to the same host.

use crate::run::scenario;
use slowpath_model::{CaState, EventKind, SocketSample};
use slowpath_simulator::outside::{Occurrence, Wants};
use slowpath_simulator::{Observer, Sight, Simulation};
use std::collections::BTreeMap;
use std::time::Duration;

const INFINITE: u32 = 0x7fff_ffff;

/// Each connection's first sample with an RTT and its last, at one host.
struct Ends {
    host: usize,
    samples: BTreeMap<u32, [SocketSample; 2]>,
}

impl Observer for Ends {
    fn packet(&mut self, _sight: &Sight<'_>) {}

    fn wants(&self) -> Wants {
        Wants { samples: Some(Duration::from_millis(1)), ..Wants::default() }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let EventKind::Sampled(sample) = occurrence.kind else { return };
        if occurrence.host.0 == self.host && sample.srtt.is_some() {
            self.samples.entry(occurrence.connection).or_insert([sample; 2])[1] = sample;
        }
    }
}

impl Ends {
    fn of(text: &str, host: usize) -> (Self, Simulation) {
        let mut simulation = Simulation::new(&scenario(text));
        let mut ends = Self { host, samples: BTreeMap::new() };
        simulation.run(&mut ends);
        (ends, simulation)
    }

    /// The ssthresh saved by a connection that closes in the Open state (`tcp_update_metrics`).
    fn left_by(&self, connection: u32) -> u32 {
        let last = &self.samples[&connection][1];
        let (cwnd, ssthresh) = last.snd_cwnd.zip(last.snd_ssthresh).expect("a sender's state");
        assert!(cwnd > ssthresh && last.ca_state == Some(CaState::Open), "{last:?}");
        (cwnd / 2).max(ssthresh)
    }

    fn first_threshold(&self, connection: u32) -> Option<u32> {
        self.samples[&connection][0].snd_ssthresh
    }
}

fn shipped() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/cached-ssthresh.toml");
    std::fs::read_to_string(file).expect("a scenario")
}

/// `ubik` IV-E: the second connection loses nothing and has the path to itself.
#[test]
fn cached_ssthresh_of_a_lossy_connection_limits_the_next() {
    let kernel = "kernel = \"2.4.17\"";
    let mut rates = BTreeMap::new();
    for (name, change, keeps) in [
        ("2.4.17", shipped(), true),
        ("2.6.14", shipped().replace(kernel, "kernel = \"2.6.14\""), true),
        ("6.18", shipped().replace(kernel, "kernel = \"6.18\""), false),
        ("unsaved", shipped().replace("tcp_wmem", "tcp_no_metrics_save = 1\ntcp_wmem"), false),
    ] {
        let (ends, simulation) = Ends::of(&change, 0);
        let expected = if keeps { ends.left_by(0) } else { INFINITE };
        assert_eq!(ends.first_threshold(0), Some(INFINITE), "{name}");
        assert_eq!(ends.first_threshold(1), Some(expected), "{name}");
        let next = simulation.transfers()[1];
        assert_eq!(next.info.map(|info| info.retransmits), Some(0), "{name}");
        rates.insert(name, next.rate().expect("data").get() as f64);
    }
    assert!(rates["2.4.17"] < 0.6 * rates["unsaved"], "{rates:?}");
    // BIC recovers quickly from there.
    assert!(rates["2.6.14"] > 0.8 * rates["unsaved"], "{rates:?}");
}

/// The accepting side caches metrics too, and a host does not use one host's metrics for another.
#[test]
fn server_caches_metrics_for_each_client() {
    let text = "title = \"t\"\nduration = \"30 s\"\n\
        [hosts.near]\n[hosts.far]\n[hosts.server]\nkernel = \"2.6.14\"\n\
        [[path]]\nbetween = [\"near\", \"server\"]\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2 bdp\"\n\
        [[path.reverse.lose]]\npackets = [40]\n\
        [[path]]\nbetween = [\"far\", \"server\"]\nrate = \"50 Mbit/s\"\ndelay = \"60 ms\"\nqueue = \"2 bdp\"\n\
        [[flows]]\nfrom = \"near\"\nto = \"server\"\n\
        requests = { response = \"4 MiB\", count = 2, client-time = \"1 s\", connection = \"each\" }\n\
        [[flows]]\nfrom = \"far\"\nto = \"server\"\nstart = \"20 s\"\n\
        requests = { response = \"100 KiB\", count = 1, connection = \"each\" }\n";
    let (ends, _) = Ends::of(text, 2);
    assert_eq!(ends.first_threshold(0), Some(INFINITE));
    assert_eq!(ends.first_threshold(1), Some(ends.left_by(0)));
    assert_eq!(ends.first_threshold(2), Some(INFINITE), "a host without cached metrics");
}

/// Connections one after another, the cache flushed between them or at a time.
#[test]
fn flush_forgets_the_ssthresh_of_earlier_connections() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/parameter-cache.toml");
    let shipped = std::fs::read_to_string(file).expect("a scenario");
    let each = shipped.replace("runs = 3", "runs = 3\nflush = true");
    // Between the first and the second of the later ones.
    let once = shipped
        .replace("[hosts.sender.sysctl]", "[hosts.sender]\nflush = [\"3.5 s\"]\n[hosts.sender.sysctl]");
    let mut rates = BTreeMap::new();
    for (name, text, cached) in [
        ("kept", &shipped, [true, true, true]),
        ("each", &each, [false, false, false]),
        ("once", &once, [true, false, false]),
    ] {
        let (ends, simulation) = Ends::of(text, 0);
        for (later, cached) in (1..=3).zip(cached) {
            let threshold = ends.first_threshold(later).expect("a sender's state");
            assert_eq!(threshold < INFINITE, cached, "{name} {later}: {threshold}");
        }
        let transfers = simulation.transfers();
        for pair in transfers.windows(2) {
            // It is the end of the reader's data; both processes end half an RTT later at most.
            let pause = pair[1].opened.since(pair[0].opened + pair[0].lasted).expect("in order");
            assert!((500..530).contains(&pause.as_millis()), "{name}: {pause:?}");
        }
        rates.insert(name, transfers[1].rate().expect("data").get() as f64);
    }
    assert!(rates["kept"] < 0.3 * rates["each"], "{rates:?}");
    assert_eq!(rates["kept"], rates["once"], "the flush came later");
}
