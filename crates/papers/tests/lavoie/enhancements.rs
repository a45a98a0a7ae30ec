//! What the paper's enhancements would save at most.

use crate::{PLAIN, SEND, SOFTIRQ, profile, report};
use slowpath_papers::Cell;

const RECEIVE: &str = "net_rx_action;__napi_poll;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established";

/// The bounds, in samples of a thousand, for a profile whose other samples are a program's.
fn bounds(stacks: &[(u64, String)]) -> Vec<(String, u64)> {
    let rest = 1000 - stacks.iter().map(|(samples, _)| samples).sum::<u64>();
    let mut all: Vec<(u64, &str, &str)> =
        stacks.iter().map(|(samples, text)| (*samples, "nginx", text.as_str())).collect();
    all.push((rest, "nginx", "[main];[tcp_ack]"));
    let report = report(&[(PLAIN, profile(&all))]);
    let table = report.tables.iter().find(|table| table.name == "Enhancements").expect("a table");
    assert!(table.about.starts_with("estimated, upper bound"));
    let samples = |cell: &Cell| (cell.ours * 10.0).round() as u64;
    table
        .cells
        .iter()
        .map(|cell| (cell.row.clone(), samples(cell)))
        .filter(|(_, samples)| *samples > 0)
        .collect()
}

fn bound_of(bounds: &[(String, u64)], name: &str) -> u64 {
    bounds.iter().find(|(row, _)| row == name).map_or(0, |(_, samples)| *samples)
}

#[test]
fn coalescing_saves_the_receive_path_but_not_what_an_ack_causes() {
    let receive = format!("{SOFTIRQ};{RECEIVE}");
    let bounds = bounds(&[
        (1, format!("{SOFTIRQ};net_rx_action;__napi_poll;ip_rcv")),
        (2, format!("{receive};tcp_ack")),
        // The buffer of the ACK itself.
        (4, format!("{receive};__kfree_skb;skb_release_data")),
        // Data that is acknowledged.
        (8, format!("{receive};tcp_ack;__kfree_skb;skb_release_data")),
        (16, format!("{receive};__tcp_push_pending_frames;tcp_write_xmit;__tcp_transmit_skb")),
        (
            32,
            format!(
                "{SOFTIRQ};net_rx_action;__napi_poll;ip_rcv;tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_state_process"
            ),
        ),
        (64, format!("{SEND};release_sock;__release_sock;tcp_v4_do_rcv;tcp_rcv_established")),
        (128, format!("{SEND};tcp_write_xmit;__tcp_transmit_skb;__ip_queue_xmit")),
    ]);
    assert_eq!(bound_of(&bounds, "ACK coalescing on the card"), 1 + 2 + 4 + 64);
    assert_eq!(bound_of(&bounds, "leaving the retransmit queue early"), 2);
}

#[test]
fn header_prototype_saves_neither_the_clone_nor_the_output() {
    let transmit = format!("{SEND};tcp_write_xmit;__tcp_transmit_skb");
    let bounds = bounds(&[
        (1, transmit.clone()),
        (2, format!("{transmit};tcp_options_write")),
        (4, format!("{transmit};skb_clone;kmem_cache_alloc_noprof")),
        (8, format!("{transmit};__ip_queue_xmit")),
        (16, format!("{transmit};__ip_queue_xmit;ip_output;ip_finish_output2")),
        (32, format!("{SEND};__alloc_skb")),
    ]);
    assert_eq!(bound_of(&bounds, "header prototype"), 1 + 2 + 8);
    assert_eq!(bound_of(&bounds, "no sk buffer clone"), 4);
}

#[test]
fn acks_lookups_and_the_ethernet_type_are_recognised() {
    let deliver = format!("{SOFTIRQ};net_rx_action;__napi_poll;ip_rcv");
    let bounds = bounds(&[
        // An ACK is recognised by its caller.
        (1, format!("{SOFTIRQ};{RECEIVE};__tcp_transmit_skb;__ip_queue_xmit;ip_output;eth_type_trans")),
        (2, format!("{deliver};tcp_v4_rcv;tcp_v4_send_ack;ip_send_unicast_reply;kfree")),
        (4, format!("{deliver};tcp_v4_early_demux;__inet_lookup_established")),
        (8, format!("{deliver};tcp_v4_rcv")),
        (16, format!("{deliver};ip_route_input_noref;fib_table_lookup")),
        (32, format!("{SEND};tcp_write_xmit;__tcp_transmit_skb;__ip_queue_xmit;ip_output")),
    ]);
    assert_eq!(bound_of(&bounds, "TCP send ACK on the card"), 1 + 2);
    assert_eq!(bound_of(&bounds, "early demultiplexing"), 4 + 8 + 16);
    assert_eq!(bound_of(&bounds, "Ethernet type from the card"), 1);
    // A program's function with the name of a kernel's is none of these.
    assert_eq!(bound_of(&bounds, "leaving the retransmit queue early"), 0);
}
