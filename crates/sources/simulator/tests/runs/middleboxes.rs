//! How hosts react to the middleboxes of a path.

use crate::run::{Run, scenario};
use slowpath_model::{Ecn, End, Flags, Segment};
use slowpath_path::LossReason;
use slowpath_scenario::HostId;
use slowpath_simulator::pcapng::Pcapng;

/// A bulk transfer over 20 Mbit/s and 40 ms, with middleboxes in both directions, as seen at a host.
fn transfer(there: &str, back: &str, more: &str, host: usize) -> Run {
    let text = text(there, back, more);
    Run::watched(&scenario(&text), HostId(host))
}

fn text(there: &str, back: &str, more: &str) -> String {
    format!(
        "duration = \"5 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\n\
         [path.forward]\nmiddleboxes = [{there}]\n[path.reverse]\nmiddleboxes = [{back}]\n{more}"
    )
}

fn dropped(run: &Run, why: LossReason) -> u64 {
    run.simulation.wires()[0].totals().dropped_packets.get(&why).copied().unwrap_or(0)
}

fn of(run: &Run, from: End) -> impl Iterator<Item = &Segment> {
    run.segments.iter().map(|(_, _, segment)| segment).filter(move |segment| segment.from == from)
}

/// The bytes transferred without middleboxes: 11.5 MB.
const USUAL: u64 = 11_000_000;

#[test]
fn mtu_black_hole_stops_all_data_unless_icmp_is_sent() {
    let hole = transfer("{ mtu = \"1400 B\" }", "", "", 0);
    assert_eq!(hole.bytes().get(), 0);
    assert!(dropped(&hole, LossReason::Mtu) > 10);
    let told = transfer("{ mtu = \"1400 B\", icmp = true }", "", "", 0);
    assert!(told.bytes().get() > USUAL, "{}", told.bytes());
    let (_, last) = told.data().last().expect("data");
    // 1400 B without 20 of IP, 20 of TCP and 12 of timestamps.
    assert_eq!(last.len, 1348);
    assert!(dropped(&told, LossReason::Mtu) < 20);
}

#[test]
fn icmp_errors_are_in_the_capture() {
    let scenario = scenario(&text("{ mtu = \"1400 B\", icmp = true }", "", ""));
    let mut simulation = slowpath_simulator::Simulation::new(&scenario);
    let mut file = Pcapng::new(HostId(0), "sender");
    simulation.run(&mut file);
    // The addresses, then type, code, checksum, and the MTU of 1400.
    let addresses: [u8; 8] = [10, 255, 255, 254, 10, 0, 0, 1];
    let bytes = file.buffer();
    let errors: Vec<&[u8]> =
        bytes.windows(44).filter(|at| at[..8] == addresses && at[8..10] == [3, 4]).collect();
    assert!(!errors.is_empty());
    for error in errors {
        assert_eq!(error[12..16], [0, 0, 1400_u16.to_be_bytes()[0], 1400_u16.to_be_bytes()[1]]);
        assert_eq!(error[28..36], [10, 0, 0, 1, 10, 0, 0, 2], "the quoted segment");
        assert_eq!(error[38..40], 5201_u16.to_be_bytes(), "its destination port");
    }
}

#[test]
fn super_packets_are_dropped_but_single_retransmissions_pass() {
    let run = transfer("{ drop = \"super-packets\" }", "", "", 0);
    assert!(dropped(&run, LossReason::SuperPacket) > 50, "{}", dropped(&run, LossReason::SuperPacket));
    assert!((1..USUAL / 2).contains(&run.bytes().get()), "{}", run.bytes());
    let alone = transfer("{ drop = \"super-packets\" }", "", "[hosts.sender.nic]\ntso = false\n", 0);
    assert_eq!(dropped(&alone, LossReason::SuperPacket), 0);
    assert!(alone.bytes().get() > USUAL);
}

#[test]
fn data_beyond_the_unscaled_window_is_dropped_with_window_scaling() {
    // A scale of 2: 16 KiB of the 64 KiB window are known.
    let small = "[hosts.receiver.sysctl]\n\"net.ipv4.tcp_rmem\" = \"4096 131072 200000\"\n";
    let run = transfer("{ drop = \"beyond-unscaled-window\" }", "", small, 0);
    assert!(dropped(&run, LossReason::BeyondWindow) > 20);
    assert!((1..USUAL / 2).contains(&run.bytes().get()), "{}", run.bytes());
    let none = "[hosts.receiver.sysctl]\n\"net.ipv4.tcp_window_scaling\" = false\n";
    let run = transfer("{ drop = \"beyond-unscaled-window\" }", "", none, 0);
    assert_eq!(dropped(&run, LossReason::BeyondWindow), 0);
}

#[test]
fn sender_uses_the_changed_window_scale_of_the_syn_ack() {
    let run = transfer("", "{ window-scale = 0 }", "", 0);
    let syn_ack = of(&run, End::B).next().expect("a SYN-ACK");
    assert_eq!(syn_ack.window_scale, Some(0));
    assert!(run.bytes().get() < USUAL / 5, "{}", run.bytes());
    let removed = transfer("", "{ window-scale = \"removed\" }", "", 0);
    assert_eq!(of(&removed, End::B).next().expect("a SYN-ACK").window_scale, None);
}

#[test]
fn ecn_marks_are_echoed_unless_bleached() {
    let ecn = "[hosts.sender.sysctl]\n\"net.ipv4.tcp_ecn\" = 1\n";
    let echoes =
        |run: &Run| of(run, End::B).filter(|s| s.flags.has(Flags::ECE) && !s.flags.has(Flags::SYN)).count();
    let marked = transfer("{ ecn-mark-every = 200 }", "", ecn, 1);
    let marks = of(&marked, End::A).filter(|segment| segment.ip.ecn == Ecn::Ce).count();
    assert!(marks > 10 && echoes(&marked) > 10, "{marks}");
    assert_eq!(marked.simulation.wires()[0].totals().dropped(), 0, "marks replace losses");
    let bleached = transfer("{ ecn-mark-every = 200 }, { ecn = \"bleach\" }", "", ecn, 1);
    assert!(of(&bleached, End::A).all(|segment| segment.ip.ecn == Ecn::NotEct));
    assert_eq!(echoes(&bleached), 0);
}

#[test]
fn forgotten_connection_stalls_or_is_reset() {
    let pause = "[[flows.sender.pauses]]\nat = \"1 s\"\nlasts = \"1500 ms\"\n\
                 [flows.sender.socket]\nSO_SNDBUF = \"100 kB\"\n";
    let silent = transfer("{ forget-after = \"1 s\" }", "{ forget-after = \"1 s\" }", pause, 0);
    assert!(dropped(&silent, LossReason::Forgotten) > 2);
    let answered =
        transfer("{ forget-after = \"1 s\", reset = true }", "{ forget-after = \"1 s\" }", pause, 0);
    assert!((1..=20).contains(&dropped(&answered, LossReason::Forgotten)));
    assert!(of(&answered, End::B).any(|segment| segment.flags.has(Flags::RST)));
    let kept = transfer("{ forget-after = \"2 s\" }", "{ forget-after = \"2 s\" }", pause, 0);
    assert_eq!(dropped(&kept, LossReason::Forgotten), 0);
}

#[test]
fn sack_blocks_arrive_shifted() {
    let loss = "[[path.forward.lose]]\npackets = [100]\n";
    let largest = |back| {
        let run = transfer("", back, loss, 0);
        let sent = run.data().map(|(_, segment)| segment.end()).max().expect("data");
        let edges = of(&run, End::B).flat_map(|segment| segment.sack.as_slice()).map(|block| block.end);
        edges.max().expect("a block").distance_from(sent)
    };
    assert!(largest("") <= 0);
    assert!(largest("{ sack-shift = 1000000000 }") > 900_000_000);
}

#[test]
fn damaged_packets_are_dropped_by_checksum() {
    let run = transfer("{ damage = \"1 %\" }", "", "", 1);
    let totals = run.simulation.wires()[0].totals();
    assert_eq!(totals.dropped(), 0);
    assert!(totals.changed_packets > 10);
    let told = run.simulation.transfers()[0].info.expect("a connection");
    assert!(u64::from(told.retransmits) >= totals.changed_packets);
}

#[test]
fn rst_at_rcv_nxt_ends_the_connection() {
    let run = transfer("{ reset-at = \"1 MB\" }", "", "", 1);
    assert!((900_000..1_100_000).contains(&run.bytes().get()), "{}", run.bytes());
    let stray = transfer("{ reset-at = \"1 MB\", reset-beyond = \"1 B\" }", "", "", 1);
    assert!(stray.bytes().get() > USUAL, "{}", stray.bytes());
    assert_eq!(stray.simulation.wires()[0].totals().made_packets, 1);
}

#[test]
fn identifications_follow_the_configured_host_kind() {
    let ids = |policy: &str| -> Vec<u16> {
        let run = transfer(&format!("{{ identification = \"{policy}\" }}"), "", "", 1);
        run.data().filter_map(|(_, segment)| segment.ip.id).collect()
    };
    assert!(ids("zero").iter().all(|id| *id == 0));
    // Before the first losses, which leave gaps too.
    let shared = &ids("per-host")[..1000];
    let steps: Vec<u16> = shared.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    assert_eq!((steps.iter().min(), steps.iter().max()), (Some(&1), Some(&11)));
    let swapped = ids("byte-swapped");
    assert_eq!(swapped[1].swap_bytes().wrapping_sub(swapped[0].swap_bytes()), 1);
}
