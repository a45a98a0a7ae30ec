//! Hand-computed costs of a packet, a byte and an ACK.

use crate::folded::profile;
use slowpath_cost::Work;
use slowpath_cost::each::{Each, Found, KINDS, WITHIN, costs};
use slowpath_cost::work::Carried;
use std::collections::{BTreeMap, BTreeSet};

/// Each sample has weight one. Sending an ACK is below receiving or reading a segment, and belongs to the ACK.
const STACKS: &str = "
    asm_common_interrupt;handle_softirqs;__napi_poll 100
    asm_common_interrupt;handle_softirqs;__napi_poll;e1000_clean;napi_gro_receive;tcp4_gro_receive 50
    asm_common_interrupt;handle_softirqs;__napi_poll;ip_rcv;tcp_v4_rcv 40
    asm_common_interrupt;handle_softirqs;__napi_poll;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established 60
    asm_common_interrupt;handle_softirqs;__napi_poll;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established;sock_def_readable 300
    asm_common_interrupt;handle_softirqs;__napi_poll;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established;tcp_ack;tcp_clean_rtx_queue 30
    asm_common_interrupt;handle_softirqs;__napi_poll;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established;__tcp_transmit_skb 20
    read@server;tcp_recvmsg;tcp_recvmsg_locked;__tcp_transmit_skb;__alloc_skb 15
    read@server;tcp_recvmsg;skb_copy_datagram_iter;rep_movs_alternative 80
    read@server;tcp_recvmsg;skb_copy_datagram_iter;asm_common_interrupt 7
    write@server;tcp_sendmsg;tcp_write_xmit;__ip_queue_xmit;dev_hard_start_xmit 24
    write@server;tcp_sendmsg;tcp_write_xmit;__ip_queue_xmit;__local_bh_enable_ip;handle_softirqs;net_rx_action 40
    tcp_ack@program 500
";

fn work() -> Work {
    let counters = [
        ("Tcp.InSegs", 20),
        ("Tcp.OutSegs", 12),
        ("Tcp.RetransSegs", 0),
        ("TcpExt.TCPHPAcks", 6),
        ("TcpExt.TCPPureAcks", 4),
        ("TcpExt.TCPHPHits", 3),
        ("TcpExt.TCPOrigDataSent", 5),
        ("Ip.InReceives", 20),
        ("Ip.OutRequests", 10),
        ("IpExt.InOctets", 9_000),
        ("IpExt.OutOctets", 1_560),
        ("Stat.ctxt", 50),
    ];
    let carried = |received_packets| Carried { received_packets, ..Carried::default() };
    Work {
        counters: counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        devices: BTreeMap::from([("eth0".to_owned(), carried(25)), ("lo".to_owned(), carried(1000))]),
        ..Work::default()
    }
}

fn nanos(each: &[Each], name: &str) -> Option<f64> {
    match &each.iter().find(|each| each.name == name).expect(name).found {
        Found::Measured(found) => Some(found.nanos),
        Found::Within(_) | Found::Unknown(_) => None,
    }
}

fn unknown(each: &[Each], name: &str) -> String {
    match &each.iter().find(|each| each.name == name).expect(name).found {
        Found::Unknown(why) => why.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn known_counts_give_hand_computed_costs() {
    let profile = profile(STACKS);
    let found = costs(&profile.calls(), 0, &work(), 10.0);
    let nanos = |name| nanos(&found.each, name);
    // 100 samples of 10 ns, 25 packets received by the NIC; the same for merging.
    assert_eq!(nanos("driver-receive"), Some(1000.0 / 25.0));
    assert_eq!(nanos("merge"), Some(500.0 / 25.0));
    assert_eq!(nanos("ip-receive"), Some(400.0 / 20.0));
    // 20 segments arrived, 10 were ACKs; waking the reader is not TCP's.
    assert_eq!(nanos("tcp-receive"), Some(600.0 / 10.0));
    assert_eq!(nanos("ack-receive"), Some(300.0 / 10.0));
    // 12 segments were sent, 5 of them with data. `__tcp_send_ack` is on no stack, as compilers make it a jump.
    assert_eq!(nanos("ack-send"), Some(350.0 / 7.0));
    // 10,560 octets of IP in 30 packets with 52 bytes of headers; an interrupt's time is not copying's.
    assert_eq!(nanos("copy-byte"), Some(800.0 / 9_000.0));
    // In the order of the stacks: 100 + 50 + 40 + 60 + 30 + 35 + 80 of 1266.
    assert!((found.share - 395.0 / 1266.0).abs() < 1e-12, "{}", found.share);
}

#[test]
fn unknown_cost_has_a_reason() {
    let profile = profile(STACKS);
    let found = costs(&profile.calls(), 0, &work(), 10.0);
    assert_eq!(unknown(&found.each, "driver-send"), "24 of the 25 samples that it takes were seen");
    assert_eq!(unknown(&found.each, "context-switch"), "0 of the 25 samples that it takes were seen");
    assert_eq!(unknown(&found.each, "wake-up"), "wake-ups are not counted");
    let within = |name| found.each.iter().find(|each| each.name == name).map(|each| each.found.clone());
    assert_eq!(within("clean"), Some(Found::Within("ack-receive")));
    let without = costs(&profile.calls(), 0, &Work::default(), 10.0);
    assert_eq!(unknown(&without.each, "ip-receive"), "not known how often: Tcp.InSegs");
    assert_eq!(unknown(&without.each, "clean"), "it would be in ack-receive, which is not known");
    assert_eq!(without.share, 0.0);
    let mut none = work();
    none.counters.insert("Tcp.InSegs".to_owned(), 0);
    assert_eq!(unknown(&costs(&profile.calls(), 0, &none, 10.0).each, "ip-receive"), "not once: Tcp.InSegs");
}

/// The stated error is that of chance: it falls with the square root of the samples.
#[test]
fn standard_error_falls_with_the_root_of_the_samples() {
    let profile = profile("tcp_v4_rcv 400");
    let found = costs(&profile.calls(), 0, &work(), 10.0);
    let Found::Measured(of) = &found.each.iter().find(|each| each.name == "ip-receive").unwrap().found else {
        panic!("{found:?}");
    };
    assert_eq!((of.error, of.samples, of.times, of.functions.len()), (0.05, 400, 20, 1));
}

#[test]
fn no_function_and_no_name_is_in_two_costs() {
    let functions: Vec<_> = KINDS.iter().flat_map(|kind| kind.functions).collect();
    assert_eq!(functions.iter().collect::<BTreeSet<_>>().len(), functions.len());
    let names: Vec<_> =
        KINDS.iter().map(|kind| kind.name).chain(WITHIN.iter().map(|(name, _)| *name)).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}
