//! How real hosts react to the middleboxes of a path. They need root, iproute2 and ethtool.

use slowpath_lab::case::{Check, Set};
use slowpath_lab::frame::{self, Parsed};
use slowpath_lab::host::Host;
use slowpath_lab::path::LossReason;
use slowpath_lab::recording::Format;
use slowpath_lab::run::{Keep, Packing, recording_file, run, run_labelled};
use slowpath_lab::settings::Family;
use slowpath_lab::truth::Truth;
use slowpath_lab::{cases, pcap, scenario};
use slowpath_model::{Ecn, Flags};
use slowpath_wire::tcp::{HEADER, Options};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Runs share the machine's clock and this process's namespaces, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A run, with the frames of each host's capture.
struct Run {
    truth: Truth,
    captures: [Vec<Vec<u8>>; 2],
}

/// A bulk transfer over 20 Mbit/s and 20 ms for 2 s, with middleboxes there and back.
fn transfer(there: &str, back: &str, more: &str) -> Run {
    transfer_over(Family::V4, there, back, more)
}

fn transfer_over(family: Family, there: &str, back: &str, more: &str) -> Run {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = format!(
        "duration = \"2 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
         [path.forward]\nmiddleboxes = [{there}]\n[path.reverse]\nmiddleboxes = [{back}]\n{more}"
    );
    let plan = slowpath_scenario::check("x.toml", &text, &[], None).expect("a scenario").scenario;
    let mut experiment = scenario::experiment(&plan, &[0, 1]).expect("the lab can do that");
    experiment.settings.family = family;
    let folder = Folder(std::env::temp_dir().join(format!("slowpath-middleboxes-{}", std::process::id())));
    let outcome = run(&experiment, &folder.0, Keep { packing: Packing::Quick, probe: false }).unwrap();
    let captures = Host::BOTH.map(|host| {
        let file = std::fs::File::open(folder.0.join(recording_file(host, Format::Pcap))).unwrap();
        let raw = zstd::decode_all(file).unwrap();
        pcap::read(&raw).unwrap().frames.iter().map(|frame| frame.bytes.to_vec()).collect()
    });
    Run { truth: outcome.truth, captures }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SINGLE: &str =
    "[hosts.sender.nic]\ntso = false\ngro = false\n[hosts.receiver.nic]\ntso = false\ngro = false\n";

impl Run {
    fn dropped(&self, why: LossReason) -> u64 {
        let report = &self.truth.path.forward.report;
        assert!(
            report.is_conserved() && self.truth.path.backward.report.is_conserved(),
            "{:?}",
            report.totals
        );
        report.totals.dropped_packets.get(&why).copied().unwrap_or(0)
    }

    fn read_bytes(&self) -> u64 {
        self.truth.connections.iter().map(|connection| connection.receiver.read_bytes).sum()
    }

    fn counter(&self, at: Host, name: &str) -> u64 {
        let counters = match at {
            Host::Sender => &self.truth.counters.sender,
            Host::Receiver => &self.truth.counters.receiver,
        };
        counters.get(name).copied().unwrap_or(0)
    }

    /// IP packets in a host's capture, with their frames.
    fn packets(&self, at: Host) -> impl Iterator<Item = (Parsed, &[u8])> {
        self.captures[at as usize].iter().filter_map(|bytes| Some((frame::parse(bytes)?, bytes.as_slice())))
    }

    /// Segments from one host in a host's capture.
    fn segments(&self, at: Host, from: Host) -> impl Iterator<Item = (Parsed, frame::Tcp, &[u8])> {
        let sent_by = move |bytes: &[u8]| slowpath_lab::host::sent_by(bytes) == Some(from);
        let packets = self.packets(at).filter(move |(_, bytes)| sent_by(bytes));
        packets.filter_map(|(parsed, bytes)| Some((parsed, parsed.tcp?, bytes)))
    }
}

/// What the transfer carries without middleboxes: 4.5 MB.
const USUAL: u64 = 3_500_000;

#[test]
#[ignore = "needs root, waits"]
fn mtu_black_hole_stops_all_data_and_icmp_gets_it_through() {
    for offloads in ["", SINGLE] {
        let hole = transfer("{ mtu = \"1400 B\" }", "", offloads);
        assert_eq!(hole.read_bytes(), 0);
        assert!(hole.dropped(LossReason::Mtu) > 5);
        let told = transfer("{ mtu = \"1400 B\", icmp = true }", "", offloads);
        assert!(told.read_bytes() > USUAL, "{}", told.read_bytes());
        let errors: Vec<&[u8]> = told
            .packets(Host::Sender)
            .filter(|(parsed, bytes)| parsed.is_v4 && bytes[parsed.ip_at + 9] == 1)
            .map(|(parsed, bytes)| &bytes[parsed.ip_at..])
            .collect();
        assert!(!errors.is_empty());
        for error in errors {
            assert_eq!(error[20..22], [3, 4]);
            assert_eq!(error[24..28], 1400_u32.to_be_bytes());
        }
    }
}

#[test]
#[ignore = "needs root, waits"]
fn icmpv6_gets_data_through_and_marks_are_seen_over_ipv6() {
    let told = transfer_over(Family::V6, "{ mtu = \"1400 B\", icmp = true }", "", "");
    assert!(told.read_bytes() > USUAL, "{}", told.read_bytes());
    assert!((1..100).contains(&told.dropped(LossReason::Mtu)));
    let ecn = "[hosts.sender.sysctl]\n\"net.ipv4.tcp_ecn\" = 1\n";
    let marked = transfer_over(Family::V6, "{ ecn-mark-every = 100 }", "", ecn);
    assert!(marked.segments(Host::Receiver, Host::Sender).filter(|(ip, ..)| ip.ecn == Ecn::Ce).count() > 5);
    assert_eq!(marked.counter(Host::Receiver, "TcpInCsumErrors"), 0);
}

#[test]
#[ignore = "needs root, waits"]
fn super_packets_are_dropped_and_single_segments_pass() {
    let run = transfer("{ drop = \"super-packets\" }", "", "");
    assert!(run.dropped(LossReason::SuperPacket) > 20);
    assert!((1..USUAL / 2).contains(&run.read_bytes()), "{}", run.read_bytes());
    let single = transfer("{ drop = \"super-packets\" }", "", SINGLE);
    assert_eq!(single.dropped(LossReason::SuperPacket), 0);
    assert!(single.read_bytes() > USUAL);
}

#[test]
#[ignore = "needs root, waits"]
fn data_beyond_the_unscaled_window_is_dropped() {
    let small = "[hosts.receiver.sysctl]\n\"net.ipv4.tcp_rmem\" = \"4096 131072 200000\"\n";
    let run = transfer("{ drop = \"beyond-unscaled-window\" }", "", &format!("{SINGLE}{small}"));
    assert!(run.dropped(LossReason::BeyondWindow) > 20);
    assert!((1..USUAL).contains(&run.read_bytes()), "{}", run.read_bytes());
}

#[test]
#[ignore = "needs root, waits"]
fn window_scale_of_the_syn_ack_is_what_the_sender_counts_with() {
    for (becomes, scale) in [("0", Some(0)), ("\"removed\"", None)] {
        let run = transfer("", &format!("{{ window-scale = {becomes} }}"), SINGLE);
        let at = |host| {
            let (_, tcp, bytes) = run.segments(host, Host::Receiver).next().expect("a SYN-ACK");
            Options::parse(&bytes[tcp.at + HEADER..tcp.payload_at], false).window_scale
        };
        assert!(at(Host::Receiver).is_some_and(|own| own > 0));
        assert_eq!(at(Host::Sender), scale);
        assert!(run.read_bytes() < USUAL / 2, "{}", run.read_bytes());
        assert_eq!(run.counter(Host::Sender, "TcpInCsumErrors"), 0);
    }
}

#[test]
#[ignore = "needs root, waits"]
fn ecn_marks_are_echoed_and_bleached_packets_get_none() {
    for offloads in ["", SINGLE] {
        let ecn = format!("{offloads}[hosts.sender.sysctl]\n\"net.ipv4.tcp_ecn\" = 1\n");
        let echoes = |run: &Run| {
            let acks = run.segments(Host::Sender, Host::Receiver);
            acks.filter(|(_, tcp, _)| tcp.flags.has(Flags::ECE) && !tcp.is_syn()).count()
        };
        let marked = transfer("{ ecn-mark-every = 100 }", "", &ecn);
        let marks =
            marked.segments(Host::Receiver, Host::Sender).filter(|(ip, ..)| ip.ecn == Ecn::Ce).count();
        assert!(marks > 5 && echoes(&marked) > 5, "{marks}");
        assert_eq!(marked.counter(Host::Receiver, "TcpInCsumErrors"), 0);
        let bleached = transfer("{ ecn-mark-every = 100 }, { ecn = \"bleach\" }", "", &ecn);
        assert!(bleached.segments(Host::Receiver, Host::Sender).all(|(ip, ..)| ip.ecn == Ecn::NotEct));
        assert_eq!(echoes(&bleached), 0);
        assert!(bleached.read_bytes() > USUAL);
    }
}

#[test]
#[ignore = "needs root, waits"]
fn forgotten_connection_carries_nothing_more_or_is_reset() {
    let pause =
        format!("{SINGLE}[flows]\nmessages = {{ size = \"50 kB\", interval = \"700 ms\", count = 10 }}\n");
    let forget = |after: &str| format!("{{ forget-after = \"{after}\" }}");
    let silent = transfer(&forget("300 ms"), &forget("300 ms"), &pause);
    assert!(silent.dropped(LossReason::Forgotten) > 2);
    let answered = transfer("{ forget-after = \"300 ms\", reset = true }", &forget("300 ms"), &pause);
    assert!(answered.dropped(LossReason::Forgotten) > 0);
    let resets = answered.segments(Host::Sender, Host::Receiver);
    assert!(resets.filter(|(_, tcp, _)| tcp.flags.has(Flags::RST)).count() > 0);
    assert!(answered.counter(Host::Sender, "TcpEstabResets") > 0);
}

#[test]
#[ignore = "needs root, waits"]
fn sack_blocks_arrive_shifted() {
    let run = transfer(
        "",
        "{ sack-shift = 1000000000 }",
        &format!("{SINGLE}[[path.forward.lose]]\npackets = [100]\n"),
    );
    let largest = |at| {
        let acks = run.segments(at, Host::Receiver);
        let reach = acks.filter_map(|(_, tcp, bytes)| {
            let options = Options::parse(&bytes[tcp.at + HEADER..tcp.payload_at], false);
            let edge = u32::from_be_bytes(options.sack.get(4..8)?.try_into().ok()?);
            Some(edge.wrapping_sub(tcp.ack?))
        });
        reach.max().expect("a block")
    };
    assert!(largest(Host::Receiver) < 10_000_000);
    assert!(largest(Host::Sender) > 900_000_000);
    assert!(run.counter(Host::Sender, "TcpExtTCPSACKDiscard") > 0);
}

#[test]
#[ignore = "needs root, waits"]
fn damaged_packets_are_not_accepted() {
    for offloads in ["", SINGLE] {
        let run = transfer("{ damage = \"1 %\" }", "", offloads);
        let totals = &run.truth.path.forward.report.totals;
        assert!(totals.changed_packets > 5);
        assert_eq!(run.counter(Host::Receiver, "TcpInCsumErrors"), totals.changed_packets);
        assert!(run.read_bytes() > 100_000);
    }
}

#[test]
#[ignore = "needs root, waits"]
fn rst_where_the_receiver_expects_it_ends_the_connection() {
    let ended = transfer("{ reset-at = \"1 MB\" }", "", SINGLE);
    assert!((900_000..1_100_000).contains(&ended.read_bytes()), "{}", ended.read_bytes());
    let stray = transfer("{ reset-at = \"1 MB\", reset-beyond = \"1 B\" }", "", SINGLE);
    assert!(stray.read_bytes() > USUAL, "{}", stray.read_bytes());
    assert!(stray.counter(Host::Receiver, "TcpExtTCPChallengeACK") > 0);
}

#[test]
#[ignore = "needs root, waits"]
fn ip_ids_follow_the_configured_policy() {
    let ids = |policy: &str, at| -> Vec<u16> {
        let run = transfer(&format!("{{ identification = \"{policy}\" }}"), "", SINGLE);
        assert!(run.read_bytes() > USUAL);
        run.segments(at, Host::Sender).map(|(ip, ..)| ip.ip_id).take(500).collect()
    };
    assert!(ids("zero", Host::Receiver).iter().all(|id| *id == 0));
    let shared = ids("per-host", Host::Receiver);
    let steps: Vec<u16> = shared.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    assert_eq!((steps.iter().min(), steps.iter().max()), (Some(&1), Some(&11)));
    // The sender's own capture has its own identifications.
    let own = ids("random", Host::Sender);
    assert!(own[1..].windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) <= 1));
}

/// Of every kind of labelled case with middleboxes, the first one passes its checks, except for the relay's
/// punctuality, which depends on how busy the machine is.
#[test]
#[ignore = "needs root, waits"]
fn labelled_middlebox_cases_have_their_fault() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut kinds = std::collections::HashSet::new();
    for case in cases::all(Set::Shipped) {
        let ways = [&case.experiment.forward, &case.experiment.backward];
        if ways.iter().all(|way| way.middleboxes.is_empty()) || !kinds.insert(case.name.clone()) {
            continue;
        }
        let folder = Folder(std::env::temp_dir().join(format!("slowpath-cases-{}", std::process::id())));
        let keeps = |truth: &Truth| {
            let mut broken = truth.checks.iter().filter(|check| !check.holds);
            broken.all(|check| matches!(check.required, Check::LatenessAtMost(_)))
        };
        // As in `xtask captures`, a failed one is tried again.
        let tried = (0..3).find_map(|_| {
            let outcome =
                run_labelled(&case, &folder.0, Keep { packing: Packing::Quick, probe: false }).unwrap();
            if keeps(&outcome.truth) {
                return Some(outcome.truth);
            }
            eprintln!("{}: {:?}", case.id(), outcome.truth.checks);
            None
        });
        assert!(tried.is_some(), "{}", case.id());
    }
    assert!(kinds.len() >= 10, "{kinds:?}");
}
