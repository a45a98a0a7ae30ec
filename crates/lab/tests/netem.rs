//! The kernel's own path, if the kernel has one: packets have the requested fate.

mod transfer;

use slowpath_lab::case::{LabelledCase, Set};
use slowpath_lab::host::DEVICE;
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_lab::path::jitter::JitterConfig;
use slowpath_lab::path::link::{LinkConfig, QueueLimit};
use slowpath_lab::path::loss::LossConfig;
use slowpath_lab::path::{LossReason, PathConfig};
use slowpath_lab::run::{self, Keep, Packing};
use slowpath_lab::settings::{Carrier, Settings};
use slowpath_lab::workload::{Stream, Workload, Writer};
use slowpath_lab::{netem, testbed};
use slowpath_live::TcpInfo;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};
use transfer::transfer;

const BYTES: usize = 1_000_000;
const RATE_BIT_PER_S: u64 = 20_000_000;
const DELAY: Duration = Duration::from_millis(20);

fn way(loss: Vec<LossConfig>) -> PathConfig {
    PathConfig {
        loss,
        link: Some(LinkConfig {
            rate: slowpath_model::Rate::bits_per_second(RATE_BIT_PER_S),
            queue: QueueLimit::Packets(40),
            stalls: Vec::new(),
        }),
        delay: DELAY,
        ..PathConfig::default()
    }
}

/// Frames that a host's interface has received and sent (`dev_seq_printf_stats`).
fn frames(namespaces: &Namespaces, place: Place) -> [u64; 2] {
    let text = namespaces.inside(place, || Ok(std::fs::read_to_string("/proc/thread-self/net/dev").unwrap()));
    let text = text.unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'));
    let numbers: Vec<u64> = line.unwrap().split_ascii_whitespace().map(|n| n.parse().unwrap()).collect();
    [numbers[1], numbers[9]]
}

/// Sends from the sender's host to the receiver's; returns how long that took and the minimum RTT.
fn timed(namespaces: &Namespaces, to: IpAddr) -> (Duration, Duration) {
    let sent: Vec<u8> = (0..BYTES).map(|n| (n * 31 % 251) as u8).collect();
    let began = Instant::now();
    let (received, stream) = transfer(namespaces, to, &sent);
    let took = began.elapsed();
    assert!(received == sent, "other bytes arrived");
    (took, Duration::from_micros(TcpInfo::of(&stream).unwrap().min_rtt_us.into()))
}

/// Whether the kernel has netem; if not, prints that.
fn is_there() -> bool {
    let tried = netem::is_there();
    if let Err(error) = &tried {
        println!("not judged: netem: {error}");
    }
    tried.is_ok()
}

/// From building the hosts to writing the files; the checks of every run pass.
#[test]
#[ignore = "needs root"]
fn labelled_case_runs_over_netem() {
    if !is_there() {
        return;
    }
    let workload = Workload::Streams(vec![Stream::one(Writer::Total { bytes: BYTES as u64 / 4 })]);
    let rtt_ns = 2 * DELAY.as_nanos() as u64;
    let case =
        LabelledCase::new(Set::Fresh, "netem", "path/bottleneck-full", RATE_BIT_PER_S, rtt_ns, workload);
    let case = case.with(|settings| settings.carrier = Carrier::Netem);
    let folder = std::env::temp_dir().join(format!("netem-of-a-test-{}", std::process::id()));
    let outcome = run::run_labelled(&case, &folder, Keep { packing: Packing::Quick, probe: false }).unwrap();
    let truth = outcome.truth;
    assert!(outcome.written, "{:?}", truth.checks);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(truth.path.cost.is_none(), "no relay carried packets");
    assert_eq!(truth.connections[0].receiver.read_bytes, BYTES as u64 / 4);
    assert!(truth.path.forward.report.delivered_packets >= BYTES as u64 / 4 / 1448);
}

#[test]
#[ignore = "needs root"]
fn netem_delay_rate_and_loss_are_as_configured() {
    if !is_there() {
        return;
    }
    let settings = Settings { carrier: Carrier::Netem, ..Settings::plain() };
    let (namespaces, hosts) = testbed::build(&settings).unwrap();
    let ways = [way(vec![LossConfig::Random { probability_ppm: 20_000 }]), way(Vec::new())];
    let ways = [&ways[0], &ways[1]];
    netem::install(&namespaces, ways).unwrap();
    let said = || undisturbed(&namespaces, || netem::reports(&namespaces, ways).unwrap());
    let (before, reports) = said();
    let (took, least) = timed(&namespaces, hosts.receiver);
    let (after, [forward, backward]) = said();
    assert!(least >= 2 * DELAY, "the path beats its delay: {least:?}");
    let line = Duration::from_secs_f64(BYTES as f64 * 8.0 / RATE_BIT_PER_S as f64);
    assert!(took >= line, "the link beats its rate: {took:?}");
    // Every frame that a host sent was offered, and every delivered frame was received by the other host.
    for (report, first, from, to) in [(&forward, &reports[0], 0, 1), (&backward, &reports[1], 1, 0)] {
        assert!(report.is_conserved(), "{report:?}");
        let delivered = report.delivered_packets - first.delivered_packets;
        assert_eq!(delivered, after[to][0] - before[to][0], "{report:?}");
        let offered = report.totals.offered_packets - first.totals.offered_packets;
        assert_eq!(offered, after[from][1] - before[from][1], "{report:?}");
    }
    let by_chance = forward.totals.dropped_packets.get(&LossReason::Random).copied().unwrap_or(0);
    // Of some seven hundred packets; less than one in a hundred thousand such runs loses this few, or this many.
    assert!(
        (1..=40).contains(&by_chance),
        "{by_chance} lost by chance of {}",
        forward.totals.offered_packets
    );
    assert!(!backward.totals.dropped_packets.contains_key(&LossReason::Random), "{backward:?}");
}

/// Does something while no frame is in flight, and returns how many each host had received and sent. A host may look up
/// its neighbour at any time: then again.
fn undisturbed<T>(namespaces: &Namespaces, mut act: impl FnMut() -> T) -> ([[u64; 2]; 2], T) {
    let counted = || {
        thread::sleep(4 * DELAY + Duration::from_millis(200));
        [Place::Sender, Place::Receiver].map(|place| frames(namespaces, place))
    };
    for _ in 0..10 {
        let before = counted();
        let done = act();
        if counted() == before {
            return (before, done);
        }
    }
    panic!("the hosts never stopped sending");
}

/// Bursts, duplicates and a varying delay: more packets arrive than were sent, and fewer.
#[test]
#[ignore = "needs root"]
fn netem_accepts_bursts_duplicates_and_jitter() {
    if !is_there() {
        return;
    }
    let settings = Settings { carrier: Carrier::Netem, ..Settings::plain() };
    let (namespaces, hosts) = testbed::build(&settings).unwrap();
    let bursts =
        LossConfig::Bursts { good_to_bad_ppm: 10_000, bad_to_good_ppm: 500_000, bad_loss_ppm: 1_000_000 };
    let config = PathConfig {
        loss: vec![bursts],
        delay: Duration::from_nanos(2_000_500),
        jitter: Some(JitterConfig { up_to: Duration::from_nanos(1_000_001), overtakes: true }),
        duplicate_ppm: 20_000,
        ..PathConfig::default()
    };
    let ways = [&config, &PathConfig::default()];
    netem::install(&namespaces, ways).unwrap();
    let (_, least) = timed(&namespaces, hosts.receiver);
    assert!(least >= Duration::from_millis(2), "{least:?}");
    let [forward, _] = netem::reports(&namespaces, ways).unwrap();
    assert!(forward.is_conserved(), "{forward:?}");
    let dropped = &forward.totals.dropped_packets;
    assert!(dropped.keys().eq([&LossReason::Burst]), "{dropped:?}");
    let frames = frames(&namespaces, Place::Sender)[1];
    assert!(forward.totals.offered_packets > frames, "no copy of {frames}: {forward:?}");
}
