//! Real runs on this kernel. They need root, iproute2 and ethtool.

use slowpath_lab::case::{Check, LabelledCase, Set, ShareBasis};
use slowpath_lab::frame;
use slowpath_lab::host::Host;
use slowpath_lab::path::loss::LossConfig;
use slowpath_lab::recording::Format;
use slowpath_lab::relay::Fate;
use slowpath_lab::run::{Keep, Outcome, Packing, SAMPLES, recording_file, run, run_labelled};
use slowpath_lab::settings::Offload;
use slowpath_lab::truth;
use slowpath_lab::workload::{Stream, Workload, Writer};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SENDER_CAPTURE: &str = recording_file(Host::Sender, Format::Pcap);
const RECEIVER_CAPTURE: &str = recording_file(Host::Receiver, Format::Pcap);

const MS: u64 = 1_000_000;
const MBIT: u64 = 1_000_000;

fn bulk(milliseconds: u64) -> Workload {
    Workload::Streams(vec![Stream::one(Writer::For { duration_ns: milliseconds * MS })])
}

/// Runs share the machine's clock and this process's namespaces, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of this test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowpath-lab-test-{}-{name}", std::process::id()));
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A case without promises about time: these tests do not depend on a relay that a busy machine makes late.
fn timeless(label: &str, rate_bit_per_s: u64, rtt_ns: u64, workload: Workload) -> LabelledCase {
    let mut case = LabelledCase::new(Set::Shipped, "test", label, rate_bit_per_s, rtt_ns, workload);
    case.expectation.checks.retain(|check| !matches!(check, Check::LatenessAtMost(_)));
    case
}

/// A run that passed all its checks; as in `xtask captures`, a failed one is tried again.
fn written(case: &LabelledCase, folder: &Path) -> Outcome {
    let mut outcome = run_labelled(case, folder, Keep { packing: Packing::Small, probe: false }).unwrap();
    for _ in 1..6 {
        if outcome.written {
            break;
        }
        eprintln!("tried again: {:?}", outcome.truth.checks);
        outcome = run_labelled(case, folder, Keep { packing: Packing::Small, probe: false }).unwrap();
    }
    assert!(outcome.written, "{:?}", outcome.truth.checks);
    outcome
}

/// Packets with payload that left one host, by IP identification, sequence number and length.
fn sent_packets(file: &Path, from_port: u16) -> BTreeMap<(u16, u32, usize), u64> {
    let raw = zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap();
    assert_eq!(raw[..4], 0xa1b2_3c4d_u32.to_ne_bytes(), "a pcap with nanoseconds");
    let mut packets = BTreeMap::new();
    let mut at = 24;
    while at < raw.len() {
        let captured = u32::from_ne_bytes(raw[at + 8..at + 12].try_into().unwrap()) as usize;
        let parsed = frame::parse(&raw[at + 16..at + 16 + captured]).unwrap();
        if let Some(tcp) = parsed.tcp
            && tcp.key.1 != from_port
            && tcp.payload_bytes > 0
        {
            *packets.entry((parsed.ip_id, tcp.sequence, tcp.payload_bytes)).or_default() += 1;
        }
        at += 16 + captured;
    }
    packets
}

#[test]
#[ignore = "needs root"]
fn labelled_run_is_written_with_its_truth() {
    let _turn = turn();
    let folder = Folder::new("small-rcvbuf");
    let label = "receive-window/buffer-too-small";
    let case = timeless(label, 20 * MBIT, 40 * MS, bulk(1500))
        .variant("small-rcvbuf")
        .with(|s| s.receiver_socket.so_rcvbuf_bytes = Some(16 * 1024))
        .share_at_least(ShareBasis::RwndLimited, 0.6)
        .check(Check::NothingDropped);
    let outcome = written(&case, &folder.0);
    for file in [SENDER_CAPTURE, RECEIVER_CAPTURE, SAMPLES] {
        assert!(folder.0.join(file).metadata().unwrap().len() > 1000, "{file}");
    }
    let truth = truth::read(&folder.0).expect("reads back");
    assert_eq!(truth, outcome.truth);
    assert!(truth.expected.unwrap().share_at_least.unwrap().of_transfer > 0.6);
}

/// The packets that a reader polled, by the kernel's own counter (`BusyPollRxPackets`). Nothing is merged on the way to
/// it, as on a host whose card merges nothing.
#[test]
#[ignore = "needs root"]
fn busy_polling_reader_receives_its_packets() {
    let _turn = turn();
    let polled = |time: &str| {
        let text = format!(
            "duration = \"1 s\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"100 us\"\n\
             [hosts.receiver.nic]\ntso = false\ngro = false\n[flows]\nfrom = \"receiver\"\n\
             [flows.requests]\nrequest = \"100 B\"\nresponse = \"100 B\"\n\
             [flows.receiver.socket]\nSO_BUSY_POLL = \"{time}\"\n"
        );
        let plan = slowpath_scenario::check("x.toml", &text, &[], None).expect("a scenario").scenario;
        let experiment = slowpath_lab::scenario::experiment(&plan, &[0, 1]).expect("the lab can do that");
        let folder = Folder::new("busy-poll");
        let outcome = run(&experiment, &folder.0, Keep { packing: Packing::Quick, probe: false }).unwrap();
        let counters = &outcome.truth.counters.receiver;
        let exchanges = outcome.truth.connections[0].receiver.read_bytes / 100;
        (counters.get("TcpExtBusyPollRxPackets").copied().unwrap_or(0), exchanges)
    };
    let (none, exchanges) = polled("0 us");
    assert!(none == 0 && exchanges > 100, "{none} of {exchanges}");
    let (most, exchanges) = polled("5 ms");
    assert!(most * 2 > exchanges && exchanges > 100, "{most} of {exchanges}");
}

#[test]
#[ignore = "needs root"]
fn run_without_its_fault_is_not_written() {
    let _turn = turn();
    let folder = Folder::new("no-fault");
    let case = timeless("loss-recovery/rto", 20 * MBIT, 10 * MS, bulk(300))
        .variant("no-fault")
        .check(Check::Dropped(1_000_000));
    let outcome = run_labelled(&case, &folder.0, Keep { packing: Packing::Small, probe: false }).unwrap();
    assert!(!outcome.written);
    assert!(!folder.0.exists());
}

/// Super-packets are cut on the path, so losses hit packets: the dropped packets in the truth are exactly those in the
/// sender's capture and not in the receiver's. Of those with payload: on a slow machine the FIN is a packet of its own,
/// and it and the last ACK may be lost too.
#[test]
#[ignore = "needs root"]
fn dropped_packets_of_the_truth_match_the_captures() {
    let _turn = turn();
    let folder = Folder::new("loss");
    let case = timeless("congestion-window/after-loss", 10 * MBIT, 20 * MS, bulk(2000))
        .variant("loss")
        .forward(|p| p.loss.push(LossConfig::Random { probability_ppm: 20_000 }))
        .check(Check::Dropped(5));
    let outcome = written(&case, &folder.0);
    let mut missing = sent_packets(&folder.0.join(SENDER_CAPTURE), 5001);
    for (packet, count) in sent_packets(&folder.0.join(RECEIVER_CAPTURE), 5001) {
        *missing.get_mut(&packet).expect("nothing arrives that was not sent") -= count;
    }
    missing.retain(|_, count| *count > 0);
    let mut dropped: BTreeMap<_, u64> = BTreeMap::new();
    for fault in outcome.truth.path.forward.report.faults.iter().filter(|fault| fault.payload_bytes > 0) {
        assert!(matches!(fault.fate, Fate::Dropped(_)));
        *dropped.entry((fault.ip_id, fault.sequence, fault.payload_bytes as usize)).or_default() += 1;
    }
    let [mut only_missing, mut only_dropped] = [missing.clone(), dropped.clone()];
    only_missing.retain(|packet, count| dropped.get(packet) != Some(count));
    only_dropped.retain(|packet, count| missing.get(packet) != Some(count));
    assert_eq!(only_missing, only_dropped, "those that differ");
}

#[test]
#[ignore = "needs root"]
fn super_packets_show_in_both_captures_and_the_path_still_carries_packets() {
    let _turn = turn();
    let folder = Folder::new("tso");
    let case = timeless("path/bottleneck-full", 100 * MBIT, 10 * MS, bulk(1000))
        .variant("tso")
        .offload(Offload::SuperPackets);
    let outcome = written(&case, &folder.0);
    for file in [SENDER_CAPTURE, RECEIVER_CAPTURE] {
        let largest = sent_packets(&folder.0.join(file), 5001).into_keys().map(|(_, _, bytes)| bytes).max();
        assert!(largest.unwrap() > 2000, "{file}: largest payload {largest:?}");
    }
    let forward = &outcome.truth.path.forward.report;
    assert!(forward.cut_super_packets > 100, "{forward:?}");
    assert!(forward.faults.iter().all(|f| f.length_bytes <= 1500));
}

/// The running example that keeps a testbed open.
fn hold() -> Child {
    let examples = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples");
    let mut child = Command::new(examples.join("testbed")).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));
    child
}

fn send(pid: u32, signal: i32) {
    // SAFETY: the process is a child that has not been waited for, so the id is its own.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

#[test]
#[ignore = "needs root"]
fn signal_ends_a_testbed() {
    let _turn = turn();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut child = hold();
        send(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}
